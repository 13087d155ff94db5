"""Differences in the meaning of two files, found by comparing verdicts, not text.

Three readers are compared (`protocol.other_readers`): ours, Google's matcher, crawlers of 1994. For
each of them, every name in either file, and one agent without a group, is tried if its rules are
not the same in both. The probe URLs are built from its rules in both spellings of each escape, and
`witnesses` finds more for changed rules. A rule that makes a difference is not missed if the search
for it ends within `SEARCH_STEPS`, unless all paths that show it have dot segments. Agents in
exactly the same groups of both files share their results.

Cost: all work is counted in steps, up to `MOST_STEPS`; in the worst case each verdict tries every
wildcard rule. If the probes for all rules of an agent would take more than `STEPS_FOR_ALL`, only
those for changed rules are tried: no other rule can cause a difference. Many changed rules of a
large group have fewer probes each, and so have all rules if the work would exceed the limit. Then
the cheapest part is also done first.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import NamedTuple

from scrapy_rep.extras.webmaster.effect.other_readers import (
    GOOGLE,
    OURS,
    READERS,
    Judge,
    Reader,
    escaped,
)
from scrapy_rep.extras.webmaster.outline import Line, Outline, outline
from scrapy_rep.protocol.document import RobotsTxt
from scrapy_rep.protocol.errors import RepError
from scrapy_rep.protocol.lines import Kind
from scrapy_rep.protocol.packed import window_of
from scrapy_rep.protocol.ruleset import PACKED_FROM
from scrapy_rep.protocol.tokens import EVERYONE, is_product_token, names_of, token_of
from scrapy_rep.protocol.units import counted
from scrapy_rep.protocol.verdict import Rule, Verdict

from .probes import probes
from .rule_patterns import StepBudget
from .witnesses import witnesses

UNNAMED = "*"
"""The agent for all crawlers that no group names."""

MOST_STEPS = 50_000_000
"""The most work for a comparison, in steps of about 0.1 us."""

STEPS_FOR_ALL = 5_000_000

SEARCH_STEPS = 1_000_000
"""The most work for the search for rules that make a difference, for both files together."""

# The steps of: a verdict without wildcard rules, and one by a large set, whose line is counted in a
# large file; trying a wildcard rule; reading a user-agent line; reading a rule. And the octets of
# one more step: of a path, or of a searched file.
_VERDICT_STEPS = 40
_PACKED_STEPS = 700
_WILD_STEPS = 2
_PATH_OCTETS = 200
_AGENT_STEPS = 12
_RULE_STEPS = 15
_SEARCHED_OCTETS = 200

_MOST_IN_FULL = 100  # changed rules of a large group
_TRIED_ONE_BY_ONE = 1000
_PROBES_PER_RULE = 20, 90  # without and with wildcards, in two spellings
_PROBE_OCTETS = 20  # by which a probe is roughly longer than its pattern

_CUT_ESCAPE = re.compile(r"%([2-9A-Fa-f]?)(?=\*|\$?$)")  # incomplete, before "*" or the end
_RESERVED = re.compile(r"[]:#[@!&'()+,;=]")  # each equals its escape, other than "/" and "?"

_HOST = "https://host"  # on its own, a path that begins with // would name a host


class TooMuchToCompare(RepError):  # noqa: N818
    """Two files could not be compared completely; this is not known to happen with real files.

    Attributes:
        compared: the agents that were tried on all their probe URLs.
        left: the agents that were tried on some probe URLs, or on none.
        probe_count: the number of probe URLs that were tried.
    """

    def __init__(self, compared: tuple[str, ...], left: tuple[str, ...], probe_count: int) -> None:
        self.compared = compared
        self.left = left
        self.probe_count = probe_count
        agents = len(compared) + len(left)
        super().__init__(
            "the files are too much to compare as a whole: "
            f"{len(compared):,} of {counted(agents, 'agent')} compared, on "
            f"{counted(probe_count, 'probe URL')}; not, or only partly, compared: "
            f"{shortened(left)}"
        )


def shortened(names: Sequence[str]) -> str:
    """The first names, and the number of the others."""
    shown = ", ".join(names[:_SHOWN])
    more = len(names) - _SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Difference:
    """A path for which two files have different verdicts for one agent.

    Attributes:
        readers: the readers for which they differ in this way; the verdicts are those of the first.
    """

    agent: str
    path: str
    before: Verdict
    after: Verdict
    readers: tuple[Reader, ...] = (OURS,)


def agents_of(*outlines: Outline) -> tuple[str, ...]:
    """All names in the files, in order and as the first file spells them, then `UNNAMED`.

    A name that is not a product token adds the token at its start: a crawler with that token obeys
    the same lines.
    """
    names = (name for each in outlines for name in each.spellings.values() if name != EVERYONE)
    found: dict[str, str] = {}
    for name in names:
        for agent in filter(None, (name, token_of(name))):
            found.setdefault(agent.lower(), agent)
    return (*found.values(), UNNAMED)


def differences(
    old: RobotsTxt,
    new: RobotsTxt,
    agents: Iterable[str] | None = None,
    *,
    steps: int | None = None,
    readers: Sequence[Reader] = READERS,
) -> Iterator[Difference]:
    """The probes that one file allows and the other disallows, for some reader.

    Args:
        old: the old file.
        new: the new file.
        agents: product tokens; by default all names in either file, and `UNNAMED`.
        steps: the limit of work; by default `MOST_STEPS`.
        readers: the readers to compare.

    Raises:
        InvalidProductToken: no user-agent line could name one of the agents.
        TooMuchToCompare: the limit is exceeded. The differences found before come first.
    """
    sides = _ComparedFile(old), _ComparedFile(new)
    if agents is None:
        agents = agents_of(*(side.outline for side in sides))
    budget = StepBudget(MOST_STEPS if steps is None else steps)
    return _Comparison(sides, readers, budget).differences(tuple(agents))


_Sides = tuple["_ComparedFile", "_ComparedFile"]
_Groups = tuple[int, ...]
"""The indices of the groups that an agent obeys in a file."""


class _Comparison:
    """The comparison of two files, with the work that is left for it."""

    def __init__(self, sides: _Sides, readers: Sequence[Reader], budget: StepBudget) -> None:
        self.sides = sides
        self._readers = readers
        self._budget = budget
        self._search = StepBudget(SEARCH_STEPS)
        self._probe_count = 0
        self._is_brief = False  # whether all probes would be too much work
        # The steps to read both files for one agent.
        self._reading_steps = sum(side.reading_steps for side in sides)

    def differences(self, agents: tuple[str, ...]) -> Iterator[Difference]:
        old, new = self.sides
        sets: dict[tuple[_Groups, _Groups, bool], list[str]] = {}
        for agent in agents:
            # Other readers may take the next group for a name that is not a product token.
            tokens = () if agent == UNNAMED else names_of(agent).tokens
            is_plain = all(map(is_product_token, tokens))
            key = old.groups_of(agent), new.groups_of(agent), is_plain
            sets.setdefault(key, []).append(agent)
        costs = {key: self._counts_of(key[:2]).trial_steps(self._reading_steps) for key in sets}
        order = list(sets)
        self._is_brief = sum(costs.values()) * len(self._readers) > self._budget.steps
        if self._is_brief:
            order.sort(key=costs.__getitem__)
        done: set[str] = set()
        for key in order:
            for found in self._disagreements(sets[key][0], key[:2], is_plain=key[2]):
                yield from (replace(found, agent=agent) for agent in sets[key])
            if self._budget.is_spent:
                compared = tuple(agent for agent in agents if agent in done)
                left = tuple(agent for agent in agents if agent not in done)
                raise TooMuchToCompare(compared, left, self._probe_count)
            done.update(sets[key])

    def _counts_of(self, both: tuple[_Groups, _Groups]) -> _RuleCounts:
        sides = zip(self.sides, both, strict=True)
        return _RuleCounts.sum(side.rule_counts[i] for side, groups in sides for i in groups)

    def _disagreements(
        self, agent: str, both: tuple[_Groups, _Groups], *, is_plain: bool
    ) -> Iterator[Difference]:
        """The probes for an agent on which the files disagree, until the budget is spent."""
        counts = self._counts_of(both)
        if not self._budget.take(self._reading_steps + counts.reading_steps):
            return
        sides = zip(self.sides, both, strict=True)
        rules = [side.outline.rules_of(groups) for side, groups in sides]
        readers = [reader for reader in self._readers if reader is not GOOGLE or is_plain]
        said = {one: [{_said(one, line) for line in side} for side in rules] for one in readers}
        said = {reader: texts for reader, texts in said.items() if texts[0] != texts[1]}
        judges = {
            reader: [self._judge(reader, agent, n, rules[n]) for n in (0, 1)] for reader in said
        }
        is_small = not self._is_brief and counts.trial_steps(0) < STEPS_FOR_ALL
        own = _probes(rules, has_all=is_small, is_brief=self._is_brief) if said else ()
        tried: set[str] = set()
        for path in chain(own, self._searched(said)):
            if path in tried:
                continue
            tried.add(path)
            if not self._budget.take(counts.verdict_steps(len(path)) * len(said)):
                return
            self._probe_count += 1
            found: dict[bool, Difference] = {}
            for reader, (one, other) in judges.items():
                before, after = one(_HOST + path), other(_HOST + path)
                if before.allowed != after.allowed:
                    new = Difference(agent, path, before, after, (reader,))
                    same = found.setdefault(after.allowed, new)
                    if same is not new:
                        found[after.allowed] = replace(same, readers=(*same.readers, reader))
            yield from found.values()

    def _judge(self, reader: Reader, agent: str, number: int, rules: list[Line]) -> Judge:
        """The verdicts of a reader on one of the files."""
        side = self.sides[number]
        if reader is OURS:
            tokens = () if agent == UNNAMED else (agent,)
            return partial(side.robots_txt.verdict, product_tokens=tokens)
        token = agent.lower() if side.outline.obeyed_by(agent) else EVERYONE
        own = (Rule(line.kind is Kind.ALLOW, line.value, line.number, 0) for line in rules)
        return reader.judge(own, token if side.groups_of(agent) else "")

    def _searched(self, said: dict[Reader, list[set[_Said]]]) -> Iterator[str]:
        """Paths on which the rules of both sides differ; empty if the budget is spent."""
        for reader, sides in said.items():
            old, new = ([(allow, text) for allow, text, _ in side if text] for side in sides)
            yield from map(reader.url, witnesses(old, new, self._search))


_Said = tuple[bool, str, str]
"""A rule: whether it allows, its pattern, and its value if that is also compared as written."""


def _said(reader: Reader, line: Line) -> _Said:
    """A rule as a reader compares it; an empty pattern if it ignores the rule."""
    is_allow = line.kind is Kind.ALLOW
    if is_allow and not reader.has_allow:
        return False, "", ""
    if reader is OURS:
        return is_allow, line.pattern, line.says
    return is_allow, reader.pattern(line.value), ""


def probes_of(rules: Iterable[Line], changed: Collection[str] = ()) -> list[str]:
    """The probes for some rules, in both spellings of each escape."""
    return list(probes(dict.fromkeys(text for line in rules for text in _texts(line)), changed))


def _probes(rules: list[list[Line]], *, has_all: bool, is_brief: bool) -> Iterator[str]:
    """The probes for the rules of both sides, or only for the changed ones."""
    old, new = (dict.fromkeys(text for line in side for text in _texts(line)) for side in rules)
    # In the order of the files, so that the same differences are found each time.
    changed = dict.fromkeys(text for text in (*old, *new) if (text in old) != (text in new))
    if has_all:
        return probes([*old, *new], changed)
    return probes(changed, changed, is_brief=is_brief or len(changed) > _MOST_IN_FULL)


def _texts(line: Line) -> tuple[str, ...]:
    """A rule's pattern in normal form, with all escapes, and as written with complete escapes."""
    written = _CUT_ESCAPE.sub(lambda cut: f"%{cut[1] or 5}B", escaped(line.value))
    spelled = _RESERVED.sub(lambda found: f"%{ord(found[0]):02X}", line.pattern)
    return line.pattern, spelled, written


