"""Checks of groups and user-agent lines. Linear in the octets, except for sorting."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import islice, pairwise, takewhile
from operator import attrgetter

from scrapy_rep.analysis.checks.codes import Code
from scrapy_rep.analysis.findings import Finding, value_finding
from scrapy_rep.analysis.outline import Block, Line, Outline, name_of
from scrapy_rep.protocol.lines import RULES, Kind
from scrapy_rep.protocol.tokens import EVERYONE, IDENTIFIER, token_of
from scrapy_rep.protocol.verdict import shown

from .crawler_names import KNOWN, may_not_obey, nearly, own_group_only
from .swallowed import swallowed

_VERSION = re.compile(IDENTIFIER.encode() + rb"+/\S*$")
# Findings about names that are not product tokens; not for names that an operator documents.
_OF_ODD_NAMES = (Code.USER_AGENT_CUT, Code.USER_AGENT_NAMES_NOBODY)
_MOST_NAMES = 500  # different names that are compared with the known ones


def group_findings(outlined: Outline) -> Iterator[Finding]:
    """Findings about groups."""
    for line in outlined.before:
        if line.kind in RULES:
            yield Finding(Code.RULE_BEFORE_GROUP, line.number, line.value, line.key_column)
    near_left = _MOST_NAMES
    for block in outlined.blocks:
        yield from _repeated(block)
        for line in block.agents:
            yield from _agent_findings(line)
        for name in block.names if near_left > 0 else ():
            near_left -= 1
            meant = nearly(name)
            if meant is not None:
                yield value_finding(Code.USER_AGENT_NEAR, _by_name(block)[name], f"perhaps {meant}")
    yield from _merge_findings(outlined)
    yield from _layout_findings(outlined)
    yield from _coverage_findings(outlined)


def _agent_findings(line: Line) -> Iterator[Finding]:
    name = name_of(line.value)
    code = _agent_code(line.value)
    is_documented = code in _OF_ODD_NAMES and name in KNOWN
    if code is not None and not is_documented:
        yield value_finding(code, line)
    if by := may_not_obey(name):
        yield value_finding(Code.UNENFORCEABLE, line, by)


def _agent_code(value: bytes) -> Code | None:
    """The first unusual thing in the value of a user-agent line, or None."""
    name = name_of(value)
    rows = (
        (not value, Code.USER_AGENT_EMPTY),
        (name == EVERYONE and value == b"*", None),
        (value.lower().startswith((b"mozilla/", b"mozilla ")), Code.USER_AGENT_HEADER),
        (b"," in value, Code.USER_AGENT_LIST),
        (b"*" in value and value != b"*", Code.USER_AGENT_WILDCARD),
        (not token_of(name), Code.USER_AGENT_NAMES_NOBODY),
        (_VERSION.match(value) is not None, Code.USER_AGENT_VERSION),
        (token_of(name) != value.decode("utf-8", "replace").lower(), Code.USER_AGENT_CUT),
    )
    return next((code for holds, code in rows if holds), None)


def _repeated(block: Block) -> Iterator[Finding]:
    seen: set[str] = set()
    for line in block.agents:
        name = name_of(line.value)
        if name and name in seen:
            yield value_finding(Code.USER_AGENT_REPEATED, line)
        seen.add(name)


def _merge_findings(outlined: Outline) -> Iterator[Finding]:
    """Groups with the same name: they are merged, but not by all crawlers."""
    said = [{(line.kind, line.says) for line in b.rules} for b in outlined.blocks]
    named = [_by_name(block) for block in outlined.blocks]
    for name, indices in outlined.by_name.items():
        first, *more = indices
        above = outlined.blocks[first].agents[0].number
        for index in more:
            if name == EVERYONE:
                code = Code.MULTIPLE_STAR
            elif said[index] == said[first]:
                code = Code.DUPLICATE_GROUP
            else:
                code = Code.GROUP_SHADOWED
            yield value_finding(code, named[index][name], f"see line {above}")


def _by_name(block: Block) -> dict[str, Line]:
    """The first line of a group for each name."""
    return {name_of(line.value): line for line in reversed(block.agents)}


def _layout_findings(outlined: Outline) -> Iterator[Finding]:
    """Lines in the middle of a group at which some parsers end it.

    If crawlers get the rules of the next group because of such a line, only that is reported: the
    advice for the line would make the mistake permanent.
    """
    cut: dict[int, int] = {}
    for found in swallowed(outlined):
        detail = f"line {found.rule.number}: {shown(found.rule.octets.strip()[:80])}"
        yield value_finding(Code.GROUP_SWALLOWED, found.agent, detail)
        cut[found.rule.number] = found.agent.number
    for block in outlined.blocks:
        first_rule = block.rules[0].number if block.rules else 0
        start = max((cut.get(line.number, 0) for line in block.rules), default=0)
        start = next((a.number for a in block.agents if a.number > start), block.agents[-1].number)
        for line in block.others:
            if start < line.number < block.agents[-1].number:
                yield Finding(
                    Code.RECORD_SPLITS_GROUP,
                    line.number,
                    line.octets.strip()[:200],
                    line.key_column,
                )
        yield from _blank_lines(outlined, start, first_rule)
    last = outlined.blocks[-1] if outlined.blocks else None
    if last is not None and not last.rules:
        yield value_finding(Code.GROUP_WITHOUT_RULES, last.agents[-1])


def _blank_lines(outlined: Outline, start: int, stop: int) -> Iterator[Finding]:
    """The first blank line between a group's first user-agent line and its first rule."""
    first = bisect_left(outlined.lines, start, key=attrgetter("number"))
    numbers = (line.number for line in islice(outlined.lines, first, None))
    for previous, number in pairwise(takewhile(lambda number: number <= stop, numbers)):
        if number > previous + 1:
            yield Finding(Code.BLANK_LINE_INSIDE, previous + 1)
            return


def _coverage_findings(outlined: Outline) -> Iterator[Finding]:
    names = outlined.by_name
    if outlined.blocks and EVERYONE not in names:
        yield Finding(Code.NO_STAR)
    for index in names.get(EVERYONE, ()):
        block = outlined.blocks[index]
        for line in block.rules:
            if line.kind is Kind.DISALLOW and line.pattern in ("/", "/*", "*"):
                yield Finding(Code.DISALLOW_ALL, line.number, line.value, line.value_column)
                if left := own_group_only(names):
                    yield value_finding(
                        Code.OWN_TOKEN_ONLY, line, ", ".join(one.token for one in left)
                    )
