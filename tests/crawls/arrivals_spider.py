"""A spider that tells whether the signal of its requests is listened to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scrapy.http import Response

from scrapy_rep import RepMiddleware

from .fair_spider import FairSpider


class ArrivalsSpider(FairSpider):
    """Tells it at each page."""

    name = "arrivals"

    def parse(self, response: Response) -> Iterator[Any]:
        """An item."""
        judge = self.crawler.get_downloader_middleware(RepMiddleware)
        assert judge is not None
        yield {"url": response.url, "is_listening": judge.slots.arrivals.is_listening}
