"""Rests over several workers: the 429 that one worker gets rests the origin for all of them."""

from __future__ import annotations

import itertools
import json
import signal
import time
from typing import Any

import pytest

from tests.commands.test_fleet import shown
from tests.crawls.test_backoff import ROBOTS, busy, rounds
from tests.fleet.crews import Crew, Loop
from tests.fleet.test_crawls import FLAT
from tests.fleet.test_failures import until
from tests.redis_server import RedisServer, SlowLine, needs_redis
from tests.servers.handle import Answer, Site

pytestmark = [needs_redis, pytest.mark.slow, pytest.mark.timed]
SETTINGS = {"REP_FLEET_LEASE_SECONDS": 3, "SCHEDULER_IDLE_BEFORE_CLOSE": 1}
PAGES = 24


def limited(lasts_seconds: float = 8.0) -> dict[str, Any]:
    return {**ROBOTS, "/*": [busy(429, lasts_seconds, "3"), Answer(body="page")]}


def assert_rests(site: Site, lasts_seconds: float = 8.0) -> None:
    """After the first burst nothing comes within 3 s, and then one probe each time."""
    found = rounds(site.requests())
    first = found[0][0]
    assert found[0][-1] - first < 0.6, found
    assert len(found) > 2, found
    for before, after in itertools.pairwise(found):
        assert after[0] - before[-1] >= 2.6, found
        if after[0] < first + lasts_seconds:
            assert len(after) == 1, found


@pytest.mark.every_loop
@pytest.mark.parametrize("loop", ["asyncio", "reactorless"])
def test_three_workers(redis_server: RedisServer, loop: Loop) -> None:
    with (
        Site(limited()) as site,
        Crew(
            redis_server.url,
            FLAT,
            3,
            loop=loop,
            settings=SETTINGS,
            roots=[site.url("/")],
            pages=PAGES,
        ) as crew,
    ):
        crew.wait()
        assert crew.errors == ""
        assert sorted(crew.scraped) == sorted(site.url(f"/{n}") for n in range(PAGES))
        assert_rests(site)


def test_worker_with_the_probe_is_killed(redis_server: RedisServer) -> None:
    """Another worker sends a first request five seconds later, long before the lease ends."""
    # The answer to the first probe takes long.
    slow = Answer(body="page", delay_seconds=2.0)
    routes = {**ROBOTS, "/*": [busy(429, 2.0, "3"), slow]}
    settings = {**SETTINGS, "REP_FLEET_LEASE_SECONDS": 20}
    with (
        Site(routes) as site,
        Crew(
            redis_server.url, FLAT, 3, settings=settings, roots=[site.url("/")], pages=PAGES
        ) as crew,
        redis_server.client() as client,
    ):
        patience = time.monotonic() + 30
        while not (holders := client.hvals("rep:{flat:requests}:first")):
            assert time.monotonic() < patience
            time.sleep(0.01)
        killed = crew.number_of(int(holders[0].split(b":")[1]))
        time.sleep(0.3)
        probed = rounds(site.requests())
        assert len(probed) == 2
        assert len(probed[1]) == 1
        crew.signal(killed, signal.SIGKILL)
        crew.wait(without=(killed,))
        assert crew.errors == ""
        assert sorted(crew.scraped) == sorted(site.url(f"/{n}") for n in range(PAGES))
        assert 4 < rounds(site.requests())[2][0] - probed[1][0] < 9


def test_redis_is_out_amid_a_rest(redis_server: RedisServer) -> None:
    """Each worker is by itself then; nothing is lost."""
    with (
        Site(limited(4.0)) as site,
        SlowLine(redis_server.port) as line,
        Crew(line.url, FLAT, 2, settings=SETTINGS, roots=[site.url("/")], pages=12) as crew,
    ):
        until(site, 6)
        time.sleep(1)
        line.refuses = True
        line.cut()
        time.sleep(6)
        line.refuses = False
        crew.wait()
        assert crew.errors == ""
        assert sorted(crew.scraped) == sorted(site.url(f"/{n}") for n in range(12))


def test_rests_without_a_time_grow_over_workers(redis_server: RedisServer) -> None:
    """Whichever worker probes, the next rest is twice as long."""
    with (
        Site({**ROBOTS, "/*": [busy(429, 8.0), Answer(body="page")]}) as site,
        Crew(
            redis_server.url, FLAT, 3, settings=SETTINGS, roots=[site.url("/")], pages=PAGES
        ) as crew,
    ):
        crew.wait()
        assert crew.errors == ""
        assert set(crew.scraped) == {site.url(f"/{n}") for n in range(PAGES)}
        first, second, third, fourth, *_ = rounds(site.requests())
    assert (len(second), len(third)) == (1, 1)
    assert second[0] - first[0] >= 2
    assert third[0] - second[0] >= 4
    assert fourth[0] - third[0] >= 8


def test_an_origin_is_given_up_over_workers(redis_server: RedisServer) -> None:
    """Every worker drops its requests; to the site go the first burst and the probes."""
    settings = {**SETTINGS, "REP_BACKOFF_GIVE_UP_SECONDS": 4}
    with (
        Site({**ROBOTS, "/*": busy(429, 0, "2")}) as site,
        Crew(
            redis_server.url, FLAT, 3, settings=settings, roots=[site.url("/")], pages=PAGES
        ) as crew,
    ):
        crew.wait()
        assert crew.errors == ""
        assert crew.scraped == []
        assert crew.stat("rep/backoff/given_up") == 1
        assert crew.stat("rep/backoff/dropped") == PAGES
        assert all(len(one) == 1 for one in rounds(site.requests())[1:])


def test_it_is_shown(redis_server: RedisServer) -> None:
    """`scrapy rep fleet` says that the lane rests, and until when."""
    with (
        Site({**ROBOTS, "/*": [busy(429, 2.0, "9"), Answer(body="page")]}) as site,
        Crew(redis_server.url, FLAT, 2, settings=SETTINGS, roots=[site.url("/")]) as crew,
    ):
        until(site, 4)
        time.sleep(1.5)
        where = {"REP_REDIS_URL": redis_server.url}
        done = shown(site.url("/"), "--spider", "flat", "--json", settings=where)
        row = json.loads(done.out)
        assert row["state"] == "resting", row
        assert row["queued"] in (9, 10), "one refused page may wait in its worker"
        crew.wait()
        assert len(crew.scraped) == 10


def test_each_for_itself(redis_server: RedisServer) -> None:
    """REP_PACE_SCOPE = "process": nothing is shared, and each worker sends a first request."""
    settings = {**SETTINGS, "REP_PACE_SCOPE": "process"}
    with (
        Site(limited(2.0)) as site,
        Crew(redis_server.url, FLAT, 3, settings=settings, roots=[site.url("/")], pages=9) as crew,
        redis_server.client() as client,
    ):
        until(site, 4)
        assert not client.exists("rep:{flat:requests}:rests")
        crew.wait()
        assert crew.errors == ""
        assert sorted(crew.scraped) == sorted(site.url(f"/{n}") for n in range(9))
