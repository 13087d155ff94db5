"""The entries of a store's file for those who only read it, row by row: nothing is changed.

Other processes may write meanwhile. A file in a place that cannot be written to is read too, as it
is: its write-ahead log, if there is one, is then left out.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

from .base import StoreError
from .codec import decode
from .entry import Entry
from .sqlite import key_in

_BUSY_SECONDS = 5.0


def last_row(path: Path) -> int:
    """The greatest row of a file; -1 if it has none.

    Raises:
        StoreError: it cannot be read, or is no store of this version.
    """
    (found,) = _rows(path, "select max(rowid) from entries_2", ())[0]
    return -1 if found is None else int(found)


def read_entries(path: Path, first: int, stop: int) -> Iterator[Entry | None]:
    """The entries of rows from `first` up to `stop`; None for one that is damaged.

    Raises:
        StoreError: as above.
    """
    select = "select key, record from entries_2 where rowid >= ? and rowid < ? order by rowid"
    for text, record in _rows(path, select, (first, stop)):
        key = key_in(text)
        yield decode(record, key) if key is not None and isinstance(record, bytes) else None


def _rows(path: Path, select: str, values: tuple[int, ...]) -> list[tuple[Any, ...]]:
    uri = f"file:{quote(str(path.resolve()))}?mode=ro"
    try:
        try:
            return _found(uri, select, values)
        except sqlite3.OperationalError as error:
            if "unable to open" not in str(error) and "readonly" not in str(error):
                raise
            return _found(f"{uri}&immutable=1", select, values)
    except sqlite3.Error as error:
        is_other = "no such table" in str(error)
        words = "it is no store of this version" if is_other else str(error)
        raise StoreError(f"{path}: {words}") from error


def _found(uri: str, select: str, values: tuple[int, ...]) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS)) as connection:
        return connection.execute(select, values).fetchall()
