"""Spiders and middlewares that make it hard to keep a pace."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.request import urlopen

from scrapy import Request
from scrapy.core.downloader import Downloader
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response

from scrapy_rep.engine.loops import sleep
from tests.spiders import OfCrawler, UrlsSpider

_ALL = -1e9  # seconds: a slot is collected whenever it was seen last


class ForgetfulSpider(UrlsSpider):
    """After each answer, slots without requests are forgotten, as else a minute later."""

    def parse(self, response: Response, asked: str) -> dict[str, Any]:
        """The item of an answer."""
        downloader = self.crawler.engine.downloader
        downloader._slot_gc(_ALL)
        left = [key for key, slot in downloader.slots.items() if not slot.active]
        return {**super().parse(response, asked), "left": left}


class OtherSlots(OfCrawler):
    """A downloader middleware behind ours that chooses slots in turn, as rotators of proxies do.

    `TEST_SLOTS` is how many; that of robots.txt stays its host's.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._count = crawler.settings.getint("TEST_SLOTS")
        self._number = 0

    def process_request(self, request: Request) -> None:
        """Choose the next slot."""
        if not request.url.endswith("/robots.txt"):
            request.meta["download_slot"] = f"proxy {self._number % self._count}"
            self._number += 1


class LaterSpider(UrlsSpider):
    """The last URL comes once all others are answered."""

    async def start(self) -> AsyncIterator[Any]:
        """All but the last."""
        self._first = [*self.urls[:-1]]
        for url in self.urls[:-1]:
            yield self._request(url)

    def parse(self, response: Response, asked: str) -> Iterator[Any]:  # type: ignore[override]
        """The item of an answer."""
        yield super().parse(response, asked)
        if asked in self._first:
            self._first.remove(asked)
            if not self._first:
                yield self._request(self.urls[-1])


class HiddenSlots(Downloader):
    """A downloader that shows nothing of its slots, as a later release of Scrapy may."""

    def __getattribute__(self, name: str) -> Any:
        asker: str = sys._getframe(1).f_globals["__name__"]
        if name == "slots" and not asker.startswith("scrapy."):
            raise AttributeError(name)
        return super().__getattribute__(name)


class OtherDownloader:
    """A downloader with nothing but the attributes that the engine needs."""

    def __init__(self, crawler: Crawler) -> None:
        self._inner = Downloader(crawler)
        self.middleware = self._inner.middleware
        self.fetch = self._inner.fetch
        self.needs_backout = self._inner.needs_backout
        self.close = self._inner.close
        self.active = self._inner.active


class HiddenMiddlewares(OtherDownloader):
    """The same, which does not show its middlewares either."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        del self.middleware


class LogsIn(OfCrawler):
    """A downloader middleware behind ours that logs in at the site before a page goes there."""

    async def process_request(self, request: Request) -> None:
        """Wait for the answer of the login page."""
        if request.url.endswith("/0"):
            assert self.crawler.engine is not None
            await self.crawler.engine.download_async(Request(request.url[:-1] + "login"))


class Fetches:
    """A downloader middleware that fetches pages itself, as one with a browser does."""

    def process_request(self, request: Request) -> Response | None:
        """The page, from the site."""
        if request.url.endswith("/robots.txt"):
            return None
        with urlopen(request.url) as answer:
            return HtmlResponse(request.url, body=answer.read(), request=request)


class FetchesLater(Fetches):
    """The same, which does other work of the crawl until the page is there."""

    async def process_request(self, request: Request) -> Response | None:  # type: ignore[override]
        """The page, after a moment."""
        await sleep(0.05)
        return super().process_request(request)


class Answers:
    """A downloader middleware behind ours that drops requests, or answers them from a cache."""

    def process_request(self, request: Request) -> Response | None:
        """Go by the path."""
        if "/dropped" in request.url:
            raise IgnoreRequest("dropped")
        return Response(request.url, flags=["cached"]) if "/cached" in request.url else None
