"""A batch: all that a worker sends to Redis at once, as values without Redis or Scrapy code."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from hashlib import sha1
from typing import Any, NamedTuple

from scrapy_rep.protocol.extensions.rest import Rest

_TOKEN_OCTETS = 64  # a project may have its own, longer fingerprints


class PushKind(IntEnum):
    """How a push is filtered."""

    FILTERED = 0
    UNFILTERED = 1
    START = 2
    AGAIN = 3  # not filtered: the worker has it already, and Redis may have lost it


@dataclass(slots=True, eq=False)
class HeldRequest:
    """A request, or a start URL, that this worker got from Redis.

    Attributes:
        id: its id in Redis.
        lane: the lane where it was queued; empty for a start URL.
        delay_seconds: the delay between two requests of its lane.
        deliveries: how often it was given to a worker, including this time.
        payload: the entry: the request in octets.
        token: the octets by which Redis knows it (`Push.token`).
        wait_seconds: how long after its arrival it is due.
        due_at: when it is due; monotonic seconds.
        linked_in: the epoch of the Redis that got the first requests that it caused.
        request: the request that was made from the entry.
        has_reached: whether it has come to the downloader.
        has_left: whether it has left the downloader.
        is_turn: whether it is only a turn, for a request that was not queued.
        is_kept: whether only this worker can fetch it, because it could not be written.
    """

    id: str
    lane: str
    delay_seconds: float
    deliveries: int
    payload: bytes
    token: bytes = b""
    wait_seconds: float = 0.0
    due_at: float = 0.0
    linked_in: str = ""
    request: Any = None
    has_reached: bool = False
    has_left: bool = False
    is_turn: bool = False
    is_kept: bool = False


class Push(NamedTuple):
    """A request to be queued, or (`held`) a request of the worker: kept, or lost by Redis.

    `fingerprint` is that of the duplicate filter, or octets that no other request has. `is_root` is
    whether no page is known that leads to it.
    """

    lane: str
    priority: int
    kind: PushKind
    fingerprint: bytes
    payload: bytes
    held: HeldRequest | None = None
    is_root: bool = False

    @property
    def token(self) -> bytes:
        """The octets by which Redis knows it, from now until it has ended."""
        if self.held is not None and self.kind is PushKind.AGAIN:
            return self.held.token
        known = self.fingerprint
        if len(known) > _TOKEN_OCTETS:
            known = sha1(known, usedforsecurity=False).digest()
        return b"%d%b" % (self.kind, known)


@dataclass(frozen=True, slots=True)
class Wish:
    """A request that was not queued waits for a turn among the requests of its origin."""

    lane: str
    delay_seconds: float


@dataclass(frozen=True, slots=True)
class Settled:
    """The state of a lane as a worker reports it; times are monotonic seconds.

    Attributes:
        lane: the name of the lane.
        wait_until: when to check again; None if its requests may be popped.
        delay_seconds: the delay between two of its requests, over all workers.
        concurrency: the number of concurrent requests, over all workers; 0 for any number.
        valid_until: when this report expires.
        visited_at: when the site was visited last, as far as this worker knows.
        reason: why it waits, as text for users.
    """

    lane: str
    wait_until: float | None = None
    delay_seconds: float = 0.0
    concurrency: int = 0
    valid_until: float = 0.0
    visited_at: float | None = None
    reason: str = ""


class Rested(NamedTuple):
    """The rest of a lane's origin, or None at its end; times are monotonic seconds.

    Attributes:
        lane: the name of the lane.
        sent_at: when the request was sent that brought the answer.
        rest: the rest after that answer.
    """

    lane: str
    sent_at: float
    rest: Rest | None


@dataclass(frozen=True, slots=True)
class Batch:
    """All that a worker sends to Redis at once, with the script's names.

    Times are monotonic seconds. `heard` is the last attempt with a reply: a Redis that knows only
    earlier ones has gone back. `probes` says of each lane whether this worker has, or wants, the
    first request after a rest. `books` are those of the last reply. `ended` has the token of a
    request, and how it ended.
    """

    worker: str
    number: int
    attempt: int
    heard: int
    is_joined: bool
    epoch: str
    last_id: int
    known: tuple[str, ...]
    pushes: tuple[Push, ...]
    left: dict[str, tuple[str, float]]
    ended: dict[str, tuple[bool | str | None, bytes]]
    settled: tuple[Settled, ...]
    is_unsure: bool
    turns: tuple[tuple[int, Wish], ...]
    rests: tuple[Rested, ...]
    rests_seen: int
    probes: tuple[tuple[str, bool], ...]
    books: tuple[int, ...]
