"""The values that are archived: one request and its answer, or octets from another source."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

Headers = tuple[tuple[bytes, bytes], ...]
"""Header fields in order, with names as received."""

Facts = tuple[tuple[str, str], ...]
"""Fields of a metadata record."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as it was sent.

    Attributes:
        method: its method.
        headers: its header fields, without Host.
    """

    method: str
    headers: Headers


@dataclass(frozen=True, slots=True)
class ReceivedAnswer:
    """An answer as it was received.

    Attributes:
        status: its status code.
        protocol: in the download handler's words: ``HTTP/1.1``, ``h2``; empty if unknown.
        headers: its header fields.
        body: the octets of its body, with content codings, chunks joined.
        truncated: why the body is incomplete, as a WARC-Truncated value; empty if it is complete.
    """

    status: int
    protocol: str
    headers: Headers
    body: bytes = field(repr=False)
    truncated: str = ""


@dataclass(frozen=True, slots=True)
class Purpose:
    """The purpose of a request: the file of an origin, and the way to it.

    Attributes:
        origin: such as ``https://example.com``.
        path: of the file: ``/robots.txt``.
        hops: the URIs on the way to it, this one last.
    """

    origin: str
    path: str
    hops: tuple[str, ...]


def judged_facts(body: bytes) -> Facts:
    """The digest and the number of octets that were judged."""
    digest = f"sha256:{sha256(body).hexdigest()}"
    return ("rep-body-digest", digest), ("rep-body-octets", str(len(body)))


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request, and the answer or failure that followed.

    Attributes:
        id: of its main record, a URN.
        uri: the requested URI.
        purpose: its purpose.
        at: when it was sent, POSIX seconds.
        seconds: from then to the end of the answer; None if unknown.
        event: its status, or the name of the failure.
        sent: the request; None if unknown.
        received: the answer; None without one.
        address: the IP address that answered; empty if unknown.
        is_proxied: whether a proxy was used.
        judged: the facts of the octets judged, decompressed and cut; empty without any.
        confirms_at: when the answer for the same URI was requested that this one confirms (304);
            None for other answers.
    """

    id: str
    uri: str
    purpose: Purpose
    at: float
    seconds: float | None
    event: str
    sent: SentRequest | None = None
    received: ReceivedAnswer | None = None
    address: str = ""
    is_proxied: bool = False
    judged: Facts = ()
    confirms_at: float | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """Knowledge that decided without a request of this run.

    Attributes:
        id: of its main record, a URN.
        purpose: its purpose, with the way to it.
        at: when the octets were received, POSIX seconds.
        used_at: when they were used here.
        source: ``store``, ``override`` or ``middleware``.
        event: the known event.
        body: the octets judged; None without a file.
        content_type: their media type; empty if unknown.
        cache_control: their Cache-Control; empty if unknown.
    """

    id: str
    purpose: Purpose
    at: float
    used_at: float
    source: str
    event: str
    body: bytes | None = field(default=None, repr=False)
    content_type: str = ""
    cache_control: str = ""


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The result of an exchange that was the last one for a file.

    Attributes:
        event: the final status, or the name of the failure.
        at: when it was received, POSIX seconds.
        hops: the URIs on the way, in order.
    """

    event: str
    at: float
    hops: tuple[str, ...]


Archived = Exchange | Stored
