"""Bounded memory: the least recently used values are evicted first."""

from __future__ import annotations

import itertools
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

from scrapy_rep.protocol.access.origin import Origin

from .base import Busy, Claim, Found, Lease, Leased, believed_until, done
from .codec import decode, encode
from .entry import Entry, Key, key_of

Name = TypeVar("Name")
Value = TypeVar("Value")

_LARGE_PART = 256  # an entry is large if it takes more than 1/256 of the limit
_LARGE_SHARE = 2  # large entries may take 1/2 of the limit while others need room
_ENTRY_OCTETS = 300  # the approximate size of an entry without its record


class Lru(Generic[Name, Value]):
    """A mapping of values with a limit on their total size, as given by the caller.

    The last value that was put always stays, even if it is over the limit. Large values take at
    most half of the limit from small ones, so that a few hostile files do not evict all others.

    Attributes:
        limit_octets: the limit.
        evicted_count: how many values were evicted.
        last: the key and the value of the last `get`, or None; consecutive look-ups of one origin
            are common, and can save the call.
    """

    def __init__(self, limit_octets: int) -> None:
        self.limit_octets = limit_octets
        self.evicted_count = 0
        self._small: _Pool[Name, Value] = _Pool()
        self._large: _Pool[Name, Value] = _Pool()
        self.last: tuple[Name, Value] | None = None

    @property
    def octets(self) -> int:
        """The size of all values together."""
        return self._small.octets + self._large.octets

    def __len__(self) -> int:
        return len(self._small.values) + len(self._large.values)

    def get(self, key: Name) -> Value | None:
        """The value, which becomes the most recently used, or None."""
        values = self._small.values
        found = values.get(key)
        if found is None and self._large.values:
            values = self._large.values
            found = values.get(key)
        if found is None:
            return None
        values.move_to_end(key)
        self.last = key, found[0]
        return found[0]

    def put(self, key: Name, value: Value, octets: int) -> None:
        """Keep a value of the given size in place of the key's former one."""
        self.drop(key)  # this resets `last`: the value may be evicted below
        is_large = octets > self.limit_octets // _LARGE_PART
        pool = self._large if is_large else self._small
        pool.values[key] = (value, octets)
        pool.octets += octets
        while self.octets > self.limit_octets:
            over_share = self._large.octets > self.limit_octets // _LARGE_SHARE
            crowded = self._large if over_share else self._small
            if len(crowded.values) == 1 and crowded is pool:
                return  # only the value that was just put is left
            crowded.evict()
            self.evicted_count += 1

    def keys(self) -> list[Name]:
        """All keys, the least recently used first, of small values and then of large ones."""
        return [*self._small.values, *self._large.values]

    def drop(self, key: Name) -> None:
        """Forget a key's value, if there is one."""
        self.last = None
        for pool in (self._small, self._large):
            _, octets = pool.values.pop(key, (None, 0))
            pool.octets -= octets


class _Pool(Generic[Name, Value]):
    """Values with their sizes, the least recently used first."""

    def __init__(self) -> None:
        self.values: OrderedDict[Name, tuple[Value, int]] = OrderedDict()
        self.octets = 0

    def evict(self) -> None:
        """Let the least recently used go."""
        _, (_, freed) = self.values.popitem(last=False)
        self.octets -= freed


class MemoryStore:
    """Entries of one process, as records, which are smaller than entries."""

    def __init__(self, limit_octets: int, clock: Callable[[], float] = time.time) -> None:
        self._records: Lru[Origin, tuple[float, bytes]] = Lru(limit_octets)  # and `changed_at`
        self._leases: dict[Origin, Lease] = {}
        self._numbers = itertools.count(1)
        self._clock = clock

    def peek(self, origin: Origin) -> Entry | None:
        """The entry, if it is there."""
        found = self._records.get(origin)
        return None if found is None else decode(found[1], origin)

    def look(self, origin: Origin) -> Future[Entry | None]:
        """The same."""
        return done(self.peek(origin))

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        """The entry, or a lease, or the wait for another lease."""
        now, entry, held = self._clock(), self.peek(origin), self._leases.get(origin)
        if entry is not None and entry.fresh_until > now + fresh_seconds:
            return done(Found(entry))
        if held is not None and now < held.until <= believed_until(now, seconds):
            return done(Busy(held.until - now, entry))
        lease = Lease(origin, str(next(self._numbers)), now + seconds)
        self._leases[origin] = lease
        return done(Leased(lease, entry))

    def renew(self, lease: Lease, *, seconds: float) -> Future[Lease | None]:
        """The lease for longer, if it is still held."""
        if self._token(lease.origin) != lease.token:
            return done(None)
        renewed = Lease(lease.origin, lease.token, self._clock() + seconds)
        self._leases[lease.origin] = renewed
        return done(renewed)

    def commit(self, entry: Entry, lease: Lease | None) -> Future[bool]:
        """Keep an entry, by the right of a lease or of being newer, and end the lease."""
        if lease is not None and self._token(lease.origin) != lease.token:
            return done(False)
        found = self._records.get(entry.origin)
        if lease is not None or found is None or found[0] <= entry.changed_at:
            record = encode(entry)
            kept = entry.changed_at, record
            self._records.put(entry.origin, kept, _ENTRY_OCTETS + len(record))
        if lease is not None:
            del self._leases[lease.origin]
        return done(True)

    def release(self, lease: Lease) -> Future[None]:
        """End a lease without an entry."""
        if self._token(lease.origin) == lease.token:
            del self._leases[lease.origin]
        return done(None)

    def keys(self) -> list[Key]:
        """The keys of all entries."""
        return sorted(map(key_of, self._records.keys()), key=str)

    def forget(self, origin: Origin) -> Future[bool]:
        """Throw an entry away."""
        was_there = self._records.get(origin) is not None
        self._records.drop(origin)
        return done(was_there)

    def close(self) -> None:
        """Nothing is to be done."""

    def _token(self, origin: Origin) -> str | None:
        held = self._leases.get(origin)
        return None if held is None else held.token
