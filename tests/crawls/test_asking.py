"""Origins with long delays are found early, although others are ready all the time."""

from __future__ import annotations

import pytest

from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.servers.hosts import Hosts

pytestmark = pytest.mark.timed


def assert_found_early(
    loop: Loop, *, busy: int, delayed: int, delay: float, pages: int, fetches: int
) -> None:
    """Every second host has a delay; the others have enough pages to fill it."""
    delays = {2 * number: delay for number in range(delayed)}
    assert delayed <= busy
    with Hosts(busy + delayed, delays=delays, page_seconds=0.25) as hosts:
        busy_pages = int((pages + 0.5) * delay * 16 / 0.25 / busy)
        urls = [hosts.url(number, f"/page/{page}") for number in delays for page in range(pages)]
        for number in range(busy + delayed):
            if number not in delays:
                urls += [hosts.url(number, f"/page/{page}") for page in range(busy_pages)]
        result = crawl(
            URLS_SPIDER,
            loop=loop,
            settings={**ADDON, "REP_CONCURRENT_FETCHES": fetches, "LOG_LEVEL": "INFO"},
            urls=sorted(urls, key=lambda url: int(url.rpartition("/")[2])),
            timeout_seconds=240,
        )
        assert result.exit_code == 0, result.error
        asked = hosts.robots_txts()
        assert len(asked) == busy + delayed
        found_at = max(one.at for one in asked)
        visits = [one for one in hosts.requests() if one.path != "/robots.txt"]
        assert len(visits) == len(urls)
        assert sum(one.at < found_at for one in visits) < 0.75 * len(visits), "most came before"
        last_at = max(one.at for one in visits if one.host in delays)
        assert last_at < found_at + (pages + 1.5) * delay + 3, "no round of delays was missed"


@pytest.mark.parametrize(
    "loop", ["asyncio", *(pytest.param(loop, marks=pytest.mark.slow) for loop in LOOPS[1:])]
)
def test_delayed_origins_are_found_among_busy_ones(loop: Loop) -> None:
    assert_found_early(loop, busy=30, delayed=30, delay=4, pages=1, fetches=4)


@pytest.mark.slow
@pytest.mark.at_length
@pytest.mark.parametrize("loop", LOOPS)
def test_delayed_origins_are_found_among_busy_ones_at_length(loop: Loop) -> None:
    assert_found_early(loop, busy=100, delayed=96, delay=6, pages=3, fetches=16)
