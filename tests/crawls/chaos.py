"""A downloader middleware that does at random what middlewares of real projects do by mistake."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from twisted.internet.defer import CancelledError
from typing_extensions import Self

from scrapy_rep.engine.loops import sleep

RULES = b"User-agent: *\nDisallow: /private\n"
_CALM = 0.7  # the share of requests and answers that are left alone
_TIMES = 2  # that a request goes elsewhere, or it would never end


class Chaos:
    """Raises, waits, answers, and sends elsewhere; the same for the same seed and order."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._whims: tuple[Callable[[Request], Any], ...] = (
            self._refuse,
            self._break,
            self._cancel,
            self._another_slot,
            self._elsewhere,
            self._again,
        )

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings.getint("CHAOS_SEED"))

    async def process_request(self, request: Request) -> Any:
        if self._random.random() < _CALM:
            return None
        await sleep(self._random.choice((0.0, 0.0, 0.05, 0.3)))
        if request.url.endswith("/robots.txt") and self._random.random() < _CALM:
            return Response(request.url, body=RULES)
        return self._random.choice(self._whims)(request)

    async def process_response(self, request: Request, response: Response) -> Any:
        if self._random.random() < _CALM:
            return response
        await sleep(self._random.choice((0.0, 0.0, 0.05, 0.3)))
        return self._random.choice(self._whims)(request) or response

    def _refuse(self, request: Request) -> None:
        raise IgnoreRequest("on a whim")

    def _break(self, request: Request) -> None:
        raise RuntimeError("on a whim")

    def _cancel(self, request: Request) -> None:
        raise CancelledError("on a whim")

    def _another_slot(self, request: Request) -> None:
        request.meta["download_slot"] = self._random.choice(("one", "two", "127.0.0.3"))

    def _elsewhere(self, request: Request) -> Request | None:
        """Go to another page of another host, with all meta."""
        if request.url.endswith("/robots.txt"):  # a middleware invents the answer
            return self._again(request)
        if request.meta.get("chaos", 0) > _TIMES:
            return None
        number = self._random.randrange(1000)
        host = f"127.0.0.{self._random.randrange(2, 12)}"
        path = self._random.choice(("private", "public"))
        port = request.url.split(":")[2].split("/")[0]
        return self._after(request, f"http://{host}:{port}/{path}/{number}")

    def _again(self, request: Request) -> Request | None:
        """The same, as a log-in or a retry has it."""
        is_enough = request.meta.get("chaos", 0) > _TIMES
        return None if is_enough else self._after(request, request.url)

    @staticmethod
    def _after(request: Request, url: str) -> Request:
        meta = {**request.meta, "chaos": request.meta.get("chaos", 0) + 1}
        return request.replace(url=url, meta=meta, dont_filter=True)


class ChaosBehind(Chaos):
    """The same behind ours."""
