"""The interface of stores; one contract test runs on every store.

`origin` is a `Key` in crawls: the origin plus the identity that fetched its file. A store keeps
different keys apart, as dicts and the text of a key do.

`peek` is cheap, may be called from the event loop, and may always return None: a remote store has
nothing at hand. All other methods may take time, and return a future of `concurrent.futures`. A
store that fails raises `StoreError` and nothing else; its callers treat that as a miss.

`claim` is one round trip. It returns the entry if the entry is fresh for long enough; otherwise a
lease, which is the right to fetch; otherwise the time until another process's lease ends. The
store's clock decides, because the clocks of its users may differ.

Leases make sure that only one of the processes that share a store fetches a file. A lease ends when
an entry is committed under it, when it is released, or after its time, so that a dead holder blocks
no other process. A lease that ends later than a lease granted now can end is from a wrong clock, or
is damaged, so it is ignored. A lease that another process has taken over gives no right to commit.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from scrapy_rep.protocol.access.knowledge import Copy
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import RepError

from .entry import Entry, Key

Value = TypeVar("Value")


class StoreError(RepError):
    """A store can't be opened, read or written."""

    @property
    def advice(self) -> str:
        """The advice for a user, if the store cannot be reached; otherwise empty."""
        return ""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to fetch one origin's file, until an instant of the store's clock."""

    origin: Origin
    token: str
    until: float


@dataclass(frozen=True, slots=True)
class Found:
    """The entry is fresh for as long as the caller wants."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Leased:
    """The caller has to fetch.

    Attributes:
        lease: the right to fetch.
        entry: the stored entry, which is too old.
    """

    lease: Lease
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class Busy:
    """Another process fetches.

    Attributes:
        wait_seconds: until its lease ends; look again by then.
        entry: the stored entry, which is too old.
    """

    wait_seconds: float
    entry: Entry | None = None


Claim = Found | Leased | Busy

_SLACK_SECONDS = 5.0  # a clock may be set back by this much during a lease


def believed_until(now: float, seconds: float) -> float:
    """The latest plausible end of a lease of `seconds` that was granted by now."""
    return now + seconds + _SLACK_SECONDS


class Store(Protocol):
    """Entries and leases by origin."""

    def peek(self, origin: Origin) -> Entry | None:
        """The entry that is at hand and can be read, or None.

        Raises:
            StoreError: the store can't be read at all.
        """

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        """The entry, or a lease, or the wait for another process's lease.

        Args:
            origin: the key of the entry.
            seconds: how long a lease lasts. A lease that ends after `believed_until` is ignored.
            fresh_seconds: the entry is found if it is still fresh (`fresh_until`) in this many
                seconds. Infinite if no stored entry can be used.
        """

    def renew(self, lease: Lease, *, seconds: float) -> Future[Lease | None]:
        """The lease, extended to `seconds` from now; None if it is no longer held."""

    def commit(self, entry: Entry, lease: Lease | None) -> Future[bool]:
        """Keep an entry and end the lease; return False and do nothing if the lease is not held.

        Under a lease, the entry replaces any other. Without a lease, a newer entry stays.
        """

    def release(self, lease: Lease) -> Future[None]:
        """End a lease without an entry."""

    def close(self) -> Future[None] | None:
        """Finish all writes and release all resources; return a future if that takes time."""


@runtime_checkable
class Browsable(Protocol):
    """Methods for `scrapy rep cache`; crawls do not need them."""

    def keys(self) -> list[Key]:
        """The keys of all entries, sorted by their text.

        Raises:
            StoreError: the store can't be read at all.
        """

    def look(self, origin: Origin) -> Future[Entry | None]:
        """The entry of a key, also if it is not at hand."""

    def forget(self, origin: Origin) -> Future[bool]:
        """Delete the entry of a key; return whether there was one."""


@runtime_checkable
class Remembering(Protocol):
    """The method of a store that keeps former versions of files; crawls do not need it."""

    def versions(self, origin: Origin) -> Future[list[Copy]]:
        """The stored versions of a key's file, the newest first.

        A version begins at its `fetched_at`, and was last confirmed at its `confirmed_at`. An
        outage is not a version. Unreadable records are left out.
        """


def done(value: Value) -> Future[Value]:
    """A future that already has its value."""
    future: Future[Value] = Future()
    future.set_result(value)
    return future


def failed(error: StoreError) -> Future[Any]:
    """A future that already has this error."""
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


def attempted(work: Callable[[], Value]) -> Future[Value]:
    """A future that already has the result of some work, or its `StoreError`."""
    try:
        return done(work())
    except StoreError as error:
        return failed(error)
