"""The task that sends batches to Redis, and handles errors and invalid replies.

Only this task waits for Redis. There is a short pause between two batches. Without news, the next
batch comes when a lane becomes due, with some jitter, and regularly in any case, because workers
do not announce what they queue.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Protocol

from scrapy_rep.cache.base import StoreError
from scrapy_rep.extras.fleet import fleet_stats as stats
from scrapy_rep.stats import Journal

from .batch import Batch
from .batch_codec import (
    NoReplyError,
    RefusedError,
    Reply,
    Wants,
    arguments,
    mend_arguments,
    mended,
    reply_of,
)
from .ledger import Ledger
from .link import Link
from .scripts import BATCH, MEND, clear

_BREATH_SECONDS = 0.02  # the pause between batches, which collects news
_POLL_SECONDS = 0.2  # the interval to look for requests of other workers
_TURN_SECONDS = 0.05  # the interval while a turn is awaited
_JITTER_SECONDS = 0.02
_RETRY_SECONDS = 0.25
_LEASE_PARTS = 4  # a lease is renewed after 1/4 of its time
_LEASE_MARGIN = 0.9  # later, no request of the buffer begins: others may have it


class Owner(Protocol):
    """The interface of the scheduler for this task."""

    lease_seconds: float

    def wants(self) -> Wants:
        """The wants of the worker for the next batch."""

    def got(self, reply: Reply) -> None:
        """Process the reply of a batch."""

    def found_full(self) -> None:
        """Log that Redis has no memory left, so that requests wait in this worker."""

    def was_succeeded(self) -> None:
        """Begin again, because other workers got this worker's requests."""

    def begins_anew(self) -> None:
        """Bring this worker's requests back to a Redis that has lost them."""


