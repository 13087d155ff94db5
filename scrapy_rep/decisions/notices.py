"""Sends the signals of a crawl to their handlers."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future

from scrapy_rep.engine.loops import within
from scrapy_rep.engine.state import has_listeners

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

logger = logging.getLogger(__name__)

_HANDLERS_SECONDS = 10.0


class Notices:
    """Sends the signals of one crawl; signals without listeners cost almost nothing."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._tasks: set[Deferred[Any]] = set()

    def has_listeners(self, signal: object) -> bool:
        """Whether a signal has any handler."""
        return has_listeners(self._crawler, signal)

    def send(self, signal: object, **values: Any) -> None:
        """Send a signal; Scrapy logs the errors of handlers."""
        if not self.has_listeners(signal):
            return
        sending = self._crawler.signals.send_catch_log_async(signal=signal, **values)
        task: Deferred[Any] = deferred_from_coro(sending)
        self._tasks.add(task)  # otherwise it might be garbage-collected while it runs
        task.addBoth(lambda _: self._tasks.discard(task))

    async def deliver(self, signal: object, limit_seconds: float, **values: Any) -> None:
        """Send a signal, and return when all handlers are done or have taken too long."""
        sending = self._crawler.signals.send_catch_log_async(signal=signal, **values)
        await self._until_done(sending, min(limit_seconds, _HANDLERS_SECONDS))

    async def finish(self) -> None:
        """Return when all handlers are done. Slow handlers are cancelled."""
        if self._tasks:
            await self._until_done(self._all(), _HANDLERS_SECONDS)
            for task in list(self._tasks):
                task.cancel()

    async def _all(self) -> None:
        for task in list(self._tasks):
            await maybe_deferred_to_future(task)

    async def _until_done(self, handling: Coroutine[Any, Any, Any], seconds: float) -> None:
        try:
            await within(seconds, handling)
        except TimeoutError:
            logger.warning(
                "Handlers of scrapy-rep signals did not finish in %g s and are cancelled",
                seconds,
                extra={"spider": self._crawler.spider},
            )
