"""Entries and leases in one SQLite file that all processes of a machine share.

Reads happen where they are asked for, on a connection of their own that can't write: with a
write-ahead log they never wait for writers, and a read costs less than a trip to a thread. Writes
and claims go through one thread, since committing may take a disk's time.

The file is not for network file systems: write-ahead logs need shared memory.
"""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from scrapy_rep.protocol.access.knowledge import Copy, Knowledge
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.units import DAY_SECONDS

from .base import Busy, Claim, Found, Lease, Leased, StoreError, attempted, believed_until
from .codec import decode, encode
from .entry import Entry, Key, key_of
from .versions import confirmed, is_same_version
from .writes import Writes

logger = logging.getLogger(__name__)

Value = TypeVar("Value")

# The tables carry the version, so that versions of this package can share a file: those of others
# are neither read nor changed. What they take does not count against the limit of ours.
_SCHEMA = """
begin immediate;
create table if not exists entries_2 (
    key text primary key, changed_at real not null, record blob not null
);
create table if not exists leases_2 (
    key text primary key, token text not null, until real not null
);
create table if not exists others_2 (pages integer not null);
insert into others_2 select page_count - freelist_count
    from pragma_page_count, pragma_freelist_count where not exists (select 1 from others_2);
commit;
"""
# Made where versions are kept: a file without them is as ever.
_VERSIONS_SCHEMA = """
begin immediate;
create table if not exists versions_2 (
    id integer primary key, key text not null, record blob not null
);
create index if not exists versions_2_by_key on versions_2 (key, id);
commit;
"""
_BUSY_MILLISECONDS = 5000
_READ_BUSY_MILLISECONDS = 20  # a reader that can't read at once has a miss
_MMAP_OCTETS = 1 << 30  # reads of a large file are several times as fast through a memory map
_PRUNE_EVERY = 256  # commits
_PRUNE_SHARE = 10  # a tenth of the entries, the oldest, goes at a time
_LEASE_KEPT_SECONDS = 3600.0
_TEXTS = 1024  # of keys, each of which is needed several times while its file is fetched


