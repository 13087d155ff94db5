"""Exchanges as WARC/1.1 records: each record is a value with its head and its block.

An exchange becomes a `response`, a `request` and a `metadata` record, with one date. A 304 that
confirms a copy becomes a `revisit`, and a failure a `metadata` record only. Octets that this run
did not request become a `resource`, so that no fetch is invented.

Scrapy keeps neither the status line of an answer nor the letter case of names, so the heads are
rebuilt, without secrets. Values are the octets that were received. warcio (extra `[warc]`)
compresses each record as its own gzip member.
"""

from __future__ import annotations

import re
from base64 import b32encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from hashlib import sha1, sha256
from http import HTTPStatus
from io import BytesIO
from urllib.parse import urlsplit
from uuid import uuid4

from scrapy_rep.protocol.secrecy import bare, is_secret, without_userinfo

VERSION = "1.1"
SOFTWARE = "scrapy-rep"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
CONFORMS_TO = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"

_FIELDS = "application/warc-fields"
_REQUEST = "application/http; msgtype=request"
_RESPONSE = "application/http; msgtype=response"
_OCTETS = "application/octet-stream"

_LINE_ENDS = re.compile(rb"[\r\n]+")
_FRAMING = frozenset({b"transfer-encoding"})  # the chunks are joined
_PROTOCOLS = frozenset({"HTTP/1.0", "HTTP/1.1"})
_PHRASES = {status.value: status.phrase for status in HTTPStatus}

Pairs = Iterable[tuple[str, str]]

Headers = tuple[tuple[bytes, bytes], ...]
"""Header fields in order, with names as received."""

Facts = tuple[tuple[str, str], ...]
"""Fields of a metadata record."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as it was sent.

    Attributes:
        method: its method.
        headers: its header fields, without Host.
    """

    method: str
    headers: Headers


@dataclass(frozen=True, slots=True)
class ReceivedAnswer:
    """An answer as it was received.

    Attributes:
        status: its status code.
        protocol: in the download handler's words: ``HTTP/1.1``, ``h2``; empty if unknown.
        headers: its header fields.
        body: the octets of its body, with content codings, chunks joined.
        truncated: why the body is incomplete, as a WARC-Truncated value; empty if it is complete.
    """

    status: int
    protocol: str
    headers: Headers
    body: bytes = field(repr=False)
    truncated: str = ""


@dataclass(frozen=True, slots=True)
class Purpose:
    """The purpose of a request: the file of an origin, and the way to it.

    Attributes:
        origin: such as ``https://example.com``.
        path: of the file: ``/robots.txt``.
        hops: the URIs on the way to it, this one last.
    """

    origin: str
    path: str
    hops: tuple[str, ...]


def judged_facts(body: bytes) -> Facts:
    """The digest and the number of octets that were judged."""
    digest = f"sha256:{sha256(body).hexdigest()}"
    return ("rep-body-digest", digest), ("rep-body-octets", str(len(body)))


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request, and the answer or failure that followed.

    Attributes:
        id: of its main record, a URN.
        uri: the requested URI.
        purpose: its purpose.
        at: when it was sent, POSIX seconds.
        seconds: from then to the end of the answer; None if unknown.
        event: its status, or the name of the failure.
        sent: the request; None if unknown.
        received: the answer; None without one.
        address: the IP address that answered; empty if unknown.
        is_proxied: whether a proxy was used.
        judged: the facts of the octets judged, decompressed and cut; empty without any.
        confirms_at: when the answer for the same URI was requested that this one confirms (304);
            None for other answers.
    """

    id: str
    uri: str
    purpose: Purpose
    at: float
    seconds: float | None
    event: str
    sent: SentRequest | None = None
    received: ReceivedAnswer | None = None
    address: str = ""
    is_proxied: bool = False
    judged: Facts = ()
    confirms_at: float | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """Knowledge that decided without a request of this run.

    Attributes:
        id: of its main record, a URN.
        purpose: its purpose, with the way to it.
        at: when the octets were received, POSIX seconds.
        used_at: when they were used here.
        source: ``store``, ``override`` or ``middleware``.
        event: the known event.
        body: the octets judged; None without a file.
        content_type: their media type; empty if unknown.
        cache_control: their Cache-Control; empty if unknown.
    """

    id: str
    purpose: Purpose
    at: float
    used_at: float
    source: str
    event: str
    body: bytes | None = field(default=None, repr=False)
    content_type: str = ""
    cache_control: str = ""


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The result of an exchange that was the last one for a file.

    Attributes:
        event: the final status, or the name of the failure.
        at: when it was received, POSIX seconds.
        hops: the URIs on the way, in order.
    """

    event: str
    at: float
    hops: tuple[str, ...]


Archived = Exchange | Stored


