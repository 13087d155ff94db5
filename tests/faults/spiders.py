"""Spiders that take their time, and that end on purpose."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from scrapy import Request
from scrapy.exceptions import CloseSpider
from scrapy.http import Response

from scrapy_rep.loops import sleep
from tests.spiders import UrlsSpider


class PacedSpider(UrlsSpider):
    """Asks for its URLs one after another, with pauses between them."""

    def __init__(self, urls: Sequence[str], pause_seconds: float = 0.1, **arguments: Any) -> None:
        super().__init__(urls, **arguments)
        self.pause_seconds = pause_seconds

    async def start(self) -> AsyncIterator[Any]:
        """One request at a time."""
        for number, url in enumerate(self.urls):
            if number:
                await sleep(self.pause_seconds)
            yield self._request(url)


class ClosingSpider(UrlsSpider):
    """Ends the crawl at its first answer."""

    def parse(self, response: Response, asked: str) -> dict[str, Any]:
        """Raises."""
        raise CloseSpider("enough")


class ExemptFirstSpider(PacedSpider):
    """Asks for its first URL whatever robots.txt says."""

    def _request(self, url: str) -> Request:
        request = super()._request(url)
        request.meta["dont_obey_robotstxt"] = url == self.urls[0]
        return request


class ResumedSpider(UrlsSpider):
    """Goes on with what its job has left."""

    def __init__(self, **arguments: Any) -> None:
        super().__init__((), **arguments)
