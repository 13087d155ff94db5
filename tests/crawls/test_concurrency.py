"""One fetch per origin, and every request that waits for it is judged by what it brings."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, BY_HAND, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.servers.handle import Answer, Site

pytestmark = pytest.mark.every_loop

ARRIVALS = "tests.crawls.arrivals_spider:ArrivalsSpider"
SLOW = Answer(body="User-agent: *\nDisallow: /private/\n", delay_seconds=0.5)
PRIVATE = [f"/private/{number}" for number in range(200)]
PUBLIC = [f"/public/{number}" for number in range(50)]


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("cancel_first", [False, True])
@pytest.mark.parametrize("settings", [ADDON, WITH_SCRAPYS_QUEUE], ids=["our queue", "Scrapy's"])
def test_many_wait_for_one_fetch(loop: Loop, cancel_first: bool, settings: dict[str, Any]) -> None:
    with Site({"/robots.txt": SLOW}) as site:
        urls = [site.url(path) for path in PRIVATE + PUBLIC]
        result = crawl(
            URLS_SPIDER, loop=loop, settings=settings, urls=urls, cancel_first=cancel_first
        )
        paths = site.paths()
    assert result.exit_code == 0, result.log
    assert result.finish_reason == "finished"
    assert paths.count("/robots.txt") == 1
    assert [path for path in paths if path.startswith("/private")] == []
    fetched = {path for path in paths if path != "/robots.txt"}
    assert fetched == set(PUBLIC)
    dropped = [item for item in result.items if item.get("error") == "RobotsTxtDisallowed"]
    # The request that is cancelled is the first, one of the disallowed ones.
    assert len(dropped) == len(PRIVATE) - cancel_first
    assert {item["verdict"]["line"] for item in dropped} == {2}
    assert result.stats["robotstxt/request_count"] == 1
    assert result.stats["robotstxt/forbidden"] == len(dropped)
    assert result.deprecations == []


@pytest.mark.parametrize("loop", LOOPS)
def test_set_up_by_hand(loop: Loop) -> None:
    with Site({"/robots.txt": SLOW}) as site:
        urls = [site.url(path) for path in PRIVATE[:12] + PUBLIC[:3]]
        result = crawl(URLS_SPIDER, loop=loop, settings=BY_HAND, urls=urls)
        paths = site.paths()
    assert sorted(paths) == sorted(["/robots.txt", *PUBLIC[:3]])
    assert result.stats["robotstxt/forbidden"] == 12
    assert result.deprecations == []


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(("delay", "listens"), [("", False), ("Crawl-delay: 0.02\n", True)])
def test_requests_are_listened_to_where_a_pace_is_kept(
    delay: str, loop: Loop, *, listens: bool
) -> None:
    """Otherwise they are looked for, and no place is used twice, or left empty."""
    page = Answer(body="x", delay_seconds=0.4)
    routes = {f"/{number}": page for number in range(12)}
    with Site({"/robots.txt": Answer(body=f"User-agent: *\n{delay}"), **routes}) as site:
        settings = {**ADDON, "CONCURRENT_REQUESTS_PER_DOMAIN": 4}
        homes = [site.url("")]
        result = crawl(ARRIVALS, loop=loop, settings=settings, homes=homes, pages=12)
        asked = [seen.at for seen in site.requests() if seen.path != "/robots.txt"]
    assert len(result.items) == len(asked) == 12
    assert {item["is_listening"] for item in result.items[4:]} == {listens}
    if not listens:
        most = max(sum(at <= other < at + 0.35 for other in asked) for at in asked)
        assert most == 4


def test_a_second_crawl_of_the_harness_shows_the_leak_of_scrapy_s_own() -> None:
    """The test above can fail: without us, the same crawl downloads disallowed pages."""
    with Site({"/robots.txt": SLOW}) as site:
        urls = [site.url(path) for path in PRIVATE[:12]]
        crawl(URLS_SPIDER, loop="asyncio", settings={"ROBOTSTXT_OBEY": True}, urls=urls)
        leaked = [path for path in site.paths() if path.startswith("/private")]
    assert leaked
