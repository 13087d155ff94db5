"""Workers without Scrapy, at a Redis that is empty."""

from __future__ import annotations

import pytest

from tests.fleet.workers import Fleet, Worker
from tests.redis_server import RedisServer


@pytest.fixture
def fleet(redis_server: RedisServer) -> Fleet:
    return Fleet(redis_server)


@pytest.fixture
def one(fleet: Fleet) -> Worker:
    return fleet.worker("one")


@pytest.fixture
def two(fleet: Fleet) -> Worker:
    return fleet.worker("two")
