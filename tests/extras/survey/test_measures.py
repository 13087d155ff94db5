"""Values that add up: laws, and how exact they are."""

from __future__ import annotations

import json
import random
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.extras.evidence.distribution import Distribution
from scrapy_rep.extras.survey.measures import Distinct, OpenCounts

_MOST_NAMES = 200_000  # that are kept

NUMBERS = st.lists(st.integers(0, 2000) | st.integers(0, 10**15) | st.just(10**26), max_size=40)


def _distribution(numbers: list[int]) -> Distribution:
    made = Distribution()
    for number in numbers:
        made.add(number)
    return made


@given(NUMBERS, st.integers(0, 40))
def test_a_distribution_is_the_same_in_any_split(numbers: list[int], at: int) -> None:
    whole = _distribution(numbers)
    parts = _distribution(numbers[at:])
    parts.update(_distribution(numbers[:at]))
    assert parts.to_json() == whole.to_json()
    again = Distribution.from_json(json.loads(json.dumps(whole.to_json())))
    assert again.to_json() == whole.to_json()
    assert again.count == whole.count == len(numbers)


@given(st.lists(st.integers(0, 10**12), min_size=1, max_size=60), st.integers(0, 100))
def test_quantiles_are_within_one_percent(numbers: list[int], percent: int) -> None:
    found = _distribution(numbers).quantile(percent)
    rank = max(1, -(-len(numbers) * percent // 100))
    exact = sorted(numbers)[rank - 1]
    assert abs(found - exact) <= exact / 100
    if exact < 1024 or percent in (0, 100):
        assert found == exact


def test_empty_distribution_has_quantiles() -> None:
    assert (Distribution().quantile(50), Distribution().mean, Distribution().positive) == (0, 0, 0)


def _distinct(things: range) -> Distinct:
    made = Distinct()
    for thing in things:
        made.add(sha256(str(thing).encode()).digest())
    return made


@pytest.mark.parametrize("many", [0, 1, 4095, 4096, 50_000])
def test_distinct_values_are_counted_within_5_percent(many: int) -> None:
    found = _distinct(range(many))
    found.update(_distinct(range(many // 2)))
    assert found.is_exact == (many < 4096)
    assert abs(found.estimate - many) <= (0 if found.is_exact else many * 0.05)


def test_distinct_is_the_same_in_any_split() -> None:
    whole = _distinct(range(20_000))
    parts = _distinct(range(13_000, 20_000))
    parts.update(_distinct(range(15_000)))
    assert parts.to_json() == whole.to_json()
    assert Distinct.from_json(whole.to_json()).to_json() == whole.to_json()


def test_open_counts_are_wrong_by_at_most_their_error() -> None:
    parts = [OpenCounts(2), OpenCounts(2)]
    exact = {f"rare{number}": 1 for number in range(_MOST_NAMES)}
    for name in exact:
        parts[0].add(name)
    chance = random.Random(1)
    for turn in range(4000):
        name = f"n{int(chance.paretovariate(0.6))}"
        exact[name] = exact.get(name, 0) + 1
        parts[turn % 2].add(name, turn % 2)
    parts[0].update(parts[1])
    found = parts[0]
    assert len(found) <= _MOST_NAMES
    assert 0 < found.error < 4000
    for name, count in exact.items():
        assert count - found.error <= sum(found.get(name)) <= count
    again = OpenCounts.from_json(found.to_json())
    assert (again.error, again.most(20)) == (found.error, found.most(20))


def test_few_names_are_exact() -> None:
    found = OpenCounts(1)
    for name in "abca":
        found.add(name)
    assert found.error == 0
    assert found.most(2) == [("a", (2,)), ("b", (1,))]


def test_errors_add_up() -> None:
    """A sum of counts may be wrong by the errors of both."""
    one, other = OpenCounts(1), OpenCounts(1)
    one.error, other.error = 2, 3
    one.update(other)
    assert one.error == 5
