"""A call of a subcommand: its options, output and exit status."""

from __future__ import annotations

import csv
import errno
import glob
import json
import logging
import os
import sys
import traceback
from argparse import Action, ArgumentParser, Namespace, _ActionsContainer
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from scrapy_rep.protocol.secrecy import OWNER_ONLY

from .terminal import OutputError, Terminal, csv_cell, csv_line, safe, telling

if TYPE_CHECKING:  # a command that reads only files does not load Scrapy
    from scrapy.settings import Settings

    from scrapy_rep.settings import RepSettings

OK, FOUND, USAGE, UNREACHABLE, UNSETTLED = range(5)
INTERNAL, UNWRITABLE, INTERRUPTED = 70, 74, 130
"""Exit statuses: success; something was found; wrong usage; unreachable; not settled, because it
takes too much work; a bug in this package; the output cannot be written; Ctrl-C."""

_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_ROOM = "No usable temporary directory"  # Python's words if all disks are full


class CommandError(Exception):
    """An error that ends a subcommand, or its work on one input.

    Attributes:
        status: the exit status.
        where: the input, as the user named it; may be empty.
    """

    def __init__(self, message: str, status: int = USAGE, where: str = "") -> None:
        """Take a message for the user."""
        super().__init__(message)
        self.status = status
        self.where = where


def unreadable(name: object, error: OSError, advice: str = "") -> CommandError:
    """The error for a file that cannot be read or written."""
    return CommandError(f"{name}: {error.strerror or error}{advice}", where=str(name))


@contextmanager
def text_file(output: str | None) -> Iterator[TextIO]:
    """A file for output, or standard output.

    Raises:
        CommandError: the file cannot be written.
    """
    if output is None:
        with telling():
            yield sys.stdout
        return
    try:
        Path(output).touch(OWNER_ONLY)  # the URLs may be as private as the trail
        with Path(output).open(
            "w", encoding="utf-8", errors="backslashreplace", newline=""
        ) as file:
            yield file
    except OSError as error:
        raise unreadable(output, error) from error


def write_rows(options: Namespace, columns: Sequence[str], rows: Iterable[dict[str, Any]]) -> int:
    """Write rows to the file of `-o`, as CSV or as JSON Lines (`--format`); return their number.

    Raises:
        CommandError: the file cannot be written.
    """
    count = 0
    with text_file(options.output) as file:
        table = csv.writer(file) if options.format == "csv" else None
        if table is not None:
            table.writerow(columns)
        for row in rows:
            count += 1
            if table is None:
                file.write(json.dumps(row) + "\n")
            else:
                values = (row.get(name) for name in columns)
                shown = ("" if value is None else value for value in values)
                table.writerow([csv_cell(safe(one) if file.isatty() else one) for one in shown])
    return count


class Call:
    """One call of a subcommand.

    Attributes:
        name: the subcommand.
        program: the command before it, as the user typed it.
        options: its options.
        terminal: where it writes.
        failures: the errors so far.
        status: the worst exit status so far.
    """

    def __init__(
        self, options: Namespace, settings_of: Callable[[], Settings], terminal: Terminal
    ) -> None:
        self.name: str = options.subcommand
        self.program: str = options.program
        self.options = options
        self._settings_of = settings_of
        self.terminal = terminal
        self.line, self.paint, self.table = terminal.line, terminal.paint, terminal.table
        self.is_json: bool = getattr(options, "json", False)
        self.failures: list[CommandError] = []
        self.status = OK

    @cached_property
    def settings(self) -> Settings:
        """The settings of the project."""
        return self._settings_of()

    @cached_property
    def ours(self) -> RepSettings:
        """The settings of this package."""
        from scrapy_rep.settings import RepSettings

        return RepSettings.of(self.settings)

    def set(self, **settings: object) -> None:
        """Overrule settings of the project."""
        self.settings = self.settings.copy()
        self.settings.setdict(settings, priority="cmdline")

    def lines(self, texts: Iterable[str], indent: str = "") -> None:
        """Write lines of output."""
        for text in texts:
            self.line(f"{indent}{text}")

    def row(self, row: Any) -> None:
        """Write a line of JSON."""
        self.line(json.dumps(row))

    def csv_row(self, values: Iterable[object]) -> None:
        """Write a row of a CSV table."""
        self.line(csv_line(values))

    def remark(self, text: str, indent: str = "") -> None:
        """Write a line of output that qualifies the others."""
        self.line(f"{indent}{self.paint('note:', 'yellow')} {text}")

    def complain(self, *texts: object) -> None:
        """Write lines to standard error, with the name of the subcommand."""
        for text in texts:
            words = str(text).replace("scrapy rep ", f"{self.program} ")
            self.terminal.complain(f"{self.program} {self.name}: {words}")

    def confirm(self, question: str) -> None:
        """Go on only if the user confirms at the terminal.

        Raises:
            CommandError: the user declines, or there is no terminal.
        """
        answer = self.terminal.ask(f"{question} [y/N] ")
        if answer is None:
            raise CommandError(f"{question} Without a terminal to confirm, give --yes")
        if answer.strip().lower() not in ("y", "yes"):
            raise CommandError("nothing was deleted")

    def end_with(self, status: int) -> None:
        """Note an exit status; the highest one counts."""
        self.status = max(self.status, status)

    def fail(self, error: CommandError) -> None:
        """Report an error, and continue."""
        self.complain(error)
        self.failures.append(error)
        self.end_with(error.status)

    @contextmanager
    def going_on(self) -> Iterator[None]:
        """Report an error with one input, and continue with the others."""
        try:
            yield
        except CommandError as error:
            self.fail(error)


