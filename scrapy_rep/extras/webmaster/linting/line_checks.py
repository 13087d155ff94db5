"""Checks of single lines and their keys. Linear in the octets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from scrapy_rep.extras.webmaster.checks.codes import Code, Effect
from scrapy_rep.extras.webmaster.findings import CODE_OF_CODING, YANDEX_RULES, Finding
from scrapy_rep.extras.webmaster.mending import Mend
from scrapy_rep.extras.webmaster.outline import KEYS, Line, Outline
from scrapy_rep.protocol.compressed import GZIP_MAGIC
from scrapy_rep.protocol.lines import (
    BOMS_WITH_NUL,
    KNOWN_KEYS,
    LINE_LIMIT_OCTETS,
    RULES,
    Kind,
    clean,
    line_number,
    records,
)
from scrapy_rep.protocol.units import counted
from scrapy_rep.protocol.verdict import shown

from .crawler_names import is_one_slip
from .rule_checks import is_utf8

_NO_RULES = Mend(
    "leave it if everything may be fetched; otherwise write User-agent, and rules below it",
    Effect.OUTSIDE,
)

_UNSUPPORTED_KEYS = frozenset(
    {
        *[b"robot-version", b"comment", b"domain", b"revisit-after", b"noarchive", b"nofollow"],
        *[b"nosnippet", b"unavailable_after", b"cache-delay", b"llm-policy", b"index", b"follow"],
        *[b"tdm-reservation", b"tdm-policy"],
    }
)
_SCHEMES = (b"http", b"https")
_SPELLINGS = tuple(word.decode().lower() for word in (*KEYS.values(), *sorted(KNOWN_KEYS)))
_LONGEST_KEY = 24  # longer unknown keys are not compared with the known ones


def line_findings(outlined: Outline) -> Iterator[Finding]:
    """Findings about single lines."""
    for line in outlined.lines:
        if line.is_cut:
            yield Finding(Code.LINE_TOO_LONG, line.number, line.octets[:40], LINE_LIMIT_OCTETS + 1)
        if line.kind is None or _is_prose(line):
            if not line.octets.lstrip().startswith(b"#") and not outlined.is_markup:
                yield _no_record(line)
        elif not outlined.is_markup or line.kind is not Kind.OTHER:
            yield from _key_findings(line)


def _is_prose(line: Line) -> bool:
    """Whether it is a URL, or two words without a colon, and the first one is no key."""
    is_known = line.kind is not Kind.OTHER or line.name in KNOWN_KEYS
    has_colon = b":" in line.octets.partition(b"#")[0]
    return not is_known and (not has_colon or line.name in _SCHEMES)


def _no_record(line: Line) -> Finding:
    text = line.octets.strip()
    code = Code.KEY_MISSING if text.startswith(b":") or line.name in _SCHEMES else Code.NO_RECORD
    return Finding(code, line.number, text[:200], line.key_column)


def _key_findings(line: Line) -> Iterator[Finding]:
    found = (line.number, line.key[:200], line.key_column)
    if b":" not in line.octets.partition(b"#")[0]:
        yield Finding(Code.MISSING_COLON, *found)
    if line.kind is Kind.OTHER:
        if line.name == b"content-signals":
            yield Finding(Code.MISSPELT_KEY, *found, "read as Content-Signal")
        elif line.name in _UNSUPPORTED_KEYS:
            yield Finding(Code.UNSUPPORTED_KEY, *found)
        elif line.name not in KNOWN_KEYS:
            meant = meant_key(line.name)
            code = Code.NEAR_KEY if meant else Code.UNKNOWN_KEY
            yield Finding(code, *found, f"perhaps {meant}" if meant else "")
    elif line.kind is not None and line.name != (usual := KEYS[line.kind]).lower():
        if line.name.startswith(usual.lower()):
            yield Finding(Code.KEY_GOES_ON, *found)
        else:
            yield Finding(Code.MISSPELT_KEY, *found, f"read as {usual.decode()}")


@lru_cache(maxsize=200)
def meant_key(name: bytes) -> str | None:
    """The key that is similar to this one, in its usual spelling, or None."""
    if len(name) > _LONGEST_KEY:
        return None
    if name.endswith(b"-agent") and b" " not in name:
        return "User-agent"  # its beginning is lost
    text = name.decode("latin-1")
    known = next((known for known in _SPELLINGS if is_one_slip(text, known)), None)
    return known.capitalize() if known is not None else None


_BOM = b"\xef\xbb\xbf"
_CR = re.compile(rb"\r(?!\n)")
_RECORD = re.compile(rb"[^#]*:")
_JSON = re.compile(rb"\s*[\[{]\s*[\"\]}]")
_LOOKED_AT_OCTETS = 65_536
_CONTROLS = bytes(octet for octet in range(32) if octet not in b"\t\n\v\f\r")
_CONTROLS_OF_NO_TEXT = 5  # text may have one by accident, but not 5 and 1 in 20
_MOST_NAMED = 5


def file_findings(body: bytes, outlined: Outline) -> Iterator[Finding]:
    """Findings about the octets, and the file as a whole."""
    has_disallow = any(line.kind is Kind.DISALLOW and line.value for line in outlined.lines)
    if body.startswith(_BOM) and has_disallow:
        yield Finding(Code.BOM, 1, _BOM, 1)
    for coding in outlined.codings:
        yield Finding(CODE_OF_CODING[coding])
    if is_no_text(body):
        yield Finding(Code.NOT_TEXT)
    elif not outlined.codings:
        yield from _raw_findings(body)
    if outlined.is_cut:
        yield _parse_limit(body, outlined)
    if outlined.is_markup:
        yield Finding(Code.MARKUP)
    elif _JSON.match(outlined.octets):
        yield Finding(Code.JSON)
    yield from _coverage_findings(outlined)
    for line in outlined.lines:
        if line.kind not in RULES or is_utf8(line.value):  # else the path has a finding
            yield from _not_utf8(line.number, line.octets)


def is_no_text(body: bytes) -> bool:
    """Whether too many octets are control characters, as in UTF-16 (NUL) without a mark."""
    if body.startswith((*BOMS_WITH_NUL, GZIP_MAGIC)):
        return False
    start = body[:_LOOKED_AT_OCTETS]
    controls = len(start) - len(start.translate(None, _CONTROLS))
    return controls >= _CONTROLS_OF_NO_TEXT and controls * 20 > len(start)


def _parse_limit(body: bytes, outlined: Outline) -> Finding:
    """The finding about the line that the limit cuts, with the names and sitemaps behind it."""
    read = len(outlined.octets)
    line = line_number(outlined.octets, read)
    if outlined.is_opaque:
        return Finding(Code.PARSE_LIMIT, line)
    octets = clean(body, len(body))[0]
    behind: dict[str, None] = {}
    rules_count = 0
    for _, kind, _, value in records(octets, read):
        rules_count += kind in RULES
        if kind in (Kind.USER_AGENT, Kind.SITEMAP):
            behind[f"{KEYS[kind].decode()}: {shown(value[:200])}"] = None
    lost = [counted(rules_count, "rule")] if rules_count else []
    named = [*lost, *list(behind)[:_MOST_NAMED]]
    more = [f"{len(behind) - _MOST_NAMED:,} more"] if len(behind) > _MOST_NAMED else []
    detail = ", ".join((*named, *more)) or "no rule, no group and no Sitemap line"
    return Finding(Code.PARSE_LIMIT, line, detail=f"behind it: {detail}")


def _raw_findings(body: bytes) -> Iterator[Finding]:
    """Findings about octets that are lost when the file is cleaned: NUL and line ends."""
    for number, text in enumerate(body.split(b"\n"), start=1) if _CR.search(body) else ():
        if any(map(_RECORD.match, text.strip().split(b"\r")[1:])):
            yield Finding(Code.CR_ONLY, number, b"\r")
            break
    if b"\0" not in body:
        return
    for number, raw in enumerate(body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")):
        at = raw.find(b"\0")
        if at >= 0:
            yield Finding(Code.NUL, number + 1, b"\0", len(raw[:at].decode("utf-8", "replace")) + 1)


def _coverage_findings(outlined: Outline) -> Iterator[Finding]:
    if not outlined.lines:
        yield Finding(Code.EMPTY_FILE)
    rules = [line for line in outlined.lines if line.kind in RULES]
    if outlined.lines and not outlined.blocks and not outlined.is_markup:
        yield Finding(Code.NO_GROUPS, proposal=None if rules else _NO_RULES)
    if len(rules) > YANDEX_RULES:
        yield Finding(Code.TOO_MANY_RULES, rules[YANDEX_RULES].number, detail=f"{len(rules):,}")


def _not_utf8(number: int, octets: bytes) -> Iterator[Finding]:
    if octets.isascii():
        return
    try:
        octets.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(octets[: error.start].decode("utf-8", "replace")) + 1
        yield Finding(Code.NOT_UTF8, number, octets[error.start : error.end], column)
