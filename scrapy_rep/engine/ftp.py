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
from twisted.internet.error import ConnectionDone
from twisted.internet.protocol import Protocol, connectionDone
from twisted.python.failure import Failure

from .loops import Promise, within

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
    file = _File(limit_octets)
    try:
        return await within(request.meta["download_timeout"], _retrieved(file, request, settings))
    finally:
        file.abort()


class _File(Protocol):
    """The data connection.

    Attributes:
        client: the control connection, once there is one.
        done: kept when the transfer is complete or full, and fails with the server's refusal.
        octets: the octets so far, up to one more than the limit.
        is_broken: whether the connection did not end in order.
    """

    def __init__(self, limit_octets: int) -> None:
        self._limit_octets = limit_octets
        self.client: Any = None
        self.done: Promise[None] = Promise()
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
            self.done.keep(None)

    def connectionLost(self, reason: Failure = connectionDone) -> None:  # noqa: N802 - likewise
        """Note how it ended."""
        self.is_broken = not isinstance(reason.value, ConnectionDone)

    def abort(self) -> None:
        """Abort both connections, in any state."""
        transports: list[Any] = [self.transport, getattr(self.client, "transport", None)]
        for transport in filter(None, transports):
            transport.abortConnection()


async def _retrieved(file: _File, request: Request, settings: BaseSettings) -> Response:
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
    file.client = await maybe_deferred_to_future(
        creator.connectTCP(url.hostname, url.port or _PORT, timeout=meta["download_timeout"])
    )
    retrieving = file.client.retrieveFile(unquote(url.path), file)
    retrieving.addCallbacks(lambda _: file.done.keep(None), lambda why: file.done.fail(why.value))
    try:
        await file.done
    except CommandFailed as error:
        return _refusal(request.url, str(error))
    if file.is_broken and not file.is_full:
        raise ResponseDataLossError(request.url)
    return Response(request.url, body=bytes(file.octets))


def _refusal(url: str, reply: str) -> Response:
    code = re.search(r"\d+", reply)
    is_missing = code is not None and code.group() == _MISSING[0]
    return Response(url, status=_MISSING[1] if is_missing else _REFUSED, body=reply.encode())


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
