"""Rests over several workers: the answer 429 to one worker rests the origin for all of them.

A board in Redis lists the rests. Each worker writes there what an answer changed, and reads what
the others wrote, several times a second. After a rest, the request that goes first needs the probe
of its origin, which one worker has at a time. The probe of a worker that died ends after a while.
While Redis is out, each worker is by itself, and its news are written afterwards.

Times on the board are seconds of Redis' clock.
"""

from __future__ import annotations

import asyncio
import json
import os
import secrets
import time
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals

from scrapy_rep.cache.base import StoreError
from scrapy_rep.cache.link import Argument, Link, Script
from scrapy_rep.engine.state import wake
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.extensions.rest import Rest

from .backoff import Backoff

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from scrapy_rep.decisions import Decisions
    from scrapy_rep.settings import RepSettings

    from .downloader import Downloader

_POLL_SECONDS = 0.25
_HELD_SECONDS = 5.0  # that a probe lasts if its worker says no more of it
_AT_A_TIME = 50  # origins in one exchange
_MOST_TOLD = 10_000  # origins, while Redis is out
_BOARD = "rep:{pace}:rests"  # origin: a rest as JSON
_CHANGES = "rep:{pace}:rests:changed"  # the same origins, and those that rest no more, by time
_PROBE = "rep:{pace}:probe:"
_TIMES = ("since_at", "began_at", "until_at", "given_up_until")

_CLOCK = """
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local function rest_of(origin)
  local is_read, rest = pcall(cjson.decode, redis.call('HGET', KEYS[1], origin) or 'null')
  return is_read and type(rest) == 'table' and type(rest.until_at) == 'number' and rest or nil
end
"""
# ARGV: the worker; the change that it read last; the seconds for which a change is kept; the ms
# that a probe lasts; how many changes it reads; and its news, as JSON.
_EXCHANGE = Script(
    _CLOCK
    + """
local says = cjson.decode(ARGV[6])
for _, told in ipairs(says.told) do  -- origin, when its request was sent, rest or null
  local origin, sent, rest, known = told[1], told[2], told[3], rest_of(told[1])
  if rest == cjson.null then rest = nil end
  local is_change = true
  if known and sent < known.until_at then  -- it can only make the rest longer
    is_change = rest and rest.until_at > known.until_at
    if is_change then rest.since_at, rest.doublings = known.since_at, known.doublings end
  end
  if is_change then
    local last = redis.call('ZREVRANGE', KEYS[2], 0, 0, 'WITHSCORES')[2]
    local at = math.max(math.floor(now * 1000), (tonumber(last or '') or 0) + 1)
    redis.call('ZADD', KEYS[2], string.format('%.0f', at), origin)
    if rest then redis.call('HSET', KEYS[1], origin, cjson.encode(rest))
    else redis.call('HDEL', KEYS[1], origin) end
    local old = string.format('(%.0f', (now - ARGV[3]) * 1000)
    for _, one in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', old, 'LIMIT', 0, 100)) do
      redis.call('HDEL', KEYS[1], one)
      redis.call('ZREM', KEYS[2], one)
    end
    redis.call('EXPIRE', KEYS[1], ARGV[3])
    redis.call('EXPIRE', KEYS[2], ARGV[3])
  end
end
for key, is_out in pairs(says.probes) do
  if redis.call('GET', key) == ARGV[1] then
    if is_out then redis.call('PEXPIRE', key, ARGV[4]) else redis.call('DEL', key) end
  end
end
local found = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. ARGV[2], '+inf', 'WITHSCORES', 'LIMIT', 0,
                         ARGV[5])
local changes = {}
for place = 1, #found, 2 do
  changes[#changes + 1] = {found[place], rest_of(found[place]) or cjson.null}
end
return cjson.encode({string.format('%.6f', now), found[#found] or ARGV[2], changes})
"""
)
# ARGV: the worker, origin, and the ms that the probe lasts.
_CLAIM = Script(
    _CLOCK
    + """
local rest, holder = rest_of(ARGV[2]), redis.call('GET', KEYS[2])
local left = rest and rest.until_at - now or 0  -- far too much, if Redis' clock was set back
if left > 0 and left < rest.seconds + 5 or rest and rest.given_up_until > now
   or holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[1], 'PX', ARGV[3])
return 1
"""
)


