"""The log of a crawl: its first origins, unreachable files, and at its end the drops."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import Crawl, crawl
from tests.crawls.settings import ADDON, DISALLOW_ALL, URLS_SPIDER
from tests.servers.handle import Answer, Site

INFO: dict[str, Any] = {**ADDON, "LOG_LEVEL": "INFO"}
FILE = "User-agent: *\nDisallow: /private\nCrawl-delay: 0.1\n"


def said(result: Crawl, level: str = "INFO") -> list[str]:
    """The lines of our records about the crawl, with what continues them."""
    records = re.split(r"^(?=\d{4}-\d\d-\d\d )", result.log, flags=re.MULTILINE)
    mark = f"[scrapy_rep.decisions.crawl_log] {level}: "
    found = [record.partition(mark)[2] for record in records if mark in record]
    return "".join(found).splitlines()


def test_log_names_dropped_requests() -> None:
    with Site({"/robots.txt": Answer(body=FILE)}) as site:
        urls = [site.url(path) for path in ("/", "/private/1", "/private/2")]
        closed = "http://127.0.0.2:1/"
        result = crawl(URLS_SPIDER, settings=INFO, urls=[*urls, closed])
        file = site.url("/robots.txt")
    refused = f"{closed}robots.txt: refused"
    lines, rule = said(result), f"line 2 of {file}: Disallow: /private"
    assert lines[0] == f"{file} (200): its rules decide, Crawl-delay 0.1 s"
    assert lines[1:] == [
        "[urls] 3 of 4 requests were dropped:",
        f"  2 (1 origin): a rule matches. For example {urls[1]} ({rule})",
        f"  1 (1 origin): the file is unreachable. For example {closed} ({refused})",
        "Origins: 1 unreachable, 1 set a delay between requests",
        "For one URL, see scrapy rep check URL; for each decision, set REP_AUDIT_DIR",
    ]
    assert len(said(result, "WARNING")) == 1, "the outage"


def test_every_start_request_was_dropped() -> None:
    with Site({"/robots.txt": Answer(body=DISALLOW_ALL)}) as site:
        url = site.url("/")
        result = crawl(URLS_SPIDER, settings=INFO, urls=[url, site.url("/b")])
    (line,) = said(result, "WARNING")
    assert line.startswith("[urls] No page was crawled, because robots.txt disallows the requests.")
    assert f"{url} (line 2 of {site.url('/robots.txt')}: Disallow: /)" in line
    assert "set REP_OVERRIDES" in line


@pytest.mark.parametrize(
    ("meta", "settings"),
    [({"dont_obey_robotstxt": True}, {}), ({}, {"REP_DRY_RUN": True})],
    ids=["exempt", "dry run"],
)
def test_a_start_request_that_is_let_through(
    meta: dict[str, Any], settings: dict[str, Any]
) -> None:
    with Site({"/robots.txt": Answer(body=DISALLOW_ALL)}) as site:
        settings = {**INFO, **settings}
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/")], meta=meta)
    assert said(result, "WARNING") == []
    would = "[urls] 1 of 1 request would be dropped without REP_DRY_RUN:"
    assert (would in said(result)) is ("REP_DRY_RUN" in settings)


def test_the_first_of_many_origins(tmp_path: Path) -> None:
    """Ten files and five outages are named; at the end there are numbers."""
    with Site({"/robots.txt": Answer(body=FILE)}, address="0.0.0.0") as site:
        there = [site.url("/private", host=f"127.0.1.{number}") for number in range(1, 21)]
        gone = [f"http://127.0.2.{number}:1/" for number in range(1, 21)]
        report = tmp_path / "report.html"
        settings = {**INFO, "REP_AUDIT_DIR": str(tmp_path / "audit"), "REP_REPORT": str(report)}
        result = crawl(URLS_SPIDER, settings=settings, urls=[*there, *gone])
    lines = said(result)
    assert len([line for line in lines if "its rules decide" in line]) == 10
    assert any(line.startswith("  20 (20 origins): a rule matches.") for line in lines)
    assert any(line.startswith("Origins: 20 unreachable, 20 set a delay") for line in lines)
    assert lines[-1] == f"For more, see the report: {report}"
    assert f"Report written to {report}" in result.log
    outages = [line for line in said(result, "WARNING") if "is unreachable" in line]
    assert len(outages) == 5
    assert all("(REP_POLICY = 'rfc9309')" in line for line in outages)
    assert all("failures in a row: 1)" in line for line in outages)


def test_secrets_and_odd_stats() -> None:
    """No userinfo and no query value is shown; without stats, there are numbers all the same."""
    with Site({"/robots.txt": Answer(body=DISALLOW_ALL)}) as site:
        url = site.url("/x?api_key=hunter2").replace("http://", "http://user:hunter3@")
        settings = {**INFO, "STATS_CLASS": "scrapy.statscollectors.DummyStatsCollector"}
        result = crawl(URLS_SPIDER, settings=settings, urls=[url])
    assert "hunter" not in "".join(said(result) + said(result, "WARNING"))
    assert "[urls] 1 of 1 request was dropped:" in said(result)
    assert "?api_key=…" in said(result, "WARNING")[0]


def test_unreachable_start_url_is_explained() -> None:
    """Its requests are held for a while, and the log says by which setting."""
    settings = {**INFO, "REP_UNREACHABLE_HOLD_SECONDS": 2, "REP_RETRY_FIRST_SECONDS": 1}
    with Site({"/robots.txt": Answer(status=503)}) as site:
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/")])
    *outages, last = said(result, "WARNING")
    assert "or RepRedisScheduler wait for the next attempt, in 1 s" in outages[0]
    assert "(REP_UNREACHABLE_HOLD_SECONDS)" in outages[0]
    assert "wait for" not in outages[-1], "they are dropped"
    decide = "REP_POLICY, REP_POLICY_OVERRIDES and REP_OVERRIDES decide"
    assert f"robots.txt: 503). {decide} what that means." in last


@pytest.mark.parametrize("name", ["Rotates", "RotatesAll"])
def test_failures_are_counted_whatever_user_agent_is_sent(name: str) -> None:
    settings = {
        **INFO,
        "REP_UNREACHABLE_HOLD_SECONDS": 4,
        "REP_RETRY_FIRST_SECONDS": 0.5,
        "DOWNLOADER_MIDDLEWARES": {f"tests.crawls.meddling.{name}": 400},
        "ROTATES": [f"Bot{letter}/1.0" for letter in "ABCDEFGHIJ"],
    }
    with Site({"/robots.txt": Answer(status=503)}) as site:
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/")])
    lines = [line for line in said(result, "WARNING") if "is unreachable (" in line]
    assert len(lines) > 1
    for count, line in enumerate(lines, 1):
        assert f"(503, failures in a row: {count})" in line


def test_a_delay_after_the_first_origins() -> None:
    """The log says why a crawl is slow, even if the slow origin is not among the first ten."""
    quick = Site({"/robots.txt": Answer(status=404)}, address="0.0.0.0")
    with quick, Site({"/robots.txt": Answer(body=FILE)}) as slow:
        urls = [quick.url(host=f"127.0.1.{number}") for number in range(1, 15)]
        result = crawl(URLS_SPIDER, settings=INFO, urls=[*urls, slow.url()])
    lines = [line for line in said(result) if "/robots.txt (" in line]
    assert len(lines) == 11
    assert f"{slow.url('/robots.txt')} (200): its rules decide, Crawl-delay 0.1 s" in lines
