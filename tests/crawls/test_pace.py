"""Crawl-delay, as the site sees it; no origin waits for the delay of another.

`tests/ordinary` keeps delays with AutoThrottle, slots, middlewares and pauses of the spider. Here
other components choose how requests reach the site.
"""

from __future__ import annotations

import itertools
import time
from collections import Counter
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
_UNSEEN = ("dropped", "cached")


def asks(seconds: float, **answer: Any) -> Answer:
    return Answer(body=f"User-agent: *\nCrawl-delay: {seconds:g}\n", **answer)


def assert_paced(requests: list[Seen], seconds: float) -> None:
    assert len(requests) > 2
    times = sorted(request.at for request in requests)
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert min(gaps) >= seconds - TOLERANCE_SECONDS, gaps


def crawl_paths(site: Site, count: int, **settings: Any) -> Crawl:
    """A crawl of so many pages of a site; all of them come."""
    urls = [site.url(f"/{number}") for number in range(count)]
    settings = {**ADDON, **settings}
    result = crawl(URLS_SPIDER, settings=settings, urls=urls, timeout_seconds=60)
    assert [item.get("status") for item in result.items] == [200] * count, result.log
    assert_clean(result.log)
    return result


def behind(name: str, order: int = 900) -> dict[str, Any]:
    return {"DOWNLOADER_MIDDLEWARES": {f"tests.crawls.pace_spider.{name}": order}}


@pytest.mark.parametrize(
    ("loop", "settings"), [*zip(LOOPS, [{}, THROTTLED, SCRAPY_QUEUE], strict=True)]
)
def test_delay_of_each_site_is_kept_in_every_queue(loop: Loop, settings: dict[str, Any]) -> None:
    """Two ports of localhost share a slot; redirects lead to another host, and back."""
    slow_page = Answer(body="page", delay_seconds=0.4)  # longer than the shortest delay
    with (
        Site({"/robots.txt": asks(0.6)}) as one,
        Site({"/robots.txt": asks(0.3), "/1": redirect("/2")}, default=slow_page) as two,
    ):
        home = {"/robots.txt": asks(1.2), "/1": redirect(two.url("/back", host="localhost"))}
        with Site(home) as three:
            urls = [three.url("/1")]
            urls += [one.url(f"/{number}", host="localhost") for number in range(2)]
            urls += [two.url(f"/{number}", host="localhost") for number in range(2)]
            urls.append(three.url("/0"))
            result = crawl(FORGETFUL, loop=loop, urls=urls, settings={**ADDON, **settings})
            assert result.exit_code == 0, result.error
            assert len(result.items) == len(urls)
            assert_paced(one.requests(), 0.6)
            assert_paced(two.requests(), 0.3)
            assert_paced(three.requests(), 1.2)
    assert all(item["left"] == [] for item in result.items), "slots were collected"
    assert result.stats["rep/pace/delayed_origins"] == 3
    assert result.deprecations == []
    assert_clean(result.log)


@pytest.mark.parametrize(
    ("excess", "kind"),
    [("skip", "skipped"), ("cap", "capped"), ("ignore", "ignored")],
)
def test_a_delay_that_is_too_long(excess: str, kind: str) -> None:
    with Site() as plain, Site({"/robots.txt": asks(86400)}) as site:
        urls = [plain.url(f"/{number}") for number in range(4)]
        urls += [site.url(f"/{number}", host="localhost") for number in range(3)]
        limit = {"REP_CRAWL_DELAY_MAX_SECONDS": 0.5, "REP_CRAWL_DELAY_EXCESS": excess}
        result = crawl(URLS_SPIDER, settings={**ADDON, **limit}, urls=urls)
        seen = site.requests()
    assert result.finish_reason == "finished"
    dropped = [item["verdict"]["reason"] for item in result.items if "error" in item]
    assert result.stats[f"rep/pace/{kind}"] == (3 if excess == "skip" else 1)
    assert result.log.count("requires 86400 s between requests") == 1
    if excess == "skip":
        assert [one.path for one in seen] == ["/robots.txt"]
        assert dropped == ["CRAWL_DELAY"] * 3
        return
    assert len(seen) == 4
    assert dropped == []
    if excess == "cap":
        assert_paced(seen, 0.5)


