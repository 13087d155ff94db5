"""``scrapy rep lint``: text, JSON, SARIF, which findings, and the exit status."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scrapy_rep.commands import engine_work
from scrapy_rep.extras.webmaster.effect import differences
from scrapy_rep.protocol.access.knowledge import Answer
from scrapy_rep.protocol.access.origin import Origin
from tests.commands.calling import rep

FILE = b"User-agent: *\nDisallow: private/\nDisallow: /a b\n"


class TestText:
    def test_all_shows_line_caret_and_help(self, robots: Path) -> None:
        done = rep("lint", robots, "--select", "REP4", "--all")
        assert done.status == 1
        assert done.out == (
            f"{robots}:2:11: REP401 error: a path pattern begins with neither '/' nor '*' and "
            "matches nothing\n"
            "  2 | Disallow: private/\n"
            "    |           ^^^^^^^^\n"
            "  = help: write /private/ for the top of the site, or /*private/ for any place; the "
            "rule has no effect now and disallows such paths then\n"
            "\n"
            f"{robots}:3:13: REP403 warning: the path contains white space, which some crawlers "
            "read as its end  [unsafe fix]\n"
            "  3 | Disallow: /a b\n"
            "    |             ^\n"
            "  = help: write %20; that changes the rule for crawlers that compare octets as they "
            "are written, as Google's do (this may change what crawlers fetch)\n"
            "\n"
            "1 file: 1 error, 1 warning, 0 notes\n"
            "--fix --unsafe-fixes fixes 1 of them\n"
        )

    def test_each_code_gets_a_line(self, robots: Path) -> None:
        robots.write_bytes(FILE + b"Disallow: c\x1b[1m/d\n" * 3)
        done = rep("lint", robots)
        assert done.out == (
            f"{robots}:2:11: REP401 error: a path pattern begins with neither '/' nor '*' and "
            "matches nothing: private/  and 3 more (lines 4, 5, 6)\n"
            f"{robots}:3:13: REP403 warning: the path contains white space, which some crawlers "
            "read as its end  [unsafe fix]\n"
            f"{robots}:4:12: REP415 warning: the path contains an invisible character: \\x1b  and "
            "2 more (lines 5, 6)\n"
            "1 file: 4 errors, 4 warnings, 0 notes\n"
            "--fix --unsafe-fixes fixes 1 of them; --all shows the other 5 too, with line and "
            "advice\n"
        )

    def test_lines_fit_the_terminal(self, here: Path) -> None:
        """The mark of a fix is not split."""
        (here / "robots.txt").write_bytes(FILE)
        for columns in range(50, 100):
            narrow = {"NO_COLOR": "1", "COLUMNS": str(columns)}
            out = rep("lint", "robots.txt", is_terminal=True, environment=narrow).out
            assert (out.count("[unsafe fix]"), out.count("[unsafe")) == (1, 1), out
            assert max(map(len, out.splitlines())) <= columns
        call = ["lint", "robots.txt", "--all", "--select", "all"]
        out = rep(*call, is_terminal=True, environment=narrow).out
        assert max(map(len, out.splitlines())) <= columns

    def test_refused_file_has_no_mark_of_format(self, here: Path) -> None:
        twice = "User-agent: *\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n"
        (here / "good.txt").write_text(twice)
        (here / "bad.txt").write_text(f"{twice}User-agent: c Disallow: /c\n")
        assert "[format]" in rep("lint", "good.txt").out
        assert rep("format", "bad.txt").status == 1
        assert "[format]" not in rep("lint", "bad.txt").out
        assert "once the errors of the file are corrected" in rep("lint", "bad.txt", "--all").out

    def test_colour_is_for_terminals(self, robots: Path) -> None:
        assert "\x1b[31;1merror" in rep("lint", robots, is_terminal=True).out
        assert "\x1b" not in rep("lint", robots).out
        plain = rep("lint", robots, is_terminal=True, environment={"NO_COLOR": "1"})
        assert "\x1b" not in plain.out

    def test_long_line_is_cut_around_the_place(self) -> None:
        body = b"User-agent: *\nDisallow: /" + b"a" * 300 + b" " + b"b" * 300 + b"\n"
        done = rep("lint", "-", "--select", "REP403", "--all", stdin=body)
        source, caret = done.out.splitlines()[1:3]
        assert len(source) < 120
        assert source[caret.index("^")] == " "

    @pytest.mark.parametrize("text", ["é", "漢字", "\t", "\x1b"])
    def test_caret_is_below_the_place(self, text: str) -> None:
        from scrapy_rep.commands.terminal import width_of

        body = f"User-agent: *\nDisallow: /{text}%zz\n".encode()
        source, caret = rep(
            "lint", "-", "--all", "--select", "REP502", stdin=body
        ).out.splitlines()[1:3]
        assert width_of(source[: source.index("%")]) == caret.index("^")
        assert "\x1b" not in source


@pytest.mark.parametrize(
    ("rule", "status", "strict_status"),
    [(b"Disallow: /a", 0, 0), (b"Disallow: /a b", 0, 1), (b"Disallow: a", 1, 1)],
)
def test_status_depends_on_severity(rule: bytes, status: int, strict_status: int) -> None:
    body = b"User-agent: *\n" + rule
    assert rep("lint", "-", stdin=body).status == status
    assert rep("lint", "-", "--strict", stdin=body).status == strict_status


class TestSeveral:
    def test_unreadable_file_does_not_stop_others(self, robots: Path) -> None:
        done = rep("lint", robots.parent / "none", "https://[", robots)
        assert done.status == 2
        assert "REP401 error" in done.out
        assert done.out.splitlines()[-2].startswith("1 file: ")
        assert "No such file" in done.err
        assert "https://[" in done.err


class TestSites:
    """Answers of sites, without a network; `test_process.py` has real sites."""

    def test_both_schemes_are_compared(self, monkeypatch: pytest.MonkeyPatch) -> None:
        bodies = {"http": b"User-agent: *\nDisallow: /\n", "https": b"User-agent: *\nDisallow:\n"}

        def ask(_: object, origins: list[Origin]) -> dict[Origin, Answer]:
            return {
                origin: Answer(
                    200,
                    bodies[origin.scheme],
                    (origin.robots_txt_uri,),
                    {"content-type": "text/plain"},
                )
                for origin in origins
            }

        monkeypatch.setattr(engine_work, "fetch_now", ask)
        done = rep("lint", "https://h/", "--both-schemes", "--select", "REP0")
        assert done.status == 0
        assert "REP012 warning" in done.out
        assert "(such as / for *)" in done.out
        assert "REP012" not in rep("lint", "https://h/", "--select", "REP0").out
        bodies["http"] = bodies["https"]
        assert "REP012" not in rep("lint", "https://h/", "--both-schemes").out


class TestMachines:
    def test_json_has_a_row_for_each_finding(self, robots: Path) -> None:
        found = rep("lint", robots, "--json").rows
        whole = json.loads(rep("lint", robots, "--json", "--select", "REP605").out)
        assert whole["line"] is None
        assert {finding["mended_by"] for finding in found} == {None, "unsafe fix"}
        one = next(finding for finding in found if finding["code"] == "REP401")
        assert one == {
            "file": str(robots),
            "line": 2,
            "column": 11,
            "code": "REP401",
            "name": "rule-matches-nothing",
            "group": "syntax",
            "severity": "error",
            "message": "a path pattern begins with neither '/' nor '*' and matches nothing",
            "found": "private/",
            "mend": (
                "write /private/ for the top of the site, or /*private/ for any place; the rule "
                "has no effect now and disallows such paths then"
            ),
            "mend_effect": "changes",
            "mended_by": None,
        }

    def test_fingerprint_survives_other_changes(self, robots: Path) -> None:
        def prints(body: bytes) -> list[str]:
            robots.write_bytes(body)
            log = json.loads(
                rep("lint", robots, "--output-format", "sarif", "--select", "REP4").out
            )
            results = log["runs"][0]["results"]
            return [result["partialFingerprints"]["codeAndLine/v1"] for result in results]

        before = prints(FILE + b"Disallow: c\n" * 2)
        assert len(before) == len(set(before)) == 5
        assert prints(b"# New\n\n" + FILE + b"Allow: /x\n" + b"Disallow: c\n" * 2) == before
        assert prints(FILE + b"Disallow: c\n") == [before[0], before[1], before[2]]


class TestFix:
    """Fixes that keep every verdict."""

    BODY = b"User-agent: *\r\nDisalow: /a #b\r\nDisallow: /c//../\r\nDisallow: /a #b\r\n"
    NEW = b"User-agent: *\r\nDisallow: /a #b\r\nDisallow: /c//../\r\n#b\r\n"

    def test_fix_writes_and_reports_the_rest(self, robots: Path) -> None:
        robots.write_bytes(self.BODY)
        done = rep("lint", robots, "--fix", "--select", "REP2,REP4", "--strict")
        assert robots.read_bytes() == self.NEW
        assert done.status == 1
        assert "fixed" in done.out
        assert "REP412 warning" in done.out
        assert "REP205" not in done.out
        again = rep("lint", robots, "--fix", "--select", "REP2,REP4")
        assert "already in this form" in again.out
        assert robots.read_bytes() == self.NEW

    def test_diff_shows_fixes(self, robots: Path) -> None:
        robots.write_bytes(self.BODY)
        done = rep("lint", robots, "--diff", "--select", "REP2,REP4")
        assert done.status == 1
        assert "+Disallow: /a #b" in done.out
        assert robots.read_bytes() == self.BODY
        done = rep("lint", "-", "--diff", "--select", "REP2,REP4", stdin=self.NEW)
        assert (done.status, done.out) == (0, "")

    def test_fix_that_is_not_proved_is_not_written(
        self, robots: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        wrong = b"User-agent: *\nDisallow: /\n"
        monkeypatch.setattr(
            "scrapy_rep.extras.webmaster.linting.linter.fixed", lambda *_, **__: (wrong, [])
        )
        done = rep("lint", robots, "--fix")
        assert done.status == 70
        assert "nothing is written" in done.err
        assert robots.read_bytes() == FILE


class TestUnsafeFixes:
    """Fixes that change verdicts."""

    BODY = b"User-agent: * Disallow: /a\r\nSitemap: https://h/s.xml\r\n"
    NEW = b"User-agent: *\r\nDisallow: /a\r\nSitemap: https://h/s.xml\r\n"
    EFFECT = "  allowed -> disallowed  5 probe URLs: /a  "

    @pytest.fixture
    def damaged(self, robots: Path) -> Path:
        robots.write_bytes(self.BODY)
        return robots

    def test_unsafe_fixes_need_their_option(self, damaged: Path) -> None:
        out = rep("lint", damaged).out
        assert f"{damaged}:1:15: REP211 error: " in out
        assert "[unsafe fix]" in out
        assert "--fix --unsafe-fixes fixes 1 of them" in out
        done = rep("lint", damaged, "--fix")
        assert (done.status, damaged.read_bytes()) == (1, self.BODY)
        done = rep("lint", damaged, "--diff")
        assert (done.status, done.out) == (1, "1 file: 1 error, 0 warnings, 0 notes\n")
        assert "--unsafe-fixes also fixes 1 finding" in done.err

    def test_unsafe_fix_shows_the_effect(self, damaged: Path) -> None:
        done = rep("lint", damaged, "--diff", "--unsafe-fixes")
        assert (done.status, damaged.read_bytes()) == (1, self.BODY)
        assert "-User-agent: * Disallow: /a" in done.out
        assert self.EFFECT in done.out
        done = rep("lint", damaged, "--fix", "--unsafe-fixes")
        assert (done.status, damaged.read_bytes()) == (0, self.NEW)
        assert self.EFFECT in done.out
        assert "1 finding fixed" in done.out

    def test_unsettled_effect_writes_nothing(
        self, damaged: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(differences, "MOST_STEPS", 1)
        done = rep("lint", damaged, "--fix", "--unsafe-fixes")
        assert (done.status, damaged.read_bytes()) == (4, self.BODY)

    def test_json_shows_no_effect(self, damaged: Path) -> None:
        done = rep("lint", damaged, "--fix", "--unsafe-fixes", "--json")
        assert (done.status, done.out, damaged.read_bytes()) == (0, "", self.NEW)
