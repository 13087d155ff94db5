"""Spiders that crawl together with other packages."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import urljoin

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.python.failure import Failure

from scrapy_rep import playwright_abort_request
from scrapy_rep.engine.loops import sleep
from tests.spiders import failure_item


class BrowserSpider(Spider):
    """Opens every URL in a browser, and stays on each page for a while.

    Args:
        urls: the URLs to open.
        meta: more meta of every request.
        stay_seconds: how long.
    """

    name = "browser"

    def __init__(
        self, urls: Sequence[str], meta: dict[str, Any], stay_seconds: float = 0.7
    ) -> None:
        super().__init__()
        self.urls = urls
        self.meta = meta
        self.stay_seconds = stay_seconds

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield Request(
                url,
                meta={"playwright": True, "playwright_include_page": True, **self.meta},
                errback=self.failed,
                dont_filter=True,
            )

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        page = response.meta["playwright_page"]
        await sleep(self.stay_seconds)
        yield {
            "url": response.url,
            "status": response.status,
            "text": response.text,
            "init": repr(response.meta.get("playwright_page_init_callback")),
        }
        await page.close()

    async def failed(self, failure: Failure) -> AsyncIterator[Any]:
        request: Request = failure.request  # type: ignore[attr-defined]
        yield failure_item(request.url, failure)
        page = request.meta.get("playwright_page")
        if page is not None:
            await page.close()


def _linger() -> Any:
    from scrapy_playwright.page import PageMethod

    return PageMethod("wait_for_timeout", 700)


class QuickBrowserSpider(BrowserSpider):
    """Leaves each page alone: it may belong to the loop of another thread."""

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield Request(
                url,
                meta={"playwright": True, "playwright_page_methods": [_linger()]},
                callback=self.arrived,
                errback=self.failed,
            )

    def arrived(self, response: Response) -> Any:
        return {"url": response.url, "status": response.status}


class UnwatchedSpider(BrowserSpider):
    """Has a Chromium that opens sessions of its developer tools badly.

    Args:
        why: what Playwright says instead; if empty, it never answers.
        after: the number of pages with a session before.
    """

    def __init__(self, why: str = "", after: int = 0, **arguments: Any) -> None:
        super().__init__(**arguments)
        from playwright.async_api import BrowserContext, Error

        opened = BrowserContext.new_cdp_session
        count = 0

        async def open_badly(context: Any, page: Any) -> Any:
            nonlocal count
            count += 1
            if count > after:
                if why:
                    raise Error(why)
                await asyncio.sleep(3600)
            return await opened(context, page)

        contexts: Any = BrowserContext
        contexts.new_cdp_session = open_badly


class SamePageSpider(BrowserSpider):
    """Opens one URL after the other in one page."""

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.urls[0], meta={"playwright": True, "playwright_include_page": True})

    async def parse(self, response: Response) -> AsyncIterator[Any]:
        page = response.meta["playwright_page"]
        await sleep(self.stay_seconds)
        yield {"url": response.url, "status": response.status}
        if response.url == self.urls[1]:
            await page.close()
            return
        yield Request(
            self.urls[1],
            meta={"playwright": True, "playwright_include_page": True, "playwright_page": page},
        )


class AllInTheBrowser:
    """Fetches everything by the browser."""

    def process_request(self, request: Request) -> None:
        request.meta["playwright"] = True


async def no_scripts(request: Any) -> bool:
    """A user's own hook."""
    if request.resource_type == "script":
        return True
    return await playwright_abort_request(request)


async def log_in(page: Any, request: Request) -> None:
    """Another, that goes somewhere first."""
    from playwright.async_api import Error

    with suppress(Error):
        await page.goto(urljoin(request.url, request.meta["first"]))
    await page.wait_for_timeout(300)  # a page that says what went wrong would come in between


async def give_a_name(page: Any, request: Request) -> None:
    """A user's own callback for new pages."""
    await page.add_init_script("window.given = 'a name'")


class Threads:
    """Counts the threads in which robots.txt files are read."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Threads:
        extension = cls()
        extension.crawler = crawler
        extension.seen = set()
        crawler.signals.connect(extension.parsed, signals.robots_parsed)
        return extension

    crawler: Crawler
    seen: set[int]

    def parsed(self) -> None:
        self.seen.add(threading.get_ident())
        self.crawler.stats.set_value("threads", len(self.seen))
