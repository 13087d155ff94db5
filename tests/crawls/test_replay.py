"""One crawl of over a thousand real sites, replayed: the pages fetched are those allowed."""

from __future__ import annotations

import pytest
from scrapy import Request

from tests.crawling import crawl
from tests.crawls.replay_spider import verdicts
from tests.crawls.settings import ADDON
from tests.servers.replay import Replay
from tests.shared import SHARED, needs_shared

AGENT = "Googlebot"


def as_asked(url: str) -> str:
    """How Scrapy asks a proxy for a URL."""
    return Request(url).url.partition("#")[0]


@needs_shared
@pytest.mark.parametrize("hosts", [150, pytest.param(600, marks=pytest.mark.slow)])
def test_pages_fetched_are_exactly_those_allowed(hosts: int) -> None:
    assert SHARED is not None
    rows = list(verdicts(SHARED / "corpus" / "verdicts.jsonl.gz", hosts))
    allowed: set[str] = set()
    disallowed: set[str] = set()
    for row in rows:
        for url, answer in zip(row["urls"], row["allowed"][AGENT], strict=True):
            (allowed if answer == "1" else disallowed).add(as_asked(url))
    with Replay(SHARED / "corpus" / "robots.jsonl.gz") as replay:
        result = crawl(
            "tests.crawls.replay_spider:ReplaySpider",
            settings={
                **ADDON,
                "USER_AGENT": f"{AGENT}/2.1 (+http://example.com/bot.html)",
                "REP_FETCH_META": {"proxy": replay.proxy_url},
                "CONCURRENT_REQUESTS": 64,
                # Which pages are fetched is asked here, and these sites ask for minutes between.
                "REP_CRAWL_DELAY_MAX_SECONDS": 0,
                "REP_CRAWL_DELAY_EXCESS": "ignore",
                "LOG_LEVEL": "WARNING",
            },
            timeout_seconds=500,
            verdicts_path=str(SHARED / "corpus" / "verdicts.jsonl.gz"),
            hosts=hosts,
            proxy=replay.proxy_url,
        )
        requested = replay.requested()
    robots_txt = [url for url in requested if url.endswith("/robots.txt")]
    pages = set(requested) - set(robots_txt)
    assert result.exit_code == 0, result.log
    assert len(rows) >= 0.9 * hosts
    assert len(allowed) > 8 * hosts
    assert len(disallowed) > 4 * hosts
    # There are no differences to list: semantics.md decides as the reference verdicts do.
    assert pages - allowed == set()
    assert {url for url in allowed if not url.endswith("/robots.txt")} - pages == set()
    assert result.stats["robotstxt/request_count"] == len(rows)
    print(
        f"{len(rows)} hosts, {len(allowed)} URLs allowed, {len(disallowed)} disallowed; "
        f"{len(pages)} pages fetched, {len(pages & disallowed)} of them disallowed"
    )
