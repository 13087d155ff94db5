"""Spiders that begin with sitemaps, and tell what the signals told."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response, TextResponse
from scrapy.link import Link
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro
from typing_extensions import Self

from scrapy_rep import (
    Origin,
    Policy,
    RobotsSitemapMixin,
    RobotsSitemapSpider,
    Verdict,
    policy_for,
    signals,
    verdict_of,
)
from scrapy_rep.decisions import url_ends
from scrapy_rep.engine.loops import sleep
from scrapy_rep.policies import policies_of


class Listening(RobotsSitemapMixin):
    """Makes an item of each page and of each signal; those of the signals come last."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        spider = super().from_crawler(crawler, *args, **kwargs)
        crawler.signals.connect(spider.discovered, signals.sitemaps_discovered)
        crawler.signals.connect(spider.disallowed, signals.request_disallowed)
        return spider

    async def discovered(self, origin: Origin, sitemaps: tuple[str, ...], policy: Policy) -> None:
        assert policy.sitemaps == sitemaps
        self.told_of(sitemaps)
        await sleep(0.05)  # only the end of the crawl waits for this
        self.crawler.stats.inc_value(f"test/discovered/{origin}", len(sitemaps))
        self.crawler.stats.inc_value("test/discovered")

    def told_of(self, sitemaps: tuple[str, ...]) -> None:
        pass

    def disallowed(self, request: Request, verdict: Verdict) -> None:
        assert not verdict.allowed
        self.crawler.stats.inc_value(f"test/disallowed/{request.url}")


class SitesSpider(Listening, RobotsSitemapSpider):
    name = "sites"

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        yield {"url": response.url, "verdict": str(verdict_of(response))}


class HooksSpider(SitesSpider):
    """Uses every hook that SitemapSpider has."""

    name = "hooks"
    sitemap_rules = (("/shop/", "parse_shop"), ("/news/", "parse"))
    sitemap_follow = ("/wanted",)
    sitemap_alternate_links = True

    def sitemap_filter(self, entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for entry in entries:
            if entry.get("lastmod", "") >= "2020":
                yield entry

    def parse_shop(self, response: Response) -> dict[str, Any]:
        return {"shop": response.url}


class DatesSpider(RobotsSitemapSpider):
    """Tells what the sitemap says of each page."""

    name = "dates"
    sitemap_alternate_links = True

    def parse(self, response: Response) -> dict[str, Any]:
        return {"url": response.url, "entry": response.meta["rep_sitemap"]}


class MarksSpider(RobotsSitemapSpider):
    """Tells which of our keys are in the meta of each page."""

    name = "marks"

    def parse(self, response: Response) -> dict[str, Any]:
        return {"marks": sorted(key for key in response.meta if key.startswith("rep_"))}


class MixedSpider(Listening, CrawlSpider):
    """Its own start URLs and rules, and the sitemaps."""

    name = "mixed"
    rules = (Rule(LinkExtractor(), callback="parse_page", follow=True),)

    def parse_start_url(self, response: Response, **kwargs: Any) -> list[dict[str, Any]]:
        return [{"start": response.url}]

    def parse_page(self, response: Response) -> dict[str, Any]:
        return {"page": response.url}


class ShopSpider(SitemapSpider):
    """One that knows nothing of robots.txt."""

    sitemap_rules = (("/shop/", "parse_shop"),)
    sites: Sequence[str] = ()

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.sites[0]}/shop/started", self.parse_shop)
        async for request in super().start():
            yield request

    def parse_shop(self, response: Response) -> dict[str, Any]:
        return {"shop": response.url}


class ShopsSpider(RobotsSitemapMixin, ShopSpider):
    name = "shops"


