"""When each origin was visited last, by all crawls that run in one thread.

A site that asks for ten seconds between requests means the requests of all crawls together. So the
crawls of a thread, which share an event loop, share a record of each origin that asks for a delay.
Crawls in other threads and processes have their own records.

A request that a slot has sent may still wait for a connection: for a new one, for a free one, or
for one in the place of a connection that is gone. Its octets may leave at any time. Nothing else
may be sent to the origin until we know that they left. The delay is counted from then, at the
latest from the answer.
"""

from __future__ import annotations

import heapq
import threading
import time
from collections.abc import Hashable
from typing import TYPE_CHECKING, Protocol
from weakref import WeakSet

from scrapy.utils.asyncio import call_later

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.utils.asyncio import CallLaterResult

_HOLD_SECONDS = 0.02, 0.1  # at least, so that a tiny delay does not keep the process busy; at most
_GUARD_PART = 0.03
_GUARD_SECONDS = 0.02
_TURNS = 4  # of the event loop, from when a request has a connection until its octets are written


def hold_seconds(delay_seconds: float) -> float:
    """How long slots are held at a time while we do not know from when to count."""
    least, most = _HOLD_SECONDS
    return max(least, min(most, delay_seconds))


class Follower(Protocol):
    """A listener to an origin's visits: the slots of a crawl."""

    def visited(self, origin: Hashable) -> None:
        """The origin's record has changed."""

    def hold(self, origin: Hashable, until: float) -> None:
        """Send nothing to the origin until then; monotonic seconds."""


class Reader(Protocol):
    """Who does nothing about visits while no origin asks for a delay."""

    def has_begun(self) -> None:
        """From now on, the book may have records."""


class Visits:
    """The record of one origin.

    Attributes:
        origin: whose.
        last_at: from when its delay is counted; monotonic seconds.
        seconds: the longest delay that any crawl has told.
    """

    __slots__ = (
        "_alarm",
        "_followers",
        "_is_looking",
        "_leaving",
        "_left",
        "_unsure",
        "last_at",
        "origin",
        "seconds",
    )

    def __init__(self, origin: Hashable, last_at: float) -> None:
        self.origin = origin
        self._followers: WeakSet[Follower] = WeakSet()
        self._unsure: set[Request] = set()
        self._left: Request | None = None  # the last request that is known to have left
        self._leaving: Request | None = None
        self._is_looking = False
        self._alarm: CallLaterResult | None = None
        self.last_at = last_at
        self.seconds = 0.0

    @property
    def is_unsure(self) -> bool:
        """Whether a request was sent and may not have left yet."""
        return bool(self._unsure)

    @property
    def expires_at(self) -> float:
        """When the record is of no more use; infinite while it has followers."""
        return float("inf") if self._followers or self._unsure else self.last_at + self.seconds

    def follow(self, follower: Follower) -> None:
        """Tell a follower of visits, as long as it lives."""
        self._followers.add(follower)

    def leave(self, follower: Follower) -> None:
        """Tell a follower no more."""
        self._followers.discard(follower)

    def let_go(self, request: Request) -> None:
        """A slot has sent a request."""
        self._unsure.add(request)
        self._count_from(time.monotonic())
        if not self._is_looking:
            self._look()

    def is_leaving(self) -> None:
        """The request that is on its way has a connection, and is about to be written to it.

        That takes some turns of the event loop. A process that has to wait for its processor in the
        midst of that has not sent anything yet.
        """
        if len(self._unsure) == 1:
            (self._leaving,) = self._unsure
            self._turn(self._leaving, _TURNS)

    def _turn(self, request: Request, turns: int) -> None:
        if self._leaving is not request:
            return  # it is sent again, or was answered
        if turns:
            call_later(0, self._turn, request, turns - 1)
        else:
            self._leaving = None
            if self._unsure == {request}:
                self.has_left()

    def has_left(self) -> None:
        """Octets have left; if only one request is on its way, they are its octets.

        They have to arrive yet. Until the answer comes, 3 % are added to the delay, at least 20 ms.
        """
        if len(self._unsure) == 1:
            self._left = self._unsure.pop()
            self._stop_looking()
            guard_seconds = max(_GUARD_PART * self.seconds, _GUARD_SECONDS)
            self._count_from(time.monotonic() + guard_seconds)

    def is_sent_again(self) -> None:
        """The request that left last is sent once more."""
        self._leaving = None
        if self._left is not None:
            self._unsure.add(self._left)
            self._left = None
        self._count_from(time.monotonic())
        if not self._is_looking:
            self._look()

    def is_there(self, request: Request) -> None:
        """A request has been answered or has failed."""
        if request is self._leaving:
            self._leaving = None
        if request in self._unsure:
            self._unsure.remove(request)
            self._stop_looking()
            self._count_from(time.monotonic())
        elif request is self._left:
            self._left = None
            self._count_from(min(self.last_at, time.monotonic()))

    def _count_from(self, at: float) -> None:
        self.last_at = at
        for follower in list(self._followers):
            follower.visited(self.origin)

    def _look(self) -> None:
        """Hold all slots for a moment, again and again, until every request is known to have left.

        Slots set timers of their own, and cannot be told to wait for an event.
        """
        self._alarm = None
        self._is_looking = bool(self._unsure)
        if not self._is_looking:
            return
        seconds = hold_seconds(self.seconds)
        for follower in list(self._followers):
            follower.hold(self.origin, time.monotonic() + seconds)
        self._alarm = call_later(seconds / 2, self._look)

    def _stop_looking(self) -> None:
        """Cancel the timer: the loop may end, and the next crawl of the thread have another."""
        if self._unsure:
            return
        self._is_looking = False
        alarm, self._alarm = self._alarm, None
        if alarm is not None:
            alarm.cancel()


class VisitBook(threading.local):
    """The records of one thread's origins, kept only while they are of use.

    Every operation costs O(log n), amortised.
    """

    def __init__(self) -> None:
        self._records: dict[Hashable, Visits] = {}
        self._look_at: list[tuple[float, int, Hashable]] = []
        self._number = 0
        self._readers: WeakSet[Reader] = WeakSet()

    def expect(self, reader: Reader) -> None:
        """Tell a reader once the book has a record, which another crawl may begin."""
        self._readers.add(reader)

    def of(self, origin: Hashable, last_at: float, seconds: float) -> Visits:
        """The record of an origin; `last_at` and `seconds` are what the caller knows."""
        record = self._records.get(origin)
        if record is None:
            while self._readers:
                self._readers.pop().has_begun()
            record = self._records[origin] = Visits(origin, last_at)
            self._forget()
            self._put(time.monotonic() + seconds, origin)
        record.last_at = max(record.last_at, last_at)
        record.seconds = max(record.seconds, seconds)
        return record

    def get(self, origin: Hashable) -> Visits | None:
        """The record of an origin, if there is one."""
        return self._records.get(origin)

    def _put(self, at: float, origin: Hashable) -> None:
        self._number += 1
        heapq.heappush(self._look_at, (at, self._number, origin))

    def _forget(self) -> None:
        now = time.monotonic()
        while self._look_at and self._look_at[0][0] < now:
            _, _, origin = heapq.heappop(self._look_at)
            record = self._records[origin]
            if record.expires_at < now:
                del self._records[origin]
            else:
                self._put(now + max(record.seconds, 1.0), origin)

    def __len__(self) -> int:
        return len(self._records)


BOOK = VisitBook()
"""The records of the crawls of this process, separate for each thread."""
