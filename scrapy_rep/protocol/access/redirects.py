"""Where a redirected robots.txt is (RFC 9309, 2.3.1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urldefrag, urljoin, urlsplit, urlunsplit

from scrapy_rep.protocol.errors import InvalidUri

from .events import Event, Failure
from .origin import Origin, has_clear_authority

LEAST_HOPS = 5
"""How many redirects in a row the RFC has crawlers follow at least."""

REDIRECT_STATUSES = (301, 302, 303, 307, 308)
"""The statuses that lead elsewhere, if a Location says where."""
FOLLOWED = frozenset({"3xx", *map(str, REDIRECT_STATUSES)})
"""Classes of events that an exchange never ends in, as users would name them: it goes on."""
_SCHEMES = frozenset({"http", "https"})


def next_hop(
    asked: Sequence[str], status: int, location: bytes | None, *, limit: int, cookies_at: int = 0
) -> str | Event:
    """What follows from an answer: the URI to ask next, or the event that the exchange ends in.

    Args:
        asked: the URIs asked so far, in order; the last is the one that answered.
        status: the answer's status code.
        location: its Location header, if it has one.
        limit: how many redirects are followed.
        cookies_at: how many of the URIs had been asked when a cookie was set last: since then, they
            may answer otherwise.
    """
    if status not in REDIRECT_STATUSES:
        return status
    reference = (location or b"").decode("utf-8", "replace").strip()
    if not has_clear_authority(reference):
        return Failure.GUARD  # written so that two clients find two hosts
    target = _target(asked[-1], reference)
    if target is None:
        return Failure.REDIRECT_TARGET
    if target in asked[cookies_at:]:
        return Failure.REDIRECT_LOOP
    return target if len(asked) <= limit else Failure.REDIRECT_LIMIT


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
    """What to ask: credentials that a site writes into a redirect are not sent to anybody."""
    parts = urlsplit(uri)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))
