"""Decides for the queue whether the requests of an origin wait, why and until when: `Waits.of`.

It computes the decision from the present state. `RepPriorityQueue` calls it before it hands out a
request, and a worker of a fleet before it reports a lane to Redis. `explain` and the log show it.
The middleware then makes sure of each request again (`Pacing.turn`). A wait comes from, in the
order of `of`:

=============  ======================================  =========================================
`Why`          decided in                              until
=============  ======================================  =========================================
`RESTING`      `rest_after`, kept in `Rests`           the end of the rest after 429 or 503
`HELD`         `_held_until`, by the due time that     the retry of an unreachable robots.txt
               `standing` sets
`UNFETCHED`,   `policies`                              the robots.txt has come
`FETCHING`
`SHUT`         `Pacing.opens_at`                       the visit time of the site begins
`LEARNED`      `Paces`, from the answers of pages      the site accepts another request
`PACED`        `visits`, by `Pacing.delay_of`          the delay has passed since the last visit
=============  ======================================  =========================================

The queue adds `REFUSED` (only pages are left that were refused), `FULL` (no place in the slot) and
`PACED` until the end of another request to the host. With another queue, requests wait in the
middleware, for the same times.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from scrapy_rep import stats
from scrapy_rep.cache.memory import Lru
from scrapy_rep.engine.clock import Monotonic, monotonic_at
from scrapy_rep.engine.downloader import EVENT, NEVER
from scrapy_rep.engine.state import is_by_hand, is_closing
from scrapy_rep.policies import Policies
from scrapy_rep.protocol.access.events import Meaning
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.stats import Journal

from .pacing import Pacing

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.crawl import Crawl
    from scrapy_rep.policy import Policy

_FAILED_OCTETS = 1 << 24  # for about 80,000 origins with an unreachable file


class Why(Enum):
    """Why the requests of an origin wait; the log shows the value after "wait for"."""

    READY = "nothing"
    UNFETCHED = "a place for the fetch of their robots.txt (REP_CONCURRENT_FETCHES)"
    FETCHING = "their robots.txt, which is being fetched"
    HELD = "the retry of their robots.txt, which is unreachable"
    SHUT = "the visit time of the site"
    RESTING = "the end of a rest after 429, 503 or a challenge"
    LEARNED = "the pace that the site accepts, learned from its answers"
    PACED = "the delay of the site"
    REFUSED = "the time after which refused pages may be requested again"
    FULL = "a place in their download slot, or its delay"

    __hash__ = object.__hash__  # each is one object, and Enum's own is Python code


class Wait(NamedTuple):
    """Why requests wait, and until when; `EVENT` if that is not known."""

    why: Why
    until: Monotonic = NEVER


READY = Wait(Why.READY)
_UNFETCHED = Wait(Why.UNFETCHED, EVENT)
_FETCHING = Wait(Why.FETCHING, EVENT)


class Waits:
    """Tells what the requests of one crawl wait for."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawl.crawler
        self._journal = Journal(crawl.crawler, __name__)
        self._policies = policies = crawl.part(Policies)
        self._pacing = crawl.part(Pacing)
        self._hold_seconds = crawl.settings.unreachable_hold_seconds
        self._failed_at: Lru[Origin, float] = Lru(_FAILED_OCTETS)
        self.concurrent_fetches = crawl.settings.concurrent_fetches
        policies.listen(self._settled)

    def of(self, origin: Origin) -> Wait:
        """The wait of the requests of an origin; O(1)."""
        rest_at = self._pacing.backoff.rests.ready_at(origin)
        if rest_at > time.monotonic():
            return Wait(Why.RESTING, rest_at)
        # The request that is handed out renews the policy, because it has the proxy to use.
        policy = self._policies.peek(origin, renew=False)
        held_until = 0.0 if policy is None else self._held_until(policy)
        if held_until > time.time():
            return Wait(Why.HELD, monotonic_at(held_until))
        # A policy that held requests may stay in memory for a moment after its end.
        if policy is None or held_until:
            return _FETCHING if self._policies.is_fetching(origin) else _UNFETCHED
        opens_at = self._pacing.opens_at(policy)
        if opens_at > time.time():
            return Wait(Why.SHUT, monotonic_at(opens_at))
        at = self._pacing.backoff.paces.ready_at(origin)
        if at > time.monotonic():
            return Wait(Why.LEARNED, at)
        return self.of_host(origin.host)

    def of_host(self, host: str) -> Wait:
        """The wait of requests that no robots.txt judges, by the delay of their host."""
        at = self._pacing.visits.ready_at(host)
        return READY if at <= time.monotonic() else Wait(Why.PACED, at)

    def is_paced(self, host: str) -> bool:
        """Whether a host has a delay, so that it gets one request at a time."""
        return self._pacing.visits.seconds(host) > 0

    def hand_out(self, origin: Origin, request: Request) -> None:
        """Note that a request is handed out; after a rest, it goes first."""
        self.note_delay(origin)  # the record of its host may have been forgotten
        self._pacing.backoff.hand_out(origin, request)

    def note_delay(self, origin: Origin) -> None:
        """Keep the delay of an origin, which applies even if its policy is evicted later."""
        policy = self._policies.peek(origin, renew=False)
        if policy is not None:
            self._pacing.note(policy)

    def listen(self, origin_settled: Callable[[Origin], None]) -> None:
        """Call a function with each origin when its policy arrives."""
        self._policies.listen(origin_settled)

    def fetch(self, origin: Origin, request: Request | None) -> None:
        """Fetch the robots.txt of an origin; does nothing while the crawl closes."""
        if not is_closing(self._crawler):
            self._policies.prefetch(origin, request)

    def is_queued(self, origin: Origin) -> bool:
        """Whether the request for an origin's robots.txt is queued in a slot."""
        return self._policies.is_queued(origin)

    def _settled(self, origin: Origin) -> None:
        """Note when the file of a policy that has come was first unreachable."""
        policy = self._policies.known(origin)
        if policy is None:
            return
        known = self._failed_at.get(origin)
        if not _is_failure(policy):
            if known is not None:
                self._failed_at.drop(origin)
            return
        now = time.time()
        self._failed_at.put(origin, now if known is None else min(known, now), 200)
        if known is None and self._held_until(policy):
            self._journal.count(stats.HELD)

    def _held_until(self, policy: Policy) -> float:
        """Until when to keep requests that only a failure disallows; 0 to hand them out now.

        They are kept if a retry is due soon enough after this crawl first found the file
        unreachable; otherwise they are handed out, and the middleware drops them.
        """
        if not _is_failure(policy) or is_by_hand(self._crawler):
            return 0.0  # a user waits for one response, and should see the reason at once
        if policy.fault is not None and policy.fault.retry_seconds:
            return policy.due_at
        now = time.time()
        failed_at = min(self._failed_at.get(policy.origin) or now, now)  # clocks may be set back
        retry_at = min(policy.due_at, policy.usable_until)
        return retry_at if retry_at <= failed_at + self._hold_seconds else 0.0


class NoWaits:
    """Stands for `Waits` in a crawl without `RepMiddleware`: no robots.txt makes requests wait."""

    concurrent_fetches = 0

    def of(self, origin: Origin) -> Wait:  # noqa: ARG002
        """Nothing."""
        return READY

    def of_host(self, host: str) -> Wait:  # noqa: ARG002
        """Nothing."""
        return READY

    def is_paced(self, host: str) -> bool:  # noqa: ARG002
        """No."""
        return False

    def hand_out(self, origin: Origin, request: Request) -> None:
        """Do nothing."""

    def note_delay(self, origin: Origin) -> None:
        """Do nothing."""

    def listen(self, origin_settled: Callable[[Origin], None]) -> None:
        """Do nothing."""

    def fetch(self, origin: Origin, request: Request | None) -> None:
        """Do nothing."""

    def is_queued(self, origin: Origin) -> bool:  # noqa: ARG002
        """No."""
        return False


def _is_failure(policy: Policy) -> bool:
    """Whether only a failure disallows the requests of an origin."""
    is_without_file = policy.is_unreachable and not policy.is_stale
    is_failure = is_without_file and policy.meaning is Meaning.DISALLOW
    return is_failure and policy.may_change_soon
