"""The queue that keeps requests until they can be sent.

Scrapy's own queue hands out a request even if its host may not be visited yet. The request then
waits in the downloader and takes a place that another request could use. This queue hands out a
request once its robots.txt is known and the delay of its host has passed. Until then the request
stays in the queue, on disk if the crawl has a `JOBDIR`.

There are two levels: slots and lanes. A slot is usually a host. When the downloader could send
another request to a slot, the slot has its turn. Each origin of a slot has a lane, which contains
its waiting requests. Within a slot, the lanes that are ready take turns.

Rules for the next author:

1. `pace.waits` says whether the requests of an origin may go. The queue remembers only in which
   order lanes and slots are looked at, so that `pop` costs O(log n) in their number.
2. No wait without a clock. A lane or slot that waits for a time is in a heap, sorted by time.
   Everything that waits for an event is looked at after a second, too. A lane is in one place, and
   only `_look_at` moves it, once it knows where the lane belongs. So no lane is in no place.
3. A ready lane is checked again before one of its requests is handed out, because its policy may
   have expired.
4. Each request is either handed out or lost, and this is counted once. If a file fails, only the
   requests in this file are lost.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.pqueues import QueueProtocol
from scrapy.utils.asyncio import call_later

from scrapy_rep import stats
from scrapy_rep.crawl import Crawl
from scrapy_rep.engine.clock import monotonic_at
from scrapy_rep.engine.downloader import EVENT, NEVER, SLOT, Downloader, leave_inherited_slot
from scrapy_rep.engine.refusals import refusals_in_one_line
from scrapy_rep.engine.state import is_closing, wake
from scrapy_rep.pace.waits import READY, NoWaits, Wait, Waits, Why
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.stats import Journal

from .lane_order import FetchLanes, Lane, Lanes, Later, SlotLanes, Turns
from .stock import Stocks
from .targets import target_named, target_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import CallLaterResult
    from typing_extensions import Self


_FAILURES = 100  # one call of `pop` skips at most this number of lost requests
_LOOK_SECONDS = 0.2  # between looks whether the turn of another request has ended
_STUCK_SECONDS = 5.0  # if the disk is full, a lane is tried again after this time
_TICK_SECONDS = 1.0  # between looks at what waits for an event
_TOLD = {
    Why.HELD: "The robots.txt of %s is retried in %.0f s; waiting requests: %d",
    Why.SHUT: "The visit time of %s begins in %.0f s; waiting requests: %d",
}
_FOR_A_FILE = (Why.UNFETCHED, Why.FETCHING)
_FIRST = 16  # requests that go first, if the downloader takes any number


class RepPriorityQueue:
    """A class for `SCHEDULER_PRIORITY_QUEUE` that replaces Scrapy's downloader-aware queue.

    Priorities apply within an origin. Without `RepMiddleware` the queue applies only the delays of
    the downloader.

    On disk, there is a folder for each origin in a slot. In it, Scrapy's own queue class keeps its
    files. This queue can resume a `JOBDIR` of Scrapy's downloader-aware queue.
    """

    keeps_resting = True

    @classmethod
    def from_crawler(cls, crawler: Crawler, *arguments: Any, **named: Any) -> Self:
        """Build from a crawler, as Scrapy's scheduler does."""
        return cls(crawler, *arguments, **named)

    @refusals_in_one_line()
    def __init__(
        self,
        crawler: Crawler,
        downstream_queue_cls: type[QueueProtocol],
        key: str,
        startprios: dict[str, Iterable[int]] | None = None,
        *,
        start_queue_cls: type[QueueProtocol] | None = None,
        waits: Waits | NoWaits | None = None,
    ) -> None:
        """Take the crawler, the classes of inner queues, the folder, and what `close` returned.

        Raises:
            ConfigurationError: CONCURRENT_REQUESTS_PER_IP is set, or the folder is from another
                kind of queue.
        """
        _check(crawler, key, startprios)
        self.crawler = crawler
        self.key = key
        self._journal = Journal(crawler, __name__)
        self._stocks = Stocks(crawler, downstream_queue_cls, start_queue_cls, key)
        self._waits = waits or Crawl.of(crawler).find(Waits) or NoWaits()
        self._waits.listen(self._origin_settled)
        self._downloader = Downloader(crawler)
        self._lanes = Lanes()
        self._fetches = FetchLanes(self._waits)
        self._later = Later()
        self._turns = Turns()
        self._blocked: OrderedDict[SlotLanes, None] = OrderedDict()  # until a place is free
        self._arrived: dict[Lane, None] = {}  # lanes that got requests since the last `pop`
        self._tick_at = float(NEVER)
        self._alarm: CallLaterResult | None = None
        self._alarm_at = float(EVENT)
        # Requests that did not come from the queue, as for the files of items, take places too.
        self._left: set[str] = set()  # slots in which a request has ended
        crawler.signals.connect(self._request_left, signal=signals.request_left_downloader)
        crawler.signals.connect(self._drop_alarm, signal=signals.spider_closed)
        for name, priorities in (startprios or {}).items():
            requests = self._stocks.resume(name, priorities)
            if requests is not None:
                self._look_at(self._lanes.add(target_named(name), requests))

    # Scrapy's interface

    def push(self, request: Request) -> None:
        """Add a request.

        Raises:
            ValueError: it cannot be written to disk.
        """
        leave_inherited_slot(request)
        target = target_of(request)
        lane = self._lanes.by_name.get(target.name)
        if lane is None:
            lane = self._lanes.add(target, self._stocks.open(target.name))
        try:
            lane.requests.push(request)
        finally:
            self._lanes.recount(lane)
            if lane.place is None or lane.why is Why.REFUSED:
                self._look_at(lane)
        if lane.why in _FOR_A_FILE:
            self._arrived[lane] = None
            self._fetch_next()

    def pop(self) -> Request | None:
        """Hand out the next request; None while no request can be sent, even if many wait."""
        if not self._lanes.count:  # a quick exit, because the engine calls this often
            return None
        self._catch_up()
        for _ in range(_FAILURES):
            lane = self._next()
            if lane is None:
                self._catch_up()  # `_next` found lanes that are not ready
                self._set_alarm()
                return None
            request = self._take(lane)
            if request is not None:
                return request
            self._catch_up()
        wake(self.crawler)  # `pop` goes on later, after other work of the event loop
        return None

    def close(self) -> dict[str, list[int]]:
        """Close all files; return the state with which `from_crawler` opens them again."""
        self._drop_alarm()
        lanes = self._lanes.by_name
        lost_count = sum(lane.put_refused_back() for lane in lanes.values())
        self._journal.count(stats.LOST, lost_count)
        state = self._stocks.close({name: lane.requests for name, lane in lanes.items()})
        self._lanes, self._fetches = Lanes(), FetchLanes(self._waits)
        return state

    def __len__(self) -> int:
        return self._lanes.count

    def __contains__(self, slot: str) -> bool:
        found = self._lanes.slots.get(slot)
        return found is not None and found.lane_count > 0

    def waiting(self) -> Iterator[tuple[Origin | None, str, int, Wait]]:
        """For each lane: its origin, its slot, the number of its requests, and their wait."""
        for lane in self._lanes.by_name.values():
            yield lane.origin, lane.slot.key, lane.count, self._whole_wait_of(lane)

    # Events

    def _request_left(self, request: Request) -> None:
        self._left.add(str(request.meta.get(SLOT, "")))

    def _origin_settled(self, origin: Origin) -> None:
        lanes = self._fetches.settle(origin)
        if lanes:
            self._waits.note_delay(origin)
            wake(self.crawler)
        for lane in lanes:
            self._look_at(lane)
        self._fetches.fetching.pop(origin, None)

    def _set_alarm(self) -> None:
        """Wake the engine when the first item that waits for a time is due, or in a second."""
        now = time.monotonic()
        at = min(self._later.next_at, self._fetches.look_at, now + _TICK_SECONDS)
        if at < self._alarm_at and not is_closing(self.crawler):
            self._drop_alarm()
            self._alarm_at = at
            self._alarm = call_later(max(0.0, at - now), self._ring)

    def _ring(self) -> None:
        self._alarm, self._alarm_at = None, EVENT
        wake(self.crawler)

    def _drop_alarm(self) -> None:
        alarm, self._alarm, self._alarm_at = self._alarm, None, EVENT
        if alarm is not None:
            alarm.cancel()

    # Lanes and slots

    def _take(self, lane: Lane) -> Request | None:
        """Take a request of a slot's first lane; None while it has nothing to send."""
        request = lane.take()
        self._lanes.recount(lane)
        if request is not None:
            self._lanes.hand_out(request, lane)
            if lane.origin is not None:
                self._waits.hand_out(lane.origin, request)
        self._fetches.fresh.discard(lane)
        lane.go_behind()
        lane.slot.go_behind()
        if lane.count and lane.requests.is_stuck:
            self._later.put(lane, time.monotonic() + _STUCK_SECONDS)
            self._place(lane.slot)
        else:
            self._look_at(lane)
        return request

    def _wait_of(self, lane: Lane) -> Wait:
        """The wait of the requests of a lane, apart from that of its slot.

        Once its robots.txt has come, a lane is ready even if the policy is not in memory any more.
        A policy may be evicted or expire during a delay. If the queue fetched it again each time,
        it might never hand out a request. The middleware fetches it instead.
        """
        waits, origin = self._waits, lane.origin
        wait = waits.of_host(lane.host) if origin is None else waits.of(origin)
        if lane in self._fetches.fresh and wait.why in _FOR_A_FILE:
            wait = waits.of_host(lane.host)
        if wait == READY and lane.refused_until > time.time():
            return Wait(Why.REFUSED, monotonic_at(lane.refused_until))
        if wait == READY and self._lanes.has_out(lane.host) and waits.is_paced(lane.host):
            return Wait(Why.PACED, EVENT)
        return wait

    def _whole_wait_of(self, lane: Lane) -> Wait:
        """The wait of the requests of a lane, that of its slot included."""
        wait, slot = self._wait_of(lane), lane.slot
        at = self._downloader.ready_at(slot.key, slot.given, slot.given_at)
        return Wait(Why.FULL, at) if wait == READY and at > time.monotonic() else wait

    def _is_ready(self, lane: Lane, why: Why) -> bool:
        """Whether a lane belongs among the ready lanes of its slot.

        A lane that waits for the delay of its host counts as ready in the slot of this host, so
        that the lanes take turns there. The slot waits instead.
        """
        return why is Why.READY or (why is Why.PACED and lane.host == lane.slot.key)

    def _look_at(self, lane: Lane) -> None:
        """Move a lane to the place where it belongs, and then its slot; remove an empty lane."""
        if not lane.count:
            self._fetches.fresh.discard(lane)
            self._lanes.remove(lane)
            self._stocks.remove(lane.name, lane.requests)
            self._place(lane.slot)
            return
        why, until = self._wait_of(lane)
        lane.why = why
        if self._is_ready(lane, why):
            lane.move(lane.slot.ready)
        else:
            self._fetches.fresh.discard(lane)
            if why is Why.UNFETCHED:
                lane.move(self._fetches.to_fetch)
            elif why is Why.FETCHING and lane.origin is not None:
                lane.move(self._fetches.fetching[lane.origin])
            else:
                self._later.put(lane, until if until < EVENT else time.monotonic() + _LOOK_SECONDS)
        if why in _TOLD:
            seconds = until - time.monotonic()
            self._journal.info(_TOLD[why], lane.origin, seconds, lane.count)
        self._place(lane.slot)

    def _place(self, slot: SlotLanes) -> None:
        """Give a slot a turn if it could send a request; otherwise let it wait."""
        at = self._ready_at(slot) if slot.ready else NEVER
        if not slot.ready:
            slot.move(None)
        elif at <= time.monotonic():
            slot.move(self._turns[len(slot.given)])
        elif at == EVENT:
            slot.move(self._blocked)
        else:
            self._later.put(slot, at)

    def _ready_at(self, slot: SlotLanes) -> float:
        """When a slot could send a request of its first lane; `EVENT` if others must end first."""
        at = self._downloader.ready_at(slot.key, slot.given, slot.given_at)
        host = slot.first.host
        if not self._waits.is_paced(host):
            return at
        return EVENT if self._lanes.has_out(host) else max(at, self._waits.of_host(host).until)

    def _catch_up(self) -> None:
        """Look at what may belong elsewhere now, and start more fetches."""
        for lane in self._lanes.ended(self._downloader.active):
            if lane.place is self._later and lane.why is Why.PACED:
                self._look_at(lane)
            self._place(lane.slot)
        left = [slot for slot in map(self._lanes.slots.get, self._left) if slot is not None]
        for slot in left:
            self._place(slot)
        # A slot has its place back a moment after it was told so.
        self._left = {slot.key for slot in left if slot.place is self._blocked}
        if time.monotonic() >= self._tick_at:
            self._tick()
        arrived, self._arrived = self._arrived, {}
        for lane in arrived:
            if lane.count and lane.why in _FOR_A_FILE:
                lane.fix_order(min(self._downloader.free_places, _FIRST))
        for item in self._later.due():
            self._look_at(item) if isinstance(item, Lane) else self._place(item)
        while self._fetch_next():
            pass

    def _tick(self) -> None:
        """Look at all that waits for an event, in case no signal tells of it."""
        self._tick_at = time.monotonic() + _TICK_SECONDS
        self._left.clear()
        for slot in list(self._blocked):
            self._place(slot)
        for origin in self._fetches.overdue():
            self._origin_settled(origin)

    def _next(self) -> Lane | None:
        """Find the first lane that is still ready; move the lanes before it where they belong."""
        while (slot := self._turns.first()) is not None:
            lane = slot.first
            is_ready = self._is_ready(lane, self._wait_of(lane).why)
            if is_ready and self._ready_at(slot) <= time.monotonic():
                return lane
            self._look_at(lane)
        return None

    def _fetch_next(self) -> bool:
        """Fetch the robots.txt for the next waiting lane; return whether there was one."""
        lane = self._fetches.next()
        if lane is None:
            return False
        self._look_at(lane)
        if lane.place is not self._fetches.to_fetch or lane.origin is None:
            return True
        request = lane.first[0] if lane.first else lane.requests.sample()
        self._lanes.recount(lane)
        if lane.count:
            lane.move(self._fetches.fetching[lane.origin])
            self._waits.fetch(lane.origin, request)
        else:
            self._look_at(lane)
        return True


def _check(crawler: Crawler, key: str, startprios: object) -> None:
    """Refuse settings and folders that this queue does not support.

    Raises:
        ConfigurationError: says how to fix it.
    """
    if int(
        crawler.settings["CONCURRENT_REQUESTS_PER_IP"] or 0
    ):  # settings.get() would log a warning
        raise ConfigurationError(
            "RepPriorityQueue paces hosts, not addresses: remove CONCURRENT_REQUESTS_PER_IP, or "
            "set SCHEDULER_PRIORITY_QUEUE to another queue"
        )
    if startprios and not isinstance(startprios, dict):
        raise ConfigurationError(
            f"{key!r} was left by a crawl with another SCHEDULER_PRIORITY_QUEUE, and "
            "RepPriorityQueue cannot read it: resume with that queue, or use a new JOBDIR"
        )
