"""Crawl-delay, as the site sees it; no origin waits for the delay of another."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.faults.test_closing import assert_clean
from tests.servers.handle import Answer, Seen, Site, redirect

TOLERANCE_SECONDS = 0.02
SCRAPY_QUEUE = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue"}
FORGETFUL = "tests.crawls.pace_spider:ForgetfulSpider"
CLOSING = "tests.faults.spiders:ClosingSpider"
SLOW_PAGE = Answer(body="page", delay_seconds=0.4)  # longer than the shortest delay


def asks(seconds: float, **answer: Any) -> Answer:
    return Answer(body=f"User-agent: *\nCrawl-delay: {seconds:g}\n", **answer)


def assert_paced(requests: list[Seen], seconds: float) -> None:
    assert len(requests) > 2
    times = sorted(request.at for request in requests)
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert min(gaps) >= seconds - TOLERANCE_SECONDS, gaps


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
                settings={
                    **ADDON,
                    **settings,
                    "AUTOTHROTTLE_ENABLED": throttled,
                    "AUTOTHROTTLE_START_DELAY": 0.01,
                },
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
    ("loop", "settings"), [*((loop, {}) for loop in LOOPS), ("select", SCRAPY_QUEUE)]
)
def test_a_delay_shorter_than_the_answers(loop: Loop, settings: dict[str, Any]) -> None:
    """Several requests are under way at a time; DOWNLOAD_DELAY's jitter takes nothing away."""
    assert_short_gaps(SLOW_PAGE, URLS_SPIDER, loop, {**settings, "DOWNLOAD_DELAY": 0.2})


@pytest.mark.parametrize("loop", LOOPS)
def test_a_delay_longer_than_the_answers(loop: Loop) -> None:
    """AutoThrottle would go faster, and each request gets a new slot."""
    throttled = {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.01}
    assert_short_gaps(Answer(), FORGETFUL, loop, throttled)


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


def assert_short_gaps(page: Answer, spider: str, loop: Loop, settings: dict[str, Any]) -> None:
    """No other site shares the slot, so that nothing but this site's delay keeps the gaps."""
    with Site({"/robots.txt": asks(0.3)}, default=page) as site:
        result = crawl(
            spider,
            loop=loop,
            settings={**ADDON, **settings},
            urls=[site.url(f"/{number}") for number in range(7)],
        )
        assert len(result.items) == 7
        assert_paced(site.requests(), 0.3)
    assert all(item.get("left", []) == [] for item in result.items), "slots were collected"
    assert result.deprecations == []


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
