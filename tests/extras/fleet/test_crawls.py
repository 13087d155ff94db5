"""Real crawls by several workers at a real Redis, as sites see them."""

from __future__ import annotations

import json
import pickle
import time
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import msgpack
import pytest

from tests.at_length import at_length
from tests.commands.calling import rep
from tests.crawling import crawl
from tests.extras import needs
from tests.extras.fleet.crews import (
    SETTINGS,
    SLOW_TREE,
    STORES,
    TREE,
    Begin,
    Loop,
    SiteOf,
    assert_nothing_left,
    assert_paced,
    assert_tree,
    requests_by_path,
    roots,
)
from tests.redis_server import RedisServer, needs_redis
from tests.servers.handle import Answer, free_port

pytestmark = [needs_redis, pytest.mark.timed]


@pytest.mark.slow
@pytest.mark.every_loop
@pytest.mark.parametrize(("loop", "spider"), [("asyncio", TREE), ("reactorless", SLOW_TREE)])
def test_three_workers_fetch_each_page_once(
    site_of: SiteOf, begin: Begin, redis_server: RedisServer, loop: Loop, spider: str
) -> None:
    """One robots.txt fetch per origin, each page once, and all end together."""
    site = site_of("Disallow: /7$")
    settings = {**STORES, "SCHEDULER_IDLE_BEFORE_CLOSE": 3}
    crew = begin(site, spider, 3, loop=loop, settings=settings, hosts=5, pages=40)
    crew.wait()
    assert_tree(site, 5, 40)
    assert set(requests_by_path(site).values()) == {1}
    assert {crew.reason(number) for number in range(3)} == {"finished"}
    ends = [
        datetime.fromisoformat(crew.result(n)["stats"]["finish_time"]).timestamp() for n in range(3)
    ]
    assert max(ends) - min(ends) < 2
    assert [crew.result(number)["deprecations"] for number in range(3)] == [[], [], []]
    assert "ERROR" not in crew.logs
    assert_nothing_left(redis_server)


@pytest.mark.slow
def test_retries_and_redirects_of_start_requests_are_fetched(
    site_of: SiteOf, begin: Begin, redis_server: RedisServer
) -> None:
    """All are redirected to one page, which always fails. Workers do not know which of them
    requested it before.
    """
    routes = {
        "/busy": Answer(status=503, delay_seconds=0.05),
        "/*": Answer(status=302, headers=[("Location", "/busy")], delay_seconds=0.05),
    }
    settings = {"CONCURRENT_REQUESTS": 2, "RETRY_TIMES": 3, "REP_BACKOFF": False}
    site = site_of(**routes)
    crew = begin(site, count=3, settings=settings, pages=12)
    crew.wait()
    assert crew.stat("retry/max_reached") == 12
    paths = Counter(path for _, path in requests_by_path(site).elements())
    assert paths.pop("/busy") == 12 * (1 + settings["RETRY_TIMES"])
    assert paths.pop("/robots.txt") <= 3
    assert paths == dict.fromkeys((f"/{number}" for number in range(12)), 1)
    assert_nothing_left(redis_server)


def test_worker_without_a_page_is_not_warned_of(site_of: SiteOf, begin: Begin) -> None:
    """Another worker has fetched the only page, whose request this one has repeated."""
    crew = begin(site_of(**{"/*": Answer(delay_seconds=0.5)}), pages=1)
    crew.wait()
    assert crew.stat("dupefilter/filtered") > 0
    assert "No page was crawled" not in crew.logs


_SELECT = {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"}
_DOWN = f"redis://127.0.0.1:{free_port()}/0"


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"REP_REDIS_URL": ""}, "RepRedisScheduler needs REP_REDIS_URL"),
        pytest.param({"REP_REDIS_URL": _DOWN}, "; start it, or correct", marks=pytest.mark.slow),
        ({"SCHEDULER_QUEUE_KEY": "100%"}, "SCHEDULER_QUEUE_KEY = '100%' cannot be used: "),
        ({"SCHEDULER_QUEUE_KEY": "%(nope)s"}, "only %(spider)s is replaced in it"),
        ({"SCHEDULER_SERIALIZER": "json"}, "SCHEDULER_SERIALIZER has no effect"),
        ({"DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter"}, "has no effect"),
        (_SELECT, "needs asyncio"),
        ({"REP_FLEET_LEASE_SECONDS": 0}, "REP_FLEET_LEASE_SECONDS"),
    ],
)
def test_settings_that_would_be_ignored_are_refused(
    redis_server: RedisServer, settings: dict[str, Any], words: str
) -> None:
    loop: Loop = "select" if settings is _SELECT else "asyncio"
    everything = {**SETTINGS, "REP_REDIS_URL": redis_server.url, **settings}
    result = crawl(TREE, loop=loop, settings=everything, roots=[])
    assert words in result.error + result.log
    assert result.items == []


