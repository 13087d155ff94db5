"""Turns over the fleet for requests that were not queued: the script, and crawls as sites see."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from scrapy_rep.queue.fleet.batch import HeldRequest, Wish
from tests.fleet.crews import Crew, Loop
from tests.fleet.test_crawls import FLAT, assert_paced
from tests.fleet.workers import DELAY, LEASE_MS, A, B, Fleet, Worker, popped, urls
from tests.redis_server import RedisServer, needs_redis
from tests.servers.handle import Answer, Site

pytestmark = needs_redis


def turn_if_any(worker: Worker, key: int) -> HeldRequest | None:
    """The turn that a wish gets in one batch, which is held from then on; None if none came."""
    worker.talk()
    turn = worker.reply.turns.get(key)
    if turn is not None:
        worker.ledger.grant(key, turn)
    return turn


def turn_of(worker: Worker, key: int) -> HeldRequest:
    """The turn that a wish must get in one batch."""
    turn = turn_if_any(worker, key)
    assert turn is not None
    return turn


def wish(worker: Worker, lane: str = A) -> int:
    return worker.ledger.wish(Wish(lane, DELAY))


class TestScript:
    """A turn closes its lane as a request that was popped does."""

    def test_turn_in_an_unknown_lane(self, one: Worker, two: Worker) -> None:
        turn = turn_of(one, wish(one))
        assert (turn.wait_seconds, turn.delay_seconds) == (0.0, DELAY)
        two.queue("a", delay_seconds=DELAY)
        assert two.talk(9) == [], "the turn has not left"
        held = one.ledger.held[turn.id]
        one.ledger.left(held, one.fleet.now)
        one.talk()
        assert two.talk(9) == []
        assert two.reply.next_ms == 1000 * DELAY
        one.fleet.now += DELAY
        assert urls(two.talk(9)) == ["a"]

    def test_turn_comes_one_delay_after_the_last_visit(self, fleet: Fleet, one: Worker) -> None:
        held = popped(one, "a")
        one.ledger.left(held, fleet.now)
        one.finish(held)
        one.talk()
        fleet.now += 0.5
        assert turn_of(one, wish(one)).wait_seconds == DELAY - 0.5

    def test_turn_comes_before_queued_requests(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        """After the request that is on its way in any worker, and before all others."""
        held = popped(one, "a", "b")
        key = wish(two)
        assert turn_if_any(two, key) is None
        one.ledger.left(held, fleet.now)
        one.talk()
        fleet.now += 10
        assert one.talk(9) == []
        turn = turn_of(two, key)
        assert turn.wait_seconds == 0.0
        mine = two.ledger.held[turn.id]
        two.ledger.left(mine, fleet.now)
        two.finish(mine)
        two.talk()
        assert one.talk(9) == []
        fleet.now += DELAY
        assert urls(one.talk(9)) == ["b"]

    def test_later_report_on_the_previous_request_counts(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        held = popped(one, "a")
        key = wish(two)
        two.talk()
        one.ledger.left(held, fleet.now + 0.1)
        one.talk()
        one.ledger.left(held, fleet.now)
        one.talk()
        assert turn_of(two, key).wait_seconds == DELAY

    def test_one_wish_waits_and_the_others_are_sent_again(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        keys = [wish(one), wish(one), wish(two)]
        turns = {}
        left = [(one, keys[0]), (one, keys[1]), (two, keys[2])]
        at = []
        for _ in range(20):
            for worker, key in list(left):
                turn = turn_if_any(worker, key)
                if turn is not None:
                    left.remove((worker, key))
                    turns[turn.id] = turn
                    at.append(fleet.now + turn.wait_seconds)
                    held = worker.ledger.held[turn.id]
                    worker.ledger.left(held, at[-1])
                    worker.finish(held)
            one.talk(), two.talk()
            fleet.now += 0.5
        assert left == []
        assert min(after - before for before, after in itertools.pairwise(sorted(at))) >= DELAY

    @pytest.mark.parametrize("has_it", [True, False])
    def test_a_dead_workers_turn_ends(
        self, fleet: Fleet, one: Worker, two: Worker, has_it: bool
    ) -> None:
        held = None if has_it else popped(two, "x", "b")
        turn = turn_if_any(one, wish(one))
        assert (turn is not None) is has_it
        if held is None:
            two.push("b")
            two.settle(delay_seconds=DELAY)
        else:
            two.ledger.left(held, fleet.now)
        for _ in range(9):
            fleet.now += LEASE_MS / 3000 - 0.3
            two.talk()
        fleet.now += DELAY
        assert urls(two.talk(9)) == ["b"]
        assert "f:one" not in fleet.all_keys()

    @pytest.mark.parametrize("has_it", [True, False])
    def test_turn_without_a_waiting_request(
        self, fleet: Fleet, one: Worker, two: Worker, has_it: bool
    ) -> None:
        held = None if has_it else popped(two, "x")
        key = wish(one)
        turn = turn_if_any(one, key)
        if turn is not None:
            one.finish(one.ledger.held[turn.id])
        one.ledger.withdraw(key)
        if held is not None:
            two.finish(held)
        two.push("b")
        two.settle(delay_seconds=DELAY)
        one.talk(), two.talk()
        assert urls(two.talk(9)) == ["b"]

    def test_replies_are_lost(self, fleet: Fleet, one: Worker, two: Worker) -> None:
        key = wish(one)
        one.lose()
        one.lose()
        turn = turn_of(one, key)
        assert turn.wait_seconds == 0.0
        one.lose()
        one.talk()
        held = one.ledger.held[turn.id]
        one.ledger.left(held, fleet.now)
        one.finish(held)
        one.lose()
        one.talk()
        assert fleet.client.hlen(fleet.key("f:one")) == 0
        two.queue("b", delay_seconds=DELAY)
        assert (two.talk(9), two.reply.next_ms) == ([], 1000 * DELAY)

    def test_turn_is_no_request_in_flight(self, one: Worker) -> None:
        key = wish(one)
        turn = turn_of(one, key)
        assert (one.reply.flying, one.reply.idle_ms) == (0, 0)
        one.finish(one.ledger.held[turn.id])
        one.talk()
        assert (one.reply.flying, one.fleet.total("done")) == (0, 0)

    def test_redis_is_emptied(self, fleet: Fleet, one: Worker) -> None:
        """A turn that was granted is forgotten; a wish gets its turn."""
        granted = turn_of(one, wish(one))
        key = wish(one, B)
        fleet.client.flushall()
        one.talk()
        assert one.reply.word == "epoch"
        assert turn_if_any(one, key) is not None
        assert granted.id not in one.ledger.held
        assert one.reply.flying == 0

    def test_an_emptied_redis_lets_each_delay_pass_first(
        self, fleet: Fleet, one: Worker, two: Worker
    ) -> None:
        """Redis does not know when the site was visited last."""
        held = popped(one, "a")
        one.ledger.left(held, fleet.now)
        one.finish(held)
        one.talk(), two.talk()
        fleet.client.flushall()
        two.talk(), two.talk()
        two.queue("b", delay_seconds=DELAY)
        began = fleet.now
        while not two.talk(9):
            fleet.now += 0.1
        assert DELAY <= fleet.now - began <= DELAY + 1.2


_STORES = {"REP_STORE": "redis", "REP_STORE_PATH": ":memory:"}
_SHORT = (("Cache-Control", "max-age=1"),)


def times_of(site: Site) -> list[float]:
    return [seen.at for seen in site.requests()]


@pytest.mark.slow
class TestCrawls:
    """As the site sees them."""

    @pytest.mark.every_loop
    @pytest.mark.parametrize("loop", ["asyncio", "reactorless"])
    def test_robots_txt_that_is_fetched_again(self, redis_server: RedisServer, loop: Loop) -> None:
        robots = Answer(body="User-agent: *\nCrawl-delay: 0.5\n", headers=_SHORT)
        settings: dict[str, Any] = {**_STORES, "REP_CACHE_MIN_SECONDS": 1}
        with (
            Site({"/robots.txt": robots}) as site,
            Crew(
                redis_server.url,
                FLAT,
                3,
                loop=loop,
                settings=settings,
                roots=[site.url("/")],
                pages=14,
            ) as crew,
        ):
            crew.wait()
            assert crew.errors == ""
            assert len(crew.scraped) == 14
            paths = [seen.path for seen in site.requests()]
            assert paths.count("/robots.txt") >= 4
            assert_paced(times_of(site), 0.5)

    @pytest.mark.parametrize(("spider", "requests"), [("MediaSpider", 13), ("CuriousSpider", 8)])
    def test_requests_that_were_not_queued_are_paced(
        self, redis_server: RedisServer, spider: str, requests: int
    ) -> None:
        """A callback downloads by itself, as media pipelines do, or requests robots.txt."""
        robots = Answer(body="User-agent: *\nCrawl-delay: 0.5\n")
        name = f"tests.fleet.spiders:{spider}"
        with (
            Site({"/robots.txt": robots}) as site,
            Crew(
                redis_server.url, name, 2, settings=_STORES, roots=[site.url("/")], pages=6
            ) as crew,
        ):
            crew.wait()
            assert crew.errors == ""
            assert len(times_of(site)) == requests
            assert_paced(times_of(site), 0.5)
