"""The contract of a store as tests: import it to test a store of your own with pytest.

    class TestMyStore(StoreContract, BrowsingContract):
        @pytest.fixture
        def store(self) -> Iterator[Store]:
            ...

The fixture gives an empty store. `ClockContract` needs the fixture `timed`: an empty store, and a
list of one number, the time of its clock.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import Future
from typing import Protocol, TypeVar

from scrapy_rep.protocol.access.events import Event
from scrapy_rep.protocol.access.knowledge import Copy, Knowledge, Outage
from scrapy_rep.protocol.access.origin import Origin

from .base import Browsable, Busy, Claim, Found, Lease, Leased, Store
from .entry import Entry, Key, key_of

Value = TypeVar("Value")

ORIGIN = Origin("https", "example.com", 443)
OTHER = Origin("http", "example.com", 80)
BODY = b"User-agent: *\nDisallow: /private\n"
NOW = float(int(time.time()))  # some stores have a clock that no test can set
_SECONDS = 15.0
_BRIEF_SECONDS = 0.2
_ANY = -math.inf  # any stored entry is fresh enough
_NOTHING = math.inf


def file_entry(origin: Origin = ORIGIN, *, at: float = NOW, body: bytes = BODY) -> Entry:
    """A file that was fetched at an instant, and is fresh for a day."""
    hops, headers = (origin.robots_txt_uri,), (("etag", '"1"'),)
    return Entry(origin, Knowledge(Copy(200, body, hops, headers, at, at, at + 86_400)))


def outage_entry(origin: Origin = ORIGIN, *, at: float = NOW, event: Event = 503) -> Entry:
    """A file that could not be reached at an instant, for 30 seconds."""
    outage = Outage(event, (origin.robots_txt_uri,), at, at, 1, at + 30)
    return Entry(origin, Knowledge(outage=outage))


def body_of(entry: Entry | None) -> bytes | None:
    """The octets of an entry's file."""
    return None if entry is None or entry.known.copy is None else entry.known.copy.body


def _now(future: Future[Value]) -> Value:
    return future.result(timeout=20)


def _claim(
    store: Store, origin: Origin = ORIGIN, fresh: float = 0.0, seconds: float = _SECONDS
) -> Claim:
    return _now(store.claim(origin, seconds=seconds, fresh_seconds=fresh))


def _claimed(store: Store, origin: Origin = ORIGIN, seconds: float = _SECONDS) -> Lease:
    found = _claim(store, origin, _NOTHING, seconds)
    assert isinstance(found, Leased)
    return found.lease


def _is_busy(store: Store, origin: Origin = ORIGIN) -> bool:
    found = _claim(store, origin, _NOTHING)
    if isinstance(found, Leased):
        _now(store.release(found.lease))
    return isinstance(found, Busy)


def _known(store: Store, origin: Origin = ORIGIN) -> Entry | None:
    """The stored entry, also if it is not at hand."""
    found = _claim(store, origin, _ANY)
    if isinstance(found, Leased):
        _now(store.release(found.lease))
    return found.entry


class _BrowsableStore(Store, Browsable, Protocol):
    """A store with the methods for `scrapy rep cache`."""


