"""Says in the log why nothing is fetched, once a minute, while requests wait."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.utils.asyncio import call_later

from scrapy_rep.engine.downloader import EVENT
from scrapy_rep.engine.state import queues_of
from scrapy_rep.engine.transfer import is_own
from scrapy_rep.protocol.access.origin import Origin, origin_of
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.units import counted
from scrapy_rep.stats import Journal

from .pacing import Pacing
from .waits import READY, Wait, Waits, Why

if TYPE_CHECKING:
    from scrapy.utils.asyncio import CallLaterResult

    from scrapy_rep.crawl import Crawl

QUIET_SECONDS = 60.0
"""After each such time without a page, the log says why requests wait."""

_NAMED = 3  # groups of requests in a line


class Standstill:
    """Watches one crawl, with any queue."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawler = crawl.crawler
        self._journal = Journal(crawler, __name__)
        self._waits = crawl.part(Waits)
        self._pacing = crawl.part(Pacing)
        self._timer: CallLaterResult | None = None
        crawler.signals.connect(self._look_later, signal=signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)

    def _spider_closed(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _look_later(self) -> None:
        self._timer = call_later(QUIET_SECONDS, self._look)

    def _look(self) -> None:
        self._look_later()
        seconds = time.monotonic() - self._pacing.left_at
        if seconds < QUIET_SECONDS:
            return
        groups = Counter[tuple[Origin | str, Wait]]()
        for where, wait, count in (*self._in_queues(), *self._in_downloader()):
            groups[where, wait] += count
        if not groups:
            return
        told = [
            f"{count:,} to {where} for {self._words(where, wait)}"
            for (where, wait), count in groups.most_common(_NAMED)
        ]
        if len(groups) > _NAMED:
            told.append(f"others to {counted(len(groups) - _NAMED, 'more origin')}")
        self._journal.info(
            "Nothing was fetched for %.0f s, while %s: %s",
            *(seconds, counted(groups.total(), "request waits", "requests wait"), "; ".join(told)),
        )

    def _in_queues(self) -> Iterator[tuple[Origin | str, Wait, int]]:
        for queue in queues_of(self._crawler):
            waiting = getattr(queue, "waiting", None)
            for origin, slot, count, wait in waiting() if waiting is not None else ():
                yield origin or slot, wait, count

    def _in_downloader(self) -> Iterator[tuple[Origin | str, Wait, int]]:
        """The requests that have left the queue, in middlewares or in slots."""
        downloader = self._pacing.downloader
        for request in downloader.active:
            origin = None
            with suppress(InvalidUri):
                origin = origin_of(request.url)
            wait = READY
            if downloader.is_waiting(request):
                wait = Wait(Why.FULL, EVENT)
            elif origin is not None and not downloader.has(request):
                wait = self._waits.of(origin)
            if not is_own(request):
                yield origin or request.url, wait, 1

    def _words(self, where: Origin | str, wait: Wait) -> str:
        if wait.why is Why.READY:
            return "their answer, or a middleware"
        words = wait.why.value
        if wait.why is Why.RESTING and isinstance(where, Origin):
            words += self._pacing.backoff.words_of(where)
        left_seconds = wait.until - time.monotonic()
        return f"{words} ({left_seconds:.0f} s)" if 0 < left_seconds < EVENT else words
