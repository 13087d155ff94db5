"""Builds and sends the requests for robots.txt, with time limits, and returns their answers.

A request passes the middlewares, waits for its turn at its host, and is with a download handler;
then its answer passes the middlewares. Scrapy has a time limit for handlers only, and the handlers
enforce it themselves. So we check ten times a second where each request is.

The handler may take the `download_timeout` of the request plus one second. Waiting for the turn may
take three times `REP_UNREACHABLE_WAIT_SECONDS` plus one delay. The fetch limits the total time.

The transfer of an answer is stopped once it exceeds the parse limit. Scrapy's own size limit would
throw away the octets before it.
"""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import (
    DownloadCancelledError,
    IgnoreRequest,
    ResponseDataLossError,
)
from scrapy.http.request import NO_CALLBACK
from twisted.internet.defer import CancelledError

from scrapy_rep import stats
from scrapy_rep.engine.components import culprit_of
from scrapy_rep.engine.downloader import Downloader
from scrapy_rep.engine.loops import Running, Ticks, allow_threads
from scrapy_rep.engine.state import is_closing
from scrapy_rep.engine.transfer import MARK, Transfer, headers_of
from scrapy_rep.engine.wires import Wires
from scrapy_rep.identity import Identity
from scrapy_rep.protocol.access.endings import Ending, is_range
from scrapy_rep.protocol.access.events import Event, Failure
from scrapy_rep.protocol.access.knowledge import REMARK, Step
from scrapy_rep.protocol.secrecy import bare
from scrapy_rep.stats import Journal

from .failures import failure_of, is_loss
from .faults import PROXY, REMEDIES, Fault, FaultKind, ProxyRefusedError, failure_by, fault_of
from .fetch_state import FetchPart, FetchState

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_rep.crawl import Crawl
    from scrapy_rep.engine.clock import Clock
    from scrapy_rep.protocol.access.origin import Origin

    from .recording import Recorder
    from .shortage import Shortage

_GRACE_SECONDS = 1.0  # so that handlers with a time limit raise first, with a better message
_LINE_LIMIT = 1000  # fetches that may wait for their turn at a time, because each takes memory
_LOCATION_CHARACTERS = 2000  # longer Location headers are cut to this
_OK = 200
_PARTIAL_CONTENT = 206
_PROXY_REFUSES = 407
_THREADS = "REACTOR_THREADPOOL_MAXSIZE"
_MOST_THREADS = 64
_MOST_TOLD = 20  # faults that the log names
_PRIORITY = 1000  # as Scrapy's own; nothing schedules these requests, but middlewares may look


