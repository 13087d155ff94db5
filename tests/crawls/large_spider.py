"""Spiders that tell in which thread files are read for a crawler, and that make this slow."""

from __future__ import annotations

import threading
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any
from unittest.mock import patch

from scrapy import Request
from scrapy.exceptions import CloseSpider
from scrapy.http import Response

from scrapy_rep.engine.loops import sleep
from scrapy_rep.fetch.reading import Reading, Ready
from scrapy_rep.protocol.extensions import pace
from scrapy_rep.protocol.selection import Selection
from tests.spiders import UrlsSpider

_LOOK_SECONDS = 0.02


class ThreadSpider(UrlsSpider):
    """Counts the files that are read in the thread of the crawl, and in other threads.

    Args:
        urls: the URLs to request.
        user_agents: the User-Agents to request each of them with; empty for the crawl's own.
    """

    name = "threads"

    def __init__(self, urls: Sequence[str], user_agents: Sequence[str] = ("",)) -> None:
        super().__init__(urls)
        self.user_agents = user_agents
        here = threading.current_thread()

        def note(what: str) -> None:
            where = "here" if threading.current_thread() is here else "elsewhere"
            self.crawler.stats.inc_value(f"test/{what}/{where}")

        select, ask = Selection.__init__, pace.read_site_pace

        def selected(selection: Selection, *arguments: Any) -> None:
            note("rules")
            select(selection, *arguments)

        def asked(*arguments: Any) -> Any:
            note("pace")
            return ask(*arguments)

        patch.object(Selection, "__init__", selected).start()
        patch("scrapy_rep.protocol.document.read_site_pace", asked).start()

    async def start(self) -> AsyncIterator[Any]:
        """Each URL as each crawler."""
        for user_agent in self.user_agents:
            for url in self.urls:
                request = self._request(url)
                if user_agent:
                    request.headers["User-Agent"] = user_agent
                yield request


class SlowReadingSpider(UrlsSpider):
    """Closes itself with its second page, requested while the file of the first is read.

    Args:
        urls: the URLs to request.
        as_whom: which User-Agent's rules take long to read; empty for the crawl's own.
        seconds: how long that takes.
    """

    name = "slow-reading"

    def __init__(self, urls: Sequence[str], as_whom: str = "", seconds: float = 0.0) -> None:
        super().__init__(urls)
        self.as_whom = as_whom
        self.is_reading = threading.Event()
        prepare = Reading.prepare

        def slow(reading: Reading, tokens: tuple[str, ...]) -> Ready:
            if not as_whom or tokens == (as_whom,):
                self.is_reading.set()
                time.sleep(seconds)
            return prepare(reading, tokens)

        patch.object(Reading, "prepare", slow).start()

    async def start(self) -> AsyncIterator[Any]:
        """The first page, and the others once its file is being read."""
        yield self._request(self.urls[0])
        while not self.is_reading.is_set():
            await sleep(_LOOK_SECONDS)
        for url in self.urls[1:]:
            yield self._request(url)

    def _request(self, url: str) -> Request:
        request = super()._request(url)
        if self.as_whom:
            request.headers["User-Agent"] = self.as_whom
        return request

    def parse(self, response: Response, asked: str) -> dict[str, Any]:
        """Close the spider."""
        raise CloseSpider("enough")
