"""Workers that are stopped while something waits: they end soon, sign off, and lose nothing."""

from __future__ import annotations

import signal
import time
from pathlib import Path

import pytest

from tests.extras.fleet.crews import STORES, Begin, SiteOf, assert_nothing_left, until
from tests.redis_server import RedisServer, SlowLine, needs_redis
from tests.servers.handle import Answer

pytestmark = [needs_redis, pytest.mark.slow]
SPIDERS = "tests.extras.fleet.spiders:"


@pytest.mark.parametrize(
    ("stop", "is_one"),
    [("SIGTERM", False), ("CLOSESPIDER_PAGECOUNT", False), ("CLOSESPIDER_PAGECOUNT", True)],
)
def test_start_without_an_end(
    site_of: SiteOf, begin: Begin, redis_server: RedisServer, stop: str, is_one: bool
) -> None:
    """Its requests are pulled as Redis and the downloader take them."""
    pages = 1 if is_one else 40
    site = site_of(page=Answer(body="page", delay_seconds=0.1))
    settings = {} if stop == "SIGTERM" else {stop: 1 + pages}  # with the robots.txt
    crew = begin(site, f"{SPIDERS}EndlessSpider", 1, settings=settings, is_one=is_one)
    until(site, 1 + pages)
    if stop == "SIGTERM":
        crew.signal(0, signal.SIGTERM)
    crew.wait()
    with redis_server.client() as client:
        assert int(client.hget("rep:{flat:requests}:t", "n") or 0) < 3000
        assert client.zcard("rep:{flat:requests}:w") == 0
    assert "not queued" not in crew.logs


@pytest.mark.parametrize("is_out", [False, pytest.param(True, marks=pytest.mark.at_length)])
def test_links_that_are_not_queued_in_time(
    site_of: SiteOf, begin: Begin, redis_server: RedisServer, is_out: bool
) -> None:
    """The page that led to them is fetched again, and they are found there."""
    site = site_of()
    settings = {
        **STORES,
        "SCHEDULER_IDLE_BEFORE_CLOSE": 3,
        "REP_FLEET_LEASE_SECONDS": 12,
        "REP_REDIS_TIMEOUT_SECONDS": 10,
    }
    with SlowLine(redis_server.port) as line:
        hub = f"{SPIDERS}HubSpider"
        crew = begin(site, hub, 1, url=line.url, settings=settings, pages=1500)
        until(site, 20)
        line.delay_seconds = 3.0
        time.sleep(1)
        crew.signal(0, signal.SIGTERM)
        line.refuses = is_out
        if is_out:
            line.cut()
        crew.wait()
    with redis_server.client() as client:
        assert client.zcard("rep:{tree:requests}:w") == int(is_out), "otherwise it signed off"
    words = "Redis does not answer, so" if is_out else "Redis answers, but 8 s are over: "
    assert words in crew.log(0)
    next_crew = begin(site, hub, 1, settings=settings, pages=1500)
    next_crew.wait(90)
    assert {*site.paths()} == {"/robots.txt", *(f"/{number}" for number in range(1500))}
    assert_nothing_left(redis_server)


@pytest.mark.parametrize("awaited", ["turns", "robots.txt"])
def test_files_that_wait(site_of: SiteOf, begin: Begin, tmp_path: Path, awaited: str) -> None:
    """They do not delay the end; their page comes again, with a whole item."""
    site = site_of("Crawl-delay: 1.5")
    pipelines = {"scrapy.pipelines.files.FilesPipeline": 1}
    settings = {**STORES, "ITEM_PIPELINES": pipelines, "FILES_STORE": str(tmp_path)}
    spider, root = f"{SPIDERS}FilesSpider", "" if awaited == "turns" else site.url("/", "127.0.3.1")
    if root:
        quick, slow = Answer(body="User-agent: *\n"), Answer(body="", delay_seconds=60.0)
        site.change({"/robots.txt": [quick, slow, quick]})
    crew = begin(site, spider, 1, settings=settings, pages=1, files=root and f"{root}0")
    until(site, 3)  # the page with its robots.txt, and a file or the other robots.txt
    crew.signal(0, signal.SIGTERM)
    crew.wait()
    files = {f"/0.{number}" for number in range(4)}
    assert len(files & {*site.paths()}) <= 2
    assert "1 page goes back to the queue: some of their links or files" in crew.log(0)
    crew.add()
    crew.wait()
    assert crew.reason(1) == "finished"
    assert files < {*site.paths()}
    assert [len(item["files"]) for item in crew.result(1)["items"]] == [4]


def test_a_robots_txt_that_is_awaited(site_of: SiteOf, begin: Begin) -> None:
    """Another worker has read it; this one awaits it, and gives its requests back."""
    site = site_of(page=Answer(body="page", delay_seconds=1.0))
    slow = Answer(body="User-agent: *\n", delay_seconds=60.0)
    site.change({"/robots.txt": [Answer(body="User-agent: *\n"), slow]})
    settings = {"CONCURRENT_REQUESTS": 1, "SCHEDULER_IDLE_BEFORE_CLOSE": 3}
    crew = begin(site, count=1, settings=settings, pages=12)
    until(site, 2)
    crew.add()
    while site.paths().count("/robots.txt") < 2:
        time.sleep(0.02)
    crew.signal(1, signal.SIGTERM)
    crew.wait()
    assert crew.reason(0) == "finished"
    assert {*site.paths()} == {"/robots.txt", *(f"/{number}" for number in range(12))}
