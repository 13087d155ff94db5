"""``scrapy rep format`` and ``scrapy rep diff``."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from scrapy_rep.protocol.rewrite import normal
from tests.commands.calling import Done, rep

OLD = b"useragent: *\nDisallow:/a\nDisallow: /a/b\n"
NEW = "User-agent: *\nDisallow: /a\nDisallow: /a/b\n"


@pytest.fixture
def robots(tmp_path: Path) -> Path:
    path = tmp_path / "robots.txt"
    path.write_bytes(OLD)
    return path


class TestFormat:
    def test_to_standard_output(self, robots: Path) -> None:
        assert rep("format", robots) == Done(0, NEW, "")
        assert rep("format", "-", stdin=OLD) == Done(0, NEW, "")

    def test_modes(self, robots: Path) -> None:
        compact = rep("format", robots, "--mode", "compact")
        assert compact == Done(0, "User-agent: *\nDisallow: /a\n", "")

    def test_check(self, robots: Path) -> None:
        assert rep("format", robots, "--check") == Done(1, f"{robots}: would be rewritten\n", "")
        robots.write_text(NEW)
        assert rep("format", robots, "--check") == Done(0, f"{robots}: already in this form\n", "")

    def test_diff(self, robots: Path) -> None:
        done = rep("format", robots, "--diff")
        assert done.status == 1
        assert "-useragent: *\n" in done.out
        assert "+User-agent: *\n" in done.out
        assert robots.read_bytes() == OLD

    def test_write(self, robots: Path) -> None:
        robots.chmod(0o640)
        done = rep("format", robots, "--write")
        assert done == Done(0, f"{robots}: rewritten, 40 octets before and 42 now\n", "")
        assert robots.read_text() == NEW
        assert robots.stat().st_mode & 0o777 == 0o640
        assert [path.name for path in robots.parent.iterdir()] == ["robots.txt"]
        assert rep("format", robots, "--write").out == f"{robots}: already in this form\n"

    def test_sitemaps_become_absolute(self) -> None:
        done = rep("format", "-", "--uri", "https://h/robots.txt", stdin=b"Sitemap: /s\n")
        assert done.out == "Sitemap: https://h/s\n"

    @pytest.mark.parametrize("option", ["--write", "--check", "--diff", None])
    def test_what_is_not_equivalent_is_never_written(
        self, robots: Path, option: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(normal, "normalise", lambda *_: b"User-agent: *\nDisallow: /a/b\n")
        done = rep("format", robots, *([option] if option else []))
        assert done.status == 70
        assert done.out == ""
        assert "internal error, nothing is written: /a" in done.err
        assert robots.read_bytes() == OLD

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["-", "--write"], "--write needs a FILE"),
            (["none"], "none: No such file"),
            (["-", "--check", "--diff"], "not allowed with argument"),
        ],
    )
    def test_wrong_usage(self, arguments: list[str], words: str) -> None:
        done = rep("format", *arguments)
        assert done.status == 2
        assert words in done.err


class TestDiff:
    def test_because_of_which_lines(self, tmp_path: Path) -> None:
        old, new = tmp_path / "old", tmp_path / "new"
        old.write_text("User-agent: a\nUser-agent: b\nDisallow: /x\n")
        new.write_text(
            "User-agent: b\nUser-agent: a\nDisallow: /x\nAllow: /x/y\nSitemap: https://h/s\n"
        )
        done = rep("diff", old, new)
        assert done.status == 1
        assert done.out == (
            "a, b\n"
            "  disallowed -> allowed  5 probe URLs: /x/y  /x/yx  /x/y/x  and 2 more\n"
            "  - 3 | Disallow: /x\n"
            "  + 4 | Allow: /x/y\n"
            "\n"
            "+ Sitemap: https://h/s\n"
        )

    def test_other_words_are_no_difference(self, robots: Path, tmp_path: Path) -> None:
        other = tmp_path / "other.txt"
        other.write_text("# new\nUser-agent: *\nDisallow: /a*\n")
        assert rep("diff", robots, other) == Done(0, "no probe URL changes its verdict\n", "")

    def test_agents(self, robots: Path) -> None:
        done = rep("diff", robots, "-", "--agent", "foo", "--json", stdin=b"")
        assert done.status == 1
        rows = [json.loads(line) for line in done.out.splitlines()]
        assert {tuple(row["agents"]) for row in rows} == {("foo",)}
        assert rows[0]["before"]["line"] == 2
        assert rows[0]["after"] == {"allowed": True, "group": None, "line": 0, "rule": None}
        assert "/a" in rows[0]["paths"]

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["-", "-"], "can be read only once"),
            (["none", "-"], "none: No such file"),
            (["-"], "required: NEW"),
            (["-", "pyproject.toml", "--agent", "a b"], "names no crawler"),
        ],
    )
    def test_wrong_usage(self, arguments: list[str], words: str) -> None:
        done = rep("diff", *arguments)
        assert done.status == 2
        assert words in done.err
