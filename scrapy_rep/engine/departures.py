"""When the octets of requests leave, as far as Scrapy's download handlers show it.

Scrapy tells when it gives a request to a download handler. What the handler does then takes time
that Scrapy does not see: it waits for a free connection, or makes one, with a handshake over TLS.
Both Twisted and aiohttp also send a request again, silently, if a connection that was kept open
turns out to be gone. The site may have seen it twice.

So we listen to the two handlers that Scrapy brings: to Twisted's connection pool by wrapping its
`getConnection`, to aiohttp by its own tracing. A request over a connection that was kept open
leaves at once. New connections and other handlers tell us nothing, and neither does a handler that
lacks the attribute we look for: there, delays are counted from the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from weakref import WeakSet

from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri

from .loops import sleep
from .visits import VisitBook, Visits


class Departures:
    """Tells a thread's visits what the download handlers of one crawl do."""

    def __init__(self, book: VisitBook) -> None:
        self._book = book
        self._known: WeakSet[Any] = WeakSet()

    def listen_to(self, handler: Any) -> None:
        """Listen to a handler from now on; does nothing for known and for other handlers."""
        for name, listen in (("_pool", self._listen_to_pool), ("_session", self._trace)):
            source = getattr(handler, name, None)
            if source is not None and source not in self._known:
                self._known.add(source)
                listen(source)

    def _visits(self, url: str) -> Visits | None:
        try:
            return self._book.get(Origin.of(url))
        except InvalidUri:
            return None

    async def _send_again(self, visits: Visits) -> None:
        """Let a request that is sent again wait as a new one would."""
        visits.is_sent_again()
        await sleep(visits.seconds)
        visits.is_sent_again()

    # Twisted: its pool holds connections by scheme, host and port, and more

    def _listen_to_pool(self, pool: Any) -> None:
        get_connection = getattr(pool, "getConnection", None)
        if get_connection is None:
            return

        def get(key: Any, endpoint: Any) -> Any:
            found = get_connection(key, endpoint)
            visits = self._visits_of(key)
            if visits is not None and isinstance(found, Deferred):
                found.addCallback(self._connected, visits)
            return found

        pool.getConnection = get

    def _visits_of(self, key: Any) -> Visits | None:
        match key:
            case (b"http" | b"https" as scheme, bytes(host), int(port), *_):
                return self._visits(f"{scheme.decode()}://{host.decode('latin-1')}:{port}/")
        return None

    def _connected(self, connection: Any, visits: Visits) -> Any:
        """A request is about to be written to a connection."""
        # Only connections that were kept open have this: they may turn out to be gone.
        again: Callable[[], Any] | None = getattr(connection, "_newConnection", None)
        if again is not None:
            visits.is_leaving()

            def connect_again() -> Any:
                waited = deferred_from_coro(self._send_again(visits))
                return waited.addCallback(lambda _: again())

            connection._newConnection = connect_again  # noqa: SLF001 - Twisted has no other hook
        return connection

    # aiohttp: each request has a context, which counts its connections

    def _trace(self, session: Any) -> None:
        configs = getattr(session, "trace_configs", None)
        if not isinstance(configs, list):
            return
        from aiohttp import TraceConfig  # loaded already: there is a session

        async def started(_: Any, context: SimpleNamespace, told: Any) -> None:
            context.visits = self._visits(str(told.url))
            context.count = 0

        async def connecting(_: Any, context: SimpleNamespace, __: Any) -> None:
            context.count += 1
            if context.count > 1 and context.visits is not None:
                await self._send_again(context.visits)

        async def kept(session: Any, context: SimpleNamespace, told: Any) -> None:
            await connecting(session, context, told)
            if context.count == 1 and context.visits is not None:
                context.visits.is_leaving()

        trace = TraceConfig()
        trace.on_request_start.append(started)
        trace.on_connection_create_start.append(connecting)
        trace.on_connection_reuseconn.append(kept)
        trace.freeze()
        configs.append(trace)
