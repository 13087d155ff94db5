"""A spider that follows every link of the pages that it is given."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response


class LinksSpider(Spider):
    """Requests its URLs and all links of their pages; without URLs, it only resumes."""

    name = "links"

    def __init__(self, urls: Sequence[str] = (), **arguments: Any) -> None:
        super().__init__(**arguments)
        self.urls = urls

    async def start(self) -> AsyncIterator[Any]:
        """The pages with links."""
        for url in self.urls:
            yield Request(url, dont_filter=True)

    def parse(self, response: Response) -> Iterator[Request]:
        """The links, each of them once."""
        for link in response.css("a::attr(href)").getall():
            yield Request(response.urljoin(link), callback=self.parse_page)

    def parse_page(self, response: Response) -> dict[str, str]:
        """An item for each page."""
        return {"url": response.url}
