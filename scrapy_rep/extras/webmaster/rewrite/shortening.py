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

from scrapy_rep.extras.webmaster.effect.analysis import Pattern, needless_lines
from scrapy_rep.extras.webmaster.effect.rule_patterns import StepBudget, is_live

from .grouping import Section, SectionRule

BUDGET_STEPS = 5_000_000

_ROUNDS = 20  # a removed rule may make others removable; more than three rounds have not been seen


def ties_settled(section: Section) -> Section:
    """Rules in file order, but with allow before disallow for the same path.

    Both take the later place: some crawlers obey the first rule that matches, so a rule must not
    move above a longer one.
    """
    allows = Counter(rule.pattern for rule in section.rules if rule.allow and rule.pattern)
    held: dict[str, list[SectionRule]] = {}
    ordered: list[SectionRule] = []
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
    """Each rule once, in file order; if groups are joined or split, without needless ones.

    Each group of the file may be faultless, but what the crawlers in it obey may repeat rules, or
    have them in an order that some crawlers read in another way.
    """
    if not (section.is_joined or section.is_split):
        each = _distinct(section.rules, lambda _: True)
        return ties_settled(replace(section, rules=tuple(each)))
    rules = _distinct(section.rules, bool) or list(section.rules[:1])
    left = _needed(section, rules, budget)
    is_mixed = section.is_joined and len({rule.allow for rule in left}) > 1
    return _sorted(section, left) if is_mixed else ties_settled(replace(section, rules=tuple(left)))


def shortened(section: Section, budget: StepBudget, *, wild_only: bool = False) -> Section:
    """Each rule once, without rules that have no effect, most octets first.

    With `wild_only`, only rules with wildcards go, where plain rules mean the same.
    """
    return _sorted(section, _needed(section, _distinct(section.rules), budget, wild_only=wild_only))


def _sorted(section: Section, rules: Iterable[SectionRule]) -> Section:
    return replace(
        section,
        rules=tuple(sorted(rules, key=lambda r: (-len(r.pattern), not r.allow, *r.key[1:]))),
    )


def _distinct(
    rules: Iterable[SectionRule], is_kept: Callable[[str], bool] = is_live
) -> list[SectionRule]:
    """Each rule that is kept for its pattern, once, with the lines of all equal rules."""
    found: dict[tuple[bool, str, str], SectionRule] = {}
    for rule in rules:
        if is_kept(rule.pattern):
            same = found.get(rule.key)
            lines = (*same.lines, *rule.lines) if same else rule.lines
            found[rule.key] = replace(rule, lines=lines)
    return list(found.values())


def _needed(
    section: Section, rules: list[SectionRule], budget: StepBudget, *, wild_only: bool = False
) -> list[SectionRule]:
    """The rules of a section that have an effect; all of them once the budget is spent."""
    left = rules
    for _ in range(_ROUNDS if section.is_alone and not budget.is_spent else 0):
        may_go = _is_wild if wild_only else None
        found = needless_lines((rule.lines[0] for rule in left), budget, may_go)
        going = {line.number for line, _ in found}
        if not going or budget.is_spent:
            break
        left = [rule for rule in left if rule.lines[0].number not in going]
    return rules if budget.is_spent else left


def _is_wild(pattern: Pattern) -> bool:
    return "*" in pattern.text or pattern.text.endswith("$")
