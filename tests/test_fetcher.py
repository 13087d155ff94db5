"""The fetch of one robots.txt, over answers that a test gives: hops, copies, guards, failures."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.exceptions import NotSupported
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler
from twisted.internet.defer import CancelledError

from scrapy_rep import stats
from scrapy_rep.engine.slots import Slots
from scrapy_rep.fetching.course import Course, Part
from scrapy_rep.fetching.fetcher import Fetcher
from scrapy_rep.identity import Identity
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.knowledge import Answer, Copy
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.settings import RepSettings

ORIGIN = Origin("https", "example.com", 443)
URI = ORIGIN.robots_txt_uri
ELSEWHERE = "https://www.example.com/robots.txt"
AWAY = "https://another.example/robots.txt"
BODY = b"User-agent: *\n"
COPY = Copy(200, BODY, (URI,), (("etag", '"1"'),), 1.0, 1.0, 2.0)


def answer(
    status: int = 200, body: bytes = BODY, meta: dict[str, Any] | None = None, **headers: str
) -> Response:
    request = Request(URI, meta=meta or {})
    named: Any = {name.replace("_", "-"): value for name, value in headers.items()}
    return Response(URI, status=status, body=body, headers=named, request=request)


class Crawl:
    """A fetcher whose requests are answered by the test, in order."""

    def __init__(self, *answers: Response | BaseException, **settings: Any) -> None:
        self.crawler = crawler = get_crawler(settings_dict=settings)
        crawler.stats = MemoryStatsCollector(crawler)
        crawler.spider = Spider("test")
        self.answers = list(answers)
        self.asked: list[tuple[str, dict[str, Any]]] = []
        rep = RepSettings.of(crawler.settings)
        self.fetcher = Fetcher(crawler, rep, Identity(crawler), Slots(crawler))
        self.fetcher._requests = self  # type: ignore[assignment]

    async def whole_answer(
        self, uri: str, headers: Mapping[str, Any], course: Course
    ) -> tuple[Response, bytes]:
        self.asked.append((uri, {**headers}))
        course.user_agent = f"Bot/{len(self.asked)}"
        given = self.answers.pop(0)
        if isinstance(given, BaseException):
            raise given
        return given, given.body

    def fetch(self, *arguments: Any, **named: Any) -> Answer:
        found: Answer = run(lambda: self.fetcher.fetch(ORIGIN, *arguments, **named))
        return found

    def counted(self, name: str) -> int:
        found: int = self.crawler.stats.get_value(name, 0)
        return found


def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """In a loop of its own: this thread has one already."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, work()).result(timeout=20)


class TestHops:
    def test_none(self) -> None:
        crawl = Crawl(answer(ETag='"2"'))
        course = Course()
        course.user_agent = "that of the last fetch"
        found = crawl.fetch(course=course)
        assert found == Answer(200, BODY, (URI,), {"etag": '"2"'}, user_agent="Bot/1")
        assert crawl.asked == [(URI, {})]
        assert (crawl.counted(stats.REQUESTS), crawl.counted(stats.RESPONSES)) == (1, 1)
        assert crawl.counted(stats.RESPONSE_STATUS.format(200)) == 1

    def test_some(self) -> None:
        crawl = Crawl(answer(301, Location=ELSEWHERE), answer(302, Location="/b"), answer(404))
        found = crawl.fetch()
        assert (found.event, found.hops) == (404, (URI, ELSEWHERE, "https://www.example.com/b"))
        assert found.user_agent == "Bot/3"
        assert crawl.counted(stats.REDIRECT_HOPS) == 2
        assert (crawl.counted(stats.REQUESTS), crawl.counted(stats.RESPONSES)) == (1, 1)

    def test_too_many(self) -> None:
        hops = [answer(301, Location=f"/{number}") for number in range(6)]
        found = Crawl(*hops, REP_REDIRECT_HOPS=5).fetch()
        assert found.event is Failure.REDIRECT_LIMIT

    def test_to_a_file_that_is_fresh_in_the_store(self) -> None:
        crawl = Crawl(answer(301, Location=ELSEWHERE))
        copy = replace(COPY, hops=(ELSEWHERE, "https://www.example.com/c"))
        found = crawl.fetch(known={ELSEWHERE: copy}.get)
        assert found.repeats == copy
        assert (found.event, found.hops) == (200, (URI, ELSEWHERE, "https://www.example.com/c"))
        assert [(step.uri, step.is_copied) for step in found.steps] == [
            (ELSEWHERE, True),
            ("https://www.example.com/c", True),
        ], "what an older version stored says no more"
        assert len(crawl.asked) == 1

    @pytest.mark.parametrize(
        "location", ["http:///robots.txt", "https://example.com:0/", "https://[::1", "data:,a"]
    )
    def test_to_no_origin(self, location: str) -> None:
        found = Crawl(answer(301, Location=location)).fetch()
        assert isinstance(found.event, Failure)


