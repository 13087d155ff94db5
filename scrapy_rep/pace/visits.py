"""The times at which hosts with a delay may be visited next, for all crawls of one thread.

A host with a delay gets one request at a time. After the answer or the failure of a request, the
host gets the next request when the delay has passed. So the site never sees a shorter gap. It does
not matter which slot, connection or middleware a request takes on its way.

A request takes its turn after all middlewares. So no request with a turn waits for a middleware. If
a middleware drops a request, or answers it from a cache, this request costs no delay.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple
from weakref import ref

from scrapy import Request
from scrapy.utils.asyncio import call_later

from scrapy_rep.engine.clock import Monotonic
from scrapy_rep.engine.downloader import EVENT, NEVER
from scrapy_rep.engine.loops import Promise
from scrapy_rep.protocol.access.origin import Origin

if TYPE_CHECKING:
    from scrapy.utils.asyncio import CallLaterResult

_LOOK_SECONDS = 0.2  # until the next look whether a turn ended without a signal
_FEW = 256  # hosts; with more, those with a delay that has passed are forgotten


class OriginDelay(NamedTuple):
    """The delay of an origin, from its policy.

    Attributes:
        origin: the origin.
        seconds: the least time between two requests.
        until: when this delay ends, because another pace may apply then.
        last_at: when the origin was visited last, as far as the policy knows.
    """

    origin: Origin
    seconds: float
    until: Monotonic = EVENT
    last_at: Monotonic = NEVER


@dataclass(slots=True, eq=False)
class Visit:
    """A request that has its turn at a host, or waits for it.

    Attributes:
        own_seconds: the delay from its own policy.
        is_over: tells whether the visit has ended; needed if no signal came at the end.
        began_at: when its turn came; monotonic seconds.
        seconds: the delay that must pass before the visit and after it.
    """

    request: Request
    own_seconds: float
    is_over: Callable[[Visit], bool]
    promise: Promise[None] = field(default_factory=Promise)
    began_at: float = NEVER
    seconds: float = 0.0


@dataclass(slots=True, eq=False)
class _Host:
    """The record of one host with a delay.

    Attributes:
        delays: the delays of its origins, by origin and crawl.
        last_at: when it was visited last.
        last: the request that visited it last.
        owed_seconds: the delay that must pass after that visit.
        visit: the request that has its turn.
        waiting: the requests that wait for a turn.
    """

    name: str
    delays: dict[tuple[Origin, int], OriginDelay] = field(default_factory=dict)
    last_at: Monotonic = NEVER
    last: ref[Request] | None = None
    owed_seconds: float = 0.0
    visit: Visit | None = None
    waiting: deque[Visit] = field(default_factory=deque)
    timer: CallLaterResult | None = None

    def delay_seconds(self) -> float:
        """The longest delay of its origins; it applies to all ports of the host."""
        now = time.monotonic()
        return max(
            (delay.seconds for delay in self.delays.values() if now < delay.until), default=0.0
        )

    @property
    def next_at(self) -> Monotonic:
        """When it may be visited next."""
        return Monotonic(self.last_at + max(self.delay_seconds(), self.owed_seconds))


class Visits:
    """The records of the hosts with a delay that the crawls of a thread visit."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Host] = {}
        self._sweep_at = _FEW

    def __bool__(self) -> bool:
        """Whether any host has a delay."""
        return bool(self._hosts)

    def __contains__(self, name: str) -> bool:
        """Whether a host has a delay."""
        return name in self._hosts

    def leave(self, by: object) -> None:
        """Forget the delays of a crawl that has ended."""
        for host in list(self._hosts.values()):
            host.delays = {key: delay for key, delay in host.delays.items() if key[1] != id(by)}
            self._look_at(host)

    def note(self, delay: OriginDelay, by: object) -> None:
        """Note the delay of an origin for a crawl; with 0 seconds, forget its delay."""
        host = self._hosts.get(delay.origin.host)
        key = delay.origin, id(by)
        if delay.seconds:
            host = self._record(delay)
            host.delays[key] = delay
        elif host is not None and host.delays.pop(key, None) is not None:
            self._next(host)

    def _record(self, delay: OriginDelay) -> _Host:
        """The record of the host of a delay; a new one begins with what the policy knows."""
        name = delay.origin.host
        host = self._hosts.get(name)
        if host is not None:
            return host
        if len(self._hosts) >= self._sweep_at:
            now = time.monotonic()
            for one in list(self._hosts.values()):
                if one.visit is None and not one.waiting and one.next_at < now:
                    del self._hosts[one.name]
            self._sweep_at = max(_FEW, 2 * len(self._hosts))
        host = self._hosts[name] = _Host(name)
        host.last_at = delay.last_at
        return host

    def ready_at(self, name: str) -> Monotonic:
        """When a host may be visited; `EVENT` while a request has, or waits for, a turn."""
        host = self._hosts.get(name)
        if host is None:
            return NEVER
        self._look_at(host)
        return EVENT if host.visit is not None or host.waiting else host.next_at

    def seconds(self, name: str) -> float:
        """The delay between two visits of a host, as far as is known."""
        host = self._hosts.get(name)
        return 0.0 if host is None else max(host.delay_seconds(), host.owed_seconds)

    def last_at(self, name: str) -> Monotonic:
        """When a host was visited last, as far as is known."""
        host = self._hosts.get(name)
        return NEVER if host is None else host.last_at

    async def turn(
        self,
        request: Request,
        delay: OriginDelay,
        is_over: Callable[[Visit], bool],
        *,
        is_urgent: bool,
    ) -> None:
        """Wait for the turn of a request; it comes at once if its host has no delay.

        An urgent request goes before all others that wait.
        """
        host = self._record(delay) if delay.seconds else self._hosts.get(delay.origin.host)
        if host is None:
            return
        if host.visit is not None and host.visit.request is request:
            self.visited(host.name, request)  # its first visit ended without a signal
        visit = Visit(request, delay.seconds, is_over)
        if is_urgent:
            host.waiting.appendleft(visit)
        else:
            host.waiting.append(visit)
        self._next(host)
        try:
            await visit.promise
        except BaseException:
            if host.visit is visit:
                self._end(host)
            else:
                host.waiting.remove(visit)
            raise

    def visited(self, name: str, request: Request) -> Visit | None:
        """Note that a request has left the downloader; return the turn that it had."""
        host = self._hosts.get(name)
        if host is None:
            return None
        host.last_at = Monotonic(time.monotonic())
        host.last = ref(request)
        visit = host.visit
        if visit is None or visit.request is not request:
            return None
        self._end(host)
        return visit

    def was_last(self, name: str, request: Request) -> bool:
        """Whether a request was the last visit of a host; also if the host has no delay."""
        host = self._hosts.get(name)
        return host is None or (host.last is not None and host.last() is request)

    def give_up(self, name: str, request: Request) -> None:
        """End the turn of a request that is not sent; no delay follows it."""
        host = self._hosts.get(name)
        if host is not None and host.visit is not None and host.visit.request is request:
            self._end(host)

    def _look_at(self, host: _Host) -> None:
        """End a turn that is over."""
        visit = host.visit
        if visit is not None and visit.is_over(visit):
            self.visited(host.name, visit.request)

    def _end(self, host: _Host) -> None:
        host.visit = None
        self._next(host)

    def _next(self, host: _Host) -> None:
        """Give the turn to the first request that waits; if it is too early, try again later."""
        timer, host.timer = host.timer, None
        if timer is not None:
            timer.cancel()
        if not host.waiting:
            return
        given = None
        if host.visit is None:
            first, now = host.waiting[0], time.monotonic()
            wait_seconds = max(host.next_at, host.last_at + first.own_seconds) - now
            if wait_seconds > 0:
                host.timer = call_later(wait_seconds, self._next, host)
                return
            given = host.visit = host.waiting.popleft()
            given.began_at = now
            given.seconds = host.owed_seconds = max(host.delay_seconds(), given.own_seconds)
        if host.waiting:
            host.timer = call_later(_LOOK_SECONDS, self._look_and_go_on, host)
        if given is not None:
            given.promise.keep(None)  # what waits for it may call this method again

    def _look_and_go_on(self, host: _Host) -> None:
        self._look_at(host)
        self._next(host)
