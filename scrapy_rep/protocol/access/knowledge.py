"""What is known of an origin's robots.txt, and the outcome of one attempt to fetch it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from .events import NOT_MODIFIED, AccessResult, Event, access_result

REMARK = "scrapy-rep-remark"
"""Stands among the header fields of an answer: what was unusual in how its body was encoded."""


@dataclass(frozen=True, slots=True)
class Step:
    """One step on the way to a robots.txt: a request, or what stood for one.

    Facts are None, or empty, where they are not known: entries of older versions hold none.

    Attributes:
        uri: what was to be fetched.
        event: the status of the answer, or the failure.
        sent_at: when the request was sent, POSIX seconds; None if none was sent: a middleware
            answered, or the step was refused.
        seconds: from then to the end of the answer.
        octets: how many octets of the body came, as they were sent; compressed ones count as such.
        address: the IP address that answered.
        location: the Location header, as text.
        is_copied: whether it stands in the copy of another origin, from which this answer was
            taken: nothing was fetched for it, and the other facts are those of that copy.
        record: the id of its record in an archive; empty for none. Stores do not keep it.
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
    """The steps that follow the last one to a URI: those that its redirect led to."""
    places = [place for place, step in enumerate(steps) if step.uri == uri]
    return tuple(steps[places[-1] + 1 :]) if places else ()


def status_of(steps: Sequence[Step]) -> Event | None:
    """The status of the last answer on the way to a file; None if it is not known."""
    return steps[-1].event if steps else None


@dataclass(frozen=True, slots=True)
class Copy:
    """The last answer that settled the policy: a file, or that there is no file.

    Attributes:
        event: what the answer was: successful or unavailable.
        body: the file's octets; empty if there is none.
        hops: the URIs on the way to it, in order.
        headers: the last answer's header fields, names in lower case.
        fetched_at: when the octets came.
        confirmed_at: when the site last said that they hold.
        fresh_until: until when they hold without being confirmed.
        steps: how the octets came, in order, with retries; empty if that is not known.
        confirmed_by: the steps of the last confirmation; empty if there was none.
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
        """The request headers that ask the last hop whether the copy still holds (RFC 9110, 13)."""
        headers = dict(self.headers)
        names = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
        if access_result(self.event) is not AccessResult.SUCCESSFUL:
            return {}
        return {names[name]: headers[name] for name in names if headers.get(name)}

    def is_same_as(self, headers: Mapping[str, str]) -> bool:
        """Whether the validators of a 304 are this copy's (RFC 9111, 4.3.4); those it has.

        One that names another version confirms nothing: what we have is another file.
        """
        ours = dict(self.headers)
        if ours.get("etag") and headers.get("etag"):
            return _opaque(ours["etag"]) == _opaque(headers["etag"])
        changed = headers.get("last-modified")
        return not changed or changed == ours.get("last-modified", changed)


@dataclass(frozen=True, slots=True)
class Outage:
    """That the file has been unreachable: by what event, since when, how often in a row."""

    event: Event
    hops: tuple[str, ...]
    since: float
    failed_at: float
    count: int
    retry_at: float
    steps: tuple[Step, ...] = ()  # of the last attempt; empty if they are not known
    retry_after_seconds: float = 0.0  # as its answer asks, within our limit; 0 if it does not


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All that is known of an origin's robots.txt."""

    copy: Copy | None = None
    outage: Outage | None = None

    @property
    def changed_at(self) -> float:
        """When the site last answered, or failed to, POSIX seconds; 0 if nothing is known."""
        copy, outage = self.copy, self.outage
        return max(copy.confirmed_at if copy else 0.0, outage.failed_at if outage else 0.0)


@dataclass(frozen=True, slots=True)
class Answer:
    """The outcome of one attempt: an event, and what came with it."""

    event: Event
    body: bytes = field(default=b"", repr=False)
    hops: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    confirms: bool = False  # came for the validators of the copy
    repeats: Copy | None = None  # another origin's copy, which this is, and is no younger than
    user_agent: str | None = None  # what the last request was sent with; None if that is not known
    steps: tuple[Step, ...] = ()  # all of the exchange, those of failed attempts too
    took_seconds: float | None = None  # from asking to the end of the answer; None if not measured

    @property
    def is_confirmation(self) -> bool:
        """Whether the site says that the copy still holds."""
        return self.confirms and self.event == NOT_MODIFIED

    @property
    def access_result(self) -> AccessResult:
        """The RFC's word for it; a confirmed file is a file."""
        return AccessResult.SUCCESSFUL if self.is_confirmation else access_result(self.event)


def _opaque(etag: str) -> str:
    """An ETag without its weakness: all that a weak comparison looks at (RFC 9110, 8.8.3.2)."""
    return etag.strip().removeprefix("W/")