def run(options: Namespace, settings_of: Callable[[], Settings]) -> int:
    """Run a subcommand; the user's errors are shown without a traceback."""
    # Without any handler, Python would write warnings to standard error.
    logging.getLogger("scrapy_rep").addHandler(logging.NullHandler())
    call = Call(options, settings_of, Terminal(sys.stdout, sys.stderr))
    try:
        _refuse_uri(getattr(options, "output", None))
        subcommand = import_module(f"{options.home}.{call.name}")
        call.end_with(subcommand.run(call) or OK)
        call.terminal.flush()
    except CommandError as error:
        call.fail(error)
    except BrokenPipeError:  # the reader has stopped reading, as `head` does
        _drop_output()
        return FOUND
    except OutputError as error:
        _drop_output()
        call.complain(error)
        return UNWRITABLE
    except KeyboardInterrupt:
        call.terminal.end_line()
        return INTERRUPTED
    except Exception as error:  # noqa: BLE001 - Python's own status would be that of findings
        failure = _failure(error)
        if failure is None:
            call.terminal.complain(traceback.format_exc())
            failure = CommandError("internal error; please report the lines above", INTERNAL)
        call.fail(failure)
    return call.status


def _refuse_uri(output: str | None) -> None:
    """Refuse a URI in -o, for which a local folder of this name would be made.

    Raises:
        CommandError: it is no path.
    """
    if output is None:
        return
    from scrapy_rep.checks import path  # few calls write a file

    try:
        path(output)
    except ValueError as error:
        raise CommandError(f"-o {output}: {error}") from None


def _failure(error: Exception) -> CommandError | None:
    """An error of this package or its installation in words for the user; None if it is a bug."""
    if isinstance(error, ModuleNotFoundError) and (words := missing_words(error)):
        return CommandError(words)
    from scrapy_rep.cache.base import StoreError
    from scrapy_rep.protocol.errors import RepError

    if isinstance(error, OSError) and (error.errno in _FULL or _NO_ROOM in str(error)):
        return CommandError(f"cannot write: {error}", UNWRITABLE)
    if isinstance(error, StoreError) and error.advice:
        return CommandError(f"{str(error).rstrip('.')}; {error.advice}", UNREACHABLE)
    return CommandError(str(error)) if isinstance(error, (RepError, StoreError)) else None


def missing_words(error: ModuleNotFoundError) -> str:
    """The package that an installed one lacks, and how to install it; empty for the project."""
    from importlib.metadata import PackageNotFoundError, distribution, packages_distributions

    *_, (frame, _) = traceback.walk_tb(error.__traceback__)
    importer = frame.f_globals["__name__"].partition(".")[0]
    missing = (error.name or "").partition(".")[0]
    owners = packages_distributions().get(importer, [])
    owner = "scrapy-rep" if importer == "scrapy_rep" else next(iter(owners), "")
    if not owner:  # Python 3.10 does not know the packages of all distributions
        with suppress(PackageNotFoundError):
            owner = distribution(importer).metadata["Name"]
    if not owner or missing == importer:
        return ""
    python = Path(sys.executable).stem
    return f"{owner} needs the package {missing}: {python} -m pip install {owner} installs it"


