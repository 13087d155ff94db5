"""Checks of Sitemap lines and other records. Linear in the octets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from urllib.parse import urlsplit

from scrapy_rep.extras.pages.usage.categories import AI_INPUT, SEARCH, TRAIN_AI
from scrapy_rep.extras.pages.usage.content_fields import content_signal, content_usage
from scrapy_rep.extras.pages.usage.preference import Preference
from scrapy_rep.extras.pages.usage.scoped import divided
from scrapy_rep.extras.webmaster.checks.codes import Code
from scrapy_rep.extras.webmaster.findings import (
    CODE_OF_SLIP,
    READERS,
    Finding,
    slip_of_pace,
    value_finding,
    with_fix,
)
from scrapy_rep.extras.webmaster.mending import Edit, Mend
from scrapy_rep.extras.webmaster.outline import Block, Line, Outline, with_value
from scrapy_rep.protocol.extensions.records import crawl_delay
from scrapy_rep.protocol.extensions.sitemaps import Slip, absolute_uri, sitemap_line
from scrapy_rep.protocol.fields.remarks import Problem, Remarks, Source
from scrapy_rep.protocol.lines import Kind
from scrapy_rep.protocol.tokens import EVERYONE
from scrapy_rep.protocol.verdict import shown

from .crawler_names import ignores_crawl_delay, is_one_slip, is_search_crawler

_OF_A_GROUP = frozenset({*READERS, b"content-usage"})
_HUGE_SECONDS = 30
_MOST_COMPARED = 100_000  # statements about use; many names may share them
_SCHEME = re.compile(rb"([A-Za-z][A-Za-z0-9+.-]*):")
_USUAL_SCHEMES = ("http", "https")
_ADVICE_FOR_BLANKS = "write only the URL, and %20 for a blank that belongs to it"
_BAD_SCHEME = re.compile(
    r"(?!https?://(?!https?[:;/]))(?:https?\s*[:;]*\s*/{0,3}\s*){1,3}(?=[\w-]{1,63}\.)",
    re.IGNORECASE,
)
_HOST_FIRST = re.compile(r"(?:[\w-]+\.)+[A-Za-z]{2,18}(?::\d+)?(?:/|$)")
_CLEAN_PARAM = re.compile(rb"&?[^\s&/,]+(?:&[^\s&/,]+)*&?(?:\s+[/*]\S*)?")
_SIGNAL = re.compile(
    rb"(?:(?:search|ai-input|ai-train)\s*=\s*(?:yes|no)|use\s*=\s*(?:immediate|reference|full))",
    re.IGNORECASE,
)
_SIGNALS = (b"content-signal", b"content-signals")
_SITEMAP_ENDING = re.compile(r"\.(?:xml|txt|rss|atom|gz|php|ashx|aspx|jsp|axd)$", re.IGNORECASE)
# Hosts of computers of their own, of examples, and of private networks (RFC 1918, RFC 6761).
_NOT_PUBLIC = re.compile(
    r"(?:.+\.)?(?:localhost|local|localdomain|internal|test|invalid|example)"
    r"|(?:www\.)?(?:example\.(?:com|org|net)|(?:your|my)-?(?:own-?)?(?:domain|site|website)\.\w+)"
    r"|127\..+|10\.[\d.]+|192\.168\.[\d.]+|172\.(?:1[6-9]|2\d|3[01])\.[\d.]+|\[?::1\]?",
    re.IGNORECASE,
)
# A number with a unit, perhaps in brackets: 10s, [5], 2 minutes.
_DELAY = re.compile(
    rb"[(\[]?(\d{1,6}(?:[.,]\d{1,3})?)\s*(ms|s|secs?|seconds?|m|mins?|minutes?|)\.?[)\]]?",
    re.IGNORECASE,
)
_UNIT_SECONDS = {b"ms": 0.001, b"s": 1, b"se": 1, b"": 1, b"m": 60, b"mi": 60}
_FORMS = {
    b"crawl-delay": "write a number of seconds, for example 'Crawl-delay: 5'",
    b"request-rate": "write requests and seconds, for example 'Request-rate: 1/5'",
    b"visit-time": "write hours and minutes in UTC, for example 'Visit-time: 0600-0845'",
}
_SIGNAL_NAMES = {TRAIN_AI: "ai-train", SEARCH: "search", AI_INPUT: "ai-input"}
_HERE = Source("Content-Usage")
_UNKNOWN_LABEL = Problem.UNKNOWN_LABEL
# Words of Content-Signal, and their equivalents in Content-Usage.
_OWN = {b"ai-train": b"train-ai", b"yes": b"y", b"no": b"n"}
_FOREIGN = re.compile(rb"(?<![^\s,=])(?:ai-train|yes|no)(?![^\s,=])")


def _signal_slip(value: bytes) -> Code | None:
    """Why a part of a value is ignored, as crawlers read it, or the whole by some of them."""
    remarks, said = Remarks(), divided(value)[1]
    found = content_signal(said.decode("utf-8", "replace"), _HERE, remarks)
    if remarks.kept or not (found.preferences or found.use):
        return Code.SIGNAL_SYNTAX
    is_usual = all(_SIGNAL.fullmatch(part.strip()) for part in said.split(b","))
    return None if is_usual else Code.SIGNAL_SPELLING


def _says_all(value: bytes) -> bool:
    """Whether no part of a Content-Usage value, without its path, is ignored."""
    remarks = Remarks()
    return bool(content_usage(value, _HERE, remarks)) and not remarks.kept


def _usage_slip(value: bytes) -> Code | None:
    """Why a part of a value is ignored, as crawlers read it, or None.

    A mistake is named if fixing it makes every part count: ``Train-AI=n``, ``ai-train=no``.
    """
    said = divided(value)[1]
    if _says_all(said):
        return None
    lowered = said.lower()
    if _says_all(lowered):
        return Code.USAGE_LETTER_CASE
    own_words = _FOREIGN.sub(lambda found: _OWN[found[0]], lowered)
    if _says_all(own_words):
        return Code.USAGE_FOREIGN_WORDS
    remarks = Remarks()
    content_usage(said, _HERE, remarks)
    is_new = own_words == lowered and {one.problem for one in remarks.kept} == {_UNKNOWN_LABEL}
    return Code.USAGE_UNKNOWN_LABEL if is_new else Code.USAGE_SYNTAX


_VALUE_CHECKS: dict[bytes, Callable[[bytes], Code | None]] = {
    **{name: partial(slip_of_pace, name) for name in READERS},
    b"clean-param": lambda it: None if _CLEAN_PARAM.fullmatch(it) else Code.CLEAN_PARAM_FORMAT,
    b"host": lambda _: Code.HOST_DEPRECATED,
    b"noindex": lambda _: Code.NOINDEX_UNSUPPORTED,
    b"license": lambda it: None if absolute_uri(it, "") else Code.LICENSE_INVALID,
    **dict.fromkeys(_SIGNALS, _signal_slip),
    b"content-usage": _usage_slip,
}
"""The functions that find the code for a value, by the key."""


def _meant_pace(line: Line) -> bytes:
    """A Crawl-delay in seconds for a number with a unit: 10s, 500ms, 1 min."""
    found = _DELAY.fullmatch(line.value) if line.name == b"crawl-delay" else None
    if found is None:
        return b""
    seconds = float(found[1].replace(b",", b".")) * _UNIT_SECONDS[found[2][:2].lower()]
    return f"{seconds:g}".encode()


def _meant_signal(line: Line) -> bytes:
    """The signals of a value without a path in their usual form."""
    said = content_signal(line.value.decode("utf-8", "replace"), _HERE, Remarks())
    words = [
        f"{_SIGNAL_NAMES[category]}={'yes' if preference is Preference.ALLOWED else 'no'}"
        for category, preference in said.preferences.items()
    ]
    words += [f"use={said.use}"] if said.use else []
    return b"" if line.value.startswith(b"/") else ", ".join(words).encode()


def record_findings(outlined: Outline) -> Iterator[Finding]:
    """Findings about Sitemap lines and other records."""
    yield from _sitemap_findings(outlined)
    for line in outlined.before:
        if line.name in _OF_A_GROUP:
            yield value_finding(Code.RECORD_BEFORE_GROUP, line)
        elif line.name in _SIGNALS:
            yield value_finding(Code.SIGNAL_BEFORE_GROUP, line)
    for line in outlined.lines:
        check = _VALUE_CHECKS.get(line.name) if line.kind is Kind.OTHER else None
        if check is not None and (code := check(line.value)) is not None:
            yield replace(value_finding(code, line), proposal=_proposal(code, line))
    for run in outlined.runs:
        yield from _run_findings(run)
    yield from _conflicts(outlined)


def _sitemap_findings(outlined: Outline) -> Iterator[Finding]:
    seen: set[str] = set()
    host = urlsplit(outlined.uri).hostname
    for line in outlined.sitemaps:
        found = sitemap_line(line.value, outlined.uri)
        for slip in found.slips:
            finding = value_finding(CODE_OF_SLIP[slip], line)
            is_bad = slip is Slip.BROKEN_SCHEME
            yield _with_address(finding, line, found.uris[0]) if is_bad else finding
        if not found.uris:
            yield _left_out(line, outlined.uri)
            continue
        if Slip.SEVERAL not in found.slips and len(line.value.split()) > 1:
            yield value_finding(Code.SITEMAP_BLANK, line)
        hosts = {urlsplit(uri).hostname or "" for uri in found.uris} - {host}
        if any(map(_NOT_PUBLIC.fullmatch, hosts)):
            yield value_finding(Code.SITEMAP_NOT_PUBLIC, line)
        elif host and {one.removeprefix("www.") for one in hosts} - {host.removeprefix("www.")}:
            yield value_finding(Code.SITEMAP_CROSS_HOST, line)
        if not all(map(_has_sitemap_ending, found.uris)):
            yield value_finding(Code.SITEMAP_ENDING, line)
        if seen.issuperset(found.uris):
            yield value_finding(Code.SITEMAP_DUPLICATE, line)
        seen.update(found.uris)
    if outlined.blocks and not outlined.sitemaps:
        yield Finding(Code.SITEMAP_MISSING)


def _left_out(line: Line, robots_txt: str) -> Finding:
    """Why a Sitemap line names no sitemap, with the address that was probably meant."""
    text = shown(line.value)
    found = _SCHEME.match(line.value)
    scheme = found[1].decode().lower() if found and b"." not in found[1] else ""
    is_slip = scheme not in _USUAL_SCHEMES and any(is_one_slip(scheme, u) for u in _USUAL_SCHEMES)
    bad, address = _BAD_SCHEME.match(text), f"https://{text}"
    rest = text[bad.end() if bad else len(scheme) + 1 :].lstrip("/")
    rows = (
        (not text, Code.SITEMAP_EMPTY, ""),
        (bad or is_slip, Code.SITEMAP_BAD_SCHEME, ""),
        (scheme not in ("", *_USUAL_SCHEMES), Code.SITEMAP_SCHEME, ""),
        (not robots_txt and _is_host(text), Code.SITEMAP_NO_SCHEME, f"write {address}"),
        (not (scheme or robots_txt), Code.SITEMAP_RELATIVE, ""),
        (len(text.split()) > 1, Code.SITEMAP_LEFT_OUT, _ADVICE_FOR_BLANKS),
        (_HOST_FIRST.match(text), Code.SITEMAP_LEFT_OUT, f"write https:// before it: {address}"),
        (True, Code.SITEMAP_LEFT_OUT, ""),
    )
    code, advice = next((code, advice) for holds, code, advice in rows if holds)
    finding = value_finding(code, line)
    if code is Code.SITEMAP_BAD_SCHEME:
        return _with_address(finding, line, f"https://{rest}")
    return with_fix(finding, advice)


def _is_host(text: str) -> bool:
    found = _HOST_FIRST.match(text)
    return found is not None and not _SITEMAP_ENDING.search(found[0])


def _with_address(finding: Finding, line: Line, uri: str) -> Finding:
    """The finding with an unsafe fix that writes this address."""
    return with_fix(finding, f"write {uri}", Edit.of_value(line, uri.encode()))


def _has_sitemap_ending(uri: str) -> bool:
    """Whether the path of a URL looks like that of a sitemap; a query may be for a program."""
    parts = urlsplit(uri)
    return bool(parts.query) or _SITEMAP_ENDING.search(parts.path) is not None


def _proposal(code: Code, line: Line) -> Mend | None:
    """The value that was meant, or the form of such values; None if the words of the table fit."""
    is_pace, is_signal = code is Code.VALUE_UNREADABLE, code is Code.SIGNAL_SPELLING
    meant = _meant_pace(line) if is_pace else _meant_signal(line) if is_signal else b""
    if meant:
        text = shown(with_value(line, meant).partition(b"#")[0].strip())
        return Mend(f"write '{text}'", edits=(Edit.of_value(line, meant),))
    return Mend(_FORMS[line.name]) if is_pace else None


def _run_findings(run: Block) -> Iterator[Finding]:
    read = ((one, crawl_delay(one.value)) for one in run.others if one.name == b"crawl-delay")
    delays = {line: seconds for line, seconds in read if seconds is not None}
    if not delays:
        return
    largest = max(delays, key=delays.__getitem__)
    for line in delays:
        if line is not largest:
            yield value_finding(Code.CRAWL_DELAY_DUPLICATE, line, f"see line {largest.number}")
    if any(name == EVERYONE or _slows(name) for name in run.names):
        huge = (line for line, seconds in delays.items() if seconds > _HUGE_SECONDS)
        yield from (value_finding(Code.CRAWL_DELAY_HUGE, line) for line in huge)
    ignoring = [f"{name}, {by}" for name in run.names if (by := ignores_crawl_delay(name))]
    if ignoring:
        yield value_finding(Code.CRAWL_DELAY_IGNORED, next(iter(delays)), "; ".join(ignoring))


def _slows(name: str) -> bool:
    """Whether a search engine with this name may obey a Crawl-delay."""
    return is_search_crawler(name) and not ignores_crawl_delay(name)


def _usage_of(value: bytes) -> Mapping[str, object]:
    return content_usage(value, _HERE, Remarks()) or {}


def _signals_of(value: bytes) -> Mapping[str, object]:
    found = content_signal(value.decode("utf-8", "replace"), _HERE, Remarks())
    return {**found.preferences, **({"use": found.use} if found.use else {})}


_Said = tuple[tuple[str, str], object, Line]  # the path and the category; the preference

_CONFLICTS = (
    ((b"content-usage",), Code.USAGE_CONFLICT, _usage_of),
    (_SIGNALS, Code.SIGNAL_CONFLICT, _signals_of),
)


def _said(line: Line, read: Callable[[bytes], Mapping[str, object]]) -> Iterator[_Said]:
    pattern, value = divided(line.value)
    return (((pattern, key), said, line) for key, said in read(value).items())


def _conflicts(outlined: Outline) -> Iterator[Finding]:
    """Records about use that differ for the same crawler, path and category."""
    for names, code, read in _CONFLICTS:
        own = ([one for one in block.others if one.name in names] for block in outlined.blocks)
        said_in = [[said for line in lines for said in _said(line, read)] for lines in own]
        told: set[int] = set()
        left = _MOST_COMPARED
        for merge in outlined.merges if sum(map(len, said_in)) > 1 else ():
            first: dict[tuple[str, str], tuple[object, Line]] = {}
            merged = chain.from_iterable(map(said_in.__getitem__, merge))
            for key, said, line in islice(merged, left):
                left -= 1
                before, where = first.setdefault(key, (said, line))
                if before != said and line.number not in told:
                    told.add(line.number)
                    yield value_finding(code, line, f"see line {where.number}")
