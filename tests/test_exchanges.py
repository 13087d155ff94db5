"""The exchanges of a crawl, over a fetcher that a test directs: what is fetched, kept and ended."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from scrapy_rep.cache.base import Claim, Leased
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.engine.slots import Slots
from scrapy_rep.fetching import exchanges as module
from scrapy_rep.fetching.course import Course, Part
from scrapy_rep.fetching.exchanges import Exchanges, LateError, NotNeededError
from scrapy_rep.fetching.keeper import LEASE_SECONDS, Claimed, Held
from scrapy_rep.identity import Identity
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.exchange import learn
from scrapy_rep.protocol.access.knowledge import Answer, Copy, Knowledge
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.settings import RepSettings

ORIGIN = Origin("https", "example.com", 443)
OTHER = Origin("https", "example.org", 443)
URI, OTHER_URI = ORIGIN.robots_txt_uri, OTHER.robots_txt_uri
BODY = b"User-agent: *\nDisallow: /private\n"
FILE = Answer(200, BODY, (URI,), {"cache-control": "max-age=3600"})
DOWN = Answer(503, hops=(URI,))


class Directed:
    """A fetcher whose answers the test gives, in order; the last one again and again."""

    def __init__(self) -> None:
        self.answers: list[Answer | BaseException] = [FILE]
        self.copies: list[Copy | None] = []
        self.known: Callable[[str], Copy | None] = lambda _: None
        self.course: Course | None = None
        self.part: Part | None = None
        self.go_on = asyncio.Event()
        self.go_on.set()

    async def fetch(
        self,
        origin: Origin,
        copy: Copy | None,
        *,
        known: Callable[[str], Copy | None],
        course: Course,
    ) -> Answer:
        self.copies.append(copy)
        self.known, self.course = known, course
        if self.part is not None:
            course.enter(self.part)
        await self.go_on.wait()
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Crawl:
    """The exchanges of a crawl that runs."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self.crawler = crawler = get_crawler(settings_dict=settings)
        crawler.stats = MemoryStatsCollector(crawler)
        crawler.spider = SimpleNamespace(name="test")  # type: ignore[assignment]
        self.slot = SimpleNamespace(closing=None)
        crawler.engine = SimpleNamespace(  # type: ignore[assignment]
            spider=crawler.spider, running=True, downloader=None, _slot=self.slot
        )
        self.settings = RepSettings.of(crawler.settings)
        self.identity = Identity(crawler)
        self.identity.open()
        self.exchanges = Exchanges(crawler, self.settings, self.identity, Slots(crawler))
        self.fetcher = Directed()
        self.exchanges._fetcher = self.fetcher  # type: ignore[assignment]
        self.keeper = self.exchanges._keeper
        self.store: Any = self.keeper._store
        self.key = self.exchanges._asker.key(ORIGIN)
        self.is_awaited = True

    def close(self) -> None:
        """The crawl is to end."""
        self.slot.closing = object()

    async def settle(self, origin: Origin = ORIGIN, *, is_refresh: bool = False) -> Knowledge:
        return await self.exchanges.settle(
            origin,
            self.settings.rules,
            None,
            is_refresh=is_refresh,
            is_awaited=lambda: self.is_awaited,
        )

    def learnt(self, answer: Answer = FILE, age: float = 0.0) -> Knowledge:
        return learn(Knowledge(), answer, time.time() - age, self.settings.rules.limits)

    async def keep(self, known: Knowledge, key: Key | None = None) -> None:
        await self.keeper.commit(Entry(key or self.key, known))

    def claim(self) -> Claim:
        """What another process would be told that needs the file."""
        claim: Claim = self.store.claim(self.key, seconds=15.0, fresh_seconds=math.inf).result()
        return claim

    def counted(self, name: str) -> int:
        found: int = self.crawler.stats.get_value(f"rep/{name}", 0)
        return found


def in_a_crawl(
    work: Callable[[Crawl], Coroutine[Any, Any, None]], settings: dict[str, Any] | None = None
) -> None:
    """In a loop of its own: this thread has one already."""
    usual = {"REP_STORE": "memory", "REP_QUICK_RETRY_SECONDS": []}

    async def main() -> None:
        await asyncio.wait_for(work(Crawl({**usual, **(settings or {})})), 20)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, main()).result(timeout=30)


def body_of(known: Knowledge) -> bytes | None:
    return None if known.copy is None else known.copy.body


