"""A crawl of real sites fetches the allowed pages only, and its trail alone confirms it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from scrapy_rep.extras.evidence.replay import Replayer
from scrapy_rep.extras.evidence.trail_check import check
from scrapy_rep.extras.evidence.trail_reading import run_at
from tests.extras.evidence.audit.crawled import fetched, passed
from tests.extras.evidence.replayed import assert_exactly_those_allowed, replayed
from tests.shared import needs_shared


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("hosts", [75, pytest.param(700, marks=pytest.mark.at_length)])
@pytest.mark.long
def test_replay_confirms_every_decision(hosts: int, tmp_path: Path) -> None:
    one = replayed(hosts, REP_AUDIT_DIR=str(tmp_path))
    assert_exactly_those_allowed(one)
    run = run_at(tmp_path / "latest")
    found = check(run)
    assert (found.problems, found.missing) == ([], [])
    words: Counter[str] = Counter()
    for _, outcome, count in Replayer(run).outcomes():
        words[outcome.word] += count
    assert list(words) == ["confirmed"], words
    assert words["confirmed"] == found.counts["allowed"] + found.counts["disallowed"] >= 15 * hosts
    assert found.counts["disallowed"] == one.crawl.stats["robotstxt/forbidden"]
    assert passed(run) + fetched(run) == one.requested
    print(f"{words['confirmed']} decisions, {found.record_count} records")
