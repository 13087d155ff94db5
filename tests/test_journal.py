"""What a crawl counts, whatever collects its stats."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from scrapy.statscollectors import DummyStatsCollector, MemoryStatsCollector, StatsCollector
from scrapy.utils.test import get_crawler

from scrapy_rep.engine.journal import Journal


class Own(MemoryStatsCollector):
    """A collector that does something else with each count."""

    def inc_value(self, key: str, count: int = 1, *_: Any, **__: Any) -> None:
        super().inc_value(f"own/{key}", count)


class Slotted:
    """A collector that is nothing of Scrapy's, and has no dictionary."""

    __slots__ = ("told",)

    def __init__(self) -> None:
        self.told: list[tuple[str, int]] = []

    def inc_value(self, key: str, count: int = 1) -> None:
        self.told.append((key, count))


def journal_of(kind: type[StatsCollector]) -> tuple[Journal, StatsCollector]:
    crawler = get_crawler()
    journal = Journal(crawler)
    crawler.stats = kind(crawler)  # as Scrapy does, after the components
    return journal, crawler.stats


def test_counts_add_up() -> None:
    journal, stats = journal_of(MemoryStatsCollector)
    first = journal.count
    first("a")
    first("a", 2)
    journal.count("a", 4)
    journal.count("b", 0)
    assert stats.get_stats() == {"a": 7}, "nothing is no count"


def test_beside_others() -> None:
    journal, stats = journal_of(StatsCollector)
    journal.count("a")
    stats.inc_value("a")
    journal.count("a")
    assert stats.get_value("a") == 3
    stats.set_value("a", 10)
    journal.count("a")
    assert stats.get_value("a") == 11
    stats.clear_stats()
    journal.count("a")
    assert stats.get_stats() == {"a": 1}


def test_of_stats_that_are_replaced() -> None:
    journal, stats = journal_of(MemoryStatsCollector)
    journal.count("a")
    stats.set_stats({"a": 5})
    journal.count("a")
    assert stats.get_stats() == {"a": 6}


def test_collectors_that_count_otherwise_are_asked() -> None:
    journal, stats = journal_of(Own)
    journal.count("a")
    journal.count("a", 0)
    journal.count("a", 2)
    assert stats.get_stats() == {"own/a": 3}


def test_a_collector_that_keeps_nothing() -> None:
    journal, stats = journal_of(DummyStatsCollector)
    journal.count("a")
    assert stats.get_stats() == {}


def test_a_method_that_was_replaced_is_called() -> None:
    journal, stats = journal_of(MemoryStatsCollector)
    told: list[tuple[str, int]] = []

    def inc_value(key: str, count: int = 1) -> None:
        told.append((key, count))

    stats.inc_value = inc_value  # type: ignore[method-assign, assignment]
    journal.count("a")
    assert told == [("a", 1)]


def test_a_collector_without_a_dictionary() -> None:
    stats: Any = Slotted()
    crawler: Any = SimpleNamespace(stats=stats)
    journal = Journal(crawler)
    journal.count("a")
    journal.count("a", 0)
    assert stats.told == [("a", 1)]
