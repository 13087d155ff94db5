"""Entries and leases in one SQLite file that all processes of a machine share.

Reads happen where they are asked for: with a write-ahead log they never wait for writers, and cost
less than a trip to a thread. Claims and writes of small entries happen there too, unless something
is in the way. Others go through one thread, since they may take a disk's time.

One row holds an entry and the lease for it, so that nearly each claim, and each commit, is one
statement. A statement by itself is a transaction.

The file is not for network file systems: write-ahead logs need shared memory.
"""

from __future__ import annotations

import itertools
import json
import os
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import TypeVar

from scrapy_rep.protocol.access.knowledge import Copy, Knowledge
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.units import DAY_SECONDS

from .base import Busy, Claim, Found, Lease, Leased, StoreError, attempted, believed_until
from .codec import decode, encode
from .database import Database, has_versions, is_locked
from .entry import Entry, Key, key_of
from .versions import confirmed, is_same_version
from .writes import Writes

Value = TypeVar("Value")

_SHORT_OCTETS = 1 << 14  # of a body: to deflate a longer one holds the event loop up
_LOOK_EVERY = 256  # commits, for whether the file is full
_PRUNE_SHARE = 10  # a tenth of the rows, the oldest, goes at a time
_LONGEST_LEASE_SECONDS = 3600.0  # a row with a lease that ends later is pruned like others
_TEXTS = 1024  # of keys, each of which is needed several times while its file is fetched

# Whether nobody has the lease of a row; with two instants: now, and when one of today ends at last.
_IS_FREE = "not ifnull(until > ? and until <= ?, 0)"
_TAKE = f"update files_3 set token = ?, until = ? where key = ? and {_IS_FREE}"  # noqa: S608
_TAKE_NEW = (
    "insert into files_3 (key, token, until) values (?, ?, ?) on conflict (key) do update "  # noqa: S608
    f"set token = excluded.token, until = excluded.until where record is null and {_IS_FREE}"
)
_DELETE_OLDEST = (
    f"delete from files_3 where rowid in (select rowid from files_3 where {_IS_FREE} "  # noqa: S608
    "order by changed_at limit (select count(*) / ? + 1 from files_3))"
)


