"""Spiders of fleets: every worker runs the same one."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy_redis.spiders import RedisSpider

from scrapy_rep.sitemaps.spiders import RobotsSitemapSpider
from tests.spiders import OfCrawler


class TreeSpider(Spider):
    """Each host has a tree of pages: page n links to pages 2n + 1 and 2n + 2.

    Arguments: `roots`, URLs that end with a slash; `pages`, of each; `slow_roots` and `slow_pages`,
    the same.
    """

    name = "tree"
    roots: tuple[str, ...] = ()
    slow_roots: tuple[str, ...] = ()
    pages, slow_pages = 10, 10

    async def start(self) -> AsyncIterator[Any]:
        for root in (*self.roots, *self.slow_roots):
            yield Request(f"{root}0", dont_filter=True)

    def parse(self, response: Response) -> Iterator[Any]:
        root, _, number = response.url.rpartition("/")
        yield {"url": response.url}
        for child in (2 * int(number) + 1, 2 * int(number) + 2):
            if child < (self.slow_pages if f"{root}/" in self.slow_roots else self.pages):
                yield Request(f"{root}/{child}")


class NewTreeSpider(TreeSpider):
    """The same, deployed later: half of its requests have a callback that the other lacks."""

    name = "tree"

    def parse(self, response: Response) -> Iterator[Any]:
        for one in super().parse(response):
            is_new = isinstance(one, Request) and one.url[-1] in "13579"
            yield one.replace(callback=self.parse_new) if is_new else one

    def parse_new(self, response: Response) -> Iterator[Any]:
        yield from self.parse(response)


NewTreeSpider.__qualname__ = TreeSpider.__qualname__


class OtherTreeSpider(TreeSpider):
    """That of another project, with the same name."""

    name = "tree"


class SlowTreeSpider(TreeSpider):
    """The same, and its callbacks wait between what they yield."""

    name = "tree"

    async def parse(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        from scrapy_rep.engine.loops import sleep

        for one in super().parse(response):
            await sleep(0.01)
            yield one


class FlatSpider(Spider):
    """So many pages of each root, all as start requests; one worker at least yields them."""

    name = "flat"
    roots: tuple[str, ...] = ()
    pages = 10

    async def start(self) -> AsyncIterator[Any]:
        for number in range(self.pages):
            for root in self.roots:
                yield Request(f"{root}{number}", dont_filter=True)

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url}


class MediaSpider(FlatSpider):
    """Each page has a picture, which its callback requests."""

    name = "flat"

    async def parse(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        engine = self.crawler.engine
        assert engine is not None
        await engine.download_async(Request(f"{response.url}.png"))
        yield {"url": response.url}


class SeededSpider(RedisSpider):
    """Start URLs come from Redis."""

    name = "seeded"
    redis_key = "seeded:urls"
    max_idle_time = 2

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url}


class OddSpider(TreeSpider):
    """Its first pages, and their links up to `pages`, can't be written; each leads to another."""

    name = "odd"

    async def start(self) -> AsyncIterator[Any]:
        for root in self.roots:
            yield Request(f"{root}0", dont_filter=True, meta={"thing": object()})

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url}
        if response.url.endswith("/0"):
            for number in range(1, self.pages):
                again = response.follow(f"{number}", meta={"thing": object()})
                yield from (again, again)
            yield response.follow("x", callback=partial(self.parse))
            yield Request("data:,y", meta={"root": response.url})
        elif response.url.startswith("data:"):
            yield Request(response.meta["root"].replace("/0", "/y"))
        elif response.url[-1] != "+":
            yield response.follow(f"{response.url}+")


class MapSpider(RobotsSitemapSpider):
    """The pages that sitemaps list."""

    name = "map"

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url}


class LoopWatch(OfCrawler):
    """Measures how long the event loop stood still at most, by what its own process did."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats: Any = crawler.stats
        self._task: asyncio.Task[None] | None = None
        crawler.signals.connect(self._opened, signal=signals.spider_opened)
        crawler.signals.connect(self._closed, signal=signals.spider_closed)

    def _opened(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._watch())

    def _closed(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def _watch(self) -> None:
        while True:
            before, queued_before = time.monotonic(), _queued_seconds()
            await asyncio.sleep(0.02)
            queued_seconds = _queued_seconds() - queued_before
            stall_seconds = time.monotonic() - before - 0.02 - queued_seconds
            self._stats.max_value("test/stall_seconds", stall_seconds)


class Impatient:
    """Makes the alarm for a crawl that stands still come after a second, not after minutes."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Impatient:
        from scrapy_rep.extras.fleet import scheduler

        def hurry() -> None:
            began = time.monotonic()
            quick = SimpleNamespace(monotonic=lambda: began + 600 * (time.monotonic() - began))
            scheduler.time = quick  # type: ignore[assignment,attr-defined]

        crawler.signals.connect(hurry, signal=signals.spider_opened, weak=False)
        return cls()


def _queued_seconds() -> float:
    """How long this process waited for a processor; 0 if the system does not tell."""
    with suppress(OSError):
        return int(Path("/proc/self/schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    return 0.0


class LongWay:
    """A downloader middleware that keeps every page for a while."""

    async def process_request(self, request: Request) -> None:
        from scrapy_rep.engine.loops import sleep

        if not request.url.endswith("/robots.txt"):
            await sleep(0.6)


class HubSpider(Spider):
    """The first page of a root leads to all its other pages at once."""

    name = "tree"
    roots: tuple[str, ...] = ()
    pages = 10

    async def start(self) -> AsyncIterator[Any]:
        for root in self.roots:
            yield Request(f"{root}0", dont_filter=True)

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url}
        if response.url.endswith("/0"):
            yield from (response.follow(f"{number}") for number in range(1, self.pages))


class CuriousSpider(HubSpider):
    """Asks for robots.txt itself, too, which no robots.txt judges."""

    name = "flat"

    def parse(self, response: Response) -> Iterator[Any]:
        yield from super().parse(response)
        if response.url.endswith("/0"):
            yield response.follow("/robots.txt")


class AnxiousSpider(FlatSpider):
    """Fetches a picture of each page, which is exempt, and tells what its errbacks got."""

    name = "flat"

    async def start(self) -> AsyncIterator[Any]:
        async for request in super().start():
            yield request.replace(errback=self.failed)

    async def parse(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        engine = self.crawler.engine
        assert engine is not None
        yield {"url": response.url}
        try:
            exempt = {"dont_obey_robotstxt": True}
            await engine.download_async(Request(f"{response.url}.png", meta=exempt))
        except Exception as error:  # noqa: BLE001 - it is told
            yield {"url": "", "error": str(error)}

    def failed(self, failure: Any) -> Iterator[Any]:
        yield {"url": "", "error": f"{type(failure.value).__name__}: {failure.value}"}


class EndlessSpider(FlatSpider):
    """Its start requests never end; with `is_one`, all have the same URL."""

    name = "flat"
    is_one = False

    async def start(self) -> AsyncIterator[Any]:
        for number in itertools.count():
            yield Request(f"{self.roots[0]}{0 if self.is_one else number}")


class FilesSpider(FlatSpider):
    """Each page has an item with four files, which the pipeline of Scrapy downloads."""

    name = "flat"
    files = ""  # the beginning of their URLs, unless that is the URL of the page

    def parse(self, response: Response) -> Iterator[Any]:
        urls = [f"{self.files or response.url}.{number}" for number in range(4)]
        yield {"url": response.url, "file_urls": urls}
