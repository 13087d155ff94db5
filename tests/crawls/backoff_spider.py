"""Spiders with requests that pass by the queue."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any, ClassVar

from scrapy import Request
from scrapy.http import Response

from tests.faults.blind import Blind
from tests.spiders import OfCrawler, UrlsSpider


class LinkedSpider(UrlsSpider):
    """The first URL links to the others: the last link goes first in Scrapy's queues."""

    async def start(self) -> AsyncIterator[Any]:
        """The first."""
        yield self._request(self.urls[0])

    def parse(self, response: Response, asked: str) -> Iterator[Any]:  # type: ignore[override]
        """An item, and the links of the first."""
        yield super().parse(response, asked)
        if asked == self.urls[0]:
            yield from map(self._request, self.urls[1:])


class HeadSpider(UrlsSpider):
    """Sends HEAD."""

    def _request(self, url: str) -> Request:
        return super()._request(url).replace(method="HEAD")


class CallbackSpider(UrlsSpider):
    """The callback of the first URL downloads the others itself."""

    async def start(self) -> AsyncIterator[Any]:
        """The first."""
        yield self._request(self.urls[0])

    async def parse(self, response: Response, asked: str) -> AsyncIterator[Any]:  # type: ignore[override]
        """An item for each."""
        yield super().parse(response, asked)
        for url in self.urls[1:]:
            found = await self.crawler.engine.download_async(Request(url))
            yield {"url": url, "status": found.status}


class FilesSpider(UrlsSpider):
    """The first URL's item names the others as its files."""

    async def start(self) -> AsyncIterator[Any]:
        """The first."""
        yield self._request(self.urls[0])

    def parse(self, response: Response, asked: str) -> dict[str, Any]:
        """One item."""
        return {"url": asked, "file_urls": self.urls[1:]}


class Slots:
    """Gives requests a slot by their number."""

    def process_request(self, request: Request) -> None:
        """Set it."""
        if request.url[-1].isdigit():
            request.meta["download_slot"] = "odd" if int(request.url[-1]) % 2 else "even"


class Pool(OfCrawler):
    """A downloader middleware that sends pages, and each retry of them, through proxies in turn."""

    def process_request(self, request: Request) -> None:
        """Choose one by the number of the page."""
        proxies = self.crawler.settings.getlist("TEST_PROXIES")
        number = request.url.rpartition("/")[2]
        turn = int(number) if number.isdigit() else 0
        request.meta["proxy"] = proxies[(turn + request.meta.get("retry_times", 0)) % len(proxies)]


class Hears(OfCrawler):
    """A downloader middleware that counts exceptions, as rotators of proxies do."""

    def process_exception(self, request: Request, exception: Exception) -> None:
        """Count it by its name."""
        self.crawler.stats.inc_value(f"test/heard/{type(exception).__name__}")


class Following(Blind):
    """A download handler that follows redirects itself."""

    async def download_request(self, request: Request) -> Response:
        """The last answer."""
        response = await super().download_request(request)
        if response.status != 301:
            return response
        target = (response.headers["Location"] or b"").decode()
        return await super().download_request(request.replace(url=target))


class SharedSpider(UrlsSpider):
    """All crawls of a process yield the same request objects."""

    requests: ClassVar[dict[str, Request]] = {}

    def _request(self, url: str) -> Request:
        made = Request(url, cb_kwargs={"asked": url}, dont_filter=True)
        return self.requests.setdefault(url, made)
