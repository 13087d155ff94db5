"""Rows of learned paces in Redis, which workers on several machines share."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import inf
from typing import Any

from scrapy_rep.pace.pace_rows import (
    LOCKED_SECONDS,
    MOST_NEWS,
    OVERLAP_SECONDS,
    Change,
    RowsError,
)
from scrapy_rep.protocol.units import DAY_SECONDS

_MOST_TEXTS = 10_000
_REPLY_SECONDS, _CONNECT_SECONDS = 0.1, 0.5
_SLOW_SECONDS, _SLOW_WEIGHT = 0.03, 1 / 16  # the mean time of a reply that blocks too much
_OUTAGE_SECONDS = 30.0
_TIMES = 20  # to change a row that other processes change, too

# The names carry the version of the format.
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
        raise RowsError("another process changes a row", LOCKED_SECONDS, is_usual=True)

    def news(self) -> Iterator[tuple[str, str]]:
        """The rows that may have changed."""
        for name, text in self._read(self._seen_at - OVERLAP_SECONDS).items():
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
            now, *rows = self._news(_KEYS, (since_at, MOST_NEWS, int(DAY_SECONDS)))
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
def _errors_of_redis() -> Iterator[None]:
    from redis.exceptions import ConnectionError, RedisError, TimeoutError  # noqa: A004

    try:
        yield
    except (OSError, RedisError) as error:
        is_outage = isinstance(error, (OSError, ConnectionError, TimeoutError))
        raise RowsError(error, _OUTAGE_SECONDS, is_usual=is_outage) from error
