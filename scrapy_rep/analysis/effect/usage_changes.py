"""Where two files differ in what they say about the use of content, on URLs that both judge alike.

Each agent is asked about probe URLs built from the paths of Content-Usage and Content-Signal
records, as in `differences` about those of rules. A URL whose verdict changes is left to that: what
a file says of the use of pages that nobody may fetch is another question.

Cost: all work is counted in steps of some 0.1 us, and ends with `MOST_STEPS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scrapy_rep.analysis.outline import Outline, outline
from scrapy_rep.protocol.document import RobotsTxt
from scrapy_rep.protocol.usage.categories import CATEGORIES, NO_TOKENS
from scrapy_rep.protocol.usage.preference import UsagePreferences
from scrapy_rep.protocol.usage.robots import FileUsage
from scrapy_rep.protocol.usage.scoped import divided

from .differences import UNNAMED, TooMuchToCompare, agents_of
from .probes import probes
from .rule_patterns import StepBudget

MOST_STEPS = 40_000_000
"""How much work a comparison may be."""

USE = "use"
"""What stands beside the categories: how much of the content may be used."""

_NAMES = (b"content-usage", b"content-signal", b"content-signals")
_READING_OCTETS = 10  # of a file, read in a step
_PROBE_STEPS = 600  # two files asked about a path
_PATTERN_STEPS = 20  # each of their patterns tried
_PATTERN_OCTETS = 10  # so many octets of one, each time that it is tried


@dataclass(frozen=True, slots=True)
class UsageDifference:
    """A URL of which two files say something else to one agent.

    Attributes:
        agent: who asks.
        path: the URL.
        category: one of `CATEGORIES`, or `USE`.
        before: what the old file says: ``y``, ``n``, ``unknown``; or how much may be used.
        after: what the new file says.
        because: the sources of what the old file says, and of what the new one says, in words.
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
    """The probes of which two files say something else about use.

    Args:
        old: the one file.
        new: the other one.
        agents: product tokens; by default all that either file names, and `UNNAMED`.
        steps: how much work it may be.

    Raises:
        InvalidProductToken: one of the agents could never be named.
        TooMuchToCompare: it would be more work. Differences that were found come first.
    """
    outlines = [
        outline(file.octets, file.uri, limit_octets=len(file.octets) + 1) for file in (old, new)
    ]
    patterns = [_patterns(one) for one in outlines]
    if not any(patterns):
        return
    asked = tuple(agents_of(*outlines) if agents is None else agents)
    paths = tuple(probes([*patterns[0], *patterns[1]], {*patterns[0]} ^ {*patterns[1]}))
    budget = StepBudget(steps)
    read = 1 + (len(old.octets) + len(new.octets)) // _READING_OCTETS
    each = _PROBE_STEPS + sum(
        _PATTERN_STEPS + len(pattern) // _PATTERN_OCTETS for side in patterns for pattern in side
    )
    for number, agent in enumerate(asked):
        if not budget.take(read + each * len(paths)):
            raise TooMuchToCompare(asked[:number], asked[number:], number * len(paths))
        yield from _of_agent(agent, old, new, paths)


def _patterns(outlined: Outline) -> list[str]:
    """The paths of all records about use, in normal form, each once."""
    values = (line.value for line in outlined.lines if line.name in _NAMES)
    return list(dict.fromkeys(divided(value)[0] for value in values))


def _of_agent(
    agent: str, old: RobotsTxt, new: RobotsTxt, paths: Iterable[str]
) -> Iterator[UsageDifference]:
    tokens = () if agent == UNNAMED else (agent,)
    selections = [file.selection(tokens) for file in (old, new)]
    usages = [
        FileUsage.of(file.text, file.uri, selection, NO_TOKENS)
        for file, selection in zip((old, new), selections, strict=True)
    ]
    for path in paths:
        allowed = {selection.verdict(path).allowed for selection in selections}
        if len(allowed) == 1:
            before, after = (usage.preferences(path) for usage in usages)
            yield from _between(agent, path, before, after)


def _between(
    agent: str, path: str, before: UsagePreferences, after: UsagePreferences
) -> Iterator[UsageDifference]:
    if before.statements == after.statements and before.use == after.use:
        return
    for category in CATEGORIES:
        was, now = before.preference(category).value, after.preference(category).value
        if was != now:
            because = _because(before, category), _because(after, category)
            yield UsageDifference(agent, path, category, was, now, because)
    if before.use != after.use:
        yield UsageDifference(agent, path, USE, before.use or "unknown", after.use or "unknown")


def _because(usage: UsagePreferences, category: str) -> str:
    """The first statement that decides, where it stands and as it is written; or that none does."""
    decisive = usage.decided_by(category)
    if not decisive:
        return "nothing is said"
    source = decisive[0].source
    return f"{source.line} | {source.kind}: {decisive[0].text}"
