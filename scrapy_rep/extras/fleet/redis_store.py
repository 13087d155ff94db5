"""The store in Redis, with a local tier in front of it.

Entries that this worker fetched or found in Redis are also in the local tier, where `peek` looks: a
warm worker needs no Redis. While Redis cannot be reached, the local tier gives leases and keeps
entries in its place. That is a miss and never an answer: the worker fetches for itself and for the
workers that share its local tier. When Redis is back, these entries are sent to it, unless it has
newer ones.

Each script touches the keys of one origin, which have the origin as their hash tag, or the index:

    rep:{https://example.com}:p2:["Bot/1.0", "", "/robots.txt"]     the record: when it was learnt,
                                        until when it holds, and the octets of the codec
    rep:{https://example.com}:l2:["Bot/1.0", "", "/robots.txt"]     the lease: until when it lasts,
                                        and its token
    rep:{robots.txt}:i2                 the index: the names of all records, with their sizes, the
                                        first to delete first, and their sum

The `2` is the version of the codec: versions of this package can share a Redis. Every key has a
time to live. Redis's clock decides; entries are stored by it, and shifted to the clock of the
worker that reads them, where the two differ. A value that is not a record is a miss.
"""

from __future__ import annotations

import asyncio
import json
import logging
import math
import struct
import time
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from scrapy_rep.cache.base import (
    Browsable,
    Busy,
    Claim,
    Found,
    Lease,
    Leased,
    Remembering,
    Store,
    StoreError,
    done,
)
from scrapy_rep.cache.codec import decode, encode
from scrapy_rep.cache.entry import Entry, Key, key_of
from scrapy_rep.protocol.access.knowledge import Copy, Knowledge
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri

from .link import Argument, Link, LinkDownError, Script

logger = logging.getLogger(__name__)

Value = TypeVar("Value")

_STAMP = struct.Struct(">dd")  # when it was learnt, until when it holds
_SKEW_SECONDS = 1.0  # clocks that differ by less count as the same
_QUICK_SECONDS = 0.5  # a slower reply is not used to compare clocks
_LEASE_KEPT_SECONDS = (
    60.0  # an expired lease can be renewed for this time if no other process took it
)
_ENDLESS_SECONDS = 1e15  # replaces infinity, which Lua cannot read
_UNSENT_ENTRIES = 10_000  # kept during an outage to send to Redis later; the oldest stay local
_SEND_SECONDS = 2.0  # for the last of them, when the store closes
_INDEX = "rep:{robots.txt}:i2"
_KEY_OCTETS = 300  # of Redis for a record and its place in the index, without their octets
_MOST_OCTETS = (1 << 26) - 1  # the most that the index notes for a record
_INSTANTS = "fetched_at", "confirmed_at", "fresh_until", "since", "failed_at", "retry_at", "sent_at"
_STEPS = "steps", "confirmed_by"

_LIBRARY = """
local function clock()
    local t = redis.call('TIME')
    return tonumber(t[1]) + tonumber(t[2]) / 1e6
end
local function text(number)
    return string.format('%.6f', number)
end
-- What stands at a key, if it is a string of some length; another type is none, and no error.
local function string_at(key, least)
    local value = redis.pcall('GET', key)
    return type(value) == 'string' and #value >= least and value
end
local function token_at(key)
    local lease = string_at(key, 9)
    return lease and string.sub(lease, 9)
end
"""

_CLAIM = Script(
    _LIBRARY
    + """
local now, seconds, fresh = clock(), tonumber(ARGV[2]), tonumber(ARGV[3])
local record = string_at(KEYS[1], 16)
if record then
    local _, fresh_until = struct.unpack('>dd', record)
    if fresh < 1e15 and fresh_until > now + fresh then  -- or else what is there cannot be used
        return {'found', text(now), record}
    end
    if string.sub(record, 1, 8) == ARGV[5] then
        record = ''  -- the caller has it
    end
end
local lease = string_at(KEYS[2], 9)
if lease then
    local last = struct.unpack('>d', lease)
    local is_ours = string.sub(lease, 9) == ARGV[1]  -- the first try's, whose reply was lost
    if last > now and last <= now + seconds + 5 and not is_ours then
        return {'busy', text(now), record, text(last - now)}
    end
end
redis.call('SET', KEYS[2], struct.pack('>d', now + seconds) .. ARGV[1], 'PX', ARGV[4])
return {'leased', text(now), record, text(now + seconds)}
"""
)

