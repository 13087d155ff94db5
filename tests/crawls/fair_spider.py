"""A spider over many hosts: with pages that are queued at once, or with a tree of links."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response


class FairSpider(Spider):
    """Asks each host for the same pages.

    Args:
        homes: a URL of each host, up to the path.
        pages: how many pages are queued at once, of each host in turn.
        depth: how many levels of links there are below each of them; every page has two.
    """

    name = "fair"

    def __init__(self, homes: Sequence[str], pages: int, depth: int = 0) -> None:
        super().__init__()
        self.homes = homes
        self.pages = pages
        self.depth = depth

    async def start(self) -> AsyncIterator[Any]:
        """The pages of all hosts."""
        for page in range(self.pages):
            for home in self.homes:
                yield Request(f"{home}/{page}", dont_filter=True)

    def parse(self, response: Response) -> Iterator[Any]:
        """An item, and the links of a page that is not at the lowest level."""
        yield {"url": response.url}
        if response.meta["depth"] < self.depth:
            for link in ("a", "b"):
                yield response.follow(f"{response.url}/{link}")
