"""The files that a crawl fetches of each origin by exchanges: robots.txt, and tdmrep.json if asked.

All go through the same code. A file is a row: where it is, what it may be, and how it is counted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from scrapy_rep import stats
from scrapy_rep.protocol.access.events import Event, seen_with_body
from scrapy_rep.protocol.access.origin import ROBOTS_TXT_PATH, Origin
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.usage.categories import TDMREP_PATH


@dataclass(frozen=True, slots=True)
class OriginFile:
    """A file that each origin has at the same path.

    Attributes:
        path: its path.
        accept: the value of the Accept header.
        event_of: what an answer comes to, by its event, its Content-Type and its body.
        stat: the name of a stat of this file, by that of robots.txt.
    """

    path: str
    accept: str
    event_of: Callable[[Event, str, bytes], Event] = lambda event, *_: event
    stat: Callable[[str], str] = lambda name: name


ROBOTS_TXT = OriginFile(ROBOTS_TXT_PATH, "text/plain,*/*;q=0.1", seen_with_body)
TDMREP = OriginFile(TDMREP_PATH, "application/json,*/*;q=0.1", stat=stats.of_tdmrep)


def origin_at(uri: str, path: str) -> Origin | None:
    """The origin whose file at a path a URI is; None if it is another."""
    try:
        origin = Origin.of(uri)
    except InvalidUri:
        return None
    return origin if origin is not None and f"{origin}{path}" == uri else None
