"""Waiting in every event loop of Scrapy's: asyncio's, with a reactor or without, and Twisted's."""

from __future__ import annotations

import asyncio
import math
import os
import sys
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Coroutine, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from scrapy.utils.asyncio import call_later, is_asyncio_available
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import CancelledError, Deferred, DeferredQueue
from twisted.python.failure import Failure

if TYPE_CHECKING:
    from scrapy.utils.asyncio import CallLaterResult
    from typing_extensions import Self

Value = TypeVar("Value")


class Promise(Generic[Value]):
    """A result that comes later, for one waiter, in any of the event loops.

    In asyncio, awaiting a `Deferred` takes a conversion to a future, and a task must be converted
    to a `Deferred`. This class saves up to four conversions for each origin.
    """

    __slots__ = ("_awaited",)

    def __init__(self) -> None:
        self._awaited: asyncio.Future[Value] | Deferred[Value]
        if is_asyncio_available():
            self._awaited = asyncio.get_event_loop().create_future()
        else:
            self._awaited = Deferred()

    @property
    def is_kept(self) -> bool:
        """Whether there is a result, or the waiter was cancelled."""
        awaited = self._awaited
        return bool(awaited.called) if isinstance(awaited, Deferred) else awaited.done()

    def keep(self, value: Value) -> None:
        """Set the result, unless there is one."""
        if self.is_kept:
            return
        if isinstance(self._awaited, Deferred):
            self._awaited.callback(value)
        else:
            self._awaited.set_result(value)

    def fail(self, error: BaseException) -> None:
        """Set an error as the result, unless there is a result."""
        if self.is_kept:
            return
        if isinstance(self._awaited, Deferred):
            self._awaited.errback(error)
        else:
            self._awaited.set_exception(error)

    def __await__(self) -> Generator[Any, None, Value]:
        """The result; may be awaited once."""
        return self._awaited.__await__()


async def sleep(seconds: float) -> None:
    """Return after `seconds`."""
    waiter: Promise[None] = Promise()
    alarm = call_later(seconds, waiter.keep, None)
    try:
        await waiter
    finally:
        alarm.cancel()


def allow_threads(count: int) -> None:
    """Let the thread pool of the event loop grow to a size; look-ups of names run in it."""
    if is_asyncio_available():
        loop = asyncio.get_running_loop()
        if getattr(loop, "_default_executor", None) is None:  # the project may have set one
            count = max(count, min(32, (os.cpu_count() or 1) + 4))  # the default of Python
            loop.set_default_executor(ThreadPoolExecutor(count, thread_name_prefix="asyncio"))
    reactor = sys.modules.get("twisted.internet.reactor")
    if reactor is not None:
        reactor.callWhenRunning(_grow, reactor, count)  # Scrapy sets the size before that


def _grow(reactor: Any, count: int) -> None:
    if reactor.getThreadPool().max < count:
        reactor.suggestThreadPoolSize(count)


def waiting_for_threads() -> int:
    """How many look-ups of names, or other work, wait for a thread; 0 if that is not known."""
    found = 0
    reactor = sys.modules.get("twisted.internet.reactor")
    with suppress(Exception):  # undocumented attributes
        if is_asyncio_available():
            loop: Any = asyncio.get_running_loop()
            found += loop._default_executor._work_queue.qsize()  # noqa: SLF001
        if reactor is not None:
            found += reactor.getThreadPool()._team.statistics().backloggedWorkCount  # noqa: SLF001
    return found


class CancelledElsewhereError(Exception):
    """Foreign code cancelled the work, so it failed for everything that waits for it."""


Task = asyncio.Future[Value] | Deferred[Value]


def started(work: Coroutine[Any, Any, Value]) -> Task[Value]:
    """Work that begins now, or in the next turn of the loop; the caller must keep it."""
    return asyncio.ensure_future(work) if is_asyncio_available() else Deferred.fromCoroutine(work)


class Running(Generic[Value]):
    """Work under way that can be ended, even if it ignores cancellation."""

    def __init__(self, work: Coroutine[Any, Any, Value]) -> None:
        self._outcome: Promise[Value] = Promise()
        self._work: Task[Any] = started(work)
        if isinstance(self._work, Deferred):
            self._work.addCallbacks(self._outcome.keep, lambda failure: self._failed(failure.value))
        else:
            self._work.add_done_callback(self._ended)

    def _ended(self, work: asyncio.Future[Value]) -> None:
        error = asyncio.CancelledError() if work.cancelled() else work.exception()
        if error is None:
            self._outcome.keep(work.result())
        else:
            self._failed(error)

    def _failed(self, error: BaseException) -> None:
        if isinstance(error, (asyncio.CancelledError, CancelledError)):
            # We did not cancel it. A cancellation would silently end everything that waits.
            error = CancelledElsewhereError("other code cancelled it")
        self._outcome.fail(error)

    def end(self, error: Exception) -> None:
        """Cancel the work and make this error its result, unless it has a result already."""
        if not self._outcome.is_kept:
            self._outcome.fail(error)
            self._work.cancel()

    async def result(self) -> Value:
        """The result; may be awaited once. Cancelling the waiter cancels the work.

        Raises:
            Exception: the error of the work, or the error passed to `end`.
        """
        try:
            return await self._outcome
        except (asyncio.CancelledError, CancelledError):
            self._work.cancel()
            raise


