"""Output for people: colours on terminals, progress, tables.

Text from files and sites is written without control characters of terminals. Only our own colours
pass. Cursor movements are written separately, by `screen` and the progress line.
"""

from __future__ import annotations

import csv
import io
import os
import shutil
import sys
import textwrap
import time
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import datetime, timezone
from itertools import zip_longest
from secrets import token_hex
from threading import Event, RLock, Thread
from typing import Any, TextIO, TypeVar

from scrapy_rep.protocol.access.events import name_of
from scrapy_rep.protocol.access.knowledge import Step
from scrapy_rep.protocol.units import age_words, counted
from scrapy_rep.protocol.verdict import shown

Item = TypeVar("Item")

_STYLES = {"bold": 1, "dim": 2, "red": 31, "green": 32, "yellow": 33, "blue": 34, "cyan": 36}
_WAITING_SECONDS = 0.5  # longer waits are shown

# A colour of ours is "\x1b", this, and "[31m"; no file can know it. So `harmless` can tell our
# colours from escape sequences in a file: "\x1b[8m" in a file would hide the text after it.
_SEAL = token_hex(8)
_COLOUR = f"\x1b{_SEAL}["
# General categories of Unicode: control and format characters, surrogates, and ends of lines and
# paragraphs. A terminal obeys them, or shows nothing where they are.
_ESCAPED = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_KEPT = frozenset("\t\n\u00ad")  # the soft hyphen is in ordinary words


class _Shown(dict[int, str]):
    """How each character is shown, by its number; filled as texts need it."""

    def __missing__(self, number: int) -> str:
        char = chr(number)
        if char not in _KEPT and unicodedata.category(char) in _ESCAPED:
            char = char.encode("unicode_escape").decode("ascii")
        self[number] = char
        return char


_SHOWN = _Shown()


class OutputError(Exception):
    """Standard output cannot be written."""


