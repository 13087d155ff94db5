"""A fleet that is set up wrongly: the log, or the error, names the cause and the fix."""

from __future__ import annotations

import pytest

from tests.fleet.crews import Crew
from tests.fleet.test_crawls import FLAT
from tests.redis_server import RedisServer, needs_redis
from tests.servers.handle import Site

pytestmark = [needs_redis, pytest.mark.slow]
SCRAPYS = {"SCHEDULER": "scrapy.core.scheduler.Scheduler", "REP_STORE": "memory"}


@pytest.mark.parametrize(
    ("settings", "count"),
    [(SCRAPYS, 1), ({**SCRAPYS, "REP_PACE_SCOPE": "process"}, 0), ({}, 0)],
)
def test_another_scheduler_shares_no_pace(
    redis_server: RedisServer, settings: dict[str, str], count: int
) -> None:
    with (
        Site({}) as site,
        Crew(redis_server.url, FLAT, 1, settings=settings, roots=[site.url("/")], pages=2) as crew,
    ):
        crew.wait()
        assert len(crew.scraped) == 2
        log = crew.log(0)
    assert log.count("each keeps the pace and the rests of sites for itself") == count
    assert log.count('set SCHEDULER = "scrapy_rep.RepRedisScheduler"') == count
