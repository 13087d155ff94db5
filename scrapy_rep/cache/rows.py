"""Read-only access to the entries of a store's file, row by row.

Other processes may write at the same time. A file in a read-only place is read without its
write-ahead log.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from .base import StoreError
from .codec import decode
from .entry import Entry
from .sqlite import as_text, is_damage, key_in

_BUSY_SECONDS = 5.0
_DAMAGED_SPANS = 1000  # in a row: a damaged file may claim any number of rows


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
    """The entries of rows from `first` up to `stop`; None in place of a damaged one, or the rest.

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
            if not is_damage(error):
                raise
            entries.append(None)
    return entries


@contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection]:
    uri = f"file:{quote(str(path.resolve()))}?mode=ro"
    with ExitStack() as undo:
        try:
            connection = undo.enter_context(closing(_connection(uri)))
            try:
                connection.execute("select 1 from files_3 limit 1")
            except sqlite3.OperationalError as error:
                if "unable to open" not in str(error) and "readonly" not in str(error):
                    raise
                connection = undo.enter_context(closing(_connection(f"{uri}&immutable=1")))
            yield connection
        except sqlite3.Error as error:
            is_other = "no such table" in str(error)
            words = "it is no store of this version" if is_other else str(error)
            raise StoreError(f"{path}: {words}") from error


def _connection(uri: str) -> sqlite3.Connection:
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS)
    connection.text_factory = as_text
    return connection
