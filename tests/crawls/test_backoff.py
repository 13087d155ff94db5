"""An origin rests after its pages answer 429 or 503, and no request to it is lost."""

from __future__ import annotations

import itertools
import signal
import time
from contextlib import ExitStack
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.faults.test_closing import assert_clean, log_of, started, wait_for
from tests.servers.handle import Answer, Seen, Site
from tests.together import Job, crawl_together

ROBOTS: dict[str, Any] = {"/robots.txt": Answer(body="User-agent: *\nDisallow: /private\n")}
HANDLED = {"handle_httpstatus_list": [429]}
QUEUES = {"ours": ADDON, "scrapy's": WITH_SCRAPYS_QUEUE}
LINKED_SPIDER = "tests.crawls.backoff_spider:LinkedSpider"


def busy(status: int = 429, lasts_seconds: float = 0.0, *retry_after: str) -> Answer:
    headers = [("Retry-After", value) for value in retry_after]
    return Answer(status=status, headers=headers, lasts_seconds=lasts_seconds)


def pages(seen: list[Seen]) -> list[Seen]:
    return [one for one in seen if one.path != "/robots.txt"]


def rounds(seen: list[Seen]) -> list[list[float]]:
    """The times of page requests, in groups that lie less than a second apart."""
    found: list[list[float]] = []
    for one in sorted(pages(seen), key=lambda one: one.at):
        if found and one.at - found[-1][-1] < 1:
            found[-1].append(one.at)
        else:
            found.append([one.at])
    return found


def assert_all_came(result: Any, urls: list[str]) -> None:
    assert result.exit_code == 0, result.error
    assert sorted(item["url"] for item in result.items) == sorted(urls)
    assert {item.get("status") for item in result.items} == {200}
    assert result.deprecations == []
    assert_clean(result.log)


_RESTS: list[tuple[Loop, str, int]] = [
    ("asyncio", "ours", 429),
    ("asyncio", "scrapy's", 503),
    ("select", "scrapy's", 429),
    ("reactorless", "ours", 503),
]


@pytest.mark.parametrize(("loop", "queue", "status"), _RESTS)
def test_a_rest_that_the_site_asks_for(loop: Loop, status: int, queue: str) -> None:
    """No request goes to the origin during the rest, one request goes first, and all pages come."""
    limited = {**ROBOTS, "/*": [busy(status, 1.5, "4"), Answer(body="page")]}
    others = [f"127.0.1.{number}" for number in range(1, 5)]
    with Site(limited) as site, Site(ROBOTS, address="0.0.0.0") as other:
        urls = [site.url(f"/{number}") for number in range(6)]
        urls += [other.url(f"/{n}", host=host) for host in others for n in range(2)]
        result = crawl(URLS_SPIDER, loop=loop, settings=QUEUES[queue], urls=urls)
        first, probe, *rest = rounds(site.requests())
        assert max(seen.at for seen in other.requests()) < first[0] + 4
    assert_all_came(result, urls)
    assert len(first) == 6
    assert probe[0] - first[0] >= 4
    assert len(probe) == 6 or not rest
    assert result.stats["rep/backoff/rests"] == 1
    assert result.stats["rep/backoff/put_back"] >= 6
    assert "retry/count" not in result.stats


def test_a_rest_without_a_time() -> None:
    """It is 2 s, then twice as long each time."""
    with Site({**ROBOTS, "/*": [busy(429, 5), Answer(body="page")]}) as site:
        urls = [site.url(f"/{number}") for number in range(12)]
        settings = {**ADDON, "CONCURRENT_REQUESTS_PER_DOMAIN": 2}
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        first, second, third, *_ = rounds(site.requests())
    assert_all_came(result, urls)
    assert len(first) in (2, 3), "one more before the second refusal"
    assert len(second) == 1
    assert 2 <= second[0] - first[-1] < 4
    assert 4 <= third[0] - second[0] < 8


ODD_FIELDS: list[tuple[list[str], float]] = [
    (["0"], 2),
    (["-3"], 2),
    (["soon"], 2),
    ([formatdate(0, usegmt=True)], 2),
    (["1", "2"], 2),
    (["99999999999999999999"], 3),
    (["1e3"], 2),
]


def test_odd_retry_after_is_ignored() -> None:
    """A time that has passed counts as none; of two, the longer counts; a long one is limited."""
    with ExitStack() as stack:
        sites = [
            stack.enter_context(
                Site({**ROBOTS, "/*": [busy(429, 0, *fields), Answer(body="page")]})
            )
            for fields, _ in ODD_FIELDS
        ]
        urls = [site.url("/1") for site in sites]
        settings = {**ADDON, "REP_BACKOFF_MAX_SECONDS": 3}
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        for site, (fields, seconds) in zip(sites, ODD_FIELDS, strict=True):
            first, second = (seen.at for seen in pages(site.requests()))
            assert seconds <= second - first <= 1.25 * seconds + 1, fields
    assert_all_came(result, urls)
    assert result.log.count("(REP_BACKOFF_MAX_SECONDS)") == 1


