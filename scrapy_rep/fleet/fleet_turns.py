"""Turns over the fleet for requests that were not queued: robots.txt again, and a page's media.

A request of the queue has its turn when it is popped. Others ask for one: it closes the lane as a
popped request does, once what closes the lane has left, and is told and done in the same ways.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from scrapy_rep.engine.slot_keys import slot_key
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri

from .batch import HeldRequest, Wish
from .fleet_lanes import FleetLanes
from .ledger import Ledger
from .out import Out
from .talk import Talk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy import Request

    from scrapy_rep.engine.slots import Slots

    from .redis_exchange import Turn

_LOOK_SECONDS = 0.05  # how soon a worker that was not heard of learns whether it was succeeded


class FleetTurns:
    """The turns of one worker.

    Attributes:
        factor: by how much the worker is to be slower than the site allows.
    """

    factor = 1

    def __init__(
        self, ledger: Ledger, talk: Talk, lanes: FleetLanes, out: Out, slots: Slots
    ) -> None:
        self._ledger = ledger
        self._talk = talk
        self._lanes = lanes
        self._out = out
        self._slots = slots
        self._tasks: set[asyncio.Task[None]] = set()
        self._kept: set[Request] = set()
        self._waiting: dict[int, asyncio.Future[Turn]] = {}

    def is_open(
        self,
        origin: Origin,
        delay_seconds: float,
        request: Request,
        *,
        is_awaited: Callable[[], bool] = lambda: False,
    ) -> bool:
        """Whether a request need not wait.

        A page that waits for its robots.txt (`is_awaited`) lets that have its turn, and leaves one
        delay later.
        """
        if not self._lanes.needs_turns(origin, delay_seconds):
            return True
        if not self._talk.is_leased:
            return False  # others may have been given its turn
        lane = str(origin)
        return self._out.is_for(lane, request) or (self._out.is_on_its_way(lane) and is_awaited())

    async def wait(
        self,
        origin: Origin,
        delay_seconds: float,
        request: Request,
        *,
        is_awaited: Callable[[], bool] = lambda: False,
    ) -> None:
        """Come back when it is the turn of a request."""
        while not self.is_open(origin, delay_seconds, request, is_awaited=is_awaited):
            if request in self._out and not self._talk.is_leased:
                await asyncio.sleep(_LOOK_SECONDS)
            else:
                is_open = partial(self.is_open, origin, delay_seconds, request)
                wish = Wish(str(origin), delay_seconds)
                await self._have(wish, request, partial(is_open, is_awaited=is_awaited))

    async def _have(self, wish: Wish, request: Request, is_open: Callable[[], bool]) -> None:
        """Have a turn, unless the worker is succeeded meanwhile, or it needs none any more."""
        key = self._ledger.wish(wish)
        granted = self._waiting[key] = asyncio.get_running_loop().create_future()
        self._talk.wake()
        held = None
        try:
            while not granted.done() and not is_open():
                await asyncio.wait([granted], timeout=_LOOK_SECONDS)
            if not granted.done():
                self._ledger.withdraw(key)
                return
            turn = granted.result()
            held = HeldRequest(turn.id, turn.lane, turn.delay_seconds, 1, b"", is_turn=True)
            self._ledger.grant(key, held)
            await asyncio.sleep(turn.wait_seconds or 0.0)
        except BaseException:
            self._ledger.withdraw(key)
            if held is not None:
                self._ledger.done(held)
            self._talk.wake()
            raise
        finally:
            del self._waiting[key]
        if held.id in self._ledger.held:
            held.request = request
            self._out.add(held)
            self._lanes.keep_pace(held, slot_key(request))

    def keep_back(self, request: Request, held: HeldRequest) -> None:
        """A request has come to its slot, and others may have been given its turn.

        So it is with what was in the middlewares of a worker that was frozen: it needs another.
        """
        self._slots.keep_back(request, time.monotonic() + 2 * _LOOK_SECONDS)
        if request in self._kept:
            return
        self._kept.add(request)
        task = asyncio.get_running_loop().create_task(self._kept_back(request, held))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(lambda _: self._kept.discard(request))

    async def _kept_back(self, request: Request, held: HeldRequest) -> None:
        with suppress(InvalidUri):
            origin = Origin.of(request.url)
            if origin is None:
                return
            turn = asyncio.ensure_future(self.wait(origin, held.delay_seconds, request))
            while not turn.done() and self._slots.is_waiting(request):
                # Its slot would keep back the one for whose departure it waits, too.
                if self._out.waits_behind(str(origin), request):
                    break
                self._slots.keep_back(request, time.monotonic() + 2 * _LOOK_SECONDS)
                await asyncio.wait([turn], timeout=_LOOK_SECONDS)
            turn.cancel()

    def heed(self, turns: Iterable[Turn]) -> None:
        """Take note of what came of wishes."""
        for turn in turns:
            waiter = self._waiting.get(turn.key)
            if turn.wait_seconds is not None and waiter is not None and not waiter.done():
                waiter.set_result(turn)

    def end(self, request: Request) -> None:
        """A request has ended, or will not be sent."""
        self._out.end(request)
