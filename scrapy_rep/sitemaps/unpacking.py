"""The text of a file: decompressed if it is gzipped, and decoded by its declared encoding.

A damaged file is read up to the damage. Octets that are invalid in the encoding become lone
surrogates, as with Python's ``surrogateescape``; `percent_encoded` turns them into percent-escapes.
"""

from __future__ import annotations

import codecs
import re
import zlib
from collections.abc import Iterator
from contextlib import suppress

from w3lib.encoding import read_bom, resolve_encoding

_PIECE_OCTETS = 1 << 16
_GZIP_OCTETS = 1 << 10  # input per step: output is at most a thousand times larger
_GZIP = b"\x1f\x8b"
_GZIP_MEMBERS = 10_000
_UTF_8 = "utf-8"
_NAMED = re.compile(rb"\s*<\?xml\s[^>]{0,200}?\sencoding\s*=\s*[\"']([\w.:-]{1,40})[\"']")
# Other codecs are not allowed, because some take quadratic time.
_KNOWN = re.compile(
    r"latin_1|iso8859_\d{1,2}|cp(125\d|437|[789]\d\d)|koi8_[rtu]|kz1048|mac_\w{1,10}|tis_620"
    r"|gbk|gb2312|gb18030|big5|big5hkscs|shift_jis|shift_jis_2004|euc_jp|euc_kr|johab"
)
_ODD_OCTETS = re.compile("[\udc80-\udcff]")


class Unpacked:
    """The text of a file, in pieces; can be iterated once.

    Attributes:
        octets: the number of octets unpacked so far.
        is_cut: whether the text stopped early, because of the limit or damage.
    """

    def __init__(self, body: bytes, limit: int) -> None:
        self.octets = 0
        self.is_cut = False
        self._body = body
        self._limit = limit

    def __iter__(self) -> Iterator[str]:
        pieces = _joined(self._pieces())
        head = next(pieces)
        encoding, start = _encoding_of(head)
        errors = "replace" if encoding.startswith(("utf-16", "utf-32")) else "surrogateescape"
        decoder = codecs.getincrementaldecoder(encoding)(errors)
        yield decoder.decode(head[start:])
        for piece in pieces:
            yield decoder.decode(piece)
        yield decoder.decode(b"", final=True)

    def _pieces(self) -> Iterator[bytes]:
        body = self._body
        try:
            for piece in _gunzipped(body) if body.startswith(_GZIP) else _pieces(body):
                left = self._limit - self.octets
                self.octets += len(piece)
                if len(piece) > left:
                    self.is_cut = True
                    yield piece[:left]
                    return
                yield piece
        except EOFError:
            self.is_cut = True


def percent_encoded(text: str) -> str:
    """The text with percent-encoded octets in place of those that are invalid in the encoding."""
    if text.isascii():
        return text
    return _ODD_OCTETS.sub(lambda odd: f"%{ord(odd[0]) - 0xDC00:02X}", text)


def _encoding_of(head: bytes) -> tuple[str, int]:
    """The codec of a file with this beginning, and the length of its byte order mark."""
    marked, mark = read_bom(head)
    if marked and mark:
        return marked if marked == _UTF_8 or b"\0" in head else _UTF_8, len(mark)
    named = _NAMED.match(head)
    return _codec(named[1].decode()) if named else _UTF_8, 0


def _codec(name: str) -> str:
    """The codec of a name; UTF-8 for unknown or forbidden names."""
    codec = resolve_encoding(name) or _UTF_8
    return codec if _KNOWN.fullmatch(codec.replace("-", "_")) else _UTF_8


def _pieces(body: bytes) -> Iterator[bytes]:
    for start in range(0, len(body), _PIECE_OCTETS):
        yield body[start : start + _PIECE_OCTETS]


def _joined(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Join octets into one or more pieces of at least `_PIECE_OCTETS`, except the last one.

    A reader may read its buffer again for each piece, and a gzip file of many members yields single
    octets.
    """
    held = bytearray()
    for piece in pieces:
        held += piece
        if len(held) >= _PIECE_OCTETS:
            yield bytes(held)
            held.clear()
    yield bytes(held)


def _gunzipped(body: bytes) -> Iterator[bytes]:
    """The octets that can be decompressed.

    Raises:
        EOFError: raised after these octets, if the file is damaged or has too many members.
    """
    start = 0
    for _ in range(_GZIP_MEMBERS):
        inflater = zlib.decompressobj(zlib.MAX_WBITS | 16)
        while not inflater.eof:
            data = body[start : start + _GZIP_OCTETS]
            if not data:
                raise EOFError
            before = inflater.copy()
            try:
                yield inflater.decompress(data)
            except zlib.error as error:
                yield from _up_to_the_damage(before, data)
                raise EOFError from error
            start += len(data) - len(inflater.unused_data)
        if not body.startswith(_GZIP, start):  # otherwise padding or the end
            return
    raise EOFError


def _up_to_the_damage(inflater: zlib._Decompress, data: bytes) -> Iterator[bytes]:
    """The octets before an error, which `decompress` drops when it raises."""
    with suppress(zlib.error):
        for octet in data:
            yield inflater.decompress(bytes([octet]))
