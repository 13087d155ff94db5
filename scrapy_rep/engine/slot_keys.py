"""Which slot of the downloader a request goes through."""

from __future__ import annotations

from scrapy import Request
from scrapy.utils.httpobj import urlparse_cached

from scrapy_rep.protocol.access.origin import Origin

SLOT = "download_slot"
"""Scrapy's meta key: the slot that was chosen, and once a request is there the one that it took."""


def slot_taken(request: Request) -> str:
    """The key of the slot that a request has come to; empty before that."""
    key: str = request.meta.get(SLOT, "")
    return key


def own_slot(request: Request) -> str | None:
    """The slot that was chosen for a request; None for that of its host."""
    own = request.meta.get(SLOT)
    return None if own is None else str(own)


def slot_key(request: Request) -> str:
    """The key of the slot that a request goes through: its host, unless another was chosen."""
    own = own_slot(request)
    return (urlparse_cached(request).hostname or "") if own is None else own


def slot_key_at(request: Request, origin: Origin) -> str:
    """The same for a request whose origin is known, without parsing its URL."""
    own = request.meta.get(SLOT)
    return origin.host if own is None else str(own)


def leave_inherited_slot(request: Request) -> None:
    """Send the target of a redirect through the slot of its own host.

    Scrapy copies meta to it, and with it the slot of the host that redirects (its issue 2141).
    """
    own = own_slot(request)
    if own is None:
        return
    request.meta[SLOT] = own  # as text: Scrapy keys slots by the value, we by its text
    hops = request.meta.get("redirect_urls")
    if not own or not hops or own == urlparse_cached(request).hostname:
        return
    if any(urlparse_cached(Request(hop)).hostname == own for hop in hops):
        del request.meta[SLOT]
