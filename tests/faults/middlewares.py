"""Downloader middlewares that get between a crawl and its robots.txt files."""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response
from twisted.internet.defer import CancelledError

from tests.spiders import OfCrawler


class AskAgain:
    """Answers the first answer to a robots.txt with a fresh request for the same."""

    def process_response(self, request: Request, response: Response) -> Any:
        if request.url.endswith("/robots.txt") and not request.meta.get("asked_again"):
            return Request(
                request.url, dont_filter=True, meta={**request.meta, "asked_again": True}
            )
        return response


class LogIn:
    """Answers the request for a robots.txt with one for the log-in page of the same site."""

    def process_request(self, request: Request) -> Any:
        if request.url.endswith("/robots.txt") and "keyed" not in request.meta:
            return Request(
                request.url.replace("/robots.txt", "/login"),
                dont_filter=True,
                meta={"keyed": True},
            )
        return None


class Refuse:
    """Refuses each request for a robots.txt."""

    def process_request(self, request: Request) -> None:
        from scrapy.exceptions import IgnoreRequest

        if request.url.endswith("/robots.txt"):
            raise IgnoreRequest("not on my watch")


class Break:
    """Fails on every robots.txt in an unexpected way."""

    def process_response(self, request: Request, response: Response) -> Response:
        if request.url.endswith("/robots.txt"):
            raise KeyError("unthought-of")
        return response


class Cancel:
    """Cancels every download of a robots.txt."""

    async def process_response(self, request: Request, response: Response) -> Response:
        if request.url.endswith("/robots.txt"):
            raise asyncio.CancelledError
        return response


class CancelInTwisted:
    """The same, with what Twisted cancels with."""

    async def process_request(self, request: Request) -> None:
        if request.url.endswith("/robots.txt"):
            raise CancelledError


class Rebind(OfCrawler):
    """Has the name `rebound.test` lead to a public address once, and then to this machine.

    Once is what a guard that looks names up asks.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._public_left = int(crawler.settings["REP_REDIRECT_GUARD"] == "public")
        self._getaddrinfo = socket.getaddrinfo
        self._gethostbyname = socket.gethostbyname
        socket.getaddrinfo = self._address_info
        socket.gethostbyname = self._address

    def _address_info(self, host: Any, port: Any, *arguments: Any, **more: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name == "rebound.test":
            host = "93.184.216.34" if self._public_left else "127.0.0.1"
            self._public_left = 0
        return self._getaddrinfo(host, port, *arguments, **more)

    def _address(self, host: str) -> str:
        return "127.0.0.1" if host == "rebound.test" else self._gethostbyname(host)
