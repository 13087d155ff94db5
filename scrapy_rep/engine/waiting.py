"""Work whose result several coroutines await."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextvars import ContextVar, copy_context
from typing import Any, Generic, TypeVar

from scrapy.utils.asyncio import call_later
from twisted.internet.defer import Deferred

from .loops import Promise, Task, started


class _WorkMark:
    """Stands for one piece of work in the context of its code."""

    is_over = False


# The work in which the present code runs. Code that runs later may inherit the context, so that it
# outlives the work.
_within: ContextVar[tuple[_WorkMark, ...]] = ContextVar("within", default=())

Key = TypeVar("Key")
Value = TypeVar("Value")


class SharedWork(Generic[Key, Value]):
    """The work that is under way, by key, and the coroutines that wait for its results.

    Cancelling a waiter stops neither the work nor the other waiters.
    """

    def __init__(self) -> None:
        self._waiters: dict[Key, list[Promise[Value]]] = {}
        self._tasks: dict[Task[None], Key] = {}
        self._marks: dict[Key, _WorkMark] = {}
        self._all_ended: Promise[None] | None = None

    def is_under_way(self, key: Key) -> bool:
        """Whether there is work on a key."""
        return key in self._waiters

    def is_within(self, key: Key) -> bool:
        """Whether the caller runs in the work on a key, or in code that this work started."""
        return self._marks.get(key) in _within.get()

    def count_of(self, key: Key) -> int:
        """The number of waiters for the result of a key."""
        return sum(not waiter.is_kept for waiter in self._waiters.get(key, ()))

    def start(self, key: Key, work: Coroutine[Any, Any, None]) -> None:
        """Begin work on a key; the work must call `end` with its result."""
        self._waiters.setdefault(key, [])
        context = copy_context()
        self._forget(key)  # the work on a key may begin again before it ends
        self._marks[key] = mark = _WorkMark()
        outer = (one for one in _within.get() if not one.is_over)
        context.run(_within.set, (*outer, mark))
        task = context.run(started, work)
        self._tasks[task] = key  # otherwise it might be garbage-collected while it runs
        if isinstance(task, Deferred):
            task.addBoth(lambda _: self._ended(task))
        else:
            task.add_done_callback(self._ended)

    def _ended(self, task: Task[None]) -> None:
        del self._tasks[task]
        if self._all_ended is not None and not self._tasks:
            self._all_ended.keep(None)

    def end(self, key: Key, value: Value) -> None:
        """Give the result of the work on a key to all its waiters."""
        self._forget(key)
        for waiter in self._waiters.pop(key, ()):
            waiter.keep(value)

    def _forget(self, key: Key) -> None:
        if key in self._marks:
            self._marks.pop(key).is_over = True

    def drop(self, key: Key) -> None:
        """End the work on a key that has no waiters, without a result."""
        self._forget(key)
        self._waiters.pop(key, None)

    def result(self, key: Key, work: Callable[[], Coroutine[Any, Any, None]]) -> Promise[Value]:
        """The result of the work on a key; `work` creates the work if it is not under way.

        Each waiter awaits a promise of its own, which raises CancelledError if it is cancelled.
        """
        waiter: Promise[Value] = Promise()
        is_new = key not in self._waiters
        self._waiters.setdefault(key, []).append(waiter)  # the work may end within its start
        if is_new:
            self.start(key, work())
        return waiter

    def interrupt(self, key: Key) -> None:
        """Cancel the work on a key, which may go on after that."""
        for task, one in list(self._tasks.items()):
            if one == key:
                task.cancel()

    async def cancel(self, limit_seconds: float) -> list[Key]:
        """Cancel all work and wait for its end; return the keys that still have no result.

        Work that is cancelled before its turn never runs.
        """
        for task in list(self._tasks):
            task.cancel()
        if self._tasks:
            self._all_ended = Promise()
            alarm = call_later(limit_seconds, self._all_ended.keep, None)
            await self._all_ended
            alarm.cancel()
        return list(self._waiters)
