"""Whether a body is complete, by how it ended (RFC 9112, 6.3 and 8; RFC 8446, 6.1).

A body without an announced length ends when its connection ends. If the connection breaks, the part
that arrived looks like a whole file, and its missing rules look like permissions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum

_RANGE = re.compile(r"bytes[ \t]+0-([0-9]{1,18})/([0-9]{1,18})", re.IGNORECASE)
_RANGES = "multipart/byteranges"


class Ending(Enum):
    """How a body ended; the value is for people."""

    FRAMED = "its length was reached, or its last chunk was seen"
    CLOSED = "the connection was closed in order"
    BROKEN = "the connection broke"
    UNKNOWN = "the connection ended, in order or not"


class Extent(Enum):
    """How much of a file a body contains."""

    WHOLE = "all of it"
    PART = "a part of it"
    DOUBTFUL = "all or a part of it: a second answer can tell"


_EXTENTS = {
    Ending.FRAMED: Extent.WHOLE,
    Ending.CLOSED: Extent.WHOLE,
    Ending.BROKEN: Extent.PART,
    Ending.UNKNOWN: Extent.DOUBTFUL,
}


def extent(body: bytes, ending: Ending) -> Extent:
    """How much of its file a body contains, given how it ended.

    An empty body that ends with its connection is not an empty file: a server that fails before the
    first octet ends the same way.
    """
    if not body and ending is not Ending.FRAMED:
        return Extent.PART
    return _EXTENTS[ending]


def extent_beside(first: bytes, second: bytes, ending: Ending) -> Extent:
    """How much of its file a second body contains, after a first with a doubtful end."""
    found = extent(second, ending)
    if found is not Extent.DOUBTFUL:
        return found
    return Extent.WHOLE if first == second else Extent.PART


def is_range(headers: Mapping[str, str]) -> bool:
    """Whether an answer with status 206 is a part of its file (RFC 9110, 15.3.7).

    If no field says so, the answer is read as the whole file. Names of `headers` are in lower case.
    """
    if headers.get("content-type", "").strip().lower().startswith(_RANGES):
        return True
    named = headers.get("content-range")
    found = _RANGE.fullmatch(named.strip()) if named is not None else None
    return named is not None and not (found and int(found[1]) + 1 == int(found[2]))
