"""Bodies as streams of blocks: endless ones and bombs take no memory."""

from __future__ import annotations

import importlib
import itertools
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from tests.servers.answers import Answer, ContentEncoding

_LINE = b"# a comment, one of very many in this file\n"
_BLOCK = _LINE * (65_536 // len(_LINE))


def blocks(answer: Answer) -> Iterator[bytes]:
    """The body as it goes over the wire; blocks may be empty, and may never end."""
    plain = _plain(answer)
    if answer.content_encoding is None:
        return plain
    return _compressed(plain, answer.content_encoding)


def is_streamed(answer: Answer) -> bool:
    """Whether the body is too long to be put together before it is sent."""
    return answer.bomb_octets > 0 or answer.fault == "endless"


def _plain(answer: Answer) -> Iterator[bytes]:
    yield answer.octets
    if answer.fault == "endless":
        yield from itertools.repeat(_BLOCK)
    missing = answer.bomb_octets - len(answer.octets)
    while missing > 0:
        yield _BLOCK[:missing]
        missing -= len(_BLOCK)


def _compressed(plain: Iterator[bytes], encoding: ContentEncoding) -> Iterator[bytes]:
    compress, finish = _COMPRESSORS[encoding]()
    yield from map(compress, plain)
    yield finish()


_Compressor = tuple[Callable[[bytes], bytes], Callable[[], bytes]]


def _zlib(wbits: int) -> _Compressor:
    compressor = zlib.compressobj(wbits=wbits)
    return compressor.compress, compressor.flush


# Both are imported when a script needs them: the site has to start fast.


def _brotli() -> _Compressor:
    compressor: Any = importlib.import_module("brotli").Compressor(quality=4)
    return compressor.process, compressor.finish


def _zstd() -> _Compressor:
    try:
        module = importlib.import_module("compression.zstd")
    except ImportError:
        module = importlib.import_module("backports.zstd")
    compressor: Any = module.ZstdCompressor()
    return compressor.compress, compressor.flush


_COMPRESSORS: dict[ContentEncoding, Callable[[], _Compressor]] = {
    "gzip": lambda: _zlib(zlib.MAX_WBITS | 16),
    "deflate": lambda: _zlib(zlib.MAX_WBITS),
    "br": _brotli,
    "zstd": _zstd,
}
