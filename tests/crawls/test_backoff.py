"""Origins whose pages answer 429 or 503 rest, and no request of theirs is lost."""

from __future__ import annotations

import itertools
import time
from email.utils import formatdate
from typing import Any

import pytest

from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.faults.test_closing import assert_clean
from tests.servers.handle import Answer, Seen, Site

ROBOTS = {"/robots.txt": Answer(body="User-agent: *\nDisallow: /private\n")}
QUEUES = {"ours": ADDON, "scrapy's": WITH_SCRAPYS_QUEUE}


def busy(status: int = 429, lasts_seconds: float = 0.0, *retry_after: str) -> Answer:
    headers = [("Retry-After", value) for value in retry_after]
    return Answer(status=status, headers=headers, lasts_seconds=lasts_seconds)


def pages(seen: list[Seen]) -> list[Seen]:
    return [one for one in seen if one.path != "/robots.txt"]


def rounds(seen: list[Seen]) -> list[list[float]]:
    """The times of page requests, in groups that lie less than a second apart."""
    found: list[list[float]] = []
    for one in sorted(pages(seen), key=lambda one: one.at):
        if found and one.at - found[-1][-1] < 1:
            found[-1].append(one.at)
        else:
            found.append([one.at])
    return found


def assert_all_came(result: Any, urls: list[str]) -> None:
    assert result.exit_code == 0, result.error
    assert sorted(item["url"] for item in result.items) == sorted(urls)
    assert {item.get("status") for item in result.items} == {200}
    assert result.deprecations == []
    assert_clean(result.log)


@pytest.mark.parametrize("queue", QUEUES)
@pytest.mark.parametrize("status", [429, 503])
@pytest.mark.parametrize("loop", LOOPS)
def test_a_rest_that_the_site_asks_for(loop: Loop, status: int, queue: str) -> None:
    """Nothing goes to the origin meanwhile, one request goes first, and all pages come."""
    limited = {**ROBOTS, "/*": [busy(status, 2.5, "3"), Answer(body="page")]}
    others = [f"127.0.1.{number}" for number in range(1, 11)]
    with Site(limited) as site, Site(ROBOTS, address="0.0.0.0") as other:
        urls = [site.url(f"/{number}") for number in range(6)]
        urls += [other.url(f"/{n}", host=host) for host in others for n in range(3)]
        result = crawl(URLS_SPIDER, loop=loop, settings=QUEUES[queue], urls=urls)
        first, probe, *rest = rounds(site.requests())
        began = min(seen.at for seen in site.requests())
        assert max(seen.at for seen in other.requests()) - began < 2
    assert_all_came(result, urls)
    assert len(first) == 6
    assert probe[0] - first[0] >= 3
    assert len(probe) == 6 or not rest
    assert result.stats["rep/backoff/rests"] == 1
    assert result.stats["rep/backoff/put_back"] >= 6
    assert "retry/count" not in result.stats
