"""Spiders of the tests of stores, with shorter times than real crawls."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from scrapy import Request, Spider

from scrapy_rep.engine.loops import sleep
from scrapy_rep.fetch import context, keeper

LEASE_SECONDS = 1.5


class SentAs:
    """A user's downloader middleware that sets another User-Agent."""

    def __init__(self, user_agent: str) -> None:
        self.user_agent = user_agent

    @classmethod
    def from_crawler(cls, crawler: Any) -> SentAs:
        return cls(crawler.settings["SENT_AS"])

    def process_request(self, request: Request) -> None:
        request.headers["User-Agent"] = self.user_agent


class StoppedSpider(Spider):
    """Tells its process, which then can be stopped."""

    name = "stopped"
    url: str
    pid_path: str

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        keeper.LEASE_SECONDS = context.LEASE_SECONDS = LEASE_SECONDS  # type: ignore[attr-defined]
        Path(self.pid_path).write_text(str(os.getpid()))

    async def start(self) -> AsyncIterator[Any]:
        yield Request(self.url, callback=self.parse)

    def parse(self, response: Any) -> Any:
        return {"url": response.url}


class LockingSpider(Spider):
    """Holds a lock on the store during its first request only."""

    name = "locking"
    urls: list[str]
    path: str

    def __init__(self, **arguments: Any) -> None:
        super().__init__(**arguments)
        self.is_answered = False

    @classmethod
    def from_crawler(cls, crawler: Any, *args: Any, **kwargs: Any) -> LockingSpider:
        quick = SimpleNamespace(monotonic=lambda: 10 * time.monotonic())
        keeper.time = quick  # type: ignore[assignment,attr-defined]  # it tries again after half a second
        spider: LockingSpider = super().from_crawler(crawler, *args, **kwargs)
        return spider

    async def start(self) -> AsyncIterator[Any]:
        other = sqlite3.connect(self.path, isolation_level=None)
        other.execute("begin immediate")
        yield Request(self.urls[0], callback=self.parse)
        while not self.is_answered:
            await sleep(0.05)
        yield Request(self.urls[1], callback=self.parse)
        await sleep(6.0)  # long enough for a try that fails
        other.execute("commit")
        other.close()
        for url in self.urls[2:]:
            await sleep(1.0)
            yield Request(url, callback=self.parse)

    def parse(self, response: Any) -> Any:
        self.is_answered = True
        return {"url": response.url}
