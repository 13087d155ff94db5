"""Entries as octets and back: versioned, checked, and never code.

A record consists of a magic with the version, the CRC-32 of the rest, the length of a JSON header,
the header, and the deflated octets of the file. Any other octets, and records of another key,
decode to None: a miss, never an error and never a policy.

The tables list the fields of the header and the functions that read them.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from scrapy_rep.protocol.access.events import Event, Failure
from scrapy_rep.protocol.access.knowledge import Copy, Knowledge, Outage, Step
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri

from .entry import Entry, Key, key_of

Value = TypeVar("Value")

MAGIC = b"REP\x02"
_FRAME = struct.Struct(">4sII")  # magic, CRC-32 of what follows it, octets of the header
_BODY_LIMIT_OCTETS = 1 << 26  # limits the memory for a tampered record


def _event(name: Any) -> Event:
    return Failure(name) if isinstance(name, str) else int(name)


def _instant(value: Any) -> float:
    instant = float(value)
    if not math.isfinite(instant):
        raise ValueError(instant)
    return instant


def _texts(values: Any) -> tuple[str, ...]:
    return tuple(str(value) for value in values)


def _pairs(values: Any) -> tuple[tuple[str, str], ...]:
    return tuple((str(name), str(value)) for name, value in values)


def _steps(rows: Any) -> tuple[Step, ...]:
    readers = _STEP.values()
    return tuple(
        Step(*(read(value) for read, value in zip(readers, row, strict=True))) for row in rows
    )


def _or_none(read: Callable[[Any], Value]) -> Callable[[Any], Value | None]:
    return lambda value: None if value is None else read(value)


_Table = dict[str, Callable[[Any], Any]]

_STEP: _Table = {
    "uri": str,
    "event": _or_none(_event),
    "sent_at": _or_none(_instant),
    "seconds": _or_none(_instant),
    "octets": _or_none(int),
    "address": str,
    "location": str,
    "is_copied": bool,
}
_COPY: _Table = {
    "event": _event,
    "hops": _texts,
    "headers": _pairs,
    "fetched_at": _instant,
    "confirmed_at": _instant,
    "fresh_until": _instant,
    "steps": _steps,
    "confirmed_by": _steps,
}
_OUTAGE: _Table = {
    "event": _event,
    "hops": _texts,
    "since": _instant,
    "failed_at": _instant,
    "count": int,
    "retry_at": _instant,
    "retry_after_seconds": _instant,
    "steps": _steps,
}


def encode(entry: Entry) -> bytes:
    """An entry as octets."""
    copy, outage = entry.known.copy, entry.known.outage
    header = {
        "key": key_of(entry.origin).written,
        "copy": _values(copy, _COPY),
        "outage": _values(outage, _OUTAGE),
    }
    payload = _ENCODER.encode(header).encode("ascii")
    body = zlib.compress(copy.body) if copy is not None and copy.body else b""
    crc = zlib.crc32(body, zlib.crc32(payload))
    return _FRAME.pack(MAGIC, crc, len(payload)) + payload + body


def _values(part: Copy | Outage | None, table: _Table) -> dict[str, Any] | None:
    return None if part is None else {name: getattr(part, name) for name in table}


def _plain(value: Failure | Step) -> Any:
    """A failure as its name, and a step as a short row, for JSON."""
    if isinstance(value, Failure):
        return value.value
    return [getattr(value, name) for name in _STEP]


_ENCODER = json.JSONEncoder(separators=(",", ":"), default=_plain)


def decode(octets: bytes | None, origin: Origin) -> Entry | None:
    """The entry in a record, or None if the record does not hold an entry of this key."""
    try:
        return _decode(octets, origin)
    except Exception:  # noqa: BLE001 - a tampered record may raise anything
        return None


def _decode(octets: Any, origin: Origin) -> Entry | None:
    magic, crc, header_octets = _FRAME.unpack_from(octets)
    payload = octets[_FRAME.size : _FRAME.size + header_octets]
    deflated = octets[_FRAME.size + header_octets :]
    if magic != MAGIC or crc != zlib.crc32(deflated, zlib.crc32(payload)):
        return None
    header = json.loads(payload)
    if header["key"] != key_of(origin).written:
        return None
    body = b""
    if deflated:
        inflater = zlib.decompressobj()
        body = inflater.decompress(deflated, _BODY_LIMIT_OCTETS)
        if not inflater.eof:
            return None
    copy = _read(partial(Copy, body=body), header["copy"], _COPY)
    return Entry(origin, Knowledge(copy, _read(Outage, header["outage"], _OUTAGE)))


def _read(kind: Callable[..., Value], values: Any, table: _Table) -> Value | None:
    if values is None:
        return None
    return kind(**{name: read(values[name]) for name, read in table.items()})


def key_text(origin: Origin) -> str:
    """A key as a text: JSON keeps all keys apart, and is ASCII."""
    return json.dumps(key_of(origin).written)


def key_in(text: object) -> Key | None:
    """The key in a text; None if it is of another form."""
    try:
        return Key.read(json.loads(str(text)))
    except (InvalidUri, TypeError, ValueError, RecursionError):
        return None
