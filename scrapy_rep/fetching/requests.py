"""The requests for robots.txt files: how each is made, and how its answer is read.

The transfer of an answer is stopped once there is more than the parse limit can use. Scrapy's own
size limit would throw away what came before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.exceptions import (
    DownloadCancelledError,
    IgnoreRequest,
    ResponseDataLossError,
    StopDownload,
)
from scrapy.http import Headers
from scrapy.http.request import NO_CALLBACK
from twisted.internet.defer import CancelledError

from scrapy_rep import stats
from scrapy_rep.engine.listening import Listening
from scrapy_rep.engine.state import is_closing
from scrapy_rep.protocol.access.endings import Ending, Extent, extent, extent_beside, is_range
from scrapy_rep.protocol.access.events import Event, Failure
from scrapy_rep.protocol.access.knowledge import REMARK, Step

from .downloads import Downloads
from .failures import failure_of, is_loss
from .transfer import MARK, Transfer
from .wires import Wires

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_rep.identity import Identity
    from scrapy_rep.settings import RepSettings

    from .archive import Archive
    from .course import Course

_LOCATION_CHARACTERS = 2000  # of a header that a site may make as long as it likes
_SET_COOKIE = b"set-cookie"  # kept no longer than the fetch
_PARTIAL_CONTENT = 206
_PROXY_REFUSES = 407
_PRIORITY = 1000  # as Scrapy's own; nothing schedules these requests, but middlewares may look


class Requests:
    """Sends the robots.txt requests of one crawl, each a fresh one, and gives their answers."""

    def __init__(
        self,
        crawler: Crawler,
        settings: RepSettings,
        identity: Identity,
        archive: Archive | None = None,
    ) -> None:
        self._archive = archive
        self._crawler = crawler
        self._settings = settings
        self._identity = identity
        self._downloads = Downloads(crawler, settings, self._reached)
        self._wires: Wires  # of the engine, which comes after us
        handlers: dict[object, Callable[..., None]] = {
            signals.headers_received: self._headers_received,
            signals.bytes_received: self._bytes_received,
        }
        self._listening = Listening(crawler, handlers)
        # Where `Wires` does not see the answers. Pages have this signal as well, and pay for it.
        self._listening_to_answers = Listening(
            crawler, {signals.response_downloaded: self._response_downloaded}
        )

    async def whole_answer(
        self, uri: str, headers: Mapping[str, Any], course: Course
    ) -> tuple[Response, bytes]:
        """An answer and its body; fetched once more if the body may be cut short.

        Raises:
            ResponseDataLossError: the body is cut short, or may be.
        """
        response, body, ending = await self._ask(uri, {**headers}, course)
        if response.status // 100 != 2:  # noqa: PLR2004 - other bodies are not read
            return response, body
        found = extent(body, ending)
        if found is Extent.DOUBTFUL:
            self._crawler.stats.inc_value(stats.CONFIRMED)
            first = body
            response, body, ending = await self._ask(uri, {**headers}, course)
            if response.status // 100 != 2:  # noqa: PLR2004
                return response, body
            found = extent_beside(first, body, ending)
        if found is Extent.PART:
            raise ResponseDataLossError(f"{uri}: {ending.value} after {len(body)} octets")
        return response, body

    async def _ask(
        self, uri: str, headers: dict[str, Any], course: Course
    ) -> tuple[Response, bytes, Ending]:
        """What `_answer` returns; a step of the exchange, however it ends."""
        request = self._request(uri, headers, course)
        transfer: Transfer = request.meta[MARK]
        try:
            response, body, ending = await self._answer(request, transfer, course)
        except BaseException as error:  # a request that is cancelled was sent all the same
            failure = failure_of(error) if isinstance(error, Exception) else Failure.LOCAL
            self._note(course, _step(uri, transfer, failure, transfer.response), transfer, None)
            raise
        transfer.body = body
        self._note(course, _step(uri, transfer, response.status, response), transfer, response)
        return response, body, ending

    def _note(
        self, course: Course, step: Step, transfer: Transfer, response: Response | None
    ) -> None:
        """Note a request that is done as a step of its exchange, and archive it."""
        if self._archive is not None:
            step = replace(step, record=self._archive.saw(course, step, transfer, response))
        transfer.sent = transfer.body = None
        course.steps.append(step)

    async def _answer(
        self, request: Request, transfer: Transfer, course: Course
    ) -> tuple[Response, bytes, Ending]:
        """An answer, its body decompressed and cut to the limit, and how the body ended."""
        if is_closing(self._crawler):
            raise IgnoreRequest("the crawl is closing")
        uri = request.url
        wires = self._wires = Wires.of(self._crawler)
        is_seen = wires.sees_answers
        try:
            with (
                self._listening.on(),
                nullcontext() if is_seen else self._listening_to_answers.on(),
            ):
                response = await self._downloads.answer_to(request, course)
            course.user_agent = _user_agent(response.request or request)
        except CancelledError:  # Twisted's, which is an Exception
            raise
        except Exception as error:  # noqa: BLE001 - raised again unless the answer can be read
            # Without an answer, a middleware may not have set the header yet.
            course.user_agent = course.user_agent or _user_agent(request) or None
            response = _rescued(transfer, error)
        if "download_stopped" in response.flags and not transfer.is_stopped:
            raise DownloadCancelledError(f"other code stopped the download of {uri}")
        if "dataloss" in response.flags or _is_part(response):
            raise ResponseDataLossError(uri)
        if response.status == _PROXY_REFUSES and (response.request or request).meta.get("proxy"):
            raise IgnoreRequest("the proxy asks for credentials")  # this says nothing of the site
        body = transfer.body_of(response)
        response.headers.pop(REMARK, None)  # only we may set it
        if transfer.remark:
            response.headers[REMARK] = transfer.remark
        is_unseen = is_seen and transfer.is_unanswered and not self._is_at(wires)
        return response, body, Ending.UNKNOWN if is_unseen else transfer.ending(response)

    def _is_at(self, wires: Wires) -> bool:
        """Whether answers still pass at these wires; a middleware may have changed the handlers.

        An answer that nobody saw as it came may be cut short: Scrapy decompresses what is there.
        """
        return Wires.of(self._crawler) is wires and wires.sees_answers

    def _request(self, uri: str, headers: dict[str, Any], course: Course) -> Request:
        carried = course.carried
        headers |= {"Accept": course.resource.accept, "Accept-Encoding": "identity"}
        if self._identity.fetch_header is not None:
            headers["User-Agent"] = self._identity.fetch_header
        usual = {
            "dont_cache": True,  # Scrapy's HTTP cache may never expire, and would freeze a policy
            "dont_merge_cookies": True,
            "dont_retry": True,
            "download_timeout": self._settings.fetch_timeout_seconds,
        }
        needed = {
            "dont_redirect": True,
            "download_fail_on_dataloss": True,
            "download_maxsize": 0,  # we stop the transfer ourselves, and use what came
            "handle_httpstatus_all": True,
            MARK: Transfer(self._settings.parse_limit_octets),
        }
        meta = {**usual, **carried.meta, **self._settings.fetch_meta, **needed}
        request = Request(
            uri,
            callback=NO_CALLBACK,
            dont_filter=True,
            headers={**headers, **carried.headers_for(meta)},
            meta=meta,
            priority=_PRIORITY,
        )
        transfer: Transfer = request.meta[MARK]
        transfer.uri = request.url
        transfer.cookies = course.way.cookies if course.way is not None else None
        return request

    def _reached(self, request: Request) -> None:
        transfer = request.meta.get(MARK)
        if isinstance(transfer, Transfer):
            transfer.restart()
            transfer.sent_at = time.time()
            if transfer.cookies is not None:
                transfer.cookies.add_to(request)
            if self._archive is not None:
                transfer.sent = request
            self._downloads.reached(request)

    def _headers_received(
        self, headers: Headers, request: Request, body_length: Any = None
    ) -> None:
        transfer = request.meta.get(MARK)
        if isinstance(transfer, Transfer):
            transfer.begin(headers, body_length)
            self._wires.note_head(transfer)

    def _bytes_received(self, data: bytes, request: Request) -> None:
        transfer = request.meta.get(MARK)
        if not isinstance(transfer, Transfer):
            return
        # Set too late to bound the download itself. It bounds what Scrapy decompresses.
        request.meta["download_maxsize"] = transfer.limit_octets + 1
        if transfer.has_enough_after(data):
            raise StopDownload(fail=False)

    def _response_downloaded(self, response: Response, request: Request) -> None:
        transfer = request.meta.get(MARK)
        if isinstance(transfer, Transfer):
            transfer.came(response)


def _step(uri: str, transfer: Transfer, event: Event, response: Response | None) -> Step:
    """What is known of a request that is done; `response` is its answer, if one came."""
    came = transfer.response if transfer.response is not None else response
    if came is None:
        return Step(uri, event, transfer.sent_at, _seconds_since(transfer.sent_at))
    location = (came.headers.get(b"Location") or b"").decode("utf-8", "backslashreplace")
    return Step(
        uri,
        event,
        transfer.sent_at,
        _seconds_since(transfer.sent_at),
        octets=len(came.body),
        address="" if came.ip_address is None else str(came.ip_address),
        location=location[:_LOCATION_CHARACTERS],
    )


def _seconds_since(instant: float | None) -> float | None:
    return None if instant is None else max(time.time() - instant, 0.0)


def _rescued(transfer: Transfer, error: Exception) -> Response:
    """The answer that came although its download raised.

    Scrapy's decompression raises on a body that grows too large, of which we need only the
    beginning, and on one that is slightly damaged, which we may still read.

    Raises:
        Exception: there is no answer, or something else refused it.
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


def _is_part(response: Response) -> bool:
    """Whether an answer is a part of the file by its own word (206 with a range)."""
    return response.status == _PARTIAL_CONTENT and is_range(headers_of(response))


def _user_agent(request: Request) -> str:
    return (request.headers.get(b"User-Agent") or b"").decode("utf-8", "backslashreplace")


def headers_of(response: Response) -> dict[str, str]:
    """The headers of an answer but its cookies, names in lower case, as text."""
    return {
        name.decode("latin-1").lower(): b", ".join(values).decode("latin-1")
        for name, values in response.headers.items()
        if name.lower() != _SET_COOKIE
    }
