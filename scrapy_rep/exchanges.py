"""What is known of origins: from the store, or by asking, once for all processes that share it.

An exchange is: look into the store; if what is there does not do, get the lease; look again, since
another process may just have asked; ask, with quick retries while requests wait; keep the outcome.
A store that fails is left for memory, with one warning: its failures are misses, never answers.
"""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.utils.asyncio import create_looping_call

from . import stats
from .cache.base import Lease, Store, StoreError
from .cache.entry import Entry
from .cache.memory import Lru, MemoryStore
from .engine import is_closing
from .fetcher import Fetcher
from .loops import Places, result_of, sleep
from .protocol.access import Failure, name_of
from .protocol.errors import InvalidUri
from .protocol.exchange import Act, Rules, Standing, State, is_worth_a_retry, learn, standing
from .protocol.knowledge import Answer, Copy, Knowledge
from .protocol.origin import Origin
from .stores import open_store

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from .identity import Identity
    from .settings import RepSettings
    from .slots import Slots

logger = logging.getLogger(__name__)

Value = TypeVar("Value")

_LEASE_SECONDS = 15.0  # after which a holder that died is succeeded; renewed while it lives
_POLL_SECONDS = (0.02, 0.5)  # how often a lease that another holds is asked for: at first, at last
_PAUSE_SECONDS = 0.2  # how soon a pause notices that the crawl is closing
_ANSWERING_SECONDS = 24 * 3600.0  # how long a page's answer shows that its origin is up
_ANSWERING_OCTETS = 1 << 20
_CREDENTIALS = ("ftp_user", "ftp_password")


