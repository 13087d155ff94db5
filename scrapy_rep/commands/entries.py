"""Entries of the store in words, and as JSON."""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from scrapy_rep.protocol.access import access_result, name_of
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.findings import shown

from .kept import standing_of
from .terminal import count_of

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.cache.entry import Entry
    from scrapy_rep.protocol.knowledge import Copy, Outage

_UNITS = ((86_400, "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def row_of(entry: Entry | None, settings: Settings) -> tuple[str, ...] | None:
    """One line of ``cache list``: origin, state, answer, octets, age."""
    if entry is None:
        return None
    known = entry.known
    event = known.outage.event if known.outage else known.copy.event if known.copy else None
    return (
        str(entry.origin),
        standing_of(entry.origin, known, settings).state.name.lower().replace("_", " "),
        "-" if event is None else name_of(event),
        f"{len(known.copy.body):,}" if known.copy else "-",
        span(time.time() - known.copy.fetched_at) + " ago" if known.copy else "never",
    )


def words_of(entry: Entry, settings: Settings) -> Iterator[str]:
    """What ``cache show`` says."""
    stands = standing_of(entry.origin, entry.known, settings)
    meaning = stands.meaning.value if stands.meaning else "nothing, before the site is asked again"
    yield f"state: {stands.state.name.lower().replace('_', ' ')}: {stands.state.value}"
    yield f"means: {meaning}{' (stale)' if stands.is_stale else ''}"
    if entry.known.copy is not None:
        yield from _copy_words(entry.known.copy, str(entry.origin))
    if entry.known.outage is not None:
        yield from _outage_words(entry.known.outage)


def _copy_words(copy: Copy, origin: str) -> Iterator[str]:
    yield f"answer: {name_of(copy.event)} ({access_result(copy.event).value})"
    yield from _hops(copy.hops)
    yield f"fetched: {when(copy.fetched_at)}"
    yield f"confirmed: {when(copy.confirmed_at)}"
    yield f"fresh until: {when(copy.fresh_until)}"
    robots_txt = parse(copy.body, f"{origin}/robots.txt")
    yield (
        f"file: {count_of(len(copy.body), 'octet')}, "
        f"{count_of(len(robots_txt.sitemaps), 'sitemap')}, "
        f"{count_of(len(robots_txt.findings), 'finding')}"
    )
    for name, value in copy.headers:
        yield f"header: {shown(name.encode())}: {shown(value.encode())}"


def _outage_words(outage: Outage) -> Iterator[str]:
    yield f"outage: {name_of(outage.event)}, {outage.count} in a row since {when(outage.since)}"
    yield from _hops(outage.hops)
    yield f"asked last: {when(outage.failed_at)}"
    yield f"to be asked again: {when(outage.retry_at)}"


def _hops(hops: tuple[str, ...]) -> Iterator[str]:
    for number, hop in enumerate(hops):
        yield f"  {'->' if number else 'from'} {shown(hop.encode())}"


def as_dict(entry: Entry, settings: Settings) -> dict[str, Any]:
    """One line of ``cache export``; the body as text, or in base64 if it is no UTF-8."""
    stands = standing_of(entry.origin, entry.known, settings)
    copy, outage = entry.known.copy, entry.known.outage
    found: dict[str, Any] = {
        "origin": str(entry.origin),
        "state": stands.state.name.lower(),
        "meaning": stands.meaning.value if stands.meaning else None,
        "is_stale": stands.is_stale,
        "copy": None,
        "outage": None,
    }
    if copy is not None:
        found["copy"] = {
            "event": name_of(copy.event),
            "hops": copy.hops,
            "headers": dict(copy.headers),
            "fetched_at": copy.fetched_at,
            "confirmed_at": copy.confirmed_at,
            "fresh_until": copy.fresh_until,
            **_body(copy.body),
        }
    if outage is not None:
        found["outage"] = {
            "event": name_of(outage.event),
            "hops": outage.hops,
            "since": outage.since,
            "failed_at": outage.failed_at,
            "count": outage.count,
            "retry_at": outage.retry_at,
        }
    return found


def _body(body: bytes) -> dict[str, str]:
    try:
        return {"body": body.decode("utf-8")}
    except UnicodeDecodeError:
        return {"body_base64": base64.b64encode(body).decode("ascii")}


def when(instant: float) -> str:
    """An instant in words: the date, and how far away it is."""
    try:
        date = f"{datetime.fromtimestamp(instant, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, OSError, ValueError):  # of a clock that was wrong
        return f"{instant:g}"
    away = instant - time.time()
    return f"{date} ({'in ' + span(away) if away > 0 else span(-away) + ' ago'})"


def span(seconds: float) -> str:
    """A length of time in its largest unit."""
    for unit, noun in _UNITS:
        if abs(seconds) >= unit:
            return count_of(int(seconds // unit), noun)
    return "0 seconds"
