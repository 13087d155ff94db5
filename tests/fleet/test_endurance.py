"""Events of a crawl that takes a month."""

from __future__ import annotations

import signal
import time
from collections import Counter

import pytest

from tests.crawling import crawl
from tests.fleet.crews import SETTINGS, Crew
from tests.fleet.test_crawls import TREE, roots
from tests.fleet.test_failures import PLACES, assert_whole, crew_of, site, until
from tests.redis_server import RedisServer, needs_redis
from tests.servers.handle import Answer, Site

__all__ = ["site"]

pytestmark = [needs_redis, pytest.mark.slow]
_T = "rep:{tree:requests}:t"


@pytest.mark.timed
def test_a_worker_dies_while_a_page_leads_to_thousands(redis_server: RedisServer) -> None:
    """No more comes twice than it had in its hands, and its successor is as fast."""
    page = Answer(body="page", delay_seconds=0.05)
    with (
        Site({"/robots.txt": Answer(body="")}, default=page, address="0.0.0.0") as site,
        Crew(
            redis_server.url,
            "tests.fleet.spiders:HubSpider",
            1,
            settings={
                "REP_STORE": "redis",
                "REP_STORE_PATH": ":memory:",
                "REP_FLEET_LEASE_SECONDS": 2,
                "CONCURRENT_REQUESTS": PLACES,
                "SCHEDULER_IDLE_BEFORE_CLOSE": 3,
            },
            roots=roots(site, 1),
            pages=1000,
        ) as crew,
    ):
        until(site, 150)
        crew.signal(0, signal.SIGKILL)
        killed_at = site.requests()[-1].at
        before = sum(one.at > killed_at - 1 for one in site.requests())
        crew.add()
        crew.wait(60, without=(0,))
        requests = site.requests()
        seen = Counter(seen.path for seen in requests if seen.path != "/robots.txt")
    assert set(seen) == {f"/{number}" for number in range(1000)}
    # PLACES requests in the downloader, on a slow machine as many in callbacks, and the hub.
    assert sum(seen.values()) - 1000 <= 2 * PLACES + 1
    began_at = next(one.at for one in requests if one.at > killed_at + 0.2)
    after = Counter(int(one.at - began_at) for one in requests if one.at >= began_at)
    assert max(after[second] for second in range(5)) >= 0.8 * before


def test_redis_is_full(site: Site) -> None:
    """Workers end what they have; links wait; and the crawl goes on when there is room again."""
    with (
        RedisServer() as server,
        server.client() as client,
        crew_of(server.url, 2, site) as crew,
    ):
        until(site, 60)
        client.config_set("maxmemory", 1)
        time.sleep(4)
        assert client.hexists(_T, "full")
        before = len(site.requests())
        client.config_set("maxmemory", 0)
        crew.wait(90)
        assert len(site.requests()) > before
        assert crew.errors == ""
        assert crew.stat("rep/fleet/full") > 0
        logs = crew.log(0) + crew.log(1)
        assert "has no memory left" in logs
        assert "Raise maxmemory" in logs
        assert "Traceback" not in logs
    assert_whole(site, 0)


def test_standstill_is_logged_again_and_again(redis_server: RedisServer) -> None:
    """Here each request waits for a robots.txt that can't be had."""
    settings = {
        "EXTENSIONS": {"tests.fleet.spiders.Impatient": 1},
        "REP_REDIS_URL": redis_server.url,
        "REP_UNREACHABLE_HOLD_SECONDS": 60,
        "CLOSESPIDER_TIMEOUT": 6,
    }
    with Site({"/robots.txt": Answer(status=503)}) as site:
        result = crawl(TREE, settings={**SETTINGS, **settings}, roots=[site.url("/")])
    words = "No request began or ended in 0 minutes (queued: 1, in workers: 0). 'scrapy rep fleet'"
    assert 2 <= result.log.count(words) <= 6


def test_workers_of_another_release_are_refused(redis_server: RedisServer) -> None:
    with redis_server.client() as client:
        client.hset(_T, "version", "0")
    result = crawl(TREE, settings={**SETTINGS, "REP_REDIS_URL": redis_server.url}, roots=[])
    assert "has version 0, and this release of scrapy-rep has version" in result.error + result.log
