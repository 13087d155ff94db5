"""When the queue takes stock of requests in the middlewares.

They hold places, and no signal tells of those that end there. A look at all of them with each
request is the most that the queue costs. Where it is left out, no slot may wait for a free place.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from scrapy import Request
from scrapy.squeues import FifoMemoryQueue

from scrapy_rep import RepPriorityQueue
from scrapy_rep.queue.readiness import OriginState, Outlook
from tests.test_arrivals import Crawl
from tests.test_queue import FakeReadiness


class Queued:
    """Queues of a crawl over Scrapy's own downloader; requests go on when we say so."""

    def __init__(self, places: int = 8, *, usual_count: int = 64, queues: int = 1) -> None:
        settings = {"CONCURRENT_REQUESTS_PER_DOMAIN": places}
        self.places = places
        self.crawl = Crawl(settings, may_rest=False, usual_count=usual_count)
        self.slots = self.crawl.slots
        self.readiness = FakeReadiness(self.slots)
        self.queues = [
            RepPriorityQueue(
                self.crawl.crawler,
                FifoMemoryQueue,
                "",
                readiness=self.readiness,  # type: ignore[arg-type]
            )
            for _ in range(queues)
        ]
        self.look_count = 0
        take_stock = self.slots.take_stock

        def look() -> None:
            self.look_count += 1
            take_stock()

        self.slots.take_stock = look  # type: ignore[method-assign]

    def push(self, url: str) -> None:
        self.queues[0].push(Request(url))

    def pop(self) -> Request | None:
        """The next request, which goes into the middlewares."""
        found = next(filter(None, (queue.pop() for queue in self.queues)), None)
        if found is not None:
            self.crawl.downloader.active.add(found)
        return found

    def drop(self, request: Request) -> None:
        """A middleware does."""
        self.crawl.downloader.active.discard(request)

    def waits_for(self) -> Request:
        """The request that holds the only place of a host, of which another one is queued."""
        self.crawl.slot("a.example", 1)
        self.push("http://a.example/1")
        request = self.pop()
        assert request is not None
        self.push("http://a.example/2")
        assert self.pop() is None
        return request

    def goes_through(self, number: int, host: str = "a.example") -> None:
        """A request is queued, handed out and downloaded."""
        self.push(f"http://{host}/{number}")
        request = self.pop()
        assert request is not None
        self.crawl.slot(host, self.places)
        self.crawl.reaches(request, host)
        self.crawl.leaves(request)()

    def looks_in(self, pops: int, host: str = "a.example") -> int:
        """How often stock is taken while so many requests go through."""
        before = self.look_count
        for number in range(pops):
            self.goes_through(number, host)
        return self.look_count - before


@pytest.fixture
def queued() -> Queued:
    """A crawl of one host, of which one request is in the middlewares."""
    found = Queued()
    found.goes_through(-1)
    found.push("http://a.example/in-the-middlewares")
    assert found.pop() is not None
    assert not found.crawl.is_listening()
    return found


def test_now_and_then_while_nothing_depends_on_it(queued: Queued) -> None:
    assert queued.looks_in(64) == 2
    last = next(iter(queued.slots.out))
    queued.drop(last)
    assert queued.looks_in(32) == 1
    assert last not in queued.slots.out, "what ended is let go"


def test_while_nothing_is_in_the_middlewares_it_never_looks(queued: Queued) -> None:
    for request in [*queued.slots.out]:
        queued.drop(request)
    queued.slots.take_stock()
    assert queued.looks_in(100) == 0


def test_with_each_request_while_several_hosts_have_their_turn(queued: Queued) -> None:
    """Which of them is the least active depends on what ended."""
    for _ in range(3):
        queued.push("http://b.example/")
        queued.push("http://c.example/")
    before = queued.look_count
    for number in range(6):
        assert queued.pop() is not None
        assert queued.look_count == before + number + 1


def test_with_each_request_while_one_waits_for_a_robots_txt(queued: Queued) -> None:
    """It is fetched sooner where no request could be sent."""
    queued.readiness.outlooks["z.example"] = Outlook(OriginState.UNASKED)
    queued.readiness.concurrent_fetches = 0  # it goes on waiting
    queued.push("http://z.example/")
    assert queued.looks_in(10) == 10


def test_with_each_request_until_the_signal_of_arrivals_rests() -> None:
    """It rests at a look."""
    queued = Queued(usual_count=0)
    assert queued.looks_in(10) == 10