class SqliteStore:
    """A store in a file; several processes may have it open."""

    def __init__(
        self,
        path: Path,
        limit_octets: int,
        clock: Callable[[], float] = time.time,
        versions: int = 0,
        *,
        is_for_crawl: bool = False,
    ) -> None:
        """Open the file, or make it; a file that is damaged is set aside and replaced.

        Of each file, it keeps so many distinct versions, that of the entry included. For a crawl,
        it does the writes that wait for the disk before one is asked for.

        Raises:
            StoreError: neither can be done.
        """
        self._limit_octets = limit_octets
        self._clock = clock
        self._version_count = versions
        self._commits = itertools.count()
        self._database = Database(path, has_versions=versions > 0)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rep-store")
        self._writes = Writes(
            self._thread,
            self._database.writer,
            self._database.write_at_once,
            self._database.shorten_log,
            self._database.failed,
        )
        if is_for_crawl:
            self._begin_log()

    def peek(self, origin: Origin) -> Entry | None:
        """The entry that is there now."""
        try:
            return self._database.read(lambda connection: _read(connection, origin))
        except StoreError as error:
            if is_locked(error.__cause__):
                return None
            raise

    def versions(self, origin: Origin) -> Future[list[Copy]]:
        """The versions of a file, the newest first; none where they were never kept."""
        return attempted(lambda: self._versions(origin))

    def _versions(self, origin: Origin) -> list[Copy]:
        records = self._database.read(lambda connection: _versions_of(connection, origin))
        entries = (decode(record, origin) for record in records)
        return [entry.known.copy for entry in entries if entry is not None and entry.known.copy]

    def look(self, origin: Origin) -> Future[Entry | None]:
        """The same: the file is at hand."""
        return attempted(lambda: self.peek(origin))

    def keys(self) -> list[Key]:
        """The keys of all entries."""
        select = "select cast(key as blob) from files_3 where record is not null"  # text may not be
        rows = self._database.read(lambda connection: connection.execute(select).fetchall())
        texts = ((octets or b"").decode("utf-8", "replace") for (octets,) in rows)
        return sorted(filter(None, map(key_in, texts)), key=str)

    def forget(self, origin: Origin) -> Future[bool]:
        """Throw an entry away."""
        return self._writes.add(origin, lambda writer: _forget(writer, origin))

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        """What is there, or a lease, or that another process has one."""
        return self._writes.add(
            origin,
            lambda writer: self._claim(writer, origin, seconds, fresh_seconds),
            attempt=lambda writer: self._lease_of_new(writer, origin, seconds),
            is_short=True,
        )

    def renew(self, lease: Lease, *, seconds: float) -> Future[Lease | None]:
        """The lease for longer, if it is still held."""
        work = partial(self._renew, lease=lease, seconds=seconds)
        return self._writes.add(lease.origin, work, attempt=work, is_short=True)

    def commit(self, entry: Entry, lease: Lease | None) -> Future[bool]:
        """Keep an entry, by the right of a lease or of being newer, and end the lease."""
        copy = entry.known.copy
        is_short = not self._version_count and (copy is None or len(copy.body) <= _SHORT_OCTETS)
        work = partial(self._commit, entry=entry, lease=lease)  # one statement, without versions
        future = self._writes.add(entry.origin, work, attempt=work, is_short=is_short)
        if next(self._commits) % _LOOK_EVERY == 0:  # the first one too: most crawls are small
            look = self._is_full
            looked = self._writes.add(entry.origin, look, attempt=look, is_short=True)
            looked.add_done_callback(self._prune_if_full)
        return future

    def release(self, lease: Lease) -> Future[None]:
        """End a lease without an entry."""
        return self._writes.add(lease.origin, partial(_release, lease=lease), is_short=True)

    def close(self) -> None:
        """Finish what is being written and close the file."""
        self._writes.close()  # or it would not end while other threads write
        self._thread.shutdown()
        self._database.close()

    def _begin_log(self) -> None:
        """Have the thread do its two writes (see `writes`): a first robots.txt would wait for them.

        They write what is there already.
        """
        begun = self._writes.add(None, _touch)
        begun.add_done_callback(self._write_once_more)

    def _write_once_more(self, begun: Future[None]) -> None:
        if begun.exception() is None:
            self._writes.add(None, _touch)

    def _lease_of_new(
        self, writer: sqlite3.Connection, origin: Origin, seconds: float
    ) -> Leased | None:
        """A lease, if nothing is there and nobody else has one."""
        now = self._clock()
        lease = Lease(origin, os.urandom(16).hex(), now + seconds)
        taken = writer.execute(
            _TAKE_NEW,
            (_text(origin), lease.token, lease.until, now, believed_until(now, seconds)),
        )
        return Leased(lease) if taken.rowcount else None

    def _claim(
        self, writer: sqlite3.Connection, origin: Origin, seconds: float, fresh_seconds: float
    ) -> Claim:
        leased = self._lease_of_new(writer, origin, seconds)
        if leased is not None:
            return leased
        now = self._clock()
        entry = _read(writer, origin)
        if entry is not None and entry.fresh_until > now + fresh_seconds:
            return Found(entry)
        lease = Lease(origin, os.urandom(16).hex(), now + seconds)
        taken = writer.execute(
            _TAKE,
            (lease.token, lease.until, _text(origin), now, believed_until(now, seconds)),
        )
        if taken.rowcount:
            return Leased(lease, entry)
        held = writer.execute("select until from files_3 where key = ?", (_text(origin),))
        return Busy(float(held.fetchone()[0]) - now, entry)

    def _renew(self, writer: sqlite3.Connection, lease: Lease, seconds: float) -> Lease | None:
        until = self._clock() + seconds
        changed = writer.execute(
            "update files_3 set until = ? where key = ? and token = ?",
            (until, _text(lease.origin), lease.token),
        )
        return Lease(lease.origin, lease.token, until) if changed.rowcount else None

    def _commit(self, writer: sqlite3.Connection, entry: Entry, lease: Lease | None) -> bool:
        before = _read(writer, entry.origin) if self._version_count else None
        is_kept = _put(writer, entry) if lease is None else _put_by_right(writer, entry, lease)
        if self._version_count and is_kept:
            self._remember(writer, entry, before)
        return is_kept or lease is None

    def _remember(self, writer: sqlite3.Connection, entry: Entry, before: Entry | None) -> None:
        """Keep the copy of an entry as a version, and that of the entry before as the first one."""
        key, copy = _text(entry.origin), entry.known.copy
        newest = _newest_version(writer, entry.origin)
        if newest is None and before is not None and before.known.copy is not None:
            newest = _add_version(writer, before.origin, before.known.copy)
        if copy is None:
            return
        if newest is not None and is_same_version(newest[1], copy):
            record = encode(Entry(entry.origin, Knowledge(confirmed(newest[1], copy))))
            writer.execute("update versions_3 set record = ? where id = ?", (record, newest[0]))
            return
        _add_version(writer, entry.origin, copy)
        writer.execute(
            "delete from versions_3 where key = ? and id not in "
            "(select id from versions_3 where key = ? order by id desc limit ?)",
            (key, key, self._version_count),
        )

    def _is_full(self, writer: sqlite3.Connection) -> bool:
        """Whether the used part of the file is over its limit."""
        return _used_octets(writer) > self._limit_octets

    def _prune_if_full(self, looked: Future[bool]) -> None:
        if not looked.cancelled() and looked.exception() is None and looked.result():
            self._writes.add(None, self._prune, follows=True)

    def _prune(self, writer: sqlite3.Connection) -> None:
        """Let the oldest entries go while the used part of the file is over its limit.

        Leases of the dead, which have no entry, go first; what is being fetched stays.
        """
        now = self._clock()
        while self._is_full(writer):
            if _prune_versions(writer):
                continue
            deleted = writer.execute(
                _DELETE_OLDEST, (now, now + _LONGEST_LEASE_SECONDS, _PRUNE_SHARE)
            )
            if not deleted.rowcount:
                return


