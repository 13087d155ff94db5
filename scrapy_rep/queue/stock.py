"""The requests of each lane, in memory or in a folder of the `JOBDIR`.

A lane uses Scrapy's queue for one host, which has a queue for each priority, on disk one file each;
a setting names the class. On disk, each of its queues is wrapped in a `GuardedQueue`, which raises
only ValueError in `push`, so that the scheduler keeps the request in memory.

Failures are counted, and logged once per file. A file that cannot be read is renamed to
`<name>.damaged-<time>` and stays in the `JOBDIR`, so that a new file can use its name.

After a peek, some queues on disk overwrite their data with the next request. So the file is closed
and reopened after a peek.
"""

from __future__ import annotations

import errno
import re
import sqlite3
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from scrapy.pqueues import QueueProtocol, ScrapyPriorityQueue
from scrapy.utils.misc import build_from_crawler

from scrapy_rep import stats
from scrapy_rep.stats import Journal

from .targets import folder_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

_TRIES = 12  # how often to try to read a request from a full disk
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE})
_WRONG_KIND = frozenset({errno.EINVAL, errno.EISDIR, errno.ENOTDIR})
_PRIORITY = re.compile(r"(-?\d+)s?")


class FileFailures:
    """The failures of the files of one queue.

    Attributes:
        stuck_count: how often a queue could not return a request for the moment.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.stuck_count = 0
        self._journal = Journal(crawler, __name__)
        self._keys: set[str] = set()

    def has(self, *keys: str) -> bool:
        """Whether any of these files failed."""
        return not self._keys.isdisjoint(keys)

    def found(self, key: str, error: object, lost_count: int = 0) -> None:
        """Count a file that failed and the requests that it lost, and log it once."""
        self._journal.count(stats.LOST, lost_count)
        if key not in self._keys:
            self._keys.add(key)
            self._journal.count(stats.DAMAGED)
            words = "The queue %s failed: %s. Only the requests in it are lost"
            self._journal.once(key, words, key, _words(error))


class GuardedQueue:
    """One queue; when it fails, only its own requests are lost.

    It counts its requests itself, because the wrapped queue may need the disk for that, and fail.
    """

    __slots__ = ("_count", "_damage", "_key", "_queue", "_tries")

    def __init__(self, damage: FileFailures, crawler: Crawler, kind: Any, key: str) -> None:
        self._damage = damage
        self._key = key
        self._count = 0
        self._tries = _TRIES
        self._queue: Any = None
        _remove_empty(key)
        try:
            self._open(kind, crawler)
        except Exception as error:
            # If the process has too many files open, the file is sound, but nothing else works.
            if _is_exhausted(error):
                raise
            damage.found(key, error)
            if _is_damage(error):
                _set_aside(key)
                with suppress(Exception):
                    self._open(kind, crawler)

    def _open(self, kind: Any, crawler: Crawler) -> None:
        queue: Any = build_from_crawler(kind, crawler, self._key)
        self._count = len(queue)
        self._queue = queue

    def __len__(self) -> int:
        return self._count

    def push(self, request: Request) -> None:
        """Take a request in.

        Raises:
            ValueError: it cannot be written to disk.
        """
        if self._queue is None:
            raise ValueError(f"{self._key} cannot be opened")
        try:
            self._queue.push(request)
        except ValueError:
            raise
        except Exception as error:
            if isinstance(error, (OSError, sqlite3.Error)):
                self._damage.found(self._key, error)
            raise ValueError(f"{self._key}: {_words(error)}") from error
        self._count += 1

    def pop(self) -> Request | None:
        """The next request; None if it is empty, or if the request was lost or unreadable now."""
        if self._queue is None:
            return None
        try:
            request: Request | None = self._queue.pop()
        except Exception as error:  # noqa: BLE001 - a damaged file may lead to any
            self._failed(error)
            return None
        if request is None:
            self._failed(None)
            return None
        self._count -= 1
        self._tries = _TRIES
        return request

    def peek(self) -> Request | None:
        """The next request; on disk, reopen the queue then, because some overwrite their data."""
        request: Request | None = None if self._queue is None else self._queue.peek()
        return request

    def close(self) -> None:
        """Close the file; an empty file is deleted."""
        queue, self._queue = self._queue, None
        if queue is None:
            return
        try:
            queue.close()
        except Exception as error:  # noqa: BLE001 - a full disk may lead to any
            self._damage.found(self._key, error)

    def _failed(self, error: Exception | None) -> None:
        """Find out whether a failed read has lost one request, all requests, or none yet."""
        left = self._left()
        is_patient = error is not None and _is_full(error)
        if left is not None and left < self._count:
            lost_count, self._count = self._count - left, left
            self._damage.found(self._key, error or "it held no request", lost_count)
        elif left == 0 == self._count:
            return
        elif is_patient and self._tries:
            self._damage.stuck_count += 1
            self._tries -= 1
            self._damage.found(self._key, error)
        else:
            self._give_up(error or "it holds fewer requests than it says")

    def _left(self) -> int | None:
        """The length that the wrapped queue reports; None if that fails."""
        with suppress(Exception):
            return len(self._queue)
        return None

    def _give_up(self, error: object) -> None:
        self._damage.found(self._key, error, self._count)
        self._count = 0
        queue, self._queue = self._queue, None
        with suppress(Exception):
            queue.close()
        if _is_damage(error):
            _set_aside(self._key)


class Stock(ScrapyPriorityQueue):
    """The requests of one lane: Scrapy's queue for one host, which survives broken files."""

    def __init__(
        self,
        crawler: Crawler,
        kinds: tuple[Any, Any],
        damage: FileFailures,
        folder: str,
        priorities: Iterable[int],
    ) -> None:
        self._damage = damage
        self.is_stuck = False
        kind, start_kind = kinds
        super().__init__(crawler, kind, folder, priorities, start_queue_cls=start_kind)

    def init_prios(self, startprios: Iterable[int]) -> None:
        """Open the files of these priorities; empty files are closed and deleted.

        Scrapy's own method does not close them up to Scrapy 2.16.
        """
        for priority in startprios:
            self._keep(priority, self.qfactory(priority), self.queues)
            if self._start_queue_cls:
                self._keep(priority, self._sqfactory(priority), self._start_queues)

    def _keep(self, priority: int, queue: QueueProtocol, queues: dict[int, QueueProtocol]) -> None:
        if queue:
            queues[priority] = queue
            self.curprio = priority if self.curprio is None else min(self.curprio, priority)
        else:
            queue.close()

    def push(self, request: Request) -> None:
        """Take a request in.

        Raises:
            ValueError: it cannot be written to disk.
        """
        try:
            super().push(request)
        except OSError as error:
            raise ValueError(f"{self.key}: {error}") from error

    def take(self) -> Request | None:
        """The next request; None if the queue is empty or the request was lost.

        It is also None if the request cannot be read now; then `is_stuck` is set.
        """
        self.is_stuck = False
        before = self._damage.stuck_count
        try:
            found = self.pop()
        except Exception as error:  # noqa: BLE001 - or the same lane would come next again
            self._damage.found(self.key, error, len(self))
            self._forget()
            return None
        self.is_stuck = self._damage.stuck_count != before
        return found

    def sample(self) -> Request | None:
        """One of the requests, which stays in the queue; None if no request can be read.

        The files of a queue on disk are closed and reopened after it.
        """
        # Scrapy's own `peek` fails where a priority has no requests left.
        queues = [
            (priority, queue)
            for kind in (self.queues, self._start_queues)
            for priority, queue in kind.items()
            if queue
        ]
        if not queues:
            return None
        _, queue = min(queues, key=itemgetter(0))
        try:
            return cast("GuardedQueue", queue).peek()
        except Exception:  # noqa: BLE001 - whoever takes the request counts what is damaged
            return None
        finally:
            if self.key:
                self._reopen()

    def _reopen(self) -> None:
        count, priorities = len(self), self.close()
        self._forget()
        try:
            self.init_prios(priorities)
        except Exception as error:  # noqa: BLE001 - the process has too many files open, say
            self._damage.found(self.key, error, count - len(self))

    def close(self) -> list[int]:
        """Close all files; return the priorities of the files that remain."""
        try:
            return super().close()
        except Exception as error:  # noqa: BLE001 - the other stocks have to be closed too
            self._damage.found(self.key, error)
            return list(self.queues)

    def _forget(self) -> None:
        self.queues.clear()
        self._start_queues.clear()
        self.curprio = None


