"""How fast, and when, a site asks to be visited: Crawl-delay, Request-rate and Visit-time.

None of them is part of RFC 9309, which lets crawlers read other records (2.2.4). Crawl-delay is
seconds between requests; Request-rate and Visit-time are those of the draft of a "Robot Exclusion
Standard 2.0" (1996), their windows in UTC.

They belong to the user-agent lines directly above them. For these records alone, a run of such
lines ends at the first record of any kind::

    User-agent: a
    Crawl-delay: 5          for a
    User-agent: b
    Crawl-delay: 10         for b
    Disallow: /x            for both, as they are one group

To read a pace from a file is linear in its octets; all else costs O(1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum

from scrapy_rep.protocol.lines import Kind, Record, records
from scrapy_rep.protocol.units import DAY_SECONDS

from .records import RequestRate, VisitTime, crawl_delay, request_rate, visit_time

_CRAWL_DELAY, _REQUEST_RATE, _VISIT_TIME = b"crawl-delay", b"request-rate", b"visit-time"
PACE_KEYS = (_CRAWL_DELAY, _REQUEST_RATE, _VISIT_TIME)
"""The keys of these records, in lower case."""

_FOREVER = float("inf")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the user-agent lines for a crawler ask for; None where nothing can be read.

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


def pace_records(octets: bytes, is_named: Callable[[bytes], bool]) -> Iterator[Record]:
    """The records of a file that belong to user-agent lines of certain values, in file order."""
    lowered = octets.lower()
    if not any(key in lowered for key in PACE_KEYS):  # as in most files
        return
    is_run = is_ours = False
    for record in records(octets):
        _, kind, key, value = record
        if kind is Kind.USER_AGENT:
            is_ours = is_named(value) or (is_run and is_ours)
        elif is_ours and key.lower() in PACE_KEYS:
            yield record
        is_run = kind is Kind.USER_AGENT


def asked_of(octets: bytes, is_named: Callable[[bytes], bool]) -> Asked:
    """What user-agent lines of certain values ask for in a file.

    The largest valid Crawl-delay; the first valid value of the others.
    """
    values: dict[bytes, list[bytes]] = {key: [] for key in PACE_KEYS}
    for _, _, key, value in pace_records(octets, is_named):
        values[key.lower()].append(value)
    delays = [
        seconds for value in values[_CRAWL_DELAY] if (seconds := crawl_delay(value)) is not None
    ]
    rates = filter(None, map(request_rate, values[_REQUEST_RATE]))
    times = filter(None, map(visit_time, values[_VISIT_TIME]))
    return Asked(max(delays, default=None), next(rates, None), next(times, None))


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


def pace(asked: Asked, now: float, max_seconds: float, excess: Excess) -> Pace:
    """The pace of an origin at `now`, POSIX seconds.

    The Crawl-delay decides if there is one, also 0; otherwise the Request-rate in its window.
    """
    seconds, until = _delay(asked, now)
    if seconds <= max_seconds:
        return Pace(seconds, until, seconds)
    # Where the origin is skipped, some requests go out all the same.
    left_seconds = 0.0 if excess is Excess.IGNORE else max_seconds
    return Pace(left_seconds, until, seconds, excess)


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