class StoreContract:
    """The contract of every store; the fixture `store` gives an empty one."""

    # Claims: the entry, or a lease, or the wait for another process's lease

    def test_fresh_entry_is_found(self, store: Store) -> None:
        entry = file_entry(at=time.time())
        _now(store.commit(entry, None))
        for fresh in (0.0, 80_000.0, _ANY):
            assert _claim(store, fresh=fresh) == Found(entry)
        assert not _is_busy(store), "no lease was given"

    def test_lease_comes_with_the_old_entry(self, store: Store) -> None:
        entry = file_entry(at=time.time())
        _now(store.commit(entry, None))
        for fresh in (90_000.0, _NOTHING):
            found = _claim(store, fresh=fresh)
            assert isinstance(found, Leased)
            assert found.entry == entry
            _now(store.release(found.lease))

    def test_lease_comes_with_the_expired_entry(self, store: Store) -> None:
        entry = file_entry(at=time.time() - 90_000)
        _now(store.commit(entry, None))
        found = _claim(store)
        assert isinstance(found, Leased)
        assert found.entry == entry

    def test_outage_is_fresh_until_the_next_try(self, store: Store) -> None:
        outage = outage_entry(at=time.time())  # for 30 s
        _now(store.commit(outage, None))
        assert _claim(store, fresh=20.0) == Found(outage)
        found = _claim(store, fresh=40.0)
        assert isinstance(found, Leased)
        assert found.entry == outage

    def test_busy_claim_has_the_wait_and_the_old_entry(self, store: Store) -> None:
        entry = file_entry(at=time.time() - 90_000)
        _now(store.commit(entry, None))
        _claimed(store)
        for _ in range(2):
            found = _claim(store)
            assert isinstance(found, Busy)
            assert found.entry == entry
            assert _SECONDS - 5 < found.wait_seconds <= _SECONDS

    def test_fresh_entry_is_found_during_a_lease(self, store: Store) -> None:
        _claimed(store)
        entry = file_entry(at=time.time())
        _now(store.commit(entry, None))
        assert _claim(store) == Found(entry)

    def test_peek_gives_the_entry_or_nothing(self, store: Store) -> None:
        entry = file_entry(at=time.time())
        _now(store.commit(entry, None))
        assert store.peek(ORIGIN) in (None, entry)
        assert store.peek(OTHER) is None

    # Entries

    def test_newer_entry_replaces(self, store: Store) -> None:
        _now(store.commit(file_entry(at=NOW), None))
        _now(store.commit(file_entry(at=NOW + 1, body=b"newer"), None))
        assert body_of(_known(store)) == b"newer"

    def test_older_entry_does_not_replace(self, store: Store) -> None:
        _now(store.commit(file_entry(at=NOW, body=b"newer"), None))
        _now(store.commit(file_entry(at=NOW - 1), None))
        assert body_of(_known(store)) == b"newer"

    def test_entry_of_the_same_instant_replaces(self, store: Store) -> None:
        _now(store.commit(file_entry(), None))
        _now(store.commit(file_entry(body=b"again"), None))
        assert body_of(_known(store)) == b"again"

    def test_outage_replaces_the_copy_alone(self, store: Store) -> None:
        copy, outage = file_entry().known.copy, outage_entry(at=NOW + 1).known.outage
        _now(store.commit(file_entry(), None))
        _now(store.commit(Entry(ORIGIN, Knowledge(copy, outage)), None))
        assert _known(store) == Entry(ORIGIN, Knowledge(copy, outage))

    def test_origins_are_kept_apart(self, store: Store) -> None:
        origins = [
            *[Origin("http", "h", 80), Origin("https", "h", 443), Origin("ftp", "h", 21)],
            *[Origin("http", "h", 8080), Origin("http", "h.", 80), Origin("http", "::1", 80)],
        ]
        for number, origin in enumerate(origins):
            _now(store.commit(file_entry(origin, body=b"%d" % number), None))
        found = [body_of(_known(store, origin)) for origin in origins]
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
            assert not _is_busy(store, key)
            _now(store.commit(file_entry(key, body=b"%d" % number), None))
        assert [body_of(_known(store, key)) for key in keys] == [
            b"%d" % number for number in range(len(keys))
        ]
        entry = _known(store, keys[0])
        assert entry is not None
        assert entry.origin == keys[0]

    def test_large_body_is_kept(self, store: Store) -> None:
        _now(store.commit(file_entry(body=b"#" * 512_001), None))
        assert body_of(_known(store)) == b"#" * 512_001

    # Leases: one at a time, for a limited time

    def test_only_one_lease_is_given(self, store: Store) -> None:
        lease = _claimed(store)
        assert lease.origin == ORIGIN
        assert time.time() + _SECONDS - 5 < lease.until <= time.time() + _SECONDS + 1
        assert _is_busy(store)
        assert not _is_busy(store, OTHER)

    def test_commit_ends_the_lease(self, store: Store) -> None:
        _now(store.commit(file_entry(), _claimed(store)))
        _claimed(store)

    def test_commit_of_an_old_entry_ends_the_lease(self, store: Store) -> None:
        _now(store.commit(file_entry(), None))
        _now(store.commit(file_entry(at=NOW - 9), _claimed(store)))
        _claimed(store)

    def test_commit_without_a_lease_ends_none(self, store: Store) -> None:
        _claimed(store)
        _now(store.commit(file_entry(), None))
        assert _is_busy(store)

    def test_release_leaves_an_empty_store_empty(self, store: Store) -> None:
        _now(store.release(_claimed(store)))
        assert _known(store) is None
        _claimed(store)

    def test_release_leaves_the_entry(self, store: Store) -> None:
        _now(store.commit(file_entry(), None))
        _now(store.release(_claimed(store)))
        assert _known(store) == file_entry()
        _claimed(store)

    def test_lease_ends_without_a_holder(self, store: Store) -> None:
        first = _claimed(store, seconds=_BRIEF_SECONDS)
        time.sleep(1.5 * _BRIEF_SECONDS)
        second = _claimed(store)
        assert second.token != first.token

    def test_renewal_extends_the_lease(self, store: Store) -> None:
        lease = _claimed(store, seconds=_BRIEF_SECONDS)
        renewed = _now(store.renew(lease, seconds=_SECONDS))
        assert renewed is not None
        assert (renewed.origin, renewed.token) == (ORIGIN, lease.token)
        assert renewed.until > lease.until + _SECONDS / 2
        time.sleep(1.5 * _BRIEF_SECONDS)
        assert _is_busy(store)

    def test_expired_lease_is_renewed_if_it_is_free(self, store: Store) -> None:
        lease = _claimed(store, seconds=_BRIEF_SECONDS)
        time.sleep(1.5 * _BRIEF_SECONDS)
        assert _now(store.renew(lease, seconds=_SECONDS)) is not None
        assert _is_busy(store)

    def test_wrong_token_does_nothing(self, store: Store) -> None:
        stolen = _claimed(store, seconds=_BRIEF_SECONDS)
        time.sleep(1.5 * _BRIEF_SECONDS)
        holder = _claimed(store)
        assert _now(store.renew(stolen, seconds=_SECONDS)) is None
        _now(store.release(stolen))
        _now(store.release(Lease(ORIGIN, "made up", NOW + 99)))
        assert _is_busy(store)
        assert _now(store.renew(holder, seconds=_SECONDS)) is not None

    def test_former_holder_cannot_commit(self, store: Store) -> None:
        late = _claimed(store, seconds=_BRIEF_SECONDS)
        time.sleep(1.5 * _BRIEF_SECONDS)
        successor = _claimed(store)
        assert _now(store.renew(late, seconds=_SECONDS)) is None
        assert _now(store.commit(file_entry(at=NOW + 99, body=b"late"), late)) is False
        assert _is_busy(store), "not its lease to end"
        assert _now(store.commit(file_entry(at=NOW + 1), successor)) is True
        assert _known(store) == file_entry(at=NOW + 1)
        assert _now(store.commit(file_entry(at=NOW + 99, body=b"late"), late)) is False
        assert _known(store) == file_entry(at=NOW + 1), "nor once the successor is done"

    def test_expired_lease_commits_if_it_is_free(self, store: Store) -> None:
        lease = _claimed(store, seconds=_BRIEF_SECONDS)
        time.sleep(1.5 * _BRIEF_SECONDS)
        assert _now(store.commit(file_entry(at=NOW + 99), lease)) is True
        assert _known(store) == file_entry(at=NOW + 99)

    def test_leased_entry_replaces_one_of_a_wrong_clock(self, store: Store) -> None:
        """Else an entry from the future would stay until then, and its site be asked each time."""
        _now(store.commit(file_entry(at=NOW + 80_000, body=b"of tomorrow"), None))
        assert _now(store.commit(file_entry(), _claimed(store))) is True
        assert _known(store) == file_entry()

    def test_ended_lease_stays_ended(self, store: Store) -> None:
        lease = _claimed(store)
        _now(store.release(lease))
        _now(store.release(lease))
        assert _now(store.renew(lease, seconds=_SECONDS)) is None


