"""Entries as octets and back: versioned, checked, and never code.

A record is a magic with the version, the CRC-32 of all that follows, the length of a JSON header,
the header, and the octets of the file, deflated. Whatever is not exactly that, or says that it is
of another origin than the one asked for, decodes to None: a miss, never an error and never a
policy.

A body of markup is half of all octets that sites send as robots.txt; deflating makes it cheap.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from typing import Any

from scrapy_rep.cache.entry import Entry
from scrapy_rep.protocol.access import Event, Failure
from scrapy_rep.protocol.knowledge import Copy, Knowledge, Outage
from scrapy_rep.protocol.origin import Origin

MAGIC = b"REP\x01"
_FRAME = struct.Struct(">4sII")  # magic, CRC-32 of what follows it, octets of the header
_BODY_LIMIT_OCTETS = 1 << 26  # no record of ours holds more; a bomb of somebody else's might


def encode(entry: Entry) -> bytes:
    """An entry as octets."""
    copy, outage = entry.known.copy, entry.known.outage
    header = {
        "origin": str(entry.origin),
        "copy": None if copy is None else _copy_header(copy),
        "outage": None if outage is None else _outage_header(outage),
    }
    payload = json.dumps(header, separators=(",", ":")).encode("ascii")
    body = zlib.compress(copy.body) if copy is not None and copy.body else b""
    crc = zlib.crc32(body, zlib.crc32(payload))
    return _FRAME.pack(MAGIC, crc, len(payload)) + payload + body


def decode(octets: bytes, origin: Origin) -> Entry | None:
    """The entry that the octets hold, if they hold one of this origin."""
    try:
        return _decode(octets, origin)
    except (
        ArithmeticError,
        KeyError,
        RecursionError,
        TypeError,
        ValueError,
        struct.error,
        zlib.error,
    ):
        return None


def _decode(octets: bytes, origin: Origin) -> Entry | None:
    magic, crc, header_octets = _FRAME.unpack_from(octets)
    payload = octets[_FRAME.size : _FRAME.size + header_octets]
    deflated = octets[_FRAME.size + header_octets :]
    if magic != MAGIC or crc != zlib.crc32(deflated, zlib.crc32(payload)):
        return None
    header = json.loads(payload)
    if header["origin"] != str(origin):
        return None
    body = b""
    if deflated:
        inflater = zlib.decompressobj()
        body = inflater.decompress(deflated, _BODY_LIMIT_OCTETS)
        if not inflater.eof:
            return None
    copy, outage = header["copy"], header["outage"]
    return Entry(
        origin,
        Knowledge(
            copy=None if copy is None else _copy(copy, body),
            outage=None if outage is None else _outage(outage),
        ),
    )


def _instant(value: Any) -> float:
    instant = float(value)
    if not math.isfinite(instant):
        raise ValueError(instant)
    return instant


def _event_name(event: Event) -> int | str:
    return event.value if isinstance(event, Failure) else event


def _event(name: Any) -> Event:
    return Failure(name) if isinstance(name, str) else int(name)


def _copy_header(copy: Copy) -> dict[str, Any]:
    return {
        "event": _event_name(copy.event),
        "hops": copy.hops,
        "headers": copy.headers,
        "fetched_at": copy.fetched_at,
        "confirmed_at": copy.confirmed_at,
        "fresh_until": copy.fresh_until,
    }


def _copy(header: dict[str, Any], body: bytes) -> Copy:
    return Copy(
        event=_event(header["event"]),
        body=body,
        hops=tuple(str(hop) for hop in header["hops"]),
        headers=tuple((str(name), str(value)) for name, value in header["headers"]),
        fetched_at=_instant(header["fetched_at"]),
        confirmed_at=_instant(header["confirmed_at"]),
        fresh_until=_instant(header["fresh_until"]),
    )


def _outage_header(outage: Outage) -> dict[str, Any]:
    return {
        "event": _event_name(outage.event),
        "hops": outage.hops,
        "since": outage.since,
        "failed_at": outage.failed_at,
        "count": outage.count,
        "retry_at": outage.retry_at,
    }


def _outage(header: dict[str, Any]) -> Outage:
    return Outage(
        event=_event(header["event"]),
        hops=tuple(str(hop) for hop in header["hops"]),
        since=_instant(header["since"]),
        failed_at=_instant(header["failed_at"]),
        count=int(header["count"]),
        retry_at=_instant(header["retry_at"]),
    )
