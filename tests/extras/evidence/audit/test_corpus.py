"""A crawl of real sites fetches the allowed pages only, and its trail alone confirms it."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request, Spider

from scrapy_rep.extras.evidence.replay import Replayer
from scrapy_rep.extras.evidence.trail_check import check
from scrapy_rep.extras.evidence.trail_reading import run_at
from tests.crawling import Crawl, crawl
from tests.crawls.settings import ADDON
from tests.extras.evidence.audit.crawled import fetched, passed
from tests.servers.replay import Replay
from tests.shared import SHARED, needs_shared

AGENT = "Googlebot"


def verdicts(path: str | Path, hosts: int) -> Iterator[dict[str, Any]]:
    """The verdicts of the first hosts of the file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in islice(lines, hosts):
            yield json.loads(line)


class ReplaySpider(Spider):
    """Requests every listed URL of this number of hosts through a proxy."""

    name = "replay"

    def __init__(self, verdicts_path: str, hosts: int, proxy: str) -> None:
        super().__init__()
        self.rows = verdicts(verdicts_path, hosts)
        self.proxy = proxy

    async def start(self) -> AsyncIterator[Request]:
        for row in self.rows:
            for url in row["urls"]:
                yield Request(url, self.ignore, meta={"proxy": self.proxy}, dont_filter=True)

    def ignore(self, _: Any) -> None:
        """Follow nothing."""


def replayed(hosts: int, **settings: Any) -> tuple[Crawl, Counter[str]]:
    """A crawl of real sites, replayed by a proxy, and how often each URL was requested."""
    assert SHARED is not None
    corpus = SHARED / "corpus"
    with Replay(corpus / "robots.jsonl.gz") as replay:
        result = crawl(
            "tests.extras.evidence.audit.test_corpus:ReplaySpider",
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
        return result, Counter(replay.requested())


def assert_exactly_those_allowed(hosts: int, requested: Counter[str]) -> int:
    """There are no differences to list: semantics.md decides as the reference verdicts do.

    Returns the number of hosts that have verdicts.
    """
    assert SHARED is not None
    rows = list(verdicts(SHARED / "corpus" / "verdicts.jsonl.gz", hosts))
    allowed: set[str] = set()
    disallowed: set[str] = set()
    for row in rows:
        for url, answer in zip(row["urls"], row["allowed"][AGENT], strict=True):
            # As Scrapy asks a proxy for it.
            (allowed if answer == "1" else disallowed).add(Request(url).url.partition("#")[0])
    robots_txt = {url for url in requested if url.endswith("/robots.txt")}
    pages = {*requested} - robots_txt
    assert len(rows) >= 0.9 * hosts
    assert len(allowed) > 8 * hosts
    assert len(disallowed) > 4 * hosts
    assert pages - allowed == set()
    assert {url for url in allowed if not url.endswith("/robots.txt")} - pages == set()
    return len(rows)


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("hosts", [75, pytest.param(700, marks=pytest.mark.at_length)])
@pytest.mark.long
def test_replay_confirms_every_decision(hosts: int, tmp_path: Path) -> None:
    result, requested = replayed(hosts, REP_AUDIT_DIR=str(tmp_path))
    count = assert_exactly_those_allowed(hosts, requested)
    assert result.stats["robotstxt/request_count"] == count
    run = run_at(tmp_path / "latest")
    found = check(run)
    assert (found.problems, found.missing) == ([], [])
    words: Counter[str] = Counter()
    for _, outcome, number in Replayer(run).outcomes():
        words[outcome.word] += number
    assert list(words) == ["confirmed"], words
    assert words["confirmed"] == found.counts["allowed"] + found.counts["disallowed"] >= 15 * hosts
    assert found.counts["disallowed"] == result.stats["robotstxt/forbidden"]
    assert passed(run) + fetched(run) == requested
