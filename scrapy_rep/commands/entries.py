"""The entries of the store, in words and as JSON."""

from __future__ import annotations

import base64
import hashlib
import time
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from scrapy_rep.analysis.findings import findings
from scrapy_rep.cache.entry import key_of
from scrapy_rep.protocol.access.events import access_result, name_of
from scrapy_rep.protocol.access.origin import ROBOTS_TXT_PATH
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.units import DAY_SECONDS
from scrapy_rep.protocol.usage.tdmrep import TdmFile
from scrapy_rep.protocol.verdict import shown

from .kept import standing_of_entry
from .terminal import count_of

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.cache.entry import Entry, Key
    from scrapy_rep.protocol.access.knowledge import Copy, Outage, Step

_UNITS = ((int(DAY_SECONDS), "day"), (3600, "hour"), (60, "minute"), (1, "second"))


def row_of(entry: Entry | None, settings: Settings) -> tuple[str, ...] | None:
    """One line of ``cache list``: origin (or another file), state, answer, octets, age, asker."""
    if entry is None:
        return None
    known = entry.known
    event = known.outage.event if known.outage else known.copy.event if known.copy else None
    key = key_of(entry.origin)
    return (
        place_of(key),
        standing_of_entry(entry, settings).state.name.lower().replace("_", " "),
        "-" if event is None else name_of(event),
        f"{len(known.copy.body):,}" if known.copy else "-",
        span(time.time() - known.copy.fetched_at) + " ago" if known.copy else "never",
        asker_words(key),
    )


def place_of(key: Key) -> str:
    """Whose robots.txt an entry is, or the URI of another file."""
    return str(key.origin) if key.path == ROBOTS_TXT_PATH else shown(key.uri.encode())


def asker_words(key: Key) -> str:
    """As whom a file was fetched, safe for a terminal."""
    return shown(key.asker.encode("utf-8", "backslashreplace"))


def key_words(key: Key) -> str:
    """An origin, and as whom its file was fetched."""
    return f"{place_of(key)} (fetched as {asker_words(key)})" if key.asker else place_of(key)


def words_of(entry: Entry, settings: Settings) -> Iterator[str]:
    """The lines of ``cache show``."""
    stands = standing_of_entry(entry, settings)
    meaning = stands.meaning.value if stands.meaning else "nothing until it is fetched again"
    yield f"state: {stands.state.name.lower().replace('_', ' ')}: {stands.state.value}"
    key = key_of(entry.origin)
    if key.path == ROBOTS_TXT_PATH:
        yield f"means: {meaning}{' (stale)' if stands.is_stale else ''}"
    yield f"fetched as: {asker_words(key) or '-'}"
    if entry.known.copy is not None:
        yield from _copy_words(entry.known.copy, key)
    if entry.known.outage is not None:
        yield from _outage_words(entry.known.outage)


def _copy_words(copy: Copy, key: Key) -> Iterator[str]:
    yield f"answer: {name_of(copy.event)} ({access_result(copy.event).value})"
    yield from _way(copy.steps, copy.hops)
    yield f"fetched: {when(copy.fetched_at)}"
    yield f"confirmed: {when(copy.confirmed_at)}"
    yield from map("  {}".format, step_words(copy.confirmed_by))
    yield f"fresh until: {when(copy.fresh_until)}"
    yield f"file: {count_of(len(copy.body), 'octet')}, {_content_words(copy.body, key)}"
    for name, value in copy.headers:
        yield f"header: {shown(name.encode())}: {shown(value.encode())}"


def _content_words(body: bytes, key: Key) -> str:
    if key.path != ROBOTS_TXT_PATH:
        return count_of(len(TdmFile.of(body, key.uri).rules), "rule")
    robots_txt = parse(body, key.uri)
    return (
        f"{count_of(len(robots_txt.sitemaps), 'sitemap')}, "
        f"{count_of(len(findings(robots_txt)), 'finding')}"
    )


def _outage_words(outage: Outage) -> Iterator[str]:
    yield f"outage: {name_of(outage.event)}, {outage.count} in a row since {when(outage.since)}"
    yield from _way(outage.steps, outage.hops)
    yield f"last try: {when(outage.failed_at)}"
    yield f"next try: {when(outage.retry_at)}"


