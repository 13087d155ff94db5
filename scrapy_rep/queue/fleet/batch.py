"""What a worker tells Redis in one exchange: values that know neither Redis nor Scrapy."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple


class PushKind(IntEnum):
    """How a push is filtered."""

    FILTERED = 0
    UNFILTERED = 1
    START = 2


class Push(NamedTuple):
    """A request to be queued."""

    lane: str
    priority: int
    kind: PushKind
    fingerprint: bytes
    payload: bytes


@dataclass(slots=True, eq=False)
class HeldRequest:
    """A request, or a start URL, that this worker was given.

    Attributes:
        id: by which Redis knows it.
        lane: where it was queued; empty for a start URL.
        delay_seconds: what its lane leaves between two requests.
        deliveries: how often it was given to a worker, this time included.
        payload: the entry.
        wait_seconds: how long after it came it is due.
        due_at: when that is; monotonic seconds.
        fingerprint: by which the request is filtered; empty if it is not.
        request: what was made of it.
        is_out: whether it has left the buffer.
        has_reached: whether it has come to the downloader.
        has_left: whether it is known when it left for the site.
        is_turn: whether it is a turn alone, for a request that was not queued.
    """

    id: str
    lane: str
    delay_seconds: float
    deliveries: int
    payload: bytes
    wait_seconds: float = 0.0
    due_at: float = 0.0
    fingerprint: bytes = b""
    request: Any = None
    is_out: bool = False
    has_reached: bool = False
    has_left: bool = False
    is_turn: bool = False


@dataclass(frozen=True, slots=True)
class Wish:
    """A request that was not queued wants its turn among those of its origin."""

    lane: str
    delay_seconds: float


@dataclass(frozen=True, slots=True)
class Settled:
    """What is known of a lane; times are monotonic seconds.

    Attributes:
        lane: which.
        wait_until: when to ask again; None if its requests may be popped.
        delay_seconds: between two of its requests, over all workers.
        concurrency: how many at a time, over all workers; 0 for any number.
        valid_until: until when this holds.
        visited_at: when the site was visited last, as far as this worker knows.
        reason: why it waits, for people.
    """

    lane: str
    wait_until: float | None = None
    delay_seconds: float = 0.0
    concurrency: int = 0
    valid_until: float = 0.0
    visited_at: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Batch:
    """What one exchange brings, by the names that the script knows; times are monotonic seconds."""

    worker: str
    number: int
    attempt: int
    is_joined: bool
    epoch: str
    last_id: int
    pushes: tuple[Push, ...]
    moved: dict[str, tuple[str, float]]
    answered: tuple[str, ...]
    done: dict[str, bool]
    aside: dict[str, str]
    given: tuple[str, ...]
    settled: tuple[Settled, ...]
    held: tuple[str, ...] | None
    was: str | None
    was_done: tuple[str, ...]
    kept: tuple[tuple[str, HeldRequest], ...]
    turns: tuple[tuple[int, Wish], ...]
