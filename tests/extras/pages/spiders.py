"""Spiders of crawls that read and obey what pages say."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import AsyncIterator, Iterator, Sequence
from pathlib import Path
from typing import Any

import attrs
from scrapy import Field, Item, Request, Spider
from scrapy.http import Response
from scrapy.selector import Selector

from scrapy_rep import page_rules, policy_for, signals, usage


@dataclasses.dataclass
class DataclassItem:
    """An item as a dataclass."""

    url: str
    robots: dict[str, Any] | None = None


@attrs.define
class AttrsItem:
    """An item as attrs has them."""

    url: str
    robots: dict[str, Any] | None = None


class ScrapyItem(Item):
    """An item as Scrapy has them."""

    url = Field()
    robots = Field()


@dataclasses.dataclass(frozen=True)
class FrozenItem:
    """An item that takes nothing more."""

    url: str


_KINDS: dict[str, Any] = {
    "dict": dict,
    "dataclass": DataclassItem,
    "attrs": AttrsItem,
    "item": ScrapyItem,
    "frozen": FrozenItem,
}


class PagesSpider(Spider):
    """Follows every link, and yields an item for each page.

    Args:
        urls: where it begins.
        kind: which kind of items it yields.
        meta: of the requests for links.
    """

    name = "pages"

    def __init__(
        self, urls: Sequence[str], kind: str = "dict", meta: dict[str, Any] | None = None
    ) -> None:
        super().__init__()
        self.urls = urls
        self.kind = kind
        self.meta = meta or {}
        self.withheld: list[tuple[str, str, str]] = []

    async def start(self) -> AsyncIterator[Any]:
        """The first pages."""
        self.crawler.signals.connect(self._told, signals.withheld)
        for url in self.urls:
            yield Request(url)

    def parse(self, response: Response) -> Iterator[Any]:
        """Links, then the item."""
        for href in response.css("a::attr(href)").getall():
            yield response.follow(href, meta=self.meta)
        yield _KINDS[self.kind](url=response.url)

    def _told(self, response: Response, what: Any, because: Any) -> None:
        shown = what.url if isinstance(what, Request) else type(what).__name__
        self.withheld.append((response.url, shown, str(because)))

    def closed(self, reason: str) -> None:
        """Log each withheld object."""
        for page, what, because in sorted(self.withheld):
            self.logger.info("withheld: %s | %s | %s", page, what, because)


class AsyncSpider(PagesSpider):
    """The same in an async callback, which also awaits the policy."""

    name = "async-pages"

    async def parse(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        """Links, then the item."""
        await policy_for(self.crawler, response.url)
        for one in super().parse(response):
            yield one


class AgainSpider(PagesSpider):
    """Retries each page once, by a request of its own."""

    name = "again"

    def parse(self, response: Response) -> Iterator[Any]:
        """The page again, then the links and the item."""
        if "again" not in response.meta:
            yield response.request.replace(  # type: ignore[union-attr]
                dont_filter=True, meta={**response.meta, "again": True}
            )
        else:
            yield from super().parse(response)


class CountingSpider(PagesSpider):
    """Reads no element itself, and says how many pages were parsed."""

    name = "counting"

    def parse(self, response: Response) -> Iterator[Any]:
        """A request and an item, without a look at the page."""
        made = getattr(response, "_cached_selector", None)
        assert made is None
        if not response.url.endswith("/end"):
            yield response.follow("/end")
        yield {"url": response.url}
        self.crawler.stats.inc_value(
            "test/parsed",
            int(isinstance(response._cached_selector, Selector)),  # type: ignore[attr-defined]
        )


class AskingSpider(PagesSpider):
    """Asks by hand, and says what it was told."""

    name = "asking"

    async def parse(self, response: Response) -> AsyncIterator[Any]:  # type: ignore[override]
        """One item for each page."""
        said = await usage(response)
        yield {
            "url": response.url,
            "rules": page_rules(response).to_dict(),
            "usage": {name: value for name, value in said.to_dict().items() if value != "unknown"},
            "why": [str(one) for one in said.statements],
            "robots_txt": said.robots_txt,
            "was_fetched": said.fetched_at > 0,
            "digest": said.digest,
            "is_complete": said.is_complete,
            "is_stale": said.is_stale,
            "meta": sorted(key for key in response.meta if key.startswith("rep_")),
        }


def _example(name: str) -> Any:
    """A class from the code of docs/pages.md."""
    page = Path(__file__).parents[3] / "docs" / "pages.md"
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    (code,) = (block for block in blocks if f"class {name}(" in block)
    names: dict[str, Any] = {"__name__": __name__}
    exec(code, names)
    return names[name]


CarefulPipeline = _example("CarefulPipeline")


class FilesSpider(PagesSpider):
    """Yields an item with the images of a page."""

    name = "files"

    def parse(self, response: Response) -> Iterator[Any]:
        """The item."""
        urls = [response.urljoin(url) for url in response.css("img::attr(src)").getall()]
        yield {"url": response.url, "file_urls": urls}