class Sender:
    """Sends the requests of one crawl's fetches, each a fresh one, and returns their answers."""

    def __init__(self, crawl: Crawl, recorder: Recorder, looks: Ticks, shortage: Shortage) -> None:
        self._recorder = recorder
        self._crawl = crawl
        self._crawler = crawler = crawl.crawler
        self._journal = Journal(crawler, __name__)
        self._settings = crawl.settings
        self._identity = crawl.part(Identity)
        self._downloader = Downloader(crawler)
        self._under_way: dict[Transfer, tuple[FetchState, Running[Response] | None]] = {}
        self._looks = looks
        self._shortage = shortage
        self._has_told_of_stop = False
        self._told_faults: set[object] = set()
        self._traced: set[str] = set()
        self._wires: Wires | None = None

    async def send(
        self, fetch: FetchState, uri: str, conditions: Mapping[str, str]
    ) -> tuple[Response, bytes, Ending]:
        """The answer to one request, its body, and how the body ended.

        The body is decompressed and cut to the parse limit. The request becomes a step of its
        fetch, also if it fails.

        Raises:
            TimeoutError: the handler took too long.
            IgnoreRequest: its turn did not come in time, or the crawl is closing.
            Exception: any other error of the engine.
        """
        transfer = Transfer(self._settings.parse_limit_octets)
        request = self._request(fetch, uri, conditions, transfer)
        response: Response | None = None
        event: Event = Failure.LOCAL  # if it is cancelled; it was sent nevertheless
        try:
            fetch.enter(FetchPart.MIDDLEWARES)
            self._looks.add(self._look)
            self._under_way[transfer] = fetch, None  # the engine may go far before it returns
            running = Running(self._in_engine(request))
            self._under_way[transfer] = fetch, running
            try:
                came = await running.result()
                fetch.user_agent = _user_agent(came.request or request)
                self._identity.saw_sent(fetch.user_agent)
            except CancelledError:  # Twisted's, which is an Exception
                raise
            except Exception as error:  # noqa: BLE001 - raised again unless the answer can be read
                # Without an answer, a middleware may not have set the header yet.
                fetch.user_agent = fetch.user_agent or _user_agent(request) or None
                # A middleware may raise its own exception for that of the handler.
                came = _rescued(transfer, (culprit_of(error) and transfer.error) or error)
            if "download_stopped" in came.flags and not transfer.is_stopped:
                self._warn_of_stop(request)
            transfer.body = _body_of(came, request, transfer)
            response, event, fetch.fault = came, came.status, None
            return came, transfer.body, transfer.ending(came)
        except Exception as error:
            if not isinstance(error, CancelledError):
                fetch.fault = fault_of(transfer, transfer.sent or request, error, self._shortage)
                event = failure_by(fetch.fault, error)
                if fetch.fault is not None:
                    self._tell_traceback(fetch.fault, error)
            raise
        finally:
            transfer.is_over, transfer.holder = True, None
            fetch.is_for_signed |= transfer.is_wished
            fetch.is_proxied |= bool((transfer.sent or request).meta.get(PROXY))
            if self._under_way.pop(transfer, None) is not None:
                fetch.enter(FetchPart.MIDDLEWARES)
                if not transfer.is_back:
                    self._downloader.abandon(transfer.sent or request)
            if not self._under_way:
                self._looks.drop(self._look)
            step = _step(uri, transfer, event, response, self._crawl.clock)
            self._note(fetch, step, transfer, response)

    async def _in_engine(self, request: Request) -> Response:
        if is_closing(self._crawler):
            raise IgnoreRequest("the crawl is closing")
        engine = self._crawler.engine
        assert engine is not None  # noqa: S101 - without one, the crawl would be closing
        if self._wires is None:
            self._wires = Wires(self._crawler)
            self._allow_lookups()
        with self._downloader.one_place_more():
            return await engine.download_async(request)

    def _allow_lookups(self) -> None:
        """Let more names be looked up at a time: names that do not resolve hold threads long.

        Scrapy sets the size of the pool before an add-on could change the setting.
        """
        settings = self._crawler.settings
        if settings.getpriority(_THREADS) == 0:
            most = settings.getint("CONCURRENT_REQUESTS") or _MOST_THREADS
            allow_threads(min(max(most, settings.getint(_THREADS)), _MOST_THREADS))

    def _request(
        self, fetch: FetchState, uri: str, conditions: Mapping[str, str], transfer: Transfer
    ) -> Request:
        headers: dict[str, Any] = {
            **conditions,
            "Accept": fetch.resource.accept,
            "Accept-Encoding": "identity",
        }
        if self._identity.fetch_header is not None:
            headers["User-Agent"] = self._identity.fetch_header
        usual = {
            "dont_cache": True,  # entries of Scrapy's HTTP cache may never expire
            "dont_merge_cookies": True,
            "dont_retry": True,
            "download_timeout": self._settings.fetch_timeout_seconds,
        }
        needed = {
            "dont_redirect": True,
            "download_fail_on_dataloss": False,  # gzip tells whether it is whole
            "download_maxsize": 0,  # we stop the transfer ourselves, and keep the octets before
            "handle_httpstatus_all": True,
            MARK: transfer.mark,
        }
        meta = {**usual, **fetch.carried.meta, **self._settings.fetch_meta, **needed}
        request = Request(
            fetch.carried.written(uri),
            callback=NO_CALLBACK,
            dont_filter=True,
            headers={**headers, **fetch.carried.headers_for(meta)},
            meta=meta,
            priority=_PRIORITY,
        )
        transfer.uri = request.url
        transfer.holder = request
        transfer.prepare = fetch.way.cookies.add_to if fetch.way is not None else None
        return request

    def _note(
        self, fetch: FetchState, step: Step, transfer: Transfer, response: Response | None
    ) -> None:
        """Add a finished request to the steps of its fetch, and record it."""
        record = self._recorder.saw(fetch, step, transfer, response)
        transfer.sent = transfer.body = None
        fetch.steps.append(replace(step, record=record) if record else step)

    def tell_of_fault(self, fetch: FetchState, fault: Fault) -> None:
        """Log a failure on our side, once for each culprit, and whether a retry helped."""
        about = fault.kind, fault.culprit, fault.error
        is_told = fault.kind is FaultKind.SHORTAGE or about in self._told_faults  # it has a line
        if is_told or len(self._told_faults) >= _MOST_TOLD:
            return
        self._told_faults.add(about)
        self._journal.warning(
            "%s was not fetched, because %s: %s %s. %s. %s",
            *(f"{fetch.origin}{fetch.resource.path}", fault.kind.value),
            *(fault.culprit, fault.details),
            "The next try worked" if fetch.fault is None else "This says nothing about the site",
            REMEDIES[fault.kind],
        )

    def _tell_traceback(self, fault: Fault, error: Exception) -> None:
        """Log where an exception of a middleware came from, before it is forgotten."""
        is_new = fault.culprit not in self._traced and len(self._traced) < _MOST_TOLD
        if fault.kind is FaultKind.BROKE and is_new and self._journal.tells_details:
            self._traced.add(fault.culprit)
            self._journal.debug("%s", "".join(traceback.format_exception(error)))

    def _warn_of_stop(self, request: Request) -> None:
        """Log once that a handler let other code stop a robots.txt."""
        if self._has_told_of_stop:
            return
        self._has_told_of_stop = True
        scheme = request.url.partition(":")[0]
        self._journal.warning(
            "Other code stopped the download of %s with StopDownload, and the download handler for "
            "%s lets it (DOWNLOAD_HANDLERS), so the file counts as unreachable. In your handlers "
            "of bytes_received and headers_received, skip requests with the callback "
            "scrapy.http.request.NO_CALLBACK",
            request.url,
            scheme,
        )

    # Time limits

    def _look(self) -> None:
        for transfer, (fetch, running) in list(self._under_way.items()):
            part = self._part_of(transfer)
            is_new = part is not fetch.part
            fetch.enter(part)
            if running is None:
                continue
            if part is FetchPart.HANDLER:
                self._look_at_handled(transfer, running)
            elif part is FetchPart.SLOT:
                self._look_at_queued(fetch, transfer, running, is_new=is_new)

    def is_in_middlewares(self, origin: Origin) -> bool:
        """Whether middlewares handle a request for a file of an origin, or its answer."""
        parts = (
            self._part_of(transfer)
            for transfer, (fetch, _) in self._under_way.items()
            if fetch.origin == origin
        )
        return not {FetchPart.MIDDLEWARES, FetchPart.ANSWER}.isdisjoint(parts)

    def _part_of(self, transfer: Transfer) -> FetchPart:
        if transfer.is_back:
            return FetchPart.ANSWER
        if transfer.turn_seconds is not None:
            return FetchPart.SLOT
        if transfer.handled_since is not None:
            return FetchPart.HANDLER
        if transfer.sent is None or not self._downloader.has(transfer.sent):
            return FetchPart.MIDDLEWARES
        return FetchPart.SLOT if self._downloader.is_waiting(transfer.sent) else FetchPart.HANDLER

    def _look_at_handled(self, transfer: Transfer, running: Running[Response]) -> None:
        request, now = transfer.sent, time.monotonic()
        assert request is not None  # noqa: S101 - for mypy
        transfer.handled_since = transfer.handled_since or now
        seconds = _timeout_of(request) or self._settings.fetch_timeout_seconds
        if now - transfer.handled_since > seconds + _GRACE_SECONDS:
            running.end(TimeoutError(f"the download handler did not end {request} in time"))

    def _look_at_queued(
        self, fetch: FetchState, transfer: Transfer, running: Running[Response], *, is_new: bool
    ) -> None:
        delay_seconds = transfer.turn_seconds or 0.0
        if transfer.sent is not None:
            delay_seconds = max(delay_seconds, self._downloader.delay_seconds(transfer.sent))
        if fetch.queued.seconds > self._settings.line_seconds + delay_seconds:
            why = f"it was queued for {fetch.queued.seconds:.0f} s"
        elif is_new and self._queued_count() > _LINE_LIMIT:
            why = f"{_LINE_LIMIT} others are queued"
        else:
            return
        self._journal.count(stats.LINE_GAVE_UP)
        self._journal.warning(
            "The fetch of %s is given up in the queue of its slot: %s", transfer.uri, why
        )
        running.end(IgnoreRequest(f"given up in the queue of its slot: {why}"))

    def _queued_count(self) -> int:
        return sum(fetch.part is FetchPart.SLOT for fetch, _ in self._under_way.values())


