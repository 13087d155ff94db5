"""The store in Redis beyond the contract: its keys, clocks and outages."""

from __future__ import annotations

import logging
import math
import random
import struct
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

import pytest

from scrapy_rep.cache.base import Busy, Claim, Found, Lease, Leased, Store, StoreError
from scrapy_rep.cache.codec import MAGIC, encode
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.extras.fleet.redis_store import RedisStore, shifted
from scrapy_rep.protocol.access.knowledge import Knowledge
from scrapy_rep.protocol.access.origin import Origin
from tests.cache.samples import BODY, ORIGIN, OTHER, body_of, file_entry, outage_entry
from tests.redis_server import RedisServer, SlowLine, a_loop, redis_store

_STAMP = struct.Struct(">dd")
_DAY = 86_400.0

Value = TypeVar("Value")
Maker = Callable[..., RedisStore]


@pytest.fixture
def made() -> Iterator[Maker]:
    """Makes stores, and closes them."""
    with ExitStack() as undo:
        loop = undo.enter_context(a_loop())

        def make(url: str, local: Store | None = None, **options: Any) -> RedisStore:
            store = redis_store(url, local, loop, **options)
            undo.callback(lambda: store.close().result(20))
            return store

        yield make


@pytest.fixture
def own() -> Iterator[RedisServer]:
    """A server that the test may do anything to."""
    with RedisServer() as server:
        yield server


def memory() -> MemoryStore:
    return MemoryStore(1 << 20)


def claim(store: RedisStore, origin: Origin = ORIGIN, fresh: float = 0.0) -> Claim:
    return store.claim(origin, seconds=15.0, fresh_seconds=fresh).result(20)


def leased(store: RedisStore, origin: Origin = ORIGIN) -> Lease:
    found = claim(store, origin, math.inf)
    assert isinstance(found, Leased)
    return found.lease


def fresh_entry(origin: Origin = ORIGIN, body: bytes = BODY) -> Entry:
    return file_entry(origin, at=time.time(), body=body)


def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    patience = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < patience
        time.sleep(0.02)


def script_count(server: RedisServer) -> int:
    """How many scripts the server has run."""
    with server.client() as client:
        stats: dict[str, Any] = client.info("commandstats")
    return int(stats.get("cmdstat_evalsha", {}).get("calls", 0))


