"""Rows of text by name that processes change together, in a SQLite file or in Redis.

A row is read, changed and written as one step. Rows are kept for a day. All calls block the event
loop, so their time is limited; after an error, a process goes on alone for a while.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any, Protocol

from scrapy_rep.protocol.secrecy import OWNER_ONLY
from scrapy_rep.protocol.units import DAY_SECONDS

_MOST_NEWS, _MOST_TEXTS = 1000, 10_000
_OVERLAP_SECONDS = 1.0  # a row may be written while others are read: read the last ones again
_LOCK_SECONDS = 0.05  # how long a call waits while another process writes
_LOCKED_SECONDS = 5.0
_REPLY_SECONDS, _CONNECT_SECONDS = 0.1, 0.5
_SLOW_SECONDS, _SLOW_WEIGHT = 0.03, 1 / 16  # the mean time of a reply that blocks too much
_OUTAGE_SECONDS = 30.0
_TIMES = 20  # a row that other processes change meanwhile

# The names carry the version of the format.
_SCHEMA = """
create table if not exists paces_2 (name text primary key, text text, changed_at real)
"""
_PUT = """
insert into paces_2 (name, text, changed_at) values (?, ?, ?)
on conflict (name) do update set text = excluded.text, changed_at = excluded.changed_at
"""
_NEWS = """
select name, text from paces_2 where changed_at >= ? order by changed_at desc limit ?
"""

_KEYS = ("rep:{paces}:rows2", "rep:{paces}:changed2")
_CHANGE_IN_REDIS = """
local seen = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if seen ~= ARGV[2] then return seen end
local now = redis.call('TIME')
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
redis.call('ZADD', KEYS[2], now[1] .. '.' .. string.format('%06d', now[2]), ARGV[1])
redis.call('EXPIRE', KEYS[1], ARGV[4])
redis.call('EXPIRE', KEYS[2], ARGV[4])
return false
"""
_NEWS_IN_REDIS = """
local now = redis.call('TIME')
now = now[1] .. '.' .. string.format('%06d', now[2])
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], 0, now - ARGV[3], 'LIMIT', 0, 100)) do
    redis.call('HDEL', KEYS[1], name)
    redis.call('ZREM', KEYS[2], name)
