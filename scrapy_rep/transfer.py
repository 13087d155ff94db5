"""The octets of one robots.txt answer: no more than the parse limit can use.

The transfer is stopped once enough has come. A body that came compressed though we asked for none
is decompressed up to the limit, whatever it would grow to: memory is bounded by twice the limit
and by one piece of a decompressor's output. Reading the beginning of a file is right, since what
follows the parse limit counts for nothing (RFC 9309, 2.5); reading the beginning of a file that
was cut short by accident would not be, and is an error. So is one of which twice the limit came
without growing to it: a compressed file can be padded without end, and its rules may come after.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import ResponseDataLossError

if TYPE_CHECKING:
    from scrapy.http import Headers, Response

_PIECE_OCTETS = 1 << 16
_RAW_LIMITS = 2  # how many times the limit may come of a compressed body that has not grown to it
_MEMBERS = 1000  # of a gzip file, or frames of zstd: each costs a copy of the rest
_DEFLATE = 8  # RFC 1950, 2.2: the compression method in a zlib frame


class UndecodableError(Exception):
    """A body is compressed in a way that can't be read."""


class Transfer:
    """One answer on its way; rides in the meta of its request.

    Attributes:
        limit_octets: the parse limit.
        uri: the URI of the request that this belongs to.
        response: the answer as it came, before Scrapy's middlewares.
    """

    __slots__ = (
        "_came_octets",
        "_grown",
        "_grown_octets",
        "_is_encoded",
        "_is_stopped",
        "limit_octets",
        "response",
        "uri",
    )

    def __init__(self, limit_octets: int) -> None:
        self.limit_octets = limit_octets
        self.uri = ""
        self.restart()

    def restart(self) -> None:
        """Forget what came: the request is sent, perhaps not for the first time."""
        self.response: Response | None = None
        self._came_octets = 0
        self._grown_octets = 0
        self._is_encoded = False
        self._is_stopped = False
        self._grown: Grown | None = None

    @property
    def is_stopped(self) -> bool:
        """Whether enough came, so that the transfer was stopped."""
        return self._is_stopped

    def begin(self, headers: Headers) -> None:
        """Take note of how the body is compressed, so that what it grows to can be counted."""
        encodings = _encodings(headers)
        self._is_encoded = bool(encodings)
        if len(encodings) == 1 and encodings[0] in _METERS:
            with suppress(ImportError):  # of a library that older versions of Scrapy do not bring
                self._grown = _METERS[encodings[0]]()

    def has_enough_after(self, data: bytes) -> bool:
        """Whether nothing more is needed, or taken, once these octets have come.

        Counted is what came, and what it grows to where that is known.
        """
        if not self._is_stopped:
            self._came_octets += len(data)
            self._count_grown(data)
            most = self.limit_octets * (_RAW_LIMITS if self._is_encoded else 1)
            self._is_stopped = self._came_octets > most or self._grown_octets > self.limit_octets
        return self._is_stopped

    def _count_grown(self, data: bytes) -> None:
        if self._grown is None:
            return
        try:
            for octets in self._grown(data):
                self._grown_octets += octets
                if self._grown_octets > self.limit_octets:
                    break
        except Exception:  # noqa: BLE001 - what can't be read is found out when it is read
            self._grown = None

    @property
    def is_compressed(self) -> bool:
        """Whether the answer came compressed."""
        return self.response is not None and bool(_encodings(self.response.headers))

    def body_of(self, response: Response) -> bytes:
        """The octets of the file in an answer, one more than the limit at most.

        Raises:
            UndecodableError: they are compressed in a way that can't be read.
            ResponseDataLossError: they end before their compression does.
        """
        came = self.response if self.response is not None else response
        encodings = _encodings(came.headers)
        is_file = response.status // 100 == 2  # noqa: PLR2004 - other bodies are not read
        if not encodings or not came.body or not is_file:
            return response.body[: self.limit_octets + 1]
        body = came.body
        for encoding in reversed(encodings):
            body = self._decompressed(body, encoding)
        return body

    def _decompressed(self, body: bytes, encoding: str) -> bytes:
        pieces = _DECOMPRESSORS.get(encoding)
        if pieces is None:
            raise UndecodableError(encoding)
        octets = bytearray()
        try:
            for piece in pieces(body):
                octets += piece
                if len(octets) > self.limit_octets:
                    return bytes(octets[: self.limit_octets + 1])
        except EOFError:
            raise ResponseDataLossError(f"the {encoding} body is cut short") from None
        except Exception as error:
            raise UndecodableError(f"{encoding}: {error!r}") from error
        return bytes(octets)


