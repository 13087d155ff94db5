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
from dataclasses import astuple, dataclass
from functools import cached_property
from itertools import chain
from operator import add

from scrapy_rep.analysis.outline import Line, Outline, outline
from scrapy_rep.protocol.document import RobotsTxt
from scrapy_rep.protocol.errors import RepError
from scrapy_rep.protocol.lines import RULES, Kind
from scrapy_rep.protocol.tokens import EVERYONE, is_product_token, token_of
from scrapy_rep.protocol.verdict import Verdict

from .probes import probes
from .rule_patterns import StepBudget
from .witnesses import Said, witnesses

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
        _Reading(old), _Reading(new), StepBudget(MOST_STEPS if steps is None else steps)
    )
    asked = agents_of(comparison.old.outline, comparison.new.outline) if agents is None else agents
    return comparison.differences(tuple(asked))


class _Comparison:
    """The comparison of two files, with the work that is left for it."""

    def __init__(self, old: _Reading, new: _Reading, budget: StepBudget) -> None:
        self.old = old
        self.new = new
        self._budget = budget
        self._search = StepBudget(SEARCH_STEPS)
        self._probe_count = 0

    def differences(self, agents: tuple[str, ...]) -> Iterator[Difference]:
        sets: dict[tuple[int, int], list[str]] = {}
        for agent in agents:
            sets.setdefault((self.old.set_of(agent), self.new.set_of(agent)), []).append(agent)
        costs = {both: self._cost(both) for both in sets}
        everything = self._everything(costs)
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

    def _everything(self, costs: dict[tuple[int, int], int]) -> tuple[str, ...] | None:
        """The probes for all rules, if there is enough work left to try all agents on them."""
        stock = self.old.all_rules + self.new.all_rules
        most = min(STEPS_FOR_ALL, self._budget.steps)
        if len(costs) * stock.asking_steps(self._reading_steps) > most:
            return None
        old, new = ([text for line in each.rules for text in _texts(line)] for each in self._sides)
        return tuple(probes(dict.fromkeys((*old, *new)), {*old} ^ {*new}))

    @property
    def _sides(self) -> tuple[_Reading, _Reading]:
        return self.old, self.new

    @cached_property
    def _reading_steps(self) -> int:
        """The steps to read both files for one agent."""
        return sum(each.reading_steps for each in self._sides)

    def _cost(self, both: tuple[int, int]) -> int:
        """Roughly the steps to try the probes for an agent in some groups."""
        found = self.old.stocks[both[0]] + self.new.stocks[both[1]]
        return found.asking_steps(self._reading_steps)

    def _disagreements(
        self, agent: str, both: tuple[int, int], everything: tuple[str, ...] | None
    ) -> Iterator[tuple[str, Verdict, Verdict]]:
        """The probes for an agent on which the files disagree, until the budget is spent."""
        stock = self.old.stocks[both[0]] + self.new.stocks[both[1]]
        if not self._budget.take(self._reading_steps + stock.reading_steps):
            return
        paths: Iterable[str] = self._own_probes(both) if everything is None else everything
        tokens = () if agent == UNNAMED else (agent,)
        old, new = self.old.robots_txt, self.new.robots_txt
        tried: set[str] = set()
        for path in chain(paths, self._searched(both)):
            if path in tried:
                continue
            tried.add(path)
            if not self._budget.take(stock.verdict_steps(len(path))):
                return
            self._probe_count += 1
            before, after = old.verdict(_HOST + path, tokens), new.verdict(_HOST + path, tokens)
            if before.allowed != after.allowed:
                yield path, before, after

    def _searched(self, both: tuple[int, int]) -> Iterator[str]:
        """Paths on which the rules of a set of groups differ; empty if the budget is spent."""
        old, new = (
            set(each.rules_in(number)) for each, number in zip(self._sides, both, strict=True)
        )
        if old != new:
            yield from witnesses(old, new, self._search)

    def _own_probes(self, both: tuple[int, int]) -> Iterator[str]:
        sides = [
            list(dict.fromkeys(each.patterns_of(number)))
            for each, number in zip(self._sides, both, strict=True)
        ]
        return probes([*sides[0], *sides[1]], {*sides[0]} ^ {*sides[1]})


