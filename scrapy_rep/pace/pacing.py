"""How fast and when this crawl visits an origin, by its policy and by the settings.

`RepPriorityQueue` hands out a request when its origin may be visited (`waits`). With every queue,
the middleware then lets each request wait for its turn (`turn`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

from scrapy import Request, signals
from scrapy.utils.misc import load_object

from scrapy_rep import stats
from scrapy_rep.cache.memory import Lru
from scrapy_rep.crawl import Crawl, shared
from scrapy_rep.decisions.decisions import Decisions
from scrapy_rep.engine.clock import monotonic_at
from scrapy_rep.engine.downloader import NEVER, Downloader, slot_key
from scrapy_rep.engine.loops import sleep
from scrapy_rep.engine.state import has_own_queue, is_closing, wake
from scrapy_rep.engine.transfer import is_own
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.origin import Origin, origin_of
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.extensions.pace import NO_PACE, Excess, Pace, opens_at
from scrapy_rep.stats import Journal

from .backoff import Backoff, refused_until
from .visits import OriginDelay, Visit, Visits

if TYPE_CHECKING:
    from scrapy.http import Response
    from scrapy.settings import BaseSettings

    from scrapy_rep.settings import RepSettings

_SAID_OCTETS = 1 << 20  # memory of the origins that the log has named
_LOOK_SECONDS = 0.2  # how soon a request that waits notices that the crawl is closing
_MOST_LENT = 1000  # requests that wait without a place of the downloader's: each takes memory
_COUNTS = {Excess.CAP: stats.CAPPED, Excess.IGNORE: stats.IGNORED}
_WORDS = {
    Excess.CAP: "it is visited at that pace instead",
    Excess.SKIP: "its requests are dropped",
    Excess.IGNORE: "its delay is ignored",
}


class Turn(NamedTuple):
    """A request that waits for its turn; `is_awaited` tells if another waits for its answer."""

    origin: Origin
    delay_seconds: float
    request: Request
    is_awaited: Callable[[], bool]


class Gate(Protocol):
    """A turn is shared with other processes: a request waits until none of them visits its site."""

    def may_go(self, turn: Turn) -> bool:
        """Whether a request still has its turn."""

    async def wait(self, turn: Turn) -> bool:
        """Wait for the turn of a request; whether it came before the crawl began to close."""

    def may_probe(self, origin: Origin, request: Request) -> bool:
        """Whether a request may go first after a rest; False while the answer is not known."""

    def end(self, request: Request) -> None:
        """End the turn of a request that has ended, or is not sent."""


class Pacing:
    """The paces of one crawl's origins.

    Attributes:
        downloader: that of the crawl.
        visits: when hosts with a delay may be visited, for all crawls of this thread.
        backoff: which origins rest because their pages answered 429 or 503.
        gate: how the pace is shared with other processes; None if it is not.
        left_at: when a page's request left the downloader last, or the crawl began; monotonic.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawler = crawl.crawler
        self._journal = Journal(crawler, __name__)
        self._settings = crawl.settings
        self._decisions = crawl.part(Decisions)
        self.downloader = Downloader(crawler)
        self.visits = shared(Visits)
        self.backoff = Backoff(crawl, self.downloader)
        self.gate: Gate | None = None
        self.left_at = time.monotonic()
        self._lent: set[Hashable] = set()
        self._said: Lru[Origin, float] = Lru(_SAID_OCTETS)
        self._waits_in_queue = waits_in_queue(crawler.settings)
        self._has_warned = False
        crawler.signals.connect(self._left, signal=signals.request_left_downloader)
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)

    def _spider_closed(self) -> None:
        self.visits.leave(self)

    # The delays of policies

    @property
    def is_idle(self) -> bool:
        """Whether no request has to wait: no host has a delay, and no origin rests."""
        backoff = self.backoff
        return not (self.visits or backoff.rests or backoff.paces) and self.gate is None

    def is_free(self, policy: Policy) -> bool:
        """Whether no request of this crawl to an origin has to wait, as far as it knows."""
        return (
            self.gate is None
            and policy.origin.host not in self.visits
            and policy.origin not in self.backoff.rests
            and policy.origin not in self.backoff.paces
            and self.of(policy) is NO_PACE
        )

    def of(self, policy: Policy, tokens: tuple[str, ...] | None = None) -> Pace:
        """The pace of an origin now, for some tokens or for those of the crawl."""
        found = self._settings.pace(policy, time.time(), tokens)
        if found.site_seconds:
            self._tell(policy, found)
        return found

    def delay_of(self, policy: Policy, tokens: tuple[str, ...] | None = None) -> OriginDelay:
        """The delay that an origin wants before a request now.

        A skipped origin needs no delay: its requests are dropped.
        """
        found = self.of(policy, tokens)
        is_free = found.is_skipped and not self._settings.dry_run
        return OriginDelay(
            policy.origin,
            0.0 if is_free else found.delay_seconds,
            monotonic_at(found.holds_until),
            last_at=monotonic_at(min(policy.asked_at, time.time())),  # a fetch was a visit too
        )

    def note(self, policy: Policy, tokens: tuple[str, ...] | None = None) -> OriginDelay:
        """Return the delay before a request; that for the crawl's own tokens holds from now on."""
        delay = self.delay_of(policy, tokens)
        if tokens in (None, policy.tokens) and (delay.seconds or self.visits):
            self.visits.note(delay, self)
        return delay

    # When an origin may be visited

    def visitable_at(self, policy: Policy) -> float:
        """When a request of our own may visit an origin, POSIX seconds; infinite if it is skipped.

        The origin keeps its pace from now on.
        """
        opens_at = self.opens_at(policy)
        if opens_at > time.time():
            return opens_at
        self.note(policy)
        return math.inf if self.of(policy).is_skipped and not self._settings.dry_run else 0.0

    def opens_at(self, policy: Policy) -> float:
        """When an origin may be visited, POSIX seconds; in the past while its window is open."""
        window = self.of(policy).window
        return 0.0 if window is None else opens_at(window, time.time())

    async def wait_for_visit_time(self, policy: Policy, tokens: tuple[str, ...]) -> bool:
        """Wait for an origin's visit time; whether it came before the crawl began to close."""
        window = self.of(policy, tokens).window  # once: a large file may have to be read
        while window is not None and (opens := opens_at(window, time.time())) > time.time():
            if is_closing(self._crawler):
                return False
            await sleep(min(opens - time.time(), _LOOK_SECONDS))
        return True

    def known_seconds(self, origin: Origin, request: Request) -> float:
        """The longest known delay between requests to an origin, by its policy or by the user."""
        own_seconds = self.downloader.own_pace(slot_key(request))[1]
        return max(own_seconds, self.visits.seconds(origin.host))

    # Turns

    async def turn(
        self,
        request: Request,
        delay: OriginDelay,
        *,
        is_urgent: bool = False,
        is_awaited: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Wait until a request may be sent to its origin.

        `is_urgent` requests, for robots.txt and tdmrep.json, overtake others and ignore rests.
        `is_awaited` tells if another request waits for the answer. Returns whether the turn came.
        It does not come if the crawl begins to close while the origin rests, or in a fleet.
        """
        gate, origin = self.gate, delay.origin
        while is_urgent or await self._rest_is_over(origin, request):
            waits = gate is not None or self.visits.ready_at(origin.host) > time.monotonic()
            if gate is not None:
                seconds = max(delay.seconds, self.known_seconds(origin, request))
                turn = Turn(origin, seconds, request, is_awaited)
            with self._room_for_others(origin.host, is_needed=waits):
                if gate is not None and not await gate.wait(turn):
                    return False
                try:
                    await self.visits.turn(request, delay, self._is_over, is_urgent=is_urgent)
                except BaseException:
                    self.give_up(request, origin)
                    raise
            if gate is not None and not gate.may_go(turn):  # another process took over
                self.visits.give_up(origin.host, request)
            elif is_urgent or self.backoff.appoint(origin, request):
                return True
            else:
                self.give_up(request, origin)  # the origin has begun to rest
        return False

    async def _rest_is_over(self, origin: Origin, request: Request) -> bool:
        """Wait for the end of the rest of an origin and a page, and for a turn at a learned pace.

        Returns False if the crawl closes first.
        """
        backoff = self.backoff
        while True:
            left = refused_until(request) - time.time()
            if not backoff.appoint(origin, request):
                left = max(left, backoff.rests.ready_at(origin) - time.monotonic())
            elif left <= 0 and self._may_probe(origin, request):
                turn_at = backoff.turn_at(origin, request)
                if turn_at == NEVER:
                    return True
                left = turn_at - time.monotonic()
            if is_closing(self._crawler):
                return False
            with self._room_for_others(request, is_needed=True):
                await sleep(max(0.0, min(left, _LOOK_SECONDS)))

    def _may_probe(self, origin: Origin, request: Request) -> bool:
        """Whether no other process has the first request after a rest."""
        is_first = self.backoff.rests.is_probe(origin, request)
        return not is_first or self.gate is None or self.gate.may_probe(origin, request)

    @contextmanager
    def _room_for_others(self, waiting: Hashable, *, is_needed: bool) -> Iterator[None]:
        """Let the downloader take another request while one waits, or the first of a host.

        For a host with a delay it is only one. Otherwise the downloader would take every request
        that is queued for the slowest host.
        """
        if not is_needed or waiting in self._lent or len(self._lent) >= _MOST_LENT:
            yield
            return
        self._lent.add(waiting)
        try:
            with self.downloader.one_place_more():
                wake(self._crawler)
                yield
        finally:
            self._lent.discard(waiting)

    def give_up(self, request: Request, origin: Origin) -> None:
        """End the turn of a request that is not sent."""
        self.visits.give_up(origin.host, request)
        if self.gate is not None:
            self.gate.end(request)

    def _is_over(self, visit: Visit) -> bool:
        return visit.request not in self.downloader.active

    def answered(self, request: Request, response: Response) -> None:
        """Note an answer: if a middleware fetched it itself, that was a visit of its host."""
        if not self.visits or "cached" in response.flags:
            return
        with suppress(InvalidUri):
            origin = origin_of(request.url)
            if origin is None or self.visits.was_last(origin.host, request):
                return
            self.visits.visited(origin.host, request)
            if not (self._waits_in_queue or self._has_warned):
                self._has_warned = True
                self._journal.warning(
                    "The delay of %s is not kept, because a middleware fetches pages itself, and "
                    "this SCHEDULER_PRIORITY_QUEUE hands out several at a time. Use "
                    "scrapy_rep.RepPriorityQueue",
                    origin,
                )

    def _left(self, request: Request) -> None:
        if not is_own(request):
            self.left_at = time.monotonic()
        if not self.visits:  # as in most crawls
            return
        with suppress(InvalidUri):
            origin = origin_of(request.url)
            visit = None if origin is None else self.visits.visited(origin.host, request)
            if visit is not None and visit.seconds:
                visited = self._decisions.listener.visited
                visited(origin, visit.began_at, time.monotonic(), visit.seconds)

    def _tell(self, policy: Policy, found: Pace) -> None:
        """Log once which delay an origin wants."""
        if self._said.get(policy.origin) == found.site_seconds:
            return
        is_new = self._said.get(policy.origin) is None
        self._said.put(policy.origin, found.site_seconds, 200)
        if is_new:
            self._journal.count(stats.DELAYED_ORIGINS)
        if found.excess is None:
            self._journal.debug(
                "%s requires %g s between requests", policy.origin, found.site_seconds
            )
            return
        if is_new and found.excess in _COUNTS:
            self._journal.count(_COUNTS[found.excess])
        self._journal.warning(
            "%s requires %g s between requests, which is more than the %g of "
            "REP_CRAWL_DELAY_MAX_SECONDS: %s (REP_CRAWL_DELAY_EXCESS = %r)",
            policy.origin,
            found.site_seconds,
            found.limit_seconds,
            _WORDS[found.excess],
            found.excess.value,
        )


def keeps_pace_over_fleet(settings: BaseSettings) -> bool:
    """Whether the scheduler of a crawl shares the pace of origins with other workers."""
    return getattr(load_object(settings["SCHEDULER"]), "keeps_pace_over_fleet", False)


def waits_in_queue(settings: BaseSettings) -> bool:
    """Whether the queue of a crawl keeps the requests of an origin while it rests."""
    if keeps_pace_over_fleet(settings):
        return True
    queue = load_object(settings["SCHEDULER_PRIORITY_QUEUE"])
    return has_own_queue(settings) and getattr(queue, "keeps_resting", False)


def shares_pace(settings: RepSettings) -> bool:
    """Whether a crawl is to share its pace, and the rests of origins, by Redis."""
    return bool(settings.redis_url) and settings.pace_scope == "fleet"
