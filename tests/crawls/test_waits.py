"""Every wait of the queue ends, and no origin waits for another that is not well."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import Crawl, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.faults.test_closing import assert_clean
from tests.servers.handle import Answer, Site, free_port

HERE = "tests.crawls.wait_spider"
RULES = "User-agent: *\nDisallow: /private\n"
HTML = Answer(body="page", headers=[("Content-Type", "text/html")], delay_seconds=0.1)
# A crawl that stands still is closed after this time, so that the test fails soon.
ENDS: dict[str, Any] = {**ADDON, "CLOSESPIDER_TIMEOUT": 20, "REP_CACHE_MIN_SECONDS": 1}


def urls_of(site: Site, path: str, count: int, host: str = "127.0.0.1") -> list[str]:
    return [site.url(f"{path}{number}", host=host) for number in range(count)]


def assert_ended(result: Crawl) -> None:
    assert result.exit_code == 0, result.error
    assert result.finish_reason == "finished", "the crawl stood still"
    assert_clean(result.log)


def test_the_log_says_why_nothing_is_fetched() -> None:
    """Where requests wait in the queue, and where they wait in the middleware."""
    busy = Answer(status=429, headers=[("Retry-After", "3")], lasts_seconds=2)
    delay = Answer(body="User-agent: *\nCrawl-delay: 3\n")
    rests: dict[str, Any] = {"/robots.txt": Answer(), "/*": [busy, Answer()]}
    with Site(rests) as site, Site({"/robots.txt": delay}) as slow:
        urls = [site.url(f"/{number}") for number in range(4)]
        urls += [slow.url(path, host="localhost") for path in ("/1", "/2")]
        result = crawl(f"{HERE}:QuietSpider", settings=ADDON, urls=urls)
    assert len(result.items) == len(urls)
    told = [line for line in result.log.splitlines() if "Nothing was fetched for" in line]
    assert told
    assert "requests wait: " in told[0]
    assert any("the delay of the site" in line for line in told)
    assert any(
        "a rest after 429, 503 or a challenge, number 1 in a row, the last after 429" in one
        for one in told
    )


@pytest.mark.timed
@pytest.mark.parametrize("refuses", [True, False], ids=["refused", "503"])
def test_an_unreachable_robots_txt_stalls_no_other_port(refuses: bool) -> None:
    """Its retries take the only place of the host, which others then have again."""
    settings = {**ENDS, "CONCURRENT_REQUESTS_PER_DOMAIN": 1, "REP_QUICK_RETRY_SECONDS": [0.4, 3.0]}
    slow_page = Answer(body="page", delay_seconds=0.1)
    unavailable = Answer(status=503, delay_seconds=0.1)
    with Site(default=slow_page) as good, Site({"/robots.txt": unavailable}) as down:
        port = free_port() if refuses else down.port
        lost = [f"http://127.0.0.1:{port}/{number}" for number in range(20)]
        urls = urls_of(good, "/", 20)
        pairs = [url for pair in zip(lost, urls, strict=True) for url in pair]
        result = crawl(URLS_SPIDER, settings=settings, urls=pairs)
        assert_ended(result)
        times = [one.at for one in good.requests()]
    gaps = [after - before for before, after in itertools.pairwise(times)]
    assert max(gaps) < 1, gaps
    errors = {item["url"]: item.get("error") for item in result.items}
    assert errors == {**dict.fromkeys(urls), **dict.fromkeys(lost, "RobotsTxtUnreachable")}


FIFO = {
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
}


def paths_in_order(settings: dict[str, Any], **arguments: Any) -> list[str]:
    """The pages in the order of a crawl that sends one request at a time."""
    wanted = {"CONCURRENT_REQUESTS": 1, "CLOSESPIDER_TIMEOUT": 20, **settings}
    robots = Answer(body=RULES, delay_seconds=0.3)
    with Site({"/robots.txt": robots}, default=HTML) as site:
        named = f"{HERE}:OrderSpider"
        result = crawl(named, settings=wanted, home=site.url(""), **arguments)
        assert_ended(result)
        return [path for path in site.paths() if path != "/robots.txt"]


@pytest.mark.parametrize("on_disk", [False, True])
def test_start_requests_go_in_their_order(on_disk: bool, tmp_path: Path) -> None:
    settings = {**ADDON, **({"JOBDIR": str(tmp_path)} if on_disk else {})}
    assert paths_in_order(settings, starts=[0] * 6) == [f"/{number}" for number in range(6)]


@pytest.mark.parametrize(
    ("start_queue", "priorities"),
    [
        ("scrapy.squeues.FifoMemoryQueue", [0, 0, 1, 0, 1, 0]),
        (None, [0] * 6),
    ],
    ids=["priorities", "shared"],
)
def test_the_request_that_waited_for_the_file_goes_first(
    start_queue: str | None, priorities: list[int]
) -> None:
    """Without a robots.txt to wait for, Scrapy sends the first request before others come."""
    queues = {"SCHEDULER_START_MEMORY_QUEUE": start_queue}
    theirs = paths_in_order(queues, starts=priorities)
    assert theirs[0] == "/0"
    assert paths_in_order({**ADDON, **queues}, starts=priorities) == theirs


@pytest.mark.parametrize("queues", [{}, FIFO], ids=["LIFO", "FIFO"])
def test_the_order_of_links_is_that_of_scrapy(queues: dict[str, Any]) -> None:
    links = [0, 5, 0, -5, 5, 0]
    ours = paths_in_order({**ADDON, **queues}, starts=[0], links=links)
    assert len(ours) == 1 + 6 + 12
    assert ours == paths_in_order(queues, starts=[0], links=links)


def test_the_order_of_links_to_another_origin_is_that_of_scrapy() -> None:
    """Its robots.txt is fetched when the first link is queued."""
    with Site({"/robots.txt": Answer(delay_seconds=0.5)}, default=HTML) as other:
        named = {"starts": [0], "links": [0] * 5, "elsewhere": other.url("")}
        paths_in_order(ADDON, **named)
        ours = [path for path in other.paths() if path != "/robots.txt"]
        paths_in_order({}, **named)
        theirs = other.paths()[1 + len(ours) :]
    assert len(ours) == 5 + 10
    assert ours == theirs