def _timeout_of(request: Request) -> float | None:
    """The time that a request gives its handler; None if it names none.

    A middleware may have written anything there, or have removed it. Handlers read no number, or 0,
    as their default or as no limit.
    """
    try:
        seconds = float(request.meta.get("download_timeout") or 0)
    except (TypeError, ValueError):
        return None
    return seconds if 0 < seconds < math.inf else None


def _body_of(response: Response, request: Request, transfer: Transfer) -> bytes:
    """The body of an answer up to the limit.

    Raises:
        Exception: the answer is not from the site, or does not hold the whole file.
    """
    if "download_stopped" in response.flags and not transfer.is_stopped:
        raise DownloadCancelledError(f"other code stopped the download of {request.url}")
    is_part = response.status == _PARTIAL_CONTENT and is_range(headers_of(response))
    if is_part:
        raise ResponseDataLossError(request.url)
    if response.status == _PROXY_REFUSES and (response.request or request).meta.get(PROXY):
        transfer.error = ProxyRefusedError("the proxy answers 407")
        raise transfer.error
    if transfer.error is not None and transfer.response is None and not _is_file(response):
        raise transfer.error  # a middleware answers for a site that did not
    body = transfer.body_of(response)
    if transfer.is_lossy(response) and not transfer.is_whole:
        raise ResponseDataLossError(request.url)
    response.headers.pop(REMARK, None)  # only we may set it
    if transfer.remark:
        response.headers[REMARK] = transfer.remark
    return body


