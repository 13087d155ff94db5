"""What is kept in memory: bounded by octets, the least recently used go first."""

from __future__ import annotations

import itertools
from collections import OrderedDict
from concurrent.futures import Future
from typing import Generic, TypeVar

from scrapy_rep.cache.base import Lease, done
from scrapy_rep.cache.codec import decode, encode
from scrapy_rep.cache.entry import Entry
from scrapy_rep.protocol.origin import Origin

Key = TypeVar("Key")
Value = TypeVar("Value")

_ENTRY_OCTETS = 300  # what an entry costs besides its record, roughly


class Lru(Generic[Key, Value]):
    """A mapping whose values together cost at most so many octets, as their owner counts them.

    The value put last always stays, however large: what was just fetched is about to be used.
    """

    def __init__(self, limit_octets: int) -> None:
        self.limit_octets = limit_octets
        self.octets = 0
        self.evicted_count = 0
        self._values: OrderedDict[Key, tuple[Value, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key) -> Value | None:
        """The value, which becomes the most recently used; None if there is none."""
        found = self._values.get(key)
        if found is None:
            return None
        self._values.move_to_end(key)
        return found[0]

    def put(self, key: Key, value: Value, octets: int) -> None:
        """Keep a value that costs `octets`, in place of the key's former one."""
        self.drop(key)
        self._values[key] = (value, octets)
        self.octets += octets
        while self.octets > self.limit_octets and len(self._values) > 1:
            _, (_, freed) = self._values.popitem(last=False)
            self.octets -= freed
            self.evicted_count += 1

    def keys(self) -> list[Key]:
        """All keys, the least recently used first."""
        return list(self._values)

    def drop(self, key: Key) -> None:
        """Forget a key's value, if there is one."""
        _, octets = self._values.pop(key, (None, 0))
        self.octets -= octets


class MemoryStore:
    """Entries of one process, gone with it; as records, since those are small."""

    def __init__(self, limit_octets: int) -> None:
        self._records: Lru[Origin, tuple[float, bytes]] = Lru(limit_octets)
        self._leases: dict[Origin, Lease] = {}
        self._numbers = itertools.count(1)

    def peek(self, origin: Origin) -> Entry | None:
        """The entry, if it is there."""
        found = self._records.get(origin)
        return None if found is None else decode(found[1], origin)

    def claim(self, origin: Origin, now: float, seconds: float) -> Future[Lease | None]:
        """A lease, if nobody else holds one."""
        held = self._leases.get(origin)
        if held is not None and held.until > now:
            return done(None)
        lease = Lease(origin, str(next(self._numbers)), now + seconds)
        self._leases[origin] = lease
        return done(lease)

    def renew(self, lease: Lease, now: float, seconds: float) -> Future[Lease | None]:
        """The lease for longer, if it is still held."""
        if self._token(lease.origin) != lease.token:
            return done(None)
        renewed = Lease(lease.origin, lease.token, now + seconds)
        self._leases[lease.origin] = renewed
        return done(renewed)

    def commit(self, entry: Entry, lease: Lease | None) -> Future[None]:
        """Keep an entry unless a newer one is there, and end the lease."""
        found = self._records.get(entry.origin)
        if found is None or found[0] <= entry.changed_at:
            record = encode(entry)
            cost = len(record) + _ENTRY_OCTETS
            self._records.put(entry.origin, (entry.changed_at, record), cost)
        return done(None) if lease is None else self.release(lease)

    def release(self, lease: Lease) -> Future[None]:
        """End a lease without an entry."""
        if self._token(lease.origin) == lease.token:
            del self._leases[lease.origin]
        return done(None)

    def origins(self) -> list[Origin]:
        """The origins of all entries."""
        return sorted(self._records.keys(), key=str)

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
