"""The requests for the pages that sitemaps list: by the spider's rules, and none twice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import escape
from typing import Any
from urllib.parse import urljoin, urlparse

from scrapy import Request
from scrapy.http import HtmlResponse, Response
from scrapy.link import Link
from scrapy.spiders import CrawlSpider, SitemapSpider
from scrapy.utils.url import url_has_any_extension
from w3lib.url import canonicalize_url, safe_url_string

from scrapy_rep import stats

from .seeding import web_request


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
                    yield from _requests_by_rules(self._spider, request.url, response)  # type: ignore[arg-type]
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


def _requests_by_rules(spider: CrawlSpider, url: str, response: Response) -> Iterator[Request]:
    """The requests of the first rule that takes a link to this URL; none if no rule does.

    They are the same as for such a link in a page, so it does not matter which of the two comes
    first. `response` is the sitemap, for `process_request`.
    """
    for number, rule in enumerate(spider._rules):  # noqa: SLF001 - compiled; `rules` are not
        links: Any = _links(rule.link_extractor, url)
        links = list(rule.process_links(links)) if links else []  # type: ignore[operator]
        for link in links:
            linked = spider._build_request(number, link)  # noqa: SLF001 - people override it
            request = rule.process_request(linked, response)  # type: ignore[operator]
            if request is not None:
                yield request
        if links:
            return


def _links(extractor: Any, url: str) -> list[Link]:
    """The link to a URL, if an extractor takes it anywhere in a page.

    Scrapy's own ``parse --rules`` calls `matches`, which ignores file extensions and
    `process_value`. An extractor without that method gets a page that holds only this link.
    """
    if not hasattr(extractor, "matches"):
        page = HtmlResponse(url, body=f'<a href="{escape(url)}">', encoding="utf-8")
        return list(extractor.extract_links(page))
    process = getattr(getattr(extractor, "link_extractor", None), "process_attr", None)
    if process is not None:
        value = process(url)
        if value is None:
            return []
        url = urljoin(url, safe_url_string(value))
    denied = getattr(extractor, "deny_extensions", ())
    if not extractor.matches(url) or (denied and url_has_any_extension(urlparse(url), denied)):
        return []
    return [Link(canonicalize_url(url) if getattr(extractor, "canonicalize", False) else url)]
