"""Work that is begun together with other work of its kind, while the event loop is busy.

A processor does pieces of one kind that follow each other in less time than as many among others:
code and data are at hand then. That is up to a fifth of what a crawl of many origins takes
(`benchmarks/crawls.py`, shape c).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later

if TYPE_CHECKING:
    from scrapy.utils.asyncio import CallLaterResult

_IDLE_SECONDS = 0.0003  # a turn of the event loop that took less had nothing to do


class Gathering:
    """Begins pieces of work, all that came meanwhile in a row.

    It holds none of them for longer than its limit and a turn of the event loop, and none while the
    loop is idle: there is nothing to save then, and somebody may wait.
    """

    def __init__(self, limit_seconds: float) -> None:
        self._limit_seconds = limit_seconds
        self._gathered: deque[Callable[[], None]] = deque()
        self._timer: CallLaterResult | None = None
        self._until = self._turned_at = 0.0  # monotonic seconds

    def add(self, begin: Callable[[], None]) -> None:
        """Have a piece of work begun soon."""
        self._gathered.append(begin)
        if self._timer is None:
            now = time.monotonic()
            self._until = now + self._limit_seconds
            self._wait_a_turn(now)

    def clear(self) -> None:
        """Begin none of them."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()
        self._gathered.clear()

    def _wait_a_turn(self, now: float) -> None:
        self._turned_at = now
        self._timer = call_later(0, self._turn)

    def _turn(self) -> None:
        self._timer = None
        now = time.monotonic()
        if now < self._until and now - self._turned_at >= _IDLE_SECONDS:
            self._wait_a_turn(now)
            return
        try:
            while self._gathered:
                self._gathered.popleft()()
        finally:
            if self._gathered and self._timer is None:  # one raised: the others have their turn
                self._wait_a_turn(now)
