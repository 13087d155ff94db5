"""Differences in the meaning of two files, found by comparing verdicts, not text.

Every name in either file, and one agent without a group, is tried on every probe URL built from the
rules of both, and on paths that `witnesses` finds for changed rules. A rule that makes a difference
is not missed if the search for it ends within `SEARCH_STEPS`. Agents in exactly the same groups of
both files share their results.

Cost: all work is counted in steps, up to `MOST_STEPS`. For each different set of groups both files
are read, and the core gives verdicts for each probe; in the worst case each verdict tries every
wildcard rule. If trying all agents on all probes would take more than `STEPS_FOR_ALL`, each agent
is tried only on probes built from its own rules, the only ones that can decide for it. If the work
exceeds the limit, the cheapest part is done first. Comparing each of 2,811 real files with itself
never takes half of `MOST_STEPS`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from scrapy_rep.analysis.outline import Line, Outline, outline
from scrapy_rep.protocol.document import RobotsTxt
from scrapy_rep.protocol.errors import RepError
from scrapy_rep.protocol.lines import RULES, Kind
from scrapy_rep.protocol.tokens import EVERYONE, token_of
from scrapy_rep.protocol.verdict import Verdict

from .probes import probes
from .rule_patterns import StepBudget
from .witnesses import witnesses

UNNAMED = "*"
"""The agent for all crawlers that no group names."""

MOST_STEPS = 80_000_000
"""The most work for a comparison, in steps of about 0.1 us."""

STEPS_FOR_ALL = 5_000_000

SEARCH_STEPS = 1_000_000
"""The most work for the search for rules that make a difference, for both files together."""

# The steps of: a verdict without wildcard rules; trying a wildcard rule; reading a user-agent line;
# reading a rule. And the octets of one more step: of a path, or of a searched file.
_VERDICT_STEPS = 40
_WILD_STEPS = 2
_PATH_OCTETS = 200
_AGENT_STEPS = 12
_RULE_STEPS = 15
_SEARCHED_OCTETS = 200

_PROBES_PER_RULE = 10, 40  # without and with wildcards
_PROBE_OCTETS = 20  # by which a probe is roughly longer than its pattern

_CUT_ESCAPE = re.compile(r"%([2-9A-Fa-f]?)(?=\*|\$?$)")  # incomplete, before "*" or the end

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
            f"{len(compared):,} of {agents:,} {'agent' if agents == 1 else 'agents'} compared, on "
            f"{probe_count:,} probe URLs; not, or only partly, compared: {_shortened(left)}"
        )


def _shortened(agents: tuple[str, ...]) -> str:
    shown = ", ".join(agents[:_SHOWN])
    more = len(agents) - _SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Difference:
    """A path for which two files have different verdicts for one agent."""

    agent: str
    path: str
    before: Verdict
    after: Verdict


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
    old: RobotsTxt, new: RobotsTxt, agents: Iterable[str] | None = None, *, steps: int | None = None
) -> Iterator[Difference]:
    """The probes that one file allows and the other disallows.

    Args:
        old: the old file.
        new: the new file.
        agents: product tokens; by default all names in either file, and `UNNAMED`.
        steps: the limit of work; by default `MOST_STEPS`.

    Raises:
        InvalidProductToken: no user-agent line could name one of the agents.
        TooMuchToCompare: the limit is exceeded. The differences found before come first.
    """
    comparison = _Comparison(
        (_Reading(old), _Reading(new)), StepBudget(MOST_STEPS if steps is None else steps)
    )
    if agents is None:
        agents = agents_of(*(side.outline for side in comparison.sides))
    return comparison.differences(tuple(agents))


_Groups = tuple[int, ...]
"""The indices of the groups that an agent obeys in a file."""


class _Comparison:
    """The comparison of two files, with the work that is left for it."""

    def __init__(self, sides: tuple[_Reading, _Reading], budget: StepBudget) -> None:
        self.sides = sides
        self._budget = budget
        self._search = StepBudget(SEARCH_STEPS)
        self._probe_count = 0
        # The steps to read both files for one agent.
        self._reading_steps = sum(side.reading_steps for side in sides)

    def differences(self, agents: tuple[str, ...]) -> Iterator[Difference]:
        old, new = self.sides
        sets: dict[tuple[_Groups, _Groups], list[str]] = {}
        for agent in agents:
            sets.setdefault((old.groups_of(agent), new.groups_of(agent)), []).append(agent)
        costs = {both: self._stock(both).asking_steps(self._reading_steps) for both in sets}
        everything = self._everything(len(sets))
        order = list(sets)
        if sum(costs.values()) > self._budget.steps:
            order.sort(key=costs.__getitem__)
        done: set[str] = set()
        for both in order:
            together = sets[both]
            for path, before, after in self._disagreements(together[0], both, everything):
                for agent in together:
                    yield Difference(agent, path, before, after)
            if self._budget.is_spent:
                compared = tuple(agent for agent in agents if agent in done)
                left = tuple(agent for agent in agents if agent not in done)
                raise TooMuchToCompare(compared, left, self._probe_count)
            done.update(together)

    def _everything(self, count: int) -> tuple[str, ...] | None:
        """The probes for all rules, if there is enough work left to try some agents on them."""
        rules = [side.rules for side in self.sides]
        steps = _stock_of(chain(*rules)).asking_steps(self._reading_steps)
        if count * steps > min(STEPS_FOR_ALL, self._budget.steps):
            return None
        return tuple(_probes(rules))

    def _stock(self, both: tuple[_Groups, _Groups]) -> _Stock:
        return _Stock.sum(
            side.stocks[index]
            for side, groups in zip(self.sides, both, strict=True)
            for index in groups
        )

    def _disagreements(
        self, agent: str, both: tuple[_Groups, _Groups], everything: tuple[str, ...] | None
    ) -> Iterator[tuple[str, Verdict, Verdict]]:
        """The probes for an agent on which the files disagree, until the budget is spent."""
        stock = self._stock(both)
        if not self._budget.take(self._reading_steps + stock.reading_steps):
            return
        rules = [side.rules_of(groups) for side, groups in zip(self.sides, both, strict=True)]
        paths: Iterable[str] = _probes(rules) if everything is None else everything
        tokens = () if agent == UNNAMED else (agent,)
        old, new = (side.robots_txt for side in self.sides)
        tried: set[str] = set()
        for path in chain(paths, self._searched(rules)):
            if path in tried:
                continue
            tried.add(path)
            if not self._budget.take(stock.verdict_steps(len(path))):
                return
            self._probe_count += 1
            before, after = old.verdict(_HOST + path, tokens), new.verdict(_HOST + path, tokens)
            if before.allowed != after.allowed:
                yield path, before, after

    def _searched(self, rules: Iterable[Iterable[Line]]) -> Iterator[str]:
        """Paths on which the rules of both sides differ; empty if the budget is spent."""
        old, new = ({(line.kind is Kind.ALLOW, line.pattern) for line in side} for side in rules)
        if old != new:
            yield from witnesses(old, new, self._search)


def _probes(rules: Iterable[Iterable[Line]]) -> Iterator[str]:
    """The probes for the rules of both sides."""
    old, new = (dict.fromkeys(text for line in side for text in _texts(line)) for side in rules)
    return probes([*old, *new], old.keys() ^ new.keys())


def _texts(line: Line) -> tuple[str, ...]:
    """A rule's pattern, and its value with complete escapes if it is also compared as written."""
    if not line.is_written:
        return (line.pattern,)
    written = line.value.decode("latin-1")
    return line.pattern, _CUT_ESCAPE.sub(lambda cut: f"%{cut[1] or 5}B", written)


