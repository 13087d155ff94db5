"""Sitemaps: memory and time of a crawl with the worst ones, and usual ones compared with Scrapy's.

Run ``python benchmarks/sitemaps.py [hostile] [reading]``.

*reading*: scrapy-rep and Scrapy read 20,000 entries of several kinds in turn: CPU microseconds per
entry, the least of some rounds, for the entries alone and with the requests that a spider makes.

*hostile*: each sitemap is served on loopback to its own crawl:

* *MiB*: the peak of the crawl's memory, above that of a crawl with an empty sitemap;
* *s*: the duration of the crawl;
* *came*: the stats of the sitemap under ``rep/sitemap/``.

The figures in docs/spiders.md come from this script.
"""

from __future__ import annotations

import asyncio
import gzip
import inspect
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy import Request

from tests.crawling import Crawl, crawl
from tests.crawls.settings import ADDON
from tests.crawls.test_sitemaps import index, robots, urlset, xml
from tests.servers.handle import Answer, Site
from tests.test_sitemaps import billion_laughs, of_attributes

MIB = 1 << 20
BOMB_OCTETS = 200 * 10**6
SITES = "tests.crawls.sitemap_spider:SitesSpider"
QUEUE = "tests.crawls.sitemap_spider:QueueSpider"


def sitemaps(site: Site) -> dict[str, tuple[Answer, str]]:
    """All sitemaps by name, with their spiders."""
    pages = (site.url(f"/a/page/with/a/longer/name/{number}") for number in range(50_000))
    encoded = Answer(body="<urlset>", content_encoding="gzip", bomb_octets=BOMB_OCTETS)
    return {
        "an empty one": (xml("<urlset/>"), SITES),
        "an index that names itself 50,000 times": (
            xml(index(*[site.url("/sitemap")] * 50_000)),
            SITES,
        ),
        "50,000 pages": (xml(urlset(*pages)), QUEUE),
        "200 MB of blanks, gzipped": (
            Answer(body=gzip.compress(b"<urlset>" + b" " * BOMB_OCTETS)),
            SITES,
        ),
        "200 MB as Content-Encoding": (encoded, SITES),
        "entities in text": (xml(billion_laughs("<url><loc>{}</loc></url>")), SITES),
        "entities in an attribute": (xml(billion_laughs("<url><link href='{}'/></url>")), SITES),
        "a tag of 1,500,000 attributes": (xml(of_attributes()), SITES),
        "9,000,000 elements in each other": (xml("<urlset>" + "<url>" * 9_000_000), SITES),
        "9,000,000 empty elements": (xml("<urlset>" + "<a/> " * 9_000_000), SITES),
        "45 MB in one value": (xml("<urlset><url><loc>" + "a" * 45_000_000), SITES),
    }


def run(site: Site, sitemap: Answer, spider: str) -> Crawl:
    """One crawl."""
    site.change({"/robots.txt": robots("/sitemap"), "/sitemap": sitemap})
    settings = {**ADDON, "RETRY_ENABLED": False, "LOG_LEVEL": "INFO"}
    return crawl(spider, settings=settings, sites=site.url(""))


ENTRIES = 20_000
ROUNDS = 5
_LOC = "<loc>https://www.example.com/category/some-product-name-{}.html{}</loc>"
_LINK = '<xhtml:link rel="alternate" hreflang="{0}" href="https://www.example.com/{0}/"/>'
KINDS = {
    "loc": _LOC,
    "loc, lastmod": _LOC + "<lastmod>2024-01-01T00:00:00+00:00</lastmod>",
    "all four": _LOC
    + "<lastmod>2024-01-01</lastmod><changefreq>weekly</changefreq><priority>0.5</priority>",
    "an image": _LOC + "<image:image><image:loc>https://x.example/y.jpg</image:loc></image:image>",
    "three links": _LOC + "".join(map(_LINK.format, ("de", "fr", "es"))),
}


def usual(kind: str) -> bytes:
    """A sitemap with many entries of one kind."""
    spaces = 'xmlns:image="image" xmlns:xhtml="xhtml"'
    entries = (
        "<url>\n"
        + KINDS[kind].replace("><", ">\n  <").format(number, "?a=1&amp;b=2")
        + "\n</url>\n"
        for number in range(ENTRIES)
    )
    return f'<?xml version="1.0"?>\n<urlset {spaces}>\n{"".join(entries)}</urlset>'.encode()


async def _count_of(found: Any) -> int:
    if inspect.isasyncgen(found):
        return len([one async for one in found])
    return sum(1 for _ in found)


def _microseconds(read: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> float:
    began = time.process_time()
    assert loop.run_until_complete(_count_of(read())) == ENTRIES
    return (time.process_time() - began) / ENTRIES * 1e6


def reading() -> None:
    """Print the table of usual sitemaps."""
    from scrapy.http import XmlResponse
    from scrapy.spiders import SitemapSpider
    from scrapy.utils.sitemap import Sitemap as ScrapySitemap
    from scrapy.utils.test import get_crawler

    from scrapy_rep.sitemaps import spiders
    from scrapy_rep.sitemaps.reader import Sitemap

    async def at_once(seconds: float) -> None:
        """Run without turns for others, because there are no others."""

    vars(spiders)["sleep"] = at_once
    settings = {"ADDONS": {"scrapy_rep.Addon": 500}, "ROBOTSTXT_OBEY": True, "REP_STORE": "memory"}
    uri = "https://www.example.com/sitemap.xml"

    def spider_of(kind: type[SitemapSpider]) -> Any:
        attributes = {"name": "one", "sitemap_urls": [uri], "parse": lambda *_: None}
        made: Any = type("OneSpider", (kind,), attributes)
        return made.from_crawler(get_crawler(made, settings))

    def parse(spider: Any, body: bytes) -> Any:
        return spider._parse_sitemap(XmlResponse(uri, body=body, request=Request(uri)))  # noqa: SLF001

    own, ours = spider_of(SitemapSpider), spider_of(spiders.RobotsSitemapSpider)
    loop = asyncio.new_event_loop()
    print("| entries with | read: Scrapy | ours | | with requests: Scrapy | ours | |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for kind in KINDS:
        body = usual(kind)
        ways: list[Callable[[], Any]] = [
            lambda body=body: ScrapySitemap(body),  # type: ignore[misc]
            lambda body=body: Sitemap(body),  # type: ignore[misc]
            lambda body=body: parse(own, body),  # type: ignore[misc]
            lambda body=body: parse(ours, body),  # type: ignore[misc]
        ]
        rounds = [[_microseconds(way, loop) for way in ways] for _ in range(ROUNDS)]
        least = [min(found) for found in zip(*rounds, strict=True)]
        cells = [
            text
            for base, found in (least[:2], least[2:])
            for text in (f"{base:.1f} us", f"{found:.1f} us", f"{found / base:.2f}x")
        ]
        print(f"| {kind} | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Print the tables."""
    parts = sys.argv[1:] or ["reading", "hostile"]
    for part in parts:
        {"reading": reading, "hostile": hostile}[part]()


def hostile() -> None:
    """Print the table of hostile sitemaps."""
    idle = 0.0
    print("| sitemap | MiB | seconds |")
    print("| --- | ---: | ---: |")
    with Site(default=Answer(delay_seconds=1)) as site:
        for name, (sitemap, spider) in sitemaps(site).items():
            stats = run(site, sitemap, spider).stats
            peak = stats["test/peak_octets"] / MIB
            more = peak - idle
            idle = idle or peak
            print(f"| {name} | {more:.0f} | {stats['elapsed_time_seconds']:.1f} |", flush=True)


if __name__ == "__main__":
    main()
