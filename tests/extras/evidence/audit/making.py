"""Trails without a crawl: the middleware judges requests by files from the test."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.exceptions import IgnoreRequest
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from scrapy_rep import RepMiddleware
from scrapy_rep.extras.evidence.trail_reading import Run
from scrapy_rep.fetch.reading import Reading, digest_of
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Event, Meaning
from scrapy_rep.protocol.access.knowledge import Step
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.document import parse
from tests.crawls.settings import ADDON

FILE = b"# who may\nUser-agent: *\nDisallow: /private\nAllow: /private/open\n"


class Judged:
    """A crawl with a trail that only judges."""

    def __init__(self, root: Path, *, segment_octets: int = 1 << 26, **settings: Any) -> None:
        wanted = {**ADDON, "USER_AGENT": "TestBot/1.0", "REP_AUDIT_DIR": str(root), **settings}
        self.crawler = crawler = get_crawler(settings_dict=wanted)
        crawler.stats = MemoryStatsCollector(crawler)
        crawler.spider = Spider("test")
        crawler.engine = SimpleNamespace(  # type: ignore[assignment]
            spider=crawler.spider,
            downloader=SimpleNamespace(
                slots={},
                active=set(),
                middleware=SimpleNamespace(methods={"process_request": [lambda request: None]}),
            ),
        )
        self.middleware = RepMiddleware.from_crawler(crawler)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("scrapy_rep.extras.evidence.trail.SEGMENT_OCTETS", segment_octets)
            self.middleware._spider_opened()
        trail: Any = self.middleware._decisions.listener
        self.trail = trail

    @property
    def folder(self) -> Path:
        folder: Path = self.trail._folder
        return folder

    def know(
        self, host: str, body: bytes = FILE, event: Event = 200, meaning: Meaning = Meaning.RULES
    ) -> Policy:
        """Have a policy in memory, as a fetch would leave it."""
        origin = Origin("https", host, 443)
        if meaning is Meaning.RULES:
            file = parse(body, origin.robots_txt_uri)
            reading = Reading(file, file, digest_of(body))
            self.middleware._decisions.file_read(body, reading.sha256)
        else:
            reading = Reading.of_nothing(origin)
        tokens = self.middleware._identity.tokens
        step = Step(origin.robots_txt_uri, event, 1e9, 0.5, len(body), "192.0.2.1")
        policy = Policy(
            origin, event, meaning, reading, tokens, steps=(step,), source="network", fetched_at=1e9
        )
        self.middleware.policies._keep(policy)
        self.middleware._decisions.learnt(policy)
        return policy

    def judge(self, urls: Sequence[str], **meta: Any) -> None:
        """Let requests through, or drop them."""
        for url in urls:
            with suppress(StopIteration, IgnoreRequest):
                self.middleware.process_request(Request(url, meta={**meta})).send(None)
                raise AssertionError("a warm request does not wait")

    def end(self, reason: str = "finished") -> Run:
        """End the crawl, and read its trail."""
        with ThreadPoolExecutor(1) as thread:
            leaving = self.middleware._decisions.leave(reason)
            thread.submit(asyncio.run, leaving).result(timeout=20)
        return Run(self.folder)


def judged(root: Path, urls: Sequence[str] = (), **settings: Any) -> Judged:
    """A crawl that knows the file of ``a.example``, and has judged some URLs."""
    crawl = Judged(root, **settings)
    crawl.know("a.example")
    crawl.judge(urls)
    return crawl


def judged_outcomes(urls: Sequence[str], root: Path | None) -> list[str]:
    """The outcome of each request, with a trail or without."""
    without: dict[str, Any] = {} if root else {"REP_AUDIT_DIR": ""}
    crawl = judged(root or Path(), **without)
    found = [_outcome(crawl, url) for url in urls]
    if root is not None:
        crawl.end()
    return found


def _outcome(crawl: Judged, url: str) -> str:
    try:
        crawl.middleware.process_request(Request(url)).send(None)
    except StopIteration:
        return "passed"
    except IgnoreRequest as error:
        return str(error)
    raise AssertionError("a warm request does not wait")