def test_waiting_request_holds_no_place() -> None:
    """More origins wait, for a robots.txt or a delay, than there are places."""
    with ExitStack() as stack:
        hang = Answer(fault="hang")
        hanging = [stack.enter_context(Site({"/robots.txt": hang})) for _ in range(3)]
        delayed = stack.enter_context(Site({"/robots.txt": asks(2)}))
        quick = stack.enter_context(Site())
        first = [site.url(f"/{number}") for site in hanging for number in range(3)]
        first += [delayed.url(f"/{number}", host="localhost") for number in range(2)]
        last = [quick.url(f"/{number}") for number in range(20)]
        settings = {**ADDON, "CONCURRENT_REQUESTS": 2, "REP_FETCH_TIMEOUT_SECONDS": 2}
        result = crawl(URLS_SPIDER, settings=settings, urls=first + last)
        assert [site.paths() for site in hanging] == [["/robots.txt"]] * 3
    assert result.exit_code == 0, result.error
    done = [item["url"] for item in result.items]
    assert set(done[: len(last)]) == set(last), "the others were done while these waited"
    assert set(done[len(last) :]) == set(first)
    assert "rep/cache/waited" not in result.stats
    assert_clean(result.log)


def test_a_policy_that_ends_before_the_delay_has_passed() -> None:
    """Each new fetch counts as a request, but this ends."""
    with Site({"/robots.txt": asks(1.2)}) as site:
        settings = {**ADDON, "REP_CACHE_MIN_SECONDS": 0, "REP_CACHE_MAX_SECONDS": 1}
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/a")])
        assert site.paths().count("/a") == 1
        assert_paced(site.requests(), 1.2)
    assert result.finish_reason == "finished"


@pytest.mark.parametrize("settings", [{}, SCRAPY_QUEUE], ids=["ours", "Scrapy's"])
def test_wait_for_a_place_is_no_failure_of_the_site(settings: dict[str, Any]) -> None:
    """One at a time: the last is requested later than a request may wait for a site."""
    with ExitStack() as stack:
        slow = Answer(delay_seconds=0.4)
        sites = [stack.enter_context(Site({"/robots.txt": slow})) for _ in range(4)]
        limits = {"REP_CONCURRENT_FETCHES": 1, "REP_UNREACHABLE_WAIT_SECONDS": 0.8}
        urls = [site.url("/a") for site in sites]
        result = crawl(URLS_SPIDER, settings={**ADDON, **settings, **limits}, urls=urls)
        assert [site.paths() for site in sites] == [["/robots.txt", "/a"]] * 4
    assert [item.get("status") for item in result.items] == [200] * 4


def test_unreachable_robots_txt_is_fetched_again_while_requests_wait() -> None:
    down = Answer(status=503)
    with (
        Site({"/robots.txt": [down, down, Answer()]}) as recovers,
        Site({"/robots.txt": down}) as stays,
    ):
        held = {"REP_UNREACHABLE_HOLD_SECONDS": 1.5, "REP_RETRY_FIRST_SECONDS": 0.3}
        urls = [recovers.url("/a"), stays.url("/a"), recovers.url("/b")]
        result = crawl(URLS_SPIDER, settings={**ADDON, **held}, urls=urls)
        assert sorted(recovers.paths()) == ["/a", "/b", *["/robots.txt"] * 3]
        assert set(stays.paths()) == {"/robots.txt"}
        assert len(stays.paths()) >= 2
        errors = {item["url"]: item.get("error") for item in result.items}
        assert errors == dict(zip(urls, [None, "RobotsTxtUnreachable", None], strict=True))
        assert f"The robots.txt of {recovers.url('')} is retried in " in result.log
    assert result.finish_reason == "finished"
    assert result.stats["rep/queue/held"] == 2


