"""The contract of stores: one suite for memory, SQLite and Redis."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from scrapy_rep.cache.base import (
    Store,
)
from scrapy_rep.cache.contract import NOW, BrowsingContract, ClockContract, StoreContract
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.cache.sqlite import SqliteStore
from tests.redis_server import RedisServer, a_loop, redis_store


def _memory(folder: Path, undo: ExitStack, clock: Callable[[], float]) -> Store:
    return MemoryStore(1 << 20, clock)


def _sqlite(folder: Path, undo: ExitStack, clock: Callable[[], float]) -> Store:
    return SqliteStore(folder / "a" / "new" / "folder" / "robots.sqlite", 1 << 30, clock)


_OURS = {"memory": _memory, "sqlite": _sqlite}
_IN_REDIS = {"redis": None, "redis behind memory": _memory, "redis behind sqlite": _sqlite}


@pytest.fixture(params=[*_OURS, *_IN_REDIS])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    with ExitStack() as undo:
        if request.param in _OURS:
            made = _OURS[request.param](tmp_path, undo, time.time)
        else:
            server: RedisServer = request.getfixturevalue("redis_server")
            local = _IN_REDIS[request.param]
            tier = None if local is None else local(tmp_path, undo, time.time)
            made = redis_store(server.url, tier, undo.enter_context(a_loop()))
        yield made
        closing = made.close()
        if closing is not None:
            closing.result(20)


@pytest.fixture(params=_OURS)
def timed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Store, list[float]]]:
    """A store with a clock that the test sets, a list of one number; Redis has its own clock."""
    clock = [NOW]
    with ExitStack() as undo:
        made = _OURS[request.param](tmp_path, undo, lambda: clock[0])
        yield made, clock
        made.close()


class TestStores(StoreContract, BrowsingContract):
    """Each store, with its own clock."""


class TestClocks(ClockContract):
    """Each store with a clock that a test can set."""
