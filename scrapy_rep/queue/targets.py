"""The target of a request: the origin that judges it, its slot, and the lane where it waits."""

from __future__ import annotations

from hashlib import md5
from typing import NamedTuple

from scrapy import Request

from scrapy_rep.engine.downloader import SLOT, slot_key
from scrapy_rep.protocol.access.origin import Origin, origin_or_none
from scrapy_rep.protocol.paths import is_robots_txt
from scrapy_rep.signals import is_exempt

_NAME_OCTETS = 255  # the longest folder name that file systems allow
_CUT_OCTETS = 100  # longer names are cut to this


class Target(NamedTuple):
    """The origin that judges a request, the slot that it takes, and the lane where it waits.

    An origin of None means that no robots.txt judges it. The name of the lane is written to disk;
    the origin and the slot can be read from it.
    """

    origin: Origin | None
    key: str
    name: str


def target_of(request: Request) -> Target:
    """The target of a request."""
    is_free = is_exempt(request) or is_robots_txt(request.url)
    origin = None if is_free else origin_or_none(request.url)
    is_usual = origin is not None and SLOT not in request.meta
    key = origin.host if origin and is_usual else slot_key(request)
    return Target(origin, key, f"{origin or ''} {key}")


def target_named(name: str) -> Target:
    """The target of a lane by its name, which is only a slot in folders of Scrapy's queue."""
    text, space, key = name.partition(" ")
    if space and not text:
        return Target(None, key, name)
    origin = origin_or_none(text)
    return Target(origin, key, name) if space and str(origin) == text else Target(None, name, name)


def folder_of(name: str) -> str:
    """The folder name of a lane, in Scrapy's format for slots, so that Scrapy's queue finds it.

    A name that is too long for file systems is cut, and Scrapy's queue does not find it.
    """
    safe = "".join(c if c.isalnum() or c in "-._" else "_" for c in name)
    mark = f"-{md5(name.encode(), usedforsecurity=False).hexdigest()}"
    octets = safe.encode()
    if len(octets) + len(mark) > _NAME_OCTETS:
        safe = octets[:_CUT_OCTETS].decode(errors="ignore")
    return safe + mark
