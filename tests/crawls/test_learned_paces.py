"""Crawls learn the pace that a site accepts, keep it, and lose no page."""

from __future__ import annotations

import json
import signal
import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.http import Response

from scrapy_rep.pace.paces import Paces
from tests.commands.calling import rep_process
from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.faults.test_closing import assert_clean, log_of, started
from tests.protocol.limiters import GOOD, Answer, Site, bucket, fixed_window
from tests.spiders import UrlsSpider

from .limited_site import SILENCE, LimitedSite, limited

pytestmark = pytest.mark.timed

_RATE, _BURST, _PAGES = 20, 5, 100
_LEAST_SECONDS = (_PAGES - _BURST) / _RATE


def kinds() -> dict[str, Site]:
    return {
        "503": bucket(_RATE, _BURST, 503),
        "429": bucket(_RATE, _BURST),
        "Retry-After": bucket(_RATE, _BURST, 429, 2.0),
        "window": fixed_window(2 * _RATE, 2.0),
    }


def kept(folder: Path) -> dict[str, Any]:
    """Settings with a store in a file, which remembers paces."""
    return {**ADDON, "REP_STORE": "sqlite", "REP_STORE_PATH": str(folder / "robots.sqlite")}


def assert_all_came(result: Crawl, urls: list[str]) -> None:
    assert result.exit_code == 0, result.error
    assert sorted(item["url"] for item in result.items) == sorted(urls)
    assert {item.get("status") for item in result.items} == {200}
    assert result.deprecations == []
    assert_clean(result.log)


def assert_few_refusals(site: LimitedSite, most: int = 25) -> None:
    assert len(site.refused) <= most, len(site.refused)
    assert site.seconds <= 3 * _LEAST_SECONDS + 10


@pytest.mark.parametrize(
    ("loop", "kind"),
    [("asyncio", "503"), ("select", "429"), ("reactorless", "Retry-After"), ("asyncio", "window")],
)
def test_all_pages_of_a_limited_site_come_with_few_refusals(loop: Loop, kind: str) -> None:
    with limited(kinds()[kind]) as site:
        urls = site.urls(_PAGES)
        result = crawl(URLS_SPIDER, loop=loop, settings=ADDON, urls=urls)
        assert_all_came(result, urls)
        assert_few_refusals(site)
    assert result.stats["rep/backoff/learned"] >= 1
    assert "requests a second, by its answers: that is its pace now" in result.log
    assert "Learned paces: http://127.0.0.1:" in result.log


@pytest.mark.at_length
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("kind", kinds())
def test_each_limit_is_learned_in_each_loop(loop: Loop, kind: str) -> None:
    with limited(kinds()[kind]) as site:
        urls = site.urls(_PAGES)
        assert_all_came(crawl(URLS_SPIDER, loop=loop, settings=ADDON, urls=urls), urls)
        assert_few_refusals(site)


@pytest.mark.parametrize("loop", LOOPS)
def test_requests_of_scrapys_queue_wait_for_their_turns(loop: Loop) -> None:
    with limited(bucket(_RATE, _BURST)) as site:
        urls = site.urls(_PAGES)
        result = crawl(URLS_SPIDER, loop=loop, settings=WITH_SCRAPYS_QUEUE, urls=urls)
        assert_all_came(result, urls)
        assert_few_refusals(site)


@pytest.mark.parametrize("loop", LOOPS)
def test_no_page_is_requested_before_its_retry_after(loop: Loop) -> None:
    """Not even if the site has served others since the page was refused first."""
    limit, refused_until, early = fixed_window(10, 8.0), dict[str, float](), list[str]()

    def limiter(now: float, path: str) -> Answer:
        if now < refused_until.get(path, now) - 0.1:
            early.append(path)
        status, retry_after = limit(now, path)
        refused_until[path] = now + (retry_after or 0.0)
        return status, retry_after

    with limited(limiter) as site:
        urls = site.urls(23)
        result = crawl(URLS_SPIDER, loop=loop, settings=ADDON, urls=urls)
    assert_all_came(result, urls)
    assert early == []


@pytest.mark.parametrize("loop", LOOPS)
def test_the_fields_of_a_site_prevent_refusals(loop: Loop) -> None:
    """The first requests are sent before an answer tells the limit, so a window is large enough."""
    used, ends_at = 0, 0.0

    def limiter(now: float, _path: str) -> Answer:
        nonlocal used, ends_at
        if now >= ends_at:
            used, ends_at = 0, now + 2
        used += 1
        return GOOD if used <= 30 else (429, None)

    def fields(now: float) -> Mapping[str, str]:
        return {"RateLimit": f'"default";r={max(0, 30 - used)};t={int(ends_at - now) + 1}'}

    with limited(limiter, fields) as site:
        urls = site.urls(90)
        assert_all_came(crawl(URLS_SPIDER, loop=loop, settings=ADDON, urls=urls), urls)
        assert site.refused == []


