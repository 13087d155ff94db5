"""What a crawl records of our work: stats, and log records that bear its spider."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scrapy.statscollectors import StatsCollector

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Journal:
    """Counts for one crawl, and says whose log records ours are."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._inc_value: Callable[[str, int], object] | None = None

    def count(self, name: str, count: int = 1) -> None:
        """Count so many more."""
        if self._inc_value is None:  # a crawler has no stats before it begins
            self._inc_value = inc_value_of(self._crawler.stats)
        if count:
            self._inc_value(name, count)

    @property
    def extra(self) -> dict[str, Any]:
        """The `extra` of a log record."""
        return {"spider": self._crawler.spider}


def inc_value_of(stats: StatsCollector) -> Callable[[str, int], object]:
    """A function that counts as the `inc_value` of a collector does.

    Scrapy's own collectors look at the arguments of each call, and at each look-up of an attribute.
    That takes several times as long as the counting, which is done for every request.
    """
    kind, held = type(stats), vars(stats)
    is_scrapys = all(
        getattr(kind, name) is getattr(StatsCollector, name)
        for name in ("inc_value", "__getattribute__")
    )
    if not is_scrapys or "inc_value" in held or type(held.get("_stats")) is not dict:
        return stats.inc_value

    def inc_value(name: str, count: int) -> None:
        values = held["_stats"]  # `set_stats` puts another dictionary there
        values[name] = values.get(name, 0) + count

    return inc_value
