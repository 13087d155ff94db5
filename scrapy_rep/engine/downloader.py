"""Scrapy's downloader and its slots, behind accessors that work where attributes are missing.

This is the only place that names their attributes. They change from release to release, and another
`DOWNLOADER` may have none of them. A missing attribute reads as a value that makes nobody wait, and
is not written.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.core import downloader as _scrapys

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

NEVER = float("-inf")
NO_LIMIT = sys.maxsize

_MANY = 64
_IDLE_SECONDS = 1.0  # how long a slot is kept that holds no request, by work that forgets slots

_ABSENT = object()
_SCRAPYS_SLOT: Any = getattr(_scrapys, "Slot", None) or _ABSENT  # no object's type is that
_OLD_JITTER = 0.5  # what `randomize_delay` meant before there was a number
# Up to Scrapy 2.15 slots count by the wall clock.
_IS_MONOTONIC = hasattr(_scrapys, "monotonic")
_SAME_SECONDS = 0.001  # by which clocks may drift apart before we look how far apart they are


class _Queue(deque[Any]):
    """The queue of a slot; it tells a listener of each request as the slot sends it."""

    def __init__(self, items: Any, tell: Callable[[Request], None]) -> None:
        super().__init__(items)
        self._tell = tell

    def popleft(self) -> Any:
        """The first entry, as of any deque."""
        item = super().popleft()
        self._tell(item[0])
        return item


_USUAL = (set, deque, _Queue)


class DownloaderSlot:
    """One slot of the downloader's. All times are monotonic seconds."""

    __slots__ = ("_raw",)

    def __init__(self, raw: Any) -> None:
        self._raw = raw

    def __eq__(self, other: object) -> bool:
        """Whether it is the same slot, not a newer one of the same key."""
        return isinstance(other, DownloaderSlot) and other._raw is self._raw

    __hash__ = None  # type: ignore[assignment]

    @property
    def concurrency(self) -> int:
        """How many requests it sends at a time; 0 for no limit."""
        return int(_number(getattr(self._raw, "concurrency", 0)))

    @property
    def delay(self) -> float:
        """Seconds between two requests."""
        return _number(getattr(self._raw, "delay", 0.0))

    @delay.setter
    def delay(self, seconds: float) -> None:
        self._write("delay", seconds)

    @property
    def jitter(self) -> float:
        """By which part of its delay the slot's random delays differ from it."""
        if hasattr(self._raw, "jitter"):
            return _number(self._raw.jitter)
        return _OLD_JITTER if getattr(self._raw, "randomize_delay", False) else 0.0

    @jitter.setter
    def jitter(self, part: float) -> None:
        if hasattr(self._raw, "jitter"):
            self._write("jitter", part)
        else:
            self._write("randomize_delay", part >= _OLD_JITTER)

    @property
    def last_at(self) -> float:
        """The time from which it counts its delay: in general, when it last sent a request."""
        at = _number(getattr(self._raw, "lastseen", 0.0))
        return at - _clock_ahead() if at else NEVER

    @last_at.setter
    def last_at(self, at: float) -> None:
        if at > NEVER:
            self._write("lastseen", at + _clock_ahead())

    @property
    def least_delay(self) -> float:
        """The shortest delay that it may draw."""
        return self.delay * (1 - self.jitter)

    @property
    def queue(self) -> list[Request]:
        """The requests that it has not sent yet."""
        entries = _collection(getattr(self._raw, "queue", ()))
        return [entry[0] for entry in entries if isinstance(entry, tuple) and entry]

    @property
    def sent_count(self) -> int:
        """How many requests it has sent that have not ended."""
        return len(_collection(getattr(self._raw, "transferring", ())))

    def has(self, request: Request) -> bool:
        """Whether a request is in it, queued or sent."""
        return request in _collection(getattr(self._raw, "active", ()))

    def has_sent(self, request: Request) -> bool:
        """Whether it has sent a request that has not ended; True where that is not known."""
        sent = getattr(self._raw, "transferring", None)
        return sent is None or request in _collection(sent)

    def remove(self, request: Request) -> bool:
        """Forget a request, queued or sent; whether it was sent."""
        queue = getattr(self._raw, "queue", None)
        if isinstance(queue, deque):
            for entry in [entry for entry in queue if entry and entry[0] is request]:
                queue.remove(entry)
        sent = getattr(self._raw, "transferring", None)
        if not isinstance(sent, set) or request not in sent:
            return False
        sent.discard(request)
        return True

    def tell(self, listener: Callable[[Request], None]) -> bool:
        """Call a function with each request that it sends; whether this slot allows that."""
        queue = getattr(self._raw, "queue", None)
        if isinstance(queue, _Queue):
            return True
        if not isinstance(queue, deque):
            return False
        self._write("queue", _Queue(queue, listener))
        return isinstance(self._raw.queue, _Queue)

    def drop_timer(self) -> None:
        """Cancel its timer, so that it looks at its queue when the next request comes."""
        timer = getattr(self._raw, "latercall", None)
        if timer is not None:
            timer.cancel()
            self._write("latercall", None)

    def _write(self, name: str, value: Any) -> None:
        if hasattr(self._raw, name):
            with suppress(AttributeError, TypeError):  # it is read-only
                setattr(self._raw, name, value)