def test_the_second_crawl_begins_with_the_pace(tmp_path: Path) -> None:
    with limited(bucket(_RATE, _BURST)) as site:
        urls = site.urls(_PAGES)
        first = crawl(URLS_SPIDER, settings=kept(tmp_path), urls=urls)
        refused_count = len(site.refused)
        time.sleep(1)
        second = crawl(URLS_SPIDER, settings=kept(tmp_path), urls=urls)
        assert len(site.refused) - refused_count <= 3
        plan = rep_process(
            *("rep", "plan", urls[0], "--json", "-s", "REP_STORE=sqlite"),
            *("-s", f"REP_STORE_PATH={tmp_path / 'robots.sqlite'}"),
        )
    assert_all_came(first, urls)
    assert_all_came(second, urls)
    assert "requests a second, learned on " in json.loads(plan.out)["pace"]["by"]


@pytest.mark.parametrize(("kind", "place"), [("429", "file"), ("window", "file"), ("429", "redis")])
def test_processes_share_the_pace_of_a_site(
    kind: str, place: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """In a file on one machine, or in Redis on several, which have no file in common."""
    more = {}
    if place == "redis":
        more["REP_REDIS_URL"] = request.getfixturevalue("redis_server").url
    with limited(kinds()[kind]) as site, ThreadPoolExecutor(3) as pool:
        urls = site.urls(_PAGES)
        parts = [urls[number::3] for number in range(3)]
        crawls = []
        for number, part in enumerate(parts):
            folder = tmp_path / str(number) if more else tmp_path
            settings = {**ADDON, **(more or {"REP_STORE": "sqlite"})}
            settings["REP_STORE_PATH"] = str(folder / "robots.sqlite")
            crawls.append(pool.submit(crawl, URLS_SPIDER, settings=settings, urls=part))
        for done, part in zip(crawls, parts, strict=True):
            assert_all_came(done.result(), part)
        assert_few_refusals(site, most=40)  # 24 requests are on their way when a window ends


@pytest.mark.parametrize("kind", ["damaged", "locked", "folder"])
def test_a_file_of_paces_that_cannot_be_used_stops_no_crawl(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "robots.paces.sqlite"
    held = sqlite3.connect(tmp_path / "other.sqlite")
    if kind == "damaged":
        file.write_bytes(b"no database at all" * 1000)
    elif kind == "folder":
        file.mkdir()
    else:
        held = sqlite3.connect(file, isolation_level=None)
        held.execute("pragma journal_mode = wal")
        held.execute("begin exclusive")
    with limited(bucket(_RATE, _BURST)) as site:
        urls = site.urls(_PAGES)
        assert_all_came(crawl(URLS_SPIDER, settings=kept(tmp_path), urls=urls), urls)
        assert_few_refusals(site)
    held.close()


def test_disallowed_requests_take_no_turn() -> None:
    with limited(bucket(2, 5)) as site:
        pages = site.urls(15)
        private = [f"http://127.0.0.1:{site.port}/private/{number}" for number in range(300)]
        began_at = time.monotonic()
        urls = [*pages[:8], *private, *pages[8:]]
        result = crawl(URLS_SPIDER, settings=ADDON, urls=urls)
        assert time.monotonic() - began_at < 30
        assert set(site.times) == {f"/{number}" for number in range(15)}
    assert result.stats["rep/verdict/disallowed"] == 300


@pytest.mark.parametrize("loop", LOOPS)
def test_pages_without_an_answer_in_time_slow_a_crawl(loop: Loop) -> None:
    def site(_now: float, path: str) -> Answer:
        return GOOD if int(path[1:]) < 20 else (SILENCE, None)

    with limited(site) as served:
        settings = {**ADDON, "DOWNLOAD_TIMEOUT": 0.5, "RETRY_ENABLED": False}
        result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=served.urls(36))
    assert result.stats["downloader/exception_count"] >= 16
    assert result.stats["rep/backoff/learned"] == 1


@pytest.mark.parametrize(
    ("loop", "status"),
    [("asyncio", 502), ("asyncio", SILENCE), ("select", 502), ("reactorless", SILENCE)],
)
def test_pages_of_a_site_that_is_down_for_seconds_come_later(loop: Loop, status: int) -> None:
    """Without a rest, the retries of all of them would be used up while it is down."""
    asked: list[float] = []

    def site(now: float, _path: str) -> Answer:
        asked.append(now)
        is_down = len(asked) > 20 and now < asked[20] + 4
        return (status, None) if is_down else GOOD

    with limited(site) as served:
        urls = served.urls(150)
        settings = {**ADDON, "DOWNLOAD_TIMEOUT": 0.2, "REP_BACKOFF_GIVE_UP_SECONDS": 1}
        result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=urls)
        assert_all_came(result, urls)
    assert result.stats["rep/backoff/rests"] >= 1
    assert ("answers 502" if status else "does not answer in time") in result.log
    assert "its rest is over" in result.log


