"""Find rules of a group that never decide, or change nothing, by proofs about their patterns.

A rule is *shadowed* if another rule that outranks it matches every path that it matches. A rule is
*redundant* if a weaker rule with the same answer matches every path that it matches, and no rule
with the other answer can rank between the two; an allow rule needs no such weaker rule. Rules are
removed one by one, the longest first, each proved against the rest; so all of them can be removed
together.

The result is certain, but may be incomplete: other rules may have no effect either, since two
wildcard rules are assumed to match a common path unless their literal beginnings prevent it.

Cost: two rules are compared only if the literal beginning of one is a prefix of the other's. The
steps of a comparison grow with the length of its patterns. The caller sets a `StepBudget`; once it
is spent, no rule is added, and the budget says so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from scrapy_rep.extras.webmaster.effect.other_readers import GOOGLE, PREFIXES
from scrapy_rep.extras.webmaster.outline import Line
from scrapy_rep.protocol.lines import Kind
from scrapy_rep.protocol.ruleset import folder_of

from .rule_patterns import StepBudget, covers, is_live, literal_of, look_steps, may_meet

_AFTER_ASCII = "\x7f"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A rule in normal form; `line` is the first line with it.

    A rule that is also compared as written (`is_written`) may match more than its normal form: it
    is assumed to match any path.
    """

    allow: bool
    text: str
    line: int = 0
    is_written: bool = False

    @property
    def rank(self) -> tuple[int, bool]:
        """The rank of a match: most octets, then allow (RFC 9309, 2.2.2)."""
        return len(self.text), self.allow


@dataclass(frozen=True, slots=True)
class Needless:
    """A rule that could be removed, and the other rule that is the reason, if there is one."""

    pattern: Pattern
    because: Pattern | None
    is_shadowed: bool


@dataclass
class _Ways:
    """Patterns by their literal beginning; each knows the longest other that is a prefix."""

    literals: list[str]
    parents: list[int]
    rules: list[list[Pattern]]
    octets: list[int]

    @classmethod
    def of(cls, patterns: Iterable[Pattern]) -> _Ways:
        by_literal: dict[str, list[Pattern]] = {}
        for pattern in patterns:
            by_literal.setdefault(literal_of(pattern.text), []).append(pattern)
        literals = sorted(by_literal)
        parents: list[int] = []
        parent = -1
        for index, literal in enumerate(literals):
            while parent >= 0 and not literal.startswith(literals[parent]):
                parent = parents[parent]
            parents.append(parent)
            parent = index
        rules = [by_literal[literal] for literal in literals]
        octets = [sum(len(pattern.text) for pattern in there) for there in rules]
        return cls(literals, parents, rules, octets)

    def near(self, pattern: Pattern, budget: StepBudget) -> Iterator[Pattern]:
        """The other patterns that may match the same path; some that can't matter are skipped."""
        literal = literal_of(pattern.text)
        node = bisect_left(self.literals, literal)
        way = node
        while way >= 0 and budget.take(self._steps(pattern, way)):
            yield from (rule for rule in self.rules[way] if rule is not pattern)
            way = self.parents[way]
        # Longer literals belong to longer rules, unless this one continues after a wildcard; but
        # only a rule with a wildcard after its literal can be covered by these.
        if literal == pattern.text:
            return
        below = node + 1
        stop = bisect_left(self.literals, literal + _AFTER_ASCII)
        while below < stop and budget.take(self._steps(pattern, below)):
            yield from self.rules[below]
            below += 1

    def _steps(self, pattern: Pattern, node: int) -> int:
        """The steps to compare the pattern with each rule of a literal."""
        count = len(self.rules[node])
        return 1 + look_steps(self.octets[node] + count * len(pattern.text), count)

    def drop(self, pattern: Pattern) -> None:
        node = bisect_left(self.literals, literal_of(pattern.text))
        self.rules[node].remove(pattern)
        self.octets[node] -= len(pattern.text)


