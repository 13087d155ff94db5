"""Which rules of a group never decide, or change nothing: proved from their patterns alone.

A rule is *shadowed* if another one that outranks it matches wherever it does. It is *redundant* if
a weaker rule with the same answer matches wherever it does (or, for an allow rule, none is needed),
and no rule with the other answer could come between the two. Rules are taken away one by one, the
longest first, each proved against those that are left; so all that are named can go together.

What is named is certain; what is not named may still be without effect, since two wildcard rules
are taken to meet wherever their literal beginnings let them.

Cost: rules are compared only with those whose literal beginning lies on the same way, each
comparison as many steps as its patterns are long, of a `StepBudget` that the caller sets; beyond it
nothing is named, and the budget says so.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from scrapy_rep.protocol.ruleset import folder_of

from .rule_patterns import StepBudget, covers, literal_of, look_steps, may_meet

_AFTER_ASCII = "\x7f"


@dataclass(frozen=True, slots=True)
class Pattern:
    """A rule by its normal form; `line` is that of the first one that has it.

    One that is also compared as it is written (`is_written`) may match more than its normal form
    says: whatever there is.
    """

    allow: bool
    text: str
    line: int = 0
    is_written: bool = False

    @property
    def rank(self) -> tuple[int, bool]:
        """What a match is worth: most octets, then allow (RFC 9309, 2.2.2)."""
        return len(self.text), self.allow


@dataclass(frozen=True, slots=True)
class Needless:
    """A rule that could go, and because of which other one, if one is the reason."""

    pattern: Pattern
    because: Pattern | None
    is_shadowed: bool


@dataclass
class _Ways:
    """Patterns by their literal beginning, each of which knows the longest other that begins it."""

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
        return cls(literals, parents, rules, [_octets(there) for there in rules])

    def near(self, pattern: Pattern, budget: StepBudget) -> Iterator[Pattern]:
        """The other patterns that may meet this one, and are no longer than needed to matter."""
        literal = literal_of(pattern.text)
        node = bisect_left(self.literals, literal)
        way = node
        while way >= 0 and budget.take(self._steps(pattern, way)):
            yield from (rule for rule in self.rules[way] if rule is not pattern)
            way = self.parents[way]
        # Longer literals belong to longer rules, unless this one goes on after a wildcard; but
        # only one with a wildcard more than it can be covered by these.
        if literal == pattern.text:
            return
        below = node + 1
        stop = bisect_left(self.literals, literal + _AFTER_ASCII)
        while below < stop and budget.take(self._steps(pattern, below)):
            yield from self.rules[below]
            below += 1

    def _steps(self, pattern: Pattern, node: int) -> int:
        """What it takes to look at the rules of a literal, and at the pattern beside each."""
        count = len(self.rules[node])
        return 1 + look_steps(self.octets[node] + count * len(pattern.text), count)

    def drop(self, pattern: Pattern) -> None:
        node = bisect_left(self.literals, literal_of(pattern.text))
        self.rules[node].remove(pattern)
        self.octets[node] -= len(pattern.text)


def _octets(patterns: Iterable[Pattern]) -> int:
    return sum(len(pattern.text) for pattern in patterns)


def first_of_each(patterns: Iterable[Pattern]) -> Iterable[Pattern]:
    """Of the patterns that say the same, the first."""
    found: dict[tuple[bool, str, bool], Pattern] = {}
    for pattern in patterns:
        found.setdefault((pattern.allow, pattern.text, pattern.is_written), pattern)
    return found.values()


def needless(
    patterns: Iterable[Pattern],
    budget: StepBudget,
    is_asked: Callable[[Pattern], bool] | None = None,
) -> list[Needless]:
    """The rules that could all go without a change of any verdict.

    Args:
        patterns: the rules of one merged group, each once.
        budget: how much work it may be.
        is_asked: which rules may go; by default all.
    """
    kept = list(patterns)
    derived = {
        Pattern(allow=True, text=folder)
        for pattern in kept
        if pattern.allow and (folder := folder_of(pattern.text)) is not None
    }
    ways = _Ways.of([*kept, *derived])
    rivals = {
        allow: max((len(p.text) for p in kept if p.is_written and p.allow is not allow), default=0)
        for allow in (True, False)
    }
    found: list[Needless] = []
    for pattern in sorted(kept, key=lambda pattern: (pattern.rank, pattern.text), reverse=True):
        if pattern.is_written or (pattern.allow and folder_of(pattern.text) is not None):
            continue  # it stands for two rules
        if is_asked is not None and not is_asked(pattern):
            continue
        if (reason := _reason(pattern, ways, budget, rivals[pattern.allow])) is not None:
            found.append(reason)
            ways.drop(pattern)
    return found


def _reason(pattern: Pattern, ways: _Ways, budget: StepBudget, rival: int) -> Needless | None:
    """Why a rule could go, if it could.

    `rival` is how many octets the longest rule has that may decide in its place with the other
    answer, of those that may match anything.
    """
    rank = pattern.rank
    stand_in: Pattern | None = None
    for other in ways.near(pattern, budget):
        is_above = other.rank > rank
        if is_above:
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
