"""Entries and leases in one SQLite file that all processes of a machine share.

Reads and writes happen in the calling thread, because a hop to another thread costs more than the
write. With a write-ahead log, reads do not wait for writers, and writes do not wait for the disk. A
write that fails, because another process holds the lock or for any other reason, is repeated in a
thread, which can wait. That thread also moves the log into the file.

A damaged file is renamed, and the next write makes a new one, as it does after the file was deleted
or replaced. Any other failure, such as a lock that is never released or a full disk, raises
`StoreError`, and the next write connects again.

The file is not for network file systems: write-ahead logs need shared memory.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from filelock import FileLock

from scrapy_rep.protocol.access.knowledge import Copy, Knowledge
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.secrecy import OWNER_ONLY
from scrapy_rep.protocol.units import DAY_SECONDS

from .base import (
    Busy,
    Claim,
    Found,
    Lease,
    Leased,
    StoreError,
    attempted,
    believed_until,
    done,
    failed,
)
from .codec import decode, encode, key_in, key_text
from .entry import Entry, Key, is_same_version

logger = logging.getLogger(__name__)

Value = TypeVar("Value")

_LOCK_SECONDS = 5.0  # how long a write waits for other processes, in the thread
_QUICK_LOCK_SECONDS = 0.005  # how long a call blocks the event loop while others lock the file
_OPEN_SECONDS = 5.0  # another process opens the file, or renames a damaged one, in milliseconds
_TIDY_OCTETS = 1 << 22  # written to the log
_COMMIT_OCTETS = 1 << 14  # of a lease and an entry in the log, in whole pages, without the record
_LOG_OCTETS = 1 << 23  # a longer log is shortened, even if writers must wait
_LOG_LOCK_SECONDS = 0.02  # writers must wait while the log is shortened
_PRUNE_SHARE = 10  # a tenth of the rows, the oldest, goes at a time
_LONGEST_LEASE_SECONDS = 3600.0  # a row with a lease that ends later is pruned like others
_BUSY_SECONDS = 5.0
_DAMAGED_SPANS = 1000  # in a row: a damaged file may claim any number of rows

# The tables carry the version of the format: versions of this package can share a file. A row of
# `files_3` holds an entry (`changed_at`, `record`), a lease (`token`, `until`), or both.
_SCHEMA = """
begin immediate;
create table if not exists files_3 (
    key text primary key, changed_at real, record blob, token text, until real
);
create table if not exists versions_3 (
    id integer primary key, key text not null, record blob not null
);
create index if not exists versions_3_by_key on versions_3 (key, id);
commit;
"""
_PUT_LEASE = """
insert into files_3 (key, token, until) values (?, ?, ?)
on conflict (key) do update set token = excluded.token, until = excluded.until
"""
_PUT_ROW = """
insert into files_3 (key, changed_at, record, token, until) values (?, ?, ?, ?, ?)
on conflict (key) do update set
    changed_at = excluded.changed_at, record = excluded.record,
    token = excluded.token, until = excluded.until
