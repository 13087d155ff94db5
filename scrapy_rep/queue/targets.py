"""Where a request goes: which origin judges it, through which slot, and in which lane it waits."""

from __future__ import annotations

from contextlib import suppress
from hashlib import md5
from typing import NamedTuple

from scrapy import Request

from scrapy_rep.pace.downloader import SLOT, slot_key
from scrapy_rep.protocol.access.origin import Origin, origin_of
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.paths import is_robots_txt
from scrapy_rep.signals import is_exempt

_NAME_OCTETS = 255  # the longest name of a folder that file systems take
_CUT_OCTETS = 100  # longer names are cut to this


class Target(NamedTuple):
    """Where a request goes: the origin that judges it, the slot it takes, the lane it waits in.

    The name of the lane is written to disk, and tells the other two.
    """

    origin: Origin | None
    key: str
    name: str

    @classmethod
    def of(cls, origin: Origin | None, key: str) -> Target:
        """Where the requests of an origin and a slot go; None for requests that nothing judges."""
        return cls(origin, key, f"{origin or ''} {key}")


def target_of(request: Request) -> Target:
    """Where a request goes."""
    origin = None
    if not is_exempt(request) and not is_robots_txt(request.url):
        with suppress(InvalidUri):
            origin = origin_of(request.url)
    is_usual = origin is not None and SLOT not in request.meta
    return Target.of(origin, origin.host if origin and is_usual else slot_key(request))


def target_named(name: str) -> Target:
    """The target of a lane by its name; Scrapy's queue has only names of slots."""
    text, space, key = name.partition(" ")
    if space and not text:
        return Target(None, key, name)
    with suppress(InvalidUri):
        origin = Origin.of(text)
        if space and str(origin) == text:
            return Target(origin, key, name)
    return Target(None, name, name)


def folder_of(name: str) -> str:
    """The folder of a lane, named as Scrapy names that of a slot, so that its own queue finds it.

    Only a name that is too long for file systems is cut; Scrapy's queue does not find that one.
    """
    safe = "".join(c if c.isalnum() or c in "-._" else "_" for c in name)
    mark = f"-{md5(name.encode(), usedforsecurity=False).hexdigest()}"
    octets = safe.encode()
    if len(octets) + len(mark) > _NAME_OCTETS:
        safe = octets[:_CUT_OCTETS].decode(errors="ignore")
    return safe + mark
