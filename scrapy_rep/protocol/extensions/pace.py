"""How fast, and when, a site asks to be visited: Crawl-delay, Request-rate and Visit-time.

None of them is part of RFC 9309, which lets crawlers read other records (2.2.4). Crawl-delay is
seconds between requests; Request-rate and Visit-time are those of the draft of a "Robot Exclusion
Standard 2.0" (1996), their windows in UTC. All cost O(1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from scrapy_rep.protocol.lines import Record
from scrapy_rep.protocol.units import DAY_SECONDS

from . import records
from .records import RequestRate, VisitTime, records_with

Value = TypeVar("Value")

_FOREVER = float("inf")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the group for a crawler asks for; None where it says nothing that can be read.

    Attributes:
        crawl_delay: seconds between requests, at least 0.
        request_rate: requests in seconds, perhaps in a part of the day.
        visit_time: the part of the day in which crawlers are welcome.
    """

    crawl_delay: float | None = None
    request_rate: RequestRate | None = None
    visit_time: VisitTime | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether a crawler may come as it likes: most files ask for nothing."""
        return not self.crawl_delay and self.request_rate is None and self.visit_time is None


Own = Callable[[Iterable[Record], bytes], Iterable[Record]]
"""Those of some records that a group holds, given the octets of its file."""


def asked_of(octets: bytes, own: Own) -> Asked:
    """What a group in the octets of a file asks for: the first valid value of each. Linear.

    It is searched for, as few files ask for anything: nearly all of this is three searches.
    """
    lowered = octets.lower()

    def first(name: bytes, read: Callable[[bytes], Value | None]) -> Value | None:
        for _, _, key, value in own(records_with(octets, lowered, name), octets):
            found = read(value) if key.lower() == name else None
            if found is not None:
                return found
        return None

    return Asked(
        first(b"crawl-delay", records.crawl_delay),
        first(b"request-rate", records.request_rate),
        first(b"visit-time", records.visit_time),
    )


class Excess(Enum):
    """What is done about a delay that is longer than the longest that the user waits for."""

    CAP = "cap"
    SKIP = "skip"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast an origin may be visited, for a while.

    Attributes:
        delay_seconds: the least time between two requests that the site is owed.
        holds_until: when something else may hold; POSIX seconds.
        asked_seconds: what the site asks for.
        excess: what was done about a delay that is too long; None if it is not.
    """

    delay_seconds: float = 0.0
    holds_until: float = _FOREVER
    asked_seconds: float = 0.0
    excess: Excess | None = None

    @property
    def is_skipped(self) -> bool:
        """Whether the origin should not be visited at all, since the delay is too long."""
        return self.excess is Excess.SKIP


# What is left of a delay that is too long, by the longest that the user waits for.
_LEFT: dict[Excess, Callable[[float], float]] = {
    Excess.CAP: lambda max_seconds: max_seconds,
    Excess.SKIP: lambda max_seconds: max_seconds,  # for what goes out all the same
    Excess.IGNORE: lambda _: 0.0,
}


def pace(asked: Asked, now: float, max_seconds: float, excess: Excess) -> Pace:
    """The pace of an origin at `now`, POSIX seconds.

    The Crawl-delay decides if there is one, also 0; otherwise the Request-rate in its window.
    """
    seconds, until = _delay(asked, now)
    if seconds <= max_seconds:
        return Pace(seconds, until, seconds)
    return Pace(_LEFT[excess](max_seconds), until, seconds, excess)


def _delay(asked: Asked, now: float) -> tuple[float, float]:
    """Seconds between requests, and until when."""
    if asked.crawl_delay is not None:
        return asked.crawl_delay, _FOREVER
    rate = asked.request_rate
    if rate is None:
        return 0.0, _FOREVER
    seconds = rate.seconds / rate.requests
    if rate.window is None:
        return seconds, _FOREVER
    opens_in, closes_in = _edges(rate.window, now)
    return (0.0, now + opens_in) if opens_in else (seconds, now + closes_in)


def opens_at(visit_time: VisitTime | None, now: float) -> float:
    """When an origin may be visited, POSIX seconds: `now` itself while its window is open."""
    return now if visit_time is None else now + _edges(visit_time, now)[0]


def _edges(window: VisitTime, now: float) -> tuple[float, float]:
    """In how many seconds a window opens, 0 while it is open, and closes next.

    It holds from the first instant of its first minute up to, not including, its last. One that
    starts when it stops is the whole day: a site that wants no visits would not write that.
    """
    second = now % DAY_SECONDS
    start = window.start_minute * 60 % DAY_SECONDS
    length = (window.stop_minute * 60 - start) % DAY_SECONDS
    if not length:
        return 0.0, _FOREVER
    since_start = (second - start) % DAY_SECONDS
    if since_start < length:
        return 0.0, length - since_start
    return DAY_SECONDS - since_start, DAY_SECONDS - since_start + length
