"""Turns of hosts: none that is ready waits much longer than with Scrapy's queue."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from tests.crawling import crawl
from tests.crawls.settings import ADDON, WITH_SCRAPYS_QUEUE
from tests.servers.handle import Answer, Seen, Site

pytestmark = pytest.mark.timed

FAIR = "tests.crawls.fair_spider:FairSpider"
HOSTS = 60
PLACES = {"CONCURRENT_REQUESTS": 16, "CONCURRENT_REQUESTS_PER_DOMAIN": 8, "LOG_LEVEL": "INFO"}
BREADTH_FIRST = {
    "DEPTH_PRIORITY": 1,
    "SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue",
    "SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue",
}


def pages_of(settings: dict[str, Any], **tree: Any) -> list[Seen]:
    """The pages of a whole crawl, in the order of their requests."""
    page = Answer(body="page", headers=(("Content-Type", "text/html"),), delay_seconds=0.05)
    with Site({"/robots.txt": Answer()}, default=page, address="0.0.0.0") as site:
        result = crawl(
            FAIR,
            settings={**settings, **PLACES},
            homes=[site.url("", host=f"127.0.1.{1 + number}") for number in range(HOSTS)],
            **tree,
        )
        pages = [seen for seen in site.requests() if seen.path != "/robots.txt"]
    assert result.exit_code == 0, result.error
    assert result.finish_reason == "finished"
    assert len(pages) == len(result.items)
    return pages


def longest_gap(pages: list[Seen]) -> int:
    """The most pages from one of a host to its next."""
    last: dict[str, int] = {}
    longest = 0
    for number, page in enumerate(pages):
        host = page.headers["host"]
        longest = max(longest, number - last.get(host, number))
        last[host] = number
    return longest


def test_hosts_take_turns_if_pages_are_queued_at_once() -> None:
    ours = pages_of(ADDON, pages=5)
    theirs = pages_of(WITH_SCRAPYS_QUEUE, pages=5)
    assert len(ours) == len(theirs) == HOSTS * 5
    assert longest_gap(ours) <= 2 * longest_gap(theirs)


def test_hosts_take_turns_in_a_tree_of_links() -> None:
    """It grows while it is crawled; the pages of each host come level by level if so set."""
    pages = pages_of({**ADDON, **BREADTH_FIRST}, pages=1, depth=2)
    assert len(pages) == 7 * HOSTS
    assert longest_gap(pages) <= 2 * HOSTS + 16, "two rounds, and what is under way"
    levels = defaultdict(list)
    for page in pages:
        levels[page.headers["host"]].append(page.path.count("/"))
    assert all(found == sorted(found) for found in levels.values()), levels
