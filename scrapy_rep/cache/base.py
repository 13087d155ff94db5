"""What a store of entries does: one interface, one contract test for every store.

`peek` is cheap and may be called from the event loop. Everything else may take its time, and gives
a `concurrent.futures.Future`: what waits for it, and in which event loop, is the caller's affair.
A store that fails says so with `StoreError` and with nothing else; to its callers that is a miss.

Leases see to it that of all processes that share a store one asks a site. A lease ends when an
entry is committed under it, when it is released, or by itself after its time, so that a holder
that died holds nobody up.
"""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from typing import Protocol, TypeVar, runtime_checkable

from scrapy_rep.cache.entry import Entry
from scrapy_rep.protocol.errors import RepError
from scrapy_rep.protocol.origin import Origin

Value = TypeVar("Value")


class StoreError(RepError):
    """A store can't be opened, read or written."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to ask for one origin's robots.txt, and until when; POSIX seconds."""

    origin: Origin
    token: str
    until: float


class Store(Protocol):
    """Entries and leases by origin."""

    def peek(self, origin: Origin) -> Entry | None:
        """The entry that is there now, if it can be read; None otherwise.

        Raises:
            StoreError: the store can't be read at all.
        """

    def claim(self, origin: Origin, now: float, seconds: float) -> Future[Lease | None]:
        """A lease, if nobody else holds one; None if somebody does."""

    def renew(self, lease: Lease, now: float, seconds: float) -> Future[Lease | None]:
        """The lease for longer; None if it is somebody else's by now."""

    def commit(self, entry: Entry, lease: Lease | None) -> Future[None]:
        """Keep an entry unless a newer one is there, and end the lease."""

    def release(self, lease: Lease) -> Future[None]:
        """End a lease without an entry."""

    def close(self) -> None:
        """Write what is to be written, and let go of everything."""


@runtime_checkable
class Browsable(Protocol):
    """What a store does besides if people may look into it; crawls do not need it."""

    def origins(self) -> list[Origin]:
        """The origins of all entries, sorted by their text.

        Raises:
            StoreError: the store can't be read at all.
        """

    def forget(self, origin: Origin) -> Future[bool]:
        """Throw the entry of an origin away, if there is one: whether there was."""


def done(value: Value) -> Future[Value]:
    """A future that has its value already."""
    future: Future[Value] = Future()
    future.set_result(value)
    return future
