"""One fetch per origin, and every request that waits for it is judged by what it brings."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, BY_HAND, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.servers.handle import Answer, Site

pytestmark = pytest.mark.every_loop

FAIR = "tests.crawls.fair_spider:FairSpider"
QUICK_COUNT = 80
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


def most_at_a_time(site: Site, seconds: float) -> int:
    """The most pages that were requested within the time of one page."""
    slow = {f"/{number}" for number in range(QUICK_COUNT, QUICK_COUNT + 24)}
    asked = [seen.at for seen in site.requests() if seen.path in slow]
    assert len(asked) == 24
    return max(sum(at <= other < at + seconds for other in asked) for at in asked)


def pages_of(site: Site, loop: Loop, settings: dict[str, Any]) -> list[dict[str, Any]]:
    """The concurrency of a crawl of some quick and then 24 slow pages."""
    slow = Answer(body="x", delay_seconds=0.5)
    pages = {f"/{number}": slow for number in range(QUICK_COUNT, QUICK_COUNT + 24)}
    site.change({"/robots.txt": Answer(), **pages})
    homes = [site.url("")]
    result = crawl(
        FAIR, loop=loop, settings={**ADDON, **settings}, homes=homes, pages=QUICK_COUNT + 24
    )
    assert result.exit_code == 0, result.error
    assert len(result.items) == QUICK_COUNT + 24
    return [item for item in result.items if int(item["url"].rpartition("/")[2]) >= QUICK_COUNT]


@pytest.mark.parametrize("loop", LOOPS)
def test_each_place_of_a_host_is_used_once(loop: Loop) -> None:
    with Site() as site:
        pages_of(site, loop, {"CONCURRENT_REQUESTS_PER_DOMAIN": 8})
        assert most_at_a_time(site, 0.45) == 8


# Without a reactor, the handler opens no more connections to a host than a slot has places.
@pytest.mark.parametrize("loop", LOOPS[:2])
@pytest.mark.parametrize("after", [0, QUICK_COUNT])
def test_slots_chosen_by_a_middleware_keep_their_places(after: int, loop: Loop) -> None:
    """The slot that a request was handed out for is free at once: the next one need not wait."""
    settings = {
        "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
        "DOWNLOADER_MIDDLEWARES": {"tests.crawls.meddling.Spreads": 850},
        "SPREADS_AFTER": after,
    }
    with Site() as site:
        pages_of(site, loop, settings)
        assert most_at_a_time(site, 0.45) >= 6


CHAIN = "tests.crawls.chain_spider:ChainSpider"
LIMIT_SECONDS = 25  # a queue that waits for ever would wait so long


@pytest.mark.parametrize("loop", LOOPS)
def test_requests_that_are_dropped_leave_their_places_to_others(loop: Loop) -> None:
    """In a slot that the downloader does not have, because its requests never reach it."""
    quick = Answer(body="User-agent: *\nDisallow: /private/\n")
    with Site({"/robots.txt": quick}) as site:
        result = crawl(
            CHAIN,
            loop=loop,
            settings=ADDON,
            timeout_seconds=LIMIT_SECONDS,
            chain=[site.url(f"/{number}") for number in range(QUICK_COUNT)],
            behind=[site.url(path) for path in PRIVATE[:20] + PUBLIC[:1]],
            slot="of its own",
        )
        assert [path for path in site.paths() if path.startswith("/private")] == []
    assert result.finish_reason == "finished"
    assert len(result.items) == QUICK_COUNT + 21


@pytest.mark.parametrize("loop", LOOPS)
def test_a_middleware_that_drops_requests_late(loop: Loop) -> None:
    """All places of the host are taken, and then arrivals come to rest."""
    with Site(address="0.0.0.0") as site:
        result = crawl(
            CHAIN,
            loop=loop,
            settings={
                **ADDON,
                "DOWNLOADER_MIDDLEWARES": {"tests.crawls.chain_spider.DropsLate": 850},
            },
            timeout_seconds=LIMIT_SECONDS,
            chain=[site.url(f"/{number}") for number in range(QUICK_COUNT)],
            beside=[site.url(f"/late/{number}", "127.0.0.2") for number in range(20)],
        )
    assert result.finish_reason == "finished"
    assert len(result.items) == QUICK_COUNT + 20


@pytest.mark.parametrize("loop", LOOPS)
def test_a_request_that_is_returned_holds_one_place(loop: Loop) -> None:
    """Else none would be free for the last ones, which wait for each other's delay."""
    slow = Answer(body="User-agent: *\nCrawl-delay: 0.1\n")
    with Site() as site, Site({"/robots.txt": slow}) as other:
        result = crawl(
            CHAIN,
            loop=loop,
            settings={
                **ADDON,
                "DOWNLOADER_MIDDLEWARES": {"tests.crawls.chain_spider.Returns": 850},
                "DUPEFILTER_CLASS": "scrapy.dupefilters.BaseDupeFilter",
            },
            timeout_seconds=LIMIT_SECONDS,
            chain=[site.url(f"/{number}") for number in range(QUICK_COUNT)]
            + [site.url(f"/again/{number}") for number in range(3)],
            behind=[other.url(f"/{number}") for number in range(5)],
        )
    assert result.finish_reason == "finished"
    assert len(result.items) == QUICK_COUNT + 8