@contextmanager
def pool(proxy_at: Callable[[int, float], Answer], count: int = 4) -> Iterator[dict[str, Any]]:
    """Settings with proxies, by the number of each and the time since the 20th request.

    All of them bring good answers before that.
    """
    asked: list[float] = []

    def limiter(proxy: int, now: float, path: str) -> Answer:
        if path.endswith("/robots.txt"):
            return GOOD
        asked.append(now)
        return GOOD if len(asked) <= 20 else proxy_at(proxy, now - asked[20])

    with ExitStack() as stack:
        served = [stack.enter_context(limited(partial(limiter, one))) for one in range(count)]
        yield {
            **ADDON,
            "DOWNLOADER_MIDDLEWARES": {"tests.crawls.backoff_spider.Pool": 610},
            "TEST_PROXIES": [f"http://127.0.0.1:{one.port}" for one in served],
            "DOWNLOAD_TIMEOUT": 0.3,
        }


@pytest.mark.parametrize(
    ("loop", "answer"),
    [
        ("asyncio", (502, None)),
        ("select", (503, None)),
        ("reactorless", (429, None)),
        ("asyncio", (SILENCE, None)),
    ],
)
def test_a_site_does_not_pay_for_dead_proxies_while_others_work(loop: Loop, answer: Answer) -> None:
    """The proxies answer themselves, or not at all; retries of pages go through the others."""
    urls = [f"http://site.example/{number}" for number in range(120)]
    with pool(lambda proxy, _seconds: answer if proxy % 2 else GOOD) as settings:
        result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=urls)
    assert_all_came(result, urls)
    assert result.stats["retry/count"] >= 40
    assert "rep/backoff/rests" not in result.stats
    assert "rep/backoff/learned" not in result.stats
    assert "no request goes to it" not in result.log


@pytest.mark.parametrize("status", [502, 503])
def test_a_site_that_is_down_behind_all_proxies_rests(status: int) -> None:
    urls = [f"http://site.example/{number}" for number in range(150)]
    with pool(lambda _proxy, seconds: (status, None) if seconds < 4 else GOOD) as settings:
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
    assert_all_came(result, urls)
    assert result.stats["rep/backoff/rests"] >= 1


@pytest.mark.parametrize("kind", ["503", "429", "Retry-After"])
def test_a_limit_is_learned_behind_a_proxy_for_each_page(kind: str) -> None:
    """As with pools of thousands, none of them is used twice."""
    limit = kinds()[kind]

    def limiter(now: float, path: str) -> Answer:
        return GOOD if path.endswith("/robots.txt") else limit(now, path)

    with limited(limiter) as site:
        urls = [f"http://site.example/{number}" for number in range(_PAGES)]
        settings = {
            **ADDON,
            "DOWNLOADER_MIDDLEWARES": {"tests.crawls.backoff_spider.Pool": 610},
            "TEST_PROXIES": [f"http://127.0.{one}.1:{site.port}" for one in range(_PAGES)],
        }
        assert_all_came(crawl(URLS_SPIDER, settings=settings, urls=urls), urls)
        assert_few_refusals(site)


def test_rotators_see_the_failure_of_a_dead_proxy_after_a_rest_too() -> None:
    """The rest began before another proxy had brought an answer."""

    def dead(_now: float, path: str) -> Answer:
        return GOOD if path.endswith("/robots.txt") else (429, None)

    def delay(path: str) -> float:
        return 1.0 if path.endswith("/0") else 0.0

    with limited(lambda _now, _path: GOOD, delay=delay) as slow, limited(dead) as site:
        urls = [f"http://site.example/{number}" for number in (0, 1, 3)]
        settings = {
            **ADDON,
            "DOWNLOADER_MIDDLEWARES": {"tests.crawls.backoff_spider.Pool": 610},
            "TEST_PROXIES": [f"http://127.0.0.1:{one.port}" for one in (slow, site)],
        }
        assert_all_came(crawl(URLS_SPIDER, settings=settings, urls=urls), urls)


