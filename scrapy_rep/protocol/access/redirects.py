"""Follow redirects of robots.txt (RFC 9309, 2.3.1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urldefrag, urljoin, urlsplit, urlunsplit

from scrapy_rep.protocol.errors import InvalidUri

from .events import Event, Failure
from .origin import Origin, has_clear_authority

LEAST_HOPS = 5
"""The number of redirects in a row that crawlers should follow at least, by the RFC."""

REDIRECT_STATUSES = (300, 301, 302, 303, 307, 308)
"""The statuses that redirect, if there is a Location."""
FOLLOWED = frozenset({"3xx", *map(str, REDIRECT_STATUSES)})
"""Classes of events, named as in overrides, that never end a file fetch, since it follows them."""
_SCHEMES = frozenset({"http", "https"})


def next_hop(
    fetched: Sequence[str], status: int, location: bytes | None, *, limit: int, cookies_at: int = 0
) -> str | Event:
    """The next URI to fetch, or the event that ends the file fetch.

    Args:
        fetched: the URIs fetched so far, in order; the last one answered.
        status: the answer's status code.
        location: its Location header, if it has one.
        limit: how many redirects are followed.
        cookies_at: how many of the URIs had been fetched when a cookie was last set. A fetch with
            that cookie may be answered differently, so it is not a loop.
    """
    if status not in REDIRECT_STATUSES:
        return status
    reference = (location or b"").decode("utf-8", "replace").strip()
    if not has_clear_authority(reference):
        return Failure.GUARD  # two clients would find two hosts
    target = _target(fetched[-1], reference)
    if target is None:
        return Failure.REDIRECT_TARGET
    if target in fetched[cookies_at:]:
        return Failure.REDIRECT_LOOP
    return target if len(fetched) <= limit else Failure.REDIRECT_LIMIT


def _target(base: str, reference: str) -> str | None:
    try:
        target = urldefrag(urljoin(base, reference))[0]
        origin = Origin.of(target)
    except (InvalidUri, ValueError):
        return None
    if not reference or origin is None or origin.scheme not in _SCHEMES:
        return None
    return _without_userinfo(target)


def _without_userinfo(uri: str) -> str:
    """A URI without credentials: a crawl never sends credentials from a redirect."""
    parts = urlsplit(uri)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
