"""The SQLite store: files that are large, damaged, locked, full or forbidden."""

from __future__ import annotations

import json
import logging
import math
import os
import random
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path

import pytest
from filelock import FileLock

from scrapy_rep.cache import sqlite
from scrapy_rep.cache.base import Busy, Claim, Lease, Leased, StoreError
from scrapy_rep.cache.codec import encode
from scrapy_rep.cache.entry import key_of
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.access.origin import Origin
from tests.cache.samples import NOW, ORIGIN, OTHER, file_entry
from tests.crawling import REPOSITORY

LARGE = 1 << 30
LONG_LOG = 1 << 23  # octets


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "robots.sqlite"


@contextmanager
def opened(path: Path, limit_octets: int = LARGE) -> Iterator[SqliteStore]:
    store = SqliteStore(path, limit_octets)
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
    """Wait until all entries are written."""
    store.forget(Origin("http", "nothing", 80)).result(20)


def kept(store: SqliteStore, count: int) -> list[int]:
    return [n for n in range(count) if store.peek(Origin("http", f"h{n}", 80)) is not None]


def claimed(store: SqliteStore, origin: Origin = ORIGIN) -> Claim:
    return store.claim(origin, seconds=15, fresh_seconds=math.inf).result()


def leased(store: SqliteStore, origin: Origin = ORIGIN) -> Lease:
    claim = claimed(store, origin)
    assert isinstance(claim, Leased)
    return claim.lease


def held(path: Path) -> FileLock:
    """The lock of a process that opens the file."""
    return FileLock(path.with_name(path.name + ".lock"))


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Another process holds the lock of the file."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        yield
        other.execute("commit")


def wal_octets(path: Path) -> int:
    return path.with_name(path.name + "-wal").stat().st_size


def aside(path: Path) -> list[Path]:
    """The damaged files that were kept, without their logs."""
    files = (file for file in path.parent.iterdir() if ".damaged-" in file.name)
    return sorted(file for file in files if not file.name.endswith(("-wal", "-shm")))


def spoilt(path: Path) -> bytes:
    """Overwrite the second half of a file, behind the inner pages; return the new octets."""
    half = path.stat().st_size // 2
    with path.open("r+b") as file:
        file.seek(half)
        file.write(b"\x5a" * half)
    return path.read_bytes()


class TestLife:
    """Opening, sharing, closing."""

    @pytest.mark.parametrize(
        "record",
        [b"", b"REP\x01whatever", "text", 5, b"\0" * 99, encode(file_entry(OTHER))],
    )
    def test_unreadable_record_is_a_miss(self, path: Path, record: object) -> None:
        with opened(path) as store:
            _put(path, ORIGIN, record)
            assert store.peek(ORIGIN) is None
            store.commit(file_entry(), None).result()
            assert store.peek(ORIGIN) == file_entry()

    def test_readers_see_no_leases(self, path: Path) -> None:
        with opened(path) as store:
            leased(store, OTHER)
            store.commit(file_entry(), None).result()
            assert store.keys() == [key_of(ORIGIN)]
            ((first, stop),) = sqlite.spans(path, 10)
            assert [*sqlite.read_entries(path, first, stop)] == [store.peek(key_of(ORIGIN))]

    @pytest.mark.parametrize("key", ["cast(x'ff80' as text)", "x'00ff'", "null", "7"])
    def test_foreign_key_hides_no_other(self, path: Path, key: str) -> None:
        with opened(path) as store:
            store.commit(file_entry(), None).result()
            with closing(sqlite3.connect(path, isolation_level=None)) as plain:
                plain.execute(f"insert into files_3 (key, record) values ({key}, x'00')")
            assert store.keys() == [key_of(ORIGIN)]

    def test_closed_store_is_not_taken_for_damaged(self, path: Path) -> None:
        """Work that outlives the crawl gets `StoreError`."""
        store = SqliteStore(path, LARGE)
        store.commit(file_entry(), None).result()
        store.close()
        with pytest.raises(StoreError):
            store.peek(ORIGIN)
        assert aside(path) == []
        with pytest.raises(StoreError):
            store.commit(file_entry(), None).result()
        assert path.exists()


