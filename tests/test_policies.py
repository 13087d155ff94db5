"""The policies of a crawl over fetches that a test directs: who shares, waits and is told."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler
from twisted.internet.defer import CancelledError

from scrapy_rep.decisions import Decisions
from scrapy_rep.fetch.context import FetchContext
from scrapy_rep.fetch.file_fetch import NotNeededError
from scrapy_rep.fetch.reading import Reading, Ready
from scrapy_rep.identity import Identity
from scrapy_rep.policies import Policies
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Failure, Meaning
from scrapy_rep.protocol.access.exchange import PolicyOptions, learn
from scrapy_rep.protocol.access.knowledge import Answer, Knowledge, Step
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.verdict import Reason
from scrapy_rep.settings import RepSettings

ORIGIN = Origin("https", "example.com", 443)
OTHER = Origin("https", "example.org", 443)
SLASH = "https://example.com/"
PRIVATE = "https://example.com/private"
BODY = b"User-agent: *\nDisallow: /private\n"
LARGE = BODY + b"User-agent: one\nCrawl-delay: 2\nAllow: /\n" + b"# some octets more\n" * 5000
FOR_EVER = 1e6


class Directed:
    """The fetches of a crawl, which come to what the test says, when it says so."""

    def __init__(self) -> None:
        self.asked: list[tuple[Origin, bool]] = []
        self.requests: list[Request | None] = []
        self.is_awaited: Callable[[], bool] = lambda: False
        self.outcome: Knowledge | BaseException = file()
        self.is_late = False
        self.sent: tuple[Step, ...] = ()
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.cancelled_count = 0

    def fetch(
        self,
        context: FetchContext,
        origin: Origin,
        rules: PolicyOptions,
        request: Request | None,
        *,
        is_refresh: bool,
        is_awaited: Callable[[], bool],
    ) -> Any:
        """What stands for `FileFetch`."""
        self.asked.append((origin, is_refresh))
        self.requests.append(request)
        self.is_awaited = is_awaited
        return SimpleNamespace(
            origin=origin, steps=[*self.sent], is_late=self.is_late, result=self._result
        )

    async def _result(self) -> Knowledge:
        try:
            await self.go_on.wait()
        except asyncio.CancelledError:
            self.cancelled_count += 1
            raise
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


class Crawl:
    """The policies of a crawl that runs, and what directs them."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.crawler = crawler = get_crawler(settings_dict=settings)
        crawler.stats = MemoryStatsCollector(crawler)
        crawler.spider = SimpleNamespace(name="test")  # type: ignore[assignment]
        self.slot = SimpleNamespace(closing=None)
        self.engine = SimpleNamespace(
            spider=crawler.spider, running=True, downloader=None, _slot=self.slot
        )
        crawler.engine = self.engine  # type: ignore[assignment]
        identity = Identity(crawler)
        identity.open()
        rep = RepSettings.of(crawler.settings)
        self.policies = Policies(crawler, rep, identity, Decisions(crawler))
        self.fetches = Directed()
        self.heard: list[Origin] = []
        self.policies.listen(self.heard.append)

    def close(self) -> None:
        """The crawl is to end."""
        self.slot.closing = object()

    def counted(self, name: str) -> int:
        found: int = self.crawler.stats.get_value(f"rep/{name}", 0)
        return found


def file(body: bytes = BODY, lifetime: float = 3600.0, age: float = 0.0) -> Knowledge:
    headers = {"cache-control": f"max-age={lifetime}"}
    limits = RepSettings.of(get_crawler().settings).rules.limits
    answer = Answer(200, body, (ORIGIN.robots_txt_uri,), headers)
    return learn(Knowledge(), answer, time.time() - age, limits)


def in_a_crawl(
    work: Callable[[Crawl], Coroutine[Any, Any, None]], settings: dict[str, Any] | None = None
) -> None:
    """In a loop of its own: this thread has one already."""

    async def main() -> None:
        crawl = Crawl({"REP_STORE": "memory", **(settings or {})})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("scrapy_rep.policies.FileFetch", crawl.fetches.fetch)
            await asyncio.wait_for(work(crawl), 20)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, main()).result(timeout=30)


async def turns() -> None:
    """A few turns of the loop, after which nothing is under way that waits for nothing."""
    for _ in range(10):
        await asyncio.sleep(0)