class SqliteStore:
    """A store in a file; several processes may have it open."""

    def __init__(
        self,
        path: Path,
        limit_octets: int,
        clock: Callable[[], float] = time.time,
        versions: int = 0,
    ) -> None:
        """Open the file, or make it; a file that is damaged is set aside and replaced.

        Of each file, it keeps so many distinct versions, that of the entry included.

        Raises:
            StoreError: neither can be done.
        """
        self._path = path
        self._limit_octets = limit_octets
        self._clock = clock
        self._version_count = versions
        self._commits = 0
        self._is_damaged = False
        self._old_readers: list[sqlite3.Connection] = []
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rep-store")
        self._writes = Writes(self._thread, self._to_write_with, self._failed)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._open()
            except sqlite3.DatabaseError as error:
                if not _is_damage(error):
                    raise
                set_aside(path, error)
                self._open()
        except (
            OSError,
            ValueError,
            sqlite3.Error,
        ) as error:  # ValueError: a name of odd characters
            self._thread.shutdown()
            raise StoreError(f"{path}: {error}") from error

    def _open(self) -> None:
        self._writer, self._reader = self._thread.submit(self._connected).result()

    def _reopen(self) -> None:
        """Go on with a new file in the place of a damaged one; in the thread of the writer."""
        writer, reader = self._writer, self._reader
        self._writer, self._reader = self._connected()
        self._is_damaged = False
        writer.close()
        self._old_readers.append(reader)  # which may be reading right now; closed with the store

    def _connected(self) -> tuple[sqlite3.Connection, sqlite3.Connection]:
        """A connection to write with, and one to read with."""
        self._opened = _identity(self._path)
        with ExitStack() as undo:
            writer = undo.enter_context(closing(_connect(self._path)))
            _make_tables(writer)
            if self._version_count and not _has_versions(writer):
                writer.executescript(_VERSIONS_SCHEMA)
            reader = undo.enter_context(closing(_connect(self._path)))
            reader.execute(f"pragma busy_timeout = {_READ_BUSY_MILLISECONDS}")
            reader.execute("pragma query_only = on")
            reader.execute("select count(*) from (select 1 from entries_2 limit 1)").fetchone()
            self._opened = _identity(self._path)
            undo.pop_all()
        return writer, reader

    def peek(self, origin: Origin) -> Entry | None:
        """The entry that is there now."""
        try:
            return self._read(self._reader, origin)
        except sqlite3.OperationalError as error:
            if "locked" in str(error) or "busy" in str(error):
                return None
            raise StoreError(f"{self._path}: {error}") from error
        except sqlite3.Error as error:
            raise self._failed(error) from error

    @staticmethod
    def _read(connection: sqlite3.Connection, origin: Origin) -> Entry | None:
        row = connection.execute(
            "select record from entries_2 where key = ? and typeof(record) = 'blob'",
            (_text(origin),),
        ).fetchone()
        return None if row is None else decode(row[0], origin)

    def versions(self, origin: Origin) -> Future[list[Copy]]:
        """The versions of a file, the newest first; none where they were never kept."""
        return attempted(lambda: self._versions(origin))

    def _versions(self, origin: Origin) -> list[Copy]:
        try:
            if not _has_versions(self._reader):
                return []
            rows = self._reader.execute(
                "select record from versions_2 where key = ? and typeof(record) = 'blob' "
                "order by id desc",
                (_text(origin),),
            ).fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        entries = (decode(record, origin) for (record,) in rows)
        return [entry.known.copy for entry in entries if entry is not None and entry.known.copy]

    def look(self, origin: Origin) -> Future[Entry | None]:
        """The same: the file is at hand."""
        return attempted(lambda: self.peek(origin))

    def keys(self) -> list[Key]:
        """The keys of all entries."""
        try:
            rows = self._reader.execute("select key from entries_2").fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from error
        return sorted(filter(None, (key_in(text) for (text,) in rows)), key=str)

    def forget(self, origin: Origin) -> Future[bool]:
        """Throw an entry away."""
        return self._write(lambda: self._forget(origin))

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        """What is there, or a lease, or that another process has one."""
        return self._write(lambda: self._claim(origin, seconds, fresh_seconds))

    def renew(self, lease: Lease, *, seconds: float) -> Future[Lease | None]:
        """The lease for longer, if it is still held."""
        return self._write(lambda: self._renew(lease, seconds))

    def commit(self, entry: Entry, lease: Lease | None) -> Future[bool]:
        """Keep an entry, by the right of a lease or of being newer, and end the lease."""
        return self._write(lambda: self._commit(entry, lease))

    def release(self, lease: Lease) -> Future[None]:
        """End a lease without an entry."""
        return self._write(lambda: _nothing(self._release(lease)))

    def close(self) -> None:
        """Finish what is being written and close the file."""
        self._writes.close()  # or it would not end while other threads write
        self._thread.submit(self._close_writer)
        self._thread.shutdown()
        for reader in (self._reader, *self._old_readers):
            reader.close()

    def _close_writer(self) -> None:
        self._writer.close()  # the one that there is by then

    def _write(self, work: Callable[[], Value]) -> Future[Value]:
        try:
            return self._writes.add(work)
        except RuntimeError as error:  # closed
            failed: Future[Value] = Future()
            failed.set_exception(StoreError(f"{self._path}: {error}"))
            return failed

    def _to_write_with(self) -> sqlite3.Connection:
        """The connection of the writer; to a new file in the place of a damaged one.

        Another process may have found the damage, or somebody may have deleted the file. Whoever
        went on with the old one would lease what others lease in the new one.
        """
        if self._is_damaged or _identity(self._path) != self._opened:
            self._reopen()
        return self._writer

    def _claim(self, origin: Origin, seconds: float, fresh_seconds: float) -> Claim:
        now = self._clock()
        until = believed_until(now, seconds)
        lease = Lease(origin, os.urandom(16).hex(), now + seconds)
        # Nearly always, nothing is there: one look for all, and the lease.
        taken = self._writer.execute(
            "insert into leases_2 select ?, ?, ? "
            "where not exists (select 1 from entries_2 where key = ?) "
            "on conflict (key) do update set token = excluded.token, until = excluded.until "
            "where not (until > ? and until <= ?)",
            (_text(origin), lease.token, lease.until, _text(origin), now, until),
        )
        if taken.rowcount:
            return Leased(lease)
        entry = self._read(self._writer, origin)
        if entry is not None and entry.fresh_until > now + fresh_seconds:
            return Found(entry)
        held = self._writer.execute(
            "select until from leases_2 where key = ? and until > ? and until <= ?",
            (_text(origin), now, until),
        ).fetchone()
        if held is not None:
            return Busy(float(held[0]) - now, entry)
        self._writer.execute(
            "insert or replace into leases_2 values (?, ?, ?)",
            (_text(origin), lease.token, lease.until),
        )
        return Leased(lease, entry)

    def _renew(self, lease: Lease, seconds: float) -> Lease | None:
        until = self._clock() + seconds
        changed = self._writer.execute(
            "update leases_2 set until = ? where key = ? and token = ?",
            (until, _text(lease.origin), lease.token),
        )
        return Lease(lease.origin, lease.token, until) if changed.rowcount else None

    def _commit(self, entry: Entry, lease: Lease | None) -> bool:
        # The lease ends here or was another's: there is no moment between the look and the write.
        if lease is not None and not self._release(lease):
            return False
        before = self._read(self._writer, entry.origin) if self._version_count else None
        kept = self._writer.execute(
            "insert into entries_2 values (?, ?, ?) on conflict (key) do update "
            "set changed_at = excluded.changed_at, record = excluded.record "
            "where excluded.changed_at >= changed_at or changed_at > excluded.changed_at + ? or ?",
            (_text(entry.origin), entry.changed_at, encode(entry), DAY_SECONDS, lease is not None),
        )
        if self._version_count and kept.rowcount:
            self._remember(entry, before)
        if self._commits % _PRUNE_EVERY == 0:  # the first one too: most crawls are small
            self._prune()
        self._commits += 1
        return True

    def _remember(self, entry: Entry, before: Entry | None) -> None:
        """Keep the copy of an entry as a version, and that of the entry before as the first one."""
        key, copy = _text(entry.origin), entry.known.copy
        newest = self._newest_version(entry.origin)
        if newest is None and before is not None and before.known.copy is not None:
            newest = self._add_version(before.origin, before.known.copy)
        if copy is None:
            return
        if newest is not None and is_same_version(newest[1], copy):
            record = encode(Entry(entry.origin, Knowledge(confirmed(newest[1], copy))))
            self._writer.execute(
                "update versions_2 set record = ? where id = ?", (record, newest[0])
            )
            return
        self._add_version(entry.origin, copy)
        self._writer.execute(
            "delete from versions_2 where key = ? and id not in "
            "(select id from versions_2 where key = ? order by id desc limit ?)",
            (key, key, self._version_count),
        )

    def _newest_version(self, origin: Origin) -> tuple[int, Copy] | None:
        row = self._writer.execute(
            "select id, record from versions_2 where key = ? and typeof(record) = 'blob' "
            "order by id desc limit 1",
            (_text(origin),),
        ).fetchone()
        entry = None if row is None else decode(row[1], origin)
        return None if entry is None or entry.known.copy is None else (row[0], entry.known.copy)

    def _add_version(self, origin: Origin, copy: Copy) -> tuple[int, Copy]:
        added = self._writer.execute(
            "insert into versions_2 (key, record) values (?, ?)",
            (_text(origin), encode(Entry(origin, Knowledge(copy)))),
        )
        return int(added.lastrowid or 0), copy

    def _forget(self, origin: Origin) -> bool:
        if _has_versions(self._writer):
            self._writer.execute("delete from versions_2 where key = ?", (_text(origin),))
        deleted = self._writer.execute("delete from entries_2 where key = ?", (_text(origin),))
        return deleted.rowcount > 0

    def _release(self, lease: Lease) -> bool:
        """End a lease, if it is still held: whether it was."""
        ended = self._writer.execute(
            "delete from leases_2 where key = ? and token = ?",
            (_text(lease.origin), lease.token),
        )
        return ended.rowcount > 0

    def _prune(self) -> None:
        """Let the oldest entries go while the used part of the file is over its limit."""
        self._writer.execute(
            "delete from leases_2 where until < ?", (self._clock() - _LEASE_KEPT_SECONDS,)
        )
        while self._used_octets() > self._limit_octets:
            if self._prune_versions():
                continue
            deleted = self._writer.execute(
                "delete from entries_2 where rowid in (select rowid from entries_2 "
                "order by changed_at limit (select count(*) / ? + 1 from entries_2))",
                (_PRUNE_SHARE,),
            )
            if not deleted.rowcount:
                return

    def _prune_versions(self) -> bool:
        """Let the oldest versions go, before any entry: whether there were some."""
        if not _has_versions(self._writer):
            return False
        deleted = self._writer.execute(
            "delete from versions_2 where id in (select id from versions_2 "
            "order by id limit (select count(*) / ? + 1 from versions_2))",
            (_PRUNE_SHARE,),
        )
        return deleted.rowcount > 0

    def _used_octets(self) -> int:
        pages, free, octets = (
            self._writer.execute(f"pragma {name}").fetchone()[0]
            for name in ("page_count", "freelist_count", "page_size")
        )
        (others,) = self._writer.execute("select max(pages) from others_2").fetchone()
        if not isinstance(others, int):  # what nobody here wrote, or a row that is lost
            others = 0
        return int((pages - free - others) * octets)

    def _failed(self, error: sqlite3.Error) -> StoreError:
        """What to raise; a damaged file is set aside, if it is still the one that was opened."""
        if _is_damage(error):
            self._is_damaged = True
            if _identity(self._path) == self._opened:
                set_aside(self._path, error)
        return StoreError(f"{self._path}: {error}")