class Stocks:
    """The stocks of one queue, by the names of their lanes."""

    def __init__(self, crawler: Crawler, kind: Any, start_kind: Any, key: str) -> None:
        self._crawler = crawler
        self._key = key
        self._damage = damage = FileFailures(crawler)
        self._kinds = kind, start_kind
        if key:  # on disk
            guarded = partial(partial, GuardedQueue, damage, crawler)
            self._kinds = guarded(kind), start_kind and guarded(start_kind)
        self._unopened: dict[str, list[int]] = {}

    def open(self, name: str) -> Stock:
        """The stock of a new lane, with the requests that a killed crawl left in its folder.

        Raises:
            ValueError: the process has too many files open.
        """
        folder = self._folder(name)
        try:
            return self._stock(folder, _priorities_in(folder) if folder else ())
        except OSError as error:
            raise ValueError(f"{folder}: {error}") from error

    def resume(self, name: str, priorities: Iterable[int]) -> Stock | None:
        """The requests of a lane from an earlier crawl; None if no request can be read.

        A file that cannot be opened stays in the result of `close`, for the next resume.

        Raises:
            OSError: the process has too many files open.
        """
        folder = self._folder(name)
        try:
            known = sorted({int(priority) for priority in priorities})
            stock = self._stock(folder, known)
        except Exception as error:
            if _is_exhausted(error):
                raise
            self._damage.found(folder, error)
            return None
        has_failed = self._damage.has
        failed = [one for one in known if has_failed(f"{folder}/{one}", f"{folder}/{one}s")]
        if failed:
            self._unopened[name] = failed
        if stock:
            return stock
        self.remove(name, stock)
        return None

    def remove(self, name: str, stock: Stock) -> None:
        """Close the stock of a lane and delete its folder, as Scrapy does."""
        stock.close()
        if self._key:
            with suppress(OSError):  # a folder that is not empty is kept
                Path(self._folder(name)).rmdir()

    def close(self, stocks: Mapping[str, Stock]) -> dict[str, list[int]]:
        """Close all stocks; return the state for `resume`."""
        state = {name: stock.close() for name, stock in stocks.items()}
        for name, priorities in self._unopened.items():
            state[name] = sorted({*state.get(name, ()), *priorities})
        return state

    def _stock(self, folder: str, priorities: Iterable[int]) -> Stock:
        return Stock(self._crawler, self._kinds, self._damage, folder, priorities)

    def _folder(self, name: str) -> str:
        return f"{self._key}/{folder_of(name)}" if self._key else ""


