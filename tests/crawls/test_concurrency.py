"""One fetch per origin, and every request that waits for it is judged by what it brings."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crawling import Loop, crawl
from tests.crawls.settings import ADDON, BY_HAND, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.servers.handle import Answer, Site

pytestmark = pytest.mark.every_loop

SLOW = Answer(body="User-agent: *\nDisallow: /private/\n", delay_seconds=0.5)
PRIVATE = [f"/private/{number}" for number in range(200)]
PUBLIC = [f"/public/{number}" for number in range(50)]


_CASES: list[tuple[Loop, dict[str, Any], bool]] = [
    ("asyncio", ADDON, False),
    ("asyncio", BY_HAND, False),
    ("asyncio", WITH_SCRAPYS_QUEUE, True),
    ("select", WITH_SCRAPYS_QUEUE, False),
    ("reactorless", ADDON, True),
]


@pytest.mark.parametrize(("loop", "settings", "cancel_first"), _CASES)
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


def test_places_of_a_host_are_used_once() -> None:
    """But each slot that a middleware chooses has places of its own."""
    settings = {
        **ADDON,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "DOWNLOADER_MIDDLEWARES": {"tests.crawls.meddling.Spreads": 850},
        "SPREADS_AFTER": 5,
    }
    with Site({"/robots.txt": Answer()}, default=Answer(body="x", delay_seconds=0.5)) as site:
        urls = [site.url(f"/{number}") for number in range(21)]
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        _, *asked = (seen.at for seen in site.requests())
    assert len(result.items) == len(asked) == 21
    at_a_time = [sum(at <= other < at + 0.45 for other in asked) for at in asked]
    assert at_a_time[:4] == [1] * 4
    assert max(at_a_time) >= 6


def test_requests_that_are_dropped_or_returned_leave_their_places_to_others() -> None:
    """By a rule, in a slot that the downloader never has; and late, by a middleware."""
    paced = Answer(body="User-agent: *\nCrawl-delay: 0.1\nDisallow: /private/\n")
    with Site(address="0.0.0.0") as site, Site({"/robots.txt": paced}) as other:
        result = crawl(
            "tests.crawls.chain_spider:ChainSpider",
            settings={
                **ADDON,
                "DOWNLOADER_MIDDLEWARES": {
                    "tests.crawls.chain_spider.DropsLate": 850,
                    "tests.crawls.chain_spider.Returns": 860,
                },
                "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
            },
            timeout_seconds=25,  # a queue that waits for ever would wait so long
            chain=[site.url(f"/{number}") for number in range(5)]
            + [site.url(f"/again/{number}") for number in range(3)],
            beside=[site.url(f"/late/{number}", "127.0.0.2") for number in range(20)],
            behind=[other.url(path) for path in PRIVATE[:20] + PUBLIC[:5]],
            slot="of its own",
        )
        assert [path for path in other.paths() if path.startswith("/private")] == []
    assert result.finish_reason == "finished"
    assert len(result.items) == 8 + 20 + 25
