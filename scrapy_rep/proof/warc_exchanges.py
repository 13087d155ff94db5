"""What is archived: one request and its answer, or octets that no request of this run brought."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

Headers = tuple[tuple[bytes, bytes], ...]
"""Header fields in order, names as they came."""


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request as it was sent.

    Attributes:
        method: its method.
        headers: its header fields, but for Host.
    """

    method: str
    headers: Headers


@dataclass(frozen=True, slots=True)
class ReceivedAnswer:
    """An answer as it came.

    Attributes:
        status: its status code.
        protocol: as the download handler names it: ``HTTP/1.1``, ``h2``; empty if it names none.
        headers: its header fields.
        body: the octets of its body, coded as they were sent, chunks joined.
        truncated: why the body is not whole, in the word of WARC-Truncated; empty if it is.
    """

    status: int
    protocol: str
    headers: Headers
    body: bytes = field(repr=False)
    truncated: str = ""


@dataclass(frozen=True, slots=True)
class Original:
    """The earlier answer that a 304 confirms: where it came from, and when it was asked for."""

    uri: str
    at: float


@dataclass(frozen=True, slots=True)
class Purpose:
    """For what it was: the file of an origin, and how far on the way to it.

    Attributes:
        origin: such as ``https://example.com``.
        path: of the file: ``/robots.txt``.
        hops: the URIs on the way to it, this one last.
    """

    origin: str
    path: str
    hops: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Judged:
    """Octets that were judged.

    Attributes:
        digest: ``sha256:…``.
        octets: how many.
    """

    digest: str
    octets: int

    @classmethod
    def of(cls, body: bytes) -> Judged:
        """The facts of octets."""
        return cls(f"sha256:{sha256(body).hexdigest()}", len(body))


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request, and the answer or the failure that followed.

    Attributes:
        id: of its main record, a URN.
        uri: what was asked for.
        purpose: for what.
        at: when it was sent, POSIX seconds.
        seconds: from then to the end of the answer; None if that is not known.
        event: its status, or the name of the failure.
        asked: the request; None if it is not known what was sent.
        answered: the answer; None if none came.
        address: the IP address that answered; empty if it is not known.
        is_proxied: whether a proxy stood between.
        judged: the octets judged: decompressed, cut; None if none were.
        original: the earlier answer that this one confirms, if it does.
    """

    id: str
    uri: str
    purpose: Purpose
    at: float
    seconds: float | None
    event: str
    asked: SentRequest | None = None
    answered: ReceivedAnswer | None = None
    address: str = ""
    is_proxied: bool = False
    judged: Judged | None = None
    original: Original | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """What decided without a request of this run.

    Attributes:
        id: of its main record, a URN.
        purpose: for what, by which way.
        at: when the octets came, POSIX seconds.
        used_at: when they were used here.
        source: where they are from: ``store``, ``override`` or ``middleware``.
        event: what was known.
        body: the octets judged; None if there is no file.
        content_type: their media type; empty if it is not known.
        cache_control: how long they count; empty if it is not known.
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
    """What was learnt by an exchange, if it was the last of those for one file.

    Attributes:
        event: the status, or the name of the failure, that counts.
        at: when it was learnt, POSIX seconds.
        hops: the URIs on the way, in order.
    """

    event: str
    at: float
    hops: tuple[str, ...]


Archived = Exchange | Stored
