"""One pace over workers that share no queue."""

from __future__ import annotations

import itertools
import time
from collections import Counter

import pytest

from tests.fleet.crews import Crew, Loop
from tests.fleet.test_crawls import FLAT, assert_paced
from tests.fleet.test_failures import until
from tests.redis_server import RedisServer, SlowLine, needs_redis
from tests.servers.handle import Answer, Seen, Site

pytestmark = [needs_redis, pytest.mark.slow, pytest.mark.timed]
SCRAPYS = {"SCHEDULER": "scrapy.core.scheduler.Scheduler", "REP_STORE": "memory"}
ROBOTS = Answer(body="User-agent: *\nCrawl-delay: 0.5\n")


def gaps(requests: list[Seen]) -> list[float]:
    """Between pages: each process asks for a robots.txt of its own, before it knows of a delay."""
    times = sorted(seen.at for seen in requests if seen.path != "/robots.txt")
    return sorted(after - before for before, after in itertools.pairwise(times))


@pytest.mark.every_loop
@pytest.mark.parametrize("loop", ["asyncio", "reactorless"])
def test_pages_of_three_workers(redis_server: RedisServer, loop: Loop) -> None:
    with (
        Site({"/robots.txt": ROBOTS}) as site,
        Crew(
            redis_server.url, FLAT, 3, loop=loop, settings=SCRAPYS, roots=[site.url("/")], pages=5
        ) as crew,
    ):
        crew.wait()
        assert crew.errors == ""
        assert len(crew.scraped) == 15
        found = gaps(site.requests())
    assert found[0] >= 0.45, found
    assert found[len(found) // 2] < 1.5


def test_each_for_itself(redis_server: RedisServer) -> None:
    settings = {**SCRAPYS, "REP_PACE_SCOPE": "process"}
    with (
        Site({"/robots.txt": ROBOTS}) as site,
        Crew(redis_server.url, FLAT, 3, settings=settings, roots=[site.url("/")], pages=8) as crew,
    ):
        crew.wait()
        assert gaps(site.requests())[0] < 0.45


def test_while_redis_is_out_each_is_slower_by_the_number_of_workers(
    redis_server: RedisServer,
) -> None:
    with (
        Site({"/robots.txt": ROBOTS}) as site,
        SlowLine(redis_server.port) as lane,
        Crew(lane.url, FLAT, 2, settings=SCRAPYS, roots=[site.url("/")], pages=14) as crew,
    ):
        until(site, 8)
        lane.refuses = True
        lane.cut()
        crew.wait()
        assert crew.errors == ""
        pages = sorted(seen.at for seen in site.requests() if seen.path != "/robots.txt")
    assert len(pages) == 28
    rest = pages[10:]
    assert len(rest) / (rest[-1] - rest[0]) <= 1.2 / 0.5, "over both, no faster than the delay"


def test_a_turn_lasts_until_its_request_has_left(redis_server: RedisServer) -> None:
    """A middleware behind ours takes its time, now and then."""
    settings = {**SCRAPYS, "DOWNLOADER_MIDDLEWARES": {"tests.fleet.spiders.Dawdler": 900}}
    with (
        Site({"/robots.txt": ROBOTS}) as site,
        Crew(redis_server.url, FLAT, 2, settings=settings, roots=[site.url("/")], pages=6) as crew,
    ):
        crew.wait()
        assert crew.errors == ""
        assert len(crew.scraped) == 12
        assert_paced([seen.at for seen in site.requests() if seen.path != "/robots.txt"], 0.5)


def test_a_robots_txt_that_is_fetched_again_waits_too(redis_server: RedisServer) -> None:
    robots = Answer(body=ROBOTS.body, headers=(("Cache-Control", "max-age=1"),))
    settings = {**SCRAPYS, "REP_CACHE_MIN_SECONDS": 1}
    with (
        Site({"/robots.txt": robots}) as site,
        Crew(redis_server.url, FLAT, 2, settings=settings, roots=[site.url("/")], pages=7) as crew,
    ):
        crew.wait()
        assert crew.errors == ""
        assert len(crew.scraped) == 14
        seen = sorted((seen.at, seen.path) for seen in site.requests())
        robots_at = [at for at, path in seen if path == "/robots.txt"]
        assert len(robots_at) > 4
        # Before both workers have it, they know of no delay.
        assert_paced([at for at, _ in seen if at > robots_at[1] + 0.2], 0.5)


def test_one_that_waits_holds_no_place(redis_server: RedisServer) -> None:
    """Origins with a long delay do not keep the others' requests from the only places."""
    slow, quick = (Answer(body=f"User-agent: *\nCrawl-delay: {delay}\n") for delay in (5, 0.2))
    with (
        Site({"/robots.txt": slow}, address="0.0.0.0") as patient,
        Site({"/robots.txt": quick}, address="0.0.0.0") as other,
        Crew(
            redis_server.url,
            FLAT,
            2,
            settings={**SCRAPYS, "CONCURRENT_REQUESTS": 2, "CLOSESPIDER_TIMEOUT": 11},
            roots=[
                *(patient.url("/", host=f"127.0.4.{number}") for number in range(1, 9)),
                other.url("/", host="127.0.5.1"),
            ],
            pages=60,
        ) as crew,
    ):
        crew.wait(100)
        assert crew.errors == ""
        slow_at = min(seen.at for seen in patient.requests() if seen.path != "/robots.txt")
        meanwhile = Counter(
            seen.path for seen in other.requests() if slow_at + 0.5 < seen.at < slow_at + 4.5
        )
        assert [path for path, count in meanwhile.items() if count == 2], "both workers go on"


def test_what_never_leaves_costs_no_time(redis_server: RedisServer) -> None:
    """Answers of a cache, say."""
    settings = {**SCRAPYS, "DOWNLOADER_MIDDLEWARES": {"tests.fleet.spiders.Replier": 900}}
    robots = Answer(body="User-agent: *\nCrawl-delay: 4\n")
    with (
        Site({"/robots.txt": robots}) as site,
        Crew(redis_server.url, FLAT, 1, settings=settings, roots=[site.url("/")], pages=10) as crew,
    ):
        began = time.monotonic()
        crew.wait()
        assert len(crew.scraped) == 10
        assert time.monotonic() - began < 36, "less than the delays"
        assert [seen.path for seen in site.requests()] == ["/robots.txt"]