end
local found = {now}
local names = redis.call('ZREVRANGEBYSCORE', KEYS[2], '+inf', ARGV[1], 'LIMIT', 0, ARGV[2])
for _, name in ipairs(names) do
    found[#found + 1] = name
    found[#found + 1] = redis.call('HGET', KEYS[1], name) or ''
end
return found
"""

Change = Callable[[str], str]
"""A function from the text of a row, or nothing, to its new text. It may be called repeatedly."""


class RowsError(Exception):
    """Rows cannot be read or changed.

    Attributes:
        seconds: after which time they perhaps can.
        is_usual: whether others only write at the same time, or the log has a warning already.
    """

    def __init__(self, reason: object, seconds: float = inf, *, is_usual: bool = False) -> None:
        super().__init__(str(reason))
        self.seconds, self.is_usual = seconds, is_usual


class SharedRows(Protocol):
    """Rows that several processes have open; each method raises `RowsError`.

    Attributes:
        ahead_seconds: how much the clock that all processes share is ahead of that of this one.
    """

    ahead_seconds: float

    def change(self, name: str, change: Change) -> None:
        """Change a row."""

    def news(self) -> Iterator[tuple[str, str]]:
        """The names and texts of the rows that may have changed since the last call."""

    def close(self) -> None:
        """Close them."""


def rows_at(place: Path | str) -> SharedRows:
    """The rows in a file, or in the Redis of a URL.

    Raises:
        RowsError: they cannot be opened.
    """
    return RedisRows(place) if isinstance(place, str) else SqliteRows(place)


class SqliteRows:
    """Rows in a file, for the processes of one machine."""

    ahead_seconds = 0.0

    def __init__(self, path: Path) -> None:
        self._seen_at, self._version = 0.0, -1
        with _errors_of_sqlite():
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, OWNER_ONLY))
            made = sqlite3.connect(path, _LOCK_SECONDS, isolation_level=None)
            try:
                made.execute("pragma journal_mode = wal")
                made.execute("pragma synchronous = off")  # no row is worth a wait for the disk
                made.execute(_SCHEMA)
                old_at = time.time() - DAY_SECONDS
                made.execute("delete from paces_2 where changed_at < ?", (old_at,))
            except BaseException:
                made.close()
                raise
        self._connection = made

    def change(self, name: str, change: Change) -> None:
        """Change a row."""
        with _errors_of_sqlite():
            self._connection.execute("begin immediate")
            with self._connection as connection:
                select = "select text from paces_2 where name = ?"
                row = connection.execute(select, (name,)).fetchone()
                text = change("" if row is None else str(row[0]))
                connection.execute(_PUT, (name, text, time.time()))

    def news(self) -> Iterator[tuple[str, str]]:
        """The rows that may have changed."""
        with _errors_of_sqlite():
            ((version,),) = self._connection.execute("pragma data_version")
            if version == self._version:  # no other process has written
                return
            since_at = self._seen_at - _OVERLAP_SECONDS
            self._seen_at, self._version = time.time(), version
            rows = self._connection.execute(_NEWS, (since_at, _MOST_NEWS)).fetchall()
        for name, text in rows:
            yield str(name), str(text)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


class RedisRows:
    """Rows in Redis, for processes on several machines; Redis's clock decides."""

    def __init__(self, url: str) -> None:
        self._texts: dict[str, str] = {}
        self._reply_seconds = 0.0
        try:
            from redis import Redis
            from redis.backoff import NoBackoff
            from redis.retry import Retry

            self._redis: Any = Redis.from_url(
                url,
                protocol=2,
                retry=Retry(NoBackoff(), 0),
                socket_timeout=_REPLY_SECONDS,
                socket_connect_timeout=_CONNECT_SECONDS,
                decode_responses=True,
                encoding_errors="replace",
            )
            self._change = self._redis.register_script(_CHANGE_IN_REDIS)
            self._news = self._redis.register_script(_NEWS_IN_REDIS)
            self._read(inf)  # the clock
        except (ImportError, TypeError, ValueError) as error:
            raise RowsError(error) from error
        self._seen_at = 0.0

    def change(self, name: str, change: Change) -> None:
        """Change a row."""
        seen = self._texts.get(name, "")
        for _ in range(_TIMES):
            text = change(seen)
            with self._asked():
                found = self._change(_KEYS, (name, seen, text, int(DAY_SECONDS)))
            if found is None:
                self._note(name, text)
                return
            seen = found
        raise RowsError("another process changes a row", _LOCKED_SECONDS, is_usual=True)

    def news(self) -> Iterator[tuple[str, str]]:
        """The rows that may have changed."""
        for name, text in self._read(self._seen_at - _OVERLAP_SECONDS).items():
            if self._texts.get(name) != text:
                self._note(name, text)
                yield name, text

    def _note(self, name: str, text: str) -> None:
        if len(self._texts) >= _MOST_TEXTS:
            self._texts.clear()
        self._texts[name] = text

    def _read(self, since_at: float) -> dict[str, str]:
        began_at = time.time()
        with self._asked():
            now, *rows = self._news(_KEYS, (since_at, _MOST_NEWS, int(DAY_SECONDS)))
        self._seen_at = float(now)
        self.ahead_seconds = self._seen_at - (began_at + time.time()) / 2
        return dict(zip(rows[::2], rows[1::2], strict=True))

    @contextmanager
    def _asked(self) -> Iterator[None]:
        """Ask Redis, unless its replies have been slow."""
        if self._reply_seconds > _SLOW_SECONDS:
            words = f"a reply takes {1000 * self._reply_seconds:.0f} ms"
            self._reply_seconds = 0.0
            raise RowsError(words, _OUTAGE_SECONDS)
        began_at = time.monotonic()
        with _errors_of_redis():
            yield
        took = time.monotonic() - began_at
        self._reply_seconds += (took - self._reply_seconds) * _SLOW_WEIGHT

    def close(self) -> None:
        """Close the connection."""
        self._redis.close()


@contextmanager
def _errors_of_sqlite() -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if "locked" in str(error):  # by another process, for a moment
            raise RowsError(error, _LOCKED_SECONDS, is_usual=True) from error
        raise RowsError(error) from error


@contextmanager
def _errors_of_redis() -> Iterator[None]:
    from redis.exceptions import ConnectionError, RedisError, TimeoutError  # noqa: A004

    try:
        yield
    except (OSError, RedisError) as error:
        is_outage = isinstance(error, (OSError, ConnectionError, TimeoutError))
        raise RowsError(error, _OUTAGE_SECONDS, is_usual=is_outage) from error
