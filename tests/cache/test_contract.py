"""What every store does: one suite for memory, SQLite, Redis and a class of a user's."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

import pytest
from scrapy.utils.misc import load_object

from scrapy_rep.cache.base import (
    Browsable,
    Busy,
    Claim,
    Found,
    Lease,
    Leased,
    Store,
    believed_until,
    done,
)
from scrapy_rep.cache.entry import Entry, Key, key_of
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.access.knowledge import Knowledge
from scrapy_rep.protocol.access.origin import Origin
from tests.cache.samples import ORIGIN, OTHER, body_of, file_entry, outage_entry
from tests.redis_server import RedisServer, a_loop, redis_store

Value = TypeVar("Value")

NOW = float(int(time.time()))  # a store in Redis goes by a clock that no test can set
_SECONDS = 15.0
_BRIEF_SECONDS = 0.2
_ANY = -math.inf  # of what is there, anything is fresh enough
_NOTHING = math.inf


class PlainStore:
    """The least that a user could write."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self.entries: dict[Origin, Entry] = {}
        self.leases: dict[Origin, Lease] = {}
        self.count = 0
        self.clock = clock

    def peek(self, origin: Origin) -> Entry | None:
        return self.entries.get(origin)

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        now, entry, held = self.clock(), self.entries.get(origin), self.leases.get(origin)
        if entry is not None and entry.fresh_until > now + fresh_seconds:
            return done(Found(entry))
        if held is not None and now < held.until <= believed_until(now, seconds):
            return done(Busy(held.until - now, entry))
        self.count += 1
        self.leases[origin] = Lease(origin, str(self.count), now + seconds)
        return done(Leased(self.leases[origin], entry))

    def renew(self, lease: Lease, *, seconds: float) -> Future[Lease | None]:
        if not self._holds(lease):
            return done(None)
        self.leases[lease.origin] = Lease(lease.origin, lease.token, self.clock() + seconds)
        return done(self.leases[lease.origin])

    def commit(self, entry: Entry, lease: Lease | None) -> Future[bool]:
        if lease is not None and not self._holds(lease):
            return done(False)
        before = self.entries.get(entry.origin)
        if lease is not None or before is None or before.changed_at <= entry.changed_at:
            self.entries[entry.origin] = entry
        if lease is not None:
            self.release(lease)
        return done(True)

    def release(self, lease: Lease) -> Future[None]:
        if self._holds(lease):
            del self.leases[lease.origin]
        return done(None)

    def close(self) -> None:
        self.entries.clear()

    def _holds(self, lease: Lease) -> bool:
        held = self.leases.get(lease.origin)
        return held is not None and held.token == lease.token


def _memory(folder: Path, undo: ExitStack, clock: Callable[[], float]) -> Store:
    return MemoryStore(1 << 20, clock)


def _sqlite(folder: Path, undo: ExitStack, clock: Callable[[], float]) -> Store:
    return SqliteStore(folder / "a" / "new" / "folder" / "robots.sqlite", 1 << 30, clock)


def _plain(folder: Path, undo: ExitStack, clock: Callable[[], float]) -> Store:
    made: Store = load_object("tests.cache.test_contract.PlainStore")(clock)
    return made


_OURS = {"memory": _memory, "sqlite": _sqlite, "dotted path": _plain}
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
    """A store whose clock is a list of one number; Redis's can't be set."""
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
    """What a store has, wherever it has it."""
    found = claim(store, origin, _ANY)
    if isinstance(found, Leased):
        now(store.release(found.lease))
    return found.entry


class TestClaims:
    """One round trip: what is there, or a lease, or that another process has one."""

    def test_what_holds_for_long_enough_is_found(self, store: Store) -> None:
        entry = file_entry(at=time.time())
        now(store.commit(entry, None))
        for fresh in (0.0, 80_000.0, _ANY):
            assert claim(store, fresh=fresh) == Found(entry)
        assert not is_busy(store), "no lease was given"

    def test_what_does_not_comes_with_the_lease(self, store: Store) -> None:
        entry = file_entry(at=time.time())
        now(store.commit(entry, None))
        for fresh in (90_000.0, _NOTHING):
            found = claim(store, fresh=fresh)
            assert isinstance(found, Leased)
            assert found.entry == entry
            now(store.release(found.lease))

    def test_what_ran_out_comes_with_the_lease(self, store: Store) -> None:
        entry = file_entry(at=time.time() - 90_000)
        now(store.commit(entry, None))
        found = claim(store)
        assert isinstance(found, Leased)
        assert found.entry == entry

    def test_an_outage_holds_until_the_next_try(self, store: Store) -> None:
        outage = outage_entry(at=time.time())  # for 30 s
        now(store.commit(outage, None))
        assert claim(store, fresh=20.0) == Found(outage)
        found = claim(store, fresh=40.0)
        assert isinstance(found, Leased)
        assert found.entry == outage

    def test_who_must_wait_is_told_how_long_and_what_there_is(self, store: Store) -> None:
        entry = file_entry(at=time.time() - 90_000)
        now(store.commit(entry, None))
        claimed(store)
        for _ in range(2):
            found = claim(store)
            assert isinstance(found, Busy)
            assert found.entry == entry
            assert _SECONDS - 5 < found.wait_seconds <= _SECONDS

    def test_what_is_fresh_is_found_though_somebody_has_a_lease(self, store: Store) -> None:
        claimed(store)
        entry = file_entry(at=time.time())
        now(store.commit(entry, None))
        assert claim(store) == Found(entry)

    def test_of_two_that_claim_at_once_one_is_to_fetch(self, store: Store) -> None:
        futures = [store.claim(ORIGIN, seconds=_SECONDS, fresh_seconds=0.0) for _ in range(20)]
        kinds = sorted(type(now(future)).__name__ for future in futures)
        assert kinds == ["Busy"] * 19 + ["Leased"]

    def test_what_is_at_hand_may_be_nothing(self, store: Store) -> None:
        entry = file_entry(at=time.time())
        now(store.commit(entry, None))
        assert store.peek(ORIGIN) in (None, entry)
        assert store.peek(OTHER) is None


