"""A spider that sends requests in every way, and a middleware that changes them late."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from scrapy import Request
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.http import Response
from scrapy.pipelines.files import FilesPipeline

from tests.spiders import UrlsSpider


class EveryWaySpider(UrlsSpider):
    """Also uses `download_async`, and its items have files.

    Args:
        urls: those of pages.
        own: the URL that it requests by `download_async`.
        files: the URLs of the files of each item.
    """

    def __init__(
        self, urls: Sequence[str], own: str = "", files: Sequence[str] = (), **arguments: Any
    ) -> None:
        super().__init__(urls, **arguments)
        self.own = own
        self.files = files

    async def start(self) -> AsyncIterator[Any]:
        """Its own request goes first."""
        if self.own:
            assert self.crawler.engine is not None
            await self.crawler.engine.download_async(Request(self.own))
        async for request in super().start():
            yield request

    def parse(self, response: Response, asked: str) -> dict[str, Any]:
        """The item of an answer, with what the request has after it."""
        request = response.request
        assert request is not None
        names = [name.decode().lower() for name in request.headers]
        return {
            **super().parse(response, asked),
            "file_urls": list(self.files),
            "signature_fields": [name for name in names if name.startswith("signature")],
            "has_latency": "download_latency" in request.meta,
        }


class Files(FilesPipeline):
    """Any file."""


class ChangesLate:
    """A downloader middleware behind all others: it changes headers, and the URL of one page."""

    def process_request(self, request: Request) -> Request | None:
        """Change a request in place, or replace it."""
        request.headers["X-Late"] = "1"
        request.headers["Signature"] = "sig1=:b2xk:"
        if request.url.endswith("/before"):
            return request.replace(url=request.url.replace("/before", "/after"), dont_filter=True)
        return None


class OtherHandler(HTTP11DownloadHandler):
    """A handler that may do more than Scrapy's."""