def test_503_without_a_time_of_one_page_is_retried_by_scrapy() -> None:
    """At once: it may be a broken page."""
    with Site({**ROBOTS, "/*": [busy(503), busy(503), Answer(body="page")]}) as site:
        result = crawl(URLS_SPIDER, settings=ADDON, urls=[site.url("/1")])
        first, _, third = (seen.at for seen in pages(site.requests()))
    assert third - first < 1
    assert result.stats["retry/count"] == 2
    assert_all_came(result, [site.url("/1")])


def test_a_target_of_a_redirect_rests() -> None:
    """The origin that redirects does not."""
    limited = {**ROBOTS, "/*": [busy(429, 1.5, "2"), Answer(body="page")]}
    with Site(limited) as site, Site(ROBOTS) as first:
        moved = Answer(status=301, headers=[("Location", site.url("/target"))])
        first.change({"/moved": moved})
        urls = [first.url("/moved"), *(first.url(f"/{number}") for number in range(20))]
        settings = {**ADDON, "CONCURRENT_REQUESTS": 2}
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        asked_at, came_at = (seen.at for seen in pages(site.requests()))
        assert max(seen.at for seen in first.requests()) < asked_at + 1.5
    assert_all_came(result, urls)
    assert came_at - asked_at >= 2


def test_a_download_handler_that_follows_redirects() -> None:
    """As with browsers: the origin of the request rests, and the origin that answers."""
    limited = {**ROBOTS, "/*": [busy(429, 1.5, "2"), Answer(body="page")]}
    handlers = {"http": "tests.crawls.backoff_spider.Following"}
    with Site(limited) as site, Site(ROBOTS) as first:
        moved = Answer(status=301, headers=[("Location", site.url("/target"))])
        first.change({"/moved": moved})
        urls = [first.url("/moved")]
        settings = {**ADDON, "DOWNLOAD_HANDLERS": handlers}
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        asked = pages(first.requests())
    assert_all_came(result, urls)
    assert len(asked) == 2
    assert asked[1].at - asked[0].at >= 2


def test_requests_in_other_slots_are_not_sent() -> None:
    """A middleware gave each proxy, say, a slot, in which requests wait."""
    limited = [busy(429, 1.5, "2"), Answer(body="page")]
    with Site({**ROBOTS, "/*": limited, "/1": Answer(delay_seconds=1)}) as site:
        urls = [site.url(f"/{number}") for number in range(8)]
        settings = {
            **ADDON,
            "DOWNLOADER_MIDDLEWARES": {"tests.crawls.backoff_spider.Slots": 900},
            "DOWNLOAD_SLOTS": {
                name: {"concurrency": 1, "delay": 0.5, "jitter": 0} for name in ("even", "odd")
            },
        }
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        seen = pages(site.requests())
    assert_all_came(result, urls)
    assert seen[3].at - seen[2].at >= 2, "the third is the second that is refused"


def test_behind_a_proxy() -> None:
    """Only the origin of the URL rests; others go on through the same proxy."""
    limited = [busy(429, 1.5, "2"), Answer(body="page")]
    routes = {"http://*": Answer(body="page"), "http://a.example/robots.txt": Answer()}
    with Site({**routes, "http://a.example/*": limited}) as proxy:
        names = ["a.example", *(f"b{number}.example" for number in range(4))]
        urls = [f"http://{name}/{number}" for name in names for number in range(3)]
        meta = {"proxy": proxy.url("")}
        result = crawl(URLS_SPIDER, settings=ADDON, urls=urls, meta=meta)
        seen = [one for one in proxy.requests() if not one.path.endswith("/robots.txt")]
    assert_all_came(result, urls)
    times = [one.at for one in seen if "a.example" in one.path]
    assert times[3] - times[0] >= 2
    assert max(one.at for one in seen if "a.example" not in one.path) < times[0] + 2
    assert result.stats["rep/backoff/origins"] == 1