class TestEntries:
    """Keeping and finding."""

    def test_nothing_is_there_at_first(self, store: Store) -> None:
        assert known(store) is None

    @pytest.mark.parametrize("entry", [file_entry(), outage_entry()], ids=["file", "outage"])
    def test_what_is_committed_is_there(self, store: Store, entry: Entry) -> None:
        now(store.commit(entry, None))
        assert known(store) == entry
        assert known(store, OTHER) is None

    def test_a_newer_one_replaces(self, store: Store) -> None:
        now(store.commit(file_entry(at=NOW), None))
        now(store.commit(file_entry(at=NOW + 1, body=b"newer"), None))
        assert body_of(known(store)) == b"newer"

    def test_an_older_one_does_not(self, store: Store) -> None:
        now(store.commit(file_entry(at=NOW, body=b"newer"), None))
        now(store.commit(file_entry(at=NOW - 1), None))
        assert body_of(known(store)) == b"newer"

    def test_one_of_the_same_instant_does(self, store: Store) -> None:
        now(store.commit(file_entry(), None))
        now(store.commit(file_entry(body=b"again"), None))
        assert body_of(known(store)) == b"again"

    def test_a_failure_is_newer_than_the_copy_before_it(self, store: Store) -> None:
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

    def test_askers_are_kept_apart(self, store: Store) -> None:
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

    def test_a_large_body(self, store: Store) -> None:
        now(store.commit(file_entry(body=b"#" * 512_001), None))
        assert body_of(known(store)) == b"#" * 512_001