class Talk:
    """The batches of one worker.

    Attributes:
        reply: the last one.
        prefix: the prefix of the crawl's keys.
        problem: why the last failed batch failed.
    """

    def __init__(
        self, link: Link, prefix: str, ledger: Ledger, owner: Owner, journal: Journal
    ) -> None:
        self._link = link
        self.prefix = prefix
        self._ledger = ledger
        self._owner = owner
        self._journal = journal
        self._task: asyncio.Task[None] | None = None
        self._mending: asyncio.Task[None] | None = None
        self._event = asyncio.Event()
        self._is_stopping = False
        self._last_at = 0.0
        self._next_at = 0.0
        self._retry_at = 0.0
        self._leased_until = 0.0
        self._is_hungry = False
        self._is_dry = False
        self.reply: Reply | None = None
        self.problem: StoreError | None = None

    @property
    def is_leased(self) -> bool:
        """Whether this worker's lease is valid, so that no other worker has its requests."""
        return time.monotonic() < self._leased_until

    def begin(self) -> None:
        """Start to send batches."""
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        """Send no more batches; return when the last reply has come."""
        self._is_stopping = True
        self._event.set()
        if self._task is not None:
            with suppress(asyncio.CancelledError):
                await self._task
        if self._mending is not None:
            self._mending.cancel()
            await asyncio.wait([self._mending])

    def wake(self) -> None:
        """Note that there is news for Redis."""
        self._event.set()

    def hunger(self) -> None:
        """Note that a place is free and the buffer is empty."""
        if not self._is_dry and not self._is_hungry:
            self._is_hungry = True
            self._event.set()

    async def _run(self) -> None:
        while not self._is_stopping:
            try:
                await self._next()
            except Exception:  # noqa: BLE001, PERF203 - a fault of ours must not stop the crawl for ever
                self._journal.exception("A batch for Redis failed")
                self._ledger.failed()
                await asyncio.sleep(_RETRY_SECONDS)

    async def _next(self) -> None:
        wait = self._due_at() - time.monotonic()
        if wait <= 0:
            await self.send_batch(self._owner.wants())
        elif self._ledger.has_news:  # more news do not change the time
            await asyncio.sleep(min(wait, _BREATH_SECONDS))
        else:
            self._event.clear()
            with suppress(asyncio.TimeoutError):
                await asyncio.wait_for(self._event.wait(), wait)

    def _due_at(self) -> float:
        """When the next batch is due; monotonic seconds."""
        if self._retry_at:
            return self._retry_at
        soon = self._last_at + (_RETRY_SECONDS if self._ledger.is_full else _BREATH_SECONDS)
        has_place = self._owner.wants().requests > 0
        if self._ledger.has_news or (self._is_hungry and has_place):
            return soon
        renewal = self._last_at + self._owner.lease_seconds / _LEASE_PARTS
        # A worker without a free place looks for rests and for the orders of an operator.
        at = min(self._next_at if has_place else self._last_at + _POLL_SECONDS, renewal)
        if self._ledger.has_wishes:
            at = min(at, self._last_at + _TURN_SECONDS)
        return max(at, soon)

    async def send_batch(self, wants: Wants) -> Reply | None:
        """Send a batch and process its reply; None if it may not have been carried out."""
        batch, sent_at = self._ledger.batch(), time.monotonic()
        self._is_hungry = False
        keys = [self.prefix, wants.seeds_key or f"{self.prefix}none"]
        try:
            octets = await self._link.run(BATCH, keys, [arguments(batch, wants, sent_at)])
            reply = reply_of(octets)
        except StoreError as error:
            self._complain(error)
            self.problem = error
            self._ledger.failed()
            self._journal.count(stats.FLEET_FAILED)
            self._retry_at = time.monotonic() + _RETRY_SECONDS
            return None
        except BaseException:
            self._ledger.failed()
            raise
        self._retry_at = 0.0
        self._last_at = time.monotonic()
        await self._heed(batch, wants, reply, sent_at)
        return reply

    def _complain(self, error: StoreError) -> None:
        """Log once that another program, spider or release answers; the link logs other errors."""
        is_refused = self.reply is not None and isinstance(error, RefusedError)  # after it joined
        if is_refused or isinstance(error, NoReplyError):
            words = "The server at %s does not answer as usual; it is tried until it does: %s"
            self._journal.once("answer", words, self._link.address, error, level=logging.WARNING)

    async def _heed(self, batch: Batch, wants: Wants, reply: Reply, sent_at: float) -> None:
        self._found_aside(reply.aside)
        self._ledger.is_full = reply.is_full or reply.word == "full"
        if self._ledger.is_full:
            self._owner.found_full()
        if reply.word == "ok":
            self._leased_until = sent_at + _LEASE_MARGIN * self._owner.lease_seconds
            self._plan(wants, reply)
            self.reply = reply
            self._ledger.confirmed(batch, reply.epoch, reply.last_id, reply.filtered)
            self._ledger.rests_seen, self._ledger.books = reply.rests_seen, reply.books
            self._owner.got(reply)
            if reply.is_mender and not self._is_stopping:
                self._mending = asyncio.create_task(self._mend())
        elif reply.word == "gone":
            self._ledger.succeeded()
            self._owner.was_succeeded()
        elif reply.word == "epoch":
            self._ledger.began_anew()
            self._owner.begins_anew()
        elif reply.word == "flush":
            await clear(self._link, self.prefix, self._ledger.name)
        elif reply.word != "full":  # an attempt that came late, or another worker clears
            self._ledger.failed()
            self._retry_at = time.monotonic() + _RETRY_SECONDS

    def _plan(self, wants: Wants, reply: Reply) -> None:
        """Plan the next batch without news."""
        self._is_dry = len(reply.popped) + len(reply.seeds) < wants.requests
        spread: Callable[[float, float], float] = random.uniform
        wait = _POLL_SECONDS * spread(0.75, 1.25)
        if reply.next_ms is not None:
            wait = min(wait, reply.next_ms / 1000 + spread(0, _JITTER_SECONDS))
        self._next_at = time.monotonic() + wait

    async def _mend(self) -> None:
        """Run the recount step by step; if Redis fails, another worker gets the task."""
        octets = mend_arguments(self._ledger.name, round(1000 * self._owner.lease_seconds))
        has_more = True
        with suppress(StoreError):
            while has_more:
                reply = await self._link.run(MEND, [self.prefix], [octets])
                has_more, aside = mended(reply)
                self._found_aside(aside)
            self._journal.count(stats.FLEET_MENDED)
            self._journal.info("The requests of this crawl in Redis were recounted")
            self.wake()

    def _found_aside(self, aside: Iterable[tuple[str, str]]) -> None:
        """Log what a script set aside, and the reasons."""
        for what, reason in aside:
            self._journal.count(stats.FLEET_ASIDE)
            self._journal.once(reason, "%s is set aside: %s", what, reason)
