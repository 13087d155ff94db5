"""Read Sitemap lines as absolute URIs (sitemaps.org; other records in RFC 9309, 2.2.4).

The lines of one file are read until they have taken `SITEMAP_STEPS`: a plain absolute URI takes one
step, and any other value `_ODD_STEPS`, since it must be resolved.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import lru_cache
from heapq import merge
from operator import itemgetter
from typing import NamedTuple
from urllib.parse import urljoin

from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.lines import SITEMAP_KEYS, Kind

from .records import records_with

SITEMAP_STEPS = 20_000
"""The most Sitemap lines of a file that are read; fewer if they are no plain URIs."""

_ODD_STEPS = 10
_SCHEMES = ("http", "https")

# Characters that word processors and web pages leave around a value, but no URI contains: Unicode's
# white space, zero-width marks, and the no-break space of Latin-1, which is not UTF-8.
_AROUND = (
    " \t\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008"
    "\u2009\u200a\u200b\u2028\u2029\u202f\u205f\u2060\u3000\ufeff\udca0"
)
# Matches most values, and only such values as `urljoin` does not change.
_PLAIN = re.compile(
    rb"https?://(?!https?/)[a-z0-9.-]+/[A-Za-z0-9/._~%+,=&-]*(?:\?[A-Za-z0-9/._~%+,=&-]+)?"
)
_QUOTES = {('"', '"'), ("'", "'"), ("<", ">"), ("\u201c", "\u201d"), ("\u2018", "\u2019")}
_ENDING = r"\.(?:xml|txt|gz|rss|atom|php|html?|aspx?|ashx|axd|jsp)"
_QUOTE = r"""["'<\u201c\u2018]?"""
# The text between several absolute URIs; empty if the one before ends as sitemaps do.
_BETWEEN = re.compile(
    rf"(?:(?<![\s,;|])[\s,;|]+|(?<=\.xml)|(?<=\.txt)|(?<=\.gz))(?={_QUOTE}https?://)", re.IGNORECASE
)
_ABSOLUTE = re.compile(rf"{_QUOTE}https?://", re.IGNORECASE)
_WHOLE = re.compile(r"https?://(?![\s:;/]|https?[\s:;/]|$)", re.IGNORECASE)
# Beginnings that are almost that of an absolute URI: https:/, https//, https://https://, ://
_BROKEN = re.compile(r"(?:(?:(https?)\s*(?:[:;]|//)|[:;])[\s:;/]*)+", re.IGNORECASE)
_MISWRITTEN = re.compile(r"(?!https?:///)[^\w/.?#]*(?:https?\s*(?:[:;]|//)|[:;])", re.IGNORECASE)
# Markup, templates and quotes that are not closed.
_NO_URI = re.compile(r"""[<>{}"\u201c\u201d]""")
_HOST = re.compile(r"([\w-]+(?:\.[\w-]+)*)(:\d{1,5})?(?=[/?#]|$)")
_FILE_NAME = re.compile(rf".*{_ENDING}", re.IGNORECASE)  # may look like a host
_FILE = re.compile(rf"{_ENDING}(?![\w.])", re.IGNORECASE)
_NOT_UTF8 = re.compile("[\udc80-\udcff]")


def sitemap_values(octets: bytes) -> Iterator[bytes]:
    """The values of the Sitemap lines in the octets of a file, in order; linear."""
    lowered = octets.lower()
    found = (records_with(octets, lowered, word) for word in SITEMAP_KEYS)
    last = -1
    for offset, kind, _, value in merge(*found, key=itemgetter(0)):
        if kind is Kind.SITEMAP and offset != last:  # a line may contain both words
            last = offset
            yield value


def sitemap_uris(values: Iterable[bytes], robots_txt: str) -> tuple[str, ...]:
    """The values as absolute http(s) URIs, in order, each once; other values are dropped.

    `robots_txt` is the base URI of relative values; without it they are dropped. Octets that are
    not UTF-8 are percent-encoded: the server knows their meaning.
    """
    return tuple(dict.fromkeys(uri for _, line in _lines(values, robots_txt) for uri in line.uris))


def invalid_sitemaps(values: Iterable[bytes], robots_txt: str) -> tuple[str, ...]:
    """The values that name no http(s) URI for certain, each once; without empty ones."""
    found = (value for value, line in _lines(values, robots_txt) if value and not line.uris)
    return tuple(dict.fromkeys(map(_text, found)))


def _lines(values: Iterable[bytes], robots_txt: str) -> Iterator[tuple[bytes, SitemapLine]]:
    """Each value once with its content, in order, as far as the steps go."""
    left, seen = SITEMAP_STEPS, set[bytes]()
    for value in values:
        is_new = value not in seen
        left -= _ODD_STEPS if is_new and not _PLAIN.fullmatch(value) else 1
        if left < 0:
            return
        if is_new:
            seen.add(value)
            yield value, sitemap_line(value, robots_txt)


class Slip(Enum):
    """A difference between a Sitemap value and an absolute URI that is tolerated."""

    QUOTED = "it is in quotes or angle brackets"
    SEVERAL = "it contains several"
    NO_SCHEME = "it begins with the host"
    BROKEN_SCHEME = "its scheme is broken"
    RELATIVE = "it is relative"


class SitemapLine(NamedTuple):
    """The content of one Sitemap line.

    Attributes:
        uris: absolute http(s) URIs.
        slips: the differences from an absolute URI, each once.
    """

    uris: tuple[str, ...]
    slips: tuple[Slip, ...] = ()


def sitemap_line(value: bytes, robots_txt: str) -> SitemapLine:
    """Read the value of one Sitemap line, given the file's URI, which may be empty. Linear."""
    if _PLAIN.fullmatch(value):
        return SitemapLine((value.decode("ascii"),))
    text = _text(value)
    bare = _without_quotes(text)
    slips = dict.fromkeys([Slip.QUOTED] if bare != text else [])
    pieces = [piece.strip(f"{_AROUND},") for piece in _BETWEEN.split(bare)]
    if len(pieces) > 1 and all(map(_ABSOLUTE.match, pieces)):
        slips[Slip.SEVERAL] = None
    else:
        pieces = [bare]
    uris: dict[str, None] = {}
    for piece in pieces:
        bare = _without_quotes(piece)
        if bare != piece:
            slips[Slip.QUOTED] = None
        uri, slip = _read(bare, robots_txt)
        if uri is not None:
            uris[uri] = None
        if slip is not None:
            slips[slip] = None
    return SitemapLine(tuple(uris), tuple(slips) if uris else ())


def _without_quotes(text: str) -> str:
    within = text[1:-1]
    if (text[:1], text[-1:]) in _QUOTES and text[0] not in within and text[-1] not in within:
        return within.strip(_AROUND)
    return text


def _read(text: str, robots_txt: str) -> tuple[str | None, Slip | None]:
    """The URI that a value means for certain, and the slip in it.

    Without a whole scheme, that is a URI of the same site, or a path.
    """
    if _NO_URI.search(text):
        return None, None
    if not _WHOLE.match(text):
        broken = _BROKEN.match(text)
        rest = text[broken.end() :] if broken else text
        host = _HOST.match(rest)
        scheme = (broken and broken[1]) or robots_txt.partition(":")[0]
        if host and robots_txt and _named(f"{scheme}://{host[1]}") == _named(robots_txt):
            slip = Slip.BROKEN_SCHEME if broken else Slip.NO_SCHEME
            return None if _is_divided(rest) else _resolved(f"{scheme}://{rest}", ""), slip
        is_path = rest and not _MISWRITTEN.match(text) and not (host and _is_another(host))
        if not is_path or len(text.split()) > 1:
            return None, None
    elif _is_divided(text):
        return None, None
    uri = _resolved(text, robots_txt)
    return uri, None if uri is None or _resolved(text, "") is not None else Slip.RELATIVE


def _is_divided(uri: str) -> bool:
    """Whether an absolute URI seems to end before a blank, and not at the end of the value.

    A blank belongs to the file's name in ``https://example.com/site map.xml``, but perhaps not in
    ``https://example.com/sitemap.xml (main)``.
    """
    *words, last = uri.split()
    is_name = not any(map(_FILE.search, words)) and _FILE.search(last) and last[0] != "/"
    return bool(words) and not is_name


@lru_cache(maxsize=2)  # one is that of the file
def _named(uri: str) -> str | None:
    """The host of a URI without ``www.``; None without a host."""
    try:
        origin = Origin.of(uri)
    except InvalidUri:
        return None
    return None if origin is None else origin.host.removeprefix("www.")


def _is_another(host: re.Match[str]) -> bool:
    """Whether a value without a scheme begins like a host, not like a file or a folder.

    ``www.example.org``, ``example.org/s.xml``, ``localhost:80/s.xml``; but ``s.xml``,
    ``index.php/s.xml`` and ``v1.0/s.xml`` are paths.
    """
    name, port = host.groups()
    labels = name.lower().split(".")
    if port or (labels[0] == "www" and len(labels) > 1):
        return True
    is_domain = len(labels) > 1 and len(labels[-1]) > 1 and not labels[-1][0].isdigit()
    return is_domain and not _FILE_NAME.fullmatch(name) and host.string[host.end() :][:1] == "/"


def absolute_uri(value: bytes, base: str) -> str | None:
    """A value as an absolute http(s) URI with a valid origin; None if it is not one."""
    if _PLAIN.fullmatch(value):
        return value.decode("ascii")
    return _resolved(_text(value), base)


def _text(value: bytes) -> str:
    return _NOT_UTF8.sub(_escaped, value.decode("utf-8", "surrogateescape").strip(_AROUND))


def _resolved(text: str, base: str) -> str | None:
    if not text:
        return None
    try:
        uri = urljoin(base, text)
        origin = Origin.of(uri)
    except (ValueError, InvalidUri):
        return None
    return uri if origin is not None and origin.scheme in _SCHEMES else None


def _escaped(found: re.Match[str]) -> str:
    return f"%{ord(found[0]) & 0xFF:02X}"
