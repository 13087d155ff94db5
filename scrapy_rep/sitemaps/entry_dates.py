"""The dates of entries: pure functions that never raise for the text of a site.

Sitemaps and Atom use the W3C format, which may lack the time, the day or the month; RSS uses that
of mail. So a date is a period. A page that changed at noon, after a run in the morning, may have
the same date as before, and the day may be that of any time zone.
"""

from __future__ import annotations

import re
from datetime import date, datetime, timezone
from email.utils import parsedate_to_datetime
from functools import lru_cache
from typing import Any, NamedTuple

from scrapy_rep.protocol.errors import ConfigurationError

from .reader import SitemapEntry
from .seeding import join

_SHORT_CHARACTERS = 100
_ALTERNATES_CHARACTERS = 8192  # each request of an entry holds its alternates
_DAY_SECONDS = 86_400.0
_ZONES_SECONDS = _DAY_SECONDS / 2  # the local time of the last zone, behind UTC
# The most seconds that a date can mean, by its number of parts: year, month, day, -, minute, second
_LENGTHS = (0.0, 366 * _DAY_SECONDS, 31 * _DAY_SECONDS, _DAY_SECONDS, 0.0, 60.0, 1.0)
_WEB_BEGAN = 631_152_000.0  # 1990; software writes the years 1 and 1970 for unknown dates
_W3C = re.compile(
    r"""
    (\d{4}) (?: - (\d\d?) (?: - (\d\d?)
    (?: [T ] (\d\d) : (\d\d) (?: : (\d\d) (\.\d+)? )? (?: \ ?(Z|[+-](?:0\d|1[0-4]):?[0-5]\d) )? )?
    )? )?
    """,
    re.ASCII | re.IGNORECASE | re.VERBOSE,
)
_MAIL = re.compile(
    r"(?:[a-z]{3,9}, ?)?\d\d? [a-z]{3} (?:\d\d)?\d\d \d\d:\d\d(:\d\d)?"
    r"(?: (?:[a-z]{1,5}|[+-]\d{4}))?",
    re.ASCII | re.IGNORECASE,
)
_NAMES = ("lastmod", "changefreq", "priority")
_PRIORITY = re.compile(r"0(?:\.\d+)?|1(?:\.0+)?|\.\d+", re.ASCII)


class Period(NamedTuple):
    """The instants that a date may mean, in POSIX seconds; `end` is the first one after them."""

    start: float
    end: float

    def is_before(self, instant: float) -> bool:
        """Whether the whole period is before an instant; False for dates before the Web."""
        return self.start >= _WEB_BEGAN and self.end <= instant


@lru_cache(maxsize=1000)  # many entries have the same date
def period_of(text: str) -> Period | None:
    """The period of a date, as UTC if it has no time zone; None if it is not a date.

    Without a time zone, the period ends when it has ended everywhere on earth.
    """
    text = text.strip()
    if len(text) > _SHORT_CHARACTERS:
        return None
    try:
        if found := _W3C.fullmatch(text):
            *parts, fraction, zone = found.groups()
            numbers = [int(part) for part in parts if part]
            start = datetime(*[*numbers, 1, 1][: max(3, len(numbers))], tzinfo=timezone.utc)  # type: ignore[arg-type, misc]
            seconds = start.timestamp() + float(fraction or 0) - _offset_seconds(zone)
            length = _LENGTHS[len(numbers)]
        elif found := _MAIL.fullmatch(text):
            moment = parsedate_to_datetime(text)
            zone = moment.tzinfo
            seconds, length = _utc(moment).timestamp(), 1.0 if found[1] else 60.0
        else:
            return None
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return Period(seconds, seconds + length + (0.0 if zone else _ZONES_SECONDS))


def _offset_seconds(zone: str | None) -> float:
    """How far a zone is ahead of UTC."""
    if not zone or zone in "Zz":
        return 0.0
    minutes = int(zone[1:3]) * 60 + int(zone[-2:])
    return minutes * (-60.0 if zone[0] == "-" else 60.0)


def _utc(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)


def seconds_of(since: object) -> float | None:
    """The instant of a date that the user gave, in POSIX seconds; None without a date.

    Raises:
        ConfigurationError: it is not a date.
    """
    if since is None or since == "":
        return None
    if isinstance(since, datetime):
        return _utc(since).timestamp()
    if isinstance(since, (date, str)) and (period := period_of(str(since))):
        return period.start
    raise ConfigurationError(
        f"since: {since!r} is not a date; give one such as '2024-05-31' or '2024-05-31T12:00Z', "
        "or 'last run'"
    )


def values_of(entry: SitemapEntry, base: str) -> tuple[dict[str, Any], Period | None]:
    """The values of an entry for callbacks, which any queue can write, and its date.

    Args:
        entry: an entry, perhaps changed by the user's `sitemap_filter`.
        base: the URL of the sitemap.
    """
    lastmod, changefreq, priority = map(_short, map(entry.get, _NAMES))
    period = period_of(lastmod) if lastmod else None
    left = _ALTERNATES_CHARACTERS
    alternates = []
    for address in entry.get("alternate") or ():
        url = join(base, address)
        left -= len(url)
        if left < 0:
            break
        if url:
            alternates.append(url)
    values = {
        "lastmod": lastmod,
        "lastmod_time": period.start if period else None,
        "changefreq": changefreq,
        "priority": float(priority) if priority and _PRIORITY.fullmatch(priority) else None,
        "alternates": alternates,
    }
    return values, period


def _short(value: object) -> str | None:
    """A text, without those that are too long to be meant, since each request holds them."""
    is_short = isinstance(value, str) and 0 < len(value) <= _SHORT_CHARACTERS
    return value if is_short else None  # type: ignore[return-value]
