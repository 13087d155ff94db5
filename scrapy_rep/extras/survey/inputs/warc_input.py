"""WARC files (ISO 28500), plain or with one gzip member per record, as Common Crawl writes them.

Only responses and resources count, and only if their target is exactly ``/robots.txt`` of an
origin: the archives of crawls also hold the targets of redirects, which are often not a robots.txt,
and answers to requests that were redirected. Requests, metadata and warcinfo records are skipped.
Any other record that is left out is reported with a reason.

No content of a file raises. Linear in its octets; memory is one record, at most `_RECORD_OCTETS`.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator
from dataclasses import replace
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from scrapy_rep.extras.survey.captures import Bad, Capture
from scrapy_rep.extras.survey.facts import host_of
from scrapy_rep.protocol.access.challenges import challenge_in
from scrapy_rep.protocol.access.events import AccessResult, Failure, access_result
from scrapy_rep.protocol.access.origin import ROBOTS_TXT_PATH, Origin
from scrapy_rep.protocol.errors import InvalidUri

from .answer_facts import (
    BODY_OCTETS,
    date_of,
    decoded,
    max_age_of,
    media_type_of,
    outcome_of,
    unchunked,
)

_RECORD_OCTETS = BODY_OCTETS + (1 << 16)
_HEAD_OCTETS = 1 << 16
_SKIP_OCTETS = 1 << 20
_PIECE_OCTETS = 1 << 12
_DAMAGED = "damaged"
_GZIP = b"\x1f\x8b"
_VERSION = re.compile(rb"WARC/\d+\.\d+\s*")
_STATUS_LINE = re.compile(rb"HTTP/\S{1,10} +(\d{3})(?:[ \r\n]|\Z)")
_END_OF_HEAD = re.compile(rb"\r?\n\r?\n")
_ROBOTS_TXT = re.compile(r"[a-zA-Z]{4,5}://[^/?#]*/robots\.txt")
_PASSED_OVER = frozenset({"warcinfo", "request", "metadata"})
_DAMAGE = (EOFError, OSError, zlib.error, ValueError)

_NUMBER = re.compile(r"[0-9]{1,9}")


class _Pieces:
    """A stream that counts the octets read. It gives small pieces, because gzip reads far ahead.

    Attributes:
        octets: the number of octets read so far.
    """

    def __init__(self, stream: Any, limit_octets: int) -> None:
        self._stream = stream
        self._limit_octets = limit_octets
        self.octets = 0

    def read(self, octets: int) -> bytes:
        found: bytes = self._stream.read(min(octets, self._limit_octets))
        self.octets += len(found)
        return found

    def readline(self, octets: int) -> bytes:
        found: bytes = self._stream.readline(octets)
        self.octets += len(found)
        return found


Stream = _Pieces | gzip.GzipFile
Fields = dict[str, str]
"""Header fields, names in lower case; if a name occurs more than once, the first."""
CaptureKey = tuple[str, str, int, str]
"""The host, scheme, port and date of a capture."""


def is_warc(head: bytes) -> bool:
    """Whether the first octets of a decompressed file are those of a WARC file."""
    return head.startswith(b"WARC/")


def captures_in(path: str) -> Iterator[Capture | Bad]:
    """Yield the captures in a file."""
    try:
        with Path(path).open("rb") as raw:
            for found in captures_of_stream(raw):
                if isinstance(found, Bad) and found.read_octets is not None:
                    size = os.fstat(raw.fileno()).st_size
                    yield replace(found, file=path, of_octets=size)
                else:
                    yield found
    except OSError:
        yield Bad("unreadable")


def captures_of_stream(raw: BinaryIO) -> Iterator[Capture | Bad]:
    """Yield the captures of an open file, compressed or not; reading ends at the first damage."""
    buffered: Any = BufferedReader(raw)
    try:
        is_packed = buffered.peek(2)[:2] == _GZIP
        pieces: Any = _Pieces(buffered, _PIECE_OCTETS if is_packed else _RECORD_OCTETS)
        for found in _captures(gzip.GzipFile(fileobj=pieces) if is_packed else pieces):
            is_damage = isinstance(found, Bad) and found.reason == _DAMAGED
            yield Bad(_DAMAGED, pieces.octets) if is_damage else found
    finally:
        buffered.detach()  # the file is the caller's


def _captures(stream: Stream) -> Iterator[Capture | Bad]:
    """Yield captures; in our own archives, the metadata records tell which answers count."""
    held: tuple[Fields, bytes] | None = None
    for fields, block in _records_and_damage(stream):
        told = _told_by(fields, block)
        if told is None and _kind_of(fields) in _PASSED_OVER:
            continue
        is_told_of = held and held[0].get("warc-record-id") == fields.get("warc-concurrent-to", "")
        if held is not None and (told is None or not is_told_of):
            yield _capture(*held)
            held = None
        if told is not None:
            yield from _exchange(told, held)
            held = None
        else:
            held = fields, block
    if held is not None:
        yield _capture(*held)


def _kind_of(fields: Fields) -> str:
    return fields.get("warc-type", "").lower()


def _records_and_damage(stream: Stream) -> Iterator[tuple[Fields, bytes]]:
    try:
        yield from _records(stream)
    except _DAMAGE:
        yield {"warc-type": _DAMAGED}, b""


def _records(stream: Stream) -> Iterator[tuple[Fields, bytes]]:
    """Yield header fields and blocks.

    Raises:
        ValueError: the stream is not a WARC file, or stops being one.
        EOFError: it ends within a record.
    """
    while line := stream.readline(_HEAD_OCTETS):
        if line.strip(b"\r\n"):
            if not _VERSION.fullmatch(line):
                raise ValueError(line)
            fields = _fields(_head(stream))
            length = int(fields.get("content-length", -1))
            if length < 0:
                raise ValueError("a record without a length")
            block = stream.read(min(length, _RECORD_OCTETS))
            _skip(stream, length - len(block))
            yield fields, block


def _head(stream: Stream) -> bytes:
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


def _skip(stream: Stream, octets: int) -> None:
    while octets > 0:
        piece = stream.read(min(octets, _SKIP_OCTETS))
        if not piece:
            raise EOFError
        octets -= len(piece)


def _fields(head: bytes) -> Fields:
    """Parse header fields; a line that begins with a blank continues the one before."""
    found: Fields = {}
    text = re.sub(r"\r?\n[ \t]+", " ", head.decode("utf-8", "replace"))
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            found.setdefault(name.strip().lower(), value.strip())
    return found


def _capture(fields: Fields, block: bytes) -> Capture | Bad:
    """Read the capture in a record, unless its kind is skipped."""
    kind = _kind_of(fields)
    if kind not in ("response", "resource"):
        return Bad(kind if kind in ("revisit", _DAMAGED) else "other-record")
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
    return _answer((origin.host, origin.scheme, origin.port, date), fields, block)


def _answer(key: CaptureKey, fields: Fields, block: bytes) -> Capture | Bad:
    """Read the answer in a record, whatever its target."""
    if _kind_of(fields) == "response":
        return _response(key, block)
    media_type = media_type_of(fields.get("content-type", ""))
    return Capture(*key, media_type=media_type, body=block[:BODY_OCTETS])


def _response(key: CaptureKey, block: bytes) -> Capture | Bad:
    status = _STATUS_LINE.match(block)
    end = _END_OF_HEAD.search(block, 0, _HEAD_OCTETS)
    if status is None or end is None:
        return Bad("no-http")
    head = _fields(block[: end.start()].partition(b"\n")[2])
    if challenge_in(int(status[1]), head):
        return Capture(*key, failure=Failure.CHALLENGE.value)
    body = block[end.end() :]
    if "chunked" in head.get("transfer-encoding", "").lower():
        body = unchunked(body)
    plain = decoded(body, head.get("content-encoding", ""))
    if plain is None and status[1].startswith(b"2"):  # crawls read no other bodies
        return Bad("undecodable")
    return Capture(
        *key,
        status=int(status[1]),
        media_type=media_type_of(head.get("content-type", "")),
        max_age=max_age_of(head.get("cache-control", "")),
        body=plain and plain[:BODY_OCTETS],
    )


# In our own archives, each request has a metadata record next to its answer. The last one for a
# file has the outcome; the others are redirects or failed tries. So the capture of an origin is
# what the store of the same crawl holds.


def _told_by(fields: Fields, block: bytes) -> Fields | None:
    """The fields of one of our metadata records; None for any other record."""
    is_ours = _kind_of(fields) == "metadata" and b"rep-origin:" in block
    return _fields(block) if is_ours else None


def _exchange(told: Fields, answer: tuple[Fields, bytes] | None) -> Iterator[Capture | Bad]:
    """Read the capture of an exchange, if it was the last one for a robots.txt."""
    if told.get("rep-file") != ROBOTS_TXT_PATH or "rep-outcome" not in told:
        return
    status, failure = outcome_of(told["rep-outcome"])
    try:
        origin = Origin.of(told.get("rep-origin", ""))
        result = access_result(Failure(failure) if status is None else status)
    except (InvalidUri, ValueError):
        origin = None
    if origin is None:
        yield Bad("no-origin")
        return
    if answer is not None and _kind_of(answer[0]) == "revisit":
        yield Bad("revisit")
        return
    key = (origin.host, origin.scheme, origin.port, date_of(told.get("rep-outcome-at", "")))
    found: Capture | Bad = Capture(*key)
    if answer is not None and result is not AccessResult.UNREACHABLE:
        found = _answer(key, *answer)
    if isinstance(found, Capture):
        found = replace(
            found,
            status=status,
            failure=failure,
            hops=_number(told.get("rep-outcome-hops", "")),
            cross_host=host_of(told.get("rep-outcome-uri", "")) != found.host,
            # An archive also holds the octets after those that were judged.
            body=found.body and found.body[: _number(told.get("rep-body-octets", ""))],
        )
        if failure:
            found = replace(found, body=None)
        elif "rep-source" in told and result is not AccessResult.UNREACHABLE:
            # The octets were not fetched: the metadata describes what was known of them.
            kind, control = told.get("rep-content-type", ""), told.get("rep-cache-control", "")
            found = replace(found, media_type=media_type_of(kind), max_age=max_age_of(control))
    yield found


def _number(text: str) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None
