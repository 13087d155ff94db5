"""The files that a crawl fetches from each origin: robots.txt, and the files of extras.

All files use the same code. An `OriginFile` holds the differences: the path, the content and the
names of the stats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from scrapy_rep.protocol.access.events import Event, seen_whole
from scrapy_rep.protocol.access.origin import ROBOTS_TXT_PATH, Origin, origin_or_none


@dataclass(frozen=True, slots=True)
class OriginFile:
    """A file that each origin has at the same path.

    Attributes:
        path: its path.
        accept: the value of the Accept header.
        event_of: the final event of an answer, by its event, its header fields and its body.
        stat: the name of a stat of this file, by that of robots.txt.
    """

    path: str
    accept: str
    event_of: Callable[[Event, Mapping[str, str], bytes], Event] = lambda event, *_: event
    stat: Callable[[str], str] = lambda name: name


ROBOTS_TXT = OriginFile(ROBOTS_TXT_PATH, "text/plain,*/*;q=0.1", seen_whole)


def origin_at(uri: str, path: str) -> Origin | None:
    """The origin of a URI with exactly this path; None for other URIs."""
    origin = origin_or_none(uri)
    return origin if origin is not None and f"{origin}{path}" == uri else None
