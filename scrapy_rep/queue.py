"""The queue that knows who is ready: requests that would have to wait stay in it.

Scrapy's own queue hands out a request whether or not its host may be asked, and the request waits
in the downloader, in a place that somebody else could use. Here a request is handed out once its
robots.txt is known and the delay of its host has passed; until then it holds no place, and is on
disk if the crawl is.

There are two levels. A slot, in general a host, has its turn when the downloader could send
another request to it; within a slot, the origins whose robots.txt is known take turns. Nothing is
looked for: whoever waits is told by an event, or stands in a heap by the time that it waits for. So
handing out a request costs O(log n) in the number of slots and origins.

Nobody waits for ever. What an origin waits for is the table `readiness.State`. A slot waits for a
time, or while its places are taken for a request that leaves it, which every request does.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy import Request, signals
from scrapy.pqueues import QueueProtocol, ScrapyPriorityQueue
from scrapy.utils.asyncio import call_later

from .engine import is_closing, wake
from .middleware import RepMiddleware
from .protocol.errors import ConfigurationError
from .protocol.origin import Origin
from .readiness import Outlook, Readiness, State
from .slots import Slots, leave_inherited_slot
from .targets import Target, base_of, folder_of, target_named, target_of
from .turns import Later, Turns

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import CallLaterResult
    from typing_extensions import Self


class _Line:
    """The requests of one origin that go through one slot."""

    __slots__ = ("base", "count", "due_at", "is_fresh", "name", "origin", "requests", "slot")

    def __init__(
        self, target: Target, base: str, slot: _Slot, requests: ScrapyPriorityQueue
    ) -> None:
        self.name = target.name
        self.base = base
        self.origin = target.origin
        self.slot = slot
        self.requests = requests
        self.count = len(requests)
        self.due_at: float | None = None
        self.is_fresh = False  # its robots.txt has come, and it was not served since


class _Slot:
    """The lines of one slot, and those of them that are ready, in turn."""

    __slots__ = ("due_at", "key", "line_count", "ready")

    def __init__(self, key: str) -> None:
        self.key = key
        self.line_count = 0
        self.ready: deque[_Line] = deque()
        self.due_at: float | None = None


class RepPriorityQueue:
    """For `SCHEDULER_PRIORITY_QUEUE`, in the place of Scrapy's downloader-aware queue.

    Priorities are kept within an origin. Without `RepMiddleware` it knows no robots.txt, and minds
    the delays of the downloader only.

    On disk there is one folder for each origin and slot, in each of which Scrapy's queue for one
    host keeps its files. What Scrapy's downloader-aware queue left there is taken over.
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
        """Take the crawler, the kind of queue below, the folder, and what `close` gave for it.

        Raises:
            ConfigurationError: CONCURRENT_REQUESTS_PER_IP is set, or the folder was left by
                another kind of queue.
        """
        if int(crawler.settings["CONCURRENT_REQUESTS_PER_IP"] or 0):  # get() would warn for us
            raise ConfigurationError(
                "RepPriorityQueue paces hosts, not addresses: leave CONCURRENT_REQUESTS_PER_IP "
                "out, or set SCHEDULER_PRIORITY_QUEUE to another queue"
            )
        if startprios and not isinstance(startprios, dict):
            raise ConfigurationError(
                f"{key!r} was left by a crawl with another SCHEDULER_PRIORITY_QUEUE, and can't be "
                "read by RepPriorityQueue: resume it with that queue, or start with a new JOBDIR"
            )
        self.crawler = crawler
        self.key = key
        self._downstream_queue_cls = downstream_queue_cls
        self._start_queue_cls = start_queue_cls
        self._readiness = readiness or _readiness_of(crawler)
        self._slots = self._readiness.slots
        self._slots.listen(self._slot_changed)
        if self._readiness.policies is not None:
            self._readiness.policies.listen(self._origin_settled)
        self._count = 0
        self._lines: dict[str, _Line] = {}
        self._by_base: dict[str, _Line] = {}
        self._by_key: dict[str, _Slot] = {}
        self._turns: Turns[_Slot] = Turns()
        self._later = Later()
        self._unasked: deque[_Line] = deque()
        self._asked: dict[Origin, list[_Line]] = {}
        self._fresh_count = 0
        self._changed: set[str] = set()
        self._settled: list[Origin] = []
        self._alarm: CallLaterResult | None = None
        self._alarm_at = 0.0
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)
        for name, priorities in (startprios or {}).items():
            line = self._line(target_named(name), priorities=priorities)
            if line.count:
                self._enter(line)

    # Scrapy's interface

    def push(self, request: Request) -> None:
        """Take a request in.

        Raises:
            ValueError: it can't be written to disk.
        """
        leave_inherited_slot(request)
        base = base_of(request)
        line = self._by_base.get(base)
        if line is None:
            target = target_of(request, base)
            line = self._lines.get(target.name)
        if line is not None:
            line.requests.push(request)
            line.count += 1
            self._count += 1
            return
        line = self._line(target, base)
        try:
            line.requests.push(request)
        except BaseException:
            line.requests.close()
            raise
        line.count = 1
        self._enter(line)
        if len(self._asked) + self._fresh_count < self._readiness.prefetch_origins:
            self._ask_first(request)

    def pop(self) -> Request | None:
        """Hand out the next request; None while nobody is ready, of whom there may be many."""
        self._slots.take_stock()
        self._catch_up()
        self._ask_ahead()
        while (line := self._next()) is not None:
            request = line.requests.pop()
            if request is None:  # a queue below had nothing, or is damaged
                self._count -= line.count - len(line.requests)
                line.count = len(line.requests)
            else:
                self._count -= 1
                line.count -= 1
                self._slots.hand_out(request, line.slot.key)
            self._serve(line)
            if request is not None:
                return request
            self._catch_up()
        self._ask_ahead()  # for those who were found not to be ready
        self._set_alarm()
        return None

    def peek(self) -> Request | None:
        """What `pop` would hand out now.

        Raises:
            NotImplementedError: the queues below can't tell.
        """
        self._catch_up()
        line = self._next()
        return None if line is None else line.requests.peek()

    def close(self) -> dict[str, list[int]]:
        """Close all files; gives what is needed to open them again."""
        self._spider_closed()
        state = {name: line.requests.close() for name, line in self._lines.items()}
        for line in self._lines.values():
            line.slot.ready.clear()
        self._lines.clear()
        self._by_base.clear()
        self._by_key.clear()
        self._turns, self._later = Turns(), Later()
        self._unasked.clear()
        self._asked.clear()
        self._count = 0
        return state

    def __len__(self) -> int:
        return self._count

    def __contains__(self, slot: str) -> bool:
        return slot in self._by_key

    # What changes, from elsewhere

    def _slot_changed(self, key: str) -> None:
        if key in self._by_key:
            self._changed.add(key)
            wake(self.crawler)

    def _origin_settled(self, origin: Origin) -> None:
        if origin in self._asked:
            for line in self._asked[origin]:
                self._outlook(line)  # its pace holds from now on, however long it stays in memory
            self._settled.append(origin)
            wake(self.crawler)

    def _wake(self) -> None:
        self._alarm = None
        wake(self.crawler)

    def _set_alarm(self) -> None:
        at = self._later.next_at
        if at is None or is_closing(self.crawler) or (self._alarm and self._alarm_at <= at):
            return
        self._spider_closed()
        self._alarm_at = at
        self._alarm = call_later(max(0.0, at - time.monotonic()), self._wake)

    def _spider_closed(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    # Lines and slots

    def _line(self, target: Target, base: str = "", *, priorities: Iterable[int] = ()) -> _Line:
        slot = self._by_key.get(target.key) or _Slot(target.key)
        requests = ScrapyPriorityQueue(
            self.crawler,
            self._downstream_queue_cls,
            f"{self.key}/{folder_of(target.name)}" if self.key else "",
            priorities,
            start_queue_cls=self._start_queue_cls,
        )
        return _Line(target, base, slot, requests)

    def _enter(self, line: _Line) -> None:
        self._lines[line.name] = line
        if line.base:
            self._by_base[line.base] = line
        self._by_key.setdefault(line.slot.key, line.slot).line_count += 1
        self._count += line.count
        self._look_at(line)

    def _serve(self, line: _Line) -> None:
        """After a request was taken from the line that was first: the next one's turn."""
        slot = line.slot
        self._age(line)
        slot.ready.popleft()
        self._turns.drop(slot)
        if line.count:
            slot.ready.append(line)
        else:
            self._remove(line)
        if slot.ready:
            self._changed.add(slot.key)  # it has one more under way

    def _remove(self, line: _Line) -> None:
        slot = line.slot
        del self._lines[line.name]
        self._by_base.pop(line.base, None)
        line.requests.close()
        slot.line_count -= 1
        if not slot.line_count:
            del self._by_key[slot.key]
        if self.key:
            # As Scrapy does; a folder that is not empty stays.
            with suppress(OSError):
                Path(self.key, folder_of(line.name)).rmdir()

    def _age(self, line: _Line) -> None:
        self._fresh_count -= line.is_fresh
        line.is_fresh = False

    def _outlook(self, line: _Line) -> Outlook:
        """How things stand with a line.

        It is ready also if its robots.txt came, and is known no more: a policy may be evicted, or
        end, while a delay runs, and if it was asked for again each time nothing would ever be
        handed out. The middleware asks for it then.
        """
        outlook = self._readiness.of(line.origin, line.slot.key)
        if line.is_fresh and outlook.state in {State.UNASKED, State.ASKED}:
            return Outlook(State.READY)
        return outlook

    def _look_at(self, line: _Line) -> None:
        """Have a line wait for what it waits for, which is nothing if it is ready."""
        state, until = self._outlook(line)
        if state is State.READY:
            line.slot.ready.append(line)
            self._place(line.slot)
            return
        self._age(line)
        if state is State.UNASKED:
            self._unasked.append(line)
        elif state is State.ASKED:
            self._wait_for_robots_txt(line)
        else:
            self._later.put(line, time.monotonic() + until - time.time())

    def _wait_for_robots_txt(self, line: _Line) -> None:
        assert line.origin is not None  # noqa: S101 - others are always ready
        self._asked.setdefault(line.origin, []).append(line)

    def _place(self, slot: _Slot) -> None:
        """Have a slot wait for its turn, for a time, or for an event."""
        at = self._slots.ready_at(slot.key) if slot.ready else float("inf")
        if at <= time.monotonic():
            self._turns.put(slot, self._slots.active_count(slot.key))
            return
        self._turns.drop(slot)
        if at < float("inf"):
            self._later.put(slot, at)

    def _catch_up(self) -> None:
        """Deal with what has changed, and whose time has come."""
        changed, self._changed = self._changed, set()
        for key in changed:
            if key in self._by_key:
                self._place(self._by_key[key])
        settled, self._settled = self._settled, []
        for origin in settled:
            for line in self._asked.pop(origin, ()):
                line.is_fresh = True
                self._fresh_count += 1
                self._look_at(line)
        now = time.monotonic()
        while (item := self._later.pop(now)) is not None:
            if isinstance(item, _Line):
                self._look_at(item)
            elif isinstance(item, _Slot):
                self._place(item)

    def _next(self) -> _Line | None:
        """The line that is first, if it is still ready; else its slot goes where it belongs."""
        while (slot := self._turns.first()) is not None:
            line = slot.ready[0]
            if self._outlook(line).state is not State.READY:
                slot.ready.popleft()
                self._look_at(line)
                self._place(slot)
            elif self._slots.ready_at(slot.key) > time.monotonic():
                self._place(slot)
            else:
                return line
        return None

    # robots.txt, ahead of need

    def _ask_ahead(self) -> None:
        """Ask for as many robots.txt as should be on their way.

        Those of the next origins in any case; and more while nobody else is ready and idle, so
        that places are free for which nobody can be found.
        """
        while self._unasked and len(self._asked) < self._readiness.concurrent_fetches:
            is_ahead = len(self._asked) + self._fresh_count >= self._readiness.prefetch_origins
            if is_ahead and self._turns.least_active == 0:
                return
            self._ask_first()
            if self._settled:
                self._catch_up()

    def _ask_first(self, last: Request | None = None) -> None:
        """Ask for the robots.txt of the first line that needs it, if it still does.

        `last` is the request that was taken in last, if that is the occasion.
        """
        if not self._unasked:
            return
        line = self._unasked.popleft()
        if self._outlook(line).state is not State.UNASKED:
            self._look_at(line)
            return
        self._wait_for_robots_txt(line)
        request = None
        if last is not None and target_of(last, base_of(last)).name == line.name:
            request = last
        else:
            # It is asked for all the same where the queue below can't tell, or can't read it.
            with suppress(Exception):
                request = line.requests.peek()
        assert line.origin is not None  # noqa: S101 - others are always ready
        self._readiness.ask(line.origin, request)


def _readiness_of(crawler: Crawler) -> Readiness:
    """That of the middleware; without one, that of somebody who knows no robots.txt."""
    middleware = None
    with suppress(AttributeError):  # of a DOWNLOADER that keeps its middlewares to itself
        middleware = crawler.get_downloader_middleware(RepMiddleware)
    return Readiness(crawler, Slots(crawler)) if middleware is None else middleware.readiness
