"""Watches robots.txt requests on their way, and the connections of Scrapy's built-in handlers.

The signals of a robots.txt request are read where the crawl sends them. Handlers of signals would
cost each page request as much as each robots.txt request, which is a few percent of its time.

Scrapy does not tell how a connection ended, so a body without an announced length looks complete if
its connection broke. Scrapy does not limit the head of an answer either. Both can be observed where
a handler passes octets to the parser of its library. For other handlers, endings are unknown.

This module uses undocumented interfaces of Scrapy, Twisted and aiohttp. A handler that lacks one of
the attributes counts as an unknown handler.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import StopDownload
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import connectionDone
from twisted.python.failure import Failure
from twisted.web._newclient import HTTP11ClientProtocol

from scrapy_rep.protocol.access.endings import Ending

from . import ftp
from .handlers import Download, handler_of, wrap_downloads
from .transfer import (
    HEAD_OCTETS,
    MOST_SENT,
    Connection,
    EnoughCameError,
    SentTooOftenError,
    Transfer,
)

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_carrying: ContextVar[Transfer | None] = ContextVar("carrying", default=None)

_OF_AIOHTTP = ("set_response_params", "data_received", "eof_received", "connection_lost")


def _is_stop(result: Any) -> bool:
    """Whether a handler of other code stops a download."""
    return isinstance(result, Failure) and isinstance(result.value, StopDownload)


def _reached(transfer: Transfer, named: dict[str, Any]) -> None:
    """Note that our request, or its replacement by a middleware, has come to the downloader."""
    transfer.begin(named["request"])
    if transfer.prepare is not None:
        transfer.prepare(named["request"])


def _left(transfer: Transfer, _: dict[str, Any]) -> None:
    transfer.is_back = True


def _octets_came(transfer: Transfer, named: dict[str, Any]) -> StopDownload | None:
    # Set too late to bound the download itself. It bounds what Scrapy decompresses.
    named["request"].meta["download_maxsize"] = transfer.limit_octets + 1
    is_enough = transfer.has_enough_after(named["data"])
    return EnoughCameError(fail=False) if is_enough else None


def _downloaded(transfer: Transfer, named: dict[str, Any]) -> None:
    if transfer.response is None:  # no handler of Scrapy's brought it
        transfer.came(named["response"])


class OversizedAnswerError(Exception):
    """An answer is larger than a robots.txt within the parse limit could be."""


class Wires:
    """Passes a crawl's robots.txt requests to its download handlers, and watches connections.

    Attributes:
        speaking: the connection that passes octets to its parser just now.
        awaited: the number of robots.txt requests under way, by URL.
    """

    def __init__(self, crawler: Crawler) -> None:
        """Watch a crawl, which must have a running engine."""
        self._crawler = crawler
        self._watched: set[str] = set()  # schemes
        self.awaited: Counter[str] = Counter()
        self.speaking: Connection | None = None
        wrap_downloads(crawler, self._watching_transfers)
        self._listen()

    def _watching_transfers(self, download: Download) -> Download:
        def carry(request: Request) -> Awaitable[Response]:
            # Most requests are for pages, and should not pay for another coroutine.
            transfer = Transfer.of(request)
            if transfer is None:
                return download(request)
            return self._carry(request, transfer, download)

        return carry

    def _listen(self) -> None:
        """Note the signals of robots.txt requests, before other code handles them.

        `StopDownload` of other code is hidden from handlers that receive a robots.txt: a spider
        that stops the downloads of its pages early means pages, not robots.txt files.
        """
        signal_manager = self._crawler.signals
        send = signal_manager.send_catch_log
        notes: dict[Any, Callable[[Transfer, dict[str, Any]], StopDownload | None]] = {
            signals.request_reached_downloader: _reached,
            signals.request_left_downloader: _left,
            signals.headers_received: self._head_came,
            signals.bytes_received: _octets_came,
            signals.response_downloaded: _downloaded,
        }

        def send_after_note(signal: Any, **named: Any) -> list[tuple[Any, Any]]:
            transfer = Transfer.of(named["request"]) if signal in notes else None
            if transfer is None:
                return send(signal, **named)
            stop = notes[signal](transfer, named)
            results = [one for one in send(signal, **named) if not _is_stop(one[1])]
            if stop is not None:
                results.append((send_after_note, Failure(stop)))  # type: ignore[no-untyped-call]
            return results

        signal_manager.send_catch_log = send_after_note  # type: ignore[method-assign]

    def _head_came(self, transfer: Transfer, named: dict[str, Any]) -> None:
        """Note a complete head; called while its octets are passed to the parser."""
        transfer.head_came(named["headers"], named.get("body_length"))
        connection = transfer.connection = self.speaking or transfer.connection
        if connection is not None:
            connection.head_came(transfer.limit_octets)

    async def _carry(self, request: Request, transfer: Transfer, download: Download) -> Response:
        """Download a robots.txt request, and keep the answer as it came."""
        transfer.handled_since = time.monotonic()
        scheme = request.url.partition(":")[0]
        handler = self._handler(scheme)
        if transfer.sent_count > MOST_SENT:
            transfer.error = SentTooOftenError(f"{request} was sent {MOST_SENT} times")
            raise transfer.error
        try:
            if scheme == "ftp" and ftp.is_built_in(handler):
                limit = transfer.limit_octets
                response = await ftp.retrieve(request, self._crawler.settings, limit)
            else:
                with self._awaiting(request.url, transfer):
                    response = await download(request)
        except Exception as error:
            transfer.error = error
            raise
        transfer.came(response)
        return response

    @contextmanager
    def _awaiting(self, url: str, transfer: Transfer) -> Iterator[None]:
        """Mark a URL as awaited, so that connections find the transfer."""
        token = _carrying.set(transfer)
        self.awaited[url] += 1
        try:
            yield
        finally:
            self.awaited[url] -= 1
            if not self.awaited[url]:
                del self.awaited[url]
            _carrying.reset(token)

    def _handler(self, scheme: str) -> Any:
        """The handler for the URLs of a scheme, watched from now on."""
        handler = handler_of(self._crawler, scheme)
        if handler is not None and scheme not in self._watched:
            self._watched.add(scheme)
            pool = getattr(handler, "_pool", None)
            if hasattr(pool, "_newConnection") and hasattr(pool, "getConnection"):
                self._watch_twisted(pool)
            connector = getattr(getattr(handler, "_session", None), "_connector", None)
            if hasattr(connector, "connect"):
                _watch_aiohttp(connector)
        return handler

    def _watch_twisted(self, pool: Any) -> None:
        """Watch the connections that may carry a robots.txt request.

        Such a connection is opened, found or opened again while the URL of the request is awaited.
        """

        def watching(get: Callable[..., Any]) -> Callable[..., Any]:
            def get_connection(*args: Any, **kwargs: Any) -> Any:
                found = get(*args, **kwargs)
                if self.awaited and isinstance(found, Deferred):
                    found.addCallback(self._watch_found)
                return found

            return get_connection

        pool._newConnection = watching(pool._newConnection)  # noqa: SLF001 - see the contract
        pool.getConnection = watching(pool.getConnection)

    def _watch_found(self, found: Any) -> Any:
        """Watch a connection of Twisted's client that was opened, or kept open, by its class.

        Replacing methods would create reference cycles, so that each connection would have to wait
        for the garbage collector.
        """
        kept: Any = getattr(found, "_clientProtocol", found)  # inside Twisted's retry wrapper
        kind: Any = type(kept)
        if issubclass(kind, HTTP11ClientProtocol) and not issubclass(kind, _WatchedProtocol):
            received = getattr(vars(kept).get("dataReceived"), "__func__", None)
            if received is kind.dataReceived:
                del kept.dataReceived  # put there by Scrapy's tunnel through a proxy, when done
            # The class may have another layout, or be a user's class that refuses this. It is not
            # watched then: an exception here would make every request fail, including pages.
            with suppress(Exception):
                kept.rep_wires, kept.rep_connection = self, Connection()
                kept.__class__ = _watching(kind)
        return found

    def is_awaited(self, asked: Any) -> bool:
        """Whether a request of Twisted's client is a robots.txt request."""
        path = asked.uri.decode("latin-1")[1:]  # the slash may be Twisted's
        if not any(uri.endswith(path) for uri in self.awaited):  # a page; this is fast
            return False
        return (asked.absoluteURI or b"").decode("latin-1") in self.awaited


