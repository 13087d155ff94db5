"""One SQLite file that is in use: the connections to it, and a new file where it is damaged.

There are three. One reads, where the store is asked. One writes in a thread: it waits for the lock,
and moves what is in the write-ahead log into the file now and then, which takes a disk's time. One
does short writes where they are asked for: it waits for nobody and moves nothing, so that its
commit is an append to the log, which the system keeps in memory.
"""

from __future__ import annotations

import itertools
import logging
import os
import sqlite3
import time
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from pathlib import Path

from .base import StoreError

logger = logging.getLogger(__name__)

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
_LOG_OCTETS = 1 << 23  # SQLite begins to move it at half of that
_LOG_BUSY_MILLISECONDS = 20  # nobody writes meanwhile
_LOG_REST_SECONDS = 1.0  # after it was tried in vain
_MMAP_OCTETS = 1 << 30  # reads of a large file are several times as fast through a memory map


@dataclass(frozen=True, slots=True)
class _Opened:
    """The connections to a file.

    Attributes:
        identity: of the file.
        reader: reads.
        writer: of the thread.
        short_writer: writes where it is asked to.
    """

    identity: tuple[int, int] | None
    reader: sqlite3.Connection
    writer: sqlite3.Connection
    short_writer: sqlite3.Connection


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
        self._path = path
        self._log = path.with_name(path.name + "-wal")
        self._has_versions = has_versions
        self._is_damaged = False
        self._log_again_at = 0.0  # when to move the log at the earliest, by `time.monotonic`
        self._former: list[sqlite3.Connection] = []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._opened = self._open()
        except (
            OSError,
            ValueError,
            sqlite3.Error,
        ) as error:  # ValueError: a name of odd characters
            raise StoreError(f"{path}: {error}") from error

    @property
    def reader(self) -> sqlite3.Connection:
        """To read with."""
        return self._opened.reader

    def writer(self) -> sqlite3.Connection:
        """To write with, in the thread; to a new file in the place of a damaged one.

        Another process may have found the damage, or somebody may have deleted the file. Whoever
        went on with the old one would lease what others lease in the new one.
        """
        if not self._is_usable():
            former, self._opened = self._opened, self._open()
            self._is_damaged = False
            former.writer.close()
            self._former += former.reader, former.short_writer  # others may use them right now
        return self._opened.writer

    def short_writer(self) -> sqlite3.Connection | None:
        """To write with at once; None where that is for `writer`, which makes a new file."""
        return self._opened.short_writer if self._is_usable() else None

    def failed(self, error: sqlite3.Error) -> StoreError:
        """What to raise where the writer failed; a damaged file is set aside if it is still it."""
        return self._failed(error, self._opened)

    def read_failed(self, error: sqlite3.Error, reader: sqlite3.Connection) -> StoreError:
        """The same where a reader failed. It may be of a file that was replaced meanwhile."""
        opened = self._opened
        return self._failed(error, opened if reader is opened.reader else None)

    def _failed(self, error: sqlite3.Error, opened: _Opened | None) -> StoreError:
        if opened is not None and _is_damage(error):
            self._is_damaged = True
            if _identity_of(self._path) == opened.identity:
                set_aside(self._path, error)
        return StoreError(f"{self._path}: {error}")

    def close(self) -> None:
        """Close the file; nobody reads or writes any more."""
        opened = self._opened
        for one in (opened.writer, opened.short_writer, opened.reader, *self._former):
            one.close()

    def _is_usable(self) -> bool:
        return not self._is_damaged and _identity_of(self._path) == self._opened.identity

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
            if self._log.stat().st_size <= _LOG_OCTETS:
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
        before = _identity_of(self._path)
        try:
            return self._connected()
        except sqlite3.DatabaseError as error:
            if not _is_damage(error):
                raise
            if _identity_of(self._path) == before:  # others may have put a new one there
                set_aside(self._path, error)
        return self._connected()

    def _connected(self) -> _Opened:
        before = _identity_of(self._path)
        with ExitStack() as undo:
            writer = undo.enter_context(closing(_connect(self._path)))
            _make_tables(writer)
            if self._has_versions and not has_versions(writer):
                writer.executescript(_VERSIONS_SCHEMA)
            identity = _identity_of(self._path)
            reader = undo.enter_context(closing(_connect(self._path)))
            reader.execute(f"pragma busy_timeout = {_READ_BUSY_MILLISECONDS}")
            reader.execute("pragma query_only = on")
            reader.execute("select count(*) from (select 1 from entries_2 limit 1)").fetchone()
            short_writer = undo.enter_context(closing(_connect(self._path)))
            short_writer.execute("pragma busy_timeout = 0")
            short_writer.execute("pragma wal_autocheckpoint = 0")
            if len({before or identity, identity, _identity_of(self._path)}) > 1:
                # Or one connection would read what another does not write.
                raise sqlite3.OperationalError("the file was replaced while it was opened")
            undo.pop_all()
        return _Opened(identity, reader, writer, short_writer)


def has_versions(connection: sqlite3.Connection) -> bool:
    """Whether this file has versions: one that an older release made has none."""
    found = connection.execute("select 1 from sqlite_master where name = 'versions_2'")
    return found.fetchone() is not None


def set_aside(path: Path, error: Exception) -> None:
    """Rename a damaged file and its companions, so that it can be looked at and a new one made."""
    mark = _unused(path, f".damaged-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}")
    try:
        for suffix in ("-wal", "-shm", ""):  # so that nobody finds the file with the wrong log
            companion = path.with_name(path.name + suffix)
            if companion.exists():
                companion.rename(path.with_name(path.name + mark + suffix))
    except OSError as refusal:
        logger.warning("%s is damaged (%s) and can't be set aside: %s", path, error, refusal)
    else:
        logger.warning("%s is damaged (%s); it is kept as %s", path, error, path.name + mark)


def _unused(path: Path, mark: str) -> str:
    """A mark by which no file was set aside yet."""
    numbered = (f"{mark}-{number}" for number in itertools.count(2))
    marks = itertools.chain([mark], numbered)
    return next(one for one in marks if not path.with_name(path.name + one).exists())


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
        connection.execute(f"pragma mmap_size = {_MMAP_OCTETS}")
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


def _identity_of(path: Path) -> tuple[int, int] | None:
    """By which to know that a file is still the same, and not one that others put there since."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino
