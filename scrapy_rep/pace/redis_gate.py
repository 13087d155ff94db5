"""One pace over several workers that share no queue: each request waits for its turn in Redis.

It is for short waits: of each host, only the first request that waits holds no place of the
downloader's. With `RepRedisScheduler` nothing of the queue waits here: there the queue keeps the
pace.

An origin's next time lies in Redis, by Redis's clock. One request at a time has the turn, until it
has left the downloader; the next time is one delay after that. The turn of a worker that died, or
of a request that was dropped on its way, ends by itself. While Redis is out, each worker leaves the
delay times the last known number of workers, so all of them together are not faster.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from scrapy import Request, signals

from scrapy_rep.cache.base import StoreError
from scrapy_rep.cache.link import Argument, Link, Script
from scrapy_rep.engine.loops import sleep
from scrapy_rep.protocol.paths import is_robots_txt

from .visits import VISITS

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_rep.protocol.access.origin import Origin

_MOST_SECONDS = 5.0  # a turn is taken at most this far ahead: its worker may die before
_HELD_SECONDS = 5.0  # that a turn may take, and one delay: of a request that hangs, or was dropped
_POLL_SECONDS = 0.05, 0.25  # while another one has the turn: at least, at most
_COUNT_SECONDS = 10.0
_COUNTED_SECONDS = 35.0  # a worker counts for this long after its last report
_LONG_AGO_MS = 1e12
_WORKERS = "rep:{pace}:workers"

_CLOCK = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local known = redis.call('HMGET', KEYS[1], 'at', 'id', 'until')
local at, id, ends = tonumber(known[1] or '') or 0, known[2], tonumber(known[3] or '') or 0
"""
# ARGV: the turn, delay, how far ahead, for how long it may be held, and how long ago the last visit
# was that the worker knows; in ms.
_TAKE = Script(
    _CLOCK
    + """
-- Who asks while another has the turn is the next, if it asks again soon: who ends one turn and
-- asks for another at once would have all of them.
local next = redis.call('HMGET', KEYS[1], 'next', 'asks')
if (tonumber(next[2] or '') or 0) < now then next[1] = false end
local is_held = id and id ~= ARGV[1] and now < ends
if is_held and not next[1] then next[1] = ARGV[1] end
if next[1] == ARGV[1] then
  redis.call('HSET', KEYS[1], 'next', ARGV[1], 'asks', string.format('%.0f', now + 1000))
end
if is_held or (next[1] and next[1] ~= ARGV[1]) then return {0, math.max(0, at - now), 1} end
local delay = tonumber(ARGV[2])
at = math.max(now, at, now - tonumber(ARGV[5]) + delay)
if at - now > tonumber(ARGV[3]) then return {0, at - now, 0} end
if next[1] then redis.call('HDEL', KEYS[1], 'next', 'asks') end
local last = at + tonumber(ARGV[4])
redis.call('HSET', KEYS[1], 'at', string.format('%.0f', at + delay), 'id', ARGV[1],
           'until', string.format('%.0f', last))
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', last - now + delay + 1000))
return {1, at - now, 0}
"""
)
# ARGV: the turn, delay, and how long ago the request left, in ms; -1 if it was not sent.
_END = Script(
    _CLOCK
    + """
local delay, ago = tonumber(ARGV[2]), tonumber(ARGV[3])
local following = ago < 0 and now or now - ago + delay
if id == ARGV[1] then
  redis.call('HDEL', KEYS[1], 'id', 'until')
elseif ago < 0 then
  return 0
else
  following = math.max(at, following)
end
redis.call('HSET', KEYS[1], 'at', string.format('%.0f', following))
redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.max(0, following - now) + delay + 10000))
return 1
"""
)
_COUNT = Script("""
local time = redis.call('TIME')
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', time[1])
if ARGV[2] == '0' then redis.call('ZREM', KEYS[1], ARGV[1])
else redis.call('ZADD', KEYS[1], time[1] + ARGV[2], ARGV[1]) end
redis.call('EXPIRE', KEYS[1], 3600)
return redis.call('ZCARD', KEYS[1])
""")


class _Turn(NamedTuple):
    """The turn that a request has."""

    key: str
    id: str
    delay_ms: int


