"""4: the octets of an answer: decoded, never more than the limit, never the half of a file."""

from __future__ import annotations

import gzip
import random
import re
import tracemalloc
import zlib
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import brotli
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.exceptions import ResponseDataLossError
from scrapy.http import Headers, Response

try:
    from compression import zstd  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    from backports import zstd

from scrapy_rep.engine.transfer import Transfer
from scrapy_rep.protocol.access.endings import Ending
from scrapy_rep.protocol.codings import UndecodableError
from scrapy_rep.protocol.units import counted

LIMIT = 512_000
BODY = b"User-agent: *\nDisallow: /private\n" * 50
_SKIPPED = b"\x50\x2a\x4d\x18\x03\0\0\0abc"  # a frame of zstd that readers pass over


def _raw_deflate(body: bytes) -> bytes:
    compressor = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return compressor.compress(body) + compressor.flush()


ENCODERS: dict[str, tuple[str, Callable[[bytes], bytes]]] = {
    "gzip": ("gzip", gzip.compress),
    "x-gzip": ("x-gzip", gzip.compress),
    "deflate": ("deflate", zlib.compress),
    "raw deflate": ("deflate", _raw_deflate),
    "br": ("br", partial(brotli.compress, quality=1)),
    "zstd": ("zstd", zstd.compress),
}
_every_encoding = pytest.mark.parametrize(("name", "encode"), ENCODERS.values(), ids=ENCODERS)


def body_of(body: bytes, encoding: str = "", *, status: int = 200) -> bytes:
    """What the transfer makes of an answer that ended by itself."""
    headers: Any = {"Content-Encoding": encoding} if encoding else {}
    transfer = Transfer(LIMIT)
    response = Response("http://h/robots.txt", status=status, headers=headers, body=body)
    transfer.response = response
    assert transfer.is_compressed == bool(encoding and encoding != "identity")
    return transfer.body_of(response)


def read(body: bytes, encoding: str) -> tuple[bytes, str]:
    """The octets of a whole answer, and the remark on it."""
    headers: Any = {"Content-Encoding": encoding} if encoding else {}
    transfer = Transfer(LIMIT)
    transfer.came(Response("http://h/", headers=headers, body=body))
    assert transfer.response is not None
    return transfer.body_of(transfer.response), transfer.remark


def received(body: bytes, encoding: str) -> tuple[Transfer, bytes]:
    """A transfer of a body piece by piece, until it has enough or there is no more."""
    headers = Headers({"Content-Encoding": encoding})
    transfer = Transfer(LIMIT)
    transfer.head_came(headers)
    came = b""
    for start in range(0, len(body), 1 << 14):
        came += body[start : start + (1 << 14)]
        if transfer.has_enough_after(body[start : start + (1 << 14)]):
            break
    transfer.response = Response("http://h/robots.txt", headers=headers, body=came)
    return transfer, came