class TestBound:
    """How large the file may grow."""

    def test_oldest_entries_are_deleted_first(self, path: Path) -> None:
        with opened(path, 1 << 20) as store:
            fill(store, 1024, octets=3000)
            left = kept(store, 1024)
            assert left == list(range(1024 - len(left), 1024))
            assert 100 < len(left) < 600
        assert path.stat().st_size < 3 << 20

    def test_small_crawls_keep_the_limit(self, path: Path) -> None:
        for crawl in range(40):
            with opened(path, 1 << 18) as store:
                fill(store, 20, octets=3000, first=20 * crawl)
        assert path.stat().st_size < 1 << 20

    @pytest.mark.parametrize("until", ["soon", b"\xff", 1e300])
    def test_damaged_lease_is_ignored(self, path: Path, until: object) -> None:
        with opened(path) as store:
            leased(store)
            with closing(sqlite3.connect(path, isolation_level=None)) as plain:
                plain.execute("update files_3 set until = ?", (until,))
            assert isinstance(claimed(store), Leased)

    def test_entry_with_a_lease_stays(self, path: Path) -> None:
        with closing(SqliteStore(path, LARGE, lambda: NOW + 10**8)) as store:
            leased(store, Origin("http", "h1", 80))  # by a clock that is wrong
        with opened(path, 1 << 20) as store:
            fill(store, 256)
            fetched = store.claim(Origin("http", "h0", 80), seconds=15, fresh_seconds=math.inf)
            assert isinstance(fetched.result(20), Leased)
            fill(store, 512, octets=3000, first=2)
            assert kept(store, 3) == [0]


