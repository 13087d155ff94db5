"""Coverage at the end of a crawl: what it got of the URLs that sitemaps list."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON
from tests.crawls.test_sitemaps import SITES, robots, urlset, xml
from tests.servers.handle import Answer, Site, redirect


def told(result: Crawl) -> dict[str, int]:
    """The stats of the coverage that are not 0."""
    found = {name[13:]: of for name, of in result.stats.items() if name.startswith("rep/coverage/")}
    return {name: of for name, of in found.items() if of}


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
    assert told(result) == {"listed": 6, "requested": 4, "fetched": 3, "failed": 1, "disallowed": 2}
    assert "Sitemaps list 6 URLs; 4 of these were requested:\n  3 fetched. For" in result.log
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
    assert stats["rep/coverage/requested"] + missed == stats["rep/coverage/listed"] == 40
    told_words = "never reached (a limit, another component, or the end). For example http"
    assert f"  {missed:,} {told_words}" in result.log


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
