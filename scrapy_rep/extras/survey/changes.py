"""Comparison of two surveys: the shares that changed by more than chance explains.

Only facts that both surveys contain are compared: a survey without lint says nothing about lint.

A change counts as clear if the difference of both shares is outside the range in which chance
alone would keep it 99.9 % of the time. Many shares are compared at once, so one in a thousand is
reported wrongly.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .saved import Survey

_Z = 3.2905  # 99.9 %
_TOLD_BY_SOME = ("lint", "media_type", "port")
_OUTCOMES = ("status", "failure")


@dataclass(frozen=True, slots=True)
class ShareChange:
    """A share in two surveys.

    Attributes:
        name: of the statistic, with dots between its parts.
        before: the count and the whole in the older survey.
        after: the same in the newer survey.
    """

    name: str
    before: tuple[int, int]
    after: tuple[int, int]

    @property
    def points(self) -> float:
        """The change in percentage points, divided by 100."""
        return _share(self.after) - _share(self.before)

    @property
    def is_clear(self) -> bool:
        """Whether chance alone would hardly explain the change."""
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

    `agents` are the crawlers to compare; None stands for all in either report. A name or key that
    is rare in one survey is looked up there instead of being taken as absent.
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
    """The shares of two reports' statistics that differ, the largest changes first.

    If only one report has any of a kind, the other counts as 0 of its whole, provided that it
    contains such kinds at all.
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
    """The denominator of a share of this name; 0 if the survey does not contain it."""
    kind = name.partition(".")[0]
    if kind in _TOLD_BY_SOME:
        return next((int(one.get("of", 0)) for one in statistics.get(kind, {}).values()), 0)
    if kind in _OUTCOMES:
        is_told = any(statistics.get(one) for one in _OUTCOMES)
        return int(statistics["captures"]["sum"]) if is_told else 0
    return int(statistics["files"]["files_with"])


def _shares(found: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the shares in statistics by name, at any depth."""
    if "files_with" in found and "of" in found and prefix:
        yield prefix, (int(found["files_with"]), int(found["of"]))
    for name, one in found.items():
        if isinstance(one, Mapping):
            yield from _shares(one, f"{prefix}.{name}" if prefix else name)