def visit_time(from_hours: int, to_hours: int) -> Answer:
    """A window between two times, as hours from now."""
    clock = [
        time.strftime("%H%M", time.gmtime(time.time() + 3600 * hours))
        for hours in (from_hours, to_hours)
    ]
    return Answer(body=f"User-agent: *\nVisit-time: {clock[0]}-{clock[1]}\n")


def test_requests_outside_the_visit_time_wait(tmp_path: Path) -> None:
    """Requests outside of it wait, on disk if the crawl is, and do not keep it from closing."""
    with (
        Site({"/robots.txt": visit_time(2, 4)}) as shut,
        Site({"/robots.txt": visit_time(-2, 2)}) as good,
    ):
        urls = [shut.url("/a"), good.url("/a")]
        settings = {**ADDON, "REP_VISIT_TIME_OBEY": True}
        result = crawl(CLOSING, settings={**settings, "JOBDIR": str(tmp_path)}, urls=urls)
        assert result.finish_reason == "enough"
        assert (shut.paths(), good.paths()) == (["/robots.txt"], ["/robots.txt", "/a"])
        assert result.stats["scheduler/enqueued/disk"] == 2
        assert result.stats["scheduler/dequeued/disk"] == 1
        assert_clean(result.log)

        result = crawl(CLOSING, settings={**settings, **SCRAPY_QUEUE}, urls=urls)
        assert shut.paths() == ["/robots.txt"] * 2
        dropped = [item["verdict"]["reason"] for item in result.items if "error" in item]
        assert dropped == ["VISIT_TIME"]
        assert_clean(result.log)


def other_slots(count: int) -> dict[str, Any]:
    return {**behind("OtherSlots"), "TEST_SLOTS": count}


@pytest.mark.parametrize(
    ("count", "settings"), [(1, {}), (3, {**THROTTLED, **JITTERED}), (3, SCRAPY_QUEUE)]
)
def test_slot_of_a_later_middleware_is_paced(count: int, settings: dict[str, Any]) -> None:
    """The site is owed its delay through one slot that is not its host's, or through many."""
    with Site({"/robots.txt": asks(0.3)}) as site:
        crawl_paths(site, 4, **other_slots(count), **settings)
        assert_paced(site.requests(), 0.3)


def test_slot_of_a_later_middleware_holds_no_place() -> None:
    """A request that waits in a slot unknown to the queue does not draw all others after it."""
    with Site({"/robots.txt": asks(0.5)}) as slow, Site() as quick:
        first = [slow.url(f"/{number}") for number in range(4)]
        last = [quick.url(f"/{number}", host="localhost") for number in range(20)]
        settings = {**ADDON, **other_slots(30), "CONCURRENT_REQUESTS": 4}
        result = crawl(URLS_SPIDER, settings=settings, urls=first + last)
        assert_paced(slow.requests(), 0.5)
    done = [item["url"] for item in result.items]
    assert set(done[:22]) > set(last)


def later(site: Site, other: Site, count: int, **settings: Any) -> None:
    """A crawl that returns to a site after so many pages of another one."""
    urls = [other.url(f"/{number}", host="localhost") for number in range(count)]
    result = crawl(
        "tests.crawls.pace_spider:LaterSpider",
        settings={**ADDON, "REP_CACHE_MIN_SECONDS": 1, **settings},
        urls=[site.url("/1"), *urls, site.url("/2")],
    )
    assert len(result.items) == count + 2


def test_a_tdmrep_json_by_a_delay_that_is_new() -> None:
    """The file with the delay has come, and is not yet in use: pages wait for it."""
    brief, json = ("Cache-Control", "max-age=1"), ("Content-Type", "application/json")
    routes = {
        "/robots.txt": [Answer(headers=[brief]), asks(0.7)],
        "/.well-known/tdmrep.json": [
            Answer(body="[]", headers=[brief, json]),
            Answer(body="[]", headers=[json]),
        ],
    }
    with Site(routes) as site, Site({"/robots.txt": asks(0.3)}) as other:
        later(site, other, 6, REP_TDMREP=True)
        paths = ["/robots.txt", "/.well-known/tdmrep.json"]
        assert site.paths() == [*paths, "/1", *paths, "/2"]
        assert_paced(site.requests()[3:], 0.7)


