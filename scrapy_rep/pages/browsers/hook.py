"""Whether what pages request in a crawl's browser is judged: the hook of scrapy-playwright."""

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
    """What registers the pages of a crawl's requests; None if it does not use the hook.

    `judge` makes what judges; None where all is allowed.
    """
    if not crawler.settings.get("PLAYWRIGHT_ABORT_REQUEST"):
        return None
    from .browser_pages import CrawlPages
    from .judge import BrowserJudge  # few crawls have a browser, and load what judges there

    return CrawlPages(crawler, judge(BrowserJudge) if judge is not None else None)
