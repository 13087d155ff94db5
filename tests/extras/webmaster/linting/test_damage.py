"""Damaged records: errors that only unsafe fixes repair, and that `format` refuses to write."""

from __future__ import annotations

from pathlib import Path

import pytest

from scrapy_rep.extras.webmaster.checks.codes import Code, Severity
from scrapy_rep.extras.webmaster.linting.damage import damages
from scrapy_rep.extras.webmaster.linting.linter import fixed, lint
from scrapy_rep.extras.webmaster.outline import outline
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS
from tests.commands.calling import rep
from tests.extras.webmaster.linting.damaged import FILES, USUAL, Errors
from tests.protocol.reading import URI

_table = pytest.mark.parametrize(("text", "errors", "meant"), FILES, ids=[row[0] for row in FILES])
_WRITTEN_AS_THEY_ARE = [
    *[Code.USER_AGENT_LIST, Code.RULE_MATCHES_NOTHING, Code.VALUE_UNREADABLE],
    *[Code.SITEMAP_BAD_SCHEME, Code.SEVERAL_PATHS],
]
"""Errors that the file of `format` also has."""
_CODES = [code for code in Code if code.is_default]


@_table
def test_damaged_line_is_an_error_that_only_unsafe_fixes_repair(
    text: str, errors: Errors, meant: str
) -> None:
    found = [one for one in lint(text.encode(), URI) if one.severity is Severity.ERROR]
    expected = [row for row in errors if row[1].severity is Severity.ERROR]
    assert [(one.line, one.code) for one in found] == expected
    lines = text.removeprefix("\ufeff").split("\n")
    safe = fixed(text.encode(), URI)[0].decode().split("\n")
    assert all(lines[number - 1] == safe[number - 1] for number, _ in expected)
    unsafe = fixed(text.encode(), URI, _CODES, is_unsafe=True)[0].decode()
    assert unsafe == fixed(meant.encode(), URI, _CODES, is_unsafe=True)[0].decode()


@pytest.mark.parametrize(("text", "errors", "meant"), FILES[::9])
def test_on_the_command_line(text: str, errors: Errors, meant: str, tmp_path: Path) -> None:
    path = tmp_path / "robots.txt"
    path.write_bytes(text.encode())
    assert rep("lint", path, "--fix").status == 1
    kept = path.read_bytes()
    if errors[0][1] not in _WRITTEN_AS_THEY_ARE:
        done = rep("format", path, "--write")
        assert (done.status, path.read_bytes()) == (1, kept)
        assert f"{errors[0][1].value}: line {errors[0][0]}: " in done.err
    assert rep("lint", path, "--fix", "--unsafe-fixes").status == int(text == meant)


@pytest.mark.parametrize("line", USUAL)
def test_usual_lines_are_not_damaged(line: str) -> None:
    body = f"User-agent: *\nDisallow: /private/\n{line}\n".encode()
    assert damages(outline(body)) == {}


@pytest.mark.parametrize(
    ("text", "column", "octets", "mend"),
    [
        (
            "User-agent: * Disallow: /",
            15,
            b"Disallow: /",
            "write 'User-agent: *' and 'Disallow: /'",
        ),
        ("Disallow: \u201c/x\u201d", 11, "\u201c/x\u201d".encode(), "write 'Disallow: /x'"),
        ("User-agent: Google\u200bbot", 19, "\u200bbot".encode(), "write 'User-agent: Googlebot'"),
    ],
)
def test_place_and_advice(text: str, column: int, octets: bytes, mend: str) -> None:
    (found,) = (one for one in lint(text.encode(), URI) if one.is_unsafe)
    assert (found.column, found.octets, found.mend) == (column, octets, mend)


@pytest.mark.parametrize("line", ["Disallow: /x /", "Disallow: /x https://h/y"])
def test_unclear_line_has_no_fix(line: str) -> None:
    """The single paths would forbid everything, or be none."""
    body = f"User-agent: *\n{line}\n".encode()
    assert not any(one.is_unsafe for one in lint(body, URI))


def test_blank_of_latin_1_is_removed() -> None:
    body = b"User-agent: *\xa0\nDisallow: /caf\xe9\xa0\n"
    assert [(one.line, one.code) for one in lint(body, URI) if one.is_unsafe] == [
        (1, Code.INVISIBLE_CHARACTER),
        (2, Code.INVISIBLE_CHARACTER),
    ]
    assert fixed(body, URI, is_unsafe=True)[0] == b"User-agent: *\nDisallow: /caf%C3%A9\n"


def test_damaged_line_stops_all_removals() -> None:
    """The damaged line may begin another group: then the rule above is needed."""
    body = b"User-agent: *\nDisallow: /a\nUser-agent: b Disallow: /c\nDisallow: /a\n"
    body += b"User-agent: c\nDisallow: /a\nDisallow: /a\n"
    assert fixed(body, URI)[0] == body
    (found,) = (one for one in lint(body, URI) if one.code is Code.DUPLICATE_RULE)
    assert found.mend == "remove the line (--fix does it once line 3 is repaired)"


class TestUnread:
    """Text that crawlers do not read is not lost."""

    BEHIND = b"User-agent: Foo\nDisallow: /x\nSitemap: https://h/s.xml\n"

    @pytest.mark.parametrize("call", [["format", "--write"], ["lint", "--fix", "--unsafe-fixes"]])
    def test_beyond_the_parse_limit(self, call: list[str], tmp_path: Path) -> None:
        head = b"User-agent: *\n" + b"Disallow: /private/\n" * 100
        body = head + b"#" * (PARSE_LIMIT_OCTETS - len(head)) + b" cut\n" + self.BEHIND
        path = tmp_path / "robots.txt"
        path.write_bytes(body)
        done = rep(*call, path)
        assert (done.status, path.read_bytes()) == (1, body)
        assert "line 102: the file is larger than the parse limit" in done.err
        assert "behind it: 1 rule, User-agent: Foo, Sitemap: https://h/s.xml" in done.err

    def test_parse_limit_without_records_behind_it(self) -> None:
        body = b"User-agent: *\nDisallow:\n" + b"#" * PARSE_LIMIT_OCTETS
        (found,) = (one for one in lint(body, URI) if one.code is Code.PARSE_LIMIT)
        assert (found.line, found.detail) == (3, "behind it: no rule, no group and no Sitemap line")

    @pytest.mark.parametrize("coding", ["utf-32", "utf-32-be", "utf-16-le"])
    @pytest.mark.parametrize("call", [["format", "--write"], ["lint", "--fix", "--unsafe-fixes"]])
    def test_file_in_another_coding_is_not_written(
        self, coding: str, call: list[str], tmp_path: Path
    ) -> None:
        path = tmp_path / "robots.txt"
        body = "User-agent: *\nDisallow: /\n".encode(coding)
        path.write_bytes(body)
        done = rep(*call, path)
        assert (done.status, path.read_bytes()) == (1, body)
        assert "is not written" in done.err
