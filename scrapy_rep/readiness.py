"""Whether requests of an origin may be handed out, and if not, what they wait for."""

from __future__ import annotations

import time
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from . import stats
from .cache.memory import Lru
from .engine import is_closing
from .protocol.access import Meaning
from .protocol.origin import Origin
from .slots import Slots

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from .pacing import Pacing
    from .policies import Policies
    from .policy import Policy
    from .settings import RepSettings

_FAILED_OCTETS = 1 << 20  # of origins whose file was found unreachable


class State(Enum):
    """How things stand with an origin; the value says what ends it, for each of them ends."""

    READY = "the request is handed out"
    UNASKED = "the queue asks for the robots.txt, in order, as places for that become free"
    ASKED = "the robots.txt comes, or is unreachable: every exchange has a time limit"
    HELD = "a time, at most REP_UNREACHABLE_HOLD_SECONDS away; then it is UNASKED, or READY"
    SHUT = "a time, at most a day away, at which the visit time begins"


class Outlook(NamedTuple):
    """How things stand with an origin, and until when; POSIX seconds."""

    state: State
    until: float = 0.0


_READY = Outlook(State.READY)
_UNASKED = Outlook(State.UNASKED)
_ASKED = Outlook(State.ASKED)


class Readiness:
    """Answers for the queues of one crawl: without policies, every origin is ready.

    Attributes:
        slots: the downloader's slots, which tell when a host may be asked.
    """

    def __init__(
        self,
        crawler: Crawler,
        slots: Slots,
        settings: RepSettings | None = None,
        policies: Policies | None = None,
        pacing: Pacing | None = None,
    ) -> None:
        self._crawler = crawler
        self.slots = slots
        self.policies = policies
        self._pacing = pacing
        self._hold_seconds = settings.unreachable_hold_seconds if settings else 0.0
        self.prefetch_origins = settings.prefetch_origins if settings else 0
        self.concurrent_fetches = settings.concurrent_fetches if settings else 0
        self._failed_at: Lru[Origin, float] = Lru(_FAILED_OCTETS)

    def of(self, origin: Origin | None, key: str) -> Outlook:
        """How things stand with an origin whose requests go through a slot; O(1).

        Its pace is put under the slot's delay. None stands for requests that nobody judges.
        """
        if origin is None or self.policies is None or self._pacing is None:
            return _READY
        policy = self.policies.peek(origin)
        if policy is None:
            return _ASKED if self.policies.is_asking(origin) else _UNASKED
        held_until = self._held_until(policy)
        if held_until > time.time():
            return Outlook(State.HELD, held_until)
        self._pacing.apply(policy, key)
        opens_at = self._pacing.opens_at(policy)
        return Outlook(State.SHUT, opens_at) if opens_at > time.time() else _READY

    def ask(self, origin: Origin, request: Request | None) -> None:
        """Ask for the robots.txt of an origin that is unasked; nothing while the crawl closes."""
        if self.policies is not None and not is_closing(self._crawler):
            self.policies.ask(origin, request)

    def _held_until(self, policy: Policy) -> float:
        """Until when requests are kept because a failure, and nothing else, disallows them.

        Only if the file will be asked for again soon enough after this crawl first found it
        unreachable; else they are handed out, and dropped.
        """
        if not policy.is_unreachable or policy.is_stale or policy.meaning is not Meaning.DISALLOW:
            if self._failed_at.get(policy.origin) is not None:
                self._failed_at.drop(policy.origin)
            return 0.0
        known = self._failed_at.get(policy.origin)
        failed_at = time.time() if known is None else known
        retry_at = min(policy.due_at, policy.usable_until)
        is_soon = retry_at <= failed_at + self._hold_seconds
        if known is None:
            self._failed_at.put(policy.origin, failed_at, 200)
            if is_soon:
                self._crawler.stats.inc_value(stats.HELD)
        return retry_at if is_soon else 0.0