_RENEW = Script(
    _LIBRARY
    + """
if token_at(KEYS[2]) ~= ARGV[1] then
    return false
end
local last = clock() + tonumber(ARGV[2])
redis.call('SET', KEYS[2], struct.pack('>d', last) .. ARGV[1], 'PX', ARGV[3])
return text(last)
"""
)

# A lease that is gone and has left no record, as after FLUSHALL, was not taken over: it counts.
_COMMIT = Script(
    _LIBRARY
    + """
local before = string_at(KEYS[1], 16)
if ARGV[1] ~= '' then
    local token = token_at(KEYS[2])
    if token ~= ARGV[1] and (token or before) then
        return before == ARGV[2] and 1 or 0  -- 1 if the first try's reply was lost
    end
    redis.call('DEL', KEYS[2])
elseif before then
    local old, new = struct.unpack('>d', before), struct.unpack('>d', ARGV[2])
    if old > new and old <= new + 86400 then
        return 1
    end
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
return 1
"""
)

_RELEASE = Script(
    _LIBRARY
    + """
if token_at(KEYS[2]) == ARGV[1] then
    redis.call('DEL', KEYS[2])
end
return 1
"""
)

# Note a record, and return the names of the records to delete for it. Its score in the index is
# the minute when it is written, less an hour for each KiB, and its octets in the last 26 bits. So
# large files of one site delete each other, and not the files of all other sites.
_ROOM = Script(
    _LIBRARY
    + """
local index, name, octets, most = KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local memory = redis.pcall('INFO', 'memory')  -- an error, if the user has no right to it
local limit = type(memory) == 'string' and tonumber(string.match(memory, 'maxmemory:(%d+)')) or 0
if limit > 0 then
    most = math.min(most, limit / 4)
end
local sum = tonumber(redis.call('ZSCORE', index, '') or 0) + octets
sum = sum - tonumber(redis.call('ZSCORE', index, name) or 0) % 2 ^ 26
redis.call('ZREM', index, '', name)  -- after this, a full Redis refuses no write of the script
local victims = {}
while sum > most and #victims < 16 do
    local victim, score = unpack(redis.call('ZPOPMIN', index))
    if not victim then
        sum = octets
        break
    end
    victims[#victims + 1], sum = victim, sum - tonumber(score) % 2 ^ 26
end
local minute = math.floor(clock() / 60 - octets / 1024 * 60)
if octets > 0 then
    redis.call('ZADD', index, text(minute * 2 ^ 26 + octets), name)
end
if sum > 0 then
    redis.call('ZADD', index, text(sum), '')
end
redis.call('PEXPIRE', index, ARGV[4])
return victims
"""
)

_LOOK = Script(_LIBRARY + "return {text(clock()), string_at(KEYS[1], 16)}")
_FORGET = Script("return redis.call('DEL', KEYS[1])")
_SCAN = Script("return redis.call('SCAN', ARGV[1], 'MATCH', 'rep:{*}:p2:*', 'COUNT', 500)")


@dataclass(frozen=True, slots=True)
class _LocalLease(Lease):
    """A lease of the local tier, given during an outage of Redis."""