def test_rests_become_longer_although_other_processes_rest_too(tmp_path: Path) -> None:
    """Each of them tells of its own rest, which may end a moment later."""
    asked: list[float] = []

    def site(now: float, _path: str) -> Answer:
        asked.append(now)
        return (502, None) if len(asked) > 20 else GOOD

    settings = {**kept(tmp_path), "RETRY_ENABLED": False, "CLOSESPIDER_TIMEOUT": 14}
    other = Paces()
    other.enter(tmp_path / "robots.paces.sqlite")
    with limited(site) as served, ThreadPoolExecutor(1) as pool:
        urls = served.urls(100)
        crawled = pool.submit(crawl, URLS_SPIDER, settings=settings, urls=urls)
        while not crawled.done():
            for origin, status, until in other.news():
                other.note_rest(origin, status, until + 0.1)
            time.sleep(0.05)
    other.leave()
    assert crawled.result().stats["rep/backoff/rests"] <= 3


@pytest.mark.parametrize("is_busy", [False, True])
def test_a_site_that_becomes_slow_gets_a_pace_unless_the_crawler_is_busy(*, is_busy: bool) -> None:
    def delay(path: str) -> float:
        return 2.3 if int(path[1:]) >= 30 and not is_busy else 0.0

    spider = "tests.crawls.test_learned_paces:BusySpider" if is_busy else URLS_SPIDER
    with limited(lambda _now, _path: GOOD, delay=delay) as served:
        urls = served.urls(54)
        result = crawl(spider, settings=ADDON, urls=urls)
        assert_all_came(result, urls)
    assert result.stats.get("rep/backoff/learned", 0) == (not is_busy)


class WholeAnswers(HTTP11DownloadHandler):
    """As Scrapy's handler for HTTP/2, which measures the time until the end of an answer."""

    async def download_request(self, request: Request) -> Response:
        """Say that the answer came by HTTP/2."""
        response = await super().download_request(request)
        return response.replace(protocol="h2")


def test_large_answers_of_http_2_slow_no_crawl() -> None:
    def delay(path: str) -> float:
        return 2.3 if int(path[1:]) >= 30 else 0.0

    with limited(lambda _now, _path: GOOD, delay=delay) as served:
        urls = served.urls(54)
        handlers = {"http": "tests.crawls.test_learned_paces.WholeAnswers"}
        result = crawl(URLS_SPIDER, settings={**ADDON, "DOWNLOAD_HANDLERS": handlers}, urls=urls)
        assert_all_came(result, urls)
    assert "rep/backoff/learned" not in result.stats


class BusySpider(UrlsSpider):
    """A spider that uses the processor for seconds."""

    name = "busy"

    def parse(self, response: Response, asked: str) -> dict[str, Any]:
        """Block the event loop while other answers arrive."""
        if int(response.url.rpartition("/")[2]) in {30, 38, 46}:
            time.sleep(2.3)
        return super().parse(response, asked)


def test_a_stopped_crawl_loses_no_request_that_waits_for_a_turn(tmp_path: Path) -> None:
    settings = {**ADDON, "JOBDIR": str(tmp_path / "job")}
    with limited(bucket(4, 3)) as site:
        with started(tmp_path, "asyncio", settings, site.urls(40)) as process:
            while len(site.times) < 8:
                time.sleep(0.05)
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=30)
        assert "Spider closed (shutdown)" in log_of(tmp_path)
        result = crawl("tests.faults.spiders:ResumedSpider", settings=settings)
        assert len(site.times) == 40
    assert result.finish_reason == "finished"


def test_a_site_that_is_down_does_not_rest_if_nothing_is_learned() -> None:
    def site(_now: float, path: str) -> Answer:
        return GOOD if int(path[1:]) < 20 else (500, None)

    with limited(site) as served:
        settings = {**ADDON, "REP_LEARN_PACE": False, "RETRY_ENABLED": False}
        result = crawl(URLS_SPIDER, settings=settings, urls=served.urls(60))
    assert len(result.items) == 60
    assert "rep/backoff/rests" not in result.stats


def test_nothing_is_learned_if_that_is_off() -> None:
    with limited(bucket(_RATE, _BURST)) as site:
        urls = site.urls(40)
        settings = {**ADDON, "REP_LEARN_PACE": False}
        assert_all_came(result := crawl(URLS_SPIDER, settings=settings, urls=urls), urls)
    assert "rep/backoff/learned" not in result.stats