class Exchanges:
    """The exchanges of one crawl, and its store."""

    def __init__(
        self, crawler: Crawler, settings: RepSettings, identity: Identity, slots: Slots
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._fetcher = Fetcher(crawler, settings, identity, slots)
        self._store: Store = open_store(crawler, settings)
        self._places = Places(settings.concurrent_fetches)
        self._in_line: set[Origin] = set()
        self._asked_at: dict[Origin, float] = {}
        self._answering: Lru[Origin, float] = Lru(_ANSWERING_OCTETS)

    def close(self) -> None:
        """Let go of the store; what is still under way goes on without it."""
        store, self._store = self._store, MemoryStore(self._settings.memory_octets)
        store.close()

    def asked_seconds(self, origin: Origin) -> float:
        """For how long somebody has been asked for an origin's file; infinite if it is not known.

        Time in a line of ours does not count, before the first is asked or in the slot of a host.
        """
        if origin in self._in_line or self._fetcher.is_in_line(origin):
            return 0.0
        return time.monotonic() - self._asked_at.get(origin, -math.inf)

    def saw_answer(self, origin: Origin, status: int) -> None:
        """Take note of a page's answer: below 500 it shows that its origin is up."""
        if status < 500:  # noqa: PLR2004
            self._answering.put(origin, time.time(), 200)

    def standing(self, origin: Origin, known: Knowledge, rules: Rules) -> Standing:
        """How things stand now with what is known."""
        now = time.time()
        seen_at = self._answering.get(origin)
        is_answering = seen_at is not None and now - seen_at < _ANSWERING_SECONDS
        return standing(known, now, rules, is_answering=is_answering)

    async def settle(
        self, origin: Origin, rules: Rules, request: Request | None, *, is_refresh: bool
    ) -> Knowledge:
        """What is known, after asking where that is needed.

        Args:
            origin: whose robots.txt it is.
            rules: by which it is decided whether what is known does.
            request: for whom it is asked, if for anybody.
            is_refresh: whether what may still be used, but should be confirmed, does not do.
        """
        pause, longest = _POLL_SECONDS
        while True:
            known = self._peek(origin)
            if self._is_enough(origin, known, rules, is_refresh=is_refresh):
                self._count(stats.STORE_HIT)
                return known
            lease = await self._claim(origin)
            if lease is not None:
                break
            if is_closing(self._crawler):
                return learn(known, Answer(Failure.LOCAL), time.time(), rules.limits)
            self._count(stats.LEASE_WAITED)
            await sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
            pause = min(2 * pause, longest)
        known = self._peek(origin)
        if self._is_enough(origin, known, rules, is_refresh=is_refresh):
            await self._do(lambda store: store.release(lease))
            return known
        return await self._ask(origin, known, rules, lease, request)

    def _is_enough(
        self, origin: Origin, known: Knowledge, rules: Rules, *, is_refresh: bool
    ) -> bool:
        """Whether what the store knows does.

        What this crawl uses already may be used while it is confirmed; what it has not used yet
        has to be fresh, or every crawl of a short life would use what the last one left.
        """
        act = self.standing(origin, known, rules).act
        if act is Act.REFRESH and not is_refresh:
            copy = known.copy
            return known.outage is not None or copy is None or time.time() < copy.fresh_until
        return act is Act.USE

    async def _ask(
        self,
        origin: Origin,
        known: Knowledge,
        rules: Rules,
        lease: Lease,
        request: Request | None,
    ) -> Knowledge:
        heartbeat = create_looping_call(self._renew, lease)
        heartbeat.start(_LEASE_SECONDS / 3, now=False)
        is_kept = False
        try:
            answer = await self._attempts(origin, known.copy, request)
            now = time.time()
            chance = random.random()  # noqa: S311 - no secret
            known = learn(known, answer, now, rules.limits, chance=chance)
            self._count(stats.ACCESS.format(answer.access_result.value))
            self._count(stats.EVENT.format(name_of(answer.event)))
            # A failure of our own says nothing of the site: others should not believe it.
            is_kept = answer.event not in (Failure.LOCAL, Failure.GUARD)
            if is_kept:
                await self._do(lambda store: store.commit(Entry(origin, known), lease))
                await self._keep_for_targets(origin, answer, now, rules)
        finally:
            self._asked_at.pop(origin, None)
            heartbeat.stop()
            if not is_kept:
                await self._do(lambda store: store.release(lease))
        return known

    async def _attempts(self, origin: Origin, copy: Copy | None, request: Request | None) -> Answer:
        """The answer, or the last of several failures with pauses between them."""
        meta = {} if request is None else request.meta
        credentials = {key: meta[key] for key in _CREDENTIALS if key in meta}
        for pause in self._settings.quick_retry_seconds:
            answer = await self._fetch(origin, copy, credentials)
            if not is_worth_a_retry(answer, time.time(), pause):
                return answer
            self._count(stats.QUICK_RETRIES)
            await self._pause(pause)
            if is_closing(self._crawler):
                return answer
        return await self._fetch(origin, copy, credentials)

    async def _fetch(self, origin: Origin, copy: Copy | None, meta: dict[str, Any]) -> Answer:
        """One attempt, in one of the places of `REP_CONCURRENT_FETCHES`."""
        self._in_line.add(origin)
        try:
            async with self._places.one():
                self._in_line.discard(origin)
                self._asked_at.setdefault(origin, time.monotonic())
                return await self._fetcher.fetch(origin, copy, known=self._fresh_copy, meta=meta)
        finally:
            self._in_line.discard(origin)

    async def _pause(self, seconds: float) -> None:
        until = time.monotonic() + seconds
        while not is_closing(self._crawler):
            left = until - time.monotonic()
            if left <= 0:
                return
            await sleep(min(left, _PAUSE_SECONDS))

    def _fresh_copy(self, uri: str) -> Copy | None:
        """What another origin's own entry says, if a redirect leads to exactly its robots.txt."""
        origin = _origin_of_robots_txt(uri)
        if origin is None:
            return None
        known = self._peek(origin)
        stands = standing(known, time.time(), self._settings.rules)
        return known.copy if stands.state is State.FRESH else None

    async def _keep_for_targets(
        self, origin: Origin, answer: Answer, now: float, rules: Rules
    ) -> None:
        """Keep what redirects led to for the origins whose own robots.txt that is.

        Only for those asked at exactly `/robots.txt`: what stands at another path of theirs is
        what they say to somebody else's crawlers.
        """
        if isinstance(answer.event, Failure) or answer.confirms or answer.repeats is not None:
            return
        for number, uri in enumerate(answer.hops[1:], start=1):
            target = _origin_of_robots_txt(uri)
            if target is None or target == origin:
                continue
            theirs = Answer(answer.event, answer.body, answer.hops[number:], answer.headers)
            entry = Entry(target, learn(self._peek(target), theirs, now, rules.limits))
            await self._do(lambda store, entry=entry: store.commit(entry, None))  # type: ignore[misc]

    async def _claim(self, origin: Origin) -> Lease | None:
        return await self._do(lambda store: store.claim(origin, time.time(), _LEASE_SECONDS))

    def _renew(self, lease: Lease) -> None:
        self._store.renew(lease, time.time(), _LEASE_SECONDS)

    def _peek(self, origin: Origin) -> Knowledge:
        try:
            entry = self._store.peek(origin)
        except StoreError as error:
            self._abandon_store(self._store, error)
            return Knowledge()
        return Knowledge() if entry is None else entry.known

    async def _do(self, work: Callable[[Store], Future[Value]]) -> Value:
        """Have the store do something, or memory in its place if it can't."""
        store = self._store
        try:
            return await result_of(work(store))
        except StoreError as error:
            self._abandon_store(store, error)
            return await result_of(work(self._store))

    def _abandon_store(self, store: Store, error: StoreError) -> None:
        if store is not self._store:
            return
        self._store = MemoryStore(self._settings.memory_octets)
        self._count(stats.STORE_FAILED)
        logger.warning(
            "The store of robots.txt answers failed (%s); the crawl goes on from memory",
            error,
            extra=self._extra,
        )
        store.close()

    def _count(self, name: str) -> None:
        self._crawler.stats.inc_value(name)

    @property
    def _extra(self) -> dict[str, Any]:
        return {"spider": self._crawler.spider}


def _origin_of_robots_txt(uri: str) -> Origin | None:
    try:
        origin = Origin.of(uri)
    except InvalidUri:
        return None
    return origin if origin is not None and origin.robots_txt_uri == uri else None
