"""The contract of stores: one suite for memory, SQLite and Redis."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import pytest

from scrapy_rep.cache.base import (
    Browsable,
    Busy,
    Claim,
    Found,
    Lease,
    Leased,
    Store,
)
from scrapy_rep.cache.entry import Entry, Key, key_of
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.access.knowledge import Knowledge
from scrapy_rep.protocol.access.origin import Origin
from tests.cache.samples import ORIGIN, OTHER, body_of, file_entry, outage_entry
from tests.redis_server import RedisServer, a_loop, redis_store

Value = TypeVar("Value")

NOW = float(int(time.time()))  # no test can set the clock of Redis
_SECONDS = 15.0
_BRIEF_SECONDS = 0.2
_ANY = -math.inf  # any stored entry is fresh enough
_NOTHING = math.inf


def _memory(folder: Path, undo: ExitStack, clock: Callable[[], float]) -> Store:
    return MemoryStore(1 << 20, clock)


def _sqlite(folder: Path, undo: ExitStack, clock: Callable[[], float]) -> Store:
    return SqliteStore(folder / "a" / "new" / "folder" / "robots.sqlite", 1 << 30, clock)


_OURS = {"memory": _memory, "sqlite": _sqlite}
_IN_REDIS = {"redis": None, "redis behind memory": _memory, "redis behind sqlite": _sqlite}


@pytest.fixture(params=[*_OURS, *_IN_REDIS])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with ExitStack() as undo:
        if request.param in _OURS:
            made = _OURS[request.param](tmp_path, undo, time.time)
        else:
            server: RedisServer = request.getfixturevalue("redis_server")
            local = _IN_REDIS[request.param]
            tier = None if local is None else local(tmp_path, undo, time.time)
            made = redis_store(server.url, tier, undo.enter_context(a_loop()))
        yield made
        closing = made.close()
        if closing is not None:
            closing.result(20)


@pytest.fixture(params=_OURS)
def timed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, list[float]]]:
    """A store with a clock that the test sets, a list of one number; Redis has its own clock."""
    clock = [NOW]
    with ExitStack() as undo:
        made = _OURS[request.param](tmp_path, undo, lambda: clock[0])
        yield made, clock
        made.close()


def now(future: Future[Value]) -> Value:
    return future.result(timeout=20)


def claim(
    store: Store, origin: Origin = ORIGIN, fresh: float = 0.0, seconds: float = _SECONDS
) -> Claim:
    return now(store.claim(origin, seconds=seconds, fresh_seconds=fresh))


def claimed(store: Store, origin: Origin = ORIGIN, seconds: float = _SECONDS) -> Lease:
    found = claim(store, origin, _NOTHING, seconds)
    assert isinstance(found, Leased)
    return found.lease


def is_busy(store: Store, origin: Origin = ORIGIN) -> bool:
    found = claim(store, origin, _NOTHING)
    if isinstance(found, Leased):
        now(store.release(found.lease))
    return isinstance(found, Busy)


def known(store: Store, origin: Origin = ORIGIN) -> Entry | None:
    """The stored entry, also if it is not at hand."""
    found = claim(store, origin, _ANY)
    if isinstance(found, Leased):
        now(store.release(found.lease))
    return found.entry


class TestClaims:
    """One round trip: the entry, or a lease, or the wait for another process's lease."""

    def test_fresh_entry_is_found(self, store: Store) -> None:
        entry = file_entry(at=time.time())
        now(store.commit(entry, None))
        for fresh in (0.0, 80_000.0, _ANY):
            assert claim(store, fresh=fresh) == Found(entry)
        assert not is_busy(store), "no lease was given"

    def test_lease_comes_with_the_old_entry(self, store: Store) -> None:
        entry = file_entry(at=time.time())
        now(store.commit(entry, None))
        for fresh in (90_000.0, _NOTHING):
            found = claim(store, fresh=fresh)
            assert isinstance(found, Leased)
            assert found.entry == entry
            now(store.release(found.lease))

    def test_lease_comes_with_the_expired_entry(self, store: Store) -> None:
        entry = file_entry(at=time.time() - 90_000)
        now(store.commit(entry, None))
        found = claim(store)
        assert isinstance(found, Leased)
        assert found.entry == entry

    def test_outage_is_fresh_until_the_next_try(self, store: Store) -> None:
        outage = outage_entry(at=time.time())  # for 30 s
        now(store.commit(outage, None))
        assert claim(store, fresh=20.0) == Found(outage)
        found = claim(store, fresh=40.0)
        assert isinstance(found, Leased)
        assert found.entry == outage

    def test_busy_claim_has_the_wait_and_the_old_entry(self, store: Store) -> None:
        entry = file_entry(at=time.time() - 90_000)
        now(store.commit(entry, None))
        claimed(store)
        for _ in range(2):
            found = claim(store)
            assert isinstance(found, Busy)
            assert found.entry == entry
            assert _SECONDS - 5 < found.wait_seconds <= _SECONDS

    def test_fresh_entry_is_found_during_a_lease(self, store: Store) -> None:
        claimed(store)
        entry = file_entry(at=time.time())
        now(store.commit(entry, None))
        assert claim(store) == Found(entry)

    def test_peek_gives_the_entry_or_nothing(self, store: Store) -> None:
        entry = file_entry(at=time.time())
        now(store.commit(entry, None))
        assert store.peek(ORIGIN) in (None, entry)
        assert store.peek(OTHER) is None


