"""The paces of a crawl's origins: the delays that requests ask for, and visit times."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from scrapy_rep.engine.slots import Slots
from scrapy_rep.engine.visits import VisitBook
from scrapy_rep.pacing import Pacing
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Meaning
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.document import parse
from scrapy_rep.reading import Reading
from scrapy_rep.settings import RepSettings

ORIGIN = Origin("http", "a.example", 80)
KEY = "a.example"
PAGE = "http://a.example/"


class Crawl:
    def __init__(self, **settings: Any) -> None:
        self.crawler = crawler = get_crawler(settings_dict=settings)
        crawler.stats = MemoryStatsCollector(crawler)
        crawler.spider = SimpleNamespace(name="test")  # type: ignore[assignment]
        self.slot = SimpleNamespace(closing=None)
        crawler.engine = SimpleNamespace(  # type: ignore[assignment]
            spider=crawler.spider, downloader=None, _slot=self.slot
        )
        self.slots = Slots(crawler, VisitBook())
        self.pacing = Pacing(crawler, RepSettings.of(crawler.settings), self.slots)

    def floor_seconds(self) -> float:
        floor = self.slots._delays.floors.get(KEY)
        return 0.0 if floor is None else floor.seconds()


def policy_of(body: str) -> Policy:
    robots_txt = parse(body.encode(), ORIGIN.robots_txt_uri)
    return Policy(ORIGIN, 200, Meaning.RULES, Reading(robots_txt, robots_txt), ("a",))


def hours_from_now(hours: int) -> str:
    return f"{time.gmtime(time.time() + hours * 3600).tm_hour:02}00"


DELAYED = "User-agent: a\nCrawl-delay: 2\nDisallow: /a\nUser-agent: b\nCrawl-delay: 3\n"
SHUT = f"User-agent: a\nVisit-time: {hours_from_now(3)}-{hours_from_now(5)}\n"


@pytest.mark.parametrize(("tokens", "seconds"), [(("a",), 2.0), (("b",), 0.0)])
def test_the_floor_of_a_slot_is_the_delay_of_the_crawl_itself(
    tokens: tuple[str, ...], seconds: float
) -> None:
    """Other tokens' holds for their own requests, once these are there."""
    crawl = Crawl()
    request = Request(PAGE)
    pace = crawl.pacing.admit(policy_of(DELAYED), request, tokens)
    assert pace.delay_seconds == {"a": 2.0, "b": 3.0}[tokens[0]]
    assert crawl.floor_seconds() == seconds
    assert request in crawl.slots._asks


@pytest.mark.parametrize(("dry_run", "seconds"), [(False, 0.0), (True, 1.0)])
def test_a_delay_for_which_requests_are_dropped_keeps_nobody_waiting(
    dry_run: bool, seconds: float
) -> None:
    """In a dry run they are not dropped, and come no faster than the longest delay."""
    crawl = Crawl(REP_CRAWL_DELAY_MAX_SECONDS=1, REP_CRAWL_DELAY_EXCESS="skip", REP_DRY_RUN=dry_run)
    assert crawl.pacing.ask_of(policy_of(DELAYED)).seconds == seconds
    crawl.pacing.apply(policy_of(DELAYED), KEY)
    assert crawl.floor_seconds() == seconds


@pytest.mark.parametrize("is_closing", [False, True])
def test_a_crawl_that_closes_does_not_wait_for_a_visit_time(is_closing: bool) -> None:
    crawl = Crawl(REP_VISIT_TIME_OBEY=True)
    if is_closing:
        crawl.slot.closing = object()

    async def wait() -> bool:
        waiting = crawl.pacing.wait(policy_of(SHUT), ("a",))
        return await asyncio.wait_for(waiting, 10 if is_closing else 0.3)

    with ThreadPoolExecutor(1) as thread:
        work = thread.submit(asyncio.run, wait())
        if is_closing:
            assert work.result(timeout=20) is False
        else:
            with pytest.raises(asyncio.TimeoutError):
                work.result(timeout=20)


def test_who_waits_for_a_visit_time_reads_the_file_once() -> None:
    """It may be large and hostile; and more crawlers may wait than are remembered of it."""
    crawl, policy = Crawl(REP_VISIT_TIME_OBEY=True), policy_of(SHUT)
    read: list[tuple[str, ...]] = []

    class Counted:
        def asked_of(self, tokens: tuple[str, ...]) -> Any:
            read.append(tokens)
            return policy.asked_of(tokens)

    async def wait() -> None:
        counted: Any = Counted()
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(crawl.pacing.wait(counted, ("a",)), 0.7)

    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, wait()).result(timeout=20)
    assert read == [("a",)]
