"""The policies of a crawl, for spiders and all other code that has the crawler."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy_rep.middleware import RepMiddleware
from scrapy_rep.policies import Policies
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import ConfigurationError, InvalidUri

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


async def policy_for(crawler: Crawler, url: str) -> Policy:
    """The policy of a URL's origin, from the crawl's cache or from one fetch.

    Await it in callbacks, in `start` and in pipelines. Do not await it where the fetch itself would
    wait for you: in handlers of `robots_parsed`, and in `process_request` of middlewares.

    Raises:
        ConfigurationError: this crawl does not obey robots.txt through `RepMiddleware`.
        InvalidUri: robots.txt does not govern the scheme of the URL, or the URL has no host.
    """
    middleware = middleware_of(crawler, "policy_for")
    origin = Origin.of(url)
    if origin is None:
        raise InvalidUri(f"{url!r}: robots.txt governs http, https and ftp URLs only")
    return await middleware.policy_for(origin)


def policies_of(crawler: Crawler, asker: str) -> Policies:
    """The policies of a crawl that has begun; `asker` is named in the error.

    Raises:
        ConfigurationError: this crawl does not obey robots.txt through `RepMiddleware`.
    """
    return middleware_of(crawler, asker).policies


def middleware_of(crawler: Crawler, asker: str) -> RepMiddleware:
    """The middleware of a crawl that has begun; `asker` is named in the error.

    Raises:
        ConfigurationError: this crawl does not obey robots.txt through `RepMiddleware`.
    """
    middleware = crawler.get_downloader_middleware(RepMiddleware)
    if middleware is None:
        raise ConfigurationError(
            f"{asker} needs RepMiddleware: set ROBOTSTXT_OBEY = True and "
            'ADDONS = {"scrapy_rep.Addon": 500}'
        )
    return middleware