def test_two_crawls_of_one_process_rest_together() -> None:
    """The answer to one crawl has both wait, and one of them sends one request first."""
    with Site({**ROBOTS, "/*": [busy(429, 1.5, "2"), Answer(body="page")]}) as site:
        jobs = [
            Job(URLS_SPIDER, ADDON, {"urls": [site.url(f"/{number}/{page}") for page in range(6)]})
            for number in range(2)
        ]
        results = crawl_together(jobs)
        first, *later = rounds(site.requests())
        paths = {seen.path for seen in pages(site.requests())}
    assert [len(result["items"]) for result in results] == [6, 6]
    assert len(paths) == 12
    assert later[0][0] - first[0] >= 2
    assert len([at for one in later for at in one]) <= 12 + 1


def test_two_crawls_that_yield_the_same_request_objects() -> None:
    """Each crawl knows for itself where a request is."""
    spider = "tests.crawls.backoff_spider:SharedSpider"
    with Site({**ROBOTS, "/*": [busy(429, 1.5, "2"), Answer(body="page")]}) as site:
        urls = [site.url(f"/{page}") for page in range(6)] + [site.url("/private")]
        results = crawl_together([Job(spider, WITH_SCRAPYS_QUEUE, {"urls": urls})] * 2)
        first, *later = rounds(site.requests())
        assert "/private" not in site.paths()
    assert [len(result["items"]) for result in results] == [6, 6]
    assert later[0][0] - first[0] >= 2
    for result in results:
        assert "retry/count" not in result["stats"]
        assert result["stats"]["rep/verdict/allowed"] >= 6


@pytest.mark.parametrize("spider", ["HeadSpider", "CallbackSpider"])
def test_head_requests_and_downloads_of_callbacks_rest_too(spider: str) -> None:
    """HEAD; and what a callback downloads itself waits in the middleware."""
    with Site({**ROBOTS, "/a*": [busy(429, 1.5, "2"), Answer(body="page")]}) as site:
        urls = [site.url(path) for path in ("/", "/a1", "/a2", "/a3")]
        name = f"tests.crawls.backoff_spider:{spider}"
        result = crawl(name, settings=ADDON, urls=urls)
        found = rounds([seen for seen in site.requests() if seen.path != "/"])
    assert_all_came(result, urls)
    assert found[1][0] - found[0][0] >= 2


def test_files_of_a_media_pipeline(tmp_path: Path) -> None:
    """Those that are queued in the slot are not sent; on asyncio, Scrapy 2.19 queues none."""
    limited = {**ROBOTS, "/f*": [busy(429, 1.5, "2"), Answer(body="page")]}
    with Site(limited) as site, Site(ROBOTS) as other:
        urls = [other.url("/"), *(site.url(f"/f{number}") for number in range(30))]
        settings = {
            **ADDON,
            "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1},
            "FILES_STORE": str(tmp_path),
        }
        spider = "tests.crawls.backoff_spider:FilesSpider"
        result = crawl(spider, loop="select", settings=settings, urls=urls)
        first, probe, *_ = rounds(site.requests())
    assert len(first) in (8, 9), "one more goes before the second refusal"
    assert probe[0] - first[0] >= 2
    (item,) = result.items
    assert {one["url"] for one in item["files"]} == set(urls[1:])
    assert result.stats["rep/backoff/rests"] == 1


@pytest.mark.parametrize("queue", QUEUES)
def test_an_origin_that_is_given_up(queue: str) -> None:
    """Its requests are dropped, also in the middleware; the pages of others come."""
    with Site({**ROBOTS, "/*": busy(429, 0, "1")}) as site, Site(ROBOTS) as other:
        urls = [site.url(f"/{number}") for number in range(10)]
        settings = {
            **QUEUES[queue],
            "REP_BACKOFF_GIVE_UP_SECONDS": 2.5,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 2,
        }
        result = crawl(URLS_SPIDER, settings=settings, urls=[*urls, other.url("/")])
        assert len(rounds(site.requests())) == 4
        assert [len(one) for one in rounds(site.requests())][1:] == [1, 1, 1]
    errors = {item["url"]: item.get("error") for item in result.items}
    assert errors == {**dict.fromkeys(urls, "RateLimited"), other.url("/"): None}
    assert result.stats["rep/backoff/given_up"] == 1
    assert result.stats["rep/backoff/dropped"] == 10
    assert "REP_BACKOFF_GIVE_UP_SECONDS" in result.log


def test_answer_of_a_cache_begins_no_rest(tmp_path: Path) -> None:
    """A stored 429 begins no rest, and a 429 that begins a rest is not stored."""
    cache = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    stored = {**cache, "REP_BACKOFF": False, "RETRY_ENABLED": False}
    with Site({**ROBOTS, "/old": busy(429, 0, "30")}) as site:
        url = site.url("/old")
        crawl(URLS_SPIDER, settings={**ADDON, **stored}, urls=[url], meta=HANDLED)
        settings = {**ADDON, **cache, "RETRY_ENABLED": False}
        result = crawl(URLS_SPIDER, settings=settings, urls=[url], meta=HANDLED)
        assert [item["status"] for item in result.items] == [429]
        assert "rep/backoff/rests" not in result.stats
        assert len(pages(site.requests())) == 1
        site.change({"/new": [busy(429, 0, "1"), Answer(body="page")]})
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/new")])
        assert_all_came(result, [site.url("/new")])


