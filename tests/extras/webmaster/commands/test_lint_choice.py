"""``scrapy rep lint``: the choice of findings by options, comments and settings."""

from __future__ import annotations

import gzip
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from scrapy_rep.extras.webmaster.checks.codes import GROUPS, Code
from scrapy_rep.extras.webmaster.commands import lint_choice
from tests.commands.calling import rep

pytestmark = pytest.mark.usefixtures("here")

# A warning and an error; by "style" a redundant rule, a final * and no sitemap.
BODY = b"User-agent: *\nDissallow: /a\nDisallow: private/\nDisallow: /c/*\n"
BODY += b"Disallow: /e\nDisallow: /e/d\n"


def _codes(*arguments: object, body: bytes = BODY) -> set[str]:
    done = rep("lint", "-", "--json", *arguments, stdin=body)
    return {json.loads(line)["code"] for line in done.out.splitlines()}


def test_each_code_is_in_one_group() -> None:
    groups = [GROUPS[name] for name in ("search", "ai", "syntax", "style")]
    assert all(groups)
    assert GROUPS["default"] == GROUPS["all"] - GROUPS["style"]
    assert sum(map(len, groups)) == len(GROUPS["all"]) == len(Code)
    assert frozenset().union(*groups) == GROUPS["all"] == set(Code)


class TestOptions:
    @pytest.mark.parametrize(
        ("arguments", "codes"),
        [
            ([], {"REP401", "REP205"}),
            (["--select", "all"], {"REP401", "REP205", "REP504", "REP605", "REP802"}),
            (["--select", "style"], {"REP504", "REP605", "REP802"}),
            (["--select", "style,REP205"], {"REP205", "REP504", "REP605", "REP802"}),
            (["--group", "style"], {"REP504", "REP605", "REP802"}),
            (["--group", "search"], set()),
            (["--group", "search,syntax"], {"REP401", "REP205"}),
            (["--group", "search", "--select", "REP401"], {"REP401"}),
            (["--group", "all"], {"REP401", "REP205", "REP504", "REP605", "REP802"}),
            (["--select", "REP1,rep401"], {"REP401"}),
            (["--select", "rep2"], {"REP205"}),
            (["--select", "rule-matches-nothing"], {"REP401"}),
            (["--ignore", "rule-matches-nothing,REP1"], {"REP205"}),
            (["--extend-select", "REP605"], {"REP401", "REP205", "REP605"}),
            (["--ignore", "REP205"], {"REP401"}),
            (["--select", "all", "--ignore", "style"], {"REP401", "REP205"}),
            (["--level", "warning", "--select", "all"], {"REP401", "REP205"}),
            (["--level", "error"], {"REP401"}),
        ],
    )
    def test_options_choose_codes(self, arguments: list[str], codes: set[str]) -> None:
        assert _codes(*arguments) == codes

    def test_cut_lists_are_reported_for_chosen_codes(self) -> None:
        body = b"User-agent: *\n" + b"Disallow: /c/*\n" * 1002
        assert "REP112" not in _codes(body=body)
        assert "REP112" in _codes("--select", "style,REP112", body=body)

    def test_ignored_findings_do_not_fail(self) -> None:
        assert rep("lint", "-", "--ignore", "REP401", stdin=BODY).status == 0
        assert rep("lint", "-", "--ignore", "REP401", "--strict", stdin=BODY).status == 1

    def test_fix_is_limited_to_chosen_codes(self, here: Path) -> None:
        path = here / "robots.txt"
        body = BODY.replace(b"private/", b"/private")
        path.write_bytes(body)
        rep("lint", path, "--fix")
        assert path.read_bytes() == body.replace(b"Diss", b"Dis")
        rep("lint", path, "--fix", "--group", "style")
        assert path.read_bytes().endswith(b"Disallow: /e\n")


