"""The keeper of answers, over a store that a test directs: when it leaves it, and comes back."""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.test import get_crawler

from scrapy_rep.cache.base import Claim, Found, Lease, StoreError
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.fetch import keeper
from scrapy_rep.fetch.keeper import LEASE_SECONDS, Keeper
from scrapy_rep.protocol.access.knowledge import Knowledge
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.settings import RepSettings
from tests import test_stores
from tests.cache.samples import ORIGIN, OTHER, file_entry, usual_key
from tests.cache.test_contract import PlainStore

KEY, OTHER_KEY = usual_key(ORIGIN), usual_key(OTHER)


class Directed(PlainStore):
    """A store that fails while the test says so, and writes down what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = False
        self.claim_count = 0
        self.renewals: Lease | Exception | None = Lease(KEY, "renewed", 0.0)
        self.commits: list[tuple[Origin, Lease | None]] = []
        self.answer: Any = True
        self.is_closed = False

    def _check(self) -> None:
        if self.fails:
            raise StoreError("out of order")

    def peek(self, origin: Origin) -> Entry | None:
        self._check()
        return super().peek(origin)

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        self.claim_count += 1
        self._check()
        return super().claim(origin, seconds=seconds, fresh_seconds=fresh_seconds)

    def renew(self, lease: Lease, *, seconds: float) -> Future[Lease | None]:
        self._check()
        return done_with(self.renewals)

    def commit(self, entry: Entry, lease: Lease | None) -> Future[Any]:
        self._check()
        self.commits.append((entry.origin, lease))
        super().commit(entry, lease)
        return done_with(self.answer)

    def close(self) -> None:
        self.is_closed = True


def done_with(value: Any) -> Future[Any]:
    future: Future[Any] = Future()
    if isinstance(value, Exception):
        future.set_exception(value)
    else:
        future.set_result(value)
    return future


class Crawl:
    """The keeper of a crawl that runs; its clock goes on when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, opener: Callable[[], Any] | None) -> None:
        self.now = 1000.0
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr(keeper, "time", clock)
        self.store = Directed()
        monkeypatch.setattr(keeper, "opener_of", lambda *_: opener or (lambda: self.store))
        self.crawler = crawler = get_crawler()
        crawler.stats = MemoryStatsCollector(crawler)
        crawler.spider = SimpleNamespace(name="test")  # type: ignore[assignment]
        self.slot = SimpleNamespace(closing=None)
        crawler.engine = SimpleNamespace(  # type: ignore[assignment]
            spider=crawler.spider, _slot=self.slot
        )
        self.keeper = Keeper(crawler, RepSettings.of(crawler.settings))

    def is_from_memory(self) -> bool:
        return self.keeper._store is self.keeper._memory

    async def peek_at(self, now: float) -> Knowledge:
        """Look at an instant, and let what that begins come to its end."""
        self.now = now
        known = self.keeper.peek(KEY)
        for task in list(self.keeper._tasks):
            await maybe_deferred_to_future(task)
        return known

    def counted(self, name: str) -> int:
        found: int = self.crawler.stats.get_value(f"rep/store/{name}", 0)
        return found


Work = Callable[[Crawl], Coroutine[Any, Any, None]]
Run = Callable[..., None]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """Do some work in a loop of its own: this thread has one already."""

    def run(work: Work, opener: Callable[[], Any] | None = None) -> None:
        async def main() -> None:
            await asyncio.wait_for(work(Crawl(monkeypatch, opener)), 20)

        with ThreadPoolExecutor(1) as thread:
            thread.submit(asyncio.run, main()).result(timeout=30)

    return run


