"""Edits of a file that shut known crawlers out, or let them in, and the proof of the new file.

A crawler that the file treats as wanted keeps its lines: one to shut out if it may fetch nothing,
one to let in if it may fetch ``/``. So a second run changes nothing. For the others, the file gets
``Disallow: /`` or ``Allow: /``: a group that names only such crawlers gets this rule instead of its
own; a group that names others too loses the lines of such crawlers. The crawlers that are left get
lines in a group that has just this rule, or in a new group at the end. Those that are let in keep
the preferences and the delays of the group that they leave.

Cost: linear in the octets for each crawler, plus the cost of `differences`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from scrapy_rep.extras.webmaster.agents.crawlers import OWN_GROUP_ONLY, Crawler
from scrapy_rep.extras.webmaster.effect.differences import (
    UNNAMED,
    Difference,
    agents_of,
    differences,
)
from scrapy_rep.extras.webmaster.effect.rule_patterns import EVERYTHING, is_live, pattern_of
from scrapy_rep.extras.webmaster.effect.usage_changes import (
    USAGE_KEYS,
    UsageDifference,
    usage_differences,
)
from scrapy_rep.extras.webmaster.mending import Edit, EditPlace
from scrapy_rep.extras.webmaster.outline import Block, Outline, name_of, outline
from scrapy_rep.protocol.document import RobotsTxt
from scrapy_rep.protocol.extensions.pace import PACE_KEYS
from scrapy_rep.protocol.lines import Kind
from scrapy_rep.protocol.tokens import token_of

from .bindings import name_in_file, names_of_groups

Wanted = Mapping[Crawler, bool]
"""Crawlers, and whether the file is to let them in."""

_Below = tuple[bool, tuple[bytes, ...]]
_RULES = {True: b"Allow: /", False: b"Disallow: /"}
_SIDES = {(Kind.ALLOW, "/"): True, (Kind.DISALLOW, "/"): False}
_KEPT = {*PACE_KEYS, *USAGE_KEYS}


def to_change(robots_txt: RobotsTxt, wanted: Wanted) -> dict[Crawler, bool]:
    """The crawlers that the file does not treat as wanted."""
    odd = (one for one in wanted if not _is_as_wanted(robots_txt, one, allowed=wanted[one]))
    return {crawler: wanted[crawler] for crawler in odd}


def _is_as_wanted(robots_txt: RobotsTxt, crawler: Crawler, *, allowed: bool) -> bool:
    names = names_of_groups(crawler)
    is_named = robots_txt.selection(names).product_token in names
    ignores_group = crawler.obeys == OWN_GROUP_ONLY and not is_named
    if allowed:
        return ignores_group or robots_txt.verdict("/", names).allowed
    group = None if ignores_group else robots_txt.group(names)
    rules = () if group is None else group.rules
    patterns = [(one.allow, pattern_of(one.path_pattern)) for one in rules]
    opens = any(allow and is_live(pattern) for allow, pattern in patterns)
    return not opens and any(not allow and text in EVERYTHING for allow, text in patterns)


def access_edits(
    robots_txt: RobotsTxt, outlined: Outline, wanted: Wanted, changed: Wanted
) -> Iterator[Edit]:
    """The edits that give each changed crawler the rule that is wanted."""
    sides = {name_in_file(crawler): allowed for crawler, allowed in changed.items()}
    all_sides = {name_in_file(crawler): allowed for crawler, allowed in wanted.items()}
    homes: dict[bool, Block] = {}
    placed: set[str] = set()
    is_open = bool(outlined.blocks) and not outlined.blocks[-1].rules
    for block in outlined.blocks:
        said = [sides.get(name_of(line.value)) for line in block.agents]
        own = None if None in said else said[0]
        for line, side in zip(block.agents, said, strict=True):
            if side is not None and side is not own:
                yield Edit(EditPlace.AT, line.number)
        if own is not None:
            placed.update(name for name in block.names if sides[name] is own)
            yield from _rule_edits(block, _RULES[own])
            is_open = is_open and block is not outlined.blocks[-1]
        home = own if own is not None else _rule_of(block)
        names_only = all(all_sides.get(name) is home for name in block.names if name not in sides)
        if home is not None and names_only and block.rules and not block.others:
            homes.setdefault(home, block)
    left = {one: side for one, side in changed.items() if name_in_file(one) not in placed}
    new = []
    for (side, kept), lines in _new_groups(robots_txt, left).items():
        if side in homes and not kept:
            at = homes[side].agents[-1].number
            yield from (Edit(EditPlace.BELOW, at, line) for line in lines)
        else:
            new += [b"", *lines, *kept, _RULES[side]]
    if new and is_open:  # the last group would go on into the new one
        yield Edit(EditPlace.BELOW, outlined.blocks[-1].agents[-1].number, b"Disallow:")
    yield from (Edit(EditPlace.END, 0, line) for line in new[not outlined.lines :])


def _new_groups(robots_txt: RobotsTxt, crawlers: Wanted) -> dict[_Below, list[bytes]]:
    """The user-agent lines, by the rule and the kept lines below them."""
    found: dict[_Below, list[bytes]] = {}
    for crawler, side in crawlers.items():
        kept = _kept(robots_txt, crawler) if side else ()
        found.setdefault((side, kept), []).append(b"User-agent: " + crawler.token.encode())
    return found


def _kept(robots_txt: RobotsTxt, crawler: Crawler) -> tuple[bytes, ...]:
    """The lines with preferences and delays in the group that a crawler takes."""
    group = robots_txt.group(names_of_groups(crawler))
    records = () if group is None else group.other_records
    return tuple(one.key + b": " + one.value for one in records if one.key.lower() in _KEPT)


def _rule_edits(block: Block, rule: bytes) -> Iterator[Edit]:
    """The edits that leave a group this rule alone."""
    if not block.rules:
        yield Edit(EditPlace.BELOW, block.agents[-1].number, rule)
    for number, line in enumerate(block.rules):
        yield Edit(EditPlace.AT, line.number, None if number else rule)


def _rule_of(block: Block) -> bool | None:
    """Whether the only rule of a group allows or disallows everything; None without such a rule."""
    said = {(line.kind, line.pattern) for line in block.rules}
    return next((side for one, side in _SIDES.items() if said == {one}), None)


def first_change(
    old: RobotsTxt, new: RobotsTxt, wanted: Wanted, changed: Wanted
) -> Difference | UsageDifference | str | None:
    """The first change for a crawler that must stay the same, or a failed change; None without one.

    A name such as AI2Bot is read as AI by strict parsers, so it may change what AI gets, unless
    the old file names AI. Crawlers that get the same records from both files get the same verdicts.
    A string names a crawler if its pace differs, or if it would not get what the caller wants.

    Raises:
        TooMuchToCompare: the files are too much to compare.
    """
    outlines = [outline(one.octets, one.uri) for one in (old, new)]
    names = {name_in_file(crawler) for crawler in changed}
    read = {token_of(name) for name in names} - {*outlines[0].by_name}
    others = [agent for agent in agents_of(*outlines) if agent.lower() not in names | read]
    compared = [one for one in others if _said(old, one) != _said(new, one)]
    for found in (differences(old, new, compared), usage_differences(old, new, compared)):
        for one in found:
            return one
    for agent in others:
        if old.site_pace(_tokens(agent)) != new.site_pace(_tokens(agent)):
            return agent
    return next((crawler.token for crawler in to_change(new, wanted)), None)


def _tokens(agent: str) -> tuple[str, ...]:
    return () if agent == UNNAMED else (agent,)


def _said(robots_txt: RobotsTxt, agent: str) -> list[tuple[object, ...]]:
    """The records of the merged group of a crawler, without user-agent lines."""
    records = robots_txt.selection(_tokens(agent)).records()
    return [record[1:] for record in records if record[1] is not Kind.USER_AGENT]
