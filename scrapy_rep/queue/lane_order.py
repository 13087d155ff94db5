"""The waiting requests, grouped into lanes, and the places where lanes wait.

There is a lane for each origin and downloader slot. A lane is in one place: among the ready lanes
of its slot, in a place of `FetchLanes`, or in `Later`. `Placed.move` takes it from one to the next.
"""

from __future__ import annotations

import heapq
import time
from bisect import insort
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Collection
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from scrapy import Request

from scrapy_rep.engine.downloader import EVENT, NEVER
from scrapy_rep.pace.backoff import refused_until
from scrapy_rep.pace.waits import NoWaits, Waits, Why
from scrapy_rep.protocol.access.origin import Origin

from .stock import Stock
from .targets import Target

_KEPT_ORIGINS = 1000  # lanes with a known robots.txt that may wait for their first request
_AGAIN_SECONDS = 1.0  # until a lane is looked at again if a look failed
_RECOUNT_SECONDS = 0.2  # how often the fetches that are queued in slots are counted
_PARKED_FACTOR = 16  # limits all fetches, including fetches that are queued in slots


@dataclass(slots=True, eq=False)
class Placed:
    """A lane or a slot.

    Attributes:
        place: where it is, in the order in which its items are looked at; None for a lane that is
            new or removed, and for a slot without ready lanes.
        due_at: the time that it waits for, if its place is `Later`.
    """

    place: OrderedDict[Any, None] | None = field(default=None, init=False)
    due_at: float = field(default=EVENT, init=False)

    def move(self, place: OrderedDict[Any, None] | None) -> None:
        """Move it behind all others of a place, unless it is there. Nothing else moves one."""
        if place is self.place:
            return
        if self.place is not None:
            del self.place[self]
        self.place = place
        if place is not None:
            place[self] = None

    def go_behind(self) -> None:
        """Go behind all others of its place."""
        if self.place is not None:
            self.place.move_to_end(self)


@dataclass(slots=True, eq=False)
class Lane(Placed):
    """The requests of one origin that go through one slot.

    Attributes:
        name: the name of its folder, and of its entry in the state that is written to disk.
        origin: the origin with the robots.txt that judges them; None if no robots.txt does.
        host: the host of the requests, if it is known.
        slot: the slot that they go through.
        requests: the queue that keeps them.
        count: the number of requests, those in memory included.
        first: requests that Scrapy's queue would have handed out while the robots.txt is fetched;
            they go first. Requests on disk stay there, where a kill does not lose them.
        refused: requests that were refused, and when each may be sent again.
        why: why it is in its place.
    """

    name: str
    origin: Origin | None
    host: str
    slot: SlotLanes
    requests: Stock
    count: int
    first: deque[Request] = field(default_factory=deque)
    refused: list[tuple[float, Request]] = field(default_factory=list)
    why: Why = Why.READY

    @property
    def refused_until(self) -> float:
        """When the first request may be sent, if only refused ones are left; else 0."""
        is_all = self.refused and len(self.refused) == self.count
        return self.refused[0][0] if is_all else 0.0

    def take(self) -> Request | None:
        """The next request that may be sent now, as far as it was not refused; None without one.

        Refused requests are set aside until their time.
        """
        self._put_back_due()
        while (request := self._next()) is not None:
            until = refused_until(request)
            if until <= time.time():
                return request
            insort(self.refused, (until, request), key=itemgetter(0))
        return None

    def _put_back_due(self) -> None:
        while self.refused and self.refused[0][0] <= time.time():
            _, request = self.refused.pop(0)
            if not self._has_kept(request):  # otherwise its priority decides
                self.first.append(request)

    def _next(self) -> Request | None:
        return self.first.popleft() if self.first else self.requests.take()

    def fix_order(self, limit: int) -> None:
        """Note which requests go first, up to a number: the order in which they would go now."""
        while len(self.first) < limit and not self.requests.key and self.requests:
            request = self.requests.take()
            if request is not None:
                self.first.append(request)

    def put_refused_back(self) -> int:
        """Return the refused requests to the queue that keeps the others, on disk perhaps.

        Returns how many are lost because the disk is full.
        """
        refused, self.refused = self.refused, []
        return sum(not self._has_kept(request) for _, request in refused)

    def _has_kept(self, request: Request) -> bool:
        """Keep a request with the others; False if it cannot be written, as on a full disk."""
        try:
            self.requests.push(request)
        except ValueError:
            return False
        return True


