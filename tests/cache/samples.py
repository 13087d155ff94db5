"""Entries for the tests of stores, and hypothesis strategies for entries."""

from __future__ import annotations

from functools import partial

from hypothesis import strategies as st
from scrapy.settings.default_settings import USER_AGENT

from scrapy_rep.cache import contract
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.knowledge import Copy, Knowledge, Outage, Step
from scrapy_rep.protocol.access.origin import Origin

NOW = 1_800_000_000.0
BODY, ORIGIN, OTHER = contract.BODY, contract.ORIGIN, contract.OTHER
body_of = contract.body_of


def usual_key(origin: Origin | None) -> Key:
    """The key of an origin in a crawl with Scrapy's default User-Agent."""
    assert origin is not None
    return Key.under(origin, USER_AGENT)


file_entry = partial(contract.file_entry, at=NOW)
outage_entry = partial(contract.outage_entry, at=NOW)


_instants = st.floats(0, 4e9)
_events = st.one_of(st.integers(100, 999), st.sampled_from(Failure))
_texts = st.text(max_size=20)
_hops = st.lists(_texts, max_size=3).map(tuple)

_origins = st.builds(
    Origin,
    st.sampled_from(["http", "https", "ftp"]),
    st.sampled_from(["example.com", "xn--bcher-kva.example", "::1", "127.0.0.1", "example.com."]),
    st.integers(1, 65_535),
)
origins = _origins | st.builds(
    Key.under,
    _origins,
    st.text(min_size=1, max_size=9),
    st.sampled_from(["", "9f"]),
    st.sampled_from(["/robots.txt", "/.well-known/tdmrep.json"]),
)
_steps = st.lists(
    st.builds(
        Step,
        uri=_texts,
        event=st.none() | _events,
        sent_at=st.none() | _instants,
        seconds=st.none() | st.floats(0, 1e4),
        octets=st.none() | st.integers(0, 10**6),
        address=_texts,
        location=_texts,
        is_copied=st.booleans(),
    ),
    max_size=3,
).map(tuple)
copies = st.builds(
    Copy,
    event=_events,
    body=st.binary(max_size=300),
    hops=_hops,
    headers=st.lists(st.tuples(_texts, _texts), max_size=3).map(tuple),
    fetched_at=_instants,
    confirmed_at=_instants,
    fresh_until=_instants,
    steps=_steps,
    confirmed_by=_steps,
)
outages = st.builds(
    Outage,
    event=_events,
    hops=_hops,
    since=_instants,
    failed_at=_instants,
    count=st.integers(1, 10**9),
    retry_at=_instants,
    steps=_steps,
    retry_after_seconds=st.floats(0, 3600),
)
entries = st.builds(Entry, origins, st.builds(Knowledge, st.none() | copies, st.none() | outages))
