"""Crawls that share a store in Redis: each robots.txt is fetched once, and no outage allows."""

from __future__ import annotations

import random
import re
import sqlite3
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.protocol.access.origin import Origin
from tests.cache.samples import usual_key
from tests.crawling import Crawl, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.redis_server import RedisServer, a_loop, redis_store
from tests.servers.handle import Answer, Site, free_port

_RULES = "User-agent: *\nDisallow: /private\n"
_WARNINGS = re.compile(r"\[(scrapy_rep\S*)\] WARNING: (.*)")
_WORDS = ("does not answer", "answers again")
_WORKERS = 4


@pytest.fixture
def own() -> Iterator[RedisServer]:
    """A server for one test, which may stop it."""
    with RedisServer() as server:
        yield server


@contextmanager
def hosts(count: int, delay_seconds: float = 0.3) -> Iterator[tuple[Site, list[str]]]:
    """A site that is the proxy of many hosts with slow robots.txt files."""
    slow = Answer(body=_RULES, delay_seconds=delay_seconds)
    names = [f"http://h{number}.example" for number in range(count)]
    with Site({f"{name}/robots.txt": slow for name in names}) as proxy:
        yield proxy, names


def worker(
    url: str,
    proxy: Site,
    names: list[str],
    path: Path | None,
    *,
    loop: Loop = "asyncio",
    seed: int = 0,
    timeout_seconds: float = 60,
    **settings: Any,
) -> Crawl:
    """A crawl of two pages of each host, in an order of its own, with a local tier of its own."""
    meta = {"proxy": proxy.url("")}
    urls = [f"{name}{page}" for name in names for page in ("/public", "/private")]
    random.Random(seed).shuffle(urls)
    local = (
        {"REP_STORE_PATH": ":memory:"}
        if path is None
        else {"REP_STORE_PATH": str(path / f"worker-{seed}" / "robots.sqlite")}
    )
    return crawl(
        URLS_SPIDER,
        loop=loop,
        settings={
            **ADDON,
            "REP_STORE": "redis",
            "REP_REDIS_URL": url,
            "REP_FETCH_META": meta,
            **local,
            **settings,
        },
        urls=urls,
        meta=meta,
        timeout_seconds=timeout_seconds,
    )


def asked(proxy: Site) -> dict[str, int]:
    return Counter(path for path in proxy.paths() if path.endswith("/robots.txt"))


def assert_obeyed(proxy: Site, names: list[str], crawls: list[Crawl]) -> None:
    """Each worker requested each allowed page, and no other page."""
    pages = Counter(path for path in proxy.paths() if not path.endswith("/robots.txt"))
    assert pages == {f"{name}/public": len(crawls) for name in names}, crawls[0].log
    for done in crawls:
        assert done.exit_code == 0, done.error
        assert "ERROR" not in done.log, done.log
        assert "Traceback" not in done.log, done.log


def warnings(done: Crawl) -> list[str]:
    """Warnings of the store; not of pace, nor of sites that seem slow on a busy machine."""
    found = _WARNINGS.findall(done.log)
    others = ("scrapy_rep.fetch.context", "scrapy_rep.middleware")
    return [words for name, words in found if name not in others]


@pytest.mark.parametrize(("loop", "tier"), [("asyncio", "sqlite"), ("reactorless", "memory")])
def test_four_workers_fetch_each_origin_once(
    redis_server: RedisServer, tmp_path: Path, loop: Loop, tier: str
) -> None:
    count = 40
    with hosts(count) as (proxy, names):
        path = tmp_path if tier == "sqlite" else None

        def one(seed: int) -> Crawl:
            return worker(
                redis_server.url, proxy, names, path, loop=loop, seed=seed, timeout_seconds=120
            )

        with ThreadPoolExecutor(_WORKERS) as pool:
            crawls = list(pool.map(one, range(_WORKERS)))
        assert asked(proxy) == {f"{name}/robots.txt": 1 for name in names}
        assert_obeyed(proxy, names, crawls)
    assert sum(done.stats.get("robotstxt/request_count", 0) for done in crawls) == len(names)
    if tier == "sqlite":
        for seed in range(_WORKERS):
            file = tmp_path / f"worker-{seed}" / "robots.sqlite"
            with closing(sqlite3.connect(file)) as plain:
                (kept,) = plain.execute("select count(*) from files_3").fetchone()
            assert kept == count


