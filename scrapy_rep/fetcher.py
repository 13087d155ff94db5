"""One robots.txt exchange through Scrapy's engine, hop by hop.

Takes an origin, gives an `Answer`: whatever Scrapy answers or raises becomes an event of the
protocol's, and what it means is decided elsewhere.

Redirects are followed here, each hop as a fresh request, because Scrapy's own redirects depend on
settings and spiders, follow HTML, and carry meta from hop to hop. The transfer stops once there is
more than the parse limit can use; Scrapy's size limit would throw away what came before.
"""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
    IgnoreRequest,
    NotSupported,
    ResponseDataLossError,
    StopDownload,
    UnsupportedURLSchemeError,
)
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import run_in_thread

from . import stats
from .engine import is_closing
from .hosts import site_of
from .loops import within
from .protocol.access import Failure, name_of
from .protocol.guard import Guard, is_public_address
from .protocol.knowledge import Answer, Copy
from .protocol.origin import Origin
from .protocol.redirects import next_hop
from .transfer import Transfer, UndecodableError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Headers, Response

    from .identity import Identity
    from .settings import RepSettings
    from .slots import Slots

logger = logging.getLogger(__name__)

_MARK = "rep_fetch"
_SLOW_SECONDS = 5.0
_PRIORITY = 1000  # as Scrapy's own; nothing schedules these requests, but middlewares may look

_FAILURES: tuple[tuple[type[BaseException], Failure], ...] = (
    (CannotResolveHostError, Failure.DNS),
    (DownloadConnectionRefusedError, Failure.REFUSED),
    (DownloadTimeoutError, Failure.TIMEOUT),
    (ResponseDataLossError, Failure.TRUNCATED),
    (DownloadCancelledError, Failure.LOCAL),
    (UnsupportedURLSchemeError, Failure.LOCAL),
    (NotSupported, Failure.LOCAL),
    (IgnoreRequest, Failure.LOCAL),
    (TimeoutError, Failure.TIMEOUT),
    (ConnectionResetError, Failure.RESET),
    (UndecodableError, Failure.UNDECODABLE),
    (EOFError, Failure.UNDECODABLE),
    (ConnectionError, Failure.NETWORK),
    (OSError, Failure.UNDECODABLE),  # what Scrapy's decompression raises, gzip.BadGzipFile first
)
_FAILURE_WORDS = (("ssl", Failure.TLS), ("tls", Failure.TLS), ("reset", Failure.RESET))


