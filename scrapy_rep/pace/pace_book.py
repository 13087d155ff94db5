"""The learned paces and the rests of origins that processes share, in rows of text.

The rows are in a file next to the store of robots.txt files, for the processes of one machine, or
in Redis, for those of several. A row is read, changed and written as one step, so that processes
share each token of a pace.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, replace
from math import inf, isnan
from pathlib import Path
from typing import Any, NamedTuple

from scrapy_rep.engine.clock import posix_at
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.extensions.learned_pace import Accepted, LearnedPace, Learning, Quota

from .pace_rows import rows_at

_LONGEST_SECONDS = 600.0
_FLAGS = frozenset({"is_whole", "has_ended", "is_told", "fails_often"})
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
_OF_ORIGIN = ("forgiven_until", "trouble", "usual_seconds", "quick_at", "fails_often")


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
    """The knowledge that processes share."""

    def __init__(self, place: Path | str) -> None:
        """Open or make it in a file, or in the Redis of a URL.

        Raises:
            RowsError: it cannot be used.
        """
        self._rows = rows_at(place)
        self._writer = os.urandom(8).hex()

    def close(self) -> None:
        """Close it."""
        self._rows.close()

    def change(
        self, origin: Origin, change: Callable[[SharedPace | None], SharedPace]
    ) -> SharedPace:
        """Change the knowledge about an origin, and return it.

        Raises:
            RowsError: it cannot be used, or other processes write for too long.
        """
        shared = None

        def changed(text: str) -> str:
            nonlocal shared
            shared = change(self._read(text)[0])
            values = asdict(replace(shared.learning, refused_url="", refused_at=-inf))
            return json.dumps(
                {
                    "learning": _moved(values, self._to_shared),
                    "rest_status": shared.rest_status,
                    "rest_until": shared.rest_until + self._rows.ahead_seconds,
                    "writer": self._writer,
                }
            )

        self._rows.change(str(origin), changed)
        assert shared is not None  # noqa: S101
        return shared

    def news(self) -> Iterator[tuple[Origin, SharedPace]]:
        """The changes of other processes since the last call.

        Raises:
            RowsError: it cannot be used.
        """
        for name, text in self._rows.news():
            origin, (shared, writer) = None, self._read(text)
            with suppress(InvalidUri, ValueError):
                origin = Origin.of(name)
            if origin is not None and shared is not None and writer != self._writer:
                yield origin, shared

    @property
    def _to_shared(self) -> float:
        """The seconds from a monotonic time to that of the clock that all processes share."""
        return posix_at(0.0) + self._rows.ahead_seconds

    def _read(self, text: str) -> tuple[SharedPace | None, str]:
        """A row, and its writer; None if it is no row, or no process would write its values."""
        try:
            row = json.loads(text)
            values = _moved(row["learning"], -self._to_shared)
            accepted, pace, quota = (values[name] for name in ("accepted", "pace", "quota"))
            found = Learning(
                None if accepted is None else Accepted(**_checked(accepted)),
                None if pace is None else LearnedPace(**_checked(pace)),
                None if quota is None else Quota(**_checked(quota)),
                **_checked({name: values[name] for name in _OF_ORIGIN}),
            )
            until = float(row["rest_until"]) - self._rows.ahead_seconds
            status, writer = int(row["rest_status"]), str(row["writer"])
        except (ArithmeticError, AttributeError, KeyError, RecursionError, TypeError, ValueError):
            return None, ""
        return (None if isnan(until) else SharedPace(found, status, until)), writer


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