class Terminal:
    """Standard output and standard error; each may be a terminal or not, or be closed."""

    def __init__(self, out: TextIO | None, err: TextIO | None) -> None:
        self._out = out
        self._err = err
        self._has_colour = out is not None and wants_colour(out)
        self._shares_screen = _is_terminal(out)
        self._bar_width = 0
        self._lock = RLock()

    def line(self, text: str = "") -> None:
        """Write a line of output."""
        with self._lock:
            if self._shares_screen:
                self._clear_bar()
            self._write_out(harmless(text) + "\n")

    def ask(self, question: str) -> str | None:
        """Ask the user, and return the answer; None without a terminal."""
        if self._err is None or not (_is_terminal(sys.stdin) and _is_terminal(self._err)):
            return None
        with self._lock:
            self._clear_bar()
            self._write_err(harmless(question))
        return sys.stdin.readline()

    def octets(self, octets: bytes) -> None:
        """Write octets unchanged, or on a terminal, without control characters."""
        buffer = getattr(self._out, "buffer", None)
        if buffer is None or self._shares_screen:
            self._write_out(harmless(octets.decode("utf-8", "backslashreplace")))
            return
        with telling():
            self.flush()
            buffer.write(octets)
            buffer.flush()

    def complain(self, text: str) -> None:
        """Write a line to standard error."""
        with self._lock:
            self._clear_bar()
            self._write_err(harmless(text) + "\n")

    def end_line(self) -> None:
        """Start a new line below the ``^C`` on a terminal."""
        if _is_terminal(self._err):
            self.complain("")

    def paint(self, text: str, *styles: str) -> str:
        """A text in a style; only `line` of this terminal turns it into colour."""
        if not self._has_colour or not text:
            return text
        codes = ";".join(str(_STYLES[style]) for style in styles)
        return f"{_COLOUR}{codes}m{text}{_COLOUR}0m"

    def flush(self) -> None:
        """Flush all output."""
        with self._lock, telling():
            if self._out is not None:
                self._out.flush()

    def table(self, rows: Iterable[Sequence[str]], below: Iterable[str] = ()) -> None:
        """Write rows in columns, the first as the head. A terminal gets lines cut to its width.

        So the longest column should be the last. Texts that are too long for a column, perhaps
        empty, come `below` the rows after the head.
        """
        for number, (text, more) in enumerate(zip_longest(in_columns(rows), ("", *below))):
            shown = text if self.columns is None else cut(text, self.columns)
            self.line(self.paint(shown, "bold") if number == 0 else shown)
            if more:
                self.line(self.wrapped(f"    {more}"))

    @property
    def columns(self) -> int | None:
        """The width of the terminal in cells; None without a terminal."""
        return shutil.get_terminal_size().columns if self._shares_screen else None

    def wrapped(self, text: str, *, first_cells: int = 0, indent: str = "    ") -> str:
        """A text in lines that fit the terminal; unchanged without a terminal.

        Args:
            text: without colours.
            first_cells: the number of cells of the first line that are in use.
            indent: the beginning of the other lines.
        """
        if self.columns is None or first_cells + width_of(text) <= self.columns:
            return text
        lines = textwrap.wrap(
            text,
            max(self.columns, 20),
            initial_indent=" " * min(first_cells, 60),
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=False,  # users copy whole URLs
        )
        return "\n".join(lines)[min(first_cells, 60) :]

    def screen(self, lines: Sequence[str]) -> None:
        """Write lines in place of those before: on a terminal, at the top of the screen."""
        if not self._shares_screen or os.environ.get("TERM") == "dumb":
            for text in lines:
                self.line(text)
            self.flush()
            return
        height = shutil.get_terminal_size().lines - 1
        if len(lines) > height:
            lines = [*lines[: height - 1], "..."]
        # Each line ends with an escape sequence that clears the old text, so that nothing flickers.
        texts = "".join(f"{harmless(text)}\x1b[K\n" for text in lines)
        self._write_out(f"\x1b[H{texts}\x1b[J")
        self.flush()

    def progress(self, items: Iterable[Item], what: str) -> Iterator[Item]:
        """Yield items, and show the progress on standard error if it is a terminal.

        Without a length, the number so far is shown.
        """
        of = f" of {len(items):,}" if isinstance(items, Sized) else ""
        count = 0
        with self.waiting(lambda: f"{count:,}{of} {what}"):
            for item in items:
                yield item
                count += 1

    @contextmanager
    def waiting(self, words: Callable[[], str]) -> Iterator[None]:
        """Show a message and the time waited, on a terminal, if the wait is not short."""
        if not _is_terminal(self._err) or os.environ.get("TERM") == "dumb":
            yield
            return
        is_over = Event()
        watcher = Thread(target=self._wait, args=(words, is_over), name="rep-waiting", daemon=True)
        watcher.start()
        try:
            yield
        finally:
            is_over.set()
            watcher.join()
            with self._lock:
                self._clear_bar()

    def _wait(self, words: Callable[[], str], is_over: Event) -> None:
        began_at = time.monotonic()
        while not is_over.wait(_WAITING_SECONDS):
            seconds = time.monotonic() - began_at
            text = f"{words()}: {seconds:.0f} s (Ctrl-C ends this)"
            with self._lock:
                if not is_over.is_set():
                    self._show_bar(text)

    def _show_bar(self, text: str) -> None:
        text = cut(harmless(text), shutil.get_terminal_size().columns - 1)
        width = width_of(text)
        self._write_err(f"\r{text}{' ' * (self._bar_width - width)}")
        self._bar_width = width

    def _clear_bar(self) -> None:
        if self._bar_width:
            self._write_err("\r" + " " * self._bar_width + "\r")
            self._bar_width = 0

    def _write_out(self, text: str) -> None:
        if self._out is None:
            raise OutputError("standard output is closed")
        with telling():
            _write(self._out, text)

    def _write_err(self, text: str) -> None:
        """Write to standard error; a failure is ignored."""
        if self._err is not None:
            with suppress(OSError, ValueError):
                _write(self._err, text)
                self._err.flush()


@contextmanager
def telling() -> Iterator[None]:
    """Turn a failure to write into an OutputError; a reader that has stopped is not an error."""
    try:
        yield
    except BrokenPipeError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OutputError(f"standard output cannot be written: {reason}") from error


def _write(stream: TextIO, text: str) -> None:
    try:
        stream.write(text)
    except UnicodeEncodeError:
        encoding = stream.encoding or "ascii"
        stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def _is_terminal(stream: TextIO | None) -> bool:
    return stream is not None and not stream.closed and stream.isatty()


def harmless(text: str) -> str:
    """A text without control characters of terminals; colours made by `paint` stay."""
    return "\x1b[".join(part.translate(_SHOWN) for part in text.split(_COLOUR))