@dataclass(slots=True, eq=False)
class SlotLanes(Placed):
    """The lanes of one slot; the ready ones take turns.

    Attributes:
        key: the key of the slot.
        lane_count: the number of lanes.
        ready: the lanes with requests that may be handed out, in order of their turns.
        given: the requests that were handed out and have not ended.
        given_at: when the last of them was handed out; monotonic seconds.
    """

    key: str
    lane_count: int = 0
    ready: OrderedDict[Lane, None] = field(default_factory=OrderedDict)
    given: set[Request] = field(default_factory=set)
    given_at: float = NEVER

    @property
    def first(self) -> Lane:
        """The first of the ready lanes.

        Raises:
            StopIteration: no lane is ready.
        """
        return next(iter(self.ready))


class Lanes:
    """All lanes of a queue, by name and by slot.

    Attributes:
        count: the number of requests in all lanes.
        by_name: the lanes by name.
        slots: by key, the slots that have lanes or unfinished requests.
    """

    def __init__(self) -> None:
        self.count = 0
        self.by_name: dict[str, Lane] = {}
        self.slots: dict[str, SlotLanes] = {}
        self._given: dict[Request, Lane] = {}  # handed out and not ended
        self._out: Counter[str] = Counter()  # their number by host

    def add(self, target: Target, requests: Stock) -> Lane:
        """Add a lane with some requests."""
        slot = self.slots.get(target.key)
        if slot is None:
            slot = self.slots[target.key] = SlotLanes(target.key)
        host = target.key if target.origin is None else target.origin.host
        lane = Lane(target.name, target.origin, host, slot, requests, len(requests))
        self.by_name[target.name] = lane
        slot.lane_count += 1
        self.count += lane.count
        return lane

    def recount(self, lane: Lane) -> None:
        """Count the requests of a lane again, because taking one may have lost others."""
        left = len(lane.requests) + len(lane.refused) + len(lane.first)
        self.count -= lane.count - left
        lane.count = left

    def remove(self, lane: Lane) -> None:
        """Remove an empty lane."""
        lane.move(None)
        del self.by_name[lane.name]
        lane.slot.lane_count -= 1
        self._drop_unused(lane.slot)

    def hand_out(self, request: Request, lane: Lane) -> None:
        """Note that a request was handed out."""
        lane.slot.given.add(request)
        lane.slot.given_at = time.monotonic()
        self._given[request] = lane
        self._out[lane.host] += 1

    def has_out(self, host: str) -> bool:
        """Whether a request to a host was handed out, and has not ended."""
        return host in self._out

    def ended(self, active: Collection[Request]) -> list[Lane]:
        """Forget the requests that ended, and return their lanes. O(unfinished requests)."""
        lanes = []
        for request in self._given.keys() - active:
            lane = self._given.pop(request)
            lane.slot.given.discard(request)
            self._out[lane.host] -= 1
            if not self._out[lane.host]:
                del self._out[lane.host]
            lanes.append(lane)
            self._drop_unused(lane.slot)
        return lanes

    def _drop_unused(self, slot: SlotLanes) -> None:
        if not slot.lane_count and not slot.given:
            self.slots.pop(slot.key, None)


class Turns(defaultdict[int, OrderedDict[SlotLanes, None]]):
    """The slots that may be served now, by their number of unfinished requests.

    The least active is first; equally active slots take turns.
    """

    def __init__(self) -> None:
        super().__init__(OrderedDict)

    def first(self) -> SlotLanes | None:
        """The next slot to serve, or None. O(distinct numbers of unfinished requests)."""
        counts = [count for count, slots in self.items() if slots]
        return next(iter(self[min(counts)])) if counts else None


