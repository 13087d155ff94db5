"""The keeper of answers, over a store that a test directs: when it leaves it, and comes back."""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy.utils.defer import maybe_deferred_to_future

from scrapy_rep import crawl as crawls
from scrapy_rep.cache.base import Busy, Claim, Found, Lease, Leased, StoreError, done
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.fetch import keeper
from scrapy_rep.fetch.keeper import LEASE_SECONDS, Held, Keeper
from scrapy_rep.protocol.access.knowledge import Knowledge
from scrapy_rep.protocol.access.origin import Origin
from tests.cache.samples import ORIGIN, OTHER, file_entry, usual_key
from tests.played import in_a_loop, played_crawler

KEY, OTHER_KEY = usual_key(ORIGIN), usual_key(OTHER)


class Directed(MemoryStore):
    """A store that fails while the test says so, and writes down what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.fails = False
        self.claim_count = 0
        self.renewals: Lease | Exception | None = Lease(KEY, "renewed", 0.0)
        self.commits: list[tuple[Origin, Lease | None]] = []
        self.is_closed = False
        self.odd: Entry | None = None  # found for each key

    def _check(self) -> None:
        if self.fails:
            raise StoreError("out of order")

    def peek(self, origin: Origin) -> Entry | None:
        self._check()
        return self.odd or super().peek(origin)

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        self.claim_count += 1
        self._check()
        if self.odd is not None:
            return done(Found(self.odd))
        return super().claim(origin, seconds=seconds, fresh_seconds=fresh_seconds)

    def is_leased(self) -> bool:
        """Whether the key is leased; if it was not, it is now."""
        claim = super().claim(KEY, seconds=LEASE_SECONDS, fresh_seconds=math.inf)
        return isinstance(claim.result(), Busy)

    def renew(self, lease: Lease, *, seconds: float) -> Future[Lease | None]:
        self._check()
        if isinstance(self.renewals, Exception):
            raise self.renewals
        return done(self.renewals)

    def commit(self, entry: Entry, lease: Lease | None) -> Future[Any]:
        self._check()
        self.commits.append((entry.origin, lease))
        super().commit(entry, lease)
        return done(value=True)

    def close(self) -> None:
        self.is_closed = True


class Crawl:
    """The keeper of a crawl that runs; its clock goes on when the test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, opener: Callable[[], Any] | None) -> None:
        self.now = 1000.0
        clock = SimpleNamespace(monotonic=lambda: self.now)
        monkeypatch.setattr(keeper, "time", clock)
        self.store = Directed()
        monkeypatch.setattr(keeper, "opener_of", lambda *_: opener or (lambda: self.store))
        self.crawler = crawler = played_crawler()
        self.keeper = Keeper(crawls.Crawl.of(crawler))

    def is_from_memory(self) -> bool:
        return self.keeper._store is self.keeper._memory

    async def peek_at(self, now: float) -> Knowledge:
        """Look at an instant, and let what that begins come to its end."""
        self.now = now
        known = self.keeper.peek(KEY)
        for task in list(self.keeper._tasks):
            await maybe_deferred_to_future(task)
        return known

    async def held(self) -> Held:
        held = (await self.keeper.claim(KEY, 0.0)).held
        assert held is not None
        return held

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
            await work(Crawl(monkeypatch, opener))

        in_a_loop(main)

    return run


class TestTryingAgain:
    def test_pause_doubles_up_to_a_minute(self, run: Run, caplog: pytest.LogCaptureFixture) -> None:
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

    def test_answer_during_the_copying_is_copied_too(self, run: Run) -> None:
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

            crawl.store.commit = commit_amid_others  # type: ignore[method-assign]
            await crawl.peek_at(1005)
            assert crawl.keeper.peek(KEY) == newer.known
            assert crawl.keeper._memory.keys() == []

        run(work)

    def test_try_takes_no_lease_of_another_process(self, run: Run) -> None:
        async def work(crawl: Crawl) -> None:
            crawl.store.fails = True
            await crawl.peek_at(1000)
            crawl.store.fails = False
            assert not crawl.store.is_leased(), "it is now"
            await crawl.peek_at(1005)
            assert not crawl.is_from_memory()
            assert crawl.store.is_leased()

        run(work)


