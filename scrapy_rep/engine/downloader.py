"""Scrapy's downloader and its slots, behind accessors that work where attributes are missing.

This is the only place that names their attributes. They change from release to release, and another
`DOWNLOADER` may have none of them. A missing attribute reads as a value that makes no request wait.
Nothing is written to a slot.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.core.downloader import Downloader as ScrapyDownloader
from scrapy.utils.httpobj import urlparse_cached

from scrapy_rep.signals import PUT_BACK

from .clock import Monotonic
from .open_files import close_idle

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

SLOT = "download_slot"
"""Scrapy's meta key: the chosen slot, and later the slot that the request took."""

NEVER = Monotonic(float("-inf"))
"""A time that has always passed."""

EVENT = Monotonic(float("inf"))
"""A time that is not known yet: an event ends the wait."""

_LOOK_SECONDS = 0.05  # until a request in the middlewares may have taken another slot
_IDLE_SECONDS = 1.0  # how long a slot without requests is kept, by work that forgets slots


class Downloader:
    """The downloader of a crawl; Scrapy makes it after the middlewares."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @property
    def _raw(self) -> Any:
        return getattr(self._crawler.engine, "downloader", None)

    def _slot(self, key: str) -> Any:
        slots = getattr(self._raw, "slots", None)
        return slots.get(key) if isinstance(slots, dict) else None

    @property
    def active(self) -> Collection[Request]:
        """The requests that it has, those in the middlewares included."""
        return _collection(getattr(self._raw, "active", ()))

    @property
    def free_places(self) -> int:
        """How many requests more it would take; many, where it takes any number."""
        total = _number(getattr(self._raw, "total_concurrency", 0))
        return max(0, int(total) - len(self.active)) if total > 0 else sys.maxsize

    def ready_at(self, key: str, given: Collection[Request], given_at: float) -> Monotonic:
        """When a slot could take another request.

        It is `EVENT` while the slot is full, also of requests that did not come from the queue.
        `given` are the requests that were handed out for the slot and have not ended, and
        `given_at` is when the last of them was. A request that a middleware moved to another slot
        does not count.
        """
        slot = self._slot(key)
        if slot is None:
            concurrency, delay = self._slot_to_be(key)
            inside: Collection[Request] = ()
        else:
            concurrency = int(_number(getattr(slot, "concurrency", 0)))
            delay = _number(getattr(slot, "delay", 0.0))
            inside = _collection(getattr(slot, "active", ()))
        coming = [one for one in given if one not in inside and one.meta.get(SLOT, key) == key]
        if 0 < concurrency <= len(inside) + len(coming):
            return Monotonic(time.monotonic() + _LOOK_SECONDS) if coming else EVENT
        queued = len(_collection(getattr(slot, "queue", ())))
        return Monotonic(given_at + delay * (1 + queued)) if delay else NEVER

    def own_pace(self, key: str) -> tuple[int, float]:
        """How many requests at a time the user grants a slot, and the delay between two.

        AutoThrottle begins with a delay of its own for all slots, and goes on from that: it is left
        out.
        """
        concurrency, delay = self._slot_to_be(key)
        settings = self._crawler.settings
        if settings.getbool("AUTOTHROTTLE_ENABLED"):
            delay = min(delay, settings.getfloat("DOWNLOAD_DELAY"))
        return concurrency, delay

    def _slot_to_be(self, key: str) -> tuple[int, float]:
        """The concurrency and the delay that a new slot would have."""
        raw = self._raw
        of_slots = getattr(raw, "per_slot_settings", None)
        own = of_slots.get(key) if isinstance(of_slots, Mapping) else None
        own = own if isinstance(own, Mapping) else {}
        delay: Any = getattr(raw, "_delay", 0.0)
        if isinstance(raw, ScrapyDownloader) and not hasattr(raw, "_delay"):  # up to Scrapy 2.17
            usual = self._crawler.settings.getfloat("DOWNLOAD_DELAY")
            delay = getattr(self._crawler.spider, "download_delay", usual)
        concurrency = own.get("concurrency", getattr(raw, "domain_concurrency", 0))
        return int(_number(concurrency)), _number(own.get("delay", delay))

    # One request

    def has(self, request: Request) -> bool:
        """Whether a request is in its slot, queued or sent."""
        slot = self._slot(request.meta.get(SLOT, ""))
        return request in _collection(getattr(slot, "active", ()))

    def is_waiting(self, request: Request) -> bool:
        """Whether a request is queued in its slot, so that nothing was sent yet."""
        slot = self._slot(request.meta.get(SLOT, ""))
        sent = getattr(slot, "transferring", None)
        return self.has(request) and sent is not None and request not in _collection(sent)

    def delay_seconds(self, request: Request) -> float:
        """The longest delay that a request's slot may draw now."""
        slot = self._slot(request.meta.get(SLOT, ""))
        jitter = getattr(slot, "jitter", 0.5)  # Scrapy's before slots had a number for it
        return _number(getattr(slot, "delay", 0.0)) * (1 + _number(jitter))

    def abandon(self, request: Request) -> None:
        """Remove a request from its slot if the caller needs no answer any more.

        Otherwise a queued request would still be sent. A request that was sent would keep its place
        until its handler ends, or for ever.
        """
        slot = self._slot(request.meta.get(SLOT, ""))
        queue, sent = getattr(slot, "queue", None), getattr(slot, "transferring", None)
        if isinstance(queue, deque):
            for entry in [entry for entry in queue if entry[0] is request]:
                queue.remove(entry)
        if isinstance(sent, set) and request in sent:
            sent.discard(request)
            process = getattr(self._raw, "_process_queue", None)
            if process is not None:
                process(slot)

    def recall(
        self, is_meant: Callable[[Request], bool], answer: Callable[[Request], Any] | None = None
    ) -> int:
        """Take requests that are queued in slots out of them; return their number.

        The downloader answers with what `answer` returns, such as a failure. By default, it is the
        request for the queue, so no middleware sees it.
        """
        count = 0
        slots = getattr(self._raw, "slots", None)
        for slot in list(slots.values()) if isinstance(slots, Mapping) else ():
            queue = getattr(slot, "queue", None)
            if not queue or not isinstance(queue, deque):
                continue
            for entry in [entry for entry in queue if is_meant(entry[0])]:
                queue.remove(entry)
                entry[1].callback((answer or put_back)(entry[0]))
                count += 1
        return count

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

    def drop_idle(self) -> None:
        """Close the connections that no request uses, and forget the slots that hold none.

        For work that visits each site once. Scrapy keeps both for minutes: with thousands of sites
        that is a socket and memory for each (`benchmarks/collect.py`). A slot that still owes a
        delay stays. O(slots).
        """
        close_idle(self._crawler)
        forget = getattr(self._raw, "_slot_gc", None)
        if forget is not None:
            forget(_IDLE_SECONDS)


