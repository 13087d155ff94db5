"""The rules of a `CrawlSpider`, applied to a URL from a sitemap and not from a page."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import Any
from urllib.parse import urljoin, urlparse

from scrapy import Request
from scrapy.http import HtmlResponse, Response
from scrapy.link import Link
from scrapy.spiders import CrawlSpider
from scrapy.utils.url import url_has_any_extension
from w3lib.url import canonicalize_url, safe_url_string


def requests_by_rules(spider: CrawlSpider, url: str, response: Response) -> Iterator[Request]:
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
