"""Middlewares as public projects have them, in four styles.

Each kind has `before`, which gets a request, or `after`, which gets an answer. A style calls them:
`NewAsyncAddsQuery` is the kind `AddsQuery` in the style `NewAsync`.
"""

from __future__ import annotations

import html
import os
import signal
from collections import Counter
from http.client import HTTPConnection
from itertools import cycle
from typing import Any
from urllib.parse import quote, urlsplit

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from typing_extensions import Self

from tests.ordinary.habits import USES

_BROWSERS = cycle(
    (
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/126.0.0.0",
        "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:127.0) Gecko/20100101 Firefox/127.0",
    )
)
_SOURCE = (
    '<html><head><meta name="color-scheme" content="light dark"></head><body>'
    '<pre style="word-wrap: break-word; white-space: pre-wrap;">{}</pre></body></html>'
)


class Passive:
    """A middleware that changes nothing."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.addresses: dict[str, Any] = crawler.settings.getdict("ORDINARY_ADDRESSES")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def before(self, request: Request) -> Any:
        """What `process_request` returns, or a coroutine for it."""

    def after(self, request: Request, response: Response) -> Any:
        """What `process_response` returns."""
        return response


class Old(Passive):
    """Methods with a spider."""

    def process_request(self, request: Request, spider: Spider) -> Any:
        return self.before(request)

    def process_response(self, request: Request, response: Response, spider: Spider) -> Any:
        return self.after(request, response)


class New(Passive):
    """Methods without a spider."""

    def process_request(self, request: Request) -> Any:
        return self.before(request)

    def process_response(self, request: Request, response: Response) -> Any:
        return self.after(request, response)


class OldAsync(Old):
    """A coroutine with a spider."""

    async def process_request(self, request: Request, spider: Spider) -> Any:
        return await _result(self.before(request))


class NewAsync(New):
    """A coroutine without a spider."""

    async def process_request(self, request: Request) -> Any:
        return await _result(self.before(request))


async def _result(value: Any) -> Any:
    return await value if hasattr(value, "__await__") else value


class AddsQuery(Passive):
    """Adds a query to each URL that lacks it."""

    def before(self, request: Request) -> Request | None:
        if "k=1" in request.url:
            return None
        return request.replace(url=f"{request.url}{'&' if '?' in request.url else '?'}k=1")


class AsksApi(Passive):
    """Sends each request to an API that fetches the page; spiders see the URL of the page."""

    def before(self, request: Request) -> Request | None:
        if request.url.startswith(self.addresses["api"]):
            return None
        url = f"{self.addresses['api']}?url={quote(request.url, safe='')}"
        return request.replace(url=url, meta={**request.meta, "page_url": request.url})

    def after(self, request: Request, response: Response) -> Response:
        if request.url.startswith(self.addresses["api"]):
            return response.replace(url=request.meta["page_url"])
        return response


class NeedsAccount(Passive):
    """Takes it for granted that each request has what those of the spider have."""

    def before(self, request: Request) -> None:
        request.headers["X-Account"] = request.meta["account"]


class ReturnsTrue(Passive):
    """Returns a wrong value for requests that are not the spider's."""

    def before(self, request: Request) -> Any:
        return None if "account" in request.meta else True


class ReturnsText(Passive):
    """Returns a wrong value for answers to requests that are not the spider's."""

    def after(self, request: Request, response: Response) -> Any:
        return response if "account" in request.meta else "no account"


class UnexpectedStatusError(Exception):
    """An answer was not 200."""


class WantsStatus200(Passive):
    """Raises an exception of its own for each other status."""

    def after(self, request: Request, response: Response) -> Response:
        if response.status != 200:
            raise UnexpectedStatusError(response.status)
        return response


class Ignores404(Passive):
    """Drops requests for missing pages."""

    def after(self, request: Request, response: Response) -> Response:
        if response.status == 404:
            raise IgnoreRequest("missing")
        return response


class IgnoresText(Passive):
    """Drops requests for text files."""

    def before(self, request: Request) -> None:
        if urlsplit(request.url).path.endswith(".txt"):
            raise IgnoreRequest("no text files")


class ShowsInBrowser(Passive):
    """Fetches everything with a "browser", and answers with the source that it shows."""

    def before(self, request: Request) -> Response:
        url = urlsplit(request.url)
        browser = HTTPConnection(url.netloc, timeout=10)
        browser.request("GET", request.url.partition(url.netloc)[2])
        answer = browser.getresponse()
        names = {"Location", "Retry-After"} & set(answer.headers)
        headers = {name: answer.headers[name] for name in names}
        body = answer.read()
        if answer.headers.get_content_type() == "text/plain":
            body = _SOURCE.format(html.escape(body.decode(), quote=False)).encode()
        return HtmlResponse(
            request.url, answer.status, headers, body, encoding="utf-8", request=request
        )


class DrawsUserAgent(Passive):
    """Sends the User-Agent of a browser, now of one and then of another."""

    def before(self, request: Request) -> None:
        request.headers["User-Agent"] = next(_BROWSERS)


class LogsInFirst(Passive):
    """Sends a request of its own before the first of the crawl."""

    is_logged_in = False

    async def before(self, request: Request) -> None:
        if not self.is_logged_in:
            self.is_logged_in = True
            meta = {"dont_obey_robotstxt": True, "account": "me"}
            await self.crawler.engine.download_async(Request(self.addresses["login"], meta=meta))


class PoolsProxies(Passive):
    """Gives each try of a request another proxy of a pool with dead ones."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.tries: Counter[str] = Counter()

    def before(self, request: Request) -> None:
        times = request.meta.get("retry_times", 0)
        if request.meta.get("chosen_for") == [request.url, times]:
            return
        pool = self.addresses["proxies"]
        self.tries[request.url] += 1
        request.meta["chosen_for"] = [request.url, times]
        request.meta["proxy"] = pool[(len(request.url) + self.tries[request.url]) % len(pool)]


class Stops(Passive):
    """Ends its own process with SIGTERM after some answers."""

    answers = 0

    def after(self, request: Request, response: Response) -> Response:
        self.answers += 1
        if self.answers == self.crawler.settings.getint("ORDINARY_STOPS_AFTER"):
            os.kill(os.getpid(), signal.SIGTERM)
        return response


for style in (Old, New, OldAsync, NewAsync):
    for kind in (*USES, Stops.__name__):
        name = f"{style.__name__}{kind}"
        globals()[name] = type(name, (style, globals()[kind]), {"__module__": __name__})
