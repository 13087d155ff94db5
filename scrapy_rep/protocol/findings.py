"""What is odd in a file, as values: nothing in a robots.txt is an error to its reader."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from . import records as other
from .lines import RULES, Kind, records
from .sitemaps import sitemap_uri


class Code(Enum):
    """What can be found; the value is said to people."""

    PARSE_LIMIT = "the file is larger than the parse limit; what follows it is ignored"
    MARKUP = "the file is markup; only lines that read as records count"
    ODD_STATUS = "the answer is a success, but not a 200; its body is read as the file"
    UTF16 = "the file is in UTF-16 instead of UTF-8"
    RULE_BEFORE_GROUP = "a rule before the first user-agent line is ignored"
    RULE_MATCHES_NOTHING = "a path pattern begins with neither '/' nor '*' and matches nothing"
    USER_AGENT_NAMES_NOBODY = "a user-agent line holds no product token"
    CRAWL_DELAY_COMMA = "a comma is read as the decimal point"
    VALUE_UNREADABLE = "the value can't be read; the record is ignored"
    SITEMAP_RELATIVE = "the sitemap's address is relative; it is resolved against this file's"
    SITEMAP_LEFT_OUT = "the sitemap's address is no http(s) URL"
    SITEMAP_REPEATED = "the sitemap is named before; it counts once"


@dataclass(frozen=True, slots=True)
class Finding:
    """One odd thing: the line it stands on (0: the file as a whole) and the octets found."""

    code: Code
    line: int = 0
    octets: bytes = b""

    def __str__(self) -> str:
        """The finding in one line."""
        found = self.octets.decode("utf-8", "backslashreplace")
        where = f"line {self.line}: " if self.line else ""
        return f"{where}{self.code.value}{found and f': {found}'}"


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
            yield Code.SITEMAP_REPEATED
        sitemaps.add(sitemap)
    else:
        yield from _codes_of_value(key.lower(), value)


def _codes_of_value(name: bytes, value: bytes) -> Iterator[Code]:
    if name in _READERS and _READERS[name](value) is None:
        yield Code.VALUE_UNREADABLE
    elif name == b"crawl-delay" and b"," in value:
        yield Code.CRAWL_DELAY_COMMA
