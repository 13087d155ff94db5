"""JSON Lines: objects with ``host`` and a body, or the output of ``scrapy rep cache export``.

The body is ``body`` (text), ``body_b64`` or ``body_base64``. Facts of the answer are optional:
``scheme``, ``port``, ``date``, ``status``, ``failure``, ``hops``, ``cross_host``, ``media_type``,
``max_age``. A field of another type is ignored.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Iterable, Iterator
from typing import Any

from scrapy_rep.extras.survey.captures import Bad, Capture
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri

from .answer_facts import BODY_OCTETS, capture_of, date_of, media_type_of, number_of, text_of

LINE_OCTETS = 3 * BODY_OCTETS
"""The length limit of a line: base64 and escapes need more octets than the body."""

_IN_BASE64 = ("body_b64", "body_base64")
_HOST_CHARACTERS = 260


def captures_in(lines: Iterable[bytes | str]) -> Iterator[Capture | Bad]:
    """Yield the captures in some lines; blank lines are skipped."""
    for line in lines:
        if len(line) > LINE_OCTETS:
            yield Bad("too-long")
        elif line and not line.isspace():
            yield _capture(line)


def _capture(line: bytes | str) -> Capture | Bad:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return Bad("no-json")
    if not isinstance(found, dict):
        return Bad("no-object")
    try:
        return _exported(found) if "origin" in found else _plain(found)
    except (TypeError, KeyError, AttributeError, ValueError, OverflowError, InvalidUri):
        return Bad("bad-field")


def _plain(found: dict[str, Any]) -> Capture | Bad:
    host = text_of(found.get("host"))
    if not 0 < len(host) <= _HOST_CHARACTERS:
        return Bad("no-host")
    try:
        body = _body(found)
    except (binascii.Error, ValueError, TypeError):
        return Bad("no-base64")
    status, failure = number_of(found.get("status")), text_of(found.get("failure"))
    if body is None and status is None and not failure:
        return Bad("no-body")
    cross_host = found.get("cross_host")
    return Capture(
        host.lower(),
        text_of(found.get("scheme")).lower(),
        number_of(found.get("port")),
        date_of(text_of(found.get("date"))),
        status,
        failure,
        number_of(found.get("hops")),
        cross_host if isinstance(cross_host, bool) else None,
        media_type_of(text_of(found.get("media_type"))),
        number_of(found.get("max_age")),
        body,
    )


def _body(found: dict[str, Any]) -> bytes | None:
    for name in _IN_BASE64:
        if found.get(name) is not None:
            return base64.b64decode(found[name], validate=True)[:BODY_OCTETS]
    text = found.get("body")
    return text.encode("utf-8", "surrogatepass")[:BODY_OCTETS] if isinstance(text, str) else None


def _exported(found: dict[str, Any]) -> Capture | Bad:
    """Read an entry of the store, as ``cache export`` writes it."""
    origin = Origin.of(found["origin"])
    copy, outage = found["copy"], found["outage"]
    if origin is None or (copy is None and outage is None):
        return Bad("no-body")
    known, headers = copy or outage, copy["headers"] if copy else {}
    at = float(copy["fetched_at"] if copy else outage["failed_at"])
    hops = [str(hop) for hop in known["hops"]]
    return capture_of(origin, at, known["event"], hops, headers, body=_body(copy) if copy else None)
