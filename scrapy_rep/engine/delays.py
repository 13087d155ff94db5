"""The delays of the downloader's slots: a floor under each, put back whatever others write there.

Others write delays too: AutoThrottle after each response, the user's settings when a slot is made.
Scrapy throws away slots that are idle and makes them anew. So a floor outlives its slot, and is put
under the slot's delay each time that this delay may have changed.

Memory: a floor is forgotten once its delay has passed and its slot is idle. The next request of the
site says again what the site asks for.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Hashable

from scrapy import Request

from .downloader import NEVER, Downloader, DownloaderSlot
from .floors import EVENT, Ask, Floor, Hold
from .slot_keys import slot_key
from .visits import Follower, VisitBook, hold_seconds


class Delays:
    """The floors of one crawl's slots.

    Attributes:
        floors: the floors by the keys of their slots; empty while no site asks for a delay.
    """

    def __init__(
        self,
        downloader: Downloader,
        book: VisitBook,
        follower: Follower,
        let_go: Callable[[Request, str], None],
    ) -> None:
        """Take the downloader, and who is told of an origin's visits and of requests let go."""
        self._downloader = downloader
        self._book = book
        self._follower = follower
        self._let_go = let_go
        self.floors: dict[str, Floor] = {}
        self._keys: dict[Hashable, set[str]] = {}  # of the floors, by origin
        self._forget_at: list[tuple[float, str]] = []

    def of(self, origin: Hashable) -> list[tuple[str, Floor]]:
        """The floors of the slots through which an origin is visited, by key."""
        return [(key, self.floors[key]) for key in self._keys.get(origin, ())]

    def set(self, key: str, ask: Ask) -> None:
        """Let a slot leave at least so many seconds between requests.

        The floor of a slot is the longest that is asked of it: two ports of a host share a slot.
        """
        floor = self.floors.get(key)
        if floor is not None and floor.asked is ask:
            self.apply(key)
            return
        if ask.seconds:
            hold = self.hold(key, ask)
            hold.seconds, hold.until = ask.seconds, ask.until
            self.floors[key].asked = ask
        elif floor is None:
            return
        else:
            floor.holds.pop((ask.origin, ask.as_whom), None)
            floor.asked = ask
        self.apply(key)

    def hold(self, key: str, ask: Ask) -> Hold:
        """The record of what one policy asks of a slot."""
        floor = self.floors.get(key)
        if floor is None:
            floor = self.floors[key] = Floor()
            heapq.heappush(self._forget_at, (time.monotonic() + ask.seconds, key))
        visits = floor.visits.get(ask.origin)
        if visits is None:
            visits = self._book.of(ask.origin, ask.last_at, ask.seconds)
            visits.follow(self._follower)
            floor.visits[ask.origin] = visits
            self._keys.setdefault(ask.origin, set()).add(key)
        elif visits.seconds < ask.seconds:
            visits.seconds = ask.seconds
        hold = floor.holds.get((ask.origin, ask.as_whom))
        if hold is None:
            hold = floor.holds[ask.origin, ask.as_whom] = Hold()
        return hold

    def apply(self, key: str) -> None:
        """Put the floor under a slot's delay, and keep its jitter from reaching below it."""
        self._forget()
        floor = self.floors.get(key)
        slot = self._downloader.slot(key)
        if floor is None or slot is None:
            return
        if slot != floor.slot:  # a new one: Scrapy throws away slots that are idle
            if floor.slot is not None:
                slot.last_at = max(slot.last_at, floor.slot.last_at)
            floor.slot = slot
            floor.jitter = slot.jitter
            floor.applied = -1.0
            floor.is_told = slot.tell(lambda request: self._let_go(request, key))
        if slot.delay != floor.applied:
            floor.own_delay = slot.delay
        seconds = floor.seconds()
        slot.delay = floor.applied = max(floor.own_delay, seconds)
        slot.jitter = above(seconds, floor.applied, floor.jitter)
        if floor.next_at == EVENT:  # for a moment, and again until it is known: see `visits`
            not_before(slot, time.monotonic() + hold_seconds(seconds))
        else:
            floor.count(slot)

    def clear(self) -> None:
        """Take all floors away."""
        for key in list(self.floors):
            self._drop(key)

    def _forget(self) -> None:
        """Forget floors whose delay has passed; amortised O(log n)."""
        now = time.monotonic()
        while self._forget_at and self._forget_at[0][0] <= now:
            _, key = heapq.heappop(self._forget_at)
            floor = self.floors.get(key)
            if floor is None:
                continue
            slot = self._downloader.slot(key) or floor.slot
            rest = max(floor.seconds(), 1.0)
            until = max(floor.next_at, rest + (NEVER if slot is None else slot.last_at))
            if until <= now and self._is_under_way(key):
                until = now + rest
            if until <= now:
                self._drop(key)
            else:
                heapq.heappush(self._forget_at, (min(until, now + rest), key))

    def _is_under_way(self, key: str) -> bool:
        """Whether a request for a slot is on its way, in the middlewares or later."""
        return any(slot_key(request) == key for request in self._downloader.active)

    def _drop(self, key: str) -> None:
        floor = self.floors.pop(key)
        for origin, visits in floor.visits.items():
            keys = self._keys[origin]
            keys.discard(key)
            if not keys:
                del self._keys[origin]
                visits.leave(self._follower)
        slot = floor.slot
        if slot is not None and slot.delay == floor.applied:
            slot.delay = floor.own_delay
            slot.jitter = floor.jitter


def not_before(slot: DownloaderSlot, at: float) -> None:
    """Let a slot send nothing before then, whichever delay it draws, by moving its last visit."""
    slot.last_at = max(slot.last_at, at - slot.least_delay)


def above(least: float, delay: float, jitter: float) -> float:
    """A jitter that takes nothing from the least delay: 0 where that is the delay."""
    return min(jitter, 1 - least / delay) if least else jitter
