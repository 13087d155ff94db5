"""Entries and leases in Redis: what all workers share, asked for in one round trip each.

Each script touches the keys of one origin, which have the origin as their hash tag:

    rep:{https://example.com}:p2:["Bot/1.0", ""]       the record: when it was learnt, until when it
                                                       holds, and the octets of the codec
    rep:{https://example.com}:l2:["Bot/1.0", ""]       the lease: until when it lasts, and its token

Those of another file than robots.txt name its path: `["Bot/1.0", "", "/.well-known/tdmrep.json"]`.

The `2` is the codec's version: versions of this package can share a Redis. Every key has a time to
live. Redis's clock decides; entries are kept by it, and moved to the clock of the worker that reads
them, where the two differ. Whatever is no record is a miss.
"""

from __future__ import annotations

import json
import math
import struct
import uuid
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri

from .base import Busy, Claim, Found, Lease, Leased
from .codec import decode, encode
from .entry import Entry, Key, key_of
from .link import Argument, Link, LinkDownError, Script

Value = TypeVar("Value")

_STAMP = struct.Struct(">dd")  # when it was learnt, until when it holds
_SKEW_SECONDS = 1.0  # clocks that differ by less count as the same
_QUICK_SECONDS = 0.5  # a reply that took longer tells nothing of the difference of clocks
_LEASE_KEPT_SECONDS = 60.0  # a lease that ran out can be renewed so long, if nobody else took it
_ENDLESS_SECONDS = 1e15
_RECORD_OCTETS = 1 << 26

_LIBRARY = (
    """
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
    if type(value) == 'string' and #value >= least and #value <= """
    + str(_RECORD_OCTETS)
    + """ then
        return value
    end
    return false
end
local function token_at(key)
    local lease = string_at(key, 9)
    return lease and string.sub(lease, 9)
end
"""
)

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

_LOOK = Script(_LIBRARY + "return {text(clock()), string_at(KEYS[1], 16)}")
_FORGET = Script("return redis.call('DEL', KEYS[1])")
_SCAN = Script("return redis.call('SCAN', ARGV[1], 'MATCH', 'rep:{*}:p2:*', 'COUNT', 500)")


@dataclass(slots=True)
class _Clock:
    """How far Redis's clock is ahead of ours."""

    ahead_seconds: float = 0.0

    def compare(self, theirs: float, asked_at: float, answered_at: float) -> None:
        """Take note of an instant of theirs between two of ours."""
        if answered_at - asked_at > _QUICK_SECONDS:
            return
        ahead = theirs - (asked_at + answered_at) / 2
        self.ahead_seconds = ahead if abs(ahead) > _SKEW_SECONDS else 0.0

    def to_theirs(self, entry: Entry) -> Entry:
        """An entry of ours by their clock."""
        return entry.shifted(self.ahead_seconds) if self.ahead_seconds else entry

    def to_ours(self, entry: Entry) -> Entry:
        """An entry of theirs by our clock."""
        return entry.shifted(-self.ahead_seconds) if self.ahead_seconds else entry


