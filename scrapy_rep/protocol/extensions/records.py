"""Other records (RFC 9309, 2.2.4) and the values of their kinds.

The RFC lets crawlers read other records as long as they do not interfere with the groups. Each
function reads the octets of one value, and returns None if it is invalid.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from scrapy_rep.protocol.lines import Record, read_line
from scrapy_rep.protocol.units import DAY_SECONDS

_SECONDS = re.compile(rb"\d+(?:[.,]\d*)?|[.,]\d+")
_RATE = re.compile(
    rb"(\d{1,9})\s*/\s*(\d{1,9})\s*([smhd]?)(?:\s+(\d{4})\s*-\s*(\d{4}))?", re.IGNORECASE
)
_VISIT_TIME = re.compile(rb"(\d{4})\s*-\s*(\d{4})")
_HOST = re.compile(r"(?:https?://)?[^\W_][\w.-]*(?::\d{1,5})?(?=/?$)", re.IGNORECASE)
_UNIT_SECONDS = {b"": 1, b"s": 1, b"m": 60, b"h": 3600, b"d": int(DAY_SECONDS)}
_MINUTES_A_DAY = int(DAY_SECONDS) // 60


@dataclass(frozen=True, slots=True)
class OtherRecord:
    """A record except user-agent lines, rules and Sitemaps: octets as written, line from 1."""

    key: bytes
    value: bytes
    line: int


@dataclass(frozen=True, slots=True)
class VisitTime:
    """The part of each day in which crawlers are welcome, in minutes since midnight UTC.

    If it starts later than it stops, it continues past midnight.
    """

    start_minute: int
    stop_minute: int


@dataclass(frozen=True, slots=True)
class RequestRate:
    """At most `requests` in `seconds`, in the part of the day in `window`, if there is one."""

    requests: int
    seconds: int
    window: VisitTime | None = None


def records_with(octets: bytes, lowered: bytes, word: bytes) -> Iterator[Record]:
    """The records on lines that contain a word, given a file's octets, also in lower case.

    Most files do not contain the word: then this is one search. Linear.
    """
    found = lowered.find(word)
    while found >= 0:
        start = lowered.rfind(b"\n", 0, found) + 1
        stop = lowered.find(b"\n", found)
        stop = len(octets) if stop < 0 else stop
        record = read_line(octets[start:stop])
        if record is not None:
            yield (start, *record)
        found = lowered.find(word, stop)


def crawl_delay(value: bytes) -> float | None:
    """Decimal seconds, at least 0; a comma counts as the decimal point."""
    if not _SECONDS.fullmatch(value):
        return None
    seconds = float(value.replace(b",", b"."))
    return seconds if math.isfinite(seconds) else None


def request_rate(value: bytes) -> RequestRate | None:
    """``n/m``, ``n/ms``, ``n/mm``, ``n/mh`` or ``n/md``, and optionally ``hhmm-hhmm`` (UTC)."""
    match = _RATE.fullmatch(value)
    if match is None:
        return None
    requests, amount, unit, start, stop = match.groups()
    window = _window(start, stop) if start else None
    if int(requests) == 0 or int(amount) == 0 or (start and window is None):
        return None
    return RequestRate(int(requests), int(amount) * _UNIT_SECONDS[unit.lower()], window)


def visit_time(value: bytes) -> VisitTime | None:
    """``hhmm-hhmm``, UTC."""
    match = _VISIT_TIME.fullmatch(value)
    return _window(match[1], match[2]) if match else None


def host(value: bytes) -> str | None:
    """Yandex's main mirror: a host, optionally with ``http(s)://`` and a port, in lower case."""
    match = _HOST.match(value.decode("utf-8", "replace"))
    return match[0].lower() if match else None


def _window(start: bytes, stop: bytes) -> VisitTime | None:
    minutes = [int(clock[:2]) * 60 + int(clock[2:]) for clock in (start, stop)]
    is_valid = all(int(clock[2:]) < 60 for clock in (start, stop))  # noqa: PLR2004
    if not is_valid or max(minutes) > _MINUTES_A_DAY:
        return None
    return VisitTime(*minutes)
