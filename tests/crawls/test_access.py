"""Whole crawls of sites with an unusual robots.txt.

`tests/faults/table.py` lists what else may be unusual.
"""

from __future__ import annotations

import pytest

from tests.crawling import crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.servers.handle import Answer, Site, redirect

_BREADTH_FIRST = {"SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}
PAGES = ["/a", "/b", "/c"]
RULES = Answer(body="User-agent: *\nDisallow: /a\n")


def test_credentials_in_a_redirect_are_not_sent() -> None:
    """The redirect is followed, and nothing tells other sites the secrets in it."""
    with Site({"/policy": RULES}) as elsewhere:
        to = elsewhere.url("/policy").replace("://", "://user:secret@")
        routes = {"/robots.txt": redirect("/own"), "/own": redirect(to)}
        with Site(routes) as site:
            settings = {**ADDON, "REP_FETCH_TIMEOUT_SECONDS": 3}
            urls = [site.url(path) for path in PAGES]
            result = crawl(URLS_SPIDER, settings=settings, urls=urls)
            fetched = sorted(path for path in site.paths() if path in PAGES)
        asked = elsewhere.requests()
    assert [seen.path for seen in asked] == ["/policy"], result.log
    assert "authorization" not in asked[0].headers
    assert fetched == ["/b", "/c"]


@pytest.mark.slow
def test_large_files_of_a_dozen_sites_stay_in_memory() -> None:
    """With the small ones of others. More of the large ones are read again, in about 5 ms each."""
    rules = "".join(f"Disallow: /{number:06}/private/pages/of/mine\n" for number in range(13_000))
    large = Answer(body=f"User-agent: *\nDisallow: /x\n{rules}")
    with (
        Site({"/robots.txt": large}, address="0.0.0.0") as site,
        Site({"/robots.txt": RULES}, address="0.0.0.0") as small,
    ):
        hosts = [f"127.0.2.{number}" for number in range(1, 13)]
        homes = [one.url("", host) for host in hosts for one in (site, small)]
        result = crawl(
            "tests.crawls.fair_spider:FairSpider",
            settings={**ADDON, **_BREADTH_FIRST, "LOG_LEVEL": "INFO"},
            homes=homes,
            pages=4,
        )
        for one in (site, small):
            assert one.paths().count("/robots.txt") == len(hosts)
            # Twisted sends a request again if its connection ended: twice is no loss.
            assert len({(seen.headers["host"], seen.path) for seen in one.requests()}) == 5 * 12
    assert result.finish_reason == "finished"
    assert "rep/cache/evicted" not in result.stats
