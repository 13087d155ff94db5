"""Tells when a request is done: when it leaves the engine's set of requests in progress.

No documented hook covers every request late enough. Spider middlewares do not see requests that end
in downloader middlewares, and signals do not cover dropped requests. For a callback that is an
asynchronous generator, both come before all requests that it yields are enqueued. A request leaves
the engine's set after that, and after item pipelines. A request that is retried or redirected
leaves the set after its successor was enqueued.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from typing import TYPE_CHECKING, Any

from scrapy import Request

from scrapy_rep.engine.loops import sleep
from scrapy_rep.engine.state import is_closing
from scrapy_rep.protocol.errors import ConfigurationError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_LOOK_SECONDS = 0.05  # how soon `start` goes on after a wait


class _Telling(set[Request]):
    """Replaces the engine's set, and calls a function with each request that leaves it."""

    def __init__(self, requests: Iterable[Request], tell: Callable[[Request], None]) -> None:
        super().__init__(requests)
        self._tell = tell

    def remove(self, request: Request) -> None:
        """Remove a request, like `set.remove`."""
        super().remove(request)
        self._tell(request)

    def discard(self, request: object) -> None:
        """Remove a request if it is in the set."""
        if isinstance(request, Request) and request in self:
            self.remove(request)


def tell_of_ends(crawler: Crawler, tell: Callable[[Request], None]) -> None:
    """Call a function with each request that is done.

    Raises:
        ConfigurationError: the engine of this release of Scrapy has no such set.
    """
    slot: Any = getattr(crawler.engine, "_slot", None)
    requests = getattr(slot, "inprogress", None)
    if not isinstance(requests, set):
        raise ConfigurationError(
            "This release of Scrapy does not tell RepRedisScheduler which requests are done, so "
            "requests would be lost: use Scrapy 2.15 to 2.19, or a newer scrapy-rep"
        )
    slot.inprogress = _Telling(requests, tell)


def is_starting(crawler: Crawler) -> bool:
    """Whether the spider's `start` has more to yield; False if Scrapy does not tell."""
    return getattr(crawler.engine, "_start", None) is not None


def slow_start(crawler: Crawler, must_wait: Callable[[], bool]) -> None:
    """Pull nothing from the spider's `start` while `must_wait` is true, or once the crawl closes.

    While no request can be sent, the engine itself pulls without a pause, so nothing else runs.
    """
    engine: Any = crawler.engine
    start = getattr(engine, "_start", None)
    if start is not None:
        engine._start = _slowed(crawler, start, must_wait)  # noqa: SLF001


async def _slowed(
    crawler: Crawler, start: AsyncIterator[Any], must_wait: Callable[[], bool]
) -> AsyncIterator[Any]:
    async for one in start:
        if is_closing(crawler):
            return
        yield one
        if not can_take_more(crawler):
            await sleep(0)
        while must_wait() and not is_closing(crawler):
            await sleep(_LOOK_SECONDS)


def can_take_more(crawler: Crawler) -> bool:
    """Whether the engine would take another request now."""
    engine: Any = crawler.engine
    # Before the spider is open there is no slot, and `needs_backout` would fail.
    is_open = engine is not None and getattr(engine.scraper, "slot", None) is not None
    return is_open and not engine.needs_backout()
