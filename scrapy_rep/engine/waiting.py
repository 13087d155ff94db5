"""Work that several wait for, and that belongs to none of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred

Key = TypeVar("Key")
Value = TypeVar("Value")


class SharedWork(Generic[Key, Value]):
    """The work that is under way, by key, and those who wait for its results.

    Cancelling one who waits ends neither the work nor the waiting of others.

    Attributes:
        waiting_count: how many wait, for all results together.
    """

    def __init__(self) -> None:
        self.waiting_count = 0
        self._waiters: dict[Key, list[Deferred[Value]]] = {}

    def under_way(self) -> list[Key]:
        """The keys that there is work on."""
        return list(self._waiters)

    def is_under_way(self, key: Key) -> bool:
        """Whether there is work on a key."""
        return key in self._waiters

    def count_of(self, key: Key) -> int:
        """How many wait for the result of a key."""
        return len(self._waiters.get(key, ()))

    def begin(self, key: Key) -> None:
        """Work on a key begins; nobody waits for it yet."""
        self._waiters[key] = []

    def end(self, key: Key, value: Value) -> None:
        """The work on a key has a result: give it to all who wait, unless they have one."""
        for waiter in self._waiters.pop(key, ()):
            if not waiter.called:
                waiter.callback(value)

    async def result(self, key: Key, start: Callable[[], None]) -> Value:
        """The result of the work on a key; `start` starts that work if it is not under way.

        Raises:
            CancelledError: the one who waits was cancelled.
        """
        # Each has a Deferred of its own: one Deferred gives its result to the first coroutine that
        # awaits it, and None to the others.
        waiter: Deferred[Value] = Deferred()
        is_new = key not in self._waiters
        if is_new:
            self.begin(key)
        self._waiters[key].append(waiter)  # before the start: the work may end within it
        with self._waiting(key, waiter):
            if is_new:
                start()
            return await maybe_deferred_to_future(waiter)

    @contextmanager
    def _waiting(self, key: Key, waiter: Deferred[Value]) -> Iterator[None]:
        self.waiting_count += 1
        try:
            yield
        finally:
            self.waiting_count -= 1
            waiters = self._waiters.get(key, [])
            if waiter in waiters:
                waiters.remove(waiter)
