"""The bounded memory of policies and entries."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.cache.memory import Lru, MemoryStore
from scrapy_rep.protocol.access.knowledge import Knowledge, Step

from .samples import ORIGIN, file_entry


def test_least_recently_used_value_is_evicted() -> None:
    kept: Lru[str, str] = Lru(limit_octets=30)
    for key in "abc":
        kept.put(key, key.upper(), 10)
    assert kept.get("a") == "A"
    kept.put("d", "D", 10)
    assert [kept.get(key) for key in "abcd"] == ["A", None, "C", "D"]
    assert kept.octets == 30
    assert kept.evicted_count == 1


def test_second_put_replaces_the_size() -> None:
    kept: Lru[str, str] = Lru(limit_octets=30)
    kept.put("a", "A", 10)
    kept.put("a", "B", 25)
    assert (kept.get("a"), kept.octets, len(kept)) == ("B", 25, 1)


def test_last_value_stays_at_any_size() -> None:
    kept: Lru[str, str] = Lru(limit_octets=30)
    kept.put("a", "A", 10)
    kept.put("b", "B", 100)
    assert (kept.get("a"), kept.get("b")) == (None, "B")


def test_many_values_stay_within_the_limit() -> None:
    kept: Lru[int, int] = Lru(limit_octets=1000)
    for number in range(10_000):
        kept.put(number, number, number % 50 + 1)
        assert kept.octets <= 1000
    assert len(kept) + kept.evicted_count == 10_000


def test_large_values_evict_each_other() -> None:
    kept: Lru[str, int] = Lru(limit_octets=100_000)
    for number in range(45):
        kept.put(f"small{number}", number, 300)
    for number in range(500):
        kept.put(f"large{number}", number, 9_000)
        assert kept.octets <= 100_000
    assert [kept.get(f"small{number}") for number in range(45)] == list(range(45))
    assert kept.get("large499") == 499


def test_huge_value_evicts_no_small_one() -> None:
    kept: Lru[str, int] = Lru(limit_octets=100_000)
    for number in range(45):
        kept.put(f"small{number}", number, 300)
    kept.put("huge", 1, 10**9)
    assert kept.get("huge") == 1
    assert len(kept) == 46
    kept.put("small45", 45, 300)
    assert kept.get("huge") is None
    assert len(kept) == 46


def test_large_values_use_free_room() -> None:
    kept: Lru[str, int] = Lru(limit_octets=100_000)
    for number in range(10):
        kept.put(f"large{number}", number, 9_500)
    assert kept.evicted_count == 0
    for number in range(200):
        kept.put(f"small{number}", number, 300)
    assert kept.octets <= 100_000
    assert sum(kept.get(f"small{number}") is not None for number in range(200)) > 160
    assert sum(kept.get(f"large{number}") is not None for number in range(10)) >= 4


def test_last_is_the_value_of_the_last_get() -> None:
    kept: Lru[str, str] = Lru(limit_octets=30)
    kept.put("a", "A", 10)
    assert (kept.get("a"), kept.last) == ("A", ("a", "A"))
    kept.put("a", "B", 10)
    assert kept.last is None, "it may be out of date"
    kept.get("a")
    kept.drop("a")
    assert (kept.get("a"), kept.last, kept.octets) == (None, None, 0)


@pytest.mark.parametrize(
    "large",
    [
        {"body": b"#" * 60_000},
        {"headers": (("x", "#" * 60_000),)},
        {"headers": (("x", ""),) * 400},
        {"steps": (Step("https://example.com/" + "x" * 30_000),)},
        {"confirmed_by": (Step("", location="x" * 2000),) * 30},
    ],
)
def test_all_parts_of_an_entry_count(large: dict[str, object]) -> None:
    store = MemoryStore(100_000)
    copy = file_entry().known.copy
    assert copy is not None
    entry = Entry(Key.under(ORIGIN, "first"), Knowledge(replace(copy, **large)))  # type: ignore[arg-type]
    store.commit(entry, None)
    assert store.peek(entry.origin) is entry
    store.commit(replace(entry, origin=Key.under(ORIGIN, "second")), None)
    assert len(store.keys()) == 1