class TestRecords:
    """Redis holds octets of the codec, under one hash tag for each origin."""

    def test_record_is_written_by_the_codec(self, redis_server: RedisServer, made: Maker) -> None:
        key = Key.under(ORIGIN, "Bot/1.0", "9f")
        entry = fresh_entry(key)
        made(redis_server.url).commit(entry, None).result()
        with redis_server.client() as client:
            (name,) = client.keys("rep:{http*")
            record = client.get(name)
        assert name == b'rep:{https://example.com}:p2:["Bot/1.0", "9f", "/robots.txt"]'
        assert _STAMP.unpack(record[:16]) == (entry.changed_at, entry.fresh_until)
        assert record[16:].startswith(MAGIC)
        assert record[16:] == encode(entry)

    def test_every_key_has_a_time_to_live(self, redis_server: RedisServer, made: Maker) -> None:
        store = made(redis_server.url)
        store.commit(fresh_entry(), leased(store)).result()
        store.commit(file_entry(Key.under(ORIGIN, "A"), at=0.0), None).result()
        store.commit(file_entry(Key.under(ORIGIN, "B"), at=1e15), None).result()
        store.renew(leased(store, OTHER), seconds=15.0).result()
        with redis_server.client() as client:
            ends = [client.ttl(name) for name in client.keys("*")]
        assert len(ends) == 5, "and the index"
        assert all(0 < end < 70 * _DAY for end in ends)

    @pytest.mark.parametrize(
        "value",
        [
            b"",
            b"short",
            _STAMP.pack(9e9, 9e9),
            _STAMP.pack(9e9, 9e9) + b"garbage",
            _STAMP.pack(math.nan, math.inf) + MAGIC + b"\0" * 8,
            _STAMP.pack(math.inf, math.inf) + b"\x80\x04\x95pickle.",
            ["a", "list"],
        ],
    )
    def test_invalid_record_is_a_miss_and_is_replaced(
        self, redis_server: RedisServer, made: Maker, value: Any
    ) -> None:
        store = made(redis_server.url)
        store.commit(fresh_entry(), None).result()
        with redis_server.client() as client:
            (name,) = client.keys("rep:{http*")
            client.delete(name)
            client.rpush(name, *value) if isinstance(value, list) else client.set(name, value)
        assert store.look(ORIGIN).result() is None
        found = claim(store)
        assert isinstance(found, Leased)
        assert found.entry is None
        entry = fresh_entry()
        assert store.commit(entry, found.lease).result() is True
        assert store.look(ORIGIN).result() == entry

    @pytest.mark.parametrize(
        "value",
        [b"", b"soon", struct.pack(">d", 9e9) + b"theirs", struct.pack(">d", math.nan), ["a"]],
    )
    def test_invalid_lease_is_ignored(
        self, redis_server: RedisServer, made: Maker, value: Any
    ) -> None:
        store = made(redis_server.url)
        leased(store)
        with redis_server.client() as client:
            (name,) = client.keys("rep:{http*")
            client.delete(name)
            client.rpush(name, *value) if isinstance(value, list) else client.set(name, value)
        lease = leased(store)
        assert store.commit(fresh_entry(), lease).result() is True

    def test_foreign_keys_are_not_listed(self, redis_server: RedisServer, made: Maker) -> None:
        store = made(redis_server.url)
        with redis_server.client() as client:
            for name in (
                "x",
                "rep:{h}:p2:",
                'rep:{http://h:80}:p2:["a"]',
                "rep:{http://h:80}:p2:1",
            ):
                client.set(name, "x")
            client.set(b"rep:{http://h:80}:p2:\xff", "x")
        leased(store)
        store.commit(fresh_entry(OTHER), None).result()
        assert store.keys() == [Key.under(OTHER)]

    def test_many_keys_are_listed(self, redis_server: RedisServer, made: Maker) -> None:
        store = made(redis_server.url)
        keys = [Key.under(Origin("http", f"h{number}", 80), "Bot") for number in range(1500)]
        for future in [store.commit(fresh_entry(key), None) for key in keys]:
            future.result()
        assert store.keys() == sorted(keys, key=str)


