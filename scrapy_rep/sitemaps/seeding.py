"""Which sitemaps are fetched for an origin: near enough, not too many, and each once."""

from __future__ import annotations

from enum import Enum

from scrapy_rep.checks import HostScope
from scrapy_rep.protocol.access.origin import Origin


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
