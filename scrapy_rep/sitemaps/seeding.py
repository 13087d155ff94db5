"""The rules for fetching sitemaps: which sitemaps an origin may use, and how URLs become requests.

A sitemap must be on a permitted host and within the limit, and is fetched once.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import Any
from urllib.parse import urljoin

from scrapy import Request

from scrapy_rep.checks import HostScope
from scrapy_rep.protocol.access.origin import Origin, origin_or_none
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.extensions.sitemaps import Slip, sitemap_line
from scrapy_rep.protocol.paths import path_of
from scrapy_rep.signals import NAMED_BY

_SCHEMES = ("http", "https")
_USUAL = re.compile(r"https?://(?!https?[:;/])[^\s:;/]")


def origin_of_site(site: str) -> Origin:
    """The origin of a site URL given by the user.

    Raises:
        ConfigurationError: the text is not the URL of a site.
    """
    origin = origin_or_none(site)
    if origin is None or origin.scheme not in _SCHEMES:
        raise ConfigurationError(
            f"sites: {site!r} is not a site; give URLs with a scheme, such as 'https://example.com'"
        )
    return origin


def is_robots_txt(url: str) -> bool:
    """Whether a URL is that of a robots.txt, with or without a fragment."""
    return path_of(url).partition("#")[0] == "/robots.txt"


def join(base: str, address: str) -> str:
    """Resolve an address; empty if it is invalid."""
    address = address.strip()
    if address.startswith(("http://", "https://")):  # the usual case
        return address
    try:
        return urljoin(base, address)
    except ValueError:
        return ""


def urls_of(base: str, address: str) -> tuple[str, ...]:
    """The URLs of an address in a sitemap, usually one, repaired like a Sitemap line of robots.txt.

    Any other address is resolved, and may give an empty text.
    """
    address = address.strip()
    if not _USUAL.match(address):
        line = sitemap_line(address.encode("utf-8", "surrogatepass"), base)
        if line.uris and Slip.RELATIVE not in line.slips:
            return line.uris
    return (join(base, address),)


def web_request(url: str, named_by: Origin | str | None, **arguments: Any) -> Request | None:
    """A request for an http or https URL; None for other URLs, such as local files.

    `named_by` is the site that names the URL, so that the guard judges it; None for the user.
    """
    try:
        request = Request(url, **arguments)
    except ValueError:
        return None
    if named_by is not None:
        request.meta[NAMED_BY] = str(named_by)
    origin = origin_or_none(request.url)
    return request if origin is not None and origin.scheme in _SCHEMES else None


class LeftOut(Enum):
    """The reason why a sitemap is not fetched, in words."""

    REPEATED = "repeated"
    ANOTHER_HOST = "another-host"
    GUARDED = "guard"
    TOO_MANY = "too-many"
    INVALID = "invalid"
    DISALLOWED = "disallowed"
    UNREACHABLE = "unreachable"


class Seeding:
    """The sitemaps fetched so far, by origin; keeps at most `limit` hashes per origin.

    The limit also bounds the depth of index files, because each level takes at least one sitemap.
    """

    def __init__(self, limit: int, scope: HostScope) -> None:
        self._limit = limit
        self._scope = scope
        self._admitted: dict[Origin, set[int]] = {}  # hashes, because URLs may be long

    def admit(self, origin: Origin, url: str) -> LeftOut | None:
        """Note that a sitemap is fetched, or return the reason why it must not be."""
        admitted = self._admitted.setdefault(origin, set())
        key = hash(url)
        if key in admitted:
            return LeftOut.REPEATED
        target = Origin.of(url)
        if target is None:
            return LeftOut.INVALID
        if not self._scope.holds(origin.host, target.host):
            return LeftOut.ANOTHER_HOST
        if len(admitted) >= self._limit:
            return LeftOut.TOO_MANY
        admitted.add(key)
        return None
