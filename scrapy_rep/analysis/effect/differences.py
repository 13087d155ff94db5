"""Where two files differ in what they mean: by asking both, not by comparing their text.

Every agent that either file names, and one that none does, is asked about every probe URL built
from the rules of both, and about paths that `witnesses` finds for rules that changed: a rule that
makes a difference is not missed, as long as the search for it ends within `SEARCH_STEPS`. Agents
that are in the very same groups of both files share their answers.

Cost: all work is counted in steps, and ends with `MOST_STEPS`. For each different set of groups
both files are read, and for each of its probes the core's verdicts are asked for: in the worst case
each tries every wildcard rule. Where all agents can't be asked about all probes in `STEPS_FOR_ALL`,
each is asked about those that are built from its own rules, which are the only ones that can decide
for it. If there is more than can be done, what costs least is done first. Of 2,811 real files, each
against itself, none takes half of `MOST_STEPS`.
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
"""The agent that stands for all that no group names."""

MOST_STEPS = 80_000_000
"""How much work a comparison may be, in steps of some 0.1 us."""

STEPS_FOR_ALL = 5_000_000

SEARCH_STEPS = 1_000_000
"""How much work the search for rules that make a difference may be, for both files together."""

# In steps: a verdict without wildcard rules; a wildcard rule tried; so many octets of a path, for
# each of these; a user-agent line that is read; a rule that is read; octets that are searched.
_VERDICT_STEPS = 40
_WILD_STEPS = 2
_PATH_OCTETS = 200
_AGENT_STEPS = 12
_RULE_STEPS = 15
_SEARCHED_OCTETS = 200

_PROBES_PER_RULE = 10, 40  # plain ones, and those with wildcards
_PROBE_OCTETS = 20  # by which a probe is longer than its pattern, roughly

_CUT_ESCAPE = re.compile(r"%([2-9A-Fa-f]?)(?=\*|\$?$)")  # where a "*" or the end follows

_HOST = "https://host"  # a path that begins with // would be one, if it stood alone


class TooMuchToCompare(RepError):  # noqa: N818
    """Two files could not be compared as a whole: no real ones are known of which that is so.

    Attributes:
        compared: the agents that were asked about all their probe URLs.
        left: those that were asked about some, or none.
        probe_count: how many probe URLs were asked about.
    """

    def __init__(self, compared: tuple[str, ...], left: tuple[str, ...], probe_count: int) -> None:
        self.compared = compared
        self.left = left
        self.probe_count = probe_count
        agents = len(compared) + len(left)
        super().__init__(
            "the files are too much to compare as a whole: "
            f"{len(compared):,} of {agents:,} {'agent' if agents == 1 else 'agents'} compared, on "
            f"{probe_count:,} probe URLs; not, or in part only: {_shortened(left)}"
        )


def _shortened(agents: tuple[str, ...]) -> str:
    shown = ", ".join(agents[:_SHOWN])
    more = len(agents) - _SHOWN
    return f"{shown} and {more:,} more" if more > 0 else shown


_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Difference:
    """A URL that one agent gets another answer for: a path, and the verdicts of both files."""

    agent: str
    path: str
    before: Verdict
    after: Verdict


def agents_of(*outlines: Outline) -> tuple[str, ...]:
    """Who is named in any of the files, in order, then `UNNAMED`.

    For a name that is no product token also the token that it begins with, whose owner obeys the
    same lines.
    """
    names = (name for outlined in outlines for name in outlined.by_name if name != EVERYONE)
    both = (agent for name in names for agent in (name, token_of(name)) if agent)
    return (*dict.fromkeys(both), UNNAMED)


def differences(
    old: RobotsTxt, new: RobotsTxt, agents: Iterable[str] | None = None, *, steps: int | None = None
) -> Iterator[Difference]:
    """The probes on which two files disagree about allowed or not.

    Args:
        old: the one file.
        new: the other one.
        agents: product tokens; by default all that either file names, and `UNNAMED`.
        steps: how much work it may be; by default `MOST_STEPS`.

    Raises:
        InvalidProductToken: one of the agents could never be named.
        TooMuchToCompare: it would be more work. Differences that were found come first.
    """
    comparison = _Comparison(
        _Reading(old), _Reading(new), StepBudget(MOST_STEPS if steps is None else steps)
    )
    asked = agents_of(comparison.old.outline, comparison.new.outline) if agents is None else agents
    return comparison.differences(tuple(asked))


class _Comparison:
    """Two files that are compared, and the work that is left for it."""

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
        """The probes for all rules, if all agents can be asked about all of them."""
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
        """What it takes to read both files on behalf of an agent."""
        return sum(each.reading_steps for each in self._sides)

    def _cost(self, both: tuple[int, int]) -> int:
        """What it takes to ask an agent in some groups about its probes, roughly."""
        found = self.old.stocks[both[0]] + self.new.stocks[both[1]]
        return found.asking_steps(self._reading_steps)

    def _disagreements(
        self, agent: str, both: tuple[int, int], everything: tuple[str, ...] | None
    ) -> Iterator[tuple[str, Verdict, Verdict]]:
        """The probes of an agent on which the files disagree, for as long as the budget lasts."""
        stock = self.old.stocks[both[0]] + self.new.stocks[both[1]]
        if not self._budget.take(self._reading_steps + stock.reading_steps):
            return
        paths: Iterable[str] = self._own_probes(both) if everything is None else everything
        tokens = () if agent == UNNAMED else (agent,)
        old, new = self.old.robots_txt, self.new.robots_txt
        for path in chain(paths, self._searched(both)):
            if not self._budget.take(stock.verdict_steps(len(path))):
                return
            self._probe_count += 1
            before, after = old.verdict(_HOST + path, tokens), new.verdict(_HOST + path, tokens)
            if before.allowed != after.allowed:
                yield path, before, after

    def _searched(self, both: tuple[int, int]) -> Iterator[str]:
        """Paths on which the rules of a set of groups differ; none once the search is too long."""
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
    """How many rules there are, and how many octets they have; of which so many with wildcards."""

    count: int = 0
    octets: int = 0
    wild_count: int = 0
    wild_octets: int = 0

    def __add__(self, other: _Stock) -> _Stock:
        return _Stock(*map(add, astuple(self), astuple(other)))

    @property
    def reading_steps(self) -> int:
        """What it takes to make the rules ready."""
        return self.count * _RULE_STEPS + self.octets // _SEARCHED_OCTETS

    def verdict_steps(self, octets: int) -> int:
        """The verdicts of both files on a path of so many octets: each rule is in one of them."""
        tried = self.wild_count * _WILD_STEPS + self.wild_octets // _PATH_OCTETS
        return (2 * _VERDICT_STEPS + tried) * (1 + octets // _PATH_OCTETS)

    def asking_steps(self, reading_steps: int) -> int:
        """What it takes to ask one agent about the probes of all these rules, roughly."""
        plain, wild = _PROBES_PER_RULE
        count = plain * (self.count - self.wild_count) + wild * self.wild_count
        octets = self.octets // self.count + _PROBE_OCTETS if self.count else 0
        return reading_steps + self.reading_steps + count * self.verdict_steps(octets)


class _Reading:
    """A file's outline, and which of its groups an agent obeys.

    Different sets of groups have numbers.

    Attributes:
        robots_txt: the file.
        outline: its lines.
        stocks: by the number of a set of groups: its rules.
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
        """All lines that are rules."""
        return _stock_of(self.rules)

    @cached_property
    def rules(self) -> list[Line]:
        """All lines that are rules."""
        return [line for line in self.outline.lines if line.kind in RULES]

    @cached_property
    def reading_steps(self) -> int:
        """What it takes to look for the groups of an agent."""
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
        """The patterns that probes for the rules of a set of groups are made of."""
        for index in self._groups[number]:
            for line in self.outline.blocks[index].rules:
                yield from _texts(line)

    def rules_in(self, number: int) -> Iterator[Said]:
        """The rules of a set of groups."""
        for index in self._groups[number]:
            for line in self.outline.blocks[index].rules:
                yield line.kind is Kind.ALLOW, line.pattern


def _texts(line: Line) -> tuple[str, ...]:
    """A rule's pattern; and a second one if it is compared as it is written: with whole escapes."""
    if not line.is_written:
        return (line.pattern,)
    written = line.value.decode("latin-1")
    return line.pattern, _CUT_ESCAPE.sub(lambda cut: f"%{cut[1] or 5}B", written)


def _stock_of(rules: Iterable[Line]) -> _Stock:
    values = [line.value for line in rules]
    wild = [value for value in values if b"*" in value]
    return _Stock(len(values), sum(map(len, values)), len(wild), sum(map(len, wild)))