class SharedBackoff(Backoff):
    """How one crawl heeds the answers of pages, its own and those of other workers."""

    def __init__(
        self,
        crawler: Crawler,
        settings: RepSettings,
        decisions: Decisions,
        downloader: Downloader,
        link: Link,
    ) -> None:
        super().__init__(crawler, settings, decisions, downloader)
        self._crawler = crawler
        self._link = link
        self._name = f"{os.getpid()}:{secrets.token_hex(8)}"
        self._keep_seconds = round(self._limits.max_seconds + 2 * self._limits.give_up_seconds)
        self._unwritten: dict[Origin, tuple[float, Rest | None]] = {}
        self._out: dict[Origin, Request] = {}  # the probes that this worker has
        self._has_news = asyncio.Event()
        self._read_until = "0"
        self._ahead_seconds = 0.0  # of Redis' clock to the monotonic one
        self._task: asyncio.Task[None] | None = None
        crawler.signals.connect(self._spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)

    def _spider_opened(self) -> None:
        self._link.open()
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def _spider_closed(self) -> None:
        if self._task is None:
            return
        self._task.cancel()
        with suppress(asyncio.CancelledError):
            await self._task
        with suppress(StoreError):
            await self._exchange(is_last=True)
        await self._link.close()

    def _put(self, origin: Origin, rest: Rest | None, sent_at: float) -> None:
        before = self.rests.of(origin)
        super()._put(origin, rest, sent_at)
        is_full = len(self._unwritten) >= _MOST_TOLD and origin not in self._unwritten
        known = [one for one in (before, rest) if one is not None]
        if not is_full and any(one.seconds or one.given_up_until for one in known):
            self._unwritten[origin] = sent_at, rest
            self._has_news.set()

    async def may_probe(self, origin: Origin, request: Request) -> bool:
        """Whether a request that goes first after a rest does so over all workers."""
        if not self.rests.is_probe(origin, request):
            return True
        values: list[Argument] = [self._name, str(origin), round(1000 * _HELD_SECONDS)]
        try:
            granted = await self._link.run(_CLAIM, [_BOARD, f"{_PROBE}{origin}"], values)
        except StoreError:
            return True
        if granted:
            self._out[origin] = request
        return bool(granted)

    async def _run(self) -> None:
        while True:
            self._has_news.clear()
            with suppress(StoreError, ValueError, TypeError):  # it may not be Redis that answers
                await self._exchange()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._has_news.wait(), _POLL_SECONDS)

    async def _exchange(self, *, is_last: bool = False) -> None:
        """Write what answers changed here, keep the probes that are out, and read the board."""
        # Without Redis' clock nothing can be written: read it first.
        told = dict(islice(self._unwritten.items(), _AT_A_TIME if self._ahead_seconds else 0))
        out = dict(self._out)
        is_out = {one: not (is_last or self._has_ended(request)) for one, request in out.items()}
        says = {
            "told": [self._written(origin, *one) for origin, one in told.items()],
            "probes": {f"{_PROBE}{origin}": is_kept for origin, is_kept in is_out.items()},
        }
        held_ms = round(1000 * _HELD_SECONDS)
        values: list[Argument] = [self._name, self._read_until, self._keep_seconds]
        values += [held_ms, _AT_A_TIME, json.dumps(says)]
        octets = await self._link.run(_EXCHANGE, [_BOARD, _CHANGES], values)
        now, self._read_until, changes = json.loads(octets)
        self._ahead_seconds = float(now) - time.monotonic()
        for origin, one in told.items():
            if self._unwritten.get(origin) is one:
                del self._unwritten[origin]
        for origin, is_kept in is_out.items():
            if not is_kept and self._out.get(origin) is out[origin]:
                del self._out[origin]
        if len(told) == _AT_A_TIME or len(changes) == _AT_A_TIME:
            self._has_news.set()  # there may be more
        for text, fields in changes:
            with suppress(ValueError, TypeError):  # other software wrote it
                self._take_over(text, fields)

    def _written(self, origin: Origin, sent_at: float, rest: Rest | None) -> tuple[Any, ...]:
        ahead = self._ahead_seconds
        fields = None if rest is None else asdict(_moved(rest, ahead))
        return str(origin), sent_at + ahead, fields

    def _take_over(self, text: str, fields: dict[str, float | None] | None) -> None:
        """Take over a rest from the board, unless this worker has later news."""
        origin = Origin.of(text)
        if origin is None or origin in self._unwritten:
            return
        before, now = self.rests.of(origin), time.monotonic()
        was_resting = before is not None and before.seconds > 0
        if fields is None:
            self.rests.put(origin, None)
            if was_resting:
                self._log(origin, "%s answers another worker well: its rest is over", origin)
        else:
            rest: Rest = _moved(Rest(**fields), -self._ahead_seconds)  # type: ignore[arg-type]
            if max(rest.until_at, rest.given_up_until) + rest.seconds < now:
                return  # so long ago that it says nothing
            # Requests that left before it was heard of say nothing of how the site is after it.
            self.rests.put(origin, replace(rest, began_at=now))
            self._downloader.recall(partial(self._is_page_of, origin))
            if not was_resting:
                words = "%s has another worker wait: no request goes to it for %.1f s"
                self._log(origin, words, origin, max(0.0, rest.until_at - now))
        wake(self._crawler)


def _moved(rest: Rest, seconds: float) -> Rest:
    """The same rest by another clock."""
    times = {name: getattr(rest, name) for name in _TIMES}
    return replace(rest, **{name: at and at + seconds for name, at in times.items()})