def is_read(policy: Policy | None) -> bool:
    """Whether a policy is that of `BODY`."""
    assert policy is not None
    return policy.verdict(SLASH).allowed and not policy.verdict(PRIVATE).allowed


def is_closed_to_all(policy: Policy) -> bool:
    return not policy.verdict(SLASH).allowed and policy.event == "local"


class TestSharing:
    def test_who_asks_meanwhile_shares_the_exchange(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetches.go_on.clear()
            request = Request(SLASH)
            tasks = [asyncio.ensure_future(crawl.policies.get(ORIGIN, request)) for _ in range(3)]
            await turns()
            assert crawl.policies.is_asking(ORIGIN)
            assert not crawl.policies.is_asking(OTHER)
            assert crawl.fetches.is_awaited()
            crawl.fetches.go_on.set()
            found = await asyncio.gather(*tasks)
            assert is_read(found[0])
            assert found[1] is found[0]
            assert found[2] is found[0]
            assert crawl.fetches.asked == [(ORIGIN, False)]
            assert crawl.fetches.requests == [request]
            assert (crawl.counted("cache/miss"), crawl.counted("cache/waited")) == (1, 2)
            assert crawl.heard == [ORIGIN]
            assert await crawl.policies.get(ORIGIN) is found[0], "from memory"
            assert not crawl.policies.is_asking(ORIGIN)

        in_a_crawl(work)

    def test_one_that_is_cancelled_ends_neither_the_exchange_nor_other_waits(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetches.go_on.clear()
            first, second = (asyncio.ensure_future(crawl.policies.get(ORIGIN)) for _ in range(2))
            await turns()
            first.cancel()
            await turns()
            assert first.cancelled()
            assert crawl.fetches.is_awaited()
            crawl.fetches.go_on.set()
            assert is_read(await second)

        in_a_crawl(work)

    def test_an_exchange_whose_last_request_is_cancelled_is_not_awaited(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetches.go_on.clear()
            only = asyncio.ensure_future(crawl.policies.get(ORIGIN))
            await turns()
            only.cancel()
            await turns()
            assert not crawl.fetches.is_awaited()
            crawl.fetches.go_on.set()
            await turns()
            assert is_read(crawl.policies.peek(ORIGIN)), "it went on all the same"

        in_a_crawl(work)

    def test_twisted_s_cancelling_passes_while_the_engine_runs(self) -> None:
        async def work(crawl: Crawl) -> None:
            def cancelled(*_: object) -> None:
                raise CancelledError

            crawl.policies._work.result = cancelled  # type: ignore[method-assign, assignment]
            with pytest.raises(CancelledError):
                await crawl.policies.get(ORIGIN)
            crawl.engine.running = False
            assert is_closed_to_all(await crawl.policies.get(ORIGIN))

        in_a_crawl(work)


class TestRefreshing:
    def test_what_is_due_is_used_and_fetched_again_once(self) -> None:
        async def work(crawl: Crawl) -> None:
            before = await crawl.policies.get(ORIGIN)
            before.due_at = time.time() - 1
            assert crawl.policies.peek(ORIGIN, renew=False) is before
            await turns()
            assert crawl.fetches.asked == [(ORIGIN, False)]
            crawl.fetches.go_on.clear()
            request = Request(SLASH)
            for _ in range(3):
                assert crawl.policies.peek(ORIGIN, request) is before
            await turns()
            assert not crawl.fetches.is_awaited()
            assert crawl.fetches.asked == [(ORIGIN, False), (ORIGIN, True)]
            assert crawl.fetches.requests == [None, request]
            assert crawl.counted("cache/refreshed") == 1
            crawl.fetches.go_on.set()
            await turns()
            after = crawl.policies.peek(ORIGIN)
            assert after is not before
            assert is_read(after)

        in_a_crawl(work)

    def test_what_has_expired_is_not_used(self) -> None:
        async def work(crawl: Crawl) -> None:
            before = await crawl.policies.get(ORIGIN)
            before.due_at = before.usable_until = time.time() - 1
            assert crawl.policies.peek(ORIGIN) is None
            assert await crawl.policies.get(ORIGIN) is not before
            assert crawl.fetches.asked == [(ORIGIN, False)] * 2

        in_a_crawl(work)

    def test_nothing_is_fetched_while_the_crawl_closes(self) -> None:
        async def work(crawl: Crawl) -> None:
            before = await crawl.policies.get(ORIGIN)
            before.due_at = time.time() - 1
            crawl.close()
            assert crawl.policies.peek(ORIGIN) is before
            crawl.policies.ask(OTHER, None)
            await turns()
            assert crawl.fetches.asked == [(ORIGIN, False)]

        in_a_crawl(work)

    @pytest.mark.parametrize("error", [NotNeededError("closing"), KeyError("unthought-of")])
    def test_a_refresh_that_fails_leaves_what_is_usable(self, error: Exception) -> None:
        """And it is due again after the first retry time, not with every request."""

        async def work(crawl: Crawl) -> None:
            before = await crawl.policies.get(ORIGIN)
            before.due_at = time.time() - 1
            crawl.fetches.outcome = error
            for _ in range(3):
                assert crawl.policies.peek(ORIGIN) is before
                await turns()
            assert crawl.fetches.asked == [(ORIGIN, False), (ORIGIN, True)]
            assert 5 < before.due_at - time.time() < 8

        in_a_crawl(work, {"REP_RETRY_FIRST_SECONDS": 7.0})

    @pytest.mark.parametrize("error", [NotNeededError("closing"), KeyError("unthought-of")])
    def test_a_refresh_that_fails_does_not_prolong_what_has_expired(self, error: Exception) -> None:
        async def work(crawl: Crawl) -> None:
            before = await crawl.policies.get(ORIGIN)
            before.due_at = before.usable_until = time.time() - 1
            crawl.fetches.outcome = error
            assert is_closed_to_all(await crawl.policies.get(ORIGIN))

        in_a_crawl(work)

    @pytest.mark.parametrize(("back_seconds", "is_used"), [(200.0, True), (1000.0, False)])
    def test_no_copy_outlives_a_clock_that_is_set_back(
        self, back_seconds: float, is_used: bool, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """It would hold until the clock shows the time again: for years, perhaps."""

        async def work(crawl: Crawl) -> None:
            before = await crawl.policies.get(ORIGIN)
            clock = time.time
            monkeypatch.setattr(time, "time", lambda: clock() - back_seconds)
            assert (crawl.policies.peek(ORIGIN) is before) is is_used
            crawl.fetches.outcome = file()
            again = await crawl.policies.get(ORIGIN)
            assert is_read(again)
            assert crawl.policies.peek(ORIGIN) is again, "and not fetched for each request"
            assert crawl.fetches.asked == [(ORIGIN, False)] * (1 if is_used else 2)

        in_a_crawl(work)

    def test_a_file_that_was_confirmed_is_not_read_again(self) -> None:
        async def work(crawl: Crawl) -> None:
            before = await crawl.policies.get(ORIGIN)
            before.due_at = before.usable_until = 0.0
            again = await crawl.policies.get(ORIGIN)
            assert again is not before
            assert again._reading is before._reading
            again.due_at = again.usable_until = 0.0
            crawl.fetches.outcome = file(b"User-agent: *\nDisallow: /\n")
            assert not (await crawl.policies.get(ORIGIN)).verdict(SLASH).allowed

        in_a_crawl(work)


@pytest.mark.parametrize("error", [NotNeededError("closing"), CancelledError()])
@pytest.mark.parametrize("settings", [{"REP_POLICY": "lenient"}, {"REP_POLICY": "scrapy"}])
def test_what_is_not_fetched_any_more_permits_nothing(
    error: Exception, settings: dict[str, Any]
) -> None:
    """That the crawl ends is no event of the site's, whatever the policy says of failures."""

    async def work(crawl: Crawl) -> None:
        crawl.fetches.outcome = error
        assert is_closed_to_all(await crawl.policies.get(ORIGIN))

        def cancelled(*_: object) -> None:
            raise CancelledError

        crawl.policies._work.result = cancelled  # type: ignore[method-assign, assignment]
        crawl.engine.running = False
        assert is_closed_to_all(await crawl.policies.get(OTHER))

    in_a_crawl(work, settings)


def test_large_files_are_packed() -> None:
    async def work(crawl: Crawl) -> None:
        crawl.fetches.outcome = file(BODY + b"User-agent: other\nDisallow: /\n" * 5000)
        found = await crawl.policies.get(ORIGIN)
        assert is_read(found)
        assert found.octets < 50_000

    in_a_crawl(work)


class TestAsking:
    """For requests that wait in the queue."""

    def test_listeners_hear_of_the_end(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetches.go_on.clear()
            request = Request(SLASH)
            for _ in range(2):
                crawl.policies.ask(ORIGIN, request)
            await turns()
            assert not crawl.fetches.is_awaited()
            assert crawl.heard == []
            crawl.fetches.go_on.set()
            await turns()
            assert crawl.heard == [ORIGIN]
            assert crawl.fetches.asked == [(ORIGIN, False)]
            assert crawl.fetches.requests == [request]
            assert crawl.counted("queue/asked") == 1
            assert is_read(crawl.policies.peek(ORIGIN))

        in_a_crawl(work)

    def test_a_policy_of_the_user_s_is_there_at_once(self) -> None:
        async def work(crawl: Crawl) -> None:
            told: list[Policy] = []
            crawl.policies._decisions.discovered = told.append  # type: ignore[method-assign, assignment]
            crawl.policies.ask(ORIGIN, None)
            assert crawl.heard == [ORIGIN]
            assert [one.origin for one in told] == [ORIGIN]
            policy = crawl.policies.peek(ORIGIN)
            assert policy is not None
            assert policy.verdict(PRIVATE).allowed
            assert policy.source == "override"
            assert await crawl.policies.get(ORIGIN) is policy
            await turns()
            assert crawl.fetches.asked == []

        in_a_crawl(work, {"REP_OVERRIDES": {"example.com": "ignore"}})


class TestFailing:
    def test_an_exchange_that_is_not_needed_any_more_is_a_failure_of_our_own(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetches.outcome = NotNeededError("the crawl is closing")
            assert is_closed_to_all(await crawl.policies.get(ORIGIN))
            assert crawl.counted("cache/gave_up") == 1

        in_a_crawl(work)

    def test_what_fails_in_reading_permits_nothing_whatever_errors_mean(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def work(crawl: Crawl) -> None:
            limits = RepSettings.of(crawl.crawler.settings).rules.limits
            crawl.fetches.outcome = learn(Knowledge(), Answer(Failure.LOCAL), time.time(), limits)
            assert (await crawl.policies.get(OTHER)).meaning is Meaning.ALLOW, "as errors mean here"
            crawl.fetches.outcome = KeyError("unthought-of")
            policy = await crawl.policies.get(ORIGIN)
            assert is_closed_to_all(policy)
            assert not policy.verdict(PRIVATE).allowed
            assert policy.verdict(ORIGIN.robots_txt_uri).allowed
            assert policy.usable_until < time.time() + FOR_EVER, "and it is tried again"
            assert crawl.heard == [OTHER, ORIGIN]

        with caplog.at_level(logging.ERROR):
            in_a_crawl(work, {"REP_POLICY": "lenient"})
        (record,) = caplog.records
        assert "every URL of it is disallowed" in record.getMessage()

    def test_one_that_is_late_counts_for_all_who_waited(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetches.go_on.clear()
            crawl.fetches.is_late = True
            tasks = [asyncio.ensure_future(crawl.policies.get(ORIGIN)) for _ in range(3)]
            await turns()
            crawl.fetches.go_on.set()
            assert all(map(is_read, await asyncio.gather(*tasks))), "what was known holds"
            assert crawl.counted("cache/gave_up") == 3

        in_a_crawl(work)

    @pytest.mark.parametrize(
        ("outcome", "is_vain"),
        [
            (NotNeededError("the crawl is closing"), True),
            (KeyError("unthought-of"), True),
            (None, False),
        ],
        ids=repr,
    )
    def test_what_was_sent_in_vain_is_told(self, outcome: Exception | None, is_vain: bool) -> None:
        told: list[tuple[Origin, list[Step]]] = []
        sent = Step(ORIGIN.robots_txt_uri, 200)

        async def work(crawl: Crawl) -> None:
            crawl.policies._decisions.witness = SimpleNamespace(
                learnt=lambda _: None,
                read=lambda *_: None,
                sent_in_vain=lambda origin, steps: told.append((origin, steps)),
            )
            crawl.fetches.sent = (sent,)
            crawl.fetches.outcome = outcome or file()
            policy = await crawl.policies.get(ORIGIN)
            assert policy.source == ("gave-up" if is_vain else "network")
            crawl.fetches.sent = ()
            policy = await crawl.policies.get(OTHER)
            assert policy.source == ("gave-up" if is_vain else "store")

        in_a_crawl(work)
        assert told == ([(ORIGIN, [sent])] if is_vain else [])

    def test_what_expired_while_it_was_stored_is_used_by_those_who_waited(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetches.outcome = file(lifetime=5.0, age=60.0)
            policy = await crawl.policies.get(ORIGIN)
            assert is_read(policy)
            assert 0.5 < policy.usable_until - time.time() < 2, "for a moment"

        in_a_crawl(work, {"REP_CACHE_MIN_SECONDS": 0})

    def test_an_outage_without_a_copy(self) -> None:
        async def work(crawl: Crawl) -> None:
            limits = RepSettings.of(crawl.crawler.settings).rules.limits
            answer = Answer(Failure.DNS, hops=(ORIGIN.robots_txt_uri,))
            crawl.fetches.outcome = learn(Knowledge(), answer, time.time(), limits)
            policy = await crawl.policies.get(ORIGIN)
            assert (policy.event, policy.meaning) == ("dns", Meaning.DISALLOW)

        in_a_crawl(work)

    @pytest.mark.parametrize(("days", "is_used"), [(3, True), (31, False)])
    def test_an_outage_with_a_copy_from_before(self, days: float, is_used: bool) -> None:
        async def work(crawl: Crawl) -> None:
            limits = RepSettings.of(crawl.crawler.settings).rules.limits
            answer = Answer(503, hops=(ORIGIN.robots_txt_uri,))
            before = file(age=days * 86_400)
            crawl.fetches.outcome = learn(before, answer, time.time(), limits)
            policy = await crawl.policies.get(ORIGIN)
            assert policy.is_stale is is_used
            assert policy.meaning is (Meaning.RULES if is_used else Meaning.DISALLOW)
            assert policy.verdict(SLASH).allowed is is_used

        in_a_crawl(work)

    def test_nothing_at_all_is_known(self, caplog: pytest.LogCaptureFixture) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetches.outcome = Knowledge()
            assert (await crawl.policies.get(ORIGIN)).meaning is Meaning.DISALLOW

        with caplog.at_level(logging.ERROR):
            in_a_crawl(work, {"REP_POLICY": "lenient"})
        assert caplog.records == []


def test_another_parser_decides_and_the_file_is_read_by_ours() -> None:
    async def work(crawl: Crawl) -> None:
        crawl.fetches.outcome = file(BODY + b"Sitemap: /a.xml\n")
        policy = await crawl.policies.get(ORIGIN)
        assert is_read(policy)
        assert policy.verdict(SLASH).reason is Reason.OTHER_PARSER
        assert policy.sitemaps == ("https://example.com/a.xml",)

    in_a_crawl(work, {"ROBOTSTXT_PARSER": "scrapy.robotstxt.PythonRobotParser"})


class TestMemory:
    def test_origins_that_need_too_much_are_evicted(self) -> None:
        async def work(crawl: Crawl) -> None:
            await crawl.policies.get(ORIGIN)
            await crawl.policies.get(OTHER)
            assert crawl.counted("cache/evicted") == 1
            assert crawl.policies.peek(ORIGIN) is None
            assert is_read(crawl.policies.peek(OTHER))
            await crawl.policies.get(ORIGIN)
            assert crawl.counted("cache/evicted") == 2

        in_a_crawl(work, {"REP_MEMORY_OCTETS": 4000})

    def test_a_policy_that_grows_makes_room(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetches.outcome = file(b"a: b\n" * 5_000)
            first = await crawl.policies.get(ORIGIN)
            second = await crawl.policies.get(OTHER)
            assert len(first.other_records) == 5_000
            assert crawl.counted("cache/evicted") == 0
            assert len(second.other_records) == 5_000
            assert crawl.counted("cache/evicted") == 1
            assert crawl.policies.peek(ORIGIN) is None
            assert first.sitemaps == ()
            assert crawl.policies.peek(ORIGIN) is None, "what was evicted stays so"

        in_a_crawl(work, {"REP_MEMORY_OCTETS": 1 << 20})


class TestClosing:
    def test_exchanges_end_and_the_store_is_closed(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetches.go_on.clear()
            waiting = asyncio.ensure_future(crawl.policies.get(ORIGIN))
            crawl.policies.ask(OTHER, None)
            await turns()
            crawl.close()
            await crawl.policies.close()
            assert crawl.fetches.cancelled_count == 2
            assert is_closed_to_all(await waiting), "nobody is left waiting"
            assert set(crawl.heard) == {ORIGIN, OTHER}

        in_a_crawl(work)

    def test_a_witness_that_fails_leaves_nobody_waiting(self) -> None:
        class Witness:
            def read(self, *_: object) -> None:
                pass

            def learnt(self, _: Policy) -> None:
                raise RuntimeError("unthought-of")

        async def work(crawl: Crawl) -> None:
            crawl.policies._decisions.witness = Witness()  # type: ignore[assignment]
            waiting = [asyncio.ensure_future(crawl.policies.get(ORIGIN)) for _ in range(2)]
            for one in waiting:
                assert is_read(await asyncio.wait_for(one, 5))
            assert crawl.heard == [ORIGIN]

        in_a_crawl(work)

    def test_nobody_waits_for_work_that_never_had_a_turn(self) -> None:
        """A task that is cancelled before its first step runs no `finally`."""

        async def work(crawl: Crawl) -> None:
            crawl.policies.ask(OTHER, None)
            waiting = asyncio.ensure_future(crawl.policies.get(ORIGIN))
            await asyncio.sleep(0)  # it waits; the work has not begun
            crawl.close()
            await crawl.policies.close()
            assert is_closed_to_all(await asyncio.wait_for(waiting, 5))
            assert set(crawl.heard) == {ORIGIN, OTHER}

        in_a_crawl(work)

    def test_what_is_being_read_in_a_thread_permits_nothing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The file is there, and only we have not read it: errors of the site mean nothing here."""
        began, go_on = threading.Event(), threading.Event()
        prepare = Reading.prepare

        def held(reading: Reading, tokens: tuple[str, ...]) -> Ready:
            began.set()
            go_on.wait(10)
            return prepare(reading, tokens)

        monkeypatch.setattr(Reading, "prepare", held)

        async def work(crawl: Crawl) -> None:
            crawl.fetches.outcome = file(LARGE)
            waiting = asyncio.create_task(crawl.policies.get(ORIGIN))
            await asyncio.to_thread(began.wait, 10)
            crawl.close()
            await crawl.policies.close()
            go_on.set()
            policy = await waiting
            assert is_closed_to_all(policy)
            assert not policy.verdict(SLASH).allowed
            assert crawl.policies.peek(ORIGIN) is policy

        in_a_crawl(work, {"REP_POLICY": "lenient"})


class TestLargeFiles:
    """Their rules are read in a thread, for the crawl and for each other crawler."""

    def test_one_at_a_time_and_once_for_each_crawler(self, monkeypatch: pytest.MonkeyPatch) -> None:
        read: list[tuple[str, ...]] = []
        here, at_once = threading.get_ident(), threading.Semaphore(1)
        prepare = Reading.prepare

        def noted(reading: Reading, tokens: tuple[str, ...]) -> Ready:
            assert threading.get_ident() != here
            assert at_once.acquire(blocking=False), "one at a time"
            read.append(tokens)
            time.sleep(0.01)
            at_once.release()
            return prepare(reading, tokens)

        monkeypatch.setattr(Reading, "prepare", noted)
        others = [("one",), ("two",), ("one",)]

        async def work(crawl: Crawl) -> None:
            crawl.fetches.outcome = file(LARGE)
            policy = await crawl.policies.get(ORIGIN)
            before = policy.octets
            assert [policy.is_ready_for(tokens) for tokens in others] == [False] * 3
            ready = (crawl.policies.make_ready(policy, tokens) for tokens in others)
            await asyncio.gather(*ready)
            assert read == [policy.tokens, ("one",), ("two",)]
            assert all(map(policy.is_ready_for, [policy.tokens, *others]))
            assert policy.octets > before, "what is kept is counted"
            assert policy.verdict(PRIVATE, ("one",)).allowed
            assert policy.asked_of(("one",)).crawl_delay == 2
            assert not policy.verdict(PRIVATE, ("two",)).allowed

        in_a_crawl(work, {})

    def test_what_was_forgotten_is_read_again(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetches.outcome = file(LARGE)
            policy = await crawl.policies.get(ORIGIN)
            for number in range(40):
                tokens = (f"bot-{'x' * number}",)
                await crawl.policies.make_ready(policy, tokens)
                assert policy.is_ready_for(tokens), "in the same turn of the loop"
            assert not policy.is_ready_for(("bot-",))

        in_a_crawl(work, {})

    def test_small_ones_are_always_ready(self) -> None:
        async def work(crawl: Crawl) -> None:
            assert (await crawl.policies.get(ORIGIN)).is_ready_for(("other",))

        in_a_crawl(work, {})
