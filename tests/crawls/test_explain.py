"""`explain`: what a running crawl knows of a URL, as JSON values."""

from __future__ import annotations

import json
from typing import Any

import pytest

from scrapy_rep import InvalidUri, explain
from tests.crawling import crawl
from tests.crawls.settings import ADDON, WITH_SCRAPYS_QUEUE
from tests.played import played_crawler
from tests.servers.handle import Answer, Site

SPIDER = "tests.crawls.explain_spider:ExplainSpider"
FILE = "User-agent: *\nDisallow: /private\nCrawl-delay: 0.3\n"


@pytest.mark.parametrize("settings", [ADDON, WITH_SCRAPYS_QUEUE], ids=["ours", "Scrapy's"])
def test_explain_tells_file_verdict_and_delay(settings: dict[str, Any]) -> None:
    with Site({"/robots.txt": Answer(body=FILE)}) as site:
        urls = [site.url("/more"), *(site.url(f"/{number}") for number in range(3))]
        result = crawl(SPIDER, settings=settings, urls=urls)
    items = [item for item in result.items if "at" in item]
    first = items.pop(0)
    assert (first["robots_txt"], first["verdict"], first["rest"]) == (None, None, None)
    of_page = next(item for item in items if item["url"] == urls[0])
    assert of_page["verdict"] == {
        "allowed": True,
        "reason": "NO_RULE_MATCHES",
        "line": None,
        "rule": None,
        "group": "*",
    }
    file = of_page["robots_txt"]
    assert (file["event"], file["source"], file["access_result"]) == (
        "200",
        "network",
        "successful",
    )
    assert 0 <= file["age_seconds"] < 10
    assert of_page["pace"]["delay_seconds"] == 0.3
    private = next(item for item in items if "/private/" in item["url"])
    assert private["verdict"] == {
        "allowed": False,
        "reason": "RULE",
        "line": 2,
        "rule": "Disallow: /private",
        "group": "*",
    }
    if settings is ADDON:
        assert max(sum(item["queued"].values()) for item in items) >= 2
    else:
        assert {item["queued"] for item in items} == {None}
    assert json.loads(json.dumps(items)) == items


def test_explain_tells_the_rest_of_a_site() -> None:
    limited = Answer(status=429, headers=[("Retry-After", "3")])
    with Site({"/robots.txt": Answer(), "/busy*": limited}) as site:
        urls = [site.url("/busy1"), site.url("/busy2"), site.url("/b")]
        settings = {**ADDON, "CONCURRENT_REQUESTS": 1}
        meta = {"dont_retry": True, "handle_httpstatus_list": [429]}
        result = crawl(SPIDER, settings=settings, urls=urls, meta=meta)
    rests = [item["rest"] for item in result.items if item.get("rest")]
    assert 1 < rests[0]["seconds"] <= 3
    assert rests[0]["is_given_up"] is False


def test_explain_refuses_other_schemes() -> None:
    with pytest.raises(InvalidUri, match="http, https and ftp"):
        explain(played_crawler(ADDON), "data:,x")
