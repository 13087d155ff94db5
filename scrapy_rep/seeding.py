"""Which sitemaps are asked for on behalf of an origin: near enough, not too many, each once."""

from __future__ import annotations

from enum import Enum

from .hosts import HostScope
from .protocol.origin import Origin


class LeftOut(Enum):
    """Why a sitemap is not asked for; the value is said to people."""

    REPEATED = "repeated"
    ANOTHER_HOST = "another-host"
    TOO_MANY = "too-many"
    INVALID = "invalid"


class Seeding:
    """The sitemaps asked for so far, by origin; memory is that of `limit` numbers for each at most.

    The limit bounds the depth of index files too: each level takes one of the sitemaps at least.
    """

    def __init__(self, limit: int, scope: HostScope) -> None:
        self._limit = limit
        self._scope = scope
        self._asked: dict[Origin, set[int]] = {}  # hashes: URLs may be long

    def admit(self, origin: Origin, url: str) -> LeftOut | None:
        """Take note that a sitemap is asked for; or say why it is not to be."""
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
