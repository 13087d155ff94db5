"""The requests for robots.txt in the engine: where each is, and when it has taken too long."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from scrapy_rep.engine.floors import Ask
from scrapy_rep.engine.loops import Running
from scrapy_rep.fetching import downloads as module
from scrapy_rep.fetching.course import Course, Part, Parts
from scrapy_rep.fetching.downloads import Downloads
from scrapy_rep.fetching.transfer import MARK, Transfer
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.settings import RepSettings

TIMEOUT_SECONDS = 30.0
LINE_SECONDS = 600.0


class Slots:
    """What the downloader's slots tell of our requests."""

    gate: Any = None
    asked, known = 0.0, 0.0  # seconds between requests: by the policy, and by the slots

    def __init__(self) -> None:
        self.inside: set[Request] = set()
        self.waiting: set[Request] = set()
        self.abandoned: list[Request] = []
        self.paced: list[Request] = []
        self.delay = 0.0

    def listen_to_requests(self, told: Any) -> None:
        self.told = told

    def has(self, request: Request) -> bool:
        return request in self.inside

    def is_waiting(self, request: Request) -> bool:
        return request in self.waiting

    def delay_seconds(self, _: Request) -> float:
        return self.delay

    def ask_of(self, origin: Origin) -> Ask:
        assert origin == Origin("https", "example.com", 443)
        return Ask(origin, self.asked)

    def ask_as_known(self, request: Request) -> None:
        self.paced.append(request)

    def told_delay(self, _: Origin, key: str) -> float:
        assert key == "example.com"
        return self.known

    def abandon(self, request: Request) -> None:
        self.abandoned.append(request)

    @contextmanager
    def place_of_its_own(self) -> Any:
        yield


class Crawl:
    """One request in the engine of a crawl."""

    def __init__(self) -> None:
        settings = {
            "REP_FETCH_TIMEOUT_SECONDS": TIMEOUT_SECONDS,
            "REP_FETCH_LINE_SECONDS": LINE_SECONDS,
        }
        self.crawler = crawler = get_crawler(settings_dict=settings)
        crawler.stats = MemoryStatsCollector(crawler)
        crawler.spider = SimpleNamespace(name="test")  # type: ignore[assignment]
        self.answer: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        crawler.engine = SimpleNamespace(download_async=self._download)  # type: ignore[assignment]
        slots: Any = Slots()
        self.slots: Slots = slots
        self.downloads = Downloads(crawler, RepSettings.of(crawler.settings), slots, lambda _: None)
        self.parts = Parts(lambda: None)
        self.course = Course(self.parts)
        self.request = Request("https://example.com/robots.txt", meta={MARK: Transfer(512_000)})
        work = self.downloads.answer_to(self.request, self.course)
        self.asking = asyncio.ensure_future(work)

    async def _download(self, _: Request) -> Response:
        return await self.answer

    def at(self, where: Part) -> None:
        """Have the request be there, and look."""
        self.slots.inside = {self.request} if where in (Part.SLOT, Part.HANDLER) else set()
        self.slots.waiting = {self.request} if where is Part.SLOT else set()
        if where is Part.ANSWER:
            self.downloads.left(self.request)
        self.look()

    def is_at(self, part: Part) -> bool:
        """Whether its exchange says so."""
        return self.course.part is part

    def look(self) -> None:
        self.downloads._look()

    @property
    def download(self) -> Any:
        (download,) = self.downloads._under_way.values()
        return download

    async def outcome(self) -> BaseException | Response | None:
        """What the request came to, if it came to anything."""
        await asyncio.sleep(0.01)
        if not self.asking.done():
            return None
        return self.asking.exception() or self.asking.result()

    def gave_up_count(self) -> int:
        found: int = self.crawler.stats.get_value("rep/line/gave_up", 0)
        return found


def in_a_crawl(work: Callable[[Crawl], Coroutine[Any, Any, None]]) -> None:
    """In a loop of its own: this thread has one already."""

    async def main() -> None:
        crawl = Crawl()
        await asyncio.sleep(0)
        await asyncio.wait_for(work(crawl), 20)
        crawl.asking.cancel()
        await asyncio.wait([crawl.asking])

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, main()).result(timeout=30)


def test_it_is_where_the_slots_say() -> None:
    async def work(crawl: Crawl) -> None:
        assert crawl.is_at(Part.MIDDLEWARES)
        assert crawl.slots.told is not None
        for part in (Part.MIDDLEWARES, Part.SLOT, Part.HANDLER, Part.ANSWER):
            crawl.at(part)
            assert crawl.is_at(part)
        crawl.downloads.reached(crawl.request)  # a middleware has it sent again
        crawl.at(Part.SLOT)
        assert crawl.is_at(Part.SLOT)
        response = Response("https://example.com/robots.txt")
        crawl.answer.set_result(response)
        assert await crawl.outcome() is response
        assert crawl.is_at(Part.MIDDLEWARES)
        assert crawl.slots.abandoned == []
        assert crawl.downloads._under_way == {}
        assert crawl.downloads._ticks._looks == set()
        assert crawl.slots.told is None, "or each page would cost something"
        crawl.downloads.reached(crawl.request)
        crawl.downloads.left(crawl.request)
        crawl.look()

    in_a_crawl(work)


def test_requests_of_others_are_none_of_its_business() -> None:
    async def work(crawl: Crawl) -> None:
        crawl.at(Part.SLOT)
        other = Request("https://example.com/", meta={MARK: "no transfer"})
        crawl.downloads.reached(other)
        crawl.downloads.left(other)
        assert crawl.download.request is crawl.request
        crawl.look()
        assert crawl.is_at(Part.SLOT)

    in_a_crawl(work)


