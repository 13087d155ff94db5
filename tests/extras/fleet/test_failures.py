"""Workers that die, freeze or are cut off; a Redis that is out, slow, frozen, emptied or full.

After each failure, all allowed pages are fetched, and the crawl ends by itself.
"""

from __future__ import annotations

import base64
import itertools
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.extras.fleet.crews import (
    SLOW_TREE,
    STORES,
    TREE,
    Begin,
    Crew,
    Loop,
    SiteOf,
    assert_paced,
    assert_tree,
    requests_by_path,
    until,
)
from tests.redis_server import RedisServer, SlowLine, needs_redis
from tests.servers.handle import Answer, Site

pytestmark = [needs_redis, pytest.mark.slow, pytest.mark.timed]
HOSTS, PAGES = 3, 100
PLACES = 8  # of a worker
SETTINGS: dict[str, Any] = {
    **STORES,
    "REP_FLEET_LEASE_SECONDS": 3,
    "REP_REDIS_TIMEOUT_SECONDS": 0.25,
    "CONCURRENT_REQUESTS": PLACES,
    "EXTENSIONS": {"tests.extras.fleet.spiders.LoopWatch": 500},
    "SCHEDULER_IDLE_BEFORE_CLOSE": 2,
}
PREFIX = "rep:{tree:requests}:"


@pytest.fixture
def site(site_of: SiteOf) -> Site:
    """Pages take a while, so that something is always in flight."""
    return site_of("Disallow: /7$", Answer(body="page", delay_seconds=0.1))


@pytest.fixture
def crew_at(site: Site, begin: Begin) -> Callable[..., Crew]:
    """Two workers at the Redis with this URL."""
    return lambda url, **fields: begin(
        site, TREE, url=url, settings=SETTINGS, hosts=HOSTS, pages=PAGES, **fields
    )


def assert_whole(site: Site, most_twice: int = 0) -> None:
    assert_tree(site, HOSTS, PAGES, most_twice)


@pytest.mark.parametrize(("spider", "seed"), [(TREE, 0), (SLOW_TREE, 1)])
def test_a_worker_is_killed(site: Site, begin: Begin, spider: str, seed: int) -> None:
    chance = random.Random(seed)
    crew = begin(site, spider, 3, settings=SETTINGS, hosts=HOSTS, pages=PAGES)
    until(site, 20 + chance.randrange(150))
    crew.signal(chance.randrange(3), signal.SIGKILL)
    crew.wait()
    assert_whole(site, 2 * PLACES)


def test_a_worker_dies_while_a_page_leads_to_thousands(site_of: SiteOf, begin: Begin) -> None:
    """No more comes twice than it had in its hands."""
    site = site_of(page=Answer(body="page", delay_seconds=0.05))
    settings = {**SETTINGS, "SCHEDULER_IDLE_BEFORE_CLOSE": 3, "REP_FLEET_LEASE_SECONDS": 2}
    crew = begin(site, "tests.extras.fleet.spiders:HubSpider", 1, settings=settings, pages=1000)
    until(site, 150)
    crew.signal(0, signal.SIGKILL)
    crew.add()
    crew.wait(without=(0,))
    seen = Counter(seen.path for seen in site.requests() if seen.path != "/robots.txt")
    assert set(seen) == {f"/{number}" for number in range(1000)}
    # PLACES requests in the downloader, on a slow machine as many in callbacks, and the hub.
    assert sum(seen.values()) - 1000 <= 2 * PLACES + 1


@pytest.mark.parametrize(
    "where", ["in a middleware", pytest.param("in a slot", marks=pytest.mark.at_length)]
)
def test_workers_that_freeze_keep_the_pace_afterwards(
    site_of: SiteOf, begin: Begin, where: str
) -> None:
    """After a freeze, requests on the way to their site wait for a turn again.

    Ports of one host share a slot: there, a request that has its turn waits for the others.
    """
    count, pages, delay_seconds = (1, 10, 0.5) if where == "in a middleware" else (4, 5, 1.0)
    sites = [site_of(f"Crawl-delay: {delay_seconds}") for _ in range(count)]
    settings: dict[str, Any] = {**SETTINGS, "REP_FLEET_LEASE_SECONDS": 2}
    if where == "in a middleware":
        settings["DOWNLOADER_MIDDLEWARES"] = {"tests.extras.fleet.spiders.LongWay": 900}
    hosts = range(1, 7 if count == 1 else 2)
    urls = [site.url("/", host=f"127.0.2.{host}") for site in sites for host in hosts]
    crew = begin(sites[0], settings=settings, roots=urls, pages=pages)
    until(sites[0], 12 if count == 1 else 2)
    for number in (0, 1):
        time.sleep(1.4)
        crew.signal(number, signal.SIGSTOP)
        time.sleep(3.3)
        crew.signal(number, signal.SIGCONT)
    crew.wait(100)
    by_host: dict[str, list[float]] = {}
    for seen in itertools.chain.from_iterable(site.requests() for site in sites):
        by_host.setdefault(seen.headers["host"], []).append(seen.at)
    paths = {key for site in sites for key in requests_by_path(site) if key[1] != "/robots.txt"}
    assert len(paths) == len(urls) * pages
    for times in by_host.values():
        assert_paced(times, delay_seconds)


def freeze(server: RedisServer) -> None:
    server.freeze()
    time.sleep(4)
    server.thaw()


def restart(server: RedisServer) -> None:
    server.kill()
    time.sleep(2)
    server.start()


