"""Workers that die, freeze or are cut off; a Redis that is out, slow, frozen, emptied or restarted.

After each failure, all allowed pages are fetched, and the crawl ends by itself.
"""

from __future__ import annotations

import itertools
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.fleet.crews import Crew, Loop
from tests.fleet.test_crawls import (
    SLOW_TREE,
    TREE,
    assert_paced,
    pages_of_tree,
    requests_by_path,
    roots,
)
from tests.redis_server import RedisServer, SlowLine, needs_redis
from tests.servers.handle import Answer, Site

pytestmark = [needs_redis, pytest.mark.slow, pytest.mark.timed]
HOSTS, PAGES = 3, 100
PLACES = 8  # of a worker
_STORES = {"REP_STORE": "redis", "REP_STORE_PATH": ":memory:"}
SETTINGS: dict[str, Any] = {
    **_STORES,
    "REP_FLEET_LEASE_SECONDS": 3,
    "REP_REDIS_TIMEOUT_SECONDS": 0.25,
    "CONCURRENT_REQUESTS": PLACES,
    "EXTENSIONS": {"tests.fleet.spiders.LoopWatch": 500},
    "SCHEDULER_IDLE_BEFORE_CLOSE": 2,
}


@pytest.fixture
def site() -> Iterator[Site]:
    """Pages take a while, so that something is always in flight."""
    robots = Answer(body="User-agent: *\nDisallow: /7$\n")
    page = Answer(body="page", delay_seconds=0.1)
    with Site({"/robots.txt": robots}, default=page, address="0.0.0.0") as one:
        yield one


def crew_of(url: str, count: int, site: Site, spider: str = TREE, **fields: Any) -> Crew:
    settings = {**SETTINGS, **fields.pop("settings", {})}
    return Crew(
        url, spider, count, settings=settings, roots=roots(site, HOSTS), pages=PAGES, **fields
    )


def until(site: Site, count: int, seconds: float = 40.0) -> None:
    """Return when so many pages were requested."""
    patience = time.monotonic() + seconds
    while len(site.requests()) < count:
        assert time.monotonic() < patience, f"{len(site.requests())} of {count}"
        time.sleep(0.02)


def assert_whole(site: Site, most_twice: int, *, times: int = 2) -> None:
    """Every page was fetched; those in flight perhaps twice."""
    seen = requests_by_path(site)
    paths = {path for _, path in seen}
    assert paths == {"/robots.txt", *pages_of_tree(PAGES)}
    hosts = {host for host, _ in seen}
    missing = [(h, p) for h, p in itertools.product(hosts, paths) if (h, p) not in seen]
    assert missing == []
    pages = {key: count for key, count in seen.items() if key[1] != "/robots.txt"}
    assert max(pages.values()) <= times, {k: c for k, c in pages.items() if c > times}
    again = sum(count - 1 for count in pages.values())
    assert again <= most_twice, f"{again} again"


