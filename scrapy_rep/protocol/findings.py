"""What is odd in a file, as values: nothing in a robots.txt is an error to its reader.

`findings` looks at what a crawl should know of the files that it obeys, in one pass; `lint` looks
for everything. Both speak in `Finding`, whose words come from the one table of checks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from . import records as other
from .lines import RULES, Kind, records
from .lint.codes import Code, Severity
from .lint.table import CHECKS
from .sitemaps import sitemap_uri


@dataclass(frozen=True, slots=True)
class Finding:
    """One odd thing, and where it is.

    Attributes:
        code: which of the checks found it.
        line: the number of its line, from 1; 0: the file as a whole.
        octets: what was found, as written.
        column: where on the line that begins, in characters from 1; 0: the line as a whole.
        detail: what the code alone does not say, such as the number of another line; may be empty.
    """

    code: Code
    line: int = 0
    octets: bytes = b""
    column: int = 0
    detail: str = ""

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return CHECKS[self.code].severity

    @property
    def message(self) -> str:
        """What it means, in one sentence without its full stop."""
        meaning = CHECKS[self.code].meaning
        return f"{meaning} ({self.detail})" if self.detail else meaning

    @property
    def mend(self) -> str:
        """What to do about it, likewise."""
        return CHECKS[self.code].mend

    def __str__(self) -> str:
        """The finding in one line."""
        where = f"line {self.line}: " if self.line else ""
        shown_octets = f": {shown(self.octets)}" if self.octets else ""
        return f"{where}{self.message}{shown_octets}"


def shown(octets: bytes) -> str:
    """Octets from a site as text that no terminal obeys."""
    text = octets.decode("utf-8", "backslashreplace")
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


_READERS: dict[bytes, Callable[[bytes], object | None]] = {
    b"crawl-delay": other.crawl_delay,
    b"request-rate": other.request_rate,
    b"visit-time": other.visit_time,
}


def findings(octets: bytes, uri: str, *, is_cut: bool, is_utf16: bool) -> Iterator[Finding]:
    """What is odd in cleaned octets that came from `uri`; linear in the octets."""
    if is_cut:
        yield Finding(Code.PARSE_LIMIT)
    if is_utf16:
        yield Finding(Code.UTF16)
    if octets.lstrip()[:1] == b"<":
        yield Finding(Code.MARKUP)
    has_group = False
    sitemaps: set[str] = set()
    line, counted = 1, 0
    for offset, kind, key, value in records(octets):
        has_group = has_group or kind is Kind.USER_AGENT
        for code in _codes(kind, key, value, uri, sitemaps, has_group=has_group):
            line += octets.count(b"\n", counted, offset)
            counted = offset
            yield Finding(code, line, value)


def _codes(
    kind: Kind, key: bytes, value: bytes, uri: str, sitemaps: set[str], *, has_group: bool
) -> Iterator[Code]:
    if kind in RULES:
        if not has_group:
            yield Code.RULE_BEFORE_GROUP
        if value and not value.startswith((b"/", b"*")):
            yield Code.RULE_MATCHES_NOTHING
    elif kind is Kind.USER_AGENT:
        if not re.match(rb"[A-Za-z_-]|\*(?:\s|$)", value):
            yield Code.USER_AGENT_NAMES_NOBODY
    elif kind is Kind.SITEMAP:
        sitemap = sitemap_uri(value, uri)
        if sitemap is None:
            yield Code.SITEMAP_LEFT_OUT
            return
        if sitemap_uri(value, "") is None:
            yield Code.SITEMAP_RELATIVE
        if sitemap in sitemaps:
            yield Code.SITEMAP_DUPLICATE
        sitemaps.add(sitemap)
    else:
        yield from _codes_of_value(key.lower(), value)


def _codes_of_value(name: bytes, value: bytes) -> Iterator[Code]:
    if name in _READERS and _READERS[name](value) is None:
        yield Code.VALUE_UNREADABLE
    elif name == b"crawl-delay" and b"," in value:
        yield Code.CRAWL_DELAY_COMMA
