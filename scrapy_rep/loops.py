"""Waiting, in whichever event loop Scrapy runs: an asyncio one, or another Twisted reactor."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Coroutine, Iterable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from scrapy.utils.asyncio import call_later, is_asyncio_available
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred, DeferredQueue
from twisted.python.failure import Failure

Value = TypeVar("Value")


async def sleep(seconds: float) -> None:
    """Come back after so many seconds."""
    waiter: Deferred[None] = Deferred()
    alarm = call_later(seconds, waiter.callback, None)
    try:
        await maybe_deferred_to_future(waiter)
    finally:
        alarm.cancel()


async def within(seconds: float, work: Coroutine[Any, Any, Value]) -> Value:
    """The result of some work; what takes longer is cancelled.

    Raises:
        TimeoutError: it took longer.
    """
    running: Deferred[Value] = deferred_from_coro(work)
    is_late = False

    def give_up() -> None:
        nonlocal is_late
        is_late = True
        running.cancel()

    alarm = call_later(seconds, give_up)
    try:
        return await maybe_deferred_to_future(running)
    except (asyncio.CancelledError, CancelledError):
        if is_late:
            raise TimeoutError(f"it took more than {seconds:g} seconds") from None
        raise
    finally:
        alarm.cancel()


class Places:
    """So many at a time, the others in order of arrival."""

    def __init__(self, count: int) -> None:
        self._free = count
        self._line: deque[Deferred[None]] = deque()

    @asynccontextmanager
    async def one(self) -> AsyncIterator[None]:
        """Hold a place, once there is one."""
        if self._free:
            self._free -= 1
        else:
            turn: Deferred[None] = Deferred()
            self._line.append(turn)
            try:
                await maybe_deferred_to_future(turn)
            except BaseException:
                if turn in self._line:
                    self._line.remove(turn)
                else:  # its turn had come when it was cancelled
                    self._leave()
                raise
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        """Give the place to the next in line."""
        if self._line:
            _wake(self._line.popleft())
        else:
            self._free += 1


async def as_they_come(
    works: Iterable[Coroutine[Any, Any, Value]], limit: int
) -> AsyncIterator[Value]:
    """The results in the order in which they arrive; so many works are under way at a time.

    Raises:
        Exception: what a work raises; those under way go on then, and nobody hears of them.
    """
    results: DeferredQueue[Value | Failure] = DeferredQueue()
    waiting = 0
    for work in works:
        running: Deferred[Value] = deferred_from_coro(work)
        running.addBoth(results.put)
        waiting += 1
        if waiting == limit:
            yield _value(await maybe_deferred_to_future(results.get()))
            waiting -= 1
    for _ in range(waiting):
        yield _value(await maybe_deferred_to_future(results.get()))


def _value(result: Value | Failure) -> Value:
    if isinstance(result, Failure):
        result.raiseException()
    return result


async def result_of(future: Future[Value]) -> Value:
    """The result of work in a thread, or what it raised."""
    if not future.done():
        waiter: Deferred[None] = Deferred()
        if is_asyncio_available():
            call_from_thread = asyncio.get_running_loop().call_soon_threadsafe
        else:
            from twisted.internet import reactor

            call_from_thread = reactor.callFromThread
        future.add_done_callback(lambda _: call_from_thread(_wake, waiter))
        await maybe_deferred_to_future(waiter)
    return future.result()


def _wake(waiter: Deferred[None]) -> None:
    if not waiter.called:
        waiter.callback(None)
