"""The downloader's slots: all that this package knows of them, and the only place where it does.

A slot is how Scrapy paces one host: how many requests at a time, and how long between two. Scrapy
is about to replace slots, and their attributes change from release to release; so everything here
is asked for by name, and where it is absent nothing is known, and nothing waits.

What a site asks for is a floor under its slot's delay. Others write delays too: AutoThrottle after
each response, the user's settings when a slot is made. So the floor is put back at two signals:
before the downloader computes how long a request waits, and after AutoThrottle has had its say.
"""

from __future__ import annotations

import heapq
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.utils.asyncio import call_later
from scrapy.utils.httpobj import urlparse_cached

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_SLOT = "download_slot"
_OLD_JITTER = 0.5  # what `randomize_delay` meant before there was a number
_NEVER = float("-inf")
_EVENT = float("inf")

# The downloader counts from when it lets a request go. Its octets leave some turns of the loop
# later, and a turn of a busy process takes a while; so it is counted from then. And a connection
# has to be made first, perhaps: unless it is known that the octets left, at the latest with the
# answer, 5 % are added, and no less than 20 ms.
_TURNS = 4
_GUARD_PART = 0.05
_GUARD_SECONDS = 0.02


def guard_seconds(delay: float) -> float:
    """What is added to a delay until it is known that the request before has left."""
    return max(_GUARD_PART * delay, _GUARD_SECONDS)


class _Floor:
    """What is remembered of one slot: who asks for which delay, and the slot as it was last."""

    __slots__ = ("applied", "delays", "jitter", "own_delay", "slot")

    def __init__(self) -> None:
        self.delays: dict[Any, tuple[float, float]] = {}  # by origin: seconds, and until when
        self.slot: Any = None
        self.jitter = 0.0
        self.own_delay = 0.0
        self.applied = -1.0

    def longest(self) -> float:
        """The longest of the delays that hold now; 0 if there is none."""
        now = time.time()
        return max((delay for delay, until in self.delays.values() if now < until), default=0.0)

    def seconds(self) -> float:
        """The longest of the delays, with its guard; 0 if there is none."""
        longest = self.longest()
        return longest + guard_seconds(longest) if longest else 0.0


