"""Crawls of real sites, replayed by a proxy: the URLs that were requested, and those allowed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from scrapy import Request

from tests.crawling import Crawl, crawl
from tests.crawls.settings import ADDON
from tests.extras.evidence.replay_spider import verdicts
from tests.servers.replay import Replay
from tests.shared import SHARED

AGENT = "Googlebot"


@dataclass(frozen=True)
class Replayed:
    """One crawl, and how often each URL was requested."""

    hosts: int
    crawl: Crawl
    requested: Counter[str]


def replayed(hosts: int, **settings: Any) -> Replayed:
    """Request every URL of the shared verdicts on this number of sites."""
    assert SHARED is not None
    corpus = SHARED / "corpus"
    with Replay(corpus / "robots.jsonl.gz") as replay:
        result = crawl(
            "tests.extras.evidence.replay_spider:ReplaySpider",
            settings={
                **ADDON,
                "USER_AGENT": f"{AGENT}/2.1 (+http://example.com/bot.html)",
                "REP_FETCH_META": {"proxy": replay.proxy_url},
                "CONCURRENT_REQUESTS": 64,
                # The delays of these sites would take minutes.
                "REP_CRAWL_DELAY_MAX_SECONDS": 0,
                "REP_CRAWL_DELAY_EXCESS": "ignore",
                "LOG_LEVEL": "WARNING",
                **settings,
            },
            timeout_seconds=500,
            verdicts_path=str(corpus / "verdicts.jsonl.gz"),
            hosts=hosts,
            proxy=replay.proxy_url,
        )
        assert result.exit_code == 0, result.log
        return Replayed(hosts, result, Counter(replay.requested()))


def assert_exactly_those_allowed(one: Replayed) -> None:
    """There are no differences to list: semantics.md decides as the reference verdicts do."""
    assert SHARED is not None
    rows = list(verdicts(SHARED / "corpus" / "verdicts.jsonl.gz", one.hosts))
    allowed: set[str] = set()
    disallowed: set[str] = set()
    for row in rows:
        for url, answer in zip(row["urls"], row["allowed"][AGENT], strict=True):
            (allowed if answer == "1" else disallowed).add(_as_asked(url))
    robots_txt = {url for url in one.requested if url.endswith("/robots.txt")}
    pages = {*one.requested} - robots_txt
    assert len(rows) >= 0.9 * one.hosts
    assert len(allowed) > 8 * one.hosts
    assert len(disallowed) > 4 * one.hosts
    assert pages - allowed == set()
    assert {url for url in allowed if not url.endswith("/robots.txt")} - pages == set()
    assert one.crawl.stats["robotstxt/request_count"] == len(rows)
    print(
        f"{len(rows)} hosts, {len(allowed)} URLs allowed, {len(disallowed)} disallowed; "
        f"{len(pages)} pages fetched, {len(pages & disallowed)} of them disallowed"
    )


def _as_asked(url: str) -> str:
    """How Scrapy asks a proxy for a URL."""
    return Request(url).url.partition("#")[0]
