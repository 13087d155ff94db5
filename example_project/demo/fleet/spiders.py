"""The spider that every worker runs. It has no code for other workers or robots.txt."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_rep import signals


class FleetSpider(Spider):
    """Follows every link.

    Arguments:
        sites: URLs without a path, with spaces between them.
        account: the file that the worker writes at the end.
    """

    name = "fleet"
    sites = ""
    account = ""

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> FleetSpider:
        """Connect to the signal for dropped requests."""
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider.pages, spider.drops = Counter(), Counter()
        crawler.signals.connect(spider.dropped, signals.request_disallowed)
        return spider

    async def start(self) -> AsyncIterator[Request]:
        """Request all home pages. Every worker does this, but each page is queued once."""
        for url in self.sites.split():
            yield Request(f"{url}/")

    def parse(self, response: Response) -> Iterator[Request]:
        """Count a page, and follow its links."""
        self.pages[_origin(response.url)] += 1
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href)

    def dropped(self, request: Request) -> None:
        """Count a page that robots.txt disallows."""
        self.drops[_origin(request.url)] += 1

    def closed(self, reason: str) -> None:
        """Write the account of this worker."""
        account = {"reason": reason, "pages": self.pages, "drops": self.drops}
        Path(self.account).write_text(json.dumps(account), encoding="utf-8")

    pages: Counter[str]
    drops: Counter[str]


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