def test_record_of_another_origin_is_counted_and_not_used(redis_server: RedisServer) -> None:
    """A record of an origin that allows is copied to an origin that disallows."""
    free, strict = names = ["http://h0.example", "http://h1.example"]
    robots = {f"{free}/robots.txt": Answer(body=""), f"{strict}/robots.txt": Answer(body=_RULES)}
    with Site(robots) as proxy:
        worker(redis_server.url, proxy, names, None)
        with redis_server.client() as client:
            (stored,) = [key for key in client.keys("rep:{*}:p2:*") if free.encode() in key]
            there = [stored, stored.replace(free.encode(), strict.encode())]
            client.copy(*there, replace=True)
            done = worker(redis_server.url, proxy, names, None)
            assert client.get(there[0]) != client.get(there[1]), "it was fetched again"
        assert asked(proxy) == {f"{free}/robots.txt": 1, f"{strict}/robots.txt": 2}
        pages = Counter(path for path in proxy.paths() if path.endswith("/private"))
    assert pages == {f"{free}/private": 2}
    assert done.stats["rep/store/unreadable"] >= 1
    assert done.stats["rep/store/hit"] == 1


def test_crawl_without_a_server_obeys(tmp_path: Path) -> None:
    with hosts(10, 0.0) as (proxy, names):
        done = worker(f"redis://:secret@127.0.0.1:{free_port()}/0", proxy, names, tmp_path)
        assert set(asked(proxy).values()) == {1}
        assert_obeyed(proxy, names, [done])
    (words,) = warnings(done)
    assert "does not answer" in words
    assert "secret" not in done.log
    assert done.stats["rep/store/failed"] == 1


def _during(
    trouble: Callable[[], None], proxy: Site, start: Callable[[], list[Crawl]]
) -> list[Crawl]:
    """Crawls in the middle of which something happens."""
    with ThreadPoolExecutor(1) as pool:
        crawls: Future[list[Crawl]] = pool.submit(start)
        patience = time.monotonic() + 40
        while len(asked(proxy)) < 8:
            assert time.monotonic() < patience
            time.sleep(0.02)
        trouble()
        return crawls.result()


def _freeze(server: RedisServer) -> None:
    server.freeze()
    time.sleep(2)
    server.thaw()


def _kill(server: RedisServer) -> None:
    server.kill()
    time.sleep(1.5)
    server.start()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("trouble", "is_outage"),
    [(_freeze, True), (_kill, True), (RedisServer.flush, False)],
    ids=["frozen", "killed and empty", "flushed"],
)
def test_outage_in_the_middle_allows_nothing(
    own: RedisServer,
    tmp_path: Path,
    trouble: Callable[[RedisServer], None],
    is_outage: bool,
) -> None:
    """At most one fetch of each origin by each worker, and nothing that is not allowed."""
    with hosts(50) as (proxy, names):

        def start() -> list[Crawl]:
            def one(seed: int) -> Crawl:
                few: dict[str, Any] = {"CONCURRENT_REQUESTS": 2, "REP_CONCURRENT_FETCHES": 2}
                few["REP_REDIS_TIMEOUT_SECONDS"] = 0.25  # Redis is out for a second only
                return worker(own.url, proxy, names, tmp_path, seed=seed, **few)

            with ThreadPoolExecutor(2) as pool:
                return list(pool.map(one, range(2)))

        crawls = _during(lambda: trouble(own), proxy, start)
        assert set(asked(proxy)) == {f"{name}/robots.txt" for name in names}
        assert max(asked(proxy).values()) <= 2
        assert_obeyed(proxy, names, crawls)
    told = {tuple(word for word in _WORDS if word in str(warnings(done))) for done in crawls}
    # On a busy machine, one of them may have started when it was over.
    assert told - {()} == ({_WORDS} if is_outage else set())
    for done in crawls:
        assert len(warnings(done)) in (0, 2), "one each way"