class TestTryingAgain:
    def test_the_pause_doubles_up_to_a_minute_and_one_that_stays_begins_anew(
        self, run: Run, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.store.fails = True
            await crawl.peek_at(1000)
            assert crawl.is_from_memory()
            assert crawl.store.claim_count == 0
            tried: list[float] = []
            for now in range(1000, 1200):
                count = crawl.store.claim_count
                await crawl.peek_at(now)
                if crawl.store.claim_count > count:
                    tried.append(now - 1000)
            assert tried == [5, 15, 35, 75, 135, 195]
            crawl.store.fails = False
            await crawl.peek_at(1260)
            assert not crawl.is_from_memory()
            assert (crawl.counted("failed"), crawl.counted("back")) == (1, 1)
            # It fails again soon: the long pause goes on.
            crawl.store.fails = True
            await crawl.peek_at(1300)
            count = crawl.store.claim_count
            await crawl.peek_at(1359)
            assert crawl.store.claim_count == count
            crawl.store.fails = False
            await crawl.peek_at(1360)
            assert not crawl.is_from_memory()
            # It fails once more, after more than a minute: a short pause is enough.
            crawl.store.fails = True
            await crawl.peek_at(1421)
            crawl.store.fails = False
            await crawl.peek_at(1425.5)
            assert crawl.is_from_memory()
            await crawl.peek_at(1426)
            assert not crawl.is_from_memory()
            assert (crawl.counted("failed"), crawl.counted("back")) == (3, 3)

        with caplog.at_level(logging.WARNING):
            run(work)
        assert [record.levelname for record in caplog.records] == ["WARNING"] * 6

    def test_one_at_a_time_and_none_once_the_crawl_closes(self, run: Run) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.store.fails = True
            crawl.keeper.peek(KEY)
            crawl.now += 5
            asked: Future[Claim] = Future()
            crawl.store.claim = lambda *_, **__: asked  # type: ignore[method-assign]
            for _ in range(3):
                crawl.keeper.peek(KEY)
                crawl.now += 20
            assert len(crawl.keeper._tasks) == 1
            asked.set_exception(StoreError("still out of order"))
            await crawl.peek_at(crawl.now)
            crawl.slot.closing = object()
            crawl.now += 1000
            crawl.keeper.peek(KEY)
            assert crawl.keeper._tasks == set()
            crawl.slot.closing = None
            await crawl.keeper.close()
            crawl.keeper.peek(KEY)
            assert crawl.keeper._tasks == set()

        run(work)

    def test_what_was_learnt_meanwhile_is_copied(
        self, run: Run, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.store.fails = True
            now = time.time()
            for key in (KEY, OTHER_KEY):
                assert await crawl.keeper.commit(Entry(key, file_entry(key, at=now).known))
            assert crawl.is_from_memory()
            assert crawl.counted("failed") == 1
            crawl.store.fails = False
            known = await crawl.peek_at(1005)
            assert known.copy is not None, "from memory"
            assert set(crawl.store.entries) == {KEY, OTHER_KEY}
            assert crawl.store.leases == {}, "to try it took no lease"
            assert not crawl.is_from_memory()
            assert crawl.keeper._memory.keys() == []
            assert crawl.keeper.peek(KEY) == known

        run(work)
        assert "2 answers from memory were copied" in caplog.messages[-1]

    def test_what_is_learnt_anew_while_it_is_copied_is_copied_too(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        async def work(crawl: Crawl) -> None:
            now = time.time()
            crawl.store.fails = True
            await crawl.keeper.commit(file_entry(KEY, at=now - 60))
            crawl.store.fails = False
            newer, commit = file_entry(KEY, at=now), crawl.store.commit

            def commit_amid_others(entry: Entry, lease: Lease | None) -> Future[Any]:
                if len(crawl.store.commits) == 0:
                    crawl.keeper._memory.commit(newer, None)
                return commit(entry, lease)

            monkeypatch.setattr(crawl.store, "commit", commit_amid_others)
            await crawl.peek_at(1005)
            assert crawl.keeper.peek(KEY) == newer.known
            assert crawl.keeper._memory.keys() == []

        run(work)


class TestOpening:
    def test_a_store_that_cannot_be_opened_is_opened_later(self, run: Run) -> None:
        stores: list[Directed] = []

        def opener() -> Directed:
            if not stores:
                raise StoreError("no folder")
            return stores[0]

        async def work(crawl: Crawl) -> None:
            assert crawl.is_from_memory()
            assert crawl.counted("failed") == 1
            await crawl.peek_at(1004)
            assert crawl.is_from_memory()
            stores.append(crawl.store)
            await crawl.peek_at(1004.5)
            assert crawl.is_from_memory(), "it is not time"
            await crawl.peek_at(1005)
            assert crawl.keeper._store is crawl.store
            await crawl.keeper.close()
            assert crawl.store.is_closed

        run(work, opener)

    def test_one_that_was_never_opened_is_not_closed(
        self, run: Run, caplog: pytest.LogCaptureFixture
    ) -> None:
        def opener() -> Directed:
            raise StoreError("no folder")

        async def work(crawl: Crawl) -> None:
            caplog.clear()
            await crawl.keeper.close()

        run(work, opener)
        assert caplog.records == []

    def test_one_that_opens_when_the_crawl_has_ended_is_closed(self, run: Run) -> None:
        opens = threading.Event()
        main = threading.main_thread()
        opened: list[Directed] = []

        def opener() -> Directed:
            if not opened:
                opened.append(Directed())
                raise StoreError("no folder")
            assert threading.current_thread() is not main
            opens.wait(10)
            return opened[0]

        async def work(crawl: Crawl) -> None:
            crawl.now += 5
            crawl.keeper.peek(KEY)
            await asyncio.sleep(0.01)
            await crawl.keeper.close()
            opens.set()
            await crawl.peek_at(crawl.now)
            assert opened[0].is_closed
            assert crawl.is_from_memory()
            assert crawl.counted("back") == 0

        run(work, opener)

    def test_a_store_that_fails_in_part_is_not_used(self, run: Run) -> None:
        async def work(crawl: Crawl) -> None:
            def peek(_: Origin) -> Entry | None:
                raise StoreError("out of order")

            crawl.store.peek = peek  # type: ignore[method-assign, assignment]
            await crawl.peek_at(1000)
            await crawl.peek_at(1005)
            assert crawl.store.claim_count == 1
            assert crawl.is_from_memory()
            assert crawl.counted("back") == 0

        run(work)


class TestLeases:
    def test_of_a_claim(self, run: Run) -> None:
        async def work(crawl: Crawl) -> None:
            first = await crawl.keeper.claim(KEY, 0.0)
            assert (first.known, first.wait_seconds) == (Knowledge(), None)
            assert first.held is not None
            assert first.held.store is crawl.store
            assert first.held.ends_at == 1000 + LEASE_SECONDS
            second = await crawl.keeper.claim(KEY, 0.0)
            assert second.held is None
            assert second.wait_seconds is not None
            assert 10 < second.wait_seconds <= LEASE_SECONDS
            entry = file_entry(KEY, at=time.time())
            assert await crawl.keeper.commit(entry, first.held)
            third = await crawl.keeper.claim(KEY, 0.0)
            assert (third.known, third.held, third.wait_seconds) == (entry.known, None, None)

        run(work)

    def test_one_whose_time_may_be_over_is_renewed_before_its_entry_is_kept(self, run: Run) -> None:
        async def work(crawl: Crawl) -> None:
            held = (await crawl.keeper.claim(KEY, 0.0)).held
            assert held is not None
            own, entry = held.lease, file_entry(KEY)
            crawl.now += LEASE_SECONDS - 1
            assert await crawl.keeper.commit(entry, held)
            assert crawl.store.commits == [(KEY, own)], "it is held for sure"
            crawl.now += 1
            assert await crawl.keeper.commit(entry, held)
            assert crawl.store.commits[1:] == [(KEY, crawl.store.renewals)]
            assert held.ends_at == crawl.now + LEASE_SECONDS
            crawl.store.renewals = None
            crawl.now += LEASE_SECONDS
            assert not await crawl.keeper.commit(entry, held)
            assert held.is_lost
            assert len(crawl.store.commits) == 2, "another one has the right now"

        run(work)

    def test_it_is_renewed_in_the_background(self, run: Run) -> None:
        async def work(crawl: Crawl) -> None:
            held = (await crawl.keeper.claim(KEY, 0.0)).held
            assert held is not None
            crawl.now += 5
            crawl.keeper.keep_alive(held)
            await crawl.peek_at(crawl.now)
            assert (held.lease, held.ends_at) == (crawl.store.renewals, crawl.now + LEASE_SECONDS)
            crawl.store.renewals = StoreError("out of order")
            crawl.keeper.keep_alive(held)
            await crawl.peek_at(crawl.now)
            assert not held.is_lost, "nobody knows"
            assert crawl.is_from_memory()

        run(work)

    @pytest.mark.parametrize(("answer", "is_kept"), [(True, True), (None, True), (False, False)])
    def test_the_store_tells_whether_it_was_held(
        self, answer: Any, is_kept: bool, run: Run
    ) -> None:
        async def work(crawl: Crawl) -> None:
            held = (await crawl.keeper.claim(KEY, 0.0)).held
            crawl.store.answer = answer
            assert await crawl.keeper.commit(file_entry(KEY), held) is is_kept

        run(work)

    def test_one_of_a_store_that_has_failed_since_counts_nowhere_else(self, run: Run) -> None:
        async def work(crawl: Crawl) -> None:
            held = (await crawl.keeper.claim(KEY, 0.0)).held
            assert held is not None
            crawl.store.fails = True
            assert await crawl.keeper.commit(file_entry(KEY), held)
            assert crawl.is_from_memory()
            assert crawl.keeper.peek(KEY) == file_entry(KEY).known
            held.is_lost = True
            assert await crawl.keeper.commit(file_entry(KEY, at=time.time()), held)
            crawl.store.fails = False
            await crawl.keeper.release(held)
            assert KEY in crawl.store.leases, "it is not asked"

        run(work)

    def test_a_release(self, run: Run) -> None:
        async def work(crawl: Crawl) -> None:
            held = (await crawl.keeper.claim(KEY, 0.0)).held
            assert held is not None
            await crawl.keeper.release(held)
            assert crawl.store.leases == {}

        run(work)


class TestAnswers:
    @pytest.mark.parametrize("comes", [True, False])
    def test_those_that_come_later(
        self, comes: bool, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(keeper, "_ANSWER_SECONDS", 5.0 if comes else 0.05)

        async def work(crawl: Crawl) -> None:
            asked: Future[Claim] = Future()
            found = Found(file_entry(KEY, at=time.time()))
            crawl.store.claim = lambda *_, **__: asked  # type: ignore[method-assign]
            claiming = asyncio.ensure_future(crawl.keeper.claim(KEY, 0.0))
            await asyncio.sleep(0.01)
            assert not claiming.done()
            if comes:
                asked.set_result(found)
            claimed = await claiming
            assert (claimed.held is None) is comes
            assert crawl.is_from_memory() is not comes
            assert claimed.known == (found.entry.known if comes else Knowledge())

        run(work)

    @pytest.mark.parametrize(
        "kind",
        [
            test_stores.ClaimRaises,
            test_stores.ClaimGivesNoFuture,
            test_stores.ClaimGivesText,
            test_stores.ClaimGivesNoEntry,
            test_stores.ClaimGivesNoLease,
            test_stores.ClaimGivesNoTime,
            test_stores.ClaimInsists,
            test_stores.PeekRaises,
            test_stores.PeekGivesText,
        ],
    )
    def test_those_of_no_use_are_failures(self, kind: type[PlainStore], run: Run) -> None:
        async def work(crawl: Crawl) -> None:
            assert crawl.keeper.peek(KEY) == Knowledge()
            claimed = await crawl.keeper.claim(KEY, math.inf)
            assert claimed.known == Knowledge()
            assert claimed.held is not None
            assert claimed.held.store is crawl.keeper._memory
            assert crawl.is_from_memory()
            assert crawl.counted("failed") == 1

        run(work, kind)

    def test_those_for_another_crawler_are_not_used(
        self, run: Run, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def work(crawl: Crawl) -> None:
            for found in (Key.under(ORIGIN, "Another/1.0"), ORIGIN, ORIGIN):
                crawl.store.entries[KEY] = file_entry(found, at=time.time())
                assert crawl.keeper.peek(KEY) == Knowledge()
                assert (await crawl.keeper.claim(KEY, 0.0)).known == Knowledge()
                assert len(caplog.records) == (0 if isinstance(found, Key) else 1)
            assert not crawl.is_from_memory()

        run(work)
        (record,) = caplog.records
        assert "Directed returns entries under plain origins" in record.getMessage()

    def test_the_failures_of_a_store_that_was_left_change_nothing(self, run: Run) -> None:
        async def work(crawl: Crawl) -> None:
            held = (await crawl.keeper.claim(KEY, 0.0)).held
            assert held is not None
            crawl.store.fails = True
            await crawl.keeper.commit(file_entry(KEY, at=time.time()))
            await crawl.keeper._renew(held)
            assert crawl.counted("failed") == 1
            assert crawl.keeper.peek(KEY).copy is not None, "memory is as it was"

        run(work)
