"""Compares the answers of this package with those of a suite, and the difference with the list."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from tests.outside import Checkout, Suite


class Judgement(NamedTuple):
    """How a suite went.

    Attributes:
        cases: how many there are.
        equal: how many of them have the suite's answer.
        by_design: how many of them differ, and are in the list.
        complaints: what the list should say and does not, or says and should not.
    """

    cases: int
    equal: int
    by_design: int
    complaints: list[str]


def judge(suite: Suite, checkout: Checkout, listed: Collection[str]) -> Judgement:
    """Judge the cases of a suite; `listed` has the names of those that may differ."""
    cases = {}
    complaints = []
    for case in suite.cases(checkout):
        if case.name in cases:
            complaints.append(f"{suite.name}: two cases have the name {case.name}")
        cases[case.name] = case
    if not cases:
        complaints.append(f"{suite.name}: no case can be read")
    different = {}
    for name, case in cases.items():
        answer = suite.answer(case.given)
        if answer != case.expected:
            different[name] = f"{answer}, not {case.expected}: {case.given}"
    complaints += [
        f"{suite.name} {name}: {why}" for name, why in different.items() if name not in listed
    ]
    complaints += [
        f"{suite.name} {name}: does not differ; remove it from the list"
        for name in listed
        if name not in different
    ]
    by_design = len([name for name in different if name in listed])
    return Judgement(len(cases), len(cases) - len(different), by_design, complaints)
