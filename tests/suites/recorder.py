"""A pytest plugin that writes each outcome at once, so that a killed run keeps those it had.

`places.py` copies this file into the virtual environment of a suite. `REP_SUITES_RESULTS` names the
file for the outcomes, one JSON array a line. A test that was started before is not run again.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

_RESULTS = Path(os.environ["REP_SUITES_RESULTS"])


def _write(test: str, event: str, why: str = "") -> None:
    with _RESULTS.open("a", encoding="utf-8") as file:
        file.write(json.dumps([test, event, why]) + "\n")


def _why(report: pytest.TestReport | pytest.CollectReport) -> str:
    """The last line of pytest's explanation."""
    lines = [line for line in report.longreprtext.splitlines() if line.startswith("E ")]
    return " ".join(lines[-1].split()[1:])[:300] if lines else ""


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave out the tests that were started before."""
    if _RESULTS.exists():
        lines = _RESULTS.read_text(encoding="utf-8").splitlines()
        known = {json.loads(line)[0] for line in lines}
        items[:] = [item for item in items if item.nodeid not in known]


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Write that a file could not be imported."""
    if report.failed:
        _write(report.nodeid, "failed", _why(report))


def pytest_runtest_logstart(nodeid: str) -> None:
    """Write that a test starts."""
    _write(nodeid, "started")


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Write the outcome of a test, or of a fixture if it failed or skipped."""
    if report.when == "call" or not report.passed:
        _write(report.nodeid, report.outcome, _why(report) if report.failed else "")


def pytest_sessionfinish() -> None:
    """Write that all tests ran."""
    _write("", "finished")
