"""REP_AUDIT_MAX_OCTETS: what a crawl does at the limit, and what its trail and archive say then."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.evidence.trail_check import check
from scrapy_rep.extras.evidence.warc_check import archive_at
from scrapy_rep.extras.evidence.warc_check import check as check_archive
from tests.commands.calling import rep
from tests.crawling import LOOPS, Loop
from tests.extras.evidence.audit.crawled import audited
from tests.extras.evidence.audit.making import Judged
from tests.servers.handle import Answer, Site

LIMIT = 20_000
PAGES = 150
REACHED = f"REP_AUDIT_MAX_OCTETS = {LIMIT} is reached"
LAST_OCTETS = 2_000
"""What the end of a trail takes: a gap, an end and a mark."""


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir() if path.name != "manifest.json")


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("full", ["stop", "continue"])
def test_crawl_at_the_limit_of_its_trail(loop: Loop, full: str, tmp_path: Path) -> None:
    with Site({"/robots.txt": Answer(body="User-agent: *\nDisallow: /no\n")}) as site:
        settings = {
            "REP_AUDIT_MAX_OCTETS": LIMIT,
            "REP_AUDIT_FULL": full,
            "CONCURRENT_REQUESTS": 1,
        }
        urls = [site.url(f"/{number}") for number in range(PAGES)]
        result, run = audited(urls, tmp_path, loop=loop, settings=settings)
        page_count = len(site.paths()) - 1
    reason = result.stats["finish_reason"]
    assert (reason, page_count == PAGES) == (
        ("audit_full", False) if full == "stop" else ("finished", True)
    )
    assert result.log.count(REACHED) == 1
    found = check(run)
    assert found.problems == []
    assert any(f"not all records could be written ({REACHED})" == text for text in found.missing)
    assert any(text.endswith(f"({REACHED})") and "decision" in text for text in found.missing)
    assert found.counts.total() + found.lost.total() == found.last_n >= page_count
    assert found.lost.total() > (PAGES / 5 if full == "continue" else 0)
    assert rep("audit", "verify", run.path).status == 4
    plain = sum(one.facts["octets"] for one in run.segments)
    assert LIMIT / 2 < plain <= LIMIT + LAST_OCTETS


def test_report_of_a_trail_at_its_limit(tmp_path: Path) -> None:
    pytest.importorskip("jinja2", reason="needs Jinja")
    crawl = Judged(tmp_path, REP_AUDIT_MAX_OCTETS=LIMIT, REP_AUDIT_FULL="continue")
    crawl.know("a.example")
    crawl.judge([f"https://a.example/{number}" for number in range(PAGES)])
    run = crawl.end()
    page = tmp_path / "report.html"
    done = rep("report", run.path, "-o", page)
    assert "not complete" in done.out
    assert REACHED in page.read_text(encoding="utf-8")
    told = json.loads(rep("report", run.path, "--json").out)
    assert told["state"] == "incomplete"
    assert any(REACHED in text for text in told["runs"][0]["missing"])


def test_limit_counts_without_a_lost_decision(tmp_path: Path) -> None:
    """The first record over the limit may be no decision: a policy, for example."""
    crawl = Judged(tmp_path, REP_AUDIT_MAX_OCTETS=LIMIT, REP_AUDIT_FULL="continue")
    crawl.know("a.example", b"User-agent: *\nDisallow: /" + b"x" * LIMIT)
    found = check(crawl.end())
    assert (found.problems, found.lost.total()) == ([], 0)
    assert found.missing == [f"not all records could be written ({REACHED})"]


def test_finished_files_count_as_they_are_packed(tmp_path: Path) -> None:
    crawl = Judged(
        tmp_path,
        segment_octets=1 << 13,
        REP_AUDIT_MAX_OCTETS=2 * LIMIT,
        REP_AUDIT_FULL="continue",
    )
    crawl.know("a.example")
    for number in range(1000):
        crawl.judge([f"https://a.example/{number}"])
        patience = time.monotonic() + 60
        while len([*crawl.folder.glob("*.jsonl")]) > 1 and time.monotonic() < patience:
            time.sleep(0.01)  # until the thread has packed the file before
    run = crawl.end()
    assert check(run).problems == []
    plain = sum(one.facts["octets"] for one in run.segments)
    assert plain > 3 * LIMIT, "more than is on the disk"
    assert size_of(run.path) <= 2 * LIMIT + LAST_OCTETS


@pytest.mark.parametrize("loop", LOOPS)
def test_crawl_ends_in_order_if_nothing_fits(loop: Loop, tmp_path: Path) -> None:
    with Site() as site:
        settings = {"REP_AUDIT_MAX_OCTETS": 10}
        result, run = audited([site.url("/a")], tmp_path, loop=loop, settings=settings)
    assert result.stats["finish_reason"] == "audit_full"
    assert rep("audit", "verify", run.path).status == 4


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("full", ["stop", "continue"])
def test_crawl_at_the_limit_of_its_archive(loop: Loop, full: str, tmp_path: Path) -> None:
    """Each file is of an origin of its own, and takes a good part of the limit."""
    pytest.importorskip("warcio")
    from tests.extras.evidence.warc.archived import archived, manifest_of, warcio_checks

    body = "".join(f"# {number**7}\n" for number in range(2000))
    # A crawl that stops has seconds left for that when the thread reaches the limit.
    page = Answer(body="page", delay_seconds=1.0 if full == "stop" else 0.0)
    with Site({"/robots.txt": Answer(body=body), "/*": page}) as site:
        settings: dict[str, Any] = {
            "REP_AUDIT_MAX_OCTETS": LIMIT,
            "REP_AUDIT_FULL": full,
            "CONCURRENT_REQUESTS": 1,
        }
        urls = [f"http://127.0.0.{number}:{site.port}/a" for number in range(1, 9)]
        result, folder = archived(urls, tmp_path, loop=loop, settings=settings)
    is_stopped = result.stats["finish_reason"] == "warc_full"
    assert is_stopped == (full == "stop"), result.stats["finish_reason"]
    assert result.log.count(REACHED) == 1
    assert result.stats["rep/warc/failed"] >= 1
    assert size_of(folder) <= LIMIT
    assert manifest_of(folder)["error"] == REACHED
    run = archive_at(folder)
    assert run is not None
    found = check_archive(run)
    assert found.problems == []
    (text,) = found.missing
    assert re.fullmatch(rf"exchanges that could not be archived: \d+ \({REACHED}\)", text)
    assert warcio_checks(folder) == ""
