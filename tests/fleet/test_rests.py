"""Rests over several workers: the 429 that one worker gets rests the origin for all of them."""

from __future__ import annotations

import itertools
import signal
import time
from typing import Any

import pytest

from tests.crawls.settings import WITH_SCRAPYS_QUEUE
from tests.crawls.test_backoff import ROBOTS, busy, rounds
from tests.fleet.crews import Crew, Loop
from tests.fleet.test_crawls import FLAT
from tests.fleet.test_failures import until
from tests.redis_server import RedisServer, SlowLine, needs_redis
from tests.servers.handle import Answer, Site

pytestmark = [needs_redis, pytest.mark.slow, pytest.mark.timed]
PLAIN = {"SCHEDULER": "scrapy.core.scheduler.Scheduler", "REP_STORE": "memory"}
# With the last two, the spider of every worker sends all requests itself.
QUEUES: dict[str, dict[str, Any]] = {
    "fleet": {"REP_FLEET_LEASE_SECONDS": 3, "SCHEDULER_IDLE_BEFORE_CLOSE": 1},
    "ours": PLAIN,
    "scrapy's": {**PLAIN, **WITH_SCRAPYS_QUEUE},
}
PAGES = 24


def limited(lasts_seconds: float = 8.0) -> dict[str, Any]:
    return {**ROBOTS, "/*": [busy(429, lasts_seconds, "3"), Answer(body="page")]}


def assert_rests(site: Site, lasts_seconds: float = 8.0) -> None:
    """After the first burst nothing comes within 3 s, and then one probe each time."""
    found = rounds(site.requests())
    first = found[0][0]
    assert found[0][-1] - first < 0.6, found
    assert len(found) > 2, found
    for before, after in itertools.pairwise(found):
        assert after[0] - before[-1] >= 2.6, found
        if after[0] < first + lasts_seconds:
            assert len(after) == 1, found


@pytest.mark.every_loop
@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("loop", ["asyncio", "reactorless"])
def test_three_workers(redis_server: RedisServer, loop: Loop, queue: str) -> None:
    with (
        Site(limited()) as site,
        Crew(
            redis_server.url,
            FLAT,
            3,
            loop=loop,
            settings=QUEUES[queue],
            roots=[site.url("/")],
            pages=PAGES,
        ) as crew,
    ):
        crew.wait()
        assert crew.errors == ""
        times = 1 if queue == "fleet" else 3
        assert sorted(crew.scraped) == sorted(times * [site.url(f"/{n}") for n in range(PAGES)])
        assert_rests(site)


@pytest.mark.parametrize("queue", QUEUES)
def test_the_worker_that_has_the_probe_is_killed(redis_server: RedisServer, queue: str) -> None:
    """Another worker probes later, and every page comes."""
    # The answer to the first probe takes long.
    slow = Answer(body="page", delay_seconds=2.0)
    routes = {**ROBOTS, "/*": [busy(429, 2.0, "3"), slow]}
    with (
        Site(routes) as site,
        Crew(
            redis_server.url, FLAT, 3, settings=QUEUES[queue], roots=[site.url("/")], pages=PAGES
        ) as crew,
        redis_server.client() as client,
    ):
        patience = time.monotonic() + 30
        while not (keys := client.keys("rep:{pace}:probe:*")):
            assert time.monotonic() < patience
            time.sleep(0.01)
        holder = client.get(keys[0]).decode()
        time.sleep(0.3)
        burst = len(site.requests())
        (killed,) = (n for n in range(3) if f"[{holder}]" in crew.log(n))
        crew.signal(killed, signal.SIGKILL)
        crew.wait(without=(killed,))
        assert crew.errors == ""
        urls = [site.url(f"/{n}") for n in range(PAGES)]
        assert set(crew.scraped) == set(urls)
        assert len(crew.scraped) == (len(urls) if queue == "fleet" else 2 * len(urls))
        assert len(site.requests()) > burst


@pytest.mark.parametrize("queue", QUEUES)
def test_redis_is_out_amid_a_rest(redis_server: RedisServer, queue: str) -> None:
    """Each worker is by itself then; nothing is lost."""
    with (
        Site(limited(4.0)) as site,
        SlowLine(redis_server.port) as line,
        Crew(line.url, FLAT, 2, settings=QUEUES[queue], roots=[site.url("/")], pages=12) as crew,
    ):
        until(site, 6)
        time.sleep(1)
        line.refuses = True
        line.cut()
        time.sleep(6)
        if queue == "fleet":  # its queue is in Redis
            line.refuses = False
        crew.wait()
        assert crew.errors == ""
        times = 1 if queue == "fleet" else 2
        assert set(crew.scraped) == {site.url(f"/{n}") for n in range(12)}
        assert len(crew.scraped) == times * 12
