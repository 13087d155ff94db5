"""A spider that starts from the sitemaps of two sites, and shows what happened to each URL."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast
from urllib.parse import urlsplit

from scrapy import Request
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from demo.summary import Fate, sitemap_summary
from demo.web import DemoWeb
from scrapy_rep import RobotsSitemapSpider, Verdict, signals


class SitemapsSpider(RobotsSitemapSpider):
    """Requests the pages in sitemaps. The middleware fetches and checks robots.txt."""

    name = "sitemaps"
    web: DemoWeb

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> SitemapsSpider:
        """Connect to the signals for dropped requests and for responses."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.fates = []
        crawler.signals.connect(spider.dropped, signals.request_disallowed)
        crawler.signals.connect(spider.received, scrapy_signals.response_received)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        """Start with two sites of the demo web. The robots.txt of one redirects to another site."""
        self.web = cast("DemoWeb", self.crawler.get_extension(DemoWeb))
        self.sites = [self.web.urls[name] for name in ("sitemaps", "moved")]
        async for request in super().start():
            yield request

    def parse(self, response: Response) -> None:
        """Record an allowed page from a sitemap."""
        self.note(response.url, "page", "fetched")

    def received(self, response: Response, request: Request) -> None:
        """Record a sitemap."""
        if "rep_sitemap_origin" in request.meta:
            self.note(response.url, "sitemap", "read")

    def dropped(self, request: Request, verdict: Verdict) -> None:
        """Record a disallowed sitemap or page."""
        kind = "sitemap" if "rep_sitemap_origin" in request.meta else "page"
        self.note(request.url, kind, f"dropped by line {verdict.line} ({verdict.rule})")

    def note(self, url: str, kind: str, what: str) -> None:
        """Record what happened to a URL."""
        parts = urlsplit(url)
        base = f"{parts.scheme}://{parts.netloc}"
        site = next(name for name, url in self.web.urls.items() if url == base)
        self.fates.append(Fate(kind, site, parts.path, what))

    def closed(self, reason: str) -> None:  # noqa: ARG002
        """Print the summary when all is done."""
        print(
            sitemap_summary(
                self.fates,
                served=len(self.web.pages_served),
                trespasses=len(self.web.trespasses),
                files=len(self.web.robots_txt_served),
            ),
            flush=True,
        )

    fates: list[Fate]