def padded(body: bytes, padding: int) -> bytes:
    """A gzip file whose second half comes after so many octets of empty blocks."""
    compressor = zlib.compressobj(wbits=zlib.MAX_WBITS | 16)
    half = len(body) // 2
    first = compressor.compress(body[:half]) + compressor.flush(zlib.Z_FULL_FLUSH)
    blocks = b"\0\0\0\xff\xff" * (padding // 5)
    return first + blocks + compressor.compress(body[half:]) + compressor.flush()


class TestBareGzip:
    """A body that begins as gzip is decompressed, with any headers."""

    @pytest.mark.parametrize("encoding", ["", "identity", "utf-8", "br", "gzip"])
    def test_decompressed_with_a_remark(self, encoding: str) -> None:
        encode = {"br": brotli.compress, "gzip": gzip.compress}.get(encoding, bytes)
        body, remark = read(encode(gzip.compress(BODY)), encoding)
        assert body == BODY
        assert remark

    @pytest.mark.parametrize("octets", [2, 10, 40])
    def test_cut_or_damaged_body_is_an_error(self, octets: int) -> None:
        with pytest.raises(ResponseDataLossError):
            body_of(gzip.compress(BODY)[:octets])
        with pytest.raises(UndecodableError):
            body_of(gzip.compress(BODY)[:octets] + b"x" * 100)

    def test_other_statuses_are_not_read(self) -> None:
        assert body_of(b"\x1f\x8b", status=404) == b"\x1f\x8b"

    def test_no_more_than_the_limit(self) -> None:
        assert body_of(gzip.compress(b"#" * 4_000_000)) == b"#" * (LIMIT + 1)

    @pytest.mark.parametrize("piece", [1, 1 << 14])
    def test_bare_gzip_has_the_limit_of_compressed_bodies(self, piece: int) -> None:
        body = gzip.compress(random.Random(1).randbytes(LIMIT - 9))
        assert len(body) > LIMIT
        transfer = Transfer(LIMIT)
        pieces = [body[at : at + piece] for at in range(0, len(body), piece)]
        assert not any(map(transfer.has_enough_after, pieces))
        assert transfer.has_enough_after(bytes(LIMIT))


class TestPlain:
    """As they came."""

    @pytest.mark.parametrize("octets", [0, 1, LIMIT - 1, LIMIT, LIMIT + 1, LIMIT + 2])
    def test_up_to_one_more_than_the_limit(self, octets: int) -> None:
        assert body_of(b"#" * octets) == b"#" * min(octets, LIMIT + 1)

    def test_all_pieces_count_against_the_limit(self) -> None:
        transfer = Transfer(10)
        assert [transfer.has_enough_after(b"12345") for _ in range(4)] == [False, False, True, True]

    @pytest.mark.parametrize("encoding", ["identity", "Identity", " , identity"])
    def test_identity_is_no_compression(self, encoding: str) -> None:
        transfer = Transfer(LIMIT)
        headers = {"Content-Encoding": encoding}
        transfer.response = Response("http://h/", headers=headers, body=BODY)
        assert not transfer.is_compressed
        assert transfer.body_of(transfer.response) == BODY


class TestCompressed:
    """Although the request did not accept it."""

    @_every_encoding
    def test_whole_compressed_body_is_decoded(
        self, name: str, encode: Callable[[bytes], bytes]
    ) -> None:
        assert body_of(encode(BODY), name) == BODY
        assert body_of(encode(BODY), name.upper()) == BODY
        assert body_of(encode(b""), name) == b""
        assert body_of(b"", name) == b"", "an empty body is an empty file, whatever the header"

    @_every_encoding
    @pytest.mark.parametrize("octets", [LIMIT - 1, LIMIT, LIMIT + 1, 3 * LIMIT])
    def test_at_the_limit(self, octets: int, name: str, encode: Callable[[bytes], bytes]) -> None:
        assert body_of(encode(b"#" * octets), name) == b"#" * min(octets, LIMIT + 1)

    @_every_encoding
    def test_stopped_transfer_has_the_octets_up_to_the_limit(
        self, name: str, encode: Callable[[bytes], bytes]
    ) -> None:
        body = random.Random(4).randbytes(LIMIT * 3)
        encoded = encode(body)
        transfer, came = received(encoded, name)
        assert transfer.is_stopped
        assert LIMIT < len(came) < len(encoded)
        assert transfer.body_of(transfer.response) == body[: LIMIT + 1]  # type: ignore[arg-type]

    def test_padding_is_not_the_end_of_the_file(self) -> None:
        """Stopped before its rules came: reading half a file as the file would permit the rest."""
        body = BODY + random.Random(6).randbytes(1000)
        for encoding in ("gzip", "gzip, identity", "identity, x-gzip"):
            transfer, came = received(padded(body, 4 * LIMIT), encoding)
            assert transfer.is_stopped
            assert len(came) < 3 * LIMIT
            with pytest.raises(ResponseDataLossError):
                transfer.body_of(transfer.response)  # type: ignore[arg-type]
        twice = gzip.compress(padded(body, 4 * LIMIT), 0)
        transfer, _ = received(twice, "gzip, gzip")
        assert transfer.is_stopped
        with pytest.raises(ResponseDataLossError):
            transfer.body_of(transfer.response)  # type: ignore[arg-type]

    def test_some_padding_is_read_through(self) -> None:
        transfer, came = received(padded(BODY, LIMIT + 100_000), "gzip")
        assert not transfer.is_stopped
        assert len(came) > LIMIT
        assert transfer.body_of(transfer.response) == BODY  # type: ignore[arg-type]

    @_every_encoding
    def test_every_truncation_is_an_error(
        self, name: str, encode: Callable[[bytes], bytes]
    ) -> None:
        whole = encode(random.Random(5).randbytes(300))
        for octets in range(1, len(whole)):
            with pytest.raises((ResponseDataLossError, UndecodableError)):
                body_of(whole[:octets], name)

    @given(st.sampled_from(["gzip", "deflate", "br", "zstd"]), st.binary(min_size=1, max_size=100))
    def test_any_octets_decode_or_are_refused(self, name: str, octets: bytes) -> None:
        with suppress(ResponseDataLossError, UndecodableError):
            assert len(body_of(octets, name)) <= LIMIT + 1

    @pytest.mark.parametrize("name", ["rot13", "compress", "gzip, rot13", "none"])
    def test_unknown_encoding_of_compressed_octets_is_an_error(self, name: str) -> None:
        with pytest.raises(UndecodableError):
            body_of(zlib.compress(BODY), name)

    @pytest.mark.parametrize(
        ("body", "named", "read"),
        [
            (brotli.compress(gzip.compress(BODY)), "gzip, br", BODY),
            (gzip.compress(BODY), "gzip, utf-8", BODY),
            (gzip.compress(BODY), "utf-8, gzip", BODY),
            (BODY.decode().encode("utf-16"), "utf-16", BODY.decode().encode("utf-16")),
            (gzip.compress(b"one\n") + gzip.compress(b"two\n"), "gzip", b"one\ntwo\n"),
            (zstd.compress(b"one\n") + zstd.compress(b"two\n"), "zstd", b"one\ntwo\n"),
            (zstd.compress(b"one\n") + _SKIPPED + zstd.compress(b"2"), "zstd", b"one\n2"),
        ],
        ids=["br", "charset last", "charset first", "utf-16", "members", "frames", "a skipped one"],
    )
    def test_several_codings_members_and_frames_are_read(
        self, body: bytes, named: str, read: bytes
    ) -> None:
        """Codings, charsets beside them, members and frames."""
        assert body_of(body, named) == read

    @pytest.mark.parametrize("name", ["gzip", "deflate", "br", "zstd"])
    def test_empty_body_inside_another_coding_is_an_error(self, name: str) -> None:
        with pytest.raises((ResponseDataLossError, UndecodableError)):
            body_of(gzip.compress(b""), f"{name}, gzip")

    def test_wrong_order_of_codings_is_an_error(self) -> None:
        with pytest.raises((ResponseDataLossError, UndecodableError)):
            body_of(brotli.compress(gzip.compress(BODY)), "br, gzip")

    @pytest.mark.parametrize("name", ["gzip", "zstd"])
    def test_number_of_members_is_limited(self, name: str) -> None:
        """Each of them would cost a copy of the rest."""
        encode = ENCODERS[name][1]
        assert body_of(encode(b"#\n") * 1000, name) == b"#\n" * 1000
        with pytest.raises(UndecodableError, match="too many"):
            body_of(encode(b"") * 1001, name)

    @pytest.mark.parametrize(
        "rest", [b"\n", b"\0" * 512, b"</html>", b"GIF89a", b"\x1e\x8b\x08", b"\x28\xb5\x2e\xfd"]
    )
    @pytest.mark.parametrize("kind", [kind for kind in ENCODERS if kind != "br"])
    def test_octets_after_the_file_are_a_remark(self, kind: str, rest: bytes) -> None:
        name, encode = ENCODERS[kind]
        remark = f"{counted(len(rest), 'octet')} after the end of the {name} file"
        assert read(encode(BODY) + rest, name) == (BODY, remark)

    def test_octets_after_brotli_are_an_error(self) -> None:
        """Its library does not tell where it ended."""
        with pytest.raises(UndecodableError):
            body_of(brotli.compress(BODY) + b"\n", "br")

    @pytest.mark.parametrize("name", ["gzip", "zstd"])
    def test_truncated_second_member_is_an_error(self, name: str) -> None:
        """A file of two parts that is cut amid the second would lose its rules."""
        encode = ENCODERS[name][1]
        first, second = encode(b"User-agent: *\n"), encode(random.Random(7).randbytes(300))
        for octets in range(1, len(second)):
            with pytest.raises((ResponseDataLossError, UndecodableError)):
                body_of(first + second[:octets], name)

    @pytest.mark.parametrize(
        "name",
        [
            *["utf-8", "UTF-8", "utf8", "us-ascii", "ISO-8859-1", "iso-8859-15", "windows-1251"],
            *["none", "binary", "8bit", "text/plain", "identity, utf-8", "koi8-r", "GBK"],
            *["aws-chunked", "en-US", "charset=utf-8", "text/plain; charset=utf-8", "rot13"],
        ],
    )
    def test_names_of_no_coding_are_skipped(self, name: str) -> None:
        remark = f"Content-Encoding: {name.lower().removeprefix('identity, ')}"
        assert read(BODY + b"# \xe9\n", name) == (BODY + b"# \xe9\n", remark)
        assert body_of(BODY + b"#" * LIMIT, name) == (BODY + b"#" * LIMIT)[: LIMIT + 1]

    @pytest.mark.parametrize(
        "named", ["gzip;q=1.0", "aws-chunked,gzip", "gzip, en-US", "aws-chunked", "x-gzip ;a=b;c"]
    )
    def test_words_beside_a_coding_are_skipped(self, named: str) -> None:
        body, remark = read(gzip.compress(BODY), named)
        assert body == BODY
        assert remark == "Content-Encoding: " + ", ".join(re.split(r",\s*", named.lower()))

    @pytest.mark.parametrize(
        "name", ["compress", "x-compress", "exi", "pack200-gzip", "dcb", "dcz", "aes128gcm"]
    )
    def test_unsupported_coding_is_an_error(self, name: str) -> None:
        for body in (BODY, gzip.compress(BODY)):
            with pytest.raises(UndecodableError):
                body_of(body, name)

    @pytest.mark.parametrize("said", ["utf-8", "none", "utf-16", "aws-chunked"])
    @pytest.mark.parametrize("name", ENCODERS)
    def test_compressed_octets_under_another_name_are_an_error(self, name: str, said: str) -> None:
        octets = ENCODERS[name][1](random.Random(8).randbytes(500))
        with pytest.raises(UndecodableError):
            body_of(octets, said)

    @pytest.mark.parametrize("status", [301, 404, 503])
    def test_other_bodies_are_not_read(self, status: int) -> None:
        body_of(b"no gzip at all", "gzip", status=status)

    @pytest.mark.parametrize(
        "names",
        [*(pytest.param([name], marks=pytest.mark.slow) for name in ENCODERS), ["gzip", "gzip"]],
    )
    def test_bomb_takes_little_memory(self, names: list[str]) -> None:
        bomb = BODY + bytes(50_000_000)
        for name in names:
            bomb = ENCODERS[name][1](bomb)
        tracemalloc.start()
        try:
            body = body_of(bomb, ", ".join(ENCODERS[name][0] for name in names))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert body == (BODY + bytes(LIMIT))[: LIMIT + 1]
        assert peak < 10_000_000


_CODING = "Transfer-Encoding"


@pytest.mark.parametrize(
    ("protocol", "headers", "status", "expected"),
    [
        ("HTTP/1.1", {}, 200, Ending.UNKNOWN),
        ("http/1.0", {}, 404, Ending.UNKNOWN),
        ("HTTP/2.0", {}, 200, Ending.UNKNOWN),  # as no server writes HTTP/2
        ("HTTP/1.1", {_CODING: "xchunked"}, 200, Ending.UNKNOWN),
        ("HTTP/1.1", {_CODING: "\x0bchunked"}, 200, Ending.UNKNOWN),
        ("HTTP/1.1", {_CODING: "chunked, identity"}, 200, Ending.UNKNOWN),
        ("HTTP/1.1", {_CODING: "chunked;x=1"}, 200, Ending.UNKNOWN),
        ("HTTP/1.1", {_CODING: "gzip,\tChunked "}, 200, Ending.FRAMED),
        ("HTTP/1.1", {_CODING: ["gzip", "chunked"]}, 200, Ending.FRAMED),
        ("HTTP/1.1", {_CODING: ["chunked", "gzip"]}, 200, Ending.UNKNOWN),
        ("HTTP/1.1", {"Content-Length": "0"}, 200, Ending.FRAMED),
        ("HTTP/1.1", {"Content-Length": ["0", "1"]}, 200, Ending.BROKEN),
        ("h2", {"Content-Length": " 4 "}, 200, Ending.BROKEN),
        ("h2", {"Content-Length": "4"}, 204, Ending.FRAMED),
        (None, {"Content-Length": "4"}, 200, Ending.FRAMED),
        ("HTTP/1.1", {}, 204, Ending.FRAMED),
        ("HTTP/1.1", {}, 304, Ending.FRAMED),
        ("HTTP/2", {}, 200, Ending.FRAMED),
        ("h2", {}, 200, Ending.FRAMED),
        (None, {}, 200, Ending.FRAMED),  # from a browser, say: no connection of ours
    ],
)
def test_head_says_how_the_body_ends(
    protocol: str | None, headers: dict[str, Any], status: int, expected: Ending
) -> None:
    """If nothing says where an answer ends, it has no end."""
    came = Response("http://h/robots.txt", status=status, headers=headers, protocol=protocol)
    transfer = Transfer(LIMIT)
    transfer.head_came(Headers())
    assert transfer.ending(came) is expected
    if expected is not Ending.BROKEN:
        assert transfer.ending(came.replace(flags=["partial"])) is Ending.UNKNOWN


@pytest.mark.parametrize("encoding", ["gzip", "x-gzip;q=1", "aws-chunked, gzip", ""])
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (gzip.compress(BODY), Ending.FRAMED),
        (gzip.compress(gzip.compress(BODY)), Ending.FRAMED),
        (gzip.compress(BODY) + b"\n", Ending.BROKEN),
        (brotli.compress(BODY), Ending.BROKEN),
        (gzip.compress(BODY)[:-1], Ending.BROKEN),
        (gzip.compress(BODY)[:-8] + bytes(8), Ending.BROKEN),
        (BODY, Ending.BROKEN),
    ],
    ids=["gzip", "twice", "octets after it", "br", "cut", "wrong trailer", "text"],
)
def test_gzip_trailer_outweighs_the_length(body: bytes, expected: Ending, encoding: str) -> None:
    headers: Any = {"Content-Length": str(len(body) + 100), "Content-Encoding": encoding}
    came = Response("http://h/", headers=headers, body=body, protocol="HTTP/1.1")
    transfer = Transfer(LIMIT)
    with suppress(ResponseDataLossError, UndecodableError):
        transfer.body_of(came)
    assert transfer.ending(came) is expected


@pytest.mark.parametrize(("layers", "is_read"), [(1, True), (10, True), (11, False), (60, False)])
def test_layers_of_codings_are_bounded(layers: int, is_read: bool) -> None:
    body = BODY
    for _ in range(layers):
        body = gzip.compress(body)
    names = ", ".join(["gzip"] * layers)
    if is_read:
        assert body_of(body, names) == BODY
        return
    with pytest.raises(UndecodableError, match="one over the other"):
        body_of(body, names)


@pytest.mark.parametrize("word", ["base64", "hex", "quoted-printable", "uuencode"])
def test_codings_that_hide_text_in_text_are_undecodable(word: str) -> None:
    came = Response("http://h/", headers={"Content-Encoding": word}, body=b"VXNlci1hZ2VudDogKg==")
    with pytest.raises(UndecodableError):
        Transfer(LIMIT).body_of(came)
