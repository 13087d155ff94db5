"""Where redirects of our files may lead: `REP_REDIRECT_GUARD`."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.utils.asyncio import run_in_thread

from scrapy_rep.checks import site_of
from scrapy_rep.engine.loops import within
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.guard import Guard, is_public_address
from scrapy_rep.protocol.access.origin import Origin

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_rep.settings import RepSettings


def as_requested(uri: str) -> str:
    """A URI as Scrapy requests it, which is what guards have to judge.

    Empty if Scrapy would send it to another origin than the URI names, or to none.
    """
    try:
        requested = Request(uri).url
        return requested if Origin.of(requested) == Origin.of(uri) else ""
    except ValueError:  # InvalidUri is one
        return ""


async def refusal_of(settings: RepSettings, origin: Origin, uri: str) -> Failure | None:
    """Why a file of an origin is not fetched from where a redirect leads; None if it may be."""
    target = Origin.of(uri)  # None for an empty one
    guard = settings.redirect_guard
    if target is None:
        return Failure.GUARD
    if guard is Guard.ANY or target.host == origin.host:
        return None
    if guard is Guard.SAME_SITE:
        return None if site_of(target.host) == site_of(origin.host) else Failure.GUARD
    try:
        looking = run_in_thread(socket.getaddrinfo, target.host, target.port)
        found = await within(settings.fetch_timeout_seconds, looking)
    except (OSError, UnicodeError):  # the time limit too
        return Failure.DNS
    addresses = {str(address[4][0]) for address in found}
    is_public = bool(addresses) and all(map(is_public_address, addresses))
    return None if is_public else Failure.GUARD


def is_led_astray(settings: RepSettings, origin: Origin, uri: str, response: Response) -> bool:
    """Whether an answer came from an address that the guard refuses.

    A name may resolve to another address by the time of the request. Through a proxy, the address
    is the proxy's, which may be any.
    """
    if settings.redirect_guard is not Guard.PUBLIC or response.ip_address is None:
        return False
    target = Origin.of(uri)
    if target is None or target.host == origin.host:
        return False
    if response.request is not None and response.request.meta.get("proxy"):
        return False
    return not is_public_address(str(response.ip_address))
