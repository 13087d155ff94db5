"""The writes of a SQLite file, by one thread, in the order in which they come.

Those that are queued together share a transaction: a commit costs more than what it commits. If one
of them fails, each is done by itself.
"""

from __future__ import annotations

import sqlite3
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from .base import StoreError

Value = TypeVar("Value")

_TOGETHER = 100  # writes in one transaction, at most: other processes wait for its end
_OF_ONE_WRITE = sqlite3.DataError, sqlite3.IntegrityError  # all others may be of the file


@dataclass(slots=True, eq=False)
class _Write:
    """A write that is queued; `number` counts those before it."""

    number: int
    work: Callable[[], Any]
    future: Future[Any]


class Writes:
    """The writes of one file; `add` may be called in any thread."""

    def __init__(
        self,
        thread: ThreadPoolExecutor,
        connection: Callable[[], sqlite3.Connection],
        failed: Callable[[sqlite3.Error], StoreError],
    ) -> None:
        """Take where they are done, how, and what to say of errors.

        Args:
            thread: of one worker, in which all else is called.
            connection: gives the connection that they go through; asked before each transaction.
            failed: gives what those who wait hear of an error of the file.
        """
        self._thread = thread
        self._connection = connection
        self._failed = failed
        self._lock = threading.Lock()  # of the four below
        self._count = 0
        self._waiting: deque[_Write] = deque()
        self._is_called = False  # whether the thread does what waits, or is about to
        self._is_closed = False
        self._failure: tuple[StoreError, int] | None = None  # and how many writes were queued then

    def add(self, work: Callable[[], Value]) -> Future[Value]:
        """Have some work done in a transaction.

        Raises:
            RuntimeError: they are closed, or the thread has ended.
        """
        with self._lock:
            if self._is_closed:
                raise RuntimeError("the store is closed")
            write = _Write(self._count + 1, work, Future())
            if not self._is_called:
                self._thread.submit(self._do_all)
                self._is_called = True
            self._waiting.append(write)
            self._count = write.number
        return write.future

    def close(self) -> None:
        """Take no more; what waits is done."""
        with self._lock:
            self._is_closed = True

    def _do_all(self) -> None:
        """Do what waits, in the thread."""
        while writes := self._next():
            writes = [write for write in writes if write.future.set_running_or_notify_cancel()]
            try:
                self._do(writes)
            except BaseException as error:  # noqa: BLE001 - or somebody would wait for ever
                for write in writes:
                    if not write.future.done():
                        write.future.set_exception(error)

    def _next(self) -> list[_Write]:
        """The writes that are done together next; none once nothing waits."""
        with self._lock:
            count = min(len(self._waiting), _TOGETHER)
            self._is_called = count > 0
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
            results = [write.work() for write in writes]
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
        for write in writes:
            write.future.set_exception(error)


def _undo(connection: sqlite3.Connection) -> None:
    """End a transaction that failed; a full disk may have ended it."""
    if connection.in_transaction:
        connection.execute("rollback")
