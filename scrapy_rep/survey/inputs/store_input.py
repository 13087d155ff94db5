"""The store of crawls: the entries of its file, which nothing changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from scrapy_rep.cache.entry import Entry, key_of
from scrapy_rep.cache.rows import read_entries
from scrapy_rep.protocol.access.events import name_of
from scrapy_rep.survey.captures import Bad, Capture

from .answer_facts import BODY_OCTETS, capture_of, outcome_of


def captures_in(path: Path, rows: tuple[int, int]) -> Iterator[Capture | Bad]:
    """What the entries of some rows say; the last answer where there is one, else the outage.

    Raises:
        StoreError: the file cannot be read.
    """
    for entry in read_entries(path, *rows):
        yield Bad("damaged") if entry is None else _capture(entry)


def _capture(entry: Entry) -> Capture | Bad:
    origin = key_of(entry.origin).origin
    copy, outage = entry.known.copy, entry.known.outage
    if copy is not None:
        event = name_of(copy.event)
        body = None if outcome_of(event)[1] else copy.body[:BODY_OCTETS]
        return capture_of(origin, copy.fetched_at, event, copy.hops, dict(copy.headers), body=body)
    if outage is not None:
        return capture_of(origin, outage.failed_at, name_of(outage.event), outage.hops, {})
    return Bad("no-body")
