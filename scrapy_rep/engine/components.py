"""The downloader middlewares of a crawl, and hooks before and after all of them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.deprecate import argument_is_required
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings


def middleware_orders(settings: BaseSettings) -> dict[Any, int | None]:
    """The downloader middlewares with their orders; None for disabled middlewares.

    The user's setting overrides Scrapy's, and either may name a class by its import path. Scrapy
    2.15.1 and newer have a method for this.
    """
    merged = settings.getwithbase("DOWNLOADER_MIDDLEWARES")
    return {load_object(component): order for component, order in merged.items()}


def call_last(crawler: Crawler, look: Callable[[Request], Awaitable[Any] | None]) -> bool:
    """Call a function with each request that all middlewares let pass; False if not possible.

    The function may return the same as `process_request` of a middleware. The last method is
    wrapped, because adding a method could disturb requests that are passing through the list.
    """
    methods = _methods(crawler, "process_request")
    if not methods:
        return False
    last = methods[-1]
    call = _without_spider(last, crawler)

    async def then_look(found: Any, request: Request) -> Any:
        found = await ensure_awaitable(found, _warn=global_object_name(last))
        looking = look(request) if found is None else None
        return found if looking is None else await looking

    @wraps(last)
    def last_of_all(request: Request) -> Any:
        found = call(request=request)
        return look(request) if found is None else then_look(found, request)

    methods[-1] = last_of_all
    return True


def call_first(crawler: Crawler, look: Callable[[Request, Response], Request | None]) -> None:
    """Call a function with each response before any middleware sees it, where that is possible.

    Like `process_response` of a middleware, it may return a request, which takes the place of the
    response.
    """
    methods = _methods(crawler, "process_response")
    if not methods:
        return
    first = methods[0]
    call = _without_spider(first, crawler)

    @wraps(first)
    def first_of_all(request: Request, response: Response) -> Any:
        found = look(request, response)
        return call(request=request, response=response) if found is None else found

    methods[0] = first_of_all


def _methods(crawler: Crawler, name: str) -> Any:
    """The methods with a name of all downloader middlewares; empty if the downloader hides them."""
    downloader: Any = getattr(crawler.engine, "downloader", None)
    return getattr(getattr(downloader, "middleware", None), "methods", {}).get(name)


def _without_spider(method: Any, crawler: Crawler) -> Callable[..., Any]:
    """Bind the argument `spider` of a middleware's method, if it still requires one."""
    needs_spider = argument_is_required(method, "spider")
    return partial(method, spider=crawler.spider) if needs_spider else method
