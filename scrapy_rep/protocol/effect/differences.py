"""Where two files differ in what they mean: by asking both, not by comparing their text.

Every agent that either file names, and one that none does, is asked about every probe URL built
from the rules of both. Agents for which both files have the very same rules share their answers.

Cost: the core's verdicts, one in each file for each probe and set of rules; and one reading of
both files for each agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scrapy_rep.protocol.document import RobotsTxt
from scrapy_rep.protocol.lines import RULES
from scrapy_rep.protocol.outline import Outline, outline, token_of
from scrapy_rep.protocol.tokens import EVERYONE
from scrapy_rep.protocol.verdict import Verdict

from .patterns import pattern_of
from .probes import probes

UNNAMED = "*"
"""The agent that stands for all that no group names."""

_HOST = "https://host"  # a path that begins with // would be one, if it stood alone


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


def probes_of(*outlines: Outline) -> tuple[str, ...]:
    """The probe URLs built from all rules of all files."""
    values = {
        line.value: None for outlined in outlines for line in outlined.lines if line.kind in RULES
    }
    return probes(map(pattern_of, values))


def differences(
    old: RobotsTxt, new: RobotsTxt, agents: Iterable[str] | None = None
) -> Iterator[Difference]:
    """The probes on which two files disagree about allowed or not.

    Args:
        old: the one file.
        new: the other one.
        agents: product tokens; by default all that either file names, and `UNNAMED`.

    Raises:
        InvalidProductToken: one of the agents could never be named.
    """
    outlines = outline_of(old), outline_of(new)
    paths = probes_of(*outlines)
    asked = agents_of(*outlines) if agents is None else tuple(agents)
    known: dict[tuple[object, object], list[tuple[str, Verdict, Verdict]]] = {}
    for agent in asked:
        tokens = () if agent == UNNAMED else (agent,)
        key = _group_of(old, tokens), _group_of(new, tokens)
        if key not in known:
            known[key] = [
                (path, before, after)
                for path in paths
                if (before := old.verdict(tokens, _HOST + path)).allowed
                != (after := new.verdict(tokens, _HOST + path)).allowed
            ]
        for path, before, after in known[key]:
            yield Difference(agent, path, before, after)


def outline_of(robots_txt: RobotsTxt) -> Outline:
    """The outline of a file that was read already, of which nothing more is cut."""
    return outline(robots_txt.octets, robots_txt.uri, limit_octets=len(robots_txt.octets) + 1)


def _group_of(robots_txt: RobotsTxt, tokens: tuple[str, ...]) -> object:
    """By which to know that two agents have the same rules: their lines."""
    group = robots_txt.group(tokens)
    return None if group is None else tuple(rule.line for rule in group.rules)
