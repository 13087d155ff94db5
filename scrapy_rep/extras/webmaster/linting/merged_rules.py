"""The rules of a merged group, and the line that decides for a path."""

from __future__ import annotations

from collections.abc import Sequence

from scrapy_rep.extras.webmaster.effect.rule_patterns import (
    EVERYTHING,
    StepBudget,
    look_steps,
    matches,
)
from scrapy_rep.extras.webmaster.outline import Line, Outline
from scrapy_rep.protocol.lines import Kind
from scrapy_rep.protocol.paths import normal_path
from scrapy_rep.protocol.ruleset import folder_of
from scrapy_rep.protocol.written import matches_as_written

Merge = tuple[int, ...]
"""The indices of groups that are merged for some crawler."""


def ban(rules: Sequence[Line]) -> Line | None:
    """The line that disallows everything, except for what longer rules allow; None without one."""
    about_all = [line for line in rules if line.pattern in EVERYTHING]
    longest = max(
        about_all, key=lambda line: (len(line.pattern), line.kind is Kind.ALLOW), default=None
    )
    return longest if longest is not None and longest.kind is Kind.DISALLOW else None


class MergedGroups:
    """The merged groups of a file, as far as the budget suffices.

    Attributes:
        outline: the file.
        budget: the work that is left for its checks.
        rules: the rules of each merged group, by the indices of its groups.
    """

    def __init__(self, outlined: Outline, budget: StepBudget) -> None:
        self.outline = outlined
        self.budget = budget
        self.rules: dict[Merge, list[Line]] = {}
        for indices in outlined.merges:
            rules = outlined.rules_of(indices)
            if budget.take(look_steps(sum(len(line.value) for line in rules), len(rules))):
                self.rules[indices] = rules

    def of(self, name: str) -> list[Line]:
        """The rules of the group that the file has for a name."""
        return self.rules.get(self.outline.by_name.get(name, ()), [])


class MergedRules:
    """The rules of a merged group, for some paths.

    Cost for a path: O(length of the path) for each rule, from the budget.
    """

    def __init__(self, lines: Sequence[Line], budget: StepBudget) -> None:
        self._rules = [
            (line.kind is Kind.ALLOW, pattern, line)
            for line in lines
            for pattern in (line.pattern, folder_of(line.pattern) or "")
            if pattern and (line.kind is Kind.ALLOW or pattern == line.pattern)
        ]
        self._octets = sum(len(pattern) for _, pattern, _ in self._rules)
        self._budget = budget

    def decides(self, path: str) -> Line | None:
        """The line that decides for a path as requested; None without one, or without a budget."""
        count = len(self._rules)
        if not self._budget.take(look_steps(self._octets + count * len(path), count)):
            return None
        best: tuple[int, bool, Line | None] = (0, True, None)
        text = normal_path(path)
        for allow, pattern, line in self._rules:
            if (len(pattern), allow) > best[:2] and (
                matches(pattern, text)
                or (line.is_written and matches_as_written(line.value.decode("latin-1"), path))
            ):
                best = len(pattern), allow, line
        return best[2]

    def disallows(self, path: str) -> Line | None:
        """The line that disallows a path, or None."""
        line = self.decides(path)
        return line if line is not None and line.kind is Kind.DISALLOW else None
