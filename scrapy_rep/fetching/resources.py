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
class Resource:
    """A file that each origin has at the same path.

    Attributes:
        path: its path.
        accept: the value of the Accept header.
        requests: counts fetches, redirects apart.
        responses: counts answers.
        status: counts answers by status.
        exceptions: counts failures by exception.
        access: counts fetches by access result.
        event: counts fetches by what happened.
        store_hit: counts what was found in the store.
        event_of: what an answer comes to, by its event, its Content-Type and its body.
    """

    path: str
    accept: str
    requests: str
    responses: str
    status: str
    exceptions: str
    access: str
    event: str
    store_hit: str
    event_of: Callable[[Event, str, bytes], Event] = lambda event, *_: event


ROBOTS_TXT = Resource(
    ROBOTS_TXT_PATH,
    "text/plain,*/*;q=0.1",
    requests=stats.REQUESTS,
    responses=stats.RESPONSES,
    status=stats.RESPONSE_STATUS,
    exceptions=stats.EXCEPTIONS,
    access=stats.ACCESS,
    event=stats.EVENT,
    store_hit=stats.STORE_HIT,
    event_of=seen_with_body,
)
TDMREP = Resource(
    TDMREP_PATH,
    "application/json,*/*;q=0.1",
    requests=stats.TDMREP_REQUESTS,
    responses=stats.TDMREP_RESPONSES,
    status=stats.TDMREP_STATUS,
    exceptions=stats.TDMREP_EXCEPTIONS,
    access=stats.TDMREP_ACCESS,
    event=stats.TDMREP_EVENT,
    store_hit=stats.TDMREP_STORE_HIT,
)


def origin_at(uri: str, path: str) -> Origin | None:
    """The origin whose file at a path a URI is; None if it is another."""
    try:
        origin = Origin.of(uri)
    except InvalidUri:
        return None
    return origin if origin is not None and f"{origin}{path}" == uri else None
