"""Real crawls by several workers at a real Redis, as sites see them."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.crawling import crawl
from tests.fleet.crews import SETTINGS, Crew, Loop
from tests.redis_server import RedisServer, needs_redis
from tests.servers.handle import Answer, Site, free_port

pytestmark = [needs_redis, pytest.mark.timed]
TREE = "tests.fleet.spiders:TreeSpider"
SLOW_TREE = "tests.fleet.spiders:SlowTreeSpider"
FLAT = "tests.fleet.spiders:FlatSpider"
SEEDED = "tests.fleet.spiders:SeededSpider"
ROBOTS = Answer(body="User-agent: *\nDisallow: /7$\n")
_LOOPS: tuple[Loop, ...] = ("asyncio", "reactorless")


@pytest.fixture
def site() -> Iterator[Site]:
    """Every 127.x.y.z is a host of it."""
    with Site({"/robots.txt": ROBOTS}, address="0.0.0.0") as one:
        yield one


def roots(site: Site, count: int) -> list[str]:
    return [site.url("/", host=f"127.0.2.{number}") for number in range(1, count + 1)]


def requests_by_path(site: Site) -> Counter[tuple[str, str]]:
    """The number of requests by host and path."""
    return Counter((seen.headers["host"], seen.path) for seen in site.requests())


def pages_of_tree(pages: int) -> set[str]:
    """Those that can be come to without page 7."""
    found, left = set(), [0]
    while left:
        number = left.pop()
        if number < pages and number != 7:
            found.add(f"/{number}")
            left += [2 * number + 1, 2 * number + 2]
    return found


def assert_tree(site: Site, hosts: int, pages: int) -> Counter[tuple[str, str]]:
    """All allowed pages were requested, and no other; return the number of requests of each."""
    seen = requests_by_path(site)
    paths = Counter(path for _, path in seen)
    assert set(paths) == {"/robots.txt", *pages_of_tree(pages)}
    assert set(paths.values()) == {hosts}
    return seen


def assert_nothing_left(server: RedisServer) -> None:
    with server.client() as client:
        left = [key for key in client.keys("*") if b"requests}" in key]
    assert [key for key in left if not key.endswith(b":dead")] == []


class TestOneCrawl:
    """A user changes four settings."""

    def test_one_worker(self, site: Site, redis_server: RedisServer) -> None:
        with Crew(redis_server.url, TREE, 1, roots=roots(site, 2), pages=20) as crew:
            crew.wait()
            assert crew.errors == ""
            assert set(assert_tree(site, 2, 20).values()) == {1}
            result = crew.result(0)
            assert result["finish_reason"] == "finished"
            assert result["deprecations"] == []
            assert "ERROR" not in crew.log(0)
            assert "Traceback" not in crew.log(0)
        assert_nothing_left(redis_server)

    @pytest.mark.slow
    @pytest.mark.every_loop
    @pytest.mark.parametrize("loop", _LOOPS)
    @pytest.mark.parametrize("spider", [TREE, SLOW_TREE])
    def test_three_workers(
        self, site: Site, redis_server: RedisServer, loop: Loop, spider: str
    ) -> None:
        """One robots.txt fetch per origin, each page once, and all end together."""
        settings = {
            "REP_STORE": "redis",
            "REP_STORE_PATH": ":memory:",
            "SCHEDULER_IDLE_BEFORE_CLOSE": 3,
        }
        with Crew(
            redis_server.url,
            spider,
            3,
            loop=loop,
            settings=settings,
            roots=roots(site, 5),
            pages=40,
        ) as crew:
            crew.wait()
            assert crew.errors == ""
            seen = assert_tree(site, 5, 40)
            assert set(seen.values()) == {1}
            reasons = {crew.result(number)["finish_reason"] for number in range(3)}
            assert reasons == {"finished"}
            at = [crew.result(number)["stats"]["finish_time"] for number in range(3)]
            assert seconds_between(at) < 2
            assert [crew.result(number)["deprecations"] for number in range(3)] == [[], [], []]
        assert_nothing_left(redis_server)

    @pytest.mark.slow
    @pytest.mark.parametrize("loop", _LOOPS)
    def test_retries_and_redirects_of_start_requests_are_fetched(
        self, redis_server: RedisServer, loop: Loop
    ) -> None:
        """All are redirected to one page, which always fails. Workers do not know which of them
        requested it before.
        """
        routes = {
            "/robots.txt": ROBOTS,
            "/busy": Answer(status=503, delay_seconds=0.05),
            "/*": Answer(status=302, headers=[("Location", "/busy")], delay_seconds=0.05),
        }
        settings = {"CONCURRENT_REQUESTS": 2, "RETRY_TIMES": 3, "REP_BACKOFF": False}
        with (
            Site(routes, address="0.0.0.0") as site,
            Crew(
                redis_server.url,
                FLAT,
                3,
                loop=loop,
                settings=settings,
                roots=[site.url("/1", host="127.0.2.1")],
                pages=12,
            ) as crew,
        ):
            crew.wait()
            assert crew.errors == ""
            assert crew.stat("retry/max_reached") == 12
            paths = Counter(path for _, path in requests_by_path(site).elements())
            assert paths.pop("/busy") == 12 * (1 + settings["RETRY_TIMES"])
            assert paths.pop("/robots.txt") <= 3
            assert paths == dict.fromkeys((f"/1{number}" for number in range(12)), 1)
        assert_nothing_left(redis_server)

    @pytest.mark.slow
    def test_without_redis(self) -> None:
        url = f"redis://127.0.0.1:{free_port()}/0"
        result = crawl(TREE, settings={**SETTINGS, "REP_REDIS_URL": url}, roots=[])
        assert "; start it, or correct the address in REP_REDIS_URL" in result.error + result.log

    @pytest.mark.slow
    def test_a_redis_that_refuses(self) -> None:
        """It answers: that this user may run no script."""
        with RedisServer() as server, server.client() as client:
            client.execute_command("ACL", "SETUSER", "default", "-evalsha")
            result = crawl(TREE, settings={**SETTINGS, "REP_REDIS_URL": server.url}, roots=[])
        words = result.error + result.log
        assert "REP_REDIS_URL: Redis at " in words
        assert "at least these rights: " in words

    @pytest.mark.slow
    def test_node_of_a_cluster_without_the_keys(self) -> None:
        bus = free_port()
        options = {"cluster-enabled": "yes"}
        with (
            RedisServer(**options, **{"cluster-port": str(free_port())}) as one,
            RedisServer(**options, **{"cluster-port": str(bus)}) as other,
            one.client() as client,
            other.client() as theirs,
        ):
            theirs.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
            client.execute_command("CLUSTER", "MEET", "127.0.0.1", other.port, bus)
            patience = time.monotonic() + 20
            while b"cluster_state:ok" not in client.execute_command("CLUSTER", "INFO"):
                assert time.monotonic() < patience
                time.sleep(0.1)
            result = crawl(TREE, settings={**SETTINGS, "REP_REDIS_URL": one.url}, roots=[])
            words = result.error + result.log
            assert f"127.0.0.1:{other.port}; give the address of the node that it names" in words
            done = crawl(TREE, settings={**SETTINGS, "REP_REDIS_URL": other.url}, roots=[])
            assert done.error == ""


def assert_paced(times: list[float], seconds: float) -> None:
    """As the site sees it, which takes note of a request late where the machine is busy.

    Workers that did not share a pace would leave next to nothing between some of them.
    """
    gaps = [after - before for before, after in itertools.pairwise(sorted(times))]
    assert min(gaps) >= 0.7 * seconds, gaps  # in their order: a short one after a long one?
    assert sorted(gaps)[len(gaps) // 2] >= 0.98 * seconds, gaps


def seconds_between(times: list[str]) -> float:
    from datetime import datetime

    found = [datetime.fromisoformat(time) for time in times]
    return (max(found) - min(found)).total_seconds()


class TestRefused:
    """Settings that would be ignored, and what can't work, are refused at start."""

    @pytest.mark.parametrize(
        ("settings", "words"),
        [
            ({"REP_REDIS_URL": ""}, "RepRedisScheduler needs REP_REDIS_URL"),
            (
                {"SCHEDULER_QUEUE_CLASS": "scrapy_redis.queue.PriorityQueue"},
                "SCHEDULER_QUEUE_CLASS has no effect",
            ),
            (
                {"DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter"},
                "DUPEFILTER_CLASS has no effect",
            ),
            ({"SCHEDULER_SERIALIZER": "json"}, "SCHEDULER_SERIALIZER has no effect"),
            ({"JOBDIR": "job"}, "JOBDIR has no effect"),
            (
                {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
                "needs asyncio",
            ),
            ({"REP_FLEET_LEASE_SECONDS": 0}, "REP_FLEET_LEASE_SECONDS"),
        ],
    )
    def test_settings(
        self, redis_server: RedisServer, settings: dict[str, Any], words: str
    ) -> None:
        loop: Loop = "select" if "TWISTED_REACTOR" in settings else "asyncio"
        everything = {**SETTINGS, "REP_REDIS_URL": redis_server.url, **settings}
        result = crawl(TREE, loop=loop, settings=everything, roots=[])
        assert words in result.error + result.log
        assert result.items == []


@pytest.mark.slow
class TestPace:
    """The delays of a site count over all workers, as the site sees them."""

    @pytest.mark.every_loop
    @pytest.mark.parametrize("loop", _LOOPS)
    def test_crawl_delay(self, redis_server: RedisServer, loop: Loop) -> None:
        with ExitStack() as stack:
            body = "User-agent: *\nCrawl-delay: 0.5\n"
            sites = [
                stack.enter_context(Site({"/robots.txt": Answer(body=body)}, address="0.0.0.0"))
                for _ in range(4)
            ]
            crew = stack.enter_context(
                Crew(
                    redis_server.url,
                    FLAT,
                    3,
                    loop=loop,
                    settings={"REP_STORE": "redis", "REP_STORE_PATH": ":memory:"},
                    roots=[site.url("/", host=f"127.0.3.{n + 1}") for n, site in enumerate(sites)],
                    pages=10,
                )
            )
            crew.wait()
            assert crew.errors == ""
            assert len(set(crew.scraped)) == len(crew.scraped) == 40
            for site in sites:
                times = [seen.at for seen in site.requests()]
                assert len(times) == 11
                assert_paced(times, 0.5)

    def test_download_delay_and_its_jitter(self, site: Site, redis_server: RedisServer) -> None:
        settings = {"DOWNLOAD_DELAY": 0.4, "REP_STORE": "redis", "REP_STORE_PATH": ":memory:"}
        with Crew(
            redis_server.url, FLAT, 3, settings=settings, roots=roots(site, 1), pages=6
        ) as crew:
            crew.wait()
            assert crew.errors == ""
        assert_paced([seen.at for seen in site.requests() if seen.path != "/robots.txt"], 0.4)

    def test_each_for_itself(self, site: Site, redis_server: RedisServer) -> None:
        """REP_PACE_SCOPE = process: two workers keep the delay each."""
        settings = {"DOWNLOAD_DELAY": 0.5, "REP_PACE_SCOPE": "process", "CONCURRENT_REQUESTS": 4}
        with Crew(
            redis_server.url, FLAT, 2, settings=settings, roots=roots(site, 1), pages=12
        ) as crew:
            crew.wait()
            assert crew.errors == ""
            shares = [crew.result(n)["stats"].get("item_scraped_count", 0) for n in range(2)]
        assert sum(shares) == 11
        assert all(shares)


class TestEntries:
    """Entries that another program writes into the queue are not executed."""

    @pytest.mark.slow
    def test_hostile_entries(self, site: Site, redis_server: RedisServer) -> None:
        import pickle

        import msgpack

        url = site.url("/0", host="127.0.2.1")
        lane = site.url("", host="127.0.2.1")
        hostile = [
            pickle.dumps({"url": url}),
            b"x" * 50_000_000,
            msgpack.packb({"url": url, "callback": "__init__"}),
            msgpack.packb({"url": url, "callback": "from_crawler"}),
            msgpack.packb({"url": "file:///etc/passwd"}),
            msgpack.packb({"url": url, "_class": "subprocess.Popen"}),
            msgpack.packb({"url": 5}),
        ]
        prefix = "rep:{tree:requests}:"
        with redis_server.client() as client:
            client.rpush(f"{prefix}q:{lane}", *(b"\0" + one for one in hostile))
            record = ["n", len(hostile), 0, 0, 0, 0, "", "", 0, 0, ""]
            client.hset(f"{prefix}lines", lane, msgpack.packb(record))
            client.zadd(f"{prefix}new", {lane: 0})
            client.hset(f"{prefix}t", "n", len(hostile))
        with Crew(redis_server.url, TREE, 1, roots=roots(site, 1), pages=3) as crew:
            crew.wait()
            assert crew.stat("rep/fleet/passed_on") == len(hostile) - 1, "the long one is not read"
            assert "is set aside" in crew.log(0)
        assert_tree(site, 1, 3)
        with redis_server.client() as client:
            letters = client.lrange(f"{prefix}dead", 0, -1)
        assert len(letters) == len(hostile)
        assert max(map(len, letters)) < 2000


@pytest.mark.slow
class TestStartUrls:
    """A RedisSpider's start URLs are moved by the batch, and none is lost."""

    @pytest.mark.parametrize("kind", ["list", "set"])
    def test_redis_spider(self, site: Site, redis_server: RedisServer, kind: str) -> None:
        urls = [site.url(f"/{number}", host="127.0.2.1") for number in range(30)]
        settings = {
            "REDIS_START_URLS_AS_SET": kind == "set",
            "CONCURRENT_REQUESTS": 4,
            "SCHEDULER_IDLE_BEFORE_CLOSE": 6,  # longer than the pause below
        }
        with redis_server.client() as client:
            add = client.sadd if kind == "set" else client.rpush
            add("seeded:urls", *urls[:20])
            with Crew(redis_server.url, SEEDED, 2, settings=settings) as crew:
                time.sleep(4)
                add("seeded:urls", *urls[20:])
                crew.wait()
                assert crew.stat("rep/fleet/start_urls") == 30
                assert "Traceback" not in crew.log(0) + crew.log(1)
            assert not client.exists("seeded:urls")
        paths = Counter(path for _, path in requests_by_path(site).elements())
        assert {path: count for path, count in paths.items() if path != "/robots.txt"} == {
            f"/{number}": 1 for number in range(30) if number != 7
        }


@pytest.mark.slow
def test_sitemaps_once_over_the_fleet(redis_server: RedisServer) -> None:
    """One worker of three fetches each sitemap and index."""
    with Site(address="0.0.0.0") as site:

        def url(path: str) -> str:
            return site.url(path, host="127.0.2.1")

        def sitemap(*paths: str, kind: str = "urlset", part: str = "url") -> Answer:
            parts = "".join(f"<{part}><loc>{url(path)}</loc></{part}>" for path in paths)
            return Answer(body=f"<{kind}>{parts}</{kind}>")

        site.change(
            {
                "/robots.txt": Answer(body=f"Sitemap: {url('/index.xml')}\n"),
                "/index.xml": sitemap("/1.xml", "/2.xml", kind="sitemapindex", part="sitemap"),
                "/1.xml": sitemap(*(f"/a{number}" for number in range(20))),
                "/2.xml": sitemap(*(f"/b{number}" for number in range(20))),
            }
        )
        with Crew(
            redis_server.url,
            "tests.fleet.spiders:MapSpider",
            3,
            settings={"REP_STORE": "redis", "SCHEDULER_IDLE_BEFORE_CLOSE": 3},
            sites=[url("/")],
        ) as crew:
            crew.wait()
            assert crew.errors == ""
        seen = Counter(path for _, path in requests_by_path(site).elements())
        assert len(seen) == 44
        assert set(seen.values()) == {1}
