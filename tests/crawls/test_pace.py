"""Crawl-delay, as the site sees it; no origin waits for the delay of another.

The second half is about crawls in which other components choose how requests reach the site.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.faults.test_closing import assert_clean
from tests.servers.handle import Answer, Seen, Site, redirect
from tests.servers.relay import SlowRelay
from tests.together import Job, crawl_together

TOLERANCE_SECONDS = 0.02
SCRAPY_QUEUE = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"}
FORGETFUL = "tests.crawls.pace_spider:ForgetfulSpider"
CLOSING = "tests.faults.spiders:ClosingSpider"
THROTTLED = {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.01}
JITTERED = {"DOWNLOAD_DELAY": 0.2}  # by up to a half, which the floor allows upwards only
SLOW_PAGE = Answer(body="page", delay_seconds=0.4)  # longer than the shortest delay


def asks(seconds: float, **answer: Any) -> Answer:
    return Answer(body=f"User-agent: *\nCrawl-delay: {seconds:g}\n", **answer)


def assert_paced(requests: list[Seen], seconds: float) -> None:
    assert len(requests) > 2
    times = sorted(request.at for request in requests)
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert min(gaps) >= seconds - TOLERANCE_SECONDS, gaps


def crawl_paths(
    site: Site, count: int, loop: Loop, settings: dict[str, Any], spider: str = URLS_SPIDER
) -> Crawl:
    """A crawl of so many pages of a site; all of them come."""
    urls = [site.url(f"/{number}") for number in range(count)]
    result = crawl(spider, loop=loop, settings={**ADDON, **settings}, urls=urls, timeout_seconds=60)
    assert [item.get("status") for item in result.items] == [200] * count, result.log
    return result


_CASES: list[Any] = [
    *((loop, False, {}) for loop in LOOPS),
    *(pytest.param(loop, True, {}, marks=pytest.mark.slow) for loop in LOOPS),
    pytest.param("asyncio", True, SCRAPY_QUEUE, marks=pytest.mark.slow),
]


@pytest.mark.parametrize(("loop", "throttled", "settings"), _CASES)
def test_gaps(loop: Loop, throttled: bool, settings: dict[str, Any]) -> None:
    """Two ports of localhost share a slot; redirects lead to another host, and back."""
    with (
        Site({"/robots.txt": asks(1)}) as one,
        Site({"/robots.txt": asks(0.3), "/1": redirect("/2")}, default=SLOW_PAGE) as two,
    ):
        home = {"/robots.txt": asks(2.5), "/1": redirect(two.url("/back", host="localhost"))}
        with Site(home) as three:
            urls = [three.url("/1")]
            urls += [one.url(f"/{number}", host="localhost") for number in range(2)]
            urls += [two.url(f"/{number}", host="localhost") for number in range(2)]
            result = crawl(
                FORGETFUL,
                loop=loop,
                urls=[*urls, three.url("/0")],
                settings={**ADDON, **settings, **(THROTTLED if throttled else {})},
            )
            assert result.exit_code == 0, result.error
            assert len(result.items) == len(urls) + 1
            assert_paced(one.requests(), 1)
            assert_paced(two.requests(), 0.3)
            assert_paced(three.requests(), 2.5)
    assert all(item["left"] == [] for item in result.items), "slots were collected"
    assert result.stats["rep/pace/delayed_origins"] == 3
    assert result.deprecations == []
    assert_clean(result.log)


@pytest.mark.parametrize(
    ("page", "spider", "settings"),
    [
        # Several requests are under way at a time; the jitter takes nothing away.
        (SLOW_PAGE, URLS_SPIDER, JITTERED),
        (SLOW_PAGE, URLS_SPIDER, {**SCRAPY_QUEUE, **JITTERED}),
        # AutoThrottle would go faster, and each request gets a new slot.
        (Answer(), FORGETFUL, THROTTLED),
    ],
    ids=["longer answers", "longer answers, Scrapy's queue", "shorter answers"],
)
@pytest.mark.parametrize("loop", LOOPS)
def test_delay_of_one_site_is_kept(
    loop: Loop, page: Answer, spider: str, settings: dict[str, Any]
) -> None:
    """No other site shares the slot, so that nothing but this site's delay keeps the gaps."""
    with Site({"/robots.txt": asks(0.3)}, default=page) as site:
        result = crawl_paths(site, 7, loop, settings, spider)
        assert_paced(site.requests(), 0.3)
    assert all(item.get("left", []) == [] for item in result.items), "slots were collected"
    assert result.deprecations == []


@pytest.mark.parametrize("loop", LOOPS)
def test_a_delay_of_its_own_among_user_agent_lines(loop: Loop) -> None:
    """Two crawlers share the rules, and each has the delay below its own line."""
    body = "User-agent: FastBot\nCrawl-delay: 0.01\nUser-agent: SlowBot\nCrawl-delay: 0.3\n"
    with Site({"/robots.txt": Answer(body=f"{body}Disallow: /0\n")}) as site:
        crawl(
            URLS_SPIDER,
            loop=loop,
            settings={**ADDON, "ROBOTSTXT_USER_AGENT": "SlowBot"},
            urls=[site.url(f"/{number}") for number in range(5)],
        )
        assert {"/0", "/4"} & set(site.paths()) == {"/4"}
        assert_paced(site.requests(), 0.3)


