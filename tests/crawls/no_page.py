"""What a crawl without a page needs: a spider, and middlewares that stop its requests."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.spidermiddlewares.httperror import HttpErrorMiddleware
from typing_extensions import Self

import scrapy_rep
from tests.spiders import OfCrawler


class PlainSpider(Spider):
    """As most spiders are: without an errback."""

    name = "plain"

    def __init__(
        self,
        urls: Sequence[str] = (),
        allowed_domains: Sequence[str] = (),
        meta: dict[str, Any] | None = None,
        *,
        dont_filter: bool = True,
    ) -> None:
        super().__init__()
        self.urls, self.meta, self.dont_filter = urls, meta or {}, dont_filter
        self.allowed_domains = list(allowed_domains)

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield Request(url, meta=dict(self.meta), dont_filter=self.dont_filter)

    def parse(self, response: Response) -> Iterator[Any]:
        yield {"url": response.url}


class BreaksFiles:
    """Fails on each robots.txt."""

    def process_request(self, request: Request) -> None:
        if request.url.endswith("/robots.txt"):
            raise KeyError("account")


class BreaksPages:
    """Fails on each page."""

    def process_request(self, request: Request) -> None:
        if not request.url.endswith("/robots.txt"):
            raise KeyError("account")


class DropsPages:
    """Drops each page."""

    def process_request(self, request: Request) -> None:
        if not request.url.endswith("/robots.txt"):
            raise IgnoreRequest("not today")


class UnsayableError(OSError):
    """Has no words: its code fails."""

    def __str__(self) -> str:
        raise ValueError("no words")

    __repr__ = __str__


class BreaksPagesOnce:
    """Fails on each page once, with an error that has no words."""

    def process_request(self, request: Request) -> None:
        if not (request.url.endswith("/robots.txt") or request.meta.get("retry_times")):
            raise UnsayableError


class LetsAllPass(HttpErrorMiddleware):
    """Decides for itself which answers the spider gets, and needs nothing of its base class."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_spider_input(self, response: Response) -> None:  # type: ignore[override]
        """Lets an answer pass."""


class Pauses(OfCrawler):
    """An extension that lets the engine send nothing."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        crawler.signals.connect(self._opened, signal=signals.spider_opened)

    def _opened(self) -> None:
        self.crawler.engine.pause()


class LosesAnswers:
    """Fails on the answer of each page."""

    def process_response(self, request: Request, response: Response) -> Response:
        if not request.url.endswith("/robots.txt"):
            raise KeyError("title")
        return response


class SeesRecords(OfCrawler, logging.Handler):
    """Counts the records that our code writes, and names their loggers that are not ours."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        logging.Handler.__init__(self)
        self._stats: Any = crawler.stats
        self._folder = str(Path(scrapy_rep.__file__).parent)
        logging.getLogger().addHandler(self)
        crawler.signals.connect(self._stopped, signal=signals.engine_stopped)

    def emit(self, record: logging.LogRecord) -> None:
        if record.pathname.startswith(self._folder):
            self._stats.inc_value("test/records")
            if not record.name.startswith("scrapy_rep."):
                self._stats.set_value("test/foreign", f"{record.name}: {record.getMessage()}")

    def _stopped(self) -> None:
        logging.getLogger().removeHandler(self)