class RedisStore:
    """A store that workers on many machines share.

    All its coroutines run in one event loop: the given one, which may run in another thread, or the
    event loop of the first call.
    """

    def __init__(
        self,
        link: Link,
        local: Store | None,
        limit_octets: int,
        keep_seconds: float,
        *,
        loop: asyncio.AbstractEventLoop | None = None,
        clock: Callable[[], float] = time.time,
        unreadable: Callable[[], None] = lambda: None,
    ) -> None:
        """A store that uses a link from now on, and closes it in the end.

        Args:
            link: to Redis; shared with others, perhaps.
            local: the store in front of it, if any; closed with this one.
            limit_octets: how much memory of Redis its entries take, roughly; a quarter of the
                `maxmemory` of Redis at most.
            keep_seconds: how long Redis keeps an entry after it has expired.
            loop: where its coroutines run.
            clock: this worker's; Redis's may differ.
            unreadable: called for each unreadable record in Redis.
        """
        self._link = link
        self._local = local
        self._limit_octets = limit_octets
        self._keep_seconds = keep_seconds
        self._loop = loop
        self._clock = clock
        self._unreadable = unreadable
        self._ahead_seconds = 0.0  # of Redis's clock
        self._unsent: dict[Origin, None] = {}
        self._sending: asyncio.Task[None] | None = None
        self._is_local_told = False
        link.open()
        link.listen(lambda is_up: self._send() if is_up else None)

    def peek(self, origin: Origin) -> Entry | None:
        """The entry in the local tier."""
        try:
            return None if self._local is None else self._local.peek(origin)
        except StoreError as error:
            self._local_failed(error)
            return None

    def look(self, origin: Origin) -> Future[Entry | None]:
        """The entry in Redis."""
        return self._started(self._look(origin))

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        """The entry in Redis, or a lease, or the wait for another lease."""
        return self._started(self._claim(origin, seconds, fresh_seconds))

    def renew(self, lease: Lease, *, seconds: float) -> Future[Lease | None]:
        """The lease for longer, if it is still held."""
        return self._started(self._renew(lease, seconds))

    def commit(self, entry: Entry, lease: Lease | None) -> Future[bool]:
        """Keep an entry, by the right of a lease or of being newer, and end the lease."""
        return self._started(self._commit(entry, lease))

    def release(self, lease: Lease) -> Future[None]:
        """End a lease without an entry."""
        return self._started(self._release(lease))

    def keys(self) -> list[Key]:
        """The keys of all entries in Redis; not to be called in the event loop of the store."""
        return self._started(self._keys()).result()

    def forget(self, origin: Origin) -> Future[bool]:
        """Delete an entry here and in Redis; other workers may still have a copy."""
        return self._started(self._forget(origin))

    def versions(self, origin: Origin) -> Future[list[Copy]]:
        """The versions in the local tier; Redis keeps none."""
        local: object = self._local
        return local.versions(origin) if isinstance(local, Remembering) else done([])

    def close(self) -> Future[None]:
        """Close the link and the local tier."""
        return self._started(self._close())

    def _started(self, work: Coroutine[Any, Any, Value]) -> Future[Value]:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _look(self, origin: Origin) -> Entry | None:
        sent_at = self._clock()
        now, record = await self._link.run(_LOOK, _names(origin))
        self._compare(now, sent_at)
        return self._entry(record, origin)

    async def _claim(self, origin: Origin, seconds: float, fresh_seconds: float) -> Claim:
        token = uuid.uuid4().hex
        try:
            return await self._twice(lambda: self._claimed(origin, token, seconds, fresh_seconds))
        except StoreError:
            if self._local is None:
                raise
        claim = await asyncio.wrap_future(
            self._local.claim(origin, seconds=seconds, fresh_seconds=fresh_seconds)
        )
        return replace(claim, lease=_local(claim.lease)) if isinstance(claim, Leased) else claim

    async def _claimed(
        self, origin: Origin, token: str, seconds: float, fresh_seconds: float
    ) -> Claim:
        """A claim in Redis, which does not send the entry that is at hand."""
        at_hand, sent_at = self.peek(origin), self._clock()
        fresh = max(-_ENDLESS_SECONDS, min(fresh_seconds, _ENDLESS_SECONDS))
        learnt = b"" if at_hand is None else self._record(at_hand)[:8]
        arguments: list[Argument] = [token, seconds, fresh, _lease_ms(seconds), learnt]
        kind, now, record, *rest = await self._link.run(_CLAIM, _names(origin), arguments)
        self._compare(now, sent_at)
        entry = at_hand if record == b"" else self._entry(record, origin)
        if entry is not None and entry != at_hand:
            await self._keep(entry)
        if kind == b"found":
            if entry is not None:
                return Found(entry)
            # A record that claims to be fresh but is unreadable counts as absent.
            return await self._claimed(origin, token, seconds, math.inf)
        # Redis may have been emptied; the local entry allows a conditional request.
        known = at_hand if entry is None else entry
        if kind == b"busy":
            return Busy(float(rest[0]), known)
        return Leased(Lease(origin, token, float(rest[0])), known)

    async def _renew(self, lease: Lease, seconds: float) -> Lease | None:
        if self._local is not None and isinstance(lease, _LocalLease):
            renewed = await asyncio.wrap_future(self._local.renew(lease, seconds=seconds))
            return renewed and _local(renewed)
        names = _names(lease.origin)
        arguments: list[Argument] = [lease.token, seconds, _lease_ms(seconds)]
        try:
            until = await self._twice(lambda: self._link.run(_RENEW, names, arguments))
        except StoreError:
            # It holds until its end. After that, another worker may have it.
            return lease if self._clock() < lease.until - self._ahead_seconds else None
        return None if until is None else Lease(lease.origin, lease.token, float(until))

    async def _commit(self, entry: Entry, lease: Lease | None) -> bool:
        if isinstance(lease, _LocalLease):
            return await self._commit_locally(entry, lease)
        try:
            is_kept = await self._committed(entry, lease)
        except StoreError:
            if self._local is None:
                raise
            return await self._commit_locally(entry, None)
        if is_kept:
            await self._keep(entry)
            self._send()
        return is_kept

    async def _committed(self, entry: Entry, lease: Lease | None) -> bool:
        """Commit to Redis."""
        holds = min(max(entry.fresh_until - self._clock(), 0.0), self._keep_seconds)
        kept_ms = int(1000 * (holds + self._keep_seconds))
        names, token = _names(entry.origin), "" if lease is None else lease.token
        record = self._record(entry)

        async def written() -> bool:
            try:
                is_kept = await self._link.run(_COMMIT, names, [token, record, kept_ms])
            except StoreError:
                await self._make_room()  # Redis may be full, and the limit lower than before
                raise
            # Only now: a record that others deleted before it was written would never be counted.
            await self._make_room(names[0], len(record) + 2 * len(names[0]) + _KEY_OCTETS)
            return bool(is_kept)

        return await self._twice(written)

    async def _make_room(self, name: str = "none", octets: int = 0) -> None:
        """Note the size of a record, if any, in the index; delete others while all take too much.

        Raises:
            LinkDownError: Redis cannot be reached.
        """
        noted, index_ms = min(octets, _MOST_OCTETS), int(2000 * self._keep_seconds)
        arguments: list[Argument] = [name, noted, self._limit_octets, index_ms]
        try:
            for victim in await self._link.run(_ROOM, [_INDEX], arguments):
                await self._link.run(_FORGET, [victim])
        except LinkDownError:
            raise
        except StoreError:  # such as of a cluster where another node has the index
            pass

    async def _commit_locally(self, entry: Entry, lease: _LocalLease | None) -> bool:
        assert self._local is not None  # noqa: S101 - for mypy
        is_kept = await asyncio.wrap_future(self._local.commit(entry, lease))
        if is_kept:
            self._unsent.pop(entry.origin, None)
            self._unsent[entry.origin] = None
            if len(self._unsent) > _UNSENT_ENTRIES:
                del self._unsent[next(iter(self._unsent))]
            if self._link.is_up:
                self._send()
        return is_kept

    async def _release(self, lease: Lease) -> None:
        if self._local is not None and isinstance(lease, _LocalLease):
            await asyncio.wrap_future(self._local.release(lease))
            return
        with suppress(StoreError):  # it ends by itself
            await self._link.run(_RELEASE, _names(lease.origin), [lease.token])

    async def _keys(self) -> list[Key]:
        """All keys, in steps of about 500 keys of Redis."""
        found: set[Key] = set()
        cursor: Any = b"0"
        while True:
            cursor, names = await self._link.run(_SCAN, [], [cursor])
            found.update(filter(None, map(_key, names)))
            if int(cursor) == 0:
                return sorted(found, key=str)

    async def _forget(self, origin: Origin) -> bool:
        was_there = bool(await self._link.run(_FORGET, _names(origin)[:1]))
        self._unsent.pop(origin, None)
        local: object = self._local
        if isinstance(local, Browsable):
            was_there = await asyncio.wrap_future(local.forget(origin)) or was_there
        return was_there

    async def _close(self) -> None:
        if self._sending is not None:
            await asyncio.wait([self._sending], timeout=_SEND_SECONDS)
            self._sending.cancel()
        await self._link.close()
        if self._local is not None:
            self._local.close()

    async def _twice(self, work: Callable[[], Awaitable[Value]]) -> Value:
        """The result of some work, which is repeated after a short outage.

        The first try may have run although its reply was lost; all scripts allow for that.
        """
        try:
            return await work()
        except LinkDownError:
            if not await self._link.comes_back():
                raise
        return await work()

    async def _keep(self, entry: Entry) -> None:
        """Keep an entry of Redis in the local tier; if that fails, the next look reads Redis."""
        if self._local is not None:
            try:
                await asyncio.wrap_future(self._local.commit(entry, None))
            except StoreError as error:
                self._local_failed(error)

    def _local_failed(self, error: StoreError) -> None:
        if not self._is_local_told:
            self._is_local_told = True
            words = "The local tier of the store failed (%s); Redis is used instead"
            logger.warning(words, error)

    def _send(self) -> None:
        """Send the entries of an outage to Redis, in the background."""
        if self._unsent and (self._sending is None or self._sending.done()):
            self._sending = asyncio.create_task(self._sent())

    async def _sent(self) -> None:
        while self._unsent:
            origin = next(iter(self._unsent))
            del self._unsent[origin]  # a newer entry may come during the commit
            entry = self.peek(origin)
            try:
                if entry is not None:
                    await self._committed(entry, None)
            except StoreError:
                self._unsent[origin] = None
                return

    def _compare(self, theirs: bytes, sent_at: float) -> None:
        """Compare a time of Redis's clock, read since `sent_at`, with our clock."""
        answered_at = self._clock()
        if answered_at - sent_at <= _QUICK_SECONDS:
            ahead = float(theirs) - (sent_at + answered_at) / 2
            self._ahead_seconds = ahead if abs(ahead) > _SKEW_SECONDS else 0.0

    def _record(self, entry: Entry) -> bytes:
        """An entry as Redis keeps it, by its clock."""
        theirs = shifted(entry, self._ahead_seconds) if self._ahead_seconds else entry
        return _STAMP.pack(theirs.changed_at, theirs.fresh_until) + encode(theirs)

    def _entry(self, record: bytes | None, origin: Origin) -> Entry | None:
        """The entry in a record, by our clock, or None."""
        if record is None:
            return None
        entry = decode(record[_STAMP.size :], origin)
        if entry is None:
            self._unreadable()
            return None
        return shifted(entry, -self._ahead_seconds) if self._ahead_seconds else entry