def _way(steps: tuple[Step, ...], hops: tuple[str, ...]) -> Iterator[str]:
    if steps:
        yield from map("  {}".format, step_words(steps))
        return
    # An older version stored it. Some of these may never have been asked.
    for number, hop in enumerate(hops):
        yield f"  {'->' if number else 'from'} {shown(hop.encode())} (what came there is not known)"


def step_words(steps: Sequence[Step]) -> Iterator[str]:
    """The steps of an exchange, a line each: what came, from where, how large, how fast."""
    for number, step in enumerate(steps):
        facts = [
            "no answer is known" if step.event is None else name_of(step.event),
            *([] if step.octets is None else [count_of(step.octets, "octet")]),
            *([f"from {step.address}"] if step.address else []),
            *([] if step.seconds is None else [f"in {step.seconds:.3f} s"]),
            *([] if step.sent_at is None else [f"at {moment(step.sent_at)}"]),
            *_asked_words(step),
        ]
        before = steps[number - 1] if number else None
        if before is None:
            lead = "from"
        else:  # what was tried again was not led there
            lead = "again" if before.uri == step.uri and not before.location else "->"
        yield f"{lead} {shown(step.uri.encode())} ({shown(', '.join(facts).encode())})"


def _asked_words(step: Step) -> list[str]:
    if step.is_copied:
        return ["not fetched: taken from the copy of that origin"]
    return [] if step.sent_at is not None or step.event is None else ["not sent"]


def step_dict(step: Step) -> dict[str, Any]:
    """A step as JSON; null is unknown."""
    return {
        "uri": step.uri,
        "event": None if step.event is None else name_of(step.event),
        "sent_at": step.sent_at,
        "seconds": step.seconds,
        "octets": step.octets,
        "address": step.address or None,
        "location": step.location or None,
        "is_copied": step.is_copied,
    }


def as_dict(entry: Entry, settings: Settings) -> dict[str, Any]:
    """One line of ``cache export``; the body as text, or in base64 if it is not UTF-8."""
    stands = standing_of_entry(entry, settings)
    copy, outage = entry.known.copy, entry.known.outage
    key = key_of(entry.origin)
    found: dict[str, Any] = {
        "origin": str(key.origin),
        "user_agent": key.user_agent,
        "variant": key.variant,
        "path": key.path,
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
            "steps": list(map(step_dict, copy.steps)),
            "confirmed_by": list(map(step_dict, copy.confirmed_by)),
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
            "steps": list(map(step_dict, outage.steps)),
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


def version_rows(versions: Iterable[Copy]) -> Iterator[tuple[str, ...]]:
    """The table of ``cache log``: from when and until when a version was seen, and which it is."""
    yield "from (UTC)", "last seen (UTC)", "answer", "octets", "sha256"
    for copy in versions:
        digest = hashlib.sha256(copy.body).hexdigest()[:12] if copy.body else "-"
        octets = f"{len(copy.body):,}"
        yield date(copy.fetched_at), date(copy.confirmed_at), name_of(copy.event), octets, digest


def date(instant: float) -> str:
    """An instant as a date, in UTC; as a number if it is none."""
    try:
        return f"{datetime.fromtimestamp(instant, timezone.utc):%Y-%m-%d %H:%M:%S}"
    except (OverflowError, OSError, ValueError):  # a clock was wrong
        return f"{instant:g}"


def moment(instant: float) -> str:
    """An instant as a date."""
    try:
        return f"{datetime.fromtimestamp(instant, timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, OSError, ValueError):  # a clock was wrong
        return f"{instant:g}"


def when(instant: float) -> str:
    """An instant in words: its date, and its distance from now."""
    date = moment(instant)
    if not date.endswith("UTC"):
        return date
    away = instant - time.time()
    return f"{date} ({'in ' + span(away) if away > 0 else span(-away) + ' ago'})"


def span(seconds: float) -> str:
    """A length of time in its largest unit."""
    for unit, noun in _UNITS:
        if abs(seconds) >= unit:
            return count_of(int(seconds // unit), noun)
    return "0 seconds"
