"""Origins with long delays are found early, although others are ready all the time."""

from __future__ import annotations

import pytest

from tests.crawling import crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.servers.hosts import Hosts

pytestmark = pytest.mark.timed


def test_delayed_origins_are_found_among_busy_ones() -> None:
    """Every second host has a delay; the others have enough pages to fill it."""
    busy, delayed, delay = 20, 20, 3
    delays = {2 * number: float(delay) for number in range(delayed)}
    with Hosts(busy + delayed, delays=delays, page_seconds=0.25) as hosts:
        busy_pages = int(1.5 * delay * 16 / 0.25 / busy)
        urls = [hosts.url(number, "/page/0") for number in delays]
        for number in range(busy + delayed):
            if number not in delays:
                urls += [hosts.url(number, f"/page/{page}") for page in range(busy_pages)]
        result = crawl(
            URLS_SPIDER,
            settings={**ADDON, "REP_CONCURRENT_FETCHES": 4, "LOG_LEVEL": "INFO"},
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
        assert last_at < found_at + 2.5 * delay + 3, "no round of delays was missed"
