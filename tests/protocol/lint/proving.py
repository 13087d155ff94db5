"""That what is advised keeps every verdict: followed, and compared by `differences` and slowly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice

from scrapy_rep.analysis.effect.differences import UNNAMED, agents_of, differences
from scrapy_rep.analysis.effect.patterns import pattern_of
from scrapy_rep.analysis.effect.probes import probes
from scrapy_rep.analysis.outline import Outline, outline
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS, RULES
from tests.protocol import model


class ChangedError(AssertionError):
    """What is advised changes a verdict, or another thing that a file says."""


def prove(
    before: bytes, after: bytes, uri: str, *, path_count: int = 60, asks_all: bool = True
) -> None:
    """Both files say the same to everybody.

    `path_count` probes are compared by the slow model; `differences` compares all that it has.
    Unless `asks_all`, it is not asked about agents for whom the core reads the very same rules in
    both: a verdict depends on nothing else.
    """
    old, new = parse(before, uri), parse(after, uri)
    agents = agents_of(outline(before), outline(after))
    asked = agents if asks_all else [a for a in agents if _rules(old, a) != _rules(new, a)]
    difference = next(differences(old, new, asked), None)
    if difference is not None:
        raise ChangedError(difference)
    if old.sitemaps != new.sitemaps:
        raise ChangedError((old.sitemaps, new.sitemaps))
    for agent in agents:
        tokens = () if agent == UNNAMED else (agent,)
        if old.crawl_delay(tokens) != new.crawl_delay(tokens):
            raise ChangedError(agent)
    slow = list(_slow_differences(before, after, agents, path_count))
    if slow:
        raise ChangedError(slow[0])


def _rules(robots_txt: RobotsTxt, agent: str) -> set[tuple[bool, bytes]] | None:
    """The rules that the core reads for an agent; None if no group is for it."""
    group = robots_txt.group(() if agent == UNNAMED else (agent,))
    return None if group is None else {(rule.allow, rule.path_pattern) for rule in group.rules}


def _slow_differences(
    before: bytes, after: bytes, agents: Iterable[str], path_count: int
) -> Iterator[tuple[str, str]]:
    old, new = (model.groups(body[:PARSE_LIMIT_OCTETS]) for body in (before, after))
    told: set[object] = set()
    paths = list(islice(_paths(outline(before), outline(after)), path_count))
    for agent in agents:
        name = "nobody-of-this-name" if agent == UNNAMED else agent
        rules = [model.numbered_rules_for(read, name) or [] for read in (old, new)]
        key = str([[rule[:2] for rule in side] for side in rules])
        if key in told:
            continue
        told.add(key)
        if sorted({r[:2] for r in rules[0]}) == sorted({r[:2] for r in rules[1]}):
            continue  # the same words: the model does not look at their order
        for path in paths:
            octets = path.encode()
            if model.decide(rules[0], octets)[0] is not model.decide(rules[1], octets)[0]:
                yield agent, path


def _paths(old: Outline, new: Outline) -> Iterator[str]:
    """Probes: those for rules that only one of the files has first."""
    sides = [
        dict.fromkeys(pattern_of(line.value) for line in side.lines if line.kind in RULES)
        for side in (old, new)
    ]
    changed = {*sides[0]} ^ {*sides[1]}
    yield from probes(changed, changed)
    yield from probes(sides[0], changed)
