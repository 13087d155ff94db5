"""Keeps the answers of a crawl in its store, and in memory while the store fails.

This is a circuit breaker. A failure opens it: the crawl goes on with answers in memory, and nothing
waits for the store. After some seconds it tries the store once, in the background. If that
succeeds, the entries in memory are copied to the store, and the store is in use again. Otherwise it
waits longer before the next try.

The store may be a class of the user, so an exception, a late result or a wrong type also count as
failures. A failure of a store is a miss, never an answer.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.utils.asyncio import run_in_thread
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import CancelledError

from scrapy_rep import stats
from scrapy_rep.cache.base import Busy, Claim, Found, Lease, Leased, Store, StoreError
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.engine.loops import result_of
from scrapy_rep.engine.state import is_closing
from scrapy_rep.protocol.access.knowledge import Knowledge
from scrapy_rep.protocol.units import counted
from scrapy_rep.stats import Journal

from .chosen_store import opener_of

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from twisted.internet.defer import Deferred

    from scrapy_rep.crawl import Crawl

Value = TypeVar("Value")

LEASE_SECONDS = 15.0  # renewed while the holder lives; then another process may take over
_ANSWER_SECONDS = 20.0  # the time limit of one operation; SQLite waits 5 s for a lock
_TRY_AGAIN_SECONDS = (5.0, 60.0)  # pauses before a failed store is tried again: first, longest
_CLOSE_SECONDS = 5.0  # the time limit for a store to write its remaining entries


@dataclass(slots=True)
class Held:
    """A lease, and the store that gave it.

    Attributes:
        lease: the lease, as it was last renewed.
        store: the store that gave it.
        ends_at: the earliest time that it may end, in seconds of `time.monotonic`.
        is_lost: whether it could not be renewed, so that it is not valid any more.
    """

    lease: Lease
    store: Store
    ends_at: float
    is_lost: bool = False


@dataclass(frozen=True, slots=True)
class Claimed:
    """The answer to a claim.

    Attributes:
        known: the stored knowledge, whether or not it is usable.
        held: the lease, if the caller must fetch.
        wait_seconds: how long to wait before looking again, if another process fetches.
    """

    known: Knowledge
    held: Held | None = None
    wait_seconds: float | None = None


class Keeper:
    """Keeps the answers of one crawl; hides every failure of its store."""

    def __init__(self, crawl: Crawl) -> None:
        """Open the store.

        Raises:
            ConfigurationError: a class that the user names cannot be loaded or built.
        """
        self._crawler = crawl.crawler
        self._journal = Journal(crawl.crawler, __name__)
        self._memory_octets = crawl.settings.memory_octets
        self._memory = MemoryStore(self._memory_octets)
        self._store: Store = self._memory
        self._own: Store | None = None
        self._opener = opener_of(crawl)
        self._is_closed = self._is_told = False
        self._pause_seconds = _TRY_AGAIN_SECONDS[0]
        self._back_at = self._try_at = 0.0
        self._tasks: set[Deferred[None]] = set()
        try:
            self._store = self._own = self._opener()
        except StoreError as error:
            self._go_away(
                "The store of robots.txt answers cannot be opened (%s), so answers are kept in "
                "memory. Set REP_STORE_PATH to a file that can be written, or REP_STORE = 'memory'",
                error,
            )

    async def close(self) -> None:
        """Close the store; operations that are still under way go on without it."""
        self._is_closed = True
        self._store = self._memory = MemoryStore(self._memory_octets)
        try:
            closing = self._own.close() if self._own is not None else None
            if closing is not None:
                await result_of(closing, _CLOSE_SECONDS)
        except Exception as error:  # noqa: BLE001 - of users' classes
            self._journal.warning("The store of robots.txt answers cannot be closed: %r", error)

    def peek(self, key: Key) -> Knowledge:
        """The stored knowledge of a file."""
        self._try_again(key)
        store = self._store
        try:
            return self._known(_peeked(store, key), key)
        except StoreError as error:
            self._fail(store, error)
            return Knowledge()

    def _known(self, entry: Entry | None, key: Key) -> Knowledge:
        if entry is not None and entry.origin == key:
            return entry.known
        if entry is not None and not isinstance(entry.origin, Key) and not self._is_told:
            self._is_told = True
            self._journal.warning(
                "%s returns entries with a plain origin, which does not say which crawler they are "
                "for, so they are not used. Return each entry with the `origin` that it was stored "
                "with, which is a scrapy_rep.cache.entry.Key",
                type(self._store).__qualname__,
            )
        return Knowledge()

    async def claim(self, key: Key, fresh_seconds: float) -> Claimed:
        """The stored answer, with a lease or a wait unless it is fresh for `fresh_seconds`."""
        self._try_again(key)
        began = time.monotonic()
        claim, store = await self._do(
            partial(_claim, key=key, fresh_seconds=fresh_seconds),
            partial(_is_claim, fresh_seconds=fresh_seconds),
        )
        known = self._known(claim.entry, key)
        if isinstance(claim, Leased):
            return Claimed(known, held=Held(claim.lease, store, began + LEASE_SECONDS))
        return Claimed(known, wait_seconds=claim.wait_seconds if isinstance(claim, Busy) else None)

    def keep_alive(self, held: Held) -> None:
        """Renew a lease, in the background."""
        self._start(self._renew(held))

    async def release(self, held: Held, *, is_awaited: bool = True) -> None:
        """End a lease without an entry, in the background if that is not awaited."""
        if held.store is self._store:
            releasing = self._do(lambda store: store.release(held.lease))
            if is_awaited:
                await releasing
            else:
                self._start(releasing)

    async def commit(self, entry: Entry, held: Held | None = None) -> bool:
        """Keep an entry and end the lease; return False if the lease was lost.

        If this process was stopped for a while, another process may have taken over; its entry is
        then kept.
        """
        if held is not None and held.store is self._store:
            if time.monotonic() >= held.ends_at:
                await self._renew(held)
            if held.is_lost:
                return False

        def work(store: Store) -> Future[bool]:
            return store.commit(entry, held.lease if held and held.store is store else None)

        is_kept, _ = await self._do(work)
        return is_kept is not False  # users' stores may return None

    async def _renew(self, held: Held) -> None:
        began = time.monotonic()
        try:
            renewed = await _answered(
                held.store,
                lambda store: store.renew(held.lease, seconds=LEASE_SECONDS),
                lambda lease: isinstance(lease, Lease | None),
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
        is_right: Callable[[Value], bool] = lambda _: True,
    ) -> tuple[Value, Store]:
        """The answer of the store, or of memory if the store fails, and the store that answered."""
        store = self._store
        try:
            return await _answered(store, work, is_right), store
        except StoreError as error:
            self._fail(store, error)
            memory = self._memory
            return work(memory).result(), memory

    def _fail(self, store: Store, error: StoreError) -> None:
        if store is not self._store or store is self._memory:
            return
        self._store = self._memory = MemoryStore(self._memory_octets)
        self._go_away(
            "The store of robots.txt answers failed (%s); the crawl goes on with answers in "
            "memory, and tries the store again from time to time",
            error,
        )

    def _go_away(self, words: str, error: StoreError) -> None:
        now = time.monotonic()
        if now - self._back_at > _TRY_AGAIN_SECONDS[1]:
            self._pause_seconds = _TRY_AGAIN_SECONDS[0]
        self._try_at = now + self._pause_seconds
        self._journal.count(stats.STORE_FAILED)
        self._journal.warning(words, error)

    def _try_again(self, key: Key) -> None:
        """Try the store again in the background, if it is time for that."""
        is_time = self._store is self._memory and self._try_at <= time.monotonic()
        if is_time and not self._is_closed and not is_closing(self._crawler):
            self._try_at = math.inf
            self._start(self._come_back(key))

    async def _come_back(self, key: Key) -> None:
        try:
            count = await self._tried(key)
        except Exception as error:  # noqa: BLE001 - whatever it was, another try comes later
            self._journal.debug("The store still fails: %s", error)
            self._pause_seconds = min(2 * self._pause_seconds, _TRY_AGAIN_SECONDS[1])
            self._try_at = time.monotonic() + self._pause_seconds
            return
        if not self._is_closed and self._own is not None:
            self._store, self._back_at = self._own, time.monotonic()
            self._journal.count(stats.STORE_BACK)
            self._journal.warning(
                "The store of robots.txt answers is in use again; %s copied to it",
                counted(count, "answer from memory was", "answers from memory were"),
            )

    async def _tried(self, key: Key) -> int:
        """Copy the entries in memory to the store; return their number.

        Raises:
            StoreError: the store still fails.
        """
        if self._own is None:
            opened = await run_in_thread(self._opener)
            if self._is_closed:
                opened.close()
                return 0
            self._own = opened
        store, memory, count = self._own, self._memory, 0
        # Use the usual lease time: a shorter one would make another process's lease look wrong.
        work = partial(_claim, key=key, fresh_seconds=-math.inf)
        claim = await _answered(store, work, partial(_is_claim, fresh_seconds=-math.inf))
        if isinstance(claim, Leased):
            await _answered(store, lambda store: store.release(claim.lease))
        _peeked(store, key)
        while keys := memory.keys():
            for one in keys:
                entry = memory.peek(one)
                if entry is not None:
                    await _answered(store, partial(_commit, entry=entry))
                    count += 1
                if memory.peek(one) == entry:  # a newer entry may have come during the commit
                    memory.forget(one)
        return count

    def _start(self, work: Coroutine[Any, Any, Any]) -> None:
        task = deferred_from_coro(work)
        self._tasks.add(task)  # otherwise it might be garbage-collected while it runs
        task.addBoth(self._end, task)

    def _end(self, result: Any, task: Deferred[None]) -> Any:
        self._tasks.discard(task)
        return result


def _claim(store: Store, key: Key, fresh_seconds: float) -> Future[Claim]:
    return store.claim(key, seconds=LEASE_SECONDS, fresh_seconds=fresh_seconds)


def _commit(store: Store, entry: Entry) -> Future[bool]:
    return store.commit(entry, None)


def _is_claim(claim: object, fresh_seconds: float) -> bool:
    """Whether a claim is valid."""
    match claim:
        case Found(Entry(known=Knowledge())):
            return fresh_seconds < math.inf  # infinite means that no entry is usable
        case Leased(Lease(), None | Entry(known=Knowledge())):
            return True
        case Busy(float() | int() as seconds, None | Entry(known=Knowledge())):
            return seconds >= 0
    return False


def _peeked(store: Store, key: Key) -> Entry | None:
    """The entry in a store.

    Raises:
        StoreError: the store failed in any way.
    """
    try:
        entry: object = store.peek(key)
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(f"peek: {error!r}") from error
    match entry:
        case None | Entry(known=Knowledge()):
            return entry
    raise StoreError(f"peek returns {type(entry).__qualname__} instead of an entry or None")


async def _answered(
    store: Store,
    work: Callable[[Store], Future[Value]],
    is_right: Callable[[Value], bool] = lambda _: True,
) -> Value:
    """The answer of a store.

    Raises:
        StoreError: the store failed in any way, or took too long.
    """
    future = None
    try:
        future = work(store)
        answer = await result_of(future, _ANSWER_SECONDS)
    except BaseException as error:
        if isinstance(future, Future):
            future.add_done_callback(partial(_give_back, store))
        if isinstance(error, CancelledError | StoreError) or not isinstance(error, Exception):
            raise
        raise StoreError(repr(error)) from error
    if not is_right(answer):
        raise StoreError(f"{answer!r:.200} is not a valid answer")
    return answer


def _give_back(store: Store, future: Future[Any]) -> None:
    """Release a lease that comes too late, so that other processes need not wait for its end."""
    with suppress(Exception):
        claim = future.result()
        if isinstance(claim, Leased):
            store.release(claim.lease)