def _touch(writer: sqlite3.Connection) -> None:
    """Write the number that is there already."""
    (version,) = writer.execute("pragma user_version").fetchone()
    writer.execute(f"pragma user_version = {version}")


def _read(connection: sqlite3.Connection, origin: Origin) -> Entry | None:
    row = connection.execute(
        "select record from files_3 where key = ? and typeof(record) = 'blob'",
        (_text(origin),),
    ).fetchone()
    return None if row is None else decode(row[0], origin)


def _put(writer: sqlite3.Connection, entry: Entry) -> bool:
    """Keep an entry, unless a newer one is there: whether it was kept."""
    kept = writer.execute(
        "insert into files_3 (key, changed_at, record) values (?, ?, ?) on conflict (key) do "
        "update set changed_at = excluded.changed_at, record = excluded.record where not ifnull("
        "changed_at > excluded.changed_at and changed_at <= excluded.changed_at + ?, 0)",
        (_text(entry.origin), entry.changed_at, encode(entry), DAY_SECONDS),
    )
    return kept.rowcount > 0


def _put_by_right(writer: sqlite3.Connection, entry: Entry, lease: Lease) -> bool:
    """Keep an entry and end the lease, if this is still held: whether it was."""
    kept = writer.execute(
        "update files_3 set changed_at = ?, record = ?, token = null, until = null "
        "where key = ? and token = ?",
        (entry.changed_at, encode(entry), _text(entry.origin), lease.token),
    )
    return kept.rowcount > 0


def _versions_of(connection: sqlite3.Connection, origin: Origin) -> list[bytes]:
    """The records of the versions of a file, the newest first; none where they were never kept."""
    if not has_versions(connection):
        return []
    rows = connection.execute(
        "select record from versions_3 where key = ? and typeof(record) = 'blob' order by id desc",
        (_text(origin),),
    )
    return [record for (record,) in rows]


def _newest_version(writer: sqlite3.Connection, origin: Origin) -> tuple[int, Copy] | None:
    row = writer.execute(
        "select id, record from versions_3 where key = ? and typeof(record) = 'blob' "
        "order by id desc limit 1",
        (_text(origin),),
    ).fetchone()
    entry = None if row is None else decode(row[1], origin)
    return None if entry is None or entry.known.copy is None else (row[0], entry.known.copy)


def _add_version(writer: sqlite3.Connection, origin: Origin, copy: Copy) -> tuple[int, Copy]:
    added = writer.execute(
        "insert into versions_3 (key, record) values (?, ?)",
        (_text(origin), encode(Entry(origin, Knowledge(copy)))),
    )
    return int(added.lastrowid or 0), copy


def _forget(writer: sqlite3.Connection, origin: Origin) -> bool:
    key = (_text(origin),)
    if has_versions(writer):
        writer.execute("delete from versions_3 where key = ?", key)
    forgotten = writer.execute(
        "update files_3 set changed_at = null, record = null where key = ? and record is not null",
        key,
    )
    writer.execute("delete from files_3 where key = ? and token is null", key)
    return forgotten.rowcount > 0


def _release(writer: sqlite3.Connection, lease: Lease) -> None:
    """End a lease, if it is still held."""
    values = _text(lease.origin), lease.token
    writer.execute("delete from files_3 where key = ? and token = ? and record is null", values)
    writer.execute(
        "update files_3 set token = null, until = null where key = ? and token = ?", values
    )


def _prune_versions(writer: sqlite3.Connection) -> bool:
    """Let the oldest versions go, before any entry: whether there were some."""
    if not has_versions(writer):
        return False
    deleted = writer.execute(
        "delete from versions_3 where id in (select id from versions_3 "
        "order by id limit (select count(*) / ? + 1 from versions_3))",
        (_PRUNE_SHARE,),
    )
    return deleted.rowcount > 0


def _used_octets(writer: sqlite3.Connection) -> int:
    pages, free, octets = (
        writer.execute(f"pragma {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    (others,) = writer.execute("select max(pages) from others_3").fetchone()
    if not isinstance(others, int):  # what nobody here wrote, or a row that is lost
        others = 0
    return int((pages - free - others) * octets)


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