class TestEntries:
    """Keeping and finding."""

    def test_newer_entry_replaces(self, store: Store) -> None:
        now(store.commit(file_entry(at=NOW), None))
        now(store.commit(file_entry(at=NOW + 1, body=b"newer"), None))
        assert body_of(known(store)) == b"newer"

    def test_older_entry_does_not_replace(self, store: Store) -> None:
        now(store.commit(file_entry(at=NOW, body=b"newer"), None))
        now(store.commit(file_entry(at=NOW - 1), None))
        assert body_of(known(store)) == b"newer"

    def test_entry_of_the_same_instant_replaces(self, store: Store) -> None:
        now(store.commit(file_entry(), None))
        now(store.commit(file_entry(body=b"again"), None))
        assert body_of(known(store)) == b"again"

    def test_outage_replaces_the_copy_alone(self, store: Store) -> None:
        copy, outage = file_entry().known.copy, outage_entry(at=NOW + 1).known.outage
        now(store.commit(file_entry(), None))
        now(store.commit(Entry(ORIGIN, Knowledge(copy, outage)), None))
        assert known(store) == Entry(ORIGIN, Knowledge(copy, outage))

    def test_origins_are_kept_apart(self, store: Store) -> None:
        origins = [
            *[Origin("http", "h", 80), Origin("https", "h", 443), Origin("ftp", "h", 21)],
            *[Origin("http", "h", 8080), Origin("http", "h.", 80), Origin("http", "::1", 80)],
        ]
        for number, origin in enumerate(origins):
            now(store.commit(file_entry(origin, body=b"%d" % number), None))
        found = [body_of(known(store, origin)) for origin in origins]
        assert found == [b"%d" % number for number in range(len(origins))]

    def test_crawlers_are_kept_apart(self, store: Store) -> None:
        origin = Origin("http", "h", 80)
        keys = [
            *[Key.under(origin, "GoodBot/1.0"), Key.under(origin, "BadBot/1.0")],
            *[Key.under(origin), Key.under(origin, "GoodBot/1.0", "9f")],
            *[Key.under(origin, "GoodBot/1.0 [9f]"), Key.under(origin, "", "9f")],
            *[Key.under(origin, 'Odd", "'), Key.under(origin, "B\u00fccherbot \udcff\n")],
            Key.under(origin, path="/.well-known/tdmrep.json"),
            Key.under(origin, "GoodBot/1.0", "9f", "/.well-known/tdmrep.json"),
        ]
        for number, key in enumerate(keys):
            assert not is_busy(store, key)
            now(store.commit(file_entry(key, body=b"%d" % number), None))
        assert [body_of(known(store, key)) for key in keys] == [
            b"%d" % number for number in range(len(keys))
        ]
        entry = known(store, keys[0])
        assert entry is not None
        assert entry.origin == keys[0]

    def test_large_body_is_kept(self, store: Store) -> None:
        now(store.commit(file_entry(body=b"#" * 512_001), None))
        assert body_of(known(store)) == b"#" * 512_001


