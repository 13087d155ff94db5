"""The SQLite store returns the same as the store in memory, in any order of calls."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from scrapy_rep.cache.base import Busy, Lease, Leased
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.cache.sqlite import SqliteStore
from tests.cache.samples import NOW, ORIGIN, OTHER, file_entry

_STEPS = 150
_ORIGINS = ORIGIN, OTHER
_AGES_SECONDS = 80_000.0, 5.0, 0.0, -5.0  # of an entry, which holds for a day
_WANTED_SECONDS = 0.0, 0.0, 10_000.0, math.inf, -math.inf


class _Run:
    """The same calls to one store in memory, and to one of two that share a file."""

    def __init__(self, path: Path, draw: random.Random) -> None:
        self.clock = NOW
        self.model = MemoryStore(1 << 20, lambda: self.clock)
        self.stores = [SqliteStore(path, 1 << 30, lambda: self.clock) for _ in range(2)]
        self.store = self.stores[0]
        self.draw = draw
        # The model's leases, and those of each store.
        self.leases: dict[SqliteStore, list[tuple[Lease, Lease]]] = {
            store: [] for store in self.stores
        }

    def step(self) -> None:
        if self.draw.random() < 0.4:
            self._compare_keys(self.store)  # this writes the entries that the store has not written
            self.store = self.draw.choice(self.stores)
        origin = self.draw.choice(_ORIGINS)
        call: Callable[[SqliteStore], None] = self.draw.choice(
            [
                self._wait,
                self._claim,
                self._claim,
                lambda store: self._commit(store, with_lease=True),
                lambda store: self._commit(store, with_lease=False),
                self._renew,
                self._release,
                self._forget,
            ]
        )
        call(self.store)
        assert self.store.peek(origin) == self.model.peek(origin)

    def _compare_keys(self, store: SqliteStore) -> None:
        assert store.keys() == self.model.keys()

    def end(self) -> None:
        """Compare all entries in both stores."""
        self._compare_keys(self.store)
        for store in self.stores:
            self._compare_keys(store)
            for origin in _ORIGINS:
                assert store.peek(origin) == self.model.peek(origin)

    def _wait(self, _: SqliteStore) -> None:
        self.clock += self.draw.choice([0.0, 1.0, 10.0, 20.0])

    def _claim(self, store: SqliteStore) -> None:
        origin, wanted = self.draw.choice(_ORIGINS), self.draw.choice(_WANTED_SECONDS)
        expected = self.model.claim(origin, seconds=15.0, fresh_seconds=wanted).result(20)
        found = store.claim(origin, seconds=15.0, fresh_seconds=wanted).result(20)
        assert type(found) is type(expected)
        assert found.entry == expected.entry
        if isinstance(expected, Leased) and isinstance(found, Leased):
            self.leases[store].append((expected.lease, found.lease))
            self._compare_leases(expected.lease, found.lease)
        if isinstance(expected, Busy) and isinstance(found, Busy):
            assert found.wait_seconds == expected.wait_seconds

    def _commit(self, store: SqliteStore, *, with_lease: bool) -> None:
        leases = self._lease() if with_lease else None
        origin = self.draw.choice(_ORIGINS) if leases is None else leases[0].origin
        at = self.clock - self.draw.choice(_AGES_SECONDS)
        entry = file_entry(origin, at=at, body=self.draw.randbytes(self.draw.choice([9, 5000])))
        expected = self.model.commit(entry, leases and leases[0]).result(20)
        assert store.commit(entry, leases and leases[1]).result(20) == expected

    def _renew(self, store: SqliteStore) -> None:
        leases = self._lease()
        if leases is None:
            return
        expected = self.model.renew(leases[0], seconds=15.0).result(20)
        found = store.renew(leases[1], seconds=15.0).result(20)
        assert (found is None) == (expected is None)
        if expected is not None and found is not None:
            self._compare_leases(expected, found)

    def _release(self, store: SqliteStore) -> None:
        leases = self._lease()
        if leases is not None:
            self.model.release(leases[0]).result(20)
            store.release(leases[1]).result(20)

    def _forget(self, store: SqliteStore) -> None:
        origin = self.draw.choice(_ORIGINS)
        assert store.forget(origin).result(20) == self.model.forget(origin).result(20)

    def _lease(self) -> tuple[Lease, Lease] | None:
        """One of the last leases of the store in use, whether or not it is still held."""
        leases = self.leases[self.store]
        return self.draw.choice(leases[-4:]) if leases else None

    @staticmethod
    def _compare_leases(expected: Lease, found: Lease) -> None:
        assert (found.origin, found.until) == (expected.origin, expected.until)


@pytest.mark.parametrize("seed", range(60))
def test_sqlite_agrees_with_memory(tmp_path: Path, seed: int) -> None:
    run = _Run(tmp_path / "robots.sqlite", random.Random(seed))
    with closing(run.stores[0]), closing(run.stores[1]):
        for _ in range(_STEPS):
            run.step()
        run.end()