class TestLeases:
    """One at a time, for a while."""

    def test_one_at_a_time(self, store: Store) -> None:
        lease = claimed(store)
        assert lease.origin == ORIGIN
        assert time.time() + _SECONDS - 5 < lease.until <= time.time() + _SECONDS + 1
        assert is_busy(store)
        assert not is_busy(store, OTHER)

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
        assert is_busy(store)

    def test_releasing_ends_it_and_leaves_nothing(self, store: Store) -> None:
        now(store.release(claimed(store)))
        assert known(store) is None
        claimed(store)

    def test_releasing_it_leaves_what_is_there(self, store: Store) -> None:
        now(store.commit(file_entry(), None))
        now(store.release(claimed(store)))
        assert known(store) == file_entry()
        claimed(store)

    def test_it_ends_by_itself(self, store: Store) -> None:
        first = claimed(store, seconds=_BRIEF_SECONDS)
        time.sleep(1.5 * _BRIEF_SECONDS)
        second = claimed(store)
        assert second.token != first.token

    @pytest.mark.parametrize("seconds", [30.0, 3600.0, 1e12, float("inf")])
    def test_one_that_ends_later_than_any_could_is_not_believed(
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

    def test_a_clock_may_be_set_back_a_little(self, timed: tuple[Store, list[float]]) -> None:
        store, clock = timed
        clock[0] = NOW + 3
        claimed(store)
        clock[0] = NOW
        assert is_busy(store)

    def test_to_the_second(self, timed: tuple[Store, list[float]]) -> None:
        store, clock = timed
        claimed(store)
        clock[0] = NOW + _SECONDS - 0.1
        assert is_busy(store)
        clock[0] = NOW + _SECONDS
        assert not is_busy(store)

    def test_renewing_lengthens_it(self, store: Store) -> None:
        lease = claimed(store, seconds=_BRIEF_SECONDS)
        renewed = now(store.renew(lease, seconds=_SECONDS))
        assert renewed is not None
        assert (renewed.origin, renewed.token) == (ORIGIN, lease.token)
        assert renewed.until > lease.until + _SECONDS / 2
        time.sleep(1.5 * _BRIEF_SECONDS)
        assert is_busy(store)

    def test_one_that_ran_out_can_be_renewed_while_nobody_else_took_it(self, store: Store) -> None:
        lease = claimed(store, seconds=_BRIEF_SECONDS)
        time.sleep(1.5 * _BRIEF_SECONDS)
        assert now(store.renew(lease, seconds=_SECONDS)) is not None
        assert is_busy(store)

    def test_the_wrong_token_does_nothing(self, store: Store) -> None:
        stolen = claimed(store, seconds=_BRIEF_SECONDS)
        time.sleep(1.5 * _BRIEF_SECONDS)
        holder = claimed(store)
        assert now(store.renew(stolen, seconds=_SECONDS)) is None
        now(store.release(stolen))
        now(store.release(Lease(ORIGIN, "made up", NOW + 99)))
        assert is_busy(store)
        assert now(store.renew(holder, seconds=_SECONDS)) is not None

    def test_a_holder_that_was_succeeded_has_no_right_to_commit(self, store: Store) -> None:
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

    def test_one_that_ran_out_gives_the_right_while_nobody_else_took_it(self, store: Store) -> None:
        lease = claimed(store, seconds=_BRIEF_SECONDS)
        time.sleep(1.5 * _BRIEF_SECONDS)
        assert now(store.commit(file_entry(at=NOW + 99), lease)) is True
        assert known(store) == file_entry(at=NOW + 99)

    def test_a_lease_gives_the_right_over_what_a_wrong_clock_made(self, store: Store) -> None:
        """Else an entry from the future would stay until then, and its site be asked each time."""
        now(store.commit(file_entry(at=NOW + 80_000, body=b"of tomorrow"), None))
        assert now(store.commit(file_entry(), claimed(store))) is True
        assert known(store) == file_entry()

    def test_what_has_ended_cannot_be_renewed_nor_ended_again(self, store: Store) -> None:
        lease = claimed(store)
        now(store.release(lease))
        now(store.release(lease))
        assert now(store.renew(lease, seconds=_SECONDS)) is None


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
        assert browsable.keys() == []

    def test_origins_by_their_text(self, store: Store, browsable: Browsable) -> None:
        origins = [ORIGIN, OTHER, Origin("http", "::1", 8080), Origin("ftp", "h.", 21)]
        for origin in origins:
            now(store.commit(file_entry(origin), None))
        now(store.commit(outage_entry(at=NOW + 1), None))
        assert browsable.keys() == sorted(map(key_of, origins), key=str)

    def test_keys_are_those_that_were_committed(self, store: Store, browsable: Browsable) -> None:
        keys = [Key.under(OTHER, "A [x]"), Key.under(OTHER, "\udcff", "x"), Key.under(ORIGIN, "A")]
        keys.append(Key.under(ORIGIN, "A", path="/.well-known/tdmrep.json"))
        for key in keys:
            now(store.commit(file_entry(key), None))
        assert browsable.keys() == sorted(keys, key=str)
        assert now(browsable.forget(keys[0])) is True
        assert browsable.keys() == sorted(keys[1:], key=str)

    def test_looking(self, store: Store, browsable: Browsable) -> None:
        assert now(browsable.look(ORIGIN)) is None
        old = file_entry(at=NOW - 90_000)
        now(store.commit(old, None))
        assert now(browsable.look(ORIGIN)) == old
        assert now(browsable.look(OTHER)) is None

    def test_forgetting(self, store: Store, browsable: Browsable) -> None:
        now(store.commit(file_entry(), None))
        now(store.commit(file_entry(OTHER), None))
        assert now(browsable.forget(ORIGIN)) is True
        assert now(browsable.forget(ORIGIN)) is False
        assert known(store) is None
        assert browsable.keys() == [key_of(OTHER)]

    def test_what_was_forgotten_can_be_learnt_again(
        self, store: Store, browsable: Browsable
    ) -> None:
        now(store.commit(file_entry(at=NOW), None))
        now(browsable.forget(ORIGIN))
        now(store.commit(file_entry(at=NOW - 9), None))
        assert known(store) == file_entry(at=NOW - 9)

    def test_leases_are_not_touched(self, store: Store, browsable: Browsable) -> None:
        claimed(store)
        assert now(browsable.forget(ORIGIN)) is False
        assert is_busy(store)

    def test_the_lease_of_what_is_forgotten_gives_the_right_to_commit(
        self, store: Store, browsable: Browsable
    ) -> None:
        now(store.commit(file_entry(at=NOW), None))
        lease = claimed(store)
        assert now(browsable.forget(ORIGIN)) is True
        assert known(store) is None
        assert is_busy(store)
        assert now(store.commit(file_entry(at=NOW - 9), lease)) is True
        assert known(store) == file_entry(at=NOW - 9)
