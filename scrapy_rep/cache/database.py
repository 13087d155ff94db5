"""One SQLite file that is in use: the connections to it, and a new file where it is damaged.

There are three. One reads, where the store is asked. One writes in a thread: it waits for the lock,
and moves what is in the write-ahead log into the file now and then, which takes a disk's time. One
does short writes where they are asked for: it waits for nobody and moves nothing, so that its
commit is an append to the log, which the system keeps in memory.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from .base import StoreError
from .place import Identity, Place

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
_OPEN_SECONDS = 1.0  # who opens the file, or sets it aside, takes some milliseconds
_READ_BUSY_MILLISECONDS = 20  # a reader that can't read at once has a miss
_LOG_OCTETS = 1 << 23  # SQLite begins to move it at half of that
_LOG_BUSY_MILLISECONDS = 20  # nobody writes meanwhile
_LOG_REST_SECONDS = 1.0  # after it was tried in vain


@dataclass(frozen=True, slots=True)
class _Opened:
    """The connections to a file.

    Attributes:
        identity: of the file.
        log: its write-ahead log.
        reader: reads.
        writer: of the thread.
        short_writer: writes where it is asked to.
    """

    identity: Identity | None
    log: Path
    reader: sqlite3.Connection
    writer: sqlite3.Connection
    short_writer: sqlite3.Connection

    def close(self) -> None:
        """Close them."""
        for one in (self.writer, self.short_writer, self.reader):
            one.close()


class Database:
    """The file at a path, or the one that takes its place."""

    def __init__(self, path: Path, *, has_versions: bool) -> None:
        """Open the file, or make it; a file that is damaged is set aside and replaced.

        Args:
            path: where it is; folders are made.
            has_versions: whether to make the table of versions, where there is none.

        Raises:
            StoreError: it can neither be opened nor made.
        """
        self._path = path.absolute()  # the folder that a process works in may change
        self._place = Place(self._path)
        self._has_versions = has_versions
        self._log_again_at = 0.0  # when to move the log at the earliest, by `time.monotonic`
        self._lock = threading.RLock()  # held while any but the thread uses what is opened
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._opened = self._open()
        except (
            OSError,
            ValueError,
            sqlite3.Error,
        ) as error:  # ValueError: a name of odd characters
            raise StoreError(f"{path}: {error}") from error

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with, which stays open meanwhile.

        Raises:
            StoreError: for an error of SQLite's; a damaged file is set aside.
        """
        with self._lock:
            try:
                yield self._opened.reader
            except sqlite3.Error as error:
                raise self.failed(error) from error

    def writer(self) -> sqlite3.Connection:
        """To write with, in the thread; to a new file in the place of a damaged one.

        Another process may have found the damage, or somebody may have deleted the file. Whoever
        went on with the old one would lease what others lease in the new one.
        """
        if not self._is_usable():
            opened = self._open()
            with self._lock:  # others may use the former ones right now
                former, self._opened = self._opened, opened
            former.close()
        return self._opened.writer

    @contextmanager
    def short_writing(self) -> Iterator[sqlite3.Connection | None]:
        """A connection to write with at once; None where that is for `writer`: the file is new."""
        with self._lock:
            yield self._opened.short_writer if self._is_usable() else None

    def failed(self, error: sqlite3.Error) -> StoreError:
        """What to raise where something failed with what is opened; damage is set aside."""
        if _is_damage(error):
            # If somebody holds the place, the file stays until the damage is met once more.
            with suppress(StoreError), self._place.held(0):
                self._place.set_aside(self._opened.identity, error)
        return StoreError(f"{self._path}: {error}")

    def close(self) -> None:
        """Close the file; nobody reads or writes any more."""
        self._opened.close()

    def _is_usable(self) -> bool:
        return self._place.identity() == self._opened.identity

    def shorten_log(self) -> None:
        """Move a long write-ahead log into the file, in the thread.

        SQLite does so by itself after a commit, but only what nobody adds to meanwhile: where
        several processes write, the log would grow for ever. Here they wait. A process that was
        stopped amid a read keeps the log as it is, and must not keep all others from writing: this
        is tried for a moment, and then later.
        """
        now = time.monotonic()
        if now < self._log_again_at:
            return
        with suppress(OSError, sqlite3.Error):  # whoever writes next is told what is wrong
            if self._opened.log.stat().st_size <= _LOG_OCTETS:
                return
            self._log_again_at = now + _LOG_REST_SECONDS
            writer = self._opened.writer
            writer.execute(f"pragma busy_timeout = {_LOG_BUSY_MILLISECONDS}")
            try:
                ((is_busy, *_),) = writer.execute("pragma wal_checkpoint(truncate)").fetchall()
            finally:
                writer.execute(f"pragma busy_timeout = {_BUSY_MILLISECONDS}")
            if not is_busy:
                self._log_again_at = 0.0

    def _open(self) -> _Opened:
        """Connect to the file; set it aside if it is damaged, and connect to a new one."""
        before = self._place.identity()
        try:
            return self._connected()
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            with self._place.held(_OPEN_SECONDS):
                self._place.set_aside(before, error)
        return self._connected()

    def _connected(self) -> _Opened:
        with ExitStack() as undo:
            with self._place.held(_OPEN_SECONDS):
                self._place.clear()
                before = self._place.identity()
                writer = undo.enter_context(closing(_connect(self._path)))
                identity = self._place.identity()
                reader, short_writer = (
                    undo.enter_context(closing(_connect(self._path))) for _ in range(2)
                )
                if len({before or identity, identity, self._place.identity()}) > 1:
                    # Or one connection would read what another does not write.
                    raise sqlite3.OperationalError("the file was replaced while it was opened")
                log = self._place.log()
            _make_tables(writer)
            if self._has_versions and not has_versions(writer):
                writer.executescript(_VERSIONS_SCHEMA)
            reader.execute(f"pragma busy_timeout = {_READ_BUSY_MILLISECONDS}")
            reader.execute("pragma query_only = on")
            reader.execute("select count(*) from (select 1 from entries_2 limit 1)").fetchone()
            short_writer.execute("pragma busy_timeout = 0")
            short_writer.execute("pragma wal_autocheckpoint = 0")
            undo.pop_all()
        return _Opened(identity, log, reader, writer, short_writer)


def has_versions(connection: sqlite3.Connection) -> bool:
    """Whether this file has versions: one that an older release made has none."""
    found = connection.execute("select 1 from sqlite_master where name = 'versions_2'")
    return found.fetchone() is not None


def _connect(path: Path) -> sqlite3.Connection:
    # No connection stays in the thread that opened it; none is used in two at a time.
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    with ExitStack() as undo:
        undo.enter_context(closing(connection))  # a damaged file is noticed only below
        connection.execute(f"pragma busy_timeout = {_BUSY_MILLISECONDS}")
        connection.execute("pragma journal_mode = wal")
        # With a write-ahead log, NORMAL can lose the last commits in a power cut, but damage
        # nothing.
        connection.execute("pragma synchronous = normal")
        # No memory map: whoever truncated the file would kill this process.
        connection.execute("pragma mmap_size = 0")
        undo.pop_all()
    return connection


def _make_tables(writer: sqlite3.Connection) -> None:
    # Looked for first: to make tables needs the lock, though they be there.
    found = writer.execute("select 1 from sqlite_master where name = 'others_2'")
    if found.fetchone() is None:
        writer.executescript(_SCHEMA)


def _is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is no database, or a broken one; locked, full, read-only are others."""
    return type(error) is sqlite3.DatabaseError