class _Stock(NamedTuple):
    """The number of some rules and of their octets, and the same for those with wildcards."""

    rules: int = 0
    octets: int = 0
    wild_rules: int = 0
    wild_octets: int = 0

    @classmethod
    def sum(cls, stocks: Iterable[_Stock]) -> _Stock:
        """All of them together."""
        return cls(*map(sum, zip(cls(), *stocks, strict=True)))

    @property
    def reading_steps(self) -> int:
        """The steps to prepare the rules."""
        return self.rules * _RULE_STEPS + self.octets // _SEARCHED_OCTETS

    def verdict_steps(self, octets: int) -> int:
        """The steps of both files' verdicts on a path of some octets; each rule is in one file."""
        tried = self.wild_rules * _WILD_STEPS + self.wild_octets // _PATH_OCTETS
        return (2 * _VERDICT_STEPS + tried) * (1 + octets // _PATH_OCTETS)

    def asking_steps(self, reading_steps: int) -> int:
        """Roughly the steps to try the probes of all these rules for one agent."""
        plain, wild = _PROBES_PER_RULE
        count = plain * (self.rules - self.wild_rules) + wild * self.wild_rules
        octets = self.octets // self.rules + _PROBE_OCTETS if self.rules else 0
        return reading_steps + self.reading_steps + count * self.verdict_steps(octets)


def _stock_of(rules: Iterable[Line]) -> _Stock:
    values = [line.value for line in rules]
    wild = [value for value in values if b"*" in value]
    return _Stock(len(values), sum(map(len, values)), len(wild), sum(map(len, wild)))


class _Reading:
    """A file's outline, and the groups that each agent obeys.

    Attributes:
        robots_txt: the file.
        outline: its lines.
        rules: all lines that are rules.
        stocks: the rules of each group, by its index.
        reading_steps: the steps to find the groups of an agent.
    """

    def __init__(self, robots_txt: RobotsTxt) -> None:
        self.robots_txt = robots_txt
        limit = len(robots_txt.octets) + 1
        self.outline = outline(robots_txt.octets, robots_txt.uri, limit_octets=limit)
        self.rules = [line for line in self.outline.lines if line.kind in RULES]
        self.stocks = [_stock_of(block.rules) for block in self.outline.blocks]
        agents = sum(line.kind is Kind.USER_AGENT for line in self.outline.lines)
        self.reading_steps = agents * _AGENT_STEPS + len(robots_txt.octets) // _SEARCHED_OCTETS

    def groups_of(self, agent: str) -> _Groups:
        """The groups that an agent obeys."""
        return self.outline.obeyed_by(agent) or self.outline.by_name.get(EVERYONE, ())

    def rules_of(self, groups: _Groups) -> list[Line]:
        """The rules of some groups."""
        return [line for index in groups for line in self.outline.blocks[index].rules]
