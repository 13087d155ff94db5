"""The spiders of the projects, and their middleware.

Each spider yields an item for each page, and for each failure.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any

from scrapy import FormRequest, Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule, SitemapSpider, XMLFeedSpider
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from tests.spiders import OneWhenIdle

_PAUSE_SECONDS = 0.05
_COPIES: dict[str, Callable[[dict[str, Any]], Any]] = {
    "dict": dict,
    "deep copy": lambda meta: deepcopy(meta.copy()),
    "text": json.dumps,
}
"""How items hold the meta of a response."""


async def pause() -> None:
    """Wait a little, in any loop."""
    done: Deferred[None] = Deferred()
    call_later(_PAUSE_SECONDS, done.callback, None)
    await maybe_deferred_to_future(done)


class PausingMiddleware:
    """A downloader middleware that waits before each request, as for a look-up."""

    async def process_request(self, request: Request) -> None:
        await pause()


class LinksSpider(Spider):
    """Follows all links.

    Args:
        entries: where it begins.
        home: the page of lists or of the form, for spiders that have one.
        allowed_domains: as Scrapy has it.
        file_field: the field of items that lists files; empty for no such field.
        has_priorities: whether requests have priorities.
        item_habit: how items hold the meta of their response, if they do.
        follow_habit: how requests are made from a response, as in `Habits`.
    """

    name = "links"

    def __init__(
        self,
        entries: Sequence[str],
        home: str = "",
        allowed_domains: Sequence[str] = (),
        file_field: str = "",
        *,
        item_habit: str = "",
        follow_habit: str = "",
        has_priorities: bool = False,
        **more: Any,
    ) -> None:
        self.entries = entries
        self.home = home
        self.file_field = file_field
        self.has_priorities = has_priorities
        self.item_habit = item_habit
        self.follow_habit = follow_habit
        if allowed_domains:
            self.allowed_domains = list(allowed_domains)
        super().__init__(**more)

    async def start(self) -> AsyncIterator[Any]:
        for url in self.entries:
            yield self.request(url)

    def request(self, url: str, response: Response | None = None) -> Request:
        """A request for a page that may be linked from another."""
        request = Request(url, self.page, errback=self.failed, priority=self.priority(url))
        return self.habitual(request, response)

    def habitual(self, request: Request, response: Response | None) -> Request:
        """The same request, made as the project does it."""
        if response is None or not self.follow_habit:
            return request.replace(meta={"account": "me"})
        if self.follow_habit == "meta":
            return request.replace(meta=response.meta)
        assert response.request is not None
        changes = {name: getattr(request, name) for name in ("url", "callback", "priority")}
        made: Request = response.request.replace(**changes, errback=self.failed, dont_filter=False)
        return made

    def priority(self, url: str) -> int:
        """Some priority, always the same for a URL."""
        return sum(url.encode()) % 3 if self.has_priorities else 0

    def page(self, response: Response) -> Any:
        """The item of a page, and requests for its links."""
        yield self.item(response)
        for url in self.links(response):
            yield self.request(url, response)

    def links(self, response: Response) -> list[str]:
        """The URLs of all links."""
        return [response.urljoin(link) for link in response.css("a::attr(href)").getall()]

    def item(self, response: Response) -> dict[str, Any]:
        """The item of a page."""
        item: dict[str, Any] = {"url": response.url, "status": response.status}
        if self.file_field:
            item[self.file_field] = response.css("img::attr(src)").getall()
        if self.item_habit:
            item["meta"] = _COPIES[self.item_habit](response.meta)
        return item

    def failed(self, failure: Failure) -> dict[str, Any]:
        """The item of a failure."""
        request: Request = failure.request  # type: ignore[attr-defined]
        return {"url": request.url, "error": type(failure.value).__name__}


class RulesSpider(LinksSpider, CrawlSpider):
    """Has a rule that follows all links."""

    name = "rules"
    rules = (Rule(LinkExtractor(), callback="item", follow=True, errback="failed"),)

    def request(self, url: str, response: Response | None = None) -> Request:
        return Request(url, errback=self.failed, priority=self.priority(url))

    def parse_start_url(self, response: Response, **_: Any) -> Any:
        return [self.item(response)]


class ListedSpider(LinksSpider, SitemapSpider):
    """Begins with a sitemap."""

    name = "sitemap"

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.sitemap_urls = [self.home]

    async def start(self) -> AsyncIterator[Any]:
        async for request in SitemapSpider.start(self):
            yield request

    def parse(self, response: Response, **_: Any) -> Any:
        return self.page(response)


class FeedSpider(LinksSpider, XMLFeedSpider):
    """Begins with a feed."""

    name = "feed"
    itertag = "item"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.home)

    def parse_node(self, response: Response, selector: Any) -> Any:
        return self.request(selector.xpath("link/text()").get())


class SlowStartSpider(LinksSpider):
    """Pauses before each start request, as with a slow database."""

    name = "slow_start"

    async def start(self) -> AsyncIterator[Any]:
        for url in self.entries:
            await pause()
            yield self.request(url)


class IdleSpider(OneWhenIdle, LinksSpider):
    """Has one start request, and gives the others to the engine when it is idle."""

    name = "idle"


class DownloadSpider(LinksSpider):
    """Its callbacks await the first new page that they link to."""

    name = "download"

    def __init__(self, *arguments: Any, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self.known = set(self.entries)

    async def page(self, response: Response) -> AsyncIterator[Any]:
        yield self.item(response)
        urls = [url for url in self.links(response) if url not in self.known]
        self.known |= set(urls)
        for url in urls[1:]:
            yield self.request(url, response)
        for url in urls[:1]:
            try:
                answer = await self.crawler.engine.download_async(self.request(url, response))
            except IgnoreRequest:
                yield {"url": url, "error": "ignored"}
                continue
            async for result in self.page(answer):
                yield result


class LoginSpider(LinksSpider):
    """Sends a form, and begins after that."""

    name = "login"

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.home, self.form)

    def form(self, response: Response) -> Any:
        """Fill the form in."""
        assert isinstance(response, TextResponse)
        yield FormRequest.from_response(
            response, formdata={"user": "me"}, callback=self.member, errback=self.failed
        )

    def member(self, response: Response) -> Iterator[Any]:
        """All entries; the first is the page to which the form leads."""
        yield from self.page(response)
        for url in self.entries[1:]:
            yield self.request(url)


class NotedRequest(Request):
    """A request with an attribute of its own."""

    attributes = (*Request.attributes, "note")

    def __init__(self, *arguments: Any, note: str = "", **more: Any) -> None:
        self.note = note
        super().__init__(*arguments, **more)


class AttributesSpider(LinksSpider):
    """Its items have the attribute of their request."""

    name = "attributes"

    def request(self, url: str, response: Response | None = None) -> Request:
        priority = self.priority(url)
        noted = NotedRequest(url, self.page, errback=self.failed, priority=priority, note=url[-5:])
        return self.habitual(noted, response)

    def item(self, response: Response) -> dict[str, Any]:
        note = getattr(response.request, "note", None)
        return {**super().item(response), "note": note}


class WaitsSpider(LinksSpider):
    """Its callbacks pause before each item and after it."""

    name = "waits"

    async def page(self, response: Response) -> AsyncIterator[Any]:
        await pause()
        yield self.item(response)
        await pause()
        for url in self.links(response):
            yield self.request(url, response)


SPIDERS: dict[str, Callable[..., Spider]] = {
    "links": LinksSpider,
    "rules": RulesSpider,
    "sitemap": ListedSpider,
    "feed": FeedSpider,
    "slow start": SlowStartSpider,
    "idle": IdleSpider,
    "download": DownloadSpider,
    "login": LoginSpider,
    "attributes": AttributesSpider,
    "waits": WaitsSpider,
    "all at once": LinksSpider,
}