@dataclass(frozen=True, slots=True)
class Record:
    """A WARC record.

    Attributes:
        kind: its WARC-Type.
        id: a URN.
        at: its WARC-Date, POSIX seconds.
        uri: its WARC-Target-URI; empty without one.
        fields: further fields of its head, without lengths and digests.
        content_type: of the block.
        block: its octets.
        payload: the part of the block with a payload digest; None without one.
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
    """A new id for a record."""
    return uuid4().urn


def date(at: float) -> str:
    """An instant as in records; an instant outside the calendar becomes its first day.

    To three decimals, like trails and stores: otherwise one in 2,000 would have another second
    here.
    """
    try:
        found = datetime.fromtimestamp(round(at, 3), timezone.utc)
    except (OverflowError, OSError, ValueError):
        found = datetime.fromtimestamp(0, timezone.utc)
    return f"{found:%Y-%m-%dT%H:%M:%S.%f}Z"


def warcinfo(name: str, at: float, facts: Mapping[str, str]) -> Record:
    """The first record of a file; `facts` are those of its crawl."""
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


def records_of(archived: Archived, outcome: FileOutcome | None = None) -> tuple[Record, ...]:
    """The records of an exchange; `outcome` is the result, if it was the last of several."""
    if isinstance(archived, Stored):
        return _of_stored(archived, outcome)
    return _of_exchange(archived, outcome)


def _of_exchange(exchange: Exchange, outcome: FileOutcome | None) -> tuple[Record, ...]:
    uri, at = bare(exchange.uri), exchange.at
    records, left_out = list[Record](), list[str]()
    if exchange.received is not None:
        main, left_out = _answer(exchange, exchange.received, uri)
        records.append(main)
        if exchange.sent is not None and _is_http(uri):
            head, without = request_head(exchange.sent, uri)
            left_out = list(dict.fromkeys([*left_out, *without]))
            concurrent = _concurrent_to(exchange)
            records.append(Record("request", new_id(), at, uri, concurrent, _REQUEST, head, b""))
    return _with_metadata(records, exchange, uri, _told(exchange, outcome, left_out))


def _with_metadata(
    records: list[Record], archived: Archived, uri: str, told: bytes
) -> tuple[Record, ...]:
    """The records with one of metadata, which is the main record if there is no other."""
    name = new_id() if records else archived.id
    fields = _concurrent_to(archived) if records else ()
    return (*records, Record("metadata", name, archived.at, uri, fields, _FIELDS, told, told))


def _concurrent_to(archived: Archived) -> tuple[tuple[str, str], ...]:
    return (("WARC-Concurrent-To", f"<{archived.id}>"),)


def _answer(exchange: Exchange, answered: ReceivedAnswer, uri: str) -> tuple[Record, list[str]]:
    fields: list[tuple[str, str]] = []
    if exchange.address and not exchange.is_proxied:
        fields.append(("WARC-IP-Address", exchange.address))
    if answered.truncated:
        fields.append(("WARC-Truncated", answered.truncated))
    kind, head, left_out = "response", b"", list[str]()
    payload: bytes | None = answered.body
    if not _is_http(uri):  # FTP has no header fields
        kind = "resource"
    else:
        head, left_out = answer_head(answered)
    if exchange.confirms_at is not None:
        kind, payload = "revisit", None
        fields += [
            ("WARC-Profile", NOT_MODIFIED),
            ("WARC-Refers-To-Target-URI", uri),
            ("WARC-Refers-To-Date", date(exchange.confirms_at)),
        ]
    block = head + (payload or b"")
    content_type = _OCTETS if kind == "resource" else _RESPONSE
    fixed = (kind, exchange.id, exchange.at, uri, tuple(fields))
    return Record(*fixed, content_type, block, payload), left_out


def _told(exchange: Exchange, outcome: FileOutcome | None, left_out: Iterable[str]) -> bytes:
    purpose, answered = exchange.purpose, exchange.received
    told = [("via", bare(uri)) for uri in purpose.hops[-2:-1]]
    if exchange.seconds is not None:
        told.append(("fetchTimeMs", str(round(1000 * exchange.seconds))))
    told += [
        ("rep-origin", purpose.origin),
        ("rep-file", purpose.path),
        ("rep-hop", str(len(purpose.hops) - 1)),
        ("rep-event", exchange.event),
        *exchange.judged,
        ("rep-proxied", "true" if exchange.is_proxied else ""),
    ]
    if (
        answered is not None
        and answered.protocol.upper() not in _PROTOCOLS
        and _is_http(exchange.uri)
    ):
        told.append(("rep-protocol", answered.protocol or "unknown"))
    told += [("rep-left-out", name) for name in left_out]
    return _fields([*told, *_of_outcome(outcome)])


def _of_stored(stored: Stored, outcome: FileOutcome | None) -> tuple[Record, ...]:
    purpose = stored.purpose
    uri = bare(purpose.hops[-1])
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
            *(() if stored.body is None else judged_facts(stored.body)),
            *_of_outcome(outcome),
        ]
    )
    kind, body, records = stored.content_type or _OCTETS, stored.body, list[Record]()
    if body is not None:
        records.append(Record("resource", stored.id, stored.at, uri, (), kind, body, body))
    return _with_metadata(records, stored, uri, told)


def _is_http(uri: str) -> bool:
    return uri.partition(":")[0].lower() in ("http", "https")


def _of_outcome(outcome: FileOutcome | None) -> Pairs:
    if outcome is None:
        return ()
    return (
        ("rep-outcome", outcome.event),
        ("rep-outcome-at", date(outcome.at)),
        ("rep-outcome-hops", str(max(len(outcome.hops) - 1, 0))),
        ("rep-outcome-uri", bare(outcome.hops[-1]) if outcome.hops else ""),
    )


def _fields(pairs: Pairs) -> bytes:
    """A block of the type application/warc-fields, without empty fields."""
    lines = (f"{name}: {' '.join(value.split())}\r\n" for name, value in pairs if value)
    return "".join(lines).encode("utf-8", "backslashreplace")


def request_head(sent: SentRequest, uri: str) -> tuple[bytes, list[str]]:
    """The head of a request, and the names of fields that were left out."""
    parts = urlsplit(bare(uri))
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    first = f"{sent.method} {target} HTTP/1.1".encode("utf-8", "replace")
    host = (b"Host", parts.netloc.encode("utf-8", "replace"))
    return _head(first, (host, *(one for one in sent.headers if one[0].lower() != b"host")))


def answer_head(answered: ReceivedAnswer) -> tuple[bytes, list[str]]:
    """The head of an answer, and the names of fields that were left out."""
    version = answered.protocol.upper()
    version = version if version in _PROTOCOLS else "HTTP/1.1"
    first = f"{version} {answered.status} {_PHRASES.get(answered.status, '')}".encode("ascii")
    return _head(first, answered.headers)


def _head(first: bytes, headers: Headers) -> tuple[bytes, list[str]]:
    left_out: dict[str, None] = {}
    lines = [_line_of_octets(first), *_lines(headers, left_out)]
    return b"\r\n".join(lines) + b"\r\n\r\n", list(left_out)


def _lines(headers: Headers, left_out: dict[str, None]) -> Iterator[bytes]:
    for name, value in headers:
        shown = _line_of_octets(name).replace(b":", b" ").strip()
        text = shown.decode("latin-1").lower()
        if not shown or shown.lower() in _FRAMING or is_secret(text):
            left_out[text] = None
            continue
        kept = without_userinfo(value.decode("latin-1")).encode("latin-1")
        if kept != value:
            left_out[f"userinfo in {text}"] = None
        yield shown + b": " + _line_of_octets(kept)


def _line_of_octets(octets: bytes) -> bytes:
    return _LINE_ENDS.sub(b" ", octets)


def packed(record: Record) -> bytes:
    """A record as gzipped octets."""
    from warcio.recordloader import ArcWarcRecord
    from warcio.statusandheaders import StatusAndHeaders
    from warcio.warcwriter import WARCWriter

    head = [
        ("WARC-Type", record.kind),
        ("WARC-Record-ID", f"<{record.id}>"),
        ("WARC-Date", date(record.at)),
    ]
    if record.uri:
        head.append(("WARC-Target-URI", _in_one_line(record.uri)))
    head += [(name, _in_one_line(value)) for name, value in record.fields]
    if record.payload is not None:
        head.append(("WARC-Payload-Digest", digest_of(record.payload)))
    # warcio parses HTTP heads and writes them again, and escapes non-ASCII characters. A block
    # without such a head is written unchanged, except for the kind "revisit"; and it needs its own
    # digest unless the kind is "warcinfo". The WARC-Type in the file is that of `head`.
    made = ArcWarcRecord(
        "warc",
        "warcinfo" if record.payload is None else record.kind,
        StatusAndHeaders("", head, protocol=f"WARC/{VERSION}"),
        BytesIO(record.block),
        None,
        _in_one_line(record.content_type),
        len(record.block),
    )
    out = BytesIO()
    WARCWriter(out, gzip=True, warc_version=VERSION).write_record(made)
    return out.getvalue()


def digest_of(octets: bytes) -> str:
    """A digest as in WARC files; warcio writes block digests in the same way."""
    return f"sha1:{b32encode(sha1(octets, usedforsecurity=False).digest()).decode('ascii')}"


def _in_one_line(value: str) -> str:
    return " ".join(value.split()).encode("utf-8", "backslashreplace").decode("utf-8")
