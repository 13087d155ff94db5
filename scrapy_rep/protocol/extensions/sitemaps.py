"""Sitemap lines as absolute URIs (sitemaps.org; RFC 9309, 2.2.4 names them as other records)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from urllib.parse import urljoin

from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.lines import SITEMAP_KEYS, Kind

from .records import records_with

_SCHEMES = ("http", "https")

# What word processors and web pages leave around a value, and no URI holds: the white space of
# Unicode, marks of no width, and the no-break space of Latin-1, which is no UTF-8.
_AROUND = (
    " \t\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff\udca0"
)
# Most values, and among them only those that `urljoin` gives back as they are.
_PLAIN = re.compile(rb"https?://[a-z0-9.-]+/[A-Za-z0-9/._~%+,=&-]*(?:\?[A-Za-z0-9/._~%+,=&-]+)?")
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


def sitemap_values(octets: bytes) -> Iterator[bytes]:
    """The values of the Sitemap lines in the octets of a file, in order; linear."""
    lowered = octets.lower()
    found = {
        offset: value
        for word in SITEMAP_KEYS
        for offset, kind, _, value in records_with(octets, lowered, word)
        if kind is Kind.SITEMAP
    }
    return map(found.__getitem__, sorted(found))


def sitemap_uris(values: Iterable[bytes], robots_txt: str) -> tuple[str, ...]:
    """The values as absolute http(s) URIs, in order, each once; others are left out.

    `robots_txt` is the URI against which relative values are resolved; where it is empty they are
    left out. Octets that are no UTF-8 are percent-encoded: the server knows what they mean.
    """
    uris = (sitemap_uri(value, robots_txt) for value in values)
    return tuple(dict.fromkeys(uri for uri in uris if uri))


def sitemap_uri(value: bytes, robots_txt: str) -> str | None:
    """One value as an absolute http(s) URI with a valid origin; None if it is not one."""
    if _PLAIN.fullmatch(value):
        return value.decode("ascii")
    text = value.decode("utf-8", "surrogateescape").strip(_AROUND)
    text = _NOT_UTF8.sub(_escaped, text)
    if not text:
        return None
    try:
        uri = urljoin(robots_txt, text)
        origin = Origin.of(uri)
    except (ValueError, InvalidUri):
        return None
    return uri if origin is not None and origin.scheme in _SCHEMES else None


def _escaped(found: re.Match[str]) -> str:
    return f"%{ord(found[0]) & 0xFF:02X}"
