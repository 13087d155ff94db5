"""A spider that requests pages one after the other, and others at the start or at the end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from scrapy_rep.engine.loops import sleep


class ChainSpider(Spider):
    """Follows a chain of pages.

    Args:
        chain: the URLs that are requested one after the other.
        beside: the URLs that are requested at the start.
        behind: the URLs that are requested at once, after the last of the chain.
        slot: the downloader slot of those behind; empty for their own.
    """

    name = "chain"

    def __init__(
        self,
        chain: Sequence[str],
        beside: Sequence[str] = (),
        behind: Sequence[str] = (),
        slot: str = "",
    ) -> None:
        super().__init__()
        self.chain = [*chain]
        self.beside = beside
        self.behind = behind
        self.slot = slot

    async def start(self) -> AsyncIterator[Any]:
        """The first page, and the URLs of `beside`."""
        for url in self.beside:
            yield Request(url, self.end, errback=self.failed)
        yield Request(self.chain.pop(0))

    def parse(self, response: Response) -> Iterator[Any]:
        """The next page of the chain."""
        yield from self.end(response)
        if self.chain:
            yield Request(self.chain.pop(0))
            return
        meta = {"download_slot": self.slot} if self.slot else {}
        for url in self.behind:
            yield Request(url, self.end, errback=self.failed, meta=meta)

    def end(self, response: Response) -> Iterator[Any]:
        """An item."""
        yield {"url": response.url}

    def failed(self, failure: Any) -> Iterator[Any]:
        """An item."""
        yield {"url": failure.request.url, "error": type(failure.value).__name__}


class DropsLate:
    """Drops some requests after a while, as a middleware that has to ask first."""

    async def process_request(self, request: Request) -> None:
        """Wait, and drop."""
        if "/late/" in request.url:
            await sleep(0.5)
            raise IgnoreRequest("no")


class Returns:
    """Returns each of some requests once, itself, to be queued again."""

    async def process_request(self, request: Request) -> Request | None:
        """The request, at first."""
        if "/again/" in request.url and "seen" not in request.meta:
            request.meta["seen"] = True
            return request
        return None
