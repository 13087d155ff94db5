"""Hostile sitemaps neither hang a crawl nor make it grow beyond what docs/spiders.md states."""

from __future__ import annotations

import gzip

import pytest

from tests.crawls.test_sitemaps import index, robots, run, urlset, xml
from tests.servers.handle import Answer, Site
from tests.test_sitemaps import billion_laughs, of_attributes

MIB = 1 << 20
_IDLE_OCTETS = 110 * MIB  # of a crawl that does nothing, roughly; it depends on the machine
_SITEMAP_OCTETS = 120 * MIB  # the body, what Scrapy's decompression makes of it, and a few more
_QUEUE_OCTETS = 3000  # of a request that waits, roughly


@pytest.mark.slow
def test_bombs_and_loops_end() -> None:
    """An index that names itself, gzip bombs of 200 MB in both ways, entities, attributes."""
    bomb = b"<urlset>" + b" " * (200 * 10**6)
    encoded = Answer(
        body="<urlset>",
        headers=(("Content-Type", "application/xml"),),
        content_encoding="gzip",
        bomb_octets=200 * 10**6,
    )
    with Site() as site:
        site.change(
            {
                "/robots.txt": robots(
                    "/self", "/gz", "/encoded", "/laughs", "/attributes", "/last"
                ),
                "/self": xml(index(*[site.url("/self")] * 100, site.url("/self?again"))),
                "/self?again": xml(index(site.url("/self"))),
                "/gz": Answer(body=gzip.compress(bomb, 9)),
                "/encoded": encoded,
                "/laughs": xml(billion_laughs("<url><loc>{}</loc></url>")),
                "/attributes": xml(of_attributes()),
                "/last": xml(urlset(site.url("/page"))),
            }
        )
        del bomb
        result = run(site, CONCURRENT_REQUESTS=1, RETRY_ENABLED=False)
        paths = site.paths()
    assert paths.count("/self") == 1
    assert "/page" in paths, result.log
    assert result.stats["rep/sitemap/request_count"] == 7
    assert result.stats["rep/sitemap/cut"] == 2, "the gzip bomb, and the tag of many attributes"
    assert result.stats["test/peak_octets"] < _IDLE_OCTETS + _SITEMAP_OCTETS


@pytest.mark.slow
@pytest.mark.at_length
def test_fifty_thousand_pages() -> None:
    """As many as a sitemap may have; of one with more, the first that many."""
    with Site(default=Answer(delay_seconds=1)) as site:
        urls = [site.url(f"/a/page/with/a/longer/name/{number}") for number in range(60_000)]
        site.change({"/robots.txt": robots("/a.xml"), "/a.xml": xml(urlset(*urls))})
        result = run(site, spider="tests.crawls.sitemap_spider:QueueSpider", LOG_LEVEL="INFO")
    assert result.stats["test/read_to_the_end"] == 1
    assert result.stats["rep/sitemap/pages"] == 50_000
    assert result.stats["scheduler/enqueued"] > 49_000
    bound = _IDLE_OCTETS + 50_000 * _QUEUE_OCTETS
    assert result.stats["test/peak_octets"] < bound
