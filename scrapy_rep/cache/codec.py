"""Entries as octets and back: versioned, checked, and never code.

A record is a magic with the version, the CRC-32 of all that follows, the length of a JSON header,
the header, and the octets of the file, deflated. Whatever is not exactly that, or says that it is
of another origin or asker than those asked for, decodes to None: a miss, never an error and never a
policy.

A header may lack keys that newer versions write, and hold keys that older ones do not know: both
read it. What is missing is not known: the steps of an exchange, in entries of older versions.

A body of markup is half of all octets that sites send as robots.txt; deflating makes it cheap. A
body of a few lines is stored as it is.
"""

from __future__ import annotations

import json
import math
import struct
import zlib
from typing import Any

from scrapy_rep.protocol.access.events import Event, Failure
from scrapy_rep.protocol.access.knowledge import Copy, Knowledge, Outage, Step
from scrapy_rep.protocol.access.origin import Origin

from .entry import Entry, key_of

MAGIC = b"REP\x02"
_STORED_OCTETS = 1 << 10  # what deflating a body of no more saves is not worth its time
_SMALL_OCTETS, _SMALL_WBITS, _SMALL_MEMORY = 1 << 12, 12, 5
_FRAME = struct.Struct(">4sII")  # magic, CRC-32 of what follows it, octets of the header
_ENCODER = json.JSONEncoder(separators=(",", ":"))  # `json.dumps` would make one for each record
_BODY_LIMIT_OCTETS = 1 << 26  # no record of ours holds more; a tampered one might


def encode(entry: Entry) -> bytes:
    """An entry as octets."""
    copy, outage = entry.known.copy, entry.known.outage
    header = {
        "key": _key_header(entry.origin),
        "copy": None if copy is None else _copy_header(copy),
        "outage": None if outage is None else _outage_header(outage),
    }
    payload = _ENCODER.encode(header).encode("ascii")
    body = _deflated(copy.body) if copy is not None and copy.body else b""
    crc = zlib.crc32(body, zlib.crc32(payload))
    return _FRAME.pack(MAGIC, crc, len(payload)) + payload + body


def decode(octets: bytes | None, origin: Origin) -> Entry | None:
    """The entry that the octets hold, if they hold one of this origin and asker."""
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


def _deflated(body: bytes) -> bytes:
    """A body as a stream of zlib's: the window of a small one is small, so that little is cleared.

    What is smaller yet is only framed, at an eighth of the time. Most files are.
    """
    if len(body) <= _STORED_OCTETS:
        framer = zlib.compressobj(0, wbits=9, memLevel=1)
        return framer.compress(body) + framer.flush()
    if len(body) > _SMALL_OCTETS:
        return zlib.compress(body)
    deflater = zlib.compressobj(wbits=_SMALL_WBITS, memLevel=_SMALL_MEMORY)
    return deflater.compress(body) + deflater.flush()


def _decode(octets: Any, origin: Origin) -> Entry | None:
    magic, crc, header_octets = _FRAME.unpack_from(octets)
    payload = octets[_FRAME.size : _FRAME.size + header_octets]
    deflated = octets[_FRAME.size + header_octets :]
    if magic != MAGIC or crc != zlib.crc32(deflated, zlib.crc32(payload)):
        return None
    header = json.loads(payload)
    if header["key"] != _key_header(origin):
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


def _key_header(origin: Origin) -> list[str]:
    return key_of(origin).written


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
        **_steps_header("steps", copy.steps),
        **_steps_header("confirmed_by", copy.confirmed_by),
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
        steps=_steps(header.get("steps")),
        confirmed_by=_steps(header.get("confirmed_by")),
    )


def _outage_header(outage: Outage) -> dict[str, Any]:
    return {
        "event": _event_name(outage.event),
        "hops": outage.hops,
        "since": outage.since,
        "failed_at": outage.failed_at,
        "count": outage.count,
        "retry_at": outage.retry_at,
        "retry_after_seconds": outage.retry_after_seconds,
        **_steps_header("steps", outage.steps),
    }


def _outage(header: dict[str, Any]) -> Outage:
    return Outage(
        event=_event(header["event"]),
        hops=tuple(str(hop) for hop in header["hops"]),
        since=_instant(header["since"]),
        failed_at=_instant(header["failed_at"]),
        count=int(header["count"]),
        retry_at=_instant(header["retry_at"]),
        steps=_steps(header.get("steps")),
        retry_after_seconds=_instant(header.get("retry_after_seconds", 0.0)),
    )


def _steps_header(name: str, steps: tuple[Step, ...]) -> dict[str, Any]:
    """Steps as rows, to be short; nothing where nothing is known."""
    rows = [
        [
            step.uri,
            None if step.event is None else _event_name(step.event),
            step.sent_at,
            step.seconds,
            step.octets,
            step.address,
            step.location,
            step.is_copied,
        ]
        for step in steps
    ]
    return {name: rows} if rows else {}


def _steps(rows: Any) -> tuple[Step, ...]:
    return tuple(_step(*row) for row in rows or ())


def _step(  # noqa: PLR0917 - a row has so many
    uri: Any,
    event: Any,
    sent_at: Any,
    seconds: Any,
    octets: Any,
    address: Any,
    location: Any,
    is_copied: Any,
) -> Step:
    return Step(
        str(uri),
        None if event is None else _event(event),
        None if sent_at is None else _instant(sent_at),
        None if seconds is None else _instant(seconds),
        None if octets is None else int(octets),
        str(address),
        str(location),
        bool(is_copied),
    )