class TestOpening:
    def test_failed_opening_is_repeated(self, run: Run) -> None:
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

    def test_partly_failed_store_is_not_used(self, run: Run) -> None:
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
    def test_old_lease_is_renewed_before_the_commit(self, run: Run) -> None:
        async def work(crawl: Crawl) -> None:
            held = await crawl.held()
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

    def test_lease_is_renewed_in_the_background(self, run: Run) -> None:
        async def work(crawl: Crawl) -> None:
            held = await crawl.held()
            crawl.now += 5
            crawl.keeper.keep_alive(held)
            await crawl.peek_at(crawl.now)
            assert (held.lease, held.ends_at) == (crawl.store.renewals, crawl.now + LEASE_SECONDS)
            crawl.store.renewals = StoreError("out of order")
            crawl.keeper.keep_alive(held)
            await crawl.peek_at(crawl.now)
            assert not held.is_lost, "it may still be held"
            assert crawl.is_from_memory()

        run(work)

    def test_lease_of_a_failed_store_is_not_used_in_memory(self, run: Run) -> None:
        async def work(crawl: Crawl) -> None:
            held = await crawl.held()
            crawl.store.fails = True
            assert await crawl.keeper.commit(file_entry(KEY), held)
            assert crawl.is_from_memory()
            assert crawl.keeper.peek(KEY) == file_entry(KEY).known
            held.is_lost = True
            assert await crawl.keeper.commit(file_entry(KEY, at=time.time()), held)
            crawl.store.fails = False
            await crawl.keeper.release(held)
            assert crawl.store.is_leased(), "it is not asked"

        run(work)

    def test_cancelled_claim_leaves_no_lease(self, run: Run) -> None:
        """Or all others would wait until it ends by itself."""

        async def work(crawl: Crawl) -> None:
            asked: Future[Claim] = Future()
            granted = crawl.store.claim(KEY, seconds=15.0, fresh_seconds=0.0).result()
            crawl.store.claim = lambda *_, **__: asked  # type: ignore[method-assign]
            claim = asyncio.create_task(crawl.keeper.claim(KEY, 0.0))
            await asyncio.sleep(0)
            claim.cancel()
            with pytest.raises(asyncio.CancelledError):
                await claim
            assert crawl.store.is_leased()
            asked.set_result(granted)
            assert not crawl.store.is_leased()
            assert not crawl.is_from_memory(), "it has not failed"

        run(work)


class TestAnswers:
    def test_entries_for_another_crawler_are_not_used(
        self, run: Run, caplog: pytest.LogCaptureFixture
    ) -> None:
        async def work(crawl: Crawl) -> None:
            for found in (Key.under(ORIGIN, "Another/1.0"), ORIGIN, ORIGIN):
                crawl.store.odd = file_entry(found, at=time.time())
                assert crawl.keeper.peek(KEY) == Knowledge()
                assert (await crawl.keeper.claim(KEY, 0.0)).known == Knowledge()
                assert len(caplog.records) == (0 if isinstance(found, Key) else 1)
            assert not crawl.is_from_memory()

        run(work)
        (record,) = caplog.records
        assert "Directed returns entries with a plain origin" in record.getMessage()

    @pytest.mark.parametrize(
        ("method", "answer"),
        [
            ("peek", ValueError("out of order")),
            ("peek", "nothing"),
            ("claim", ConnectionError("out of order")),
            ("claim", None),
            ("claim", done("lease")),
            ("claim", done(Found("entry"))),  # type: ignore[arg-type]
            ("claim", done(Leased("lease"))),  # type: ignore[arg-type]
            ("claim", done(Busy(float("nan")))),
            ("claim", done(Found(file_entry(KEY)))),  # although it is said that none is usable
            ("commit", ConnectionError("out of order")),
        ],
    )
    def test_odd_answer_is_a_failure(self, run: Run, method: str, answer: Any) -> None:
        def odd(*_: object, **__: object) -> Any:
            if isinstance(answer, Exception):
                raise answer
            return answer

        async def work(crawl: Crawl) -> None:
            setattr(crawl.store, method, odd)
            await crawl.peek_at(1000)
            for fresh_seconds in (0.0, math.inf):
                await crawl.keeper.claim(KEY, fresh_seconds)
            assert await crawl.keeper.commit(file_entry(KEY))
            assert crawl.is_from_memory()
            assert crawl.keeper.peek(KEY) == file_entry(KEY).known
            assert crawl.counted("failed") == 1

        run(work)
