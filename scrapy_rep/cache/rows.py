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
_DAMAGED_SPANS = 1000  # in a row: a damaged file may tell of any number of rows


class DamagedError(StoreError):
    """A page of the file is damaged; others may be whole."""


def spans(path: Path, count: int) -> Iterator[tuple[int, int]]:
    """Ranges of at most so many rows, which hold all entries: the first row, and that after them.

    Rows that are not there, of which there may be any number, cost nothing.

    Raises:
        StoreError: it cannot be read, or is no store of this version.
    """
    # One look-up each. Both in one select would read every page.
    ((first,),), ((last,),) = (
        _rows(path, f"select {end}(rowid) from files_3", ())  # noqa: S608 - min, max
        for end in ("min", "max")
    )
    damaged_count = 0
    while first is not None and first <= last and damaged_count < _DAMAGED_SPANS:
        yield first, first + count
        sought = first + count
        try:
            select = "select min(rowid) from files_3 where rowid >= ?"
            ((first,),) = _rows(path, select, (sought,))
            damaged_count = 0
        except DamagedError:
            first = sought
            damaged_count += 1


def read_entries(path: Path, first: int, stop: int) -> Iterator[Entry | None]:
    """The entries of rows from `first` up to `stop`; None for one that is damaged.

    Raises:
        StoreError: the file cannot be read.
    """
    select = (
        "select key, record from files_3 "
        "where rowid >= ? and rowid < ? and record is not null order by rowid"
    )
    try:
        rows = _rows(path, select, (first, stop))
    except DamagedError:
        yield from _one_by_one(path, first, stop)
        return
    yield from map(_entry, rows)


def _one_by_one(path: Path, first: int, stop: int) -> Iterator[Entry | None]:
    """The entries of rows of which some are on a damaged page."""
    for row in range(first, stop):
        yield from _if_there(path, row)


def _if_there(path: Path, row: int) -> list[Entry | None]:
    try:
        select = "select key, record from files_3 where rowid = ? and record is not null"
        return [*map(_entry, _rows(path, select, (row,)))]
    except DamagedError:
        return [None]


def _entry(row: tuple[Any, ...]) -> Entry | None:
    text, record = row
    key = key_in(text)
    return decode(record, key) if key is not None and isinstance(record, bytes) else None


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
        if _is_of_a_page(error):
            raise DamagedError(f"{path}: {error}") from error
        is_other = "no such table" in str(error)
        words = "it is no store of this version" if is_other else str(error)
        raise StoreError(f"{path}: {words}") from error


def _found(uri: str, select: str, values: tuple[int, ...]) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(uri, uri=True, timeout=_BUSY_SECONDS)) as connection:
        connection.text_factory = _text
        return connection.execute(select, values).fetchall()


def _text(octets: bytes) -> str:
    return octets.decode("utf-8", "replace")


def _is_of_a_page(error: sqlite3.Error) -> bool:
    """Whether an error tells of damage, and not of a file that is busy or something else."""
    return type(error) is sqlite3.DatabaseError and "not a database" not in str(error)