class QueueSpider(SitesSpider):
    """Ends once a sitemap is read to its end, and tells how many requests are queued by then."""

    name = "queue"

    def sitemap_filter(self, entries: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        yield from entries
        self.crawler.stats.inc_value("test/read_to_the_end")
        call_later(0, self._close)

    def _close(self) -> None:
        closing = self.crawler.engine.close_spider_async(reason="finished")
        self.closing = deferred_from_coro(closing)


class KilledSpider(SitesSpider):
    """Its process is killed at the 1,100th page."""

    name = "killed"
    seen = 0

    def parse(self, response: Response) -> Iterator[dict[str, Any]]:
        self.seen += 1
        if self.seen >= 1100:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().parse(response)


class BoundedSpider(SitesSpider):
    """Follows so many URLs for the coverage."""

    name = "bounded"

    def __init__(self, most: int, **arguments: Any) -> None:
        super().__init__(**arguments)
        url_ends.MOST_URLS = most


class AgainSpider(SitesSpider):
    """Asks for the policies of URLs, one after the other, and forgets each."""

    name = "again"

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self.urls = urls
        self.told: list[dict[str, Any]] = []

    async def start(self) -> AsyncIterator[dict[str, Any]]:
        policies = policies_of(self.crawler, "this")
        for url in self.urls:
            policy = await policy_for(self.crawler, url)
            policies._kept.drop(policy.origin)
            await sleep(1.1)  # an answer holds for a second at least
        for item in self.told:
            yield item

    def told_of(self, sitemaps: tuple[str, ...]) -> None:
        self.told.append({"sitemaps": sitemaps})


class BareExtractor:
    """A link extractor that has nothing but what each has to have."""

    def extract_links(self, response: TextResponse) -> list[Link]:
        found = LinkExtractor(allow=r"/bare/").extract_links(response)
        return [Link(link.url) for link in found]


def without_session(url: str) -> str | None:
    return None if "/gone" in url else url.partition("?session=")[0]


class LinkedAndListedSpider(RobotsSitemapMixin, CrawlSpider):
    """Rules with a callback, with a callback and following, and with following alone."""

    name = "linked_and_listed"
    rules = (
        Rule(LinkExtractor(deny=r"/private/"), process_links="only_wanted", follow=False),
        Rule(LinkExtractor(allow=r"/bare$", process_value=without_session), callback="parse_bare"),
        Rule(LinkExtractor(allow=r"/product/"), callback="parse_product", cb_kwargs={"kind": 1}),
        Rule(LinkExtractor(allow=r"/product/"), callback="parse_bare"),
        Rule(LinkExtractor(allow=r"/list/"), process_request="mark", follow=True),
        Rule(LinkExtractor(allow=r"/sorted", canonicalize=True), callback="parse_bare"),
        Rule(BareExtractor(), callback="parse_bare"),  # type: ignore[arg-type]
    )

    def only_wanted(self, links: list[Link]) -> Iterator[Link]:
        return (link for link in links if "/quiet" in link.url)

    def mark(self, request: Request, response: Response) -> Request | None:
        assert response.url
        assert "rep_sitemap" in request.meta or response.url.endswith("/1")
        return None if "unwanted" in request.url else request.replace(meta={**request.meta, "m": 1})

    def parse_product(self, response: Response, kind: int) -> dict[str, Any]:
        return {"product": response.url, "kind": kind}

    def parse_bare(self, response: Response) -> dict[str, Any]:
        return {"bare": response.url}


class EntranceSpider(CrawlSpider):
    """Begins elsewhere than with its start URLs."""

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.start_urls[0]}/entrance")


class BeyondSpider(CrawlSpider):
    """Begins with its start URLs, and with more."""

    async def start(self) -> AsyncIterator[Any]:
        async for one in super().start():
            yield one
        yield Request(f"{self.start_urls[0]}/beyond")


class LinkedBeyondSpider(RobotsSitemapMixin, BeyondSpider):
    name = "linked_beyond"


class OldSpider(CrawlSpider):
    """Written for releases of Scrapy that know nothing else."""

    def start_requests(self) -> Iterator[Any]:
        yield Request(f"{self.start_urls[0]}/old")


class LinkedOldSpider(RobotsSitemapMixin, OldSpider):
    name = "linked_old"


class ElsewhereSpider(LinkedAndListedSpider, EntranceSpider):
    name = "elsewhere"


class OwnSitemapsSpider(RobotsSitemapMixin, ShopSpider):
    """Asks for sitemaps of its own, in `start` and in callbacks, one of them in a robots.txt."""

    name = "own_sitemaps"
    others: Sequence[str] = ()

    async def start(self) -> AsyncIterator[Any]:
        yield Request(f"{self.others[0]}/robots.txt", self._parse_sitemap)
        async for request in super().start():
            yield request

    def parse_shop(self, response: Response) -> Any:
        found = [super().parse_shop(response)]
        if not response.url.endswith("/started"):
            return found
        late = (f"{self.others[1]}/robots.txt", f"{self.sites[0]}/late.xml")
        return [*found, *(Request(url, self._parse_sitemap) for url in late)]


class StartingSpider(SitemapSpider):
    """Asks for a sitemap with what it needs for that."""

    sites: Sequence[str] = ()
    sitemap_rules = (("", "parse_page"),)

    async def start(self) -> AsyncIterator[Any]:
        url = f"{self.sites[0]}/own.xml"
        yield Request(url, self._parse_sitemap, headers={"X-Key": "1"}, meta={"mine": 1})

    def _get_sitemap_body(self, response: Response) -> bytes | None:
        body = super()._get_sitemap_body(response)
        return body and body.replace(b"/old/", b"/new/")

    def parse_page(self, response: Response) -> dict[str, Any]:
        return {"page": response.url}


class StartedSpider(RobotsSitemapMixin, StartingSpider):
    name = "started"