@dataclass(frozen=True, slots=True)
class _Stock:
    """The number of some rules and of their octets, and the same for those with wildcards."""

    count: int = 0
    octets: int = 0
    wild_count: int = 0
    wild_octets: int = 0

    def __add__(self, other: _Stock) -> _Stock:
        return _Stock(*map(add, astuple(self), astuple(other)))

    @property
    def reading_steps(self) -> int:
        """The steps to prepare the rules."""
        return self.count * _RULE_STEPS + self.octets // _SEARCHED_OCTETS

    def verdict_steps(self, octets: int) -> int:
        """The steps of both files' verdicts on a path of some octets; each rule is in one file."""
        tried = self.wild_count * _WILD_STEPS + self.wild_octets // _PATH_OCTETS
        return (2 * _VERDICT_STEPS + tried) * (1 + octets // _PATH_OCTETS)

    def asking_steps(self, reading_steps: int) -> int:
        """Roughly the steps to try the probes of all these rules for one agent."""
        plain, wild = _PROBES_PER_RULE
        count = plain * (self.count - self.wild_count) + wild * self.wild_count
        octets = self.octets // self.count + _PROBE_OCTETS if self.count else 0
        return reading_steps + self.reading_steps + count * self.verdict_steps(octets)


class _Reading:
    """A file's outline, and the groups that each agent obeys.

    Different sets of groups have numbers.

    Attributes:
        robots_txt: the file.
        outline: its lines.
        stocks: the rules of each set of groups, by its number.
    """

    def __init__(self, robots_txt: RobotsTxt) -> None:
        self.robots_txt = robots_txt
        limit = len(robots_txt.octets) + 1
        self.outline = outline(robots_txt.octets, robots_txt.uri, limit_octets=limit)
        self._by_token: dict[str, set[int]] = {}
        for name, indices in self.outline.by_name.items():
            self._by_token.setdefault(token_of(name), set()).update(indices)
        self.stocks: list[_Stock] = []
        self._sets: dict[tuple[int, ...], int] = {}
        self._groups: list[tuple[int, ...]] = []
        self._of_everyone = self._number(self.outline.by_name.get(EVERYONE, ()))

    @cached_property
    def _block_stocks(self) -> list[_Stock]:
        return [_stock_of(block.rules) for block in self.outline.blocks]

    @cached_property
    def all_rules(self) -> _Stock:
        """The rules of the whole file."""
        return _stock_of(self.rules)

    @cached_property
    def rules(self) -> list[Line]:
        """All lines that are rules."""
        return [line for line in self.outline.lines if line.kind in RULES]

    @cached_property
    def reading_steps(self) -> int:
        """The steps to find the groups of an agent."""
        agents = sum(line.kind is Kind.USER_AGENT for line in self.outline.lines)
        return agents * _AGENT_STEPS + len(self.robots_txt.octets) // _SEARCHED_OCTETS

    def set_of(self, agent: str) -> int:
        """The number of the set of groups that an agent obeys."""
        found = self._own_groups(agent)
        return self._number(found) if found else self._of_everyone

    def _own_groups(self, agent: str) -> tuple[int, ...]:
        name = agent.lower()
        if is_product_token(name):
            return tuple(sorted(self._by_token.get(name, ())))
        return self.outline.by_name.get(name, ())

    def _number(self, groups: tuple[int, ...]) -> int:
        number = self._sets.get(groups)
        if number is None:
            number = self._sets[groups] = len(self.stocks)
            self._groups.append(groups)
            stock = _Stock()
            for index in groups:
                stock += self._block_stocks[index]
            self.stocks.append(stock)
        return number

    def patterns_of(self, number: int) -> Iterator[str]:
        """The patterns of the rules of a set of groups, for probes."""
        for index in self._groups[number]:
            for line in self.outline.blocks[index].rules:
                yield from _texts(line)

    def rules_in(self, number: int) -> Iterator[Said]:
        """The rules of a set of groups."""
        for index in self._groups[number]:
            for line in self.outline.blocks[index].rules:
                yield line.kind is Kind.ALLOW, line.pattern


def _texts(line: Line) -> tuple[str, ...]:
    """A rule's pattern, and its value with complete escapes if it is also compared as written."""
    if not line.is_written:
        return (line.pattern,)
    written = line.value.decode("latin-1")
    return line.pattern, _CUT_ESCAPE.sub(lambda cut: f"%{cut[1] or 5}B", written)


def _stock_of(rules: Iterable[Line]) -> _Stock:
    values = [line.value for line in rules]
    wild = [value for value in values if b"*" in value]
    return _Stock(len(values), sum(map(len, values)), len(wild), sum(map(len, wild)))
