"""The policies of a crawl, with fetches that a test directs: sharing, waiting and records."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.utils.test import get_crawler
from twisted.internet.defer import CancelledError

from scrapy_rep import crawl as crawls
from scrapy_rep.decisions.decisions import Decisions
from scrapy_rep.fetch.context import FetchContext
from scrapy_rep.fetch.file_fetch import NotNeededError
from scrapy_rep.identity import Identity
from scrapy_rep.policies import Policies
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Failure, Meaning
from scrapy_rep.protocol.access.knowledge import Answer, Knowledge, Step
from scrapy_rep.protocol.access.lifetime import LEAST_SECONDS
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.access.states import PolicyOptions, learn
from scrapy_rep.settings import RepSettings
from tests.played import begin_to_close, in_a_loop, played_crawler

ORIGIN = Origin("https", "example.com", 443)
OTHER = Origin("https", "example.org", 443)
SLASH = "https://example.com/"
PRIVATE = "https://example.com/private"
BODY = b"User-agent: *\nDisallow: /private\n"
FOR_EVER = 1e6


class Directed:
    """The fetches of a crawl, which come to what the test says, when it says so."""

    def __init__(self) -> None:
        self.asked: list[tuple[Origin, bool]] = []
        self.outcome: Knowledge | BaseException = file()
        self.sent: tuple[Step, ...] = ()

    def fetch(
        self,
        context: FetchContext,
        origin: Origin,
        rules: PolicyOptions,
        request: Request | None,
        *,
        is_refresh: bool,
        is_awaited: Callable[[], bool],
        interrupt: Callable[[], None],
    ) -> Any:
        """The test's `FileFetch`."""
        self.asked.append((origin, is_refresh))
        return SimpleNamespace(
            origin=origin,
            page=request,
            steps=[*self.sent],
            fault=None,
            is_late=False,
            result=self._result,
        )

    async def _result(self) -> Knowledge:
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome


class Crawl:
    """The policies of a crawl that runs, and what directs them."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.crawler = crawler = played_crawler(settings)
        crawl = crawls.Crawl.of(crawler)
        crawl.part(Identity).open()
        self.policies = crawl.part(Policies)
        self.decisions: Any = crawl.part(Decisions)
        self.fetches = Directed()
        self.heard: list[Origin] = []
        self.policies.listen(self.heard.append)

    def close(self) -> None:
        """The crawl is to end."""
        begin_to_close(self.crawler)

    def counted(self, name: str) -> int:
        found: int = self.crawler.stats.get_value(f"rep/{name}", 0)
        return found


def learnt(answer: Answer, age: float = 0.0, **settings: Any) -> Knowledge:
    limits = RepSettings.of(get_crawler(settings_dict=settings).settings).options.limits
    return learn(Knowledge(), answer, time.time() - age, limits)


def file(body: bytes = BODY, seconds: int = 3600, **named: Any) -> Knowledge:
    headers = {"cache-control": f"max-age={seconds}"}
    return learnt(Answer(200, body, (ORIGIN.robots_txt_uri,), headers), **named)


def in_a_crawl(
    work: Callable[[Crawl], Coroutine[Any, Any, None]], settings: dict[str, Any] | None = None
) -> None:
    """In a loop of its own: this thread has one already."""

    async def main() -> None:
        crawl = Crawl({"REP_STORE": "memory", **(settings or {})})
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("scrapy_rep.policies.FileFetch", crawl.fetches.fetch)
            await work(crawl)

    in_a_loop(main)


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


class TestRefreshing:
    @pytest.mark.parametrize("error", [NotNeededError("closing"), KeyError("unthought-of")])
    def test_failed_refresh_leaves_a_usable_policy(self, error: Exception) -> None:
        """And it is due again after the first retry time, not with every request."""

        async def work(crawl: Crawl) -> None:
            before = await crawl.policies.get(ORIGIN)
            began_at = time.time()
            before.due_at = began_at - 1
            crawl.fetches.outcome = error
            for _ in range(3):
                assert crawl.policies.peek(ORIGIN) is before
                await turns()
            assert crawl.fetches.asked == [(ORIGIN, False), (ORIGIN, True)]
            assert began_at <= before.due_at - 7.0 <= time.time()

        in_a_crawl(work, {"REP_RETRY_FIRST_SECONDS": 7.0})

    @pytest.mark.parametrize("error", [NotNeededError("closing"), KeyError("unthought-of")])
    def test_failed_refresh_does_not_prolong_an_expired_policy(self, error: Exception) -> None:
        async def work(crawl: Crawl) -> None:
            before = await crawl.policies.get(ORIGIN)
            before.due_at = before.usable_until = time.time() - 1
            crawl.fetches.outcome = error
            assert is_closed_to_all(await crawl.policies.get(ORIGIN))

        in_a_crawl(work)

    @pytest.mark.parametrize(("back_seconds", "is_used"), [(200.0, True), (1000.0, False)])
    def test_copy_does_not_outlive_a_clock_that_is_set_back(
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


@pytest.mark.parametrize("error", [NotNeededError("closing"), CancelledError()])
@pytest.mark.parametrize("settings", [{"REP_POLICY": "lenient"}, {"REP_POLICY": "scrapy"}])
def test_file_that_is_not_fetched_any_more_permits_nothing(
    error: Exception, settings: dict[str, Any]
) -> None:
    """That the crawl ends is no event of the site's, whatever the policy says of failures."""

    async def work(crawl: Crawl) -> None:
        crawl.fetches.outcome = error
        assert is_closed_to_all(await crawl.policies.get(ORIGIN))

    in_a_crawl(work, settings)