def test_workers_of_another_release_are_refused(redis_server: RedisServer) -> None:
    with redis_server.client() as client:
        client.hset("rep:{tree:requests}:t", "version", "0")
    result = crawl(TREE, settings={**SETTINGS, "REP_REDIS_URL": redis_server.url}, roots=[])
    assert "has version 0, and this release of scrapy-rep has version" in result.error + result.log


@pytest.mark.slow
def test_download_delay_and_its_jitter(site_of: SiteOf, begin: Begin) -> None:
    site = site_of()
    begin(site, count=3, settings={"DOWNLOAD_DELAY": 0.4, **STORES}, pages=6).wait()
    assert_paced([seen.at for seen in site.requests() if seen.path != "/robots.txt"], 0.4)


@pytest.mark.slow
@pytest.mark.parametrize("loop", ["asyncio", *at_length(["reactorless"])])
def test_crawl_delay_counts_for_a_robots_txt_that_is_fetched_again(
    site_of: SiteOf, begin: Begin, loop: Loop
) -> None:
    site = site_of()
    robots = "User-agent: *\nCrawl-delay: 0.5\n"
    site.change({"/robots.txt": Answer(body=robots, headers=(("Cache-Control", "max-age=1"),))})
    settings: dict[str, Any] = {**STORES, "REP_CACHE_MIN_SECONDS": 1}
    crew = begin(site, count=3, loop=loop, settings=settings, pages=14)
    crew.wait()
    assert len(set(crew.scraped)) == len(crew.scraped) == 14
    assert site.paths().count("/robots.txt") >= 4
    assert_paced([seen.at for seen in site.requests()], 0.5)


@pytest.mark.slow
@pytest.mark.parametrize(("spider", "requests"), [("MediaSpider", 13), ("CuriousSpider", 8)])
def test_requests_that_were_not_queued_are_paced(
    site_of: SiteOf, begin: Begin, spider: str, requests: int
) -> None:
    """A callback downloads by itself, as media pipelines do, or requests robots.txt."""
    site = site_of("Crawl-delay: 0.5")
    begin(site, f"tests.extras.fleet.spiders:{spider}", settings=STORES, pages=6).wait()
    times = [seen.at for seen in site.requests()]
    assert len(times) == requests
    assert_paced(times, 0.5)


@pytest.mark.slow
def test_hostile_entries_of_the_queue_are_not_executed(
    site_of: SiteOf, begin: Begin, redis_server: RedisServer
) -> None:
    """Entries that another program writes into the queue are not executed."""
    site = site_of("Disallow: /7$")
    (root,) = roots(site, 1)
    url, lane = f"{root}0", root[:-1]
    hostile = [
        pickle.dumps({"url": url}),
        b"x" * 50_000_000,
        msgpack.packb({"url": url, "callback": "from_crawler"}),
        msgpack.packb({"url": "file:///etc/passwd"}),
        msgpack.packb({"url": url, "_class": "subprocess.Popen"}),
    ]
    prefix = "rep:{tree:requests}:"
    with redis_server.client() as client:
        client.rpush(f"{prefix}q:{lane}", *(b"\0" + one for one in hostile))
        record = ["n", len(hostile), 0, 0, 0, 0, "", "", 0, 0, ""]
        client.hset(f"{prefix}lines", lane, msgpack.packb(record))
        client.zadd(f"{prefix}new", {lane: 0})
        client.hset(f"{prefix}t", "n", len(hostile))
        crew = begin(site, TREE, 1, pages=3)
        crew.wait()
        letters = client.lrange(f"{prefix}dead", 0, -1)
    assert crew.stat("rep/fleet/passed_on") == len(hostile) - 1, "the long one is not read"
    assert "is set aside" in crew.logs
    assert_tree(site, 1, 3)
    assert len(letters) == len(hostile)
    assert max(map(len, letters)) < 2000


