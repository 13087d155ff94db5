"""The crawl's connection to Redis: one for the store and the queue, whichever asks first."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import ReferenceType, WeakKeyDictionary, ref

from scrapy.utils.asyncio import is_asyncio_available

from scrapy_rep.cache.link import Link
from scrapy_rep.protocol.errors import ConfigurationError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

# Weak both ways: a link knows the spider, which knows its crawler.
_links: WeakKeyDictionary[Crawler, ReferenceType[Link]] = WeakKeyDictionary()


def link_of(crawler: Crawler, url: str) -> Link:
    """The link of a crawl; each user opens it, and closes it in the end.

    Raises:
        ConfigurationError: Scrapy does not run on asyncio, redis-py is not installed, or the URL
            of `REP_REDIS_URL` is wrong.
    """
    if not is_asyncio_available():
        raise ConfigurationError(
            "REP_REDIS_URL needs asyncio: remove TWISTED_REACTOR from your settings, or set it to "
            "'twisted.internet.asyncioreactor.AsyncioSelectorReactor'"
        )
    known = _links.get(crawler)
    link = known() if known is not None else None
    if link is None:
        link = Link(url, extra={"spider": crawler.spider})
        _links[crawler] = ref(link)
    return link
