"""Differences between two files about the use of content, on URLs with the same verdict in both.

Each agent is tried on probe URLs, built from the paths of Content-Usage and Content-Signal records
as `differences` builds them from rules. URLs with different verdicts are left to `differences`: the
use of pages that no crawler may fetch is another question.

Cost: all work is counted in steps of about 0.1 us, up to `MOST_STEPS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from scrapy_rep.extras.pages.usage.categories import CATEGORIES, NO_TOKENS
from scrapy_rep.extras.pages.usage.preference import UsagePreferences
from scrapy_rep.extras.pages.usage.robots import FileUsage
from scrapy_rep.extras.pages.usage.scoped import divided
from scrapy_rep.extras.webmaster.outline import Outline, outline
from scrapy_rep.protocol.document import RobotsTxt

from .differences import UNNAMED, TooMuchToCompare, agents_of
from .probes import probes
from .rule_patterns import StepBudget

MOST_STEPS = 40_000_000
"""The most work for a comparison."""

USE = "use"
"""A name in addition to the categories: how much of the content may be used."""

USAGE_KEYS = (b"content-usage", b"content-signal", b"content-signals")
_READING_OCTETS = 10  # of a file, read in a step
_PROBE_STEPS = 600  # to compare two files on a path
_PATTERN_STEPS = 20  # to try each of their patterns
_PATTERN_OCTETS = 10  # of a pattern, tried in a step


@dataclass(frozen=True, slots=True)
class UsageDifference:
    """A URL for which two files have different preferences for one agent.

    Attributes:
        agent: the crawler's product token.
        path: the URL.
        category: one of `CATEGORIES`, or `USE`.
        before: the preference in the old file: ``y``, ``n``, ``unknown``; or how much may be used.
        after: the preference in the new file.
        because: the source in the old file, and the source in the new one, in words.
    """

    agent: str
    path: str
    category: str
    before: str
    after: str
    because: tuple[str, str] = ("", "")


def usage_differences(
    old: RobotsTxt, new: RobotsTxt, agents: Iterable[str] | None = None, *, steps: int = MOST_STEPS
) -> Iterator[UsageDifference]:
    """The probes for which two files have different usage preferences.

    Args:
        old: the old file.
        new: the new file.
        agents: product tokens; by default all names in either file, and `UNNAMED`.
        steps: the limit of work.

    Raises:
        InvalidProductToken: no user-agent line could name one of the agents.
        TooMuchToCompare: the limit is exceeded. The differences found before come first.
    """
    outlines = [
        outline(file.octets, file.uri, limit_octets=len(file.octets) + 1) for file in (old, new)
    ]
    patterns = [_patterns(one) for one in outlines]
    if not any(patterns):
        return
    compared = tuple(agents_of(*outlines) if agents is None else agents)
    paths = tuple(probes([*patterns[0], *patterns[1]], {*patterns[0]} ^ {*patterns[1]}))
    budget = StepBudget(steps)
    read = 1 + (len(old.octets) + len(new.octets)) // _READING_OCTETS
    each = _PROBE_STEPS + sum(
        _PATTERN_STEPS + len(pattern) // _PATTERN_OCTETS for side in patterns for pattern in side
    )
    for number, agent in enumerate(compared):
        if not budget.take(read + each * len(paths)):
            raise TooMuchToCompare(compared[:number], compared[number:], number * len(paths))
        yield from _of_agent(agent, old, new, paths)


def _patterns(outlined: Outline) -> list[str]:
    """The paths of all records about use, in normal form, each once."""
    values = (line.value for line in outlined.lines if line.name in USAGE_KEYS)
    return list(dict.fromkeys(divided(value)[0] for value in values))


def _of_agent(
    agent: str, old: RobotsTxt, new: RobotsTxt, paths: Iterable[str]
) -> Iterator[UsageDifference]:
    tokens = () if agent == UNNAMED else (agent,)
    selections = [file.selection(tokens) for file in (old, new)]
    pairs = zip((old, new), selections, strict=True)
    read = (FileUsage.of(one.octets, one.uri, selection, NO_TOKENS) for one, selection in pairs)
    # A change for a policy token is a different verdict for the crawler of this name.
    usages = [replace(usage, others=()) for usage in read]
    for path in paths:
        allowed = {selection.verdict(path).allowed for selection in selections}
        if len(allowed) == 1:
            before, after = (usage.preferences(path) for usage in usages)
            for category in CATEGORIES if before.statements != after.statements else ():
                was, now = before.preference(category).value, after.preference(category).value
                if was != now:
                    because = _because(before, category), _because(after, category)
                    yield UsageDifference(agent, path, category, was, now, because)
            was, now = before.use or "unknown", after.use or "unknown"
            if was != now:
                yield UsageDifference(agent, path, USE, was, now)


def _because(usage: UsagePreferences, category: str) -> str:
    """The first deciding statement with its source, or that there is no statement."""
    decisive = usage.decided_by(category)
    if not decisive:
        return "nothing is said"
    source = decisive[0].source
    return f"{source.line} | {source.kind}: {decisive[0].text}"