def test_crawl_beside_a_full_redis(own: RedisServer) -> None:
    """It fetches each file itself, and one warning names the cause and the setting."""
    with own.client() as client, hosts(20, 0.0) as (proxy, names):
        client.config_set("maxmemory", 1)
        done = worker(own.url, proxy, names, None)
        assert asked(proxy) == {f"{name}/robots.txt": 1 for name in names}
        assert_obeyed(proxy, names, [done])
        assert client.keys("*") == []
    (warning,) = warnings(done)
    assert "used memory > 'maxmemory'" in warning
    assert "REP_STORE_OCTETS" in warning


def test_crawl_ends_while_another_process_fetches(redis_server: RedisServer) -> None:
    """It waits neither for the lease of the other process nor for its own time limit."""
    with Site({"/robots.txt": Answer(body=_RULES)}) as site, a_loop() as loop:
        store = redis_store(redis_server.url, None, loop)
        key = usual_key(Origin.of(site.url()))
        store.claim(key, seconds=19.0, fresh_seconds=0.0).result()
        began = time.monotonic()
        settings = {**ADDON, "REP_STORE": "redis", "CLOSESPIDER_TIMEOUT": 2}
        settings |= {"REP_REDIS_URL": redis_server.url, "REP_STORE_PATH": ":memory:"}
        done = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/public")])
        assert time.monotonic() - began < 20
        assert site.paths() == []
        assert store.look(key).result() is None
        store.close().result()
    assert done.exit_code == 0, done.error
    assert "ERROR" not in done.log


def test_crawl_without_asyncio_does_not_start(redis_server: RedisServer) -> None:
    with hosts(1) as (proxy, names):
        done = worker(redis_server.url, proxy, names, None, loop="select")
        assert proxy.paths() == []
    assert done.exit_code != 0
    assert "REP_REDIS_URL needs asyncio: remove TWISTED_REACTOR" in done.error


class WithoutRedis:
    """An add-on that makes as if redis-py were not installed."""

    def update_settings(self, settings: Any) -> None:
        for name in ("redis", "redis.asyncio"):
            sys.modules[name] = None  # type: ignore[assignment]


def test_crawl_without_redis_py_does_not_start() -> None:
    """Without the URL of a Redis, a crawl needs no redis-py."""
    with Site({"/robots.txt": Answer(body=_RULES)}) as site:
        urls = [site.url("/public"), site.url("/private")]
        addons = {"tests.extras.fleet.test_redis_crawls.WithoutRedis": 100, **ADDON["ADDONS"]}
        settings = {**ADDON, "ADDONS": addons}
        redis = {"REP_REDIS_URL": "redis://localhost", "REP_STORE": "auto"}
        done = crawl(URLS_SPIDER, settings={**settings, **redis}, urls=urls)
        assert site.paths() == []
        assert done.exit_code != 0
        assert 'pip install "scrapy-rep[redis]"' in done.error
        done = crawl(URLS_SPIDER, settings=settings, urls=urls)
        assert done.exit_code == 0, done.error
        assert site.paths() == ["/robots.txt", "/public"]


def test_outage_of_an_earlier_run_does_not_delay_the_next(own: RedisServer) -> None:
    """One worker stores the outage. Four others begin, and one of them fetches the file."""
    with hosts(1, 0.5) as (proxy, names):
        uri = f"{names[0]}/robots.txt"
        proxy.change({uri: Answer(status=503)})
        worker(own.url, proxy, names, None)
        assert proxy.paths() == [uri]
        proxy.change({uri: Answer(body=_RULES, delay_seconds=0.5)})
        with ThreadPoolExecutor(_WORKERS) as threads:
            seeds = range(_WORKERS)
            results = [
                *threads.map(lambda seed: worker(own.url, proxy, names, None, seed=seed), seeds)
            ]
        pages = Counter(path for path in proxy.paths() if path != uri)
        asked = proxy.paths().count(uri)
    assert asked == 2, [one.log for one in results]
    assert pages == {f"{names[0]}/public": _WORKERS}


def test_unwritable_local_tier_is_memory(redis_server: RedisServer) -> None:
    path = "/proc/self/robots.sqlite"
    url = redis_server.url
    settings = {"REP_STORE": "redis", "REP_REDIS_URL": url, "REP_STORE_PATH": path}
    with Site({"/robots.txt": Answer(body=_RULES)}) as site:
        result = crawl(URLS_SPIDER, settings={**ADDON, **settings}, urls=[site.url("/a")])
    assert "or to ':memory:'" in result.log
    assert len(result.items) == 1
