"""The requests for the pages that sitemaps list: by the spider's rules, and none twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.spiders import CrawlSpider, SitemapSpider

from scrapy_rep import stats

from .addresses import web_request
from .crawl_rules import requests_by_rules

if TYPE_CHECKING:
    from scrapy.http import Response


class PageRequests:
    """Makes the page requests of one spider.

    `sitemap_rules` decide. A CrawlSpider that sets none goes by its own `rules`, as for a link.
    """

    def __init__(self, spider: SitemapSpider) -> None:
        self._spider = spider
        self._begun: set[bytes] = set()
        self._callbacks: list[Any] = spider._cbs  # noqa: SLF001 - Scrapy's compiled rules
        self._goes_by_rules = False
        # Scrapy's own value names `parse`, which a CrawlSpider lacks.
        if spider.sitemap_rules is SitemapSpider.sitemap_rules:
            self._callbacks = [(re.compile(""), None)]
            self._goes_by_rules = isinstance(spider, CrawlSpider) and bool(spider.rules)

    def note_begun(self, request: Request) -> None:
        """The spider's `start` has requested a page, and does not want it twice."""
        self._begun.add(self._fingerprint(request))

    def requests(self, url: str, response: Response) -> Iterator[Request]:
        """The requests for a page that a sitemap lists; `response` is the sitemap."""
        for request in self._of(url, response):
            if not self._is_begun(request):
                self._spider.crawler.stats.inc_value(stats.SITEMAP_PAGES)
                yield request

    def _of(self, url: str, response: Response) -> Iterator[Request]:
        for pattern, callback in self._callbacks:
            if pattern.search(url):
                request = web_request(url, callback=callback)
                if request is not None and self._goes_by_rules:
                    yield from requests_by_rules(self._spider, request.url, response)  # type: ignore[arg-type]
                elif request is not None:
                    yield request
                return

    def _is_begun(self, request: Request) -> bool:
        """Whether `start` requested the same page, for the same callback."""
        if not self._begun:
            return False
        spider: Any = self._spider
        callback: Any = request.callback
        if self._goes_by_rules:
            rule = request.meta.get("rule")
            callback = callback if rule is None else spider._rules[rule].callback  # noqa: SLF001
        is_same = callback in (None, getattr(spider, "parse", None))
        return is_same and self._fingerprint(request) in self._begun

    def _fingerprint(self, request: Request) -> bytes:
        """What Scrapy's duplicate filter tells requests apart by."""
        fingerprinter = self._spider.crawler.request_fingerprinter
        assert fingerprinter is not None  # noqa: S101 - a crawl that has begun has one
        return fingerprinter.fingerprint(request)
