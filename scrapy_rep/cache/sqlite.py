"""Entries and leases in one SQLite file that all processes of a machine share.

Reads happen where they are asked for, on a connection of their own that can't write: with a
write-ahead log they never wait for writers, and a read costs less than a trip to a thread. Claims
and writes of small entries happen there too, unless something is in the way. Others go through one
thread, since they may take a disk's time.

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
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from scrapy_rep.protocol.access.knowledge import Copy, Knowledge
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.units import DAY_SECONDS

from .base import Busy, Claim, Found, Lease, Leased, attempted, believed_until
from .codec import decode, encode
from .database import Database, has_versions
from .entry import Entry, Key, key_of
from .versions import confirmed, is_same_version
from .writes import Writes

Value = TypeVar("Value")

_SHORT_OCTETS = 1 << 14  # of a body: to deflate a longer one holds the event loop up
_TIDY_EVERY = 256  # commits
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
        self._limit_octets = limit_octets
        self._clock = clock
        self._version_count = versions
        self._commits = itertools.count()
        self._database = Database(path, has_versions=versions > 0)
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rep-store")
        self._writes = Writes(
            self._thread,
            self._database.writer,
            self._database.short_writing,
            self._database.shorten_log,
            self._database.failed,
        )

    def peek(self, origin: Origin) -> Entry | None:
        """The entry that is there now."""
        with self._database.reading() as reader:
            try:
                return _read(reader, origin)
            except sqlite3.OperationalError as error:
                if "locked" in str(error) or "busy" in str(error):
                    return None
                raise

    def versions(self, origin: Origin) -> Future[list[Copy]]:
        """The versions of a file, the newest first; none where they were never kept."""
        return attempted(lambda: self._versions(origin))

    def _versions(self, origin: Origin) -> list[Copy]:
        with self._database.reading() as reader:
            if not has_versions(reader):
                return []
            rows = reader.execute(
                "select record from versions_2 where key = ? and typeof(record) = 'blob' "
                "order by id desc",
                (_text(origin),),
            ).fetchall()
        entries = (decode(record, origin) for (record,) in rows)
        return [entry.known.copy for entry in entries if entry is not None and entry.known.copy]

    def look(self, origin: Origin) -> Future[Entry | None]:
        """The same: the file is at hand."""
        return attempted(lambda: self.peek(origin))

    def keys(self) -> list[Key]:
        """The keys of all entries."""
        with self._database.reading() as reader:
            rows = reader.execute("select key from entries_2").fetchall()
        return sorted(filter(None, (key_in(text) for (text,) in rows)), key=str)

    def forget(self, origin: Origin) -> Future[bool]:
        """Throw an entry away."""
        return self._writes.add(origin, lambda writer: _forget(writer, origin))

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        """What is there, or a lease, or that another process has one."""
        return self._writes.add(
            origin,
            lambda writer: self._claim(writer, origin, seconds, fresh_seconds),
            is_short=True,
        )

    def renew(self, lease: Lease, *, seconds: float) -> Future[Lease | None]:
        """The lease for longer, if it is still held."""
        return self._writes.add(
            lease.origin, lambda writer: self._renew(writer, lease, seconds), is_short=True
        )

    def commit(self, entry: Entry, lease: Lease | None) -> Future[bool]:
        """Keep an entry, by the right of a lease or of being newer, and end the lease."""
        copy = entry.known.copy
        is_short = copy is None or len(copy.body) <= _SHORT_OCTETS
        future = self._writes.add(
            entry.origin,
            lambda writer: self._commit(writer, entry, lease),
            is_short=is_short and not self._version_count,
        )
        if next(self._commits) % _TIDY_EVERY == 0:  # the first one too: most crawls are small
            tidied = self._writes.add(entry.origin, self._tidy, is_short=True)
            tidied.add_done_callback(self._prune_if_full)
        return future

    def release(self, lease: Lease) -> Future[None]:
        """End a lease without an entry."""
        return self._writes.add(
            lease.origin, lambda writer: _nothing(_release(writer, lease)), is_short=True
        )

    def close(self) -> None:
        """Finish what is being written and close the file."""
        self._writes.close()  # or it would not end while other threads write
        self._thread.shutdown()
        self._database.close()

    def _claim(
        self, writer: sqlite3.Connection, origin: Origin, seconds: float, fresh_seconds: float
    ) -> Claim:
        now = self._clock()
        until = believed_until(now, seconds)
        lease = Lease(origin, os.urandom(16).hex(), now + seconds)
        # Nearly always, nothing is there: one look for all, and the lease.
        taken = writer.execute(
            "insert into leases_2 select ?, ?, ? "
            "where not exists (select 1 from entries_2 where key = ?) "
            "on conflict (key) do update set token = excluded.token, until = excluded.until "
            "where not (until > ? and until <= ?)",
            (_text(origin), lease.token, lease.until, _text(origin), now, until),
        )
        if taken.rowcount:
            return Leased(lease)
        entry = _read(writer, origin)
        if entry is not None and entry.fresh_until > now + fresh_seconds:
            return Found(entry)
        held = writer.execute(
            "select until from leases_2 where key = ? and until > ? and until <= ?",
            (_text(origin), now, until),
        ).fetchone()
        if held is not None:
            return Busy(float(held[0]) - now, entry)
        writer.execute(
            "insert or replace into leases_2 values (?, ?, ?)",
            (_text(origin), lease.token, lease.until),
        )
        return Leased(lease, entry)

    def _renew(self, writer: sqlite3.Connection, lease: Lease, seconds: float) -> Lease | None:
        until = self._clock() + seconds
        changed = writer.execute(
            "update leases_2 set until = ? where key = ? and token = ?",
            (until, _text(lease.origin), lease.token),
        )
        return Lease(lease.origin, lease.token, until) if changed.rowcount else None

    def _commit(self, writer: sqlite3.Connection, entry: Entry, lease: Lease | None) -> bool:
        # The lease ends here or was another's: there is no moment between the look and the write.
        if lease is not None and not _release(writer, lease):
            return False
        before = _read(writer, entry.origin) if self._version_count else None
        kept = writer.execute(
            "insert into entries_2 values (?, ?, ?) on conflict (key) do update "
            "set changed_at = excluded.changed_at, record = excluded.record "
            "where excluded.changed_at >= changed_at or changed_at > excluded.changed_at + ? or ?",
            (_text(entry.origin), entry.changed_at, encode(entry), DAY_SECONDS, lease is not None),
        )
        if self._version_count and kept.rowcount:
            self._remember(writer, entry, before)
        return True

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
            writer.execute("update versions_2 set record = ? where id = ?", (record, newest[0]))
            return
        _add_version(writer, entry.origin, copy)
        writer.execute(
            "delete from versions_2 where key = ? and id not in "
            "(select id from versions_2 where key = ? order by id desc limit ?)",
            (key, key, self._version_count),
        )

    def _tidy(self, writer: sqlite3.Connection) -> bool:
        """Throw leases of the dead away: whether the used part of the file is over its limit."""
        writer.execute(
            "delete from leases_2 where until < ?", (self._clock() - _LEASE_KEPT_SECONDS,)
        )
        return _used_octets(writer) > self._limit_octets

    def _prune_if_full(self, tidied: Future[bool]) -> None:
        if not tidied.cancelled() and tidied.exception() is None and tidied.result():
            self._writes.add(None, self._prune, follows=True)

    def _prune(self, writer: sqlite3.Connection) -> None:
        """Let the oldest entries go while the used part of the file is over its limit."""
        while _used_octets(writer) > self._limit_octets:
            if _prune_versions(writer):
                continue
            deleted = writer.execute(
                "delete from entries_2 where rowid in (select rowid from entries_2 "
                "order by changed_at limit (select count(*) / ? + 1 from entries_2))",
                (_PRUNE_SHARE,),
            )
            if not deleted.rowcount:
                return


def _read(connection: sqlite3.Connection, origin: Origin) -> Entry | None:
    row = connection.execute(
        "select record from entries_2 where key = ? and typeof(record) = 'blob'",
        (_text(origin),),
    ).fetchone()
    return None if row is None else decode(row[0], origin)


def _newest_version(writer: sqlite3.Connection, origin: Origin) -> tuple[int, Copy] | None:
    row = writer.execute(
        "select id, record from versions_2 where key = ? and typeof(record) = 'blob' "
        "order by id desc limit 1",
        (_text(origin),),
    ).fetchone()
    entry = None if row is None else decode(row[1], origin)
    return None if entry is None or entry.known.copy is None else (row[0], entry.known.copy)


def _add_version(writer: sqlite3.Connection, origin: Origin, copy: Copy) -> tuple[int, Copy]:
    added = writer.execute(
        "insert into versions_2 (key, record) values (?, ?)",
        (_text(origin), encode(Entry(origin, Knowledge(copy)))),
    )
    return int(added.lastrowid or 0), copy


def _forget(writer: sqlite3.Connection, origin: Origin) -> bool:
    if has_versions(writer):
        writer.execute("delete from versions_2 where key = ?", (_text(origin),))
    deleted = writer.execute("delete from entries_2 where key = ?", (_text(origin),))
    return deleted.rowcount > 0


def _release(writer: sqlite3.Connection, lease: Lease) -> bool:
    """End a lease, if it is still held: whether it was."""
    ended = writer.execute(
        "delete from leases_2 where key = ? and token = ?",
        (_text(lease.origin), lease.token),
    )
    return ended.rowcount > 0


def _prune_versions(writer: sqlite3.Connection) -> bool:
    """Let the oldest versions go, before any entry: whether there were some."""
    if not has_versions(writer):
        return False
    deleted = writer.execute(
        "delete from versions_2 where id in (select id from versions_2 "
        "order by id limit (select count(*) / ? + 1 from versions_2))",
        (_PRUNE_SHARE,),
    )
    return deleted.rowcount > 0


def _used_octets(writer: sqlite3.Connection) -> int:
    pages, free, octets = (
        writer.execute(f"pragma {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    (others,) = writer.execute("select max(pages) from others_2").fetchone()
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


def _nothing(_: object) -> None:
    pass
