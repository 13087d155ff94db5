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
from .entry import Entry, Key, key_of

Name = TypeVar("Name")
Value = TypeVar("Value")
_Pool = OrderedDict[Name, tuple[Value, int]]

_LARGE_PART = 256  # an entry is large if it takes more than 1/256 of the limit
_LARGE_SHARE = 2  # large entries may take 1/2 of the limit while others need room


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
        # Small values, and large ones: each with its size, the least recently used first.
        self._pools: tuple[_Pool[Name, Value], _Pool[Name, Value]] = OrderedDict(), OrderedDict()
        self._octets = [0, 0]  # of each pool
        self.last: tuple[Name, Value] | None = None

    @property
    def octets(self) -> int:
        """The size of all values together."""
        return sum(self._octets)

    def __len__(self) -> int:
        return sum(map(len, self._pools))

    def get(self, key: Name) -> Value | None:
        """The value, which becomes the most recently used, or None."""
        for pool in self._pools:
            found = pool.get(key)
            if found is not None:
                pool.move_to_end(key)
                self.last = key, found[0]
                return found[0]
        return None

    def put(self, key: Name, value: Value, octets: int) -> None:
        """Keep a value of the given size in place of the key's former one."""
        self.drop(key)  # this resets `last`: the value may be evicted below
        own = int(octets > self.limit_octets // _LARGE_PART)
        self._pools[own][key] = value, octets
        self._octets[own] += octets
        while self.octets > self.limit_octets:
            crowded = int(self._octets[1] > self.limit_octets // _LARGE_SHARE)
            if crowded == own and len(self._pools[own]) == 1:
                return  # only the value that was just put is left
            _, (_, freed) = self._pools[crowded].popitem(last=False)
            self._octets[crowded] -= freed
            self.evicted_count += 1

    def keys(self) -> list[Name]:
        """All keys, the least recently used first, of small values and then of large ones."""
        return [key for pool in self._pools for key in pool]

    def drop(self, key: Name) -> None:
        """Forget a key's value, if there is one."""
        self.last = None
        for index, pool in enumerate(self._pools):
            self._octets[index] -= pool.pop(key, (None, 0))[1]


class MemoryStore:
    """Entries of one process."""

    def __init__(self, limit_octets: int = 1 << 26, clock: Callable[[], float] = time.time) -> None:
        self._entries: Lru[Origin, Entry] = Lru(limit_octets)
        self._leases: dict[Origin, Lease] = {}
        self._numbers = itertools.count(1)
        self._clock = clock

    def peek(self, origin: Origin) -> Entry | None:
        """The entry, if it is there."""
        return self._entries.get(origin)

    def look(self, origin: Origin) -> Future[Entry | None]:
        """The same."""
        return done(self.peek(origin))

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        """The entry, or a lease, or the wait for another lease."""
        now, entry, held = self._clock(), self._entries.get(origin), self._leases.get(origin)
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
        found = self._entries.get(entry.origin)
        if lease is not None or found is None or found.changed_at <= entry.changed_at:
            self._entries.put(entry.origin, entry, entry.octets)
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
        return sorted(map(key_of, self._entries.keys()), key=str)

    def forget(self, origin: Origin) -> Future[bool]:
        """Throw an entry away."""
        was_there = self._entries.get(origin) is not None
        self._entries.drop(origin)
        return done(was_there)

    def close(self) -> None:
        """Nothing is to be done."""

    def _token(self, origin: Origin) -> str | None:
        held = self._leases.get(origin)
        return None if held is None else held.token
