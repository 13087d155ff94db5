"""The origins of URLs, remembered by what stands before the path: most requests share that.

``https://example.com/a?b`` begins with ``https://example.com/``. Its origin depends on nothing
else, unless the URL holds control characters or ends in a blank: the whole URL is checked for them.
"""

from __future__ import annotations

from functools import lru_cache

from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri

_BASE_CHARACTERS = 300  # no host is longer than 253; a longer beginning has userinfo, say
_BASES = 1 << 12  # about 2 MB of origins
_HOST_AT = len("https://")


def known_origin(url: str) -> Origin | None:
    """The origin of a usual URL; None for every other, for which `Origin.of` has to decide.

    It costs a tenth of `Origin.of` if the base was seen before (`benchmarks/warm.py`).
    """
    base = url[: url.find("/", _HOST_AT) + 1]  # up to the path; empty without one
    if not base or len(base) > _BASE_CHARACTERS or not url.isprintable() or url[-1] == " ":
        return None
    return origin_from(base)


@lru_cache(maxsize=_BASES)
def origin_from(base: str) -> Origin | None:
    """The origin of the URLs that begin like this; None if that takes a look at the whole URL."""
    try:
        return Origin.of(base)
    except InvalidUri:
        return None


def origin_of(url: str) -> Origin | None:
    """The origin of a URL, like `Origin.of`.

    Raises:
        InvalidUri: the URL names no clear origin.
    """
    return known_origin(url) or Origin.of(url)
