"""Two clocks: the wall clock, in POSIX seconds, and the monotonic clock.

A crawl's records have the time of the wall clock, without the steps by which it is set: once a
trail is open, it counts as it was then, and the monotonic clock tells the time since.
"""

from __future__ import annotations

import time
from typing import NewType

Monotonic = NewType("Monotonic", float)
"""An instant of the monotonic clock, in seconds. POSIX seconds are plain floats."""


def monotonic_at(posix: float) -> Monotonic:
    """The instant of the monotonic clock that is a time in POSIX seconds."""
    return Monotonic(time.monotonic() + posix - time.time())


def posix_at(monotonic: float) -> float:
    """The time in POSIX seconds of an instant of the monotonic clock."""
    return time.time() + monotonic - time.monotonic()


class Clock:
    """The clock of one crawl."""

    def __init__(self) -> None:
        self._ahead_seconds: float | None = None

    def keep(self) -> None:
        """Ignore steps of the wall clock from now on."""
        self._ahead_seconds = time.time() - time.monotonic()

    def at(self, monotonic: float) -> float:
        """An instant of the monotonic clock, in POSIX seconds."""
        ahead = self._ahead_seconds
        return monotonic + (time.time() - time.monotonic() if ahead is None else ahead)

    def now(self) -> float:
        """Now, in POSIX seconds."""
        return time.time() if self._ahead_seconds is None else self.at(time.monotonic())
