"""Where a request goes: which origin judges it, through which slot, and in which lane it waits."""

from __future__ import annotations

from contextlib import suppress
from functools import lru_cache
from hashlib import md5
from typing import NamedTuple

from scrapy import Request

from scrapy_rep.engine.origins import origin_from
from scrapy_rep.meta import EXEMPT, is_exempt
from scrapy_rep.pace.downloader import SLOT, slot_key
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.paths import is_robots_txt

_BASE_CHARACTERS = 1000  # longer ones are not kept: no host has such a name
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


def base_of(request: Request) -> str:
    """What a request's URL begins with, up to the path; empty if that does not say where it goes.

    Most requests share their beginning with others, and then need no further look.
    """
    url = request.url
    base = url[: url.find("/", 8) + 1]  # the third slash
    meta = request.meta
    if len(base) > _BASE_CHARACTERS or is_robots_txt(url):
        return ""
    if meta and (meta.get(SLOT) is not None or (EXEMPT in meta and is_exempt(request))):
        return ""
    return base


def target_of(request: Request, base: str) -> Target:
    """Where a request goes; `base` is the result of `base_of`."""
    if base:
        target = _target_from(base)
        if target.origin is not None:
            return target
    origin = None
    if not is_exempt(request):
        with suppress(InvalidUri):
            origin = Origin.of(request.url)
    if origin is not None and is_robots_txt(request.url):
        origin = None
    return Target.of(origin, slot_key(request))


@lru_cache(maxsize=1 << 10)
def _target_from(base: str) -> Target:
    """Where requests go if their URLs begin like this."""
    origin = origin_from(base)  # which the middleware asks for next
    if origin is None:
        return Target.of(None, "")
    host = origin.host
    is_plain = base == f"{origin.scheme}://{host}/"  # then the text of the origin is there already
    return Target(origin, host, f"{base[:-1] if is_plain else origin} {host}")


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
    safe, mark = _safe(name), _mark(name)
    octets = safe.encode()
    if len(octets) + len(mark) > _NAME_OCTETS:
        safe = octets[:_CUT_OCTETS].decode(errors="ignore")
    return safe + mark


def _safe(name: str) -> str:
    return "".join(c if c.isalnum() or c in "-._" else "_" for c in name)


def _mark(name: str) -> str:
    return f"-{md5(name.encode(), usedforsecurity=False).hexdigest()}"