@pytest.fixture(scope="module")
def ten_sites() -> Iterator[list[Site]]:
    with ExitStack() as stack:
        plain = [stack.enter_context(Site()) for _ in range(9)]
        yield [*plain, stack.enter_context(Site({"/robots.txt": asks(86400)}))]


def crawl_ten(sites: list[Site], loop: Loop, **settings: Any) -> tuple[Any, list[Seen]]:
    """The result, and the requests to the one host of ten that sets a delay of a day."""
    before = len(sites[-1].requests())
    urls = [site.url(f"/{number}") for site in sites[:-1] for number in range(4)]
    urls += [sites[-1].url(f"/{number}", host="localhost") for number in range(4)]
    result = crawl(URLS_SPIDER, loop=loop, settings={**ADDON, **settings}, urls=urls)
    assert result.exit_code == 0, result.error
    assert result.finish_reason == "finished"
    assert len(result.items) == 40
    return result, sites[-1].requests()[before:]


@pytest.mark.parametrize("loop", LOOPS)
def test_a_delay_that_is_too_long(loop: Loop, ten_sites: list[Site]) -> None:
    result, seen = crawl_ten(ten_sites, loop)
    assert [request.path for request in seen] == ["/robots.txt"]
    dropped = [item for item in result.items if "error" in item]
    assert {item["error"] for item in dropped} == {"RobotsTxtDisallowed"}
    assert [item["verdict"]["reason"] for item in dropped] == ["CRAWL_DELAY"] * 4
    assert result.stats["rep/pace/skipped"] == 4
    assert result.log.count("requires 86400 seconds between requests") == 1


@pytest.mark.slow
def test_a_delay_that_is_too_long_by_other_settings(ten_sites: list[Site]) -> None:
    longest = {"REP_CRAWL_DELAY_MAX_SECONDS": 0.5}
    result, seen = crawl_ten(ten_sites, "asyncio", **longest, REP_CRAWL_DELAY_EXCESS="cap")
    assert len(seen) == 5
    assert_paced(seen, 0.5)
    assert result.stats["rep/pace/capped"] == 1

    result, seen = crawl_ten(ten_sites, "asyncio", **longest, REP_CRAWL_DELAY_EXCESS="ignore")
    assert len(seen) == 5
    assert result.stats["rep/pace/ignored"] == 1


@pytest.mark.parametrize("loop", LOOPS)
def test_waiting_request_holds_no_place(loop: Loop) -> None:
    """More origins wait, for a robots.txt or a delay, than there are places."""
    with ExitStack() as stack:
        hang = Answer(fault="hang")
        hanging = [stack.enter_context(Site({"/robots.txt": hang})) for _ in range(3)]
        delayed = stack.enter_context(Site({"/robots.txt": asks(2)}))
        quick = stack.enter_context(Site())
        first = [site.url(f"/{number}") for site in hanging for number in range(3)]
        first += [delayed.url(f"/{number}", host="localhost") for number in range(2)]
        last = [quick.url(f"/{number}") for number in range(20)]
        # The handler without a reactor never opens more connections than this.
        places = 4 if loop == "reactorless" else 2
        settings = {**ADDON, "CONCURRENT_REQUESTS": places, "REP_FETCH_TIMEOUT_SECONDS": 2}
        result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=first + last)
        assert [site.paths() for site in hanging] == [["/robots.txt"]] * 3
    assert result.exit_code == 0, result.error
    done = [item["url"] for item in result.items]
    assert set(done[: len(last)]) == set(last), "the others were done while these waited"
    assert set(done[len(last) :]) == set(first)
    assert "rep/cache/waited" not in result.stats
    assert_clean(result.log)


@pytest.mark.slow
def test_broad_crawl_fetches_robots_txt_files_side_by_side() -> None:
    with ExitStack() as stack:
        slow = Answer(delay_seconds=0.5)
        sites = [stack.enter_context(Site({"/robots.txt": slow})) for _ in range(6)]
        settings = {**ADDON, "CONCURRENT_REQUESTS": 1}
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/a") for site in sites])
        assert len(result.items) == 6
        asked = [site.requests()[0] for site in sites]
        pages = [site.requests()[1] for site in sites]
        assert {request.path for request in asked} == {"/robots.txt"}
        assert max(request.at for request in asked) < min(request.at for request in pages)
    assert result.stats["rep/queue/prefetched"] == 6


