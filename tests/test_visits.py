"""The book of visits: one request at a time to a host with a delay, and the next a delay later."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from scrapy import Request

from scrapy_rep.engine.clock import Monotonic
from scrapy_rep.engine.downloader import EVENT
from scrapy_rep.pace.visits import OriginDelay, Visit, Visits
from scrapy_rep.protocol.access.origin import Origin
from tests.played import in_a_loop

HOST = "a.example"
ORIGIN = Origin("http", HOST, 80)
OTHER_PORT = Origin("http", HOST, 81)
DELAY = 0.2
LATE = 0.01  # that a clock may be off


class Book:
    """A book, and when which request had its turn."""

    def __init__(self) -> None:
        self.visits = Visits()
        self.over: set[Request] = set()
        self.turns: list[str] = []
        self.at: list[float] = []

    def is_over(self, visit: Visit) -> bool:
        return visit.request in self.over

    async def turn(
        self, request: Request, seconds: float = DELAY, *, origin: Origin = ORIGIN, **named: Any
    ) -> None:
        delay = OriginDelay(origin, seconds, **named)
        await self.visits.turn(request, delay, self.is_over, is_urgent="robots" in request.url)
        self.turns.append(request.url.rpartition("/")[2])
        self.at.append(time.monotonic())

    def comes(self, name: str, seconds: float = DELAY, **named: Any) -> tuple[Request, Any]:
        """A request that waits for its turn, and the task that does."""
        request = Request(f"http://{HOST}/{name}")
        return request, asyncio.ensure_future(self.turn(request, seconds, **named))


def test_host_is_ready_after_its_longest_delay() -> None:
    """Two ports share it, and the longer of their delays; a fetch of the policy was a visit too."""

    async def work(book: Book) -> None:
        now = Monotonic(time.monotonic())
        book.visits.note(OriginDelay(ORIGIN, 5.0, last_at=now), book)
        book.visits.note(OriginDelay(OTHER_PORT, 9.0), book)
        assert book.visits.seconds(HOST) == 9.0
        assert book.visits.ready_at(HOST) == now + 9.0
        book.visits.note(OriginDelay(OTHER_PORT, 0.0), book)
        assert book.visits.ready_at(HOST) == now + 5.0
        book.visits.note(OriginDelay(ORIGIN, 5.0, until=now), book)
        assert book.visits.seconds(HOST) == 0.0

    in_a_loop(lambda: work(Book()))


def test_robots_txt_goes_before_pages() -> None:
    async def work(book: Book) -> None:
        tasks = [book.comes(name)[1] for name in ("1", "2", "robots.txt")]
        await tasks[0]
        for _ in range(2):
            visit = book.visits._hosts[HOST].visit
            assert visit is not None
            book.visits.visited(HOST, visit.request)
            await asyncio.sleep(DELAY + 0.05)
        assert book.turns == ["1", "robots.txt", "2"]

    in_a_loop(lambda: work(Book()))


def test_turn_of_a_request_that_is_not_sent_costs_nothing() -> None:
    async def work(book: Book) -> None:
        first, one = book.comes("1", 5.0)
        await one
        _, two = book.comes("2", 5.0)
        book.visits.give_up(HOST, first)
        await asyncio.wait_for(two, 1)

    in_a_loop(lambda: work(Book()))


@pytest.mark.parametrize("has_turn", [True, False])
def test_cancelled_turn_delays_no_other(has_turn: bool) -> None:
    async def work(book: Book) -> None:
        first, one = book.comes("1")
        _, two = book.comes("2")
        _, three = book.comes("3")
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        if has_turn:
            book.visits.visited(HOST, first)
            await asyncio.sleep(DELAY - 0.05)
        two.cancel()
        await asyncio.wait([two])
        book.visits.visited(HOST, first)
        await asyncio.wait_for(three, 1)
        await one
        assert book.turns == ["1", "3"]

    in_a_loop(lambda: work(Book()))


def test_one_request_may_be_yielded_twice() -> None:
    """A middleware returned it, and a downloader of the user's told nothing of its first visit."""

    async def work(book: Book) -> None:
        request, task = book.comes("1")
        await task
        await asyncio.wait_for(book.turn(request), 1)
        assert book.at[1] - book.at[0] >= DELAY - LATE

    in_a_loop(lambda: work(Book()))


def test_delay_outlives_the_crawl_that_set_it() -> None:
    async def work(book: Book) -> None:
        crawls = "one", "other"
        book.visits.note(OriginDelay(ORIGIN, 5.0), crawls[0])
        book.visits.note(OriginDelay(ORIGIN, 3.0), crawls[1])
        first, task = book.comes("1", 3.0)
        await task
        book.over.add(first)
        book.visits.leave(crawls[0])
        assert book.visits.seconds(HOST) == 5.0, "before and after the visit"
        assert book.visits.ready_at(HOST) < EVENT

    in_a_loop(lambda: work(Book()))


def test_hosts_without_a_pending_delay_are_forgotten() -> None:
    async def work(book: Book) -> None:
        for number in range(2000):
            origin = Origin("http", f"{number}.example", 80)
            last_at = Monotonic(time.monotonic() - 10 * (number != 7))
            book.visits.note(OriginDelay(origin, 5.0, last_at=last_at), book)
        assert len(book.visits._hosts) <= 1024
        assert book.visits.ready_at("7.example") > time.monotonic()

    in_a_loop(lambda: work(Book()))
