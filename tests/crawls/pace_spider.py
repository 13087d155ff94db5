"""A spider that has Scrapy throw away its slots all the time."""

from __future__ import annotations

from typing import Any

from scrapy.http import Response

from tests.spiders import UrlsSpider

_ALL = -1e9  # seconds: a slot is collected whenever it was seen last


class ForgetfulSpider(UrlsSpider):
    """After each answer, slots without requests are forgotten, as else a minute later."""

    def parse(self, response: Response, asked: str) -> dict[str, Any]:
        """The item of an answer."""
        downloader = self.crawler.engine.downloader
        downloader._slot_gc(_ALL)
        left = [key for key, slot in downloader.slots.items() if not slot.active]
        return {**super().parse(response, asked), "left": left}
