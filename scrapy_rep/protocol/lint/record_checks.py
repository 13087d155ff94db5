"""Checks of Sitemap lines and other records. Linear in the octets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from urllib.parse import urlsplit

from scrapy_rep.protocol import records
from scrapy_rep.protocol.findings import Finding
from scrapy_rep.protocol.lines import Kind
from scrapy_rep.protocol.outline import Block, Line, Outline
from scrapy_rep.protocol.sitemaps import sitemap_uri

from .agents import IGNORES_CRAWL_DELAY
from .codes import Code

_READERS: dict[bytes, Callable[[bytes], object | None]] = {
    b"crawl-delay": records.crawl_delay,
    b"request-rate": records.request_rate,
    b"visit-time": records.visit_time,
}
_OF_A_GROUP = frozenset({*_READERS, b"content-usage"})
_HUGE_SECONDS = 30
_SCHEME = re.compile(rb"([A-Za-z][A-Za-z0-9+.-]*):")
_CLEAN_PARAM = re.compile(rb"[^\s&/,]+(?:&[^\s&/,]+)*(?:\s+[/*]\S*)?")
_SIGNAL = re.compile(
    rb"(?:(?:search|ai-input|ai-train)\s*=\s*(?:yes|no)|use\s*=\s*(?:immediate|reference|full))",
    re.IGNORECASE,
)
_SAYS_YES = re.compile(rb"=\s*yes", re.IGNORECASE)
_USAGE = re.compile(rb"(?:(/\S*)\s+)?([A-Za-z][A-Za-z0-9_-]*\s*=\s*[a-z](?:\s*,\s*[^\s,]+)*)")

# Keys, and what is wrong with a value of theirs if the function says so.
_VALUE_CHECKS: tuple[tuple[tuple[bytes, ...], Code, Callable[[bytes], bool]], ...] = (
    *(
        ((name,), Code.VALUE_UNREADABLE, lambda value, read=read: read(value) is None)
        for name, read in _READERS.items()
    ),
    ((b"clean-param",), Code.CLEAN_PARAM_FORMAT, lambda value: not _CLEAN_PARAM.fullmatch(value)),
    ((b"host",), Code.HOST_DEPRECATED, lambda _: True),
    ((b"noindex",), Code.NOINDEX_UNSUPPORTED, lambda _: True),
    (
        (b"content-signal", b"content-signals"),
        Code.SIGNAL_SYNTAX,
        lambda value: not all(_SIGNAL.fullmatch(part.strip()) for part in value.split(b",")),
    ),
    ((b"license",), Code.LICENSE_INVALID, lambda value: sitemap_uri(value, "") is None),
    ((b"content-usage",), Code.USAGE_SYNTAX, lambda value: not _USAGE.fullmatch(value)),
)


def record_findings(outlined: Outline) -> Iterator[Finding]:
    """What is odd in Sitemap lines and other records."""
    yield from _sitemap_findings(outlined)
    for line in outlined.before:
        if line.name in _OF_A_GROUP:
            yield _of(Code.RECORD_BEFORE_GROUP, line)
    for line in outlined.lines:
        if line.kind is Kind.OTHER:
            yield from _value_findings(line)
    for block in outlined.blocks:
        yield from _block_findings(block)


def _of(code: Code, line: Line, detail: str = "") -> Finding:
    return Finding(code, line.number, line.value[:200], line.value_column, detail)


def _sitemap_findings(outlined: Outline) -> Iterator[Finding]:
    seen: set[str] = set()
    host = urlsplit(outlined.uri).hostname
    for line in outlined.sitemaps:
        uri = sitemap_uri(line.value, outlined.uri)
        scheme = _SCHEME.match(line.value)
        if not line.value:
            yield _of(Code.SITEMAP_EMPTY, line)
        elif scheme and scheme[1].lower() not in (b"http", b"https"):
            yield _of(Code.SITEMAP_SCHEME, line)
        elif sitemap_uri(line.value, "") is None and (uri is not None or not scheme):
            yield _of(Code.SITEMAP_RELATIVE, line)
        elif uri is None:
            yield _of(Code.SITEMAP_LEFT_OUT, line)
        elif host and urlsplit(uri).hostname != host:
            yield _of(Code.SITEMAP_CROSS_HOST, line)
        if uri is not None and uri in seen:
            yield _of(Code.SITEMAP_DUPLICATE, line)
        seen.add(uri or "")
    if outlined.blocks and not outlined.sitemaps:
        yield Finding(Code.SITEMAP_MISSING)


def _value_findings(line: Line) -> Iterator[Finding]:
    if line.name == b"crawl-delay":
        yield from _delay_findings(line)
    for names, code, is_odd in _VALUE_CHECKS:
        if line.name in names and is_odd(line.value):
            yield _of(code, line)


def _delay_findings(line: Line) -> Iterator[Finding]:
    seconds = records.crawl_delay(line.value)
    if seconds is None:
        return
    if b"," in line.value:
        yield _of(Code.CRAWL_DELAY_COMMA, line)
    if seconds > _HUGE_SECONDS:
        yield _of(Code.CRAWL_DELAY_HUGE, line)


def _block_findings(block: Block) -> Iterator[Finding]:
    delays = [line for line in block.others if line.name == b"crawl-delay"]
    for line in delays[1:]:
        yield _of(Code.CRAWL_DELAY_DUPLICATE, line, f"see line {delays[0].number}")
    ignoring = [name for name in block.names if name in IGNORES_CRAWL_DELAY]
    if delays and ignoring:
        yield _of(Code.CRAWL_DELAY_IGNORED, delays[0], ", ".join(ignoring))
    forbids_all = any(
        line.kind is Kind.DISALLOW and line.value in (b"/", b"/*") for line in block.rules
    ) and not any(line.kind is Kind.ALLOW and line.value for line in block.rules)
    usages: dict[bytes, Line] = {}
    for line in block.others:
        if line.name.startswith(b"content-signal") and forbids_all and _SAYS_YES.search(line.value):
            yield _of(Code.SIGNAL_CONTRADICTS, line)
        usage = _USAGE.fullmatch(line.value) if line.name == b"content-usage" else None
        if usage is not None:
            before = usages.setdefault(usage[1] or b"", line)
            if before is not line and before.value != line.value:
                yield _of(Code.USAGE_CONFLICT, line, f"see line {before.number}")
