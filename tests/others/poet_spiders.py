"""Spiders with callbacks that depend on policies; scrapy-poet reads the annotations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import attrs
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy_poet.api import DummyResponse
from web_poet import HttpClient, RequestUrl, WebPage
from web_poet.exceptions import HttpError

import scrapy_rep


class PolicySpider(Spider):
    """The facts about a policy, for a callback."""

    name = "policy"

    def __init__(self, urls: Sequence[str]) -> None:
        super().__init__()
        self.urls = urls

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield Request(url, callback=self.parse_page)

    def parse_page(self, response: Response, policy: scrapy_rep.Policy) -> Any:
        yield {
            "origin": str(policy.origin),
            "next": policy.verdict(response.urljoin("/private/next")).allowed,
            "sitemaps": list(policy.sitemaps),
            "crawl_delay": policy.crawl_delay,
        }


@attrs.define
class Page(WebPage[Any]):
    """A page object that judges what it links to."""

    policy: scrapy_rep.Policy

    async def to_item(self) -> Any:
        allowed = self.policy.verdict(str(self.url)).allowed
        return {"allowed": allowed, "line": self.policy.verdict(str(self.urljoin("/private"))).line}


class PageObjectSpider(PolicySpider):
    """The same through a page object."""

    async def parse_page(self, response: Response, page: Page) -> AsyncIterator[Any]:  # type: ignore[override]
        yield await page.to_item()


class NoDownloadSpider(PolicySpider):
    """A callback that wants no response."""

    def parse_page(  # type: ignore[override]
        self, response: DummyResponse, policy: scrapy_rep.Policy, url: RequestUrl
    ) -> Any:
        yield {"path": str(url)[len(str(policy.origin)) :]}


@attrs.define
class AskingPage(WebPage[Any]):
    """A page object that sends requests."""

    http: HttpClient

    async def to_item(self) -> Any:
        there = await self.http.get(str(self.urljoin("/b")))
        try:
            await self.http.get(str(self.urljoin("/private/more")))
        except HttpError as error:
            return {"b": there.status, "private": type(error).__name__}
        return {}


class AskingSpider(PolicySpider):
    """Uses page objects that send requests."""

    async def parse_page(  # type: ignore[override]
        self, response: Response, page: AskingPage
    ) -> AsyncIterator[Any]:
        yield await page.to_item()
