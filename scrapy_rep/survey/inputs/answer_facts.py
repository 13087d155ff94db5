"""The facts of an answer's header fields and times; unreadable values count as absent."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone

from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.survey.captures import Capture
from scrapy_rep.survey.facts import host_of

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
    """A body without its codings, at most `BODY_OCTETS` of it.

    None if it is damaged, or coded in a way that this Python cannot read.

    Archives keep the field even if they have decoded the body. So a body that does not begin like
    its coding is returned unchanged.
    """
    for coding in reversed(content_encoding.lower().split(",")[:4]):
        is_coded, decode = _CODINGS.get(coding.strip(), (lambda _: False, bytes))
        if is_coded(body):
            try:
                body = decode(body)
            except Exception:  # noqa: BLE001 - each library raises its own
                return None
    return body


def _inflated(body: bytes, wbits: int) -> bytes:
    return zlib.decompressobj(wbits).decompress(body, BODY_OCTETS)


def _is_text(body: bytes) -> bool:
    """Whether octets look like text, not like compressed data: text has no control characters."""
    return not any(octet < 9 or 13 < octet < 32 for octet in body[:64])  # noqa: PLR2004


def _unbrotlied(body: bytes) -> bytes:
    import brotli

    pieces, octets, decompressor = [], 0, brotli.Decompressor()
    for at in range(0, len(body), 4096):
        piece = decompressor.process(body[at : at + 4096])
        pieces.append(piece)
        octets += len(piece)
        if octets > BODY_OCTETS:
            break
    return b"".join(pieces)[:BODY_OCTETS]


def _unzstded(body: bytes) -> bytes:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from backports import zstd
    decompressor = zstd.ZstdDecompressor()
    found: bytes = decompressor.decompress(body, BODY_OCTETS)
    if not found and not decompressor.eof:
        raise ValueError("it ends before any of it can be read")
    return found


_GZIP = (
    lambda body: body.startswith(b"\x1f\x8b"),
    lambda body: _inflated(body, 16 + zlib.MAX_WBITS),
)
_CODINGS: dict[str, tuple[Callable[[bytes], bool], Callable[[bytes], bytes]]] = {
    "gzip": _GZIP,
    "x-gzip": _GZIP,
    "deflate": (lambda body: body[:1] == b"\x78", lambda body: _inflated(body, zlib.MAX_WBITS)),
    "br": (lambda body: not _is_text(body), _unbrotlied),
    "zstd": (lambda body: body.startswith(b"\x28\xb5\x2f\xfd"), _unzstded),
}
"""By the name of a coding: the test for the first octets, and the decoder."""
