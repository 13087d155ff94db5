"""Exchanges as records (WARC/1.1), each a value: what stands in its head, and its block.

An exchange is a `response`, a `request` and a `metadata`, with one date. A 304 that confirms what
was known is a `revisit`, and a failure a `metadata` alone. What no request of this run brought is
a `resource`: no fetch is made up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from uuid import uuid4

from .redaction import bare
from .warc_exchanges import Answered, Archived, Exchange, Judged, Outcome, Stored
from .warc_heads import answer_head, protocol_of, request_head

VERSION = "1.1"
SOFTWARE = "scrapy-rep"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"

_FIELDS = "application/warc-fields"
_REQUEST = "application/http; msgtype=request"
_RESPONSE = "application/http; msgtype=response"
_OCTETS = "application/octet-stream"
_PROTOCOLS = frozenset({"HTTP/1.0", "HTTP/1.1"})

Pairs = Iterable[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Record:
    """One record.

    Attributes:
        kind: its WARC-Type.
        id: a URN.
        at: its WARC-Date, POSIX seconds.
        uri: its WARC-Target-URI; empty for none.
        fields: the fields of its head besides those, and besides lengths and digests.
        content_type: of the block.
        block: its octets.
        payload: the part of the block that its payload digest is of; None for no such digest.
    """

    kind: str
    id: str
    at: float
    uri: str
    fields: tuple[tuple[str, str], ...]
    content_type: str
    block: bytes = field(repr=False)
    payload: bytes | None = field(default=None, repr=False)


def new_id() -> str:
    """An id for a record."""
    return uuid4().urn


def date(at: float) -> str:
    """An instant as records write it; those that no calendar holds, as its first one.

    To three decimals, as trails have it and as surveys read stores: else one of 2,000 would have
    another second there.
    """
    try:
        found = datetime.fromtimestamp(round(at, 3), timezone.utc)
    except (OverflowError, OSError, ValueError):
        found = datetime.fromtimestamp(0, timezone.utc)
    return f"{found:%Y-%m-%dT%H:%M:%S.%f}Z"


def warcinfo(name: str, at: float, facts: Mapping[str, str]) -> Record:
    """The first record of a file; `facts` are of its crawl."""
    told = {
        **facts,
        "format": f"WARC File Format {VERSION}",
        "conformsTo": CONFORMS_TO,
        "description": "Exchanges about robots.txt, and tdmrep.json. The heads of requests and "
        "answers are rebuilt from what Scrapy keeps: status lines, and the letter case of names. "
        "Transfer codings are removed. Fields that may hold secrets are left out, and named in "
        "the metadata record.",
    }
    fields = (("WARC-Filename", name),)
    return Record("warcinfo", new_id(), at, "", fields, _FIELDS, _fields(told.items()))


def records_of(archived: Archived, outcome: Outcome | None = None) -> tuple[Record, ...]:
    """The records of an exchange; `outcome` is what was learnt, if it was the last of several."""
    if isinstance(archived, Stored):
        return _of_stored(archived, outcome)
    return _of_exchange(archived, outcome)


def _of_exchange(exchange: Exchange, outcome: Outcome | None) -> tuple[Record, ...]:
    uri, at = bare(exchange.uri), exchange.at
    if exchange.answered is None:
        told = _told(exchange, outcome, ())
        return (Record("metadata", exchange.id, at, uri, (), _FIELDS, told, told),)
    main, left_out = _answer(exchange, exchange.answered, uri)
    concurrent = (("WARC-Concurrent-To", f"<{exchange.id}>"),)
    records = [main]
    if exchange.asked is not None and _is_http(uri):
        head, without = request_head(exchange.asked, uri)
        left_out = list(dict.fromkeys([*left_out, *without]))
        records.append(Record("request", new_id(), at, uri, concurrent, _REQUEST, head, b""))
    told = _told(exchange, outcome, left_out)
    records.append(Record("metadata", new_id(), at, uri, concurrent, _FIELDS, told, told))
    return tuple(records)


def _answer(exchange: Exchange, answered: Answered, uri: str) -> tuple[Record, list[str]]:
    fields: list[tuple[str, str]] = []
    if exchange.address and not exchange.is_proxied:
        fields.append(("WARC-IP-Address", exchange.address))
    if answered.truncated:
        fields.append(("WARC-Truncated", answered.truncated))
    kind, head, left_out = "response", b"", list[str]()
    payload: bytes | None = answered.body
    original = exchange.original
    if not _is_http(uri):  # over FTP, a file has no head
        kind = "resource"
    else:
        head, left_out = answer_head(answered)
    if original is not None:
        kind, payload = "revisit", None
        fields += [
            ("WARC-Profile", NOT_MODIFIED),
            ("WARC-Refers-To-Target-URI", bare(original.uri)),
            ("WARC-Refers-To-Date", date(original.at)),
        ]
    block = head + (payload or b"")
    content_type = _OCTETS if kind == "resource" else _RESPONSE
    fixed = (kind, exchange.id, exchange.at, uri, tuple(fields))
    return Record(*fixed, content_type, block, payload), left_out


def _told(exchange: Exchange, outcome: Outcome | None, left_out: Iterable[str]) -> bytes:
    purpose, answered = exchange.purpose, exchange.answered
    told = [("via", bare(uri)) for uri in purpose.hops[-2:-1]]
    if exchange.seconds is not None:
        told.append(("fetchTimeMs", str(round(1000 * exchange.seconds))))
    told += [
        ("rep-origin", purpose.origin),
        ("rep-file", purpose.path),
        ("rep-hop", str(len(purpose.hops) - 1)),
        ("rep-event", exchange.event),
        *_of_judged(exchange.judged),
        ("rep-proxied", "true" if exchange.is_proxied else ""),
    ]
    if answered is not None and protocol_of(answered) not in _PROTOCOLS and _is_http(exchange.uri):
        told.append(("rep-protocol", answered.protocol or "not known"))
    told += [("rep-left-out", name) for name in left_out]
    return _fields([*told, *_of_outcome(outcome)])


def _of_stored(stored: Stored, outcome: Outcome | None) -> tuple[Record, ...]:
    purpose = stored.purpose
    uri, at = bare(purpose.hops[-1]), stored.at
    told = _fields(
        [
            ("rep-source", stored.source),
            ("rep-used-at", date(stored.used_at)),
            ("rep-origin", purpose.origin),
            ("rep-file", purpose.path),
            *(("rep-way", bare(hop)) for hop in purpose.hops),
            ("rep-event", stored.event),
            ("rep-content-type", stored.content_type),
            ("rep-cache-control", stored.cache_control),
            *_of_judged(None if stored.body is None else Judged.of(stored.body)),
            *_of_outcome(outcome),
        ]
    )
    if stored.body is None:
        return (Record("metadata", stored.id, at, uri, (), _FIELDS, told, told),)
    kind, body = stored.content_type or _OCTETS, stored.body
    concurrent = (("WARC-Concurrent-To", f"<{stored.id}>"),)
    return (
        Record("resource", stored.id, at, uri, (), kind, body, body),
        Record("metadata", new_id(), at, uri, concurrent, _FIELDS, told, told),
    )


def _is_http(uri: str) -> bool:
    return uri.partition(":")[0].lower() in ("http", "https")


def _of_judged(judged: Judged | None) -> Pairs:
    if judged is None:
        return ()
    return (("rep-body-digest", judged.digest), ("rep-body-octets", str(judged.octets)))


def _of_outcome(outcome: Outcome | None) -> Pairs:
    if outcome is None:
        return ()
    return (
        ("rep-outcome", outcome.event),
        ("rep-outcome-at", date(outcome.at)),
        ("rep-outcome-hops", str(max(len(outcome.hops) - 1, 0))),
        ("rep-outcome-uri", bare(outcome.hops[-1]) if outcome.hops else ""),
    )


def _fields(pairs: Pairs) -> bytes:
    """A block of the type application/warc-fields; what is empty is left out."""
    lines = (f"{name}: {' '.join(value.split())}\r\n" for name, value in pairs if value)
    return "".join(lines).encode("utf-8", "backslashreplace")
