"""An extension that sets the wall clock of a crawl's process, as NTP or an operator does."""

from __future__ import annotations

import time

from scrapy import signals
from scrapy.crawler import Crawler
from scrapy.http import Response
from typing_extensions import Self

_time = time.time


class StepsClock:
    """Sets the clock by STEP_SECONDS once the second page has come."""

    def __init__(self, step_seconds: float) -> None:
        self._step_seconds = step_seconds
        self._page_count = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler.settings.getfloat("STEP_SECONDS"))
        crawler.signals.connect(extension.came, signal=signals.response_received)
        return extension

    def came(self, response: Response) -> None:
        self._page_count += not response.url.endswith("/robots.txt")
        if self._page_count == 2:
            time.time = lambda: _time() + self._step_seconds
