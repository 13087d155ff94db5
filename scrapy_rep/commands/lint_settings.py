"""Settings of `lint` in a project's files: where they are looked for, and what they may say.

::

    # scrapy-rep.toml                 # pyproject.toml                # setup.cfg
    [lint]                            [tool.scrapy-rep.lint]          [scrapy-rep.lint]
    ignore = ["REP304"]               ignore = ["REP304"]             ignore = REP304
    strict = true                     strict = true                   strict = true

The first folder counts that has some, from the current one upwards; in it, the first of these
files.
"""

from __future__ import annotations

import configparser
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from .running import CommandError

OWN_FILE, PYPROJECT, SETUP = "scrapy-rep.toml", "pyproject.toml", "setup.cfg"
_SECTION = "scrapy-rep.lint"
_TOML_MODULES = "tomllib", "tomli"  # the first from Python 3.11 on
_TABLES: dict[str, tuple[str, ...]] = {
    OWN_FILE: ("lint",),
    PYPROJECT: ("tool", "scrapy-rep", "lint"),
}


@dataclass(frozen=True)
class LintSettings:
    """What the files say; empty where they say nothing.

    Attributes:
        select: codes to report, instead of the default ones.
        extend_select: codes to report, too.
        ignore: codes not to report.
        level: the lowest severity to report.
        strict: whether warnings fail.
        where: the file, for messages.
    """

    select: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    level: str = ""
    strict: bool = False
    where: str = ""


def settings_of(name: str | None) -> LintSettings:
    """The settings of a file that is named, or of the first one that has some.

    Raises:
        CommandError: it cannot be read, or says what is no setting.
    """
    if name is not None:
        found = _read(Path(name), is_named=True)
        if found is None:
            raise CommandError(f"--config {name}: it has no settings of scrapy rep lint")
        return found
    return next(_all_above(), LintSettings())


def _all_above() -> Iterator[LintSettings]:
    here = Path.cwd()
    for folder in (here, *here.parents):
        for name in (OWN_FILE, PYPROJECT, SETUP):
            path = folder / name
            found = _read(path, is_named=False) if path.is_file() else None
            if found is not None:
                yield found


def _read(path: Path, *, is_named: bool) -> LintSettings | None:
    """The settings of a file; None if it has none."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        if not is_named and path.name != OWN_FILE:
            return None  # somebody else's file
        raise CommandError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    if path.suffix == ".toml":
        return _of_toml(path, text)
    return _of_ini(path, text, is_named=is_named)


def _of_toml(path: Path, text: str) -> LintSettings | None:
    own = _TABLES.get(path.name, _TABLES[OWN_FILE])
    if path.name == PYPROJECT and "scrapy-rep" not in text:
        return None
    toml = _toml_module(path)
    try:
        table: Any = toml.loads(text)
    except ValueError as error:
        raise CommandError(f"{path}: {error}") from error
    for depth, key in enumerate(own):
        if isinstance(table, Mapping) and depth == len(own) - 1:
            _refuse_unknown_tables(path, table, key)
        if not isinstance(table, Mapping) or key not in table:
            return None
        table = table[key]
    if not isinstance(table, Mapping):
        raise CommandError(f"{path}: {'.'.join(own)} must be a table")
    return _checked(path, table)


def _refuse_unknown_tables(path: Path, table: Mapping[str, Any], known: str) -> None:
    """Refuse what stands beside the table of `lint`, in what is this package's alone.

    Raises:
        CommandError: there is such a table or key: a slip, as ``[lints]``.
    """
    unknown = next((name for name in table if name != known), None)
    if unknown is not None:
        raise CommandError(f"{path}: {unknown!r} is nothing that scrapy rep knows; it has {known}")


def _toml_module(path: Path) -> Any:
    name = next((name for name in _TOML_MODULES if find_spec(name) is not None), None)
    if name is None:
        raise CommandError(
            f"{path}: to read TOML takes Python 3.11 or the package tomli; or put the settings "
            f"into {SETUP}, below [{_SECTION}]"
        )
    return import_module(name)


def _of_ini(path: Path, text: str, *, is_named: bool) -> LintSettings | None:
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(text)
    except configparser.Error as error:
        if not is_named and f"[{_SECTION}]" not in text:
            return None
        raise CommandError(f"{path}: {error}") from error
    if _SECTION not in parser:
        return None
    told: dict[str, Any] = dict(parser[_SECTION])
    for name in ("select", "extend-select", "ignore"):
        if name in told:
            told[name] = told[name].replace(",", " ").split()
    if "strict" in told:
        try:
            told["strict"] = parser[_SECTION].getboolean("strict")
        except ValueError:
            raise CommandError(f"{path}: strict must be true or false") from None
    return _checked(path, told)


def _checked(path: Path, told: Mapping[str, Any]) -> LintSettings:
    """Settings of the right names and types.

    Raises:
        CommandError: one is not.
    """
    known = {field.name.replace("_", "-"): field.name for field in fields(LintSettings)}
    del known["where"]
    values: dict[str, Any] = {"where": str(path)}
    for name, value in told.items():
        if name not in known:
            raise CommandError(
                f"{path}: {name!r} is no setting of lint; there are {', '.join(known)}"
            )
        default = getattr(LintSettings, known[name])
        if isinstance(default, tuple):
            if not (isinstance(value, list) and all(isinstance(item, str) for item in value)):
                raise CommandError(f'{path}: {name} must be a list of strings, as ["REP401"]')
            value = tuple(value)  # noqa: PLW2901
        elif type(value) is not type(default):
            word = "true or false" if isinstance(default, bool) else "a string"
            raise CommandError(f"{path}: {name} must be {word}")
        values[known[name]] = value
    return LintSettings(**values)
