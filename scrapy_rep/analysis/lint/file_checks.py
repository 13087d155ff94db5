"""Checks of the octets and of the file as a whole. Linear in the octets."""

from __future__ import annotations

import re
from collections.abc import Iterator

from scrapy_rep.analysis.checks.codes import Code
from scrapy_rep.analysis.findings import CODE_OF_CODING, Finding
from scrapy_rep.analysis.outline import Outline
from scrapy_rep.protocol.lines import RULES

_BOM = b"\xef\xbb\xbf"
_YANDEX_RULES = 2048
_CR = re.compile(rb"\r(?!\n)")
_JSON = re.compile(rb"\s*[\[{]\s*[\"\]}]")


def file_findings(body: bytes, outlined: Outline) -> Iterator[Finding]:
    """What is unusual in the octets, and in the file as a whole."""
    octets = outlined.octets
    if body.startswith(_BOM):
        yield Finding(Code.BOM, 1, _BOM, 1)
    for coding in outlined.codings:
        yield Finding(CODE_OF_CODING[coding])
    if not outlined.codings:
        yield from _raw_findings(body)
    if outlined.is_cut:
        yield Finding(Code.PARSE_LIMIT)
    if octets.lstrip()[:1] == b"<":
        yield Finding(Code.MARKUP)
    elif _JSON.match(octets):
        yield Finding(Code.JSON)
    yield from _coverage_findings(outlined)
    for line in outlined.lines:
        yield from _not_utf8(line.number, line.octets)


def _raw_findings(body: bytes) -> Iterator[Finding]:
    """What is lost when the octets are cleaned: NUL, and line ends."""
    bare = _CR.search(body)
    if bare:
        line = body.count(b"\n", 0, bare.start()) + 1
        yield Finding(Code.CR_ONLY, line, b"\r")
    if b"\0" not in body:
        return
    for number, raw in enumerate(body.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")):
        at = raw.find(b"\0")
        if at >= 0:
            yield Finding(Code.NUL, number + 1, b"\0", len(raw[:at].decode("utf-8", "replace")) + 1)


def _coverage_findings(outlined: Outline) -> Iterator[Finding]:
    if not outlined.lines:
        yield Finding(Code.EMPTY_FILE)
    elif not outlined.blocks:
        yield Finding(Code.NO_GROUPS)
    rules = [line for line in outlined.lines if line.kind in RULES]
    if len(rules) > _YANDEX_RULES:
        yield Finding(Code.TOO_MANY_RULES, rules[_YANDEX_RULES].number, detail=f"{len(rules):,}")


def _not_utf8(number: int, octets: bytes) -> Iterator[Finding]:
    if octets.isascii():
        return
    try:
        octets.decode("utf-8")
    except UnicodeDecodeError as error:
        column = len(octets[: error.start].decode("utf-8", "replace")) + 1
        yield Finding(Code.NOT_UTF8, number, octets[error.start : error.end], column)
