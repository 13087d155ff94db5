"""Counts in bounded memory: rows by key, moments in time, and gaps between visits."""

from __future__ import annotations

import math
from bisect import insort
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from itertools import chain, count
from typing import Generic, TypeVar

OTHERS = "others"
"""The name under which additional names are counted."""

_KEYS = 50_000
_MOMENTS = 120
# Each is a multiple of the one before.
_SPANS = (1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 14_400, 43_200, 86_400, 604_800)
_LATEST = 1e11  # later than any clock; later times are damage
ROUNDING_SECONDS = 0.0021
"""By how much a gap may seem too short: both ends are in whole milliseconds."""
_BUFFERED = 8  # visits of an origin; trails list them in the order of their answers


@dataclass(frozen=True)
class Moment:
    """The decisions in a span of time that begins here; `Times` has its length.

    `against` are the requests that were sent though their robots.txt disallows them.
    """

    at: float
    allowed: int
    held_back: int
    against: int
    exempt: int
    stale: int


@dataclass(frozen=True)
class Times:
    """Decisions over time: a moment for each span of `seconds` with decisions."""

    seconds: float
    moments: tuple[Moment, ...]


class Counted:
    """A row that counts records; rows with a greater weight are kept."""

    count: int

    @property
    def weight(self) -> int:
        """The importance of the row."""
        return self.count


Held = TypeVar("Held", bound=Counted)


class Tally(Generic[Held]):
    """Rows by the values of their first fields; if there are too many, the lighter half is dropped.

    Attributes:
        held: the rows by key.
        dropped_records: the number of records in dropped rows; a key that returns gets a new row.
    """

    def __init__(self, make: Callable[..., Held], limit: int = _KEYS) -> None:
        """Take the class of the rows."""
        self._make = make
        self._limit = limit
        self._is_full = False
        self.held: dict[tuple[Hashable, ...], Held] = {}
        self.dropped_records = 0

    def of(self, *key: Hashable) -> Held:
        """The row of a key. O(1), amortised."""
        found = self.held.get(key)
        if found is None:
            if len(self.held) >= self._limit:
                self._drop()
            found = self.held[key] = self._make(*key)
        return found

    def _drop(self) -> None:
        self._is_full = True
        lightest = sorted(self.held, key=lambda key: self.held[key].weight)
        for key in lightest[: len(lightest) // 2]:
            self.dropped_records += self.held.pop(key).count

    @property
    def key_count(self) -> int:
        """The number of keys, at least."""
        return max(len(self.held), self._limit if self._is_full else 0)


class Counts(dict[str, int]):
    """Counts by name; after too many names, further names are counted as one."""

    def add(self, name: str, limit: int = 200, by: int = 1) -> None:
        """Count one more, or `by` more."""
        if name not in self and len(self) >= limit:
            name = OTHERS
        self[name] = self.get(name, 0) + by


class Timeline:
    """Counts over time, in at most 120 moments, which become longer as time passes."""

    def __init__(self) -> None:
        self._spans = chain(_SPANS, (_SPANS[-1] << doublings for doublings in count(1)))
        self._seconds = next(self._spans)
        self._counts: dict[int, list[int]] = {}

    def at(self, instant: float) -> list[int]:
        """The five counts of the moment of an instant, in the order of `Moment`; to be changed.

        Raises:
            ValueError: the number is not an instant.
        """
        if not 0 <= instant < _LATEST:
            raise ValueError(f"{instant} is not an instant")
        number = int(instant // self._seconds)
        if number not in self._counts:
            self._counts[number] = [0, 0, 0, 0, 0]
            while max(self._counts) - min(self._counts) >= _MOMENTS:
                self._widen()
        return self._counts[int(instant // self._seconds)]

    def _widen(self) -> None:
        before, narrower = self._counts, self._seconds
        self._counts, self._seconds = {}, next(self._spans)
        for number, counts in before.items():
            wider = number * narrower // self._seconds
            into = self._counts.setdefault(wider, [0, 0, 0, 0, 0])
            into[:] = map(sum, zip(into, counts, strict=True))

    def times(self) -> Times:
        """The moments that are not empty."""
        moments = tuple(
            Moment(number * self._seconds, *counts)
            for number, counts in sorted(self._counts.items())
            if any(counts)
        )
        return Times(self._seconds, moments)


class Gaps:
    """The gaps between the visits of one origin, over all runs.

    Attributes:
        visits: the number of visits.
        least: the shortest time that can have passed between two visits; None under two.
        kept_seconds: the shortest delay that a crawl meant to keep; None if unknown.
        too_soon: the number of visits too soon after a visit of the same run.
        crossed: the number of visits too soon after one of another run only, if their clocks agree.
    """

    __slots__ = (
        *("_buffer", "_left_by", "_left_by_of"),
        *("crossed", "kept_seconds", "least", "too_soon", "visits"),
    )

    def __init__(self) -> None:
        self.visits = 0
        self.least: float | None = None
        self.kept_seconds: float | None = None
        self.too_soon = self.crossed = 0
        self._buffer: list[tuple[float, float, float, str]] = []
        self._left_by = -math.inf
        self._left_by_of: dict[str, float] = {}  # by run

    def add(self, at: float, left_by: float, kept: float, asked: float, run: str = "") -> None:
        """Add a visit that left between `at` and `left_by`; `asked` is the delay before it.

        Trails list visits when they end, so perhaps not in the order in which they began.
        """
        self.visits += 1
        known = self.kept_seconds
        self.kept_seconds = kept if known is None else min(known, kept)
        insort(self._buffer, (at, left_by, asked, run))
        if len(self._buffer) > _BUFFERED:
            self._take(*self._buffer.pop(0))

    def _take(self, at: float, left_by: float, asked: float, run: str) -> None:
        own_left_by = self._left_by_of.get(run, -math.inf)
        if self._left_by > -math.inf:
            gap, owed = round(max(0.0, at - self._left_by), 3), asked - ROUNDING_SECONDS
            self.least = gap if self.least is None else min(self.least, gap)
            is_own = round(max(0.0, at - own_left_by), 3) < owed
            self.too_soon += is_own
            self.crossed += gap < owed and not is_own
        self._left_by = max(self._left_by, left_by)
        self._left_by_of[run] = max(own_left_by, left_by)

    def finish(self) -> None:
        """Count the visits that are still in the buffer."""
        while self._buffer:
            self._take(*self._buffer.pop(0))