class TestWorkers:
    """The requests of a worker are handed on."""

    @pytest.mark.parametrize("seed", range(2))
    @pytest.mark.parametrize("spider", [TREE, SLOW_TREE])
    def test_kill(self, site: Site, redis_server: RedisServer, spider: str, seed: int) -> None:
        chance = random.Random(seed)
        with crew_of(redis_server.url, 3, site, spider) as crew:
            until(site, 20 + chance.randrange(150))
            crew.signal(chance.randrange(3), signal.SIGKILL)
            crew.wait()
        assert_whole(site, 2 * PLACES)

    def test_next_worker_goes_on_after_a_kill(self, site: Site, redis_server: RedisServer) -> None:
        """It had not sent all of its links."""
        with crew_of(redis_server.url, 1, site) as crew:
            until(site, 60)
            crew.signal(0, signal.SIGKILL)
            crew.add()
            crew.wait()
        assert_whole(site, 2 * PLACES + HOSTS)

    def test_freeze(self, redis_server: RedisServer) -> None:
        """It wakes after its lease: what it says then changes nothing, and no gap is too short."""
        robots = Answer(body="User-agent: *\nCrawl-delay: 0.3\n")
        with Site({"/robots.txt": robots}, address="0.0.0.0") as site:
            crew = Crew(
                redis_server.url,
                "tests.fleet.spiders:FlatSpider",
                2,
                settings=SETTINGS,
                roots=roots(site, 1),
                pages=45,
            )
            with crew:
                until(site, 8)
                time.sleep(2)
                crew.signal(0, signal.SIGSTOP)
                time.sleep(5)
                crew.signal(0, signal.SIGCONT)
                crew.wait()
                assert crew.errors == ""
            requests = site.requests()
        counts = Counter(seen.path for seen in requests if seen.path != "/robots.txt")
        assert set(counts) == {f"/{number}" for number in range(45)}
        assert sum(counts.values()) <= 45 + PLACES
        assert_paced([seen.at for seen in requests], 0.3)

    def test_frozen_on_the_way_to_the_site(self, redis_server: RedisServer) -> None:
        """After a freeze, requests in the middlewares wait for a turn again."""
        robots = Answer(body="User-agent: *\nCrawl-delay: 0.5\n")
        settings = {
            **SETTINGS,
            "REP_FLEET_LEASE_SECONDS": 2,
            "DOWNLOADER_MIDDLEWARES": {"tests.fleet.spiders.LongWay": 900},
        }
        with (
            Site({"/robots.txt": robots}, address="0.0.0.0") as site,
            Crew(
                redis_server.url,
                "tests.fleet.spiders:FlatSpider",
                2,
                settings=settings,
                roots=roots(site, 6),
                pages=10,
            ) as crew,
        ):
            until(site, 12)
            for number in (0, 1):
                time.sleep(1.5)
                crew.signal(number, signal.SIGSTOP)
                time.sleep(3.5)
                crew.signal(number, signal.SIGCONT)
            crew.wait()
            assert crew.errors == ""
            by_host: dict[str, list[float]] = {}
            for seen in site.requests():
                by_host.setdefault(seen.headers["host"], []).append(seen.at)
            paths = {key for key in requests_by_path(site) if key[1] != "/robots.txt"}
        assert len(paths) == 6 * 10
        for times in by_host.values():
            assert_paced(times, 0.5)

    def test_freeze_inside_its_slot(self, redis_server: RedisServer) -> None:
        """Ports of one host share a slot: there, a request that has its turn waits for the others.

        What is there when a worker wakes waits for a turn once more.
        """
        robots = {"/robots.txt": Answer(body="User-agent: *\nCrawl-delay: 1\n")}
        settings = {**SETTINGS, "REP_FLEET_LEASE_SECONDS": 2}
        with ExitStack() as stack:
            sites = [stack.enter_context(Site(robots, address="0.0.0.0")) for _ in range(4)]
            crew = stack.enter_context(
                Crew(
                    redis_server.url,
                    "tests.fleet.spiders:FlatSpider",
                    2,
                    settings=settings,
                    roots=[site.url("/", host="127.0.2.1") for site in sites],
                    pages=5,
                )
            )
            until(sites[0], 2)
            for number in (0, 1, 0, 1):
                time.sleep(1.3)
                crew.signal(number, signal.SIGSTOP)
                time.sleep(3.1)
                crew.signal(number, signal.SIGCONT)
            crew.wait(100)
            assert crew.errors == ""
            for site in sites:
                assert {key[1] for key in requests_by_path(site)} >= {
                    f"/{number}" for number in range(5)
                }
                assert_paced([seen.at for seen in site.requests()], 1.0)

    def test_page_that_kills_its_worker_kills_three(
        self, site: Site, redis_server: RedisServer
    ) -> None:
        """Then it is a dead letter, and the others go on."""
        with crew_of(redis_server.url, 5, site, "tests.fleet.spiders:DeadlySpider") as crew:
            crew.wait(90)
            alive = [number for number in range(5) if crew.result(number)]
            assert len(alive) == 2
            assert crew.stat("rep/fleet/dead_letters") == 1
        with redis_server.client() as client:
            (letter,) = client.lrange("rep:{tree:requests}:dead", 0, -1)
        assert b"delivered 3 times" in letter


def freeze(server: RedisServer) -> None:
    server.freeze()
    time.sleep(4)
    server.thaw()


def restart(server: RedisServer) -> None:
    server.kill()
    time.sleep(2)
    server.start()


