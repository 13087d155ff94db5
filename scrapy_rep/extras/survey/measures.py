"""The values in an aggregate, which add up to the same bits in any order and any split.

`Distinct` estimates the number of different values, and `OpenCounts` counts names from an open set.
As `Distribution`, each has `add`, `update` (with another of its kind), `to_json` and `from_json`.
"""

from __future__ import annotations

import heapq
from typing import Any

_DISTINCT_KEPT = 4096  # digests: 1.6 % of standard error, and exact below
_DIGEST_OCTETS = 8

_NAMES_KEPT = 200_000
_NAMES_LEFT = 100_000


class Distinct:
    """An estimate of the number of different values, from the smallest digests.

    Exact below 4,096. Beyond, the density of the smallest digests gives the number within 1.6 %
    (one standard error).
    """

    __slots__ = ("_heap", "_kept")

    def __init__(self) -> None:
        self._kept: set[int] = set()
        self._heap: list[int] = []  # the kept digests, the greatest first

    def add(self, digest: bytes) -> None:
        """Count a value by its digest."""
        self._take(int.from_bytes(digest[:_DIGEST_OCTETS], "big"))

    def update(self, other: Distinct) -> None:
        """Add the values of another one."""
        for number in other._kept:
            self._take(number)

    def _take(self, number: int) -> None:
        if number in self._kept:
            return
        if len(self._heap) < _DISTINCT_KEPT:
            self._kept.add(number)
            heapq.heappush(self._heap, -number)
        elif number < -self._heap[0]:
            self._kept.add(number)
            self._kept.discard(-heapq.heapreplace(self._heap, -number))

    @property
    def is_exact(self) -> bool:
        """Whether all digests were kept."""
        return len(self._heap) < _DISTINCT_KEPT

    @property
    def estimate(self) -> int:
        """The number of different values."""
        if self.is_exact:
            return len(self._heap)
        return int((_DISTINCT_KEPT - 1) * 2 ** (8 * _DIGEST_OCTETS) / -self._heap[0])

    def to_json(self) -> Any:
        """The digests as JSON."""
        return [f"{number:016x}" for number in sorted(self._kept)]

    @classmethod
    def from_json(cls, found: Any) -> Distinct:
        """Read the digests from JSON."""
        made = cls()
        for digest in found:
            made._take(int(digest, 16))
        return made


class OpenCounts:
    """Counts by names from an open set, because sites may make up any number of names.

    At most 200,000 names are kept; beyond, the rarest half is dropped. Only then does the result
    depend on the order.

    Attributes:
        error: the most by which a count may be too low.
    """

    __slots__ = ("_counts", "_width", "error")

    def __init__(self, width: int) -> None:
        """Set the number of counts of each name."""
        self._counts: dict[str, list[int]] = {}
        self._width = width
        self.error = 0

    def add(self, name: str, column: int = 0, count: int = 1) -> None:
        """Count a name."""
        counts = self._counts.get(name)
        if counts is None:
            counts = self._counts[name] = [0] * self._width
            if len(self._counts) > _NAMES_KEPT:
                self._drop_rarest(name)
        counts[column] += count

    def update(self, other: OpenCounts) -> None:
        """Add the counts of another one."""
        self.error += other.error
        for name, counts in other._counts.items():
            for column, count in enumerate(counts):
                if count:
                    self.add(name, column, count)

    def _drop_rarest(self, newest: str) -> None:
        ordered = sorted(self._counts.items(), key=lambda item: (-sum(item[1]), item[0]))
        dropped = ordered[_NAMES_LEFT:]
        self.error += max(sum(counts) for _, counts in dropped)
        newest_counts = self._counts[newest]
        self._counts = dict(ordered[:_NAMES_LEFT])
        self._counts[newest] = newest_counts

    def __len__(self) -> int:
        """The number of names that are kept."""
        return len(self._counts)

    def get(self, name: str) -> tuple[int, ...]:
        """The counts of a name."""
        return tuple(self._counts.get(name, [0] * self._width))

    def most(self, number: int, by: int | None = None) -> list[tuple[str, tuple[int, ...]]]:
        """The names with the highest counts, in all columns or in one, and their counts."""
        columns = slice(None) if by is None else slice(by, by + 1)
        found = heapq.nsmallest(
            number, self._counts.items(), key=lambda item: (-sum(item[1][columns]), item[0])
        )
        return [(name, tuple(counts)) for name, counts in found]

    def to_json(self) -> Any:
        """The counts as JSON."""
        return {
            "error": self.error,
            "width": self._width,
            "counts": dict(sorted(self._counts.items())),
        }

    @classmethod
    def from_json(cls, found: Any) -> OpenCounts:
        """Read the counts from JSON."""
        made = cls(found["width"])
        made.error = found["error"]
        made._counts = found["counts"]
        return made
