"""One request for a robots.txt and its answer, over a download that a test gives."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, Spider, signals
from scrapy.exceptions import (
    DownloadCancelledError,
    DownloadFailedError,
    IgnoreRequest,
    ResponseDataLossError,
    StopDownload,
)
from scrapy.http import Headers, Response
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler
from twisted.python.failure import Failure

from scrapy_rep import stats
from scrapy_rep.engine.slots import Slots
from scrapy_rep.fetching.carried import NOTHING, Carried
from scrapy_rep.fetching.course import Course
from scrapy_rep.fetching.requests import Requests
from scrapy_rep.fetching.transfer import MARK, Transfer, is_own
from scrapy_rep.identity import Identity
from scrapy_rep.protocol.access.endings import Ending
from scrapy_rep.protocol.access.knowledge import REMARK
from scrapy_rep.settings import RepSettings

URI = "https://example.com/robots.txt"
BODY = b"User-agent: *\nDisallow: /private\n"
FRAMED = {"Content-Length": str(len(BODY))}
Given = Response | Exception | Callable[[Request], Response]


def answer(
    status: int = 200,
    body: bytes = BODY,
    flags: tuple[str, ...] = (),
    headers: dict[str, Any] = FRAMED,
) -> Response:
    return Response(
        URI,
        status=status,
        body=body,
        headers=headers,
        flags=[*flags],
        protocol="HTTP/1.1",
    )


class Crawl:
    """The requests of a crawl, whose downloads the test gives, in order."""

    def __init__(self, *given: Given, **settings: Any) -> None:
        self.crawler = crawler = get_crawler(settings_dict=settings)
        crawler.stats = MemoryStatsCollector(crawler)
        crawler.spider = Spider("test")
        self.slot = SimpleNamespace(closing=None)
        crawler.engine = SimpleNamespace(  # type: ignore[assignment]
            spider=crawler.spider, downloader=None, _slot=self.slot
        )
        identity = Identity(crawler)
        identity.open()
        self.slots = Slots(crawler)
        rep = RepSettings.of(crawler.settings)
        self.requests = Requests(crawler, rep, identity, self.slots)
        self.requests._downloads = self  # type: ignore[assignment]
        self.slots.listen_to_requests((self.requests._reached, lambda _: None))
        self.given = list(given)
        self.asked: list[Request] = []
        self.tells_request = True
        self.told: list[str] = []
        self.course = Course(carried=NOTHING)

    async def answer_to(self, request: Request, _: Course) -> Response:
        self.asked.append(request)
        given = self.given.pop(0)
        if isinstance(given, Exception):
            raise given
        response = given if isinstance(given, Response) else given(request)
        if self.tells_request:
            response.request = response.request or request
        return response

    def reached(self, _: Request) -> None:
        self.told.append("reached")

    def send(self, signal: object, **values: Any) -> Any:
        """Send a signal; what its last handler gives, which may be a failure that Scrapy knows."""
        sent = self.crawler.signals.send_catch_log(signal, dont_log=StopDownload, **values)
        for _, found in sent:
            assert not isinstance(found, Failure) or isinstance(found.value, StopDownload)
        return sent[-1][1]

    def fetch(self, **headers: str) -> tuple[Response, bytes]:
        def work() -> Coroutine[Any, Any, tuple[Response, bytes]]:
            return self.requests.whole_answer(URI, headers, self.course)

        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, work()).result(timeout=20)


class TestRequest:
    def test_what_it_is(self) -> None:
        crawl = Crawl(answer(), REP_FETCH_META={"a": 1, "handle_httpstatus_all": False})
        response, body = crawl.fetch(**{"If-None-Match": '"1"'})
        assert (response.status, body) == (200, BODY)
        (request,) = crawl.asked
        assert request.url == URI
        assert is_own(request)
        assert not is_own(request.replace(url="https://example.com/private")), "a copy of its meta"
        assert request.dont_filter
        assert request.priority == 1000
        assert request.headers[b"If-None-Match"] == b'"1"'
        assert request.headers[b"Accept-Encoding"] == b"identity"
        meta = {name: value for name, value in request.meta.items() if name != MARK}
        assert meta == {
            "a": 1,
            "dont_cache": True,
            "dont_merge_cookies": True,
            "dont_redirect": True,
            "dont_retry": True,
            "download_fail_on_dataloss": True,
            "download_maxsize": 0,
            "download_timeout": 10.0,
            "handle_httpstatus_all": True,
        }

    @pytest.mark.parametrize(
        ("settings", "sent"),
        [({}, None), ({"ROBOTSTXT_USER_AGENT": "Other"}, b"Scrapy/2 Other")],
    )
    def test_as_whom(self, settings: dict[str, Any], sent: bytes | None) -> None:
        crawl = Crawl(answer(), USER_AGENT="Scrapy/2", **settings)
        crawl.fetch()
        assert crawl.asked[0].headers.get(b"User-Agent") == sent
        assert crawl.course.user_agent == (sent or b"").decode()

    @pytest.mark.parametrize("tells_request", [True, False])
    def test_as_whom_a_middleware_sends_it(self, tells_request: bool) -> None:
        """It may send another request, or answer by itself."""
        given = answer()
        if tells_request:
            given.request = Request(URI, headers={"User-Agent": "Another"})
        crawl = Crawl(given, ROBOTSTXT_USER_AGENT="Other", USER_AGENT="Scrapy/2")
        crawl.tells_request = tells_request
        crawl.fetch()
        assert crawl.course.user_agent == ("Another" if tells_request else "Scrapy/2 Other")

    def test_what_it_copies(self) -> None:
        crawl = Crawl(answer(), answer(), REP_FETCH_META={"b": 2})
        carried = {"proxy": "http://p", "b": 1, "dont_redirect": False}
        crawl.course.carried = Carried(carried, {"Proxy-Authorization": b"Basic x"})
        crawl.fetch()
        request = crawl.asked[0]
        assert request.headers[b"Proxy-Authorization"] == b"Basic x"
        assert (request.meta["proxy"], request.meta["b"]) == ("http://p", 2)
        assert request.meta["dont_redirect"] is True

    def test_none_while_the_crawl_closes(self) -> None:
        crawl = Crawl(answer())
        crawl.slot.closing = object()
        with pytest.raises(IgnoreRequest, match="closing"):
            crawl.fetch()
        assert crawl.asked == []


class TestAnswer:
    @pytest.mark.parametrize(
        ("given", "error"),
        [
            (answer(flags=("dataloss",)), ResponseDataLossError),
            (answer(206, headers={"Content-Range": "bytes 0-9/100"}), ResponseDataLossError),
            (answer(flags=("download_stopped",)), DownloadCancelledError),
            (IgnoreRequest("a middleware's"), IgnoreRequest),
            (KeyError("unthought-of"), KeyError),
        ],
    )
    def test_one_that_cannot_be_used(self, given: Given, error: type[Exception]) -> None:
        with pytest.raises(error):
            Crawl(given).fetch()

    @pytest.mark.parametrize(("proxy", "is_used"), [("http://p", False), ("", True)])
    @pytest.mark.parametrize("tells_request", [True, False])
    def test_a_proxy_that_asks_for_credentials_speaks_for_no_site(
        self, tells_request: bool, proxy: str, is_used: bool
    ) -> None:
        crawl = Crawl(answer(407), REP_FETCH_META={"proxy": proxy})
        crawl.tells_request = tells_request
        if is_used:
            assert crawl.fetch()[0].status == 407
        else:
            with pytest.raises(IgnoreRequest, match="credentials"):
                crawl.fetch()

    def test_only_we_remark(self) -> None:
        response, _ = Crawl(answer(headers={REMARK: "forged", **FRAMED})).fetch()
        assert REMARK not in response.headers

    def test_a_part_of_a_file(self) -> None:
        with pytest.raises(ResponseDataLossError):
            Crawl(answer(headers={"Content-Length": "1000"})).fetch()

    def test_the_body_of_a_failure_is_not_read(self) -> None:
        crawl = Crawl(answer(503, headers={"Content-Length": "1000"}))
        assert crawl.fetch()[0].status == 503

    @pytest.mark.parametrize(
        ("second", "outcome"),
        [
            (answer(404), 404),
            (answer(200, BODY, headers={"X": "1"}), 200),
            (answer(200, BODY[:9], headers={"X": "1"}), ResponseDataLossError),
        ],
    )
    def test_one_that_may_be_cut_is_asked_for_again(
        self, second: Response, outcome: int | type[Exception]
    ) -> None:
        """Nothing tells where a body ends that lasts as long as its connection."""
        crawl = Crawl(answer(headers={"X": "1"}), second)
        if isinstance(outcome, int):
            assert crawl.fetch()[0].status == outcome
        else:
            with pytest.raises(outcome):
                crawl.fetch()
        assert len(crawl.asked) == 2
        assert crawl.crawler.stats.get_value(stats.CONFIRMED) == 1


class DecompressionError(Exception):
    """As Scrapy raises it; the name tells it from others."""


DecompressionError.__name__ = "_DecompressionMaxSizeExceeded"


def refused(cause: BaseException | None) -> IgnoreRequest:
    error = IgnoreRequest()
    error.__cause__ = cause
    return error


class TestRescue:
    """The answer has come, and Scrapy refuses it on its way back."""

    @pytest.mark.parametrize(
        ("error", "is_used"),
        [(refused(DecompressionError()), True), (refused(OSError()), False), (OSError(), False)],
    )
    def test_one_that_grows_too_large_is_read_from_its_beginning(
        self, error: Exception, is_used: bool
    ) -> None:
        def come(request: Request) -> Response:
            crawl.send(signals.response_downloaded, request=request, response=answer())
            raise error

        crawl = Crawl(come)
        if is_used:
            assert crawl.fetch()[1] == BODY
        else:
            with pytest.raises(type(error)):
                crawl.fetch()

    @pytest.mark.parametrize("is_compressed", [True, False])
    def test_one_that_scrapy_cannot_decompress_may_be_read_all_the_same(
        self, is_compressed: bool
    ) -> None:
        packed = gzip.compress(BODY) + b"what a server adds"
        fields = {"Content-Length": str(len(packed))}
        if is_compressed:
            fields["Content-Encoding"] = "gzip"

        def come(request: Request) -> Response:
            response = answer(body=packed, headers=fields)
            crawl.send(signals.response_downloaded, request=request, response=response)
            raise zlib.error

        crawl = Crawl(come)
        if is_compressed:
            assert crawl.fetch()[1] == BODY
        else:
            with pytest.raises(zlib.error):
                crawl.fetch()

    @pytest.mark.parametrize(
        ("has_head", "error"), [(True, ResponseDataLossError), (False, DownloadFailedError)]
    )
    def test_one_whose_connection_broke_is_a_part_if_it_had_begun(
        self, has_head: bool, error: type[Exception]
    ) -> None:
        def come(request: Request) -> Response:
            head = {"headers": Headers(), "body_length": None}
            if has_head:
                crawl.send(signals.headers_received, request=request, **head)
            raise DownloadFailedError from ConnectionResetError()

        crawl = Crawl(come)
        with pytest.raises(error):
            crawl.fetch()


class TestSignals:
    """What Scrapy tells on the way."""

    def test_of_ours(self, monkeypatch: pytest.MonkeyPatch) -> None:
        counted: list[Request] = []
        noted: list[Transfer] = []

        def come(request: Request) -> Response:
            transfer = request.meta[MARK]
            transfer.has_head = True
            crawl.send(signals.request_reached_downloader, request=request)
            assert crawl.told == ["reached"]
            assert not transfer.has_head, "it begins anew"
            head = {"headers": Headers(), "body_length": None}
            monkeypatch.setattr(crawl.requests._wires, "note_head", noted.append)
            crawl.send(signals.headers_received, request=request, **head)
            assert transfer.has_head
            assert noted == [transfer]
            assert counted == [request]
            assert crawl.send(signals.bytes_received, request=request, data=BODY) is None
            assert request.meta["download_maxsize"] > transfer.limit_octets
            data = b"#" * transfer.limit_octets
            found = crawl.send(signals.bytes_received, request=request, data=data)
            assert isinstance(found.value, StopDownload)
            assert found.value.fail is False
            response = answer(headers={"Content-Encoding": "gzip", **FRAMED})
            crawl.send(signals.response_downloaded, request=request, response=response)
            del response.headers["Content-Encoding"]
            assert b"Content-Encoding" in transfer.response.headers
            return answer(flags=("download_stopped",))

        crawl = Crawl(come)
        monkeypatch.setattr(crawl.slots, "count_from_now", counted.append)
        monkeypatch.setattr(Transfer, "body_of", lambda *_: BODY)
        monkeypatch.setattr(Transfer, "ending", lambda *_: Ending.FRAMED)
        assert crawl.fetch()[1] == BODY

    def test_of_others(self) -> None:
        def come(ours: Request) -> Response:
            theirs = Request("https://example.com/", meta={MARK: "nothing of ours"})
            crawl.send(signals.request_reached_downloader, request=theirs)
            crawl.send(
                signals.headers_received, request=theirs, headers=Headers(), body_length=None
            )
            crawl.send(signals.bytes_received, request=theirs, data=b"#" * 10_000_000)
            crawl.send(signals.response_downloaded, request=theirs, response=answer())
            assert crawl.told == []
            assert theirs.meta == {MARK: "nothing of ours"}
            assert not ours.meta[MARK].has_head
            return answer()

        crawl = Crawl(come)
        assert crawl.fetch()[1] == BODY
