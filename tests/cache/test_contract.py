"""What every store does: one suite for memory, SQLite, and a class of a user's."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from pathlib import Path
from typing import TypeVar

import pytest
from scrapy.utils.misc import load_object

from scrapy_rep.cache.base import Browsable, Lease, Store, done
from scrapy_rep.cache.entry import Entry
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.knowledge import Knowledge
from scrapy_rep.protocol.origin import Origin
from tests.cache.samples import NOW, ORIGIN, OTHER, body_of, file_entry, outage_entry

Value = TypeVar("Value")

_SECONDS = 15.0


class PlainStore:
    """The least that a user could write."""

    def __init__(self) -> None:
        self.entries: dict[Origin, Entry] = {}
        self.leases: dict[Origin, Lease] = {}
        self.count = 0

    def peek(self, origin: Origin) -> Entry | None:
        return self.entries.get(origin)

    def claim(self, origin: Origin, now: float, seconds: float) -> Future[Lease | None]:
        held = self.leases.get(origin)
        if held is not None and held.until > now:
            return done(None)
        self.count += 1
        self.leases[origin] = Lease(origin, str(self.count), now + seconds)
        return done(self.leases[origin])

    def renew(self, lease: Lease, now: float, seconds: float) -> Future[Lease | None]:
        if not self._holds(lease):
            return done(None)
        self.leases[lease.origin] = Lease(lease.origin, lease.token, now + seconds)
        return done(self.leases[lease.origin])

    def commit(self, entry: Entry, lease: Lease | None) -> Future[None]:
        before = self.entries.get(entry.origin)
        if before is None or before.changed_at <= entry.changed_at:
            self.entries[entry.origin] = entry
        return done(None) if lease is None else self.release(lease)

    def release(self, lease: Lease) -> Future[None]:
        if self._holds(lease):
            del self.leases[lease.origin]
        return done(None)

    def close(self) -> None:
        self.entries.clear()

    def _holds(self, lease: Lease) -> bool:
        held = self.leases.get(lease.origin)
        return held is not None and held.token == lease.token


@pytest.fixture(params=["memory", "sqlite", "dotted path"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store
    if request.param == "memory":
        made = MemoryStore(1 << 20)
    elif request.param == "sqlite":
        made = SqliteStore(tmp_path / "a" / "new" / "folder" / "robots.sqlite", 1 << 30)
    else:
        made = load_object("tests.cache.test_contract.PlainStore")()
    yield made
    made.close()


def now(future: Future[Value]) -> Value:
    return future.result(timeout=20)


def claimed(store: Store, at: float = NOW, origin: Origin = ORIGIN) -> Lease:
    lease = now(store.claim(origin, at, _SECONDS))
    assert lease is not None
    return lease


class TestEntries:
    """Keeping and finding."""

    def test_nothing_is_there_at_first(self, store: Store) -> None:
        assert store.peek(ORIGIN) is None

    @pytest.mark.parametrize("entry", [file_entry(), outage_entry()], ids=["file", "outage"])
    def test_what_is_committed_is_there(self, store: Store, entry: Entry) -> None:
        now(store.commit(entry, None))
        assert store.peek(ORIGIN) == entry
        assert store.peek(OTHER) is None

    def test_a_newer_one_replaces(self, store: Store) -> None:
        now(store.commit(file_entry(at=NOW), None))
        now(store.commit(file_entry(at=NOW + 1, body=b"newer"), None))
        assert body_of(store.peek(ORIGIN)) == b"newer"

    def test_an_older_one_does_not(self, store: Store) -> None:
        now(store.commit(file_entry(at=NOW, body=b"newer"), None))
        now(store.commit(file_entry(at=NOW - 1), None))
        assert body_of(store.peek(ORIGIN)) == b"newer"

    def test_one_of_the_same_instant_does(self, store: Store) -> None:
        now(store.commit(file_entry(), None))
        now(store.commit(file_entry(body=b"again"), None))
        assert body_of(store.peek(ORIGIN)) == b"again"

    def test_a_failure_is_newer_than_the_copy_before_it(self, store: Store) -> None:
        copy, outage = file_entry().known.copy, outage_entry(at=NOW + 1).known.outage
        now(store.commit(file_entry(), None))
        now(store.commit(Entry(ORIGIN, Knowledge(copy, outage)), None))
        assert store.peek(ORIGIN) == Entry(ORIGIN, Knowledge(copy, outage))

    def test_origins_are_kept_apart(self, store: Store) -> None:
        origins = [
            *[Origin("http", "h", 80), Origin("https", "h", 443), Origin("ftp", "h", 21)],
            *[Origin("http", "h", 8080), Origin("http", "h.", 80), Origin("http", "::1", 80)],
        ]
        for number, origin in enumerate(origins):
            now(store.commit(file_entry(origin, body=b"%d" % number), None))
        found = [body_of(store.peek(origin)) for origin in origins]
        assert found == [b"%d" % number for number in range(len(origins))]

    def test_a_large_body(self, store: Store) -> None:
        now(store.commit(file_entry(body=b"#" * 512_001), None))
        assert body_of(store.peek(ORIGIN)) == b"#" * 512_001


class TestLeases:
    """One at a time, for a while."""

    def test_one_at_a_time(self, store: Store) -> None:
        lease = claimed(store)
        assert (lease.origin, lease.until) == (ORIGIN, NOW + _SECONDS)
        assert now(store.claim(ORIGIN, NOW, _SECONDS)) is None
        assert now(store.claim(OTHER, NOW, _SECONDS)) is not None

    def test_committing_ends_it(self, store: Store) -> None:
        now(store.commit(file_entry(), claimed(store)))
        claimed(store)

    def test_committing_what_is_too_old_ends_it_as_well(self, store: Store) -> None:
        now(store.commit(file_entry(), None))
        now(store.commit(file_entry(at=NOW - 9), claimed(store)))
        claimed(store)

    def test_committing_without_it_does_not(self, store: Store) -> None:
        claimed(store)
        now(store.commit(file_entry(), None))
        assert now(store.claim(ORIGIN, NOW, _SECONDS)) is None

    def test_releasing_ends_it_and_leaves_nothing(self, store: Store) -> None:
        now(store.release(claimed(store)))
        assert store.peek(ORIGIN) is None
        claimed(store)

    def test_it_ends_by_itself(self, store: Store) -> None:
        first = claimed(store)
        assert now(store.claim(ORIGIN, NOW + _SECONDS - 0.1, _SECONDS)) is None
        second = claimed(store, NOW + _SECONDS)
        assert second.token != first.token

    def test_renewing_lengthens_it(self, store: Store) -> None:
        lease = claimed(store)
        renewed = now(store.renew(lease, NOW + 10, _SECONDS))
        assert renewed == Lease(ORIGIN, lease.token, NOW + 10 + _SECONDS)
        assert now(store.claim(ORIGIN, NOW + 20, _SECONDS)) is None
        claimed(store, NOW + 10 + _SECONDS)

    def test_one_that_ran_out_can_be_renewed_while_nobody_else_took_it(self, store: Store) -> None:
        lease = claimed(store)
        assert now(store.renew(lease, NOW + 99, _SECONDS)) is not None
        assert now(store.claim(ORIGIN, NOW + 100, _SECONDS)) is None

    def test_the_wrong_token_does_nothing(self, store: Store) -> None:
        stolen = claimed(store)
        holder = claimed(store, NOW + _SECONDS)
        assert now(store.renew(stolen, NOW + _SECONDS, _SECONDS)) is None
        now(store.release(stolen))
        now(store.release(Lease(ORIGIN, "made up", NOW + 99)))
        assert now(store.claim(ORIGIN, NOW + _SECONDS, _SECONDS)) is None
        assert now(store.renew(holder, NOW + _SECONDS, _SECONDS)) is not None

    def test_a_holder_that_was_succeeded_may_still_tell_what_it_learnt(self, store: Store) -> None:
        late = claimed(store)
        claimed(store, NOW + _SECONDS)
        now(store.commit(file_entry(), late))
        assert store.peek(ORIGIN) == file_entry()
        assert now(store.claim(ORIGIN, NOW + _SECONDS, _SECONDS)) is None, "not its lease to end"

    def test_what_has_ended_cannot_be_renewed_nor_ended_again(self, store: Store) -> None:
        lease = claimed(store)
        now(store.release(lease))
        now(store.release(lease))
        assert now(store.renew(lease, NOW, _SECONDS)) is None


class TestBrowsing:
    """What a store can do besides, if it says so; ours both do."""

    @pytest.fixture
    def browsable(self, store: Store) -> Browsable:
        if isinstance(store, PlainStore):
            assert not isinstance(store, Browsable)
            pytest.skip("does what crawls need, and no more")
        assert isinstance(store, Browsable)
        return store

    def test_nothing_at_first(self, browsable: Browsable) -> None:
        assert browsable.origins() == []

    def test_origins_by_their_text(self, store: Store, browsable: Browsable) -> None:
        origins = [ORIGIN, OTHER, Origin("http", "::1", 8080), Origin("ftp", "h.", 21)]
        for origin in origins:
            now(store.commit(file_entry(origin), None))
        now(store.commit(outage_entry(at=NOW + 1), None))
        assert browsable.origins() == sorted(origins, key=str)

    def test_forgetting(self, store: Store, browsable: Browsable) -> None:
        now(store.commit(file_entry(), None))
        now(store.commit(file_entry(OTHER), None))
        assert now(browsable.forget(ORIGIN)) is True
        assert now(browsable.forget(ORIGIN)) is False
        assert store.peek(ORIGIN) is None
        assert browsable.origins() == [OTHER]

    def test_what_was_forgotten_can_be_learnt_again(
        self, store: Store, browsable: Browsable
    ) -> None:
        now(store.commit(file_entry(at=NOW), None))
        now(browsable.forget(ORIGIN))
        now(store.commit(file_entry(at=NOW - 9), None))
        assert store.peek(ORIGIN) == file_entry(at=NOW - 9)

    def test_leases_are_not_touched(self, store: Store, browsable: Browsable) -> None:
        claimed(store)
        now(browsable.forget(ORIGIN))
        assert now(store.claim(ORIGIN, NOW, _SECONDS)) is None
