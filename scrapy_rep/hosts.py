"""Which hosts belong together."""

from __future__ import annotations

from enum import Enum
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tldextract import TLDExtract


class HostScope(Enum):
    """Which other hosts are near enough to a host: all, those of the same site, none."""

    ANY = "any"
    SAME_SITE = "same-site"
    SAME_HOST = "same-host"

    def holds(self, host: str, other: str) -> bool:
        """Whether the other host is near enough."""
        if self is HostScope.ANY or host == other:
            return True
        return self is HostScope.SAME_SITE and site_of(host) == site_of(other)


def site_of(host: str) -> str:
    """The registrable domain of a host, by the installed list: nothing is downloaded."""
    return _extract()(host).top_domain_under_public_suffix or host


@cache
def _extract() -> TLDExtract:
    from tldextract import TLDExtract

    return TLDExtract(suffix_list_urls=(), cache_dir=None)
