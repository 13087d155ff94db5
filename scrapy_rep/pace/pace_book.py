"""A file with the learned paces and the rests of origins, for the processes of one machine.

It is kept next to the store of robots.txt files. A row is read, changed and written in one
transaction, so that processes share each token of a pace. A pace is remembered for a day. If the
file cannot be used, a process goes on with what it knows itself.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import asdict, replace
from math import inf, isnan
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_rep.engine.clock import posix_at
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.extensions.learned_pace import Accepted, LearnedPace, Learning, Quota
from scrapy_rep.protocol.secrecy import OWNER_ONLY
from scrapy_rep.protocol.units import DAY_SECONDS

_LOCK_SECONDS = 0.05  # how long a call blocks the event loop while another process writes
_LONGEST_SECONDS = 600.0
_MOST_NEWS = 1000
_FLAGS = frozenset({"is_whole", "has_ended", "is_told"})
_FUTURES = frozenset({"resets_at", "forgiven_until"})
_RANGES: dict[str, tuple[float, float]] = {
    "count": (1, 1e9),
    "per_second": (1e-3, 1e6),
    "burst": (1, 1e9),
    "tokens": (0, 1e9),
    "refusals": (0, 100),
    "left": (-1e9, 1e9),
    "trouble": (0, 1),
    "usual_seconds": (0, 1e6),
}
# The name carries the version of the format.
_SCHEMA = """
create table if not exists paces_1 (
    origin text primary key, learning text, rest_status integer, rest_until real,
    writer text, changed_at real
)
"""
_PUT = """
insert into paces_1 (origin, learning, rest_status, rest_until, writer, changed_at)
values (?, ?, ?, ?, ?, ?)
on conflict (origin) do update set
    learning = excluded.learning, rest_status = excluded.rest_status,
    rest_until = excluded.rest_until, writer = excluded.writer, changed_at = excluded.changed_at
"""


class SharedPace(NamedTuple):
    """The knowledge about an origin that processes share.

    Attributes:
        learning: the knowledge about its pace, with monotonic times.
        rest_status: the status of the answer after which it rests; 0 without a rest.
        rest_until: the end of the rest; POSIX seconds.
    """

    learning: Learning
    rest_status: int = 0
    rest_until: float = 0.0


class PaceBook:
    """The rows of the file; several processes have it open."""

    def __init__(self, path: Path) -> None:
        """Open or make the file.

        Raises:
            OSError: it cannot be made.
            sqlite3.Error: it cannot be used.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, OWNER_ONLY))
        self._writer = os.urandom(8).hex()
        self._seen_at, self._version = 0.0, -1
        made = sqlite3.connect(path, _LOCK_SECONDS, isolation_level=None)
        try:
            made.execute("pragma journal_mode = wal")
            made.execute("pragma synchronous = off")  # no row is worth a wait for the disk
            made.execute(_SCHEMA)
            made.execute("delete from paces_1 where changed_at < ?", (time.time() - DAY_SECONDS,))
        except BaseException:
            made.close()
            raise
        self._connection = made

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def change(
        self, origin: Origin, change: Callable[[SharedPace | None], SharedPace]
    ) -> SharedPace:
        """Change the row of an origin, and return it.

        Raises:
            sqlite3.Error: another process writes for too long, or the file cannot be used.
        """
        connection = self._connection
        connection.execute("begin immediate")
        with connection:
            select = "select learning, rest_status, rest_until from paces_1 where origin = ?"
            row = connection.execute(select, (str(origin),)).fetchone()
            shared = change(None if row is None else _shared(*row))
            values = asdict(
                replace(shared.learning, refused_url="", refused_at=-inf, quick_at=-inf)
            )
            learning = json.dumps(_moved(values, posix_at(0.0)))
            row = str(origin), learning, shared.rest_status, shared.rest_until
            connection.execute(_PUT, (*row, self._writer, time.time()))
        return shared

    def news(self) -> Iterator[tuple[Origin, SharedPace]]:
        """The changes of other processes since the last call.

        Raises:
            sqlite3.Error: the file cannot be used.
        """
        ((version,),) = self._connection.execute("pragma data_version")
        if version == self._version:
            return
        since_at, self._seen_at, self._version = self._seen_at, time.time(), version
        select = (
            "select origin, learning, rest_status, rest_until from paces_1 "
            "where changed_at >= ? and writer != ? order by changed_at desc limit ?"
        )
        # A row may be written while this is read: look at those of the last moment again.
        with closing(
            self._connection.execute(select, (since_at - 1, self._writer, _MOST_NEWS))
        ) as rows:
            for text, *values in rows.fetchall():
                shared, origin = _shared(*values), None
                with suppress(InvalidUri, ValueError):
                    origin = Origin.of(text)
                if origin is not None and shared is not None:
                    yield origin, shared


def _shared(learning: Any, rest_status: Any, rest_until: Any) -> SharedPace | None:
    """A row; None if it cannot be read, or has values that no process would write."""
    try:
        values = _moved(json.loads(learning), -posix_at(0.0))
        accepted, pace, quota = (values[name] for name in ("accepted", "pace", "quota"))
        found = Learning(
            None if accepted is None else Accepted(**_checked(accepted)),
            None if pace is None else LearnedPace(**_checked(pace)),
            None if quota is None else Quota(**_checked(quota)),
            **_checked(
                {name: values[name] for name in ("forgiven_until", "trouble", "usual_seconds")}
            ),
        )
        status, until = int(rest_status), float(rest_until)
    except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None
    return None if isnan(until) else SharedPace(found, status, until)


def _checked(values: dict[str, Any]) -> dict[str, Any]:
    """The same values, if they are in their ranges; times in the future end soon.

    The clock may have been set back since they were written.
    """
    now = time.monotonic()
    found = dict(values)
    for name, value in values.items():
        if _is_time(name):
            longest = _LONGEST_SECONDS if name in _FUTURES else 0.0
            found[name] = min(float(value), now + longest)
        elif not (isinstance(value, bool) and name in _FLAGS):
            low, high = _RANGES[name]
            if isinstance(value, bool) or not low <= value <= high:
                raise ValueError(f"{name} = {value!r}")
        if isnan(found[name]):
            raise ValueError(f"{name} is no number")
    return found


def _is_time(name: str) -> bool:
    return name == "at" or name.endswith(("_at", "_until"))


def _moved(values: dict[str, Any], seconds: float) -> dict[str, Any]:
    """The same values, with each time moved by some seconds."""
    return {
        name: _moved(value, seconds)
        if isinstance(value, dict)
        else value + seconds
        if _is_time(name)
        else value
        for name, value in values.items()
    }