@pytest.mark.parametrize("has_slot", [True, False], ids=["a slot", "a slot that is not there yet"])
@pytest.mark.parametrize("usual_count", [64, 0], ids=["at rest", "listening"])
@pytest.mark.parametrize("places", [1, 2, 8])
def test_what_ended_keeps_no_slot_waiting(places: int, usual_count: int, *, has_slot: bool) -> None:
    queued = Queued(places, usual_count=usual_count)
    if has_slot:
        queued.crawl.slot("a.example", places)
    for number in range(3 * places + 1):
        queued.push(f"http://a.example/{number}")
    for _ in range(3):
        held = [queued.pop() for _ in range(places + 1)]
        assert held[-1] is None, "all places are taken"
        for request in held[:-1]:
            assert request is not None
            queued.drop(request)
    assert queued.pop() is not None


def test_a_slot_that_waits_when_arrivals_come_to_rest() -> None:
    """It was full while the signal was listened to."""
    queued = Queued(1, usual_count=0)
    request = queued.waits_for()
    queued.slots.arrivals.usual_count = 64
    assert queued.pop() is None
    assert not queued.crawl.is_listening()
    queued.drop(request)
    assert queued.pop() is not None


def test_a_slot_that_waits_when_a_robots_txt_is_on_its_way() -> None:
    """The signal is listened to for a while then."""
    queued = Queued(1)
    request = queued.waits_for()
    queued.slots.listen_to_requests((lambda _: None, lambda _: None))
    assert queued.pop() is None
    queued.slots.listen_to_requests(None)
    assert queued.pop() is None
    assert not queued.crawl.is_listening()
    queued.drop(request)
    assert queued.pop() is not None


def test_a_host_that_is_held_waits_for_no_place(queued: Queued) -> None:
    queued.readiness.outlooks["z.example"] = Outlook(OriginState.HELD, time.time() + 1000)
    queued.push("http://z.example/")
    queued.slots._tell("z.example")
    assert queued.looks_in(10) == 0


def test_places_that_are_free_take_no_look(queued: Queued) -> None:
    """Others are queued, so that the slot is put in its place with each that leaves."""
    for number in range(70):
        queued.push(f"http://a.example/queued/{number}")
    before = queued.look_count
    for _ in range(64):
        request = queued.pop()
        assert request is not None
        queued.crawl.reaches(request, "a.example")
        queued.crawl.leaves(request)()
    assert queued.look_count == before + 2


def test_one_look_is_enough_for_all_that_a_request_changes() -> None:
    queued = Queued(1)
    for host in ("a.example", "b.example"):
        queued.crawl.slot(host, 1)
        for number in range(3):
            queued.push(f"http://{host}/{number}")
    assert queued.pop() is not None
    assert queued.pop() is not None
    before = queued.look_count
    assert queued.pop() is None, "all places are taken"
    assert queued.look_count == before + 1


def test_now_and_then_again_once_no_slot_waits(queued: Queued) -> None:
    for number in range(9):
        queued.push(f"http://a.example/more/{number}")
    held = [queued.pop() for _ in range(8)]
    assert held[-1] is None
    for request in [*queued.slots.out][1:]:
        queued.drop(request)
    assert queued.looks_in(1) == 1
    while queued.pop() is not None:
        pass
    for request in [*queued.slots.out][1:]:
        queued.drop(request)
    queued.slots.take_stock()
    assert queued.looks_in(32) == 1


def test_a_queue_that_is_closed_holds_nothing() -> None:
    queued = Queued(1)
    queued.crawl.slot("a.example", 1)
    for number in range(2):
        queued.push(f"http://a.example/{number}")
    assert [queued.pop() is None for _ in range(2)] == [False, True]
    queue = queued.queues[0]
    queue.close()
    assert (len(queue), queue._full) == (0, set())


def test_the_same_request_again() -> None:
    """Middlewares may return the request itself to have it queued again: it holds one place."""
    queued = Queued()
    queued.crawl.slot("a.example")
    request = Request("http://a.example/")
    for _ in range(5):
        queued.queues[0].push(request)
        assert queued.pop() is request
        queued.drop(request)
    assert queued.slots.active_count("a.example") == 1


def test_the_same_request_again_for_another_slot() -> None:
    """What can be written to disk is in one queue, and what cannot in another, which comes first.

    So the queue that waits for the place does not take stock before it is given up.
    """
    queued = Queued(1, queues=2)
    first, second = queued.queues
    queued.crawl.slot("a.example", 1)
    request = Request("http://a.example/1")
    second.push(request)
    assert queued.pop() is request
    second.push(Request("http://a.example/2"))
    assert queued.pop() is None
    queued.drop(request)
    request.meta["download_slot"] = "b.example"
    first.push(request)
    assert queued.pop() is request
    assert queued.pop() is not None, "the place is free"


# Whatever happens: requests reach the downloader, are dropped, leave; Scrapy forgets idle slots;
# robots.txt files are fetched; middlewares return requests, or choose slots.
KINDS = ("forgets", "fetches", "returns", "moves", "strays")
MIXES = [(), *((kind,) for kind in KINDS), KINDS[:2], KINDS[:3], KINDS[:4], KINDS]