class TestRoom:
    """Files take a limited amount of memory, those of hostile sites too."""

    LIMIT = 1 << 20

    def commit(self, store: RedisStore, octets: int, *numbers: int) -> None:
        """An incompressible file at each of these hosts."""
        for number in numbers:
            body = random.Random(number).randbytes(octets)
            key = Key.under(Origin("http", f"h{number}.example", 80), "Bot")
            assert store.commit(fresh_entry(key, body), leased(store, key)).result()

    def kept(self, store: RedisStore) -> set[int]:
        return {int(key.host[1:].partition(".")[0]) for key in iter(store.keys())}

    def used(self, server: RedisServer) -> int:
        with server.client() as client:
            names = client.keys("rep:{http*")
            return sum(client.memory_usage(name) for name in (*names, "rep:{robots.txt}:i2"))

    def test_large_files_go_first(self, redis_server: RedisServer, made: Maker) -> None:
        store = made(redis_server.url, limit_octets=self.LIMIT)
        self.commit(store, 500, *range(50))
        self.commit(store, 100_000, *range(100, 140))
        kept = self.kept(store)
        assert kept >= {*range(50)}, "small files stay beside large ones"
        assert 139 in kept, "the last one stays"
        assert 5 < len(kept) - 50 < 12
        assert self.used(redis_server) < 1.1 * self.LIMIT

    def test_small_files_are_limited_too(self, redis_server: RedisServer, made: Maker) -> None:
        store = made(redis_server.url, limit_octets=100_000)
        self.commit(store, 1000, *range(200))
        assert self.used(redis_server) < 110_000
        assert 30 < len(self.kept(store)) < 100

    def test_file_that_is_written_again_counts_once(
        self, redis_server: RedisServer, made: Maker
    ) -> None:
        store = made(redis_server.url, limit_octets=self.LIMIT)
        self.commit(store, 1000, *range(5))
        self.commit(store, 400_000, *[5] * 10)
        self.commit(store, 1000, *[5] * 10)
        self.commit(store, 1000, *range(6, 300))
        assert self.kept(store) == {*range(300)}

    def test_a_quarter_of_the_memory_of_redis(self, own: RedisServer, made: Maker) -> None:
        store = made(own.url)
        with own.client() as client:
            client.config_set("maxmemory", 16 * self.LIMIT)
        self.commit(store, 100_000, *range(100))
        assert 2 * self.LIMIT < self.used(own) < 5 * self.LIMIT

    def test_entry_too_large_for_the_limit_is_shared_until_the_next(
        self, redis_server: RedisServer, made: Maker
    ) -> None:
        store = made(redis_server.url, limit_octets=1000)
        self.commit(store, 5000, 1)
        assert self.kept(store) == {1}
        self.commit(store, 5000, 2)
        assert self.kept(store) == {2}

    def test_full_redis_still_deletes(self, own: RedisServer, made: Maker) -> None:
        """A lower limit frees memory, so that Redis takes writes again."""
        self.commit(made(own.url), 50_000, *range(100))
        store = made(own.url, memory(), limit_octets=self.LIMIT)
        with own.client() as client:
            client.config_set("maxmemory", client.info("memory")["used_memory"] - 1)
            self.commit(store, 1000, *range(200, 210))
            until(lambda: 209 in self.kept(store))
        assert len(self.kept(store)) < 50

    def test_entry_without_a_place_in_the_index_is_found(
        self, redis_server: RedisServer, made: Maker
    ) -> None:
        """As after a write of an older release."""
        store, entry = made(redis_server.url), fresh_entry()
        store.commit(entry, None).result()
        with redis_server.client() as client:
            assert client.delete("rep:{robots.txt}:i2")
        assert claim(store) == Found(entry)
        self.commit(store, 500, 1)
        assert len(store.keys()) == 2

    def test_foreign_index_keeps_no_entry_away(
        self, redis_server: RedisServer, made: Maker
    ) -> None:
        store = made(redis_server.url)
        with redis_server.client() as client:
            client.set("rep:{robots.txt}:i2", "of another program")
        self.commit(store, 500, 1)
        assert self.kept(store) == {1}


class TestLocalTier:
    """A warm worker does not ask Redis."""

    def test_entry_of_redis_stays_in_the_local_tier(
        self, redis_server: RedisServer, made: Maker
    ) -> None:
        one, two = made(redis_server.url, memory()), made(redis_server.url, memory())
        entry = fresh_entry()
        one.commit(entry, leased(one)).result()
        assert one.peek(ORIGIN) == entry
        assert two.peek(ORIGIN) is None
        before = script_count(redis_server)
        assert claim(two) == Found(entry)
        assert script_count(redis_server) == before + 1
        for _ in range(9):
            assert two.peek(ORIGIN) == entry
        assert script_count(redis_server) == before + 1

    def test_local_copy_comes_with_the_lease_of_an_emptied_redis(
        self, redis_server: RedisServer, made: Maker
    ) -> None:
        store = made(redis_server.url, memory())
        old = file_entry(at=time.time() - 2 * _DAY)
        store.commit(old, None).result()
        redis_server.flush()
        found = claim(store)
        assert isinstance(found, Leased)
        assert found.entry == old

    def test_failed_local_tier_costs_a_round_trip_and_a_warning(
        self, redis_server: RedisServer, made: Maker, caplog: pytest.LogCaptureFixture
    ) -> None:
        class Broken(MemoryStore):
            def peek(self, origin: Origin) -> Entry | None:
                raise StoreError("no disk")

        store = made(redis_server.url, Broken(1 << 20))
        entry = fresh_entry()
        store.commit(entry, leased(store)).result()
        for _ in range(3):
            assert store.peek(ORIGIN) is None
            assert claim(store) == Found(entry)
        told = [record for record in caplog.records if record.levelno == logging.WARNING]
        assert len(told) == 1
        assert "no disk" in told[0].getMessage()


