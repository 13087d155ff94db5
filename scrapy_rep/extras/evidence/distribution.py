"""Counts of whole numbers, which add up to the same bits in any order and any split."""

from __future__ import annotations

from typing import Any

_EXACT = 1024  # smaller numbers have a bin each
_EXACT_BITS = 11
_BINS_AN_OCTAVE = 64


class Distribution:
    """A distribution of whole numbers from 0 on: exact up to 1,023, then in 64 bins per octave.

    Attributes:
        sum: the sum of all numbers.
        count: the number of numbers.
    """

    __slots__ = ("_bins", "count", "sum")

    def __init__(self) -> None:
        self.sum = 0
        self.count = 0
        self._bins: dict[int, list[int]] = {}  # count, least, greatest

    def add(self, value: int) -> None:
        """Count a number."""
        self.sum += value
        self.count += 1
        self._take(_bin_of(value), 1, value, value)

    def update(self, other: Distribution) -> None:
        """Add the counts of another distribution."""
        self.sum += other.sum
        self.count += other.count
        for bin_, (count, least, greatest) in other._bins.items():
            self._take(bin_, count, least, greatest)

    def _take(self, bin_: int, count: int, least: int, greatest: int) -> None:
        known = self._bins.get(bin_)
        if known is None:
            self._bins[bin_] = [count, least, greatest]
        else:
            known[0] += count
            known[1] = min(known[1], least)
            known[2] = max(known[2], greatest)

    @property
    def positive(self) -> int:
        """The number of values above 0."""
        return self.count - (self._bins[0][0] if 0 in self._bins else 0)

    @property
    def mean(self) -> float:
        """The mean; 0 if nothing was counted."""
        return self.sum / self.count if self.count else 0.0

    def quantile(self, percent: int) -> int:
        """The quantile by nearest rank, within 1 %; exact for 0, 100 and numbers below 1,024."""
        rank = max(1, -(-self.count * percent // 100))
        bins = sorted(self._bins)
        if not bins:
            return 0
        if percent == 0:
            return self._bins[bins[0]][1]
        for bin_ in bins:
            count, least, greatest = self._bins[bin_]
            rank -= count
            if rank <= 0:
                return greatest if percent == 100 else (least + greatest) // 2  # noqa: PLR2004
        return self._bins[bins[-1]][2]

    def to_json(self) -> Any:
        """The distribution as JSON."""
        return {"sum": self.sum, "bins": [[*self._bins[bin_]] for bin_ in sorted(self._bins)]}

    @classmethod
    def from_json(cls, found: Any) -> Distribution:
        """Read a distribution from JSON."""
        made = cls()
        made.sum = found["sum"]
        for count, least, greatest in found["bins"]:
            made.count += count
            made._take(_bin_of(least), count, least, greatest)
        return made


def _bin_of(value: int) -> int:
    if value < _EXACT:
        return value
    octave = value.bit_length() - _EXACT_BITS
    return _EXACT + octave * _BINS_AN_OCTAVE + (value >> (octave + 4)) - _BINS_AN_OCTAVE
