"""Tells whether requests of an origin may be handed out, and otherwise what they wait for."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from scrapy_rep import stats
from scrapy_rep.cache.memory import Lru
from scrapy_rep.engine.state import is_by_hand, is_closing
from scrapy_rep.middleware import RepMiddleware
from scrapy_rep.pace.downloader import Downloader
from scrapy_rep.protocol.access.events import Meaning
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.stats import Journal

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self

    from scrapy_rep.policy import Policy

_FAILED_OCTETS = 1 << 24  # for about 80,000 origins with an unreachable file


class OriginState(Enum):
    """The state of an origin in the queue; the value says how the state ends."""

    READY = "the request is handed out"
    UNASKED = "the queue fetches the robots.txt, in order, as places for that become free"
    ASKED = (
        "the robots.txt comes, or is unreachable: after REP_UNREACHABLE_WAIT_SECONDS at most, "
        "plus the time it is queued in a slot, which RepSettings.line_seconds limits"
    )
    HELD = "a time, at most REP_UNREACHABLE_HOLD_SECONDS away; then it is UNASKED, or READY"
    SHUT = "a time, at most a day away, at which the visit time begins"
    RESTING = "a time, at most REP_BACKOFF_MAX_SECONDS away, or the answer of one request"
    PACED = "a time, or an event: the end of the request that has the turn of its host"


class Outlook(NamedTuple):
    """The state of an origin and the time when it ends, in monotonic seconds or `EVENT`."""

    state: OriginState
    until: float = 0.0


_WAITS = {
    OriginState.HELD: "The robots.txt of %s is retried in %.0f s; waiting requests: %d",
    OriginState.SHUT: "The visit time of %s begins in %.0f s; waiting requests: %d",
}
READY = Outlook(OriginState.READY)
_UNASKED = Outlook(OriginState.UNASKED)
_ASKED = Outlook(OriginState.ASKED)


class Readiness:
    """The states of origins, for the queues of one crawl; without policies, every origin is ready.

    Attributes:
        downloader: the crawl's downloader.
        policies: the crawl's policies; None without `RepMiddleware`.
        pacing: the delays that policies require.
        concurrent_fetches: the number of robots.txt that may be fetched at a time.
    """

    def __init__(self, crawler: Crawler, middleware: RepMiddleware | None = None) -> None:
        self._crawler = crawler
        self._journal = Journal(crawler, __name__)
        settings = middleware.settings if middleware else None
        self.policies = middleware.policies if middleware else None
        self.pacing = middleware.pacing if middleware else None
        self.downloader = middleware.pacing.downloader if middleware else Downloader(crawler)
        self._hold_seconds = settings.unreachable_hold_seconds if settings else 0.0
        self.concurrent_fetches = settings.concurrent_fetches if settings else 0
        self._failed_at: Lru[Origin, float] = Lru(_FAILED_OCTETS)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build from a crawler; without `RepMiddleware` every origin is ready."""
        middleware = None
        with suppress(AttributeError):  # another DOWNLOADER may hide its middlewares
            middleware = crawler.get_downloader_middleware(RepMiddleware)
        return cls(crawler, middleware)

    def listen(self, origin_settled: Callable[[Origin], None]) -> None:
        """Call a function with each origin when its policy has come."""
        if self.policies is not None:
            self.policies.listen(origin_settled)

    def of(self, origin: Origin | None) -> Outlook:
        """The state of an origin; O(1).

        Notes the delay that the origin sets. An origin of None is always ready, because no
        robots.txt judges its requests.
        """
        if origin is None or self.policies is None or self.pacing is None:
            return READY
        rest_at = self.pacing.backoff.rests.ready_at(origin)
        if rest_at > time.monotonic():
            return Outlook(OriginState.RESTING, rest_at)
        # The request that is handed out renews the policy, because it has the proxy to use.
        policy = self.policies.peek(origin, renew=False)
        held_until = 0.0 if policy is None else self._held_until(policy)
        if held_until and held_until > time.time():
            return Outlook(OriginState.HELD, _monotonic(held_until))
        # A policy that held requests may stay in memory for a moment after its end.
        if policy is None or held_until:
            return _ASKED if self.policies.is_asking(origin) else _UNASKED
        opens_at = self.pacing.opens_at(policy)
        if opens_at > time.time():
            return Outlook(OriginState.SHUT, _monotonic(opens_at))
        return _paced(self.pacing.ready_at(policy))

    def without_policy(self, host: str) -> Outlook:
        """The state of an origin without a policy in memory, by the delay of its host."""
        return READY if self.pacing is None else _paced(self.pacing.host_ready_at(host))

    def is_paced(self, host: str) -> bool:
        """Whether a host has a delay, so that it gets one request at a time."""
        return self.pacing is not None and self.pacing.is_paced(host)

    def hand_out(self, origin: Origin | None, request: Request) -> None:
        """Note a request that is handed out; after a rest, its origin then waits for its answer."""
        if self.pacing is not None and origin is not None:
            self.pacing.backoff.go(origin, request)

    def ask(self, origin: Origin, request: Request | None) -> None:
        """Fetch the robots.txt of an `UNASKED` origin; does nothing while the crawl closes."""
        if self.policies is not None and not is_closing(self._crawler):
            self.policies.ask(origin, request)

    def is_queued(self, origin: Origin) -> bool:
        """Whether the request for an origin's robots.txt is queued in a slot."""
        return self.policies is not None and self.policies.is_queued(origin)

    def tell_of_wait(self, origin: Origin | None, outlook: Outlook, count: int) -> None:
        """Log the number of requests that wait for a time."""
        if outlook.state in _WAITS:
            seconds = outlook.until - time.monotonic()
            self._journal.info(_WAITS[outlook.state], origin, seconds, count)

    def _held_until(self, policy: Policy) -> float:
        """Until when to keep requests that only a failure disallows; 0 to hand them out now.

        They are kept if a retry is due soon enough after this crawl first found the file
        unreachable; otherwise they are handed out, and the middleware drops them.
        """
        if not policy.is_unreachable or policy.is_stale or policy.meaning is not Meaning.DISALLOW:
            if len(self._failed_at):
                self._failed_at.drop(policy.origin)
            return 0.0
        if is_by_hand(self._crawler):
            return 0.0  # a user who waits for one response should see the reason at once
        known = self._failed_at.get(policy.origin)
        now = time.time()
        failed_at = now if known is None else min(known, now)  # the clock may have been set back
        retry_at = min(policy.due_at, policy.usable_until)
        is_soon = retry_at <= failed_at + self._hold_seconds
        if failed_at != known:
            self._failed_at.put(policy.origin, failed_at, 200)
        if known is None and is_soon:
            self._journal.count(stats.HELD)
        return retry_at if is_soon else 0.0


def _paced(at: float) -> Outlook:
    return READY if at <= time.monotonic() else Outlook(OriginState.PACED, at)


def _monotonic(at: float) -> float:
    """A time as monotonic seconds."""
    return time.monotonic() + at - time.time()