class TestLeases:
    """One at a time, for a limited time."""

    def test_only_one_lease_is_given(self, store: Store) -> None:
        lease = claimed(store)
        assert lease.origin == ORIGIN
        assert time.time() + _SECONDS - 5 < lease.until <= time.time() + _SECONDS + 1
        assert is_busy(store)
        assert not is_busy(store, OTHER)

    def test_commit_ends_the_lease(self, store: Store) -> None:
        now(store.commit(file_entry(), claimed(store)))
        claimed(store)

    def test_commit_of_an_old_entry_ends_the_lease(self, store: Store) -> None:
        now(store.commit(file_entry(), None))
        now(store.commit(file_entry(at=NOW - 9), claimed(store)))
        claimed(store)

    def test_commit_without_a_lease_ends_none(self, store: Store) -> None:
        claimed(store)
        now(store.commit(file_entry(), None))
        assert is_busy(store)

    def test_release_leaves_an_empty_store_empty(self, store: Store) -> None:
        now(store.release(claimed(store)))
        assert known(store) is None
        claimed(store)

    def test_release_leaves_the_entry(self, store: Store) -> None:
        now(store.commit(file_entry(), None))
        now(store.release(claimed(store)))
        assert known(store) == file_entry()
        claimed(store)

    def test_lease_ends_without_a_holder(self, store: Store) -> None:
        first = claimed(store, seconds=_BRIEF_SECONDS)
        time.sleep(1.5 * _BRIEF_SECONDS)
        second = claimed(store)
        assert second.token != first.token

    @pytest.mark.parametrize("seconds", [30.0, 3600.0, 1e12, float("inf")])
    def test_lease_with_an_impossible_end_is_ignored(
        self, timed: tuple[Store, list[float]], seconds: float
    ) -> None:
        """A clock was wrong when it was made, or is now."""
        store, clock = timed
        clock[0] = NOW + seconds
        claimed(store)
        clock[0] = NOW
        taken_over = claimed(store)
        assert taken_over.until == NOW + _SECONDS
        clock[0] = NOW + 1
        assert is_busy(store)

    def test_clock_may_be_set_back_a_little(self, timed: tuple[Store, list[float]]) -> None:
        store, clock = timed
        clock[0] = NOW + 3
        claimed(store)
        clock[0] = NOW
        assert is_busy(store)

    def test_lease_ends_on_time(self, timed: tuple[Store, list[float]]) -> None:
        store, clock = timed
        claimed(store)
        clock[0] = NOW + _SECONDS - 0.1
        assert is_busy(store)
        clock[0] = NOW + _SECONDS
        assert not is_busy(store)

    def test_renewal_extends_the_lease(self, store: Store) -> None:
        lease = claimed(store, seconds=_BRIEF_SECONDS)
        renewed = now(store.renew(lease, seconds=_SECONDS))
        assert renewed is not None
        assert (renewed.origin, renewed.token) == (ORIGIN, lease.token)
        assert renewed.until > lease.until + _SECONDS / 2
        time.sleep(1.5 * _BRIEF_SECONDS)
        assert is_busy(store)

    def test_expired_lease_is_renewed_if_it_is_free(self, store: Store) -> None:
        lease = claimed(store, seconds=_BRIEF_SECONDS)
        time.sleep(1.5 * _BRIEF_SECONDS)
        assert now(store.renew(lease, seconds=_SECONDS)) is not None
        assert is_busy(store)

    def test_wrong_token_does_nothing(self, store: Store) -> None:
        stolen = claimed(store, seconds=_BRIEF_SECONDS)
        time.sleep(1.5 * _BRIEF_SECONDS)
        holder = claimed(store)
        assert now(store.renew(stolen, seconds=_SECONDS)) is None
        now(store.release(stolen))
        now(store.release(Lease(ORIGIN, "made up", NOW + 99)))
        assert is_busy(store)
        assert now(store.renew(holder, seconds=_SECONDS)) is not None

    def test_former_holder_cannot_commit(self, store: Store) -> None:
        late = claimed(store, seconds=_BRIEF_SECONDS)
        time.sleep(1.5 * _BRIEF_SECONDS)
        successor = claimed(store)
        assert now(store.renew(late, seconds=_SECONDS)) is None
        assert now(store.commit(file_entry(at=NOW + 99, body=b"late"), late)) is False
        assert is_busy(store), "not its lease to end"
        assert now(store.commit(file_entry(at=NOW + 1), successor)) is True
        assert known(store) == file_entry(at=NOW + 1)
        assert now(store.commit(file_entry(at=NOW + 99, body=b"late"), late)) is False
        assert known(store) == file_entry(at=NOW + 1), "nor once the successor is done"

    def test_expired_lease_commits_if_it_is_free(self, store: Store) -> None:
        lease = claimed(store, seconds=_BRIEF_SECONDS)
        time.sleep(1.5 * _BRIEF_SECONDS)
        assert now(store.commit(file_entry(at=NOW + 99), lease)) is True
        assert known(store) == file_entry(at=NOW + 99)

    def test_leased_entry_replaces_one_of_a_wrong_clock(self, store: Store) -> None:
        """Else an entry from the future would stay until then, and its site be asked each time."""
        now(store.commit(file_entry(at=NOW + 80_000, body=b"of tomorrow"), None))
        assert now(store.commit(file_entry(), claimed(store))) is True
        assert known(store) == file_entry()

    def test_ended_lease_stays_ended(self, store: Store) -> None:
        lease = claimed(store)
        now(store.release(lease))
        now(store.release(lease))
        assert now(store.renew(lease, seconds=_SECONDS)) is None