class _RuleCounts(NamedTuple):
    """The number of some rules and of their octets, and the same for those with wildcards.

    `tried_rules` is the most of them that a verdict tries: a large set finds them by a part.
    """

    rules: int = 0
    octets: int = 0
    wild_rules: int = 0
    wild_octets: int = 0
    tried_rules: int = 0

    @classmethod
    def sum(cls, rule_counts: Iterable[_RuleCounts]) -> _RuleCounts:
        """All of them together."""
        return cls(*map(sum, zip(cls(), *rule_counts, strict=True)))

    @property
    def reading_steps(self) -> int:
        """The steps to prepare the rules."""
        return self.rules * _RULE_STEPS + self.octets // _SEARCHED_OCTETS

    def verdict_steps(self, octets: int) -> int:
        """The steps of both files' verdicts on a path of some octets; each rule is in one file."""
        verdict = _PACKED_STEPS if self.rules >= 2 * PACKED_FROM else _VERDICT_STEPS
        tried = self.tried_rules * _WILD_STEPS + self.wild_octets // _PATH_OCTETS
        return (2 * verdict + tried) * (1 + octets // _PATH_OCTETS)

    def trial_steps(self, reading_steps: int) -> int:
        """Roughly the steps to try the probes of all these rules for one agent."""
        plain, wild = _PROBES_PER_RULE
        count = plain * (self.rules - self.wild_rules) + wild * self.wild_rules
        octets = self.octets // self.rules + _PROBE_OCTETS if self.rules else 0
        return reading_steps + self.reading_steps + count * self.verdict_steps(octets)


def _rule_counts(rules: Iterable[Line]) -> _RuleCounts:
    patterns = [line.pattern for line in rules]
    wild = [pattern for pattern in patterns if "*" in pattern]
    tried = len(wild)
    if tried > _TRIED_ONE_BY_ONE:
        crowd = max(Counter(map(window_of, wild)).values())
        tried = min(tried, _TRIED_ONE_BY_ONE + crowd)
    return _RuleCounts(
        len(patterns), sum(map(len, patterns)), len(wild), sum(map(len, wild)), tried
    )


class _ComparedFile:
    """A file's outline, and the groups that each agent obeys.

    Attributes:
        robots_txt: the file.
        outline: its lines.
        rule_counts: the rules of each group, by its index.
        reading_steps: the steps to find the groups of an agent.
    """

    def __init__(self, robots_txt: RobotsTxt) -> None:
        self.robots_txt = robots_txt
        limit = len(robots_txt.octets) + 1
        self.outline = outline(robots_txt.octets, robots_txt.uri, limit_octets=limit)
        self.rule_counts = [_rule_counts(block.rules) for block in self.outline.blocks]
        agents = sum(line.kind is Kind.USER_AGENT for line in self.outline.lines)
        self.reading_steps = agents * _AGENT_STEPS + len(robots_txt.octets) // _SEARCHED_OCTETS

    def groups_of(self, agent: str) -> _Groups:
        """The groups that an agent obeys."""
        return self.outline.obeyed_by(agent) or self.outline.by_name.get(EVERYONE, ())