class SharedEntries:
    """The methods of a store, as coroutines in the event loop of a link.

    All of them raise `StoreError` if Redis cannot be reached, or refuses.
    """

    def __init__(
        self,
        link: Link,
        keep_seconds: float,
        now: Callable[[], float],
        unreadable: Callable[[], None] = lambda: None,
    ) -> None:
        """Entries through a link.

        Args:
            link: to Redis.
            keep_seconds: how long an entry is kept that nobody asks for.
            now: this worker's clock.
            unreadable: called with each record that is none, or is another origin's.
        """
        self._unreadable = unreadable
        self._link = link
        self._now = now
        self._keep_seconds = keep_seconds
        self._clock = _Clock()

    async def claim(
        self, origin: Origin, seconds: float, fresh_seconds: float, at_hand: Entry | None = None
    ) -> Claim:
        """What is there, or a lease, or that another process has one.

        `at_hand` is an entry that the caller has: it is not sent again.
        """
        token = uuid.uuid4().hex
        return await self._twice(
            lambda: self._claim(origin, token, seconds, fresh_seconds, at_hand)
        )

    async def _twice(self, work: Callable[[], Awaitable[Value]]) -> Value:
        """What some work gives; it is done again after a moment without Redis.

        So it may be done twice: all scripts come to the same if the first reply alone was lost.
        """
        try:
            return await work()
        except LinkDownError:
            if not await self._link.comes_back():
                raise
        return await work()

    async def _claim(
        self,
        origin: Origin,
        token: str,
        seconds: float,
        fresh_seconds: float,
        at_hand: Entry | None,
    ) -> Claim:
        asked_at = self._now()
        learnt = b"" if at_hand is None else self._stamp(at_hand)[:8]
        arguments: list[Argument] = [token, seconds, _finite(fresh_seconds), _lease_ms(seconds)]
        arguments.append(learnt)
        kind, now, record, *rest = await self._link.run(_CLAIM, _keys(origin), arguments)
        self._clock.compare(float(now), asked_at, self._now())
        entry = at_hand if record == b"" else self._entry(record, origin)
        if kind == b"busy":
            return Busy(float(rest[0]), entry)
        if kind == b"leased":
            return Leased(Lease(origin, token, float(rest[0])), entry)
        if entry is not None:
            return Found(entry)
        # What is there says that it holds, and is no entry of ours: as if it were not there.
        return await self._claim(origin, token, seconds, math.inf, at_hand)

    async def renew(self, lease: Lease, seconds: float) -> Lease | None:
        """The lease for longer, if it is still held."""
        arguments: list[Argument] = [lease.token, seconds, _lease_ms(seconds)]
        keys = _keys(lease.origin)
        until = await self._twice(lambda: self._link.run(_RENEW, keys, arguments))
        return None if until is None else Lease(lease.origin, lease.token, float(until))

    async def commit(self, entry: Entry, lease: Lease | None) -> bool:
        """Keep an entry, by the right of a lease or of being newer, and end the lease."""
        theirs = self._clock.to_theirs(entry)
        record = _STAMP.pack(theirs.changed_at, theirs.fresh_until) + encode(theirs)
        holds = min(max(entry.fresh_until - self._now(), 0.0), self._keep_seconds)
        kept_ms = int(1000 * (holds + self._keep_seconds))
        token, keys = "" if lease is None else lease.token, _keys(entry.origin)
        return bool(
            await self._twice(lambda: self._link.run(_COMMIT, keys, [token, record, kept_ms]))
        )

    async def release(self, lease: Lease) -> None:
        """End a lease without an entry."""
        await self._link.run(_RELEASE, _keys(lease.origin), [lease.token])

    async def look(self, origin: Origin) -> Entry | None:
        """The entry that is there."""
        asked_at = self._now()
        now, record = await self._link.run(_LOOK, _keys(origin))
        self._clock.compare(float(now), asked_at, self._now())
        return self._entry(record, origin)

    async def forget(self, origin: Origin) -> bool:
        """Throw an entry away."""
        return bool(await self._link.run(_FORGET, _keys(origin)[:1]))

    async def keys(self) -> list[Key]:
        """The keys of all entries; as many steps as a five-hundredth of all that Redis holds."""
        found: set[Key] = set()
        cursor: Any = b"0"
        while True:
            cursor, names = await self._link.run(_SCAN, [], [cursor])
            found.update(filter(None, map(_key, names)))
            if int(cursor) == 0:
                return sorted(found, key=str)

    def _stamp(self, entry: Entry) -> bytes:
        theirs = self._clock.to_theirs(entry)
        return _STAMP.pack(theirs.changed_at, theirs.fresh_until)

    def _entry(self, record: bytes | None, origin: Origin) -> Entry | None:
        """The entry in a record, if it is one of this origin, by our clock."""
        if record is None:
            return None
        entry = decode(record[_STAMP.size :], origin)
        if entry is None:
            self._unreadable()
            return None
        return self._clock.to_ours(entry)


def _keys(origin: Origin) -> Sequence[str]:
    """Where an entry and its lease are; JSON, so that no two askers have the same."""
    place, *asker = key_of(origin).written
    return [f"rep:{{{place}}}:{kind}:{json.dumps(asker)}" for kind in ("p2", "l2")]


def _key(name: bytes) -> Key | None:
    """The key that a name in Redis stands for; None for what nobody here wrote."""
    try:
        place, _, asker = name.decode("ascii").removeprefix("rep:{").partition("}:p2:")
        return Key.read([place, *json.loads(asker)])
    except (InvalidUri, TypeError, ValueError, RecursionError):
        return None


def _lease_ms(seconds: float) -> int:
    return int(1000 * (seconds + _LEASE_KEPT_SECONDS))


def _finite(seconds: float) -> float:
    """A number that Lua can read."""
    return max(-_ENDLESS_SECONDS, min(seconds, _ENDLESS_SECONDS))