class Downloader:
    """The downloader of a crawl; Scrapy makes it after the middlewares."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._found: Any = _ABSENT

    @property
    def _raw(self) -> Any:
        if self._found is _ABSENT:
            self._found = getattr(self._crawler.engine, "downloader", None)
        return self._found

    def slot(self, key: str) -> DownloaderSlot | None:
        """The slot of a key; None if there is none now."""
        raw = self._raw if self._found is _ABSENT else self._found
        slots = getattr(raw, "slots", None)
        if type(slots) is not dict and not isinstance(slots, Mapping):  # the first is fast
            return None
        found = slots.get(key)
        return None if found is None else DownloaderSlot(found)

    def free_count(self, key: str) -> int | None:
        """How many requests more a usual slot would send at once; `NO_LIMIT` where it has none.

        Usual is one of Scrapy's own that has no delay and waits for none; None for any other, and
        where there is none. This is asked several times of each request.
        """
        raw = self._raw if self._found is _ABSENT else self._found
        try:
            slot: Any = raw.slots.get(key)
            if type(slot) is not _SCRAPYS_SLOT or slot.latercall is not None or slot.delay:
                return None
            places = slot.concurrency
            return places - len(slot.queue) - len(slot.transferring) if places > 0 else NO_LIMIT
        except (AttributeError, TypeError):  # of another DOWNLOADER, or changed by others
            return None

    def holds(self, request: Request, key: str) -> bool:
        """Whether a request has come to a slot, and has not ended there."""
        raw = self._raw if self._found is _ABSENT else self._found
        try:
            return request in raw.slots[key].active
        except (KeyError, AttributeError, TypeError):
            return False

    @property
    def is_usual(self) -> bool:
        """Whether it is Scrapy's own, and its new slots wait for nothing but a free place."""
        has_own = getattr(self._raw, "per_slot_settings", True)
        is_scrapys = type(self._raw) is _scrapys.Downloader
        return is_scrapys and not has_own and not self._usual_delay

    def abandon(self, key: str, request: Request) -> None:
        """Remove a request from a slot; the next request takes its place."""
        slot = self.slot(key)
        if slot is None or not slot.remove(request):
            return
        process = getattr(self._raw, "_process_queue", None)
        if process is not None:
            process(self._raw.slots[key])

    def slot_to_be(self, key: str) -> tuple[int, float]:
        """The concurrency and the delay that a new slot would have."""
        of_slots = getattr(self._raw, "per_slot_settings", None)
        own = of_slots.get(key) if isinstance(of_slots, Mapping) else None
        own = own if isinstance(own, Mapping) else {}
        concurrency = own.get("concurrency", getattr(self._raw, "domain_concurrency", 0))
        return int(_number(concurrency)), _number(own.get("delay", self._usual_delay))

    @property
    def _usual_delay(self) -> Any:
        """The delay that slots have; up to Scrapy 2.17 the downloader looks it up for each."""
        if not isinstance(self._raw, _scrapys.Downloader) or hasattr(self._raw, "_delay"):
            return getattr(self._raw, "_delay", 0.0)
        usual = self._crawler.settings.getfloat("DOWNLOAD_DELAY")
        return getattr(self._crawler.spider, "download_delay", usual)

    @property
    def active(self) -> Collection[Request]:
        """The requests that it was given, with those that are in the middlewares."""
        return _collection(getattr(self._raw, "active", ()))

    @property
    def free_places(self) -> int:
        """How many requests more it would take; many, where it takes any number."""
        total = int(_number(getattr(self._raw, "total_concurrency", 0)))
        return max(0, total - len(self.active)) if total > 0 else _MANY

    @property
    def handlers(self) -> list[Any]:
        """The download handlers that exist: as a rule, one for each scheme in use."""
        found = getattr(getattr(self._raw, "handlers", None), "_handlers", None)
        return list(found.values()) if isinstance(found, Mapping) else []

    def drop_idle(self) -> None:
        """Close the connections that no request uses, and forget the slots that hold none.

        For work that visits each site once. Scrapy keeps both for minutes: with thousands of sites
        that is a socket and memory for each (`benchmarks/collect.py`). A slot that still
        owes a delay stays. O(slots).
        """
        for handler in self.handlers:
            close_idle = getattr(getattr(handler, "_pool", None), "closeCachedConnections", None)
            if close_idle is not None:  # Twisted's, which counts no connection in use as cached
                close_idle().addErrback(lambda _: None)
            connector: Any = getattr(getattr(handler, "_session", None), "_connector", None)
            if hasattr(connector, "_force_close"):  # aiohttp's, which then keeps none from now on
                connector._force_close = True  # noqa: SLF001 - it has no other way
        forget = getattr(self._raw, "_slot_gc", None)
        if forget is not None:
            forget(_IDLE_SECONDS)

    @contextmanager
    def one_place_more(self) -> Iterator[None]:
        """Raise its limit by one for a while, so that a request of ours takes no other's place."""
        raw = self._raw
        if _number(getattr(raw, "total_concurrency", 0)) <= 0:  # 0: no limit
            yield
            return
        raw.total_concurrency += 1
        try:
            yield
        finally:
            raw.total_concurrency -= 1


class _WallClock:
    """How far the wall clock is ahead of the monotonic one; the same until somebody sets it.

    Two readings of two clocks never differ by the same twice. But a time that is written to a slot
    has to be the same when it is read: by it we know who wrote it, and draw a delay once.
    """

    def __init__(self) -> None:
        self._ahead_seconds = 0.0

    def ahead_seconds(self) -> float:
        """The difference between the clocks."""
        before = time.monotonic()
        found = time.time() - before
        taken = time.monotonic() - before  # other processes may have had their turn meanwhile
        if abs(found - self._ahead_seconds) > _SAME_SECONDS + taken:
            self._ahead_seconds = found
        return self._ahead_seconds


_WALL_CLOCK = _WallClock()


def _clock_ahead() -> float:
    """How far the clock of the slots is ahead of the monotonic one; seconds."""
    return 0.0 if _IS_MONOTONIC else _WALL_CLOCK.ahead_seconds()


def _number(value: Any) -> float:
    return value if isinstance(value, (int, float)) else 0.0


def _collection(value: Any) -> Collection[Any]:
    if type(value) in _USUAL:  # as nearly always; the check below is slow
        found: Collection[Any] = value
        return found
    return value if isinstance(value, Collection) and not isinstance(value, str) else ()
