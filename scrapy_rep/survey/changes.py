"""Two surveys compared: which shares changed, and by more than chance would have it.

A share has changed if the difference of both is farther from 0 than 99.9 % of those that chance
makes: many shares are compared at once, and one in a thousand still says so wrongly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_Z = 3.2905  # 99.9 %


@dataclass(frozen=True, slots=True)
class Change:
    """One share in two surveys.

    Attributes:
        name: of the statistic, with dots between its parts.
        before: how many, and of how many.
        after: the same in the other survey.
    """

    name: str
    before: tuple[int, int]
    after: tuple[int, int]

    @property
    def points(self) -> float:
        """By how much the share changed."""
        return _share(self.after) - _share(self.before)

    @property
    def is_clear(self) -> bool:
        """Whether chance alone would hardly do that."""
        (before, of_before), (after, of_after) = self.before, self.after
        if not of_before or not of_after:
            return False
        both = (before + after) / (of_before + of_after)
        error = math.sqrt(both * (1 - both) * (1 / of_before + 1 / of_after))
        return abs(self.points) > _Z * error if error else False


def _share(counts: tuple[int, int]) -> float:
    return counts[0] / counts[1] if counts[1] else 0.0


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    """The shares of two reports' statistics, the largest changes first; equal ones left out.

    What only one of them tells counts as none in the other, of as many as the whole has there.
    """
    old, new = dict(_shares(before)), dict(_shares(after))
    files = {True: _files(before), False: _files(after)}
    found = [
        Change(name, old.get(name, (0, files[True])), new.get(name, (0, files[False])))
        for name in dict.fromkeys((*old, *new))
    ]
    found = [change for change in found if change.points]
    return sorted(found, key=lambda change: (-abs(change.points), change.name))


def _files(statistics: Mapping[str, Any]) -> int:
    return int(statistics.get("files", {}).get("files_with", 0))


def _shares(found: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, tuple[int, int]]]:
    """The shares in statistics by name, at any depth."""
    if "files_with" in found and "of" in found and prefix:
        yield prefix, (int(found["files_with"]), int(found["of"]))
    for name, one in found.items():
        if isinstance(one, Mapping):
            yield from _shares(one, f"{prefix}.{name}" if prefix else name)