class TestCopies:
    """Whether what we have still holds."""

    def test_confirmed(self) -> None:
        crawl = Crawl(answer(304, b"", ETag='"1"'))
        found = crawl.fetch(COPY)
        assert crawl.asked == [(URI, {"If-None-Match": '"1"'})]
        assert (found.event, found.confirms, found.is_confirmation) == (304, True, True)

    def test_replaced(self) -> None:
        crawl = Crawl(answer(200, b"new", ETag='"9"'))
        found = crawl.fetch(COPY)
        assert len(crawl.asked) == 1
        assert (found.event, found.body, found.is_confirmation) == (200, b"new", False)

    def test_another_version_is_asked_for_as_a_whole(self) -> None:
        crawl = Crawl(answer(304, b"", ETag='"9"'), answer(200, b"new"))
        found = crawl.fetch(COPY)
        assert crawl.asked == [(URI, {"If-None-Match": '"1"'}), (URI, {})]
        assert (found.event, found.body, found.confirms) == (200, b"new", False)

    def test_an_answer_nobody_asked_for_is_what_it_is(self) -> None:
        for copy in (None, replace(COPY, hops=(ELSEWHERE,)), replace(COPY, headers=())):
            crawl = Crawl(answer(304, b"", ETag='"9"'))
            found = crawl.fetch(copy)
            assert crawl.asked == [(URI, {})]
            assert (found.event, found.confirms) == (304, False)

    def test_only_the_request_that_the_copy_came_from_is_conditional(self) -> None:
        crawl = Crawl(answer(301, Location=ELSEWHERE), answer(304, b""))
        found = crawl.fetch(replace(COPY, hops=(URI, ELSEWHERE)))
        assert crawl.asked == [(URI, {}), (ELSEWHERE, {"If-None-Match": '"1"'})]
        assert found.confirms