class TestFetching:
    def test_what_is_kept_is_not_fetched_again(self) -> None:
        async def work(crawl: Crawl) -> None:
            first = await crawl.settle()
            assert body_of(first) == BODY
            assert await crawl.settle() == first
            assert await crawl.settle(is_refresh=True) == first, "it is fresh"
            assert crawl.fetcher.copies == [None]
            assert (crawl.counted("store/hit"), crawl.counted("access/successful")) == (2, 1)
            assert crawl.counted("event/200") == 1
            assert isinstance(crawl.claim(), Leased), "the lease has ended"

        in_a_crawl(work)

    def test_a_refresh_confirms_what_is_due(self) -> None:
        async def work(crawl: Crawl) -> None:
            due = crawl.learnt(age=3595)
            await crawl.keep(due)
            assert await crawl.settle() == due
            assert crawl.fetcher.copies == []
            after = await crawl.settle(is_refresh=True)
            assert after != due
            assert crawl.fetcher.copies == [due.copy]

        in_a_crawl(work)

    def test_quick_retries(self, monkeypatch: pytest.MonkeyPatch) -> None:
        slept: list[float] = []
        parts: list[Part | None] = []

        async def work(crawl: Crawl) -> None:
            async def sleep(seconds: float) -> None:
                slept.append(seconds)
                assert any(map(crawl.exchanges.is_queued, (ORIGIN, OTHER))), "it only waits"
                assert crawl.fetcher.course is not None
                parts.append(crawl.fetcher.course.part)

            monkeypatch.setattr(module, "sleep", sleep)
            crawl.fetcher.answers = [DOWN, DOWN, FILE]
            assert body_of(await crawl.settle()) == BODY
            assert slept == [1.0, 4.0]
            assert parts == [Part.PAUSE] * 2
            assert crawl.counted("quick_retries") == 2
            assert crawl.counted("access/unreachable") == 0, "only the last answer counts"
            crawl.fetcher.answers = [DOWN]
            known = await crawl.settle(OTHER)
            assert known.outage is not None
            assert len(crawl.fetcher.copies) == 6
            assert crawl.counted("access/unreachable") == 1

        in_a_crawl(work, {"REP_QUICK_RETRY_SECONDS": [1, 4]})

    def test_places_are_held_while_it_fetches_and_not_after(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetcher.go_on.clear()
            tasks = [asyncio.ensure_future(crawl.settle(origin)) for origin in (ORIGIN, OTHER)]
            await asyncio.sleep(0.01)
            assert len(crawl.fetcher.copies) == 1
            course = crawl.fetcher.course
            assert course is not None
            assert (course.part, course.place is None) == (Part.MIDDLEWARES, False)
            assert not crawl.exchanges.is_queued(ORIGIN)
            course.enter(Part.SLOT)
            await asyncio.sleep(0.01)
            assert len(crawl.fetcher.copies) == 2, "who waits in a slot lends its place"
            assert crawl.exchanges.is_queued(ORIGIN)
            crawl.fetcher.go_on.set()
            await asyncio.gather(*tasks)
            assert (course.part, course.place is None) == (None, True)
            assert not crawl.exchanges.is_queued(ORIGIN)
            assert crawl.exchanges._places._free == 1

        in_a_crawl(work, {"REP_CONCURRENT_FETCHES": 1})


class TestFailures:
    @pytest.mark.parametrize("failure", [Failure.LOCAL, Failure.GUARD])
    def test_those_of_our_own_are_nobody_else_s(self, failure: Failure) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetcher.answers = [Answer(failure, hops=(URI,))]
            known = await crawl.settle()
            assert known.outage is not None
            assert crawl.keeper.peek(crawl.key) == Knowledge()
            assert isinstance(crawl.claim(), Leased), "the lease has ended"
            assert crawl.counted(f"event/{failure.value}") == 1

        in_a_crawl(work)

    def test_those_of_the_site_are_kept(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetcher.answers = [Answer(Failure.DNS, hops=(URI,))]
            known = await crawl.settle()
            assert crawl.keeper.peek(crawl.key) == known
            assert isinstance(crawl.claim(), Leased)

        in_a_crawl(work)

    def test_an_error_of_our_own_leaves_no_lease(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetcher.answers = [KeyError("unthought-of")]
            with pytest.raises(KeyError):
                await crawl.settle()
            assert isinstance(crawl.claim(), Leased)

        in_a_crawl(work)

    def test_what_fails_while_the_crawl_closes_was_not_learnt(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetcher.answers = [Answer(Failure.LOCAL, hops=(URI,))]
            crawl.close()
            with pytest.raises(NotNeededError):
                await crawl.settle()
            assert crawl.counted("event/local") == 0
            assert isinstance(crawl.claim(), Leased)

        in_a_crawl(work)


class TestEnding:
    def test_one_that_is_late(self, monkeypatch: pytest.MonkeyPatch) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetcher.go_on.clear()
            crawl.fetcher.part = Part.HANDLER
            before = crawl.learnt(age=7200)
            await crawl.keep(before)
            with pytest.raises(LateError) as caught:
                await crawl.settle()
            known = caught.value.known
            assert known.copy == before.copy
            assert known.outage is not None
            assert known.outage.event is Failure.LOCAL
            assert (crawl.counted("late"), crawl.counted("event/local")) == (1, 1)
            assert crawl.counted("access/unreachable") == 1
            await asyncio.sleep(0.01)
            assert crawl.keeper.peek(crawl.key) == before, "nobody else hears of it"
            assert isinstance(crawl.claim(), Leased)

        monkeypatch.setattr(module, "_LOOK_SECONDS", 0.01)
        in_a_crawl(work, {"REP_UNREACHABLE_WAIT_SECONDS": 0.1})

    @pytest.mark.parametrize("is_awaited", [True, False])
    @pytest.mark.parametrize("part", [*Part, None])
    @pytest.mark.parametrize("is_patient", [True, False])
    def test_while_the_crawl_closes(
        self, part: Part | None, is_awaited: bool, is_patient: bool
    ) -> None:
        """What was sent and is waited for has its time; what is being stored is stored."""

        async def work(crawl: Crawl) -> None:
            course = Course(is_awaited=lambda: is_awaited)
            course.enter(part)
            ended: list[Exception] = []
            running: Any = SimpleNamespace(end=ended.append)
            crawl.exchanges._look(course, running)
            assert ended == []
            crawl.close()
            patience = crawl.settings.fetch_timeout_seconds + 1
            course.closing._seconds = patience - 0.5 if is_patient else patience + 0.5
            crawl.exchanges._look(course, running)
            assert course.closing._since is not None, "it counts from now on"
            is_worth_it = part in (Part.HANDLER, Part.ANSWER) and is_awaited
            may_go_on = is_patient and (is_worth_it or part is Part.STORE)
            assert [type(error) for error in ended] == ([] if may_go_on else [NotNeededError])

        in_a_crawl(work)

    @pytest.mark.parametrize(
        ("part", "is_awaited", "is_left", "ends"),
        [
            (Part.SLOT, False, True, True),
            (Part.SLOT, True, True, False),
            (Part.HANDLER, False, True, False),
            (Part.SLOT, False, False, False),
        ],
    )
    def test_one_that_is_queued_and_that_nobody_waits_for_does_not_delay_the_end(
        self,
        part: Part,
        is_awaited: bool,
        is_left: bool,
        ends: bool,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        async def work(crawl: Crawl) -> None:
            monkeypatch.setattr(module, "would_end_but_for", lambda *_: is_left)
            course = Course(is_awaited=lambda: is_awaited)
            course.enter(part)
            ended: list[Exception] = []
            crawl.exchanges._look(course, SimpleNamespace(end=ended.append))  # type: ignore[arg-type]
            assert [type(error) for error in ended] == ([NotNeededError] if ends else [])

        in_a_crawl(work)


class TestLeases:
    """Another process fetches the same file."""

    def test_what_it_learns_is_waited_for(self, monkeypatch: pytest.MonkeyPatch) -> None:
        slept: list[float] = []

        async def work(crawl: Crawl) -> None:
            waits = [9.0] * 6 + [0.3, 0.001]

            async def claim(key: Key, fresh_seconds: float) -> Claimed:
                assert (key, fresh_seconds) == (crawl.key, 0.0)
                return Claimed(Knowledge(), wait_seconds=waits[len(slept)])

            async def sleep(seconds: float) -> None:
                assert crawl.exchanges.is_queued(ORIGIN)
                slept.append(seconds)
                if len(slept) == len(waits):
                    await crawl.keep(crawl.learnt())

            monkeypatch.setattr(crawl.keeper, "claim", claim)
            monkeypatch.setattr(module, "sleep", sleep)
            monkeypatch.setattr(
                f"{module.__name__}.random.uniform", lambda low, high: (low + high) / 2
            )
            assert body_of(await crawl.settle()) == BODY
            assert crawl.fetcher.copies == []
            assert slept == pytest.approx([0.02, 0.04, 0.08, 0.16, 0.32, 0.5, 0.3, 0.02])
            assert crawl.counted("store/lease_waited") == len(waits)

        in_a_crawl(work)

    def test_what_it_has_learnt_meanwhile_is_used_and_the_lease_given_back(self) -> None:
        async def work(crawl: Crawl) -> None:
            theirs = crawl.learnt()
            whole = crawl.keeper.claim

            async def claim(key: Key, fresh_seconds: float) -> Claimed:
                return replace(await whole(key, fresh_seconds), known=theirs)

            crawl.keeper.claim = claim  # type: ignore[method-assign]
            assert await crawl.settle() == theirs
            assert crawl.fetcher.copies == []
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
            assert body_of(await crawl.settle()) == BODY
            assert asked == [0.0, math.inf]
            assert len(crawl.fetcher.copies) == 1
            assert crawl.counted("store/lease_waited") == 0

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
            await crawl.settle(is_refresh=True)
            assert asked == [pytest.approx(6, abs=0.9)]

        in_a_crawl(work)

    def test_it_is_renewed_while_the_site_takes_its_time(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def work(crawl: Crawl) -> None:
            renewed: list[Held] = []
            monkeypatch.setattr(crawl.keeper, "keep_alive", renewed.append)
            crawl.fetcher.go_on.clear()
            task = asyncio.ensure_future(crawl.settle())
            await asyncio.sleep(0.01)
            assert renewed == [], "it is new"
            await asyncio.sleep(0.1)
            assert renewed
            crawl.fetcher.go_on.set()
            await task
            renewed.clear()
            await asyncio.sleep(0.1)
            assert renewed == []

        assert LEASE_SECONDS == 15
        monkeypatch.setattr(module, "LEASE_SECONDS", 0.15)
        in_a_crawl(work)

    @pytest.mark.parametrize("theirs_age", [0.0, 7200.0])
    def test_a_successor_s_copy_is_used_if_it_is_fresh(self, theirs_age: float) -> None:
        async def work(crawl: Crawl) -> None:
            theirs = crawl.learnt(replace(FILE, body=b"User-agent: *\n"), age=theirs_age)

            async def commit(entry: Entry, held: Held | None = None) -> bool:
                await crawl.keeper.release(held)  # type: ignore[arg-type]
                crawl.store.commit(Entry(crawl.key, theirs), None)
                return False

            crawl.keeper.commit = commit  # type: ignore[method-assign]
            known = await crawl.settle()
            assert (known == theirs) is (theirs_age == 0)
            assert body_of(known) == (b"User-agent: *\n" if known == theirs else BODY)
            assert crawl.counted("store/lease_lost") == 1
            assert isinstance(crawl.claim(), Leased), "to look took no lease"

        in_a_crawl(work)


class TestEarlierRuns:
    """What is known of a run before, and what of those that go on beside this one."""

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
            left = crawl.learnt(replace(DOWN, headers=headers), age=max(0.0, ago))
            await crawl.keep(left)
            known = await crawl.settle()
            assert len(crawl.fetcher.copies) == is_asked
            assert body_of(known) == (BODY if is_asked else None)

        in_a_crawl(work)

    def test_many_that_begin_ask_once(self) -> None:
        async def work(crawl: Crawl) -> None:
            await crawl.keep(crawl.learnt(DOWN, age=10))
            others = [Crawl({"REP_STORE": "memory"}) for _ in range(9)]
            for one in others:
                one.keeper._store = crawl.store
            crawl.fetcher.answers = [DOWN]
            everyone = [crawl, *others]
            for one in others:
                one.fetcher = one.exchanges._fetcher = crawl.fetcher  # type: ignore[assignment]
            found = await asyncio.gather(*(one.settle() for one in everyone))
            assert len(crawl.fetcher.copies) == 1
            assert {one.outage.count for one in found if one.outage} == {2}

        in_a_crawl(work)

    def test_a_clock_that_is_set_back_makes_no_earlier_run(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def work(crawl: Crawl) -> None:
            now = time.time()
            monkeypatch.setattr(f"{module.__name__}.time.time", lambda: now - 3600)
            crawl.fetcher.answers = [DOWN]
            for _ in range(2):
                await crawl.settle()
            assert len(crawl.fetcher.copies) == 1

        in_a_crawl(work)

    def test_the_age_of_what_the_store_had_is_told_once(
        self, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def work(crawl: Crawl) -> None:
            await crawl.keep(crawl.learnt(age=600))
            for _ in range(2):
                await crawl.settle()

        with caplog.at_level("DEBUG"):
            in_a_crawl(work)
        told = [one for one in caplog.messages if "from the store" in one]
        assert told == [f"rules of {URI} from the store, 10 min old"]


class TestTargets:
    """What redirects lead to."""

    @pytest.mark.parametrize(
        ("answer", "is_kept"),
        [
            (FILE, True),
            (Answer(404), True),
            (Answer(Failure.DNS), False),
            (replace(FILE, confirms=True), False),
            (replace(FILE, event=304, confirms=True), False),
        ],
    )
    def test_an_answer_is_that_of_the_target_too(self, answer: Answer, is_kept: bool) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetcher.answers = [replace(answer, hops=(URI, OTHER_URI))]
            await crawl.settle()
            known = crawl.keeper.peek(crawl.exchanges._asker.key(OTHER))
            assert (known.copy is not None) is is_kept
            if known.copy is not None:
                assert known.copy.hops == (OTHER_URI,)
                assert known.copy.body == answer.body

        in_a_crawl(work)

    @pytest.mark.parametrize(
        "hops",
        [
            (URI, "https://example.org/other.txt"),
            (URI, "https://example.org/robots.txt?a"),
            (URI, "https://[bad/robots.txt"),
            (URI, "data:,robots.txt"),
            (URI, URI),
        ],
    )
    def test_a_file_elsewhere_is_not(self, hops: tuple[str, ...]) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetcher.answers = [replace(FILE, hops=hops)]
            known = await crawl.settle()
            assert crawl.store.keys() == [crawl.key]
            assert known.copy is not None
            assert known.copy.hops == hops

        in_a_crawl(work)

    def test_a_fresh_copy_of_the_target_is_used(self) -> None:
        async def work(crawl: Crawl) -> None:
            await crawl.settle()
            known = crawl.fetcher.known
            assert known(OTHER_URI) is None
            theirs = crawl.learnt(replace(FILE, hops=(OTHER_URI,)))
            other_key = crawl.exchanges._asker.key(OTHER)
            await crawl.keep(theirs, other_key)
            assert known(OTHER_URI) == theirs.copy
            assert known("https://example.org/other.txt") is None
            crawl.store.forget(other_key)
            await crawl.keep(crawl.learnt(age=3595), other_key)
            assert known(OTHER_URI) is None, "due is not fresh"

        in_a_crawl(work)


class TestAskers:
    def test_an_answer_is_kept_as_whose_it_was_sent_to(self) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.fetcher.answers = [replace(FILE, user_agent="Another/1.0")]
            await crawl.settle()
            sent_key = Key.under(ORIGIN, "Another/1.0")
            assert body_of(crawl.keeper.peek(sent_key)) == BODY
            assert crawl.keeper.peek(crawl.key) == Knowledge()
            assert isinstance(crawl.claim(), Leased), "the lease of the other key has ended"

        in_a_crawl(work)

    def test_a_failure_leaves_no_copy_of_another_s(self) -> None:
        """The site may have told the other more; here, it told this one nothing."""

        async def work(crawl: Crawl) -> None:
            await crawl.keep(crawl.learnt(age=7200.0))
            crawl.fetcher.answers = [replace(DOWN, user_agent="Another/1.0")]
            found = await crawl.settle()
            assert crawl.fetcher.copies[0] is not None
            assert found.copy is None
            assert found.outage is not None
            assert crawl.keeper.peek(Key.under(ORIGIN, "Another/1.0")) == found

        in_a_crawl(work)


@pytest.mark.parametrize(
    ("status", "age", "is_answering"),
    [(200, 0, True), (404, 0, True), (499, 0, True), (500, 0, False), (200, 90_000, False)],
)
def test_answers_of_pages_show_that_an_origin_is_up(
    status: int, age: float, is_answering: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(crawl: Crawl) -> None:
        told: list[bool] = []

        def standing(*_: object, is_answering: bool) -> None:
            told.append(is_answering)

        monkeypatch.setattr(module, "standing", standing)
        now = time.time()
        monkeypatch.setattr(f"{module.__name__}.time.time", lambda: now - age)
        crawl.exchanges.saw_answer(ORIGIN, status)
        monkeypatch.setattr(f"{module.__name__}.time.time", lambda: now)
        for origin in (ORIGIN, OTHER):
            crawl.exchanges.standing(origin, Knowledge(), crawl.settings.rules)
        assert told == [is_answering, False]

    in_a_crawl(work)