class TestClocks:
    """Redis's decides; a worker's may be wrong."""

    @pytest.mark.parametrize("ahead", [-3 * _DAY, -400.0, 400.0, 3 * _DAY])
    def test_worker_with_a_wrong_clock_shares_entries(
        self, redis_server: RedisServer, made: Maker, ahead: float
    ) -> None:
        right = made(redis_server.url, memory())
        wrong = made(redis_server.url, memory(), clock=lambda: time.time() + ahead)
        lease = leased(wrong)
        assert isinstance(claim(right), Busy)
        theirs = file_entry(at=time.time() + ahead)
        assert wrong.commit(theirs, lease).result() is True
        found = claim(right)
        assert isinstance(found, Found)
        copy = found.entry.known.copy
        assert copy is not None
        assert copy.confirmed_at == pytest.approx(time.time(), abs=5)
        assert copy.fresh_until == pytest.approx(time.time() + _DAY, abs=5)

    @pytest.mark.parametrize("ahead", [-3 * _DAY, 3 * _DAY])
    def test_entry_is_read_by_the_own_clock(
        self, redis_server: RedisServer, made: Maker, ahead: float
    ) -> None:
        right = made(redis_server.url, memory())
        wrong = made(redis_server.url, memory(), clock=lambda: time.time() + ahead)
        right.commit(fresh_entry(), None).result()
        found = claim(wrong)
        assert isinstance(found, Found)
        assert found.entry.changed_at == pytest.approx(time.time() + ahead, abs=5)
        at_hand = wrong.peek(ORIGIN)
        assert at_hand == found.entry


class TestOutages:
    """An outage is a miss, and its answers are in Redis afterwards."""

    @pytest.mark.slow
    def test_local_tier_serves_an_outage(
        self, own: RedisServer, made: Maker, tmp_path: Path
    ) -> None:
        """Workers of one machine share it: one of them fetches."""
        path = tmp_path / "robots.sqlite"
        one, two = (made(own.url, SqliteStore(path, 1 << 30)) for _ in range(2))
        assert isinstance(claim(one, OTHER), Leased)
        own.kill()
        lease = leased(one)
        busy = claim(two)
        assert isinstance(busy, Busy)
        assert busy.entry is None
        assert one.renew(lease, seconds=15.0).result() is not None
        entry = fresh_entry()
        assert one.commit(entry, lease).result() is True
        until(lambda: two.peek(ORIGIN) == entry)
        assert claim(two) == Found(entry)
        own.start()
        third = made(own.url)
        until(lambda: third.look(ORIGIN).result() == entry)

    def test_outage_without_a_local_tier_is_an_error(self, own: RedisServer, made: Maker) -> None:
        store = made(own.url)
        lease = leased(store)
        own.kill()
        with pytest.raises(StoreError):
            claim(store)
        with pytest.raises(StoreError):
            store.commit(fresh_entry(), lease).result()
        with pytest.raises(StoreError):
            store.keys()
        own.start()
        until(lambda: not isinstance(_tried(store), StoreError))

    def test_newer_entry_in_redis_stays(self, own: RedisServer, made: Maker) -> None:
        with SlowLine(own.port) as line:
            cut_off, other = made(line.url, memory()), made(own.url, memory())
            leased(cut_off, OTHER)
            line.refuses = True
            line.cut()
            old, new = file_entry(at=time.time() - 60), fresh_entry(body=b"new")
            cut_off.commit(old, leased(cut_off)).result()
            other.commit(new, leased(other)).result()
            line.refuses = False
            until(lambda: cut_off._sending is not None and cut_off._sending.done())
            assert other.look(ORIGIN).result() == new
            assert claim(cut_off) == Found(new)

    def test_frozen_redis_is_an_outage(self, own: RedisServer, made: Maker) -> None:
        store = made(own.url, memory())
        theirs = leased(store, OTHER)
        own.freeze()
        began = time.monotonic()
        futures = [
            store.claim(Origin("http", f"h{n}", 80), seconds=15.0, fresh_seconds=0.0)
            for n in range(100)
        ]
        assert all(isinstance(future.result(20), Leased) for future in futures)
        assert store.commit(fresh_entry(OTHER), theirs).result() is True
        assert time.monotonic() - began < 5
        own.thaw()
        until(lambda: not store._unsent and store._link.is_up)
        assert body_of(store.look(OTHER).result()) == BODY

    @pytest.mark.slow
    def test_lease_lasts_to_its_end_in_an_outage(self, own: RedisServer, made: Maker) -> None:
        store = made(own.url, memory())
        found = store.claim(ORIGIN, seconds=4.0, fresh_seconds=0.0).result()
        assert isinstance(found, Leased)
        own.freeze()
        assert store.renew(found.lease, seconds=4.0).result() == found.lease
        time.sleep(4.0)
        assert store.renew(found.lease, seconds=4.0).result() is None

    def test_lease_survives_an_emptied_redis(self, redis_server: RedisServer, made: Maker) -> None:
        one, two = made(redis_server.url, memory()), made(redis_server.url, memory())
        lease = leased(one)
        redis_server.flush()
        entry = fresh_entry()
        assert one.commit(entry, lease).result() is True
        assert claim(two) == Found(entry)

    def test_emptied_redis_gives_the_lease_to_another(
        self, redis_server: RedisServer, made: Maker
    ) -> None:
        one, two = made(redis_server.url, memory()), made(redis_server.url, memory())
        late = leased(one)
        redis_server.flush()
        successor = leased(two)
        assert one.renew(late, seconds=15.0).result() is None
        assert one.commit(fresh_entry(body=b"late"), late).result() is False
        assert one.peek(ORIGIN) is None
        assert two.commit(fresh_entry(), successor).result() is True

    def test_full_redis_loses_no_entry(
        self, own: RedisServer, made: Maker, caplog: pytest.LogCaptureFixture
    ) -> None:
        store = made(own.url, memory())
        leased(store, OTHER)
        with own.client() as client:
            client.config_set("maxmemory", "1")
            entry = fresh_entry()
            lease = leased(store)
            assert store.commit(entry, lease).result() is True
            assert store.peek(ORIGIN) == entry
            assert store._link.is_up, "it answers"
            client.config_set("maxmemory", "0")
        store.commit(fresh_entry(OTHER), None).result()
        until(lambda: store.look(ORIGIN).result() == entry)
        told = [record.getMessage() for record in caplog.records if record.levelno == 30]
        assert len(told) == 1
        assert "OutOfMemory" in told[0]
        assert "lower REP_STORE_OCTETS" in told[0]

    def test_lost_replies_repeat_no_work(self, redis_server: RedisServer, made: Maker) -> None:
        """The scripts ran: the lease is this worker's own, and so is the entry."""
        with SlowLine(redis_server.port) as line:
            store = made(line.url, memory())
            leased(store, OTHER)
            claimed = _while_replies_are_lost(
                line, lambda: store.claim(ORIGIN, seconds=15.0, fresh_seconds=0.0)
            )
            assert isinstance(claimed, Leased)
            entry = fresh_entry()
            assert _while_replies_are_lost(line, lambda: store.commit(entry, claimed.lease)) is True
            assert store.look(ORIGIN).result() == entry
            assert not store._unsent, "it was not kept in front alone"
            assert isinstance(store._local, MemoryStore)
            assert not store._local._leases, "nor was it leased there"