class TestBrowsing:
    """The methods for `scrapy rep cache`, in stores that have them."""

    @pytest.fixture
    def browsable(self, store: Store) -> Browsable:
        assert isinstance(store, Browsable)
        return store

    def test_keys_are_sorted(self, store: Store, browsable: Browsable) -> None:
        origins = [ORIGIN, OTHER, Origin("http", "::1", 8080), Origin("ftp", "h.", 21)]
        for origin in origins:
            now(store.commit(file_entry(origin), None))
        now(store.commit(outage_entry(at=NOW + 1), None))
        assert browsable.keys() == sorted(map(key_of, origins), key=str)

    def test_keys_keep_their_fields(self, store: Store, browsable: Browsable) -> None:
        keys = [Key.under(OTHER, "A [x]"), Key.under(OTHER, "\udcff", "x"), Key.under(ORIGIN, "A")]
        keys.append(Key.under(ORIGIN, "A", path="/.well-known/tdmrep.json"))
        for key in keys:
            now(store.commit(file_entry(key), None))
        assert browsable.keys() == sorted(keys, key=str)
        assert now(browsable.forget(keys[0])) is True
        assert browsable.keys() == sorted(keys[1:], key=str)

    def test_look_gives_the_entry(self, store: Store, browsable: Browsable) -> None:
        assert now(browsable.look(ORIGIN)) is None
        old = file_entry(at=NOW - 90_000)
        now(store.commit(old, None))
        assert now(browsable.look(ORIGIN)) == old
        assert now(browsable.look(OTHER)) is None

    def test_forget_deletes_the_entry(self, store: Store, browsable: Browsable) -> None:
        now(store.commit(file_entry(), None))
        now(store.commit(file_entry(OTHER), None))
        assert now(browsable.forget(ORIGIN)) is True
        assert now(browsable.forget(ORIGIN)) is False
        assert known(store) is None
        assert browsable.keys() == [key_of(OTHER)]

    def test_forgotten_entry_can_be_committed_again(
        self, store: Store, browsable: Browsable
    ) -> None:
        now(store.commit(file_entry(at=NOW), None))
        now(browsable.forget(ORIGIN))
        now(store.commit(file_entry(at=NOW - 9), None))
        assert known(store) == file_entry(at=NOW - 9)

    def test_forget_leaves_leases(self, store: Store, browsable: Browsable) -> None:
        claimed(store)
        assert now(browsable.forget(ORIGIN)) is False
        assert is_busy(store)

    def test_lease_survives_forget(self, store: Store, browsable: Browsable) -> None:
        now(store.commit(file_entry(at=NOW), None))
        lease = claimed(store)
        assert now(browsable.forget(ORIGIN)) is True
        assert known(store) is None
        assert is_busy(store)
        assert now(store.commit(file_entry(at=NOW - 9), lease)) is True
        assert known(store) == file_entry(at=NOW - 9)
