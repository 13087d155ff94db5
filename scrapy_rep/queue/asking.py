"""Which robots.txt a queue fetches, in which order, and how many at a time.

There are three bounds: fetches under way (`REP_CONCURRENT_FETCHES`), those of them that are ahead
of need (`REP_PREFETCH_ORIGINS`), and origins whose robots.txt is known and whose first request
still waits. The last bound is large: an origin that waits for a delay takes no other's place.

A fetch that is queued in a downloader slot counts towards none of them. Otherwise a few slow hosts
would keep all others from being fetched.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from scrapy_rep.protocol.access.origin import Origin

if TYPE_CHECKING:
    from scrapy import Request

    from .readiness import Readiness

_SAMPLES = 10_000
_SAMPLE_OCTETS = 1 << 14  # of a body; requests with larger bodies are kept on disk only
_RECOUNT_SECONDS = 0.2  # how often the fetches that are queued in slots are counted
_PARKED_FACTOR = 16  # bounds all fetches, those that are queued in slots included


class Waiting(Protocol):
    """The requests of one origin and slot, which wait together."""

    origin: Origin | None
    is_fresh: bool  # its robots.txt has come, and none of its requests was handed out since


Item = TypeVar("Item", bound=Waiting)


class Asking(Generic[Item]):
    """The origins that wait for a fetch, those being fetched, and those not served since.

    Attributes:
        unasked: the items that wait for a fetch, in order.

    Every operation costs O(1). Only the count of fetches that are queued in slots costs more: it is
    made a few times a second at most, and only while there are many.
    """

    def __init__(self, readiness: Readiness) -> None:
        self._readiness = readiness
        self.unasked: deque[Item] = deque()
        self._asked: dict[Origin, list[Item]] = {}
        self._samples: dict[Item, Request] = {}
        self._fresh_count = 0
        self._parked_count = 0
        self._recount_at = 0.0

    def clear(self) -> None:
        """Forget all items."""
        self.unasked.clear()
        self._asked.clear()
        self._samples.clear()
        self._fresh_count = 0

    # Those that wait

    def put(self, item: Item) -> None:
        """Let an item wait for the fetch of its robots.txt, behind the others."""
        self.unasked.append(item)

    def remember(self, item: Item, request: Request) -> None:
        """Keep a request of an item: its robots.txt will be fetched on behalf of that request.

        Only for the item that was put last, and only for so many: the disk has them all.
        """
        is_last = bool(self.unasked) and self.unasked[-1] is item
        if is_last and len(self._samples) < _SAMPLES and len(request.body) <= _SAMPLE_OCTETS:
            self._samples[item] = request

    def sample(self, item: Item) -> Request | None:
        """Remove and return the request that was kept of an item."""
        return self._samples.pop(item, None)

    def wait_for(self, item: Item) -> None:
        """Let an item wait for its robots.txt, which is being fetched."""
        assert item.origin is not None  # noqa: S101 - others are always ready
        self._asked.setdefault(item.origin, []).append(item)

    def waiting_for(self, origin: Origin) -> list[Item]:
        """The items that wait for an origin's robots.txt."""
        return self._asked.get(origin, [])

    def settle(self, origin: Origin) -> list[Item]:
        """Remove and return the items that waited for an origin's robots.txt, which has come."""
        items = self._asked.pop(origin, [])
        for item in items:
            self._fresh_count += not item.is_fresh
            item.is_fresh = True
        return items

    def age(self, item: Item) -> None:
        """Note that an item was served, or has to wait again: it is not fresh any more."""
        self._fresh_count -= item.is_fresh
        item.is_fresh = False

    # The next one

    def next(self, *, is_needed: bool) -> Item | None:
        """The item whose robots.txt should be fetched now; None for none.

        A fetch is needed if requests could be sent, and no origin is ready.
        """
        if not self.unasked or not self._has_place(is_needed=is_needed):
            return None
        return self.unasked.popleft()

    def look_at(self) -> float | None:
        """When to count again, where no event tells of a free place; None where events do."""
        if not self.unasked or len(self._asked) < self._readiness.concurrent_fetches:
            return None
        return time.monotonic() + _RECOUNT_SECONDS

    def _has_place(self, *, is_needed: bool) -> bool:
        readiness = self._readiness
        if not is_needed and self._fresh_count >= readiness.kept_origins:
            return False
        most = readiness.concurrent_fetches
        if not is_needed:
            most = min(most, readiness.prefetch_origins)
        if len(self._asked) < most:
            return True
        if not most or len(self._asked) >= _PARKED_FACTOR * readiness.concurrent_fetches:
            return False
        return len(self._asked) - self._parked() < most

    def _parked(self) -> int:
        """How many of the fetches are queued in a slot."""
        now = time.monotonic()
        if now >= self._recount_at:
            self._parked_count = sum(map(self._readiness.is_queued, self._asked))
            self._recount_at = now + _RECOUNT_SECONDS
        return self._parked_count
