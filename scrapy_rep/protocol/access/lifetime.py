"""How long an answer holds, in seconds (RFC 9309, 2.4; RFC 9111 for its header fields).

Header fields are mappings with names in lower case. Instants are POSIX seconds, passed as
arguments.
"""

from __future__ import annotations

import re
from calendar import timegm
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

from scrapy_rep.protocol.units import DAY_SECONDS

LEAST_SECONDS = 1.0
"""How long an answer with no lifetime is used for the requests that waited for it."""

_BLANKS = " \t"
_SECONDS = re.compile(r"[0-9]+")
_MOST_SECONDS = 1e18  # RFC 9111, 1.2.2: a larger number counts as the largest
_DIRECTIVE = re.compile(r'(?:[^,"]|"(?:[^"\\]|\\.)*"?)+', re.DOTALL)
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_YEAR = "[1-9][0-9]{3}"
_CLOCK = "[0-9]{2}:[0-9]{2}:[0-9]{2}"
_HTTP_DATE = re.compile(
    rf"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), [0-9]{{2}} {_MONTH} {_YEAR} {_CLOCK} GMT"
    rf"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, [0-9]{{2}}-{_MONTH}-[0-9]{{2}} {_CLOCK} GMT"
    rf"|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun) {_MONTH} [0-9 ][0-9] {_CLOCK} {_YEAR}",
    re.IGNORECASE | re.ASCII,  # RFC 9111, 4.2: a cache compares them without regard to case
)
_QUOTED_PAIR = re.compile(r"\\(.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of all times, both of the site's and of our own.

    Attributes:
        min_seconds: the shortest lifetime of an answer, whatever its headers say.
        max_seconds: the longest lifetime, also without headers (2.4: at most 24 hours).
        headers_max_seconds: the longest lifetime that headers can set; above `max_seconds` only if
            a policy says so.
        stale_seconds: how long a copy is used while the file is unreachable, counted from its last
            confirmation (2.3.1.4: "for example, 30 days").
        retry_first_seconds: the wait before an unreachable file is retried; doubles each time.
        retry_max_seconds: the longest such wait.
        retry_after_max_seconds: the longest Retry-After that is obeyed.
    """

    min_seconds: float = 60.0
    max_seconds: float = DAY_SECONDS
    headers_max_seconds: float = DAY_SECONDS
    stale_seconds: float = 30 * DAY_SECONDS
    retry_first_seconds: float = 30.0
    retry_max_seconds: float = 3600.0
    retry_after_max_seconds: float = 3600.0


def lifetime_seconds(headers: Mapping[str, str], now: float, limits: Limits) -> float:
    """How long an answer that arrived now is fresh."""
    wanted = _headers_seconds(headers, now)
    if wanted is None:
        return limits.max_seconds
    return min(max(wanted, limits.min_seconds), limits.headers_max_seconds)


def retry_seconds(headers: Mapping[str, str], now: float, limits: Limits, *, count: int) -> float:
    """The wait before the next attempt, after `count` failures in a row."""
    doubled = limits.retry_first_seconds * 2.0 ** min(count - 1, 32)
    wait = min(doubled, limits.retry_max_seconds)
    wanted = retry_after_seconds(headers, now)
    if wanted is not None:
        wait = max(wait, min(wanted, limits.retry_after_max_seconds))
    return wait


def retry_after_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """The seconds from now in a Retry-After header (RFC 9110, 10.2.3); None if unreadable.

    A date counts from the Date of the answer: it is by the clock of the site.
    """
    value = headers.get("retry-after", "").strip()
    seconds = _delta_seconds(value)
    if seconds is not None:
        return seconds
    instant, date = _lenient_date(value), _lenient_date(headers.get("date", ""))
    at = now if date is None else date + _age_seconds(headers)
    return None if instant is None else max(instant - at, 0.0)


def _headers_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """RFC 9111, 4.2.1: max-age, otherwise Expires minus Date; 4.2.3: minus the answer's Age.

    With an invalid value the answer is stale at once, as the RFC encourages.
    """
    directives = list(_directives(headers.get("cache-control", "")))
    if any(name in ("no-store", "no-cache") for name, _ in directives):
        return 0.0
    max_ages = [_delta_seconds(value) or 0.0 for name, value in directives if name == "max-age"]
    if max_ages:
        return min(max_ages) - _age_seconds(headers)  # the most restrictive of duplicates
    if "expires" in headers:
        date = _lenient_date(headers.get("date", ""))
        expires = _http_date(headers["expires"])
        if expires is None:
            return 0.0  # RFC 9111, 5.3: an invalid date, such as 0, is in the past
        return expires - (now if date is None else date) - _age_seconds(headers)
    return None


def _directives(cache_control: str) -> Iterator[tuple[str, str]]:
    """Names in lower case, and values without their quotes (RFC 9111, 5.2; RFC 9110, 5.6.4)."""
    for found in _DIRECTIVE.finditer(cache_control):
        name, _, value = found[0].partition("=")
        value = value.strip(_BLANKS)
        if len(value) > 1 and value[0] == value[-1] == '"':
            value = _QUOTED_PAIR.sub(r"\1", value[1:-1])
        yield name.strip(_BLANKS).lower(), value


def _delta_seconds(value: str) -> float | None:
    return min(float(value), _MOST_SECONDS) if _SECONDS.fullmatch(value) else None


def _age_seconds(headers: Mapping[str, str]) -> float:
    """The answer's age on arrival: the first of several; ignored if unreadable (RFC 9111, 5.1)."""
    return _delta_seconds(headers.get("age", "").split(",")[0].strip(_BLANKS)) or 0.0


def _http_date(value: str) -> float | None:
    """A date in one of the three forms of HTTP-date (RFC 9110, 5.6.7); None in any other form."""
    text = value.strip(_BLANKS)
    return _lenient_date(text) if _HTTP_DATE.fullmatch(text) else None


def _lenient_date(value: str) -> float | None:
    """A date in any form of mail; one without a zone, or with an unknown zone, is in GMT."""
    try:
        return float(timegm(parsedate_to_datetime(value).utctimetuple()))
    except (ValueError, TypeError, OverflowError, IndexError, AttributeError):
        return None
