"""The tdmrep.json of origins, over fetches that a test directs; `test_tdmrep` has whole crawls."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from scrapy_rep.fetch.context import FetchContext
from scrapy_rep.fetch.file_fetch import NotNeededError
from scrapy_rep.fetch.origin_files import TDMREP, OriginFile
from scrapy_rep.fetch.reading import Reading
from scrapy_rep.identity import Identity
from scrapy_rep.pages.reservations import Reservations
from scrapy_rep.policy import OVERRIDE, Policy
from scrapy_rep.protocol.access.events import Failure, Meaning
from scrapy_rep.protocol.access.exchange import PolicyOptions, learn
from scrapy_rep.protocol.access.knowledge import Answer, Knowledge
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.usage.tdmrep import Tdmrep
from scrapy_rep.settings import RepSettings

ORIGIN = Origin("https", "example.com", 443)
OTHER = Origin("https", "example.org", 443)
URI = f"{ORIGIN}{TDMREP.path}"
FILE = b'[{"location": "/a", "tdm-reservation": 1}]'


class Crawl:
    """A crawl: what its fetches come to, and its policies, by origin."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.crawler = crawler = get_crawler(settings_dict={"REP_STORE": "memory", **settings})
        crawler.stats = MemoryStatsCollector(crawler)
        crawler.spider = SimpleNamespace(name="test")  # type: ignore[assignment]
        self.slot = SimpleNamespace(closing=None)
        crawler.engine = SimpleNamespace(  # type: ignore[assignment]
            spider=crawler.spider, running=True, downloader=None, _slot=self.slot
        )
        self.settings = RepSettings.of(crawler.settings)
        self.fetching = FetchContext.of(crawler, self.settings, Identity(crawler))
        self.rules: dict[Origin, bytes] = {}
        self.opens_at = 0.0
        self.outcome: Knowledge | BaseException = self.file()
        self.leads_to: tuple[str, ...] = ()
        self.was_permitted: dict[str, bool] = {}
        self.asked: list[tuple[Origin, bool]] = []
        self.go_on = asyncio.Event()
        self.go_on.set()
        policies: Any = self
        pacing: Any = SimpleNamespace(visitable_at=lambda _: self.opens_at)
        self.reservations = Reservations(crawler, self.settings, policies, pacing)

    async def get(self, origin: Origin, request: Request | None = None) -> Policy:
        """As `Policies` have it."""
        await asyncio.sleep(0)
        robots_txt = parse(self.rules.get(origin, b""), origin.robots_txt_uri)
        reading = Reading(robots_txt, robots_txt)
        return Policy(origin, 200, Meaning.RULES, reading, ("bot",), due_at=time.time() + 1000)

    def fetch(
        self,
        context: FetchContext,
        origin: Origin,
        rules: PolicyOptions,
        request: Request | None,
        *,
        is_refresh: bool,
        is_awaited: Callable[[], bool],
        resource: OriginFile,
        permits: Callable[[str], Awaitable[bool]],
    ) -> Any:
        """What stands for `FileFetch`."""
        assert resource is TDMREP
        self.asked.append((origin, is_refresh))

        async def result() -> Knowledge:
            for url in self.leads_to:
                self.was_permitted[url] = await permits(url)
            await self.go_on.wait()
            if isinstance(self.outcome, BaseException):
                raise self.outcome
            return self.outcome

        return SimpleNamespace(result=result)

    def file(self, body: bytes = FILE, lifetime: float = 3600.0) -> Knowledge:
        headers = {"cache-control": f"max-age={lifetime}"}
        answer = Answer(200, body, (URI,), headers)
        return learn(Knowledge(), answer, time.time(), self.settings.rules.limits)

    def down(self, before: Knowledge | None = None, event: int | Failure = 503) -> Knowledge:
        """The file is unreachable, perhaps with what was known before."""
        answer = Answer(event, hops=(URI,))
        return learn(before or Knowledge(), answer, time.time(), self.settings.rules.limits)

    async def found(self, origin: Origin = ORIGIN) -> Tdmrep:
        policy = await self.get(origin)
        await self.reservations.add_to(policy)
        assert policy.tdmrep is not None
        return policy.tdmrep

    def change(self, origin: Origin = ORIGIN, **times: float) -> None:
        """Have what is known be due, or expired."""
        kept = self.reservations._kept.get(origin)
        assert kept is not None
        for name, value in times.items():
            object.__setattr__(kept, name, value)

    def counted(self, name: str) -> int:
        found: int = self.crawler.stats.get_value(f"rep/tdmrep/{name}", 0)
        return found


