"""One fetch of a file, over an engine that a test plays: store, lease, hops, retries, limits."""

from __future__ import annotations

import asyncio
import gzip
import logging
import math
import socket
import time
import zlib
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.exceptions import (
    DownloadCancelledError,
    DownloadFailedError,
    IgnoreRequest,
    NotSupported,
    StopDownload,
)
from scrapy.http import Headers, Response
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from scrapy_rep import stats
from scrapy_rep.cache.base import Claim, Leased
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.fetch import context as context_module
from scrapy_rep.fetch import file_fetch as module
from scrapy_rep.fetch import sender as sender_module
from scrapy_rep.fetch.context import FetchContext
from scrapy_rep.fetch.fetch_state import FetchPart
from scrapy_rep.fetch.file_fetch import FileFetch, NotNeededError
from scrapy_rep.fetch.keeper import LEASE_SECONDS, Claimed, Held
from scrapy_rep.fetch.transfer import MARK, Transfer, is_own
from scrapy_rep.identity import Identity
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.exchange import learn
from scrapy_rep.protocol.access.knowledge import REMARK, Answer, Copy, Knowledge
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.settings import RepSettings

ORIGIN = Origin("https", "example.com", 443)
OTHER = Origin("https", "example.org", 443)
URI, OTHER_URI = ORIGIN.robots_txt_uri, OTHER.robots_txt_uri
ELSEWHERE = "https://www.example.com/robots.txt"
BODY = b"User-agent: *\nDisallow: /private\n"
HOLDS: dict[str, Any] = {"Cache-Control": "max-age=3600"}
FILE = Answer(200, BODY, (URI,), {"cache-control": "max-age=3600"})
DOWN = Answer(503, hops=(URI,))
COPY = Copy(200, BODY, (URI,), (("etag", '"1"'),), 1.0, 1.0, 2.0)
Given = Response | BaseException | Callable[[Request], Any]


def answer(status: int = 200, body: bytes = BODY, **headers: str) -> Response:
    """An answer as a handler gives it."""
    named: Any = {name.replace("_", "-"): value for name, value in headers.items()}
    named.setdefault("Content-Length", str(len(body)))
    return Response(URI, status=status, body=body, headers=named, protocol="HTTP/1.1")


def to(location: str) -> Response:
    return answer(301, b"", Location=location)


class Crawl:
    """The fetches of a crawl whose engine gives answers in order, the last one again and again."""

    def __init__(self, *given: Given, **settings: Any) -> None:
        usual = {"REP_STORE": "memory", "REP_QUICK_RETRY_SECONDS": []}
        self.crawler = crawler = get_crawler(settings_dict={**usual, **settings})
        crawler.stats = MemoryStatsCollector(crawler)
        crawler.spider = SimpleNamespace(name="test")  # type: ignore[assignment]
        self.slot = SimpleNamespace(closing=None)
        crawler.engine = SimpleNamespace(  # type: ignore[assignment]
            spider=crawler.spider,
            running=True,
            downloader=None,
            _slot=self.slot,
            download_async=self._download,
        )
        self.settings = RepSettings.of(crawler.settings)
        identity = Identity(crawler)
        identity.open()
        self.context = FetchContext.of(crawler, self.settings, identity)
        self.keeper = self.context.keeper
        self.store: Any = self.keeper._store
        self.given = [*given] or [answer(**HOLDS)]
        self.asked: list[Request] = []
        self.is_awaited = True
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def _download(self, request: Request) -> Response:
        self.asked.append(request)
        request.headers.setdefault("User-Agent", self.crawler.settings["USER_AGENT"])  # Scrapy's
        self.send(signals.request_reached_downloader, request=request)
        await self.go_on.wait()
        given = self.given.pop(0) if len(self.given) > 1 else self.given[0]
        if isinstance(given, BaseException):
            raise given
        response: Response = given.copy() if isinstance(given, Response) else given(request)
        response.request = response.request or request
        return response

    def send(self, signal: object, **values: Any) -> Any:
        """Send a signal; what its last handler gives."""
        return self.crawler.signals.send_catch_log(signal, dont_log=StopDownload, **values)[-1][1]

    @property
    def uris(self) -> list[str]:
        return [request.url for request in self.asked]

    @property
    def is_conditional(self) -> list[bool]:
        return [b"If-None-Match" in request.headers for request in self.asked]

    def key(self, origin: Origin = ORIGIN) -> Key:
        return self.context.asker.key(origin)

    def close(self) -> None:
        """The crawl is to end."""
        self.slot.closing = object()

    def fetch(self, origin: Origin = ORIGIN, **named: Any) -> FileFetch:
        named.setdefault("is_awaited", lambda: self.is_awaited)
        return FileFetch(self.context, origin, self.settings.rules, **named)

    async def known(self, origin: Origin = ORIGIN, **named: Any) -> Knowledge:
        return await self.fetch(origin, **named).result()

    def learnt(self, told: Answer = FILE, age: float = 0.0) -> Knowledge:
        return learn(Knowledge(), told, time.time() - age, self.settings.rules.limits)

    async def keep(self, known: Knowledge, key: Key | None = None) -> None:
        await self.keeper.commit(Entry(key or self.key(), known))

    def claim(self) -> Claim:
        """What another process would be told that needs the file."""
        claim: Claim = self.store.claim(self.key(), seconds=15.0, fresh_seconds=math.inf).result()
        return claim

    def counted(self, name: str) -> int:
        found: int = self.crawler.stats.get_value(name, 0)
        return found


