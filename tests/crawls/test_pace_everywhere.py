"""Crawl-delay as the site sees it, where others have a say in which way its requests take."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import LOOPS, REPOSITORY, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.crawls.test_pace import SCRAPY_QUEUE, asks, assert_paced
from tests.faults.test_closing import assert_clean
from tests.servers.handle import Answer, Site
from tests.servers.relay import SlowRelay

THROTTLED = {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.01}
JITTERED = {"DOWNLOAD_DELAY": 0.2}  # by up to a half, which the floor allows upwards only


def other_slots(count: int) -> dict[str, Any]:
    return {
        "DOWNLOADER_MIDDLEWARES": {"tests.crawls.pace_spider.OtherSlots": 900},
        "TEST_SLOTS": count,
    }


@pytest.mark.parametrize(
    ("count", "settings"),
    [
        (1, {}),
        (3, {**THROTTLED, **JITTERED}),
        (3, SCRAPY_QUEUE),
        pytest.param(3, {}, marks=pytest.mark.slow),
        pytest.param(1, THROTTLED, marks=pytest.mark.slow),
        pytest.param(1, JITTERED, marks=pytest.mark.slow),
        pytest.param(1, {**SCRAPY_QUEUE, **THROTTLED}, marks=pytest.mark.slow),
        pytest.param(3, {**SCRAPY_QUEUE, **JITTERED}, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("loop", LOOPS)
def test_slot_of_a_later_middleware_is_paced(
    loop: Loop, count: int, settings: dict[str, Any]
) -> None:
    """The site is owed its delay through one slot that is not its host's, or through many."""
    with Site({"/robots.txt": asks(0.4)}) as site, Site() as quick:
        urls = [site.url(f"/{number}") for number in range(4)]
        result = crawl(
            URLS_SPIDER,
            loop=loop,
            settings={**ADDON, **other_slots(count), **settings},
            urls=[*urls, quick.url("/1", host="localhost")],
        )
        assert result.exit_code == 0, result.error
        assert len(result.items) == 5
        assert_paced(site.requests(), 0.4)
    assert result.deprecations == []
    assert_clean(result.log)


@pytest.mark.parametrize("loop", LOOPS)
def test_slot_of_a_later_middleware_holds_no_place(loop: Loop) -> None:
    """A request that waits in a slot unknown to the queue does not draw all others after it."""
    with Site({"/robots.txt": asks(0.5)}) as slow, Site() as quick:
        first = [slow.url(f"/{number}") for number in range(4)]
        last = [quick.url(f"/{number}", host="localhost") for number in range(20)]
        result = crawl(
            URLS_SPIDER,
            loop=loop,
            settings={**ADDON, **other_slots(30), "CONCURRENT_REQUESTS": 4},
            urls=first + last,
        )
        assert_paced(slow.requests(), 0.5)
    done = [item["url"] for item in result.items]
    assert set(done[:22]) > set(last)


@pytest.mark.parametrize("loop", LOOPS)
def test_a_tdmrep_json_by_a_delay_that_is_new(loop: Loop) -> None:
    """The file with the delay has come, and is not yet in use: pages wait for it."""
    brief, json = ("Cache-Control", "max-age=1"), ("Content-Type", "application/json")
    site_of_both = Site(
        {
            "/robots.txt": [Answer(headers=[brief]), asks(0.7)],
            "/.well-known/tdmrep.json": [
                Answer(body="[]", headers=[brief, json]),
                Answer(body="[]", headers=[json]),
            ],
        }
    )
    with site_of_both as site, Site({"/robots.txt": asks(0.3)}) as other:
        result = crawl(
            "tests.crawls.pace_spider:LaterSpider",
            loop=loop,
            settings={**ADDON, "REP_CACHE_MIN_SECONDS": 1, "REP_TDMREP": True},
            urls=[
                site.url("/1"),
                *(other.url(f"/{number}", host="localhost") for number in range(6)),
                site.url("/2"),
            ],
        )
        assert len(result.items) == 8
        paths = ["/robots.txt", "/.well-known/tdmrep.json"]
        assert site.paths() == [*paths, "/1", *paths, "/2"]
        assert_paced(site.requests()[3:], 0.7)