class TestFailing:
    def test_failure_to_read_a_file_permits_nothing_under_any_policy(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetches.outcome = learnt(Answer(Failure.LOCAL))
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
        assert "all its URLs are disallowed" in record.getMessage()

    @pytest.mark.parametrize(
        ("outcome", "is_vain"),
        [
            (NotNeededError("the crawl is closing"), True),
            (KeyError("unthought-of"), True),
            (None, False),
        ],
        ids=repr,
    )
    def test_requests_without_a_result_are_recorded(
        self, outcome: Exception | None, is_vain: bool
    ) -> None:
        told: list[tuple[Origin, list[Step]]] = []
        sent = Step(ORIGIN.robots_txt_uri, 200)

        async def work(crawl: Crawl) -> None:
            crawl.decisions.listener = SimpleNamespace(
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

    def test_policy_that_expired_while_it_was_stored_serves_waiting_requests(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetches.outcome = file(seconds=5, age=60, REP_CACHE_MIN_SECONDS=0)
            began_at = time.time()
            policy = await crawl.policies.get(ORIGIN)
            assert is_read(policy)
            assert began_at <= policy.usable_until - LEAST_SECONDS <= time.time(), "for a moment"

        in_a_crawl(work, {"REP_CACHE_MIN_SECONDS": 0})

    def test_failed_reading_of_an_unknown_origin_permits_nothing(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetches.outcome = Knowledge()
            assert (await crawl.policies.get(ORIGIN)).meaning is Meaning.DISALLOW

        with caplog.at_level(logging.ERROR):
            in_a_crawl(work, {"REP_POLICY": "lenient"})
        assert caplog.records == []


class TestMemory:
    def test_origins_that_need_too_much_memory_are_evicted(self) -> None:
        async def work(crawl: Crawl) -> None:
            await crawl.policies.get(ORIGIN)
            await crawl.policies.get(OTHER)
            assert crawl.counted("cache/evicted") == 1
            assert crawl.policies.peek(ORIGIN) is None
            assert is_read(crawl.policies.peek(OTHER))
            await crawl.policies.get(ORIGIN)
            assert crawl.counted("cache/evicted") == 2

        in_a_crawl(work, {"REP_MEMORY_OCTETS": 4000})

    def test_growing_policy_evicts_others(self) -> None:
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


def test_requests_go_on_after_a_failure_of_the_trail() -> None:
    class Trail:
        def read(self, *_: object) -> None:
            pass

        def learnt(self, _: Policy) -> None:
            raise RuntimeError("unthought-of")

    async def work(crawl: Crawl) -> None:
        crawl.decisions.listener = Trail()
        waiting = [asyncio.ensure_future(crawl.policies.get(ORIGIN)) for _ in range(2)]
        for one in waiting:
            assert is_read(await one)
        assert crawl.heard == [ORIGIN]

    in_a_crawl(work)


def test_cancelled_work_leaves_no_request_waiting() -> None:
    """A task that is cancelled before its first step runs no `finally`."""

    async def work(crawl: Crawl) -> None:
        crawl.policies.prefetch(OTHER, None)
        waiting = asyncio.ensure_future(crawl.policies.get(ORIGIN))
        await asyncio.sleep(0)  # it waits; the work has not begun
        crawl.close()
        await crawl.policies.close()
        assert is_closed_to_all(await waiting)
        assert set(crawl.heard) == {ORIGIN, OTHER}

    in_a_crawl(work)
