"""The rules of a section in each mode, with the same verdict on every path.

Every step keeps all verdicts: `effect.analysis` proves which rules can be removed. If a crawler
obeys another section too, nothing is removed. If the proofs for a whole file would take more than
`BUDGET_STEPS`, nothing is removed either: otherwise, with some sections shorter, the budget would
suffice for others next time, and the file would change each time that it is rewritten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from scrapy_rep.analysis.effect.analysis import Pattern, first_of_each, needless
from scrapy_rep.analysis.effect.rule_patterns import StepBudget, is_live, look_steps, may_meet
from scrapy_rep.protocol.ruleset import folder_of

from .grouping import Section, WrittenRule

BUDGET_STEPS = 5_000_000

_ROUNDS = 20  # a removed rule may make others removable; more than three rounds have not been seen


def ties_settled(section: Section) -> Section:
    """Rules in file order, but with allow before disallow for the same path.

    Both take the later place: some crawlers obey the first rule that matches, so a rule must not
    move above a longer one.
    """
    allows = Counter(rule.pattern for rule in section.rules if rule.allow and rule.pattern)
    held: dict[str, list[WrittenRule]] = {}
    ordered: list[WrittenRule] = []
    for rule in section.rules:
        if not rule.allow and allows[rule.pattern]:
            held.setdefault(rule.pattern, []).append(rule)
            continue
        ordered.append(rule)
        if rule.allow and rule.pattern:
            allows[rule.pattern] -= 1
            ordered += held.pop(rule.pattern, []) if not allows[rule.pattern] else []
    return replace(section, rules=tuple(ordered))


def joined(section: Section, budget: StepBudget) -> Section:
    """Rules in file order; if groups are joined or split, without rules that have no effect.

    Each group of the file may be faultless, but what the crawlers in it obey may repeat rules, or
    have them in an order that some crawlers read in another way.
    """
    if not (section.is_joined or section.is_split):
        return ties_settled(section)
    rules = _distinct(section.rules, bool) or list(section.rules[:1])
    left = _without_needless(rules, budget) if section.is_alone and not budget.is_spent else rules
    if budget.is_spent:
        left = rules
    is_mixed = section.is_joined and len({rule.allow for rule in left}) > 1
    found = replace(section, rules=tuple(left))
    return _sorted(section, left) if is_mixed else ties_settled(found)


def shortened(section: Section, budget: StepBudget) -> Section:
    """Each rule once, without rules that have no effect, most octets first."""
    rules = _distinct(section.rules)
    is_looked_at = section.is_alone and not budget.is_spent
    left = _without_needless(rules, budget) if is_looked_at else rules
    return _sorted(section, rules if budget.is_spent else left)


def plain(section: Section, budget: StepBudget) -> Section:
    """Each rule once, without wildcards where plain rules mean the same, most octets first."""
    rules = left = _distinct(section.rules)
    for _ in range(_ROUNDS) if section.is_alone else ():
        if budget.is_spent:
            break
        before = left
        left = _without_final_stars(left, budget)
        left = _without_needless(left, budget, wild_only=True)
        if left == before:
            break
    return _sorted(section, rules if budget.is_spent else left)


def _sorted(section: Section, rules: Iterable[WrittenRule]) -> Section:
    return replace(
        section,
        rules=tuple(sorted(rules, key=lambda r: (-len(r.pattern), not r.allow, r.pattern, r.said))),
    )


def _distinct(
    rules: Iterable[WrittenRule], is_kept: Callable[[str], bool] = is_live
) -> list[WrittenRule]:
    """Each rule that is kept for its pattern, once, with the lines of all equal rules."""
    found: dict[tuple[bool, str, str], WrittenRule] = {}
    for rule in rules:
        if is_kept(rule.pattern):
            same = found.get(rule.key)
            lines = (*same.lines, *rule.lines) if same else rule.lines
            found[rule.key] = replace(rule, lines=lines)
    return list(found.values())


def _without_needless(
    rules: list[WrittenRule], budget: StepBudget, *, wild_only: bool = False
) -> list[WrittenRule]:
    left = rules
    for _ in range(_ROUNDS):
        patterns = [
            Pattern(rule.allow, rule.pattern, is_written=rule.is_written)
            for rule in left
            if is_live(rule.pattern)
        ]
        going = {
            (reason.pattern.allow, reason.pattern.text)
            for reason in needless(first_of_each(patterns), budget, _is_wild if wild_only else None)
        }
        if not going or budget.is_spent:
            break
        left = [rule for rule in left if rule.is_written or (rule.allow, rule.pattern) not in going]
    return left


def _is_wild(pattern: Pattern) -> bool:
    return "*" in pattern.text or pattern.text.endswith("$")


def _without_final_stars(rules: list[WrittenRule], budget: StepBudget) -> list[WrittenRule]:
    """Write ``/a/*`` as ``/a/`` if no rule with the other answer could rank between the two."""
    said = [(rule.allow, len(rule.pattern), _meeting(rule)) for rule in rules]
    said += [
        (True, len(folder), folder)
        for rule in rules
        if rule.allow and (folder := folder_of(rule.pattern)) is not None
    ]
    said_octets = sum(octets for _, octets, _ in said)
    found: list[WrittenRule] = []
    for rule in rules:
        bare = rule.pattern.rstrip("*")
        lengths = range(len(bare), len(rule.pattern) + 1)
        is_free = (
            bare not in (rule.pattern, "")
            and not rule.is_written
            and budget.take(look_steps(said_octets + len(said) * len(bare), len(said)))
            and not any(
                allow != rule.allow and octets in lengths and may_meet(text, bare)
                for allow, octets, text in said
            )
        )
        found.append(replace(rule, pattern=bare, said=bare) if is_free else rule)
    return _distinct(found)


def _meeting(rule: WrittenRule) -> str:
    """A pattern for what a rule may match: anything, if it is also compared as written."""
    return "*" if rule.is_written else rule.pattern
