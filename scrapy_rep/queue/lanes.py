"""The requests that wait, in lanes: one for each origin and slot that they go through."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator

from scrapy import Request

from scrapy_rep.pace.downloader import NEVER
from scrapy_rep.protocol.access.origin import Origin

from .stock import Stock
from .targets import Target


class Lane:
    """The requests of one origin that go through one slot.

    Attributes:
        name: the name of its folder, and of its entry in the state that is written to disk.
        origin: whose robots.txt judges them; None if nothing judges them.
        host: where they go, as far as is known.
        slot: the slot that they go through.
        requests: where they are kept.
        count: how many there are.
        due_at: the time that it waits for, if it waits for one; see `Later`.
        is_fresh: whether its robots.txt has come, and it was not served since.
    """

    __slots__ = ("count", "due_at", "host", "is_fresh", "name", "origin", "requests", "slot")

    def __init__(self, target: Target, slot: SlotLanes, requests: Stock) -> None:
        self.name = target.name
        self.origin: Origin | None = target.origin
        self.host = slot.key if target.origin is None else target.origin.host
        self.slot = slot
        self.requests = requests
        self.count = len(requests)
        self.due_at: float | None = None
        self.is_fresh = False


class SlotLanes:
    """The lanes of one slot, and those whose requests may be handed out, in turn.

    Attributes:
        key: the key of the slot.
        lane_count: how many lanes there are.
        ready: the lanes whose requests may be handed out, in turn.
        given: the requests that were handed out and have not ended.
        given_at: when the last of them was handed out; monotonic seconds.
        due_at: the time that the slot waits for, if it waits for one; see `Later`.
        rank: how active it is, if it has its turn; see `Turns`.
    """

    __slots__ = ("due_at", "given", "given_at", "key", "lane_count", "rank", "ready")

    def __init__(self, key: str) -> None:
        self.key = key
        self.lane_count = 0
        self.ready: deque[Lane] = deque()
        self.given: set[Request] = set()
        self.given_at = NEVER
        self.due_at: float | None = None
        self.rank: int | None = None


class Lanes:
    """All lanes of a queue, by name and by slot.

    Attributes:
        count: how many requests there are in all lanes.
    """

    def __init__(self) -> None:
        self.count = 0
        self._by_name: dict[str, Lane] = {}
        self._slots: dict[str, SlotLanes] = {}
        self._given: dict[Request, Lane] = {}  # handed out, and not ended
        self._out: Counter[str] = Counter()  # how many of them there are, by host

    def __iter__(self) -> Iterator[Lane]:
        return iter(self._by_name.values())

    def named(self, name: str) -> Lane | None:
        """The lane of a name, if there is one."""
        return self._by_name.get(name)

    def slot(self, key: str) -> SlotLanes | None:
        """The lanes of a slot, if it has any, or had when its last requests were handed out."""
        return self._slots.get(key)

    def add(self, target: Target, requests: Stock) -> Lane:
        """Make a lane of some requests."""
        slot = self._slots.get(target.key)
        if slot is None:
            slot = self._slots[target.key] = SlotLanes(target.key)
        lane = Lane(target, slot, requests)
        self._by_name[lane.name] = lane
        slot.lane_count += 1
        self.count += lane.count
        return lane

    def recount(self, lane: Lane) -> None:
        """Count again what a lane holds: taking a request out of it may have cost more."""
        left = len(lane.requests)
        self.count -= lane.count - left
        lane.count = left

    def remove(self, lane: Lane) -> None:
        """Remove a lane that is empty."""
        del self._by_name[lane.name]
        lane.slot.lane_count -= 1
        self._drop_unused(lane.slot)

    def hand_out(self, request: Request, lane: Lane, now: float) -> None:
        """A request was handed out."""
        lane.slot.given.add(request)
        lane.slot.given_at = now
        self._given[request] = lane
        self._out[lane.host] += 1

    def has_out(self, host: str) -> bool:
        """Whether a request to a host was handed out, and has not ended."""
        return host in self._out

    def ended(self, active: Collection[Request]) -> list[Lane]:
        """Forget the requests that ended; returns their lanes. O(handed out and not ended)."""
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
            self._slots.pop(slot.key, None)
