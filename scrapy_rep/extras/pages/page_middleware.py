"""The spider middleware that drops requests and items if pages or sites withhold them.

With the default settings, it reads and obeys nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.http import Response
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware

from scrapy_rep.crawl import Crawl
from scrapy_rep.decisions.decisions import Decisions
from scrapy_rep.engine.refusals import refusals_in_one_line
from scrapy_rep.identity import Identity
from scrapy_rep.signals import VERDICT
from scrapy_rep.stats import Journal

from .page_crawls import adopt, close_pages, open_pages

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from .withholding import Withholding


class RepPageMiddleware(BaseSpiderMiddleware):
    """Drops requests and items that the settings withhold, and marks items.

    It works whether `ROBOTSTXT_OBEY` is on or off.
    """

    @refusals_in_one_line()
    def __init__(self, crawler: Crawler) -> None:
        """Read and check the settings.

        Raises:
            ConfigurationError: a setting is wrong.
        """
        super().__init__(crawler)
        self._crawl = crawl = Crawl.of(crawler)
        self._settings = settings = crawl.settings
        self._journal = Journal(crawler, __name__)
        self._decisions = crawl.part(Decisions)
        crawl.part(Identity)  # refuses a wrong name before the crawl begins
        self._decisions.enter()
        self._withholding: Withholding | None = None
        if settings.page_obey or settings.uses or settings.use_level or settings.item_field:
            from .withholding import Withholding  # few crawls need it

            self._withholding = Withholding(crawl)
        crawler.signals.connect(self._spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)

    def _spider_opened(self) -> None:
        open_pages(self._crawl)
        self._decisions.listener.open()
        if self._settings.tdmrep and not self.crawler.settings.getbool("ROBOTSTXT_OBEY"):
            self._journal.warning(
                "REP_TDMREP is on, but ROBOTSTXT_OBEY is off: no tdmrep.json is fetched, because "
                "it may only be fetched if robots.txt allows it"
            )

    async def _spider_closed(self, reason: str = "") -> None:
        close_pages(self._crawl)
        await self._decisions.notices.finish()
        await self._decisions.leave(reason)

    def process_spider_input(self, response: Response) -> None:
        """Adopt a response."""
        adopt(response, self._crawl)

    async def process_spider_output_async(
        self,
        response: Response | None,
        result: AsyncIterator[Any],
        spider: Any = None,  # noqa: ARG002 - Scrapy's own class has it
    ) -> AsyncIterator[Any]:
        """The requests and items of a callback that are not withheld.

        Scrapy 2.15 calls it for coroutines only: for other callbacks, large pages are read in the
        event loop.
        """
        async for one in result:
            if response is not None and self._withholding is not None:
                await self._withholding.read_ahead(response)
            processed = self._get_processed(one, response)
            if processed is not None:
                yield processed

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        """The request; None if the page forbids following it."""
        if response is None:
            return request
        request.meta.pop(VERDICT, None)  # its meta may be a copy of another request's
        if self._withholding is None:
            return request
        return self._withholding.request(request, response)

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        """The item, marked if a setting says so; None if it is withheld."""
        if response is None or self._withholding is None:
            return item
        return self._withholding.item(item, response)