def test_a_policy_that_ends_before_the_delay_has_passed() -> None:
    """Each new fetch counts as a request, but this ends."""
    with Site({"/robots.txt": asks(1.2)}) as site:
        settings = {**ADDON, "REP_CACHE_MIN_SECONDS": 0, "REP_CACHE_MAX_SECONDS": 1}
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/a")])
        assert site.paths().count("/a") == 1
        assert_paced(site.requests(), 1.2)
    assert result.finish_reason == "finished"


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, SCRAPY_QUEUE])
def test_wait_for_a_place_is_no_failure_of_the_site(settings: dict[str, Any]) -> None:
    """One at a time: the last is requested later than a request may wait for a site."""
    with ExitStack() as stack:
        slow = Answer(delay_seconds=0.6)
        sites = [stack.enter_context(Site({"/robots.txt": slow})) for _ in range(4)]
        result = crawl(
            URLS_SPIDER,
            settings={
                **ADDON,
                **settings,
                "REP_CONCURRENT_FETCHES": 1,
                "REP_UNREACHABLE_WAIT_SECONDS": 1,
            },
            urls=[site.url("/a") for site in sites],
        )
        assert [site.paths() for site in sites] == [["/robots.txt", "/a"]] * 4
    assert [item.get("status") for item in result.items] == [200] * 4


@pytest.mark.parametrize("loop", LOOPS)
def test_unreachable_robots_txt_is_fetched_again_while_requests_wait(
    loop: Loop,
) -> None:
    down = Answer(status=503)
    with (
        Site({"/robots.txt": [down, down, Answer()]}) as recovers,
        Site({"/robots.txt": down}) as stays,
    ):
        result = crawl(
            URLS_SPIDER,
            loop=loop,
            settings={
                **ADDON,
                "REP_UNREACHABLE_HOLD_SECONDS": 1.5,
                "REP_RETRY_FIRST_SECONDS": 0.3,
            },
            urls=[recovers.url("/a"), stays.url("/a"), recovers.url("/b")],
        )
        assert sorted(recovers.paths()) == ["/a", "/b", *["/robots.txt"] * 3]
        assert set(stays.paths()) == {"/robots.txt"}
        assert len(stays.paths()) >= 2
    assert result.finish_reason == "finished"
    assert {item["url"]: item.get("error") for item in result.items} == {
        recovers.url("/a"): None,
        recovers.url("/b"): None,
        stays.url("/a"): "RobotsTxtUnreachable",
    }
    assert result.stats["rep/queue/held"] == 2


def visit_time(from_hours: int, to_hours: int) -> Answer:
    """A window between two times, as hours from now."""
    clock = [
        time.strftime("%H%M", time.gmtime(time.time() + 3600 * hours))
        for hours in (from_hours, to_hours)
    ]
    return Answer(body=f"User-agent: *\nVisit-time: {clock[0]}-{clock[1]}\n")


@pytest.mark.parametrize("loop", LOOPS)
def test_visit_time(loop: Loop, tmp_path: Path) -> None:
    """Requests outside of it wait, on disk if the crawl is, and do not keep it from closing."""
    with (
        Site({"/robots.txt": visit_time(2, 4)}) as shut,
        Site({"/robots.txt": visit_time(-2, 2)}) as good,
    ):
        urls = [shut.url("/a"), good.url("/a")]
        settings = {**ADDON, "REP_VISIT_TIME_OBEY": True}
        result = crawl(
            CLOSING, loop=loop, settings={**settings, "JOBDIR": str(tmp_path)}, urls=urls
        )
        assert result.finish_reason == "enough"
        assert (shut.paths(), good.paths()) == (["/robots.txt"], ["/robots.txt", "/a"])
        assert result.stats["scheduler/enqueued/disk"] == 2
        assert result.stats["scheduler/dequeued/disk"] == 1
        assert_clean(result.log)

        if loop != "asyncio":
            return
        result = crawl(CLOSING, loop=loop, settings={**settings, **SCRAPY_QUEUE}, urls=urls)
        assert shut.paths() == ["/robots.txt"] * 2
        dropped = [item["verdict"]["reason"] for item in result.items if "error" in item]
        assert dropped == ["VISIT_TIME"]
        assert_clean(result.log)


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
        result = crawl_paths(site, 3, loop, {**settings, **behind("LogsIn")})
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
        settings = {**SCRAPY_QUEUE, "DOWNLOADER_MIDDLEWARES": middlewares}
        result = crawl_paths(site, 4, "asyncio", settings)
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
        result = crawl(CLOSING, loop=loop, settings=settings, urls=urls)
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
        crawl_paths(site, 9, "asyncio", {})
        times = [seen.at for seen in site.requests()]
    assert (len(times) - 1) / (times[-1] - times[0]) > 0.7


@pytest.mark.slow
@pytest.mark.parametrize("settings", [{}, pytest.param(SCRAPY_QUEUE, marks=pytest.mark.slow)])
@pytest.mark.parametrize("loop", LOOPS)
def test_two_crawls_of_one_process(loop: Loop, settings: dict[str, Any]) -> None:
    """They share what a site is owed."""
    with Site({"/robots.txt": asks(0.4)}) as site:
        jobs = [
            Job(
                URLS_SPIDER,
                {**ADDON, **settings},
                {"urls": [site.url(f"/{number}/{page}") for page in range(3)]},
            )
            for number in range(2)
        ]
        results = crawl_together(jobs, loop)
        pages = [seen for seen in site.requests() if seen.path != "/robots.txt"]
        assert [len(result["items"]) for result in results] == [3, 3]
        assert_paced(pages, 0.4)