def _is_file(response: Response) -> bool:
    """Whether an answer of a middleware is a robots.txt that names a crawler."""
    return response.status == _OK and b"user-agent" in response.body.lower()


def _step(
    uri: str, transfer: Transfer, event: Event, response: Response | None, clock: Clock
) -> Step:
    """The step for a finished request; `response` is its answer, if one came."""
    came = transfer.response if transfer.response is not None else response
    sent_at = seconds = None
    if transfer.sent_at is not None:
        sent_at = clock.at(transfer.sent_at)
        seconds = time.monotonic() - transfer.sent_at
    if came is None:
        return Step(uri, event, sent_at, seconds)
    location = (came.headers.get(b"Location") or b"").decode("utf-8", "backslashreplace")
    return Step(
        uri,
        event,
        sent_at,
        seconds,
        octets=len(came.body),
        address="" if came.ip_address is None else str(came.ip_address),
        location=bare(location)[:_LOCATION_CHARACTERS],
    )


def _rescued(transfer: Transfer, error: Exception) -> Response:
    """The answer that came although its download raised.

    Scrapy's decompression raises if a body grows too large, though we need only its beginning, and
    if a body is slightly damaged, though we may still read it.

    Raises:
        Exception: there is no answer, or other code refused it.
    """
    if transfer.response is not None:
        failure = failure_of(error)
        if _is_too_large(error) or (failure is Failure.UNDECODABLE and transfer.is_compressed):
            return transfer.response
    if transfer.has_head and is_loss(error):
        raise ResponseDataLossError(transfer.uri) from error
    raise error


def _is_too_large(error: Exception) -> bool:
    """Whether an error of Scrapy's says that a body grew beyond `download_maxsize`."""
    is_refusal = isinstance(error, IgnoreRequest)
    return is_refusal and type(error.__cause__).__name__ == "_DecompressionMaxSizeExceeded"


def _user_agent(request: Request) -> str:
    return (request.headers.get(b"User-Agent") or b"").decode("utf-8", "backslashreplace")
