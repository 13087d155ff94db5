"""One fetch of a file, over an engine that a test plays: store, lease, hops, retries, limits."""

from __future__ import annotations

import asyncio
import logging
import math
import socket
import time
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest
from scrapy import Request, signals
from scrapy.exceptions import NotSupported
from scrapy.http import Response

from scrapy_rep import crawl as crawls
from scrapy_rep.cache.base import Claim, Leased
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.engine.transfer import Transfer
from scrapy_rep.fetch import context as context_module
from scrapy_rep.fetch.context import FetchContext
from scrapy_rep.fetch.file_fetch import FileFetch, NotNeededError
from scrapy_rep.fetch.keeper import LEASE_SECONDS, Claimed, Held
from scrapy_rep.identity import Identity
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.knowledge import REMARK, Answer, Copy, Knowledge
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.access.states import learn
from tests.played import begin_to_close, in_a_loop, played_crawler

ORIGIN = Origin("https", "example.com", 443)
OTHER = Origin("https", "example.org", 443)
URI, OTHER_URI = ORIGIN.robots_txt_uri, OTHER.robots_txt_uri
ELSEWHERE = "https://www.example.com/robots.txt"
BODY = b"User-agent: *\nDisallow: /private\n"
HOLDS: dict[str, Any] = {"Cache-Control": "max-age=3600"}
FILE = Answer(200, BODY, (URI,), {"cache-control": "max-age=3600"})
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
        self.crawler = crawler = played_crawler(
            {**usual, **settings}, download_async=self._download
        )
        crawl = crawls.Crawl.of(crawler)
        self.settings = crawl.settings
        crawl.part(Identity).open()
        self.context = FetchContext(crawl)
        self.keeper = self.context.keeper
        self.store: Any = self.keeper._store
        self.given = [*given] or [answer(**HOLDS)]
        self.asked: list[Request] = []
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def _download(self, request: Request) -> Response:
        self.asked.append(request)
        request.headers.setdefault("User-Agent", self.crawler.settings["USER_AGENT"])  # Scrapy's
        self.crawler.signals.send_catch_log(signals.request_reached_downloader, request=request)
        await self.go_on.wait()
        given = self.given.pop(0) if len(self.given) > 1 else self.given[0]
        if isinstance(given, BaseException):
            raise given
        response: Response = given.copy() if isinstance(given, Response) else given(request)
        response.request = response.request or request
        return response

    @property
    def is_conditional(self) -> list[bool]:
        return [b"If-None-Match" in request.headers for request in self.asked]

    def key(self, origin: Origin = ORIGIN) -> Key:
        return self.context.requester.key(origin)

    def fetch(self, origin: Origin = ORIGIN, **named: Any) -> FileFetch:
        return FileFetch(self.context, origin, self.settings.options, **named)

    async def known(self, origin: Origin = ORIGIN, **named: Any) -> Knowledge:
        task = asyncio.current_task()
        assert task is not None
        return await self.fetch(origin, interrupt=task.cancel, **named).result()

    def learnt(self, told: Answer = FILE, age: float = 0.0) -> Knowledge:
        return learn(Knowledge(), told, time.time() - age, self.settings.options.limits)

    def claim(self) -> Claim:
        """The answer to another process that needs the file."""
        claim: Claim = self.store.claim(self.key(), seconds=15.0, fresh_seconds=math.inf).result()
        return claim

    def counted(self, name: str) -> int:
        found: int = self.crawler.stats.get_value(name, 0)
        return found


def in_a_crawl(
    work: Callable[[Crawl], Coroutine[Any, Any, None]], *given: Given, **settings: Any
) -> None:
    async def main() -> None:
        await work(Crawl(*given, **settings))

    in_a_loop(main)


def attempted(*given: Given, copy: Copy | None = None, **settings: Any) -> tuple[Crawl, Answer]:
    """What one attempt of a fetch came to, and its crawl."""

    async def main() -> tuple[Crawl, Answer]:
        crawl = Crawl(*given, **settings)
        return crawl, await crawl.fetch().attempt(copy)

    found: tuple[Crawl, Answer] = in_a_loop(main)
    return found


def transfer_of(request: Request) -> Transfer:
    transfer = Transfer.of(request)
    assert transfer is not None
    return transfer


