"""A middleware that counts the requests that pass it in one turn of the event loop."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later

from scrapy_rep.engine import spreading
from scrapy_rep.fetch.transfer import is_own

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self


class InTurns:
    """Stats: `turns`, in which any passed, and `full_turns`, in which several did.

    Requests wait for their turns however long these take: a machine that stands still for a moment
    would let several go at once.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._stats = crawler.stats
        self._count = 0

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        spreading._LIMIT_SECONDS = spreading._LONG_SECONDS = math.inf
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        if is_own(request):
            return
        self._count += 1
        if self._count == 1:
            self._stats.inc_value("turns")
            call_later(0, self._turn)
        if self._count == 2:
            self._stats.inc_value("full_turns")

    def _turn(self) -> None:
        self._count = 0
