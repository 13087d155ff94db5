"""Handlers of Scrapy's signals that are connected only while somebody needs them.

Scrapy looks at every handler's signature each time that it calls it, for every request of a crawl,
and most requests are pages: so robots.txt requests listen while there are any.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import call_later

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Listening:
    """Some handlers, by signal, and how many need them."""

    def __init__(self, crawler: Crawler, handlers: Mapping[object, Callable[..., None]]) -> None:
        self._crawler = crawler
        self._handlers = handlers
        self._count = 0
        self._is_connected = False

    @contextmanager
    def on(self) -> Iterator[None]:
        """Have the handlers called meanwhile, and perhaps a little longer."""
        self._count += 1
        if not self._is_connected:
            self._is_connected = True
            self._each(self._crawler.signals.connect)
        try:
            yield
        finally:
            self._count -= 1
            if not self._count:
                # Not now: a signal that is being sent goes through the list of its handlers.
                call_later(0, self._rest)

    def _rest(self) -> None:
        if not self._count and self._is_connected:
            self._is_connected = False
            self._each(self._crawler.signals.disconnect)

    def _each(self, do: Callable[..., Any]) -> None:
        for signal, handler in self._handlers.items():
            do(handler, signal=signal)
