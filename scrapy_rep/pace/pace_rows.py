"""Rows of text by name that processes change together; those in a SQLite file.

A row is read, changed and written as one step. Rows are kept for a day. All calls block the event
loop, so their time is limited; after an error, a process goes on alone for a while.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Protocol

from scrapy_rep.extras import part
from scrapy_rep.protocol.secrecy import OWNER_ONLY
from scrapy_rep.protocol.units import DAY_SECONDS

MOST_NEWS = 1000
OVERLAP_SECONDS = 1.0
"""A row may be written while others are read: those of the last moment are read again."""

LOCKED_SECONDS = 5.0
"""How long a process goes on alone if others write all the time."""

_LOCK_SECONDS = 0.05  # how long a call waits while another process writes

# The names carry the version of the format.
_SCHEMA = """
create table if not exists paces_2 (name text primary key, text text, changed_at real)
"""
_PUT = """
insert into paces_2 (name, text, changed_at) values (?, ?, ?)
on conflict (name) do update set text = excluded.text, changed_at = excluded.changed_at
"""
_NEWS = """
select name, text from paces_2 where changed_at >= ? order by changed_at desc limit ?
"""

Change = Callable[[str], str]
"""A function from the text of a row, or nothing, to its new text. It may be called repeatedly."""


class RowsError(Exception):
    """Rows cannot be read or changed.

    Attributes:
        seconds: after which time they perhaps can.
        is_usual: whether others only write at the same time, or the log has a warning already.
    """

    def __init__(self, reason: object, seconds: float = inf, *, is_usual: bool = False) -> None:
        super().__init__(str(reason))
        self.seconds, self.is_usual = seconds, is_usual


class SharedRows(Protocol):
    """Rows that several processes have open; each method raises `RowsError`.

    Attributes:
        ahead_seconds: how much the clock that all processes share is ahead of that of this one.
    """

    ahead_seconds: float

    def change(self, name: str, change: Change) -> None:
        """Change a row."""

    def news(self) -> Iterator[tuple[str, str]]:
        """The names and texts of the rows that may have changed since the last call."""

    def close(self) -> None:
        """Close them."""


def rows_at(place: Path | str) -> SharedRows:
    """The rows in a file, or in the Redis of a URL.

    Raises:
        RowsError: they cannot be opened.
    """
    if isinstance(place, Path):
        return SqliteRows(place)
    made: SharedRows = part("paces in Redis")(place)
    return made


class SqliteRows:
    """Rows in a file, for the processes of one machine."""

    ahead_seconds = 0.0

    def __init__(self, path: Path) -> None:
        self._seen_at, self._version = 0.0, -1
        with _errors_of_sqlite():
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_RDWR | os.O_CREAT, OWNER_ONLY))
            made = sqlite3.connect(path, _LOCK_SECONDS, isolation_level=None)
            try:
                made.execute("pragma journal_mode = wal")
                made.execute("pragma synchronous = off")  # no row is worth a wait for the disk
                made.execute(_SCHEMA)
                old_at = time.time() - DAY_SECONDS
                made.execute("delete from paces_2 where changed_at < ?", (old_at,))
            except BaseException:
                made.close()
                raise
        self._connection = made

    def change(self, name: str, change: Change) -> None:
        """Change a row."""
        with _errors_of_sqlite():
            self._connection.execute("begin immediate")
            with self._connection as connection:
                select = "select text from paces_2 where name = ?"
                row = connection.execute(select, (name,)).fetchone()
                text = change("" if row is None else str(row[0]))
                connection.execute(_PUT, (name, text, time.time()))

    def news(self) -> Iterator[tuple[str, str]]:
        """The rows that may have changed."""
        with _errors_of_sqlite():
            ((version,),) = self._connection.execute("pragma data_version")
            if version == self._version:  # no other process has written
                return
            since_at = self._seen_at - OVERLAP_SECONDS
            self._seen_at, self._version = time.time(), version
            rows = self._connection.execute(_NEWS, (since_at, MOST_NEWS)).fetchall()
        for name, text in rows:
            yield str(name), str(text)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()


@contextmanager
def _errors_of_sqlite() -> Iterator[None]:
    try:
        yield
    except (OSError, sqlite3.Error) as error:
        if "locked" in str(error):  # by another process, for a moment
            raise RowsError(error, LOCKED_SECONDS, is_usual=True) from error
        raise RowsError(error) from error
