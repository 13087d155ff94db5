"""Policies as dependencies of callbacks, through scrapy-poet."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON
from tests.extras import needs
from tests.servers.handle import Answer, Site

pytest.importorskip("scrapy_poet", reason="scrapy-poet is not installed")
pytestmark = needs("pages")

RULES = Answer(body="User-agent: *\nDisallow: /private\nCrawl-delay: 0.01\nSitemap: /map.xml\n")
POET: dict[str, Any] = {
    **ADDON,
    "ADDONS": {**ADDON["ADDONS"], "scrapy_poet.Addon": 300},
    "SCRAPY_POET_PROVIDERS": {"scrapy_rep.extras.pages.poet.PolicyProvider": 500},
}
SPIDERS = "tests.others.poet_spiders"


def run(spider: str, site: Site, loop: Loop = "asyncio", **settings: Any) -> Crawl:
    urls = [site.url("/a"), site.url("/private")]
    return crawl(f"{SPIDERS}:{spider}", loop=loop, settings={**POET, **settings}, urls=urls)


@pytest.mark.parametrize("loop", LOOPS)
def test_callback_may_depend_on_the_policy(loop: Loop) -> None:
    with Site({"/robots.txt": RULES}) as site:
        result = run("PolicySpider", site, loop)
        assert site.paths() == ["/robots.txt", "/a"]
        origin = site.url("").rstrip("/")
    assert result.exit_code == 0, result.error
    assert result.items == [
        {
            "origin": origin,
            "next": False,
            "sitemaps": [f"{origin}/map.xml"],
            "crawl_delay": 0.01,
        }
    ]
    assert result.stats["robotstxt/forbidden"] == 1


def test_page_object_may_depend_on_the_policy() -> None:
    with Site({"/robots.txt": RULES}) as site:
        result = run("PageObjectSpider", site)
        assert site.paths() == ["/robots.txt", "/a"]
    assert result.exit_code == 0, result.error
    assert result.items == [{"allowed": True, "line": 2}]


def test_policy_is_there_without_a_download() -> None:
    """Where a callback wants no response, a disallowed request is dropped all the same."""
    with Site({"/robots.txt": RULES}) as site:
        result = run("NoDownloadSpider", site)
        assert site.paths() == ["/robots.txt"]
    assert result.exit_code == 0, result.error
    assert [item["path"] for item in result.items] == ["/a"]


def test_requests_of_page_objects_are_judged() -> None:
    with Site({"/robots.txt": RULES}) as site:
        result = run("AskingSpider", site)
        assert site.paths() == ["/robots.txt", "/a", "/b"]
    assert result.exit_code == 0, result.error
    assert result.items == [{"b": 200, "private": "HttpError"}]


def test_error_without_the_middleware_names_the_fix() -> None:
    with Site({"/robots.txt": RULES}) as site:
        result = run("PolicySpider", site, ROBOTSTXT_OBEY=False)
    assert result.items == []
    assert "policy_for needs RepMiddleware" in result.log


def test_cache_of_scrapy_poet_keeps_no_policy() -> None:
    with Site({"/robots.txt": RULES}) as site:
        result = run("PolicySpider", site, SCRAPY_POET_CACHE=True)
    assert result.items == []
    assert "must have a `name` defined" in result.log