def test_a_middleware_may_send_another_in_its_place() -> None:
    async def work(crawl: Crawl) -> None:
        crawl.at(Part.HANDLER)
        assert crawl.download.sent_at is not None
        crawl.at(Part.ANSWER)
        crawl.request = crawl.request.replace(url="https://example.com/robots.txt?again")
        crawl.downloads.reached(crawl.request)
        assert crawl.download.request is crawl.request
        assert crawl.download.sent_at is None, "its time begins anew"
        assert crawl.slots.paced == [crawl.request]
        crawl.asking.cancel()
        await asyncio.wait([crawl.asking])
        assert crawl.slots.abandoned == [crawl.request]

    in_a_crawl(work)


class TestHandlers:
    @pytest.mark.parametrize(
        ("meta", "seconds"),
        [
            ({}, TIMEOUT_SECONDS),
            ({"download_timeout": 7}, 7.0),
            ({"download_timeout": "7.5"}, 7.5),
            ({"download_timeout": 0}, TIMEOUT_SECONDS),
            ({"download_timeout": None}, TIMEOUT_SECONDS),
            ({"download_timeout": "soon"}, TIMEOUT_SECONDS),
            ({"download_timeout": [7]}, TIMEOUT_SECONDS),
            ({"download_timeout": -7}, TIMEOUT_SECONDS),
            ({"download_timeout": float("nan")}, TIMEOUT_SECONDS),
            ({"download_timeout": float("inf")}, TIMEOUT_SECONDS),
        ],
    )
    def test_each_has_its_time_and_a_second(self, meta: dict[str, Any], seconds: float) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.request.meta.update(meta)
            crawl.at(Part.HANDLER)
            crawl.download.sent_at -= seconds + 0.5
            crawl.look()
            assert await crawl.outcome() is None
            crawl.download.sent_at -= 1
            crawl.look()
            assert isinstance(await crawl.outcome(), TimeoutError)
            assert crawl.slots.abandoned == [crawl.request]

        in_a_crawl(work)


class TestLines:
    def test_each_may_take_its_time_and_a_delay(self, caplog: pytest.LogCaptureFixture) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.slots.delay = 20.0
            crawl.at(Part.SLOT)
            crawl.course.queued._seconds = LINE_SECONDS + 19
            crawl.look()
            assert await crawl.outcome() is None
            crawl.course.queued._seconds += 2
            crawl.look()
            assert isinstance(await crawl.outcome(), IgnoreRequest)
            assert crawl.gave_up_count() == 1
            assert crawl.slots.abandoned == [crawl.request]

        with caplog.at_level(logging.WARNING):
            in_a_crawl(work)
        (record,) = caplog.records
        assert (
            "is given up in the queue of its slot: it was queued for 621 s" in record.getMessage()
        )

    @pytest.mark.parametrize(("others", "is_given_up"), [(3, True), (2, False)])
    def test_one_that_comes_when_too_many_are_queued_is_given_up(
        self, others: int, is_given_up: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def work(crawl: Crawl) -> None:
            for _ in range(others):
                crawl.parts.move(None, Part.SLOT)
            crawl.at(Part.SLOT)
            assert isinstance(await crawl.outcome(), IgnoreRequest) is is_given_up

        monkeypatch.setattr(module, "IDLE_LIMIT", 3)
        in_a_crawl(work)

    def test_one_that_was_queued_before_the_others_stays(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.at(Part.SLOT)
            for _ in range(9):
                crawl.parts.move(None, Part.SLOT)
            crawl.look()
            assert await crawl.outcome() is None

        monkeypatch.setattr(module, "IDLE_LIMIT", 3)
        in_a_crawl(work)


@pytest.mark.parametrize(("asked", "known"), [(0.0, 2.0), (2.0, 0.0), (1.0, 2.0), (2.0, 1.0)])
def test_its_turn_among_others_is_as_long_as_the_longer_delay(
    monkeypatch: pytest.MonkeyPatch, asked: float, known: float
) -> None:
    """The slots may have forgotten what the policy asks for."""
    found: list[float] = []

    def is_open(_: Origin, seconds: float, *__: object, **___: object) -> bool:
        found.append(seconds)
        return True

    gate = SimpleNamespace(is_open=is_open, end=lambda _: None)
    for name, value in {"gate": gate, "asked": asked, "known": known}.items():
        monkeypatch.setattr(Slots, name, value)

    async def work(crawl: Crawl) -> None:
        crawl.answer.set_result(Response("https://example.com/robots.txt"))
        await crawl.outcome()

    in_a_crawl(work)
    assert found == [2.0]


def test_it_listens_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without asyncio, a request comes to the downloader while its work is begun."""
    told: list[str] = []

    class Noted(Running[Any]):
        def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
            told.append("runs")
            super().__init__(work)

    monkeypatch.setattr("scrapy_rep.fetching.downloads.Running", Noted)
    listen = Slots.listen_to_requests

    def listen_to_requests(slots: Slots, found: Any) -> None:
        told.append("listens" if found else "no more")
        listen(slots, found)

    monkeypatch.setattr(Slots, "listen_to_requests", listen_to_requests)

    async def work(crawl: Crawl) -> None:
        crawl.answer.set_result(Response("https://example.com/robots.txt"))
        await crawl.outcome()

    in_a_crawl(work)
    assert told == ["listens", "runs", "no more"]
