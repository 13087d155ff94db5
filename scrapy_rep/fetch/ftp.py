"""robots.txt files over FTP, with bounds on size and time.

Scrapy's own handler for FTP has no such limits, and does not notice how a transfer ends. This
module replaces it, for robots.txt files only.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from scrapy.exceptions import ResponseDataLossError
from scrapy.http import Response
from scrapy.utils.defer import maybe_deferred_to_future
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from scrapy_rep.engine.loops import within

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.settings import BaseSettings

_REPLIES_OCTETS = 64 * 1024  # of all replies over the control connection
_PORT = 21
_MISSING = ("550", 404)
_REFUSED = 503  # Scrapy's status for every other failure that a server reports


def is_built_in(handler: Any) -> bool:
    """Whether a download handler is Scrapy's own for FTP."""
    if handler is None:
        return False
    from scrapy.core.downloader.handlers.ftp import FTPDownloadHandler

    return type(handler) is FTPDownloadHandler


async def retrieve(request: Request, settings: BaseSettings, limit_octets: int) -> Response:
    """Download the beginning of a file, at most one octet more than the limit.

    Raises:
        TimeoutError: it took longer than the request's `download_timeout`.
        ResponseDataLossError: the transfer broke.
        Exception: the connection failed.
    """
    transfer = _Retrieval(limit_octets)
    try:
        return await within(request.meta["download_timeout"], transfer.run(request, settings))
    finally:
        transfer.abort()


class _File(Protocol):
    """The data connection."""

    def __init__(self, limit_octets: int, done: Deferred[None]) -> None:
        self._limit_octets = limit_octets
        self._done = done
        self.octets = bytearray()
        self.is_broken = False

    @property
    def is_full(self) -> bool:
        """Whether more octets came than the limit."""
        return len(self.octets) > self._limit_octets

    def dataReceived(self, data: bytes) -> None:  # noqa: N802 - the name is Twisted's
        """Keep the octets up to the limit, and one more."""
        missing = self._limit_octets + 1 - len(self.octets)
        self.octets += data[:missing]
        if self.is_full:
            self.abort()
            _fire(self._done)

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802 - likewise
        """Note how it ended."""
        self.is_broken = not isinstance(reason.value, ConnectionDone)

    def abort(self) -> None:
        """Abort the connection."""
        transport: Any = self.transport
        if transport is not None:
            transport.abortConnection()


class _Retrieval:
    """The transfer of one file."""

    def __init__(self, limit_octets: int) -> None:
        self._done: Deferred[None] = Deferred()
        self._file = _File(limit_octets, self._done)
        self._client: Any = None

    async def run(self, request: Request, settings: BaseSettings) -> Response:
        """Connect, log in, retrieve."""
        from twisted.internet import reactor
        from twisted.internet.protocol import ClientCreator
        from twisted.protocols.ftp import CommandFailed

        meta, url = request.meta, urlsplit(request.url)
        creator: Any = ClientCreator(  # type: ignore[no-untyped-call]
            reactor,
            _client_class(),
            meta.get("ftp_user", settings["FTP_USER"]),
            meta.get("ftp_password", settings["FTP_PASSWORD"]),
            passive=1 if meta.get("ftp_passive", settings["FTP_PASSIVE_MODE"]) else 0,
        )
        self._client = await maybe_deferred_to_future(
            creator.connectTCP(url.hostname, url.port or _PORT, timeout=meta["download_timeout"])
        )
        retrieving = self._client.retrieveFile(unquote(url.path), self._file)
        retrieving.addCallbacks(lambda _: _fire(self._done), lambda why: _fail(self._done, why))
        try:
            await maybe_deferred_to_future(self._done)
        except CommandFailed as error:
            return _refusal(request.url, str(error))
        if self._file.is_broken and not self._file.is_full:
            raise ResponseDataLossError(request.url)
        return Response(request.url, body=bytes(self._file.octets))

    def abort(self) -> None:
        """Abort both connections in any state."""
        self._file.abort()
        if self._client is not None and self._client.transport is not None:
            self._client.transport.abortConnection()


def _refusal(url: str, reply: str) -> Response:
    code = re.search(r"\d+", reply)
    is_missing = code is not None and code.group() == _MISSING[0]
    return Response(url, status=_MISSING[1] if is_missing else _REFUSED, body=reply.encode())


def _fire(done: Deferred[None]) -> None:
    if not done.called:
        done.callback(None)


def _fail(done: Deferred[None], why: Failure) -> None:
    if not done.called:
        done.errback(why)


def _client_class() -> Any:
    """Twisted's client with a bound on replies; importing it takes a reactor."""
    from twisted.protocols import ftp

    base: Any = ftp.FTPClient

    class Client(base):  # type: ignore[misc]
        """Counts the octets of replies."""

        _came_octets = 0

        def dataReceived(self, data: bytes) -> None:  # noqa: N802 - the name is Twisted's
            """Abort the connection if the server does not stop."""
            self._came_octets += len(data)
            if self._came_octets <= _REPLIES_OCTETS:
                super().dataReceived(data)
            else:
                self.transport.abortConnection()  # makes all waiting commands fail

    return Client
