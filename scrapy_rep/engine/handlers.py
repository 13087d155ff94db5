"""The download handlers of a crawl: the URL that each of them sends, and a hook around them all."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import urldefrag, urlparse

from scrapy.utils.httpobj import urlparse_cached

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

Download = Callable[["Request"], Awaitable["Response"]]
"""Downloads a request, as `DownloadHandlers.download_request_async` does."""

_OF_SCRAPY = "scrapy.core.downloader.handlers."


def handlers_of(crawler: Crawler) -> Any:
    """The download handlers of a crawl that has begun; None if its downloader has none."""
    return getattr(getattr(crawler.engine, "downloader", None), "handlers", None)


def handler_of(crawler: Crawler, scheme: str) -> Any:
    """The download handler for the URLs of a scheme; None if it is not known."""
    find = getattr(handlers_of(crawler), "_get_handler", None)
    return None if find is None else find(scheme)


def built_handlers(crawler: Crawler) -> list[Any]:
    """The download handlers that a crawl has used so far."""
    built = getattr(handlers_of(crawler), "_handlers", None)
    return list(built.values()) if isinstance(built, dict) else []


def wrap_downloads(crawler: Crawler, wrap: Callable[[Download], Download]) -> bool:
    """Replace the method that passes requests to the handlers; False without such a method.

    Middlewares see neither what a handler gets nor the answer as it came. Scrapy has no hook there.
    """
    handlers = handlers_of(crawler)
    if not hasattr(handlers, "download_request_async"):
        return False
    handlers.download_request_async = wrap(handlers.download_request_async)
    return True


class SentUrls:
    """Tells for one crawl which URLs its download handlers send."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._rewrites: dict[str, Callable[[Request], str]] = {}  # by scheme

    def of(self, request: Request) -> str:
        """The URL that goes over the wire for a request, as far as verdicts can differ by it.

        The other changes of handlers, such as those of escapes, are equal in normal form.
        """
        url: str = request.url
        if ";" not in url and not url.endswith("?"):  # as nearly all
            return url
        scheme = urlparse_cached(request).scheme
        rewrite = self._rewrites.get(scheme)
        if rewrite is None:
            handler = handler_of(self._crawler, scheme)
            if handler is None:
                return url
            found = (rewrite_of(kind) for kind in type(handler).__mro__)
            rewrite = self._rewrites[scheme] = next(filter(None, found), _as_it_is)
        return rewrite(request)


def rewrite_of(kind: type) -> Callable[[Request], str] | None:
    """The function that tells which URL a class of handlers sends; None if it is not Scrapy's."""
    module = kind.__module__
    return _REWRITES.get(module.removeprefix(_OF_SCRAPY)) if module.startswith(_OF_SCRAPY) else None


def _as_it_is(request: Request) -> str:
    url: str = request.url
    return url


def _by_twisted(request: Request) -> str:
    """Without empty parameters and an empty query."""
    return urlparse(urldefrag(request.url)[0]).geturl()


def _by_http2(request: Request) -> str:
    """Without all parameters at the end of the path."""
    return urlparse(urldefrag(request.url)[0])._replace(params="").geturl()


def _by_aiohttp(request: Request) -> str:
    """Also without the dot at the end of a host."""
    is_encoded = bool(request.meta.get("verbatim_url"))
    url = _library("_aiohttp", "yarl").URL(request.url, encoded=is_encoded)
    return f"{url.scheme}://{url.host_port_subcomponent}{url.raw_path_qs}"


def _by_httpx(request: Request) -> str:
    return str(_library("_httpx", "httpx").URL(request.url))


def _library(module: str, name: str) -> Any:
    """The library of a handler, which may be a private copy."""
    return getattr(sys.modules[_OF_SCRAPY + module], name)


_REWRITES: dict[str, Callable[[Request], str]] = {
    "http11": _by_twisted,
    "http2": _by_http2,
    "_aiohttp": _by_aiohttp,
    "_httpx": _by_httpx,
}
