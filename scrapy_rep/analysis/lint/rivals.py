"""Rules that may decide if another rule becomes shorter: most octets win (RFC 9309, 2.2.2).

Cost: for each rule, a look at the rules of its merged groups with the other answer and the same
length; all together bounded by `BUDGET_STEPS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from scrapy_rep.analysis.effect.rule_patterns import StepBudget, is_live, look_steps, may_meet
from scrapy_rep.analysis.outline import Line, Outline
from scrapy_rep.protocol.lines import Kind
from scrapy_rep.protocol.ruleset import folder_of

BUDGET_STEPS = 1_000_000

_ByLength = dict[int, list[tuple[str, int]]]
"""Patterns with the numbers of their lines, by their octets."""


class Rivals:
    """The rules of a file, by the groups that are merged, and by their octets."""

    def __init__(self, outlined: Outline) -> None:
        self._outlined = outlined
        self._budget = StepBudget(BUDGET_STEPS)
        self._read: dict[tuple[tuple[int, ...], Kind], _ByLength] = {}

    def of(self, line: Line, shorter: str) -> int | None:
        """The line of a rule that may decide instead of `line` if its pattern becomes `shorter`.

        Returns:
            The number of the line; 0 if there may be such a rule; None if there is not.
        """
        pattern = line.pattern
        if not is_live(pattern):
            return None
        if line.is_written or (line.kind is Kind.ALLOW and folder_of(pattern) is not None):
            return 0  # it counts as two rules
        opposite = Kind.DISALLOW if line.kind is Kind.ALLOW else Kind.ALLOW
        for by_length in self._opposites(line, opposite):
            for length in range(len(shorter), len(pattern) + 1):
                for text, number in by_length.get(length, ()):
                    if not self._budget.take(look_steps(len(text) + len(pattern))):
                        return 0
                    if may_meet(text, shorter):
                        return number
        return 0 if self._budget.is_spent else None

    def _opposites(self, line: Line, opposite: Kind) -> Iterator[_ByLength]:
        """The rules of one kind in each merged group that contains a line."""
        for indices in self._merges.get(self._places.get(line.number, -1), ()):
            key = indices, opposite
            if key not in self._read:
                self._read[key] = self._by_length(indices, opposite)
            yield self._read[key]

    def _by_length(self, indices: tuple[int, ...], kind: Kind) -> _ByLength:
        found: _ByLength = {}
        for index in indices:
            for line in self._outlined.blocks[index].rules:
                text = line.pattern if line.kind is kind else ""
                if not is_live(text):
                    continue
                if not self._budget.take(look_steps(len(text))):
                    return found
                met_by = "*" if line.is_written else text  # it may match any path
                found.setdefault(len(text), []).append((met_by, line.number))
                folder = folder_of(text) if kind is Kind.ALLOW else None
                if folder is not None:
                    found.setdefault(len(folder), []).append((folder, line.number))
        return found

    @cached_property
    def _places(self) -> dict[int, int]:
        """The index of the group of each rule, by the number of its line."""
        return {
            line.number: index
            for index, block in enumerate(self._outlined.blocks)
            for line in block.rules
        }

    @cached_property
    def _merges(self) -> dict[int, list[tuple[int, ...]]]:
        """The merged groups that contain each group, by its index."""
        found: dict[int, list[tuple[int, ...]]] = {}
        for indices in self._outlined.merges:
            for index in indices:
                found.setdefault(index, []).append(indices)
        return found
