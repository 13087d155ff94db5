"""Where a crawl keeps answers: in its store, and in memory while the store fails.

This is a circuit breaker. A failure opens it: the crawl goes on from memory, and nothing waits for
the store. After some seconds it is half open: it tries the store once, in the background. If that
succeeds, the entries in memory are copied to the store, and the store is in use again. Otherwise
the next try comes later.

A failure of a store is a miss, never an answer.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro

from scrapy_rep import stats
from scrapy_rep.cache.base import Busy, Claim, Lease, Leased, Store, StoreError
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.engine.loops import result_of
from scrapy_rep.engine.state import is_closing
from scrapy_rep.protocol.access.knowledge import Knowledge

from .calls import Asked, answered, peeked
from .stores import opener_of

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

    from scrapy_rep.settings import RepSettings

logger = logging.getLogger(__name__)

Value = TypeVar("Value")

LEASE_SECONDS = 15.0  # after which a holder that died is succeeded; renewed while it lives
_TRY_AGAIN_SECONDS = (5.0, 60.0)  # until a store that failed is tried again: at first, at last
_CLOSE_SECONDS = 5.0  # for a store to write what is to be written


@dataclass(slots=True)
class Held:
    """A lease, and the store that gave it.

    Attributes:
        lease: as it was last renewed.
        store: where it counts.
        ends_at: when it may have ended, by our own clock that nobody sets (`time.monotonic`).
        is_lost: whether it could not be renewed: it gives no right any more.
    """

    lease: Lease
    store: Store
    ends_at: float
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class Claimed:
    """What the store answers one who needs a policy.

    Attributes:
        known: what is known, whether or not it is usable.
        held: the lease, for one who is to fetch.
        wait_seconds: when to look again at the latest, where another process fetches.
    """

    known: Knowledge
    held: Held | None = None
    wait_seconds: float | None = None


class Keeper:
    """Keeps the answers of one crawl; hides every failure of its store."""

    def __init__(self, crawler: Crawler, settings: RepSettings) -> None:
        """Open the store.

        Raises:
            ConfigurationError: a class that the user names cannot be loaded or built.
        """
        self._crawler = crawler
        self._memory_octets = settings.memory_octets
        self._memory = self._new_memory()
        self._store: Store = self._memory
        self._own: Store | None = None
        self._opener = opener_of(crawler, settings)
        self._is_closed = self._is_trying = self._is_told = False
        self._pause_seconds = _TRY_AGAIN_SECONDS[0]
        self._back_at = self._try_at = 0.0
        self._tasks: set[Deferred[None]] = set()
        try:
            self._own = self._opener()
            self._store = self._own
        except StoreError as error:
            self._go_away(
                "The store of robots.txt answers cannot be opened (%s); they are kept in memory. "
                "Set REP_STORE_PATH to a file that can be written, or REP_STORE = 'memory'",
                error,
            )

    async def close(self) -> None:
        """Close the store; what is still under way goes on without it."""
        self._is_closed = True
        self._store = self._memory = self._new_memory()
        if self._own is None:
            return
        try:
            closing = self._own.close()
            if isinstance(closing, Future):
                await result_of(closing, _CLOSE_SECONDS)
        except Exception as error:  # noqa: BLE001 - of users' classes
            logger.warning(
                "The store of robots.txt answers cannot be closed: %r", error, extra=self._extra
            )

    def peek(self, key: Key) -> Knowledge:
        """What is known."""
        self._try_again(key)
        store = self._store
        try:
            entry = peeked(store, key)
        except StoreError as error:
            self._fail(store, error)
            return Knowledge()
        return self._known(entry, key)

    def _known(self, entry: Entry | None, key: Key) -> Knowledge:
        if entry is None or entry.origin != key:  # the answer to another crawler
            self._check(entry)
            return Knowledge()
        return entry.known

    async def claim(self, key: Key, fresh_seconds: float) -> Claimed:
        """What is there, if it holds for so long; else a lease, or when to look again."""
        self._try_again(key)
        began, asked = time.monotonic(), Asked(key, LEASE_SECONDS, fresh_seconds)
        try:
            claim, store = await self._do(asked.ask, Claim, asked.check)
        except BaseException:
            asked.give_back()  # or everybody would wait until the lease ends
            raise
        known = self._known(claim.entry, key)
        if isinstance(claim, Leased):
            return Claimed(known, held=Held(claim.lease, store, began + LEASE_SECONDS))
        return Claimed(known, wait_seconds=claim.wait_seconds if isinstance(claim, Busy) else None)

    def keep_alive(self, held: Held) -> None:
        """Renew a lease, in the background."""
        self._start(self._renew(held))

    async def release(self, held: Held) -> None:
        """End a lease without an entry."""
        if held.store is self._store:
            await self._do(lambda store: store.release(held.lease), object)

    async def commit(self, entry: Entry, held: Held | None = None) -> bool:
        """Keep an entry, and end the lease; whether it was still held, if it was given.

        A process that was stopped for a while may find that another one has taken over: what
        that one has learnt stays.
        """
        if held is not None and held.store is self._store:
            if time.monotonic() >= held.ends_at:
                await self._renew(held)
            if held.is_lost:
                return False

        def work(store: Store) -> Future[bool]:
            is_his = held is not None and held.store is store
            return store.commit(entry, held.lease if held is not None and is_his else None)

        # The answer is None from stores of users that were written before there was one.
        is_kept: bool | None = (await self._do(work, object))[0]
        return is_kept is not False

    async def _renew(self, held: Held) -> None:
        began = time.monotonic()
        try:
            renewed = await answered(
                lambda: held.store.renew(held.lease, seconds=LEASE_SECONDS), Lease | None
            )
        except StoreError as error:
            self._fail(held.store, error)
            return
        if renewed is None:
            held.is_lost = True
        else:
            held.lease, held.ends_at = renewed, began + LEASE_SECONDS

    async def _do(
        self,
        work: Callable[[Store], Future[Value]],
        kind: type | UnionType,
        check: Callable[[Value], None] = lambda _: None,
    ) -> tuple[Value, Store]:
        """Have the store do something, or memory in its place if it cannot; and which did it."""
        store = self._store
        try:
            return await answered(lambda: work(store), kind, check), store
        except StoreError as error:
            self._fail(store, error)
            memory = self._memory
            return await result_of(work(memory)), memory

    def _check(self, entry: Entry | None) -> None:
        """Log once if a store of the user's does not tell askers apart."""
        if entry is None or isinstance(entry.origin, Key) or self._is_told:
            return
        self._is_told = True
        logger.warning(
            "%s returns entries under plain origins, which do not say for which crawler they are, "
            "so they are not used. Return each entry with the `origin` that it came with, which is "
            "a scrapy_rep.cache.entry.Key",
            type(self._store).__qualname__,
            extra=self._extra,
        )

    def _fail(self, store: Store, error: StoreError) -> None:
        if store is not self._store or store is self._memory:
            return
        self._store = self._memory = self._new_memory()
        self._go_away(
            "The store of robots.txt answers failed (%s); the crawl goes on from memory, and tries "
            "the store again from time to time",
            error,
        )

    def _go_away(self, words: str, error: StoreError) -> None:
        now = time.monotonic()
        if now - self._back_at > _TRY_AGAIN_SECONDS[1]:
            self._pause_seconds = _TRY_AGAIN_SECONDS[0]
        self._try_at = now + self._pause_seconds
        self._count(stats.STORE_FAILED)
        logger.warning(words, error, extra=self._extra)

    def _try_again(self, key: Key) -> None:
        """Try the store again in the background, if it is time for that."""
        if self._store is not self._memory or self._is_trying or self._is_closed:
            return
        if self._try_at <= time.monotonic() and not is_closing(self._crawler):
            self._is_trying = True
            self._try_at += self._pause_seconds
            self._start(self._come_back(key))

    async def _come_back(self, key: Key) -> None:
        try:
            count = await self._tried(key)
        except StoreError as error:
            logger.debug("The store still fails: %s", error, extra=self._extra)
            self._pause_seconds = min(2 * self._pause_seconds, _TRY_AGAIN_SECONDS[1])
            self._try_at = time.monotonic() + self._pause_seconds
        else:
            if not self._is_closed:
                self._back_at = time.monotonic()
                self._count(stats.STORE_BACK)
                logger.warning(
                    "The store of robots.txt answers is in use again; %d answers from memory were "
                    "copied to it",
                    count,
                    extra=self._extra,
                )
        finally:
            self._is_trying = False

    async def _tried(self, key: Key) -> int:
        """Use the store again; returns how many entries were copied to it from memory.

        Raises:
            StoreError: it still fails.
        """
        if self._own is None:
            opened = await run_in_thread(self._opener)
            if self._is_closed:
                opened.close()
                return 0
            self._own = opened
        store, memory, count = self._own, self._memory, 0
        # For as long as usual, or the lease of another process would seem to be of a wrong clock.
        asked = Asked(key, LEASE_SECONDS, -math.inf)
        claim = await answered(lambda: asked.ask(store), Claim, asked.check)
        if isinstance(claim, Leased):
            await answered(partial(store.release, claim.lease), object)
        peeked(store, key)
        while keys := memory.keys():
            for one in keys:
                entry = memory.peek(one)
                if entry is not None:
                    await answered(partial(store.commit, entry, None), object)
                    count += 1
                if memory.peek(one) == entry:  # it may have been learnt anew meanwhile
                    memory.forget(one)
        if not self._is_closed:
            self._store = store
        return count

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = deferred_from_coro(work)
        self._tasks.add(task)  # or it would be collected while it runs
        task.addBoth(self._end, task)

    def _end(self, result: Any, task: Deferred[None]) -> Any:
        self._tasks.discard(task)
        return result

    def _new_memory(self) -> MemoryStore:
        return MemoryStore(self._memory_octets)

    def _count(self, name: str) -> None:
        self._crawler.stats.inc_value(name)

    @property
    def _extra(self) -> dict[str, Any]:
        return {"spider": self._crawler.spider}