class TestFailures:
    def test_an_exception_is_an_event(self) -> None:
        crawl = Crawl(answer(301, Location=ELSEWHERE), TimeoutError())
        found = crawl.fetch()
        assert (found.event, found.hops) == (Failure.TIMEOUT, (URI, ELSEWHERE))
        assert found.user_agent == "Bot/2"
        assert crawl.counted(stats.EXCEPTIONS.format(TimeoutError)) == 1
        assert crawl.counted(stats.RESPONSES) == 0

    def test_cancelling_is_none(self) -> None:
        with pytest.raises(CancelledError):
            Crawl(CancelledError()).fetch()

    @pytest.mark.parametrize(("reactor", "words"), [(True, ""), (False, " (TWISTED_REACTOR")])
    def test_a_scheme_without_a_handler_is_told_of_once(
        self, reactor: bool, words: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        crawl = Crawl(NotSupported(), NotSupported())
        settings = crawl.crawler.settings
        crawl.crawler.settings = Settings({**settings, "TWISTED_REACTOR_ENABLED": reactor})
        with caplog.at_level(logging.WARNING):
            for _ in range(2):
                assert crawl.fetch().event is Failure.LOCAL
        (record,) = caplog.records
        assert f"Scrapy has no HTTPS here{words}" in record.getMessage()
        assert "(TWISTED" in record.getMessage() or reactor

    @pytest.mark.parametrize(("seconds", "is_told"), [(5.5, True), (4.5, False)])
    def test_a_slow_one_is_told_of(
        self, seconds: float, is_told: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        crawl = Crawl(answer())
        course = Course()
        course.asked._seconds = 100.0  # of the fetch before, of a quick retry
        whole = crawl.whole_answer

        async def slow(*arguments: Any) -> tuple[Response, bytes]:
            course.enter(Part.HANDLER)
            course.asked._seconds += seconds
            return await whole(*arguments)

        crawl.whole_answer = slow  # type: ignore[method-assign, assignment]
        with caplog.at_level(logging.WARNING):
            crawl.fetch(course=course)
        assert [
            f"took {seconds:.1f} seconds (200)" in one.getMessage() for one in caplog.records
        ] == ([True] * is_told)


def resolving(monkeypatch: pytest.MonkeyPatch, *addresses: str) -> list[tuple[str, int]]:
    """Have every name resolve to these; returns what was looked up."""
    looked_up: list[tuple[str, int]] = []

    def getaddrinfo(host: str, port: int) -> list[Any]:
        looked_up.append((host, port))
        if addresses == ("none",):
            raise socket.gaierror
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses]

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
    return looked_up


class TestGuards:
    @pytest.mark.parametrize(
        ("guard", "location", "is_followed"),
        [
            ("any", AWAY, True),
            ("any", "http://127.0.0.1/robots.txt", True),
            ("same-site", ELSEWHERE, True),
            ("same-site", "http://example.com:8080/b", True),
            ("same-site", AWAY, False),
        ],
    )
    def test_by_name(self, guard: str, location: str, is_followed: bool) -> None:
        crawl = Crawl(answer(301, Location=location), answer(), REP_REDIRECT_GUARD=guard)
        found = crawl.fetch()
        assert found.event == (200 if is_followed else Failure.GUARD)
        assert found.hops == (URI, location)
        assert len(crawl.asked) == 1 + is_followed

    @pytest.mark.parametrize(
        ("addresses", "event"),
        [
            (("93.184.216.34",), 200),
            (("93.184.216.34", "10.0.0.1"), Failure.GUARD),
            (("127.0.0.1",), Failure.GUARD),
            (("none",), Failure.DNS),
            ((), Failure.GUARD),
        ],
    )
    def test_by_address(
        self,
        addresses: tuple[str, ...],
        event: int | Failure,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        looked_up = resolving(monkeypatch, *addresses)
        crawl = Crawl(answer(301, Location=AWAY), answer(), REP_REDIRECT_GUARD="public")
        found = crawl.fetch()
        assert (found.event, found.hops) == (event, (URI, AWAY))
        assert looked_up == [("another.example", 443)]
        assert len(crawl.asked) == 1 + (event == 200)

    def test_the_host_itself_is_not_looked_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        looked_up = resolving(monkeypatch, "127.0.0.1")
        crawl = Crawl(answer(301, Location="/b"), answer(), REP_REDIRECT_GUARD="public")
        assert crawl.fetch().event == 200
        assert looked_up == []

    @pytest.mark.parametrize(
        "case",
        [
            (AWAY, "public", "93.184.216.34", True),
            (AWAY, "public", "127.0.0.1", False),
            (AWAY, "public", None, True),
            (ELSEWHERE, "same-site", "127.0.0.1", True),
            ("/b", "public", "127.0.0.1", True),
        ],
    )
    @pytest.mark.parametrize("proxy", ["", "http://proxy.example"])
    def test_an_answer_from_another_address_than_was_looked_up(
        self, case: tuple[str, str, Any, bool], proxy: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Through a proxy, the address is the proxy's, which may be any."""
        location, guard, address, is_used = case
        resolving(monkeypatch, "93.184.216.34")
        last = answer(meta={"proxy": proxy})
        last.ip_address = address
        crawl = Crawl(answer(301, Location=location), last, REP_REDIRECT_GUARD=guard)
        assert crawl.fetch().event == (200 if is_used or proxy else Failure.GUARD)
