"""What a crawl records of our work: stats, and log records that bear its spider."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from scrapy.statscollectors import StatsCollector

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Count(Protocol):
    """Counts so many more under a name."""

    def __call__(self, name: str, count: int = 1, /) -> None:
        """Count."""


class Journal:
    """Counts for one crawl, and says whose log records ours are.

    Attributes:
        count: counts so many more under a name, one if no number is given.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self.count: Count = self._count_first

    def _count_first(self, name: str, count: int = 1, /) -> None:
        """Count, and keep what does: a crawler has no stats before it begins."""
        self.count = counter_of(self._crawler.stats)
        self.count(name, count)

    @property
    def extra(self) -> dict[str, Any]:
        """The `extra` of a log record."""
        return {"spider": self._crawler.spider}


def counter_of(stats: StatsCollector) -> Count:
    """A function that counts as the `inc_value` of a collector does; nothing is no count.

    Scrapy's own collectors look at the arguments of each call, and at each look-up of an attribute.
    That takes several times as long as the counting, which is done for every request.
    """
    inc_value = stats.inc_value
    is_scrapys = all(
        getattr(type(stats), name, None) is getattr(StatsCollector, name)
        for name in ("inc_value", "__getattribute__")
    )
    held = vars(stats) if is_scrapys else {}
    if "inc_value" in held or type(held.get("_stats")) is not dict:

        def ask(name: str, count: int = 1, /) -> None:
            if count:
                inc_value(name, count)

        return ask

    def add(name: str, count: int = 1, /) -> None:
        if count:
            values = held["_stats"]  # `set_stats` puts another dictionary there
            values[name] = values.get(name, 0) + count

    return add