def _priorities_in(folder: str) -> list[int]:
    """The priorities of the files that a killed crawl has left in a folder."""
    with suppress(OSError):
        found = [_PRIORITY.fullmatch(path.name) for path in Path(folder).iterdir()]
        return sorted({int(name[1]) for name in found if name is not None})
    return []


def _remove_empty(key: str) -> None:
    """Delete an empty file that a killed crawl has left."""
    with suppress(OSError, ValueError):
        path = Path(key)
        if path.is_file() and not path.stat().st_size:
            path.unlink()


def _set_aside(key: str) -> None:
    with suppress(OSError, ValueError):
        Path(key).rename(f"{key}.damaged-{time.time_ns()}")


def _is_full(error: Exception) -> bool:
    """Whether the disk is full or the database is busy: a later try may succeed."""
    if isinstance(error, sqlite3.OperationalError):
        return True
    return isinstance(error, OSError) and error.errno in _FULL


def _is_exhausted(error: Exception) -> bool:
    """Whether the process or the system has too many files open."""
    return isinstance(error, OSError) and error.errno in _EXHAUSTED


def _is_damage(error: object) -> bool:
    """Whether the content of the file is damaged, rather than a problem of disk or permissions."""
    if isinstance(error, OSError):
        return error.errno in _WRONG_KIND
    return not isinstance(error, sqlite3.OperationalError)


def _words(error: object) -> str:
    return f"{type(error).__name__}: {error}" if isinstance(error, Exception) else str(error)
