"""The writes of a SQLite file: at once, or by one thread. Those of a key are done in their order.

Short ones are done where they are asked for, as long as nothing is in the way: a trip to the thread
and back costs several times what they do (`benchmarks/stores.py`). If the file is locked, an
earlier write of their key is queued, or anything fails, they go to the thread like all others. It
waits, tries again, and tells what is wrong. Some go there in any case: whatever takes a disk's time
is done along with those.

Those that are queued together share a transaction: a commit costs more than what it commits. If one
of them fails, each is done by itself.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from .base import StoreError
from .database import soon

Value = TypeVar("Value")

_TOGETHER = 100  # writes in one transaction, at most: other processes wait for its end
# So many writes in a row of so many are the thread's: the first may move the log into the file, and
# the second then begins the log anew. Both wait for the disk.
_TO_THREAD = 2, 512
_SLOW_SECONDS = 0.02  # a short write waited so long: the disk is slow, or the file is locked
_REST_SECONDS = 10.0  # after a slow one, all are the thread's
_OF_ONE_WRITE = sqlite3.DataError, sqlite3.IntegrityError  # all others may be of the file


@dataclass(slots=True, eq=False)
class _Write:
    """A write that is queued; `number` counts those before it."""

    number: int
    key: Hashable
    work: Callable[[sqlite3.Connection], Any]
    future: Future[Any]


class Writes:
    """The writes of one file; `add` may be called in any thread."""

    def __init__(
        self,
        thread: ThreadPoolExecutor,
        connection: Callable[[], sqlite3.Connection],
        at_once: Callable[[Callable[[sqlite3.Connection], bool]], bool],
        committed: Callable[[], None],
        failed: Callable[[sqlite3.Error], StoreError],
    ) -> None:
        """Take where they are done, how, and what to say of errors.

        Args:
            thread: of one worker, in which all else is called but `at_once`.
            connection: gives the connection that they go through; asked before each transaction.
            at_once: does a short one, through a connection that does not wait for a lock; undoes
                what was begun and not ended. Returns whether it was done.
            committed: called after each transaction of the thread.
            failed: gives what those who wait hear of an error of the file.
        """
        self._thread = thread
        self._connection = connection
        self._at_once = at_once
        self._committed = committed
        self._failed = failed
        self._lock = threading.Lock()  # of the seven below; held while a short write is done
        self._count = 0
        self._waiting: deque[_Write] = deque()
        self._keys: Counter[Hashable] = Counter()  # of what waits, or is being done in the thread
        self._is_called = False  # whether the thread does what waits, or is about to
        self._is_in_the_way = False  # whether a short write failed, and the thread not yet ended it
        self._is_closed = False
        self._thread_until = 0.0  # until then, short writes are the thread's too (`time.monotonic`)
        self._failure: tuple[StoreError, int] | None = None  # and how many writes were queued then

    def add(
        self,
        key: Hashable | None,
        work: Callable[[sqlite3.Connection], Value],
        *,
        attempt: Callable[[sqlite3.Connection], Value | None] | None = None,
        is_short: bool = False,
        follows: bool = False,
    ) -> Future[Value]:
        """Have some work done in a transaction; at once if it is short and nothing is in the way.

        Args:
            key: what it writes to: done after earlier ones of this key. None for the whole file:
                meanwhile, nothing is done at once.
            work: given a connection. What fails is undone and done again: it must have no effect
                but that on the file.
            attempt: what nearly always is enough, in one statement: it is a transaction by itself,
                and one around it would cost as much again. Gives None where all is to be done.
            is_short: it takes no longer than the loop may be held up for.
            follows: it belongs to one that is just done, and is done though they are closed.

        Returns:
            What it gives, or a `StoreError`: also where they are closed, or the thread has ended.
        """
        with self._lock:
            write = _Write(self._count + 1, key, work, Future())
            if self._is_closed and not (follows and self._is_called):
                write.future.set_exception(StoreError("the store is closed"))
                return write.future
            if not (is_short and self._is_done_at_once(write, attempt)):
                try:
                    self._call()
                except RuntimeError as error:  # as the interpreter ends
                    write.future.set_exception(StoreError(f"the store is closed: {error}"))
                    return write.future
                self._waiting.append(write)
                self._keys[key] += 1
            self._count = write.number
        return write.future

    def _call(self) -> None:
        """Have the thread do what waits."""
        if not self._is_called:
            self._thread.submit(self._do_all)
            self._is_called = True

    def close(self) -> None:
        """Take no more; what waits is done."""
        with self._lock:
            self._is_closed = True

    def _is_done_at_once(
        self, write: _Write, attempt: Callable[[sqlite3.Connection], Any] | None
    ) -> bool:
        """Do a short write here, unless it is for the thread: whether it is done."""
        in_a_row, of = _TO_THREAD
        is_turn_of_thread = self._count % of < in_a_row or time.monotonic() < self._thread_until
        is_behind_another = write.key in self._keys or None in self._keys
        if is_turn_of_thread or is_behind_another or self._is_in_the_way:
            return False
        return self._at_once(partial(self._is_done_by, write, attempt))

    def _is_done_by(
        self,
        write: _Write,
        attempt: Callable[[sqlite3.Connection], Any] | None,
        connection: sqlite3.Connection,
    ) -> bool:
        began = _idle_seconds()
        try:
            result = None if attempt is None else soon(partial(attempt, connection))
            if result is None:
                soon(partial(connection.execute, "begin immediate"))
                result = write.work(connection)
                connection.execute("commit")
        except Exception:  # noqa: BLE001 - the thread does it again, and tells
            self._is_in_the_way = True
            return False
        finally:
            if _idle_seconds() - began > _SLOW_SECONDS:
                self._thread_until = time.monotonic() + _REST_SECONDS
        write.future.set_result(result)
        return True

    def _do_all(self) -> None:
        """Do what waits, in the thread."""
        taken: list[_Write] = []
        while taken := self._next(taken):
            writes = [write for write in taken if write.future.set_running_or_notify_cancel()]
            try:
                self._do(writes)
            except BaseException as error:  # noqa: BLE001 - or somebody would wait for ever
                for write in writes:
                    if not write.future.done():
                        write.future.set_exception(error)

    def _next(self, done: list[_Write]) -> list[_Write]:
        """The writes that are done together next, after some; none once nothing waits."""
        with self._lock:
            for write in done:
                self._keys[write.key] -= 1
                if not self._keys[write.key]:
                    del self._keys[write.key]
            count = min(len(self._waiting), _TOGETHER)
            self._is_called = count > 0
            if done:  # whoever had the lock has let go of it
                self._is_in_the_way = False
            return [self._waiting.popleft() for _ in range(count)]

    def _do(self, writes: list[_Write]) -> None:
        """Do some writes in one transaction; one by one, if one of them fails."""
        writes = self._hopeful(writes)
        if not writes:
            return
        try:
            connection = self._connection()
            _undo(connection)  # what could not be undone when it failed
            connection.execute("begin immediate")
        except BaseException as error:  # noqa: BLE001 - it is for those who wait, here and below
            self._fail(writes, error)
            return
        try:
            results = [write.work(connection) for write in writes]
            connection.execute("commit")
        except BaseException as error:  # noqa: BLE001
            with suppress(sqlite3.Error):
                _undo(connection)
            if len(writes) == 1:
                self._fail(writes, error)
                return
            for write in writes:
                self._do([write])
            return
        for write, result in zip(writes, results, strict=True):
            write.future.set_result(result)
        self._committed()

    def _hopeful(self, writes: list[_Write]) -> list[_Write]:
        """Those of some writes that are tried at all.

        One write that waited for a lock in vain is enough: those queued behind it would wait as
        long, each. What comes later tries again.
        """
        if self._failure is None:
            return writes
        failure, count = self._failure
        for write in writes:
            if write.number <= count:
                write.future.set_exception(failure)
        return [write for write in writes if write.number > count]

    def _fail(self, writes: list[_Write], error: BaseException) -> None:
        """Tell those who wait for some writes of an error."""
        if isinstance(error, sqlite3.Error):
            failure = self._failed(error)
            failure.__cause__ = error
            if not isinstance(error, _OF_ONE_WRITE):
                self._failure = failure, self._count
            error = failure
        elif isinstance(error, StoreError):  # there is no connection
            self._failure = error, self._count
        for write in writes:
            write.future.set_exception(error)


def _idle_seconds() -> float:
    """How long this thread has not worked; the collector of garbage may work in a write."""
    return time.monotonic() - time.thread_time()


def _undo(connection: sqlite3.Connection) -> None:
    """End a transaction that failed; a full disk may have ended it."""
    if connection.in_transaction:
        connection.execute("rollback")