def body_of(known: Knowledge) -> bytes | None:
    return None if known.copy is None else known.copy.body


class TestClosing:
    def test_answer_is_stored_although_the_crawl_closes(self) -> None:
        async def work(crawl: Crawl) -> None:
            whole = crawl.keeper.commit

            async def slowly(entry: Entry, held: Held | None = None) -> bool:
                begin_to_close(crawl.crawler)
                await asyncio.sleep(2 * context_module._LOOK_SECONDS)
                return await whole(entry, held)

            crawl.keeper.commit = slowly  # type: ignore[method-assign]
            known = await crawl.known()
            assert crawl.keeper.peek(crawl.key()) == known

        in_a_crawl(work)

    @pytest.mark.parametrize("is_awaited", [True, False])
    def test_awaited_request_goes_on_while_the_crawl_closes(self, is_awaited: bool) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.go_on.clear()
            task = asyncio.ensure_future(crawl.known(is_awaited=lambda: is_awaited))
            await asyncio.sleep(0.01)
            transfer_of(crawl.asked[0]).handled_since = time.monotonic()
            crawl.context.sender._look()
            begin_to_close(crawl.crawler)
            await asyncio.sleep(3 * context_module._LOOK_SECONDS)
            crawl.go_on.set()
            if is_awaited:
                assert body_of(await task) == BODY
            else:
                with pytest.raises(NotNeededError):
                    await task

        in_a_crawl(work)


class TestLeases:
    """Another process fetches the same file."""

    def test_newer_entry_is_used_and_the_lease_released(self) -> None:
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

    @pytest.mark.parametrize("is_refresh", [False, True])
    def test_only_a_refresh_fetches_a_due_copy(self, is_refresh: bool) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.store.commit(Entry(crawl.key(), crawl.learnt(age=3590.0)), None)
            known = await crawl.known(is_refresh=is_refresh)
            assert len(crawl.asked) == is_refresh
            assert body_of(known) == (b"User-agent: *\n" if is_refresh else BODY)

        in_a_crawl(work, answer(body=b"User-agent: *\n", **HOLDS))

    def test_entry_that_is_too_old_for_this_crawl_is_refused_once(self) -> None:
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

    def test_lease_is_renewed_while_the_site_is_slow(self, monkeypatch: pytest.MonkeyPatch) -> None:
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
    def test_fresh_copy_of_a_successor_is_used(self, theirs_age: float) -> None:
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


class TestHops:
    def test_missing_handler_is_logged_once(self, caplog: pytest.LogCaptureFixture) -> None:
        async def work(crawl: Crawl) -> None:
            for _ in range(2):
                known = await crawl.known()
                assert known.outage is not None
                assert known.outage.event is Failure.LOCAL

        with caplog.at_level(logging.WARNING):
            in_a_crawl(work, NotSupported())
        (record,) = caplog.records
        assert "no download handler that can send the request: https" in record.getMessage()


class TestCopies:
    """Whether what we have still holds."""

    def test_only_the_last_hop_of_the_copy_is_conditional(self) -> None:
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
    def test_guard_by_name(self, guard: str, location: str, is_followed: bool) -> None:
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
    def test_guard_by_address(
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


class TestAnswers:
    def test_site_cannot_set_the_remark(self) -> None:
        forged: dict[str, Any] = {REMARK: "forged"}
        _, found = attempted(answer(**forged))
        assert REMARK not in found.headers


@pytest.mark.parametrize(("count", "is_given_up"), [(1001, True), (1000, False)])
def test_fetch_is_given_up_if_too_many_wait_for_their_turn(count: int, is_given_up: bool) -> None:
    async def work(crawl: Crawl) -> None:
        crawl.go_on.clear()
        origins = [Origin("https", f"{number}.example", 443) for number in range(count)]
        tasks = [asyncio.ensure_future(crawl.known(origin)) for origin in origins]
        queued: list[Request] = []
        while len(queued) < count:
            await asyncio.sleep(0)
            for request in crawl.asked[len(queued) :]:
                transfer_of(request).turn_seconds = 1.0
            queued = [*crawl.asked]
            crawl.context.sender._look()
        await asyncio.sleep(0.01)
        assert [task.done() for task in tasks].count(True) == is_given_up
        crawl.go_on.set()
        await asyncio.gather(*tasks)

    in_a_crawl(work)
