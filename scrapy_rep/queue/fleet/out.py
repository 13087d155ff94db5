"""Requests that the engine was given: what happens to them goes into the ledger."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from scrapy import Request, signals

from scrapy_rep.engine.progress import tell_of_ends

from .batch import HeldRequest
from .ledger import Ledger
from .talk import Talk

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Out:
    """The requests of one worker that are out of its buffer, and not done."""

    def __init__(self, ledger: Ledger, talk: Talk) -> None:
        self._ledger = ledger
        self._talk = talk
        self._held: dict[Request, HeldRequest] = {}
        self._turns: dict[Request, HeldRequest] = {}  # a queued one may have a turn in another lane

    def follow(self, crawler: Crawler) -> None:
        """Hear of all that happens to requests from now on.

        Raises:
            ConfigurationError: this release of Scrapy does not tell which requests are done.
        """
        tell_of_ends(crawler, self.end)
        crawler.signals.connect(self._reached, signal=signals.request_reached_downloader)
        crawler.signals.connect(self._left, signal=signals.request_left_downloader)

    def add(self, held: HeldRequest) -> None:
        """A request goes to the engine."""
        (self._turns if held.is_turn else self._held)[held.request] = held

    def __contains__(self, request: Request) -> bool:
        return request in self._held

    def _of(self, request: Request) -> Iterator[HeldRequest]:
        for some in (self._held, self._turns):
            if (held := some.get(request)) is not None:
                yield held

    def turn_of(self, lane: str, request: Request) -> HeldRequest | None:
        """The turn that a request has in this lane; None for none."""
        return next((held for held in self._of(request) if held.lane == lane), None)

    def is_on_its_way(self, lane: str) -> bool:
        """Whether a request of this lane has its turn, and has not come to its slot. O(out)."""
        return any(one.lane == lane and not one.has_reached for one in self._held.values())

    def clear(self) -> None:
        """Others were given these requests: nothing is told of them any more."""
        self._held.clear()
        self._turns.clear()

    def _reached(self, request: Request) -> None:
        for held in self._of(request):
            held.has_reached = True

    def _left(self, request: Request) -> None:
        for held in self._of(request):
            if held.delay_seconds:
                self._ledger.moved(held, time.monotonic())
            self._ledger.answered(held)
            self._talk.wake()

    def give_up(self, request: Request) -> None:
        """A request does not use the turn that it has beside that of the queue."""
        held = self._turns.pop(request, None)
        if held is not None:
            self._ledger.done(held)
            self._talk.wake()

    def end(self, request: Request) -> None:
        """A request has left the engine, or never comes there."""
        for held in self._of(request):
            self._ledger.done(held)
            self._talk.wake()
        self._held.pop(request, None)
        self._turns.pop(request, None)
