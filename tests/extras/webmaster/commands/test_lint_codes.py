"""``scrapy rep lint --explain``: what the codes mean."""

from __future__ import annotations

import pytest

from scrapy_rep.extras.webmaster.checks.codes import GROUPS, Code
from tests.commands.calling import rep


@pytest.mark.parametrize("code", Code)
def test_each_code_is_explained(code: Code) -> None:
    done = rep("lint", "--explain", code.value)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith(f"{code.value} {code.slug}\n  severity: {code.severity.value}")
    for words in (code.meaning, code.fix, f"/lint/{code.value}.html"):
        assert words in done.out
    assert rep("lint", "--explain", code.slug).out == done.out


def test_beginnings_and_groups_select_codes() -> None:
    done = rep("lint", "--explain", "REP6,full-url", "--json")
    assert [row["code"] for row in done.rows] == [
        code.value for code in Code if code.value.startswith("REP6") or code is Code.FULL_URL
    ]
    assert len(rep("lint", "--explain", "style", "--json").rows) == len(GROUPS["style"])


def test_all_codes_are_listed() -> None:
    lines = rep("lint", "--explain", "all").out.splitlines()
    assert lines[0].split() == ["code", "severity", "group", "name"]
    assert [line.split()[0] for line in lines[1:]] == [code.value for code in Code]


def test_files_and_codes_are_not_given_together() -> None:
    for options in ([], ["-", "--explain", "REP402"]):
        done = rep("lint", *options)
        assert (done.status, done.out) == (2, "")
        assert "give files, or codes to --explain" in done.err


def test_no_format_for_code_hosts_has_codes_alone() -> None:
    done = rep("lint", "--explain", "all", "--output-format", "sarif")
    assert (done.status, done.out) == (2, "")
    rows = rep("lint", "--explain", "all", "--output-format", "json").rows
    assert [row["code"] for row in rows] == [code.value for code in Code]
