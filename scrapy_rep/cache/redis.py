"""The store in Redis, with a local tier in front of it.

What this worker has learnt or found in Redis is in the local tier too, where `peek` looks: a warm
worker does not ask Redis. Where Redis cannot be reached, the local tier gives leases and keeps
entries in its place. That is a miss and never an answer: the worker fetches for itself, once for
all that share its local tier. What was learnt so is sent to Redis when it is back, unless a newer
entry is there.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar

from scrapy_rep.protocol.access.knowledge import Copy
from scrapy_rep.protocol.access.origin import Origin

from .base import Busy, Claim, Lease, Leased, Remembering, Store, StoreError, done
from .entry import Entry, Key
from .link import Link
from .shared import SharedEntries

logger = logging.getLogger(__name__)

Value = TypeVar("Value")

_UNSENT_ENTRIES = 10_000  # learnt in an outage, and not in Redis yet; the oldest stay local
_SENT_AT_A_TIME = 32
_SEND_SECONDS = 2.0  # for the last of them, when the store closes


@dataclass(frozen=True, slots=True)
class _LocalLease(Lease):
    """One that the local tier gave since Redis could not."""


@dataclass(frozen=True, slots=True)
class _SharedLease(Lease):
    """One of Redis's, and when it ends by our own clock, which nobody sets."""

    ends_at: float

    @classmethod
    def of(cls, lease: Lease, ends_at: float) -> _SharedLease:
        return cls(lease.origin, lease.token, lease.until, ends_at)


class _NoTier:
    """What stands in front of Redis where nothing does: it knows nothing, and can do nothing."""

    def peek(self, origin: Origin) -> Entry | None:  # noqa: ARG002
        return None

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:  # noqa: ARG002
        return self._failed()

    def renew(self, lease: Lease, *, seconds: float) -> Future[Lease | None]:  # noqa: ARG002
        return self._failed()

    def commit(self, entry: Entry, lease: Lease | None) -> Future[bool]:  # noqa: ARG002
        return self._failed()

    def release(self, lease: Lease) -> Future[None]:  # noqa: ARG002
        return self._failed()

    def close(self) -> None:
        pass

    def _failed(self) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_exception(StoreError("Redis cannot be used, and nothing is in front of it"))
        return future


