"""One SQLite file that is in use: the connections to it, and a new file where it is damaged.

There are two. One writes in a thread: it waits for the lock, and moves what is in the write-ahead
log into the file now and then, which takes a disk's time. One reads, and does short writes, where
the store is asked: it waits for nobody and moves nothing, so that its commit is an append to the
log, which the system keeps in memory. It does both, since a connection forgets what it has read of
the file when another one writes.
"""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from .base import StoreError
from .place import Identity, Place

Value = TypeVar("Value")

# The tables carry the version, so that versions of this package can share a file: those of others
# are neither read nor changed. What they take does not count against the limit of ours.
#
# A row of `files_3` holds an entry (`changed_at`, `record`), a lease (`token`, `until`), or both.
# In tables of their own, they would make each commit write twice as many pages.
_SCHEMA = """
begin immediate;
create table if not exists files_3 (
    key text primary key, changed_at real, record blob, token text, until real
);
create table if not exists others_3 (pages integer not null);
insert into others_3 select page_count - freelist_count
    from pragma_page_count, pragma_freelist_count where not exists (select 1 from others_3);
commit;
"""
# Made where versions are kept: a file without them is as ever.
_VERSIONS_SCHEMA = """
begin immediate;
create table if not exists versions_3 (
    id integer primary key, key text not null, record blob not null
);
create index if not exists versions_3_by_key on versions_3 (key, id);
commit;
"""
_BUSY_MILLISECONDS = 5000
_OPEN_SECONDS = 1.0  # who opens the file, or sets it aside, takes some milliseconds
_PAUSES_SECONDS = 0.0001, 0.0004, 0.0015, 0.003  # between tries for a lock: others hold it as long
_LOG_OCTETS = 1 << 23  # SQLite begins to move it at half of that
_LOG_BUSY_MILLISECONDS = 20  # nobody writes meanwhile
_LOG_REST_SECONDS = 1.0  # after it was tried in vain


@dataclass(frozen=True, slots=True)
class _Opened:
    """The connections to a file.

    Attributes:
        identity: of the file.
        log: its write-ahead log.
        writer: of the thread.
        here: reads and writes where it is asked to.
    """

    identity: Identity | None
    log: Path
    writer: sqlite3.Connection
    here: sqlite3.Connection

    def close(self) -> None:
        """Close them."""
        self.writer.close()
        self.here.close()


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
        self._is_broken = False  # whether what reads and writes here is closed
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._opened = self._open()
        except (
            OSError,
            ValueError,
            sqlite3.Error,
        ) as error:  # ValueError: a name of odd characters
            raise StoreError(f"{path}: {error}") from error

    def read(self, work: Callable[[sqlite3.Connection], Value]) -> Value:
        """What some work reads, here.

        Raises:
            StoreError: for an error of SQLite's; a damaged file is set aside.
        """
        with self._lock:
            try:
                return soon(lambda: work(self._opened.here))
            except sqlite3.Error as error:
                raise self.failed(error) from error

    def write_at_once(self, work: Callable[[sqlite3.Connection], bool]) -> bool:
        """Have some work write, here: what it returns; False if it is for `writer`.

        That is so where the file is new, or a write could neither be done nor undone.
        """
        with self._lock:
            if not self._is_usable():
                return False
            here = self._opened.here
            try:
                return work(here)
            finally:
                self._undo(here)

    def _undo(self, connection: sqlite3.Connection) -> None:
        """End a transaction, or the connection, so that the lock is let go of in any case."""
        try:
            if connection.in_transaction:
                connection.execute("rollback")
        except sqlite3.Error:
            connection.close()
            self._is_broken = True

    def writer(self) -> sqlite3.Connection:
        """To write with, in the thread; to a new file in the place of a damaged one.

        Another process may have found the damage, or somebody may have deleted the file. Whoever
        went on with the old one would lease what others lease in the new one.
        """
        if not self._is_usable():
            opened = self._open()
            with self._lock:  # others may use the former ones right now
                former, self._opened = self._opened, opened
                self._is_broken = False
            former.close()
        return self._opened.writer

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
        return not self._is_broken and self._place.identity() == self._opened.identity

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
                here = undo.enter_context(closing(_connect(self._path)))
                if len({before or identity, identity, self._place.identity()}) > 1:
                    # Or one connection would read what another does not write.
                    raise sqlite3.OperationalError("the file was replaced while it was opened")
                log = self._place.log()
            _make_tables(writer)
            if self._has_versions and not has_versions(writer):
                writer.executescript(_VERSIONS_SCHEMA)
            here.execute("select count(*) from (select 1 from files_3 limit 1)").fetchone()
            here.execute("pragma busy_timeout = 0")
            here.execute("pragma wal_autocheckpoint = 0")
            undo.pop_all()
        return _Opened(identity, log, writer, here)


def soon(work: Callable[[], Value]) -> Value:
    """What some work with the connection gives that does not wait for a lock.

    Others hold it for moments, so the work is tried for some milliseconds. The interpreter is left
    to the thread meanwhile, which might be the one that has it.

    Raises:
        sqlite3.OperationalError: somebody has it for longer.
    """
    for pause in _PAUSES_SECONDS:
        try:
            return work()
        except sqlite3.OperationalError as error:
            if not is_locked(error):
                raise
        time.sleep(pause)
    return work()


def is_locked(error: BaseException | None) -> bool:
    """Whether an error says that somebody else has the lock."""
    return isinstance(error, sqlite3.OperationalError) and "locked" in str(error)


def has_versions(connection: sqlite3.Connection) -> bool:
    """Whether this file has versions: one that an older release made has none."""
    found = connection.execute("select 1 from sqlite_master where name = 'versions_3'")
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
    found = writer.execute("select 1 from sqlite_master where name = 'others_3'")
    if found.fetchone() is None:
        writer.executescript(_SCHEMA)


def _is_damage(error: sqlite3.Error) -> bool:
    """Whether the file is no database, or a broken one; locked, full, read-only are others."""
    return type(error) is sqlite3.DatabaseError
