"""Spiders that take their time, and that end on purpose."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

from scrapy import Request
from scrapy.exceptions import CloseSpider
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro

from scrapy_rep import policy_for
from scrapy_rep.engine.loops import sleep
from tests.spiders import UrlsSpider


class PacedSpider(UrlsSpider):
    """Requests its URLs one after another, with pauses between them."""

    def __init__(self, urls: Sequence[str], pause_seconds: float = 0.1, **arguments: Any) -> None:
        super().__init__(urls, **arguments)
        self.pause_seconds = pause_seconds

    async def start(self) -> AsyncIterator[Any]:
        """One request at a time."""
        for number, url in enumerate(self.urls):
            if number:
                await sleep(self.pause_seconds)
            yield self._request(url)


class RestingSpider(UrlsSpider):
    """Requests its first URLs, rests, and requests all others at once."""

    def __init__(
        self, urls: Sequence[str], rest_seconds: float, first_count: int = 1, **arguments: Any
    ) -> None:
        super().__init__(urls, **arguments)
        self.rest_seconds = rest_seconds
        self.first_count = first_count

    async def start(self) -> AsyncIterator[Any]:
        """Some requests, and after a rest the others."""
        for number, url in enumerate(self.urls):
            if number == self.first_count:
                await sleep(self.rest_seconds)
            yield self._request(url)


class ClosingSpider(UrlsSpider):
    """Ends the crawl at its first answer."""

    def parse(self, response: Response, asked: str) -> dict[str, Any]:
        """Raises."""
        raise CloseSpider("enough")


class ExemptFirstSpider(PacedSpider):
    """Requests its first URL whatever robots.txt says."""

    def _request(self, url: str) -> Request:
        request = super()._request(url)
        request.meta["dont_obey_robotstxt"] = url == self.urls[0]
        return request


class ResumedSpider(UrlsSpider):
    """Goes on with what its job has left."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__((), **arguments)


class EnoughSpider(UrlsSpider):
    """Ends the crawl after a number of answers; a stat has the seconds that the end took."""

    def __init__(self, urls: Sequence[str], enough: int, **arguments: Any) -> None:
        super().__init__(urls, **arguments)
        self.enough = enough
        self.closing_at = 0.0

    def parse(self, response: Response, asked: str) -> dict[str, Any]:
        """The item of an answer; with the last one wanted, the end begins."""
        self.enough -= 1
        if self.enough == 0:
            self.closing_at = time.monotonic()
            # Not by raising, so that there is an item of this answer too.
            assert self.crawler.engine is not None
            self.ending = deferred_from_coro(
                self.crawler.engine.close_spider_async(reason="enough")
            )
        return super().parse(response, asked)

    def closed(self, reason: str) -> None:
        """Scrapy calls this at the end."""
        if self.closing_at:
            seconds = time.monotonic() - self.closing_at
            self.crawler.stats.set_value("test/closing_seconds", seconds)


class LastIsExemptSpider(EnoughSpider):
    """Requests its last URL whatever robots.txt says, a while after the others; then it ends."""

    def __init__(self, urls: Sequence[str]) -> None:
        super().__init__(urls, 1)

    async def start(self) -> AsyncIterator[Any]:
        """The others first."""
        for url in self.urls[:-1]:
            yield self._request(url)
        await sleep(0.5)
        request = self._request(self.urls[-1])
        request.meta["dont_obey_robotstxt"] = True
        yield request


class PolicyFirstSpider(EnoughSpider):
    """Waits in `start` for the policy of its last URL; an answer to another one ends the crawl."""

    def __init__(self, urls: Sequence[str]) -> None:
        super().__init__(urls, 1)

    async def start(self) -> AsyncIterator[Any]:
        """The others first."""
        for url in self.urls[:-1]:
            yield self._request(url)
        await sleep(0.1)
        policy = await policy_for(self.crawler, self.urls[-1])
        yield {"policy": repr(policy)}
        yield self._request(self.urls[-1])
