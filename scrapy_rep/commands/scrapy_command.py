"""``scrapy rep``: the command that Scrapy finds. Every call of ``scrapy`` loads this module."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import Any, ClassVar

from scrapy.commands import ScrapyCommand

from .subcommands import (
    DEFAULT_SETTINGS,
    DESCRIPTION,
    PARSER,
    add_subcommands,
    program,
    refuse_no_subcommand,
)


class RepCommand(ScrapyCommand):
    """``scrapy rep check|lint|format|...``: one subcommand for each of `SUBCOMMANDS`."""

    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = DEFAULT_SETTINGS

    def syntax(self) -> str:
        """The arguments after ``scrapy rep``."""
        return "subcommand ..."

    def short_desc(self) -> str:
        """One line for ``scrapy -h``."""
        return "Test, lint, rewrite and compare robots.txt files"

    def long_desc(self) -> str:
        """The beginning of ``scrapy rep -h``."""
        return DESCRIPTION.format(prog=program())

    def add_options(self, parser: ArgumentParser) -> None:
        """Add a parser for each subcommand, each with Scrapy's own options too."""
        add_subcommands(parser, program(), super().add_options)

    def process_options(self, args: list[str], opts: Namespace) -> None:
        """Read Scrapy's options; an unknown option is a usage error."""
        parser: ArgumentParser = getattr(opts, PARSER)
        refuse_no_subcommand(opts)
        if args:
            parser.error(f"unrecognized arguments: {' '.join(args)}")
        try:
            super().process_options(args, opts)
        except OSError as error:  # from --pidfile
            parser.error(f"{error.filename}: {error.strerror}")

    def run(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        """Run the subcommand; its exit status becomes Scrapy's."""
        from .running import run

        settings = self.settings
        if settings is not None:  # Scrapy sets it before this
            self.exitcode = run(opts, lambda: settings)
