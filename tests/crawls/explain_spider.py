"""A spider that explains URLs while its crawl runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response

from scrapy_rep import explain


class ExplainSpider(Spider):
    """Yields what the crawl knows of some URLs, before its first request and with each answer."""

    name = "explain"
    urls: tuple[str, ...] = ()
    meta: dict[str, Any] | None = None

    async def start(self) -> AsyncIterator[Any]:
        """Explain, then request."""
        yield {"at": "start", **explain(self.crawler, self.urls[0])}
        for url in self.urls:
            yield Request(url, meta=dict(self.meta or {}), dont_filter=True)

    def parse(self, response: Response, **_: Any) -> Iterator[Any]:
        """Explain the URL of an answer, and a URL without a request."""
        for url in (response.url, response.urljoin("/private/x?y")):
            yield {"at": response.url, **explain(self.crawler, url)}
        if response.url.endswith("/more"):
            yield from (Request(response.urljoin(f"/a{number}")) for number in range(9))
