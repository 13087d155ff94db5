"""The SQLite store on its own ground: files that are large, broken, locked, full or forbidden."""

from __future__ import annotations

import dataclasses
import logging
import math
import os
import random
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

from scrapy_rep.cache import database, rows, writes
from scrapy_rep.cache.base import Busy, Claim, Found, Lease, Leased, StoreError
from scrapy_rep.cache.codec import encode
from scrapy_rep.cache.entry import key_of
from scrapy_rep.cache.place import Place
from scrapy_rep.cache.sqlite import SqliteStore, _text
from scrapy_rep.protocol.access.origin import Origin
from tests.cache.samples import NOW, ORIGIN, OTHER, body_of, file_entry, outage_entry
from tests.crawling import REPOSITORY

LARGE = 1 << 30


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "robots.sqlite"


@pytest.fixture(params=["at once", "in the thread"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where short writes are done, all of them."""
    monkeypatch.setattr(writes, "_TO_THREAD", (0 if request.param == "at once" else 9, 9))
    monkeypatch.setattr(writes, "_SLOW_SECONDS", math.inf)


@contextmanager
def opened(
    path: Path, limit_octets: int = LARGE, *, is_for_crawl: bool = False
) -> Iterator[SqliteStore]:
    store = SqliteStore(path, limit_octets, is_for_crawl=is_for_crawl)
    try:
        yield store
    finally:
        store.close()


def fill(store: SqliteStore, count: int, octets: int = 10, first: int = 0) -> None:
    lots = random.Random(first)
    for number in range(first, first + count):
        entry = file_entry(
            Origin("http", f"h{number}", 80), at=NOW + number, body=lots.randbytes(octets)
        )
        store.commit(entry, None).result()
    at_rest(store)


def at_rest(store: SqliteStore) -> None:
    """Wait for what is queued."""
    while store._writes._is_called:
        time.sleep(0.001)


def kept(store: SqliteStore, count: int) -> list[int]:
    return [n for n in range(count) if store.peek(Origin("http", f"h{n}", 80)) is not None]


def claimed(store: SqliteStore, origin: Origin = ORIGIN) -> Claim:
    return store.claim(origin, seconds=15, fresh_seconds=math.inf).result()


def leased(store: SqliteStore, origin: Origin = ORIGIN) -> Lease:
    claim = claimed(store, origin)
    assert isinstance(claim, Leased)
    return claim.lease


def held(path: Path) -> FileLock:
    """What another process holds while it opens the file."""
    return FileLock(path.with_name(path.name + ".lock"))


def aside(path: Path) -> list[Path]:
    """The damaged files that were kept, without their logs."""
    files = (file for file in path.parent.iterdir() if ".damaged-" in file.name)
    return sorted(file for file in files if not file.name.endswith(("-wal", "-shm")))


def spoilt(path: Path) -> bytes:
    """What a file holds once its second half, behind the inner pages, is overwritten in place."""
    half = path.stat().st_size // 2
    with path.open("r+b") as file:
        file.seek(half)
        file.write(b"\x5a" * half)
    return path.read_bytes()


@pytest.mark.usefixtures("way")
class TestLife:
    """Opening, sharing, closing."""

    def test_entries_outlive_the_store(self, path: Path) -> None:
        with opened(path) as store:
            store.commit(file_entry(), None)  # closing writes what is to be written
        with opened(path) as store:
            assert store.peek(ORIGIN) == file_entry()

    def test_two_stores_share_a_file(self, path: Path) -> None:
        with opened(path) as one, opened(path) as two:
            assert two.peek(ORIGIN) is None
            lease = leased(one)
            assert isinstance(claimed(two), Busy)
            one.commit(file_entry(), lease).result()
            assert two.peek(ORIGIN) == file_entry()
            assert isinstance(claimed(two), Leased)

    def test_many_threads_may_write(self, path: Path) -> None:
        with opened(path) as store:
            threads = [
                threading.Thread(target=fill, args=(store, 50), kwargs={"first": 50 * n})
                for n in range(6)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(kept(store, 300)) == 300

    def test_the_tables_of_another_version_are_left_alone(self, path: Path) -> None:
        with closing(sqlite3.connect(path)) as newer:
            newer.execute("create table files_4 (origin text, whatever blob)")
            newer.execute("insert into files_4 values ('http://h', x'00')")
            newer.execute("pragma user_version = 4")
            newer.commit()
        with opened(path) as store:
            store.commit(file_entry(), None).result()
            assert store.peek(ORIGIN) == file_entry()
        with closing(sqlite3.connect(path)) as newer:
            assert newer.execute("select * from files_4").fetchall() == [("http://h", b"\0")]
            assert newer.execute("pragma user_version").fetchone() == (4,)

    @pytest.mark.parametrize("table", ["entries_1", "entries_2"])
    def test_a_file_of_an_earlier_version_is_left_aside(self, path: Path, table: str) -> None:
        """Neither read, nor deleted, nor counted: it holds more than the limit of ours."""
        rows = [(f"http://h{number}", NOW, b"REP\x01" + bytes(5000)) for number in range(400)]
        with closing(sqlite3.connect(path)) as before:
            before.execute(
                f"create table {table} (origin text primary key, changed_at real not null, "
                "record blob not null)"
            )
            before.executemany(f"insert into {table} values (?, ?, ?)", rows)
            before.commit()
        for _ in range(2):
            with opened(path, 1 << 18) as store:
                assert kept(store, 400) == []
                assert store.keys() == []
                fill(store, 3)
                assert kept(store, 400) == [0, 1, 2]
                for number in range(3):
                    assert store.forget(Origin("http", f"h{number}", 80)).result()
        with closing(sqlite3.connect(path)) as before:
            found = before.execute(f"select * from {table} order by rowid").fetchall()
        assert found == rows

    @pytest.mark.parametrize("record", [b"", b"REP\x01whatever", "text", 5, None, b"\0" * 99])
    def test_a_record_that_cannot_be_read_is_a_miss(self, path: Path, record: object) -> None:
        with opened(path) as store:
            _put(path, ORIGIN, b"" if record is None else record)
            assert store.peek(ORIGIN) is None
            store.commit(file_entry(), None).result()
            assert store.peek(ORIGIN) == file_entry()

    def test_a_record_that_is_no_text_either_is_a_miss(self, path: Path) -> None:
        with opened(path) as store:
            _put(path, ORIGIN, encode(file_entry()))
            with closing(sqlite3.connect(path)) as plain:
                plain.execute("update files_3 set record = cast(record as text)")
                plain.commit()
            assert store.peek(ORIGIN) is None

    def test_a_record_under_another_origin_is_a_miss(self, path: Path) -> None:
        with opened(path) as store:
            _put(path, OTHER, encode(file_entry(ORIGIN)))
            assert store.peek(OTHER) is None

    def test_a_lease_is_no_entry_to_those_who_only_read(self, path: Path) -> None:
        with opened(path) as store:
            leased(store, OTHER)
            store.commit(file_entry(), None).result()
            assert store.keys() == [key_of(ORIGIN)]
            ((first, stop),) = rows.spans(path, 10)
            assert [*rows.read_entries(path, first, stop)] == [store.peek(key_of(ORIGIN))]
            assert [*rows._one_by_one(path, first, stop)] == [store.peek(key_of(ORIGIN))]

    @pytest.mark.parametrize("key", ["cast(x'ff80' as text)", "x'00ff'", "null", "7"])
    def test_a_key_that_nobody_wrote_hides_no_other(self, path: Path, key: str) -> None:
        with opened(path) as store:
            store.commit(file_entry(), None).result()
            with closing(sqlite3.connect(path, isolation_level=None)) as plain:
                plain.execute(f"insert into files_3 (key, record) values ({key}, x'00')")
            assert store.keys() == [key_of(ORIGIN)]

    def test_a_store_that_is_closed_is_no_damaged_one(self, path: Path) -> None:
        """What is under way when a crawl ends may still look: a miss, or `StoreError`."""
        store = SqliteStore(path, LARGE)
        store.commit(file_entry(), None).result()
        store.close()
        with pytest.raises(StoreError):
            store.peek(ORIGIN)
        assert aside(path) == []
        with pytest.raises(StoreError):
            store.commit(file_entry(), None).result()
        assert path.exists()


@pytest.mark.usefixtures("way")
class TestBound:
    """`REP_STORE_MAX_OCTETS`."""

    def test_the_oldest_go_first(self, path: Path) -> None:
        with opened(path, 1 << 20) as store:
            fill(store, 1024, octets=3000)
            left = kept(store, 1024)
            assert left == list(range(1024 - len(left), 1024))
            assert 100 < len(left) < 600
        assert path.stat().st_size < 3 << 20

    def test_one_that_was_just_renewed_is_no_old_one(self, path: Path) -> None:
        with opened(path, 1 << 20) as store:
            fill(store, 255, octets=3000)
            store.commit(file_entry(Origin("http", "h0", 80), at=NOW + 9999), None).result()
            fill(store, 256, octets=3000, first=256)
            assert 0 in kept(store, 1)
            assert 1 not in kept(store, 2)

    def test_crawls_that_write_little_keep_to_it_as_well(self, path: Path) -> None:
        for crawl in range(40):
            with opened(path, 1 << 18) as store:
                fill(store, 20, octets=3000, first=20 * crawl)
        assert path.stat().st_size < 1 << 20

    @pytest.mark.parametrize("until", ["soon", b"\xff", 1e300])
    def test_a_damaged_lease_holds_nobody_up(self, path: Path, until: object) -> None:
        with opened(path) as store:
            leased(store)
            with closing(sqlite3.connect(path, isolation_level=None)) as plain:
                plain.execute("update files_3 set until = ?", (until,))
            assert isinstance(claimed(store), Leased)

    @pytest.mark.parametrize("pages", ["many", b"\xff", 1e300, None])
    def test_a_damaged_count_of_pages_stops_no_write(self, path: Path, pages: object) -> None:
        with opened(path) as store:
            fill(store, 1)
        with closing(sqlite3.connect(path, isolation_level=None)) as plain:
            if pages is None:
                plain.execute("delete from others_3")
            else:
                plain.execute("update others_3 set pages = ?", (pages,))
        with opened(path) as store:
            assert store.commit(file_entry(OTHER), None).result()

    def test_leases_of_the_dead_go_first(self, path: Path) -> None:
        def leases() -> int:
            with closing(sqlite3.connect(path)) as plain:
                select = "select count(*) from files_3 where token is not null"
                return int(plain.execute(select).fetchone()[0])

        with closing(SqliteStore(path, LARGE, lambda: NOW - 10**8)) as store:
            for number in range(50):
                leased(store, Origin("http", f"dead{number}", 80))
        with opened(path, 1 << 20) as store:
            fill(store, 256)
            assert leases() == 50
            living = leased(store)
            fill(store, 512, octets=3000)
            assert leases() == 1
            assert store.commit(file_entry(), living).result(20)
            assert kept(store, 1) == [], "the oldest of the others went, too"

    def test_what_is_fetched_anew_stays(self, path: Path) -> None:
        with closing(SqliteStore(path, LARGE, lambda: NOW + 10**8)) as store:
            leased(store, Origin("http", "h1", 80))  # by a clock that is wrong
        with opened(path, 1 << 20) as store:
            fill(store, 256)
            fetched = store.claim(Origin("http", "h0", 80), seconds=15, fresh_seconds=math.inf)
            assert isinstance(fetched.result(20), Leased)
            fill(store, 512, octets=3000, first=2)
            assert kept(store, 3) == [0]


@pytest.mark.usefixtures("way")
class TestDamage:
    """A file that is broken is set aside, not deleted, and a new one made."""

    @pytest.mark.parametrize(
        "octets", [b"this is no database at all" * 99, b"SQLite format 3\0" + b"\xff" * 4080]
    )
    def test_at_the_start(
        self, path: Path, octets: bytes, caplog: pytest.LogCaptureFixture
    ) -> None:
        path.write_bytes(octets)
        with opened(path) as store:
            store.commit(file_entry(), None).result()
            assert store.peek(ORIGIN) == file_entry()
        (damaged,) = aside(path)
        assert damaged.read_bytes() == octets
        assert [record.levelno for record in caplog.records] == [logging.WARNING]
        assert damaged.name in caplog.text

    def test_while_it_is_used(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 500, octets=2000)
        with opened(path) as store:
            octets = spoilt(path)
            with pytest.raises(StoreError):
                kept(store, 500)
            assert [file.read_bytes() for file in aside(path)] == [octets]
        with opened(path) as store:
            fill(store, 3)
            assert kept(store, 500) == [0, 1, 2]

    def test_while_it_is_written(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 500, octets=2000)
        with opened(path) as store:
            octets = spoilt(path)
            with pytest.raises(StoreError):
                fill(store, 500, octets=2000)
            assert octets[: 1 << 16] in [file.read_bytes()[: 1 << 16] for file in aside(path)]
        with opened(path) as store:
            fill(store, 3)
            assert kept(store, 500) == [0, 1, 2]

    def test_what_another_process_made_new_is_not_set_aside(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 500, octets=2000)
        with opened(path) as one, opened(path) as two:
            octets = spoilt(path)
            with pytest.raises(StoreError):
                kept(one, 500)
            with opened(path) as new:
                new.commit(file_entry(), None).result()
            with pytest.raises(StoreError):
                kept(two, 500)
            with opened(path) as new:
                assert new.peek(ORIGIN) == file_entry()
        assert [file.read_bytes() for file in aside(path)] == [octets]

    def test_the_same_store_goes_on_with_a_new_file(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 500, octets=2000)
        with opened(path) as store:
            octets = spoilt(path)
            with pytest.raises(StoreError):
                kept(store, 500)
            fill(store, 3)
            assert kept(store, 500) == [0, 1, 2]
            assert [file.read_bytes() for file in aside(path)] == [octets]
        with opened(path) as store:
            assert kept(store, 500) == [0, 1, 2]

    @pytest.mark.parametrize("suffixes", [("", "-wal", "-shm"), ("",)])
    def test_what_others_put_in_its_place_is_used(
        self, path: Path, suffixes: tuple[str, ...]
    ) -> None:
        """As a process does that finds damage; and whoever deletes the file does."""
        with opened(path) as old:
            leased(old)
            for suffix in suffixes:
                path.with_name(path.name + suffix).rename(path.with_name(f"aside{suffix}"))
            with opened(path) as new:
                leased(new)
                assert isinstance(claimed(old), Busy), "there is one holder"
                new.commit(file_entry(OTHER), None).result()
                assert old.peek(OTHER) == file_entry(OTHER)

    def test_a_file_that_was_deleted_is_made_anew(self, path: Path) -> None:
        with opened(path) as one, opened(path) as two:
            for file in path.parent.iterdir():
                file.unlink()
            leased(one)
            assert path.exists()
            assert isinstance(claimed(two), Busy)

    def test_where_it_cannot_be_set_aside(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def forbidden(self: Path, target: Path) -> Path:
            raise PermissionError(13, "Permission denied", str(target))

        with opened(path) as store:
            fill(store, 500, octets=2000)
        monkeypatch.setattr(Path, "rename", forbidden)
        with opened(path) as store:
            spoilt(path)
            with pytest.raises(StoreError):
                kept(store, 500)
            with pytest.raises(StoreError):
                fill(store, 500, octets=2000)


@contextmanager
def at_work(store: SqliteStore) -> Iterator[None]:
    """Its thread is busy meanwhile, so that what is written is queued."""
    rest = threading.Event()
    store._thread.submit(rest.wait, 20)
    try:
        yield
    finally:
        rest.set()


class TestTogether:
    """What is queued shares a transaction, and no failure."""

    def test_one_transaction_for_many(self, path: Path) -> None:
        done: list[str] = []
        with opened(path) as store:
            writer = store._database.writer()
            writer.set_trace_callback(done.append)
            with at_work(store):
                queued = [
                    store.commit(file_entry(Origin("http", f"h{n}", 80)), None) for n in range(50)
                ]
            assert all(future.result(20) for future in queued)
            assert kept(store, 50) == list(range(50))
            writer.set_trace_callback(None)
        assert [word for word in done if word in ("begin immediate", "commit")] == [
            "begin immediate",
            "commit",
        ]

    def test_one_that_raises(self, path: Path) -> None:
        nothing: list[int] = []
        with opened(path) as store:
            with at_work(store):
                first = store.commit(file_entry(), None)
                wrong = store._writes.add(None, lambda _: nothing.pop())
                last = store.commit(file_entry(OTHER), None)
            assert first.result(20)
            assert last.result(20)
            with pytest.raises(IndexError):
                wrong.result(20)
            assert store.peek(ORIGIN) == file_entry()
            assert store.peek(OTHER) == file_entry(OTHER)

    def test_what_comes_before_an_error_of_the_file_is_kept(self, path: Path) -> None:
        with opened(path) as store:
            with at_work(store):
                first = store.commit(file_entry(), None)
                wrong = store._writes.add(
                    None, lambda writer: writer.execute("insert into nothing values (1)")
                )
                last = store.commit(file_entry(OTHER), None)
            assert first.result(20)
            for future in (wrong, last):
                with pytest.raises(StoreError, match="nothing"):
                    future.result(20)
            assert store.peek(ORIGIN) == file_entry()
            assert store.commit(file_entry(OTHER), None).result(20)

    def test_one_lease_for_two_claims(self, path: Path) -> None:
        with opened(path) as store:
            with at_work(store):
                claims = [store.claim(ORIGIN, seconds=15, fresh_seconds=0) for _ in range(2)]
            assert [type(claim.result(20)) for claim in claims] == [Leased, Busy]

    @pytest.mark.parametrize("error", [OSError("gone"), ValueError("odd"), MemoryError()])
    def test_nobody_waits_for_ever_if_there_is_no_connection(
        self, path: Path, error: Exception, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def connected() -> None:
            raise error

        with opened(path) as store:
            path.unlink()
            with monkeypatch.context() as patched:
                patched.setattr(store._database, "_connected", connected)
                with at_work(store):
                    queued = [
                        store.claim(one, seconds=15, fresh_seconds=0) for one in (ORIGIN, OTHER)
                    ]
                assert [future.exception(5) for future in queued] == [error, error]
            assert store.commit(file_entry(), None).result(20)

    @pytest.mark.parametrize("error", [sqlite3.DataError("too long"), sqlite3.IntegrityError("no")])
    def test_an_error_of_one_write_is_that_of_no_other(self, path: Path, error: Exception) -> None:
        def work(_: object) -> None:
            raise error

        with opened(path) as store:
            with at_work(store):
                wrong = store._writes.add(None, work)
                last = store.commit(file_entry(), None)
            with pytest.raises(StoreError, match=str(error)):
                wrong.result(20)
            assert last.result(20)

    def test_a_transaction_that_cannot_be_undone_is_undone_before_the_next(
        self, path: Path
    ) -> None:
        class Stubborn:
            """A connection whose first rollback fails."""

            def __init__(self, connection: sqlite3.Connection) -> None:
                self._connection = connection
                self.refused = 0

            def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
                if statement == "rollback" and not self.refused:
                    self.refused += 1
                    raise sqlite3.OperationalError("disk I/O error")
                return self._connection.execute(statement, *arguments)

            def __getattr__(self, name: str) -> object:
                return getattr(self._connection, name)

        with opened(path) as store:
            stubborn = Stubborn(store._database.writer())
            store._writes._connection = lambda: stubborn  # type: ignore[assignment, return-value]
            with pytest.raises(StoreError, match="nothing"):
                store._writes.add(
                    None, lambda writer: writer.execute("insert into nothing values (1)")
                ).result(20)
            assert stubborn.refused == 1
            assert store.commit(file_entry(), None).result(20)

    def test_it_closes_while_other_threads_write(self, path: Path) -> None:
        store = SqliteStore(path, LARGE)
        queued: list[Future[bool]] = []

        def write_until_it_is_closed() -> str:
            while True:
                future = store.commit(file_entry(), None)
                queued.append(future)
                if future.done() and (error := future.exception()) is not None:
                    return str(error)

        with ThreadPoolExecutor(4) as threads:
            ends = [threads.submit(write_until_it_is_closed) for _ in range(4)]
            while not queued or not queued[0].done():
                time.sleep(0.001)
            store.close()
            assert all("closed" in end.result(20) for end in ends)
        assert all(future.done() for future in queued)

    def test_nobody_waits_for_ever_whatever_fails(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def nothing(_: object) -> None:
            raise KeyError("nothing")

        with opened(path) as store:
            with monkeypatch.context() as patched:
                patched.setattr(store._writes, "_hopeful", nothing)
                with pytest.raises(KeyError, match="nothing"):
                    store.commit(file_entry(), None).result(20)
            assert store.commit(file_entry(), None).result(20)

    def test_a_thread_that_has_ended(self, path: Path) -> None:
        store = SqliteStore(path, LARGE)
        store._thread.shutdown()  # as the interpreter does it at its end; the first two are for it
        for _ in range(2):
            with pytest.raises(StoreError, match="shutdown"):
                store.commit(file_entry(), None).result(20)
        store._database.close()

    def test_more_than_fit_into_one(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(writes, "_TOGETHER", 3)
        with opened(path) as store:
            with at_work(store):
                queued = [
                    store.commit(file_entry(Origin("http", f"h{n}", 80)), None) for n in range(8)
                ]
            assert all(future.result(20) for future in queued)
            assert kept(store, 8) == list(range(8))


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All short writes are done at once, if nothing is in the way."""
    monkeypatch.setattr(writes, "_TO_THREAD", (0, 9))
    monkeypatch.setattr(writes, "_SLOW_SECONDS", math.inf)


def wal_octets(path: Path) -> int:
    return path.with_name(path.name + "-wal").stat().st_size


def wal_salt(path: Path) -> bytes:
    """What differs each time the log is begun."""
    return path.with_name(path.name + "-wal").read_bytes()[16:24]


class Odd:
    """A connection that does something else at one statement."""

    def __init__(
        self, connection: sqlite3.Connection, statement: str, instead: Callable[[], object]
    ) -> None:
        self._connection = connection
        self._statement = statement
        self._instead = instead

    def execute(self, statement: str, *arguments: Any) -> sqlite3.Cursor:
        if statement.startswith(self._statement):
            self._instead()
        return self._connection.execute(statement, *arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def make_odd(store: SqliteStore, statement: str, instead: Callable[[], object]) -> None:
    """Have something happen before a statement of what is done at once."""
    odd: Any = Odd(here_of(store), statement, instead)
    store._database._opened = dataclasses.replace(store._database._opened, here=odd)


def here_of(store: SqliteStore) -> sqlite3.Connection:
    return store._database._opened.here


class TestAtOnce:
    """Short writes are done where they are asked for, as long as nothing is in the way."""

    @pytest.mark.usefixtures("at_once")
    def test_short_ones(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 3)
            with at_work(store):
                claim = store.claim(ORIGIN, seconds=15, fresh_seconds=0)
                assert claim.done()
                lease = claim.result().lease  # type: ignore[union-attr]
                renewed = store.renew(lease, seconds=30)
                assert renewed.done()
                assert renewed.result() is not None
                committed = store.commit(file_entry(), lease)
                assert committed.done()
                assert store.peek(ORIGIN) == file_entry()
                lease = store.claim(ORIGIN, seconds=15, fresh_seconds=math.inf).result().lease  # type: ignore[union-attr]
                assert store.release(lease).done()
                assert isinstance(claimed(store), Leased)

    @pytest.mark.usefixtures("at_once")
    def test_what_nearly_all_of_them_are_is_one_statement(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 3)
            make_odd(store, "begin", fail)
            with at_work(store):
                lease = leased(store)
                assert store.renew(lease, seconds=30).done()
                assert store.commit(file_entry(), lease).done()
                assert store.commit(file_entry(OTHER), None).done()
            assert store.peek(ORIGIN) == file_entry()

    @pytest.mark.usefixtures("at_once")
    def test_a_large_file_is_deflated_in_the_thread(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 3)
            with at_work(store):
                small = store.commit(file_entry(body=b"a" * (1 << 14)), None)
                assert small.done()
                large = store.commit(file_entry(body=b"a" * ((1 << 14) + 1)), None)
                assert not large.done()
                behind = store.claim(ORIGIN, seconds=15, fresh_seconds=0)
                assert not behind.done(), "it is of the same origin, and comes later"
                assert store.claim(OTHER, seconds=15, fresh_seconds=math.inf).done()
            assert large.result(20)
            at_rest(store)
            assert behind.result(20) == Found(file_entry(body=b"a" * ((1 << 14) + 1)))
            assert store.claim(ORIGIN, seconds=15, fresh_seconds=0).done(), "nothing is queued now"

    @pytest.mark.usefixtures("at_once")
    def test_versions_are_kept_in_the_thread(self, path: Path) -> None:
        with closing(SqliteStore(path, LARGE, versions=3)) as store:
            fill(store, 3)
            with at_work(store):
                assert store.claim(ORIGIN, seconds=15, fresh_seconds=0).done()
                assert not store.commit(file_entry(), None).done()

    def test_some_are_the_threads_in_any_case(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two in a row, at the beginning too, so that the log is moved while it is short."""
        monkeypatch.setattr(writes, "_SLOW_SECONDS", math.inf)
        there = []
        with opened(path) as store:
            for number in range(1100):
                with at_work(store) if number % 512 < 4 else nullcontext():
                    future = store.claim(ORIGIN, seconds=15, fresh_seconds=0)
                    there.append(not future.done())
                future.result(20)
                at_rest(store)
        found = [number for number, is_there in enumerate(there) if is_there]
        assert found == [0, 1, 512, 513, 1024, 1025]

    @pytest.mark.parametrize("claims", [9, 700, 1000])  # the log is kept, moved, and cut off
    def test_for_a_crawl_these_are_done_first(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, claims: int
    ) -> None:
        """Its first robots.txt would wait for the disk: a long log is moved, and begun anew."""
        with opened(path) as other:
            with monkeypatch.context() as patch:
                patch.setattr(writes, "_TO_THREAD", (0, 9))
                patch.setattr(writes, "_SLOW_SECONDS", math.inf)
                for number in range(claims):
                    leased(other, Origin("http", f"h{number}", 80))
            long = wal_salt(path)
            with opened(path, is_for_crawl=True) as store:
                at_rest(store)
                begun = wal_salt(path)
                assert (begun == long) == (claims == 9)
                with at_work(store):
                    assert store.claim(ORIGIN, seconds=15, fresh_seconds=0).done()
                assert wal_salt(path) == begun
            assert isinstance(claimed(other), Busy)

    def test_for_a_crawl_they_may_not_be_done_yet(self, path: Path) -> None:
        with opened(path):
            pass
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("begin immediate")
            began = time.monotonic()
            with opened(path, is_for_crawl=True) as store:
                claim = store.claim(ORIGIN, seconds=15, fresh_seconds=0)
                assert time.monotonic() - began < 4, "the thread waits for 5 s"
                assert not claim.done()
                other.execute("rollback")
                assert isinstance(claim.result(20), Leased)

    def test_what_is_asked_for_meanwhile_comes_behind_them(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 3)
            with at_work(store):
                store._begin_log()
                claim = store.claim(ORIGIN, seconds=15, fresh_seconds=0)
                assert not claim.done()
            assert isinstance(claim.result(20), Leased)

    def test_a_lock_that_is_not_let_go_of_is_waited_for_once(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database, "_BUSY_MILLISECONDS", 50)
        with opened(path):
            pass
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("begin immediate")
            with opened(path, is_for_crawl=True) as store:
                at_rest(store)
                assert store._writes._count == 1
                other.execute("rollback")
                leased(store)

    def test_a_crawl_that_ends_at_once(self, path: Path) -> None:
        for _ in range(50):
            with opened(path, is_for_crawl=True) as store:
                pass
            assert not store._writes._waiting

    def test_what_they_write_is_there_already(self, path: Path) -> None:
        with closing(sqlite3.connect(path)) as other:
            other.execute("pragma user_version = 7")
        with opened(path, is_for_crawl=True):
            pass
        with closing(sqlite3.connect(path)) as other:
            assert other.execute("pragma user_version").fetchone() == (7,)

    @pytest.mark.parametrize("others", [0, 1])
    def test_who_only_reads_writes_nothing(self, path: Path, others: int) -> None:
        with opened(path) as store:
            fill(store, 3)
        with opened(path) if others else nullcontext():
            before, at = path.read_bytes(), path.stat().st_mtime_ns
            with opened(path) as store:
                assert store.peek(Origin("http", "h1", 80)) is not None
                assert len(store.keys()) == 3
                assert wal_octets(path) == 0
            assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, at)

    def test_the_log_does_not_grow(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 3000, octets=3000)
            assert wal_octets(path) < 12 << 20
            assert path.stat().st_size > 6 << 20

    @pytest.mark.usefixtures("at_once")
    def test_none_of_them_moves_the_log_into_the_file(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 3)
            before = path.stat().st_size
            for number in range(1000):
                leased(store, Origin("http", f"h{number}", 80))
            assert wal_octets(path) > 6 << 20, "the thread would have moved it at 4"
            assert path.stat().st_size == before

    @pytest.mark.usefixtures("at_once")
    def test_a_lock_is_waited_for_in_the_thread(self, path: Path) -> None:
        with opened(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
            fill(store, 3)
            other.execute("begin immediate")
            began = time.monotonic()
            claim = store.claim(ORIGIN, seconds=15, fresh_seconds=0)
            assert time.monotonic() - began < 1
            assert not claim.done()
            other.execute("commit")
            assert isinstance(claim.result(20), Leased)

    @pytest.mark.usefixtures("at_once")
    def test_a_brief_lock_is_waited_for_here(self, path: Path) -> None:
        count = 0

        def locked() -> None:
            nonlocal count
            count += 1
            if count % 3:
                raise sqlite3.OperationalError("database is locked")

        with opened(path) as store:
            fill(store, 3)
            lease = leased(store)
            for statement in ("insert", "begin immediate", "select"):
                make_odd(store, statement, locked)
                with at_work(store):
                    if statement == "select":
                        assert store.peek(Origin("http", "h0", 80)) is not None
                    elif statement == "insert":
                        assert store.commit(file_entry(OTHER), None).done()
                    else:
                        assert store.release(lease).done()
                assert count == 3
                count = 0

    @pytest.mark.usefixtures("at_once")
    @pytest.mark.parametrize(
        "statement",
        ["begin immediate", "commit", "insert", "update files_3 set changed_at", "delete"],
    )
    def test_what_fails_is_undone_and_done_in_the_thread(self, path: Path, statement: str) -> None:
        failures: list[str] = []

        def fail() -> None:
            failures.append(statement)
            raise sqlite3.OperationalError("disk I/O error")

        with opened(path) as store:
            fill(store, 3)
            make_odd(store, statement, fail)
            lease = leased(store)
            assert isinstance(claimed(store), Busy), "there is one lease, of the second try"
            assert store.commit(file_entry(), lease).result(20)
            at_rest(store)
            assert store.peek(ORIGIN) == file_entry()
            lease = leased(store, OTHER)
            store.release(lease).result(20)
            assert isinstance(claimed(store, OTHER), Leased)
            assert failures

    @pytest.mark.usefixtures("at_once")
    def test_an_error_of_the_work_is_told(self, path: Path) -> None:
        connections = []

        def work(connection: sqlite3.Connection) -> None:
            connections.append(connection)
            connection.execute("delete from files_3")
            raise KeyError("odd")

        with opened(path) as store:
            fill(store, 3)
            leased(store)
            with pytest.raises(KeyError, match="odd"):
                store._writes.add(OTHER, work, is_short=True).result(20)
            assert connections == [here_of(store), store._database.writer()]
            assert isinstance(claimed(store), Busy), "what it did is undone"

    @pytest.mark.usefixtures("at_once")
    def test_one_that_cannot_be_undone_holds_nobody_up(self, path: Path) -> None:
        def fail() -> None:
            raise sqlite3.OperationalError("disk I/O error")

        with opened(path) as store, opened(path) as other:
            fill(store, 3)
            here = here_of(store)
            make_odd(store, "rollback", fail)
            with pytest.raises(StoreError, match="nothing"):
                store._writes.add(
                    ORIGIN,
                    lambda writer: writer.execute("insert into nothing values (1)"),
                    is_short=True,
                ).result(20)
            began = time.monotonic()
            leased(other)
            assert isinstance(claimed(store), Busy)
            store.commit(file_entry(OTHER), None).result(20)
            assert time.monotonic() - began < 4, "no lock is left"
            with pytest.raises(sqlite3.ProgrammingError, match="closed"):
                here.in_transaction  # noqa: B018
            at_rest(store)
            assert here_of(store) is not here
            assert store.peek(OTHER) == file_entry(OTHER)
            assert store.claim(OTHER, seconds=15, fresh_seconds=math.inf).done(), "as before"

    @pytest.mark.usefixtures("at_once")
    def test_an_interrupt_is_none_of_its_errors(self, path: Path) -> None:
        def interrupt() -> None:
            raise KeyboardInterrupt

        with opened(path) as store, opened(path) as other:
            fill(store, 3)
            lease = leased(store)
            make_odd(store, "commit", interrupt)
            with pytest.raises(KeyboardInterrupt):
                store.release(lease)
            assert isinstance(claimed(other), Busy), "it is undone"
            assert isinstance(claimed(other, OTHER), Leased), "the lock is free"

    @pytest.mark.usefixtures("at_once")
    def test_a_new_file_is_made_in_the_thread_and_used_at_once(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 3)
            for file in path.parent.iterdir():
                file.unlink()
            with at_work(store):
                claim = store.claim(ORIGIN, seconds=15, fresh_seconds=0)
                assert not claim.done()
            assert isinstance(claim.result(20), Leased)
            at_rest(store)
            with at_work(store):
                assert store.commit(file_entry(), claim.result().lease).done()  # type: ignore[union-attr]
            with opened(path) as other:
                assert other.peek(ORIGIN) == file_entry()

    @pytest.mark.usefixtures("at_once")
    def test_none_goes_to_the_old_file_while_a_new_one_is_opened(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        opening, go_on = threading.Event(), threading.Event()
        connected = database._make_tables

        def slowly(writer: sqlite3.Connection) -> None:
            opening.set()
            go_on.wait(20)
            connected(writer)

        with opened(path) as store:
            fill(store, 3)
            old = here_of(store)
            for file in path.parent.iterdir():
                file.unlink()
            monkeypatch.setattr(database, "_make_tables", slowly)
            first = store.claim(OTHER, seconds=15, fresh_seconds=0)
            assert opening.wait(20)
            assert path.exists(), "the new file is there, and nobody has it open yet"
            second = store.claim(ORIGIN, seconds=15, fresh_seconds=0)
            assert not second.done()
            go_on.set()
            assert isinstance(first.result(20), Leased)
            assert isinstance(second.result(20), Leased)
            assert here_of(store) is not old
            with opened(path) as other:
                assert isinstance(claimed(other), Busy)

    @pytest.mark.usefixtures("at_once")
    def test_the_file_is_pruned_in_the_thread_and_looked_at_at_once(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        calls: list[tuple[str, bool]] = []

        def noted(name: str) -> None:
            work = getattr(SqliteStore, name)

            def do(self: SqliteStore, writer: sqlite3.Connection) -> object:
                is_here = threading.current_thread() is threading.main_thread()
                calls.append((name, is_here))
                return work(self, writer)

            monkeypatch.setattr(SqliteStore, name, do)

        noted("_is_full")
        noted("_prune")
        with opened(path, 1 << 18) as store:
            fill(store, 256, octets=3000)
            assert calls == [("_is_full", True)]
            fill(store, 1, first=256)
            assert calls[:3] == [("_is_full", True), ("_is_full", True), ("_prune", False)]
            assert 0 not in kept(store, 1)

    @pytest.mark.usefixtures("at_once")
    def test_nothing_is_done_at_once_while_the_file_is_to_be_pruned(self, path: Path) -> None:
        """Or it would be behind for ever: who writes at once gets the lock more often."""
        with opened(path) as store:
            fill(store, 3)
            with at_work(store):
                pruned = store._writes.add(None, store._prune)
                claim = store.claim(ORIGIN, seconds=15, fresh_seconds=0)
                assert not claim.done()
            pruned.result(20)
            assert isinstance(claim.result(20), Leased)
            at_rest(store)
            assert store.claim(ORIGIN, seconds=15, fresh_seconds=0).done()


class Clock:
    """What stands in for the module `time`: it moves when told."""

    def __init__(self) -> None:
        self._seconds = self._worked = 0.0

    def pass_by(self, seconds: float, worked: float) -> None:
        """Let so many seconds pass, in so many of which this thread works."""
        self._seconds += seconds
        self._worked += worked

    def monotonic(self) -> float:
        return 1e6 + self._seconds

    def thread_time(self) -> float:
        return self._worked

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class TestInTheWay:
    """Short writes while something is in their way, and afterwards."""

    @pytest.mark.usefixtures("at_once")
    def test_a_long_lock_is_waited_for_once(self, path: Path) -> None:
        """And not by each write, which would hold the event loop up again and again."""
        begun: list[float] = []
        with opened(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
            fill(store, 3)
            usual = store._database._opened
            make_odd(store, "insert", lambda: begun.append(time.monotonic()))
            other.execute("begin immediate")
            claims = []
            for number in range(5):
                origin = Origin("http", f"h{number}", 80)
                claims.append(store.claim(origin, seconds=15, fresh_seconds=math.inf))
                time.sleep(0.05)  # the thread waits for the lock by then
            assert not any(claim.done() for claim in claims)
            assert len(begun) == len(database._PAUSES_SECONDS) + 1
            assert sum(database._PAUSES_SECONDS) <= begun[-1] - begun[0] < 0.5
            assert sum(database._PAUSES_SECONDS) < 0.01, "the event loop stands still meanwhile"
            other.execute("commit")
            assert all(isinstance(claim.result(20), Leased) for claim in claims)
            at_rest(store)
            store._database._opened = usual
            assert store.claim(ORIGIN, seconds=15, fresh_seconds=0).done(), "as before"

    @pytest.mark.usefixtures("at_once")
    def test_a_write_that_is_cancelled_leaves_its_key(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 3)
            with at_work(store):
                first = store.forget(ORIGIN)
                second = store.forget(OTHER)
                assert second.cancel()
            assert first.result(20) is False
            at_rest(store)
            assert store.claim(OTHER, seconds=15, fresh_seconds=0).done()
            assert not store._writes._keys

    @pytest.mark.usefixtures("at_once")
    def test_what_is_of_one_lease_keeps_its_order(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 3)
            lease = leased(store)
            with at_work(store):
                forgotten = store.forget(ORIGIN)
                renewed = store.renew(lease, seconds=30)
                released = store.release(lease)
                assert not renewed.done()
                assert not released.done()
            assert forgotten.result(20) is False
            assert renewed.result(20) is not None
            released.result(20)
            assert isinstance(claimed(store), Leased)

    @pytest.mark.usefixtures("at_once")
    def test_an_outage_is_kept_at_once(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 3)
            with at_work(store):
                assert store.commit(outage_entry(), None).done()

    @pytest.mark.parametrize(("worked", "is_slow"), [(1.0, False), (0.0, True)])
    def test_work_is_no_waiting(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, worked: float, is_slow: bool
    ) -> None:
        """The collector of garbage may run in a short write: no disk is slow then."""
        clock = Clock()
        monkeypatch.setattr(writes, "_TO_THREAD", (0, 9))
        monkeypatch.setattr(writes, "time", clock)

        with opened(path) as store:
            fill(store, 3)
            work = store._writes.add(ORIGIN, lambda _: clock.pass_by(1.0, worked), is_short=True)
            assert work.done()
            with at_work(store):
                claim = store.claim(ORIGIN, seconds=15, fresh_seconds=0)
                assert claim.done() is not is_slow
            claim.result(20)
            at_rest(store)
            clock.pass_by(11.0, 0.0)
            with at_work(store):
                assert store.claim(ORIGIN, seconds=15, fresh_seconds=0).done(), "it is tried again"


class TestLog:
    """The write-ahead log stays short, whoever writes."""

    def test_where_several_write(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """SQLite moves only what nobody adds to meanwhile: it was 500 MiB after eight seconds."""
        monkeypatch.setattr(database, "_LOG_OCTETS", 1 << 20)
        monkeypatch.setattr(writes, "_TO_THREAD", (2, 64))
        longest = 0
        with opened(path) as one, opened(path) as two:
            # Who reads keeps SQLite from beginning the log anew; two that write do so as well.
            for number in range(1500):
                for store in (one, two):
                    origin = Origin("http", f"h{number}-{id(store)}", 80)
                    store.commit(file_entry(origin, body=b"a" * 3000), None).result()
                longest = max(longest, wal_octets(path))
            for store in (one, two):
                at_rest(store)
        assert longest < 4 << 20

    def test_who_stopped_amid_a_read_holds_no_writer_up(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """He needs the log as it is. To wait for him would be to keep the lock meanwhile."""
        monkeypatch.setattr(database, "_LOG_OCTETS", 0)
        monkeypatch.setattr(database, "_LOG_REST_SECONDS", 0.2)
        monkeypatch.setattr(writes, "_TO_THREAD", (9, 9))
        with opened(path) as one, opened(path) as two:
            fill(one, 3)
            with closing(sqlite3.connect(path, isolation_level=None)) as stopped:
                stopped.execute("begin")
                stopped.execute("select * from files_3").fetchone()
                began = time.monotonic()
                for number in range(100):
                    for store in (one, two):
                        leased(store, Origin("http", f"h{number}-{id(store)}", 80))
                assert time.monotonic() - began < 4
                assert wal_octets(path) > 100 << 12
            time.sleep(0.2)
            leased(one)
            at_rest(one)
            assert wal_octets(path) == 0, "now that he is gone"

    def test_what_is_waited_for_is_the_lock_again(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The connection waits for a lock as long as before, once the log was moved."""
        monkeypatch.setattr(database, "_LOG_OCTETS", 0)
        with opened(path) as store:
            fill(store, 3)
            patience = store._database.writer().execute("pragma busy_timeout").fetchone()
        assert patience == (database._BUSY_MILLISECONDS,)

    def test_what_is_full_is_pruned_though_the_store_closes(self, path: Path) -> None:
        for crawl in range(60):
            store = SqliteStore(path, 1 << 16)
            rest = threading.Event()
            store._thread.submit(rest.wait, 20)
            body = random.Random(crawl).randbytes(5000)
            store.commit(file_entry(Origin("http", f"h{crawl}", 80), body=body), None)
            threading.Timer(0.02, rest.set).start()
            store.close()
        assert path.stat().st_size < 1 << 18


class TestReplaced:
    """A file that others put in its place, at odd moments."""

    def test_a_healthy_one_is_not_set_aside_for_the_damage_of_the_old_one(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_tables = database._make_tables
        opening, go_on = threading.Event(), threading.Event()

        def slowly(writer: sqlite3.Connection) -> None:
            opening.set()
            go_on.wait(20)
            make_tables(writer)

        with opened(path) as store:
            fill(store, 500, octets=2000)
        with opened(path) as store:
            spoilt(path)
            for file in [path, *path.parent.glob("*-wal"), *path.parent.glob("*-shm")]:
                file.rename(file.with_name(file.name.replace("robots", "old")))
            monkeypatch.setattr(database, "_make_tables", slowly)
            claim = store.claim(ORIGIN, seconds=15, fresh_seconds=0)
            assert opening.wait(20)
            with pytest.raises(StoreError):
                kept(store, 500)  # by the reader of the old one
            assert path.exists()
            go_on.set()
            assert isinstance(claim.result(20), Leased)
            with opened(path) as other:
                assert isinstance(claimed(other), Busy)
        assert aside(path) == []

    @pytest.mark.usefixtures("at_once")
    def test_nor_if_that_is_noticed_by_who_still_reads_the_old_one(self, path: Path) -> None:
        def read(connection: sqlite3.Connection) -> None:
            used.append(connection)
            for file in path.parent.iterdir():
                file.unlink()
            with opened(path) as other:
                leased(other, OTHER)
            claims.append(store.claim(OTHER, seconds=15, fresh_seconds=0))
            time.sleep(0.05)
            connection.execute("select 1")  # it is open as long as somebody uses it
            raise sqlite3.DatabaseError("database disk image is malformed")

        claims: list[Future[Claim]] = []
        used: list[sqlite3.Connection] = []
        with opened(path) as store:
            fill(store, 3)
            old = here_of(store)
            with pytest.raises(StoreError, match="malformed"):
                store._database.read(read)
            assert used == [old]
            assert isinstance(claims[0].result(20), Busy)
            assert aside(path) == []
            with pytest.raises(sqlite3.ProgrammingError, match="closed"):
                old.execute("select 1")

    @pytest.mark.parametrize("number", [1, 2])
    def test_connections_are_of_one_file(
        self, path: Path, number: int, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Of two, so many are made when another file takes the place of the first."""
        connect = database._connect
        count = 0

        def swapped(path: Path) -> sqlite3.Connection:
            nonlocal count
            count += 1
            connection = connect(path)
            if count == number:
                path.rename(path.with_name("old"))
                new.rename(path)
            return connection

        new = path.with_name("new")
        for one in (path, new):
            SqliteStore(one, LARGE).close()
        monkeypatch.setattr(database, "_connect", swapped)
        with pytest.raises(StoreError, match="replaced while it was opened"):
            SqliteStore(path, LARGE)

    def test_nor_if_it_takes_the_place_of_one_that_is_being_opened(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        connect = database._connect
        new = path.with_name("new")
        with closing(SqliteStore(new, LARGE)) as store:
            store.commit(file_entry(), None).result()
        path.write_bytes(b"no database" * 999)

        def replaced(path: Path) -> sqlite3.Connection:
            if new.exists():
                new.rename(path)
                raise sqlite3.DatabaseError("file is not a database")
            return connect(path)

        monkeypatch.setattr(database, "_connect", replaced)
        with opened(path) as store:
            assert store.peek(ORIGIN) == file_entry()
        assert aside(path) == []

    def test_none_is_mapped_into_memory(self, path: Path) -> None:
        """A read of a part that somebody has just cut off would kill the process."""
        with opened(path) as store:
            for one in (here_of(store), store._database.writer()):
                assert one.execute("pragma mmap_size").fetchone() == (0,)

    def test_what_was_set_aside_in_the_same_second_stays(self, path: Path) -> None:
        for octets in (b"one" * 999, b"two" * 999, b"three" * 999):
            path.write_bytes(octets)
            SqliteStore(path, LARGE).close()
        kept_octets = {file.read_bytes()[:3] for file in aside(path)}
        assert kept_octets == {b"one", b"two", b"thr"}

    def test_a_new_file_is_opened_once(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        with opened(path) as store:
            fill(store, 500, octets=2000)
        with opened(path) as store:
            spoilt(path)
            with pytest.raises(StoreError):
                kept(store, 500)
            fill(store, 1)
            opened_once = store._database._opened
            fill(store, 3)
            assert store._database._opened is opened_once


@pytest.mark.usefixtures("way")
class TestTrouble:
    """What keeps a file from being used without being broken: `StoreError`, and no file is lost."""

    def test_a_folder_in_its_place(self, path: Path) -> None:
        path.mkdir()
        with pytest.raises(StoreError, match="robots"):
            SqliteStore(path, LARGE)

    def test_a_file_in_its_folder_s_place(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(StoreError):
            SqliteStore(tmp_path / "file" / "robots.sqlite", LARGE)

    def test_a_folder_that_cannot_be_written(self) -> None:
        with pytest.raises(StoreError):
            SqliteStore(Path("/proc/self/robots.sqlite"), LARGE)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_a_file_that_cannot_be_written(self, path: Path) -> None:
        SqliteStore(path, LARGE).close()
        path.chmod(0o400)
        path.parent.chmod(0o500)
        with pytest.raises(StoreError):
            SqliteStore(path, LARGE)
        path.parent.chmod(0o700)

    def test_locked(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(database, "_BUSY_MILLISECONDS", 50)
        with opened(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
            store.commit(file_entry(), None).result()
            other.execute("begin exclusive")
            began = time.monotonic()
            assert store.peek(ORIGIN) == file_entry(), "readers do not wait for writers"
            assert time.monotonic() - began < 1
            with pytest.raises(StoreError, match="locked"):
                store.commit(file_entry(OTHER), None).result()
            other.execute("commit")
            store.commit(file_entry(OTHER), None).result()
            assert store.peek(OTHER) == file_entry(OTHER)
        assert aside(path) == []

    def test_a_file_whose_tables_are_gone(self, path: Path) -> None:
        """As if another program had emptied it: that is a failure, and no answer."""
        with opened(path) as store, closing(sqlite3.connect(path)) as other:
            other.execute("drop table files_3")
            with pytest.raises(StoreError, match="no such table"):
                store.peek(ORIGIN)
        assert aside(path) == []

    def test_it_is_opened_while_another_process_writes(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database, "_BUSY_MILLISECONDS", 50)
        with opened(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
            store.commit(file_entry(), None).result()
            other.execute("begin immediate")
            with opened(path) as second:
                assert second.peek(ORIGIN) == file_entry()

    def test_what_is_queued_behind_a_lock_waits_once(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database, "_BUSY_MILLISECONDS", 300)
        with opened(path) as store, closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("begin immediate")
            began = time.monotonic()
            queued = [store.commit(file_entry(), None) for _ in range(50)]
            for future in queued:
                with pytest.raises(StoreError, match="locked"):
                    future.result()
            assert time.monotonic() - began < 5
            other.execute("commit")
            assert store.commit(file_entry(), None).result() is True

    def test_full(self, path: Path) -> None:
        with opened(path) as store:
            store.commit(file_entry(), None).result()
            for writer in (store._database.writer(), here_of(store)):
                assert writer is not None
                writer.execute("pragma max_page_count = 8")
            with pytest.raises(StoreError, match="full"):
                fill(store, 50, octets=4000)
            assert store.peek(ORIGIN) == file_entry()
        assert aside(path) == []
        with opened(path) as store:
            assert body_of(store.peek(ORIGIN)) is not None

    def test_a_disk_that_takes_no_more(self, path: Path) -> None:
        """A limit to the size of files is as near to a full disk as a test can come."""
        code = (
            "import resource, signal, sys; from pathlib import Path;"
            "from tests.cache.test_sqlite import fill, file_entry, ORIGIN, SqliteStore;"
            "from scrapy_rep.cache.base import StoreError;"
            "signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
            "store = SqliteStore(Path(sys.argv[1]), 1 << 30);"
            "store.commit(file_entry(), None).result();"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 19, 1 << 19))\n"
            "try: fill(store, 500, octets=4000)\n"
            "except StoreError as error: print('StoreError', error)\n"
            "assert store.peek(ORIGIN) == file_entry()\n"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, str(path)],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.stdout.startswith("StoreError"), done.stderr
        assert done.returncode == 0, done.stderr
        assert aside(path) == []
        with opened(path) as store:
            assert store.peek(ORIGIN) == file_entry()


def _put(path: Path, origin: Origin, record: object) -> None:
    with closing(sqlite3.connect(path)) as plain:
        plain.execute(
            "insert or replace into files_3 (key, changed_at, record) values (?, ?, ?)",
            (_text(origin), 1.0, record),
        )
        plain.commit()


class TestPlace:
    """A file that several processes open, lose and set aside at the same time."""

    def test_who_opens_it_waits_until_a_damaged_one_is_out_of_the_way(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rename = Path.rename
        moving, go_on = threading.Event(), threading.Event()

        def slowly(self: Path, target: Path) -> Path:
            moving.set()
            go_on.wait(20)
            return rename(self, target)

        with opened(path) as store:
            fill(store, 500, octets=2000)
        with opened(path) as store, ThreadPoolExecutor() as pool:
            octets = spoilt(path)
            monkeypatch.setattr(Path, "rename", slowly)
            read = pool.submit(kept, store, 500)
            assert moving.wait(20)
            other = pool.submit(SqliteStore, path, LARGE)
            time.sleep(0.1)
            assert not other.done()
            go_on.set()
            with pytest.raises(StoreError, match="malformed"):
                read.result(20)
            with closing(other.result(20)) as new:
                lease = leased(new)
                assert new.commit(file_entry(), lease).result(20)
                assert store.commit(file_entry(OTHER), None).result(20)
                assert kept(new, 500) == []
                assert store.peek(ORIGIN) == new.peek(ORIGIN) == file_entry()
                assert new.peek(OTHER) == file_entry(OTHER)
        (damaged,) = aside(path)
        assert damaged.read_bytes() == octets
        for suffix in ("-wal", "-shm"):  # or those who open the new one would find these
            assert damaged.with_name(damaged.name + suffix).exists()

    def test_a_healthy_one_that_others_made_meanwhile_stays(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """One is about to set the damaged file aside, and another one opens its place."""
        marked = Place._mark
        is_about_to, other_has_it = threading.Event(), threading.Event()

        def later(self: Place) -> str:
            if not is_about_to.is_set():
                is_about_to.set()
                other_has_it.wait(0.3)
            return marked(self)

        path.write_bytes(b"no database" * 999)
        monkeypatch.setattr(Place, "_mark", later)
        with ThreadPoolExecutor() as pool:
            one = pool.submit(SqliteStore, path, LARGE)
            assert is_about_to.wait(20)
            two = pool.submit(SqliteStore, path, LARGE)
            two.add_done_callback(lambda _: other_has_it.set())
        with closing(one.result()), closing(two.result()):
            leased(one.result())
            assert isinstance(claimed(two.result()), Busy)
        assert len(aside(path)) == 1

    def test_one_who_is_stopped_while_opening_it_is_waited_for_so_long(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database, "_OPEN_SECONDS", 0.1)
        with opened(path) as store:
            fill(store, 3)
            with held(path):
                with pytest.raises(StoreError, match="another process is opening it"):
                    SqliteStore(path, LARGE)
                leased(store, OTHER)  # it has it open already
                path.unlink()
                with pytest.raises(StoreError, match="another process is opening it"):
                    claimed(store)
            assert isinstance(claimed(store), Leased)

    def test_nobody_is_waited_for_where_damage_is_noticed(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 500, octets=2000)
        with opened(path) as store:
            spoilt(path)
            with held(path):
                began = time.monotonic()
                with pytest.raises(StoreError, match="malformed"):
                    kept(store, 500)
                assert time.monotonic() - began < database._OPEN_SECONDS
                assert aside(path) == []
            with pytest.raises(StoreError, match="malformed"):
                kept(store, 500)
            assert len(aside(path)) == 1
            assert isinstance(claimed(store), Leased)

    def test_where_there_can_be_no_lock_it_is_opened_nevertheless(self, path: Path) -> None:
        path.with_name(path.name + ".lock").mkdir()
        path.write_bytes(b"no database" * 999)
        with opened(path) as store:
            leased(store)
        assert len(aside(path)) == 1

    def test_all_who_wait_for_it_wait_once(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(database, "_OPEN_SECONDS", 0.5)
        with opened(path) as store:
            fill(store, 3)
            with held(path):
                path.unlink()
                rest = threading.Event()
                store._thread.submit(rest.wait, 20)
                began = time.monotonic()
                queued = [store.forget(ORIGIN) for _ in range(10 * writes._TOGETHER)]
                rest.set()
                for future in queued:
                    assert isinstance(future.exception(20), StoreError)
                assert time.monotonic() - began < 4 * 0.5

    def test_who_waits_for_the_file_keeps_nobody_from_opening_it(self, path: Path) -> None:
        with opened(path) as store, ThreadPoolExecutor() as pool:
            store._database.writer().execute("begin immediate")
            other = pool.submit(SqliteStore, path, LARGE, versions=2)
            time.sleep(0.1)
            began = time.monotonic()
            with opened(path):
                pass
            assert time.monotonic() - began < database._OPEN_SECONDS
            assert not other.done()
            store._database.writer().execute("rollback")
            other.result(20).close()

    @pytest.mark.usefixtures("at_once")
    def test_what_is_left_of_one_whose_mover_died(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 3)
            path.rename(path.with_name("moved"))  # and not its log, which the store writes to
            with opened(path) as other:
                assert kept(other, 3) == []
                leased(other)
                assert isinstance(claimed(store), Busy)
                store.commit(file_entry(OTHER), None).result(20)
                assert other.peek(OTHER) == file_entry(OTHER)
            assert len(list(path.parent.glob("*.damaged-*-wal"))) == 1
            assert len(list(path.parent.glob("*.damaged-*-shm"))) == 1

    def test_where_it_cannot_be_moved_nothing_is(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        rename = Path.rename

        def refused(self: Path, target: Path) -> Path:
            if self == path:
                raise PermissionError("sticky")
            return rename(self, target)

        with opened(path) as store:
            fill(store, 500, octets=2000)
        with opened(path) as store:
            spoilt(path)
            monkeypatch.setattr(Path, "rename", refused)
            with pytest.raises(StoreError, match="malformed"):
                kept(store, 500)
            assert list(path.parent.glob("*.damaged-*")) == []

    @pytest.mark.usefixtures("at_once")
    def test_no_connection_is_closed_amid_a_short_write(self, path: Path) -> None:
        def work(connection: sqlite3.Connection) -> str:
            path.unlink()
            calls.append(pool.submit(store._database.writer))
            time.sleep(0.05)
            assert not calls[0].done()
            connection.execute("delete from files_3")
            return "done"

        calls: list[Future[sqlite3.Connection]] = []
        with opened(path) as store, ThreadPoolExecutor() as pool:
            fill(store, 3)
            future = store._writes.add(ORIGIN, work, is_short=True)
            assert future.done()
            assert future.result() == "done"
            calls[0].result(20)
            leased(store)

    @pytest.mark.skipif(os.name == "nt", reason="links need rights there")
    def test_no_folder_is_made_for_the_target_of_a_link(self, path: Path) -> None:
        path.symlink_to(path.parent / "unmounted" / "target.sqlite")
        with pytest.raises(StoreError):
            SqliteStore(path, LARGE)
        assert not (path.parent / "unmounted").exists()

    def test_it_stays_where_it_was_opened(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (path.parent / "other").mkdir()
        monkeypatch.chdir(path.parent)
        with opened(Path(path.name)) as store:
            fill(store, 3)
            monkeypatch.chdir("other")
            leased(store)
            assert kept(store, 3) == [0, 1, 2]
        assert list(Path.cwd().iterdir()) == []

    @pytest.mark.skipif(os.name == "nt", reason="links need rights there")
    def test_behind_a_link(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        folder = path.parent / "elsewhere"
        folder.mkdir()
        target = folder / "target.sqlite"
        path.symlink_to(target)
        monkeypatch.setattr(database, "_LOG_OCTETS", 1 << 16)
        with opened(path) as store:
            fill(store, 500, octets=2000)
            store.forget(ORIGIN).result(20)  # in the thread, which shortens the log then
            at_rest(store)
            assert target.with_name("target.sqlite-wal").stat().st_size == 0
        with opened(path) as store:
            octets = spoilt(target)
            with pytest.raises(StoreError, match="malformed"):
                kept(store, 500)
            fill(store, 3)
            assert path.is_symlink()
            assert kept(store, 500) == [0, 1, 2]
        (damaged,) = aside(target)
        assert damaged.read_bytes() == octets
        assert [file.name for file in path.parent.iterdir() if ".damaged-" in file.name] == []

    @pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="it counts what /proc shows")
    @pytest.mark.usefixtures("at_once")
    def test_files_that_are_gone_do_not_stay_open(self, path: Path) -> None:
        def count() -> int:
            return len(list(Path("/proc/self/fd").iterdir()))

        with opened(path) as store:
            fill(store, 3)
            before = count()
            for _ in range(30):
                for file in path.parent.iterdir():
                    file.unlink()
                leased(store)
                assert store.peek(ORIGIN) is None
            assert count() <= before


class TestQueued:
    """Writes that wait for the thread."""

    def test_one_that_is_cancelled_costs_no_other(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 3)
            rest = threading.Event()
            store._thread.submit(rest.wait, 20)
            first, second, third = (
                store.forget(Origin("http", f"h{number}", 80)) for number in range(3)
            )
            assert second.cancel()
            rest.set()
            assert first.result(20)
            assert third.result(20)
            assert kept(store, 3) == [1]

    def test_an_error_of_one_or_of_the_log_costs_no_other(self, path: Path) -> None:
        def odd(writer: sqlite3.Connection) -> None:
            writer.execute("insert into others_3 values (null)")

        for log in (path / "nothing", path.with_name("long")):
            path.with_name("long").write_bytes(bytes(database._LOG_OCTETS + 1))
            with opened(path) as store:
                fill(store, 3)
                rest = threading.Event()
                store._thread.submit(rest.wait, 20)
                writer = Odd(store._database._opened.writer, "pragma busy_timeout = 20", fail)
                store._database._opened = dataclasses.replace(
                    store._database._opened,
                    log=log,
                    writer=writer,  # type: ignore[arg-type]
                )
                first = store.forget(Origin("http", "h0", 80))
                second = store._writes.add(ORIGIN, odd)
                third = store.forget(Origin("http", "h2", 80))
                rest.set()
                assert first.result(20)
                with pytest.raises(StoreError, match="NOT NULL"):
                    second.result(20)
                assert third.result(20)

    @pytest.mark.usefixtures("at_once")
    def test_nothing_is_done_at_once_while_the_file_is_pruned(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        pruning, go_on = threading.Event(), threading.Event()

        def slowly(self: SqliteStore, writer: sqlite3.Connection) -> None:
            pruning.set()
            go_on.wait(20)

        monkeypatch.setattr(SqliteStore, "_prune", slowly)
        with opened(path, 1) as store:
            store.commit(file_entry(body=random.Random(1).randbytes(9000)), None).result(20)
            assert pruning.wait(20)
            claim = store.claim(OTHER, seconds=15, fresh_seconds=0)
            assert not claim.done()
            assert not store._writes._is_in_the_way, "it did not try and fail"
            go_on.set()
            assert isinstance(claim.result(20), Leased)

    def test_no_commit_waits_for_the_disk(self, path: Path) -> None:
        with opened(path) as store:
            for connection in (here_of(store), store._database.writer()):
                assert connection.execute("pragma synchronous").fetchone() == (1,)


def fail() -> None:
    raise sqlite3.OperationalError("disk I/O error")
