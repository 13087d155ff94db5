"""Undo the Content-Encoding of a body (RFC 9110, 8.4), up to a limit, for crawls and surveys.

Servers also write other words into the field: charsets, languages, parameters, and codings of a
store such as ``aws-chunked``. They are skipped if the result is text. A body that begins like gzip
is decompressed even if the field does not say so.

Memory is bounded by twice the limit, the body, and one piece of a decompressor's output.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from scrapy_rep.protocol.units import counted

from .compressed import GZIP_MAGIC, LAYERS, PIECE_OCTETS, Pieces, begins_with, gunzipped, inflated

_REGISTERED = frozenset(  # by IANA: "HTTP Content Coding Registry"
    {
        *["aes128gcm", "br", "compress", "dcb", "dcz", "deflate", "exi", "gzip", "pack200-gzip"],
        *["x-compress", "x-gzip", "zstd"],
    }
)
# Text that hides text: read as it is, it would be a file without rules.
_OF_TEXT = frozenset({"base64", "hex", "quoted-printable", "uuencode", "x-uuencode"})
_GZIP = ("gzip", "x-gzip")
_FRAMES = 1000  # the limit of zstd frames, because each takes a copy of the rest
_DEFLATE = 8  # RFC 1950, 2.2: the compression method in a zlib frame
_NO_TEXT = re.compile(rb"[\x00-\x08\x0e-\x19\x1c-\x1f\x7f]")
_UNICODE_MARKS = (b"\xff\xfe", b"\xfe\xff", b"\0\0\xfe\xff")
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_ZSTD_SKIPPED = re.compile(rb"[\x50-\x5f]\x2a\x4d\x18")  # RFC 8878, 3.1.2


class UndecodableError(Exception):
    """A body cannot be decoded."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """A body without its codings.

    Attributes:
        octets: at most one more than the limit.
        remark: an unusual encoding of the body, in words; empty otherwise.
        is_cut: whether the body ended before its compression did.
        has_trailer: whether it is gzip, and its checksum and length at the end are right.
    """

    octets: bytes
    remark: str = ""
    is_cut: bool = False
    has_trailer: bool = False


def encodings_of(content_encoding: str) -> list[str]:
    """The words of a field, in lower case, except ``identity``."""
    names = (name.strip() for name in content_encoding.lower().split(","))
    return [name for name in names if name not in ("", "identity")]


def is_text(body: bytes) -> bool:
    """Whether a body may be text: without control characters, or in UTF-16 or UTF-32."""
    return body.startswith(_UNICODE_MARKS) or not _NO_TEXT.search(body)


def decoded(body: bytes, content_encoding: str, limit_octets: int) -> Decoded:
    """Undo the codings that a field names, and gzip that it does not name.

    Raises:
        UndecodableError: the body is damaged, or coded in a way that this Python cannot read; or
            it is not text, although the field holds words that are no coding.
    """
    if not body:
        return Decoded(body)
    named = encodings_of(content_encoding)
    words = [name.partition(";")[0].rstrip() for name in named]
    codings = [word for word in words if word in _REGISTERED | _OF_TEXT]
    waiting, count, remark, is_cut, has_trailer = [*codings], 0, "", False, False
    while waiting or body.startswith(GZIP_MAGIC):
        if count == LAYERS:
            raise UndecodableError(f"more than {LAYERS} codings, one over the other")
        is_named = bool(waiting)
        coding = waiting.pop() if is_named else "gzip"
        body, rest = _undone(body, coding, limit_octets)
        is_cut |= rest is None and len(body) <= limit_octets
        has_trailer |= count == 0 and rest == b"" and coding in _GZIP
        count += 1
        if not is_named:
            remark = "gzip without Content-Encoding"
        elif rest:
            remark = f"{counted(len(rest), 'octet')} after the end of the {coding} file"
    if codings != named:
        remark = f"Content-Encoding: {', '.join(named)}"
        if not is_text(body):
            raise UndecodableError(remark)
    return Decoded(body[: limit_octets + 1], remark, is_cut, has_trailer)


def _undone(body: bytes, coding: str, limit_octets: int) -> tuple[bytes, bytes | None]:
    """A body without a coding, and the octets after its end; None if that was not reached."""
    if coding not in _DECOMPRESSORS:
        raise UndecodableError(coding)
    octets = bytearray()
    try:
        pieces = _DECOMPRESSORS[coding](body)
        while len(octets) <= limit_octets:
            octets += next(pieces)
    except StopIteration as end:
        return bytes(octets), end.value
    except EOFError:
        pass
    except Exception as error:
        raise UndecodableError(f"{coding}: {error!r}") from error
    return bytes(octets[: limit_octets + 1]), None


def _deflated(body: bytes) -> Pieces:
    # RFC 9110, 8.4.1.2: "deflate" is the zlib format; some servers send it without its frame.
    has_frame = body[0] & 15 == _DEFLATE and int.from_bytes(body[:2], "big") % 31 == 0
    return inflated(body, zlib.MAX_WBITS if has_frame else -zlib.MAX_WBITS)


def _unbrotlied(body: bytes) -> Pieces:
    decompressor = _brotli().Decompressor()
    piece = decompressor.process(body, output_buffer_limit=PIECE_OCTETS)
    while True:
        yield piece
        if decompressor.is_finished():
            return b""
        piece = decompressor.process(b"", output_buffer_limit=PIECE_OCTETS)
        if not piece:
            raise EOFError


def _unzstded(body: bytes) -> Pieces:
    for _ in range(_FRAMES):
        decompressor = _zstd().ZstdDecompressor()
        piece = decompressor.decompress(body, PIECE_OCTETS)
        while not decompressor.eof:
            if not piece:
                raise EOFError
            yield piece
            piece = decompressor.decompress(b"", PIECE_OCTETS)
        yield piece
        body = decompressor.unused_data
        if not begins_with(body, _ZSTD_MAGIC) and not _ZSTD_SKIPPED.match(body):
            return body
    raise ValueError("too many frames")


def _brotli() -> Any:
    try:
        import brotli
    except ImportError:
        import brotlicffi as brotli
    return brotli


def _zstd() -> Any:
    try:
        from compression import zstd  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        from backports import zstd
    return zstd


_DECOMPRESSORS: dict[str, Callable[[bytes], Pieces]] = {
    **dict.fromkeys(_GZIP, gunzipped),
    "deflate": _deflated,
    "br": _unbrotlied,
    "zstd": _unzstded,
}
