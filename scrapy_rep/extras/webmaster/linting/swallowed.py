"""Crawlers that get the rules of the next group, although the file seems to intend otherwise.

::

    User-agent: Bingbot
    Crawl-delay: 5

    User-agent: BadBot
    Disallow: /

Only a rule ends a run of user-agent lines (RFC 9309, 2.2.1), so this file bans Bingbot. A group for
several crawlers usually looks different: its user-agent lines follow each other above its rules.

And rules in the group of one crawler that their author seems to mean for all crawlers: they follow
a rule that lets the crawler fetch everything, after a blank line or a comment::

    User-agent: Twitterbot
    Disallow:

    # Lists
    Disallow: /list/

Cost: linear in the lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise

from scrapy_rep.extras.webmaster.effect.rule_patterns import EVERYTHING, is_live
from scrapy_rep.extras.webmaster.findings import Finding, with_fix
from scrapy_rep.extras.webmaster.outline import Block, Line, Outline, name_of, outline
from scrapy_rep.protocol.lines import Kind
from scrapy_rep.protocol.tokens import EVERYONE
from scrapy_rep.protocol.units import counted
from scrapy_rep.protocol.verdict import Verdict, shown

_MOST_OCTETS = 65_536
_OF_THE_RUN = frozenset({b"content-signal", b"content-signals", b"content-usage"})


@dataclass(frozen=True, slots=True)
class Swallowed:
    """A user-agent line without rules of its own, and what applies to its crawler.

    Attributes:
        agent: the line.
        rule: the most important rule of the next group.
        block: the two groups, which are one.
        is_before_star: whether the next group is for all other crawlers.
    """

    agent: Line
    rule: Line
    block: Block
    is_before_star: bool


def swallowed(outlined: Outline) -> Iterator[Swallowed]:
    """The user-agent lines that get the rules of the next group, in file order."""
    places = {line.number: place for place, line in enumerate(outlined.lines)}
    for block in outlined.blocks:
        rule = _told_rule(block)
        stop = last_break(block, places)
        if rule is None or not stop:
            continue
        own = {name_of(line.value) for line in block.agents if line.number > stop}
        for line in block.agents:
            if line.number <= stop and name_of(line.value) not in {*own, ""}:
                yield Swallowed(line, rule, block, EVERYONE in own)


@lru_cache(maxsize=64)
def _swallowed_of(octets: bytes) -> tuple[Swallowed, ...]:
    return tuple(swallowed(outline(octets))) if len(octets) <= _MOST_OCTETS else ()


def swallowed_words(octets: bytes, verdict: Verdict) -> str:
    """How a crawler gets the rules below another user-agent line, in words; otherwise empty.

    `octets` is the file that the verdict is by. It is read once for many verdicts; a large file is
    not read, since that would hold up a crawl.
    """
    for one in _swallowed_of(octets) if verdict.rule is not None else ():
        is_its_name = name_of(one.agent.value) == verdict.product_token
        if is_its_name and any(line.number == verdict.line for line in one.block.rules):
            return (
                f"its user-agent line {one.agent.number} has no rule of its own, so it gets the "
                "rules of the next group (REP320)"
            )
    return ""


def _told_rule(block: Block) -> Line | None:
    """The most important rule: one for everything, otherwise the first that can match."""
    rules = [line for line in block.rules if line.value]
    bans = (line for line in rules if line.kind is Kind.DISALLOW and line.pattern in EVERYTHING)
    return next(bans, rules[0] if rules else None)


def last_break(block: Block, places: dict[int, int]) -> int:
    """The number of the last user-agent line that seems to end a group of its own, or 0.

    Signs of that are a record of a group below the line, or a blank line, if the rules of the group
    are directly below its last user-agent line.

    Args:
        block: the group.
        places: the place of each line that is not blank, by its number.
    """
    numbers = [line.number for line in block.agents]
    records = [line.number for line in block.others if line.name not in _OF_THE_RUN]
    below = block.rules[0].number if block.rules else numbers[-1]
    is_tight = not _has_blank(numbers[-1], below, places)
    ends = [one for one, after in pairwise(numbers) if is_tight and _has_blank(one, after, places)]
    last_record = max((number for number in records if number < numbers[-1]), default=0)
    return max([0, *ends, *(number for number in numbers if number < last_record)])


def _has_blank(start: int, stop: int, places: dict[int, int]) -> bool:
    return places[stop] - places[start] < stop - start


def misplaced_rules(block: Block) -> list[Line]:
    """The misplaced rules of a group; empty without any, or if the group names ``*``, too."""
    if EVERYONE in block.names:
        return []
    first, rest = block.rules[:1], block.rules[1:]
    is_open = any(
        not line.value or (line.kind is Kind.ALLOW and line.pattern in EVERYTHING) for line in first
    )
    has_gap = bool(rest) and rest[0].number > first[0].number + 1
    has_ban = any(line.kind is Kind.DISALLOW and is_live(line.pattern) for line in rest)
    return rest if is_open and has_gap and has_ban else []


def told_of_misplaced(found: Finding, block: Block, rules: list[Line], thing: str) -> Finding:
    """A finding about a line or a blank line that says that these rules are in the wrong group."""
    name = shown(block.agents[-1].value)
    where = f"from line {rules[0].number} on"
    are = "is" if len(rules) == 1 else "are"
    detail = f"{counted(len(rules), 'rule')} {where} {are} in the group for {name} only"
    text = (
        f"if the rules {where} are for all crawlers, move them to a group for *, and repeat them "
        f"in each group that should obey them; otherwise remove the {thing}"
    )
    return with_fix(replace(found, detail=detail), text)
