"""The floor under the delay of one slot: the least time between requests that policies ask for."""

from __future__ import annotations

import math
import time
from collections.abc import Hashable
from typing import NamedTuple

from .downloader import NEVER, DownloaderSlot
from .visits import Visits

EVENT = float("inf")
"""A time that is not known yet: listeners will hear of an event."""


class Ask(NamedTuple):
    """What the policy of an origin asks of a request.

    Attributes:
        origin: whose policy it is.
        seconds: the least time between two requests.
        until: when another pace may hold; POSIX seconds.
        as_whom: the product tokens that the request is judged by; None for the crawl's own.
        last_at: when the origin was visited last, as far as the policy knows; monotonic seconds.
    """

    origin: Hashable
    seconds: float
    until: float = math.inf
    as_whom: Hashable = None
    last_at: float = NEVER


class Hold:
    """What one policy asks of a slot, and the number of its requests that wait for an answer."""

    __slots__ = ("count", "seconds", "until")

    def __init__(self) -> None:
        self.seconds = 0.0
        self.until = 0.0
        self.count = 0


class Floor:
    """What we remember of one slot: the delays asked of it, and the slot as we last saw it."""

    __slots__ = (
        "applied",
        "asked",
        "counted_at",
        "holds",
        "is_told",
        "jitter",
        "own_delay",
        "slot",
        "visits",
    )

    def __init__(self) -> None:
        self.holds: dict[tuple[Hashable, Hashable], Hold] = {}  # by origin, and as whom
        self.visits: dict[Hashable, Visits] = {}  # by origin
        self.slot: DownloaderSlot | None = None
        self.asked: Ask | None = None  # what was asked last; it need not be noted twice
        self.jitter = 0.0
        self.own_delay = 0.0
        self.applied = -1.0
        self.counted_at = NEVER  # from when the slot counts, as we have set it
        self.is_told = False  # whether we hear of each request that the slot sends

    def seconds(self) -> float:
        """The longest delay that holds now; 0 without one."""
        now, longest = time.time(), 0.0
        for hold in self.holds.values():
            if hold.seconds > longest and (hold.count or now < hold.until):
                longest = hold.seconds
        return longest

    @property
    def next_at(self) -> float:
        """When the origins may be visited next, through any slot; infinite while not known."""
        seconds = self.seconds()
        if not seconds:
            return NEVER
        if any(visits.is_unsure for visits in self.visits.values()):
            return EVENT
        return max(visits.last_at for visits in self.visits.values()) + seconds

    def count(self, slot: DownloaderSlot) -> None:
        """Let the slot send nothing before `next_at`, whichever delay it draws.

        A time that we set earlier is moved back if we know better now.
        """
        at = self.next_at - slot.least_delay
        if at > NEVER and (at > slot.last_at or slot.last_at == self.counted_at):
            slot.last_at = at
            self.counted_at = slot.last_at