class Steps:
    """One random crawl of some hosts."""

    def __init__(self, seed: int, mix: tuple[str, ...]) -> None:
        self.draw = draw = random.Random(seed)
        self.mix = mix
        self.queued = Queued(
            draw.choice([1, 1, 2, 3, 8]),
            usual_count=draw.choice([0, 60, 64, 64]),
            queues=draw.choice([1, 2]),
        )
        self.crawl = self.queued.crawl
        self.hosts = [f"h{number}.example" for number in range(draw.choice([1, 2, 3, 6]))]
        self.limit = draw.choice([4, 16, 1000])  # CONCURRENT_REQUESTS
        self.hosts_of: dict[Request, str] = {}
        self.out: list[Request] = []
        self.inside: list[Request] = []
        self.ending: list[Callable[[], None]] = []
        self.is_fetching = False
        self.steps = [self.push] * 6 + [self.reach] * 5 + [self.leave] * 5 + [self.end] * 3
        self.steps += [self.drop] * draw.choice([1, 5])
        self.steps += [self.forget] * ("forgets" in mix) + [self.fetch] * ("fetches" in mix)

    def taken_from(self, some: list[Request]) -> Request:
        return some.pop(self.draw.randrange(len(some)))

    def push(self, request: Request | None = None) -> None:
        if request is None:
            host = self.draw.choice(self.hosts)
            request = Request(f"http://{host}/{len(self.hosts_of)}")
            self.hosts_of[request] = host
        self.draw.choice(self.queued.queues).push(request)

    def pop(self, most: int) -> None:
        for _ in range(most):
            if len(self.crawl.downloader.active) >= self.limit:
                return
            request = self.queued.pop()
            if request is None:
                return
            self.out.append(request)

    def reach(self) -> None:
        if self.out:
            request = self.taken_from(self.out)
            host = self.hosts_of[request]
            if "strays" in self.mix and self.draw.random() < 0.1:
                host = self.draw.choice(self.hosts)
            self.crawl.slot(host, self.queued.places)
            self.crawl.reaches(request, host)
            self.inside.append(request)

    def drop(self) -> None:
        if self.out:
            request = self.taken_from(self.out)
            self.queued.drop(request)
            if "returns" in self.mix and self.draw.random() < 0.3:
                request.meta.pop("download_slot", None)
                self.push(request)
            elif "moves" in self.mix and self.draw.random() < 0.3:
                self.hosts_of[request] = host = self.draw.choice(self.hosts)
                request.meta["download_slot"] = host
                self.push(request)

    def leave(self) -> None:
        slots = self.crawl.downloader.slots
        sent = [one for one in self.inside if one in slots[one.meta["download_slot"]].transferring]
        if sent:
            request = self.draw.choice(sent)
            self.inside.remove(request)
            self.ending.append(self.crawl.leaves(request))

    def end(self) -> None:
        for ends in self.ending:
            ends()
        self.ending.clear()

    def forget(self) -> None:
        slots = self.crawl.downloader.slots
        for host in [host for host, slot in slots.items() if not slot.active]:
            del slots[host]

    def fetch(self) -> None:
        self.is_fetching = not self.is_fetching
        told = (lambda _: None, lambda _: None) if self.is_fetching else None
        self.queued.slots.listen_to_requests(told)

    def are_places_kept(self) -> bool:
        slots = self.crawl.downloader.slots.values()
        return all(len(s.transferring) + len(s.queue) <= self.queued.places for s in slots)

    def finish(self) -> None:
        """After each request that ends, the engine asks for the next."""
        if self.is_fetching:
            self.fetch()
        self.pop(50)
        while self.out or self.inside or self.ending:
            self.draw.choice([self.reach, self.drop, self.leave, self.end])()
            self.pop(50)


@pytest.mark.parametrize("mix", MIXES, ids="-".join)
@pytest.mark.parametrize("seed", range(25))
def test_every_request_has_its_turn(seed: int, mix: tuple[str, ...]) -> None:
    steps = Steps(seed, mix)
    for _ in range(steps.draw.choice([50, 300])):
        steps.draw.choice(steps.steps)()
        if steps.draw.random() < 0.8:
            steps.pop(steps.draw.choice([1, 1, 50]))
        assert "strays" in mix or "forgets" in mix or steps.are_places_kept()
    steps.finish()
    assert sum(map(len, steps.queued.queues)) == 0
    under_way: Any = steps.queued.slots._under_way
    steps.queued.slots.take_stock()
    assert (under_way.out_counts, under_way._inside_counts) == ({}, {})
