"""The User-Agent that is sent counts, also if a middleware after ours sets it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import Crawl, crawl
from tests.crawls.settings import ADDON, BY_HAND, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.crawls.test_pace import assert_paced
from tests.servers.handle import Answer, Site

RULES = """\
User-agent: BadBot
Disallow: /

User-agent: SlowBot
Crawl-delay: 0.5
Disallow: /none

User-agent: *
Disallow: /none
"""
AGENTS = ["GoodBot/1.0", "BadBot/1.0", "SlowBot/1.0"]
WARNING = "middleware after RepMiddleware"


def rotated(
    settings: dict[str, Any], agents: list[str], *, order: int = 400, name: str = "Rotates"
) -> dict[str, Any]:
    middlewares = settings.get("DOWNLOADER_MIDDLEWARES", {})
    return {
        **settings,
        "USER_AGENT": "GoodBot/1.0",
        "DOWNLOADER_MIDDLEWARES": {**middlewares, f"tests.crawls.meddling.{name}": order},
        "ROTATES": agents,
    }


def agents_of(site: Site) -> Counter[str]:
    """The User-Agents of the requests for pages."""
    pages = (seen for seen in site.requests() if seen.path != "/robots.txt")
    return Counter(seen.headers["user-agent"] for seen in pages)


def errors_of(result: Crawl) -> Counter[str]:
    return Counter(item.get("error", "") for item in result.items)


@pytest.mark.parametrize("settings", [ADDON, WITH_SCRAPYS_QUEUE], ids=["our queue", "Scrapy's"])
def test_three_crawlers_in_turn(settings: dict[str, Any]) -> None:
    """One is allowed, one disallowed, and one is asked to be slow."""
    with Site({"/robots.txt": Answer(body=RULES)}) as site:
        urls = [site.url(f"/{number}") for number in range(12)]
        result = crawl(URLS_SPIDER, settings=rotated(settings, AGENTS), urls=urls)
        assert agents_of(site) == {"GoodBot/1.0": 4, "SlowBot/1.0": 4}, result.log
        slow = "SlowBot/1.0"
        assert_paced([one for one in site.requests() if one.headers["user-agent"] == slow], 0.5)
    assert errors_of(result) == {"": 8, "RobotsTxtDisallowed": 4}
    assert result.stats["rep/verdict/allowed"] == 8
    assert result.stats["rep/verdict/disallowed"] == result.stats["robotstxt/forbidden"] == 4
    assert result.stats["log_count/WARNING"] == result.log.count(WARNING) == 1
    assert "RepMiddleware (order 100)" in result.log
    assert "Rotates (order 400)" in result.log
    assert result.deprecations == []


@pytest.mark.parametrize(
    ("settings", "order", "name"),
    [(ADDON, 400, "Rotates"), (BY_HAND, 950, "Rotates"), (BY_HAND, 950, "RotatesLater")],
)
def test_nothing_is_fetched_as_a_crawler_that_is_disallowed(
    settings: dict[str, Any], order: int, name: str
) -> None:
    with Site({"/robots.txt": Answer(body=RULES)}) as site:
        wanted = rotated(settings, ["BadBot/1.0"], order=order, name=name)
        urls = [site.url(f"/{number}") for number in range(80)]
        result = crawl(URLS_SPIDER, settings=wanted, urls=urls)
        assert site.paths() == ["/robots.txt"], result.log
    assert errors_of(result) == {"RobotsTxtDisallowed": 80}
    assert result.log.count(WARNING) == 1


def test_the_first_request_of_all() -> None:
    """It is on its way through the middlewares before we hear that the spider is open."""
    with Site({"/robots.txt": Answer(body=RULES)}) as site:
        settings = rotated(ADDON, ["BadBot/1.0"])
        settings |= {
            "EXTENSIONS": {"tests.crawls.meddling.AsksEarly": 0},
            "EARLY_URL": site.url("/early"),
        }
        result = crawl(URLS_SPIDER, settings=settings, urls=[])
        assert "/early" not in site.paths(), result.log


@pytest.mark.parametrize(
    ("middleware", "sent", "words"),
    [
        (None, "Other/1.0 FooBot", "the product token 'FooBot' is added"),
        ("RotatesAll", "BadBot/1.0", "does not contain the product token 'FooBot'"),
    ],
)
def test_the_log_names_the_user_agent_that_is_sent(
    middleware: str | None, sent: str, words: str
) -> None:
    settings = {**ADDON, "ROBOTSTXT_USER_AGENT": "FooBot"}
    if middleware is not None:
        settings = rotated(settings, ["BadBot/1.0"], name=middleware)
    settings["USER_AGENT"] = "Other/1.0"
    with Site({"/robots.txt": Answer(body=RULES)}) as site:
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/a"), site.url("/b")])
        (robots,) = (one for one in site.requests() if one.path == "/robots.txt")
    assert robots.headers["user-agent"] == sent
    (warning,) = (line for line in result.log.splitlines() if "identity] WARNING" in line)
    assert f"robots.txt is fetched with the User-Agent {sent!r}" in warning
    assert words in warning
    assert "'Other/1.0'" not in warning


def test_trail_names_the_last_token(tmp_path: Path) -> None:
    pytest.importorskip("scrapy_rep.extras.evidence")
    from scrapy_rep.extras.evidence.reports.report_making import report_of
    from scrapy_rep.extras.evidence.trail_check import check
    from tests.extras.evidence.audit.crawled import audited, of_kind

    with Site({"/robots.txt": Answer(body=RULES)}) as site:
        urls = [site.url(f"/{number}") for number in range(6)]
        settings = rotated(ADDON, AGENTS)
        result, run = audited(urls, tmp_path, settings=settings)
    again = [one for one in of_kind(run, "decision") if one["by"] == "user-agent"]
    assert Counter((*one["tokens"], one["outcome"]) for one in again) == {
        ("BadBot", "dropped"): 2,
        ("SlowBot", "passed"): 2,
    }
    assert check(run).problems == []
    totals = report_of([run]).totals
    assert (totals.judged, totals.allowed, totals.held_back) == (6, 4, 2)
    assert result.stats["rep/verdict/allowed"] == 4


@pytest.mark.parametrize("settings", [ADDON, WITH_SCRAPYS_QUEUE], ids=["our queue", "Scrapy's"])
@pytest.mark.parametrize(("name", "order"), [("Rotates", 50), ("Anonymous", 900)])
def test_a_request_without_a_user_agent_is_judged_by_the_group_of_all(
    name: str, order: int, settings: dict[str, Any]
) -> None:
    """The header is empty from the start, or removed after all other middlewares.

    If it is removed so late, the crawl's own group has judged the request before.
    """
    body = "User-agent: GoodBot\nDisallow: /good\n\nUser-agent: *\nDisallow: /all\n"
    with Site({"/robots.txt": Answer(body=body)}) as site:
        wanted = rotated(settings, [""], order=order, name=name)
        urls = [site.url(path) for path in ("/good", "/all", "/page")]
        result = crawl(URLS_SPIDER, settings=wanted, urls=urls)
        seen = {one.path: one.headers for one in site.requests()}
    assert "GoodBot" in seen["/robots.txt"]["user-agent"]
    good = ["/good"] if name == "Rotates" else []
    assert sorted(seen) == [*good, "/page", "/robots.txt"], result.log
    assert seen["/page"].get("user-agent", "") == ""
    dropped = {item["url"] for item in result.items if item.get("error") == "RobotsTxtDisallowed"}
    assert dropped == {site.url(path) for path in ("/good", "/all", "/page") if path not in seen}
