"""Which sitemaps are fetched for an origin, and what the addresses in them become.

A sitemap has to be near enough, not one too many, and is fetched once.
"""

from __future__ import annotations

from enum import Enum
from typing import Any
from urllib.parse import urljoin

from scrapy import Request

from scrapy_rep.checks import HostScope
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import ConfigurationError, InvalidUri
from scrapy_rep.protocol.paths import path_of

_SCHEMES = ("http", "https")


def origin_of_site(site: str) -> Origin:
    """The origin of a site that the user names.

    Raises:
        ConfigurationError: it is no URL of a site.
    """
    origin = origin_of(site)
    if origin is None or origin.scheme not in _SCHEMES:
        raise ConfigurationError(
            f"sites: {site!r} is not a site; give URLs with a scheme, such as 'https://example.com'"
        )
    return origin


def origin_of(url: str) -> Origin | None:
    """The origin of a URL; None if robots.txt does not govern it."""
    try:
        return Origin.of(url)
    except InvalidUri:
        return None


def is_robots_txt(url: str) -> bool:
    """Whether a URL is that of a robots.txt, whatever fragment follows."""
    return path_of(url).partition("#")[0] == "/robots.txt"


def join(base: str, address: str) -> str:
    """An absolute URL; empty if the address is invalid."""
    address = address.strip()
    if address.startswith(("http://", "https://")):  # nearly all are absolute
        return address
    try:
        return urljoin(base, address)
    except ValueError:
        return ""


def web_request(url: str, **arguments: Any) -> Request | None:
    """A request for an http or https URL; None for any other, such as that of a local file."""
    try:
        request = Request(url, **arguments)
    except ValueError:
        return None
    origin = origin_of(request.url)
    return request if origin is not None and origin.scheme in _SCHEMES else None


class LeftOut(Enum):
    """Why a sitemap is not fetched; the value is for people."""

    REPEATED = "repeated"
    ANOTHER_HOST = "another-host"
    TOO_MANY = "too-many"
    INVALID = "invalid"
    DISALLOWED = "disallowed"
    UNREACHABLE = "unreachable"


class Seeding:
    """The sitemaps fetched so far, by origin; keeps at most `limit` hashes per origin.

    The limit also bounds the depth of index files: each level takes at least one sitemap.
    """

    def __init__(self, limit: int, scope: HostScope) -> None:
        self._limit = limit
        self._scope = scope
        self._asked: dict[Origin, set[int]] = {}  # hashes: URLs may be long

    def admit(self, origin: Origin, url: str) -> LeftOut | None:
        """Note that a sitemap is fetched, or return why it must not be."""
        asked = self._asked.setdefault(origin, set())
        key = hash(url)
        if key in asked:
            return LeftOut.REPEATED
        target = Origin.of(url)
        if target is None:
            return LeftOut.INVALID
        if not self._scope.holds(origin.host, target.host):
            return LeftOut.ANOTHER_HOST
        if len(asked) >= self._limit:
            return LeftOut.TOO_MANY
        asked.add(key)
        return None
