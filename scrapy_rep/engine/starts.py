"""What a spider starts with, behind `SitemapSpider`, in each release of Scrapy.

Up to Scrapy 2.15, `start` calls `start_requests`, and spiders may override either. A spider that
is named behind `SitemapSpider` would find that class's `start_requests` there, and lose its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from scrapy import Request, Spider
from scrapy.spiders import SitemapSpider

_OLD_NAME = "start_requests"


class Starts(SitemapSpider):
    """Finds what the spider behind `SitemapSpider` starts with."""

    def start_of_the_other(self) -> AsyncIterator[Any]:
        """The other spider's `start`; Scrapy's own for sitemaps requests nothing but these."""
        start = super().start
        if is_function(start, SitemapSpider.start):
            start = super(SitemapSpider, self).start
        return start()

    if hasattr(Spider, _OLD_NAME):

        def start_requests(self) -> Any:  # the types of those that override it differ
            """What the other spider's `start` calls, up to Scrapy 2.15."""
            found: Callable[[], Any] = getattr(super(), _OLD_NAME)
            if is_function(found, getattr(SitemapSpider, _OLD_NAME)):
                found = getattr(super(SitemapSpider, self), _OLD_NAME)
            if is_function(found, getattr(Spider, _OLD_NAME)):  # warns of whoever calls it
                return (Request(url, dont_filter=True) for url in self.start_urls)
            return found()


def is_function(method: Any, function: Any) -> bool:
    """Whether a method is this function, and not one that overrides it."""
    return getattr(method, "__func__", None) is function
