"""The queues of single priorities, each a file of the `JOBDIR`; a broken one loses only itself.

Scrapy's queue for one host keeps a queue for each priority, of a class that a setting names.
`Files` takes the place of that class, and wraps each of its queues in a `GuardedQueue`. That raises
nothing but ValueError in `push`: the scheduler then keeps the request in memory.

A failure is counted, and logged once per file. A file that cannot be read is renamed, so that the
next one can take its name; it stays in the `JOBDIR` as `<name>.damaged-<time>`.
"""

from __future__ import annotations

import errno
import logging
import re
import sqlite3
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.utils.misc import build_from_crawler

from scrapy_rep import stats

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

_TOLD = 20  # files that the log names; a disk that fails has thousands
_TRIES = 12  # how often a request is read from a full disk
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_EXHAUSTED = frozenset({errno.EMFILE, errno.ENFILE})
_WRONG_KIND = frozenset({errno.EINVAL, errno.EISDIR, errno.ENOTDIR})
_PRIORITY = re.compile(r"(-?\d+)s?")


class Damage:
    """The failures of the files of one queue.

    Attributes:
        stuck_count: how often a queue had a request, but could not return it then.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.stuck_count = 0
        self._crawler = crawler
        self._keys: set[str] = set()

    def has(self, *keys: str) -> bool:
        """Whether any of these files failed."""
        return not self._keys.isdisjoint(keys)

    def found(self, key: str, error: object, lost_count: int = 0) -> None:
        """Count a file that failed and the requests that it lost, and log it once."""
        if lost_count:
            self._crawler.stats.inc_value(stats.LOST, lost_count)
        if key in self._keys:
            return
        self._keys.add(key)
        self._crawler.stats.inc_value(stats.DAMAGED)
        if len(self._keys) > _TOLD:
            return
        logger.error(
            "The queue %s failed: %s. The requests in it are lost, and no others%s",
            key,
            _words(error),
            "; further ones are only counted" if len(self._keys) == _TOLD else "",
            extra={"spider": self._crawler.spider},
        )


class Files:
    """Makes guarded queues; `build_from_crawler` takes it for a class."""

    def __init__(self, kind: Any, damage: Damage, *, is_on_disk: bool) -> None:
        self.kind = kind
        self.damage = damage
        self.is_on_disk = is_on_disk

    def from_crawler(self, crawler: Crawler, key: str) -> GuardedQueue:
        """The queue of a key, which is a path if it is on disk."""
        return GuardedQueue(self, crawler, key)


class GuardedQueue:
    """One queue; when it fails, only its own requests are lost.

    It keeps a count of its own: counting may take a query to the disk, and may fail.
    """

    __slots__ = ("_count", "_files", "_key", "_queue", "_tries")

    def __init__(self, files: Files, crawler: Crawler, key: str) -> None:
        self._files = files
        self._key = key
        self._count = 0
        self._tries = _TRIES
        self._queue: Any = None
        if files.is_on_disk:
            _remove_empty(key)
        try:
            self._open(crawler)
        except Exception as error:
            # If the process has too many files open, the file is sound, but nothing else works.
            if not files.is_on_disk or is_exhausted(error):
                raise
            files.damage.found(key, error)
            if _is_damage(error):
                _set_aside(key)
                with suppress(Exception):
                    self._open(crawler)

    def _open(self, crawler: Crawler) -> None:
        queue: Any = build_from_crawler(self._files.kind, crawler, self._key)
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
            if not self._files.is_on_disk:
                raise
            if isinstance(error, (OSError, sqlite3.Error)):
                self._files.damage.found(self._key, error)
            raise ValueError(f"{self._key}: {_words(error)}") from error
        self._count += 1

    def pop(self) -> Request | None:
        """The next request; None if there is none, if it was lost, or if it cannot be read now."""
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
        """The next request. On disk, close the queue then: some write over their data otherwise."""
        request: Request | None = None if self._queue is None else self._queue.peek()
        return request

    def close(self) -> None:
        """Close the file; an empty one is deleted."""
        queue, self._queue = self._queue, None
        if queue is None:
            return
        try:
            queue.close()
        except Exception as error:  # noqa: BLE001 - a full disk may lead to any
            self._files.damage.found(self._key, error)

    def _failed(self, error: Exception | None) -> None:
        """Find out what a failed read has lost: one request, none yet, or all of them."""
        left = self._left()
        is_patient = not self._files.is_on_disk if error is None else _is_full(error)
        if left is not None and left < self._count:
            lost_count, self._count = self._count - left, left
            self._files.damage.found(self._key, error or "it held no request", lost_count)
        elif left == 0 == self._count:
            return
        elif is_patient and self._tries:
            self._files.damage.stuck_count += 1
            if error is not None:
                self._tries -= 1
                self._files.damage.found(self._key, error)
        else:
            self._give_up(error or "it holds less than it says")

    def _left(self) -> int | None:
        """How many requests the queue says it holds; None if it fails to say."""
        with suppress(Exception):
            return len(self._queue)
        return None

    def _give_up(self, error: object) -> None:
        self._files.damage.found(self._key, error, self._count)
        self._count = 0
        queue, self._queue = self._queue, None
        with suppress(Exception):
            queue.close()
        if self._files.is_on_disk and _is_damage(error):
            _set_aside(self._key)


def priorities_in(folder: str) -> list[int]:
    """The priorities whose files a killed crawl has left in a folder."""
    with suppress(OSError):
        found = [_PRIORITY.fullmatch(path.name) for path in Path(folder).iterdir()]
        return sorted({int(name[1]) for name in found if name is not None})
    return []


def _remove_empty(key: str) -> None:
    """Delete a file without a single octet, which a killed crawl has left."""
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


def is_exhausted(error: Exception) -> bool:
    """Whether the process or the system has too many files open."""
    return isinstance(error, OSError) and error.errno in _EXHAUSTED


def _is_damage(error: object) -> bool:
    """Whether the content of the file is wrong, and not the disk or a permission."""
    if isinstance(error, OSError):
        return error.errno in _WRONG_KIND
    return not isinstance(error, sqlite3.OperationalError)


def _words(error: object) -> str:
    return f"{type(error).__name__}: {error}" if isinstance(error, Exception) else str(error)