class TestRedis:
    """Nothing new is sent while Redis is out, nothing is lost, and the crawl goes on by itself."""

    @pytest.mark.every_loop
    @pytest.mark.parametrize("loop", ["asyncio", "reactorless"])
    @pytest.mark.parametrize("happens", [freeze, restart])
    def test_redis_is_out(
        self, site: Site, loop: Loop, happens: Callable[[RedisServer], None]
    ) -> None:
        options = {"appendonly": "yes", "appendfsync": "always"}
        with (
            RedisServer(**options) as server,
            crew_of(server.url, 2, site, loop=loop) as crew,
        ):
            until(site, 60)
            happens(server)
            crew.wait(90)
            assert crew.errors == ""
            assert crew.stat("rep/verdict/disallowed") == HOSTS
            for number in range(2):
                log = crew.log(number)
                assert log.count("it is tried again until it does") == 1
                assert log.count("answers again") == 1
                assert "Traceback" not in log
            stalls = [crew.result(n)["stats"].get("test/stall_seconds", 0.0) for n in range(2)]
            assert max(stalls) < 1
            # The lease ended while Redis was frozen.
            assert_whole(site, 2 * PLACES)

    @pytest.mark.parametrize("happens", [RedisServer.flush, restart], ids=["flush", "restart"])
    def test_redis_has_lost_all_keys(
        self, site: Site, happens: Callable[[RedisServer], None]
    ) -> None:
        """Requests that only Redis had are lost; those of workers are not."""
        with RedisServer() as server, crew_of(server.url, 2, site) as crew:
            until(site, 60)
            happens(server)
            crew.wait(90)
            assert crew.errors == ""
            assert crew.stat("rep/fleet/emptied") == 2
            assert "the requests of this worker are written again" in crew.log(0)
        paths = {path for _, path in requests_by_path(site)}
        assert "/7" not in paths

    @pytest.mark.every_loop
    @pytest.mark.parametrize("loop", ["asyncio", "reactorless"])
    def test_keys_are_lost_or_replaced(
        self, site: Site, redis_server: RedisServer, loop: Loop
    ) -> None:
        """The crawl goes on, ends by itself, and has fetched every page."""
        prefix = "rep:{tree:requests}:"
        with redis_server.client() as client, crew_of(redis_server.url, 2, site, loop=loop) as crew:
            until(site, 60)
            client.delete(f"{prefix}due", f"{prefix}t")
            until(site, 90)
            with client.pipeline() as at_once:  # no worker writes in between
                at_once.delete(f"{prefix}lines", f"{prefix}w")
                at_once.lpush(f"{prefix}lines", "somebody else's")
                at_once.execute()
            crew.wait(90)
            assert crew.errors == ""
            assert crew.stat("rep/fleet/aside") == 1
            assert crew.stat("rep/fleet/mended") >= 1
            logs = crew.log(0) + crew.log(1)
            assert logs.count(f"{prefix}lines is set aside: another program") == 1
            assert "Traceback" not in logs
            assert client.lrange(f"{prefix}odd:lines", 0, -1) == [b"somebody else's"]
        assert_whole(site, 0)

    def test_slow(self, site: Site, redis_server: RedisServer) -> None:
        """100 ms for each reply."""
        with SlowLine(redis_server.port) as lane, crew_of(lane.url, 2, site) as crew:
            lane.delay_seconds = 0.1
            crew.wait(90)
            assert crew.errors == ""
        assert_whole(site, 0)

    def test_replies_are_swallowed(self, site: Site, redis_server: RedisServer) -> None:
        """Batches are carried out, but their replies are lost."""
        with SlowLine(redis_server.port) as lane, crew_of(lane.url, 2, site) as crew:
            for count in (40, 90, 140):
                until(site, count)
                lane.swallows = True
                time.sleep(0.4)
                lane.swallows = False
                lane.cut()
            crew.wait(90)
            assert crew.errors == ""
            assert crew.stat("rep/fleet/failed") >= 3
        assert_whole(site, 0)

    def test_refused(self, site: Site, redis_server: RedisServer) -> None:
        """For longer than the lease: each goes on as a new worker."""
        with SlowLine(redis_server.port) as lane, crew_of(lane.url, 2, site) as crew:
            until(site, 60)
            lane.refuses = True
            lane.cut()
            time.sleep(6)
            before = len(site.requests())
            time.sleep(1)
            assert len(site.requests()) == before, "nothing new is sent"
            lane.refuses = False
            crew.wait(90)
            assert crew.errors == ""
        assert_whole(site, 2 * PLACES)
