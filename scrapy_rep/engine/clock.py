"""The clock of records: the wall clock, without the steps by which it is set during a crawl.

While a trail is open, the wall clock counts as it was when the first trail was opened, and the
monotonic clock tells the time since. Without a trail, it is the wall clock.
"""

from __future__ import annotations

import time


class Clock:
    """The clock of one process."""

    def __init__(self) -> None:
        self._ahead_seconds: float | None = None
        self._user_count = 0

    def keep(self) -> None:
        """Ignore steps of the wall clock from now on, until each user has called `leave`."""
        if not self._user_count:
            self._ahead_seconds = time.time() - time.monotonic()
        self._user_count += 1

    def leave(self) -> None:
        """Undo a call of `keep`."""
        self._user_count -= 1
        if not self._user_count:
            self._ahead_seconds = None

    def at(self, monotonic: float) -> float:
        """An instant of the monotonic clock, in POSIX seconds."""
        ahead = self._ahead_seconds
        return monotonic + (time.time() - time.monotonic() if ahead is None else ahead)

    def now(self) -> float:
        """Now, in POSIX seconds."""
        return time.time() if self._ahead_seconds is None else self.at(time.monotonic())


CLOCK = Clock()
