"""WARC files (ISO 28500), whole or a gzip member a record, as crawlers and Common Crawl write them.

Of the records, responses and resources count whose target is exactly ``/robots.txt`` of an origin:
the archives of crawls hold the targets of redirects too, which are often no robots.txt at all, and
answers to requests that were led elsewhere. Requests, metadata and information are passed over;
what else is left out has a reason.

Nothing in a file raises. Linear in its octets; memory is one record, of at most `_RECORD_OCTETS`.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterator
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.survey.captures import Bad, Capture

from . import own_archive as own
from .answer_facts import (
    BODY_OCTETS,
    BodyCodingError,
    date_of,
    decoded,
    max_age_of,
    media_type_of,
    unchunked,
)

_RECORD_OCTETS = BODY_OCTETS + (1 << 16)
_HEAD_OCTETS = 1 << 16
_SKIP_OCTETS = 1 << 20
_GZIP = b"\x1f\x8b"
_VERSION = re.compile(rb"WARC/\d+\.\d+\s*")
_STATUS_LINE = re.compile(rb"HTTP/\S{1,10} +(\d{3})(?:[ \r\n]|\Z)")
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_ROBOTS_TXT = re.compile(r"[a-zA-Z]{4,5}://[^/?#]*/robots\.txt")
_PASSED_OVER = frozenset({"warcinfo", "request", "metadata"})
_DAMAGE = (EOFError, OSError, zlib.error, ValueError)

Fields = dict[str, str]
"""Header fields, names in lower case; of several with the same name the first."""


def is_warc(head: bytes) -> bool:
    """Whether the first octets of a file, decompressed, are those of a WARC file."""
    return head.startswith(b"WARC/")


def captures_in(path: str) -> Iterator[Capture | Bad]:
    """What the records of a file say."""
    try:
        with Path(path).open("rb") as raw:
            yield from captures_of_stream(raw)
    except OSError:
        yield Bad("unreadable")


def captures_of_stream(raw: BinaryIO) -> Iterator[Capture | Bad]:
    """The same of an open file, compressed or not; what follows damage is not read."""
    if isinstance(raw, BufferedReader):
        yield from _captures(raw)
        return
    buffered = BufferedReader(raw)  # type: ignore[type-var]
    try:
        yield from _captures(buffered)
    finally:
        buffered.detach()  # the file is the caller's


def _captures(buffered: Any) -> Iterator[Capture | Bad]:
    is_packed = buffered.peek(2)[:2] == _GZIP
    stream = gzip.GzipFile(fileobj=buffered) if is_packed else buffered
    try:
        yield from _said(_records(stream))
    except _DAMAGE:
        yield Bad("damaged")


def _said(records: Iterator[tuple[Fields, bytes]]) -> Iterator[Capture | Bad]:
    """What records say; in our own archives, an answer counts as its metadata tells."""
    held: tuple[Fields, bytes] | None = None
    try:
        for fields, block in records:
            told = own.told_by(fields, block)
            is_answer = told is None and _kind_of(fields) not in _PASSED_OVER
            if held is not None and (is_answer or told is not None):
                before, held = held, None
                if told is not None and own.belong(before[0], fields):
                    yield from own.capture_of(told, before, _body_of)
                    continue
                yield from _one(*before)
            if told is not None:
                yield from own.capture_of(told, None, _body_of)
            elif is_answer:
                held = fields, block
    except _DAMAGE:
        if held is not None:
            yield from _one(*held)
        raise
    if held is not None:
        yield from _one(*held)


def _kind_of(fields: Fields) -> str:
    return fields.get("warc-type", "").lower()


def _one(fields: Fields, block: bytes) -> Iterator[Capture | Bad]:
    found = _capture(fields, block)
    if found is not None:
        yield found


def _body_of(place: own.Place, fields: Fields, block: bytes) -> Capture | Bad:
    """The answer in a record, whatever its target."""
    if _kind_of(fields) == "response":
        return _response(place, block)
    return Capture(*place, body=block[:BODY_OCTETS])


def _records(stream: BinaryIO | gzip.GzipFile) -> Iterator[tuple[Fields, bytes]]:
    """Header fields and blocks.

    Raises:
        ValueError: this is no WARC file, or is one no longer.
        EOFError: it ends within a record.
    """
    while True:
        line = stream.readline(_HEAD_OCTETS)
        if not line:
            return
        if line.strip(b"\r\n"):
            if not _VERSION.fullmatch(line):
                raise ValueError(line)
            fields = _fields(_head(stream))
            length = int(fields["content-length"]) if "content-length" in fields else -1
            if length < 0:
                raise ValueError("a record without a length")
            block = stream.read(min(length, _RECORD_OCTETS))
            _skip(stream, length - len(block))
            yield fields, block


def _head(stream: BinaryIO | gzip.GzipFile) -> bytes:
    lines: list[bytes] = []
    octets = 0
    while line := stream.readline(_HEAD_OCTETS):
        octets += len(line)
        if octets > _HEAD_OCTETS:
            raise ValueError("a head without an end")
        if not line.strip(b"\r\n"):
            return b"".join(lines)
        lines.append(line)
    raise EOFError


def _skip(stream: BinaryIO | gzip.GzipFile, octets: int) -> None:
    while octets > 0:
        piece = stream.read(min(octets, _SKIP_OCTETS))
        if not piece:
            raise EOFError
        octets -= len(piece)


def _fields(head: bytes) -> Fields:
    """Header fields; a line that begins with a blank goes on with the one before."""
    found: Fields = {}
    text = re.sub(r"\r?\n[ \t]+", " ", head.decode("utf-8", "replace"))
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip().lower(), value.strip())
    return found


def _capture(fields: Fields, block: bytes) -> Capture | Bad | None:
    """What a record says; None for those that are passed over."""
    kind = _kind_of(fields)
    if kind in _PASSED_OVER:
        return None
    if kind not in ("response", "resource"):
        return Bad("revisit" if kind == "revisit" else "other-record")
    uri = fields.get("warc-target-uri", "").strip("<>")
    try:
        origin = Origin.of(uri)
    except InvalidUri:
        origin = None
    if origin is None:
        return Bad("no-origin")
    if not _ROBOTS_TXT.fullmatch(uri):
        return Bad("not-robots-txt")
    date = date_of(fields.get("warc-date", ""))
    place = (origin.host, origin.scheme, origin.port, date)
    if kind == "resource":
        media_type = media_type_of(fields.get("content-type", ""))
        return Capture(*place, media_type=media_type, body=block[:BODY_OCTETS])
    return _response(place, block)


def _response(place: own.Place, block: bytes) -> Capture | Bad:
    status = _STATUS_LINE.match(block)
    end = _END_OF_HEAD.search(block, 0, _HEAD_OCTETS)
    if status is None or end is None:
        return Bad("no-http")
    head = _fields(block[: end.start()].partition(b"\n")[2])
    body = block[end.end() :]
    try:
        if "chunked" in head.get("transfer-encoding", "").lower():
            body = unchunked(body)
        body = decoded(body, head.get("content-encoding", ""))
    except BodyCodingError:
        return Bad("undecodable")
    return Capture(
        *place,
        status=int(status[1]),
        media_type=media_type_of(head.get("content-type", "")),
        max_age=max_age_of(head.get("cache-control", "")),
        body=body[:BODY_OCTETS],
    )
