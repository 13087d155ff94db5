"""Two surveys compared: which shares changed, and by more than chance would have it.

Compared is what both tell: a survey that linted nothing does not say that nothing is to be found.

A share has changed if the difference of both is farther from 0 than 99.9 % of those that chance
makes: many shares are compared at once, and one in a thousand still says so wrongly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .saved import Survey

_Z = 3.2905  # 99.9 %
_TOLD_BY_SOME = ("lint", "media_type", "port", "stratum")
_OUTCOMES = ("status", "failure")


@dataclass(frozen=True, slots=True)
class ShareChange:
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


def changes_between(
    before: Survey, after: Survey, agents: Sequence[str] | None = None
) -> list[ShareChange]:
    """The shares of two surveys that differ, the largest changes first.

    Of crawlers, those of some names; of all that one of the two reports names, if that is None. A
    name or key that is rare in one of them is looked up there, and is not taken for absent.
    """
    both = [survey.report()["statistics"] for survey in (before, after)]
    names, keys = (
        [*dict.fromkeys(name for said in both for name in said[kind])]
        for kind in ("agents", "other_keys")
    )
    names = names if agents is None else [*agents]
    return changes(
        *(survey.report(names, keys)["statistics"] for survey in (before, after)),
    )


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[ShareChange]:
    """The shares of two reports' statistics, the largest changes first; equal ones left out.

    A kind of which only one of them has any counts as none in the other, of as many as the whole
    has there: if that survey tells of such kinds at all.
    """
    old, new = dict(_shares(before)), dict(_shares(after))
    found = [
        ShareChange(
            name,
            old.get(name) or (0, _whole(name, before)),
            new.get(name) or (0, _whole(name, after)),
        )
        for name in dict.fromkeys((*old, *new))
    ]
    found = [change for change in found if change.points and change.before[1] and change.after[1]]
    return sorted(found, key=lambda change: (-abs(change.points), change.name))


def _whole(name: str, statistics: Mapping[str, Any]) -> int:
    """Of how many things a share of this name would be; 0 if the survey does not tell of such."""
    kind = name.partition(".")[0]
    if kind in _TOLD_BY_SOME:
        return next((int(one.get("of", 0)) for one in statistics.get(kind, {}).values()), 0)
    if kind in _OUTCOMES:
        is_told = any(statistics.get(one) for one in _OUTCOMES)
        return int(statistics["captures"]["sum"]) if is_told else 0
    return int(statistics["files"]["files_with"])


def _shares(found: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, tuple[int, int]]]:
    """The shares in statistics by name, at any depth."""
    if "files_with" in found and "of" in found and prefix:
        yield prefix, (int(found["files_with"]), int(found["of"]))
    for name, one in found.items():
        if isinstance(one, Mapping):
            yield from _shares(one, f"{prefix}.{name}" if prefix else name)