@lru_cache(_TEXTS)
def _text(origin: Origin) -> str:
    """A key as the text of a row; JSON, so that no two have the same, and all are ASCII."""
    return json.dumps(key_of(origin).written)


def key_in(text: object) -> Key | None:
    """The key that a row says it is of; None for what nobody here wrote."""
    try:
        return Key.read(json.loads(str(text)))
    except (InvalidUri, TypeError, ValueError, RecursionError):
        return None


def _nothing(_: object) -> None:
    pass


def _connect(path: Path) -> sqlite3.Connection:
    # Opened in one thread; the reader is used in another, where the store is.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    with ExitStack() as undo:
        undo.enter_context(closing(connection))  # a damaged file is noticed only below
        connection.execute(f"pragma busy_timeout = {_BUSY_MILLISECONDS}")
        connection.execute("pragma journal_mode = wal")
        # With a write-ahead log, NORMAL can lose the last commits in a power cut, but damage
        # nothing.
        connection.execute("pragma synchronous = normal")
        connection.execute(f"pragma mmap_size = {_MMAP_OCTETS}")
        undo.pop_all()
    return connection


def _make_tables(writer: sqlite3.Connection) -> None:
    # Looked for first: to make tables needs the lock, though they be there.
    found = writer.execute("select 1 from sqlite_master where name = 'others_2'")
    if found.fetchone() is None:
        writer.executescript(_SCHEMA)


def _has_versions(connection: sqlite3.Connection) -> bool:
    """Whether this file has versions: one that an older release made has none."""
    found = connection.execute("select 1 from sqlite_master where name = 'versions_2'")
    return found.fetchone() is not None


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
