"""Entries for the tests of stores, and hypothesis strategies for entries."""

from __future__ import annotations

from hypothesis import strategies as st
from scrapy.settings.default_settings import USER_AGENT

from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.protocol.access.events import Event, Failure
from scrapy_rep.protocol.access.knowledge import Copy, Knowledge, Outage, Step
from scrapy_rep.protocol.access.origin import Origin

NOW = 1_800_000_000.0
ORIGIN = Origin("https", "example.com", 443)
OTHER = Origin("http", "example.com", 80)
BODY = b"User-agent: *\nDisallow: /private\n"


def usual_key(origin: Origin | None) -> Key:
    """The key of an origin in a crawl with Scrapy's default User-Agent."""
    assert origin is not None
    return Key.under(origin, USER_AGENT)


def file_entry(origin: Origin = ORIGIN, *, at: float = NOW, body: bytes = BODY) -> Entry:
    """A file that was fetched at an instant."""
    return Entry(
        origin,
        Knowledge(
            Copy(200, body, (origin.robots_txt_uri,), (("etag", '"1"'),), at, at, at + 86_400)
        ),
    )


def outage_entry(origin: Origin = ORIGIN, *, at: float = NOW, event: Event = 503) -> Entry:
    """A file that could not be reached at an instant."""
    return Entry(
        origin, Knowledge(outage=Outage(event, (origin.robots_txt_uri,), at, at, 1, at + 30))
    )


def body_of(entry: Entry | None) -> bytes | None:
    """The octets of an entry's file."""
    if entry is None or entry.known.copy is None:
        return None
    return entry.known.copy.body


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
