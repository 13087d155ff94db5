"""The bounded memory of policies."""

from __future__ import annotations

from scrapy_rep.cache.memory import Lru


def test_the_least_recently_used_go_first() -> None:
    kept: Lru[str, str] = Lru(limit_octets=30)
    for key in "abc":
        kept.put(key, key.upper(), 10)
    assert kept.get("a") == "A"
    kept.put("d", "D", 10)
    assert [kept.get(key) for key in "abcd"] == ["A", None, "C", "D"]
    assert kept.octets == 30
    assert kept.evicted_count == 1


def test_putting_a_key_again_replaces_what_it_cost() -> None:
    kept: Lru[str, str] = Lru(limit_octets=30)
    kept.put("a", "A", 10)
    kept.put("a", "B", 25)
    assert (kept.get("a"), kept.octets, len(kept)) == ("B", 25, 1)


def test_the_last_value_stays_however_large() -> None:
    kept: Lru[str, str] = Lru(limit_octets=30)
    kept.put("a", "A", 10)
    kept.put("b", "B", 100)
    assert (kept.get("a"), kept.get("b")) == (None, "B")


def test_dropping() -> None:
    kept: Lru[str, str] = Lru(limit_octets=30)
    kept.put("a", "A", 10)
    kept.drop("a")
    kept.drop("never there")
    assert (kept.get("a"), kept.octets, len(kept)) == (None, 0, 0)


def test_many_values_stay_within_the_limit() -> None:
    kept: Lru[int, int] = Lru(limit_octets=1000)
    for number in range(10_000):
        kept.put(number, number, number % 50 + 1)
        assert kept.octets <= 1000
    assert len(kept) + kept.evicted_count == 10_000


def test_a_few_large_values_do_not_evict_the_others() -> None:
    kept: Lru[str, int] = Lru(limit_octets=100_000)
    for number in range(45):
        kept.put(f"small{number}", number, 300)
    for number in range(500):
        kept.put(f"large{number}", number, 9_000)
        assert kept.octets <= 100_000
    assert [kept.get(f"small{number}") for number in range(45)] == list(range(45))
    assert kept.get("large499") == 499


def test_one_that_is_larger_than_all_evicts_no_small_one() -> None:
    kept: Lru[str, int] = Lru(limit_octets=100_000)
    for number in range(45):
        kept.put(f"small{number}", number, 300)
    kept.put("huge", 1, 10**9)
    assert kept.get("huge") == 1
    assert len(kept) == 46
    kept.put("small45", 45, 300)
    assert kept.get("huge") is None
    assert len(kept) == 46


def test_large_values_use_what_nobody_else_needs() -> None:
    kept: Lru[str, int] = Lru(limit_octets=100_000)
    for number in range(10):
        kept.put(f"large{number}", number, 9_500)
    assert kept.evicted_count == 0
    for number in range(200):
        kept.put(f"small{number}", number, 300)
    assert kept.octets <= 100_000
    assert sum(kept.get(f"small{number}") is not None for number in range(200)) > 160
    assert sum(kept.get(f"large{number}") is not None for number in range(10)) >= 4


def test_what_was_got_last_is_no_other() -> None:
    """It is remembered, and must be forgotten with whatever changes."""
    kept: Lru[str, str] = Lru(limit_octets=30)
    kept.put("a", "A", 10)
    assert (kept.get("a"), kept.get("a")) == ("A", "A")
    kept.put("a", "B", 10)
    assert kept.get("a") == "B"
    for key in "bcd":  # the last of them evicts the first
        kept.put(key, key.upper(), 10)
    assert kept.get("a") is None
    assert kept.get("d") == "D"
    kept.drop("d")
    assert kept.get("d") is None


def test_getting_another_in_between() -> None:
    kept: Lru[str, str] = Lru(limit_octets=30)
    for key in "abc":
        kept.put(key, key.upper(), 10)
    assert [kept.get(key) for key in "abaa"] == ["A", "B", "A", "A"]
    kept.put("d", "D", 10)
    assert [kept.get(key) for key in "abcd"] == ["A", "B", None, "D"], "a was used last"