class RedisGate:
    """Where a worker's requests wait for the turn of their origin."""

    def __init__(self, crawler: Crawler, link: Link) -> None:
        self._link = link
        self._name = secrets.token_hex(8)
        self._numbers = itertools.count()
        self._worker_count = 1
        self._is_refused = False
        self._task: asyncio.Task[None] | None = None
        self._reports: set[asyncio.Task[None]] = set()
        # No signal tells of a request that a middleware behind us drops.
        self._turns: WeakKeyDictionary[Request, _Turn] = WeakKeyDictionary()
        crawler.signals.connect(self._left, signal=signals.request_left_downloader)
        crawler.signals.connect(self.end, signal=signals.response_received)
        crawler.signals.connect(self._spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)

    @property
    def factor(self) -> int:
        """By how much this worker is to be slower than the site allows: 1 while Redis is there."""
        return 1 if self._link.is_up and not self._is_refused else self._worker_count

    def _spider_opened(self) -> None:
        """Be counted from now on."""
        self._link.open()
        self._task = asyncio.get_running_loop().create_task(self._be_counted())

    async def _spider_closed(self) -> None:
        """Be counted no more."""
        if self._task is None:
            return
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        with suppress(StoreError):
            await self._link.run(_COUNT, [_WORKERS], [self._name, "0"])
        await self._link.close()

    async def _be_counted(self) -> None:
        while True:
            with suppress(StoreError):
                arguments = [self._name, str(round(_COUNTED_SECONDS))]
                self._worker_count = max(1, await self._link.run(_COUNT, [_WORKERS], arguments))
            await asyncio.sleep(_COUNT_SECONDS)

    def may_go(self, *_: object) -> bool:
        """Always: its turns are not taken over."""
        return True

    async def wait(
        self,
        origin: Origin,
        delay_seconds: float,
        request: Request,
        is_awaited: Callable[[], bool],  # noqa: ARG002
    ) -> None:
        """Wait for a request's turn; not at all if Redis is out, or no delay is known.

        Before a robots.txt is here, others may know of one. A page that waits for its robots.txt
        takes a turn only after that.
        """
        if not delay_seconds and not is_robots_txt(request.url):
            return
        turn_id = f"{self._name}:{next(self._numbers)}"
        turn = _Turn(f"rep:{{{origin}}}:turn", turn_id, round(1000 * delay_seconds))
        while (wait_ms := await self._take(turn, origin)) is None:
            pass
        await sleep(wait_ms / 1000)
        self._turns[request] = turn

    async def _take(self, turn: _Turn, origin: Origin) -> float | None:
        """When a turn comes, in ms; None if it has to be requested again."""
        most_ms, held_ms = round(1000 * _MOST_SECONDS), round(1000 * _HELD_SECONDS)
        ago_ms = min(_LONG_AGO_MS, 1000 * (time.monotonic() - VISITS.last_at(origin.host)))
        arguments: list[Argument] = [turn.id, turn.delay_ms, most_ms, held_ms + turn.delay_ms]
        arguments.append(round(ago_ms))
        try:
            granted, wait_ms, is_held = await self._link.run(_TAKE, [turn.key], arguments)
        except StoreError:
            self._is_refused = self._link.is_up
            return 0.0
        self._is_refused = False
        if granted:
            return float(wait_ms)
        least, most = _POLL_SECONDS
        seconds = max(least, min(wait_ms / 1000, most if is_held else _MOST_SECONDS))
        await sleep(seconds)
        return None

    def end(self, request: Request) -> None:
        """A request with a turn has ended before it came to the downloader: the turn is free."""
        self._tell(request, -1)

    def _left(self, request: Request) -> None:
        self._tell(request, 0)

    def _tell(self, request: Request, ago_ms: int) -> None:
        turn = self._turns.pop(request, None)
        if turn is not None:
            task = asyncio.get_running_loop().create_task(self._told(turn, ago_ms))
            self._reports.add(task)
            task.add_done_callback(self._reports.discard)

    async def _told(self, turn: _Turn, ago_ms: int) -> None:
        with suppress(StoreError):
            await self._link.run(_END, [turn.key], [turn.id, turn.delay_ms, ago_ms])
