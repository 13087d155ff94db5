"""Dates of ``unavailable_after``: RFC 822, 1123 and 850, asctime, ISO 8601, or a day alone.

A date without a zone is in UTC; a day means its first instant. Ambiguous dates, such as
``07/08/2024``, are not read. Each expression is anchored and can match in one way only.
"""

from __future__ import annotations

import re
from calendar import monthrange, timegm

_MONTHS = {
    name: number
    for number, names in enumerate(
        [
            *[("jan", "january"), ("feb", "february"), ("mar", "march"), ("apr", "april")],
            *[("may",), ("jun", "june"), ("jul", "july"), ("aug", "august")],
            *[("sep", "sept", "september"), ("oct", "october"), ("nov", "november")],
            ("dec", "december"),
        ],
        start=1,
    )
    for name in names
}
_ZONE_HOURS = {
    **dict.fromkeys(("", "z", "ut", "utc", "gmt"), 0),
    "est": -5,
    "edt": -4,
    "cst": -6,
    "cdt": -5,
    "mst": -7,
    "mdt": -6,
    "pst": -8,
    "pdt": -7,
}
_WEEKDAY = r"(?:mon|tues?|wed(?:nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:day)?\.?"
_CLOCK = r"(?P<hour>\d{1,2}):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,]\d{1,9})?)?"
_OFFSET = r"[+-]\d\d(?::?\d\d)?"
_ZONE = rf"(?P<zone>[a-z]{{1,3}}|{_OFFSET})"
_COMMENT = r"(?: ?\([^()]*\))?"
_DAY_FIRST = (
    rf"(?:{_WEEKDAY}(?:, ?| ))?(?P<day>\d{{1,2}})[ -](?P<month>[a-z]{{3,9}})\.?[ -]"
    rf"(?P<year>\d{{4}}|\d\d)(?: {_CLOCK}(?: ?{_ZONE})?)?"
)
_MONTH_FIRST = rf"(?:{_WEEKDAY} )?(?P<month>[a-z]{{3,9}}) (?P<day>\d{{1,2}}) {_CLOCK}"
_DIGITS = r"(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)"
_FLAGS = re.IGNORECASE | re.ASCII

_FORMS = tuple(
    re.compile(form, _FLAGS)
    for form in (
        # Wed, 03 Dec 2025 13:09:53 GMT; Friday, 25-Jun-10 15:00:00 GMT; 25 Jun 2010
        f"{_DAY_FIRST}{_COMMENT}",
        # Sun Nov  6 08:49:37 1994
        f"{_MONTH_FIRST} (?:{_ZONE} )?(?P<year>[0-9]{{4}})",
        # 2020-09-21T10:00:00+02:00; 2020-09-21
        rf"(?P<year>\d{{4}})-(?P<month>\d\d)-(?P<day>\d\d)(?:[T ]{_CLOCK}(?: ?{_ZONE})?)?",
        # 20200921T100000Z; 20200921
        rf"{_DIGITS}(?:T(?P<hour>\d\d)(?P<minute>\d\d)(?P<second>\d\d)?{_ZONE}?)?",
    )
)
_LONGEST = 64  # characters of a date that is read
_IS_WEEKDAY = re.compile(_WEEKDAY, _FLAGS)

_PIVOT = 69  # as in POSIX: 69 to 99 are years of the last century


def is_weekday(text: str) -> bool:
    """Whether this is exactly the name of a weekday."""
    return _IS_WEEKDAY.fullmatch(text) is not None


def date_of(text: str) -> int | None:
    """A date as POSIX seconds; None if it cannot be read."""
    words = " ".join(text.split())
    if not words or len(words) > _LONGEST:
        return None
    for form in _FORMS:
        found = form.fullmatch(words)
        if found is not None:
            return _seconds(found.groupdict())
    return None


def _seconds(parts: dict[str, str | None]) -> int | None:
    month, day, year = (parts[name] or "" for name in ("month", "day", "year"))
    the_month = int(month) if month.isdigit() else _MONTHS.get(month.lower(), 0)
    the_year = int(year)
    if len(year) < len("1994"):
        the_year += 1900 if the_year >= _PIVOT else 2000
    hour, minute, second = (int(parts.get(name) or 0) for name in ("hour", "minute", "second"))
    is_time = hour < 24 and minute < 60 and second <= 60  # noqa: PLR2004 - a leap second
    offset = _offset(parts.get("zone") or "")
    if offset is None or not is_time or not 1 <= int(day) <= _days(the_year, the_month):
        return None
    return timegm((the_year, the_month, int(day), hour, minute, second)) - offset


def _days(year: int, month: int) -> int:
    """The number of days in a month; 0 if there is no such month."""
    return monthrange(year, month)[1] if 1 <= month <= 12 and year >= 1 else 0  # noqa: PLR2004


def _offset(zone: str) -> int | None:
    """The seconds by which a zone is ahead of UTC; None if unknown."""
    if zone[:1] in ("+", "-"):
        digits = zone[1:].replace(":", "")
        hours, minutes = int(digits[:2]), int(digits[2:] or 0)
        if hours >= 24 or minutes >= 60:  # noqa: PLR2004
            return None
        seconds = hours * 3600 + minutes * 60
        return -seconds if zone[0] == "-" else seconds
    hours_ahead = _ZONE_HOURS.get(zone.lower())
    return None if hours_ahead is None else hours_ahead * 3600
