"""The octets of a file, plain or compressed: a large file is rarely read twice."""

from __future__ import annotations

import zlib

_LEVEL = 1  # the fastest; rules are so similar that more effort saves little


class Text:
    """Octets that may be compressed in memory; reading gives the original octets."""

    __slots__ = ("_count", "_packed", "_plain")

    def __init__(self, octets: bytes) -> None:
        self._count = len(octets)
        self._plain: bytes | None = octets
        self._packed = b""

    @property
    def octets(self) -> bytes:
        """The octets; decompressed at each access if they are packed."""
        return zlib.decompress(self._packed) if self._plain is None else self._plain

    @property
    def kept_octets(self) -> int:
        """The octets of memory that they take."""
        return len(self._packed if self._plain is None else self._plain)

    def __len__(self) -> int:
        """The number of octets, before compression."""
        return self._count

    def pack(self) -> None:
        """Compress them, if that makes them shorter."""
        if self._plain is not None:
            packed = zlib.compress(self._plain, _LEVEL)
            if len(packed) < len(self._plain):
                self._packed, self._plain = packed, None

    def __eq__(self, other: object) -> bool:
        """Whether these are the same octets."""
        return self.octets == other.octets if isinstance(other, Text) else NotImplemented

    def __hash__(self) -> int:
        """The hash of the octets."""
        return hash(self.octets)