def in_a_crawl(work: Callable[[Crawl], Coroutine[Any, Any, None]], **settings: Any) -> None:
    """In a loop of its own: this thread has one already."""

    async def main() -> None:
        crawl = Crawl(settings)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("scrapy_rep.pages.reservations.FileFetch", crawl.fetch)
            await asyncio.wait_for(work(crawl), 20)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, main()).result(timeout=30)


async def turns() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


class TestFile:
    def test_what_is_known(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.go_on.clear()
            tasks = [asyncio.ensure_future(crawl.found()) for _ in range(3)]
            await turns()
            assert crawl.reservations.is_awaited(ORIGIN)
            crawl.go_on.set()
            found = await asyncio.gather(*tasks)
            assert found[0].file is not None
            assert (found[0].file.uri, len(found[0].file.rules)) == (URI, 1)
            assert (found[0].is_complete, found[0].is_stale) == (True, False)
            assert found[1] is found[2] is await crawl.found()
            assert crawl.asked == [(ORIGIN, False)]
            assert not crawl.reservations.is_awaited(ORIGIN)

        in_a_crawl(work)

    def test_what_is_due_is_used_and_fetched_again_once(self) -> None:
        async def work(crawl: Crawl) -> None:
            before = await crawl.found()
            crawl.change(due_at=0.0)
            crawl.outcome = crawl.file(b"[]")
            for _ in range(2):
                assert await crawl.found() is before
            await turns()
            assert crawl.asked == [(ORIGIN, False), (ORIGIN, True)]
            after = await crawl.found()
            assert after is not before
            assert after.file is not before.file, "it was fetched again"

        in_a_crawl(work)

    def test_what_has_expired_is_waited_for(self) -> None:
        async def work(crawl: Crawl) -> None:
            outcome = crawl.outcome
            before = await crawl.found()
            crawl.change(usable_until=0.0)
            after = await crawl.found()
            assert after is not before
            assert crawl.outcome is outcome
            assert after.file is before.file, "it was not fetched again, nor read"

        in_a_crawl(work)

    def test_one_that_holds_for_no_time_is_not_fetched_for_each_page(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.outcome = crawl.file(lifetime=0)
            for _ in range(3):
                await crawl.found()
            assert crawl.asked == [(ORIGIN, False)]

        in_a_crawl(work, REP_CACHE_MIN_SECONDS=0)

    def test_where_there_is_none(self) -> None:
        async def work(crawl: Crawl) -> None:
            for origin, source in ((Origin("ftp", "example.com", 21), ""), (ORIGIN, OVERRIDE)):
                policy = Policy(
                    origin,
                    None,
                    Meaning.ALLOW,
                    Reading.of_nothing(origin),
                    ("bot",),
                    source=source,
                )
                await crawl.reservations.add_to(policy)
                assert policy.tdmrep is None
            assert crawl.asked == []

        in_a_crawl(work)


class TestFailures:
    """Nobody waits for a file again that is down, and no failure stops what robots.txt allows."""

    @pytest.mark.parametrize("event", [503, Failure.DNS, Failure.GUARD, Failure.LOCAL, 429])
    def test_down(self, event: int | Failure) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.outcome = crawl.down(event=event)
            found = await crawl.found()
            assert (found.file, found.is_complete) == (None, False)
            assert found.usable_until == math.inf, "it is tried again in the background"
            assert found.due_at < time.time() + 100
            assert crawl.counted("failed") == 1

        in_a_crawl(work)

    @pytest.mark.parametrize("preset", ["rfc9309", "google", "strict", "lenient"])
    def test_a_copy_counts_under_every_policy(self, preset: str) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.outcome = crawl.down(crawl.file())
            found = await crawl.found()
            assert found.file is not None
            assert (found.is_stale, found.is_complete) == (True, True)
            assert found.usable_until == math.inf

        in_a_crawl(work, REP_POLICY=preset)

    def test_that_there_was_none_says_nothing_of_an_outage(self) -> None:
        async def work(crawl: Crawl) -> None:
            limits = crawl.settings.rules.limits
            none = learn(Knowledge(), Answer(404, hops=(URI,)), time.time(), limits)
            crawl.outcome = none
            assert (await crawl.found()).is_complete
            crawl.outcome = crawl.down(none)
            assert not (await crawl.found(OTHER)).is_complete

        in_a_crawl(work)

    @pytest.mark.parametrize("error", [OSError("no"), NotNeededError("only this fetch")])
    def test_what_was_known_stays_known_while_it_holds(self, error: Exception) -> None:
        """A crawl that is idle may go on: it asks again, and forgets no reservation meanwhile."""

        async def work(crawl: Crawl) -> None:
            before = await crawl.found()
            crawl.outcome = error
            crawl.change(due_at=0.0)
            await crawl.found()
            await turns()
            after = await crawl.found()
            assert (after.file, after.is_complete) == (before.file, True)
            assert 0 < after.due_at - time.time() < 100
            other = await crawl.found(OTHER)
            assert not other.is_complete
            assert 0 < other.due_at - time.time() < 100
            crawl.change(usable_until=0.0)
            assert not (await crawl.found()).is_complete

        in_a_crawl(work)

    def test_none_is_fetched_again_while_the_crawl_closes(self) -> None:
        async def work(crawl: Crawl) -> None:
            before = await crawl.found()
            crawl.change(due_at=0.0)
            crawl.slot.closing = object()
            assert await crawl.found() is before
            await turns()
            assert crawl.asked == [(ORIGIN, False)]

        in_a_crawl(work)

    def test_nobody_is_left_waiting_when_the_crawl_ends(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.go_on.clear()
            waiting = [asyncio.ensure_future(crawl.found(one)) for one in (ORIGIN, OTHER)]
            await turns()
            waiting.append(asyncio.ensure_future(crawl.found(Origin("http", "a.example", 80))))
            await asyncio.sleep(0)
            await crawl.reservations.close()
            for one in waiting:
                assert not (await asyncio.wait_for(one, 5)).is_complete

        in_a_crawl(work)


class TestGoverned:
    def test_disallowed(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.rules[ORIGIN] = b"User-agent: *\nDisallow: /.well-known/\n"
            found = await crawl.found()
            assert not found.is_complete
            assert crawl.asked == []
            assert (crawl.counted("disallowed"), crawl.counted("failed")) == (1, 1)
            assert 0 < found.usable_until - time.time() <= 1000, "while its robots.txt holds"
            del crawl.rules[ORIGIN]
            crawl.change(usable_until=0.0)
            assert (await crawl.found()).is_complete

        in_a_crawl(work)

    def test_what_it_is_redirected_to(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.rules = dict.fromkeys((ORIGIN, OTHER), b"User-agent: *\nDisallow: /private\n")
            permitted = [f"{ORIGIN}/tdm", f"{OTHER}/tdm"]
            refused = [f"{ORIGIN}/private/tdm", f"{OTHER}/private", "http://", "data:,x"]
            crawl.leads_to = (*permitted, *refused)
            await crawl.found()
            assert crawl.was_permitted == {
                **dict.fromkeys(permitted, True),
                **dict.fromkeys(refused, False),
            }
            assert crawl.asked == [(ORIGIN, False)], "where it leads to has a file of its own"

        in_a_crawl(work)

    @pytest.mark.parametrize("seconds", [500.0, 5000.0, math.inf])
    def test_an_origin_that_may_not_be_visited_now(self, seconds: float) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.opens_at = time.time() + seconds
            found = await crawl.found()
            assert crawl.asked == []
            assert not found.is_complete
            assert found.usable_until == pytest.approx(time.time() + min(seconds, 1000), abs=10)

        in_a_crawl(work)
