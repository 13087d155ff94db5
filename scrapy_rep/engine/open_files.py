"""Open files of the process: their limit, and the idle connections that take them.

Scrapy keeps each connection open for minutes after its last request. A broad crawl visits more
hosts than that than a process may open files, which are usually 1,024.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from scrapy.utils.httpobj import urlparse_cached

from .handlers import built_handlers
from .loops import Ticks

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

_LOOK_SECONDS = 0.25
_GRACE_SECONDS = 10.0  # a callback may take that long to yield more requests to the host
_SELECT_LIMIT = 1024  # FD_SETSIZE: `select` fails with a larger number of a file
_MANY, _TOO_MANY = 0.5, 0.75  # shares of the limit

Idle = tuple[str, Any, Callable[[], None]]
"""The host of an idle connection, or an empty text for a proxy; the connection; how to close it."""


def raise_limit() -> tuple[int, int] | None:
    """Raise the soft limit to the hard one; return both limits, or None if nothing changed."""
    if _uses_select():
        return None
    with suppress(ImportError, OSError, ValueError):
        import resource  # Windows has none

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if soft != hard:
            resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
            return soft, hard
    return None


def limit() -> float:
    """How many files the process may have open; infinite if that is not known."""
    most = float(_SELECT_LIMIT) if _uses_select() else float("inf")
    with suppress(ImportError, OSError):
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = min(most, soft if soft >= 0 else most)  # negative: no limit
    return most


def _uses_select() -> bool:
    """Whether the event loop waits with `select`, which knows small numbers of files only."""
    reactor = sys.modules.get("twisted.internet.reactor")
    return type(reactor).__name__ == "SelectReactor"


class IdleConnections:
    """Closes the idle connections of a crawl that it will not use again.

    A connection is closed once the crawl has had no request for its host for ten seconds; at once,
    if the process has opened half of the files that it may; and even with requests, if it has
    opened three quarters of them.
    """

    def __init__(self, crawler: Crawler, is_wanted: Callable[[str], bool]) -> None:
        """Take a function that tells if requests are queued for a host."""
        self._crawler = crawler
        self._is_wanted = is_wanted
        self._since: dict[Any, float] = {}  # when each connection was first seen to be idle
        self._ticks = Ticks(_LOOK_SECONDS)
        self._ticks.add(self.look)

    def stop(self) -> None:
        """Close nothing any more."""
        self._ticks.stop()

    def look(self, *, is_short: bool = False) -> None:
        """Close the connections that are to be closed now; all of them if files are short."""
        found, now = list(_idle(self._crawler)), time.monotonic()
        active: Any = getattr(getattr(self._crawler.engine, "downloader", None), "active", ())
        hosts = {urlparse_cached(request).hostname for request in active} if found else ()
        share = (len(found) + len(active)) / limit()
        grace_seconds = 0.0 if share > _MANY else _GRACE_SECONDS
        since: dict[Any, float] = {}
        for host, connection, close in found:
            idle_at = self._since.get(connection, now)
            is_wanted = not host or host in hosts or self._is_wanted(host)
            is_left = not is_wanted and now - idle_at >= grace_seconds
            if is_short or share > _TOO_MANY or is_left:
                _close(close)
            elif not is_wanted:
                since[connection] = idle_at
        self._since = since


def close_idle(crawler: Crawler) -> None:
    """Close all idle connections of a crawl."""
    for _, _, close in _idle(crawler):
        _close(close)


def _close(close: Callable[[], None]) -> None:
    with suppress(Exception):  # the other side may have closed it just now
        close()


def _idle(crawler: Crawler) -> Iterator[Idle]:
    """The idle connections of Scrapy's download handlers for HTTP/1.1, with a way to close each."""
    for handler in built_handlers(crawler):
        pool = getattr(handler, "_pool", None)
        if hasattr(pool, "_connections") and hasattr(pool, "_removeConnection"):
            yield from _of_twisted(pool)
        connector = getattr(getattr(handler, "_session", None), "_connector", None)
        connections = getattr(connector, "_conns", None)
        if isinstance(connections, Mapping):
            yield from _of_aiohttp(connections)


def _of_twisted(pool: Any) -> Iterator[Idle]:
    connections, timeouts = pool._connections, pool._timeouts  # noqa: SLF001
    remove = pool._removeConnection  # noqa: SLF001 - it has a public way for all of them only
    for key, kept in list(connections.items()):
        if not kept:  # the pool itself never forgets a host
            del connections[key]
            continue
        is_direct = key[0] in (b"http", b"https")
        host = key[1].decode("latin-1") if is_direct and isinstance(key[1], bytes) else ""
        for connection in list(kept):

            def close(connection: Any = connection, key: Any = key) -> None:
                timeout = timeouts.get(connection)
                if timeout is not None and timeout.active():
                    timeout.cancel()
                remove(key, connection)

            yield host, connection, close


def _of_aiohttp(connections: Any) -> Iterator[Idle]:
    for key, kept in list(connections.items()):
        host = "" if getattr(key, "proxy", None) else str(getattr(key, "host", ""))
        for entry in list(kept):

            def close(entry: Any = entry, key: Any = key) -> None:
                connections[key].remove(entry)
                if not connections[key]:
                    del connections[key]
                entry[0].close()

            yield host, entry[0], close