def run(work: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
    """In a loop of its own: this thread has one already."""

    async def main() -> Any:
        return await asyncio.wait_for(work(), 20)

    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, main()).result(timeout=30)


def in_a_crawl(
    work: Callable[[Crawl], Coroutine[Any, Any, None]], *given: Given, **settings: Any
) -> None:
    async def main() -> None:
        await work(Crawl(*given, **settings))

    run(main)


def attempted(*given: Given, copy: Copy | None = None, **settings: Any) -> tuple[Crawl, Answer]:
    """What one attempt of a fetch came to, and its crawl."""

    async def main() -> tuple[Crawl, Answer]:
        crawl = Crawl(*given, **settings)
        return crawl, await crawl.fetch().attempt(copy)

    found: tuple[Crawl, Answer] = run(main)
    return found


def body_of(known: Knowledge) -> bytes | None:
    return None if known.copy is None else known.copy.body


class TestStore:
    def test_what_is_kept_is_not_fetched_again(self, caplog: pytest.LogCaptureFixture) -> None:
        async def work(crawl: Crawl) -> None:
            first = await crawl.known()
            assert body_of(first) == BODY
            assert await crawl.known() == first
            assert await crawl.known(is_refresh=True) == first, "it is fresh"
            assert crawl.uris == [URI]
            assert crawl.counted("rep/store/hit") == 2
            assert crawl.counted("rep/access/successful") == crawl.counted("rep/event/200") == 1
            assert isinstance(crawl.claim(), Leased), "the lease has ended"

        with caplog.at_level("DEBUG"):
            in_a_crawl(work)
        assert len([one for one in caplog.messages if "from the store" in one]) == 1

    def test_a_refresh_confirms_what_is_due(self) -> None:
        async def work(crawl: Crawl) -> None:
            due = crawl.learnt(replace(FILE, headers={**FILE.headers, "etag": '"1"'}), age=3595)
            await crawl.keep(due)
            assert await crawl.known() == due
            assert crawl.asked == []
            assert await crawl.known(is_refresh=True) != due
            assert crawl.is_conditional == [True]
            assert crawl.counted("rep/access/successful") == 1, "it is confirmed"

        in_a_crawl(work, answer(304, b"", ETag='"1"'))

    @pytest.mark.parametrize(
        ("given", "event"),
        [(IgnoreRequest("a middleware's"), Failure.LOCAL), (to(OTHER_URI), Failure.GUARD)],
    )
    def test_failures_of_our_own_are_nobody_else_s(self, given: Given, event: Failure) -> None:
        async def work(crawl: Crawl) -> None:
            known = await crawl.known()
            assert known.outage is not None
            assert known.outage.event is event
            assert crawl.keeper.peek(crawl.key()) == Knowledge()
            assert isinstance(crawl.claim(), Leased), "the lease has ended"

        in_a_crawl(work, given, REP_REDIRECT_GUARD="same-site")

    def test_those_of_the_site_are_kept(self) -> None:
        async def work(crawl: Crawl) -> None:
            known = await crawl.known()
            assert known.outage is not None
            assert crawl.keeper.peek(crawl.key()) == known
            assert isinstance(crawl.claim(), Leased)

        in_a_crawl(work, socket.gaierror())

    def test_an_error_of_our_own_leaves_no_lease(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object, **__: object) -> None:
            raise KeyError("unthought-of")

        async def work(crawl: Crawl) -> None:
            monkeypatch.setattr(module, "next_hop", fail)
            with pytest.raises(KeyError):
                await crawl.known()
            assert isinstance(crawl.claim(), Leased)

        in_a_crawl(work)

    @pytest.mark.parametrize(
        ("ago", "retry_after", "is_asked"),
        [(10, None, True), (10, "3", True), (10, "3600", False), (-0.1, None, False)],
    )
    def test_an_outage_holds_if_it_was_learnt_since(
        self, ago: float, retry_after: str | None, *, is_asked: bool
    ) -> None:
        async def work(crawl: Crawl) -> None:
            await asyncio.sleep(max(0.0, -ago))
            headers = {"retry-after": retry_after} if retry_after else {}
            await crawl.keep(crawl.learnt(replace(DOWN, headers=headers), age=max(0.0, ago)))
            known = await crawl.known()
            assert len(crawl.asked) == is_asked
            assert body_of(known) == (BODY if is_asked else None)

        in_a_crawl(work)

    def test_a_clock_that_is_set_back_makes_no_earlier_run(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def work(crawl: Crawl) -> None:
            now = time.time()
            monkeypatch.setattr(f"{module.__name__}.time.time", lambda: now - 3600)
            for _ in range(2):
                await crawl.known()
            assert len(crawl.asked) == 1

        in_a_crawl(work, answer(503))

    @pytest.mark.parametrize(
        ("given", "is_kept"), [(answer(**HOLDS), True), (answer(404), True), (OSError(), False)]
    )
    def test_an_answer_is_that_of_the_target_too(self, given: Given, is_kept: bool) -> None:
        async def work(crawl: Crawl) -> None:
            await crawl.known()
            known = crawl.keeper.peek(crawl.key(OTHER))
            assert (known.copy is not None) is is_kept
            if known.copy is not None:
                assert known.copy.hops == (OTHER_URI,)

        in_a_crawl(work, to(OTHER_URI), given)

    @pytest.mark.parametrize(
        "location", ["https://example.org/other.txt", "https://example.org/robots.txt?a", "/b"]
    )
    def test_a_file_elsewhere_is_not(self, location: str) -> None:
        async def work(crawl: Crawl) -> None:
            known = await crawl.known()
            assert crawl.store.keys() == [crawl.key()]
            assert known.copy is not None
            assert len(known.copy.hops) == 2

        in_a_crawl(work, to(location), answer())

    def test_a_fresh_copy_of_the_target_is_used(self) -> None:
        async def work(crawl: Crawl) -> None:
            theirs = crawl.learnt(replace(FILE, hops=(OTHER_URI,)))
            await crawl.keep(theirs, crawl.key(OTHER))
            known = await crawl.known()
            assert body_of(known) == BODY
            assert crawl.uris == [URI]
            assert known.copy is not None
            assert [step.is_copied for step in known.copy.steps] == [False, True]
            bare = await crawl.fetch(uses_store=False).attempt(None)
            assert bare.repeats is None
            assert crawl.uris == [URI, URI, OTHER_URI]

        in_a_crawl(work, to(OTHER_URI), to(OTHER_URI), answer())

    def test_one_that_is_due_is_not(self) -> None:
        async def work(crawl: Crawl) -> None:
            await crawl.keep(crawl.learnt(replace(FILE, hops=(OTHER_URI,)), 3595), crawl.key(OTHER))
            await crawl.known()
            assert crawl.uris == [URI, OTHER_URI]

        in_a_crawl(work, to(OTHER_URI), answer())

    def test_an_answer_is_kept_as_whose_it_was_sent_to(self) -> None:
        def come(_: Request) -> Response:
            response = answer(**HOLDS)
            response.request = Request(URI, headers={"User-Agent": "Another/1.0"})
            return response

        async def work(crawl: Crawl) -> None:
            key = crawl.key()
            await crawl.known()
            assert body_of(crawl.keeper.peek(Key.under(ORIGIN, "Another/1.0"))) == BODY
            assert crawl.keeper.peek(key) == Knowledge()
            claim = crawl.store.claim(key, seconds=15.0, fresh_seconds=math.inf).result()
            assert isinstance(claim, Leased), "the lease of the other key has ended"

        in_a_crawl(work, come)

    def test_a_failure_leaves_no_copy_of_another_s(self) -> None:
        """The site may have told the other more; here, it told this one nothing."""

        def come(_: Request) -> Response:
            response = answer(503)
            response.request = Request(URI, headers={"User-Agent": "Another/1.0"})
            return response

        async def work(crawl: Crawl) -> None:
            await crawl.keep(crawl.learnt(age=7200.0))
            found = await crawl.known()
            assert found.copy is None
            assert found.outage is not None
            assert crawl.keeper.peek(Key.under(ORIGIN, "Another/1.0")) == found

        in_a_crawl(work, come)

    @pytest.mark.parametrize(
        ("status", "age", "is_answering"),
        [(200, 0, True), (404, 0, True), (499, 0, True), (500, 0, False), (200, 90_000, False)],
    )
    def test_answers_of_pages_show_that_an_origin_is_up(
        self, status: int, age: float, is_answering: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def work(crawl: Crawl) -> None:
            told: list[bool] = []

            def standing(*_: object, is_answering: bool) -> None:
                told.append(is_answering)

            monkeypatch.setattr(context_module, "standing", standing)
            now = time.time()
            monkeypatch.setattr(f"{context_module.__name__}.time.time", lambda: now - age)
            crawl.context.saw_answer(ORIGIN, status)
            monkeypatch.setattr(f"{context_module.__name__}.time.time", lambda: now)
            for origin in (ORIGIN, OTHER):
                crawl.context.standing(origin, Knowledge(), crawl.settings.rules)
            assert told == [is_answering, False]

        in_a_crawl(work)


class TestLeases:
    """Another process fetches the same file."""

    def test_what_it_learns_is_waited_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        slept: list[float] = []

        async def work(crawl: Crawl) -> None:
            waits = [9.0] * 6 + [0.3, 0.001]

            async def claim(key: Key, fresh_seconds: float) -> Claimed:
                assert (key, fresh_seconds) == (crawl.key(), 0.0)
                return Claimed(Knowledge(), wait_seconds=waits[len(slept)])

            async def sleep(seconds: float) -> None:
                assert crawl.context.is_queued(ORIGIN)
                slept.append(seconds)
                if len(slept) == len(waits):
                    await crawl.keep(crawl.learnt())

            monkeypatch.setattr(crawl.keeper, "claim", claim)
            monkeypatch.setattr(module, "sleep", sleep)
            monkeypatch.setattr(
                f"{module.__name__}.random.uniform", lambda low, high: (low + high) / 2
            )
            assert body_of(await crawl.known()) == BODY
            assert crawl.asked == []
            assert slept == pytest.approx([0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.3, 0.02])
            assert crawl.counted("rep/store/lease_waited") == len(waits)

        in_a_crawl(work)

    def test_what_it_has_learnt_meanwhile_is_used_and_the_lease_given_back(self) -> None:
        async def work(crawl: Crawl) -> None:
            theirs = crawl.learnt()
            whole = crawl.keeper.claim

            async def claim(key: Key, fresh_seconds: float) -> Claimed:
                return replace(await whole(key, fresh_seconds), known=theirs)

            crawl.keeper.claim = claim  # type: ignore[method-assign]
            assert await crawl.known() == theirs
            assert crawl.asked == []
            assert isinstance(crawl.claim(), Leased)

        in_a_crawl(work)

    def test_what_is_fresh_to_others_and_not_to_us_is_refused_once(self) -> None:
        async def work(crawl: Crawl) -> None:
            asked: list[float] = []
            whole = crawl.keeper.claim

            async def claim(key: Key, fresh_seconds: float) -> Claimed:
                asked.append(fresh_seconds)
                if fresh_seconds < math.inf:
                    return Claimed(crawl.learnt(age=7200))
                return await whole(key, fresh_seconds)

            crawl.keeper.claim = claim  # type: ignore[method-assign]
            assert body_of(await crawl.known()) == BODY
            assert asked == [0.0, math.inf]
            assert len(crawl.asked) == 1
            assert crawl.counted("rep/store/lease_waited") == 0

        in_a_crawl(work)

    def test_a_refresh_wants_what_holds_for_longer(self) -> None:
        async def work(crawl: Crawl) -> None:
            await crawl.keep(crawl.learnt(age=3595))
            asked: list[float] = []
            whole = crawl.keeper.claim

            async def claim(key: Key, fresh_seconds: float) -> Claimed:
                asked.append(fresh_seconds)
                return await whole(key, fresh_seconds)

            crawl.keeper.claim = claim  # type: ignore[method-assign]
            await crawl.known(is_refresh=True)
            assert asked == [pytest.approx(6, abs=0.9)]

        in_a_crawl(work)

    def test_it_is_renewed_while_the_site_takes_its_time(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def work(crawl: Crawl) -> None:
            renewed: list[Held] = []
            monkeypatch.setattr(crawl.keeper, "keep_alive", renewed.append)
            crawl.go_on.clear()
            task = asyncio.ensure_future(crawl.known())
            await asyncio.sleep(0.01)
            assert renewed == [], "it is new"
            await asyncio.sleep(0.1)
            assert renewed
            crawl.go_on.set()
            await task
            renewed.clear()
            await asyncio.sleep(0.1)
            assert renewed == []

        assert LEASE_SECONDS == 15
        monkeypatch.setattr(context_module, "LEASE_SECONDS", 0.15)
        in_a_crawl(work)

    @pytest.mark.parametrize("theirs_age", [0.0, 7200.0])
    def test_a_successor_s_copy_is_used_if_it_is_fresh(self, theirs_age: float) -> None:
        async def work(crawl: Crawl) -> None:
            theirs = crawl.learnt(replace(FILE, body=b"User-agent: *\n"), age=theirs_age)

            async def commit(entry: Entry, held: Held | None = None) -> bool:
                await crawl.keeper.release(held)  # type: ignore[arg-type]
                crawl.store.commit(Entry(crawl.key(), theirs), None)
                return False

            crawl.keeper.commit = commit  # type: ignore[method-assign]
            known = await crawl.known()
            assert (known == theirs) is (theirs_age == 0)
            assert body_of(known) == (b"User-agent: *\n" if known == theirs else BODY)
            assert crawl.counted("rep/store/lease_lost") == 1
            assert isinstance(crawl.claim(), Leased), "to look took no lease"

        in_a_crawl(work)

    def test_many_that_begin_ask_once(self) -> None:
        async def work(crawl: Crawl) -> None:
            await crawl.keep(crawl.learnt(DOWN, age=10))
            others = [Crawl(answer(503)) for _ in range(9)]
            for one in others:
                one.keeper._store = crawl.store
            everyone = [crawl, *others]
            found = await asyncio.gather(*(one.known() for one in everyone))
            assert sum(len(one.asked) for one in everyone) == 1
            assert {one.outage.count for one in found if one.outage} == {2}

        in_a_crawl(work, answer(503))


class TestRetries:
    def test_quick_ones(self, monkeypatch: pytest.MonkeyPatch) -> None:
        slept: list[float] = []

        async def work(crawl: Crawl) -> None:
            async def sleep(seconds: float) -> None:
                slept.append(seconds)
                assert any(map(crawl.context.is_queued, (ORIGIN, OTHER))), "it only waits"

            monkeypatch.setattr(module, "sleep", sleep)
            crawl.given = [answer(503), answer(503), answer(**HOLDS)]
            assert body_of(await crawl.known()) == BODY
            assert slept == [1.0, 4.0]
            assert crawl.counted("rep/quick_retries") == 2
            assert crawl.counted("rep/access/unreachable") == 0, "only the last answer counts"
            crawl.given = [answer(503)]
            known = await crawl.known(OTHER)
            assert known.outage is not None
            assert len(known.outage.steps) == 3
            assert len(crawl.asked) == 6
            assert crawl.counted("rep/access/unreachable") == 1

        in_a_crawl(work, REP_QUICK_RETRY_SECONDS=[1, 4])


class TestPlaces:
    def test_they_are_held_while_it_fetches_and_not_after(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.go_on.clear()
            fetches = [crawl.fetch(origin) for origin in (ORIGIN, OTHER)]
            tasks = [asyncio.ensure_future(fetch.result()) for fetch in fetches]
            await asyncio.sleep(0.01)
            assert crawl.uris == [URI]
            assert not crawl.context.is_queued(ORIGIN)
            fetches[0].enter(FetchPart.SLOT)
            await asyncio.sleep(0.01)
            assert len(crawl.asked) == 2, "who waits for its turn lends its place"
            assert crawl.context.is_queued(ORIGIN)
            crawl.go_on.set()
            await asyncio.gather(*tasks)
            assert [fetch.part for fetch in fetches] == [None, None]
            assert not crawl.context.is_queued(ORIGIN)
            assert crawl.context.places._free == 1

        in_a_crawl(work, REP_CONCURRENT_FETCHES=1)

    def test_one_is_lent_while_another_fetch_is_waited_for(self) -> None:
        async def work(crawl: Crawl) -> None:
            async def permits(_: str) -> bool:
                return body_of(await crawl.known(OTHER)) == BODY

            known = await asyncio.wait_for(crawl.known(permits=permits), 5)
            assert body_of(known) == BODY
            assert crawl.uris == [URI, OTHER_URI, ELSEWHERE]
            assert crawl.context.places._free == 1

        in_a_crawl(work, to(ELSEWHERE), answer(), REP_CONCURRENT_FETCHES=1)

    @pytest.mark.parametrize("part", [*FetchPart, None])
    def test_our_own_queues_do_not_count_as_the_site_being_slow(
        self, part: FetchPart | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        now = 100.0
        fetch = Crawl().fetch()
        monkeypatch.setattr("scrapy_rep.engine.loops.time", SimpleNamespace(monotonic=lambda: now))
        fetch.enter(FetchPart.STORE)
        now += 1
        fetch.enter(part)
        now += 10
        is_ours = part in (FetchPart.PLACE, FetchPart.SLOT)
        assert fetch.asked.seconds == (1 if is_ours or part is None else 11)
        assert fetch.queued.seconds == (10 if part is FetchPart.SLOT else 0)
        assert fetch.is_idle is (part in (FetchPart.LEASE, FetchPart.SLOT, FetchPart.PAUSE))


class TestEnding:
    def test_one_that_is_late(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.go_on.clear()
            before = crawl.learnt(age=7200)
            await crawl.keep(before)
            fetch = crawl.fetch()
            known = await fetch.result()
            assert fetch.is_late
            assert known.copy == before.copy
            assert known.outage is not None
            assert known.outage.event is Failure.LOCAL
            assert crawl.counted("rep/late") == crawl.counted("rep/event/local") == 1
            assert crawl.counted("rep/access/unreachable") == 1
            await asyncio.sleep(0.01)
            assert crawl.keeper.peek(crawl.key()) == before, "nobody else hears of it"
            assert isinstance(crawl.claim(), Leased)

        monkeypatch.setattr(context_module, "_LOOK_SECONDS", 0.01)
        in_a_crawl(work, REP_UNREACHABLE_WAIT_SECONDS=0.1)

    @pytest.mark.parametrize("is_awaited", [True, False])
    @pytest.mark.parametrize("part", [*FetchPart, None])
    @pytest.mark.parametrize("is_patient", [True, False])
    def test_while_the_crawl_closes(
        self, part: FetchPart | None, is_awaited: bool, is_patient: bool
    ) -> None:
        """What was sent and is waited for has its time; what is being stored is stored."""

        async def work(crawl: Crawl) -> None:
            crawl.is_awaited = is_awaited
            fetch = crawl.fetch()
            fetch.enter(part)
            ended: list[Exception] = []
            fetch._running = SimpleNamespace(end=ended.append)  # type: ignore[assignment]
            fetch._look()
            assert ended == []
            crawl.close()
            patience = crawl.settings.fetch_timeout_seconds + 1
            fetch._closing._seconds = patience - 0.5 if is_patient else patience + 0.5
            fetch._look()
            is_worth_it = part in (FetchPart.HANDLER, FetchPart.ANSWER) and is_awaited
            may_go_on = is_patient and (is_worth_it or part is FetchPart.STORE)
            assert [type(error) for error in ended] == ([] if may_go_on else [NotNeededError])

        in_a_crawl(work)

    @pytest.mark.parametrize(
        ("part", "is_awaited", "is_left", "ends"),
        [
            (FetchPart.SLOT, False, True, True),
            (FetchPart.SLOT, True, True, False),
            (FetchPart.HANDLER, False, True, False),
            (FetchPart.SLOT, False, False, False),
        ],
    )
    def test_one_that_waits_for_its_turn_and_for_nobody_does_not_delay_the_end(
        self,
        part: FetchPart,
        is_awaited: bool,
        is_left: bool,
        ends: bool,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        async def work(crawl: Crawl) -> None:
            monkeypatch.setattr(module, "would_end_but_for", lambda *_: is_left)
            crawl.is_awaited = is_awaited
            fetch = crawl.fetch()
            fetch.enter(part)
            ended: list[Exception] = []
            fetch._running = SimpleNamespace(end=ended.append)  # type: ignore[assignment]
            fetch._look()
            assert [type(error) for error in ended] == ([NotNeededError] if ends else [])

        in_a_crawl(work)

    def test_nothing_is_learnt_while_the_crawl_closes(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.close()
            with pytest.raises(NotNeededError):
                await crawl.known()
            assert crawl.asked == []
            assert crawl.counted("rep/event/local") == 0
            assert isinstance(crawl.claim(), Leased)

        in_a_crawl(work)


class TestHops:
    def test_none(self) -> None:
        crawl, found = attempted(answer(ETag='"2"'), USER_AGENT="Bot/1")
        assert (found.event, found.body, found.hops) == (200, BODY, (URI,))
        assert (found.headers["etag"], found.user_agent) == ('"2"', "Bot/1")
        assert crawl.counted(stats.REQUESTS) == crawl.counted(stats.RESPONSES) == 1
        assert crawl.counted(stats.RESPONSE_STATUS.format(200)) == 1

    def test_some(self) -> None:
        crawl, found = attempted(to(ELSEWHERE), answer(302, b"", Location="/b"), answer(404))
        assert (found.event, found.hops) == (404, (URI, ELSEWHERE, "https://www.example.com/b"))
        assert [step.event for step in found.steps] == [301, 302, 404]
        assert crawl.counted(stats.REDIRECT_HOPS) == 2
        assert crawl.counted(stats.REQUESTS) == crawl.counted(stats.RESPONSES) == 1

    def test_too_many(self) -> None:
        hops = [to(f"/{number}") for number in range(6)]
        assert attempted(*hops, REP_REDIRECT_HOPS=5)[1].event is Failure.REDIRECT_LIMIT

    @pytest.mark.parametrize(
        "location", ["http:///robots.txt", "https://example.com:0/", "https://[::1", "data:,a"]
    )
    def test_to_no_origin(self, location: str) -> None:
        assert isinstance(attempted(to(location))[1].event, Failure)

    @pytest.mark.parametrize("is_permitted", [True, False])
    def test_those_that_robots_txt_governs(self, is_permitted: bool) -> None:
        async def permits(_: str) -> bool:
            return is_permitted

        async def work(crawl: Crawl) -> None:
            found = await crawl.fetch(permits=permits).attempt(None)
            assert found.event == (200 if is_permitted else Failure.GUARD)
            assert found.hops == (URI, ELSEWHERE)
            assert len(crawl.asked) == 1 + is_permitted

        in_a_crawl(work, to(ELSEWHERE), answer())

    def test_an_exception_is_an_event(self) -> None:
        crawl, found = attempted(to(ELSEWHERE), TimeoutError())
        assert (found.event, found.hops) == (Failure.TIMEOUT, (URI, ELSEWHERE))
        assert crawl.counted(stats.EXCEPTIONS.format(TimeoutError)) == 1
        assert crawl.counted(stats.RESPONSES) == 0

    @pytest.mark.parametrize(("reactor", "words"), [(True, ""), (False, " (TWISTED_REACTOR")])
    def test_a_scheme_without_a_handler_is_told_of_once(
        self, reactor: bool, words: str, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def work(crawl: Crawl) -> None:
            settings = {**crawl.crawler.settings, "TWISTED_REACTOR_ENABLED": reactor}
            crawl.crawler.settings = Settings(settings)
            for _ in range(2):
                assert (await crawl.fetch().attempt(None)).event is Failure.LOCAL

        with caplog.at_level(logging.WARNING):
            in_a_crawl(work, NotSupported())
        (record,) = caplog.records
        assert f"Scrapy has no HTTPS here{words}" in record.getMessage()
        assert "(TWISTED" in record.getMessage() or reactor

    @pytest.mark.parametrize(("seconds", "is_told"), [(5.5, True), (4.5, False)])
    def test_a_slow_one_is_told_of(
        self, seconds: float, is_told: bool, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def work(crawl: Crawl) -> None:
            fetch = crawl.fetch()
            fetch.asked._seconds = 100.0  # of the attempt before

            def slow(_: Request) -> Response:
                fetch.asked._seconds += seconds
                return answer()

            crawl.given = [slow]
            await fetch.attempt(None)

        with caplog.at_level(logging.WARNING):
            in_a_crawl(work)
        told = [f"took {seconds:.1f} seconds (200)" in one for one in caplog.messages]
        assert told == [True] * is_told


class TestCopies:
    """Whether what we have still holds."""

    def test_confirmed(self) -> None:
        crawl, found = attempted(answer(304, b"", ETag='"1"'), copy=COPY)
        assert crawl.asked[0].headers[b"If-None-Match"] == b'"1"'
        assert (found.event, found.confirms, found.is_confirmation) == (304, True, True)

    def test_replaced(self) -> None:
        crawl, found = attempted(answer(200, b"new", ETag='"9"'), copy=COPY)
        assert len(crawl.asked) == 1
        assert (found.event, found.body, found.is_confirmation) == (200, b"new", False)

    def test_another_version_is_asked_for_as_a_whole(self) -> None:
        crawl, found = attempted(answer(304, b"", ETag='"9"'), answer(200, b"new"), copy=COPY)
        assert crawl.is_conditional == [True, False]
        assert (found.event, found.body, found.confirms) == (200, b"new", False)

    @pytest.mark.parametrize(
        "copy", [None, replace(COPY, hops=(ELSEWHERE,)), replace(COPY, headers=())]
    )
    def test_an_answer_nobody_asked_for_is_what_it_is(self, copy: Copy | None) -> None:
        crawl, found = attempted(answer(304, b"", ETag='"9"'), copy=copy)
        assert crawl.is_conditional == [False]
        assert (found.event, found.confirms) == (304, False)

    def test_only_the_request_that_the_copy_came_from_is_conditional(self) -> None:
        copy = replace(COPY, hops=(URI, ELSEWHERE))
        crawl, found = attempted(to(ELSEWHERE), answer(304, b""), copy=copy)
        assert crawl.is_conditional == [False, True]
        assert found.confirms


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
            ("any", OTHER_URI, True),
            ("any", "http://127.0.0.1/robots.txt", True),
            ("same-site", ELSEWHERE, True),
            ("same-site", "http://example.com:8080/b", True),
            ("same-site", OTHER_URI, False),
        ],
    )
    def test_by_name(self, guard: str, location: str, is_followed: bool) -> None:
        crawl, found = attempted(to(location), answer(), REP_REDIRECT_GUARD=guard)
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
        crawl, found = attempted(to(OTHER_URI), answer(), REP_REDIRECT_GUARD="public")
        assert (found.event, found.hops) == (event, (URI, OTHER_URI))
        assert looked_up == [("example.org", 443)]
        assert len(crawl.asked) == 1 + (event == 200)

    def test_the_host_itself_is_not_looked_up(self, monkeypatch: pytest.MonkeyPatch) -> None:
        looked_up = resolving(monkeypatch, "127.0.0.1")
        assert attempted(to("/b"), answer(), REP_REDIRECT_GUARD="public")[1].event == 200
        assert looked_up == []

    @pytest.mark.parametrize(
        "case",
        [
            (OTHER_URI, "public", "93.184.216.34", True),
            (OTHER_URI, "public", "127.0.0.1", False),
            (OTHER_URI, "public", None, True),
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
        last = answer()
        last.ip_address = address
        meta = {"proxy": proxy}
        _, found = attempted(to(location), last, REP_REDIRECT_GUARD=guard, REP_FETCH_META=meta)
        assert found.event == (200 if is_used or proxy else Failure.GUARD)


class TestRequest:
    def test_what_it_is(self) -> None:
        settings = {"a": 1, "handle_httpstatus_all": False}
        crawl, _ = attempted(answer(), REP_FETCH_META=settings)
        (request,) = crawl.asked
        assert request.url == URI
        assert is_own(request)
        assert not is_own(request.replace(url="https://example.com/private")), "a copy of its meta"
        assert request.dont_filter
        assert request.priority == 1000
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
        [({}, "Scrapy/2"), ({"ROBOTSTXT_USER_AGENT": "Other"}, "Scrapy/2 Other")],
    )
    def test_as_whom(self, settings: dict[str, Any], sent: str) -> None:
        crawl, found = attempted(answer(), USER_AGENT="Scrapy/2", **settings)
        assert crawl.asked[0].headers[b"User-Agent"] == sent.encode()
        assert found.user_agent == sent

    def test_what_it_copies(self) -> None:
        page = Request(
            f"{ORIGIN}/",
            meta={"proxy": "http://p", "bindaddress": "::1", "other": 1},
            headers={"Proxy-Authorization": "Basic x"},
        )

        async def work(crawl: Crawl) -> None:
            await crawl.fetch(request=page).attempt(None)
            (request,) = crawl.asked
            assert request.headers[b"Proxy-Authorization"] == b"Basic x"
            assert (request.meta["proxy"], request.meta["bindaddress"]) == ("http://p", "::1")
            assert "other" not in request.meta

        in_a_crawl(work)


class TestAnswers:
    @pytest.mark.parametrize(
        ("given", "event"),
        [
            (answer().replace(flags=["dataloss"]), Failure.TRUNCATED),
            (answer(206, Content_Range="bytes 0-9/100"), Failure.TRUNCATED),
            (answer(Content_Length="1000"), Failure.TRUNCATED),
            (answer().replace(flags=["download_stopped"]), Failure.LOCAL),
            (IgnoreRequest("a middleware's"), Failure.LOCAL),
            (DownloadCancelledError(), Failure.LOCAL),
            (KeyError("unthought-of"), Failure.NETWORK),
            (answer(503, Content_Length="1000"), 503),
        ],
    )
    def test_one_that_cannot_be_used(self, given: Given, event: int | Failure) -> None:
        assert attempted(given)[1].event == event

    @pytest.mark.parametrize(("proxy", "event"), [("http://p", Failure.LOCAL), ("", 407)])
    def test_a_proxy_that_asks_for_credentials_speaks_for_no_site(
        self, proxy: str, event: int | Failure
    ) -> None:
        assert attempted(answer(407), REP_FETCH_META={"proxy": proxy})[1].event == event

    def test_only_we_remark(self) -> None:
        forged: dict[str, Any] = {REMARK: "forged"}
        _, found = attempted(answer(**forged))
        assert REMARK not in found.headers

    @pytest.mark.parametrize(
        ("second", "event"),
        [
            (answer(404), 404),
            (Response(URI, body=BODY, protocol="HTTP/1.1"), 200),
            (Response(URI, body=BODY[:9], protocol="HTTP/1.1"), Failure.TRUNCATED),
        ],
    )
    def test_one_that_may_be_cut_is_asked_for_again(
        self, second: Response, event: int | Failure
    ) -> None:
        """Nothing tells where a body ends that lasts as long as its connection."""
        crawl, found = attempted(Response(URI, body=BODY, protocol="HTTP/1.1"), second)
        assert found.event == event
        assert len(crawl.asked) == 2
        assert crawl.counted(stats.CONFIRMED) == 1


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
        ("error", "event"),
        [
            (refused(DecompressionError()), 200),
            (refused(OSError()), Failure.LOCAL),
            (OSError(), Failure.NETWORK),
        ],
    )
    def test_one_that_grows_too_large_is_read_from_its_beginning(
        self, error: Exception, event: int | Failure
    ) -> None:
        async def work(crawl: Crawl) -> None:
            def come(request: Request) -> Response:
                crawl.send(signals.response_downloaded, request=request, response=answer())
                raise error

            crawl.given = [come]
            assert (await crawl.fetch().attempt(None)).event == event

        in_a_crawl(work)

    @pytest.mark.parametrize("is_compressed", [True, False])
    def test_one_that_scrapy_cannot_decompress_may_be_read_all_the_same(
        self, is_compressed: bool
    ) -> None:
        packed = gzip.compress(BODY) + b"what a server adds"
        coding: dict[str, Any] = {"Content-Encoding": "gzip"} if is_compressed else {}
        response = answer(body=packed, **coding)

        async def work(crawl: Crawl) -> None:
            def come(request: Request) -> Response:
                crawl.send(signals.response_downloaded, request=request, response=response)
                raise zlib.error

            crawl.given = [come]
            found = await crawl.fetch().attempt(None)
            assert found.event == (200 if is_compressed else Failure.UNDECODABLE)
            assert found.body == (BODY if is_compressed else b"")

        in_a_crawl(work)

    @pytest.mark.parametrize(
        ("has_head", "event"), [(True, Failure.TRUNCATED), (False, Failure.RESET)]
    )
    def test_one_whose_connection_broke_is_a_part_if_it_had_begun(
        self, has_head: bool, event: Failure
    ) -> None:
        async def work(crawl: Crawl) -> None:
            def come(request: Request) -> Response:
                if has_head:
                    head = {"headers": Headers(), "body_length": None}
                    crawl.send(signals.headers_received, request=request, **head)
                raise DownloadFailedError from ConnectionResetError()

            crawl.given = [come]
            assert (await crawl.fetch().attempt(None)).event is event

        in_a_crawl(work)

    def test_a_body_is_stopped_once_there_is_enough(self) -> None:
        async def work(crawl: Crawl) -> None:
            def come(request: Request) -> Response:
                limit = request.meta[MARK].limit_octets
                assert crawl.send(signals.bytes_received, request=request, data=BODY) is None
                assert request.meta["download_maxsize"] == limit + 1
                stopped = crawl.send(signals.bytes_received, request=request, data=b"#" * limit)
                assert isinstance(stopped.value, StopDownload)
                assert stopped.value.fail is False
                page = Request(URI, meta={MARK: "nothing of ours"})
                assert crawl.send(signals.bytes_received, request=page, data=b"#" * 9**7) is None
                return answer(Content_Length="9999999").replace(flags=["download_stopped"])

            crawl.given = [come]
            assert (await crawl.fetch().attempt(None)).event == 200

        in_a_crawl(work)


class TestTimeLimits:
    """Of a handler, and of the queue of a slot: crawls show both (`faults/test_slot_queues.py`)."""

    @pytest.mark.parametrize("seconds", [None, 0, -1, "soon", [7], math.nan, math.inf, "7.5", 7])
    def test_the_handler_has_its_own_and_a_second(
        self, seconds: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A middleware may have written anything into the meta of the request."""
        expected = float(seconds) if seconds in ("7.5", 7) else 10.0

        async def work(crawl: Crawl) -> None:
            crawl.go_on.clear()
            waiting = asyncio.ensure_future(crawl.fetch().attempt(None))
            await asyncio.sleep(0.01)
            crawl.asked[0].meta["download_timeout"] = seconds
            downloader = SimpleNamespace(has=lambda _: True, is_waiting=lambda _: False)
            downloader.abandon = lambda _: None
            sender = crawl.context.sender
            monkeypatch.setattr(sender, "_downloader", downloader)
            sender._look()
            transfer: Transfer = crawl.asked[0].meta[MARK]
            assert transfer.handled_since is not None
            transfer.handled_since -= expected + 0.5
            sender._look()
            assert not waiting.done()
            transfer.handled_since -= 1
            sender._look()
            assert (await waiting).event is Failure.TIMEOUT

        in_a_crawl(work)

    @pytest.mark.parametrize(("limit", "is_given_up"), [(2, True), (3, False)])
    def test_one_that_comes_when_too_many_wait_for_their_turn_is_given_up(
        self, limit: int, is_given_up: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(sender_module, "_LINE_LIMIT", limit)

        async def work(crawl: Crawl) -> None:
            crawl.go_on.clear()
            origins = [Origin("https", f"{number}.example", 443) for number in range(3)]
            tasks = []
            for origin in origins:
                tasks.append(asyncio.ensure_future(crawl.known(origin)))
                await asyncio.sleep(0.01)
                crawl.asked[-1].meta[MARK].turn_seconds = 1.0
                crawl.context.sender._look()
            await asyncio.sleep(0.01)
            assert [task.done() for task in tasks] == [False, False, is_given_up]
            assert crawl.counted("rep/line/gave_up") == is_given_up
            crawl.go_on.set()
            await asyncio.gather(*tasks)

        in_a_crawl(work)
