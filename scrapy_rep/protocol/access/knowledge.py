"""The known state of an origin's robots.txt, and the outcome of one attempt to fetch it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .events import NOT_MODIFIED, AccessResult, Event, access_result

REMARK = "scrapy-rep-remark"
"""A pseudo header field of an answer: remarks on how its body was encoded."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a fetch: a request, or an answer without a request.

    Unknown facts are None or empty: entries of older versions lack them.

    Attributes:
        uri: the URI to fetch.
        event: the status of the answer, or the failure.
        sent_at: when the request was sent, POSIX seconds; None if it was not sent, because a
            middleware answered or the step was refused.
        seconds: time from then to the end of the answer.
        octets: the received octets of the body, still compressed.
        address: the IP address that answered.
        location: the Location header, as text.
        is_copied: whether the step belongs to another origin's copy that was used as this answer:
            nothing was fetched, and the other facts are those of that copy.
        record: the id of its record in an archive, or empty. Only memory keeps it.
    """

    uri: str
    event: Event | None = None
    sent_at: float | None = None
    seconds: float | None = None
    octets: int | None = None
    address: str = ""
    location: str = ""
    is_copied: bool = False
    record: str = ""


def steps_to(steps: Sequence[Step], uri: str) -> tuple[Step, ...]:
    """The steps after the last one to a URI: those to which its redirect led."""
    places = [place for place, step in enumerate(steps) if step.uri == uri]
    return tuple(steps[places[-1] + 1 :]) if places else ()


def status_of(steps: Sequence[Step]) -> Event | None:
    """The status of the last answer of a fetch; None if unknown."""
    return steps[-1].event if steps else None


@dataclass(frozen=True, slots=True)
class Copy:
    """The last answer that settled the policy: a file, or that there is no file.

    Attributes:
        event: the event, which is successful or unavailable.
        body: the file's octets; empty if there is no file.
        hops: the URIs that led to it, in order.
        headers: the last answer's header fields, names in lower case.
        fetched_at: when the octets arrived.
        confirmed_at: when the site last confirmed that they still hold.
        fresh_until: when they expire if they are not confirmed.
        steps: the steps that fetched it, in order, including retries; empty if unknown.
        confirmed_by: the steps of the last confirmation, if any.
    """

    event: Event
    body: bytes = field(repr=False)
    hops: tuple[str, ...]
    headers: tuple[tuple[str, str], ...]
    fetched_at: float
    confirmed_at: float
    fresh_until: float
    steps: tuple[Step, ...] = ()
    confirmed_by: tuple[Step, ...] = ()

    @property
    def validators(self) -> dict[str, str]:
        """The request headers that let the last hop confirm the copy (RFC 9110, 13)."""
        headers = dict(self.headers)
        names = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
        if access_result(self.event) is not AccessResult.SUCCESSFUL:
            return {}
        return {names[name]: headers[name] for name in names if headers.get(name)}

    def is_same_as(self, headers: Mapping[str, str]) -> bool:
        """Whether a 304 has the validators of this copy (RFC 9111, 4.3.4), as far as it has any.

        A 304 with other validators confirms nothing: it is about another file.
        """
        ours = dict(self.headers)
        if ours.get("etag") and headers.get("etag"):
            return _opaque(ours["etag"]) == _opaque(headers["etag"])
        changed = headers.get("last-modified")
        return not changed or changed == ours.get("last-modified", changed)


@dataclass(frozen=True, slots=True)
class Outage:
    """A period in which the file is unreachable: the last event, its start, failures in a row."""

    event: Event
    hops: tuple[str, ...]
    since: float
    failed_at: float
    count: int
    retry_at: float
    steps: tuple[Step, ...] = ()  # of the last attempt; empty if unknown
    retry_after_seconds: float = 0.0  # from its answer's Retry-After, up to our limit; 0 without


@dataclass(frozen=True, slots=True)
class Knowledge:
    """The known state of an origin's robots.txt: the copy, and the outage since."""

    copy: Copy | None = None
    outage: Outage | None = None

    @property
    def changed_at(self) -> float:
        """When the site last answered or failed to, POSIX seconds; 0 if nothing is known."""
        copy, outage = self.copy, self.outage
        return max(copy.confirmed_at if copy else 0.0, outage.failed_at if outage else 0.0)


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one attempt: an event and its details."""

    event: Event
    body: bytes = field(default=b"", repr=False)
    hops: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    confirms: bool = False  # the request had the validators of the copy
    repeats: Copy | None = None  # another origin's copy that is used as this answer, with its age
    user_agent: str | None = None  # the User-Agent of the last request; None if unknown
    steps: tuple[Step, ...] = ()  # all steps of the file fetch, including failed attempts
    is_proxied: bool = False  # it came through a proxy of the crawl
    is_for_signed: bool = False  # the site wanted a signature first (Accept-Signature)
    took_seconds: float | None = None  # from the request to the end of the answer, if measured

    @property
    def is_confirmation(self) -> bool:
        """Whether the site says that the copy still holds."""
        return self.confirms and self.event == NOT_MODIFIED

    @property
    def access_result(self) -> AccessResult:
        """The access result in the RFC's terms; a confirmed file counts as successful."""
        return AccessResult.SUCCESSFUL if self.is_confirmation else access_result(self.event)


def _opaque(etag: str) -> str:
    """An ETag without its weakness mark, for weak comparison (RFC 9110, 8.8.3.2)."""
    return etag.strip().removeprefix("W/")