@pytest.mark.every_loop
@pytest.mark.parametrize(("loop", "happens"), [("asyncio", freeze), ("reactorless", restart)])
def test_redis_is_out(
    site: Site, crew_at: Callable[..., Crew], loop: Loop, happens: Callable[[RedisServer], None]
) -> None:
    """Nothing new is sent, nothing is lost, and the crawl goes on by itself."""
    with RedisServer(appendonly="yes", appendfsync="always") as server:
        crew = crew_at(server.url, loop=loop)
        until(site, 60)
        happens(server)
        crew.wait(90)
    assert crew.stat("rep/verdict/disallowed") == HOSTS
    for number in range(2):
        log = crew.log(number)
        assert log.count("it is tried again until it does") == 1
        assert log.count("answers again") == 1
        assert "Traceback" not in log
        assert crew.result(number)["stats"].get("test/stall_seconds", 0.0) < 1
    assert_whole(site, 2 * PLACES)  # the lease ended while Redis was frozen


def test_keys_are_lost_or_replaced(
    site: Site, crew_at: Callable[..., Crew], redis_server: RedisServer
) -> None:
    """The crawl goes on, ends by itself, and has fetched every page."""
    with redis_server.client() as client:
        crew = crew_at(redis_server.url)
        until(site, 60)
        client.delete(f"{PREFIX}due", f"{PREFIX}t")
        until(site, 90)
        with client.pipeline() as at_once:  # no worker writes in between
            at_once.delete(f"{PREFIX}lines", f"{PREFIX}w")
            at_once.lpush(f"{PREFIX}lines", "somebody else's")
            at_once.execute()
        crew.wait(90)
        assert client.lrange(f"{PREFIX}odd:lines", 0, -1) == [b"somebody else's"]
    assert crew.stat("rep/fleet/aside") == 1
    assert crew.stat("rep/fleet/mended") >= 1
    assert crew.logs.count(f"{PREFIX}lines is set aside: another program") == 1
    assert "Traceback" not in crew.logs
    assert_whole(site)


def test_redis_is_full(site: Site, crew_at: Callable[..., Crew], redis_server: RedisServer) -> None:
    """Workers end what they have; links wait; and the crawl goes on when there is room again."""
    with redis_server.client() as client:
        crew = crew_at(redis_server.url)
        until(site, 60)
        client.config_set("maxmemory", 1)
        time.sleep(4)
        assert client.hexists(f"{PREFIX}t", "full")
        client.config_set("maxmemory", 0)
        crew.wait(90)
    assert crew.stat("rep/fleet/full") > 0
    assert "has no memory left" in crew.logs
    assert "Traceback" not in crew.logs
    assert_whole(site)


def test_a_worker_closes_while_redis_is_full(
    site: Site, crew_at: Callable[..., Crew], redis_server: RedisServer
) -> None:
    """It pauses between attempts; another worker finds again what it could not queue."""
    with redis_server.client() as client:
        crew = crew_at(redis_server.url, count=1)
        until(site, 60)
        client.config_set("maxmemory", 1)
        time.sleep(1)
        crew.signal(0, signal.SIGTERM)
        crew.wait()
        client.config_set("maxmemory", 0)
        assert 0 < crew.stat("rep/fleet/full") < 500
        assert "Redis has no memory left: " in crew.log(0)
        crew.add()
        crew.wait(90)
    assert_whole(site, HOSTS * PAGES)  # pages with links that it could not queue come again


def test_hostile_files_do_not_fill_redis(site_of: SiteOf, begin: Begin) -> None:
    """Each host of a domain has its own large file; sites beside them are crawled completely."""
    noise = base64.b85encode(random.Random(1).randbytes(150_000)).decode().replace("#", "+")
    rules = "\n".join(f"Disallow: /{noise[at : at + 1000]}" for at in range(0, len(noise), 1000))
    hostile, ordinary = site_of(rules), site_of("Disallow: /7$")
    many = [hostile.url("/", host=f"127.0.3.{number}") for number in range(1, 151)]
    settings = {**SETTINGS, "REP_REDIS_TIMEOUT_SECONDS": 2}
    with RedisServer(**{"maxmemory": "16mb", "maxmemory-policy": "noeviction"}) as server:
        fields = {"url": server.url, "settings": settings, "slow_roots": many, "slow_pages": 1}
        crew = begin(ordinary, TREE, hosts=HOSTS, pages=PAGES, **fields)
        crew.wait(120)
        with server.client() as client:
            assert client.info("memory")["used_memory"] < 8 << 20
    assert "has no memory left" not in crew.logs
    assert [crew.reason(number) for number in (0, 1)] == ["finished"] * 2
    assert_whole(ordinary)
    assert len({host for host, path in requests_by_path(hostile) if path == "/0"}) == 150


@pytest.fixture
def line(redis_server: RedisServer) -> Iterator[SlowLine]:
    with SlowLine(redis_server.port) as one:
        yield one


def test_replies_are_swallowed(site: Site, crew_at: Callable[..., Crew], line: SlowLine) -> None:
    """Batches are carried out, but their replies are lost; others take 100 ms."""
    crew = crew_at(line.url)
    for count in (40, 90, 140):
        until(site, count)
        line.swallows = True
        time.sleep(0.4)
        line.swallows = False
        line.cut()
    line.delay_seconds = 0.1
    crew.wait(90)
    assert crew.stat("rep/fleet/failed") >= 3
    assert_whole(site)


def test_redis_refuses_connections(
    site: Site, crew_at: Callable[..., Crew], line: SlowLine
) -> None:
    """For longer than the lease: each goes on as a new worker."""
    crew = crew_at(line.url)
    until(site, 60)
    line.refuses = True
    line.cut()
    time.sleep(6)
    before = len(site.requests())
    time.sleep(1)
    assert len(site.requests()) == before, "nothing new is sent"
    line.refuses = False
    crew.wait(90)
    assert_whole(site, 2 * PLACES)
