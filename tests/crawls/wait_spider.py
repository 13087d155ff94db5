"""Spiders with downloads that take the places of a slot, past the queue."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response

from scrapy_rep.pace import standstill
from tests.spiders import UrlsSpider


class OrderSpider(Spider):
    """Start URLs and links with priorities; all links of a page are queued at once.

    Args:
        home: the URL of the site, up to the path.
        starts: the priorities of the start URLs.
        links: the priorities of the links of the first page.
        elsewhere: the URL of the site that these lead to; by default, of the same site.
    """

    name = "order"

    def __init__(
        self,
        home: str,
        starts: Sequence[int],
        links: Sequence[int] = (),
        elsewhere: str = "",
    ) -> None:
        super().__init__()
        self.home = home
        self.starts = starts
        self.links = links
        self.elsewhere = elsewhere or home

    async def start(self) -> AsyncIterator[Any]:
        """The start URLs."""
        for number, priority in enumerate(self.starts):
            yield Request(f"{self.home}/{number}", priority=priority)

    def parse(self, response: Response) -> None:
        """Queue the links of the first page, and two links of each page that it leads to."""
        assert self.crawler.engine is not None
        for request in self.links_of(response):
            self.crawler.engine.crawl(request)

    def links_of(self, response: Response) -> Iterator[Request]:
        """The requests for the links of a page."""
        if response.url == f"{self.home}/0":
            for number, priority in enumerate(self.links):
                yield Request(f"{self.elsewhere}/0/{number}", priority=priority)
        elif response.url.count("/") == self.home.count("/") + 2:
            for number in range(2):
                yield Request(f"{response.url}/{number}")


class QuietSpider(UrlsSpider):
    """The log says after a second already why nothing is fetched."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        standstill.QUIET_SECONDS = 1.0
