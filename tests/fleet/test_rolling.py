"""Daily operation: workers are restarted one by one, and a new release is deployed."""

from __future__ import annotations

import itertools
import random
import signal
import time
from collections import Counter

import pytest

from tests.fleet.crews import Crew
from tests.fleet.test_crawls import TREE, assert_paced, pages_of_tree, roots
from tests.redis_server import RedisServer, needs_redis
from tests.servers.handle import Answer, Site

pytestmark = [needs_redis, pytest.mark.slow, pytest.mark.timed]
DEPLOYED = "tests.fleet.spiders:NewTreeSpider"
WORKERS, HOSTS = 3, 2
DELAY_SECONDS = 0.5
_PLACES = 8  # of a worker
_SETTINGS = {
    "REP_STORE": "redis",
    "REP_STORE_PATH": ":memory:",
    "REP_FLEET_LEASE_SECONDS": 20,
    "CONCURRENT_REQUESTS": _PLACES,
    "SCHEDULER_IDLE_BEFORE_CLOSE": 4,
}
_END_SECONDS = 60.0  # of a worker after SIGTERM


@pytest.mark.parametrize("turns", [6, pytest.param(100, marks=pytest.mark.at_length)])
def test_rolling_restarts(turns: int) -> None:
    """Restarts at random times, one deployment and one restart of Redis lose nothing."""
    chance = random.Random(turns)
    slow_pages = 6 * turns + 30  # more than there is time for during the restarts
    robots = Answer(body="User-agent: *\nDisallow: /7$\n")
    slow_robots = Answer(body=f"User-agent: *\nCrawl-delay: {DELAY_SECONDS}\n")
    page = Answer(body="page", delay_seconds=1.0)
    quick_pages = 40 * turns
    with (
        RedisServer(appendonly="yes", appendfsync="always") as redis,
        Site({"/robots.txt": robots}, default=page, address="0.0.0.0") as site,
        Site({"/robots.txt": slow_robots}, address="0.0.0.0") as slow_site,
        Crew(
            redis.url,
            TREE,
            WORKERS,
            settings=_SETTINGS,
            roots=roots(site, HOSTS),
            pages=quick_pages,
            slow_roots=[slow_site.url("/", host="127.0.3.1")],
            slow_pages=slow_pages,
        ) as crew,
    ):
        restarted = _restart(crew, redis, turns, chance)
        running = tuple(range(WORKERS + turns))
        crew.wait(30 + 2 * DELAY_SECONDS * slow_pages, without=tuple(restarted))
        ends = {crew.result(n)["stats"]["finish_reason"] for n in running if n not in restarted}
        counts = {name: crew.stat(f"rep/fleet/{name}") for name in ("dead_letters", "aside")}
        with redis.client() as client:
            left = {key.decode() for key in client.keys("rep:{tree*")}
        seen = Counter((one.headers["host"], one.path) for one in site.requests())
        slow = [one for one in slow_site.requests() if one.path != "/robots.txt"]
        errors = crew.errors
    pages = {key: count for key, count in seen.items() if key[1] != "/robots.txt"}
    paths = pages_of_tree(quick_pages)
    expected = {(root[7:-1], path) for root in roots(site, HOSTS) for path in paths}
    lost = {f"/{number}" for number in range(slow_pages)} - {one.path for one in slow}
    twice = sum(pages.values()) - len(pages) + len(slow) - slow_pages
    gaps = sorted(after.at - before.at for before, after in itertools.pairwise(slow))
    print(f"{turns} restarts, {len(pages) + slow_pages} pages, {twice} twice, gaps from {gaps[:3]}")
    assert (errors, counts, ends) == ("", {"dead_letters": 0, "aside": 0}, {"finished"})
    assert (expected - set(pages), set(pages) - expected, lost) == (set(), set(), set())
    assert left == set()  # the crawl has ended by itself
    assert_paced([one.at for one in slow], DELAY_SECONDS)


def _restart(crew: Crew, redis: RedisServer, turns: int, chance: random.Random) -> list[int]:
    """Restart workers; return the numbers of the stopped ones."""
    running, stopped = list(range(WORKERS)), []
    for turn in range(turns):
        time.sleep(chance.uniform(0.5, 3))
        number = running.pop(chance.randrange(WORKERS))
        assert not crew.has_ended(number), crew.log(number)[-3000:]
        crew.signal(number, signal.SIGTERM)
        stopped.append(number)
        if turn == turns // 2:
            redis.shut_down()
            time.sleep(1)
            redis.start()
        if chance.random() < 0.5:  # otherwise the next one begins while it still ends
            _wait_for(crew, number)
        running.append(crew.add(DEPLOYED if turn >= turns // 3 else ""))
    for number in stopped:
        _wait_for(crew, number)
    return stopped


def _wait_for(crew: Crew, number: int) -> None:
    patience = time.monotonic() + _END_SECONDS
    while not crew.has_ended(number):
        assert time.monotonic() < patience, crew.log(number)[-6000:]
        time.sleep(0.02)
