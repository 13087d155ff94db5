"""Components of a user's that meddle with robots.txt requests, as some in real projects do."""

from __future__ import annotations

import itertools
from contextlib import suppress
from typing import Any

from scrapy import Request, signals
from scrapy.core.downloader.handlers import DownloadHandlers
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest, StopDownload
from scrapy.http import Response
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from typing_extensions import Self

from scrapy_rep.engine.loops import sleep
from tests.faults.blind import Blind
from tests.spiders import OfCrawler


class StopsItself(Blind):
    """A download handler that ends each transfer early by itself, and says so."""

    async def download_request(self, request: Request) -> Response:
        """The beginning of the answer."""
        response = await super().download_request(request)
        return response.replace(body=response.body[:10], flags=["download_stopped"])


class StopsAll:
    """An extension that stops every download, as Scrapy's documentation shows it.

    `STOPS` names the signal, and `STOPS_AS_FAILURE` says which way a download ends.
    """

    def __init__(self, fail: bool) -> None:
        self._fail = fail

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler.settings.getbool("STOPS_AS_FAILURE"))
        signal = getattr(signals, crawler.settings["STOPS"])
        crawler.signals.connect(extension.stop, signal=signal)
        return extension

    def stop(self) -> None:
        raise StopDownload(fail=self._fail)


class Spreads:
    """A middleware that sends pages through eight slots in turn, as for rotating proxies."""

    def __init__(self, after: int) -> None:
        self._after = after
        self._count = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings.getint("SPREADS_AFTER"))

    async def process_request(self, request: Request) -> None:
        await sleep(0.01)
        if not request.url.endswith("/robots.txt"):
            self._count += 1
            if self._count > self._after:
                request.meta["download_slot"] = f"proxy {self._count % 8}"


class AsksEarly:
    """An extension that fetches a page when the spider is opened, such as a token or a list."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls(crawler)
        crawler.signals.connect(extension.spider_opened, signal=signals.spider_opened)
        return extension

    async def spider_opened(self) -> None:
        assert self.crawler.engine is not None
        with suppress(IgnoreRequest):
            url = self.crawler.settings["EARLY_URL"]
            await maybe_deferred_to_future(
                deferred_from_coro(self.crawler.engine.download_async(Request(url)))
            )


class Refusing:
    """A downloader middleware that refuses answers of a kind."""

    def process_response(self, request: Request, response: Response) -> Response:
        if response.headers.get(b"X-Challenge"):
            raise IgnoreRequest("a challenge")
        return response


class LogsInWithOurMeta:
    """A downloader middleware that answers robots.txt requests with a request for another page."""

    def process_response(self, request: Request, response: Response) -> Any:
        login = response.headers.get(b"X-Login")
        return request.replace(url=login.decode()) if login else response


class AsksBesideWithOurMeta(OfCrawler):
    """A downloader middleware that sends another request, with the meta of a robots.txt request."""

    async def process_request(self, request: Request) -> None:
        url = self.crawler.settings["MEDDLING_URL"]
        if request.url.endswith("/robots.txt") and not url.startswith(request.url[:-11]):
            engine: Any = self.crawler.engine
            with suppress(IgnoreRequest):
                await engine.download_async(Request(url, meta=request.meta))


class TakesThePlace(OfCrawler):
    """A downloader middleware that sets download handlers up when it is first asked.

    Theirs go past the entrance that is there, or are other objects.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self.is_set_up = False

    def process_request(self, request: Request) -> None:
        if self.is_set_up:
            return
        self.is_set_up = True
        downloader: Any = self.crawler.engine.downloader
        if self.crawler.settings.getbool("MEDDLING_OTHER_HANDLERS"):
            downloader.handlers = DownloadHandlers(self.crawler)
            return
        handlers = downloader.handlers
        past_all = DownloadHandlers.download_request_async
        handlers.download_request_async = lambda request: past_all(handlers, request)


class WritesTimeout(OfCrawler):
    """A downloader middleware that writes a time limit into the meta, or removes it."""

    def __init__(self, crawler: Crawler) -> None:
        self.seconds = crawler.settings["MEDDLING_TIMEOUT"]

    def process_request(self, request: Request) -> None:
        if self.seconds == "none there":
            request.meta.pop("download_timeout", None)
        else:
            request.meta["download_timeout"] = self.seconds


class RaisingParser:
    """A parser that can read nothing but the empty file that it is tried on."""

    def __init__(self, body: bytes) -> None:
        if body:
            raise RuntimeError("unreadable")

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        return cls(robotstxt_body)

    def allowed(self, url: str, user_agent: str) -> bool:
        return True


class Rotates(OfCrawler):
    """A downloader middleware that gives requests the User-Agents of `ROTATES` in turn."""

    def __init__(self, crawler: Crawler) -> None:
        self._headers = itertools.cycle(crawler.settings.getlist("ROTATES"))

    def process_request(self, request: Request) -> None:
        if not request.url.endswith("/robots.txt"):
            request.headers["User-Agent"] = next(self._headers)


class RotatesAll(Rotates):
    """The same, also for robots.txt, as most rotators do."""

    def process_request(self, request: Request) -> None:
        request.headers["User-Agent"] = next(self._headers)


class Anonymous:
    """A downloader middleware that removes the User-Agent of pages."""

    def process_request(self, request: Request) -> None:
        if not request.url.endswith("/robots.txt"):
            request.headers.pop("User-Agent", None)


class RotatesLater(Rotates):
    """The same, after a wait, as for a list that it fetches."""

    async def process_request(self, request: Request) -> None:  # type: ignore[override]
        await sleep(0.01)
        super().process_request(request)