class _WatchedProtocol(HTTP11ClientProtocol):
    """A connection of Twisted's HTTP/1.1 client, watched."""

    rep_wires: Wires
    rep_connection: Connection

    def request(self, request: Any) -> Any:
        """Send a request."""
        wires, connection = self.rep_wires, self.rep_connection
        if wires.awaited or connection.most_octets is not None:  # rare: most requests are for pages
            connection.begin(HEAD_OCTETS if wires.is_awaited(request) else None)
        return super().request(request)

    def dataReceived(self, data: bytes) -> None:  # noqa: N802
        """Pass octets to the parser, unless there are too many of them."""
        connection, wires = self.rep_connection, self.rep_wires
        if connection.most_octets is None and not wires.awaited:  # the usual case: a page
            super().dataReceived(data)  # type: ignore[no-untyped-call]
        elif connection.takes(len(data)):
            before, wires.speaking = wires.speaking, connection
            try:
                super().dataReceived(data)  # type: ignore[no-untyped-call]
            finally:
                wires.speaking = before
        elif connection.ending is Ending.UNKNOWN:
            self.connectionLost(Failure(_oversized(connection)))  # type: ignore[no-untyped-call]
            transport: Any = self.transport
            transport.abortConnection()

    def connectionLost(self, reason: Any = connectionDone) -> None:  # noqa: N802
        """Note how the connection ended."""
        connection = self.rep_connection
        if connection.ending is Ending.UNKNOWN:
            is_done = isinstance(reason.value, ConnectionDone)
            connection.ending = Ending.CLOSED if is_done else Ending.BROKEN
            super().connectionLost(reason)  # type: ignore[no-untyped-call]


