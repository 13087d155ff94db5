"""The findings that `lint` reports: chosen by options, and by the settings in project files.

::

    # scrapy-rep.toml                 # pyproject.toml
    [lint]                            [tool.scrapy-rep.lint]
    ignore = ["REP316"]               ignore = ["REP316"]
    strict = true                     strict = true

The folders are searched from the current one upwards. The first folder with such settings counts,
and in it, the first of these files.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from scrapy_rep.commands.inputs import octets_of
from scrapy_rep.commands.running import CommandError
from scrapy_rep.extras.webmaster.checks.codes import ALL, DEFAULT, GROUPS, MEANINGS, Code
from scrapy_rep.extras.webmaster.findings import Finding
from scrapy_rep.extras.webmaster.linting.suppressions import codes_of, without_suppressed

_LEVELS = ("error", "warning", "info")
_OWN_FILE, _PYPROJECT = "scrapy-rep.toml", "pyproject.toml"
_MOST_OCTETS = 1024 * 1024
_TOML_MODULES = "tomllib", "tomli"  # tomllib from Python 3.11 on


@dataclass(frozen=True)
class Choice:
    """The findings to report, and the severities that fail.

    Attributes:
        codes: the codes.
        has_suppressions: whether comments in a file suppress findings.
        fatal: the severities that give exit status 1.
    """

    codes: frozenset[Code]
    has_suppressions: bool
    fatal: frozenset[str]

    @classmethod
    def of(cls, options: argparse.Namespace) -> Choice:
        """The choice that a call makes.

        Raises:
            CommandError: an option, or a setting in a file, is wrong.
        """
        if options.config and options.isolated:
            raise CommandError("--config and --isolated contradict each other: give one of them")
        of_files = _LintSettings() if options.isolated else _settings_of(options.config)
        where = of_files.where
        select = (
            named_codes(options.select) | _of_groups(options.group)
            or named_codes(of_files.select, where) | _of_groups(of_files.group, where)
            or GROUPS[DEFAULT]
        )
        select |= named_codes(of_files.extend_select, where) | named_codes(options.extend_select)
        select -= named_codes(of_files.ignore, where) | named_codes(options.ignore)
        level = options.level or of_files.level or _LEVELS[-1]
        if level not in _LEVELS:
            raise CommandError(f"{where}: level = {level!r}: must be one of {', '.join(_LEVELS)}")
        told = _LEVELS[: _LEVELS.index(level) + 1]
        is_strict = options.strict or of_files.strict
        codes = frozenset(code for code in select if code.severity.value in told)
        fatal = frozenset(["error", "warning"] if is_strict else ["error"])
        return cls(codes, not options.no_suppress, fatal)

    def kept(self, body: bytes, findings: Iterable[Finding]) -> tuple[list[Finding], int]:
        """Select the findings to report; also return the number that comments suppress."""
        chosen = [one for one in findings if {one.code, _is_about(one)} <= self.codes]
        if not self.has_suppressions:
            return chosen, 0
        kept = without_suppressed(body, chosen)
        return kept, len(chosen) - len(kept)


def _is_about(finding: Finding) -> Code:
    """The code of the findings that are not listed; otherwise its own code."""
    is_rest = finding.code is Code.TOO_MANY_FINDINGS
    return Code(finding.detail.split()[0]) if is_rest else finding.code


def named_codes(arguments: Iterable[str], where: str = "") -> frozenset[Code]:
    """The codes that arguments of `--select` name.

    Raises:
        CommandError: a word names no code.
    """
    found: frozenset[Code] = frozenset()
    given = [[word.strip() for word in argument.split(",")] for argument in arguments]
    # An extra comma is allowed, but an argument without any word is an error: "$CODES" was empty.
    for word in (word for words in given for word in (list(filter(None, words)) or [""])):
        named = codes_of(word)
        if not named:
            before = f"{where}: " if where else ""
            raise CommandError(
                f"{before}no code begins with {word!r}; use codes such as REP401, beginnings such "
                f"as REP4, or the groups {', '.join(GROUPS)}"
            )
        found |= named
    return found


def _of_groups(arguments: Iterable[str], where: str = "") -> frozenset[Code]:
    """The codes of the groups that `--group` names.

    Raises:
        CommandError: a word names no group.
    """
    words = [word.strip() for argument in arguments for word in argument.split(",")]
    unknown = next((word for word in words if word not in (*MEANINGS, ALL)), None)
    if unknown is not None:
        before = f"{where}: " if where else ""
        names = ", ".join((*MEANINGS, ALL))
        raise CommandError(f"{before}no group is called {unknown!r}; there are {names}")
    return frozenset().union(*(GROUPS[word] for word in words))


@dataclass(frozen=True)
class _LintSettings:
    """The settings in files, as options; and the name of the file, for messages."""

    select: tuple[str, ...] = ()
    group: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    level: str = ""
    strict: bool = False
    where: str = ""


def _settings_of(name: str | None) -> _LintSettings:
    """The settings in the named file, or in the first one that has some.

    Raises:
        CommandError: the file cannot be read, or has an unknown setting.
    """
    if name is not None:
        found = _read(Path(name), is_named=True)
        if found is None:
            raise CommandError(f"--config {name}: it has no settings of scrapy rep lint")
        return found
    folders = (Path.cwd(), *Path.cwd().parents)
    paths = (folder / name for folder in folders for name in (_OWN_FILE, _PYPROJECT))
    all_found = (_read(path, is_named=False) for path in paths if path.is_file())
    return next(filter(None, all_found), _LintSettings())


def _read(path: Path, *, is_named: bool) -> _LintSettings | None:
    """The settings in a file; None without any."""
    try:
        octets = octets_of(str(path), _MOST_OCTETS)
        text = octets.decode("utf-8").replace("\r\n", "\n")
    except (CommandError, UnicodeDecodeError) as error:
        if not is_named and path.name != _OWN_FILE:
            return None  # a file of other software
        if isinstance(error, CommandError):
            raise
        raise CommandError(f"{path}: {error}") from error
    if len(octets) > _MOST_OCTETS:
        raise CommandError(f"{path}: too large for a file of settings")
    try:
        told = _of_toml(path, text)
    except ValueError as error:
        raise CommandError(f"{path}: {error}") from error
    return None if told is None else _checked(path, told)


def _of_toml(path: Path, text: str) -> Mapping[str, Any] | None:
    is_own = path.name != _PYPROJECT
    if not is_own and "scrapy-rep" not in text:
        return None
    table: Any = _toml_module(path).loads(text)
    if not is_own:
        table = table.get("tool", {}).get("scrapy-rep", {})
    if not isinstance(table, Mapping):
        raise CommandError(f"{path}: tool.scrapy-rep must be a table")
    # Another table is a misspelling, such as [lints].
    unknown = next((name for name in table if name != "lint"), None)
    if unknown is not None:
        raise CommandError(f"{path}: unknown table {unknown!r}; scrapy rep knows lint")
    found = table.get("lint")
    if found is not None and not isinstance(found, Mapping):
        raise CommandError(f"{path}: lint must be a table")
    return found


def _toml_module(path: Path) -> Any:
    name = next((name for name in _TOML_MODULES if find_spec(name) is not None), None)
    if name is None:
        raise CommandError(f"{path}: TOML needs Python 3.11 or the package tomli")
    return import_module(name)


def _checked(path: Path, told: Mapping[str, Any]) -> _LintSettings:
    """Check names and types of settings.

    Raises:
        CommandError: a setting is wrong.
    """
    known = {one.name.replace("_", "-"): one for one in fields(_LintSettings)[:-1]}
    values: dict[str, Any] = {"where": str(path)}
    for name, value in told.items():
        if name not in known:
            names = ", ".join(known)
            raise CommandError(f"{path}: {name!r} is not a setting of lint; there are {names}")
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            value = tuple(value)  # noqa: PLW2901
        kind = type(known[name].default)
        if type(value) is not kind:
            words = {tuple: 'a list of strings, such as ["REP401"]', bool: "true or false"}
            raise CommandError(f"{path}: {name} must be {words.get(kind, 'a string')}")
        values[known[name].name] = value
    return _LintSettings(**values)