def in_columns(rows: Iterable[Sequence[str]]) -> list[str]:
    """Rows as lines with aligned columns."""
    cells = [list(row) for row in rows]
    widths = [max(map(width_of, column)) for column in zip(*cells, strict=True)]
    pairs = (zip(row, widths, strict=True) for row in cells)
    padded = ((cell + " " * (width - width_of(cell)) for cell, width in row) for row in pairs)
    return ["  ".join(row).rstrip() for row in padded]


def cut(text: str, cells: int) -> str:
    """A text cut to a number of cells."""
    if width_of(text) <= cells:
        return text
    while text and width_of(text) > cells - 3:
        text = text[: -max(1, (width_of(text) - cells) // 2)]
    return text + "..."


def shortened(text: str, begin: int, end: int) -> str:
    """A text cut in the middle, as the beginning and the end of a path tell most."""
    return text if len(text) <= begin + end else f"{text[:begin]}…{text[-end:]}"


def wants_colour(stream: TextIO) -> bool:
    """Whether to write colours: https://no-color.org, FORCE_COLOR, and terminals."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width_of(text: str) -> int:
    """The number of terminal cells that a text takes."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def safe(value: object) -> str:
    """A value from a file, a site or a user, safe for a terminal."""
    octets = value if isinstance(value, bytes) else str(value).encode("utf-8", "backslashreplace")
    return shown(octets)


def date(instant: float) -> str:
    """An instant as a date in UTC; as a number if it is not a date."""
    try:
        return f"{datetime.fromtimestamp(instant, timezone.utc):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, OSError, ValueError):  # a clock was wrong
        return f"{instant:g}"


def moment(instant: float) -> str:
    """An instant as a date that names its time zone."""
    text = date(instant)
    return f"{text} UTC" if ":" in text else text


def when(instant: float) -> str:
    """An instant in words: its date, and its distance from now."""
    text = moment(instant)
    return f"{text} ({distance(instant)})" if text.endswith("UTC") else text


def distance(instant: float) -> str:
    """The distance of an instant from now."""
    away = instant - time.time()
    words = age_words(abs(away), is_long=True)
    return f"in {words}" if away > 0 else f"{words} ago"


def way_words(steps: Sequence[Step], hops: Sequence[str]) -> Iterator[str]:
    """Describe the steps of an exchange: the answer, its source, size and time.

    Without known steps, the URIs on the way.
    """
    if not steps:
        yield from (f"{'->' if number else 'from'} {safe(hop)}" for number, hop in enumerate(hops))
    before = None
    for step in steps:
        facts = [
            "no answer is known" if step.event is None else name_of(step.event),
            *([] if step.octets is None else [counted(step.octets, "octet")]),
            *([f"from {step.address}"] if step.address else []),
            *([] if step.seconds is None else [f"in {step.seconds:.3f} s"]),
            *([] if step.sent_at is None else [f"at {moment(step.sent_at)}"]),
        ]
        if step.is_copied:
            facts.append("not fetched: taken from the copy of that origin")
        elif step.sent_at is None and step.event is not None:
            facts.append("not sent")
        # A retry was not redirected to its URL.
        is_again = before is not None and before.uri == step.uri and not before.location
        lead = "from" if before is None else "again" if is_again else "->"
        yield f"{lead} {safe(step.uri)} ({safe(', '.join(facts))})"
        before = step


def step_dict(step: Step) -> dict[str, Any]:
    """A step as JSON; null is unknown."""
    event = None if step.event is None else name_of(step.event)
    told = {"event": event, "address": step.address or None, "location": step.location or None}
    found = {**asdict(step), **told}
    del found["record"]  # for archives only
    return found


def csv_line(values: Iterable[object]) -> str:
    """A row of a CSV table; lists are joined by semicolons, and unknown values are empty."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(map(_csv_text, values))
    return text.getvalue()


def _csv_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "; ".join(value)
    return "" if value is None else csv_cell(safe(value))


def csv_cell(value: object) -> str:
    """A cell that spreadsheets do not read as a formula: text from sites may begin like one."""
    text = str(value)
    is_number = text.replace("-", "", 1).replace(".", "", 1).isdigit()
    return (
        f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) and not is_number else text
    )
