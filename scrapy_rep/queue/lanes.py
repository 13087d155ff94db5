"""The requests that wait, in lanes: one for each origin and slot that they go through."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from scrapy_rep.protocol.access.origin import Origin

from .stock import AnyStock
from .targets import Target


class Lane:
    """The requests of one origin that go through one slot.

    Attributes:
        name: the name of its folder, and of its entry in the state that is written to disk.
        base: what the URLs of its requests begin with, up to the path; empty if that is not known.
        origin: whose robots.txt judges them; None if nothing judges them.
        slot: the slot that they go through.
        requests: where they are kept.
        count: how many there are.
        due_at: the time that it waits for, if it waits for one; see `Later`.
        is_fresh: whether its robots.txt has come, and it was not served since.
    """

    __slots__ = ("base", "count", "due_at", "is_fresh", "name", "origin", "requests", "slot")

    def __init__(self, target: Target, base: str, slot: SlotLanes, requests: AnyStock) -> None:
        self.name = target.name
        self.base = base
        self.origin: Origin | None = target.origin
        self.slot = slot
        self.requests = requests
        self.count = requests.count
        self.due_at: float | None = None
        self.is_fresh = False


class SlotLanes:
    """The lanes of one slot, and those whose requests may be handed out, in turn.

    Attributes:
        key: the key of the slot.
        lane_count: how many lanes there are.
        first: the ready lane whose turn it is; None if no lane is ready.
        due_at: the time that the slot waits for, if it waits for one; see `Later`.
        rank: how active it is, if it has its turn; see `Turns`.
    """

    __slots__ = ("_others", "due_at", "first", "key", "lane_count", "rank")

    def __init__(self, key: str) -> None:
        self.key = key
        self.lane_count = 0
        self.first: Lane | None = None
        self._others: deque[Lane] | None = None  # most slots have one lane, and need no deque
        self.due_at: float | None = None
        self.rank: int | None = None

    def put(self, lane: Lane) -> None:
        """Put a lane behind those that are ready."""
        if self.first is None:
            self.first = lane
        elif self._others is None:
            self._others = deque((lane,))
        else:
            self._others.append(lane)

    def drop_first(self) -> None:
        """Remove the first lane: the next one has its turn."""
        self.first = self._others.popleft() if self._others else None


class Lanes:
    """All lanes of a queue, by name, by what their URLs begin with, and by slot.

    Attributes:
        count: how many requests there are in all lanes.
        begins_with: returns the lane of the URLs that begin like this, if that has been seen.
        named: returns the lane of a name, if there is one.
        slot: returns the lanes of a slot by its key; None if it has none.
    """

    def __init__(self) -> None:
        self.count = 0
        self._by_name: dict[str, Lane] = {}
        self._by_base: dict[str, Lane] = {}
        self._slots: dict[str, SlotLanes] = {}
        # Of each request, so without another call between.
        self.begins_with = self._by_base.get
        self.named = self._by_name.get
        self.slot = self._slots.get

    def __iter__(self) -> Iterator[Lane]:
        return iter(self._by_name.values())

    def add(self, target: Target, base: str, requests: AnyStock) -> Lane:
        """Make a lane of some requests."""
        slot = self._slots.get(target.key)
        if slot is None:
            slot = self._slots[target.key] = SlotLanes(target.key)
        lane = Lane(target, base, slot, requests)
        self._by_name[lane.name] = lane
        if base:
            self._by_base[base] = lane
        slot.lane_count += 1
        self.count += lane.count
        return lane

    def recount(self, lane: Lane) -> None:
        """Count again what a lane holds: taking a request out of it may have cost more."""
        left = lane.requests.count
        self.count -= lane.count - left
        lane.count = left

    def remove(self, lane: Lane) -> None:
        """Remove a lane that is empty, and its slot with the last one."""
        slot = lane.slot
        del self._by_name[lane.name]
        self._by_base.pop(lane.base, None)
        slot.lane_count -= 1
        if not slot.lane_count:
            del self._slots[slot.key]

    def clear(self) -> None:
        """Remove all lanes."""
        for lane in self:
            lane.slot.first = lane.slot._others = None  # noqa: SLF001 - they hold each other
        self._by_name.clear()
        self._by_base.clear()
        self._slots.clear()
        self.count = 0
