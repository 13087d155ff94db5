"""Middlewares that ask a service for pages, as scrapy-scrapingbee and scrapy-splash do."""

from __future__ import annotations

import json
from urllib.parse import quote

from scrapy import Request
from scrapy.crawler import Crawler

from tests.spiders import OfCrawler


class Service(OfCrawler):
    """Returns a new request to the service; the page's URL is in its query or in its body."""

    def __init__(self, crawler: Crawler) -> None:
        self._url = crawler.settings["SERVICE_URL"]
        self._has_body = crawler.settings.getbool("SERVICE_BODY")

    def process_request(self, request: Request) -> Request | None:
        """Replace a request for a page."""
        if request.url.startswith(self._url) or request.url.endswith("/robots.txt"):
            return None
        if self._has_body:
            body = json.dumps({"url": request.url})
            return request.replace(url=self._url, method="POST", body=body, dont_filter=True)
        return request.replace(url=f"{self._url}?url={quote(request.url, safe='')}")
