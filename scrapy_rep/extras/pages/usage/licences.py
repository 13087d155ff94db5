"""Licences (RSL 1.0): License records of robots.txt, Link fields, and ``link`` elements.

They change no preference. An answer 402 may also name the price of a page. A line of
the Link field (RFC 8288, 3) counts up to its first syntax error. Linear in the input, and of Link
fields, at most `FIELD_OCTETS` are read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from urllib.parse import urljoin, urlsplit

from scrapy_rep.extras.pages.page.page_elements import PageLink, relations
from scrapy_rep.protocol.fields.remarks import (
    FIELD_OCTETS,
    Problem,
    Remarks,
    Source,
    excerpt,
    text_of,
)

from .preference import Licence

LICENCE = "license"
"""The relation of links to a licence."""

_SCHEMES = ("http", "https")
# "/license.xml", "./a", "a/b" and "license.xml" are references; "none", "CC-BY-4.0" are prose.
_RELATIVE = re.compile(
    r"\.{0,2}/.*|[\w.%-]+/.*|[\w%-]+\.(?:xml|rsl|html?|txt|json|md|pdf)", re.ASCII
)
_TARGET = re.compile(r"[ \t,]*<([^<>]*)>")
_PARAMETER = re.compile(
    r"[ \t]*;[ \t]*([^\s;,=\"<>]*)"  # its name
    r"[ \t]*(?:=[ \t]*(?:\"([^\"\\]*(?:\\.[^\"\\]*)*)\"|([^\s;,\"<>]*)))?"  # its value
)
_ESCAPE = re.compile(r"\\(.)")
_SEPARATOR = re.compile(r"[ \t]*(?:,|$)")


def of_record(value: bytes, robots_txt: str, source: Source, remarks: Remarks) -> Licence | None:
    """The licence in a record; None if its value is prose."""
    text = value.decode("utf-8", "replace")
    uri = _absolute("", text)
    if uri:
        return Licence(uri, "", source)
    is_relative = not any(map(str.isspace, text)) and _RELATIVE.fullmatch(text)
    resolved = _absolute(robots_txt, text) if is_relative else ""
    remarks.add(Problem.RELATIVE_LICENCE if resolved else Problem.NO_LICENCE, source, text)
    return Licence(resolved, "", source) if resolved else None


def of_fields(lines: Sequence[bytes], url: str) -> Iterator[Licence]:
    """The licences in Link fields."""
    left = FIELD_OCTETS
    for number, line in enumerate(lines, start=1):
        text, left = text_of(line[: max(0, left)]), left - len(line)
        for target, rels, media_type in field_links(text):
            uri = _absolute(url, target) if LICENCE in rels else ""
            if uri:
                yield Licence(uri, media_type, Source("Link", number))


def of_elements(links: Iterable[PageLink], base_url: str) -> Iterator[Licence]:
    """The licences in the ``link`` elements of a page."""
    number, resolve = 0, cache(partial(_absolute, base_url))
    for link in links:
        uri = resolve(link.target) if LICENCE in relations(link.rel) else ""
        if uri:
            number += 1
            media_type = link.media_type.strip().lower()
            yield Licence(uri, media_type, Source("link", number, link.line))


@dataclass(frozen=True, slots=True)
class PaymentRequired:
    """The terms in an answer 402 (Payment Required) for a page.

    Attributes:
        price: the text of ``crawler-price`` (Cloudflare's pay per crawl), such as ``USD 0.01``, at
            most 200 characters; empty if the answer names no price.
        licences: the licences in its Link fields.
    """

    price: str = ""
    licences: tuple[Licence, ...] = ()


def payment_of(prices: Sequence[bytes], links: Sequence[bytes], url: str) -> PaymentRequired:
    """The terms in the ``crawler-price`` and Link fields of an answer."""
    return PaymentRequired(excerpt(b", ".join(prices)), tuple(of_fields(links, url)))


def _absolute(base: str, reference: str) -> str:
    """A reference as an absolute http(s) URL; empty if it cannot be one."""
    try:
        uri = urljoin(base, reference.strip())
        parts = urlsplit(uri)
    except ValueError:
        return ""
    is_clean = not any(map(str.isspace, uri))
    return uri if parts.scheme in _SCHEMES and parts.netloc and is_clean else ""


def field_links(text: str) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """The links of one line: the target as written, the first `rel` and `type` in lower case."""
    at = 0
    while found := _TARGET.match(text, at):
        parameters: dict[str, str] = {}
        at = found.end()
        while parameter := _PARAMETER.match(text, at):
            name, quoted, bare = parameter.groups()
            value = _ESCAPE.sub(r"\1", quoted) if quoted is not None else bare or ""
            parameters.setdefault(name.lower(), value)
            at = parameter.end()
        rels = tuple(parameters.get("rel", "").lower().split())
        yield found[1].strip(), rels, parameters.get("type", "").lower()
        separator = _SEPARATOR.match(text, at)
        if separator is None:
            return
        at = separator.end()