def test_retries_of_a_renewal_after_a_rest() -> None:
    """The site has rested for longer than its delay, while another one was visited."""
    brief = asks(0.5, headers=[("Cache-Control", "max-age=2")])
    with (
        Site({"/robots.txt": [brief, Answer(status=503)]}) as site,
        Site({"/robots.txt": asks(0.3)}) as other,
    ):
        later(site, other, 9, REP_QUICK_RETRY_SECONDS=[0.1, 0.1])
        assert site.paths() == ["/robots.txt", "/1", *["/robots.txt"] * 3, "/2"]
        assert_paced(site.requests(), 0.5)


def test_connections_that_take_long() -> None:
    """The first page leaves long after it was let go, and the second at once."""
    last_of_its_connection = asks(0.5, headers=(("Connection", "close"),))
    with (
        Site({"/robots.txt": last_of_its_connection}, tls=True) as site,
        SlowRelay(site.port, seconds=0.3) as relay,
    ):
        home = site.url("").replace(str(site.port), str(relay.port))
        urls = [f"{home}/{number}" for number in range(3)]
        result = crawl(URLS_SPIDER, settings=ADDON, urls=urls)
        assert [item.get("status") for item in result.items] == [200] * 3
        assert_paced(site.requests(), 0.5)


@pytest.mark.parametrize("downloader", ["HiddenSlots", "OtherDownloader"])
def test_a_downloader_without_slots(downloader: str) -> None:
    """The pace is kept before a request reaches the downloader."""
    # Scrapy's downloader-aware queue needs more than another downloader may have.
    plain = {"SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue"}
    queue = plain if downloader == "OtherDownloader" else SCRAPY_QUEUE
    with Site({"/robots.txt": asks(0.8)}) as site:
        crawl_paths(site, 3, **queue, DOWNLOADER=f"tests.crawls.pace_spider.{downloader}")
        assert_paced(site.requests(), 0.8)


@pytest.mark.parametrize("settings", [{}, SCRAPY_QUEUE], ids=["ours", "Scrapy's"])
def test_later_middleware_may_log_in(settings: dict[str, Any]) -> None:
    """Its request goes to the same site, and the page waits for its answer."""
    with Site({"/robots.txt": asks(0.3)}) as site:
        crawl_paths(site, 3, **settings, **behind("LogsIn"))
        assert "/login" in site.paths()
        assert_paced(site.requests(), 0.3)


@pytest.mark.parametrize("settings", [{}, SCRAPY_QUEUE], ids=["ours", "Scrapy's"])
def test_request_that_never_leaves_costs_no_delay(settings: dict[str, Any]) -> None:
    """A middleware behind us drops requests, or answers them from a cache."""
    with Site({"/robots.txt": asks(1)}) as site:
        urls = [site.url(f"/{kind}{number}") for number in range(9) for kind in _UNSEEN]
        urls += [site.url("/1"), site.url("/2")]
        result = crawl(URLS_SPIDER, settings={**ADDON, **settings, **behind("Answers")}, urls=urls)
        assert sorted(site.paths()) == ["/1", "/2", "/robots.txt"]
        assert len(result.items) == 20
        assert_paced(site.requests(), 1)
    assert result.stats["elapsed_time_seconds"] < 10, "of 20, if each had a delay"


@pytest.mark.parametrize("name", ["Fetches", "FetchesLater"])
def test_a_middleware_that_fetches_pages_itself(name: str) -> None:
    """The queue hands its requests out at the pace of the site."""
    rules = Answer(body="User-agent: *\nCrawl-delay: 0.4\nDisallow: /private\n")
    with Site({"/robots.txt": rules}) as site:
        urls = [site.url(f"/{kind}{number}") for number in range(4) for kind in ("", "private")]
        result = crawl(URLS_SPIDER, settings={**ADDON, **behind(name, 800)}, urls=urls)
        assert sorted(site.paths()) == ["/0", "/1", "/2", "/3", "/robots.txt"]
        assert_paced(site.requests(), 0.4)
    errors = Counter(item.get("error", "") for item in result.items)
    assert errors == {"": 4, "RobotsTxtDisallowed": 4}
    assert_clean(result.log)


