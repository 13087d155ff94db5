"""Decompress gzip (RFC 1952) up to a limit, whatever the full size would be.

Cost: linear in the octets of the result and of the input. At most `RAW_LIMITS` times the limit is
read of the input, which is enough: hardly anything but padding compresses so badly.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator

GZIP_MAGIC = b"\x1f\x8b"
"""The first octets of gzip; no text starts with them."""

RAW_LIMITS = 2
"""The most octets that are read of a compressed body, as a multiple of the limit."""

LAYERS = 10
"""The most nested layers of compression: each may grow to the limit, and needs a pass over it."""

PIECE_OCTETS = 1 << 16
"""The largest size of a piece of decompressed octets."""

_MEMBERS = 1000  # of a gzip file: each one copies the rest

Pieces = Generator[bytes, None, bytes]
"""The pieces of a decompressed body; returns the octets after its compressed part."""


def inflated(body: bytes, wbits: int) -> Pieces:
    """Decompress a body in one of the formats of zlib, with all members of a gzip file.

    Raises:
        EOFError: it is cut short.
        ValueError: it has too many members.
        zlib.error: it is damaged.
    """
    for _ in range(_MEMBERS):
        inflater = zlib.decompressobj(wbits)
        rest = body
        while not inflater.eof:
            piece = inflater.decompress(rest, PIECE_OCTETS)
            rest = inflater.unconsumed_tail
            if not piece and not rest and not inflater.eof:
                raise EOFError
            yield piece
        body = inflater.unused_data
        if wbits <= zlib.MAX_WBITS or not begins_with(body, GZIP_MAGIC):
            return body
    raise ValueError("too many members")


def begins_with(body: bytes, magic: bytes) -> bool:
    """Whether another compressed part follows, even if its magic number is cut short."""
    return bool(body) and magic.startswith(body[: len(magic)])


def gunzipped(body: bytes) -> Pieces:
    """Decompress a gzip file; raises as `inflated` does."""
    return inflated(body, zlib.MAX_WBITS | 16)


def without_gzip(body: bytes, limit_octets: int) -> bytes | None:
    """The content of gzip octets, at most one octet above the limit; None if unreadable."""
    for _ in range(LAYERS):
        octets = bytearray()
        try:
            for piece in gunzipped(body[: RAW_LIMITS * limit_octets]):
                octets += piece
                if len(octets) > limit_octets:
                    break
        except (EOFError, ValueError, zlib.error):
            return None
        body = bytes(octets[: limit_octets + 1])
        if not body.startswith(GZIP_MAGIC):
            return body
    return None