class Fetcher:
    """Asks for robots.txt files."""

    def __init__(
        self, crawler: Crawler, settings: RepSettings, identity: Identity, slots: Slots
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._identity = identity
        self._slots = slots
        self._asking: dict[Origin, Request] = {}
        crawler.signals.connect(self._begun, signal=signals.request_reached_downloader)
        crawler.signals.connect(self._headers_received, signal=signals.headers_received)
        crawler.signals.connect(self._bytes_received, signal=signals.bytes_received)
        crawler.signals.connect(self._response_downloaded, signal=signals.response_downloaded)

    async def fetch(
        self,
        origin: Origin,
        copy: Copy | None = None,
        *,
        known: Callable[[str], Copy | None] = lambda _: None,
        meta: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Ask for the robots.txt of an origin, and say so in the log where that takes long.

        Takes and gives what `_follow` does, and does not raise either.
        """
        started = time.monotonic()
        try:
            answer = await self._follow(origin, copy, known, meta or {})
        finally:
            self._asking.pop(origin, None)
        seconds = time.monotonic() - started
        if seconds > _SLOW_SECONDS:
            logger.warning(
                "The robots.txt of %s took %.1f seconds (%s)",
                origin,
                seconds,
                name_of(answer.event),
                extra=self._extra,
            )
        return answer

    def is_in_line(self, origin: Origin) -> bool:
        """Whether the request for an origin's file waits in the slot of the host to be asked."""
        request = self._asking.get(origin)
        return request is not None and self._slots.is_waiting(request)

    async def _follow(
        self,
        origin: Origin,
        copy: Copy | None,
        known: Callable[[str], Copy | None],
        meta: Mapping[str, Any],
    ) -> Answer:
        """Ask for the robots.txt of an origin and follow where it leads.

        Args:
            origin: whose file is asked for.
            copy: what is known of it; where it came from is asked whether it still holds.
            known: gives a fresh copy of what another origin answers at a URI, if there is one.
            meta: goes with the requests, as `REP_FETCH_META` does.
        """
        hops: list[str] = []
        uri = origin.robots_txt_uri
        self._count(stats.REQUESTS)
        while True:
            hops.append(uri)
            validators = copy.validators if copy is not None and copy.hops[-1:] == (uri,) else {}
            try:
                response, body = await self._ask(origin, uri, {**validators}, meta)
            except Exception as error:  # noqa: BLE001 - every failure is an event, see the table
                self._count(stats.EXCEPTIONS.format(type(error)))
                logger.debug("No robots.txt from %s: %r", uri, error, extra=self._extra)
                return Answer(failure_of(error), hops=tuple(hops))
            step = next_hop(
                hops,
                response.status,
                response.headers.get(b"Location"),
                limit=self._settings.redirect_hops,
            )
            if isinstance(step, str):
                self._count(stats.REDIRECT_HOPS)
                refusal = await self._refusal(origin, step)
                if refusal is not None:
                    return Answer(refusal, hops=(*hops, step))
                found = known(step)
                if found is not None:
                    return _same_answer(found, hops)
                uri = step
                continue
            self._count(stats.RESPONSES)
            self._count(stats.RESPONSE_STATUS.format(response.status))
            return Answer(
                event=step,
                body=body,
                hops=tuple(hops),
                headers=_headers(response),
                confirms=bool(validators),
            )

    async def _refusal(self, origin: Origin, uri: str) -> Failure | None:
        """What the guard makes of a redirect to a URI; None if it lets it pass."""
        target = Origin.of(uri)
        guard = self._settings.redirect_guard
        if guard is Guard.ANY or target is None or target.host == origin.host:
            return None
        if guard is Guard.SAME_SITE:
            return None if site_of(target.host) == site_of(origin.host) else Failure.GUARD
        try:
            found = await run_in_thread(socket.getaddrinfo, target.host, target.port)
        except (OSError, UnicodeError):
            return Failure.DNS
        addresses = {str(address[4][0]) for address in found}
        return None if all(map(is_public_address, addresses)) else Failure.GUARD

    async def _ask(
        self, origin: Origin, uri: str, headers: dict[str, str], meta: Mapping[str, Any]
    ) -> tuple[Response, bytes]:
        """An answer, and its body decompressed and cut."""
        if is_closing(self._crawler):
            raise IgnoreRequest("the crawl is closing")
        engine = self._crawler.engine
        assert engine is not None  # noqa: S101 - or it would be closing
        request = self._request(uri, headers, meta)
        transfer: Transfer = request.meta[_MARK]
        self._asking[origin] = request
        download = engine.download_async(request)
        if request.url.startswith("ftp:"):  # whose handler in Scrapy knows no timeout
            download = within(self._settings.fetch_timeout_seconds, download)
        try:
            with self._slots.place_of_its_own():
                response = await download
        except IgnoreRequest as error:
            # Scrapy's decompression gives up on what grows too large; its beginning is enough.
            # Whoever else refuses the answer has been heard: there is none.
            if transfer.response is None or not _is_too_large(error):
                raise
            response = transfer.response
        if "download_stopped" in response.flags and not transfer.is_stopped:
            raise DownloadCancelledError(f"somebody else stopped the download of {uri}")
        if "dataloss" in response.flags:
            raise ResponseDataLossError(uri)
        return response, transfer.body_of(response)

    def _request(self, uri: str, headers: dict[str, str], meta: Mapping[str, Any]) -> Request:
        headers |= {"Accept": "text/plain,*/*;q=0.1", "Accept-Encoding": "identity"}
        if self._identity.fetch_header is not None:
            headers["User-Agent"] = self._identity.fetch_header
        usual = {
            "dont_cache": True,  # an HTTP cache that never expires would freeze a policy
            "dont_merge_cookies": True,
            "dont_retry": True,
            "download_timeout": self._settings.fetch_timeout_seconds,
        }
        needed = {
            "dont_redirect": True,
            "download_fail_on_dataloss": True,
            "download_maxsize": 0,  # the transfer is stopped by us, and what came is used
            "handle_httpstatus_all": True,
            _MARK: Transfer(self._settings.parse_limit_octets),
        }
        request = Request(
            uri,
            callback=NO_CALLBACK,
            dont_filter=True,
            headers=headers,
            meta={**usual, **meta, **self._settings.fetch_meta, **needed},
            priority=_PRIORITY,
        )
        request.meta[_MARK].uri = request.url
        return request

    def _begun(self, request: Request) -> None:
        transfer = request.meta.get(_MARK)
        if isinstance(transfer, Transfer):
            transfer.restart()

    def _headers_received(self, headers: Headers, request: Request) -> None:
        transfer = request.meta.get(_MARK)
        if isinstance(transfer, Transfer):
            transfer.begin(headers)
            self._slots.count_from_now(request)  # the file may say which delay holds

    def _bytes_received(self, data: bytes, request: Request) -> None:
        transfer = request.meta.get(_MARK)
        if not isinstance(transfer, Transfer):
            return
        # Too late for the download itself; this bounds what Scrapy decompresses.
        request.meta["download_maxsize"] = transfer.limit_octets + 1
        if transfer.has_enough_after(data):
            raise StopDownload(fail=False)

    def _response_downloaded(self, response: Response, request: Request) -> None:
        transfer = request.meta.get(_MARK)
        if isinstance(transfer, Transfer):
            # A copy: Scrapy's decompression empties the Content-Encoding of the original, and a
            # body that was cut short would pass for a whole one.
            transfer.response = response.copy()

    def _count(self, name: str) -> None:
        self._crawler.stats.inc_value(name)

    @property
    def _extra(self) -> dict[str, Any]:
        return {"spider": self._crawler.spider}


def is_own(request: Request) -> bool:
    """Whether a request is one of the fetcher's, and not one that has taken over its meta."""
    transfer = request.meta.get(_MARK)
    return isinstance(transfer, Transfer) and transfer.uri == request.url


def _is_too_large(error: IgnoreRequest) -> bool:
    """Whether this is how Scrapy says that a body grew beyond `download_maxsize`."""
    return type(error.__cause__).__name__ == "_DecompressionMaxSizeExceeded"


def failure_of(error: BaseException) -> Failure:
    """The event that an exception of Scrapy's, or of whatever handles its downloads, is.

    What no row names is a network failure, unless the words of the error or its cause tell more.
    """
    for kind, failure in _FAILURES:
        if isinstance(error, kind):
            return failure
    cause: BaseException | None = error
    words = ""
    while cause is not None:
        words += f" {type(cause).__name__} {cause}".lower()
        cause = cause.__cause__
    for word, failure in _FAILURE_WORDS:
        if word in words:
            return failure
    return Failure.NETWORK


def _same_answer(copy: Copy, hops: list[str]) -> Answer:
    return Answer(copy.event, hops=(*hops, *copy.hops), repeats=copy)


def _headers(response: Response) -> dict[str, str]:
    return {
        name.decode("latin-1").lower(): b", ".join(values).decode("latin-1")
        for name, values in response.headers.items()
    }
