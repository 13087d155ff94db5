"""One line on standard error that tells how far long work is, where that is a terminal."""

from __future__ import annotations

import shutil
import time
from typing import TextIO

_EACH_SECONDS = 0.25


class Ticker:
    """A line that is written over again and again."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_shown = stream.isatty()
        self._width = 0
        self._shown_at = 0.0
        self.began_at = time.monotonic()

    @property
    def is_due(self) -> bool:
        """Whether it is time for another line."""
        return self._is_shown and time.monotonic() - self._shown_at >= _EACH_SECONDS

    @property
    def seconds(self) -> float:
        """Since the work began."""
        return max(time.monotonic() - self.began_at, 1e-9)

    def show(self, text: str) -> None:
        """Show a line in the place of the last one."""
        text = text[: shutil.get_terminal_size().columns - 1]
        self._stream.write(f"\r{text}{' ' * (self._width - len(text))}")
        self._stream.flush()
        self._width = len(text)
        self._shown_at = time.monotonic()

    def clear(self) -> None:
        """Take the line away."""
        if self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._stream.flush()
            self._width = 0
