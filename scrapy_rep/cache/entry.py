"""What is kept of one attempt to get a robots.txt."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_rep.protocol.access import AccessResult, Event, access_result
from scrapy_rep.protocol.origin import Origin


@dataclass(frozen=True, slots=True)
class Entry:
    """The outcome of one fetch, as octets and facts; what it means is decided when it is used.

    Attributes:
        origin: the origin first asked, for which the outcome holds (RFC 9309, 2.3.1.2).
        event: the status of the last answer, or what failed.
        fetched_at: when the last answer or failure came, POSIX seconds.
        body: the file's octets, decompressed, at most little more than the parse limit; empty
            unless the event is a success.
        hops: the URIs asked, in order, the origin's own robots.txt first.
        headers: the last answer's header fields, names in lower case.
    """

    origin: Origin
    event: Event
    fetched_at: float
    body: bytes = b""
    hops: tuple[str, ...] = ()
    headers: tuple[tuple[str, str], ...] = ()

    @property
    def access_result(self) -> AccessResult:
        """The RFC's word for the outcome."""
        return access_result(self.event)