@pytest.mark.parametrize("loop", LOOPS)
def test_retries_of_a_renewal_after_a_rest(loop: Loop) -> None:
    """The site has rested for longer than its delay, while another one was visited."""
    brief = asks(0.5, headers=[("Cache-Control", "max-age=2")])
    with (
        Site({"/robots.txt": [brief, Answer(status=503)]}) as site,
        Site({"/robots.txt": asks(0.3)}) as other,
    ):
        result = crawl(
            "tests.crawls.pace_spider:LaterSpider",
            loop=loop,
            settings={**ADDON, "REP_CACHE_MIN_SECONDS": 1, "REP_QUICK_RETRY_SECONDS": [0.1, 0.1]},
            urls=[
                site.url("/1"),
                *(other.url(f"/{number}", host="localhost") for number in range(9)),
                site.url("/2"),
            ],
        )
        assert len(result.items) == 11
        assert site.paths() == ["/robots.txt", "/1", *["/robots.txt"] * 3, "/2"]
        assert_paced(site.requests(), 0.5)


ROBOTS_FOR_TWO = """\
User-agent: SlowBot
Crawl-delay: 0.5
Disallow: /x

User-agent: *
Disallow:
"""


@pytest.mark.parametrize(
    "settings",
    [
        {},
        pytest.param(THROTTLED, marks=pytest.mark.slow),
        pytest.param(SCRAPY_QUEUE, marks=pytest.mark.slow),
        pytest.param(other_slots(2), marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("loop", LOOPS)
def test_a_request_with_a_user_agent_of_its_own(loop: Loop, settings: dict[str, Any]) -> None:
    """It is paced by the group that it is judged by, and others by theirs."""
    with Site({"/robots.txt": Answer(body=ROBOTS_FOR_TWO)}) as site:
        urls = [site.url(f"/slow{number}") for number in range(3)]
        urls += [site.url(f"/{number}") for number in range(12)]
        result = crawl(
            "tests.crawls.pace_spider:DisguisedSpider",
            loop=loop,
            settings={**ADDON, **settings},
            urls=urls,
        )
        assert len(result.items) == 15
        assert_paced([seen for seen in site.requests() if seen.path.startswith("/slow")], 0.5)
        times = sorted(seen.at for seen in site.requests() if not seen.path.startswith("/slow"))
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert min(gaps) < 0.2, "nothing is asked of the others"


@pytest.mark.parametrize(
    ("tls", "settings"),
    [
        (True, {}),
        pytest.param(False, {}, marks=pytest.mark.slow),
        pytest.param(True, SCRAPY_QUEUE, marks=pytest.mark.slow),
        pytest.param(False, {**THROTTLED, **JITTERED}, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("loop", LOOPS)
def test_connections_that_take_long(loop: Loop, settings: dict[str, Any], tls: bool) -> None:
    """The first page leaves long after it was let go, and the second at once."""
    last_of_its_connection = asks(0.5, headers=(("Connection", "close"),))
    with (
        Site({"/robots.txt": last_of_its_connection}, tls=tls) as site,
        SlowRelay(site.port, seconds=0.3) as relay,
    ):
        home = site.url("").replace(str(site.port), str(relay.port))
        result = crawl(
            URLS_SPIDER,
            loop=loop,
            settings={**ADDON, **settings},
            urls=[f"{home}/{number}" for number in range(3)],
        )
        assert [item.get("status") for item in result.items] == [200] * 3
        assert_paced(site.requests(), 0.5)


@pytest.mark.parametrize("downloader", ["HiddenSlots", "OtherDownloader"])
@pytest.mark.parametrize("loop", LOOPS)
def test_a_downloader_without_slots(loop: Loop, downloader: str) -> None:
    """The pace is kept before a request reaches the downloader."""
    with Site({"/robots.txt": asks(2)}) as site, Site() as quick:
        urls = [site.url(f"/{number}") for number in range(3)]
        # Its downloader-aware queue needs more than another downloader may have.
        plain = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
        queue = plain if downloader == "OtherDownloader" else SCRAPY_QUEUE
        settings = {**queue, "DOWNLOADER": f"tests.crawls.pace_spider.{downloader}"}
        result = crawl(
            URLS_SPIDER,
            loop=loop,
            settings={**ADDON, **settings},
            urls=[*urls, quick.url("/1", host="localhost")],
        )
        assert [item.get("status") for item in result.items] == [200] * 4
        assert_paced(site.requests(), 2)


def behind(name: str) -> dict[str, Any]:
    return {"DOWNLOADER_MIDDLEWARES": {f"tests.crawls.pace_spider.{name}": 900}}


@pytest.mark.parametrize("settings", [{}, pytest.param(SCRAPY_QUEUE, marks=pytest.mark.slow)])
@pytest.mark.parametrize("loop", LOOPS)
def test_later_middleware_may_log_in(loop: Loop, settings: dict[str, Any]) -> None:
    """Its request goes to the same site, and the page waits for its answer."""
    with Site({"/robots.txt": asks(0.5)}) as site:
        result = crawl(
            URLS_SPIDER,
            loop=loop,
            settings={**ADDON, **settings, **behind("LogsIn")},
            urls=[site.url(f"/{number}") for number in range(3)],
            timeout_seconds=60,
        )
        assert [item.get("status") for item in result.items] == [200] * 3
        assert "/login" in site.paths()
        assert_paced(site.requests(), 0.5)
    assert_clean(result.log)


@pytest.mark.parametrize("settings", [{}, pytest.param(SCRAPY_QUEUE, marks=pytest.mark.slow)])
@pytest.mark.parametrize("loop", LOOPS)
def test_request_that_never_leaves_costs_no_delay(loop: Loop, settings: dict[str, Any]) -> None:
    """A middleware behind us drops requests, or answers them from a cache."""
    with Site({"/robots.txt": asks(2)}) as site:
        urls = [site.url(f"/{kind}{number}") for number in range(9) for kind in _UNSEEN]
        result = crawl(
            URLS_SPIDER,
            loop=loop,
            settings={**ADDON, **settings, **behind("Answers")},
            urls=[*urls, site.url("/1"), site.url("/2")],
        )
        assert sorted(site.paths()) == ["/1", "/2", "/robots.txt"]
        assert len(result.items) == 20
        assert_paced(site.requests(), 2)
    assert result.stats["elapsed_time_seconds"] < 15, "of 40, if each had a delay"


@pytest.mark.parametrize("name", ["Fetches", "FetchesLater"])
@pytest.mark.parametrize("loop", LOOPS)
def test_a_middleware_that_fetches_pages_itself(loop: Loop, name: str) -> None:
    """The queue hands its requests out at the pace of the site."""
    middlewares = {f"tests.crawls.pace_spider.{name}": 800}
    with Site(
        {"/robots.txt": Answer(body="User-agent: *\nCrawl-delay: 0.5\nDisallow: /private\n")}
    ) as site:
        result = crawl(
            URLS_SPIDER,
            loop=loop,
            settings={**ADDON, "DOWNLOADER_MIDDLEWARES": middlewares},
            urls=[site.url(f"/{kind}{number}") for number in range(4) for kind in ("", "private")],
            timeout_seconds=60,
        )
        assert sorted(site.paths()) == ["/0", "/1", "/2", "/3", "/robots.txt"]
        assert_paced(site.requests(), 0.5)
    errors = Counter(item.get("error", "") for item in result.items)
    assert errors == {"": 4, "RobotsTxtDisallowed": 4}
    assert_clean(result.log)


def test_a_middleware_that_fetches_pages_itself_with_scrapys_queue() -> None:
    """All requests are in the middlewares at once: one warning says how to keep the delay."""
    middlewares = {"tests.crawls.pace_spider.Fetches": 800}
    with Site({"/robots.txt": Answer(body="User-agent: *\nCrawl-delay: 0.5\n")}) as site:
        settings = {**ADDON, **SCRAPY_QUEUE, "DOWNLOADER_MIDDLEWARES": middlewares}
        urls = [site.url(f"/{number}") for number in range(4)]
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
    assert result.log.count("a middleware fetches pages itself") == 1


@pytest.mark.parametrize("settings", [{}, pytest.param(SCRAPY_QUEUE, marks=pytest.mark.slow)])
@pytest.mark.parametrize("loop", LOOPS)
def test_pages_from_the_cache_of_scrapy_cost_no_delay(
    loop: Loop, settings: dict[str, Any], tmp_path: Path
) -> None:
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    with Site() as site:
        urls = [site.url(f"/{number}") for number in range(8)]
        crawl(URLS_SPIDER, settings={**ADDON, **cache}, urls=urls)
        site.change({"/robots.txt": asks(2)})
        before = len(site.requests())
        wanted = {**ADDON, **settings, **cache}
        result = crawl(URLS_SPIDER, loop=loop, settings=wanted, urls=[*urls, site.url("/new")])
        assert site.paths()[before:] == ["/robots.txt", "/new"]
    assert sorted(item["url"] for item in result.items) == sorted([*urls, site.url("/new")])
    assert result.stats["elapsed_time_seconds"] < 6, "of 18, if each had a delay"


@pytest.mark.parametrize("loop", LOOPS)
def test_turn_ends_without_a_signal(loop: Loop) -> None:
    """If we cannot be the last middleware, one after us may drop a request that has its turn."""
    with Site({"/robots.txt": asks(0.3)}) as site:
        downloader = {
            "DOWNLOADER": "tests.crawls.pace_spider.HiddenMiddlewares",
            "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",
        }
        urls = [site.url(f"/{kind}{number}") for number in range(4) for kind in (*_UNSEEN, "page")]
        result = crawl(
            URLS_SPIDER,
            loop=loop,
            settings={**ADDON, **downloader, **behind("Answers")},
            urls=urls,
            timeout_seconds=60,
        )
        assert len(result.items) == 12
        assert_paced(site.requests(), 0.3)


_UNSEEN = ("dropped", "cached")


@pytest.mark.parametrize("loop", LOOPS)
def test_a_crawl_that_closes_while_requests_wait_for_their_turn(loop: Loop, tmp_path: Path) -> None:
    """They are sent in their turn, or wait for the next run."""
    settings = {**ADDON, **SCRAPY_QUEUE, "JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 3}
    with Site({"/robots.txt": asks(0.5)}) as site:
        urls = [site.url(f"/{number}") for number in range(6)]
        closing = "tests.faults.spiders:ClosingSpider"
        result = crawl(closing, loop=loop, settings=settings, urls=urls)
        assert result.finish_reason == "enough"
        assert 1 < len(site.paths()) < 6
        result = crawl("tests.faults.spiders:ResumedSpider", loop=loop, settings=settings)
        pages = [path for path in site.paths() if path != "/robots.txt"]
        assert sorted(pages) == [f"/{number}" for number in range(6)], result.log
        assert_paced([seen for seen in site.requests() if seen.path != "/robots.txt"], 0.5)
    assert_clean(result.log)


@pytest.mark.timed
def test_delay_is_used_well() -> None:
    """Answers take 0.3 s, and the delay is counted from them."""
    with Site({"/robots.txt": asks(1)}, default=Answer(delay_seconds=0.3)) as site:
        urls = [site.url(f"/{number}") for number in range(9)]
        crawl(URLS_SPIDER, settings=ADDON, urls=urls)
        times = [seen.at for seen in site.requests()]
    assert (len(times) - 1) / (times[-1] - times[0]) > 0.7


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, pytest.param(SCRAPY_QUEUE, marks=pytest.mark.slow)])
@pytest.mark.parametrize("loop", LOOPS)
def test_two_crawls_of_one_process(loop: Loop, settings: dict[str, Any]) -> None:
    """They share what a site is owed."""
    with Site({"/robots.txt": asks(0.4)}) as site:
        job = {
            "loop": loop,
            "settings": {**ADDON, **settings},
            "spider": URLS_SPIDER,
            "urls": [[site.url(f"/{crawl}/{page}") for page in range(3)] for crawl in range(2)],
        }
        command = [sys.executable, "-m", "tests.crawls.two_crawls", json.dumps(job)]
        done = subprocess.run(
            command, cwd=REPOSITORY, capture_output=True, timeout=60, check=True, text=True
        )
        pages = [seen for seen in site.requests() if seen.path != "/robots.txt"]
        assert len(pages) == 6, done.stderr
        assert_paced(pages, 0.4)
    assert_clean(done.stderr)
