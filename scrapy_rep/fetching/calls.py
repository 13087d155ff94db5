"""Calls of a store, which may be a class of the user's: whatever breaks its interface is an error.

A store that raises, takes too long, or gives what is no answer raises `StoreError` here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from types import UnionType
from typing import TypeVar

from twisted.internet.defer import CancelledError

from scrapy_rep.cache.base import Busy, Claim, Found, Lease, Leased, Store, StoreError
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.engine.loops import result_of
from scrapy_rep.protocol.access.knowledge import Knowledge

Value = TypeVar("Value")

_ANSWER_SECONDS = 20.0  # for a store to do one thing; SQLite waits for a lock for 5


class Asked:
    """A claim that is under way."""

    def __init__(self, key: Key, seconds: float, fresh_seconds: float) -> None:
        """A claim of a lease that lasts so long, unless what is there holds for so long."""
        self._key = key
        self._seconds = seconds
        self._fresh_seconds = fresh_seconds
        self._asked: list[tuple[Store, Future[Claim]]] = []

    def ask(self, store: Store) -> Future[Claim]:
        """Ask a store."""
        future = store.claim(self._key, seconds=self._seconds, fresh_seconds=self._fresh_seconds)
        self._asked.append((store, future))
        return future

    def check(self, claim: Claim) -> None:
        """See whether a claim is one of ours to work with; a user's class may give anything.

        Raises:
            StoreError: it is not.
        """
        if claim.entry is not None:
            _check_entry(claim.entry, "claim")
        if isinstance(claim, Found) and self._fresh_seconds == math.inf:
            raise StoreError("claim gives what it was told is not usable")
        if isinstance(claim, Leased) and not isinstance(claim.lease, Lease):
            raise StoreError(f"claim gives {type(claim.lease).__qualname__} instead of a Lease")
        if isinstance(claim, Busy) and not claim.wait_seconds >= 0:
            raise StoreError(f"claim gives {claim.wait_seconds!r} as a number of seconds")

    def give_back(self) -> None:
        """Release the lease, if the claim ends in one: nobody waits for it any more."""
        for store, future in self._asked:
            future.add_done_callback(partial(_release_unused, store))


def _release_unused(store: Store, future: Future[Claim]) -> None:
    with suppress(Exception):
        claim = future.result()
        if isinstance(claim, Leased):
            store.release(claim.lease)


def _check_entry(entry: object, method: str) -> None:
    if not (isinstance(entry, Entry) and isinstance(entry.known, Knowledge)):
        raise StoreError(f"{method} gives {type(entry).__qualname__} instead of an entry or None")


def peeked(store: Store, key: Key) -> Entry | None:
    """The entry in a store.

    Raises:
        StoreError: the store failed in any way.
    """
    try:
        entry = store.peek(key)
    except StoreError:
        raise
    except Exception as error:
        raise StoreError(f"peek: {error!r}") from error
    if entry is not None:
        _check_entry(entry, "peek")
    return entry


async def answered(
    work: Callable[[], Future[Value]],
    kind: type | UnionType,
    check: Callable[[Value], None] = lambda _: None,
) -> Value:
    """The answer of a store, which must be of some type.

    Raises:
        StoreError: the store failed in any way, or took too long.
    """
    try:
        future = work()
        value = future.result() if future.done() else await result_of(future, _ANSWER_SECONDS)
    except (CancelledError, StoreError):  # Twisted's, which is an Exception
        raise
    except Exception as error:
        raise StoreError(repr(error)) from error
    if not isinstance(value, kind):
        raise StoreError(f"{type(value).__qualname__} is no answer")
    check(value)
    return value