async def within(seconds: float, work: Coroutine[Any, Any, Value]) -> Value:
    """The result of some work, which is cancelled if it takes longer than `seconds`.

    Raises:
        TimeoutError: it took longer.
    """
    running = Running(work)
    error = TimeoutError(f"it took more than {seconds:g} s")
    alarm = call_later(seconds, running.end, error)
    try:
        return await running.result()
    finally:
        alarm.cancel()


class Ticks:
    """Calls functions at intervals while any are registered."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._looks: set[Callable[[], None]] = set()
        self._timer: CallLaterResult | None = None

    def add(self, look: Callable[[], None]) -> None:
        """Start calling a function."""
        self._looks.add(look)
        self._set()

    def drop(self, look: Callable[[], None]) -> None:
        """Stop calling a function."""
        self._looks.discard(look)

    def stop(self) -> None:
        """Stop calling all functions."""
        self._looks.clear()
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _set(self) -> None:
        if self._looks and self._timer is None:
            self._timer = call_later(self._seconds, self._tick)

    def _tick(self) -> None:
        self._timer = None
        with ExitStack() as looks:  # calls all of them even if one raises
            looks.callback(self._set)
            for look in self._looks:
                looks.callback(self._call, look)

    def _call(self, look: Callable[[], None]) -> None:
        if look in self._looks:  # another function may have dropped it
            look()


class Stopwatch:
    """Measures a time, without the periods in which it was stopped."""

    def __init__(self) -> None:
        self._seconds = 0.0
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        """The total time that it has run."""
        since = self._since
        return self._seconds + (0.0 if since is None else time.monotonic() - since)

    def start(self) -> None:
        """Start or continue to measure."""
        if self._since is None:
            self._since = time.monotonic()

    def stop(self) -> None:
        """Stop."""
        if self._since is not None:
            self._seconds, self._since = self.seconds, None


class Places:
    """A semaphore with `count` places; waiters get a free place in order of arrival.

    Unlike a place of Twisted's `DeferredSemaphore`, a place that was lent can be taken back at once
    even if all places are taken. One place too many is then in use, until one is given back, which
    `DeferredSemaphore` would hand out again.
    """

    def __init__(self, count: int) -> None:
        self._free = count
        self._queue: deque[Promise[None]] = deque()

    def one(self) -> Place:
        """A place for `async with`, which waits until it is free."""
        return Place(self)

    async def _wait(self) -> None:
        """Take a place as soon as one is free."""
        if self._free > 0:
            self._free -= 1
            return
        turn: Promise[None] = Promise()
        self._queue.append(turn)
        try:
            await turn
        except BaseException:
            if turn in self._queue:
                self._queue.remove(turn)
            else:  # it had been given a place when it was cancelled
                self._leave()
            raise

    def _leave(self) -> None:
        """Give the place to the first waiter."""
        self._free += 1
        if self._queue and self._free > 0:
            self._free -= 1
            self._queue.popleft().keep(None)

    def _take(self) -> None:
        """Take a place even if none is free; the next waiter then waits for two places."""
        self._free -= 1


class Place:
    """A place of `Places`, which its holder can lend."""

    __slots__ = ("_is_lent", "_places")

    def __init__(self, places: Places) -> None:
        self._places = places
        self._is_lent = False

    async def __aenter__(self) -> Self:
        await self._places._wait()  # noqa: SLF001
        return self

    async def __aexit__(self, *_: object) -> None:
        self.lend()

    def lend(self) -> None:
        """Let others use it."""
        if not self._is_lent:
            self._is_lent = True
            self._places._leave()  # noqa: SLF001

    def take_back(self) -> None:
        """Hold it again at once, even if that exceeds the number of places for a while."""
        if self._is_lent:
            self._is_lent = False
            self._places._take()  # noqa: SLF001


async def as_they_come(
    works: Iterable[Coroutine[Any, Any, Value]], limit: int
) -> AsyncIterator[Value]:
    """The results in the order in which they arrive, with a limit on concurrent coroutines.

    Raises:
        Exception: the error of a coroutine. The others go on, and their results are lost.
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


def from_threads(function: Callable[..., object]) -> Callable[..., None]:
    """A function by which any thread lets this one be called, in a next turn of its event loop."""
    call: Any
    if is_asyncio_available():
        call = asyncio.get_running_loop().call_soon_threadsafe
    else:
        from twisted.internet import reactor

        call = reactor.callFromThread

    def call_it(*arguments: object) -> None:
        with suppress(RuntimeError):  # the loop has ended, so nothing waits
            call(function, *arguments)

    return call_it


async def result_of(future: Future[Value], limit_seconds: float = math.inf) -> Value:
    """The result of work in a thread, or its error.

    Raises:
        TimeoutError: it took longer than the limit; the work goes on.
    """
    if future.done():
        return future.result()
    waiter: Promise[None] = Promise()
    wake = from_threads(waiter.keep)
    future.add_done_callback(lambda _: wake(None))
    alarm = None
    if limit_seconds < math.inf:
        late = TimeoutError(f"it took more than {limit_seconds:g} s")
        alarm = call_later(limit_seconds, waiter.fail, late)
    try:
        await waiter
    finally:
        if alarm is not None:
            alarm.cancel()
    return future.result()
