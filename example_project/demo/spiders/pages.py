"""A spider that obeys the rules of pages, and shows what was dropped, and why."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, cast
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy import signals as scrapy_signals
from scrapy.crawler import Crawler
from scrapy.http import Response

from demo.summary import Kept, Withheld, page_summary
from demo.web import PagesWeb
from scrapy_rep import signals


class PagesSpider(Spider):
    """Collects texts to train a model. Its settings make scrapy-rep obey the pages."""

    name = "pages"
    custom_settings = {  # noqa: RUF012 - as Scrapy has it
        "REP_PAGE_OBEY": ["nofollow", "rel-nofollow", "noindex"],
        "REP_USES": ["train-ai"],
        "REP_ITEM_FIELD": "robots",
        "REP_TDMREP": True,
        "EXTENSIONS": {"demo.web.DemoWeb": None, "demo.web.PagesWeb": 0},
    }
    web: PagesWeb

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> PagesSpider:
        """Connect to the signals for dropped and for kept items."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.kept, spider.withheld = [], []
        crawler.signals.connect(spider.told, signals.withheld)
        crawler.signals.connect(spider.scraped, scrapy_signals.item_scraped)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        """Request the home page of the site."""
        self.web = cast("PagesWeb", self.crawler.get_extension(PagesWeb))
        yield Request(f"{self.web.urls['pages']}/")

    def parse(self, response: Response) -> Iterator[Any]:
        """Follow every link, and yield an item for the page."""
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href)
        yield {"url": response.url, "title": response.css("title::text").get()}

    def told(self, response: Response, what: Any, because: Any) -> None:
        """Record a request or an item that was dropped because of its page or site."""
        is_link = isinstance(what, Request)
        self.withheld.append(
            Withheld(
                page=urlsplit(response.url).path,
                what=f"link to {urlsplit(what.url).path}" if is_link else "item",
                because=self.bare(str(because)),
            )
        )

    def scraped(self, item: dict[str, Any]) -> None:
        """Record an item that was kept."""
        said = {**item["robots"]["rules"], **item["robots"]["usage"]}
        words = [f"{name}={value}" for name, value in said.items() if value != "unknown"]
        self.kept.append(Kept(urlsplit(item["url"]).path, ", ".join(words)))

    def bare(self, text: str) -> str:
        """Shorten URLs of the demo web in a text to paths."""
        return text.replace(self.web.urls["pages"], "")

    def closed(self, reason: str) -> None:  # noqa: ARG002
        """Print the summary when all is done."""
        print(
            page_summary(
                self.kept,
                self.withheld,
                served=len(self.web.pages_served),
                trespasses=len(self.web.trespasses),
            ),
            flush=True,
        )

    kept: list[Kept]
    withheld: list[Withheld]