def _drop_output() -> None:
    """Discard pending output: at its end, Python would complain about it."""
    with suppress(OSError, ValueError):
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_SHARED_OPTIONS = {
    "json": "--json  one JSON object per line",
    "refresh": "--refresh  fetch now, even if the store has a fresh copy",
    "agent": "--agent TOKEN...  a product token, a User-Agent header, or '*' for all other "
    "crawlers; may be repeated; by default",
    "codes": "codes, their beginnings, names or groups, separated by commas; may be repeated",
}
_TYPES: dict[str, Any] = {"N": int, "SECONDS": float}
_METAVAR_CELLS = 30
_PATHS = ("FILE", "INPUT", "RUN")
_FILES_OF_SHELLS = {"bash": "_shtab_compgen_files", "zsh": "_files"}  # shtab reads it
_NARGS = {(True, True): "*", (False, True): "+", (True, False): "?", (False, False): None}


def add_help(parser: ArgumentParser, home: str, name: str) -> None:
    """Add the description and the options of a subcommand: ``help/NAME.txt`` of its package.

    Its paragraphs are the description, the options, and the text below them. Options are written
    as ``-h`` shows them, and those of several subcommands as ``{json}``.

    ::

        sources FILE...                one or more; [FILE...] is any number, [FILE] one at most
        --json                         a flag
        --spider NAME...               a value; it may be repeated
        --mode normal|compact=normal   one of some words, with a default
        --column N=0                   a whole number; SECONDS is a decimal number
        --check                        what it does; the next line begins with a blank,
         and continues
        | --diff                       not together with the option above
        Output:                        the options below have this title; the usage names none
    """
    folder = files("scrapy_rep").joinpath(*home.split(".")[1:])  # without an import of the package
    text = folder.joinpath(f"help/{name}.txt").read_text(encoding="utf-8")
    text = text.format(**_SHARED_OPTIONS)
    text = text.replace("scrapy rep ", parser.prog.removesuffix(name))
    parser.description, options, parser.epilog = text.split("\n\n", 2)
    lines = options.replace("\n ", " ").splitlines()
    group: _ActionsContainer = parser
    section: _ActionsContainer = parser
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line.endswith(":"):
            section = parser.add_argument_group(line.removesuffix(":"))
            continue
        if not line.startswith("| "):
            is_either = following.startswith("| ")
            group = section.add_mutually_exclusive_group() if is_either else section
        spec, _, words = line.removeprefix("| ").partition("  ")
        *names, value = spec.split() if " " in spec else (spec, "")
        if value.startswith("-"):
            names, value = [*names, value], ""
        facts = _facts(value, is_option=spec.startswith("-"))
        action: Any = group.add_argument(*names, help=" ".join(words.split()), **facts)
        if any(word in value for word in _PATHS):
            action.complete = _FILES_OF_SHELLS
    if section is not parser:
        parser.usage = f"%(prog)s [option ...] {lines[0].split()[1]}"


class _Wildcards(Action):
    """Expands wildcards in names of files, as shells do, except those of Windows."""

    def __call__(self, parser: Any, namespace: Namespace, values: Any, *_: Any) -> None:  # noqa: ARG002
        """Note the names; one without a match stays as it is."""
        names = [name for value in values for name in (_matching(value) or [value])]
        setattr(namespace, self.dest, names)


def _matching(name: str) -> list[str]:
    is_pattern = glob.has_magic(name) and not os.path.lexists(name)
    return sorted(glob.glob(name, recursive=True)) if is_pattern else []


def _facts(value: str, *, is_option: bool) -> dict[str, Any]:
    """The arguments of `add_argument` for an option with this value; empty text is a flag."""
    if not value:
        return {"action": "store_true"}
    is_optional, value = value.startswith("["), value.strip("[]")
    is_many, value = value.endswith("..."), value.removesuffix("...")
    value, has_default, default = value.partition("=")
    kind = _TYPES.get(value, str)
    facts: dict[str, Any] = {"type": kind, "metavar": value}
    if is_many and not is_option and value.startswith(_PATHS):
        facts["action"] = _Wildcards
    if value.islower():
        # Many words do not fit into the usage.
        is_long = is_option and len(value) > _METAVAR_CELLS
        facts.update(choices=value.split("|"), metavar="NAME" if is_long else None)
    if not is_option:
        facts["nargs"] = _NARGS[is_optional, is_many]
    elif is_many:
        facts.update(action="append", default=[])
    elif has_default:
        facts["default"] = kind(default)
    return facts
