"""The downloader middlewares of a crawl, and hooks before and after all of them."""

from __future__ import annotations

import inspect
import os
from collections.abc import Awaitable, Callable, Iterator
from functools import partial, wraps
from types import FrameType
from typing import TYPE_CHECKING, Any

from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.deprecate import argument_is_required
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

_CORE = "scrapy.core.downloader"
_MANAGER = f"{_CORE}.middleware"
_OURS = "scrapy_rep."
_BUILT_IN = ("scrapy.", _OURS)
_LIBRARIES = (*_BUILT_IN, "twisted.", "asyncio.")


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


def call_first(crawler: Crawler, name: str, look: Callable[..., Request | None]) -> None:
    """Call a function before the methods of a name of all middlewares, where that is possible.

    It takes their arguments by name: `request`, and `response` or `exception`. It may return a
    request, which takes the place of the response, or is sent after the exception.
    """
    methods = _methods(crawler, name)
    if not methods:
        return
    first = methods[0]
    call = _without_spider(first, crawler)

    @wraps(first)
    def first_of_all(**named: Any) -> Any:
        found = look(**named)
        return call(**named) if found is None else found

    methods[0] = first_of_all


def leave_out(crawler: Crawler, is_left_out: Callable[[Request], bool]) -> None:
    """Keep some requests from the middlewares of the project, that is, all but Scrapy's and ours.

    Scrapy has no chain of middlewares for one request, so their methods are replaced.
    """

    def leaving_out(method: Any, call: Callable[..., Any]) -> Callable[..., Any] | None:
        def unless_left_out(request: Request, **named: Any) -> Any:
            if is_left_out(request):
                return named.get("response")
            return call(request=request, **named)

        return None if _is_built_in(_owner(method)) else unless_left_out

    wrap_each(crawler, leaving_out)


def culprit_of(error: BaseException) -> tuple[str, str] | None:
    """The project's middleware in which an exception was raised: its class, and file and line.

    None if Scrapy, a download handler or this package raised it. The manager of the middlewares
    does not tell which method it was calling, so this reads the frames of the traceback.
    """
    frames = list(_frames(error))
    for index, (frame, _) in enumerate(frames):
        method = frame.f_locals.get("method")
        if method is None or _module(frame) != _MANAGER:
            continue
        inner = [one for one in frames[index + 1 :] if not _module(one[0]).startswith(_OURS)]
        if inner and _module(inner[0][0]).startswith(_CORE):
            continue  # the manager raised the exception of a handler again, or called a handler
        owner = _owner(method)
        if _is_built_in(owner):
            return None
        code: Any = getattr(inspect.unwrap(method), "__code__", None)
        place = (getattr(code, "co_filename", "?"), getattr(code, "co_firstlineno", 0))
        for one, line in inner:
            if not _module(one).startswith(_LIBRARIES):
                place = one.f_code.co_filename, line
                break
        file = os.path.relpath(place[0]) if place[0].startswith(os.getcwd() + os.sep) else place[0]
        return global_object_name(owner), f"{file}, line {place[1]}"
    return None


def _frames(error: BaseException) -> Iterator[tuple[FrameType, int]]:
    """The frames that an exception passed, the outermost first, with their lines."""
    passed = error.__traceback__
    while passed is not None:
        yield passed.tb_frame, passed.tb_lineno
        passed = passed.tb_next


def _module(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _owner(method: Any) -> Any:
    """The class of a middleware, by one of its methods, which may be wrapped."""
    while True:
        owner = getattr(method, "__self__", None)
        if owner is not None:
            return type(owner)
        inner = getattr(method, "__wrapped__", None) or getattr(method, "func", None)
        if inner is None:
            return method if hasattr(method, "__qualname__") else type(method)
        method = inner


def _is_built_in(owner: Any) -> bool:
    return str(getattr(owner, "__module__", "")).startswith(_BUILT_IN)


def wrap_each(
    crawler: Crawler, wrap: Callable[[Any, Callable[..., Any]], Callable[..., Any] | None]
) -> bool:
    """Replace methods of downloader middlewares; False if the downloader hides them.

    `wrap(method, call)` returns the replacement, or None to keep the method. It and `call` take the
    arguments of the method by name: `request`, and `response` or `exception`.
    """
    is_possible = False
    for name in ("process_request", "process_response", "process_exception"):
        methods = _methods(crawler, name) or []
        for place, method in enumerate(methods):
            call = _without_spider(method, crawler)
            replacement = wrap(method, call)
            if replacement is not None:
                methods[place] = wraps(method)(replacement)
            is_possible = True
    return is_possible


def _methods(crawler: Crawler, name: str) -> Any:
    """The methods with a name of all downloader middlewares; empty if the downloader hides them."""
    downloader: Any = getattr(crawler.engine, "downloader", None)
    return getattr(getattr(downloader, "middleware", None), "methods", {}).get(name)


def _without_spider(method: Any, crawler: Crawler) -> Callable[..., Any]:
    """Bind the argument `spider` of a middleware's method, if it still requires one."""
    needs_spider = argument_is_required(method, "spider")
    return partial(method, spider=crawler.spider) if needs_spider else method
