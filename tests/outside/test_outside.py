"""The adapters, the judgement and the command, without an outside suite."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.outside import Case, Checkout, Robots, Suite, javascript, python_tests
from tests.outside.assertions import WORDS, Assertions
from tests.outside.judging import judge
from tests.outside.robots_suites import is_allowed
from tests.outside.table import SUITES
from tests.suites.comparing import expected_of

_ROOT = Path(__file__).parents[2]
_NO_COMMIT = "0" * 40
_FILE = b"User-agent: *\nDisallow: /x\n"


def _cases(checkout: Checkout) -> Iterator[Case]:
    for number, line in enumerate(checkout.read("cases").split()):
        yield Case(f"case#{number}", line, expected=True)


def _suite(answer: object) -> Suite:
    return Suite("o/n", _NO_COMMIT, "2026-01-01", "MIT", _cases, lambda _: answer)


@pytest.fixture
def files(tmp_path: Path) -> Checkout:
    (tmp_path / "cases").write_text("a b c")
    return Checkout(tmp_path, _NO_COMMIT)


class TestJudgement:
    def test_equal_answers_are_counted(self, files: Checkout) -> None:
        assert judge(_suite(True), files, ()) == (3, 3, 0, [])

    def test_a_difference_must_be_listed(self, files: Checkout) -> None:
        judgement = judge(_suite(False), files, ["case#0", "case#1"])
        assert judgement[:3] == (3, 0, 2)
        assert judgement.complaints == ["o/n case#2: False, not True: b'c'"]

    def test_what_is_listed_must_differ(self, files: Checkout) -> None:
        complaints = judge(_suite(True), files, ["case#0", "gone#1"]).complaints
        assert len(complaints) == 2
        assert all("remove it from the list" in complaint for complaint in complaints)

    def test_a_suite_has_cases(self, files: Checkout) -> None:
        (files.folder / "cases").write_text("")
        assert judge(_suite(True), files, ()).complaints == ["o/n: no case can be read"]


class TestCheckout:
    def test_files_of_a_commit(self, tmp_path: Path) -> None:
        git = ["git", "-C", str(tmp_path), "-c", "user.name=n", "-c", "user.email=e@h.example"]
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "b").write_text("old")
        for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "m"]):
            subprocess.run([*git, *command], check=True)
        commit = subprocess.check_output([*git, "rev-parse", "HEAD"], text=True).strip()
        (tmp_path / "a" / "b").write_text("new")
        checkout = Checkout(tmp_path, commit)
        assert (checkout.read("a/b"), checkout.paths("a")) == (b"old", ["a/b"])
        checkout = Checkout(tmp_path, _NO_COMMIT)
        assert (checkout.read("a/b"), checkout.paths("a")) == (b"new", ["a/b"])
        assert not checkout.is_pinned

    def test_command_prints_what_differs(self, tmp_path: Path) -> None:
        test = tmp_path / "seomoz" / "rep-cpp" / "test" / "test-robots.cpp"
        test.parent.mkdir(parents=True)
        test.write_text(
            'TEST(T, One) { content = "User-agent: *\\n" "Disallow: /x\\n"; Robots robot(content);'
            'EXPECT_TRUE(robot.allowed("/x", "agent")); }'
        )
        command = [sys.executable, "-m", "tests.outside", "seomoz/rep-cpp", "--checkouts"]
        done = subprocess.run(
            [*command, str(tmp_path)], cwd=_ROOT, capture_output=True, text=True, check=False
        )
        assert done.returncode == 1
        assert "seomoz/rep-cpp One#1: False, not True" in done.stderr
        assert "MIT | 1 | 0 | 0 | unknown |" in done.stdout


class TestAdapters:
    def test_assertions_in_another_language_are_read(self, tmp_path: Path) -> None:
        (tmp_path / "T.java").write_text("""
            // static final String text = "no";
            @CsvSource({"False, /x", "True, /y"})
            void one(boolean answer, String url) {
                text = "User-agent: *" + LF + "Disallow: /x\\n"; /* ask("no") */
                rules = read(text); assertEquals(answer, rules.ask(url));
            }
            void two() { rules = read(text); text += more; assertTrue(rules.ask("/z"));
                rules = read(call()); assertTrue(rules.ask("/z"));
                rules = read("\\u00e9\\"\\x41"); assertFalse(rules.ask("/z")); }
        """)
        reader = Assertions(
            r"void (?P<test>\w+)\((?P<columns>[^)]*)\)",
            r"@CsvSource\(\{(?P<table>[^}]*)\}\)",
            rf"(?P<name>text) (?:\+=|= (?P<value>{WORDS}))",
            rf"(?P<agent>)read\((?:(?P<text>{WORDS})\))?",
            rf"assert(?P<answer>True|False)\(rules.ask\((?P<url>{WORDS})\)",
            rf"assertEquals\((?P<answer>\w+), rules.ask\((?P<url>{WORDS})\)",
            LF=r'"\n"',
        )
        found = list(reader.cases(Checkout(tmp_path, _NO_COMMIT), ["T.java"]))
        assert found == [
            Case("one#1", Robots(_FILE, "", "/x"), expected=False),
            Case("one#2", Robots(_FILE, "", "/y"), expected=True),
            Case("two#3", Robots('é"A'.encode(), "", "/z"), expected=False),
        ]

    def test_lists_in_javascript(self, tmp_path: Path) -> None:
        (tmp_path / "test").mkdir()
        (tmp_path / "test" / "Robots.js").write_text(r"""
	it('should be so', function () {
		var contents = ['User-agent: *', 'Disallow: /x'].join('\n');
		var allowed = ['http://h/'];
		// var disallowed = ['http://h/n'];
		var disallowed = ['http://h/x'];
		testRobots('http://h/robots.txt', contents, allowed, disallowed);
	});
""")
        (one, other) = javascript.cases(Checkout(tmp_path, _NO_COMMIT))
        given = Robots(_FILE.strip(), "", "http://h/", "http://h/robots.txt")
        assert one == Case("should-be-so#1", given, expected=True)
        assert other == Case("should-be-so#2", given._replace(url="http://h/x"), expected=False)

    def test_cases_in_python_are_read(self, tmp_path: Path) -> None:
        (tmp_path / "core.py").write_text("YES = True\n")
        (tmp_path / "t.py").write_text(r"""
rows = (["User-agent: *\nDisallow: /x\n", "a", "/", YES],)
class Base:
    robots_txt = "User-agent: *\nDisallow: /x\n"
    agent = "b"
    good = []
class Other(Base):
    bad = ["/x", ("c", "/x")]
    rate = unknown.Rate(1)
def test_it():
    text = "User-agent: *"
    rp = Protego.parse(content=text)
    assert not rp.can_fetch("/x", "d")
    assert rp.can_fetch(unknown, "d")
""")
        files = Checkout(tmp_path, _NO_COMMIT)
        rows = python_tests.in_rows(files, ["t.py"], "core.py")
        assert list(rows) == [Case("rows#1", Robots(_FILE, "a", "/"), expected=True)]
        assert list(python_tests.in_classes(files, "t.py")) == [
            Case("Other.bad#1", Robots(_FILE, "b", "/x"), expected=False),
            Case("Other.bad#2", Robots(_FILE, "c", "/x"), expected=False),
        ]
        given = Robots(b"User-agent: *", "d", "/x")
        asserted = python_tests.in_assertions(files, "t.py")
        assert list(asserted) == [Case("test_it#1", given, expected=False)]

    @pytest.mark.parametrize(
        ("url", "file_url", "answer"),
        [
            ("/x", "", False),
            ("//x", "", True),
            ("http://h/y", "http://h:80/robots.txt", True),
            ("http://h/y", "https://h/robots.txt", False),
            ("http://h%/y", "https://h/robots.txt", False),
        ],
    )
    def test_case_is_judged_for_its_origin(self, url: str, file_url: str, *, answer: bool) -> None:
        assert is_allowed(Robots(_FILE, "a", url, file_url)) is answer


class TestLists:
    def test_exceptions_name_suites(self) -> None:
        text = Path(__file__).with_name("exceptions.txt").read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
        assert sum(len(expected_of(text, suite)) for suite in SUITES) == len(lines)

    def test_the_page_has_the_suites_and_their_versions(self) -> None:
        page = (_ROOT / "docs" / "conformance.md").read_text(encoding="utf-8")
        row = re.compile(r"^\| \[([^\]]+)\]\(https://github.com/.*/tree/(\w+)\) \|$", re.MULTILINE)
        named = row.findall(page)
        assert named == [(suite.name, suite.commit) for suite in SUITES.values()]