class TestDamage:
    """A damaged file is renamed, not deleted, and a new one is made."""

    @pytest.mark.parametrize(
        "octets", [b"this is no database at all" * 99, b"SQLite format 3\0" + b"\xff" * 4080]
    )
    def test_damage_at_the_start(
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

    def test_damage_during_reads(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        with opened(path) as store:
            fill(store, 500, octets=2000)
        with opened(path) as store:
            octets = spoilt(path)
            with pytest.raises(StoreError, match="malformed"):
                kept(store, 500)
            fill(store, 3)
            assert kept(store, 500) == [0, 1, 2], "it goes on with a new file"
            assert [file.read_bytes() for file in aside(path)] == [octets]
        assert len(caplog.records) == 1
        with opened(path) as store:
            assert kept(store, 500) == [0, 1, 2]

    def test_damage_during_writes(self, path: Path, caplog: pytest.LogCaptureFixture) -> None:
        with opened(path) as store:
            fill(store, 500, octets=2000)
        with opened(path) as store:
            octets = spoilt(path)
            with pytest.raises(StoreError, match="malformed"):
                fill(store, 500, octets=2000)
            fill(store, 3)
            assert kept(store, 500) == [0, 1, 2]
            (damaged,) = aside(path)
            assert damaged.read_bytes()[: 1 << 16] == octets[: 1 << 16]
        assert len(caplog.records) == 1

    def test_damage_is_found_while_the_file_is_open(
        self, path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        """Windows renames no file that this process has open."""
        rename = Path.rename

        def rename_closed(one: Path, target: Path) -> Path:
            fds = Path("/proc/self/fd")
            if one.exists() and any(link.exists() and link.samefile(one) for link in fds.iterdir()):
                raise PermissionError(f"{one} is in use")
            return rename(one, target)

        monkeypatch.setattr(Path, "rename", rename_closed)
        with opened(path) as store:
            with locked(path), pytest.raises(StoreError, match="locked"):
                store.commit(file_entry(), None).result()
            path.write_bytes(b"this is no database at all" * 99)
            path.with_name(path.name + "-wal").unlink()
            assert store.commit(file_entry(), None).result(20)
            assert store.peek(ORIGIN) == file_entry()
        assert len(aside(path)) == 1
        assert [record.levelno for record in caplog.records] == [logging.WARNING]

    @pytest.mark.parametrize("is_open", [False, True])
    def test_damaged_file_that_cannot_be_renamed_is_told(
        self,
        is_open: bool,
        path: Path,
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        def in_use(one: Path, target: Path) -> Path:
            raise PermissionError(f"{one} is in use, not moved to {target}")

        with opened(path) as store:
            fill(store, 500, octets=2000)
        if is_open:
            with opened(path) as store:
                spoilt(path)
                monkeypatch.setattr(Path, "rename", in_use)
                with pytest.raises(StoreError, match="malformed"):
                    kept(store, 500)
        else:
            path.write_bytes(b"this is no database at all" * 99)
            monkeypatch.setattr(Path, "rename", in_use)
            with pytest.raises(StoreError, match="in use"):
                SqliteStore(path, LARGE)
        assert aside(path) == []
        (line,) = [record.getMessage() for record in caplog.records]
        assert line.startswith(f"{path} is damaged (")
        assert "cannot be renamed" in line
        assert "is in use" in line

    def test_new_file_of_another_process_is_not_renamed(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 500, octets=2000)
        with opened(path) as one, opened(path) as two:
            octets = spoilt(path)
            with pytest.raises(StoreError):
                kept(one, 500)
            one.commit(file_entry(), None).result(20)
            with pytest.raises(StoreError):
                kept(two, 500)  # of the old one, which it still has open
            assert two.commit(file_entry(OTHER), None).result(20)
            assert one.peek(OTHER) == file_entry(OTHER)
            assert two.peek(ORIGIN) == file_entry()
        assert [file.read_bytes() for file in aside(path)] == [octets]

    def test_opening_waits_for_a_rename(self, path: Path) -> None:
        with opened(path) as store, ThreadPoolExecutor() as pool:
            with held(path):
                other = pool.submit(SqliteStore, path, LARGE)
                time.sleep(0.1)
                assert not other.done()
                leased(store)  # it has it open already
            other.result(20).close()
            with held(path), pytest.raises(StoreError):
                SqliteStore(path, LARGE)

    def test_half_renamed_file_is_replaced(self, path: Path) -> None:
        with opened(path) as store:
            fill(store, 3)
            path.rename(path.with_name("moved"))  # and not its log, which the store writes to
            with opened(path) as other:
                assert kept(other, 3) == []
                leased(other)
                assert isinstance(claimed(store), Busy)
                store.commit(file_entry(OTHER), None).result(20)
                assert other.peek(OTHER) == file_entry(OTHER)

    @pytest.mark.parametrize("suffixes", [("", "-wal", "-shm"), ("",)])
    def test_replaced_file_is_used(self, path: Path, suffixes: tuple[str, ...]) -> None:
        """As after another process found damage, or a user deleted the file."""
        with opened(path) as old:
            leased(old)
            for suffix in suffixes:
                path.with_name(path.name + suffix).rename(path.with_name(f"aside{suffix}"))
            with opened(path) as new:
                leased(new)
                assert isinstance(claimed(old), Busy), "there is one holder"
                new.commit(file_entry(OTHER), None).result()
                assert old.peek(OTHER) == file_entry(OTHER)


class TestQueued:
    """Writes that wait for the thread."""

    def test_waiting_claims_get_one_lease(self, path: Path) -> None:
        with opened(path) as store:
            with locked(path):
                claims = [store.claim(ORIGIN, seconds=15, fresh_seconds=0) for _ in range(2)]
            assert [type(claim.result(20)) for claim in claims] == [Leased, Busy]


class TestLeases:
    """An entry that is committed under a lease ends it, and is in the file."""

    def test_other_process_sees_the_entry(self, path: Path) -> None:
        with opened(path) as one, opened(path) as two:
            assert one.commit(file_entry(), leased(one)).result()
            assert two.peek(ORIGIN) == file_entry()
            assert isinstance(claimed(two), Leased), "the lease has ended"

    def test_lock_loses_no_entry_and_is_reported(self, path: Path) -> None:
        origins = [Origin("http", f"h{number}", 80) for number in range(100)]
        with opened(path) as store:
            leases = [leased(store, origin) for origin in origins]
            with locked(path):
                futures = [
                    store.commit(file_entry(origin), lease)
                    for origin, lease in zip(origins, leases, strict=True)
                ]
                assert all(isinstance(one.exception(20), StoreError) for one in futures)
            for origin, lease in zip(origins, leases, strict=True):
                assert store.commit(file_entry(origin), lease).result()
        with opened(path) as store:
            assert kept(store, 100) == list(range(100))

    def test_killed_process_keeps_the_answer(self, path: Path) -> None:
        code = (
            "import os, sys; from pathlib import Path;"
            "from tests.cache.test_sqlite import ORIGIN, SqliteStore, file_entry;"
            "store = SqliteStore(Path(sys.argv[1]), 1 << 30);"
            "lease = store.claim(ORIGIN, seconds=15, fresh_seconds=0).result().lease;"
            "assert store.commit(file_entry(), lease).result();"
            "os.kill(os.getpid(), 9)"
        )
        subprocess.run([sys.executable, "-c", code, str(path)], cwd=REPOSITORY, check=False)
        with opened(path) as store:
            assert store.peek(ORIGIN) == file_entry()


class TestLog:
    """The write-ahead log."""

    def test_log_stays_short_with_two_writers(self, path: Path) -> None:
        """SQLite alone never reaches the end of the log: 500 MiB after eight seconds."""

        def write(store: SqliteStore) -> None:
            for number in range(2500):
                origin = Origin("http", f"h{number}-{id(store)}", 80)
                store.commit(file_entry(origin, body=b"a" * 3000), None).result()

        longest = 0
        with opened(path) as one, opened(path) as two, ThreadPoolExecutor() as threads:
            writing = [threads.submit(write, store) for store in (one, two)]
            while not all(work.done() for work in writing):
                longest = max(longest, wal_octets(path))
                time.sleep(0.005)
            assert [work.result() for work in writing] == [None, None]
        assert longest < 32 << 20

    def test_stopped_reader_delays_no_writer(self, path: Path) -> None:
        """The log cannot be shortened while it reads, and writers must not wait for that."""
        with opened(path) as one, opened(path) as two:
            fill(one, 3)
            with closing(sqlite3.connect(path, isolation_level=None)) as stopped:
                stopped.execute("begin")
                stopped.execute("select * from files_3").fetchone()
                began = time.monotonic()
                fill(one, 100, 60_000, first=3)
                fill(two, 100, 60_000, first=103)
                assert time.monotonic() - began < 4
                assert wal_octets(path) > LONG_LOG
            fill(one, 80, 60_000)
            patience = time.monotonic() + 20
            while wal_octets(path) > LONG_LOG:
                assert time.monotonic() < patience, "the log stays long although the reader is gone"
                time.sleep(0.01)

    @pytest.mark.parametrize("others", [0, 1])
    def test_reading_writes_nothing(self, path: Path, others: int) -> None:
        with opened(path) as store:
            fill(store, 3)
        with opened(path) if others else nullcontext():
            before, at = path.read_bytes(), path.stat().st_mtime_ns
            with opened(path) as store:
                assert store.peek(Origin("http", "h1", 80)) is not None
                assert len(store.keys()) == 3
                assert wal_octets(path) == 0
            assert (path.read_bytes(), path.stat().st_mtime_ns) == (before, at)


class TestTrouble:
    """Files that cannot be used and are not damaged: `StoreError`, and no file is lost."""

    @pytest.mark.parametrize(
        "place", ["a folder", "a file/robots.sqlite", "/proc/self/robots.sqlite"]
    )
    def test_impossible_path_is_an_error(self, tmp_path: Path, place: str) -> None:
        (tmp_path / "a folder").mkdir()
        (tmp_path / "a file").write_text("")
        with pytest.raises(StoreError):
            SqliteStore(tmp_path / place, LARGE)

    @pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
    def test_read_only_file_is_an_error(self, path: Path) -> None:
        SqliteStore(path, LARGE).close()
        path.chmod(0o400)
        path.parent.chmod(0o500)
        with pytest.raises(StoreError):
            SqliteStore(path, LARGE)
        path.parent.chmod(0o700)

    def test_locked_file_is_an_error_once(self, path: Path) -> None:
        with opened(path) as store:
            store.commit(file_entry(), None).result()
            with locked(path):
                began = time.monotonic()
                queued = [store.commit(file_entry(OTHER), None) for _ in range(50)]
                assert store.peek(ORIGIN) == file_entry(), "readers do not wait for writers"
                for future in queued:
                    with pytest.raises(StoreError, match="locked"):
                        future.result()
                assert time.monotonic() - began < 20, "they wait once, and not each"
                assert store.peek(ORIGIN) == file_entry()
                with opened(path) as second:
                    assert second.peek(ORIGIN) == file_entry()
            store.commit(file_entry(OTHER), None).result()
            assert store.peek(OTHER) == file_entry(OTHER)
        assert aside(path) == []

    def test_missing_table_is_an_error(self, path: Path) -> None:
        """As if another program had emptied the file: a failure, not an answer."""
        with opened(path) as store, closing(sqlite3.connect(path)) as other:
            other.execute("drop table files_3")
            with pytest.raises(StoreError, match="no such table"):
                store.peek(ORIGIN)
        assert aside(path) == []

    def test_full_disk_is_an_error(self, path: Path) -> None:
        """A limit on the size of files stands for a full disk."""
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
            (json.dumps(key_of(origin).written), 1.0, record),
        )
        plain.commit()
