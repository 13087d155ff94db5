"""What is written to people: colour on terminals only, a progress bar, tables."""

from __future__ import annotations

import os
import shutil
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO, TypeVar

Item = TypeVar("Item")

_STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}
_BAR_CELLS = 30
_BAR_SECONDS = 0.1


class Terminal:
    """Standard output and standard error; either may be a terminal or not."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err
        self._has_colour = wants_colour(out)
        self._bar_width = 0

    def line(self, text: str = "") -> None:
        """Write a line of the result."""
        self._clear_bar()
        self._write(self._out, text + "\n")

    def octets(self, octets: bytes) -> None:
        """Write octets as they are."""
        self._out.flush()
        buffer = getattr(self._out, "buffer", None)
        if buffer is None:
            self._write(self._out, octets.decode("utf-8", "backslashreplace"))
        else:
            buffer.write(octets)
            buffer.flush()

    def complain(self, text: str) -> None:
        """Write a line to standard error."""
        self._clear_bar()
        self._write(self._err, text + "\n")

    def paint(self, text: str, *styles: str) -> str:
        """Text in a style, on a terminal."""
        if not self._has_colour or not text:
            return text
        codes = ";".join(_STYLES[style] for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def flush(self) -> None:
        """Have everything written."""
        self._clear_bar()
        self._out.flush()

    def table(self, rows: Iterable[Sequence[str]]) -> None:
        """Write rows in columns; the first is the head."""
        cells = [list(row) for row in rows]
        widths = [max(map(width_of, column)) for column in zip(*cells, strict=True)]
        for number, row in enumerate(cells):
            padded = [
                cell + " " * (width - width_of(cell))
                for cell, width in zip(row, widths, strict=True)
            ]
            text = "  ".join(padded).rstrip()
            self.line(self.paint(text, "bold") if number == 0 else text)

    def progress(self, items: Sequence[Item], what: str) -> Iterator[Item]:
        """The items, with a bar on standard error while they are gone through, if it is one."""
        count, shown_at = len(items), 0.0
        is_shown = self._err.isatty() and count > 1
        for number, item in enumerate(items):
            now = time.monotonic()
            if is_shown and now - shown_at >= _BAR_SECONDS:
                shown_at = now
                self._bar(number, count, what)
            yield item
        self._clear_bar()

    def _bar(self, done: int, count: int, what: str) -> None:
        cells = _BAR_CELLS * done // count
        bar = "#" * cells + "-" * (_BAR_CELLS - cells)
        text = f"[{bar}] {done:,} of {count:,} {what}"[: shutil.get_terminal_size().columns - 1]
        self._write(self._err, f"\r{text}{' ' * (self._bar_width - len(text))}")
        self._err.flush()
        self._bar_width = len(text)

    def _clear_bar(self) -> None:
        if self._bar_width:
            self._write(self._err, "\r" + " " * self._bar_width + "\r")
            self._bar_width = 0

    def _write(self, stream: TextIO, text: str) -> None:
        try:
            stream.write(text)
        except UnicodeEncodeError:
            encoding = stream.encoding or "ascii"
            stream.write(text.encode(encoding, "backslashreplace").decode(encoding))


def wants_colour(stream: TextIO) -> bool:
    """Whether to write colour: https://no-color.org, FORCE_COLOR, and terminals."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def width_of(text: str) -> int:
    """How many cells of a terminal a text takes."""
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def count_of(number: int, noun: str) -> str:
    """A number with its noun: ``1 error``, ``2 errors``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
