"""An unknown download handler: the built-in one behind another object."""

from __future__ import annotations

from typing import Any

from scrapy.crawler import Crawler
from scrapy.http import Request, Response
from scrapy.settings.default_settings import DOWNLOAD_HANDLERS_BASE
from scrapy.utils.misc import build_from_crawler, load_object

from tests.spiders import OfCrawler


class Blind(OfCrawler):
    """Hands everything on; the flag that Twisted's handler gives is lost on the way."""

    lazy = False

    def __init__(self, crawler: Crawler) -> None:
        path = DOWNLOAD_HANDLERS_BASE["http"]
        if not crawler.settings.getbool("TWISTED_REACTOR_ENABLED"):
            path = crawler.settings["DOWNLOAD_HANDLERS_BASE"]["http"]
        self._handler: Any = build_from_crawler(load_object(path), crawler)

    async def download_request(self, request: Request) -> Response:
        response: Response = await self._handler.download_request(request)
        return response

    async def close(self) -> None:
        await self._handler.close()
