"""Former versions of files in SQLite, and in the local tier of Redis."""

from __future__ import annotations

import random
import sqlite3
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path

import pytest

from scrapy_rep.cache.base import Leased, Remembering, Store
from scrapy_rep.cache.entry import Entry, as_of
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.access.knowledge import Copy, Knowledge
from scrapy_rep.protocol.access.origin import Origin
from tests.cache.samples import NOW, ORIGIN, OTHER, file_entry, outage_entry, usual_key
from tests.redis_server import RedisServer, a_loop, redis_store

KEY = usual_key(ORIGIN)
LIMIT = 1 << 30


def made(folder: Path, versions: int) -> Store:
    return SqliteStore(folder / "robots.sqlite", LIMIT, versions=versions)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = made(tmp_path, 3)
    yield store
    store.close()


def keep(store: Store, *bodies: bytes, first: int = 0) -> None:
    """Commit an answer an hour."""
    for number, body in enumerate(bodies, start=first):
        entry = file_entry(KEY, at=NOW + 3600 * number, body=body)
        assert store.commit(entry, None).result()


def versions(store: Store, origin: Origin = KEY) -> list[Copy]:
    assert isinstance(store, Remembering)
    return store.versions(origin).result()


def bodies(store: Store, origin: Origin = KEY) -> list[bytes]:
    return [copy.body for copy in versions(store, origin)]


class TestKept:
    def test_leases_leave_memory_with_their_entries(self, store: Store) -> None:
        def fetch(number: int) -> None:
            key = usual_key(Origin("http", f"h{number}", 80))
            claim = store.claim(key, seconds=15, fresh_seconds=0).result()
            assert isinstance(claim, Leased)
            assert store.commit(file_entry(key), claim.lease).result()

        fetch(0)
        tracemalloc.start()
        try:
            for number in range(1, 201):
                fetch(number)
            octets, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert octets < 100 * 200

    def test_same_answer_confirms_the_version(self, store: Store) -> None:
        keep(store, b"a", b"a", b"b", b"b", b"b")
        second, first = versions(store)
        assert (first.fetched_at, first.confirmed_at) == (NOW, NOW + 3600)
        assert (second.fetched_at, second.confirmed_at) == (NOW + 7200, NOW + 4 * 3600)

    def test_missing_file_is_a_version(self, store: Store) -> None:
        keep(store, b"")
        copy = file_entry(KEY, at=NOW + 9, body=b"").known.copy
        assert copy is not None
        store.commit(Entry(KEY, Knowledge(replace(copy, event=404))), None).result()
        assert [copy.event for copy in versions(store)] == [404, 200]

    def test_outage_is_not_a_version(self, store: Store) -> None:
        keep(store, b"a")
        copy = file_entry(KEY, body=b"a").known.copy
        outage = outage_entry(KEY, at=NOW + 5).known.outage
        store.commit(Entry(KEY, Knowledge(copy, outage)), None).result()
        store.commit(outage_entry(KEY, at=NOW + 7), None).result()
        assert bodies(store) == [b"a"]

    def test_older_answer_is_not_kept(self, store: Store) -> None:
        keep(store, b"a", b"b", first=9)
        keep(store, b"c", first=8)
        assert bodies(store) == [b"b", b"a"]

    def test_each_key_has_its_own_versions(self, store: Store) -> None:
        keep(store, b"a", b"b")
        store.commit(file_entry(usual_key(OTHER)), None).result()
        assert len(versions(store, usual_key(OTHER))) == 1
        assert versions(store, ORIGIN) == []

    def test_versions_are_forgotten_with_the_entry(self, store: Store) -> None:
        keep(store, b"a", b"b")
        store.forget(KEY).result()  # type: ignore[attr-defined]
        assert bodies(store) == []
        keep(store, b"c", first=5)
        assert bodies(store) == [b"c"]

    def test_any_sequence_of_answers_keeps_the_newest(self, tmp_path: Path) -> None:
        """Against the plain meaning: runs of equal answers, the last n."""
        draw = random.Random(7)
        for case in range(20):
            count = draw.randint(1, 5)
            answers = [draw.choice([b"a", b"b", b"c"]) for _ in range(30)]
            runs = [body for n, body in enumerate(answers) if n == 0 or answers[n - 1] != body]
            with closing(made(tmp_path / str(case), count)) as store:
                keep(store, *answers)
                assert bodies(store) == runs[-count:][::-1]


class TestSwitch:
    def test_versions_are_off_by_default(self, tmp_path: Path) -> None:
        with closing(made(tmp_path, 0)) as store:
            keep(store, b"a", b"b")
            assert versions(store) == []

    def test_versions_begin_when_they_are_switched_on(self, tmp_path: Path) -> None:
        """An old file is read on, and what it has is the first version."""
        with closing(made(tmp_path, 0)) as store:
            keep(store, b"a")
        with closing(made(tmp_path, 5)) as store:
            assert store.peek(KEY) == file_entry(KEY, body=b"a")
            keep(store, b"b", first=1)
            assert bodies(store) == [b"b", b"a"]
        with closing(made(tmp_path, 0)) as store:
            keep(store, b"c", first=2)
            assert bodies(store) == [b"b", b"a"], "nothing is added, and nothing lost"


class TestDamage:
    @pytest.mark.parametrize("record", [b"", b"REP\x02", b"\xff" * 99, "text", None, 7])
    def test_damaged_version_is_left_out(self, tmp_path: Path, record: object) -> None:
        with closing(made(tmp_path, 5)) as store:
            keep(store, b"a", b"b")
            with closing(sqlite3.connect(tmp_path / "robots.sqlite")) as plain:
                value = "" if record is None else record
                plain.execute(
                    "update versions_3 set record = ? where id = (select max(id) from versions_3)",
                    (value,),
                )
                plain.commit()
            assert bodies(store) == [b"a"]
            keep(store, b"c", first=2)
            assert bodies(store)[0] == b"c"
            assert b"a" in bodies(store)


class TestBound:
    def test_versions_are_deleted_before_entries(self, tmp_path: Path) -> None:
        """The limit of the file holds for both."""
        draw = random.Random(3)
        with closing(SqliteStore(tmp_path / "r.sqlite", 1 << 18, versions=100)) as store:
            for number in range(600):
                body = draw.randbytes(3000)
                entry = file_entry(usual_key(Origin("http", f"h{number % 9}", 80)), body=body)
                store.commit(entry, None).result()
            assert len(store.keys()) == 9
        assert (tmp_path / "r.sqlite").stat().st_size < 1 << 21


def test_version_of_an_instant(store: Store) -> None:
    keep(store, b"a", b"b", b"b")
    known = versions(store)
    assert as_of(known, NOW - 1) is None
    found = [as_of(known, NOW + seconds) for seconds in (0, 3599, 3600, 10**9)]
    assert [copy and copy.body for copy in found] == [b"a", b"a", b"b", b"b"]


@pytest.mark.parametrize("local", ["sqlite", "memory", None])
def test_redis_store_has_versions_of_its_local_tier(
    redis_server: RedisServer, tmp_path: Path, local: str | None
) -> None:
    with ExitStack() as undo:
        loop = undo.enter_context(a_loop())
        tiers = {"sqlite": made(tmp_path, 5), "memory": MemoryStore(1 << 20), None: None}
        tier = tiers[local]
        store = redis_store(redis_server.url, tier, loop)
        keep(store, b"a", b"b")
        assert bodies(store) == ([b"b", b"a"] if local == "sqlite" else [])
        closing_ = store.close()
        assert closing_ is not None
        closing_.result()
