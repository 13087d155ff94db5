"""Where a request goes: which origin judges it, through which slot, in which line it waits."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from hashlib import md5
from typing import NamedTuple

from scrapy import Request

from .middleware import is_exempt
from .protocol.errors import InvalidUri
from .protocol.origin import Origin
from .slots import own_slot, slot_key

_BASE_CHARACTERS = 1000  # of what is kept: a longer origin has no robots.txt that could be had
_FOLDER_CHARACTERS = 100  # names of folders are bounded, those of hosts nearly are not


class Target(NamedTuple):
    """Where a request goes: whose robots.txt judges it, if any, through which slot, in which line.

    The name of the line is what is written to disk, and tells the other two.
    """

    origin: Origin | None
    key: str
    name: str

    @classmethod
    def of(cls, origin: Origin | None, key: str) -> Target:
        """Where requests of an origin go that have a slot; None for those that nobody judges."""
        return cls(origin, key, f"{origin or ''} {key}")


def base_of(request: Request) -> str:
    """What a request's URL begins with, up to the path; empty if that does not say where it goes.

    Few origins make most requests, and this is all that needs to be looked at then.
    """
    url = request.url
    base = url[: url.find("/", 8) + 1]  # the third slash
    is_odd = (
        len(base) > _BASE_CHARACTERS
        or own_slot(request) is not None
        or is_exempt(request)
        or (url.endswith("/robots.txt") and url == f"{base}robots.txt")
    )
    return "" if is_odd else base


def target_of(request: Request, base: str) -> Target:
    """Where a request goes; `base` is what `base_of` says of it."""
    if base:
        target = _target_from(base)
        if target.origin is not None:
            return target
    origin = None
    if not is_exempt(request):
        with suppress(InvalidUri):
            origin = Origin.of(request.url)
    if origin is not None and request.url == origin.robots_txt_uri:
        origin = None
    return Target.of(origin, slot_key(request))


@lru_cache(maxsize=1 << 10)
def _target_from(base: str) -> Target:
    """Where requests go whose URLs begin like this."""
    with suppress(InvalidUri):
        origin = Origin.of(base)
        return Target.of(origin, "" if origin is None else origin.host)
    return Target.of(None, "")


def target_named(name: str) -> Target:
    """That of a line by its name; Scrapy's queue has names of slots alone."""
    text, space, key = name.partition(" ")
    if space and not text:
        return Target(None, key, name)
    with suppress(InvalidUri):
        origin = Origin.of(text)
        if space and str(origin) == text:
            return Target(origin, key, name)
    return Target(None, name, name)


def folder_of(name: str) -> str:
    """The folder of a line: as Scrapy makes it of a slot, but not too long for file systems."""
    safe = "".join(c if c.isalnum() or c in "-._" else "_" for c in name)
    if " " in name:
        safe = safe[:_FOLDER_CHARACTERS]
    return f"{safe}-{md5(name.encode(), usedforsecurity=False).hexdigest()}"