class RedisStore:
    """A store that workers on many machines share.

    All its coroutines run in one event loop: that of the first call, or the one that it is given,
    which may be another thread's.
    """

    def __init__(
        self,
        link: Link,
        local: Store | None,
        keep_seconds: float,
        loop: asyncio.AbstractEventLoop | None = None,
        clock: Callable[[], float] = time.time,
        *,
        unreadable: Callable[[], None] = lambda: None,
    ) -> None:
        """A store that uses a link from now on, and closes it in the end.

        Args:
            link: to Redis; shared with others, perhaps.
            local: what is in front of it, if anything; closed with the store.
            keep_seconds: how long Redis keeps an entry that nobody asks for.
            loop: where its coroutines run.
            clock: this worker's; Redis's may differ.
            unreadable: called with each record in Redis that is none, or is another origin's.
        """
        self._link = link
        self._local: Store = _NoTier() if local is None else local
        self._shared = SharedEntries(link, keep_seconds, clock, unreadable)
        self._loop = loop
        self._unsent: OrderedDict[Origin, None] = OrderedDict()
        self._sending: asyncio.Task[None] | None = None
        self._is_local_down = False
        link.open()
        link.listen(self._heard)

    def peek(self, origin: Origin) -> Entry | None:
        """The entry in the local tier."""
        try:
            entry = self._local.peek(origin)
        except StoreError as error:
            self._local_failed(error)
            return None
        self._is_local_down = False
        return entry

    def look(self, origin: Origin) -> Future[Entry | None]:
        """The entry in Redis."""
        return self._started(self._shared.look(origin))

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        """What Redis has, or a lease, or that another process has one."""
        return self._started(self._claim(origin, seconds, fresh_seconds))

    def renew(self, lease: Lease, *, seconds: float) -> Future[Lease | None]:
        """The lease for longer, if it is still held."""
        return self._started(self._renew(lease, seconds))

    def commit(self, entry: Entry, lease: Lease | None) -> Future[bool]:
        """Keep an entry, by the right of a lease or of being newer, and end the lease."""
        return self._started(self._commit(entry, lease))

    def release(self, lease: Lease) -> Future[None]:
        """End a lease without an entry."""
        return self._started(self._release(lease))

    def keys(self) -> list[Key]:
        """The keys of all entries in Redis; not to be called in the event loop of the store."""
        return self._started(self._shared.keys()).result()

    def forget(self, origin: Origin) -> Future[bool]:
        """Throw an entry away, here and in Redis; other workers may still have a copy."""
        return self._started(self._forget(origin))

    def versions(self, origin: Origin) -> Future[list[Copy]]:
        """The versions that the local tier keeps; Redis keeps none."""
        if isinstance(self._local, Remembering):
            return self._local.versions(origin)
        return done([])

    def close(self) -> Future[None]:
        """Let go of Redis, and of the local tier."""
        return self._started(self._close())

    def _started(self, work: Coroutine[Any, Any, Value]) -> Future[Value]:
        if self._loop is None:
            self._loop = asyncio.get_running_loop()
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    async def _claim(self, origin: Origin, seconds: float, fresh_seconds: float) -> Claim:
        at_hand, began = self.peek(origin), time.monotonic()
        try:
            claim = await self._shared.claim(origin, seconds, fresh_seconds, at_hand)
        except StoreError:
            return await self._claim_locally(origin, seconds, fresh_seconds)
        if isinstance(claim, Leased):
            claim = Leased(_SharedLease.of(claim.lease, began + seconds), claim.entry)
        if claim.entry is None:
            # Redis may have been emptied; what is at hand is worth a conditional request.
            return _with_entry(claim, at_hand)
        if claim.entry != at_hand:
            await self._keep(claim.entry)
        return claim

    async def _claim_locally(self, origin: Origin, seconds: float, fresh_seconds: float) -> Claim:
        claim = await asyncio.wrap_future(
            self._local.claim(origin, seconds=seconds, fresh_seconds=fresh_seconds)
        )
        if isinstance(claim, Leased):
            lease = claim.lease
            return Leased(_LocalLease(lease.origin, lease.token, lease.until), claim.entry)
        return claim

    async def _renew(self, lease: Lease, seconds: float) -> Lease | None:
        if isinstance(lease, _LocalLease):
            renewed = await asyncio.wrap_future(self._local.renew(lease, seconds=seconds))
            return renewed and _LocalLease(renewed.origin, renewed.token, renewed.until)
        began = time.monotonic()
        try:
            renewed = await self._shared.renew(lease, seconds)
        except StoreError:
            # It counts for as long as it was given for; after that, another worker may have it.
            return lease if isinstance(lease, _SharedLease) and began < lease.ends_at else None
        return renewed and _SharedLease.of(renewed, began + seconds)

    async def _commit(self, entry: Entry, lease: Lease | None) -> bool:
        if isinstance(lease, _LocalLease):
            return await self._commit_locally(entry, lease)
        try:
            is_kept = await self._shared.commit(entry, lease)
        except StoreError:
            return await self._commit_locally(entry, None)
        if is_kept:
            await self._keep(entry)
            self._send()
        return is_kept

    async def _commit_locally(self, entry: Entry, lease: _LocalLease | None) -> bool:
        is_kept = await asyncio.wrap_future(self._local.commit(entry, lease))
        if is_kept:
            self._unsent[entry.origin] = None
            self._unsent.move_to_end(entry.origin)
            if len(self._unsent) > _UNSENT_ENTRIES:
                self._unsent.popitem(last=False)
            if self._link.is_up:
                self._send()
        return is_kept

    async def _release(self, lease: Lease) -> None:
        if isinstance(lease, _LocalLease):
            await asyncio.wrap_future(self._local.release(lease))
            return
        with suppress(StoreError):  # it ends by itself
            await self._shared.release(lease)

    async def _forget(self, origin: Origin) -> bool:
        was_there = await self._shared.forget(origin)
        self._unsent.pop(origin, None)
        forget = getattr(self._local, "forget", None)
        if forget is not None:
            was_there = await asyncio.wrap_future(forget(origin)) or was_there
        return was_there

    async def _close(self) -> None:
        if self._sending is not None:
            await asyncio.wait([self._sending], timeout=_SEND_SECONDS)
        if self._sending is not None:
            self._sending.cancel()
            await asyncio.wait([self._sending])
        await self._link.close()
        self._local.close()

    async def _keep(self, entry: Entry) -> None:
        """Have an entry of Redis's at hand; the local tier's own failures cost a round trip."""
        if isinstance(self._local, _NoTier):
            return
        try:
            await asyncio.wrap_future(self._local.commit(entry, None))
        except StoreError as error:
            self._local_failed(error)

    def _heard(self, is_up: bool) -> None:
        if is_up:
            self._send()

    def _send(self) -> None:
        """Send what was learnt without Redis, in the background."""
        if self._unsent and self._sending is None:
            self._sending = asyncio.create_task(self._sent())
            self._sending.add_done_callback(self._ended)

    def _ended(self, _: asyncio.Task[None]) -> None:
        self._sending = None

    async def _sent(self) -> None:
        with suppress(StoreError):
            while self._unsent:
                await self._send_some()

    async def _send_some(self) -> None:
        origins = list(self._unsent)[:_SENT_AT_A_TIME]
        for origin in origins:
            del self._unsent[origin]  # it may be learnt anew meanwhile
        entries = [entry for origin in origins if (entry := self.peek(origin)) is not None]
        try:
            await asyncio.gather(*(self._shared.commit(entry, None) for entry in entries))
        except StoreError:
            self._unsent |= dict.fromkeys(origins)
            raise

    def _local_failed(self, error: StoreError) -> None:
        if not self._is_local_down:
            self._is_local_down = True
            logger.warning(
                "The local tier of the store failed (%s); Redis is asked in its place", error
            )


def _with_entry(claim: Claim, entry: Entry | None) -> Claim:
    if isinstance(claim, Leased):
        return Leased(claim.lease, entry)
    if isinstance(claim, Busy):
        return Busy(claim.wait_seconds, entry)
    return claim