class TestReplacing:
    @pytest.mark.parametrize(
        "body",
        [
            BODY.decode().encode("utf-16-le"),
            BODY.decode().encode("utf-32"),
            gzip.compress(BODY, mtime=0),
        ],
    )
    def test_unread_file_is_not_written(self, here: Path, body: bytes) -> None:
        (here / "robots.txt").write_bytes(body)
        for call in ["lint", "--fix", "--unsafe-fixes"], ["format", "--write", "--keep-errors"]:
            done = rep(*call, "robots.txt")
            assert (done.status, (here / "robots.txt").read_bytes()) == (1, body)
            assert "is not written: " in done.err

    def test_text_with_a_mark_or_a_nul_is_written(self, here: Path) -> None:
        path = here / "robots.txt"
        path.write_bytes(BODY + b"# a\0b\0\n")
        assert "rewritten" in rep("lint", path, "--fix").out
        path.write_bytes(BODY.decode().encode("utf-16"))
        assert "already in this form" in rep("lint", path, "--fix").out
        assert "rewritten" in rep("lint", path, "--fix", "--unsafe-fixes").out

    def test_pipe_is_not_replaced(self, here: Path) -> None:
        os.mkfifo(here / "pipe")
        with ThreadPoolExecutor(1) as writing:
            writing.submit((here / "pipe").write_bytes, BODY)
            done = rep("lint", "pipe", "--fix")
        assert done.status == 2
        assert "not a regular file" in done.err
        assert (here / "pipe").is_fifo()

    def test_read_only_file_is_not_replaced(
        self, here: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = here / "robots.txt"
        path.write_bytes(BODY)
        path.chmod(0o444)
        if os.geteuid() == 0:  # root may write every file
            monkeypatch.setattr(os, "access", lambda *_: False)
        done = rep("lint", path, "--fix")
        assert (done.status, path.read_bytes()) == (2, BODY)
        assert "read-only" in done.err

    @pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
    def test_owner_and_mode_stay(self, here: Path) -> None:
        path = here / "robots.txt"
        path.write_bytes(BODY)
        path.chmod(0o640)
        os.chown(path, 12345, 12346)
        assert "rewritten" in rep("lint", path, "--fix").out
        found = path.stat()
        assert (found.st_uid, found.st_gid, found.st_mode & 0o777) == (12345, 12346, 0o640)


class TestFixAsJson:
    @pytest.mark.parametrize(
        "options",
        [["--json"], ["--output-format", "sarif"]],
        ids=" ".join,
    )
    def test_output_is_one_document(self, here: Path, options: list[str]) -> None:
        for name in "ab":
            (here / name).write_bytes(BODY)
        done = rep("lint", "a", "b", "--fix", *options)
        assert done.status == 1
        assert done.err.count("rewritten") == done.err.count("1 finding fixed") == 2
        is_sarif = "sarif" in options
        rows = json.loads(done.out)["runs"][0]["results"] if is_sarif else done.rows
        assert {row["ruleId" if is_sarif else "code"] for row in rows} == {"REP401"}


class TestStatistics:
    def test_statistics_count_codes_and_files(self, here: Path) -> None:
        (here / "a").write_bytes(BODY)
        (here / "b").write_bytes(BODY + b"Disallow: x\n" * 2)
        done = rep("lint", "a", "b", "--statistics", "--select", "all")
        assert done.status == 1
        lines = done.out.splitlines()
        assert lines[0].split() == ["findings", "files", "code", "severity", "fixed", "by", "name"]
        assert lines[1].split() == ["4", "2", "REP401", "error", "-", "rule-matches-nothing"]
        assert any(line.split()[2:6] == ["REP205", "warning", "2", "fix"] for line in lines)
        assert lines[-2] == "2 files: 4 errors, 2 warnings, 7 notes"
        (_, row) = rep("lint", "-", "--statistics", "--json", stdin=BODY).rows
        assert (row["code"], row["findings"], row["files"]) == ("REP401", 1, 1)


class TestComments:
    @pytest.mark.parametrize(
        ("body", "codes"),
        [
            (b"User-agent: *\nDisallow: private/  # rep: ignore\n", set()),
            (b"User-agent: *\nDisallow: private/  # rep: ignore REP401\n", set()),
            (b"User-agent: *\nDisallow: private/#REP:IGNORE rep4: as agreed\n", set()),
            (b"User-agent: *\nDisallow: private/ # rep: ignore REP5\n", {"REP401"}),
            (b"User-agent: *\n# rep: ignore REP401\n\n# why\nDisallow: x\n", set()),
            (b"User-agent: *\n# rep: ignore REP401\nAllow: /\nDisallow: x\n", {"REP401"}),
            (b"User-agent: *\nDisallow: x\n# rep: ignore-file rule-matches-nothing", set()),
            (b"User-agent: *\nDisallow: x\n# rep: ignore-file", {"REP401"}),
            (b"User-agent: *\nDisallow: x # rep: ignored REP401\n", {"REP401"}),
            (b"User-agent: *\nDisallow: x # see rep: ignore REP401\n", {"REP401"}),
            (b"User-agent: *\r\n# rep: ignore REP401\r\nDisallow: x\r\n", set()),
        ],
    )
    def test_comments_suppress_findings(self, body: bytes, codes: set[str]) -> None:
        assert _codes("--level", "error", body=body) == codes

    def test_suppressed_findings_are_counted(self) -> None:
        body = BODY.replace(b"private/", b"private/ # rep: ignore")
        done = rep("lint", "-", stdin=body)
        assert done.status == 0
        assert "1 file: 0 errors, 1 warning, 0 notes, 1 suppressed by comments" in done.out
        again = rep("lint", "-", "--no-suppress", stdin=body)
        assert again.status == 1
        assert "suppressed" not in again.out

    @pytest.mark.parametrize(
        "reason",
        ["all of these are old", "weak crawlers, all of them", ": all, REP4", "rep, all", "; tie"],
    )
    def test_words_of_a_reason_are_not_codes(self, reason: str) -> None:
        line = BODY.splitlines()[2].decode()
        assert "REP401" in _codes(
            body=f"User-agent: *\n{line} # rep: ignore REP509 {reason}\n".encode()
        )
        file = f"# rep: ignore-file REP509 {reason}\nUser-agent: *\n{line}\n"
        assert "REP401" in _codes(body=file.encode())

    def test_unknown_code_in_a_comment_is_noted(self) -> None:
        done = rep("lint", "-", stdin=BODY + b"# rep: ignore E501\n")
        assert "<stdin>:7: 'rep: ignore' does not name a code: 'E501'" in done.err

    def test_suppressed_finding_is_not_fixed(self, here: Path) -> None:
        path = here / "robots.txt"
        body = b"User-agent: *\n# rep: ignore REP205\nDissallow: /a\nDisalow: /c\n"
        path.write_bytes(body)
        rep("lint", path, "--fix")
        assert path.read_bytes() == body.replace(b"Disalow", b"Disallow")
        rep("lint", path, "--fix", "--no-suppress")
        assert b"Disallow: /a\n" in path.read_bytes()


PYPROJECT = """[project]
name = "x"

[tool.scrapy-rep.lint]
extend-select = ["REP605"]
ignore = ["REP401"]
strict = true
"""


class TestSettings:
    def test_pyproject_is_read(self, here: Path) -> None:
        (here / "pyproject.toml").write_text(PYPROJECT)
        assert _codes() == {"REP205", "REP605"}
        assert rep("lint", "-", stdin=BODY).status == 1  # strict
        assert _codes("--select", "REP2") == {"REP205", "REP605"}
        assert _codes("--isolated") == {"REP401", "REP205"}

    def test_group_is_a_setting_and_an_unknown_one_an_error(self, here: Path) -> None:
        (here / "scrapy-rep.toml").write_text('[lint]\ngroup = ["style"]\n')
        assert _codes() == {"REP504", "REP605", "REP802"}
        assert _codes("--group", "ai,syntax") == {"REP401", "REP205"}
        done = rep("lint", "-", "--group", "needless", stdin=BODY)
        assert (done.status, "no group is called 'needless'" in done.err) == (2, True)

    def test_own_file_comes_first(self, here: Path) -> None:
        (here / "pyproject.toml").write_text(PYPROJECT)
        (here / "scrapy-rep.toml").write_text('[lint]\nselect = ["REP401"]\n')
        assert _codes() == {"REP401"}
        assert _codes("--config", "pyproject.toml") == {"REP205", "REP605"}

    def test_nearest_folder_with_settings_counts(self, here: Path, tmp_path: Path) -> None:
        (tmp_path / "scrapy-rep.toml").write_text("[lint]\nignore = ['REP401', 'REP205']\n")
        (here / "pyproject.toml").write_text("[project]\nname = 'x'\n")
        assert _codes() == set()
        (here / "pyproject.toml").write_text(PYPROJECT)
        assert _codes() == {"REP205", "REP605"}

    @pytest.mark.parametrize(
        ("name", "text", "words"),
        [
            ("scrapy-rep.toml", "[lint]\nselekt = []", "'selekt' is not a setting of lint"),
            ("scrapy-rep.toml", "[lint]\nselect = 'REP4'", "select must be a list of strings"),
            ("scrapy-rep.toml", "[lint]\nstrict = 1", "strict must be true or false"),
            ("scrapy-rep.toml", "[lint]\nignore = ['E5']", "scrapy-rep.toml: no code begins with"),
            ("scrapy-rep.toml", "[lint]\nlevel = 'all'", "must be one of error, warning, info"),
            ("scrapy-rep.toml", "lint = 1", "lint must be a table"),
            ("scrapy-rep.toml", "[lint", "scrapy-rep.toml: "),
            (
                "scrapy-rep.toml",
                "[lints]\nstrict = true",
                "unknown table 'lints'",
            ),
            ("scrapy-rep.toml", "[lint]\n[check]\n", "unknown table 'check'"),
            ("scrapy-rep.toml", "strict = true", "unknown table 'strict'"),
            ("pyproject.toml", "[tool.scrapy-rep]\nignore = []", "unknown table 'ignore'"),
            ("pyproject.toml", "[tool.scrapy-rep.lint]\nx = 1", "'x' is not a setting"),
        ],
    )
    def test_wrong_setting_of_lint_is_an_error(
        self, here: Path, name: str, text: str, words: str
    ) -> None:
        (here / name).write_text(text)
        done = rep("lint", "-", stdin=BODY)
        assert (done.status, done.out) == (2, "")
        assert words in done.err

    def test_unreadable_own_file_is_an_error(self, here: Path) -> None:
        (here / "scrapy-rep.toml").write_bytes("[lint]\nstrict = true\n".encode("utf-16"))
        done = rep("lint", "-", stdin=BODY)
        assert (done.status, done.out) == (2, "")
        assert "scrapy-rep.toml: 'utf-8' codec" in done.err

    def test_files_of_other_software_are_ignored(self, here: Path) -> None:
        (here / "pyproject.toml").write_bytes(b"\xff\xfe no TOML")
        assert _codes() == {"REP401", "REP205"}

    def test_missing_toml_reader_is_explained(
        self, here: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As on Python 3.10, without tomli."""
        monkeypatch.setattr(lint_choice, "find_spec", lambda _: None)
        (here / "pyproject.toml").write_text("[project]\nname = 'x'\n")
        assert _codes() == {"REP401", "REP205"}
        (here / "pyproject.toml").write_text(PYPROJECT)
        done = rep("lint", "-", stdin=BODY)
        assert done.status == 2
        assert "TOML needs Python 3.11 or the package tomli" in done.err
