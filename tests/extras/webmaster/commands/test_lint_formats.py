"""``scrapy rep lint`` in CI: formats of code hosts, and unreadable files."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.webmaster.checks.codes import Code
from tests.commands.calling import rep

BAD = b"User-agent: *\nDisallow: private/\nDisallow: /a b\nDisallow: private/\n"
CLEAN = b"User-agent: *\nDisallow: /a\n"
ODD = BAD + "Disallow: x\x01\x1b,%:\n\ufffe\nDisallow: \ud7ff\n".encode() + b"Disallow: y\xff\n"
SARIF_LEVELS = {"none", "note", "warning", "error"}


@pytest.fixture
def files(here: Path) -> list[str]:
    """Files with findings, without any, with odd characters, and a missing one."""
    (here / "a b").mkdir()
    (here / "a b/robots.txt").write_bytes(BAD)
    (here / "clean.txt").write_bytes(CLEAN)
    (here / "odd,%:.txt").write_bytes(ODD)
    return ["a b/robots.txt", "clean.txt", "odd,%:.txt", "none.txt"]


def _found(files: list[str], *options: str) -> list[dict[str, Any]]:
    return rep("lint", *files, "--json", *options).rows


def test_sarif_has_each_finding_and_failure(files: list[str]) -> None:
    """The output has the required properties and the enumerations of SARIF 2.1.0."""
    done = rep("lint", *files, "--output-format", "sarif", "--select", "all")
    assert done.status == 2
    log = json.loads(done.out)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    assert run["tool"]["driver"]["name"] == "scrapy-rep"
    assert run["tool"]["driver"]["informationUri"].startswith("https://")
    assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == [code.value for code in Code]
    assert all(rule["helpUri"].endswith(f"/lint/{rule['id']}.html") for rule in rules)
    tags = {code.value: [code.group] for code in Code}
    assert {rule["id"]: rule["properties"]["tags"] for rule in rules} == tags
    found = _found(files, "--select", "all")
    assert len(run["results"]) == len(found)
    for result, row in zip(run["results"], found, strict=True):
        assert (result["ruleId"], rules[result["ruleIndex"]]["id"]) == (row["code"],) * 2
        assert result["level"] in SARIF_LEVELS
        assert result["message"]["text"]
        (place,) = result["locations"]
        region = place["physicalLocation"]["region"]
        assert region["startLine"] == (row["line"] or 1)
        assert region.get("startColumn") == row["column"]
        uri = place["physicalLocation"]["artifactLocation"]["uri"]
        assert re.fullmatch(r"[A-Za-z0-9/._~%-]+", uri)
    one = next(result for result in run["results"] if result["ruleId"] == "REP401")
    region = one["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 2, "startColumn": 11, "snippet": {"text": "private/"}}
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (note,) = invocation["toolExecutionNotifications"]
    assert note["level"] == "error"
    assert note["message"]["text"] == "none.txt: No such file or directory"
    (place,) = note["locations"]
    assert place["physicalLocation"]["artifactLocation"]["uri"] == "none.txt"
    (run,) = json.loads(rep("lint", *files[:3], "--output-format", "sarif").out)["runs"]
    assert run["invocations"] == [{"executionSuccessful": True, "toolExecutionNotifications": []}]


_COMMAND = re.compile(r"::(error|warning|notice) ((?:\w+=[^,:\n]*,?)+)::([^\n]+)")


def test_github_has_an_annotation_for_each_finding(files: list[str]) -> None:
    """``::level name=value,...::message``, as the toolkit of GitHub Actions escapes them."""
    done = rep("lint", *files, "--output-format", "github", "--select", "all")
    rows = _found(files, "--select", "all")
    lines = done.out.splitlines()
    assert len(lines) == len(rows) + 1
    levels = {"error": "error", "warning": "warning", "info": "notice"}
    for line, row in zip(lines, rows, strict=False):
        found = _COMMAND.fullmatch(line)
        assert found is not None, line
        level, told, message = found.groups()
        properties = dict(one.split("=", 1) for one in told.split(","))
        file = properties.pop("file")
        for escaped, raw in (("%3A", ":"), ("%2C", ","), ("%25", "%")):
            file = file.replace(escaped, raw)
        assert file == row["file"]
        assert properties == {
            "line": str(row["line"] or 1),
            **({"col": str(row["column"])} if row["column"] else {}),
            "title": f"scrapy rep lint ({row['code']})",
        }
        assert level == levels[row["severity"]]
        assert row["code"] in message
    assert "write %2520" in done.out
    assert lines[-1] == "::error title=scrapy rep lint::none.txt: No such file or directory"


def test_gitlab_has_an_issue_for_each_finding(files: list[str]) -> None:
    """The properties that GitLab's Code Quality needs, with fingerprints of their own."""
    done = rep("lint", *files, "--output-format", "gitlab", "--select", "all")
    issues = json.loads(done.out)
    rows = _found(files, "--select", "all")
    assert len(issues) == len(rows) + 1
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)
    levels = {"error": "major", "warning": "minor", "info": "info"}
    for issue, row in zip(issues, rows, strict=False):
        assert issue.keys() == {*issues[-1]}
        assert issue["check_name"] == row["name"]
        assert issue["severity"] == levels[row["severity"]]
        assert issue["location"] == {"path": row["file"], "lines": {"begin": row["line"] or 1}}
    assert (issues[-1]["severity"], issues[-1]["location"]["path"]) == ("blocker", "none.txt")


