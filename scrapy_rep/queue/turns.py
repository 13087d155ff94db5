"""The order in which hosts are served: those that may be served now, and those that wait."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from typing import Generic, Protocol, TypeVar


class Ranked(Protocol):
    """An item that can have a turn; it keeps how active it is, None while it has no turn."""

    rank: int | None


Item = TypeVar("Item", bound=Ranked)


class Turns(Generic[Item]):
    """The items that may be served now: the least active first, the equally active in turn.

    Every operation costs O(1) in the number of items. Finding the first costs one step for each
    count that occurs, and no more counts occur than requests are under way.
    """

    def __init__(self) -> None:
        self._by_active: dict[int, OrderedDict[Item, None]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._by_active.values()))

    def put(self, item: Item, active_count: int) -> None:
        """Put an item behind all that are as active; one that is among them already stays there."""
        if item.rank != active_count:
            self.drop(item)
            item.rank = active_count
            self._by_active.setdefault(active_count, OrderedDict())[item] = None

    def drop(self, item: Item) -> None:
        """Remove an item, if it is there."""
        if item.rank is not None:
            peers = self._by_active[item.rank]
            del peers[item]
            if not peers:
                del self._by_active[item.rank]
            item.rank = None

    @property
    def least_active(self) -> int | None:
        """How active the first item is; None without an item."""
        return min(self._by_active, default=None)

    def first(self) -> Item | None:
        """The item whose turn it is; None without an item."""
        return next(iter(self._by_active[min(self._by_active)])) if self._by_active else None


class Timed(Protocol):
    """An item that can wait for a time; it keeps that time, None while it does not wait."""

    due_at: float | None


TimedItem = TypeVar("TimedItem", bound=Timed)


class Later(Generic[TimedItem]):
    """The items that wait for a time. Each operation costs O(log n).

    Each `put` takes one entry of memory until its time comes.

    Attributes:
        heap: what waits, or did; empty if nothing does.
    """

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, TimedItem]] = []
        self._number = 0

    def put(self, item: TimedItem, due_at: float) -> None:
        """Let an item wait until then, and not for the time that it waited for before."""
        if item.due_at == due_at:
            return
        item.due_at = due_at
        self._number += 1
        heapq.heappush(self.heap, (due_at, self._number, item))

    def pop(self, now: float) -> TimedItem | None:
        """Remove and return an item whose time has come; None if there is none."""
        while self.heap and self.heap[0][0] <= now:
            due_at, _, item = heapq.heappop(self.heap)
            if item.due_at == due_at:
                item.due_at = None
                return item
        return None

    @property
    def next_at(self) -> float | None:
        """The time of the first item; None without one."""
        while self.heap and self.heap[0][2].due_at != self.heap[0][0]:
            heapq.heappop(self.heap)
        return self.heap[0][0] if self.heap else None
