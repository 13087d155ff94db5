"""gzip octets (RFC 1952): what they hold, up to a limit, whatever they would grow to.

Cost: linear in the octets of the result and in the octets taken, of which `RAW_LIMITS` times the
limit are enough: hardly anything else than padding grows so little.
"""

from __future__ import annotations

import zlib
from collections.abc import Generator

GZIP_MAGIC = b"\x1f\x8b"
"""How gzip octets begin; no text does."""

RAW_LIMITS = 2
"""How many times the limit may come of a compressed body."""

LAYERS = 10
"""Of compression, one over the other: each may grow to the limit, and takes a pass over it."""

PIECE_OCTETS = 1 << 16
"""The most that a piece of decompressed octets has."""

_MEMBERS = 1000  # of a gzip file: each takes a copy of the rest

Pieces = Generator[bytes, None, bytes]
"""A decompressed body, piece by piece; returns what follows its compressed part."""


def inflated(body: bytes, wbits: int) -> Pieces:
    """A body in one of the formats of zlib, with all members of a gzip file.

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
    """Whether another compressed part follows, even one that is cut amid its first octets."""
    return bool(body) and magic.startswith(body[: len(magic)])


def gunzipped(body: bytes) -> Pieces:
    """A gzip file; raises what `inflated` does."""
    return inflated(body, zlib.MAX_WBITS | 16)


def without_gzip(body: bytes, limit_octets: int) -> bytes | None:
    """What gzip octets hold, at most one octet more than the limit; None if they can't be read."""
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