"""
_DELETE_OLDEST_VERSIONS = """
delete from versions_3 where id in (
    select id from versions_3 order by id limit (select count(*) / ? + 1 from versions_3)
)
"""
_DELETE_OLDEST_ENTRIES = """
delete from files_3 where rowid in (
    select rowid from files_3 where not ifnull(until > ? and until <= ?, 0)
    order by changed_at limit (select count(*) / ? + 1 from files_3)
)
"""


@dataclass(frozen=True, slots=True)
class _Opened:
    """The connections to a file, and which file it is."""

    identity: tuple[int, int] | None
    patient: sqlite3.Connection  # of the thread
    quick: sqlite3.Connection  # of the callers

    def close(self) -> None:
        self.patient.close()
        self.quick.close()


class SqliteStore:
    """A store in a file; several processes may have it open."""

    def __init__(
        self,
        path: Path,
        limit_octets: int,
        clock: Callable[[], float] = time.time,
        versions: int = 0,
    ) -> None:
        """Open or create the file; a damaged file is renamed and replaced.

        Args:
            path: the path of the file; missing folders are created.
            limit_octets: the oldest entries are deleted if the used part of the file is larger.
            clock: POSIX seconds.
            versions: how many distinct versions of each file are kept, including the entry's.

        Raises:
            StoreError: the file can neither be opened nor made.
        """
        self._limit_octets = limit_octets
        self._clock = clock
        self._version_count = versions
        self._untidy_octets = _TIDY_OCTETS  # tidies first: most crawls are small
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rep-store")
        self._calling = threading.Lock()  # held while the quick connection is used or replaced
        self._is_broken = False  # whether the next write must connect again
        self._failure: tuple[float, StoreError] | None = None  # the last one, and when it was
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._path = Path(os.path.realpath(path))  # SQLite puts its log next to it
            self._opened = self._open()
        except (OSError, ValueError, sqlite3.Error) as error:  # ValueError: an impossible name
            raise StoreError(f"{path}: {error}") from error

    def peek(self, origin: Origin) -> Entry | None:
        """The entry."""
        try:
            rows = self._rows("select record from files_3 where key = ?", key_text(origin))
        except StoreError as error:
            if isinstance(error.__cause__, sqlite3.OperationalError) and "locked" in str(error):
                return None
            raise
        return decode(rows[0][0], origin) if rows else None

    def versions(self, origin: Origin) -> Future[list[Copy]]:
        """The stored versions of a file, the newest first."""
        select = "select record from versions_3 where key = ? order by id desc"

        def read() -> list[Copy]:
            entries = [decode(record, origin) for (record,) in self._rows(select, key_text(origin))]
            return [entry.known.copy for entry in entries if entry and entry.known.copy]

        return attempted(read)

    def look(self, origin: Origin) -> Future[Entry | None]:
        """The same as `peek`, because the file is local."""
        return attempted(lambda: self.peek(origin))

    def keys(self) -> list[Key]:
        """The keys of all entries."""
        rows = self._rows("select key from files_3 where record is not null")
        return sorted(filter(None, (key_in(text) for (text,) in rows)), key=str)

    def forget(self, origin: Origin) -> Future[bool]:
        """Delete an entry."""
        return self._written(partial(_forget, key=key_text(origin)))

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        """The entry, or a lease, or the wait for another process's lease."""
        key = key_text(origin)

        def claimed(writer: sqlite3.Connection) -> Claim:
            now = self._clock()
            select = "select record, until from files_3 where key = ?"
            record, until = writer.execute(select, (key,)).fetchone() or (None, None)
            entry = decode(record, origin)
            if entry is not None and entry.fresh_until > now + fresh_seconds:
                return Found(entry)
            if isinstance(until, float) and now < until <= believed_until(now, seconds):
                return Busy(until - now, entry)
            lease = Lease(origin, os.urandom(16).hex(), now + seconds)
            writer.execute(_PUT_LEASE, (key, lease.token, lease.until))
            return Leased(lease, entry)

        return self._written(claimed)

    def renew(self, lease: Lease, *, seconds: float) -> Future[Lease | None]:
        """The lease for longer, if it is still held."""
        return self._written(partial(self._renew, lease=lease, seconds=seconds))

    def commit(self, entry: Entry, lease: Lease | None) -> Future[bool]:
        """Keep an entry if the lease is held or the entry is newer, and end the lease."""
        key, record = key_text(entry.origin), encode(entry)
        self._untidy_octets += _COMMIT_OCTETS + len(record)
        if self._untidy_octets > _TIDY_OCTETS:
            self._untidy_octets = 0
            self._queue(self._tidy)
        return self._written(lambda writer: self._commit(writer, key, entry, record, lease))

    def release(self, lease: Lease) -> Future[None]:
        """End a lease without an entry."""
        return self._written(partial(_release, key=key_text(lease.origin), token=lease.token))

    def close(self) -> None:
        """Finish all writes and close the file."""
        self._thread.shutdown()
        with self._calling:
            self._opened.close()

    def _renew(self, writer: sqlite3.Connection, lease: Lease, seconds: float) -> Lease | None:
        until = self._clock() + seconds
        changed = writer.execute(
            "update files_3 set until = ? where key = ? and token = ?",
            (until, key_text(lease.origin), lease.token),
        )
        return Lease(lease.origin, lease.token, until) if changed.rowcount else None

    def _commit(
        self,
        writer: sqlite3.Connection,
        key: str,
        entry: Entry,
        record: bytes,
        lease: Lease | None,
    ) -> bool:
        at = entry.changed_at
        select = "select changed_at, record, token, until from files_3 where key = ?"
        row = writer.execute(select, (key,)).fetchone() or (None, None, None, None)
        before_at, before, token, until = row
        if lease is not None:
            if token != lease.token:
                return False
            token = until = None
        elif isinstance(before_at, float) and at < before_at <= at + DAY_SECONDS:
            return True  # the stored entry is newer
        if self._version_count:
            for one in (decode(before, entry.origin), entry):
                if one is not None and one.known.copy is not None:
                    self._remember(writer, entry.origin, one.known.copy)
        writer.execute(_PUT_ROW, (key, at, record, token, until))
        return True

    def _remember(self, writer: sqlite3.Connection, origin: Origin, copy: Copy) -> None:
        """Add a version, or confirm the newest one if the copy is the same."""
        key = key_text(origin)
        select = "select id, record from versions_3 where key = ? order by id desc limit 1"
        number, record = writer.execute(select, (key,)).fetchone() or (None, None)
        newest = decode(record, origin)
        version = newest.known.copy if newest is not None else None
        if version is not None and is_same_version(version, copy):
            copy = replace(copy, fetched_at=min(version.fetched_at, copy.fetched_at))
        else:
            number = None
        writer.execute(
            "insert or replace into versions_3 (id, key, record) values (?, ?, ?)",
            (number, key, encode(Entry(origin, Knowledge(copy)))),
        )
        writer.execute(
            "delete from versions_3 where key = ? and id not in "
            "(select id from versions_3 where key = ? order by id desc limit ?)",
            (key, key, self._version_count),
        )

    def _tidy(self) -> None:
        """Keep the file and its log short, in the thread; the next write reports errors."""
        with suppress(StoreError, OSError, sqlite3.Error):
            self._write(self._prune, time.monotonic())
            patient = self._opened.patient
            patient.execute("pragma wal_checkpoint(passive)").fetchall()
            # While several processes write, that never reaches the end of the log.
            if self._beside("-wal").stat().st_size > _LOG_OCTETS:
                patient.execute(f"pragma busy_timeout = {1000 * _LOG_LOCK_SECONDS:.0f}")
                try:
                    patient.execute("pragma wal_checkpoint(truncate)").fetchall()
                finally:
                    patient.execute(f"pragma busy_timeout = {1000 * _LOCK_SECONDS:.0f}")

    def _prune(self, writer: sqlite3.Connection) -> None:
        """Delete the oldest rows while the used part of the file is over its limit.

        Versions go before entries, and expired leases without an entry before other rows; rows with
        a lease in force stay.
        """
        now = self._clock()
        oldest = now, now + _LONGEST_LEASE_SECONDS, _PRUNE_SHARE
        while _used_octets(writer) > self._limit_octets:
            versions = writer.execute(_DELETE_OLDEST_VERSIONS, (_PRUNE_SHARE,))
            if not (versions.rowcount or writer.execute(_DELETE_OLDEST_ENTRIES, oldest).rowcount):
                return

    def _rows(self, select: str, *values: str) -> list[tuple[Any, ...]]:
        with self._calling:
            try:
                return self._opened.quick.execute(select, values).fetchall()
            except sqlite3.Error as error:
                if _is_damage(error):
                    self._queue(partial(self._set_aside, self._opened, error))
                raise StoreError(f"{self._path}: {error}") from error

    def _written(self, work: Callable[[sqlite3.Connection], Value]) -> Future[Value]:
        """Do some work in a transaction: here, or in the thread if that fails."""
        with self._calling, suppress(OSError, sqlite3.Error):
            if not self._is_broken and self._identity() == self._opened.identity:
                return done(_transacted(self._opened.quick, work))
        queued = self._queue(partial(self._write, work, time.monotonic()))
        return queued or failed(StoreError(f"{self._path}: the store is closed"))

    def _queue(self, work: Callable[[], Value]) -> Future[Value] | None:
        """Do some work in the thread; None if the store is closed."""
        with suppress(RuntimeError):
            return self._thread.submit(work)
        return None

    def _write(self, work: Callable[[sqlite3.Connection], Value], queued_at: float) -> Value:
        if self._failure is not None and queued_at < self._failure[0]:
            raise self._failure[1]  # otherwise each queued write would wait for the same lock
        try:
            if self._is_broken or self._identity() != self._opened.identity:
                self._reopen()
            return _transacted(self._opened.patient, work)
        except (OSError, sqlite3.Error) as error:
            failure = StoreError(f"{self._path}: {error}")
            self._failure = time.monotonic(), failure
            self._is_broken = True
            if _is_damage(error):
                self._set_aside(self._opened, error)
            raise failure from error

    def _reopen(self) -> None:
        former = self._opened
        opened = self._open(former)
        with self._calling:
            self._opened = opened
            former.close()
        self._is_broken = False

    def _open(self, former: _Opened | None = None) -> _Opened:
        """Connect to the file; rename it first if it is damaged.

        Windows renames no file that is open, so the former connections are closed before.
        """
        with self._lock():
            if self._identity() is None:  # it was deleted, or a process died while it renamed it
                self._rename("-wal", "-shm")
            try:
                return self._connected()
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                if former is not None:
                    with self._calling:
                        former.close()
                self._rename_damaged(error)
            return self._connected()

    def _connected(self) -> _Opened:
        # SQLite's log gets this mode too.
        os.close(os.open(self._path, os.O_RDONLY | os.O_CREAT, OWNER_ONLY))
        with ExitStack() as undo:
            patient = _connection(self._path, _LOCK_SECONDS, undo)
            # Looked for first: `create table if not exists` needs the lock.
            found = patient.execute("select 1 from sqlite_master where name = 'versions_3_by_key'")
            if found.fetchone() is None:
                patient.executescript(_SCHEMA)
            quick = _connection(self._path, _QUICK_LOCK_SECONDS, undo)
            undo.pop_all()
            return _Opened(self._identity(), patient, quick)

    def _set_aside(self, opened: _Opened, error: Exception) -> None:
        """Rename a damaged file, in the thread, unless another process did; keep it for people."""
        if opened is not self._opened:
            return
        self._is_broken = True
        with self._calling:
            opened.close()
        with suppress(OSError), self._lock():
            if self._identity() == opened.identity:
                self._rename_damaged(error)

    def _rename_damaged(self, error: Exception) -> None:
        try:
            kept = self._rename("", "-wal", "-shm")
        except OSError as refusal:
            words = "%s is damaged (%s), and cannot be renamed (%s). Remove it when no crawl runs"
            logger.warning(words, self._path, error, refusal)
            raise
        logger.warning("%s is damaged (%s); it is kept as %s", self._path, error, kept)

    def _rename(self, *suffixes: str) -> str:
        """Rename the file or its companions; return the new name of the file."""
        mark = f".damaged-{datetime.now(timezone.utc):%Y%m%dT%H%M%S.%f}"
        for suffix in suffixes:
            with suppress(FileNotFoundError):
                self._beside(suffix).rename(self._beside(mark + suffix))
        return self._beside(mark).name

    def _identity(self) -> tuple[int, int] | None:
        """Identifies the file at the path; None if there is no file."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return None
        return found.st_dev, found.st_ino

    def _beside(self, suffix: str) -> Path:
        return self._path.with_name(self._path.name + suffix)

    def _lock(self) -> FileLock:
        """Keeps other processes from opening the file while one renames it and its companions."""
        return FileLock(self._beside(".lock"), timeout=_OPEN_SECONDS, mode=OWNER_ONLY)


def _connection(path: Path, lock_seconds: float, undo: ExitStack) -> sqlite3.Connection:
    # It may be used in another thread, but never in two at the same time.
    made = sqlite3.connect(path, lock_seconds, isolation_level=None, check_same_thread=False)
    connection = undo.enter_context(closing(made))
    connection.execute("pragma journal_mode = wal")
    # With a write-ahead log, NORMAL can lose the last commits in a power cut, but damage nothing.
    connection.execute("pragma synchronous = normal")
    connection.execute("pragma wal_autocheckpoint = 0")  # callers must not wait for the disk
    connection.execute("pragma mmap_size = 0")  # a truncated file would kill this process
    connection.text_factory = _as_text
    return connection


def _transacted(
    connection: sqlite3.Connection, work: Callable[[sqlite3.Connection], Value]
) -> Value:
    connection.execute("begin immediate")
    with connection:
        return work(connection)


def _as_text(octets: bytes) -> str:
    """A text of a row, which may be damaged."""
    return octets.decode("utf-8", "replace")


def _is_damage(error: BaseException) -> bool:
    """Whether an error means a damaged file, and not a locked, full or read-only one."""
    return type(error) is sqlite3.DatabaseError


def _forget(writer: sqlite3.Connection, key: str) -> bool:
    writer.execute("delete from versions_3 where key = ?", (key,))
    forgotten = writer.execute(
        "update files_3 set changed_at = null, record = null where key = ? and record is not null",
        (key,),
    )
    writer.execute("delete from files_3 where key = ? and token is null", (key,))
    return forgotten.rowcount > 0


def _release(writer: sqlite3.Connection, key: str, token: str) -> None:
    values = key, token
    writer.execute("delete from files_3 where key = ? and token = ? and record is null", values)
    writer.execute(
        "update files_3 set token = null, until = null where key = ? and token = ?", values
    )


def _used_octets(writer: sqlite3.Connection) -> int:
    ((octets,),) = writer.execute(
        "select (page_count - freelist_count) * page_size "
        "from pragma_page_count, pragma_freelist_count, pragma_page_size"
    )
    return int(octets)


# Read-only access to the entries of a file, row by row. Other processes may write at the same time.
# A file in a read-only folder is read without its write-ahead log.


def spans(path: Path, count: int) -> Iterator[tuple[int, int]]:
    """Ranges of at most `count` rows that together hold all entries: first row, and row after them.

    Gaps between rows cost nothing.

    Raises:
        StoreError: the file cannot be read, or is not a store of this version.
    """
    with _reading(path) as connection:
        (last,) = connection.execute("select max(rowid) from files_3").fetchone()
        (first,) = connection.execute("select min(rowid) from files_3").fetchone()
        damaged_count = 0
        while first is not None and first <= last and damaged_count < _DAMAGED_SPANS:
            yield first, first + count
            sought = first + count
            try:
                select = "select min(rowid) from files_3 where rowid >= ?"
                (first,) = connection.execute(select, (sought,)).fetchone()
                damaged_count = 0
            except sqlite3.DatabaseError:
                first = sought
                damaged_count += 1


def read_entries(path: Path, first: int, stop: int) -> list[Entry | None]:
    """The entries of rows from `first` up to `stop`; None for a damaged entry or the damaged rest.

    Raises:
        StoreError: the file cannot be read.
    """
    select = (
        "select key, record from files_3 "
        "where rowid >= ? and rowid < ? and record is not null order by rowid"
    )
    entries: list[Entry | None] = []
    with _reading(path) as connection:
        try:
            for text, record in connection.execute(select, (first, stop)):
                key = key_in(text)
                entries.append(None if key is None else decode(record, key))
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            entries.append(None)
    return entries


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    uri = f"file:{quote(str(path.resolve()))}?mode=ro"
    with ExitStack() as undo:
        try:
            connection = undo.enter_context(closing(_read_only(uri)))
            try:
                connection.execute("select 1 from files_3 limit 1")
            except sqlite3.OperationalError as error:
                if "unable to open" not in str(error) and "readonly" not in str(error):
                    raise
                connection = undo.enter_context(closing(_read_only(f"{uri}&immutable=1")))
            yield connection
        except sqlite3.Error as error:
            is_other = "no such table" in str(error)
            words = "it is not a store of this version" if is_other else str(error)
            raise StoreError(f"{path}: {words}") from error


def _read_only(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS)
    connection.text_factory = _as_text
    return connection
