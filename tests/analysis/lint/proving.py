"""The proof that an edited file has the same verdicts, by `differences` and by the slow model.

All edits of a file are compared with the same old file, so its reading is kept. The core reads the
old file for each agent. It reads the new file for each agent with changed user-agent lines, and for
one of the agents in the same groups of both files: a verdict depends on nothing but its groups.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

from scrapy_rep.analysis.effect.differences import UNNAMED, agents_of, differences
from scrapy_rep.analysis.effect.probes import probes
from scrapy_rep.analysis.effect.rule_patterns import pattern_of
from scrapy_rep.analysis.effect.usage_changes import usage_differences
from scrapy_rep.analysis.outline import outline
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.extensions.pace import SitePace
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS, RULES
from tests.protocol import model

_UNKNOWN = "unknown-crawler"
_USAGE = re.compile(rb"content-(?:usage|signal)", re.IGNORECASE)


class ChangedError(AssertionError):
    """An edit changes a verdict, or another part of the meaning of a file."""


@dataclass(frozen=True, slots=True)
class _Said:
    """The rules of an agent according to the core, None without a group for it; and its pace."""

    rules: frozenset[tuple[bool, bytes]] | None
    site_pace: SitePace


class _Side:
    """One file, as the core, the outline and the slow model read it."""

    def __init__(self, body: bytes, uri: str) -> None:
        self.body = body
        self.robots_txt = parse(body, uri)
        self.outline = outline(body)
        self.groups = model.groups(body[:PARSE_LIMIT_OCTETS])
        self._said: dict[str, _Said] = {}
        self._names: dict[str, frozenset[bytes]] = {}
        self._rules: dict[tuple[int, ...], list[model.Numbered]] = {}
        self._decided: dict[tuple[tuple[int, ...], bytes], bool] = {}

    @cached_property
    def patterns(self) -> dict[str, None]:
        """Those of all rules, in order."""
        values = dict.fromkeys(line.value for line in self.outline.lines if line.kind in RULES)
        return dict.fromkeys(map(pattern_of, values))

    @cached_property
    def places(self) -> dict[bytes, set[int]]:
        """For the value of each user-agent line, the numbers of its groups."""
        found: dict[bytes, set[int]] = {}
        for number, group in enumerate(self.groups):
            for name in group.names:
                found.setdefault(name, set()).add(number)
        return found

    def said(self, agent: str) -> _Said:
        """The rules and the pace of an agent."""
        found = self._said.get(agent)
        if found is None:
            tokens = () if agent == UNNAMED else (agent,)
            group = self.robots_txt.group(tokens)
            own = None if group is None else [(r.allow, r.path_pattern) for r in group.rules]
            rules = None if own is None else frozenset(own)
            found = self._said[agent] = _Said(rules, self.robots_txt.site_pace(tokens))
        return found

    def names(self, agent: str, like: _Side | None = None) -> frozenset[bytes]:
        """The values of user-agent lines that are for an agent; those of `like` are known."""
        found = self._names.get(agent)
        if found is None:
            token = _UNKNOWN if agent == UNNAMED else agent
            known = frozenset() if like is None else like.names(agent) & self.places.keys()
            others = self.places.keys() - (() if like is None else like.places.keys())
            found = known | {name for name in others if model.names_token(name, token)}
            self._names[agent] = found
        return found

    def numbers(self, agent: str, like: _Side | None = None) -> tuple[int, ...]:
        """The groups that name an agent, otherwise the groups for everyone."""
        names = self.names(agent, like) or self._everyone
        return tuple(sorted({number for name in names for number in self.places[name]}))

    @cached_property
    def _everyone(self) -> frozenset[bytes]:
        return frozenset(name for name in self.places if model.names_everyone(name))

    def rules(self, numbers: tuple[int, ...]) -> list[model.Numbered]:
        """The rules of some groups."""
        if numbers not in self._rules:
            self._rules[numbers] = [r for number in numbers for r in self.groups[number].rules]
        return self._rules[numbers]

    def allows(self, numbers: tuple[int, ...], path: bytes) -> bool:
        """Whether some groups allow a path, by the slow model."""
        key = numbers, path
        if key not in self._decided:
            self._decided[key] = model.decide(self.rules(numbers), path)[0]
        return self._decided[key]


_kept = lru_cache(maxsize=1)(_Side)


def prove(
    before: bytes, after: bytes, uri: str, *, path_count: int = 60, has_all: bool = True
) -> None:
    """Assert that both files mean the same for all agents.

    The slow model compares `path_count` probes; `differences` compares all of its own. Unless
    `has_all`, it skips agents with the same rules in both files.
    """
    old, new = _kept(before, uri), _Side(after, uri)
    agents = agents_of(old.outline, new.outline)
    numbers = {agent: (old.numbers(agent), new.numbers(agent, old)) for agent in agents}
    said = _said_anew(old, new, numbers)
    asked = agents if has_all else [a for a in agents if old.said(a).rules != said[a].rules]
    difference = next(differences(old.robots_txt, new.robots_txt, asked), None)
    if difference is not None:
        raise ChangedError(difference)
    if old.robots_txt.sitemaps != new.robots_txt.sitemaps:
        raise ChangedError((old.robots_txt.sitemaps, new.robots_txt.sitemaps))
    for agent in agents:
        if old.said(agent).site_pace != said[agent].site_pace:
            raise ChangedError(agent)
    if _USAGE.search(before) or _USAGE.search(after):
        each = {both: agent for agent, both in numbers.items()}.values()
        usage = next(usage_differences(old.robots_txt, new.robots_txt, each), None)
        if usage is not None:
            raise ChangedError(usage)
    slow = next(_slow_differences(old, new, numbers, path_count), None)
    if slow is not None:
        raise ChangedError(slow)


_Numbers = dict[str, tuple[tuple[int, ...], tuple[int, ...]]]
"""For each agent its groups in the old file and in the new one."""


def _said_anew(old: _Side, new: _Side, numbers: _Numbers) -> dict[str, _Said]:
    """The rules and the pace of each agent in the new file."""
    found: dict[str, _Said] = {}
    shared: dict[object, _Said] = {}
    for agent, both in numbers.items():
        if old.names(agent) != new.names(agent, old):
            found[agent] = new.said(agent)
            continue
        # The core and the model read names differently that no crawler can have.
        key = both, old.said(agent)
        if key not in shared:
            shared[key] = new.said(agent)
        found[agent] = shared[key]
    return found


def _slow_differences(
    old: _Side, new: _Side, numbers: _Numbers, path_count: int
) -> Iterator[tuple[str, str]]:
    paths = list(islice(_paths(old, new), path_count))
    for one, other in dict.fromkeys(numbers.values()):
        rules = old.rules(one), new.rules(other)
        if sorted({r[:2] for r in rules[0]}) == sorted({r[:2] for r in rules[1]}):
            continue  # the same words: the model does not look at their order
        for path in paths:
            octets = path.encode()
            if old.allows(one, octets) is not new.allows(other, octets):
                agent = next(agent for agent, both in numbers.items() if both == (one, other))
                yield agent, path


def _paths(old: _Side, new: _Side) -> Iterator[str]:
    """Probes: those for rules that only one of the files has first."""
    changed = {*old.patterns} ^ {*new.patterns}
    yield from probes(changed, changed)
    yield from probes(old.patterns, changed)
