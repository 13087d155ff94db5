"""Compares the outcomes of the same tests with Scrapy's own middleware and with ours."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import NamedTuple


class Outcome(NamedTuple):
    """The outcome of a test: `passed`, `failed`, `skipped`, or `started` if it did not end."""

    event: str
    why: str = ""

    @property
    def is_pass(self) -> bool:
        """Whether the test passed."""
        return self.event == "passed"


Outcomes = Mapping[str, Outcome]


def words_of(outcome: Outcome | None) -> str:
    """How a test with ours did not pass, in words."""
    if outcome is None:
        return "did not run"
    return (
        "did not end in time" if outcome.event == "started" else f"{outcome.event}: {outcome.why}"
    )


class Expected(NamedTuple):
    """A test that fails only with ours, for a good reason. Its parameters are optional."""

    suite: str
    test: str
    reason: str

    def covers(self, test: str) -> bool:
        """Whether this is the test, or the test without its parameters."""
        return test == self.test or test.startswith(f"{self.test}[")


class Comparison(NamedTuple):
    """Tests that pass with Scrapy's own middleware and not with ours, and what the list says."""

    own_passed: int
    ours_passed: int
    listed: list[str]
    unlisted: list[str]
    outdated: list[Expected]

    def __str__(self) -> str:
        """One line with numbers."""
        return (
            f"passed with Scrapy's own: {self.own_passed}, with ours: {self.ours_passed}; "
            f"fail only with ours: {len(self.listed)} in the list, "
            f"{len(self.unlisted)} not in the list"
        )


def outcomes_of(lines: Iterable[str]) -> tuple[dict[str, Outcome], bool]:
    """The outcomes that `recorder.py` wrote, and whether all tests ran."""
    outcomes: dict[str, Outcome] = {}
    is_finished = False
    for line in lines:
        test, event, why = json.loads(line)
        if event == "finished":
            is_finished = True
        elif test not in outcomes or outcomes[test].event != "failed":
            outcomes[test] = Outcome(event, why)
    return outcomes, is_finished


def only_with_ours(own: Outcomes, ours: Outcomes) -> list[str]:
    """The tests that pass with Scrapy's own middleware and not with ours."""
    missing = Outcome("missing")
    return [
        test
        for test, outcome in own.items()
        if outcome.is_pass and not ours.get(test, missing).is_pass
    ]


def compare(own: Outcomes, ours: Outcomes, expected: Iterable[Expected]) -> Comparison:
    """Sort the tests that fail only with ours into those in the list and the others."""
    listed: list[str] = []
    unlisted: list[str] = []
    expected = list(expected)
    for test in only_with_ours(own, ours):
        is_listed = any(entry.covers(test) for entry in expected)
        (listed if is_listed else unlisted).append(test)
    return Comparison(
        own_passed=sum(outcome.is_pass for outcome in own.values()),
        ours_passed=sum(outcome.is_pass for outcome in ours.values()),
        listed=listed,
        unlisted=unlisted,
        outdated=[entry for entry in expected if _is_outdated(entry, ours)],
    )


def _is_outdated(entry: Expected, ours: Outcomes) -> bool:
    covered = [outcome for test, outcome in ours.items() if entry.covers(test)]
    return bool(covered) and all(outcome.is_pass for outcome in covered)


def expected_of(text: str, suite: str) -> list[Expected]:
    """Read the entries of a suite. A line is `SUITE TEST  # REASON`.

    Raises:
        ValueError: a line has no reason.
    """
    entries = []
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        entry, _, reason = line.rpartition("  # ")
        name, _, test = entry.strip().partition(" ")
        if not (name and test and reason.strip()):
            raise ValueError(f"not 'SUITE TEST  # REASON': {line}")
        if name == suite:
            entries.append(Expected(name, test.strip(), reason.strip()))
    return entries
