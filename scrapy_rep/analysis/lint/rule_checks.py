"""Checks of single rules, and of equal rules. Linear in the octets, except for sorting."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace

from scrapy_rep.analysis.checks.codes import Code, Effect
from scrapy_rep.analysis.findings import MOST_WILDCARDS, Finding, value_finding
from scrapy_rep.analysis.mending import Mend
from scrapy_rep.analysis.outline import Block, Line, Outline
from scrapy_rep.protocol.lines import RULES, Kind
from scrapy_rep.protocol.verdict import shown

NEEDLESS_ESCAPE = rb"%(?:2[DEde]|3[0-9]|[46][1-9A-Fa-f]|[57][0-9Aa]|5[Ff]|7[Ee])"
"""Escapes of characters that need none."""

_YANDEX_OCTETS = 1024
_URL = re.compile(rb"[A-Za-z][A-Za-z0-9+.-]*://|//[^/][^/.]*\.[^/]+/")
_SEVERAL = re.compile(rb"(?<![\s,*])[\s,]+(?:/|\*/|https?://)")
# Ranges, alternatives and escapes; bounded, so that the search is linear. A dot before a star is
# usually a dot: /main.*.js.
_EXPRESSION = (
    rb"(?:(?<=^)|(?<=[/^(]))\.\*(?=[^/*$])|\[\^?\w-\w[^\[\]]{0,40}\]|\([^()]{0,60}\|[^()]{0,60}\)"
    rb"|\([^()]{0,60}\)[*+?$]|\\[^\sA-Za-z0-9\\]|\\[dws](?![A-Za-z])|^\^"
)
_INVISIBLE = (
    rb"(?:[\x01-\x08\x0e-\x1f\x7f]|(?<!\xc3[\x80-\xbf])\xc2[\xa0\xad]|\xe2\x80[\x8b-\x8f\xaa-\xae]|\xe2\x81[\xa0-\xa9]"
    rb"|\xef\xbb\xbf)+"
)

_MOST_ADVISED = 200  # characters of a value in advice
_ESCAPE = re.compile(r"\\([^\sA-Za-z0-9\\])")
_NOTHING = ("none", "nothing", "no", "false", "null", "n/a", "-")
_ALL = ("all", "everything", "any", "yes", "true", "site")
_DAMAGED_URL = re.compile(r"https?[:;/]", re.IGNORECASE)
_ENDING = re.compile(r"\.\w{1,5}[$*]?")
_AFTER_AUTHORITY = re.compile(r"(?=[/?#])|\Z")
_HOST_FIRST = re.compile(
    r"(?:[\w-]+\.)+([A-Za-z]{2,18})(?::\d+)?/|(?:www\.)?(?:[\w-]+\.)+(com|org|net)(?::\d+)?$"
)
_FILES = frozenset(  # endings of file names that look like those of hosts
    ["php", "html", "htm", "asp", "aspx", "jsp", "xml", "txt", "js", "css", "json", "pdf", "cgi"]
)
_WORD = re.compile(r"[\w.~-]")


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
    (6, Code.INVISIBLE_IN_PATH, _search(_INVISIBLE)),
    (6, Code.NOT_ASCII, _search(rb"[\x80-\xff]+")),
    (7, Code.REPEATED_STAR, _search(rb"\*\*+")),
    (7, Code.TRAILING_STAR, _search(rb"(?<=.)\*$")),
    (8, Code.NEEDLESS_ESCAPE, _search(NEEDLESS_ESCAPE)),
    (9, Code.LOWER_CASE_ESCAPE, _search(rb"%(?:[89A-Fa-f][a-f]|[a-f][0-9A-Fa-f])")),
    (10, Code.LEADING_STAR, re.compile(rb"\*(?=.)").match),
    (11, Code.ESCAPED_SLASH, re.compile(rb"[^?]*?(%2[Ff]|%3[Ff])").match),
    (12, Code.RULE_TOO_LONG, re.compile(rb".{%d}" % (_YANDEX_OCTETS + 1), re.DOTALL).match),
)


_NO_PATH = (Code.FULL_URL, Code.SEVERAL_PATHS)
"""After these, advice about parts of the path would mislead."""


def rule_findings(outlined: Outline) -> Iterator[Finding]:
    """Findings about rules."""
    rules = [line for line in outlined.lines if line.kind in RULES]
    for line in rules:
        yield from _value_findings(line, outlined.uri)
    wildcards = sum(b"*" in line.value for line in rules)
    if wildcards > MOST_WILDCARDS:
        yield Finding(Code.MANY_WILDCARDS, detail=f"{wildcards:,}")
    for block in outlined.blocks:
        yield from _empty_findings(block)
    yield from _same_findings(outlined)


def _value_findings(line: Line, uri: str) -> Iterator[Finding]:
    told = 0
    for number, code, holds in _VALUE_CHECKS:
        match = holds(line.value) if number != told else None
        if match is not None:
            told = number
            at = line.value_at + match.start(match.lastindex or 0)
            found = match[match.lastindex or 0] or line.value
            detail = _letters_meant(line.value) if code is Code.NOT_ASCII else ""
            finding = Finding(code, line.number, found[:200], line.column_of(at), detail)
            text = _advice(code, line, uri)
            yield replace(finding, proposal=Mend(text, Effect.CHANGES)) if text else finding
            if code in _NO_PATH:
                break
    before, mark, _ = line.octets.partition(b"#")
    if mark and line.value and not before[-1:].isspace():
        yield Finding(Code.FRAGMENT, line.number, b"#", line.column_of(len(before)))
    if line.kind is Kind.DISALLOW and line.pattern in ("/robots.txt", "/robots.txt$"):
        yield Finding(Code.BLOCKS_ROBOTS, line.number, line.value, line.value_column)


def _letters_meant(value: bytes) -> str:
    """The words for UTF-8 that was read as Windows-1252, and encoded again; otherwise empty."""
    try:
        once = b"".join(map(_octet, value.decode("utf-8")))
        text = once.decode("utf-8")
    except UnicodeError:
        return ""
    return "" if text.isascii() else f"they are encoded twice; perhaps {shown(once[:200])}"


def _octet(letter: str) -> bytes:
    try:
        return letter.encode("cp1252")
    except UnicodeEncodeError:
        return letter.encode("latin-1")


def _advice(code: Code, line: Line, uri: str) -> str:
    """The fix that a value suggests; empty if the words of the table fit."""
    value = shown(line.value)
    if len(value) > _MOST_ADVISED:
        return ""
    if code is Code.RULE_MATCHES_NOTHING:
        return _advice_for_no_path(value, uri)
    if code is Code.FULL_URL:
        return _advice_for_url(value, uri)
    if code is Code.REGULAR_EXPRESSION:
        plain = _as_wildcards(value)
        return f"perhaps {plain} is meant; otherwise write it as several rules" if plain else ""
    return ""


def _as_wildcards(value: str) -> str:
    """A simple regular expression as a path pattern; empty if that is not possible."""
    plain = _ESCAPE.sub(r"\1", value.removeprefix("^")).replace(".*", "*")
    is_simple = plain.startswith(("/", "*")) and not re.search(_EXPRESSION, plain.encode())
    return plain if is_simple and plain != value else ""


def _advice_for_url(value: str, uri: str) -> str:
    host, path = _authority_and_path(value)
    own, _ = _authority_and_path(uri)
    if host.lower().removeprefix("www.") == own.lower().removeprefix("www."):
        return f"write only the path: {path}"
    return f"remove the line, or write {path} in the robots.txt of {host}"


def _authority_and_path(url: str) -> tuple[str, str]:
    host, path = _AFTER_AUTHORITY.split(url.partition("//")[2], maxsplit=1)
    return host, path or "/"


def _advice_for_no_path(value: str, uri: str) -> str:
    word = value.lower()
    host, ending = _HOST_FIRST.match(value), _ENDING.fullmatch(value)
    is_host = host is not None and (host[1] or host[2]).lower() not in _FILES
    rows = (
        (word in _NOTHING, "write an empty Disallow if everything may be fetched, or / if nothing"),
        (word in _ALL, "write / for everything"),
        (_DAMAGED_URL.match(value), "write only the path of the URL, from the / after the host on"),
        (ending, f"write /*{value.rstrip('$*')}$ for all paths with this ending"),
        (value.startswith(("?", "&", "=")), f"write /*{value} if a part of the query is meant"),
        (value.startswith("."), f"write /*{value} for any place"),
        (is_host, _advice_for_url(f"http://{value}", uri)),
        (_WORD.match(value), f"write /{value} for the top of the site, or /*{value} for any place"),
    )
    usual = "write the path as it is in the URL, from the / after the host on"
    return next((text for holds, text in rows if holds), usual)


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
