"""One robots.txt exchange through Scrapy's engine, hop by hop.

Takes an origin, gives an `Entry`: whatever Scrapy answers or raises becomes an event of the
protocol's, and what it means is decided elsewhere.

Redirects are followed here, each hop as a fresh request, because Scrapy's own redirects depend on
settings and spiders, follow HTML, and carry meta from hop to hop. The transfer stops once there is
more than the parse limit can use; Scrapy's size limit would throw away what came before.
"""

from __future__ import annotations

import logging
import time
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

from . import stats
from .cache.entry import Entry
from .protocol.access import AccessResult, Event, Failure, access_result
from .protocol.origin import Origin
from .protocol.redirects import next_hop

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from .identity import Identity
    from .settings import RepSettings

logger = logging.getLogger(__name__)

_MARK = "rep_fetch"
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
    (EOFError, Failure.UNDECODABLE),
    (ConnectionError, Failure.NETWORK),
    (OSError, Failure.UNDECODABLE),  # what Scrapy's decompression raises, gzip.BadGzipFile first
)
_FAILURE_WORDS = (("ssl", Failure.TLS), ("tls", Failure.TLS), ("reset", Failure.RESET))


class _Transfer:
    """What came of one hop so far; rides in the request's meta."""

    __slots__ = ("limit_octets", "octets")

    def __init__(self, limit_octets: int) -> None:
        self.limit_octets = limit_octets
        self.octets = 0


class Fetcher:
    """Asks for robots.txt files."""

    def __init__(self, crawler: Crawler, settings: RepSettings, identity: Identity) -> None:
        self._crawler = crawler
        self._settings = settings
        self._identity = identity
        crawler.signals.connect(self._bytes_received, signal=signals.bytes_received)

    async def fetch(self, origin: Origin) -> Entry:
        """Ask for the robots.txt of an origin and follow where it leads. Does not raise."""
        hops: list[str] = []
        uri = origin.robots_txt_uri
        self._count(stats.REQUESTS)
        while True:
            hops.append(uri)
            try:
                response = await self._ask(uri)
            except Exception as error:  # noqa: BLE001 - every failure is an event, see the table
                self._count(stats.EXCEPTIONS.format(type(error)))
                logger.debug("No robots.txt from %s: %r", uri, error, extra=self._extra)
                return Entry(origin, failure_of(error), time.time(), hops=tuple(hops))
            step = next_hop(
                hops,
                response.status,
                response.headers.get(b"Location"),
                limit=self._settings.redirect_hops,
            )
            if isinstance(step, str):
                self._count(stats.REDIRECT_HOPS)
                uri = step
                continue
            self._count(stats.RESPONSES)
            self._count(stats.RESPONSE_STATUS.format(response.status))
            return _entry(origin, step, response, hops, self._settings.parse_limit_octets)

    async def _ask(self, uri: str) -> Response:
        engine = self._crawler.engine
        if engine is None:
            raise RuntimeError("the crawl has no engine yet")
        return await engine.download_async(self._request(uri))

    def _request(self, uri: str) -> Request:
        headers = {"Accept": "text/plain,*/*;q=0.1", "Accept-Encoding": "identity"}
        if self._identity.fetch_header is not None:
            headers["User-Agent"] = self._identity.fetch_header
        usual = {
            "dont_cache": True,  # an HTTP cache that never expires would freeze a policy
            "dont_merge_cookies": True,
            "dont_retry": True,
            "download_timeout": self._settings.fetch_timeout_seconds,
        }
        needed = {
            "dont_obey_robotstxt": True,
            "dont_redirect": True,
            "download_fail_on_dataloss": True,
            "download_maxsize": 0,  # the transfer is stopped by us, and what came is used
            "handle_httpstatus_all": True,
            _MARK: _Transfer(self._settings.parse_limit_octets),
        }
        return Request(
            uri,
            callback=NO_CALLBACK,
            dont_filter=True,
            headers=headers,
            meta={**usual, **self._settings.fetch_meta, **needed},
            priority=_PRIORITY,
        )

    def _bytes_received(self, data: bytes, request: Request) -> None:
        transfer = request.meta.get(_MARK)
        if not isinstance(transfer, _Transfer):
            return
        transfer.octets += len(data)
        # Too late for the download itself; this bounds what a compressed body may grow to.
        request.meta["download_maxsize"] = 2 * transfer.limit_octets
        if transfer.octets > transfer.limit_octets:
            raise StopDownload(fail=False)

    def _count(self, name: str) -> None:
        self._crawler.stats.inc_value(name)

    @property
    def _extra(self) -> dict[str, Any]:
        return {"spider": self._crawler.spider}


def is_own(request: Request) -> bool:
    """Whether a request is one of the fetcher's."""
    return isinstance(request.meta.get(_MARK), _Transfer)


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


def _entry(
    origin: Origin, event: Event, response: Response, hops: list[str], limit_octets: int
) -> Entry:
    if access_result(event) is AccessResult.SUCCESSFUL:
        if "dataloss" in response.flags:
            event = Failure.TRUNCATED
        elif response.headers.get(b"Content-Encoding", b"identity") not in (b"", b"identity"):
            event = Failure.UNDECODABLE  # nothing has decoded it: read as it is, it has no rules
    is_success = access_result(event) is AccessResult.SUCCESSFUL
    return Entry(
        origin=origin,
        event=event,
        fetched_at=time.time(),
        body=response.body[: limit_octets + 1] if is_success else b"",
        hops=tuple(hops),
        headers=tuple(
            (name.decode("latin-1").lower(), b", ".join(values).decode("latin-1"))
            for name, values in response.headers.items()
        ),
    )
