"""How long an answer holds, in seconds (RFC 9309, 2.4, with RFC 9111 for the headers it names).

Header fields come as a mapping with names in lower case. What can't be read in them counts as not
there. Instants are POSIX seconds and come in as arguments.
"""

from __future__ import annotations

import re
from calendar import timegm
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

DAY_SECONDS = 86_400.0

_MAX_AGE = re.compile(r'max-age\s*=\s*"?([0-9]{1,18})"?')
_SECONDS = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of every time that a site can choose, and of those that we choose.

    Attributes:
        min_seconds: how long an answer holds at least, whatever its headers say.
        max_seconds: how long it holds at most, and if nothing is said (2.4: at most 24 hours).
        asked_max_seconds: how long it may hold if its headers ask for that; more than
            `max_seconds` only where a policy says so.
        stale_seconds: how long a copy is used while the file is unreachable, from when it was
            last confirmed (2.3.1.4: "for example, 30 days").
        retry_first_seconds: when an unreachable file is asked for again; doubles each time.
        retry_max_seconds: where the doubling ends.
        retry_after_max_seconds: how far a Retry-After header is obeyed.
    """

    min_seconds: float = 60.0
    max_seconds: float = DAY_SECONDS
    asked_max_seconds: float = DAY_SECONDS
    stale_seconds: float = 30 * DAY_SECONDS
    retry_first_seconds: float = 30.0
    retry_max_seconds: float = 3600.0
    retry_after_max_seconds: float = 3600.0


def lifetime_seconds(headers: Mapping[str, str], now: float, limits: Limits) -> float:
    """How long an answer that came just now is fresh."""
    asked = _asked_seconds(headers, now)
    if asked is None:
        return limits.max_seconds
    return min(max(asked, limits.min_seconds), limits.asked_max_seconds)


def retry_seconds(headers: Mapping[str, str], now: float, limits: Limits, *, count: int) -> float:
    """How long to leave a file alone that could not be reached `count` times in a row."""
    doubled = limits.retry_first_seconds * 2.0 ** min(count - 1, 32)
    wait = min(doubled, limits.retry_max_seconds)
    asked = retry_after_seconds(headers, now)
    if asked is not None:
        wait = max(wait, min(asked, limits.retry_after_max_seconds))
    return wait


def retry_after_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """What a Retry-After header asks for, as seconds from now (RFC 9110, 10.2.3)."""
    value = headers.get("retry-after", "").strip()
    if _SECONDS.fullmatch(value):
        return float(value)
    instant = _instant(value)
    return None if instant is None else max(instant - now, 0.0)


def _asked_seconds(headers: Mapping[str, str], now: float) -> float | None:
    """RFC 9111, 4.2.1: max-age, else Expires minus Date; 4.2.3: less the answer's Age."""
    directives = headers.get("cache-control", "").lower()
    if re.search(r"\bno-(?:store|cache)\b", directives):
        return 0.0
    age = _SECONDS.fullmatch(headers.get("age", "").strip())
    age_seconds = float(age[0]) if age else 0.0
    found = _MAX_AGE.search(directives)
    if found:
        return float(found[1]) - age_seconds
    if "expires" in headers:
        date = _instant(headers.get("date", ""))
        expires = _instant(headers["expires"])
        if expires is None:
            return 0.0  # RFC 9111, 5.3: an invalid date, such as 0, is in the past
        return expires - (now if date is None else date) - age_seconds
    return None


def _instant(value: str) -> float | None:
    try:
        # An HTTP date is in GMT (RFC 9110, 5.6.7), also in the form that does not say so.
        return float(timegm(parsedate_to_datetime(value).utctimetuple()))
    except (ValueError, TypeError, OverflowError, IndexError, AttributeError):
        return None
