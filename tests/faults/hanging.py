"""Components of a user's that never answer."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

from scrapy import Request, signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.reactor import is_reactor_installed
from twisted.internet.defer import CancelledError, Deferred
from typing_extensions import Self

from scrapy_rep.signals import request_disallowed

# A wait without a reference would be collected, and end.
_kept: list[Deferred[Any]] = []


async def forever() -> Any:
    """Wait until cancelled."""
    waiter: Deferred[Any] = Deferred()
    _kept.append(waiter)
    return await maybe_deferred_to_future(waiter)


async def stubbornly() -> Any:
    """Wait, and mind no cancelling.

    But without a reactor, Scrapy cancels the remaining tasks at the end, and waits for them.
    """
    while is_reactor_installed():
        with suppress(asyncio.CancelledError, CancelledError):
            return await forever()
    return await forever()


class Handler:
    """A download handler."""

    lazy = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls()

    async def download_request(self, request: Request) -> Response:
        response: Response = await stubbornly()
        return response

    async def close(self) -> None:
        pass


class OnTheWayThere:
    """A middleware that keeps requests for robots.txt."""

    async def process_request(self, request: Request) -> None:
        if request.url.endswith("/robots.txt"):
            await forever()


class OnTheWayBack:
    """A middleware that keeps answers to requests for robots.txt."""

    async def process_response(self, request: Request, response: Response) -> Response:
        if request.url.endswith("/robots.txt"):
            await forever()
        return response


class Listener:
    """An extension with signal handlers that never end."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        listener = cls()
        crawler.signals.connect(listener.listen, signal=signals.robots_parsed)
        crawler.signals.connect(listener.listen, signal=request_disallowed)
        return listener

    async def listen(self) -> None:
        await stubbornly()


class AskingListener:
    """An extension that waits for the policy that waits for it."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        listener = cls()
        listener.crawler = crawler
        crawler.signals.connect(listener.listen, signal=signals.robots_parsed)
        return listener

    crawler: Crawler

    async def listen(self, request: Request) -> None:
        from scrapy_rep import policy_for

        await policy_for(self.crawler, request.url)
