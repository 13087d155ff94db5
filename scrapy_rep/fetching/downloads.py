"""The robots.txt requests in the engine: each part of their way has a time limit.

A request passes the middlewares, is queued in its slot, is with a download handler, and its answer
passes the middlewares again. In Scrapy only handlers have a time limit, and keep it themselves.
Scrapy tells when a request comes to its slot and when it leaves the handler. It does not tell when
the slot sends the request, so we look for that ten times a second, at O(1) for each request.

The handler may take the `download_timeout` of the request and a second. The slot may take
`REP_FETCH_LINE_SECONDS` and one delay. The exchange limits everything together.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest

from scrapy_rep import stats
from scrapy_rep.engine.journal import Journal
from scrapy_rep.engine.loops import Running, Ticks
from scrapy_rep.pace.downloader import Downloader

from .course import Course, Part
from .transfer import MARK, Transfer
from .wires import timeout_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_rep.settings import RepSettings

logger = logging.getLogger(__name__)


_LOOK_SECONDS = 0.1
_GRACE_SECONDS = 1.0  # handlers that keep their time limit raise first, and tell more
IDLE_LIMIT = 1000
"""How many fetches may be queued in slots: each takes memory."""


class _Download:
    """One request in the engine; a middleware may replace it with another."""

    __slots__ = ("course", "is_back", "request", "running", "sent_at", "transfer")

    def __init__(self, request: Request, course: Course, running: Running[Response]) -> None:
        self.request = request
        self.transfer: Transfer = request.meta[MARK]
        self.course = course
        self.running = running
        self.sent_at: float | None = None
        self.is_back = False


class Downloads:
    """The robots.txt requests of one crawl that are in the engine."""

    def __init__(
        self,
        crawler: Crawler,
        settings: RepSettings,
        told_of_reached: Callable[[Request], None],
    ) -> None:
        """Take what is called with each request that comes to the downloader."""
        self._crawler = crawler
        self._journal = Journal(crawler)
        self._settings = settings
        self._downloader = Downloader(crawler)
        self._under_way: dict[Transfer, _Download] = {}
        self._ticks = Ticks(_LOOK_SECONDS)
        crawler.signals.connect(told_of_reached, signal=signals.request_reached_downloader)
        crawler.signals.connect(self.left, signal=signals.request_left_downloader)

    async def answer_to(self, request: Request, course: Course) -> Response:
        """The engine's answer to a request of ours, which is a part of an exchange.

        Raises:
            TimeoutError: the handler took too long.
            IgnoreRequest: the slot did not send the request in time.
            Exception: what else the engine raises.
        """
        transfer: Transfer = request.meta[MARK]
        course.enter(Part.MIDDLEWARES)
        download = _Download(request, course, Running(self._in_engine(request)))
        self._under_way[transfer] = download
        self._ticks.add(self._look)
        try:
            return await download.running.result()
        except BaseException:
            self._downloader.abandon(download.request)
            raise
        finally:
            course.enter(Part.MIDDLEWARES)
            del self._under_way[transfer]
            if not self._under_way:
                self._ticks.drop(self._look)

    async def _in_engine(self, request: Request) -> Response:
        engine = self._crawler.engine
        assert engine is not None  # noqa: S101 - without one, the crawl would be closing
        with self._downloader.one_place_more():
            return await engine.download_async(request)

    def _of(self, request: Request) -> _Download | None:
        transfer = request.meta.get(MARK)
        return self._under_way.get(transfer) if isinstance(transfer, Transfer) else None

    def reached(self, request: Request) -> None:
        """A request has come to the downloader: ours, or one that a middleware put in its place."""
        download = self._of(request)  # none yet if it came at once, which it does without asyncio
        if download is not None:
            download.request, download.sent_at, download.is_back = request, None, False

    def left(self, request: Request) -> None:
        """A request has left the downloader."""
        download = self._of(request)
        if download is not None:
            download.is_back = True

    def _look(self) -> None:
        for download in list(self._under_way.values()):
            course, part = download.course, self._part(download)
            is_new = part is not course.part
            course.enter(part)
            if part is Part.HANDLER:
                self._look_at_handler(download)
            elif part is Part.SLOT:
                self._look_at_queued(download, is_new=is_new)

    def _part(self, download: _Download) -> Part:
        request = download.request
        if download.is_back:
            return Part.ANSWER
        if download.transfer.turn_seconds is not None:
            return Part.SLOT
        if not self._downloader.has(request):
            return Part.MIDDLEWARES
        return Part.SLOT if self._downloader.is_waiting(request) else Part.HANDLER

    def _look_at_handler(self, download: _Download) -> None:
        now = time.monotonic()
        if download.sent_at is None:
            download.sent_at = now
        seconds = self._timeout_seconds(download.request)
        if now - download.sent_at > seconds + _GRACE_SECONDS:
            download.running.end(
                TimeoutError(f"the download handler did not end {download.request} in time")
            )

    def _timeout_seconds(self, request: Request) -> float:
        """The handler's time limit."""
        return timeout_of(request) or self._settings.fetch_timeout_seconds

    def _look_at_queued(self, download: _Download, *, is_new: bool) -> None:
        course, request = download.course, download.request
        limit = self._settings.fetch_line_seconds + max(
            self._downloader.delay_seconds(request), download.transfer.turn_seconds or 0.0
        )
        if course.queued.seconds > limit:
            why = f"it was queued for {course.queued.seconds:.0f} seconds"
        elif is_new and course.queued_count > IDLE_LIMIT:
            why = f"{IDLE_LIMIT} others are queued"
        else:
            return
        download.running.end(self._given_up(request, why))

    def _given_up(self, request: Request, why: str) -> IgnoreRequest:
        self._journal.count(stats.LINE_GAVE_UP)
        logger.warning(
            "The fetch of %s is given up in the queue of its slot: %s",
            request.url,
            why,
            extra=self._journal.extra,
        )
        return IgnoreRequest(f"given up in the queue of its slot: {why}")
