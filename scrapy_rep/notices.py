"""Signals on their way to whoever listens, with nobody waiting for them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future

from .engine import has_listeners

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred


class Notices:
    """The signals that a crawl sends; without listeners they cost next to nothing."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._tasks: set[Deferred[Any]] = set()

    def has_listeners(self, signal: object) -> bool:
        """Whether anybody would hear a signal."""
        return has_listeners(self._crawler, signal)

    def send(self, signal: object, **values: Any) -> None:
        """Send a signal; what handlers raise is logged by Scrapy."""
        if not self.has_listeners(signal):
            return
        sending = self._crawler.signals.send_catch_log_async(signal=signal, **values)
        task: Deferred[Any] = deferred_from_coro(sending)
        self._tasks.add(task)  # or it would be collected while it runs
        task.addBoth(lambda _: self._tasks.discard(task))

    async def finish(self) -> None:
        """Come back when all handlers are done."""
        for task in list(self._tasks):
            await maybe_deferred_to_future(task)