class Slots:
    """The slots of one crawl's downloader.

    Memory: what is remembered of a slot is forgotten once its delay lies in the past and the slot
    is idle; whoever has a request for it says again what the site asks for.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._floors: dict[str, _Floor] = {}
        self._forget_at: list[tuple[float, str]] = []
        self._out: dict[Request, str] = {}
        self._out_counts: Counter[str] = Counter()
        self._listeners: list[Callable[[str], None]] = []
        crawler.signals.connect(self._reached, signal=signals.request_reached_downloader)
        crawler.signals.connect(self._left, signal=signals.request_left_downloader)
        crawler.signals.connect(self._spider_opened, signal=signals.spider_opened)

    def _spider_opened(self) -> None:
        # Only now, so that this comes after AutoThrottle's, which was connected before.
        connect = self._crawler.signals.connect
        connect(self._answered, signal=signals.headers_received)
        connect(self._downloaded, signal=signals.response_downloaded)

    def listen(self, listener: Callable[[str], None]) -> None:
        """Have a function called with the key of each slot in which something changed."""
        self._listeners.append(listener)

    # Asked for once, and late: the engine is made after us.

    @cached_property
    def _downloader(self) -> Any:
        return getattr(self._crawler.engine, "downloader", None)

    @cached_property
    def _by_key(self) -> Any:
        return getattr(self._downloader, "slots", {})

    def _slot(self, key: str) -> Any:
        return self._by_key.get(key)

    # How fast

    def set_floor(self, key: str, origin: Any, seconds: float, until: float = math.inf) -> None:
        """Have an origin's slot leave so many seconds between requests at least.

        The floor of a slot is the longest of its origins': two ports of a host share a slot.
        """
        floor = self._floors.get(key)
        if floor is None:
            if not seconds:
                return
            floor = self._floors[key] = _Floor()
            heapq.heappush(self._forget_at, (time.monotonic() + seconds, key))
        if seconds:
            floor.delays[origin] = (seconds, until)
        elif floor.delays.pop(origin, None) is None:
            return
        self._apply(key)

    def _apply(self, key: str) -> None:
        """Put the floor under a slot's delay, and keep its jitter from reaching below it."""
        self._forget()
        floor = self._floors.get(key)
        slot = self._slot(key)
        if floor is None or slot is None:
            return
        if slot is not floor.slot:  # a new one, since Scrapy throws away slots that are idle
            if floor.slot is not None:
                slot.lastseen = max(slot.lastseen, floor.slot.lastseen)
            floor.slot = slot
            floor.jitter = _jitter(slot)
            floor.applied = -1.0
        if slot.delay != floor.applied:
            floor.own_delay = slot.delay
        seconds = floor.seconds()
        slot.delay = floor.applied = max(floor.own_delay, seconds)
        _set_jitter(slot, _above(seconds, slot.delay, floor.jitter))

    def _forget(self) -> None:
        """Forget what lies further back than its delay; amortised O(log n)."""
        now = time.monotonic()
        while self._forget_at and self._forget_at[0][0] <= now:
            _, key = heapq.heappop(self._forget_at)
            floor = self._floors[key]
            slot = self._slot(key) or floor.slot
            rest = max(floor.seconds(), 1.0)
            until = rest + (_NEVER if slot is None else slot.lastseen)
            if until <= now and self._is_under_way(key):
                until = now + rest
            if until <= now:
                self._restore(floor)
                del self._floors[key]
            else:
                heapq.heappush(self._forget_at, (until, key))

    def _is_under_way(self, key: str) -> bool:
        """Whether a slot has a request that was let through, in whichever middleware it is now."""
        active = getattr(self._downloader, "active", ())
        return any(slot_key(request) == key for request in active)

    @staticmethod
    def _restore(floor: _Floor) -> None:
        slot = floor.slot
        if slot is not None and slot.delay == floor.applied:
            slot.delay = floor.own_delay
            _set_jitter(slot, floor.jitter)

    def count_from_now(self, request: Request) -> None:
        """Count the delay of a request's slot from now on: it has been answered.

        For requests that are sent before it is known which delay holds.
        """
        slot = self._slot(request.meta.get(_SLOT, ""))
        if slot is not None:
            slot.lastseen = time.monotonic()

    def _answered(self, request: Request) -> None:
        key = request.meta.get(_SLOT, "")
        floor = self._floors.get(key)
        slot = self._slot(key)
        if floor is None or slot is None or not slot.delay or slot.delay != floor.seconds():
            return
        # Where others are under way it can't be told which of them was sent last.
        if len(slot.transferring) == 1 and request in slot.transferring:
            now = time.monotonic()
            guard = guard_seconds(floor.longest())
            if slot.lastseen < now < slot.lastseen + guard:
                slot.lastseen = now - guard

    def _downloaded(self, request: Request) -> None:
        self._apply(request.meta.get(_SLOT, ""))

    # When

    def ready_at(self, key: str) -> float:
        """When a slot could send another request: monotonic seconds, or later than that.

        Infinite while all its places are taken: something will be told to those who listen.
        """
        slot = self._slot(key)
        floor = self._floors.get(key)
        out_count = self._out_counts.get(key, 0)
        if slot is None and floor is None and not out_count:
            return _NEVER
        downloader = self._downloader
        least = floor.seconds() if floor is not None else 0.0
        if slot is None:
            own = getattr(downloader, "per_slot_settings", {}).get(key, {})
            concurrency = own.get("concurrency", getattr(downloader, "domain_concurrency", 0))
            delay = max(own.get("delay", getattr(downloader, "_delay", 0.0)), least)
            lastseen = floor.slot.lastseen if floor is not None and floor.slot else _NEVER
            taken, queued, jitter = out_count, 0, 0.0
        else:
            concurrency, delay, lastseen = slot.concurrency, max(slot.delay, least), slot.lastseen
            queued, jitter = len(slot.queue), _above(least, delay, _jitter(slot))
            taken = len(slot.transferring) + queued + out_count
        if 0 < concurrency <= taken or (delay and out_count):
            return _EVENT
        if not delay:
            return _NEVER
        at: float = lastseen + delay * (1 + jitter * _chance(key, lastseen))
        if queued:
            at = max(at + queued * delay, time.monotonic() + _GUARD_SECONDS)
        return at

    def active_count(self, key: str) -> int:
        """How many requests of a slot are under way, from those in the middlewares on."""
        slot = self._slot(key)
        return self._out_counts.get(key, 0) + (0 if slot is None else len(slot.active))

    def is_waiting(self, request: Request) -> bool:
        """Whether a request stands in the line of its slot: nobody has been asked yet."""
        slot = self._slot(request.meta.get(_SLOT, ""))
        return slot is not None and any(waiting is request for waiting, _ in slot.queue)

    # What is under way

    def hand_out(self, request: Request, key: str) -> None:
        """Take note that the engine was given a request, which now goes through middlewares."""
        self._out[request] = key
        self._out_counts[key] += 1

    def take_stock(self) -> None:
        """Find the requests that came to an end in the middlewares, of which no signal tells."""
        if not self._out:
            return
        active = getattr(self._downloader, "active", ())
        for request in [request for request in self._out if request not in active]:
            self._tell(self._come_back(request))

    def _come_back(self, request: Request) -> str:
        key = self._out.pop(request)
        self._out_counts[key] -= 1
        if not self._out_counts[key]:
            del self._out_counts[key]
        return key

    def _reached(self, request: Request) -> None:
        key = request.meta.get(_SLOT, "")
        self._apply(key)
        if request in self._out:
            self._tell(self._come_back(request))
            self._let_go(key)
        slot = self._slot(key)
        if slot is not None and key in self._floors:
            call_later(0, self._count_if_it_left, key, slot.lastseen)
        self._tell(key)

    def _count_if_it_left(self, key: str, before: float) -> None:
        """Count from when a request left; nothing is known yet of one that the slot lets wait."""
        slot = self._slot(key)
        if slot is not None and slot.lastseen != before:
            self._count_from_when_it_left(key, _TURNS, slot.lastseen)

    def _count_from_when_it_left(self, key: str, turns: int, sent_at: float) -> None:
        """After some turns of the loop, count a slot's delay from now, unless more is known."""
        floor, slot = self._floors.get(key), self._slot(key)
        if floor is None or slot is None or slot.lastseen != sent_at:
            return
        if turns:
            call_later(0, self._count_from_when_it_left, key, turns - 1, sent_at)
        elif slot.delay == floor.seconds():
            slot.lastseen = time.monotonic()

    def _let_go(self, key: str) -> None:
        """Have a slot send what waited elsewhere, until the time that `ready_at` told.

        The slot would draw another delay, and hold the request and its place if that is longer.
        And it waits for a time of its own, set when the request before was let go.
        """
        slot = self._slot(key)
        if slot is None or slot.queue or self.ready_at(key) > time.monotonic():
            return
        if getattr(slot, "latercall", None) is not None:
            slot.latercall.cancel()
            slot.latercall = None
        longest = slot.delay * (1 + _jitter(slot))
        slot.lastseen = min(slot.lastseen, time.monotonic() - longest)

    def _left(self, request: Request) -> None:
        self._tell(request.meta.get(_SLOT, ""))

    def _tell(self, key: str) -> None:
        for listener in self._listeners:
            listener(key)

    # How many

    @contextmanager
    def place_of_its_own(self) -> Iterator[None]:
        """Let the downloader take one request more for a while: what comes takes nobody's place."""
        downloader = self._downloader
        if getattr(downloader, "total_concurrency", 0) <= 0:  # 0: as many as there are
            yield
            return
        downloader.total_concurrency += 1
        try:
            yield
        finally:
            downloader.total_concurrency -= 1


