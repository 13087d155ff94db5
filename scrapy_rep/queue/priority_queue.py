"""The queue that keeps requests until they can be sent.

Scrapy's own queue hands out a request even if its host may not be visited yet. The request then
waits in the downloader and takes a place that another request could use. This queue hands out a
request once its robots.txt is known and the delay of its host has passed. Until then the request
stays in the queue, on disk if the crawl has a `JOBDIR`.

There are two levels: slots and lanes. A slot is usually a host. When the downloader could send
another request to a slot, the slot has its turn. Each origin of a slot has a lane, which contains
its waiting requests. Within a slot, the lanes that are ready take turns.

Rules for the next author:

1. The queue is never searched. A lane or slot that waits for a time is in a heap, sorted by time.
   An event wakes the others. So `pop` costs O(log n) in the number of slots and origins.
2. Every wait ends. For each state of an origin, `readiness.OriginState` says how the state ends. A
   slot waits for a time, or until one of its requests ends. The engine calls `pop` after each
   request that ends, and each `pop` finds the requests that have left the downloader.
3. A ready lane is checked again before one of its requests is handed out, because its policy may
   have expired.
4. Each request is either handed out or lost, and this is counted once. If a file fails, only the
   requests in this file are lost.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.pqueues import QueueProtocol
from scrapy.utils.asyncio import call_later

from scrapy_rep.engine.state import is_closing, wake
from scrapy_rep.pace.downloader import EVENT, leave_inherited_slot
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import ConfigurationError

from .lane_order import Asking, Lane, Lanes, Later, SlotLanes, Turns
from .readiness import READY, OriginState, Outlook, Readiness
from .stock import Stocks
from .targets import target_named, target_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import CallLaterResult
    from typing_extensions import Self


_FAILURES = 100  # one call of `pop` skips at most this number of lost requests
_LOOK_SECONDS = 0.2  # between looks whether the turn of another request has ended
_STUCK_SECONDS = 5.0  # if the disk is full, a lane is tried again after this time


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

    def __init__(
        self,
        crawler: Crawler,
        downstream_queue_cls: type[QueueProtocol],
        key: str,
        startprios: dict[str, Iterable[int]] | None = None,
        *,
        start_queue_cls: type[QueueProtocol] | None = None,
        readiness: Readiness | None = None,
    ) -> None:
        """Take the crawler, the classes of inner queues, the folder, and what `close` returned.

        Raises:
            ConfigurationError: CONCURRENT_REQUESTS_PER_IP is set, or the folder is from another
                kind of queue.
        """
        _check(crawler, key, startprios)
        self.crawler = crawler
        self.key = key
        self._stocks = Stocks(crawler, downstream_queue_cls, start_queue_cls, key)
        self._readiness = readiness or Readiness.from_crawler(crawler)
        self._readiness.listen(self._origin_settled)
        self._lanes = Lanes()
        self._turns = Turns()
        self._later = Later()
        self._asking = Asking(self._readiness)
        self._changed: list[Lane | SlotLanes] = []  # to be put in place again
        self._alarm: CallLaterResult | None = None
        self._alarm_at = EVENT
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)
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
        if lane is not None:
            lane.requests.push(request)
            self._lanes.recount(lane)
            return
        requests = self._stocks.open(target.name)
        try:
            requests.push(request)
        except BaseException:
            if requests:  # a killed crawl left some
                self._look_at(self._lanes.add(target, requests))
            else:
                requests.close()
            raise
        self._look_at(self._lanes.add(target, requests))
        self._ask_next()

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
        self._spider_closed()
        lanes = self._lanes.by_name
        state = self._stocks.close({name: lane.requests for name, lane in lanes.items()})
        self._lanes, self._turns, self._later = Lanes(), Turns(), Later()
        self._asking = Asking(self._readiness)
        self._changed.clear()
        return state

    def __len__(self) -> int:
        return self._lanes.count

    def __contains__(self, slot: str) -> bool:
        found = self._lanes.slots.get(slot)
        return found is not None and found.lane_count > 0

    def waiting(self, origin: Origin) -> dict[str, int]:
        """The requests of an origin, by the name of the state that they wait in. O(lanes)."""
        counts: Counter[str] = Counter()
        for lane in self._lanes.by_name.values():
            if lane.origin == origin:
                counts[self._outlook(lane).state.name] += lane.count
        return dict(counts)

    # Events

    def _origin_settled(self, origin: Origin) -> None:
        lanes = self._asking.settle(origin)
        for lane in lanes:
            self._outlook(lane)  # notes its pace now: the policy may be evicted later
        self._changed += lanes
        if lanes:
            wake(self.crawler)

    def _set_alarm(self) -> None:
        """Wake the engine when the first item that waits for a time is due."""
        times = (self._later.next_at, self._asking.look_at)
        at = min((at for at in times if at is not None), default=EVENT)
        if at < self._alarm_at and not is_closing(self.crawler):
            self._spider_closed()
            self._alarm_at = at
            self._alarm = call_later(max(0.0, at - time.monotonic()), self._ring)

    def _ring(self) -> None:
        self._alarm, self._alarm_at = None, EVENT
        wake(self.crawler)

    def _spider_closed(self) -> None:
        alarm, self._alarm, self._alarm_at = self._alarm, None, EVENT
        if alarm is not None:
            alarm.cancel()

    # Lanes and slots

    def _take(self, lane: Lane) -> Request | None:
        """Take a request of a slot's first lane; None if it is lost, or cannot be read now."""
        request = lane.requests.take()
        self._lanes.recount(lane)
        if request is not None:
            self._lanes.hand_out(request, lane)
            self._readiness.hand_out(lane.origin, request)
        slot = lane.slot
        self._asking.age(lane)
        slot.ready.popleft()  # the lane goes behind the other lanes
        if not lane.count:
            self._remove(lane)
        elif lane.requests.is_stuck:
            self._later.put(lane, time.monotonic() + _STUCK_SECONDS)
        else:
            self._changed.append(lane)
        self._turns.drop(slot)
        self._changed.append(slot)
        return request

    def _remove(self, lane: Lane) -> None:
        self._lanes.remove(lane)
        self._stocks.remove(lane.name, lane.requests)

    def _outlook(self, lane: Lane) -> Outlook:
        """The state of a lane.

        Once its robots.txt has come, a lane is ready even if the policy is not in memory any more.
        A policy may be evicted or expire during a delay. If the queue fetched it again each time,
        it might never hand out a request. The middleware fetches it instead.
        """
        readiness, origin = self._readiness, lane.origin
        outlook = readiness.without_policy(lane.host) if origin is None else readiness.of(origin)
        if lane.is_fresh and outlook.state in (OriginState.UNASKED, OriginState.ASKED):
            outlook = readiness.without_policy(lane.host)
        if outlook == READY and self._lanes.has_out(lane.host) and readiness.is_paced(lane.host):
            return Outlook(OriginState.PACED, EVENT)
        return outlook

    def _look_at(self, lane: Lane) -> None:
        """Put a lane among the ready lanes of its slot, or among the waiting ones."""
        state, until = self._outlook(lane)
        lane.is_paced = state in (OriginState.PACED, OriginState.RESTING)
        if state is OriginState.READY:
            lane.slot.ready.append(lane)
            self._place(lane.slot)
        elif lane.is_paced:
            self._later.put(lane, until if until < EVENT else time.monotonic() + _LOOK_SECONDS)
        elif state is OriginState.UNASKED:
            self._asking.put(lane)
        elif state is OriginState.ASKED:
            self._asking.wait_for(lane)
        else:
            self._asking.age(lane)
            self._readiness.tell_of_wait(lane.origin, Outlook(state, until), lane.count)
            self._later.put(lane, until)

    def _place(self, slot: SlotLanes) -> None:
        """Give a slot a turn if it could send a request; otherwise let it wait."""
        at = self._ready_at(slot) if slot.ready else EVENT
        if at <= time.monotonic():
            self._turns.put(slot)
            return
        self._turns.drop(slot)
        if at < EVENT:
            self._later.put(slot, at)

    def _ready_at(self, slot: SlotLanes) -> float:
        """When a slot could send another request; `EVENT` if one of its requests must end first."""
        return self._readiness.downloader.ready_at(slot.key, slot.given, slot.given_at)

    def _catch_up(self) -> None:
        """Put lanes and slots where they belong now, and start more fetches."""
        for lane in self._lanes.ended(self._readiness.downloader.active):
            self._changed.append(lane.slot)
            if lane.is_paced:
                lane.is_paced, lane.due_at = False, None
                self._changed.append(lane)
        while self._changed:
            changed, self._changed = self._changed, []
            for item in changed:
                self._put_in_place(item)
        for item in self._later.pop():
            self._put_in_place(item)
        while self._ask_next():
            pass

    def _put_in_place(self, item: Lane | SlotLanes) -> None:
        if isinstance(item, Lane):
            self._look_at(item)
        else:
            self._place(item)

    def _next(self) -> Lane | None:
        """Find the first lane that is still ready; put the lanes before it in their places."""
        while (slot := self._turns.first()) is not None:
            lane = slot.ready[0]
            if self._outlook(lane).state is not OriginState.READY:
                slot.ready.popleft()
                self._look_at(lane)
                self._place(slot)
            elif self._ready_at(slot) > time.monotonic():
                self._place(slot)
            else:
                return lane
        return None

    def _ask_next(self) -> bool:
        """Fetch the robots.txt for the next waiting lane; return whether there was one."""
        lane = self._asking.next()
        if lane is None:
            return False
        if self._outlook(lane).state is not OriginState.UNASKED:
            self._look_at(lane)
            return True
        request = lane.requests.sample()
        self._lanes.recount(lane)
        if not lane.count:
            self._remove(lane)
        elif lane.origin is not None:
            self._asking.wait_for(lane)
            self._readiness.ask(lane.origin, request)
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
