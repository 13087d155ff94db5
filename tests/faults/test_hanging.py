"""A component that never answers delays no origin and no end of a crawl for ever."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import signals

from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.servers.handle import Answer, Site

_HERE = "tests.faults.hanging"
_QUEUES = {"ours": ADDON, "Scrapy's": WITH_SCRAPYS_QUEUE}
_HANDLER = {"DOWNLOAD_HANDLERS": {"https": f"{_HERE}.Handler"}}
_PARTS: dict[str, dict[str, Any]] = {
    "handler": _HANDLER,
    "on the way there": {"DOWNLOADER_MIDDLEWARES": {f"{_HERE}.OnTheWayThere": 850}},
    "on the way back": {"DOWNLOADER_MIDDLEWARES": {f"{_HERE}.OnTheWayBack": 850}},
}
_cases = pytest.mark.parametrize(
    ("part", "queue", "loop"),
    [
        ("handler", "ours", "asyncio"),
        ("handler", "Scrapy's", "reactorless"),
        ("on the way there", "Scrapy's", "select"),
        ("on the way back", "ours", "reactorless"),
    ],
)
_signal = pytest.mark.skipif(
    not hasattr(signals, "robots_parsed"), reason="a signal of Scrapy 2.18"
)


def crawl_with(
    part: str, queue: str, loop: Loop, site: Site, spider: str = URLS_SPIDER, **settings: Any
) -> Crawl:
    """A crawl of three pages; their robots.txt hangs."""
    base = site.url("/")
    if part == "handler":
        base = base.replace("http:", "https:")
    return crawl(
        spider,
        loop=loop,
        settings={**_QUEUES[queue], **_PARTS[part], **settings},
        urls=[f"{base}{number}" for number in range(3)],
        timeout_seconds=40,
    )


@_cases
def test_hanging_fetch_ends_at_its_time_limit(part: str, queue: str, loop: Loop) -> None:
    """After the time that the settings name, with whichever queue; nothing is permitted by it."""
    with Site({"/robots.txt": Answer(body="")}) as site:
        result = crawl_with(
            part,
            queue,
            loop,
            site,
            REP_FETCH_TIMEOUT_SECONDS=0.5,
            REP_UNREACHABLE_WAIT_SECONDS=2,
        )
        assert set(site.paths()) <= {"/robots.txt"}
    assert [item.get("error") for item in result.items] == ["RobotsTxtUnreachable"] * 3, result.log
    assert result.finish_reason == "finished"
    assert result.exit_code == 0, result.error
    assert "Traceback" not in result.log
    if part == "handler":
        assert result.stats["rep/event/timeout"] == 1
    else:
        assert "for a reason on our side (local, failures in a row: 1)" in result.log
        assert result.stats["rep/late"] == 1
        assert "did not come in the 2 s of REP_UNREACHABLE_WAIT_SECONDS" in result.log


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    ("answer", "settings", "words"),
    [
        (Answer(fault="hang"), {}, "the answer of the site"),
        (Answer(status=503), {"REP_QUICK_RETRY_SECONDS": [30]}, "the pause before a retry"),
        (Answer(), _PARTS["on the way there"], "the downloader middlewares, or a look-up"),
        (Answer(), _PARTS["on the way back"], "the downloader middlewares, which process"),
    ],
    ids=["the site", "a pause", "on the way there", "on the way back"],
)
def test_late_fetch_names_what_it_was_waiting_for(
    answer: Answer, settings: dict[str, Any], words: str, loop: Loop
) -> None:
    with Site({"/robots.txt": answer}) as site:
        limits = {"REP_FETCH_TIMEOUT_SECONDS": 30, "REP_UNREACHABLE_WAIT_SECONDS": 1}
        settings = {**ADDON, **limits, **settings}
        result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=[site.url()])
    assert f"REP_UNREACHABLE_WAIT_SECONDS; it was waiting for {words}" in result.log


def test_hanging_fetch_gives_its_place_back() -> None:
    """It has one place, and other requests need it."""
    with Site() as site:
        base = site.url("/").replace("http:", "https:")
        result = crawl(
            URLS_SPIDER,
            settings={
                **ADDON,
                **_HANDLER,
                "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
                "REP_FETCH_TIMEOUT_SECONDS": 0.5,
            },
            urls=[base + "a", site.url("/b")],
            timeout_seconds=40,
        )
        assert site.paths() == ["/robots.txt", "/b"], result.log
    assert result.finish_reason == "finished"


@_cases
def test_crawl_can_be_closed_while_a_fetch_hangs(part: str, queue: str, loop: Loop) -> None:
    """At once, but for a handler that a request waits for: that has its time."""
    with Site({"/robots.txt": Answer(body="")}) as hanging, Site() as good:
        base = hanging.url("/", "localhost")
        if part == "handler":
            base = base.replace("http:", "https:")
        result = crawl(
            "tests.faults.spiders:LastIsExemptSpider",
            loop=loop,
            settings={**_QUEUES[queue], **_PARTS[part], "REP_FETCH_TIMEOUT_SECONDS": 4},
            urls=[base + "a", base + "b", good.url("/good")],
            timeout_seconds=40,
        )
        assert "/a" not in hanging.paths()
    assert result.finish_reason == "enough"
    assert result.exit_code == 0, result.error
    assert "Traceback" not in result.log
    assert "Unhandled" not in result.log
    assert result.stats["test/closing_seconds"] < 7
    if queue == "ours" or part == "on the way there":
        assert result.stats["test/closing_seconds"] < 2


@_signal
@pytest.mark.parametrize(
    ("listener", "queue"), [("Listener", "ours"), ("AskingListener", "Scrapy's")]
)
def test_handlers_of_robots_parsed_have_a_time_limit(listener: str, queue: str) -> None:
    """And then requests are judged by the file, which is there."""
    with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /private\n")}) as site:
        result = crawl(
            URLS_SPIDER,
            settings={
                **_QUEUES[queue],
                "EXTENSIONS": {f"{_HERE}.{listener}": 0},
                "REP_UNREACHABLE_WAIT_SECONDS": 1,
            },
            urls=[site.url("/a"), site.url("/private")],
            timeout_seconds=40,
        )
        assert site.paths() == ["/robots.txt", "/a"]
    assert result.finish_reason == "finished"
    assert result.exit_code == 0, result.error
    assert "did not finish in 1 s and" in result.log
