"""A middleware that counts the turns of the event loop in which requests pass it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.asyncio import call_later

from scrapy_rep.fetching.transfer import is_own

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from typing_extensions import Self


class InTurns:
    """The stat `turns` counts the turns in which any passed."""

    def __init__(self, crawler: Crawler) -> None:
        self._stats = crawler.stats
        self._is_counted = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    async def process_request(self, request: Request) -> None:
        if is_own(request):
            return
        if not self._is_counted:
            self._is_counted = True
            self._stats.inc_value("turns")
            call_later(0, self._turn)

    def _turn(self) -> None:
        self._is_counted = False
