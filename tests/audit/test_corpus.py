"""Real files: every decision of a crawl of real sites is confirmed by its trail alone."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from scrapy_rep.audit.checking import check
from scrapy_rep.audit.reading import run_at
from scrapy_rep.commands.replaying import Replayer
from tests.audit.crawled import fetched, passed
from tests.crawling import crawl
from tests.crawls.settings import ADDON
from tests.servers.replay import Replay
from tests.shared import SHARED, needs_shared


@pytest.mark.slow
@needs_shared
def test_all_are_confirmed(tmp_path: Path) -> None:
    assert SHARED is not None
    with Replay(SHARED / "corpus" / "robots.jsonl.gz") as replay:
        result = crawl(
            "tests.crawls.replay_spider:ReplaySpider",
            settings={
                **ADDON,
                "USER_AGENT": "Googlebot/2.1 (+http://example.com/bot.html)",
                "REP_FETCH_META": {"proxy": replay.proxy_url},
                "REP_AUDIT_DIR": str(tmp_path),
                "REP_AUDIT_SEGMENT_OCTETS": 1 << 20,
                "CONCURRENT_REQUESTS": 64,
                "REP_CRAWL_DELAY_MAX_SECONDS": 0,
                "REP_CRAWL_DELAY_EXCESS": "ignore",
                "LOG_LEVEL": "WARNING",
            },
            timeout_seconds=500,
            verdicts_path=str(SHARED / "corpus" / "verdicts.jsonl.gz"),
            hosts=500,
            proxy=replay.proxy_url,
        )
        requested = Counter(replay.requested())
    assert result.exit_code == 0, result.log
    run = run_at(tmp_path / "latest")
    found = check(run)
    assert (found.problems, found.missing) == ([], [])
    words: Counter[str] = Counter()
    for _, outcome, count in Replayer(run).outcomes():
        words[outcome.word] += count
    assert list(words) == ["confirmed"], words
    assert words["confirmed"] == found.counts["allowed"] + found.counts["disallowed"] >= 10_000
    assert found.counts["disallowed"] == result.stats["robotstxt/forbidden"]
    assert passed(run) + fetched(run) == requested
    print(f"{words['confirmed']} decisions, {found.record_count} records")