@pytest.mark.parametrize(("form", "empty"), [("sarif", []), ("gitlab", []), ("github", "")])
def test_clean_file_has_no_findings(here: Path, form: str, empty: object) -> None:
    """A code host knows paths of the repository only; standard input is taken for its file."""
    path = here / "robots.txt"
    path.write_bytes(CLEAN)
    done = rep("lint", path, "--output-format", form)
    assert (done.status, done.err) == (0, "")
    found: Any = json.loads(done.out) if form != "github" else done.out
    assert (found["runs"][0]["results"] if form == "sarif" else found) == empty
    path.write_bytes(BAD)
    by_path = rep("lint", path, "--output-format", form).out
    assert str(here) not in by_path
    assert rep("lint", "-", "--output-format", form, stdin=BAD).out == by_path


class TestEndlessInput:
    """At most 16 MiB of a file are read, and one line more than a list may have."""

    def test_large_file_is_cut(self, here: Path) -> None:
        with (here / "robots.txt").open("wb") as file:
            file.write(BAD)
            file.truncate(3 << 30)
        done = rep("lint", "robots.txt", "--select", "REP106,REP403")
        assert done.status == 1
        assert "REP106 error" in done.out
        assert "REP403 warning" in done.out
        assert done.err.endswith("note: robots.txt: only the first 16,777,216 octets are read\n")

    @pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no /dev/zero")
    @pytest.mark.parametrize(
        ("call", "status"),
        [
            ("lint /dev/zero", 1),
            ("format /dev/zero --check", 1),
            ("agents /dev/zero", 0),
            ("check /a --robots /dev/zero --agent x", 0),
            ("check - --robots clean.txt --agent x", 2),
            ("lint clean.txt --config /dev/zero", 2),
            ("collect /dev/zero -s REP_STORE_PATH=store", 2),
            ("survey diff /dev/zero clean.txt", 2),
        ],
    )
    def test_endless_file_is_survived(self, here: Path, call: str, status: int) -> None:
        (here / "clean.txt").write_bytes(CLEAN)
        done = rep(*call.split(), stdin=bytes(2 << 20))
        assert done.status == status
        assert "Traceback" not in done.err
        assert len(done.err) < 500


class TestArguments:
    @pytest.mark.parametrize(
        ("argument", "advice"),
        [
            ("www.example.com", "give a URL: https://www.example.com\n"),
            ("example.com/robots.txt", "give a URL: https://example.com\n"),
            ("example.co.uk:8443", "give a URL: https://example.co.uk:8443\n"),
            ("file:///x/robots.txt", "give its path: /x/robots.txt\n"),
            ("FILE:///a%20b/robots.txt", "give its path: /a b/robots.txt\n"),
            ("http:/example.com", "a URL begins with http://, https:// or ftp://\n"),
            ("htps://example.com/robots.txt", "a URL begins with http://, https:// or ftp://\n"),
            ("c:/robots.txt", "No such file or directory\n"),
            ("robots.txt", "No such file or directory\n"),
            ("site/robots.txt", "No such file or directory\n"),
            ("robots.txt.bak", "No such file or directory\n"),
        ],
    )
    @pytest.mark.usefixtures("here")
    def test_error_names_the_right_argument(self, argument: str, advice: str) -> None:
        for call in (["lint", argument], ["check", "/", "--robots", argument, "--agent", "x"]):
            done = rep(*call)
            assert done.status == 2
            assert done.err.endswith(advice)

    def test_wildcards_are_expanded(self, here: Path) -> None:
        for name in ("a", "b", "b/c"):
            (here / name).mkdir()
            (here / name / "robots.txt").write_bytes(CLEAN)
        (here / "[x].txt").write_bytes(CLEAN)
        assert rep("lint", "*/robots.txt", "[x].txt").out.startswith("3 files: ")
        assert rep("lint", "**/robots.txt").out.startswith("3 files: ")
        assert rep("format", "*/robots.txt", "--check").out.splitlines() == [
            f"{Path(name, 'robots.txt')}: already in this form" for name in "ab"
        ]
        done = rep("lint", "*/none.txt")
        assert (done.status, done.out) == (2, "")
        assert "*/none.txt: No such file" in done.err


def test_internal_error_ends_with_70(monkeypatch: pytest.MonkeyPatch) -> None:
    """Python ends with 1 after a traceback, which is the status of findings."""

    def fail(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("scrapy_rep.extras.webmaster.commands.lint.lint", fail)
    done = rep("lint", "-", stdin=CLEAN)
    assert (done.status, done.out) == (70, "")
    assert "ZeroDivisionError" in done.err
    assert "please report the lines above" in done.err
