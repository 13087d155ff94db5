"""The facts of an answer's header fields and times; unreadable values count as absent."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

from scrapy_rep.extras.survey.captures import Capture
from scrapy_rep.extras.survey.facts import host_of
from scrapy_rep.protocol import codings
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.origin import Origin

BODY_OCTETS = 1 << 24
"""The most octets of a body that are kept: many times the parse limit, so only the size is cut."""

_OK = 200
_MEDIA_TYPE = re.compile(r"[a-z0-9!#$&^_.+-]{1,60}/[a-z0-9!#$&^_.+-]{1,60}")
_MAX_AGE = re.compile(r"(?:^|[\s,])max-age\s*=\s*\"?([0-9]{1,18})(?![0-9])", re.IGNORECASE)
_INSTANT = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.\d{1,9})?Z")
_OUTCOME_STATUS = re.compile(r"[0-9]{1,9}")
_TEXT_CHARACTERS = 1000
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,8})[^\n]{0,1000}\n")


def text_of(found: object) -> str:
    """A text without lone surrogates and of limited length, as rows and pages can hold it.

    JSON and names of files that are not UTF-8 may contain surrogates. Empty if it is not a text.
    """
    if not isinstance(found, str):
        return ""
    return found[:_TEXT_CHARACTERS].encode("utf-8", "replace").decode("utf-8")


def number_of(found: object) -> int | None:
    """A whole number that a row can hold; None for any other value."""
    if isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 1 << 63:
        return found
    return None


def outcome_of(event: object) -> tuple[int | None, str]:
    """The status or the failure that an event's name stands for."""
    name = text_of(str(event))
    if name == Failure.HTML.value:  # a page that came as the file
        return _OK, ""
    return (int(name), "") if _OUTCOME_STATUS.fullmatch(name) else (None, name)


def capture_of(
    origin: Origin,
    at: float,
    event: object,
    hops: Sequence[str],
    headers: Mapping[str, str],
    *,
    body: bytes | None = None,
) -> Capture:
    """The capture of an answer that came at `at`, after the requests for `hops`."""
    status, failure = outcome_of(event)
    return Capture(
        origin.host,
        origin.scheme,
        origin.port,
        date_at(at),
        status,
        failure,
        max(len(hops) - 1, 0),
        bool(hops) and host_of(hops[-1]) != host_of(hops[0]),
        media_type_of(str(headers.get("content-type", ""))),
        max_age_of(str(headers.get("cache-control", ""))),
        body,
    )


def media_type_of(content_type: str) -> str:
    """The media type that a Content-Type field names, in lower case; empty if it names none."""
    found = _MEDIA_TYPE.match(content_type.strip().lower())
    return found[0] if found else ""


def max_age_of(cache_control: str) -> int | None:
    """The max-age of a Cache-Control field; the least if there are several."""
    return min(map(int, _MAX_AGE.findall(cache_control)), default=None)


def date_of(text: str) -> str:
    """An instant as ``2026-11-22T05:00:00Z``; empty if the text is not a date."""
    found = _INSTANT.fullmatch(text)
    return f"{found[1]}Z" if found else ""


def date_at(seconds: float) -> str:
    """POSIX seconds as such a date; empty without any, or if a wrong clock recorded them.

    Trails hold three decimals. More decimals would turn one instant into two.
    """
    if not seconds:
        return ""
    try:
        return f"{datetime.fromtimestamp(round(seconds, 3), timezone.utc):%Y-%m-%dT%H:%M:%SZ}"
    except (OverflowError, OSError, ValueError):
        return ""


def unchunked(body: bytes) -> bytes:
    """A body without its chunks (RFC 9112, 7.1); the body itself if it is not chunked.

    Archives keep the field even if they have joined the chunks. Linear in the octets.
    """
    pieces, at = [], 0
    while found := _CHUNK.match(body, at):
        size = int(found[1], 16)
        pieces.append(body[found.end() : found.end() + size])
        at = found.end() + size
        if not size:
            return b"".join(pieces)
        if body[at : at + 2] == b"\r\n":
            at += 2
        elif at < len(body):
            return body
    return b"".join(pieces) if pieces and at >= len(body) else body


def decoded(body: bytes, content_encoding: str) -> bytes | None:
    """A body without its codings, at most `BODY_OCTETS` of it, as a crawl reads it.

    None if it is damaged, or coded in a way that this Python cannot read.

    Archives keep the field even if they have decoded the body, and cut long bodies. So text is
    returned unchanged, and the beginning of a body counts.
    """
    is_text = codings.is_text(body)
    if is_text and "\ufffd" not in body.decode("utf-8", "replace"):
        return body
    try:
        found = codings.decoded(body, content_encoding, BODY_OCTETS - 1)
    except codings.UndecodableError:
        return body if is_text else None
    return None if found.is_cut and not found.octets else found.octets
