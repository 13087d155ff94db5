"""Which findings `lint` reports: by its options, and by the settings of a project's files."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .lint_settings import LintSettings, settings_of
from .running import CommandError

if TYPE_CHECKING:
    from scrapy_rep.analysis.checks.codes import Code
    from scrapy_rep.analysis.findings import Finding

LEVELS = ("error", "warning", "info")


def add_choice_options(parser: argparse.ArgumentParser) -> None:
    """The options that tell what is reported."""
    codes = "codes, their beginnings, names or groups, with commas between them; may be repeated"
    for name, what in (
        ("select", "report these only, instead of the default ones: 'all', 'needless', 'weak', "),
        ("extend-select", "report these too: "),
        ("ignore", "do not report these: "),
    ):
        more = "'context', or " if name == "select" else ""
        parser.add_argument(
            f"--{name}", action="append", default=[], metavar="CODES", help=f"{what}{more}{codes}"
        )
    parser.add_argument("--level", choices=LEVELS, help="report nothing below this (default: info)")
    parser.add_argument("--strict", action="store_true", help="let warnings fail, too")
    parser.add_argument(
        "--no-suppress",
        action="store_true",
        help="report what comments in the file suppress ('# rep: ignore REP509'), too",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="take the settings of this file; by default those of scrapy-rep.toml, pyproject.toml "
        "([tool.scrapy-rep.lint]) or setup.cfg ([scrapy-rep.lint]), in this folder or the next "
        "one above that has some",
    )
    parser.add_argument("--isolated", action="store_true", help="take no settings of files")


@dataclass(frozen=True)
class Choice:
    """What is reported, and what fails.

    Attributes:
        codes: the codes.
        has_suppressions: whether comments of a file count.
        fatal: the severities that fail.
    """

    codes: frozenset[Code]
    has_suppressions: bool
    fatal: frozenset[str]

    @classmethod
    def of(cls, options: argparse.Namespace) -> Choice:
        """The choice of a call.

        Raises:
            CommandError: an option, or a setting of a file, is wrong.
        """
        from scrapy_rep.analysis.checks.groups import DEFAULT
        from scrapy_rep.analysis.checks.table import CHECKS

        if options.config and options.isolated:
            raise CommandError("--config names a file and --isolated takes none: give one of them")
        of_files = LintSettings() if options.isolated else settings_of(options.config)
        select = _codes(options.select) or _codes(of_files.select, of_files.where)
        select = select or _codes([DEFAULT])
        select |= _codes(of_files.extend_select, of_files.where) | _codes(options.extend_select)
        select -= _codes(of_files.ignore, of_files.where) | _codes(options.ignore)
        level = options.level or of_files.level or LEVELS[-1]
        if level not in LEVELS:
            raise CommandError(
                f"{of_files.where}: level = {level!r}: must be one of {', '.join(LEVELS)}"
            )
        told = LEVELS[: LEVELS.index(level) + 1]
        is_strict = options.strict or of_files.strict
        return cls(
            frozenset(code for code in select if CHECKS[code].severity.value in told),
            not options.no_suppress,
            frozenset(["error", "warning"] if is_strict else ["error"]),
        )

    def kept(self, body: bytes, findings: Iterable[Finding]) -> tuple[list[Finding], int]:
        """Of the findings of a file those that are reported, and how many it suppresses."""
        from scrapy_rep.analysis.lint.suppressions import without_suppressed

        chosen = [finding for finding in findings if finding.code in self.codes]
        if not self.has_suppressions:
            return chosen, 0
        kept, left_out = without_suppressed(body, chosen)
        return kept, len(left_out)


def _codes(arguments: Iterable[str], where: str = "") -> frozenset[Code]:
    """The codes that are named.

    Raises:
        CommandError: a word names none.
    """
    from scrapy_rep.analysis.checks.groups import GROUPS
    from scrapy_rep.analysis.lint.suppressions import codes_of

    found: frozenset[Code] = frozenset()
    given = [[word.strip() for word in argument.split(",")] for argument in arguments]
    # A comma too many is no mistake, but an argument without any word is one: "$CODES" was empty.
    for word in (word for words in given for word in (list(filter(None, words)) or [""])):
        named = codes_of(word)
        if not named:
            before = f"{where}: " if where else ""
            raise CommandError(
                f"{before}no code begins with {word!r}; codes are like REP401, REP4 is a hundred, "
                f"and there are the groups {', '.join(GROUPS)}"
            )
        found |= named
    return found
