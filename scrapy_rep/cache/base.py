"""What a store of entries does: one interface, one contract test for every store.

What crawls hand over as `origin` is a `Key`: the origin, and as whom its file was fetched. A store
keeps these apart, as dicts and the text of a key do.

`peek` is cheap, may be called from the event loop, and may always say None: a store that is far
away has nothing at hand. Everything else may take its time, and gives a future of
`concurrent.futures`: what waits for it, and in which event loop, is the caller's affair. A store
that fails says so with `StoreError` and with nothing else; to its callers that is a miss.

`claim` is one round trip. It gives what is there, if that holds for long enough; or else a lease,
the right to fetch; or else that another process fetches, and when to look again. The store's clock
decides, since those of its users may differ.

With leases, one of all processes that share a store asks a site. A lease ends when an entry is
committed under it, when it is released, or by itself after its time, so that a holder that died
holds nobody up. A lease that ends later than one made now could is of a wrong clock, or damaged: it
counts as none. A lease that another process has by now gives no right to commit.
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


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to ask for one origin's robots.txt, and until when by the store's clock."""

    origin: Origin
    token: str
    until: float


@dataclass(frozen=True, slots=True)
class Found:
    """What is there holds for as long as the caller wants."""

    entry: Entry


@dataclass(frozen=True, slots=True)
class Leased:
    """The caller is to fetch.

    Attributes:
        lease: the right to.
        entry: what is there, too old though it is.
    """

    lease: Lease
    entry: Entry | None = None


@dataclass(frozen=True, slots=True)
class Busy:
    """Another process fetches.

    Attributes:
        wait_seconds: when to look again at the latest: its lease ends then.
        entry: what is there meanwhile, too old though it is.
    """

    wait_seconds: float
    entry: Entry | None = None


Claim = Found | Leased | Busy

_SLACK_SECONDS = 5.0  # by which a clock may have been set back since a lease was made


def believed_until(now: float, seconds: float) -> float:
    """How late a lease may end, for one who would be given one of so many seconds now."""
    return now + seconds + _SLACK_SECONDS


class Store(Protocol):
    """Entries and leases by origin."""

    def peek(self, origin: Origin) -> Entry | None:
        """The entry that is at hand, if it can be read; None otherwise, whatever is elsewhere.

        Raises:
            StoreError: the store can't be read at all.
        """

    def claim(self, origin: Origin, *, seconds: float, fresh_seconds: float) -> Future[Claim]:
        """What is there, or a lease, or that another process has one.

        Args:
            origin: whose entry it is.
            seconds: how long a lease lasts. One that ends after `believed_until` is nobody's.
            fresh_seconds: how long the entry must hold from now to be found: it is if its
                `fresh_until` lies later. Infinite if nothing that is there can be used.
        """

    def renew(self, lease: Lease, *, seconds: float) -> Future[Lease | None]:
        """The lease for so long from now; None if it is not held any more."""

    def commit(self, entry: Entry, lease: Lease | None) -> Future[bool]:
        """Keep an entry, and end the lease; False, and nothing else, if the lease is not held.

        Who holds the lease knows best. Without one, an entry is kept unless a newer one is there.
        """

    def release(self, lease: Lease) -> Future[None]:
        """End a lease without an entry."""

    def close(self) -> Future[None] | None:
        """Write what is to be written, and let go of everything; a future if that takes time."""


@runtime_checkable
class Browsable(Protocol):
    """What a store does besides if people may look into it; crawls do not need it."""

    def keys(self) -> list[Key]:
        """The keys of all entries, sorted by their text.

        Raises:
            StoreError: the store can't be read at all.
        """

    def look(self, origin: Origin) -> Future[Entry | None]:
        """The entry of a key, wherever the store has it."""

    def forget(self, origin: Origin) -> Future[bool]:
        """Throw the entry of a key away, if there is one: whether there was."""


@runtime_checkable
class Remembering(Protocol):
    """What a store does besides if it keeps former versions of files; only people need it."""

    def versions(self, origin: Origin) -> Future[list[Copy]]:
        """The versions of a key's file that are kept, the newest first.

        Each holds from its `fetched_at`, and was last confirmed at its `confirmed_at`. An outage is
        no version. What cannot be read is left out.
        """


def done(value: Value) -> Future[Value]:
    """A future that has its value already."""
    future: Future[Value] = Future()
    future.set_result(value)
    return future


def failed(error: StoreError) -> Future[Any]:
    """A future that has this error already."""
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


def attempted(work: Callable[[], Value]) -> Future[Value]:
    """A future that has what some work gave or raised already."""
    try:
        return done(work())
    except StoreError as error:
        return failed(error)