class Later(OrderedDict[Placed, None]):
    """The place of lanes and slots that wait for a time. Each operation costs O(log n).

    Each `put` adds an entry that stays in memory until its time comes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._heap: list[tuple[float, int, Lane | SlotLanes]] = []
        self._number = 0

    def put(self, item: Lane | SlotLanes, due_at: float) -> None:
        """Let an item wait until `due_at`, instead of any other time that was set."""
        if item.place is not self or item.due_at != due_at:
            item.due_at = due_at
            self._number += 1
            heapq.heappush(self._heap, (due_at, self._number, item))
        item.move(self)

    def due(self) -> list[Lane | SlotLanes]:
        """The items whose time has come; they wait again for a moment, until they are moved."""
        items, now = [], time.monotonic()
        while self.next_at <= now:
            items.append(self._heap[0][2])
            self.put(items[-1], now + _AGAIN_SECONDS)
        return items

    @property
    def next_at(self) -> float:
        """The time of the first item; `EVENT` without one."""
        while self._heap and not self._is_valid(*self._heap[0]):
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else EVENT

    def _is_valid(self, due_at: float, _: int, item: Lane | SlotLanes) -> bool:
        return item.place is self and item.due_at == due_at


class FetchLanes:
    """The lanes that wait for their robots.txt: to be fetched, in order, or to arrive.

    Files are fetched ahead of need, so that the delay of an origin passes while others are served.
    Up to `REP_CONCURRENT_FETCHES` fetches are under way, as long as not too many origins with a
    known robots.txt wait for their first request.

    A fetch that is queued in a downloader slot does not count, because a few slow hosts would
    otherwise block all other fetches. Queued fetches are counted a few times a second at most.

    Attributes:
        to_fetch: the place of the lanes whose robots.txt has to be fetched.
        fetching: by origin, the place of the lanes whose robots.txt is being fetched.
        fresh: the lanes whose robots.txt has come, and that have handed out no request since.
    """

    def __init__(self, waits: Waits | NoWaits) -> None:
        self._waits = waits
        self.to_fetch: OrderedDict[Lane, None] = OrderedDict()
        self.fetching: defaultdict[Origin, OrderedDict[Lane, None]]
        self.fetching = defaultdict(OrderedDict)
        self.fresh: set[Lane] = set()
        self._parked_count = 0
        self._recount_at = 0.0

    def settle(self, origin: Origin) -> list[Lane]:
        """The lanes that waited for an origin's robots.txt, once it has come; they are fresh."""
        lanes = list(self.fetching.get(origin, ()))
        self.fresh.update(lanes)
        return lanes

    def next(self) -> Lane | None:
        """The lane to fetch the robots.txt for now, or None."""
        most, count = self._waits.concurrent_fetches, len(self.fetching)
        if not self.to_fetch or len(self.fresh) >= _KEPT_ORIGINS:
            return None
        if count >= most and (count >= _PARKED_FACTOR * most or count - self._parked() >= most):
            return None
        return next(iter(self.to_fetch))

    def overdue(self) -> list[Origin]:
        """The origins whose fetch has ended without a word. O(fetches under way)."""
        return [one for one in self.fetching if self._waits.of(one).why is not Why.FETCHING]

    @property
    def look_at(self) -> float:
        """When to count queued fetches again; `EVENT` if a free place will be announced."""
        is_full = len(self.fetching) >= self._waits.concurrent_fetches
        return time.monotonic() + _RECOUNT_SECONDS if self.to_fetch and is_full else EVENT

    def _parked(self) -> int:
        """The number of fetches that are queued in a slot."""
        now = time.monotonic()
        if now >= self._recount_at:
            self._parked_count = sum(map(self._waits.is_queued, self.fetching))
            self._recount_at = now + _RECOUNT_SECONDS
        return self._parked_count
