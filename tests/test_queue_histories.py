"""Random histories of the queue: no request is lost, and none waits without a clock.

Time passes only as far as the alarm that the queue set, so that a wait without one stands still.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.squeues import FifoMemoryQueue
from scrapy.utils.test import get_crawler

from scrapy_rep import RepPriorityQueue
from scrapy_rep.engine.clock import Monotonic
from scrapy_rep.engine.downloader import EVENT, SLOT, slot_key
from scrapy_rep.pace.waits import READY, Wait, Why
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.queue import priority_queue
from scrapy_rep.signals import REFUSED_AT, REFUSED_UNTIL
from tests.at_length import at_length

HISTORIES = range(29_000, 30_000)  # in 29,526 a lane was once in two places
MORE_HISTORIES = range(20_000, 29_000)
STEPS = 25
HOSTS = ("a.example", "b.example", "c.example")
TIMED = (Why.HELD, Why.SHUT, Why.RESTING)
LONGEST_SECONDS = 4.0  # of a wait in a history
SOON_SECONDS = 1.01  # in which the queue notices an end that no event tells


class World:
    """The clock, the downloader and the sites of a queue, which a history changes at random."""

    def __init__(self, crawler: Crawler, seed: int) -> None:
        self.now = 1e6
        self.random = random.Random(seed)
        self.crawler = crawler
        self.slots: dict[str, Any] = {}
        self.active: set[Request] = set()
        self.concurrent_fetches = self.random.choice((1, 2, 64))
        self.known: dict[Origin, Wait] = {}
        self.fetching: set[Origin] = set()
        self.paced: set[str] = set()
        self.visitable_at: dict[str, float] = {}
        self.alarm: tuple[float, Callable[[], None]] | None = None
        self.pushed: list[str] = []
        self.popped: list[str] = []
        crawler.engine = SimpleNamespace(  # type: ignore[assignment]
            spider=object(),
            _slot=SimpleNamespace(closing=None, nextcall=SimpleNamespace(schedule=lambda: None)),
            downloader=SimpleNamespace(
                slots=self.slots,
                per_slot_settings={},
                domain_concurrency=2,
                active=self.active,
                _delay=0.0,
                get_slot_key=slot_key,
            ),
        )
        self.queue = RepPriorityQueue(
            crawler,
            FifoMemoryQueue,
            "",
            waits=self,  # type: ignore[arg-type]
        )

    # The clock

    def call_later(self, delay: float, ring: Callable[[], None]) -> Any:
        """Take the alarm of the queue, which has one at a time."""
        assert self.alarm is None
        self.alarm = self.now + delay, ring
        return SimpleNamespace(cancel=self.no_alarm)

    def no_alarm(self) -> None:
        self.alarm = None

    def pass_until(self, at: float) -> None:
        self.now = max(self.now, at)
        if self.alarm is not None and self.alarm[0] <= self.now:
            ring = self.alarm[1]
            self.alarm = None
            ring()

    # What requests wait for

    def listen(self, origin_settled: Callable[[Origin], None]) -> None:
        self.settled = origin_settled

    def of(self, origin: Origin) -> Wait:
        if origin in self.fetching:
            return Wait(Why.FETCHING, EVENT)
        wait = self.known.get(origin, Wait(Why.UNFETCHED, EVENT))
        is_over = wait == READY or wait.until <= self.now
        return self.of_host(origin.host) if is_over else wait

    def of_host(self, host: str) -> Wait:
        at = self.visitable_at.get(host, 0.0)
        return Wait(Why.PACED, Monotonic(at)) if host in self.paced and at > self.now else READY

    def hand_out(self, origin: Origin, request: Request) -> None:
        self.visitable_at[origin.host] = self.now + self.random.uniform(0.0, 1.0)

    def note_delay(self, origin: Origin) -> None:
        pass

    def is_paced(self, host: str) -> bool:
        return host in self.paced

    def is_queued(self, origin: Origin) -> bool:
        return self.random.random() < 0.2

    def fetch(self, origin: Origin, request: Request | None) -> None:
        self.fetching.add(origin)
        if self.random.random() < 0.1:
            self.end_fetch(origin)

    def end_fetch(self, origin: Origin) -> None:
        """A file comes, mostly with an event, and may be forgotten at once."""
        self.fetching.discard(origin)
        if self.random.random() < 0.9:
            self.known[origin] = self.some_wait()
        if self.random.random() < 0.8:
            self.settled(origin)

    def some_wait(self) -> Wait:
        if self.random.random() < 0.6:
            return READY
        seconds = self.random.uniform(0.0, LONGEST_SECONDS)
        return Wait(self.random.choice(TIMED), Monotonic(self.now + seconds))

    # The steps of a history

    def push(self) -> None:
        meta: dict[str, Any] = {}
        if self.random.random() < 0.2:
            meta[SLOT] = self.random.choice((*HOSTS, "other"))
        if self.random.random() < 0.1:
            meta["dont_obey_robotstxt"] = True
        if self.random.random() < 0.1:
            until = self.now + self.random.uniform(0.0, LONGEST_SECONDS)
            meta |= {REFUSED_AT: self.now - 1, REFUSED_UNTIL: until}
        port = self.random.choice(("", ":81"))
        url = f"http://{self.random.choice(HOSTS)}{port}/{len(self.pushed)}"
        self.pushed.append(url)
        self.queue.push(Request(url, meta=meta, priority=self.random.randrange(2)))

    def pop(self) -> None:
        self.now += 1e-6
        request = self.queue.pop()
        if request is None:
            return
        self.popped.append(request.url)
        if self.random.random() < 0.1:
            return  # a middleware drops it
        self.active.add(request)
        key = request.meta[SLOT] = slot_key(request)
        self.slot(key).active.add(request)

    def slot(self, key: str) -> Any:
        return self.slots.setdefault(
            key, SimpleNamespace(active=set(), concurrency=2, delay=0.0, queue=[])
        )

    def end(self) -> None:
        """A request ends, also one that did not come from the queue."""
        inside = [(slot, one) for slot in self.slots.values() for one in slot.active]
        if inside:
            slot, request = self.random.choice(inside)
            if self.random.random() < 0.9:
                self.crawler.signals.send_catch_log(
                    signals.request_left_downloader, request=request, spider=None
                )
                if self.random.random() < 0.3:
                    self.pop()  # before it has left the slot
            slot.active.discard(request)
            self.active.discard(request)

    def send_past(self) -> None:
        key = self.random.choice(HOSTS)
        self.slot(key).active.add(Request(f"http://{key}/past", meta={SLOT: key}))

    def come(self) -> None:
        if self.fetching:
            self.end_fetch(self.random.choice(sorted(self.fetching, key=str)))

    def change(self) -> None:
        """A policy is forgotten or replaced, or a host gets or loses its delay."""
        host = self.random.choice(HOSTS)
        origin = Origin("http", host, self.random.choice((80, 81)))
        if self.random.random() < 0.5:
            self.known.pop(origin, None)
        elif origin in self.known:
            self.known[origin] = self.some_wait()
        self.paced ^= {host} if self.random.random() < 0.3 else set()

    def wait(self) -> None:
        self.pass_until(self.now + self.random.uniform(0.0, 1.5))

    def live(self) -> None:
        """A history, and an end at which nothing is in the way any more."""
        steps = [self.push, self.pop, self.end] * 2
        steps += [self.pop, self.come, self.send_past, self.change, self.wait]
        for _ in range(STEPS):
            self.random.choice(steps)()
            told = sum(count for _, _, count, _ in self.queue.waiting())
            assert len(self.queue) == told == len(self.pushed) - len(self.popped)

    def go_on(self) -> None:
        """All ends, some without a word; pop until the queue is empty."""
        last_at = self.now + 2 * LONGEST_SECONDS + (2 + len(self.queue)) * SOON_SECONDS
        while len(self.queue):
            while self.fetching or any(slot.active for slot in self.slots.values()):
                self.come()
                self.end()
            before = len(self.popped)
            self.pop()
            if len(self.queue) and len(self.popped) == before:
                assert self.alarm is not None, "a wait without a clock"
                assert self.alarm[0] <= self.now + SOON_SECONDS
                assert self.now < last_at, f"{len(self.queue)} requests wait for nothing"
                self.pass_until(self.alarm[0])


@contextmanager
def clock_of(world: Callable[[], World]) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "monotonic", lambda: world().now)
        patch.setattr(time, "time", lambda: world().now)
        patch.setattr(priority_queue, "call_later", lambda *given: world().call_later(*given))
        yield


@pytest.mark.parametrize("histories", [HISTORIES, *at_length([MORE_HISTORIES])], ids=str)
def test_random_histories_lose_no_request_and_wait_by_a_clock(histories: range) -> None:
    worlds: list[World] = [SimpleNamespace(now=0.0)]  # type: ignore[list-item]
    with clock_of(lambda: worlds[-1]):
        for seed in histories:
            if seed % 50 == 0:  # each queue listens to the signals of its crawl to the end
                crawler = get_crawler(Spider)
            worlds[:] = [world := World(crawler, seed)]
            try:
                world.live()
                world.go_on()
            except Exception as error:
                raise AssertionError(f"history {seed}") from error
            assert sorted(world.popped) == sorted(world.pushed), f"history {seed}"
            world.queue.close()