@pytest.mark.slow
def test_start_urls_of_a_redis_spider_are_not_lost(
    site_of: SiteOf, begin: Begin, redis_server: RedisServer
) -> None:
    """A RedisSpider's start URLs are moved by the batch, and none is lost."""
    site = site_of("Disallow: /7$")
    urls = [f"{root}{number}" for root in roots(site, 1) for number in range(30)]
    settings = {
        "CONCURRENT_REQUESTS": 4,
        "SCHEDULER_IDLE_BEFORE_CLOSE": 6,  # longer than the pause below
    }
    with redis_server.client() as client:
        client.rpush("seeded:urls", *urls[:20])
        crew = begin(site, "tests.extras.fleet.spiders:SeededSpider", settings=settings)
        time.sleep(4)
        client.rpush("seeded:urls", *urls[20:])
        crew.wait()
        assert not client.exists("seeded:urls")
    assert crew.stat("rep/fleet/start_urls") == 30
    assert "Traceback" not in crew.logs
    assert sorted(crew.scraped) == sorted(url for url in urls if not url.endswith("/7"))


@pytest.mark.slow
def test_sitemaps_once_over_the_fleet(site_of: SiteOf, begin: Begin) -> None:
    """One worker of three fetches each sitemap and index."""
    site = site_of()
    (root,) = roots(site, 1)

    def sitemap(*paths: str, kind: str = "urlset", part: str = "url") -> Answer:
        parts = "".join(f"<{part}><loc>{root}{path}</loc></{part}>" for path in paths)
        return Answer(body=f"<{kind}>{parts}</{kind}>")

    site.change(
        {
            "/robots.txt": Answer(body=f"Sitemap: {root}index.xml\n"),
            "/index.xml": sitemap("1.xml", "2.xml", kind="sitemapindex", part="sitemap"),
            "/1.xml": sitemap(*(f"a{number}" for number in range(20))),
            "/2.xml": sitemap(*(f"b{number}" for number in range(20))),
        }
    )
    settings = {"REP_STORE": "redis", "SCHEDULER_IDLE_BEFORE_CLOSE": 3}
    begin(site, "tests.extras.fleet.spiders:MapSpider", 3, settings=settings, sites=[root]).wait()
    seen = requests_by_path(site)
    assert len(seen) == 44
    assert set(seen.values()) == {1}


@needs("evidence")
def test_report_has_the_coverage_of_all_workers(
    site_of: SiteOf, begin: Begin, tmp_path: Path
) -> None:
    """One worker reads the sitemap; the report on all trails has the pages of both."""
    site = site_of(page=Answer(body="page", delay_seconds=0.05))
    (root,) = roots(site, 1)
    paths = [*(f"a{number}?q={number}" for number in range(60)), "private"]
    locs = "".join(f"<url><loc>{root}{path}</loc></url>" for path in paths)
    robots = f"Sitemap: {root}map.xml\nUser-agent: *\nDisallow: /private\n"
    site.change(
        {"/robots.txt": Answer(body=robots), "/map.xml": Answer(body=f"<urlset>{locs}</urlset>")}
    )
    settings = {"REP_STORE": "redis", "SCHEDULER_IDLE_BEFORE_CLOSE": 3, "CONCURRENT_REQUESTS": 4}
    settings |= {"REP_AUDIT_DIR": str(tmp_path), "LOG_LEVEL": "INFO"}
    crew = begin(site, "tests.extras.fleet.spiders:MapSpider", 2, settings=settings, sites=[root])
    crew.wait()
    rows = json.loads(rep("report", tmp_path, "--json").out)["coverage"]["rows"]
    ends = {"listed": 61, "requested": 60, "fetched": 60, "disallowed": 1}
    assert {row["what"]: row["count"] for row in rows if row["count"]} == ends
    assert crew.stat("rep/coverage/fetched") < 60, "both workers have fetched pages"
    assert crew.logs.count("Sitemaps that this worker read list 61 URLs; it requested") == 1
    told = f"not requested by this worker (for all workers, see scrapy rep report {tmp_path})"
    assert told in crew.logs


def test_coverage_beside_another_shared_queue(
    site_of: SiteOf, begin: Begin, redis_server: RedisServer
) -> None:
    """Workers of scrapy-redis share their queue, too: each has fetched a part of the pages."""
    site = site_of(page=Answer(body="page"))
    (root,) = roots(site, 1)
    site.change(
        {
            "/robots.txt": Answer(body=f"Sitemap: {root}map.xml"),
            "/map.xml": Answer(body=f"<urlset><url><loc>{root}a</loc></url></urlset>"),
        }
    )
    settings = {
        "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
        "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
        "REDIS_URL": redis_server.url,
        "REP_REDIS_URL": "",
    }
    crew = begin(site, "tests.extras.fleet.spiders:MapSpider", 1, settings=settings, sites=[root])
    crew.wait()
    assert "Sitemaps that this worker read list 1 URL; it requested 1 of these" in crew.logs
