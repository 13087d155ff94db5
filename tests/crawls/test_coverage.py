"""Coverage at the end of a crawl: what it got of the URLs that sitemaps list."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scrapy_rep.decisions.report.report_making import report_of
from scrapy_rep.decisions.report.report_page import page
from scrapy_rep.proof.trail_reading import run_at
from tests.audit.crawled import of_kind
from tests.commands.calling import rep
from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.crawls.test_sitemaps import SITES, robots, urlset, xml
from tests.servers.handle import Answer, Site, redirect


@pytest.mark.parametrize("loop", LOOPS)
def test_end_of_the_log_and_stats_tell_the_coverage(loop: Loop) -> None:
    paths = ("/a", "/a", "/b", "/moved", "/gone", "/private/1", "/private/2")
    with Site() as site:
        site.change(
            {
                "/robots.txt": robots(site.url("/map.xml"), disallow=["/private"]),
                "/map.xml": xml(urlset(*(site.url(path) for path in paths))),
                "/moved": redirect("/target"),
                "/gone": Answer(status=404),
            }
        )
        settings = {**ADDON, "LOG_LEVEL": "INFO"}
        result = crawl(SITES, loop=loop, settings=settings, sites=site.url(""))
        gone, private = site.url("/gone"), site.url("/private/")
    found = {name[13:]: of for name, of in result.stats.items() if name.startswith("rep/coverage/")}
    told = {"listed": 6, "allowed": 4, "fetched": 3, "failed": 1, "disallowed": 2}
    assert found == {**told, "never_reached": 0}
    assert "Sitemaps list 6 URLs; 4 of these were allowed:\n  3 fetched. For" in result.log
    assert f"  1 failed. For example {gone}\n" in result.log
    assert f"  2 disallowed. For example {private}" in result.log


def test_limit_leaves_urls_that_were_never_reached() -> None:
    with Site() as site:
        urls = [site.url(f"/{number}") for number in range(40)]
        site.change({"/robots.txt": robots(site.url("/map.xml")), "/map.xml": xml(urlset(*urls))})
        settings = {**ADDON, "LOG_LEVEL": "INFO", "CLOSESPIDER_PAGECOUNT": 5}
        result = crawl(SITES, settings=settings, sites=site.url(""))
    stats = result.stats
    missed = stats["rep/coverage/never_reached"]
    assert 0 < missed < 40
    assert stats["rep/coverage/allowed"] + missed == stats["rep/coverage/listed"] == 40
    assert f"  {missed:,} never reached (a limit, or the end). For example http" in result.log


def test_resumed_crawl_counts_the_urls_of_its_earlier_runs(tmp_path: Path) -> None:
    """Also if it does not read the sitemap again."""
    with Site() as site:
        urls = [site.url(f"/{number}") for number in range(20)]
        site.change({"/robots.txt": robots("/map.xml"), "/map.xml": xml(urlset(*urls))})
        settings = {**ADDON, "JOBDIR": str(tmp_path), "CONCURRENT_REQUESTS": 1}
        counts = []
        for limits in ({"CLOSESPIDER_PAGECOUNT": 6}, {}):
            stats = crawl(SITES, settings={**settings, **limits}, sites=site.url("")).stats
            names = ("listed", "fetched", "never_reached")
            counts.append([stats[f"rep/coverage/{name}"] for name in names])
        assert site.paths().count("/map.xml") == 1
    assert counts[0][0] == 20
    assert counts[0][2] > 0
    assert counts[1] == [20, 20, 0]


@pytest.mark.parametrize("settings", [{}, {"JOBDIR": "job"}], ids=["no JOBDIR", "JOBDIR"])
def test_spider_may_have_a_state_of_its_own(settings: dict[str, str], tmp_path: Path) -> None:
    given = {**ADDON, **{name: str(tmp_path / one) for name, one in settings.items()}}
    with Site() as site:
        site.change(
            {
                "/robots.txt": robots(site.url("/map.xml")),
                "/map.xml": xml(urlset(site.url("/a"))),
            }
        )
        result = crawl(SITES, settings=given, sites=site.url(""), state="CA")
        assert "/a" in site.paths()
    assert result.stats["rep/coverage/listed"] == 1


def test_crawl_without_sitemaps_has_no_coverage(tmp_path: Path) -> None:
    with Site() as site:
        settings = {**ADDON, "REP_AUDIT_DIR": str(tmp_path)}
        result = crawl(URLS_SPIDER, settings=settings, urls=[site.url("/a")])
    assert not [name for name in result.stats if name.startswith("rep/coverage/")]
    pytest.importorskip("jinja2", reason="needs Jinja")
    assert "URLs of sitemaps" not in page(report_of([run_at(tmp_path / "latest")]))


def test_report_shows_the_coverage(tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="needs Jinja")
    with Site() as site:
        urls = [site.url(path) for path in ("/a?token=s3cret", "/gone?token=s3cret", "/private/1")]
        robots_txt = robots(site.url("/map.xml"), disallow=["/private"])
        files = {"/robots.txt": robots_txt, "/map.xml": xml(urlset(*urls))}
        site.change({**files, "/gone?token=s3cret": Answer(status=404)})
        audit, html = tmp_path / "audit", tmp_path / "report.html"
        wanted = {"REP_AUDIT_DIR": str(audit), "REP_REPORT": str(html), "REP_AUDIT_QUERY": "hash"}
        result = crawl(SITES, settings={**ADDON, **wanted}, sites=site.url(""))
    assert result.exit_code == 0, result.log
    latest, redacted = audit / "latest", tmp_path / "redacted"
    assert "s3cret" not in json.dumps(of_kind(run_at(latest), "coverage"))
    assert rep("audit", "redact", latest, "--query", "drop", "-o", redacted).status == 0
    assert "hmac" not in json.dumps(of_kind(run_at(redacted), "coverage"))
    for folder in (latest, redacted):
        assert rep("audit", "verify", folder).status == 0
        rows = json.loads(rep("report", folder, "--json").out)["coverage"]["rows"]
        ends = {"fetched": 1, "failed": 1, "disallowed": 1, "never_reached": 0}
        assert {row["what"]: row["count"] for row in rows} == {"listed": 3, "allowed": 2, **ends}
        assert [row["url"] for row in rows if row["what"] == "disallowed"] == [urls[2]]
    assert "2 confirmed; 2 redacted" in rep("audit", "replay", latest).out
    assert rep("audit", "export", latest).status == 0
    text = html.read_text(encoding="utf-8")
    assert "URLs of sitemaps" in text
    assert "never reached" in text
    assert "s3cret" not in text
