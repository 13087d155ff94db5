"""Spiders that tests let run."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.exceptions import DontCloseSpider
from scrapy.http import Response
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure
from typing_extensions import Self

from scrapy_rep import verdict_of
from scrapy_rep.engine.loops import sleep

# Long enough for a request to be under way, and to be cancelled well after that.
_HEAD_START_SECONDS = 0.05
_CANCEL_AFTER_SECONDS = 0.2


ALL_ASKED_FOR = "All URLs are asked for"
"""What its log says once its `start` is done, which a crawl that is resumed does not go on with."""


class OfCrawler:
    """A base for middlewares and extensions that need their crawler."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)


class OneWhenIdle(Spider):
    """A base that gives one of its start requests at a time to the engine, when it is idle."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *arguments: Any, **more: Any) -> Self:
        spider = super().from_crawler(crawler, *arguments, **more)
        crawler.signals.connect(spider.on_idle, signals.spider_idle)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        self.waiting = [request async for request in super().start()]
        yield self.waiting.pop(0)

    def on_idle(self) -> None:
        """Go on with the next request, if there is one."""
        if self.waiting:
            self.crawler.engine.crawl(self.waiting.pop(0))
            raise DontCloseSpider


class UrlsSpider(Spider):
    """Asks for every URL at once and yields an item for each: what came, or what went wrong.

    Args:
        urls: the URLs to request.
        allowed_domains: as Scrapy has it.
        meta: the meta of every request.
        cancel_first: whether the first request is one of the spider's own, through
            ``download_async``, that it starts before all others and cancels 0.2 seconds later.
    """

    name = "urls"

    def __init__(
        self,
        urls: Sequence[str],
        allowed_domains: Sequence[str] = (),
        meta: dict[str, Any] | None = None,
        *,
        cancel_first: bool = False,
    ) -> None:
        super().__init__()
        self.urls = urls
        if allowed_domains:
            self.allowed_domains = list(allowed_domains)
        self.meta = meta or {}
        self.cancel_first = cancel_first

    async def start(self) -> AsyncIterator[Any]:
        """All requests; the item of the cancelled one comes last."""
        requests = [self._request(url) for url in self.urls]
        cancelled = None
        if self.cancel_first:
            cancelled = self._start_to_cancel(requests.pop(0))
            await sleep(_HEAD_START_SECONDS)
        for request in requests:
            yield request
        self.logger.info(ALL_ASKED_FOR)
        if cancelled is not None:
            yield await maybe_deferred_to_future(cancelled)

    def parse(self, response: Response, asked: str) -> dict[str, Any]:
        """The item of an answer."""
        return {
            "url": asked,
            "final_url": response.url,
            "status": response.status,
            "verdict": repr(verdict_of(response)),
        }

    def failed(self, failure: Failure) -> dict[str, Any]:
        """The item of a request that came to nothing."""
        request: Request = failure.request  # type: ignore[attr-defined]
        return failure_item(request.cb_kwargs["asked"], failure)

    def _request(self, url: str) -> Request:
        return Request(
            url,
            callback=self.parse,
            errback=self.failed,
            cb_kwargs={"asked": url},
            meta=dict(self.meta),
            dont_filter=True,
        )

    def _start_to_cancel(self, request: Request) -> Deferred[dict[str, Any]]:
        # To the coroutine it is the same as asyncio.wait_for, which needs asyncio: what it awaits
        # is cancelled.
        download = deferred_from_coro(self.crawler.engine.download_async(request))
        call_later(_CANCEL_AFTER_SECONDS, download.cancel)
        asked = request.cb_kwargs["asked"]
        return download.addCallbacks(
            lambda response: self.parse(response, asked),
            lambda failure: failure_item(asked, failure),
        )


def failure_item(asked: str, failure: Failure) -> dict[str, Any]:
    """What went wrong, with the verdict that the error carries, if it does."""
    error = failure.value
    item: dict[str, Any] = {"url": asked, "error": type(error).__name__, "message": str(error)}
    verdict = getattr(error, "verdict", None)
    if verdict is not None:
        item["verdict"] = {
            "allowed": verdict.allowed,
            "line": verdict.line,
            "reason": getattr(verdict.reason, "name", verdict.reason),
        }
    return item
