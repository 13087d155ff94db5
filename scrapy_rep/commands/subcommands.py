"""The subcommands, and ``scrapy-rep``. Each call of ``scrapy`` loads this module: keep it light."""

from __future__ import annotations

import os
import sys
import textwrap
from argparse import SUPPRESS, Action, ArgumentParser, HelpFormatter, Namespace
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from scrapy_rep.extras import EXTRAS

_OWN = {
    "plan": "show what a crawl will get, and how long it takes",
    "doctor": "find what in this project breaks robots.txt",
    "check": "test whether URLs are allowed, and by which line",
    "cache": "show and edit the store of answers",
    "watch": "report changes of files since the last look",
}
_INSTALLED = [extra for extra in EXTRAS if extra.is_installed]
SUBCOMMANDS = {
    **_OWN,
    **{name: words for extra in _INSTALLED for name, words in extra.subcommands.items()},
}
"""The summaries of the subcommands by name."""
HOMES = dict.fromkeys(_OWN, "scrapy_rep.commands") | {
    name: f"{extra.package}.commands" for extra in _INSTALLED for name in extra.subcommands
}
"""The package of each subcommand, where ``NAME.py`` runs it and ``help/NAME.txt`` describes it."""

OF_FILES = ("lint", "format", "diff", "agents", "log")
"""The subcommands that need Scrapy only for URLs: ``scrapy-rep`` runs them without it."""

DESCRIPTION = (
    "Plan crawls; test URLs against robots.txt; lint, rewrite, compare and watch such files; show "
    "which known crawlers may fetch a URL; look into the store of answers and into audit trails; "
    "report on crawls, and show those that several workers share; collect and survey many files; "
    "show which crawlers in an access log obeyed. '{prog} lint -h' describes lint, and so on."
)


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
    """The parser of a subcommand; it gets its options when first used."""

    fill: Any = None

    def load(self) -> None:
        """Add the options, unless that is done."""
        fill, self.fill = self.fill, None
        if fill is not None:
            fill(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        self.load()
        return super().parse_known_args(args, namespace)


class _Version(Action):
    """Shows the versions that a report of an error should name."""

    def __call__(self, parser: ArgumentParser, *_: Any) -> None:
        from importlib.metadata import PackageNotFoundError, version
        from platform import python_version

        named = {"scrapy-rep": version("scrapy-rep"), "Scrapy": "(not installed)"}
        with suppress(PackageNotFoundError):
            named["Scrapy"] = version("Scrapy")
        named["Python"] = python_version()
        parser.exit(message=", ".join(map(" ".join, named.items())) + "\n")


class _Completion(Action):
    """Writes a script by which a shell completes ``scrapy-rep``."""

    subcommands: Mapping[str, Any] = {}

    def __call__(self, parser: ArgumentParser, _: Any, shell: Any, *__: Any) -> None:
        try:
            import shtab
        except ImportError:
            parser.error("--print-completion needs shtab: pip install 'scrapy-rep[completion]'")
        for below in self.subcommands.values():
            below.load()
        print(shtab.complete(parser, shell))  # noqa: T201 - no call runs that has a terminal
        parser.exit()


def add_subcommands(
    parser: ArgumentParser, prog: str, add_more: Callable[[ArgumentParser], None] | None = None
) -> Mapping[str, Any]:
    """Add a parser for each subcommand, and return them; `add_more` adds the options of all."""
    parser.prog, parser.formatter_class = prog, HelpFormatter
    parser.add_argument(
        "--version", action=_Version, nargs=0, default=SUPPRESS, help="show the version and exit"
    )
    chosen = parser.add_subparsers(
        title="Subcommands",
        dest="subcommand",
        metavar="subcommand",
        prog=prog,
        parser_class=_SubcommandParser,
    )
    for name, summary in SUBCOMMANDS.items():
        below = chosen.add_parser(name, help=summary, formatter_class=_Help)
        below.fill = partial(_fill, name, add_more)
        below.set_defaults(**{PARSER: below}, home=HOMES[name])
    parser.set_defaults(**{PARSER: parser}, program=prog)
    return chosen.choices


def _fill(
    name: str, add_more: Callable[[ArgumentParser], None] | None, parser: ArgumentParser
) -> None:
    from .running import add_help

    add_help(parser, HOMES[name], name)
    if add_more is not None:
        add_more(parser)


def refuse_no_subcommand(options: Namespace) -> None:
    """End with a usage error if no subcommand is given."""
    if options.subcommand is None:
        names = textwrap.fill(", ".join(SUBCOMMANDS), 78)
        getattr(options, PARSER).error(f"give one of these subcommands:\n{names}")


def main() -> None:
    """``scrapy-rep``: the same as ``scrapy rep``, but files are read without loading Scrapy."""
    try:
        _main(sys.argv[1:])
    except ModuleNotFoundError as error:
        from .running import missing_words

        if not (words := missing_words(error)):
            raise
        print(f"scrapy-rep: {words}", file=sys.stderr)  # noqa: T201 - no call runs
        sys.exit(2)


def _main(arguments: list[str]) -> None:
    has_project = arguments[:1] != ["--no-project"]
    if not has_project:
        del arguments[0]
        os.environ["SCRAPY_REP_NO_PROJECT"] = "1"  # `is_in_project` reads it
        os.environ.pop("SCRAPY_SETTINGS_MODULE", None)  # Scrapy would import it
    first = arguments[0] if arguments else ""
    if first in OF_FILES or first not in SUBCOMMANDS:
        # An abbreviation of --no-project would not be seen above.
        parser = ArgumentParser(
            description=DESCRIPTION.format(prog="scrapy-rep"), allow_abbrev=False
        )
        parser.add_argument(
            "--no-project",
            action="store_true",
            help="import no settings of the project here: use Scrapy's defaults; stands first",
        )
        completion: Any = parser.add_argument(
            "--print-completion",
            action=_Completion,
            choices=("bash", "zsh"),
            help="write a script for completion by this shell, and exit",
        )
        completion.subcommands = add_subcommands(parser, "scrapy-rep")
        options, rest = parser.parse_known_args(arguments)
        refuse_no_subcommand(options)
        if not rest:  # the others may be options of Scrapy
            from .running import run

            sys.exit(run(options, project_settings if has_project else default_settings))
    from scrapy.cmdline import execute

    execute(["scrapy", "rep", *arguments], None if has_project else default_settings())


def program() -> str:
    """The command that the user typed."""
    return "scrapy-rep" if Path(sys.argv[0]).stem == "scrapy-rep" else "scrapy rep"


def project_settings() -> Any:
    """The settings of the project in the current folder, or Scrapy's defaults."""
    from scrapy.utils.project import get_project_settings

    settings = get_project_settings()
    settings.setdict(DEFAULT_SETTINGS, priority="command")
    return settings


def default_settings() -> Any:
    """Scrapy's defaults, whatever project is in the current folder."""
    from scrapy.settings import Settings

    settings = Settings()
    settings.setdict(DEFAULT_SETTINGS, priority="command")
    return settings


DEFAULT_SETTINGS: dict[str, Any] = {"LOG_ENABLED": False}

PARSER = "_parser"
"""The attribute of parsed options that holds their parser."""
