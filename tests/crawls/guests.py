"""Downloader middlewares as projects have them, and a spider that passes meta on.

They know nothing of robots.txt, and each does something to every request or answer.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from typing_extensions import Self

import scrapy_rep
from scrapy_rep.engine.loops import sleep


class AddsQuery:
    def process_request(self, request: Request) -> Request | None:
        """Add a session to each URL."""
        if "?" not in request.url:
            return request.replace(url=f"{request.url}?session=1")
        return None


class ReadsAccount:
    def process_request(self, request: Request) -> None:
        """Sign in as the account that the spider wants."""
        request.meta["account"]


class AnswerForNobodyError(Exception):
    pass


class RefusesAnswers:
    def process_response(self, request: Request, response: Response) -> Response:
        """Count the answers of each account."""
        if "account" not in request.meta:
            raise AnswerForNobodyError
        return response


class ReturnsTrue:
    def process_request(self, request: Request) -> Any:
        """Approve a request."""
        return None if "account" in request.meta else True


class AlwaysReturnsText:
    def process_response(self, request: Request, response: Response) -> Any:
        """Return the text of a text file."""
        return response if b"<html" in response.body else response.body.decode()


class DropsTextFiles:
    def process_request(self, request: Request) -> None:
        """Drop what is no page."""
        if request.url.endswith(".txt"):
            raise IgnoreRequest("no text files")


class OwnErrorForFailures:
    def process_exception(self, request: Request, exception: Exception) -> None:
        """Raise one exception for all failures."""
        raise AnswerForNobodyError("failed") from exception


class Renders:
    def process_response(self, request: Request, response: Response) -> Response:
        """Answer with the source of the page that a browser shows."""
        if b"<html" in response.body:
            return response
        text = response.text.replace("&", "&amp;").replace("<", "&lt;")
        source = f'<html><head></head><body><pre style="white-space: pre-wrap;">{text}</pre></body>'
        return HtmlResponse(response.url, body=f"{source}</html>", encoding="utf-8")


class NamesBrowser:
    def process_request(self, request: Request) -> None:
        """Send the name of a browser."""
        request.headers["User-Agent"] = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"


class Proxies:
    """Uses the next proxy of a pool for each new request, and for each retry."""

    def __init__(self, pool: list[str]) -> None:
        self._pool, self._count = pool, 0
        self._tried: dict[str, int] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings.getlist("GUEST_PROXIES"))

    def process_request(self, request: Request) -> None:
        """Choose the proxy of a request."""
        number = request.meta.get("retry_times", 0)
        if "proxy" not in request.meta or self._tried.get(request.url) != number:
            self._tried[request.url] = number
            request.meta["proxy"] = self._pool[self._count % len(self._pool)]
            self._count += 1


class LogsInFirst:
    """Fetches another page of the site before the first request, without saying that it may."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler, self._has_begun = crawler, False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        """Log in."""
        if not self._has_begun:
            self._has_begun = True
            engine: Any = self._crawler.engine
            await engine.download_async(Request(request.url.replace("robots.txt", "login")))


class OfEngine:
    """A middleware that uses the engine."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.has_begun = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)


class SendsBeside(OfEngine):
    async def process_request(self, request: Request) -> None:
        """Log in first, with a copy of the request."""
        if not self.has_begun:
            self.has_begun = True
            engine: Any = self.crawler.engine
            with suppress(IgnoreRequest):
                await engine.download_async(request.replace(url=_login(request)))


class QueuesBeside(OfEngine):
    def process_request(self, request: Request) -> None:
        """Log in later, with a copy of the request."""
        if not self.has_begun:
            self.has_begun = True
            engine: Any = self.crawler.engine
            engine.crawl(request.replace(url=_login(request)))


def _login(request: Request) -> str:
    return request.url.rpartition("/")[0] + "/private/login"


class LooksUpAProxy(OfEngine):
    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._began_at = time.monotonic()

    def process_request(self, request: Request) -> None:
        """Read a list of proxies from a service that is down at first."""
        if time.monotonic() - self._began_at < 1:
            raise ConnectionError("the list of proxies is down")


class AnswersForFailures:
    def process_exception(self, request: Request, exception: Exception) -> Response:
        """Let callbacks see an empty page instead of an error."""
        return HtmlResponse(request.url, body=b"<html>failed</html>", encoding="utf-8")


class SendsAgain:
    def process_response(self, request: Request, response: Response) -> Any:
        """Try another address, without a limit."""
        return request.replace(dont_filter=True) if response.status == 503 else response


class RaisesSecrets:
    def process_request(self, request: Request) -> None:
        """Fail as a client of a service does."""
        raise ValueError("no answer from http://u:hunter1@api/get?key=hunter2 for u:hunter3@proxy")


class Slow:
    async def process_request(self, request: Request) -> None:
        """Look something up."""
        await sleep(0.2)

    async def process_response(self, request: Request, response: Response) -> Response:
        """Look something else up."""
        await sleep(0.2)
        return response


class Guarded:
    """Leaves requests for robots.txt alone, as the documentation shows."""

    def process_request(self, request: Request) -> Request | None:
        """Mark each page."""
        if "rep_fetch" in request.meta or "?" in request.url:
            return None
        return request.replace(url=f"{request.url}?guarded")


class BoundSpider(Spider):
    """Requests one of its pages from an address that this machine does not have."""

    name = "bound"

    def __init__(self, urls: list[str], bound: str) -> None:
        super().__init__()
        self.urls, self.bound = urls, bound

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield Request(url)
        meta = {"bindaddress": ("192.0.2.1", 0), "dont_obey_robotstxt": True}
        yield Request(self.bound, meta=meta)

    def parse(self, response: Response) -> None:
        pass


class MetaSpider(Spider):
    """Yields the meta of each page, as some spiders do, and passes it on to the next page."""

    name = "meta"

    def __init__(self, urls: list[str]) -> None:
        super().__init__()
        self.urls = urls

    async def start(self) -> AsyncIterator[Any]:
        for url in self.urls:
            yield Request(url, meta={"account": 1})

    def parse(self, response: Response) -> Iterator[Any]:
        verdict = scrapy_rep.verdict_of(response)
        assert verdict is not None
        assert verdict.allowed
        yield {"url": response.url, "meta": json.loads(json.dumps(response.meta))}
        if "/next" not in response.url:
            yield response.follow(f"{response.url}/next", meta=response.meta)