def _encodings(headers: Headers) -> list[str]:
    values = b",".join(headers.getlist(b"Content-Encoding")).decode("latin-1").lower()
    names = (name.strip() for name in values.split(","))
    return [name for name in names if name not in ("", "identity")]


def _inflated(body: bytes, wbits: int) -> Iterator[bytes]:
    for _ in range(_MEMBERS):
        inflater = zlib.decompressobj(wbits)
        rest = body
        while not inflater.eof:
            piece = inflater.decompress(rest, _PIECE_OCTETS)
            rest = inflater.unconsumed_tail
            if not piece and not rest and not inflater.eof:
                raise EOFError
            yield piece
        body = inflater.unused_data if wbits > zlib.MAX_WBITS else b""
        if not body:
            return
    raise ValueError("too many members")


def _gunzipped(body: bytes) -> Iterator[bytes]:
    return _inflated(body, zlib.MAX_WBITS | 16)


def _deflated(body: bytes) -> Iterator[bytes]:
    # RFC 9110, 8.4.1.2: "deflate" is the zlib format; some servers send it without its frame.
    has_frame = body[0] & 15 == _DEFLATE and int.from_bytes(body[:2], "big") % 31 == 0
    return _inflated(body, zlib.MAX_WBITS if has_frame else -zlib.MAX_WBITS)


def _unbrotlied(body: bytes) -> Iterator[bytes]:
    decompressor = _brotli().Decompressor()
    piece = decompressor.process(body, output_buffer_limit=_PIECE_OCTETS)
    while True:
        yield piece
        if decompressor.is_finished():
            return
        piece = decompressor.process(b"", output_buffer_limit=_PIECE_OCTETS)
        if not piece:
            raise EOFError


def _unzstded(body: bytes) -> Iterator[bytes]:
    for _ in range(_MEMBERS):
        decompressor = _zstd().ZstdDecompressor()
        piece = decompressor.decompress(body, _PIECE_OCTETS)
        while not decompressor.eof:
            if not piece:
                raise EOFError
            yield piece
            piece = decompressor.decompress(b"", _PIECE_OCTETS)
        yield piece
        body = decompressor.unused_data
        if not body:
            return
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


_DECOMPRESSORS: dict[str, Callable[[bytes], Iterator[bytes]]] = {
    "gzip": _gunzipped,
    "x-gzip": _gunzipped,
    "deflate": _deflated,
    "br": _unbrotlied,
    "zstd": _unzstded,
}


Grown = Callable[[bytes], Iterator[int]]
"""Takes the next octets of a compressed body; gives the lengths of the pieces they grow to."""


def _inflated_lengths() -> Grown:
    inflater = zlib.decompressobj(zlib.MAX_WBITS | 32)  # either frame

    def grown(data: bytes) -> Iterator[int]:
        while True:
            piece = inflater.decompress(data, _PIECE_OCTETS)
            data = inflater.unconsumed_tail
            yield len(piece)
            if not data and len(piece) < _PIECE_OCTETS:
                return

    return grown


def _unbrotlied_lengths() -> Grown:
    decompressor = _brotli().Decompressor()

    def grown(data: bytes) -> Iterator[int]:
        piece = decompressor.process(data, output_buffer_limit=_PIECE_OCTETS)
        while piece:
            yield len(piece)
            piece = decompressor.process(b"", output_buffer_limit=_PIECE_OCTETS)

    return grown


def _unzstded_lengths() -> Grown:
    decompressor = _zstd().ZstdDecompressor()

    def grown(data: bytes) -> Iterator[int]:
        yield len(decompressor.decompress(data, _PIECE_OCTETS))
        while not decompressor.needs_input and not decompressor.eof:
            yield len(decompressor.decompress(b"", _PIECE_OCTETS))

    return grown


_METERS: dict[str, Callable[[], Grown]] = {
    "gzip": _inflated_lengths,
    "x-gzip": _inflated_lengths,
    "deflate": _inflated_lengths,
    "br": _unbrotlied_lengths,
    "zstd": _unzstded_lengths,
}
