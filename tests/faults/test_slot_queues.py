"""Fetches that wait in the queue of a slot delay neither other origins nor the end of a crawl."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest
from scrapy import version_info

from tests.crawling import Crawl, crawl
from tests.crawls.settings import ADDON, DISALLOW_ALL, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.crawls.test_pace import assert_paced
from tests.servers.handle import Answer, Site, redirect

pytestmark = pytest.mark.timed

_ENOUGH = "tests.faults.spiders:EnoughSpider"
_SLOW_HOST = "slow.example"
_ORDINARY = [f"http://o{host}.example/{page}" for host in range(20) for page in range(2)]
# More than REP_CONCURRENT_FETCHES of them, so that they take all places.
_PILES = {
    "hosts that redirect to one page of one host": [
        f"http://p{number}.example/" for number in range(24)
    ],
    "ports of one host": [f"http://{_SLOW_HOST}:{8000 + number}/" for number in range(24)],
}

STEADY: dict[str, Any] = {"jitter": 0} if version_info >= (2, 19) else {"randomize_delay": False}


def crawl_behind(pile: list[str], delay_seconds: float, **settings: Any) -> Crawl:
    """A crawl of 40 pages that comes upon a pile first, and ends when it has the pages."""
    there = redirect(f"http://{_SLOW_HOST}/parked")
    routes = {url + "robots.txt": there for url in pile if _SLOW_HOST not in url}
    with Site({**routes, "http://o*": Answer(body="")}) as proxy:
        return crawl(
            _ENOUGH,
            settings={
                **ADDON,
                "DOWNLOAD_SLOTS": {
                    _SLOW_HOST: {"concurrency": 1, "delay": delay_seconds, **STEADY}
                },
                "REP_CONCURRENT_FETCHES": 8,
                "CLOSESPIDER_TIMEOUT": 25,
                **settings,
            },
            environment={"http_proxy": proxy.url("")},
            urls=[*pile, *_ORDINARY],
            enough=len(_ORDINARY),
            timeout_seconds=300,
        )


@pytest.mark.parametrize("pile", list(_PILES.values()), ids=list(_PILES))
def test_many_fetches_in_one_slot_delay_no_other_origin(pile: list[str]) -> None:
    result = crawl_behind(pile, 10)
    came = {item["url"] for item in result.items if item.get("status") == 200}
    assert len(came & set(_ORDINARY)) == len(_ORDINARY)
    assert result.finish_reason == "enough"
    assert result.stats["test/closing_seconds"] < 3
    assert result.exit_code == 0, result.error
    assert "Traceback" not in result.log


@pytest.mark.slow
def test_the_wait_in_a_slot_has_a_limit() -> None:
    """Three times that of a fetch and a delay: the first in the queue has a turn. None later."""
    with ExitStack() as stack:
        sites = [stack.enter_context(Site()) for _ in range(5)]
        result = crawl(
            "tests.spiders:UrlsSpider",
            settings={
                **ADDON,
                "DOWNLOAD_SLOTS": {"127.0.0.1": {"concurrency": 1, "delay": 2, **STEADY}},
                "REP_UNREACHABLE_WAIT_SECONDS": 0.5,
            },
            urls=[site.url("/a") for site in sites],
        )
        asked = [site.paths() for site in sites]
    assert result.finish_reason == "finished"
    assert asked.count(["/robots.txt", "/a"]) == 2, asked
    assert asked.count([]) == 3, asked
    assert result.stats["rep/line/gave_up"] == 3
    assert result.stats["rep/event/local"] == 3
    errors = [item["error"] for item in result.items if "error" in item]
    assert errors == ["RobotsTxtUnreachable"] * 3
    assert "given up in the queue of its slot: it was queued for 4 s" in result.log


def test_queued_refresh_does_not_delay_the_end() -> None:
    """The page is sent first; the refresh that it brings about would be next, in a minute."""
    first = Answer(headers=[("Cache-Control", "max-age=1")])
    with Site({"/robots.txt": first}) as site:
        result = crawl(
            "tests.faults.spiders:PacedSpider",
            settings={
                **ADDON,
                "DOWNLOAD_SLOTS": {"last": {"concurrency": 1, "delay": 60, **STEADY}},
                "REP_CACHE_MIN_SECONDS": 0.2,
                "REP_FETCH_META": {"download_slot": "last"},
            },
            urls=[site.url("/a"), site.url("/b")],
            pause_seconds=0.96,
            timeout_seconds=40,
        )
        assert site.paths() == ["/robots.txt", "/a", "/b"]
    assert result.stats["rep/cache/refreshed"] == 1
    assert result.stats["elapsed_time_seconds"] < 10
    assert result.finish_reason == "finished"
    assert "unreachable" not in result.log
    assert "Traceback" not in result.log


def test_queued_fetch_ends_when_the_crawl_closes() -> None:
    """The pages themselves go through slots of their own: Scrapy would wait for those."""
    slots = {"last": {"concurrency": 1, "delay": 60, **STEADY}}
    settings = {"DOWNLOAD_SLOTS": slots, "REP_FETCH_META": {"download_slot": "last"}}
    shut = Answer(body=DISALLOW_ALL)
    with Site({"/robots.txt": shut}) as one, Site() as other, Site() as good:
        result = crawl(
            "tests.faults.spiders:LastIsExemptSpider",
            settings={**WITH_SCRAPYS_QUEUE, **settings},
            urls=[one.url("/a"), other.url("/a"), good.url("/a", "localhost")],
            timeout_seconds=40,
        )
        assert one.paths() == ["/robots.txt"]
        assert other.paths() == []
    assert result.finish_reason == "enough"
    assert result.stats["test/closing_seconds"] < 3
    assert "Traceback" not in result.log
    assert result.exit_code == 0


def test_requests_in_a_slot_obey_a_robots_txt_that_is_refreshed() -> None:
    """With Scrapy's queue, they were judged by the file before it."""
    before = Answer(body="User-agent: *\n", headers=[("Cache-Control", "max-age=1")])
    after = Answer(body="User-agent: *\nDisallow: /x\nCrawl-delay: 0.5\n")
    settings = {
        **WITH_SCRAPYS_QUEUE,
        "REP_CACHE_MIN_SECONDS": 1,
        "CONCURRENT_REQUESTS": 8,
        "DOWNLOAD_DELAY": 0.1,
        "RANDOMIZE_DOWNLOAD_DELAY": False,
    }
    with Site({"/robots.txt": [before, after]}) as site:
        paths = [f"/{number}" for number in range(12)]
        paths += [f"/{kind}{number}" for number in range(6) for kind in "xy"]
        urls = [site.url(path) for path in paths]
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        seen = site.requests()
    assert len(result.items) == len(urls)
    _, refreshed_at = (one.at for one in seen if one.path == "/robots.txt")
    later = [one for one in seen if one.at >= refreshed_at]
    assert not [one.path for one in later if one.path.startswith("/x")]
    assert_paced(later, 0.5)
    dropped = {item["url"] for item in result.items if item.get("error") == "RobotsTxtDisallowed"}
    came = {site.url(one.path) for one in seen}
    assert dropped == {url for url in urls if "/x" in url} - came
