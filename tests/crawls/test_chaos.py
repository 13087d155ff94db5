"""With any other middlewares, no disallowed page is fetched, and the crawl ends."""

from __future__ import annotations

import os
import re

import pytest

from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.chaos import RULES
from tests.crawls.settings import ADDON, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.servers.handle import Answer, Site

HERE = "tests.crawls.chaos"
SEEDS = range(int(os.environ.get("CHAOS_SEEDS", "1")))
_CASES = [(loop, ADDON) for loop in LOOPS] + [("asyncio", WITH_SCRAPYS_QUEUE)]
_OURS = re.compile(r"\[scrapy_rep\S*\] (ERROR|CRITICAL)|Unhandled error|never awaited|destroyed")


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("loop", "settings"), _CASES)
def test_chaotic_middlewares_open_no_disallowed_page(
    loop: Loop, settings: dict[str, object], seed: int
) -> None:
    robots_txt = Answer(body=RULES + b"Crawl-delay: 0.05\n" * (seed % 2))
    with Site({"/robots.txt": robots_txt}, address="0.0.0.0") as site:
        hosts = [f"127.0.0.{number}" for number in range(2, 12)]
        paths = [f"/{name}/{number}" for number in range(3) for name in ("private", "public")]
        result = crawl(
            URLS_SPIDER,
            loop=loop,
            settings={
                **settings,
                "DOWNLOADER_MIDDLEWARES": {f"{HERE}.Chaos": 50, f"{HERE}.ChaosBehind": 950},
                "CHAOS_SEED": seed,
                "REP_FETCH_TIMEOUT_SECONDS": 2,
                "REP_UNREACHABLE_WAIT_SECONDS": 4,
                "DOWNLOAD_TIMEOUT": 5,
            },
            urls=[site.url(path, host) for path in paths for host in hosts],
            timeout_seconds=90,
        )
        fetched = site.paths()
    assert [path for path in fetched if path.startswith("/private")] == [], result.log
    assert any(path.startswith("/public") for path in fetched), result.log
    assert result.finish_reason == "finished", result.log
    assert _OURS.search(result.log) is None, result.log
