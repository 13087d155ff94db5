"""Hostile sitemaps: what the worst of them cost a crawl, in memory and time.

Run ``python benchmarks/sitemaps.py``. Per sitemap, served from loopback to a crawl of its own:

* *MiB*: the peak of the crawl's memory, over that of a crawl with an empty sitemap;
* *s*: how long the crawl took;
* *came*: what of it was counted under ``rep/sitemap/``.

The figures of docs/spiders.md are these.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

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
    """Each by name, with the spider that reads it."""
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


def main() -> None:
    """Print the table."""
    idle = 0.0
    with Site(default=Answer(delay_seconds=1)) as site:
        for name, (sitemap, spider) in sitemaps(site).items():
            stats = run(site, sitemap, spider).stats
            peak = stats["test/peak_octets"] / MIB
            idle = idle or peak
            came = ", ".join(
                f"{key.removeprefix('rep/sitemap/')} {value}"
                for key, value in sorted(stats.items())
                if key.startswith("rep/sitemap/")
            )
            seconds = stats["elapsed_time_seconds"]
            print(f"{name:<42} {peak - idle:>6.0f} MiB {seconds:>6.1f} s  {came}", flush=True)
    print(f"A crawl with an empty sitemap takes {idle:.0f} MiB.")


if __name__ == "__main__":
    main()
