"""The pace that a site requests: Crawl-delay, Request-rate and Visit-time.

None of them is part of RFC 9309, which lets crawlers read other records (2.2.4). Crawl-delay is
seconds between requests. Request-rate and Visit-time come from the draft of a "Robot Exclusion
Standard 2.0" (1996); their windows are in UTC.

These records belong to the user-agent lines directly above them. For these records only, a run of
user-agent lines ends at the first record of any other kind::

    User-agent: a
    Crawl-delay: 5          for a
    User-agent: b
    Crawl-delay: 10         for b
    Disallow: /x            for both, which form one group

Reading the pace from a file is linear in its octets; the rest costs O(1).
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
"""The keys of these records in lower case."""

_FOREVER = float("inf")


@dataclass(frozen=True, slots=True)
class SitePace:
    """The pace in the user-agent lines for a crawler; None for missing and unreadable values.

    Attributes:
        crawl_delay: seconds between requests, at least 0.
        request_rate: requests per time, perhaps only in a part of the day.
        visit_time: the part of the day in which crawlers are welcome.
    """

    crawl_delay: float | None = None
    request_rate: RequestRate | None = None
    visit_time: VisitTime | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether no pace is requested, as in most files."""
        return not self.crawl_delay and self.request_rate is None and self.visit_time is None


def pace_records(octets: bytes, is_named: Callable[[bytes], bool]) -> Iterator[Record]:
    """The pace records that belong to the named user-agent lines, in file order."""
    lowered = octets.lower()
    if not any(key in lowered for key in PACE_KEYS):  # most files
        return
    is_run = is_ours = False
    for record in records(octets):
        _, kind, key, value = record
        if kind is Kind.USER_AGENT:
            is_ours = is_named(value) or (is_run and is_ours)
        elif is_ours and key.lower() in PACE_KEYS:
            yield record
        is_run = kind is Kind.USER_AGENT


def read_site_pace(octets: bytes, is_named: Callable[[bytes], bool]) -> SitePace:
    """The pace that a file requests in the named user-agent lines.

    That is the largest valid Crawl-delay, and the first valid value of the others.
    """
    values: dict[bytes, list[bytes]] = {key: [] for key in PACE_KEYS}
    for _, _, key, value in pace_records(octets, is_named):
        values[key.lower()].append(value)
    delays = [
        seconds for value in values[_CRAWL_DELAY] if (seconds := crawl_delay(value)) is not None
    ]
    rates = filter(None, map(request_rate, values[_REQUEST_RATE]))
    times = filter(None, map(visit_time, values[_VISIT_TIME]))
    return SitePace(max(delays, default=None), next(rates, None), next(times, None))


class Excess(Enum):
    """The reaction to a delay that is longer than the user's limit."""

    CAP = "cap"
    SKIP = "skip"
    IGNORE = "ignore"


@dataclass(frozen=True, slots=True)
class Pace:
    """How fast an origin may be visited, for a while.

    Attributes:
        delay_seconds: the shortest time between two requests.
        holds_until: when this may change; POSIX seconds.
        site_seconds: the delay that the site requests.
        excess: the reaction to a delay above the limit; None below it.
        limit_seconds: the limit that the delay of the site is above.
        window: the only part of the day with visits; None for the whole day.
    """

    delay_seconds: float = 0.0
    holds_until: float = _FOREVER
    site_seconds: float = 0.0
    excess: Excess | None = None
    limit_seconds: float = _FOREVER
    window: VisitTime | None = None

    @property
    def is_skipped(self) -> bool:
        """Whether the origin should not be visited because its delay is too long."""
        return self.excess is Excess.SKIP


def pace(site_pace: SitePace, now: float, max_seconds: float, excess: Excess) -> Pace:
    """The pace of an origin at `now`, POSIX seconds.

    The Crawl-delay decides, even if it is 0; without one, the Request-rate within its window.
    """
    seconds, until = _delay(site_pace, now)
    if seconds <= max_seconds:
        return Pace(seconds, until, seconds)
    # If the origin is skipped, some requests are still sent.
    left_seconds = 0.0 if excess is Excess.IGNORE else max_seconds
    return Pace(left_seconds, until, seconds, excess, max_seconds)


NO_PACE = Pace()


def _delay(site_pace: SitePace, now: float) -> tuple[float, float]:
    """Seconds between requests, and when that ends."""
    if site_pace.crawl_delay is not None:
        return site_pace.crawl_delay, _FOREVER
    rate = site_pace.request_rate
    if rate is None:
        return 0.0, _FOREVER
    seconds = rate.seconds / rate.requests
    if rate.window is None:
        return seconds, _FOREVER
    opens_in, closes_in = _edges(rate.window, now)
    return (0.0, now + opens_in) if opens_in else (seconds, now + closes_in)


def opens_at(visit_time: VisitTime | None, now: float) -> float:
    """When an origin may be visited, POSIX seconds: `now` if its window is open."""
    return now if visit_time is None else now + _edges(visit_time, now)[0]


def _edges(window: VisitTime, now: float) -> tuple[float, float]:
    """The seconds until a window opens, 0 if it is open, and the seconds until it closes.

    A window includes the first instant of its first minute, but not its last instant. If start and
    end are equal, it is the whole day: a site that wants no visits would not write that.
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
