"""Tracks requests outside the buffer and their links, and gives turns to other requests.

A page is done after its own links are queued, so the ledger must know which page a link is from.

Other requests were not queued, such as refetched robots.txt files and the media of pages.

A queued request has its turn when it is popped. Other requests need a wish for a turn. Such a turn
comes once the lane is open, closes the lane like a popped request, and is reported in the same way.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

from scrapy import Request, signals
from scrapy.exceptions import IgnoreRequest

from scrapy_rep.engine.loops import sleep
from scrapy_rep.engine.state import is_closing
from scrapy_rep.engine.transfer import MARK, is_own
from scrapy_rep.pace.pacing import Turn
from scrapy_rep.protocol.access.origin import Origin

from .batch import HeldRequest, Wish
from .fleet_lanes import FleetLanes
from .ledger import START, Ledger
from .progress import can_take_more, slow_start, tell_of_ends
from .talk import Talk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.crawler import Crawler
    from scrapy.http import Response


_LOOK_SECONDS = 0.05  # how soon a late worker learns whether it was taken over
_LINKS = 200  # of a page; its callback waits while as many are not in Redis, as `start` does
_QUEUED = 1000  # with as many in Redis, `start` waits until this worker has a free place


class Out:
    """The requests of one worker that have left its buffer and are not done."""

    def __init__(self, crawler: Crawler, ledger: Ledger, talk: Talk) -> None:
        self._crawler = crawler
        self._ledger = ledger
        self._talk = talk
        self._held: dict[Request, HeldRequest] = {}
        self._turns: dict[Request, HeldRequest] = {}  # a queued one may have a turn in another lane
        self._sent: WeakSet[Request] = WeakSet()  # to the downloader
        self._causes: WeakKeyDictionary[Request, str] = WeakKeyDictionary()

    def follow(self) -> None:
        """Start to observe what happens to requests.

        Raises:
            ConfigurationError: this release of Scrapy does not tell which requests are done.
        """
        crawler = self._crawler
        links = crawler.get_spider_middleware(FleetLinks)
        if links is not None:
            links.out = self
        tell_of_ends(crawler, self.end)
        slow_start(crawler, lambda: self.has_many_links(START) or self._has_enough)
        crawler.signals.connect(self._reached, signal=signals.request_reached_downloader)
        crawler.signals.connect(self._left, signal=signals.request_left_downloader)

    def add(self, held: HeldRequest) -> None:
        """Note a request that goes to the engine."""
        (self._turns if held.is_turn else self._held)[held.request] = held

    def __contains__(self, request: Request) -> bool:
        return request in self._held

    def _of(self, request: Request) -> Iterator[HeldRequest]:
        for some in (self._held, self._turns):
            if (held := some.get(request)) is not None:
                yield held

    def turn_of(self, lane: str, request: Request) -> HeldRequest | None:
        """The turn that a request has in this lane; None without a turn."""
        return next((held for held in self._of(request) if held.lane == lane), None)

    def is_on_its_way(self, lane: str) -> bool:
        """Whether a request of this lane has its turn but has not come to its slot. O(out)."""
        return any(one.lane == lane and not one.has_reached for one in self._held.values())

    @property
    def kept_count(self) -> int:
        """The number of requests that only this worker can fetch. O(out)."""
        return sum(one.is_kept for one in self._held.values())

    def clear(self) -> None:
        """Forget all requests, because other workers got them."""
        self._held.clear()
        self._turns.clear()

    def link(self, link: Request, page: Request | None) -> str:
        """Note which page a link is from; return the id of that page, or an empty string."""
        held = None if page is None else self._held.get(page)
        if held is None:
            return ""
        self._causes[link] = held.id
        return held.id

    def cause_of(self, link: Request) -> str:
        """The id of the page that a link is from; empty if it is not known."""
        return self._causes.pop(link, "")

    def has_many_links(self, page_id: str) -> bool:
        """Whether the callback of a page must wait."""
        return self._ledger.unsent_of(page_id) >= _LINKS

    @property
    def is_closing(self) -> bool:
        """Whether the crawl closes."""
        return is_closing(self._crawler)

    @property
    def _has_enough(self) -> bool:
        """Whether the queue is long, and this worker has a request for each place."""
        reply = self._talk.reply
        has_work = bool(self._ledger.buffer) or not can_take_more(self._crawler)
        return reply is not None and reply.queued >= _QUEUED and has_work

    def _reached(self, request: Request) -> None:
        self._sent.add(request)
        for held in self._of(request):
            held.has_reached = True

    def _left(self, request: Request) -> None:
        for held in self._of(request):
            self._ledger.left(held, time.monotonic())
            self._talk.wake()

    def give_up(self, request: Request) -> None:
        """Give up the turn that a request has in addition to its turn from the queue."""
        held = self._turns.pop(request, None)
        if held is not None:
            self._ledger.done(held)
            self._talk.wake()

    def give_back_pages(self) -> None:
        """Report no end of the pages in callbacks and pipelines: they go back with the worker."""
        self._held = {request: held for request, held in self._held.items() if not held.has_left}

    def end(self, request: Request) -> None:
        """Note that a request has left the engine, or will never come there.

        If the crawl closes before one is sent that was not queued, such as a file of an item, the
        page that needs it is not done.
        """
        is_own = MARK in request.meta
        if self.is_closing and not (is_own or request in self._held or request in self._sent):
            self.give_back_pages()
        for held in self._of(request):
            self._ledger.done(held)
            self._talk.wake()
        self._held.pop(request, None)
        self._turns.pop(request, None)


class FleetLinks:
    """A spider middleware that tells which page a link is from, and slows callbacks down.

    The add-on installs it next to the engine. Without it, a page waits for more links than its own.

    Attributes:
        out: the requests of the worker.
    """

    out: Out | None = None

    async def process_spider_output(
        self, response: Response, result: AsyncIterator[Any]
    ) -> AsyncIterator[Any]:
        """Pass everything on; once the crawl closes, no more than some links of each page."""
        out = self.out
        async for one in result:
            if out is not None and isinstance(one, Request):
                page_id = out.link(one, response.request)
                while out.has_many_links(page_id):
                    if out.is_closing:
                        out.give_back_pages()
                        return
                    await sleep(_LOOK_SECONDS)
            yield one


class FleetTurns:
    """The turns of one worker: the `Gate` of a crawl with `RepRedisScheduler`."""

    def __init__(self, ledger: Ledger, talk: Talk, lanes: FleetLanes, out: Out) -> None:
        self._ledger = ledger
        self._talk = talk
        self._lanes = lanes
        self._out = out
        self._waiting: dict[int, asyncio.Future[HeldRequest]] = {}

    def may_go(self, turn: Turn) -> bool:
        """Whether a request has its turn already.

        A page that waits for its robots.txt (`is_awaited`) gives its turn to it, and is sent one
        delay later.
        """
        if not self._lanes.needs_turns(turn.origin, turn.delay_seconds):
            return True
        if not self._talk.is_leased:
            return False  # another worker may have its turn
        lane = str(turn.origin)
        has_turn = self._out.turn_of(lane, turn.request) is not None
        return has_turn or (self._out.is_on_its_way(lane) and turn.is_awaited())

    async def wait(self, turn: Turn) -> bool:
        """Wait for the turn of a request; whether it came before the crawl began to close.

        A queued request has its turn when it is due.

        Raises:
            IgnoreRequest: it did not come, and the request was not queued.
        """
        while True:
            may_go, held = self.may_go(turn), self._out.turn_of(str(turn.origin), turn.request)
            early_seconds = 0.0 if held is None else held.due_at - time.monotonic()
            if may_go and early_seconds <= 0:
                return True
            if self._is_over(turn):
                self._out.give_up(turn.request)
                if turn.request in self._out:
                    return False
                raise IgnoreRequest("the crawl is closing")
            if may_go:
                await asyncio.sleep(min(early_seconds, _LOOK_SECONDS))
            elif turn.request in self._out and not self._talk.is_leased:
                await asyncio.sleep(_LOOK_SECONDS)
            else:
                await self._have(turn)

    def _is_over(self, turn: Turn) -> bool:
        """Whether a request needs no turn any more; a robots.txt fetch ends by itself."""
        return self._out.is_closing and not is_own(turn.request)

    async def _have(self, turn: Turn) -> None:
        """Request a turn, unless the worker is taken over or the turn is not needed any more."""
        key = self._ledger.wish(Wish(str(turn.origin), turn.delay_seconds))
        granted = self._waiting[key] = asyncio.get_running_loop().create_future()
        self._talk.wake()
        try:
            while not granted.done():
                if self.may_go(turn) or self._is_over(turn):
                    return
                await asyncio.wait([granted], timeout=_LOOK_SECONDS)
            held = granted.result()
            held.request, held.due_at = turn.request, time.monotonic() + held.wait_seconds
            self._ledger.grant(key, held)
            self._out.add(held)
        finally:
            self._ledger.withdraw(key)
            self._talk.wake()
            del self._waiting[key]

    def heed(self, turns: dict[int, HeldRequest]) -> None:
        """Process the turns that have come, by the keys of their wishes."""
        for key, turn in turns.items():
            waiter = self._waiting.get(key)
            if waiter is not None and not waiter.done():
                waiter.set_result(turn)

    def may_probe(self, origin: Origin, request: Request) -> bool:
        """Whether a request may go first after a rest; otherwise the next batch requests it."""
        may_go = self._lanes.may_probe(origin, request)
        self._talk.wake()
        return may_go

    def end(self, request: Request) -> None:
        """Give up a turn that a request got by a wish; it keeps its turn from the queue."""
        self._out.give_up(request)
