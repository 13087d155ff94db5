"""The store of crawls: the entries of its file, which nothing changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scrapy_rep.cache.entry import Entry, key_of
from scrapy_rep.cache.rows import read_entries
from scrapy_rep.protocol.access.events import name_of
from scrapy_rep.survey.captures import Bad, Capture
from scrapy_rep.survey.facts import host_of

from .answer_facts import BODY_OCTETS, date_at, max_age_of, media_type_of, outcome_of


def captures_in(path: str, rows: tuple[int, int]) -> Iterator[Capture | Bad]:
    """What the entries of some rows say; the last answer where there is one, else the outage.

    Raises:
        StoreError: the file cannot be read.
    """
    for entry in read_entries(Path(path), *rows):
        yield Bad("damaged") if entry is None else capture_of(entry)


def capture_of(entry: Entry) -> Capture | Bad:
    """What an entry says."""
    origin = key_of(entry.origin).origin
    copy, outage = entry.known.copy, entry.known.outage
    if copy is None and outage is None:
        return Bad("no-body")
    known = copy or outage
    assert known is not None  # noqa: S101 - for mypy
    hops, headers = known.hops, dict(copy.headers) if copy is not None else {}
    status, failure = outcome_of(name_of(known.event))
    seconds = copy.fetched_at if copy is not None else outage.failed_at if outage else 0.0
    return Capture(
        origin.host,
        origin.scheme,
        origin.port,
        date_at(seconds),
        status,
        failure,
        max(len(hops) - 1, 0),
        bool(hops) and host_of(hops[-1]) != host_of(hops[0]),
        media_type_of(headers.get("content-type", "")),
        max_age_of(headers.get("cache-control", "")),
        copy.body[:BODY_OCTETS] if copy is not None and not failure else None,
    )
