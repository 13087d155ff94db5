"""The queue that keeps requests until they can be sent.

Scrapy's own queue hands out a request even if its host may not be visited yet. The request then
waits in the downloader, in a place that another could use. Here a request is handed out once its
robots.txt is known and the delay of its host has passed. Until then it takes no place, and is on
disk if the crawl is.

There are two levels. A slot, in general a host, has its turn when the downloader could send another
request to it. Each origin of a slot has a lane, in which its requests wait. Within a slot, those
lanes take turns whose robots.txt is known.

Rules for the next author:

1. Nothing is searched. What waits is told of an event, or is in a heap by the time it waits for. So
   handing out a request costs O(log n) in the number of slots and origins.
2. Everything waits for something that ends. For an origin, `readiness.OriginState` says what that
   is. A slot waits for a time, or for one of its requests to leave it, which every request does.
3. What was ready is asked again before it is handed out: a policy may have expired meanwhile.
4. A request is handed out or lost, and counted, exactly once. A file that fails loses its own
   requests and no others.
5. No slot begins to wait for a place by old stock, and while one waits, stock is taken at each
   `pop`: the engine asks after each request that ends, but no signal tells of one that ends in the
   middlewares.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from scrapy import Request, signals
from scrapy.pqueues import QueueProtocol

from scrapy_rep.engine.downloader import NEVER
from scrapy_rep.engine.floors import EVENT
from scrapy_rep.engine.slot_keys import SLOT, leave_inherited_slot
from scrapy_rep.engine.state import wake
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import ConfigurationError

from .alarm import Alarm
from .asking import Asking
from .lanes import Lane, Lanes, SlotLanes
from .readiness import READY, OriginState, Outlook, Readiness
from .stock import AnyStock, Stocks
from .targets import Target, base_of, target_named, target_of
from .turns import Later, Turns

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self


_FAILURES = 100  # requests that one call of `pop` may find lost
_UNLOOKED_COUNT = 32  # calls of `pop`, after which stock is taken though nothing depends on it
_STUCK_SECONDS = 5.0  # after which a queue that failed to return a request is read again


class RepPriorityQueue:
    """For `SCHEDULER_PRIORITY_QUEUE`, in the place of Scrapy's downloader-aware queue.

    Priorities hold within an origin. Without `RepMiddleware` the queue knows no robots.txt, and
    regards only the delays of the downloader.

    On disk, each origin and slot has a folder, in which Scrapy's queue for one host keeps its
    files. The queue resumes a `JOBDIR` that Scrapy's downloader-aware queue left.
    """

    @classmethod
    def from_crawler(
        cls,
        crawler: Crawler,
        downstream_queue_cls: type[QueueProtocol],
        key: str,
        startprios: dict[str, Iterable[int]] | None = None,
        *,
        start_queue_cls: type[QueueProtocol] | None = None,
    ) -> Self:
        """Build from a crawler, as Scrapy's scheduler does."""
        return cls(crawler, downstream_queue_cls, key, startprios, start_queue_cls=start_queue_cls)

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
        """Take the crawler, the classes of queues below, the folder, and what `close` returned.

        Raises:
            ConfigurationError: CONCURRENT_REQUESTS_PER_IP is set, or another kind of queue left
                the folder.
        """
        _check(crawler, key, startprios)
        self.crawler = crawler
        self.key = key
        self._stocks = Stocks(crawler, downstream_queue_cls, start_queue_cls, key)
        self._readiness = readiness or Readiness.from_crawler(crawler)
        self._slots = self._readiness.slots
        self._slots.listen(self._slot_changed)
        self._slots.ask_before_use()
        self._arrivals = self._slots.arrivals
        if self._readiness.policies is not None:
            self._readiness.policies.listen(self._origin_settled)
        self._lanes = Lanes()
        self._turns: Turns[SlotLanes] = Turns()
        self._later = Later()
        self._asking: Asking[Lane] = Asking(self._readiness)
        self._changed: set[str] = set()
        self._settled: list[Origin] = []
        self._emptied: Lane | None = None  # the last one, which is kept for a while
        self._full: set[SlotLanes] = set()  # could send something, had they a free place
        self._unlooked_count = 0  # calls of `pop` since stock was taken
        self._alarm = Alarm(crawler)
        self._is_looking = False
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)
        for name, priorities in (startprios or {}).items():
            requests = self._stocks.resume(name, priorities)
            if requests is not None:
                self._enter(target_named(name), "", requests)

    # Scrapy's interface

    def push(self, request: Request) -> None:
        """Take a request in.

        Raises:
            ValueError: it cannot be written to disk.
        """
        if SLOT in request.meta:
            leave_inherited_slot(request)
        base = base_of(request)
        lane = self._lanes.begins_with(base)
        if lane is None:
            target = target_of(request, base)
            lane = self._lanes.named(target.name)
        if lane is not None:
            lane.requests.push(request)
            lane.count += 1
            self._lanes.count += 1
            if lane is self._emptied:
                # It was ready when it handed out its last request. If it is not any more, the look
                # before the next one tells.
                self._emptied = None
                lane.slot.put(lane)
                self._turns.put(lane.slot, self._slots.active_count(lane.slot.key))
            return
        requests = self._stocks.open(target.name)
        try:
            requests.push(request)
        except BaseException:
            if not requests:
                requests.close()
            else:
                self._enter(target, base, requests)
            raise
        self._begin(self._lanes.add(target, base, requests), request)

    def pop(self) -> Request | None:
        """Hand out the next request; None while none can be sent, however many wait."""
        if not self._lanes.count:  # the engine asks again and again
            return None
        self._is_looking = True  # changes that this look itself finds need not wake the engine
        try:
            request = self._pop()
        finally:
            self._is_looking = False
        if request is None and self._changed:
            wake(self.crawler)
        return request

    def _pop(self) -> Request | None:
        if self._slots.out or self._arrivals.is_for_a_while:
            self._unlooked_count += 1
            if self._is_stock_wanted():
                self._take_stock()
        if self._changed or self._settled or self._later.heap:
            self._catch_up()
        if self._asking.unasked:
            self._ask_ahead(is_needed=self._turns.least_active != 0)
        for _ in range(_FAILURES):
            lane = self._next()
            if lane is None:
                self._wait()
                return None
            request = lane.requests.take()
            self._lanes.recount(lane)
            if request is not None:
                if request in self._slots.out:  # a middleware returned it; nobody has noticed
                    self._slots.come_back(request)
                self._slots.hand_out(request, lane.slot.key)
            self._serve(lane)
            if request is not None:
                return request
            self._catch_up()
        wake(self.crawler)  # go on later: the event loop has other work
        return None

    def _wait(self) -> None:
        """Nothing is ready, which most calls of `pop` find where one host is crawled."""
        if self._asking.unasked:
            self._ask_ahead(is_needed=True)  # for lanes that proved not to be ready
        if self._asking.unasked or self._later.heap:
            self._set_alarm()

    def peek(self) -> Request | None:
        """What `pop` would hand out now."""
        self._catch_up()
        for _ in range(_FAILURES):
            lane = self._next()
            if lane is None:
                return None
            request = lane.requests.take()
            if request is not None:
                lane.requests.put_back(request)
                return request
            self._lanes.recount(lane)
            self._serve(lane)
            self._catch_up()
        return None

    def close(self) -> dict[str, list[int]]:
        """Close all files; returns what `from_crawler` needs to open them again."""
        self._spider_closed()
        if self._emptied is not None:
            self._remove(self._emptied)
            self._emptied = None
        state = self._stocks.close({lane.name: lane.requests for lane in self._lanes})
        self._lanes.clear()
        self._turns, self._later = Turns(), Later()
        self._full.clear()
        self._asking.clear()
        return state

    def __len__(self) -> int:
        return self._lanes.count

    def __contains__(self, slot: str) -> bool:
        found = self._lanes.slot(slot)
        is_kept = self._emptied is not None and self._emptied.slot is found
        return found is not None and found.lane_count > is_kept

    # Events

    def _slot_changed(self, key: str) -> None:
        if self._lanes.count and self._lanes.slot(key) is not None:
            self._changed.add(key)
            if not self._is_looking:
                wake(self.crawler)

    def _origin_settled(self, origin: Origin) -> None:
        lanes = self._asking.waiting_for(origin)
        for lane in lanes:
            self._outlook(lane)  # sets its pace now: the policy may be evicted at any time
        if lanes:
            self._settled.append(origin)
            wake(self.crawler)

    def _set_alarm(self) -> None:
        times = (self._later.next_at, self._asking.look_at())
        self._alarm.set(min((at for at in times if at is not None), default=None))

    def _spider_closed(self) -> None:
        self._alarm.cancel()

    # Stock: requests in the middlewares hold places, and no signal tells of those that end there

    def _is_stock_wanted(self) -> bool:
        """Whether anything depends on which requests have ended in the middlewares.

        Nothing does while one slot has its turn, and none waits for a place or a robots.txt. Then
        we look now and then, so that what ended is let go.
        """
        return bool(
            self._full
            or self._turns.are_several
            or self._asking.unasked
            or self._unlooked_count >= _UNLOOKED_COUNT
            or self._arrivals.is_for_a_while
        )

    def _take_stock(self) -> None:
        self._slots.take_stock()
        self._unlooked_count = 0

    # Lanes and slots

    def _enter(self, target: Target, base: str, requests: AnyStock) -> None:
        self._look_at(self._lanes.add(target, base, requests))

    def _begin(self, lane: Lane, request: Request) -> None:
        """A lane has its first request: it is put in its place, and its robots.txt fetched soon."""
        self._look_at(lane)
        if self._asking.unasked:
            if self.key:
                self._asking.remember(lane, request)
            self._ask_ahead(is_needed=False, most=1)

    def _serve(self, lane: Lane) -> None:
        """After a request was taken from the first lane: it goes behind the others of its slot."""
        slot = lane.slot
        if lane.is_fresh:
            self._asking.age(lane)
        slot.drop_first()
        self._turns.drop(slot)
        if not lane.count:
            self._empty(lane)
        elif lane.requests.is_stuck:
            self._later.put(lane, time.monotonic() + _STUCK_SECONDS)
        else:
            slot.put(lane)
        if slot.first is not None:
            self._changed.add(slot.key)  # one more of its requests is under way

    def _empty(self, lane: Lane) -> None:
        """Remove a lane that is empty now; in memory, that which was emptied before.

        Where links are followed, often the queue holds one request at a time, of the same lane.
        """
        if self.key:
            self._remove(lane)
            return
        before, self._emptied = self._emptied, lane
        if before is not None:
            self._remove(before)

    def _remove(self, lane: Lane) -> None:
        self._lanes.remove(lane)
        if self.key:
            self._asking.sample(lane)
        self._stocks.remove(lane.name, lane.requests)

    def _outlook(self, lane: Lane) -> Outlook:
        """The state of a lane.

        A lane whose robots.txt came is ready even if the policy is gone again. A policy may be
        evicted or expire while a delay runs, and if the queue fetched it again each time, it would
        never hand out a request. The middleware fetches it then.
        """
        return self._seen_fresh(lane, self._readiness.of(lane.origin, lane.slot.key))

    def _seen_fresh(self, lane: Lane, outlook: Outlook) -> Outlook:
        if outlook is READY or not lane.is_fresh:
            return outlook
        is_gone = outlook.state is OriginState.UNASKED or outlook.state is OriginState.ASKED
        return READY if is_gone else outlook

    def _look_at(self, lane: Lane) -> None:
        """Put a lane in turn if it is ready, and among the waiting otherwise."""
        outlook = self._outlook(lane)
        state, until = outlook
        if outlook is READY or state is OriginState.READY:
            lane.slot.put(lane)
            self._place(lane.slot)
            return
        self._asking.age(lane)
        if state is OriginState.UNASKED:
            self._asking.put(lane)
        elif state is OriginState.ASKED:
            self._asking.wait_for(lane)
        else:
            self._readiness.tell_of_wait(lane.origin, outlook, lane.count)
            self._later.put(lane, time.monotonic() + until - time.time())

    def _place(self, slot: SlotLanes) -> None:
        """Put a slot in turn if it could send a request; otherwise let it wait."""
        at = self._ready_at(slot) if slot.first is not None else EVENT
        if at == EVENT and slot.first is not None:
            self._full.add(slot)
        else:
            self._full.discard(slot)
        if at == NEVER or at <= time.monotonic():
            self._turns.put(slot, self._slots.active_count(slot.key))
            return
        self._turns.drop(slot)
        if at < EVENT:
            self._later.put(slot, at)

    def _ready_at(self, slot: SlotLanes) -> float:
        """When a slot could send another request; `EVENT` by fresh stock alone."""
        at = self._slots.ready_at(slot.key)
        if at == EVENT and self._unlooked_count:  # requests may have ended since the last look
            self._take_stock()
            at = self._slots.ready_at(slot.key)
        return at

    def _catch_up(self) -> None:
        """Put lanes and slots in their places after events, and those whose time has come."""
        if self._changed:
            changed, self._changed = self._changed, set()
            for key in changed:
                slot = self._lanes.slot(key)
                if slot is not None:
                    self._place(slot)
        if self._settled:
            settled, self._settled = self._settled, []
            for origin in settled:
                for lane in self._asking.settle(origin):
                    self._look_at(lane)
        if self._later.heap:
            self._catch_up_with_time(time.monotonic())

    def _catch_up_with_time(self, now: float) -> None:
        while (item := self._later.pop(now)) is not None:
            if isinstance(item, Lane):
                self._look_at(item)
            elif isinstance(item, SlotLanes):
                self._place(item)

    def _next(self) -> Lane | None:
        """The first lane that is still ready; those before it are put where they belong."""
        while (slot := self._turns.first()) is not None:
            lane = slot.first
            assert lane is not None  # noqa: S101 - a slot has its turn only with a ready lane
            outlook = self._readiness.of(lane.origin, slot.key)
            if outlook is not READY:
                outlook = self._seen_fresh(lane, outlook)
            if outlook.state is not OriginState.READY:
                slot.drop_first()
                self._look_at(lane)
                self._place(slot)
            elif (at := self._slots.ready_at(slot.key)) != NEVER and at > time.monotonic():
                self._place(slot)
            else:
                return lane
        return None

    # robots.txt, ahead of need

    def _ask_ahead(self, *, is_needed: bool, most: int | None = None) -> None:
        """Fetch as many robots.txt as should be on their way, and at most `most` of them.

        A few are always fetched ahead. More are fetched while they are needed: while no idle slot
        is ready, so that requests could be sent but none may be.
        """
        asked_count = 0
        while asked_count != most:
            lane = self._asking.next(is_needed=is_needed)
            if lane is None:
                return
            self._ask(lane)
            asked_count += 1
            if self._settled:
                self._catch_up()
                is_needed = is_needed and self._turns.least_active != 0

    def _ask(self, lane: Lane) -> None:
        """Fetch the robots.txt of a lane, if it still needs one."""
        request = self._asking.sample(lane)
        if self._outlook(lane).state is not OriginState.UNASKED:
            self._look_at(lane)
            return
        if request is None:
            request = lane.requests.sample()
            self._lanes.recount(lane)
            if not lane.count:
                self._remove(lane)
                return
        self._asking.wait_for(lane)
        assert lane.origin is not None  # noqa: S101 - a lane without one is always ready
        self._readiness.ask(lane.origin, request)


def _check(crawler: Crawler, key: str, startprios: object) -> None:
    """Refuse what this queue cannot do, and what it cannot read.

    Raises:
        ConfigurationError: says how to fix it.
    """
    if int(crawler.settings["CONCURRENT_REQUESTS_PER_IP"] or 0):  # get() would warn for us
        raise ConfigurationError(
            "RepPriorityQueue paces hosts, not addresses: remove CONCURRENT_REQUESTS_PER_IP, or "
            "set SCHEDULER_PRIORITY_QUEUE to another queue"
        )
    if startprios and not isinstance(startprios, dict):
        raise ConfigurationError(
            f"{key!r} was left by a crawl with another SCHEDULER_PRIORITY_QUEUE, and "
            "RepPriorityQueue cannot read it: resume with that queue, or use a new JOBDIR"
        )