@cache
def _watching(kind: Any) -> Any:
    return type(kind.__name__, (_WatchedProtocol, kind), {"__module__": kind.__module__})


def _watch_aiohttp(connector: Any) -> None:
    """Watch a connector's connections that carry robots.txt requests, new or kept open."""
    connect = connector.connect

    async def connect_for_ours(*args: Any, **kwargs: Any) -> Any:
        found = await connect(*args, **kwargs)
        protocol: Any = getattr(found, "protocol", None)
        is_known = all(hasattr(protocol, name) for name in _OF_AIOHTTP)
        if is_known and not hasattr(protocol, "rep_connection"):
            _watch_client(protocol)
            if protocol.transport is not None:  # uvloop looks up the methods in `set_protocol` only
                protocol.transport.set_protocol(protocol)
        return found

    def connect_any(*args: Any, **kwargs: Any) -> Any:
        is_ours = _carrying.get() is not None
        return connect_for_ours(*args, **kwargs) if is_ours else connect(*args, **kwargs)

    connector.connect = connect_any


def _watch_client(protocol: Any) -> None:
    """Watch a connection of aiohttp's client from now on."""
    connection = protocol.rep_connection = Connection(has_ended_body=_is_amid_body(protocol))
    prepare, receive = protocol.set_response_params, protocol.data_received
    end, lose = protocol.eof_received, protocol.connection_lost

    def set_response_params(**parameters: Any) -> None:
        transfer = _carrying.get()
        connection.begin(None if transfer is None else HEAD_OCTETS)
        if transfer is not None:
            transfer.connection = connection
        prepare(**parameters)

    def data_received(data: bytes) -> None:
        if connection.takes(len(data)):
            receive(data)
        elif protocol.transport is not None:
            error = _oversized(connection)
            protocol.set_exception(error)
            payload = getattr(protocol, "_payload", None)
            if payload is not None:
                payload.set_exception(error)
            protocol.transport.abort()

    def eof_received() -> Any:
        connection.eof_came(is_orderly=_is_orderly(protocol.transport))
        return end()

    def connection_lost(error: BaseException | None) -> None:
        connection.has_ended_body = _is_amid_body(protocol)
        connection.end(error)
        lose(error)

    protocol.set_response_params = set_response_params
    protocol.data_received = data_received
    protocol.eof_received = eof_received
    protocol.connection_lost = connection_lost


def _is_amid_body(protocol: Any) -> bool | None:
    """Whether a body has begun and not ended, by aiohttp's parser; None if that is not known."""
    if not hasattr(protocol, "_payload"):
        return None
    payload = protocol._payload  # noqa: SLF001
    return payload is not None and not payload.is_eof()


def _is_orderly(transport: Any) -> bool | None:
    """Whether a stream of asyncio's ended in order; None if that is not known.

    Python's ssl module does not tell whether a close_notify came. But after a close_notify, asyncio
    does not wait for the end of the stream below TLS, which it records since Python 3.11. Up to
    3.10, asyncio begins to shut down on a close_notify, and reports the end of the stream only
    without a close_notify.
    """
    if transport is None:
        return None
    if transport.get_extra_info("ssl_object") is None:
        return True
    below = getattr(transport, "_ssl_protocol", None)
    if getattr(below, "_in_shutdown", None) is False:
        return False
    has_ended_below = getattr(below, "_eof_received", None)
    return None if has_ended_below is None else not has_ended_below


def _oversized(connection: Connection) -> OversizedAnswerError:
    return OversizedAnswerError(f"{connection.came_octets} octets came, which is too much")
