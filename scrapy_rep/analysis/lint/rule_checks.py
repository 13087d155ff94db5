"""Checks of single rules, and of equal rules. Linear in the octets, except for sorting."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from scrapy_rep.analysis.checks.codes import Code
from scrapy_rep.analysis.findings import MOST_WILDCARDS, Finding, value_finding
from scrapy_rep.analysis.outline import Block, Line, Outline
from scrapy_rep.protocol.lines import RULES, Kind

NEEDLESS_ESCAPE = rb"%(?:2[DEde]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])"
"""Escapes of characters that need none."""

_YANDEX_OCTETS = 1024
_URL = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://|//[^/][^/.]*\.[^/]+/")
_SEVERAL = re.compile(rb"(?<![\s,])[\s,]+(?:/|\*/|https?:)")
# Ranges and alternatives; bounded, so that the search is linear.
_EXPRESSION = rb"\.\*(?=.)|\[\^?\w-\w[^\[\]]{0,40}\]|\([^()]{0,60}\|[^()]{0,60}\)|\\[.dw]|^\^"


def _search(pattern: bytes) -> Callable[[bytes], re.Match[bytes] | None]:
    return re.compile(pattern).search


# The checks of a value: its code, and an expression that finds it in the value. Of rows with the
# same number only the first match is reported, since the others follow from it.
_VALUE_CHECKS: tuple[tuple[int, Code, Callable[[bytes], re.Match[bytes] | None]], ...] = (
    (1, Code.FULL_URL, _URL.match),
    (1, Code.SEVERAL_PATHS, _SEVERAL.search),
    (1, Code.RULE_MATCHES_NOTHING, re.compile(rb"(?![/*]).+", re.DOTALL).match),
    (1, Code.SPACE_IN_PATH, _search(rb"\s")),
    (2, Code.REGULAR_EXPRESSION, _search(_EXPRESSION)),
    (2, Code.BACKSLASH, _search(rb"\\")),
    (3, Code.DOT_SEGMENTS, _search(rb"/\.{1,2}(?:/|$|\?)")),
    (4, Code.DOLLAR_NOT_LAST, _search(rb"\$(?=.)")),
    (5, Code.BAD_ESCAPE, _search(rb"%(?![0-9A-Fa-f]{2})")),
    (6, Code.NOT_ASCII, _search(rb"[\x80-\xff]+")),
    (13, Code.CONTROL_CHARACTER, _search(rb"[\x01-\x08\x0e-\x1f\x7f]+")),
    (7, Code.REPEATED_STAR, _search(rb"\*\*+")),
    (7, Code.TRAILING_STAR, _search(rb"(?<=.)\*$")),
    (8, Code.NEEDLESS_ESCAPE, _search(NEEDLESS_ESCAPE)),
    (9, Code.LOWER_CASE_ESCAPE, _search(rb"%(?:[89A-Fa-f][a-f]|[a-f][0-9A-Fa-f])")),
    (10, Code.LEADING_STAR, re.compile(rb"\*(?=.)").match),
    (11, Code.ESCAPED_SLASH, re.compile(rb"[^?]*?(%2[Ff]|%3[Ff])").match),
    (12, Code.RULE_TOO_LONG, re.compile(rb".{%d}" % (_YANDEX_OCTETS + 1), re.DOTALL).match),
)


def rule_findings(outlined: Outline) -> Iterator[Finding]:
    """Findings about rules."""
    rules = [line for line in outlined.lines if line.kind in RULES]
    for line in rules:
        yield from _value_findings(line)
    wildcards = sum(b"*" in line.value for line in rules)
    if wildcards > MOST_WILDCARDS:
        yield Finding(Code.MANY_WILDCARDS, detail=f"{wildcards:,}")
    for block in outlined.blocks:
        yield from _empty_findings(block)
    yield from _same_findings(outlined)


def _value_findings(line: Line) -> Iterator[Finding]:
    told = 0
    for number, code, holds in _VALUE_CHECKS:
        match = holds(line.value) if number != told else None
        if match is not None:
            told = number
            at = line.value_at + match.start(match.lastindex or 0)
            found = match[match.lastindex or 0] or line.value
            yield Finding(code, line.number, found[:200], line.column_of(at))
    before, mark, _ = line.octets.partition(b"#")
    if mark and line.value and not before[-1:].isspace():
        yield Finding(Code.FRAGMENT, line.number, b"#", line.column_of(len(before)))
    if line.kind is Kind.DISALLOW and line.pattern in ("/robots.txt", "/robots.txt$"):
        yield Finding(Code.BLOCKS_ROBOTS, line.number, line.value, line.value_column)


def _empty_findings(block: Block) -> Iterator[Finding]:
    has_rules = any(line.value for line in block.rules)
    for line in block.rules:
        if line.value:
            continue
        if line.kind is Kind.ALLOW:
            yield Finding(Code.EMPTY_ALLOW, line.number, line.key, line.key_column)
        elif has_rules:
            yield Finding(Code.EMPTY_BESIDE_RULES, line.number, line.key, line.key_column)


def _same_findings(outlined: Outline) -> Iterator[Finding]:
    """Rules of one group with the same normal form."""
    for block in outlined.blocks:
        first: dict[tuple[Kind | None, str], Line] = {}
        for line in block.rules:
            if not line.pattern:
                continue
            same = first.setdefault((line.kind, line.says), line)
            if same is not line:
                yield value_finding(Code.DUPLICATE_RULE, line, f"see line {same.number}")
        for (kind, pattern), line in first.items():
            allow = first.get((Kind.ALLOW, pattern))
            if kind is Kind.DISALLOW and allow is not None:
                later, other = (line, allow) if line.number > allow.number else (allow, line)
                yield value_finding(Code.TIE, later, f"see line {other.number}")
