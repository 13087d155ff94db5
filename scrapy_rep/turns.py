"""In which order hosts are served: whose turn it is, and whose time comes later."""

from __future__ import annotations

import heapq
from collections import OrderedDict
from typing import Generic, Protocol, TypeVar

Item = TypeVar("Item")


class Turns(Generic[Item]):
    """Who may be served now: the least active first, and in turn among the equally active.

    Every operation costs O(1) in the number of items; the first is found among as many numbers as
    occur, of which there are no more than requests under way.
    """

    def __init__(self) -> None:
        self._by_active: dict[int, OrderedDict[Item, None]] = {}
        self._active: dict[Item, int] = {}

    def __len__(self) -> int:
        return len(self._active)

    def put(self, item: Item, active_count: int) -> None:
        """Have an item wait for its turn, behind all that are as active; or leave it there."""
        before = self._active.get(item)
        if before == active_count:
            return
        if before is not None:
            self.drop(item)
        self._active[item] = active_count
        self._by_active.setdefault(active_count, OrderedDict())[item] = None

    def drop(self, item: Item) -> None:
        """Forget an item, if it is there."""
        active_count = self._active.pop(item, None)
        if active_count is None:
            return
        peers = self._by_active[active_count]
        del peers[item]
        if not peers:
            del self._by_active[active_count]

    @property
    def least_active(self) -> int | None:
        """How active the first is; None if there is none."""
        return min(self._by_active, default=None)

    def first(self) -> Item | None:
        """Whose turn it is; None if there is nobody."""
        least = self.least_active
        return None if least is None else next(iter(self._by_active[least]))


class Timed(Protocol):
    """What can wait for a time: it keeps the one that counts, None while it waits for none."""

    due_at: float | None


class Later:
    """Who waits for a time. Each operation costs O(log n), and each `put` one place until then."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timed]] = []
        self._number = 0

    def put(self, item: Timed, due_at: float) -> None:
        """Have an item wait until then, instead of until whichever time it waited for."""
        if item.due_at == due_at:
            return
        item.due_at = due_at
        self._number += 1
        heapq.heappush(self._heap, (due_at, self._number, item))

    def pop(self, now: float) -> Timed | None:
        """An item whose time has come, which then waits no more; None if there is none."""
        while self._heap and self._heap[0][0] <= now:
            due_at, _, item = heapq.heappop(self._heap)
            if item.due_at == due_at:
                item.due_at = None
                return item
        return None

    @property
    def next_at(self) -> float | None:
        """When the first item's time comes, or may come."""
        while self._heap and self._heap[0][2].due_at != self._heap[0][0]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None
