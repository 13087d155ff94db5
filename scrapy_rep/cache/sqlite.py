"""Entries and leases in one SQLite file that all processes of a machine share.

Reads happen where they are asked for, on a connection of their own that can't write: with a
write-ahead log they never wait for writers, and a read costs less than a trip to a thread. Writes
and claims go through one thread, since committing may take a disk's time.

The file is not for network file systems: write-ahead logs need shared memory.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
import uuid
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from scrapy_rep.cache.base import Lease, StoreError
from scrapy_rep.cache.codec import decode, encode
from scrapy_rep.cache.entry import Entry
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.origin import Origin

logger = logging.getLogger(__name__)

Value = TypeVar("Value")

# The tables carry the version, so that versions of this package can share a file.
_SCHEMA = """
create table if not exists entries_1 (
    origin text primary key, changed_at real not null, record blob not null
);
create table if not exists leases_1 (
    origin text primary key, token text not null, until real not null
);
"""
_BUSY_MILLISECONDS = 5000
_READ_BUSY_MILLISECONDS = 20  # a reader that can't read at once has a miss
_MMAP_OCTETS = 1 << 30  # reads of a large file are several times as fast through a memory map
_PRUNE_EVERY = 256  # commits
_PRUNE_SHARE = 10  # a tenth of the entries, the oldest, goes at a time
_LEASE_KEPT_SECONDS = 3600.0


class SqliteStore:
    """A store in a file; several processes may have it open."""

    def __init__(self, path: Path, limit_octets: int) -> None:
        """Open the file, or make it; a file that is damaged is set aside and replaced.

        Raises:
            StoreError: neither can be done.
        """
        self._path = path
        self._limit_octets = limit_octets
        self._commits = 0
        self._failure: StoreError | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rep-store")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._open()
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                set_aside(path, error)
                self._open()
        except (OSError, sqlite3.Error) as error:
            self._thread.shutdown()
            raise StoreError(f"{path}: {error}") from error

    def _open(self) -> None:
        self._writer = self._thread.submit(_connect, self._path).result()
        self._thread.submit(self._writer.executescript, _SCHEMA).result()
        self._opened = _identity(self._path)
        self._reader = _connect(self._path)
        self._reader.execute(f"pragma busy_timeout = {_READ_BUSY_MILLISECONDS}")
        self._reader.execute("pragma query_only = on")
        self._reader.execute("select count(*) from (select 1 from entries_1 limit 1)").fetchone()

    def peek(self, origin: Origin) -> Entry | None:
        """The entry that is there now."""
        try:
            row = self._reader.execute(
                "select record from entries_1 where origin = ? and typeof(record) = 'blob'",
                (str(origin),),
            ).fetchone()
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                return None
            raise StoreError(f"{self._path}: {error}") from error
        except sqlite3.Error as error:
            raise self._failed(error) from error
        if row is None:
            return None
        return decode(row[0], origin)

    def origins(self) -> list[Origin]:
        """The origins of all entries."""
        try:
            rows = self._reader.execute("select origin from entries_1 order by origin").fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return [origin for (text,) in rows if (origin := _origin(text)) is not None]

    def forget(self, origin: Origin) -> Future[bool]:
        """Throw an entry away."""
        return self._write(lambda: self._forget(origin))

    def claim(self, origin: Origin, now: float, seconds: float) -> Future[Lease | None]:
        """A lease, if nobody else holds one."""
        return self._write(lambda: self._claim(origin, now, seconds))

    def renew(self, lease: Lease, now: float, seconds: float) -> Future[Lease | None]:
        """The lease for longer, if it is still held."""
        return self._write(lambda: self._renew(lease, now, seconds))

    def commit(self, entry: Entry, lease: Lease | None) -> Future[None]:
        """Keep an entry unless a newer one is there, and end the lease."""
        return self._write(lambda: self._commit(entry, lease))

    def release(self, lease: Lease) -> Future[None]:
        """End a lease without an entry."""
        return self._write(lambda: self._release(lease))

    def close(self) -> None:
        """Finish what is being written and close the file."""
        self._thread.submit(self._writer.close)
        self._thread.shutdown()
        self._reader.close()

    def _write(self, work: Callable[[], Value]) -> Future[Value]:
        try:
            return self._thread.submit(self._transaction, work)
        except RuntimeError as error:  # closed
            failed: Future[Value] = Future()
            failed.set_exception(StoreError(f"{self._path}: {error}"))
            return failed

    def _transaction(self, work: Callable[[], Value]) -> Value:
        # One write that waited for a lock in vain is enough: those behind it would wait as long.
        if self._failure is not None:
            raise self._failure
        try:
            self._writer.execute("begin immediate")
            try:
                result = work()
            except BaseException:
                self._writer.execute("rollback")
                raise
            self._writer.execute("commit")
        except sqlite3.Error as error:
            self._failure = self._failed(error)
            raise self._failure from error
        return result

    def _claim(self, origin: Origin, now: float, seconds: float) -> Lease | None:
        held = self._writer.execute(
            # One that ends much later than any does was made by a clock that was wrong.
            "select 1 from leases_1 where origin = ? and until > ? and until <= ?",
            (str(origin), now, now + _LEASE_KEPT_SECONDS),
        ).fetchone()
        if held is not None:
            return None
        lease = Lease(origin, uuid.uuid4().hex, now + seconds)
        self._writer.execute(
            "insert or replace into leases_1 values (?, ?, ?)",
            (str(origin), lease.token, lease.until),
        )
        return lease

    def _renew(self, lease: Lease, now: float, seconds: float) -> Lease | None:
        changed = self._writer.execute(
            "update leases_1 set until = ? where origin = ? and token = ?",
            (now + seconds, str(lease.origin), lease.token),
        )
        return Lease(lease.origin, lease.token, now + seconds) if changed.rowcount else None

    def _commit(self, entry: Entry, lease: Lease | None) -> None:
        self._writer.execute(
            "insert into entries_1 values (?, ?, ?) on conflict (origin) do update "
            "set changed_at = excluded.changed_at, record = excluded.record "
            "where excluded.changed_at >= changed_at or changed_at > excluded.changed_at + 86400",
            (str(entry.origin), entry.changed_at, encode(entry)),
        )
        if lease is not None:
            self._release(lease)
        if self._commits % _PRUNE_EVERY == 0:  # the first one too: most crawls are small
            self._prune()
        self._commits += 1

    def _forget(self, origin: Origin) -> bool:
        deleted = self._writer.execute("delete from entries_1 where origin = ?", (str(origin),))
        return deleted.rowcount > 0

    def _release(self, lease: Lease) -> None:
        self._writer.execute(
            "delete from leases_1 where origin = ? and token = ?",
            (str(lease.origin), lease.token),
        )

    def _prune(self) -> None:
        """Let the oldest entries go while the used part of the file is over its limit."""
        self._writer.execute(
            "delete from leases_1 where until < ?", (time.time() - _LEASE_KEPT_SECONDS,)
        )
        while self._used_octets() > self._limit_octets:
            deleted = self._writer.execute(
                "delete from entries_1 where rowid in (select rowid from entries_1 "
                "order by changed_at limit (select count(*) / ? + 1 from entries_1))",
                (_PRUNE_SHARE,),
            )
            if not deleted.rowcount:
                return

    def _used_octets(self) -> int:
        pages, free, octets = (
            self._writer.execute(f"pragma {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        return int((pages - free) * octets)

    def _failed(self, error: sqlite3.Error) -> StoreError:
        """What to raise; a damaged file is set aside, if it is still the one that was opened."""
        if _is_damage(error) and _identity(self._path) == self._opened:
            set_aside(self._path, error)
        return StoreError(f"{self._path}: {error}")


def _origin(text: object) -> Origin | None:
    """The origin that a row says it is of; None for what nobody here wrote."""
    try:
        return Origin.of(str(text))
    except InvalidUri:
        return None


def _connect(path: Path) -> sqlite3.Connection:
    # The writer is opened and used in its thread; the reader where the store is made and used.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    connection.execute(f"pragma busy_timeout = {_BUSY_MILLISECONDS}")
    connection.execute("pragma journal_mode = wal")
    # With a write-ahead log, NORMAL can lose the last commits in a power cut, but damage nothing.
    connection.execute("pragma synchronous = normal")
    connection.execute(f"pragma mmap_size = {_MMAP_OCTETS}")
    return connection


def _is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is no database, or a broken one; locked, full, read-only are others."""
    return type(error) is sqlite3.DatabaseError


def set_aside(path: Path, error: Exception) -> None:
    """Rename a damaged file and its companions, so that it can be looked at and a new one made."""
    mark = f".damaged-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}"
    try:
        for suffix in ("-wal", "-shm", ""):  # so that nobody finds the file with the wrong log
            companion = path.with_name(path.name + suffix)
            if companion.exists():
                companion.rename(path.with_name(path.name + mark + suffix))
    except OSError as refusal:
        logger.warning("%s is damaged (%s) and can't be set aside: %s", path, error, refusal)
    else:
        logger.warning("%s is damaged (%s); it is kept as %s", path, error, path.name + mark)


def _identity(path: Path) -> tuple[int, int] | None:
    """By which to know that a file is still the same, and not one that others put there since."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