def put_back(request: Request, **changes: Any) -> Request:
    """The request for the queue, marked so that the duplicate filter does not drop it.

    `changes` are other arguments of `Request.replace`.
    """
    meta = {**request.meta, **changes.pop("meta", {}), PUT_BACK: request.dont_filter}
    meta.setdefault("retry_times", 0)  # for code that counts requests, and leaves out retries
    back: Request = request.replace(meta=meta, dont_filter=True, **changes)
    return back


def slot_key(request: Request) -> str:
    """The slot that a request goes through: that of its host, unless another was chosen."""
    own = request.meta.get(SLOT)
    return (urlparse_cached(request).hostname or "") if own is None else str(own)


def leave_inherited_slot(request: Request) -> None:
    """Send the target of a redirect through the slot of its own host.

    Scrapy copies meta to it, and with it the slot of the host that redirects (its issue 2141).
    """
    own = request.meta.get(SLOT)
    if own is None:
        return
    own = request.meta[SLOT] = str(own)  # Scrapy keys slots by the value, we by its text
    hops = request.meta.get("redirect_urls")
    if not own or not hops or own == urlparse_cached(request).hostname:
        return
    if any(urlparse_cached(Request(hop)).hostname == own for hop in hops):
        del request.meta[SLOT]


def _number(value: Any) -> float:
    return value if isinstance(value, (int, float)) else 0.0


def _collection(value: Any) -> Collection[Any]:
    # Abstract classes would cost each request several checks.
    return value if isinstance(value, (set, deque, dict, list, tuple)) else ()