def shifted(entry: Entry, seconds: float) -> Entry:
    """An entry by a clock that is `seconds` ahead."""
    copy, outage = entry.known.copy, entry.known.outage
    return Entry(entry.origin, Knowledge(_shifted(copy, seconds), _shifted(outage, seconds)))


def _shifted(part: Any, seconds: float) -> Any:
    if part is None:
        return None
    instants = {name: getattr(part, name, None) for name in _INSTANTS}
    moved: dict[str, Any] = {
        name: instant + seconds for name, instant in instants.items() if instant is not None
    }
    for name in _STEPS:
        if hasattr(part, name):
            moved[name] = tuple(_shifted(step, seconds) for step in getattr(part, name))
    return replace(part, **moved)


def _local(lease: Lease) -> _LocalLease:
    return _LocalLease(lease.origin, lease.token, lease.until)


def _names(origin: Origin) -> list[str]:
    """The names of the entry and its lease in Redis; JSON keeps all keys apart."""
    place, *requester = key_of(origin).written
    return [f"rep:{{{place}}}:{kind}:{json.dumps(requester)}" for kind in ("p2", "l2")]


def _key(name: bytes) -> Key | None:
    """The key of a name in Redis; None if this package did not write it."""
    try:
        place, _, requester = name.decode("ascii").removeprefix("rep:{").partition("}:p2:")
        return Key.read([place, *json.loads(requester)])
    except (InvalidUri, TypeError, ValueError, RecursionError):
        return None


def _lease_ms(seconds: float) -> int:
    return int(1000 * (seconds + _LEASE_KEPT_SECONDS))
