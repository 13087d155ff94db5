"""When a request is done: when it leaves the engine's set of requests in progress.

Nothing else tells of every request, and late enough. Of 28 kinds of ending, spider middlewares miss
those in downloader middlewares, and signals those of drops; both tell of a callback that is an
asynchronous generator before all that it yields was enqueued. The engine's set is left after that,
and after item pipelines; by what is retried or redirected, after its successor was enqueued.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from scrapy import Request

from scrapy_rep.protocol.errors import ConfigurationError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class _Telling(set[Request]):
    """The engine's set, which tells of each request that leaves it."""

    def __init__(self, requests: Iterable[Request], tell: Callable[[Request], None]) -> None:
        super().__init__(requests)
        self._tell = tell

    def remove(self, request: Request) -> None:
        """Take a request out, as of any set."""
        super().remove(request)
        self._tell(request)

    def discard(self, request: object) -> None:
        """The same for one that may not be there."""
        if isinstance(request, Request) and request in self:
            self.remove(request)


def tell_of_ends(crawler: Crawler, tell: Callable[[Request], None]) -> None:
    """Have a function called with each request that is done.

    Raises:
        ConfigurationError: this release of Scrapy has no such set.
    """
    slot: Any = getattr(crawler.engine, "_slot", None)
    requests = getattr(slot, "inprogress", None)
    if not isinstance(requests, set):
        raise ConfigurationError(
            "RepRedisScheduler can't be told by this release of Scrapy which requests are done, "
            "and would lose them: use Scrapy 2.15 to 2.19, or a newer scrapy-rep"
        )
    slot.inprogress = _Telling(requests, tell)


def is_starting(crawler: Crawler) -> bool:
    """Whether the spider's `start` has more to yield; where Scrapy keeps it to itself, not."""
    return getattr(crawler.engine, "_start", None) is not None


def can_take_more(crawler: Crawler) -> bool:
    """Whether the engine would take another request now."""
    engine: Any = crawler.engine
    # Before the spider is open there is no slot, and the engine does not expect to be asked.
    is_open = engine is not None and getattr(engine.scraper, "slot", None) is not None
    return is_open and not engine.needs_backout()
