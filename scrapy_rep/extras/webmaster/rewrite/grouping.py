"""The merged groups of a file, with equal ones together, for rewriting.

A `Section` is one or more names with the rules and other records for all of them. Each mode gives
it other rules, with the same verdict on every path: `effect.analysis` proves which rules can be
removed. If a crawler obeys another section too, nothing is removed. If the proofs for a whole file
would take more than `BUDGET_STEPS`, nothing is removed either: otherwise, with some sections
shorter, the budget would suffice for others next time, and the file would change each time that it
is rewritten.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

from scrapy_rep.extras.webmaster.effect.analysis import Pattern, needless_lines
from scrapy_rep.extras.webmaster.effect.rule_patterns import StepBudget, is_live
from scrapy_rep.extras.webmaster.findings import YANDEX_RULES
from scrapy_rep.extras.webmaster.outline import Block, Line, Outline, name_of
from scrapy_rep.protocol.extensions.records import crawl_delay
from scrapy_rep.protocol.lines import RULES, Kind
from scrapy_rep.protocol.tokens import EVERYONE, token_of

from .spelling import is_of_group

MOST_LINES = 100_000
"""The most rules and other records of all merged groups together. More than fit into a file within
the parse limit; of 2,811 real files none has a fifth of it."""


@dataclass(frozen=True, slots=True)
class SectionRule:
    """A rule to be written, and the lines that it replaces, which mean the same to all readers."""

    lines: tuple[Line, ...] = field(compare=False)
    key: tuple[bool, str, str]

    @classmethod
    def of(cls, line: Line) -> SectionRule:
        """The rule of one line."""
        return cls((line,), (line.kind is Kind.ALLOW, line.pattern, line.spelling))

    @property
    def allow(self) -> bool:
        """Whether it is an allow rule."""
        return self.key[0]

    @property
    def pattern(self) -> str:
        """Its normal form."""
        return self.key[1]


@dataclass(frozen=True, slots=True)
class Section:
    """Names, with their rules and other records.

    Attributes:
        agents: user-agent lines by name.
        rules: the rules of all groups of these names, in file order.
        others: the other records that some crawler reads, in file order.
        is_joined: whether several groups of the file are one here.
        is_split: whether one of these groups also has a crawler that obeys another one, too.
        is_alone: whether no crawler obeys this section together with another one. One named ``mj``,
            for example, obeys those for ``mj12bot`` and ``mj13bot``.
    """

    agents: dict[str, tuple[Line, ...]]
    rules: tuple[SectionRule, ...]
    others: tuple[Line, ...]
    is_joined: bool
    is_split: bool
    is_alone: bool


def is_too_much(outlined: Outline) -> bool:
    """Whether the merged groups have more than `MOST_LINES`, or more rules than Yandex reads.

    A file can name thousands of crawlers above thousands of rules, and also give each of them its
    own group: then each has those thousands of rules, and a few more. Linear in the lines.
    """
    rules = sum(line.kind in RULES for line in outlined.lines)
    most = YANDEX_RULES if rules <= YANDEX_RULES else MOST_LINES
    sizes = [len(block.rules) + len(block.others) for block in outlined.blocks]
    paces = [len(run.others) for run in outlined.runs]
    made = {_made_of(outlined, name) for name in outlined.by_name}
    count = sum(sizes[index] for indices, _ in made for index in indices)
    return count + sum(paces[index] for _, runs in made for index in runs) > most


def _made_of(outlined: Outline, name: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The indices of the groups for a name, and of the runs with a pace for it."""
    return outlined.by_name[name], outlined.paces_by_name.get(name, ())


