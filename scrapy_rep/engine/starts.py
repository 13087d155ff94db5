"""Finds the start requests of a spider class that is combined with `SitemapSpider`.

Up to Scrapy 2.15, `start` calls `start_requests`, and spiders may override either. If a class is
listed after `SitemapSpider` in the bases, `SitemapSpider.start_requests` would hide its own.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

from scrapy import Request, Spider
from scrapy.spiders import SitemapSpider

_OLD_NAME = "start_requests"


class Starts(SitemapSpider):
    """Finds the start requests of the class after `SitemapSpider` in the bases."""

    def start_of_the_other(self) -> AsyncIterator[Any]:
        """The other class's `start`; `SitemapSpider.start` would yield only sitemaps."""
        start = super().start
        if is_function(start, SitemapSpider.start):
            start = super(SitemapSpider, self).start
        return start()

    if hasattr(Spider, _OLD_NAME):

        def start_requests(self) -> Any:  # overriding methods have different types
            """The method that the other class's `start` calls up to Scrapy 2.15."""
            found: Callable[[], Any] = getattr(super(), _OLD_NAME)
            if is_function(found, getattr(SitemapSpider, _OLD_NAME)):
                found = getattr(super(SitemapSpider, self), _OLD_NAME)
            if is_function(found, getattr(Spider, _OLD_NAME)):  # calling it logs a warning
                return (Request(url, dont_filter=True) for url in self.start_urls)
            return found()


def is_function(method: Any, function: Any) -> bool:
    """Whether a method is this function, not an override."""
    return getattr(method, "__func__", None) is function
