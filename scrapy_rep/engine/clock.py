"""The clock of a crawl's records: the wall clock, without the steps by which it is set.

Once a trail is open, the wall clock counts as it was then, and the monotonic clock tells the time
since. Without a trail, it is the wall clock.
"""

from __future__ import annotations

import time


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
