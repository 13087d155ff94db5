"""The reports of a worker on lanes: whether their requests may be popped, and how fast.

Redis gives each lane to one worker, which fetches the policy, or finds it in the store, and
reports the delay. All workers then judge requests by their own copy of the policy.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy import Request

from scrapy_rep.crawl import Crawl
from scrapy_rep.engine.clock import monotonic_at
from scrapy_rep.engine.downloader import EVENT, NEVER, Downloader
from scrapy_rep.pace.pacing import Pacing
from scrapy_rep.pace.visits import OriginDelay
from scrapy_rep.pace.waits import READY, NoWaits, Wait, Waits, Why
from scrapy_rep.policies import Policies
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.extensions.rest import Rest
from scrapy_rep.queue.targets import target_of

from .batch import Rested, Settled
from .batch_codec import REST_TIMES
from .ledger import Ledger

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_VALID_SECONDS = 3600.0  # reports expire after this, so that a changed delay is noticed
_AT_A_TIME = 16
_WAITS = {Why.HELD, Why.SHUT, Why.RESTING}


def lane_of(request: Request) -> str:
    """The lane of a request: its origin, or its slot if no robots.txt judges it."""
    target = target_of(request)
    return f" {target.key}" if target.origin is None else str(target.origin)


def _origin_of(lane: str) -> Origin | None:
    """The origin of a lane; None if no robots.txt judges its requests."""
    with suppress(InvalidUri, ValueError):
        return None if lane.startswith(" ") else Origin.of(lane)
    return None


class FleetLanes:
    """Finds the policies of the lanes that Redis gives to this worker."""

    def __init__(self, ledger: Ledger, crawler: Crawler, *, is_fleet_wide: bool) -> None:
        self._ledger = ledger
        crawl = Crawl.of(crawler)
        self._waits = crawl.find(Waits) or NoWaits()
        self._policies, self._pacing = crawl.find(Policies), crawl.find(Pacing)
        self._downloader = Downloader(crawler)
        self._is_fleet_wide = is_fleet_wide
        self._checking: dict[Origin, str] = {}
        self._free: set[Origin] = set()
        self._first: dict[str, tuple[Origin, Request]] = {}  # after a rest
        self._granted: frozenset[str] = frozenset()

    @property
    def free_places(self) -> int:
        """How many more lanes this worker can check."""
        most = min(_AT_A_TIME, self._waits.concurrent_fetches or _AT_A_TIME)
        return max(0, most - len(self._checking))

    def check(self, lane: str, request: Request | None, *, is_free: bool = False) -> None:
        """Check a lane; `request` is one of its waiting requests.

        `is_free` says that no worker must wait for a turn there.
        """
        origin = _origin_of(lane)
        key = lane[1:] if origin is None else origin.host
        wait = READY if origin is None else self._waits.of(origin)
        if origin is None or wait.why not in (Why.UNFETCHED, Why.FETCHING):
            self._say(lane, origin, key, wait)
            return
        self._checking[origin] = lane
        if is_free:
            self._free.add(origin)
        self._waits.fetch(origin, request)

    def rested(self, origin: Origin, rest: Rest | None, sent_at: float) -> None:
        """Report a rest that an answer changed, or its end."""
        self._ledger.rested(Rested(str(origin), sent_at, rest))
        self.queues_again(str(origin))

    def take_over(self, rests: Iterable[tuple[str, Rest | None]]) -> None:
        """Take over the rests that other workers reported, unless this worker has later news."""
        now = time.monotonic()
        for lane, rest in rests:
            origin = _origin_of(lane)
            if origin is None or self._pacing is None or self._ledger.has_later_news(lane):
                continue
            times = {} if rest is None else {name: getattr(rest, name) for name in REST_TIMES}
            moved = {name: at and at + now for name, at in times.items()}
            self._pacing.backoff.take_over(origin, rest and replace(rest, **moved))

    def may_probe(self, origin: Origin, request: Request) -> bool:
        """Whether a request may go first after a rest, as far as the last batch tells."""
        if not self._is_fleet_wide:
            return True
        lane = str(origin)
        self._first[lane] = origin, request
        self._ledger.probes[lane] = True
        return lane in self._granted

    def heed_probes(self, granted: frozenset[str]) -> None:
        """Note where this worker has the first request after a rest; forget ended rests."""
        self._granted = granted
        for lane, (origin, request) in list(self._first.items()):
            if self._pacing is None or not self._pacing.backoff.goes_first(origin, request):
                del self._first[lane]
                self._ledger.probes[lane] = False

    def queues_again(self, lane: str) -> None:
        """A request of a lane is queued, perhaps because its origin rests: say until when."""
        if self._pacing is None or not self._pacing.backoff.rests:
            return
        origin = _origin_of(lane)
        wait = READY if origin is None else self._waits.of(origin)
        if origin is not None and wait.why is Why.RESTING:
            self._say(lane, origin, origin.host, wait)

    def settled(self, origin: Origin) -> None:
        """Report a policy that has come or changed, even if another worker checks the lane."""
        lane = self._checking.pop(origin, str(origin))
        self._free.discard(origin)
        self._say(lane, origin, origin.host, self._waits.of(origin))

    def _say(self, lane: str, origin: Origin | None, key: str, wait: Wait) -> None:
        if wait.why in _WAITS and wait.until < EVENT:
            reason = wait.why.name.lower()
            self._ledger.settle(Settled(lane, wait.until, reason=reason))
            return
        # Also report a lane without its policy in memory: the middleware then waits for the policy.
        delay = self._delay_of(origin)
        concurrency, seconds = self._downloader.own_pace(key)
        seconds = max(seconds, delay.seconds if delay else 0.0)
        if not self._is_fleet_wide:
            concurrency, seconds = 0, 0.0
        now = time.monotonic()
        left = delay.until - now if delay else _VALID_SECONDS
        if origin and self._pacing and self._pacing.backoff.is_unsure(origin):
            concurrency, left = 1, 0.0  # one request goes first
        self._ledger.settle(
            Settled(
                lane,
                delay_seconds=seconds,
                concurrency=concurrency,
                valid_until=now + max(1.0, min(left, _VALID_SECONDS)),
                visited_at=delay.last_at if delay and delay.last_at > NEVER else None,
            )
        )

    def needs_turns(self, origin: Origin, delay_seconds: float) -> bool:
        """Whether requests to an origin that were not queued wait for turns.

        They need no turns if this worker knows of no delay, or if Redis said so when it gave the
        lane to this worker. `delay_seconds` is the delay that the caller knows.
        """
        if not self._is_fleet_wide or origin in self._free:
            return False
        delay = self._delay_of(origin)
        return bool(delay_seconds) or delay is None or bool(delay.seconds)

    def _delay_of(self, origin: Origin | None) -> OriginDelay | None:
        """The delay that the policy of an origin sets; None without a policy in memory."""
        policy = None
        if origin is not None and self._policies is not None:
            policy = self._policies.peek(origin, renew=False)
        if policy is None or self._pacing is None or origin is None:
            return None
        delay = self._pacing.delay_of(policy)
        return delay._replace(
            until=min(delay.until, monotonic_at(policy.usable_until)),
            last_at=max(delay.last_at, self._pacing.visits.last_at(origin.host)),
        )
