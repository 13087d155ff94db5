"""``scrapy rep``: the command line. Every call of ``scrapy`` loads this module: keep it light."""

from __future__ import annotations

import textwrap
from argparse import HelpFormatter, Namespace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

from scrapy.commands import ScrapyCommand

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from types import ModuleType

SUBCOMMANDS = (
    "check",
    "lint",
    "format",
    "diff",
    "agents",
    "cache",
    "watch",
    "fleet",
    "audit",
    "report",
    "collect",
    "survey",
)
"""Each is a module of `scrapy_rep.commands`."""


class _Help(HelpFormatter):
    """Paragraphs as wide as the terminal; what is indented in them, as examples, stays."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        # A name such as ai-search, or the table of a settings file, stays in one piece.
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            block if "\n  " in block else super(_Help, self)._fill_text(block, width, indent)
            for block in text.split("\n\n")
        )


class RepCommand(ScrapyCommand):
    """``scrapy rep check|lint|format|...``: one subcommand for each of `SUBCOMMANDS`."""

    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        """What follows ``scrapy rep``."""
        return "subcommand ..."

    def short_desc(self) -> str:
        """One line for ``scrapy -h``."""
        return "Test, lint, rewrite and compare robots.txt files"

    def long_desc(self) -> str:
        """What ``scrapy rep -h`` begins with."""
        return (
            "Test URLs against robots.txt, lint, rewrite, compare and watch such files, tell what "
            "known crawlers may fetch, look into the store of answers and into audit trails, "
            "report on crawls, look at those that several workers share; collect and survey many "
            "files. "
            "'scrapy rep lint -h' tells about lint, and so on."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        """One parser for each subcommand, each with Scrapy's own options too."""
        parser.prog, parser.formatter_class = "scrapy rep", HelpFormatter
        chosen = parser.add_subparsers(
            title="Subcommands", dest="subcommand", metavar="subcommand", prog="scrapy rep"
        )
        for name in SUBCOMMANDS:
            module = _module(name)
            below = chosen.add_parser(
                name,
                help=module.SUMMARY,
                description=module.DESCRIPTION,
                epilog=module.EXAMPLES,
                formatter_class=_Help,
            )
            module.add_arguments(below)
            super().add_options(below)
            below.set_defaults(**{_PARSER: below})
        # Scrapy reads these even where no subcommand is given.
        parser.set_defaults(**_SCRAPYS, **{_PARSER: parser})

    def process_options(self, args: list[str], opts: Namespace) -> None:
        """Read Scrapy's options; an unknown one is a usage error."""
        parser: ArgumentParser = getattr(opts, _PARSER)
        if opts.subcommand is None:
            names = textwrap.fill(", ".join(SUBCOMMANDS), 78)
            parser.error(f"say what to do, with one of these subcommands:\n{names}")
        if args:
            parser.error(f"unrecognized arguments: {' '.join(args)}")
        try:
            super().process_options(args, opts)
        except OSError as error:  # of --pidfile
            parser.error(f"{error.filename}: {error.strerror}")

    def run(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        """Run the subcommand; its exit status becomes Scrapy's."""
        from scrapy_rep.commands.running import run

        if self.settings is not None:  # Scrapy sets it before this
            self.exitcode = run(opts.subcommand, _module(opts.subcommand), opts, self.settings)


_PARSER = "_parser"
_SCRAPYS: dict[str, Any] = {
    "logfile": None,
    "loglevel": None,
    "nolog": False,
    "profile": None,
    "pidfile": None,
    "set": [],
    "pdb": False,
}


def _module(name: str) -> ModuleType:
    return import_module(f"scrapy_rep.commands.{name}")
