"""Parsers swapped in, both ways, in whole crawls."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import signals

from tests.crawling import crawl
from tests.crawls.settings import ADDON
from tests.servers.handle import Answer, Site

RULES = Answer(body="User-agent: FooBot\nDisallow: /a\nCrawl-delay: 1.5\nSitemap: /sitemap.xml\n")
SPIDER = "tests.crawls.policy_spider:PolicySpider"
FOOBOT = {"USER_AGENT": "FooBot/1.0"}


@pytest.mark.parametrize(
    "parser",
    [
        "scrapy.robotstxt.ProtegoRobotParser",
        "scrapy.robotstxt.PythonRobotParser",
        "scrapy_rep.RepRobotParser",
        "tests.crawls.policy_spider.MinimalParser",
    ],
)
def test_any_parser_with_scrapys_interface_works(parser: str) -> None:
    with Site({"/robots.txt": RULES}) as site:
        result = crawl(
            SPIDER,
            settings={**ADDON, **FOOBOT, "ROBOTSTXT_PARSER": parser},
            urls=[site.url("/a"), site.url("/b")],
        )
        assert sorted(site.paths()) == ["/b", "/robots.txt"], result.log
        assert [item["sitemaps"] for item in result.items] == [[site.url("/sitemap.xml")]]
    # A parser that knows no delays, or only whole seconds, has none.
    assert result.items[0]["crawl_delay"] in (1.5, None)


def test_spider_and_signal_get_the_policy() -> None:
    with Site({"/robots.txt": RULES}) as site:
        result = crawl(SPIDER, settings={**ADDON, **FOOBOT}, urls=[site.url("/a"), site.url("/b")])
        assert site.paths().count("/robots.txt") == 1
        robots_txt = site.url("/robots.txt")
    policies: list[dict[str, Any]] = result.items
    assert len(policies) == 1, result.log
    policy = policies[0]
    assert policy["crawl_delay"] == 1.5
    assert policy["disallows_a"]
    assert policy["status"] == 200
    assert policy["final_url"] == robots_txt
    assert policy["hops"] == [robots_txt]
    assert policy["verdict"].startswith("allowed: no rule of the group matches")
    told = 1 if hasattr(signals, "robots_parsed") else 0  # a name of Scrapy 2.18
    assert result.stats.get("test/robots_parsed/RepRobotParser", 0) == told


def test_policy_for_without_the_middleware_says_how_to_get_it() -> None:
    with Site() as site:
        settings = {**ADDON, "ROBOTSTXT_OBEY": False}
        result = crawl(SPIDER, settings=settings, urls=[site.url("/b")])
    assert "policy_for needs RepMiddleware" in result.log