def _while_replies_are_lost(line: SlowLine, start: Callable[[], Future[Value]]) -> Value:
    line.swallows = True
    future = start()
    time.sleep(0.15)  # the script has run, and the caller still waits
    line.swallows = False
    return future.result(20)


def _tried(store: RedisStore, origin: Origin = ORIGIN) -> Claim | StoreError:
    try:
        return claim(store, origin, math.inf)
    except StoreError as error:
        return error


@pytest.mark.parametrize(
    "known",
    [
        Knowledge(),
        Knowledge(file_entry(at=1000.0).known.copy),
        Knowledge(None, outage_entry(at=2000.0).known.outage),
        Knowledge(file_entry(at=1000.0).known.copy, outage_entry(at=2000.0).known.outage),
    ],
)
def test_every_time_is_shifted(known: Knowledge) -> None:
    entry = Entry(ORIGIN, known)
    later = shifted(entry, 7.0)
    assert shifted(later, -7.0) == entry
    copy, outage = later.known.copy, later.known.outage
    assert copy is None or (copy.fetched_at, copy.confirmed_at) == (1007.0, 1007.0)
    assert outage is None or (outage.since, outage.failed_at) == (2007.0, 2007.0)
    if known != Knowledge():
        assert later.changed_at == entry.changed_at + 7
        assert later.fresh_until == entry.fresh_until + 7
