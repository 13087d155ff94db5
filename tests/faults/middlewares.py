"""Downloader middlewares that get between a crawl and its robots.txt files."""

from __future__ import annotations

from typing import Any

from scrapy import Request
from scrapy.http import Response


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
    """Lets no robots.txt be asked for."""

    def process_request(self, request: Request) -> None:
        from scrapy.exceptions import IgnoreRequest

        if request.url.endswith("/robots.txt"):
            raise IgnoreRequest("not on my watch")


class Break:
    """Fails on every robots.txt in a way that nobody thought of."""

    def process_response(self, request: Request, response: Response) -> Response:
        if request.url.endswith("/robots.txt"):
            raise KeyError("unthought-of")
        return response