def test_a_middleware_that_fetches_pages_itself_with_scrapys_queue() -> None:
    """All requests are in the middlewares at once: one warning says how to keep the delay."""
    with Site({"/robots.txt": asks(0.3)}) as site:
        result = crawl_paths(site, 4, **SCRAPY_QUEUE, **behind("Fetches", 800))
    assert result.log.count("a middleware fetches pages itself") == 1


def test_pages_from_the_cache_of_scrapy_cost_no_delay(tmp_path: Path) -> None:
    settings = {**ADDON, "HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    with Site() as site:
        urls = [site.url(f"/{number}") for number in range(8)]
        crawl(URLS_SPIDER, settings=settings, urls=urls)
        site.change({"/robots.txt": asks(2)})
        before = len(site.requests())
        result = crawl(URLS_SPIDER, settings=settings, urls=[*urls, site.url("/new")])
        assert site.paths()[before:] == ["/robots.txt", "/new"]
    assert len(result.items) == 9
    assert result.stats["elapsed_time_seconds"] < 6, "of 18, if each had a delay"


def test_turn_ends_without_a_signal() -> None:
    """If we cannot be the last middleware, one after us may drop a request that has its turn."""
    with Site({"/robots.txt": asks(0.3)}) as site:
        downloader = {
            "DOWNLOADER": "tests.crawls.pace_spider.HiddenMiddlewares",
            "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.ScrapyPriorityQueue",
        }
        urls = [site.url(f"/{kind}{number}") for number in range(4) for kind in (*_UNSEEN, "page")]
        result = crawl(
            URLS_SPIDER,
            settings={**ADDON, **downloader, **behind("Answers")},
            urls=urls,
            timeout_seconds=60,
        )
        assert len(result.items) == 12
        assert_paced(site.requests(), 0.3)


def test_a_crawl_that_closes_while_requests_wait_for_their_turn(tmp_path: Path) -> None:
    """They are sent in their turn, or wait for the next run."""
    settings = {**ADDON, **SCRAPY_QUEUE, "JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 3}
    with Site({"/robots.txt": asks(0.3)}) as site:
        urls = [site.url(f"/{number}") for number in range(6)]
        result = crawl(CLOSING, settings=settings, urls=urls)
        assert result.finish_reason == "enough"
        assert 1 < len(site.paths()) < 6
        result = crawl("tests.faults.spiders:ResumedSpider", settings=settings)
        pages = [path for path in site.paths() if path != "/robots.txt"]
        assert sorted(pages) == [f"/{number}" for number in range(6)], result.log
        assert_paced([seen for seen in site.requests() if seen.path != "/robots.txt"], 0.3)
    assert_clean(result.log)


@pytest.mark.timed
def test_delay_is_used_well() -> None:
    """Answers take 0.3 s, and the delay is counted from them."""
    with Site({"/robots.txt": asks(1)}, default=Answer(delay_seconds=0.3)) as site:
        crawl_paths(site, 6)
        times = [seen.at for seen in site.requests()]
    assert (len(times) - 1) / (times[-1] - times[0]) > 0.7


def test_two_crawls_of_one_process_share_the_delay() -> None:
    """They share what a site is owed."""
    with Site({"/robots.txt": asks(0.4)}) as site:
        jobs = [
            Job(URLS_SPIDER, ADDON, {"urls": [site.url(f"/{one}/{page}") for page in range(3)]})
            for one in range(2)
        ]
        results = crawl_together(jobs)
        pages = [seen for seen in site.requests() if seen.path != "/robots.txt"]
        assert [len(result["items"]) for result in results] == [3, 3]
        assert_paced(pages, 0.4)
