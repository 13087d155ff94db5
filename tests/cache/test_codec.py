"""Records: what goes in comes out, and anything else is a miss."""

from __future__ import annotations

import dataclasses
import json
import pickle
import random
import resource
import struct
import zlib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_rep.cache.codec import MAGIC, decode, encode
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.protocol.access.origin import Origin
from tests.cache.samples import BODY, ORIGIN, OTHER, entries, file_entry, outage_entry

_FRAME = struct.Struct(">4sII")


def forged(header: Any, deflated: bytes = b"", magic: bytes = MAGIC) -> bytes:
    """A record with a right checksum over whatever it holds."""
    payload = json.dumps(header).encode() if not isinstance(header, bytes) else header
    return _FRAME.pack(magic, zlib.crc32(payload + deflated), len(payload)) + payload + deflated


def header_of(record: bytes) -> dict[str, Any]:
    """The header of a record of ours."""
    _, _, octets = _FRAME.unpack_from(record)
    header: dict[str, Any] = json.loads(record[_FRAME.size : _FRAME.size + octets])
    return header


@settings(max_examples=300)
@given(entries)
def test_entry_survives_encoding(entry: Entry) -> None:
    expected = entry
    decoded = decode(encode(entry), entry.origin)
    assert decoded == expected


@given(entries, entries)
def test_entry_of_other_origin_is_a_miss(entry: Entry, other: Entry) -> None:
    decoded = decode(encode(entry), other.origin)
    assert decoded == (entry if entry.origin == other.origin else None)


@pytest.mark.parametrize(
    "origin",
    [
        OTHER,
        Origin("https", "example.com", 8443),
        Origin("https", "example.com.", 443),
        Origin("https", "www.example.com", 443),
        Key.under(ORIGIN, "GoodBot/1.0"),
        Key.under(ORIGIN, "", "9f"),
    ],
)
def test_similar_origins_are_told_apart(origin: Origin) -> None:
    assert decode(encode(file_entry()), origin) is None


@pytest.mark.parametrize("entry", [file_entry(), outage_entry()], ids=["file", "outage"])
def test_changed_octet_is_a_miss_or_harmless(entry: Entry) -> None:
    record = encode(entry)
    lots = random.Random(0)
    for position in range(len(record)):
        for octet in {0, 255, record[position] ^ 1, record[position] ^ 128, lots.randrange(256)}:
            damaged = record[:position] + bytes([octet]) + record[position + 1 :]
            # A header's length that is too large by any amount still ends where the record does.
            assert decode(damaged, ORIGIN) in (None, entry)


@pytest.mark.parametrize("entry", [file_entry(), outage_entry()], ids=["file", "outage"])
def test_truncated_or_longer_record_is_a_miss(entry: Entry) -> None:
    record = encode(entry)
    assert [decode(record[:octets], ORIGIN) for octets in range(len(record))] == [None] * len(
        record
    )
    assert decode(record + b"\0", ORIGIN) is None
    assert decode(record + record, ORIGIN) is None


@settings(max_examples=500)
@given(st.binary(max_size=200))
def test_random_octets_are_a_miss(octets: bytes) -> None:
    assert decode(octets, ORIGIN) is None
    assert decode(MAGIC + octets, ORIGIN) is None
    assert decode(forged(octets), ORIGIN) is None


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)


@settings(max_examples=500)
@given(
    st.sampled_from([file_entry(), outage_entry()]),
    st.sampled_from(["key", "copy", "outage", "event", "hops", "headers", "confirmed_at"]),
    _VALUES,
)
def test_odd_header_never_raises(entry: Entry, name: str, value: Any) -> None:
    """Whoever can write the file can forge a checksum; all he may get is a miss, or an entry."""
    header = header_of(encode(entry))
    part = header["copy"] or header["outage"]
    (header if name in header else part)[name] = value
    decoded = decode(forged(header, zlib.compress(BODY)), ORIGIN)
    assert decoded is None or decoded.origin == ORIGIN


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("copy", "event", "allowed"),
        ("copy", "event", None),
        ("copy", "confirmed_at", float("nan")),
        ("copy", "fresh_until", float("inf")),
        ("copy", "fetched_at", "soon"),
        pytest.param("copy", "fetched_at", 10**400, id="copy-fetched_at-large"),
        ("copy", "hops", None),
        ("copy", "headers", [["name"]]),
        ("outage", "count", float("inf")),
        ("outage", "retry_at", float("inf")),
        ("outage", "retry_at", float("nan")),
    ],
)
def test_impossible_values_are_a_miss(part: str, name: str, value: Any) -> None:
    record = encode(file_entry() if part == "copy" else outage_entry())
    header = header_of(record)
    header[part][name] = value
    deflated = zlib.compress(BODY) if part == "copy" else b""
    assert decode(forged(header, deflated), ORIGIN) is None


@pytest.mark.parametrize(
    "magic", [b"REP\x01", b"REP\x03", b"rep\x01", b"\x01PER", b"\x80\x04}\x94"]
)
def test_other_version_is_a_miss(magic: bytes) -> None:
    record = encode(file_entry())
    assert record.startswith(MAGIC)
    assert decode(magic + record[len(MAGIC) :], ORIGIN) is None
    payload = record[_FRAME.size :]
    crc = zlib.crc32(payload)
    assert decode(_FRAME.pack(magic, crc, len(payload)) + payload, ORIGIN) is None


@pytest.mark.parametrize("depth", [1_000, 200_000])
def test_deep_header_is_a_miss(depth: int) -> None:
    assert decode(forged(b"[" * depth + b"]" * depth), ORIGIN) is None


@pytest.mark.slow
def test_deflate_bomb_is_a_miss_in_little_memory() -> None:
    zeros = zlib.compressobj(9)
    deflated = b"".join(zeros.compress(bytes(1 << 20)) for _ in range(512)) + zeros.flush()
    bomb = forged(header_of(encode(file_entry())), deflated)
    assert len(bomb) < 1 << 20
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert decode(bomb, ORIGIN) is None
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


class Trap:
    """A class that pickle would run."""

    def __reduce__(self) -> Any:
        return (pytest.fail, ("a record was unpickled",))


def test_record_is_never_run_as_code() -> None:
    trap = pickle.dumps(Trap())
    for record in (trap, forged(trap), forged(header_of(encode(file_entry())), trap)):
        assert decode(record, ORIGIN) is None
    assert b"pickle" not in encode(file_entry())


def test_surrogate_in_a_header_survives() -> None:
    entry = file_entry()
    assert entry.known.copy is not None
    odd = dataclasses.replace(entry.known.copy, headers=(("x", "\udcff"),), hops=("http://\ud800",))
    entry = Entry(ORIGIN, dataclasses.replace(entry.known, copy=odd))
    assert decode(encode(entry), ORIGIN) == entry


def test_unknown_fields_are_skipped() -> None:
    header = header_of(encode(file_entry()))
    header["copy"]["colour"] = header["wind"] = "of a later version"
    assert decode(forged(header, zlib.compress(BODY)), ORIGIN) == file_entry()


@pytest.mark.parametrize(
    "row",
    [
        "/robots.txt",
        [],
        ["/robots.txt", "allowed", None, None, None, "", "", False],
        ["/robots.txt", 200, float("nan"), None, None, "", "", False],
        ["/robots.txt", 200, None, None, "many", "", "", False],
    ],
)
def test_invalid_steps_are_a_miss(row: Any) -> None:
    header = header_of(encode(file_entry()))
    header["copy"]["steps"] = [row]
    assert decode(forged(header, zlib.compress(BODY)), ORIGIN) is None