def first_of_each(patterns: Iterable[Pattern]) -> Iterable[Pattern]:
    """The first of equal patterns."""
    found: dict[tuple[bool, str, bool], Pattern] = {}
    for pattern in patterns:
        found.setdefault((pattern.allow, pattern.text, pattern.is_written), pattern)
    return found.values()


MayGo = Callable[[Pattern], bool]
"""Tells which rules may be removed."""


def needless(
    patterns: Iterable[Pattern], budget: StepBudget, may_go: MayGo = lambda _: True
) -> list[Needless]:
    """The rules that could all be removed without changing any verdict.

    Args:
        patterns: the rules of one merged group, each once.
        budget: the limit of work.
        may_go: which rules may be removed; by default all.
    """
    kept = list(patterns)
    folders = (folder_of(pattern.text) for pattern in kept if pattern.allow)
    derived = {Pattern(allow=True, text=folder) for folder in folders if folder is not None}
    ways = _Ways.of([*kept, *derived])
    rivals = {
        allow: max((len(p.text) for p in kept if p.is_written and p.allow is not allow), default=0)
        for allow in (True, False)
    }
    found: list[Needless] = []
    for pattern in sorted(kept, key=lambda pattern: (pattern.rank, pattern.text), reverse=True):
        if pattern.is_written or (pattern.allow and folder_of(pattern.text) is not None):
            continue  # it counts as two rules
        if not may_go(pattern):
            continue
        if (reason := _reason(pattern, ways, budget, rivals[pattern.allow])) is not None:
            found.append(reason)
            ways.drop(pattern)
    return found


def needless_lines(
    lines: Iterable[Line], budget: StepBudget, may_go: MayGo = lambda _: True
) -> list[tuple[Line, Needless]]:
    """The rules that could all be removed without changing any verdict of any reader.

    Crawlers without wildcards may know allow rules; so of two rules with the same path, both stay.
    The arguments are those of `needless`; the reasons are those of our reading.
    """
    lines = [line for line in lines if is_live(line.pattern)]
    own = (Pattern(it.kind is Kind.ALLOW, it.pattern, it.number, it.is_written) for it in lines)
    going = needless(first_of_each(own), budget, may_go)
    ours = {(found.pattern.allow, found.pattern.text): found for found in going}
    reasons = [ours.get((line.kind is Kind.ALLOW, line.pattern)) for line in lines]
    if not ours:
        return []
    for reader in (GOOGLE, PREFIXES):
        patterns = [Pattern(it.kind is Kind.ALLOW, reader.pattern(it.value)) for it in lines]
        live = {(one.allow, one.text) for one in patterns if is_live(one.text)}
        needed = {one for one in live if reader is PREFIXES and (not one[0], one[1]) in live}
        going = needless(first_of_each(one for one in patterns if is_live(one.text)), budget)
        needed |= live - {(found.pattern.allow, found.pattern.text) for found in going}
        pairs = zip(patterns, reasons, strict=True)
        reasons = [None if (one.allow, one.text) in needed else reason for one, reason in pairs]
    found = zip(lines, reasons, strict=True)
    return [(line, why) for line, why in found if why is not None and not line.is_written]


def _reason(pattern: Pattern, ways: _Ways, budget: StepBudget, rival: int) -> Needless | None:
    """Why a rule could be removed, or None.

    `rival` is the number of octets of the longest rule with the other answer that may match any
    path, and so may decide instead of this one.
    """
    stand_in: Pattern | None = None
    for other in ways.near(pattern, budget):
        if other.rank > pattern.rank:
            if covers(other.text, pattern.text):
                return Needless(pattern, other, is_shadowed=True)
        elif other.allow == pattern.allow:
            is_better = stand_in is None or other.rank > stand_in.rank
            if is_better and covers(other.text, pattern.text):
                stand_in = other
        elif len(other.text) > rival and may_meet(other.text, pattern.text):
            rival = len(other.text)
    if budget.is_spent:
        return None
    if stand_in is not None and len(stand_in.text) > rival:
        return Needless(pattern, stand_in, is_shadowed=False)
    if pattern.allow and not rival:
        return Needless(pattern, None, is_shadowed=False)
    return None