def test_spider_with_handle_httpstatus_gets_the_answer() -> None:
    """It says so with `dont_retry`, as to Scrapy; the origin rests all the same."""
    with Site({**ROBOTS, "/1": busy(429, 0, "2"), "/2": busy(429, 0, "2")}) as site:
        urls = [site.url("/1"), site.url("/2"), site.url("/3")]
        settings = {**ADDON, "CONCURRENT_REQUESTS": 1}
        meta = {**HANDLED, "dont_retry": True}
        result = crawl(URLS_SPIDER, settings=settings, urls=urls, meta=meta)
        _, second, third = sorted(seen.at for seen in pages(site.requests()))
    assert [item["status"] for item in result.items] == [429, 429, 200]
    assert third - second >= 2


@pytest.mark.parametrize("queue", QUEUES)
def test_crawl_resumes_after_a_stop_during_a_rest(queue: str, tmp_path: Path) -> None:
    """No request is lost. The rest of the origin is not remembered, that of one page is."""
    settings = {**QUEUES[queue], "JOBDIR": str(tmp_path / "job")}
    with Site({**ROBOTS, "/*": [busy(429, 3, "6"), Answer(body="page")]}) as site:
        urls = [site.url(f"/{number}") for number in range(20)]
        with started(tmp_path, "asyncio", settings, urls) as process:
            wait_for(site, "/1")
            time.sleep(1)
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)
        assert_clean(log_of(tmp_path))
        assert "Spider closed (shutdown)" in log_of(tmp_path)
        time.sleep(2)
        before = len(pages(site.requests()))
        assert before <= 16
        result = crawl("tests.faults.spiders:ResumedSpider", settings=settings)
        after = [seen.path for seen in pages(site.requests())][before:]
    assert sorted(after) == sorted(f"/{number}" for number in range(20))
    assert result.finish_reason == "finished"
    assert_clean(result.log)


def test_it_can_be_turned_off() -> None:
    with Site({**ROBOTS, "/*": [busy(429, 0, "30"), Answer(body="page")]}) as site:
        settings = {**ADDON, "REP_BACKOFF": False}
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/1")])
    assert_all_came(result, [site.url("/1")])
    assert result.stats["retry/count"] == 1


def spread_seconds(seen: list[Seen]) -> float:
    """The time from the first request to the last."""
    times = [one.at for one in seen]
    return max(times) - min(times)


@pytest.mark.timed
def test_no_page_waits_for_the_retry_after_of_another() -> None:
    bad = [busy(503, 0, "4"), Answer(body="page")]
    settings = {**ADDON, "CONCURRENT_REQUESTS_PER_DOMAIN": 1, "CLOSESPIDER_TIMEOUT": 30}
    with Site({**ROBOTS, "/bad": bad}) as site:
        good = [site.url(f"/{number}") for number in range(40)]
        urls = [*good[:-3], site.url("/bad"), *good[-3:]]
        result = crawl(LINKED_SPIDER, settings=settings, urls=urls)
        assert_all_came(result, urls)
        seen = pages(site.requests())
    assert spread_seconds([one for one in seen if one.path != "/bad"]) < 3
    assert spread_seconds([one for one in seen if one.path == "/bad"]) >= 4


def test_requests_back_from_a_slot_pass_no_other_middleware() -> None:
    """They were queued there when the rest began, and were not sent: nothing has failed."""
    refused = [busy(429, 0, "2"), Answer(body="page")]
    settings = {
        **WITH_SCRAPYS_QUEUE,
        "DOWNLOAD_DELAY": 0.2,
        "DOWNLOADER_MIDDLEWARES": {"tests.crawls.backoff_spider.Hears": 600},
    }
    with Site({**ROBOTS, "/1": refused, "/2": refused}) as site:
        urls = [site.url(f"/{number}") for number in range(8)]
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        times = sorted(one.at for one in pages(site.requests()))
    assert_all_came(result, urls)
    assert max(after - before for before, after in itertools.pairwise(times)) >= 1.9
    assert result.stats["rep/backoff/put_back"] > 2, "some came back from the slot"
    heard = {name for name in result.stats if name.startswith("test/heard/")}
    assert heard == set()
    assert "downloader/exception_count" not in result.stats