class ClockContract:
    """The times of leases; the fixture `timed` gives a store and its clock."""

    def test_lease_with_an_impossible_end_is_ignored(
        self, timed: tuple[Store, list[float]]
    ) -> None:
        """A clock was wrong when it was made, or is now."""
        store, clock = timed
        for seconds in (30.0, 3600.0, 1e12, math.inf):
            clock[0] = NOW + seconds
            _claimed(store)
            clock[0] = NOW
            taken_over = _claimed(store)
            assert taken_over.until == NOW + _SECONDS, seconds
            clock[0] = NOW + 1
            assert _is_busy(store)

    def test_clock_may_be_set_back_a_little(self, timed: tuple[Store, list[float]]) -> None:
        store, clock = timed
        clock[0] = NOW + 3
        _claimed(store)
        clock[0] = NOW
        assert _is_busy(store)

    def test_lease_ends_on_time(self, timed: tuple[Store, list[float]]) -> None:
        store, clock = timed
        _claimed(store)
        clock[0] = NOW + _SECONDS - 0.1
        assert _is_busy(store)
        clock[0] = NOW + _SECONDS
        assert not _is_busy(store)


class BrowsingContract:
    """The methods for `scrapy rep cache`, in stores that have them."""

    def test_keys_are_sorted(self, store: _BrowsableStore) -> None:
        origins = [ORIGIN, OTHER, Origin("http", "::1", 8080), Origin("ftp", "h.", 21)]
        for origin in origins:
            _now(store.commit(file_entry(origin), None))
        _now(store.commit(outage_entry(at=NOW + 1), None))
        assert store.keys() == sorted(map(key_of, origins), key=str)

    def test_keys_keep_their_fields(self, store: _BrowsableStore) -> None:
        keys = [Key.under(OTHER, "A [x]"), Key.under(OTHER, "\udcff", "x"), Key.under(ORIGIN, "A")]
        keys.append(Key.under(ORIGIN, "A", path="/.well-known/tdmrep.json"))
        for key in keys:
            _now(store.commit(file_entry(key), None))
        assert store.keys() == sorted(keys, key=str)
        assert _now(store.forget(keys[0])) is True
        assert store.keys() == sorted(keys[1:], key=str)

    def test_look_gives_the_entry(self, store: _BrowsableStore) -> None:
        assert _now(store.look(ORIGIN)) is None
        old = file_entry(at=NOW - 90_000)
        _now(store.commit(old, None))
        assert _now(store.look(ORIGIN)) == old
        assert _now(store.look(OTHER)) is None

    def test_forget_deletes_the_entry(self, store: _BrowsableStore) -> None:
        _now(store.commit(file_entry(), None))
        _now(store.commit(file_entry(OTHER), None))
        assert _now(store.forget(ORIGIN)) is True
        assert _now(store.forget(ORIGIN)) is False
        assert _known(store) is None
        assert store.keys() == [key_of(OTHER)]

    def test_forgotten_entry_can_be_committed_again(self, store: _BrowsableStore) -> None:
        _now(store.commit(file_entry(at=NOW), None))
        _now(store.forget(ORIGIN))
        _now(store.commit(file_entry(at=NOW - 9), None))
        assert _known(store) == file_entry(at=NOW - 9)

    def test_forget_leaves_leases(self, store: _BrowsableStore) -> None:
        _claimed(store)
        assert _now(store.forget(ORIGIN)) is False
        assert _is_busy(store)

    def test_lease_survives_forget(self, store: _BrowsableStore) -> None:
        _now(store.commit(file_entry(at=NOW), None))
        lease = _claimed(store)
        assert _now(store.forget(ORIGIN)) is True
        assert _known(store) is None
        assert _is_busy(store)
        assert _now(store.commit(file_entry(at=NOW - 9), lease)) is True
        assert _known(store) == file_entry(at=NOW - 9)
