"""Exchanges as records, with any octets, without secrets."""

from __future__ import annotations

import gzip
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.extras.evidence.warc_records import (
    Exchange,
    FileOutcome,
    ReceivedAnswer,
    SentRequest,
    answer_head,
    packed,
    records_of,
    request_head,
)
from tests.extras.evidence.warc.making import exchange

pytest.importorskip("warcio", reason="needs warcio")

octets = st.binary(max_size=30)
headers = st.lists(st.tuples(octets, octets), max_size=4).map(tuple)
answers = st.builds(
    ReceivedAnswer,
    st.integers(0, 999),
    st.sampled_from(["HTTP/1.1", "HTTP/1.0", "h2", "", "é"]),
    headers,
    st.binary(max_size=200),
)
exchanges = st.builds(
    lambda answered, asked, event, uri: replace(
        exchange(), received=answered, sent=asked, event=event, uri=uri
    ),
    st.none() | answers,
    st.none() | st.builds(SentRequest, st.text(max_size=8), headers),
    st.text(max_size=8),
    st.sampled_from(["https://a.example/robots.txt", "ftp://a/robots.txt", "http://u:p@[::1]/é\n"]),
)


@given(exchanges)
def test_exchange_with_any_octets_becomes_records(one: Exchange) -> None:
    """The records are read again by the rules of the format."""
    made = records_of(one, FileOutcome(one.event, 1.0, (one.uri,)))
    assert made[-1].kind == "metadata"
    assert len({record.at for record in made}) == 1
    for record in made:
        text = gzip.decompress(packed(record))
        head, _, block = text.partition(b"\r\n\r\n")
        fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
        assert fields[b"WARC-Type"] == record.kind.encode()
        assert block == record.block + b"\r\n\r\n"
        assert int(fields[b"Content-Length"]) == len(record.block)
        assert b"u:p@" not in head
        if record.kind in ("response", "request"):
            assert b"\r\n\r\n" in record.block
    body = one.received.body if one.received is not None else b""
    assert made[0].block.endswith(body)


@pytest.mark.parametrize(
    "name",
    [
        *["Authorization", "Proxy-Authorization", "Cookie", "Set-Cookie", "Set-Cookie2"],
        *["X-Api-Key", "APIKEY", "X-Auth-Token", "X-Amz-Security-Token", "X-Session-Id"],
        *["Ocp-Apim-Subscription-Key", "api_key", "X-Access-Key", "X-Functions-Key", "X-Pwd"],
        *["X-Goog-Iap-Jwt-Assertion", "X-Signature", "OK-ACCESS-PASSPHRASE"],
    ],
)
def test_secrets_are_left_out(name: str) -> None:
    pair = (name.encode(), b"s3cr3t")
    told = (b"Server", b"x")
    for head, left_out in (
        request_head(SentRequest("GET", (pair, told)), "http://a/"),
        answer_head(ReceivedAnswer(200, "HTTP/1.1", (pair, told), b"")),
    ):
        assert b"s3cr3t" not in head
        assert b"Server: x\r\n" in head
        assert left_out == [name.lower()]


def test_fields_with_similar_names_are_kept() -> None:
    names = [b"WWW-Authenticate", b"Proxy-Authenticate", b"X-Author", b":authority", b"Etag"]
    names += [b"Surrogate-Key", b"Cache-Key", b"Keep-Alive"]
    head, left_out = answer_head(
        ReceivedAnswer(401, "HTTP/1.1", tuple((n, b"x") for n in names), b"")
    )
    assert left_out == []
    assert head.count(b": x\r\n") == len(names)


def test_userinfo_is_removed_from_values() -> None:
    value = b"<https://me:pass@a.example/x>; rel=next, //u@b/, mailto:a@b.example, https://c/@d"
    head, left_out = answer_head(ReceivedAnswer(200, "HTTP/1.1", ((b"Link", value),), b""))
    expected = b"<https://a.example/x>; rel=next, //b/, mailto:a@b.example, https://c/@d"
    assert b"Link: " + expected in head
    assert left_out == ["userinfo in link"]


@pytest.mark.parametrize("userinfo", [b"me:pa@ss", b"me:it's", b"me:@@'@", b"me"])
def test_userinfo_is_removed_to_its_last_octet(userinfo: bytes) -> None:
    pair = (b"Location", b"https://" + userinfo + b"@a.example/x@y")
    head, _ = answer_head(ReceivedAnswer(302, "HTTP/1.1", (pair,), b""))
    assert b"Location: https://a.example/x@y\r\n" in head


def test_request_line_has_path_and_query() -> None:
    asked = SentRequest("GET", ((b"host", b"other"), (b"Accept", b"*/*")))
    head, _ = request_head(asked, "http://u:p@a.example:81/x?y=1#z")
    assert head == b"GET /x?y=1 HTTP/1.1\r\nHost: a.example:81\r\nAccept: */*\r\n\r\n"


def test_left_out_names_transfer_encoding() -> None:
    chunked = ((b"Transfer-Encoding", b"chunked"),)
    head, left_out = answer_head(ReceivedAnswer(299, "h2", chunked, b""))
    assert head == b"HTTP/1.1 299 \r\n\r\n"
    assert left_out == ["transfer-encoding"]
