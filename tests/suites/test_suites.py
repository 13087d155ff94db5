"""The comparison of the suites, and the switch, without a suite."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.suites.comparing import Expected, Outcome, compare, expected_of, outcomes_of
from tests.suites.table import SUITES

PASSED, FAILED = Outcome("passed"), Outcome("failed", "why")
OWN = {"a.py::one": PASSED, "a.py::two[1]": PASSED, "a.py::three": FAILED, "a.py::four": PASSED}


def test_only_failures_of_ours_are_compared() -> None:
    ours = {**OWN, "a.py::one": FAILED, "a.py::two[1]": Outcome("started")}
    result = compare(OWN, ours, [Expected("s", "a.py::two", "why")])
    assert (result.listed, result.unlisted) == (["a.py::two[1]"], ["a.py::one"])
    assert (result.own_passed, result.ours_passed, result.outdated) == (3, 1, [])


def test_a_test_that_did_not_run_fails() -> None:
    assert compare(OWN, {}, []).unlisted == ["a.py::one", "a.py::two[1]", "a.py::four"]


def test_entries_that_pass_are_outdated() -> None:
    passes, did_not_run = Expected("s", "a.py::two", ""), Expected("s", "a.py::five", "")
    assert compare(OWN, OWN, [passes, did_not_run]).outdated == [passes]


def test_last_outcome_of_a_test_counts() -> None:
    events = [("a", "started"), ("a", "passed"), ("a", "failed"), ("b", "started")]
    lines = [json.dumps([*event, ""]) for event in events]
    expected = {"a": Outcome("failed"), "b": Outcome("started")}
    assert outcomes_of(lines) == (expected, False)
    assert outcomes_of([*lines, json.dumps(["", "finished", ""])]) == (expected, True)


def test_list_of_expected_failures_needs_reasons() -> None:
    text = "# a comment\n\ns a.py::one[x # y]  # why\nother a.py::two  # why\n"
    assert expected_of(text, "s") == [Expected("s", "a.py::one[x # y]", "why")]
    with pytest.raises(ValueError, match="SUITE TEST"):
        expected_of("s a.py::one", "s")


def test_the_list_names_suites_that_exist() -> None:
    text = Path(__file__).with_name("expected.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert sum(len(expected_of(text, suite)) for suite in SUITES) == len(lines)


def test_switch_sets_the_settings_of_a_suite() -> None:
    code = "import tests.suites.switch; from scrapy.settings import Settings; "
    code += "print(Settings().getbool('ROBOTSTXT_OBEY'), Settings()['BOT_NAME'])"
    variables = {**os.environ, "REP_SUITES_SETTINGS": json.dumps({"ROBOTSTXT_OBEY": True})}
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", code]
    shown = subprocess.check_output(command, env=variables, cwd=root, text=True)
    assert shown.split() == ["True", "scrapybot"]