def own_slot(request: Request) -> str | None:
    """The slot that the user, or Scrapy before, chose for a request; None: that of its host."""
    own = request.meta.get(_SLOT)
    return None if own is None else str(own)


def slot_key(request: Request) -> str:
    """The key of the slot that a request goes through: its host, unless the user says another."""
    own = own_slot(request)
    return (urlparse_cached(request).hostname or "") if own is None else own


def leave_inherited_slot(request: Request) -> None:
    """Have a request that another host redirected to go through the slot of its own host.

    Scrapy copies meta to it, and with that the slot of the host that redirects (its issue 2141).
    """
    own, hops = own_slot(request), request.meta.get("redirect_urls")
    if own is not None:
        request.meta[_SLOT] = own  # as text, or a number would be another slot than ours
    if not own or not hops or own == urlparse_cached(request).hostname:
        return
    if any(urlparse_cached(Request(hop)).hostname == own for hop in hops):
        del request.meta[_SLOT]


def _jitter(slot: Any) -> float:
    """The part of its delay by which a slot's real delays differ from it."""
    if hasattr(slot, "jitter"):
        return float(slot.jitter)
    return _OLD_JITTER if getattr(slot, "randomize_delay", False) else 0.0


def _set_jitter(slot: Any, jitter: float) -> None:
    if hasattr(slot, "jitter"):
        slot.jitter = jitter
    else:
        slot.randomize_delay = jitter >= _OLD_JITTER


def _above(least: float, delay: float, jitter: float) -> float:
    """A jitter that takes nothing from the least delay: 0 where that is the delay."""
    return min(jitter, 1 - least / delay) if least else jitter


def _chance(key: str, lastseen: float) -> float:
    """From -1 to 1, the same for as long as a slot has sent nothing else."""
    return hash((key, lastseen)) % 2001 / 1000 - 1
