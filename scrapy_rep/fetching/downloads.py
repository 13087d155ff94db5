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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.exceptions import IgnoreRequest

from scrapy_rep import stats
from scrapy_rep.engine.journal import Journal
from scrapy_rep.engine.loops import Running, Ticks, within
from scrapy_rep.protocol.access.origin import Origin

from .course import Course, Part
from .transfer import MARK, Transfer
from .wires import timeout_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_rep.engine.slots import Slots
    from scrapy_rep.settings import RepSettings

logger = logging.getLogger(__name__)


_LOOK_SECONDS = 0.1
_GRACE_SECONDS = 1.0  # handlers that keep their time limit raise first, and tell more
IDLE_LIMIT = 1000
"""How many fetches may be queued in slots: each takes memory."""


class _Download:
    """One request in the engine; a middleware may replace it with another."""

    __slots__ = ("course", "is_back", "request", "running", "sent_at")

    def __init__(self, request: Request, course: Course, running: Running[Response]) -> None:
        self.request = request
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
        slots: Slots,
        told_of_reached: Callable[[Request], None],
    ) -> None:
        """Take the slots, and who is told of each request that comes to the downloader."""
        self._crawler = crawler
        self._journal = Journal(crawler)
        self._settings = settings
        self._slots = slots
        self._under_way: dict[Transfer, _Download] = {}
        self._ticks = Ticks(_LOOK_SECONDS)
        self._told = told_of_reached, self.left
        self._listener_count = 0

    async def answer_to(self, request: Request, course: Course) -> Response:
        """The engine's answer to a request of ours, which is a part of an exchange.

        Raises:
            TimeoutError: the handler took too long.
            IgnoreRequest: the slot did not send the request in time.
            Exception: what else the engine raises.
        """
        transfer: Transfer = request.meta[MARK]
        await self._wait_for_turn(request, course)
        course.enter(Part.MIDDLEWARES)
        with self._listening():  # before it runs: without asyncio, it does so at once
            download = _Download(request, course, Running(self._in_engine(request)))
            self._under_way[transfer] = download
            self._ticks.add(self._look)
            try:
                return await download.running.result()
            except BaseException:
                self._slots.abandon(download.request)
                raise
            finally:
                course.enter(Part.MIDDLEWARES)
                del self._under_way[transfer]
                if self._slots.gate is not None:
                    self._slots.gate.end(request)
                if not self._under_way:
                    self._ticks.drop(self._look)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Hear of each request that reaches the downloader or leaves it; pages pay for that."""
        self._listener_count += 1
        self._slots.listen_to_requests(self._told)
        try:
            yield
        finally:
            self._listener_count -= 1
            if not self._listener_count:
                self._slots.listen_to_requests(None)

    async def _wait_for_turn(self, request: Request, course: Course) -> None:
        """Wait for the turn of a request among those of other workers, if they share a pace.

        Raises:
            IgnoreRequest: it did not come in time.
        """
        gate = self._slots.gate
        origin = None if gate is None else Origin.of(request.url)
        if gate is None or origin is None:
            return
        ask, is_awaited = self._slots.ask_of(origin), course.is_awaited
        seconds = max(self._slots.told_delay(origin, origin.host), ask.seconds if ask else 0.0)
        if gate.is_open(origin, seconds, request, is_awaited=is_awaited):
            return
        course.enter(Part.SLOT)
        limit = self._settings.fetch_line_seconds + seconds
        try:
            await within(limit, gate.wait(origin, seconds, request, is_awaited=is_awaited))
        except TimeoutError:
            raise self._given_up(request, f"it waited {limit:.0f} seconds for its turn") from None

    async def _in_engine(self, request: Request) -> Response:
        engine = self._crawler.engine
        assert engine is not None  # noqa: S101 - without one, the crawl would be closing
        with self._slots.place_of_its_own():
            return await engine.download_async(request)

    def _of(self, request: Request) -> _Download | None:
        transfer = request.meta.get(MARK)
        return self._under_way.get(transfer) if isinstance(transfer, Transfer) else None

    def reached(self, request: Request) -> None:
        """A request has come to the downloader: ours, or one that a middleware put in its place."""
        self._slots.ask_as_known(request)
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
        if not self._slots.has(request):
            return Part.MIDDLEWARES
        return Part.SLOT if self._slots.is_waiting(request) else Part.HANDLER

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
        limit = self._settings.fetch_line_seconds + self._slots.delay_seconds(request)
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
