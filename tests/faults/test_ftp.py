"""robots.txt over FTP, with limits of octets and of time."""

from __future__ import annotations

import pytest

from tests.crawling import Crawl, crawl
from tests.crawls.settings import ADDON, DISALLOW_ALL, URLS_SPIDER
from tests.faults.ftp import SLOW_PIECE, Ftp, Manner
from tests.servers.handle import Site

_FILES = {"robots.txt": "User-agent: *\nDisallow: /b\n", "a": "a", "b": "b"}
_TIMEOUT_SECONDS = 1


def pages(server: Ftp) -> Crawl:
    settings = {
        **ADDON,
        "REP_FETCH_TIMEOUT_SECONDS": _TIMEOUT_SECONDS,
        "RETRY_ENABLED": False,
        "CLOSESPIDER_TIMEOUT": 30,
    }
    urls = [server.url("a"), server.url("b")]
    return crawl(URLS_SPIDER, settings=settings, urls=urls)


def test_endless_file_is_read_up_to_the_limit() -> None:
    with Ftp(_FILES, "endless") as server:
        result = pages(server)
        assert server.asked() == ["robots.txt", "a"], result.log
        assert server.sent_octets() < 20_000_000, "what the buffers of both sides take"
        assert server.connections() == 0
    assert result.stats["rep/parse_limit"] == 1
    assert result.stats["elapsed_time_seconds"] < _TIMEOUT_SECONDS + 3
    assert result.stats["test/peak_octets"] < 130 << 20


@pytest.mark.parametrize(
    ("manner", "event"),
    [
        ("silent", "timeout"),
        ("slow", "timeout"),
        ("mute", "timeout"),
        ("reset", "truncated"),
        ("talkative", "network"),
    ],
)
def test_faulty_server_is_disconnected(manner: Manner, event: str) -> None:
    """The transfer itself, not only the wait for it: the server sees the connections go."""
    with Ftp(_FILES, manner) as server:
        result = pages(server)
        assert set(server.asked()) <= {"robots.txt"}, result.log
        assert server.connections() == 0
        assert server.sent_octets() < 20_000_000
    assert result.stats[f"rep/event/{event}"] == 1, result.log
    assert result.stats["elapsed_time_seconds"] < _TIMEOUT_SECONDS + 5
    assert result.finish_reason == "finished"
    assert result.exit_code == 0, result.error


def test_login_is_that_of_the_request_and_the_settings() -> None:
    with Ftp({"robots.txt": DISALLOW_ALL}) as server:
        settings = {**ADDON, "FTP_PASSWORD": "secret"}
        meta = {"ftp_user": "me"}
        crawl(URLS_SPIDER, settings=settings, urls=[server.url("a")], meta=meta)
        assert (server.asked(), server.login()) == (["robots.txt"], ["me", "secret"])


@pytest.mark.slow
def test_the_timeout_ends_the_transfer() -> None:
    """Not only the wait for it, while the crawl goes on."""
    with Ftp(_FILES, "slow") as server, Site() as site:
        result = crawl(
            "tests.faults.spiders:PacedSpider",
            settings={**ADDON, "REP_FETCH_TIMEOUT_SECONDS": 1, "RETRY_ENABLED": False},
            urls=[server.url("a"), site.url("/a")],
            pause_seconds=4,
        )
        pieces = server.sent_octets() // len(SLOW_PIECE)
    assert result.stats["rep/event/timeout"] == 1
    assert pieces < 10, "one each 0.2 seconds, for one second of four"


def test_log_says_that_reactorless_scrapy_has_no_ftp() -> None:
    with Ftp(_FILES) as server, Ftp(_FILES) as other:
        settings = {**ADDON, "RETRY_ENABLED": False}
        urls = [server.url("a"), server.url("b"), other.url("a")]
        result = crawl(URLS_SPIDER, loop="reactorless", settings=settings, urls=urls)
        assert server.asked() == other.asked() == []
    assert result.stats["rep/event/local"] == 2, "one for each origin, and not asked again"
    told = "was not fetched, because Scrapy has no download handler that can send the request: ftp"
    assert result.log.count(told) == 1
    assert {item["error"] for item in result.items} == {"RobotsTxtUnreachable"}


@pytest.mark.parametrize(
    ("robots", "fetched"),
    [
        ({"robots.txt": "User-agent: *\nDisallow: /b\n"}, ["a"]),
        ({"robots.txt": ""}, ["a", "b"]),
        ({}, ["a", "b"]),
    ],
    ids=["rules", "an empty file", "550"],
)
def test_pages_are_fetched_by_the_rules(robots: dict[str, str], fetched: list[str]) -> None:
    with Ftp({"a": "x" * 1_000_000, "b": "b", **robots}) as server:
        result = pages(server)
        assert server.asked()[0] == "robots.txt"
        assert sorted(server.asked()[1:]) == fetched
    assert len([item for item in result.items if item.get("status") == 200]) == len(fetched)
