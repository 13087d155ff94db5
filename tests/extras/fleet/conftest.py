"""Workers with and without Scrapy, at a Redis that is empty."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.extras.fleet.crews import FLAT, Begin, Crew, SiteOf, roots
from tests.extras.fleet.workers import Fleet, Worker
from tests.redis_server import RedisServer
from tests.servers.handle import Answer, Site


@pytest.fixture
def fleet(redis_server: RedisServer) -> Fleet:
    return Fleet(redis_server)


@pytest.fixture
def one(fleet: Fleet) -> Worker:
    return fleet.worker("one")


@pytest.fixture
def two(fleet: Fleet) -> Worker:
    return fleet.worker("two")


@pytest.fixture
def begin(redis_server: RedisServer) -> Iterator[Begin]:
    """Start workers that crawl so many hosts of a site; they end with the test."""
    with ExitStack() as stack:

        def begun(
            site: Site,
            spider: str = FLAT,
            count: int = 2,
            *,
            url: str = redis_server.url,
            hosts: int = 1,
            **fields: Any,
        ) -> Crew:
            fields = {"roots": roots(site, hosts), **fields}
            return stack.enter_context(Crew(url, spider, count, **fields))

        yield begun


@pytest.fixture
def site_of() -> Iterator[SiteOf]:
    """Start a site with a robots.txt, on every 127.x.y.z; it ends with the test."""
    with ExitStack() as stack:

        def started(robots: str = "", page: Any = None, **fields: Any) -> Site:
            routes = {"/robots.txt": Answer(body=f"User-agent: *\n{robots}\n"), **fields}
            default = Answer(body="page") if page is None else page
            return stack.enter_context(Site(routes, default=default, address="0.0.0.0"))

        yield started
