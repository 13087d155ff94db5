"""The hook of scrapy-playwright: whether the requests of pages in a crawl's browser are judged."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from .browser_pages import CrawlPages
    from .judge import BrowserJudge


def pages_of(
    crawler: Crawler, judge: Callable[[type[BrowserJudge]], BrowserJudge] | None
) -> CrawlPages | None:
    """The registry of pages for a crawl's requests; None if the crawl does not use the hook.

    `judge` creates the judge; None if everything is allowed.
    """
    if not crawler.settings.get("PLAYWRIGHT_ABORT_REQUEST"):
        return None
    from .browser_pages import CrawlPages
    from .judge import BrowserJudge  # few crawls use a browser

    return CrawlPages(crawler, judge(BrowserJudge) if judge is not None else None)
