"""What can be known of an origin's robots.txt, and what one attempt to learn more came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .access import AccessResult, Event, access_result

_NOT_MODIFIED = 304


@dataclass(frozen=True, slots=True)
class Copy:
    """The last answer that said what the policy is: a file, or that there is none.

    Attributes:
        event: what the answer was: successful or unavailable.
        body: the file's octets; empty if there is none.
        hops: the URIs asked, in order.
        headers: the last answer's header fields, names in lower case.
        fetched_at: when the octets came.
        confirmed_at: when the site last said that they hold.
        fresh_until: how long they hold without asking again.
    """

    event: Event
    body: bytes = field(repr=False)
    hops: tuple[str, ...]
    headers: tuple[tuple[str, str], ...]
    fetched_at: float
    confirmed_at: float
    fresh_until: float

    @property
    def validators(self) -> dict[str, str]:
        """The request headers that ask the last hop whether the copy still holds (RFC 9110, 13)."""
        headers = dict(self.headers)
        names = {"etag": "If-None-Match", "last-modified": "If-Modified-Since"}
        if access_result(self.event) is not AccessResult.SUCCESSFUL:
            return {}
        return {names[name]: headers[name] for name in names if headers.get(name)}


@dataclass(frozen=True, slots=True)
class Outage:
    """That the file has been unreachable: by what event, since when, how often in a row."""

    event: Event
    hops: tuple[str, ...]
    since: float
    failed_at: float
    count: int
    retry_at: float


@dataclass(frozen=True, slots=True)
class Knowledge:
    """All that is known of an origin's robots.txt."""

    copy: Copy | None = None
    outage: Outage | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What one attempt came to: an event, and what came with it."""

    event: Event
    body: bytes = field(default=b"", repr=False)
    hops: tuple[str, ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    confirms: bool = False  # came for the validators of the copy
    repeats: Copy | None = None  # another origin's copy, which this is, and is no younger than

    @property
    def is_confirmation(self) -> bool:
        """Whether the site says that the copy still holds."""
        return self.confirms and self.event == _NOT_MODIFIED

    @property
    def access_result(self) -> AccessResult:
        """The RFC's word for it; a confirmed file is a file."""
        return AccessResult.SUCCESSFUL if self.is_confirmation else access_result(self.event)
