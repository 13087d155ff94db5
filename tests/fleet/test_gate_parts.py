"""The gate without a crawl, at a real Redis: while it closes, and while Redis refuses."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request

from scrapy_rep.cache.link import Link
from scrapy_rep.pace.redis_gate import RedisGate
from scrapy_rep.protocol.access.origin import Origin
from tests.played import in_a_loop
from tests.redis_server import RedisServer, SlowLine, needs_redis

pytestmark = needs_redis
ORIGIN: Any = Origin.of("http://a.example")
TURN = "rep:{http://a.example}:turn"
WORKERS = "rep:{pace}:workers"
DELAY = 0.5


class Gated:
    """One worker's gate, and how requests go through it."""

    def __init__(self, url: str) -> None:
        self.link = Link(url, 0.25)
        crawler: Any = SimpleNamespace(signals=SimpleNamespace(connect=lambda *_, **__: None))
        self.gate = RedisGate(crawler, self.link)

    def open(self) -> None:
        self.gate._spider_opened()

    async def close(self) -> None:
        await self.gate._spider_closed()

    async def has_turn(self, request: Request) -> None:
        await self.gate.wait(ORIGIN, DELAY, request, lambda: False)

    def left(self, request: Request) -> None:
        self.gate._left(request)

    async def go(self) -> float:
        """When a request has its turn; it leaves at once."""
        request = Request("http://a.example/x")
        await self.has_turn(request)
        at = time.monotonic()
        self.left(request)
        self.gate.end(request)
        return at


async def soon(condition: Callable[[], object]) -> None:
    patience = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < patience
        await asyncio.sleep(0.01)


class TestClosing:
    """A gate that closes keeps nobody, and is counted no more."""

    def test_is_counted_until_it_closes(self, redis_server: RedisServer) -> None:
        async def work() -> None:
            one, two = Gated(redis_server.url), Gated(redis_server.url)
            with redis_server.client() as client:
                one.open()
                two.open()
                await soon(lambda: client.zcard(WORKERS) == 2)
                await two.close()
                assert client.zcard(WORKERS) == 1
                await one.close()
                assert client.zcard(WORKERS) == 0

        in_a_loop(work)

    def test_one_that_waits_meanwhile(self, redis_server: RedisServer) -> None:
        """It comes back, and whatever is told of requests afterwards is no error."""

        async def work() -> None:
            one, two = Gated(redis_server.url), Gated(redis_server.url)
            one.open()
            two.open()
            held = Request("http://a.example/held")
            await one.has_turn(held)
            waiting = asyncio.create_task(two.go())
            await asyncio.sleep(0.1)
            assert not waiting.done()
            began = time.monotonic()
            await two.close()
            await waiting
            assert time.monotonic() - began < 3
            one.gate.end(held)
            await one.close()
            one.left(held)
            one.gate.end(held)
            await asyncio.sleep(0.1)

        in_a_loop(work)

    @pytest.mark.parametrize("is_cut", [False, True])
    def test_without_redis(self, redis_server: RedisServer, is_cut: bool) -> None:
        """It closes within seconds, whether Redis is gone or merely silent."""

        async def work() -> None:
            with SlowLine(redis_server.port) as lane:
                one = Gated(lane.url)
                one.open()
                await one.go()
                lane.refuses, lane.swallows = is_cut, True
                if is_cut:
                    lane.cut()
                began = time.monotonic()
                await one.close()
                assert time.monotonic() - began < 5
                await asyncio.sleep(0.1)  # connections that were broken off are gone

        in_a_loop(work)

    def test_one_that_was_never_opened(self, redis_server: RedisServer) -> None:
        in_a_loop(Gated(redis_server.url).close)


class TestRefusing:
    """A Redis that answers with errors shares no pace: each worker is slower by their number."""

    def test_refused_and_back(self, redis_server: RedisServer) -> None:
        async def work() -> None:
            some = [Gated(redis_server.url) for _ in range(3)]
            with redis_server.client() as client:
                counts: list[int] = []
                for each in some:
                    each.open()
                    counts.append(len(counts) + 1)
                    await soon(lambda: client.zcard(WORKERS) == len(counts))
            one = some[-1]
            await soon(lambda: one.gate._worker_count == 3)
            with redis_server.client() as client:
                await one.go()
                assert one.gate.factor == 1
                client.set(TURN, "somebody else's")
                await one.go()
                assert one.link.is_up
                assert one.gate.factor == 3
                client.delete(TURN)
                await one.go()
                assert one.gate.factor == 1
            for other in some:
                await other.close()

        in_a_loop(work)

    def test_out_and_back(self, redis_server: RedisServer) -> None:
        async def work() -> None:
            with SlowLine(redis_server.port) as lane:
                other, one = Gated(redis_server.url), Gated(lane.url)
                other.open()
                await soon(lambda: other.gate._worker_count == 1)
                with redis_server.client() as client:
                    await soon(lambda: client.zcard(WORKERS) == 1)
                one.open()
                await soon(lambda: one.gate._worker_count == 2)
                lane.refuses = True
                lane.cut()
                began = time.monotonic()
                await one.go()
                await one.go()
                assert time.monotonic() - began < 3, "nobody waits for Redis"
                await soon(lambda: one.gate.factor == 2)
                lane.refuses = False
                await soon(lambda: one.link.is_up)
                assert one.gate.factor == 1
                await one.go()
                await one.close()
                await other.close()

        in_a_loop(work)

    def test_turns_of_two_workers_keep_the_delay(self, redis_server: RedisServer) -> None:
        async def work() -> None:
            some = [Gated(redis_server.url) for _ in range(2)]
            for one in some:
                one.open()
            found = sorted(await asyncio.gather(*(one.go() for one in some for _ in range(2))))
            gaps = [after - before for before, after in itertools.pairwise(found)]
            assert min(gaps) >= 0.98 * DELAY, gaps
            for one in some:
                await one.close()

        in_a_loop(work)
