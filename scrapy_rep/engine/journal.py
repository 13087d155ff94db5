"""What a crawl records of our work: stats, and log records that bear its spider."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Journal:
    """Counts for one crawl, and says whose log records ours are."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._inc_value: Callable[[str, int], None] | None = None

    def count(self, name: str, count: int = 1) -> None:
        """Count so many more."""
        if self._inc_value is None:  # a crawler has no stats before it begins
            # Kept, because the collector makes each look-up of its methods expensive.
            self._inc_value = self._crawler.stats.inc_value
        if count:
            self._inc_value(name, count)

    @property
    def extra(self) -> dict[str, Any]:
        """The `extra` of a log record."""
        return {"spider": self._crawler.spider}
