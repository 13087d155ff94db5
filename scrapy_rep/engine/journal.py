"""What a crawl records of our work: stats, and log records that bear its spider."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Protocol

from scrapy.statscollectors import StatsCollector

from scrapy_rep.protocol.errors import ConfigurationError

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


def log_refusals_in_one_line() -> None:
    """See that a wrong setting, which stops the crawl, is one line of the log.

    Scrapy lets the error pass. So asyncio or Twisted log it, below the traceback of all that was
    being built.
    """
    for name in ("asyncio", "twisted"):
        logging.getLogger(name).addFilter(_in_one_line)  # once: a filter is not added again


def _in_one_line(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    if isinstance(error, ConfigurationError):
        record.msg, record.args = str(error), ()
        cause = error.__cause__  # of code that is not ours, such as a class that the user names
        record.exc_info = None if cause is None else (type(cause), cause, cause.__traceback__)
    return True


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