def sections(outlined: Outline) -> list[Section]:
    """The merged groups, one for each name in the order of first mention, ``*`` last.

    Names in exactly the same groups share their rules. Linear in the rules of each different
    combination of groups.
    """
    lines_of: dict[str, list[Line]] = {}
    for block in outlined.blocks:
        for line in block.agents:
            lines_of.setdefault(name_of(line.value), []).append(line)
    tokens = Counter(token_of(name) for name in outlined.by_name)
    combinations = Counter(index for indices in {*outlined.by_name.values()} for index in indices)
    rules: dict[tuple[int, ...], tuple[SectionRule, ...]] = {}
    others: dict[tuple[tuple[int, ...], tuple[int, ...]], tuple[Line, ...]] = {}
    found: list[Section] = []
    for name, indices in outlined.by_name.items():
        blocks = [outlined.blocks[index] for index in indices]
        if indices not in rules:
            rules[indices] = tuple(SectionRule.of(line) for block in blocks for line in block.rules)
        both = _made_of(outlined, name)
        if both not in others:
            lines = [line for block in blocks for line in block.others if is_of_group(line)]
            lines += _paces([outlined.runs[index] for index in both[1]])
            others[both] = tuple(sorted(lines, key=lambda line: line.number))
        token, agents = token_of(name), {name: tuple(lines_of[name])}
        is_alone = not token or tokens[token] == 1
        is_split = any(combinations[index] > 1 for index in indices)
        is_joined = len(indices) > 1
        found.append(Section(agents, rules[indices], others[both], is_joined, is_split, is_alone))
    return _star_last(found)


def _paces(runs: Sequence[Block]) -> list[Line]:
    """The pace records for a name; of several delays, only the delay that counts."""
    lines = [line for run in runs for line in run.others]
    delays = [line for line in lines if line.name == b"crawl-delay" and len(runs) > 1]
    read = ((line.number, crawl_delay(line.value)) for line in delays)
    seconds = {number: found for number, found in read if found is not None}
    largest = max(seconds, key=seconds.__getitem__, default=0)
    return [line for line in lines if line.number == largest or line.number not in seconds]


def merged(found: Sequence[Section]) -> list[Section]:
    """Sections with equal rules and other records as one, even if they repeat some."""
    by_words: dict[object, list[Section]] = {}
    words: dict[tuple[int, int], object] = {}  # thousands of names may share the same rules
    for section in found:
        same = id(section.rules), id(section.others)
        if same not in words:
            words[same] = _said(section)
        by_words.setdefault(words[same], []).append(section)
    return _star_last([_as_one(same) for same in by_words.values()])


def _star_last(found: list[Section]) -> list[Section]:
    return sorted(found, key=lambda section: EVERYONE in section.agents)


def _said(section: Section) -> object:
    return (
        frozenset(rule.key for rule in section.rules if rule.pattern),
        tuple(dict.fromkeys((line.name, line.value) for line in section.others)),
    )


def _as_one(same: list[Section]) -> Section:
    first, *more = same
    lines: dict[tuple[bool, str, str], dict[int, Line]] = {}
    for section in more:
        if section.rules is not first.rules:
            for rule in section.rules:
                lines.setdefault(rule.key, {}).update((line.number, line) for line in rule.lines)
    names = [item for section in same for item in section.agents.items()]
    more_of = [(rule, lines.pop(rule.key, {}).values()) for rule in first.rules]
    return replace(
        first,
        agents=dict(sorted(names, key=lambda item: item[0] == EVERYONE)),
        rules=tuple(replace(rule, lines=(*rule.lines, *others)) for rule, others in more_of),
        is_joined=any(section.is_joined for section in same),
        is_split=any(section.is_split for section in same),
        is_alone=all(section.is_alone for section in same),
    )


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
        own = (rule.lines[0] for rule in left)
        found = needless_lines(own, budget, lambda one: not wild_only or _is_wild(one))
        going = {line.number for line, _ in found}
        if not going or budget.is_spent:
            break
        left = [rule for rule in left if rule.lines[0].number not in going]
    return rules if budget.is_spent else left


def _is_wild(pattern: Pattern) -> bool:
    return "*" in pattern.text or pattern.text.endswith("$")
