"""``scrapy rep``: the command line. Every call of ``scrapy`` loads this module: keep it light."""

from __future__ import annotations

import textwrap
from argparse import ArgumentParser, HelpFormatter, Namespace
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

from scrapy.commands import ScrapyCommand

SUBCOMMANDS = {
    "check": "test whether URLs are allowed, and by which line",
    "lint": "find errors in a file",
    "rule": "explain the codes of lint",
    "format": "rewrite a file in normalised form",
    "diff": "compare the meaning of two files",
    "agents": "show which known crawlers may fetch a URL",
    "cache": "show and edit the store of answers",
    "watch": "report changes of files since the last look",
    "fleet": "show crawls that several workers share",
    "audit": "read audit trails of crawls",
    "report": "report what crawls did, from their audit trails",
    "collect": "fetch and store the files of many sites",
    "survey": "collect statistics on many files",
}
"""By name; the module `scrapy_rep.commands.NAME` is loaded when the subcommand is called."""


class _Help(HelpFormatter):
    """Wraps paragraphs to the terminal; indented lines, such as examples, stay."""

    def _split_lines(self, text: str, width: int) -> list[str]:
        # Names such as ai-search stay in one piece.
        return textwrap.wrap(" ".join(text.split()), width, break_on_hyphens=False)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return "\n\n".join(
            block if "\n  " in block else super(_Help, self)._fill_text(block, width, indent)
            for block in text.split("\n\n")
        )


class _SubcommandParser(ArgumentParser):
    """The parser of a subcommand; it loads the options from the module when first used."""

    fill: Any = None

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        fill, self.fill = self.fill, None
        if fill is not None:
            fill(self)
        return super().parse_known_args(args, namespace)


class RepCommand(ScrapyCommand):
    """``scrapy rep check|lint|format|...``: one subcommand for each of `SUBCOMMANDS`."""

    requires_crawler_process = False
    default_settings: ClassVar[dict[str, Any]] = {"LOG_ENABLED": False}

    def syntax(self) -> str:
        """The arguments after ``scrapy rep``."""
        return "subcommand ..."

    def short_desc(self) -> str:
        """One line for ``scrapy -h``."""
        return "Test, lint, rewrite and compare robots.txt files"

    def long_desc(self) -> str:
        """The beginning of ``scrapy rep -h``."""
        return (
            "Test URLs against robots.txt; lint, rewrite, compare and watch such files; show which "
            "known crawlers may fetch a URL; look into the store of answers and into audit trails; "
            "report on crawls, and show those that several workers share; collect and survey many "
            "files. "
            "'scrapy rep lint -h' describes lint, and so on."
        )

    def add_options(self, parser: ArgumentParser) -> None:
        """Add a parser for each subcommand, each with Scrapy's own options too."""
        parser.prog, parser.formatter_class = "scrapy rep", HelpFormatter
        chosen = parser.add_subparsers(
            title="Subcommands",
            dest="subcommand",
            metavar="subcommand",
            prog="scrapy rep",
            parser_class=_SubcommandParser,
        )
        for name, summary in SUBCOMMANDS.items():
            below = chosen.add_parser(name, help=summary, formatter_class=_Help)
            below.fill = partial(self._fill, name)
            below.set_defaults(**{_PARSER: below})
        parser.set_defaults(**{_PARSER: parser})

    def _fill(self, name: str, parser: ArgumentParser) -> None:
        from .running import add_options

        module = import_module(f"scrapy_rep.commands.{name}")
        parser.description, examples, more = (module.__doc__ or "").partition("Examples:")
        parser.epilog = examples + more
        add_options(parser, module.OPTIONS)
        super().add_options(parser)
        parser.set_defaults(**{_RUN: module.run})

    def process_options(self, args: list[str], opts: Namespace) -> None:
        """Read Scrapy's options; an unknown option is a usage error."""
        parser: ArgumentParser = getattr(opts, _PARSER)
        if opts.subcommand is None:
            names = textwrap.fill(", ".join(SUBCOMMANDS), 78)
            parser.error(f"give one of these subcommands:\n{names}")
        if args:
            parser.error(f"unrecognized arguments: {' '.join(args)}")
        try:
            super().process_options(args, opts)
        except OSError as error:  # from --pidfile
            parser.error(f"{error.filename}: {error.strerror}")

    def run(self, args: list[str], opts: Namespace) -> None:  # noqa: ARG002
        """Run the subcommand; its exit status becomes Scrapy's."""
        from .running import run

        if self.settings is not None:  # Scrapy sets it before this
            self.exitcode = run(opts.subcommand, getattr(opts, _RUN), opts, self.settings)


_PARSER, _RUN = "_parser", "_run"
