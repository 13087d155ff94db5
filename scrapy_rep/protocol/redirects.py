"""Where a redirected robots.txt is (RFC 9309, 2.3.1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urldefrag, urljoin

from .access import Event, Failure
from .errors import InvalidUri
from .origin import Origin

LEAST_HOPS = 5
"""How many redirects in a row the RFC has crawlers follow at least."""

_STATUSES = frozenset({301, 302, 303, 307, 308})
_SCHEMES = frozenset({"http", "https"})


def next_hop(
    asked: Sequence[str], status: int, location: bytes | None, *, limit: int
) -> str | Event:
    """What follows from an answer: the URI to ask next, or the event that the exchange ends in.

    Args:
        asked: the URIs asked so far, in order; the last is the one that answered.
        status: the answer's status code.
        location: its Location header, if it has one.
        limit: how many redirects are followed.
    """
    if status not in _STATUSES:
        return status
    target = _target(asked[-1], location or b"")
    if target is None:
        return Failure.REDIRECT_TARGET
    if target in asked:
        return Failure.REDIRECT_LOOP
    return target if len(asked) <= limit else Failure.REDIRECT_LIMIT


def _target(base: str, location: bytes) -> str | None:
    reference = location.decode("utf-8", "replace").strip()
    try:
        target = urldefrag(urljoin(base, reference))[0]
        origin = Origin.of(target)
    except (InvalidUri, ValueError):
        return None
    return target if reference and origin and origin.scheme in _SCHEMES else None
