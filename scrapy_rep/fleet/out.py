"""Requests that the engine was given: what happens to them goes into the ledger."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from scrapy import Request, signals

from scrapy_rep.engine.progress import tell_of_ends
from scrapy_rep.engine.slots import Slots

from .batch import HeldRequest
from .ledger import Ledger
from .talk import Talk

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


_LOOK_SECONDS = 0.05
_SOONER_SECONDS = 0.001


class Out:
    """The requests of one worker that are out of its buffer, and not done."""

    def __init__(self, ledger: Ledger, talk: Talk) -> None:
        self._ledger = ledger
        self._talk = talk
        self._held: dict[Request, HeldRequest] = {}
        self._turns: dict[Request, HeldRequest] = {}  # a queued one may have a turn in another lane
        self._is_waiting: Callable[[Request], bool] = lambda _request: False
        self._delay_until: Callable[[Request, float], None] = lambda _request, _at: None
        self._late: dict[Request, HeldRequest] = {}  # on their way, and others were given them
        self._keep_back: Callable[[Request, HeldRequest], None] = lambda _request, _held: None

    def follow(
        self, crawler: Crawler, slots: Slots, keep_back: Callable[[Request, HeldRequest], None]
    ) -> None:
        """Hear of all that happens to requests from now on.

        `keep_back` is called with each that comes to its slot after its turn is over, or is still
        there, since the worker was not heard of for too long.

        Raises:
            ConfigurationError: this release of Scrapy does not tell which requests are done.
        """
        tell_of_ends(crawler, self.end)
        crawler.signals.connect(self._reached, signal=signals.request_reached_downloader)
        crawler.signals.connect(self._left, signal=signals.request_left_downloader)
        slots.listen_to_departures(self._departed)
        self._is_waiting, self._delay_until = slots.is_waiting, slots.keep_back
        self._keep_back = keep_back

    def add(self, held: HeldRequest) -> None:
        """A request goes to the engine."""
        (self._turns if held.is_turn else self._held)[held.request] = held

    def __contains__(self, request: Request) -> bool:
        return request in self._held

    def _of(self, request: Request) -> Iterator[HeldRequest]:
        for some in (self._held, self._turns):
            if (held := some.get(request)) is not None:
                yield held

    def is_for(self, lane: str, request: Request) -> bool:
        """Whether a request has its turn in this lane."""
        return any(held.lane == lane for held in self._of(request))

    def is_on_its_way(self, lane: str) -> bool:
        """Whether a request of this lane has its turn, and has not come to its slot. O(out)."""
        return any(one.lane == lane and not one.has_reached for one in self._held.values())

    def waits_behind(self, lane: str, request: Request) -> bool:
        """Whether another request has this lane's turn, and waits in its slot. O(out).

        Then neither leaves before the slot sends, and that leaves the delay between the two.
        """
        return any(
            held.lane == lane
            and other is not request
            and held.has_reached
            and not held.has_left
            and self._is_waiting(other)
            for other, held in (*self._held.items(), *self._turns.items())
        )

    def clear(self) -> None:
        """Others were given these requests: nothing is told of them any more."""
        for request, held in self._held.items():
            if held.delay_seconds and not held.has_reached:
                self._late[request] = held
        paced = [
            (request, held)
            for request, held in (*self._held.items(), *self._turns.items())
            if held.delay_seconds and held.has_reached
        ]
        self._held.clear()
        self._turns.clear()
        for request, held in paced:
            if self._is_waiting(request):
                self._keep_back(request, held)

    def _reached(self, request: Request) -> None:
        late = self._late.pop(request, None)
        for held in self._of(request):
            held.has_reached = True
            if held.delay_seconds and not self._talk.is_leased:
                late = held
            elif held.delay_seconds:
                self._keep_until_due(request, held)
        if late is not None:
            self._keep_back(request, late)

    def _keep_until_due(self, request: Request, held: HeldRequest) -> None:
        """Have a slot keep a request that came to it early.

        If the worker freezes meanwhile, our timer runs before that of the slot.
        """
        early_seconds = held.due_at - time.monotonic()
        if early_seconds > 0:
            self._delay_until(request, held.due_at)
            self._look_after(request, held, max(0.0, early_seconds - _SOONER_SECONDS))
        else:
            self._look_after(request, held, _LOOK_SECONDS)

    def _look_after(self, request: Request, held: HeldRequest, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        loop.call_later(seconds, self._watch, request, held)

    def _watch(self, request: Request, held: HeldRequest) -> None:
        """Look at a request that waits inside its slot: for other ports of its host, say."""
        if not self._is_waiting(request):
            return
        if self._talk.is_leased:
            self._look_after(request, held, _LOOK_SECONDS)
        else:
            self._keep_back(request, held)

    def _departed(self, request: Request, at: float) -> None:
        for held in self._of(request):
            self._ledger.moved(held, at)
            self._talk.wake()

    def _left(self, request: Request) -> None:
        for held in self._of(request):
            self._ledger.answered(held)
            self._talk.wake()

    def end(self, request: Request) -> None:
        """A request has left the engine, or never comes there."""
        self._late.pop(request, None)
        for held in self._of(request):
            self._ledger.done(held)
            self._talk.wake()
        self._held.pop(request, None)
        self._turns.pop(request, None)
