"""The timer that wakes the engine when the next request that waits for a time is due."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later

from scrapy_rep.engine.state import is_closing, wake

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import CallLaterResult


class Alarm:
    """At most one timer at a time: the earliest."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._timer: CallLaterResult | None = None
        self._at = 0.0

    def set(self, at: float | None) -> None:
        """Wake the engine then, monotonic seconds, unless it will be woken earlier."""
        if at is None or is_closing(self._crawler) or (self._timer and self._at <= at):
            return
        self.cancel()
        self._at = at
        self._timer = call_later(max(0.0, at - time.monotonic()), self._ring)

    def cancel(self) -> None:
        """Wake nobody any more."""
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _ring(self) -> None:
        self._timer = None
        wake(self._crawler)
