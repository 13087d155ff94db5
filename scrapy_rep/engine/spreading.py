"""Requests that set out one after the other, with turns of the event loop between them.

Scrapy hands out as many requests at once as there are free places. What is sent together is
answered together, and goes on so: all these pages are worked on in the same turns, and what is made
for them lives at the same time. The collector of garbage meets it alive, again and again. One after
the other, pages cost up to a sixth less CPU time (`benchmarks/crawls.py`, shapes b and c).
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Awaitable

from scrapy.utils.asyncio import call_later

from .loops import Promise

_TURNS = 2  # of the event loop, from one request to the next
_LONG_SECONDS = 0.01  # one turn that takes so long is enough
_LIMIT_SECONDS = 0.1


class Spreading:
    """Lets requests go, each some turns after the one before.

    None waits for longer than the limit and these turns, however long turns take.
    """

    def __init__(self) -> None:
        self._is_open = False
        self._is_taken = False  # whether a request has gone in the last turns
        self._gone_at = 0.0  # when the last one went, monotonic
        self._waiting: deque[tuple[Promise[None], float]] = deque()  # and since when, monotonic

    def open(self) -> None:
        """Begin: the event loop runs."""
        self._is_open = True

    def turn(self) -> Awaitable[None] | None:
        """What to await before a request goes; None if it may go now."""
        if not self._is_open:
            return None
        if self._is_taken:
            promise: Promise[None] = Promise()
            self._waiting.append((promise, time.monotonic()))
            return promise
        self._is_taken = True
        self._wait()
        return None

    def _wait(self) -> None:
        self._gone_at = time.monotonic()
        call_later(0, self._turned, _TURNS - 1)

    def _turned(self, turns: int) -> None:
        now = time.monotonic()
        if turns and now - self._gone_at < _LONG_SECONDS:
            call_later(0, self._turned, turns - 1)
        elif not self._waiting:
            self._is_taken = False
        else:
            self._wait()
            self._let_go()
            while self._waiting and self._waiting[0][1] < now - _LIMIT_SECONDS:
                self._let_go()

    def _let_go(self) -> None:
        promise, _ = self._waiting.popleft()
        promise.keep(None)
