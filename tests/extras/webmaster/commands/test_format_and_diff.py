"""``scrapy rep format`` and ``scrapy rep diff``."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.extras.webmaster.effect import differences
from scrapy_rep.extras.webmaster.rewrite import normal
from tests.at_length import at_length
from tests.commands.calling import Done, rep
from tests.extras.webmaster.commands.meant import errors_of, has_same_meaning

FILE = OLD = b"useragent: *\nDisallow:/a\nDisallow: /a/b\n"
NEW = "User-agent: *\nDisallow: /a\nDisallow: /a/b\n"


class TestFormat:
    def test_file_is_written_to_standard_output(self, robots: Path) -> None:
        assert rep("format", robots) == Done(0, NEW, "")
        assert rep("format", "-", stdin=OLD) == Done(0, NEW, "")

    def test_format_can_drop_rules_without_effect(self, robots: Path) -> None:
        compact = rep("format", robots, "--mode", "compact")
        assert compact == Done(0, "User-agent: *\nDisallow: /a\n", "")

    def test_file_with_hidden_errors_is_not_written(self) -> None:
        body = b"User-agent: Bingbot\nCrawl-delay: 5\n\nUser-agent: BadBot\nDisallow: /\n"
        done = rep("format", "-", stdin=body)
        assert (done.status, done.out) == (1, "")
        assert "<stdin>: REP320: line 1: this crawler gets the rules of the next" in done.err
        done = rep("format", "-", "--keep-errors", stdin=body)
        assert (done.status, done.err) == (0, "")
        assert done.out == (
            "User-agent: Bingbot\nDisallow: /\nCrawl-delay: 5\n\nUser-agent: BadBot\nDisallow: /\n"
        )
        many = b"".join(body.replace(b"Bingbot", b"Bot%c" % (97 + n)) for n in range(8))
        err = rep("format", "-", "--check", stdin=many).err
        assert "and 3 more: correct them" in err
        assert len(err.splitlines()) == 6

    @pytest.mark.parametrize(
        "name", ["GPTBot, ClaudeBot, CCBot", "Mozilla/5.0 (compatible; GPTBot/1.2)", "Yahoo! Slurp"]
    )
    def test_line_with_more_than_a_name_stays(self, robots: Path, name: str) -> None:
        """Otherwise lint would find nothing afterwards, and no fix would bring the names back."""
        robots.write_text(f"user-agent: {name}\nDisallow:/\n")
        before = rep("lint", robots, "--select", "all").out
        assert rep("format", robots, "--write").status == 0
        assert robots.read_text() == f"User-agent: {name}\nDisallow: /\n"
        assert rep("lint", robots, "--select", "all").out == before

    def test_errors_are_hidden_one_by_one(self) -> None:
        """An error with the same code elsewhere says nothing about another one."""
        body = b"User-agent: a\nDisallow: /x /y\n\nUser-agent: b\nDisallow: /x /z\nDisallow: /\n"
        body += b"\nUser-agent: b\nDisallow: /z\n"
        done = rep("format", "-", stdin=body)
        assert (done.status, done.out) == (1, "")
        assert "<stdin>: REP404: line 5: " in done.err

    def test_rules_of_several_names_are_not_joined_with_those_of_one(self) -> None:
        """CCBot is meant to get /a alone."""
        body = b"User-agent: GPTBot, CCBot\nDisallow: /a\n\nUser-agent: GPTBot\nDisallow: /b\n"
        done = rep("format", "-", stdin=body)
        assert (done.status, done.out) == (1, "")
        assert "REP308: line 1: " in done.err

    def test_rule_that_matters_once_an_error_is_corrected_is_not_dropped(self) -> None:
        """The second group is meant to disallow /a and /b."""
        body = b"User-agent: a\nAllow: /a\n\nUser-agent: a\nDisallow: /a /b\n"
        done = rep("format", "-", stdin=body)
        assert (done.status, done.out) == (1, "")
        assert "to correct them afterwards would have another effect (/a for a)" in done.err
        assert "Allow" not in rep("format", "-", "--keep-errors", stdin=body).out

    def test_check_and_diff_write_nothing(self, robots: Path) -> None:
        assert rep("format", robots, "--check") == Done(1, f"{robots}: would be rewritten\n", "")
        done = rep("format", robots, "--diff")
        assert done.status == 1
        assert "-useragent: *\n" in done.out
        assert "+User-agent: *\n" in done.out
        assert robots.read_bytes() == OLD

    def test_write_keeps_the_mode_of_the_file(self, robots: Path) -> None:
        robots.chmod(0o640)
        done = rep("format", robots, "--write")
        assert done == Done(0, f"{robots}: rewritten, 40 octets before and 42 now\n", "")
        assert robots.read_text() == NEW
        assert robots.stat().st_mode & 0o777 == 0o640
        assert [path.name for path in robots.parent.iterdir()] == ["robots.txt"]
        assert rep("format", robots, "--write").out == f"{robots}: already in this form\n"

    @pytest.mark.parametrize("mode", ["normal", "compact", "compatible"])
    def test_contradicting_groups_are_merged_with_both_rules(self, robots: Path, mode: str) -> None:
        """A content delivery network may allow a site that its owner disallows."""
        robots.write_bytes(b"User-agent: *\nAllow: /\n\nUser-agent: *\nDisallow: /\n")
        assert rep("format", robots, "--mode", mode, "--write").status == 0
        assert robots.read_bytes() == b"User-agent: *\nAllow: /\nDisallow: /\n"

    def test_sitemaps_become_absolute(self) -> None:
        done = rep("format", "-", "--uri", "https://h/robots.txt", stdin=b"Sitemap: /s\n")
        assert done.out == "Sitemap: https://h/s\n"

    @pytest.mark.parametrize("option", ["--write", "--check", "--diff", None])
    def test_unproved_file_is_never_written(
        self, robots: Path, option: str | None, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The proof takes too much work, or a bug changes the meaning."""
        call = ("format", robots, *([option] if option else []))
        monkeypatch.setattr(differences, "MOST_STEPS", 10)
        done = rep(*call)
        assert (done.status, done.out, robots.read_bytes()) == (4, "", OLD)
        assert "not settled, nothing is written" in done.err
        monkeypatch.undo()
        monkeypatch.setattr(normal, "normalise", lambda *_: b"User-agent: *\nDisallow: /a/b\n")
        done = rep(*call)
        assert (done.status, done.out, robots.read_bytes()) == (70, "", OLD)
        assert "internal error, nothing is written: /a" in done.err

    def test_unchanged_file_needs_no_proof(
        self, robots: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(differences, "MOST_STEPS", 0)
        assert rep("format", "-", stdin=NEW.encode()) == Done(0, NEW, "")


_LINES = st.sampled_from(
    [
        *[
            "User-agent: a",
            "User-agent: b",
            "User-agent: *",
            "User-agent: a, b",
            "User-agent: b, c",
        ],
        *[
            "User-agent: GPTBot CCBot",
            "User-agent: d/1.2",
            "Usr-agent: b",
            "Disallow: /a",
            "Allow: /a",
        ],
        *[
            "Disallow: /a /b",
            "Disallow: foo",
            "Disallow: https://h/a",
            "Disallow: /a;/b",
            "Disallow:",
        ],
        *["Disallow: /", "Disallow: /a // x", "Disallow: /\u00c3\u00a9", "Disallow: /(.*)\\.php$"],
        *["Crawl-delay: 5", "Crawl-delay: x", "Noindex: /x", "Sitemap: htp:/h/s.xml", "", "# c"],
    ]
)


@given(st.lists(_LINES, max_size=12), st.sampled_from(normal.Mode))
def test_no_error_is_hidden(lines: list[str], mode: normal.Mode) -> None:
    body = "\n".join(lines).encode()
    done = rep("format", "-", "--mode", mode.value, "--uri", "https://h/robots.txt", stdin=body)
    assert done.status in (0, 1)
    if done.status == 0:
        uri, new = "https://h/robots.txt", done.out.encode()
        assert errors_of(body, uri) <= errors_of(new, uri)
        assert has_same_meaning(body, new, uri)


def test_several_files_are_rewritten(tmp_path: Path) -> None:
    """One that cannot be read does not stop the others."""
    files = [tmp_path / name for name in "abc"]
    for path in files:
        path.write_text("user-agent: *\ndisallow: /a%c3%a9\n")
    done = rep("format", files[0], tmp_path / "none", *files[1:], "--write")
    assert (done.status, done.out.count("rewritten")) == (2, 3)
    assert "No such file" in done.err
    assert {path.read_text() for path in files} == {"User-agent: *\nDisallow: /a%C3%A9\n"}
    again = rep("format", *files, "--check")
    assert (again.status, again.out.count("already in this form")) == (0, 3)


def compared(folder: Path, old: str, new: str, *options: str) -> Done:
    """The output of diff for two files."""
    for name, text in (("old", old), ("new", new)):
        (folder / name).write_text(text)
    return rep("diff", folder / "old", folder / "new", *options)


class TestDiff:
    def test_diff_names_agents_paths_and_lines(self, tmp_path: Path) -> None:
        old = "User-agent: a\nUser-agent: b\nDisallow: /x\n"
        new = "User-agent: b\nUser-agent: a\nDisallow: /x\nAllow: /x/y\nSitemap: https://h/s\n"
        done = compared(tmp_path, old, new)
        assert done.status == 1
        assert done.out == (
            "a, b\n"
            "  disallowed -> allowed  5 probe URLs: /x/y  /x/yx  /x/y/x  and 2 more\n"
            "  - 3 | Disallow: /x\n"
            "  + 4 | Allow: /x/y\n"
            "\n"
            "+ Sitemap: https://h/s\n"
        )

    def test_total_ban_is_one_change(self, tmp_path: Path) -> None:
        """No crawler tests /robots.txt itself, which Google's matcher would disallow."""
        ban = "User-agent: *\nDisallow: /\n"
        done = compared(tmp_path, "User-agent: *\nDisallow: /x\n", ban)
        assert (done.status, done.out.count("->")) == (1, 1)
        assert "only like" not in done.out
        done = compared(tmp_path, ban, f"{ban}Allow: /robots.txt$\n")
        assert done == Done(0, "no probe URL changes its verdict\n", "")

    def test_diff_shows_changed_preferences(self, tmp_path: Path) -> None:
        old = "User-agent: a\nUser-agent: b\nDisallow: /x\nContent-Usage: train-ai=n\n"
        new = (
            "License: https://h/terms\n"
            "User-agent: a\nDisallow: /x\nContent-Usage: /y train-ai=n\nContent-Signal: use=full\n"
            "User-agent: b\nDisallow: /x\nContent-Usage: train-ai=n\n"
        )
        done = compared(tmp_path, old, new)
        assert done.status == 1
        assert done.out.startswith("a\n  train-ai: n -> unknown  ")
        assert "\n  - 4 | Content-Usage: train-ai=n\n  + nothing is said\n" in done.out
        assert "a\n  use: unknown -> full" in done.out
        assert "\nb\n" not in done.out
        assert done.out.endswith("+ License: https://h/terms\nno probe URL changes its verdict\n")
        rows = compared(tmp_path, old, new, "--json").rows
        told = [(row.get("usage") or row["uri"], row["before"], row["after"]) for row in rows]
        assert told == [
            ("train-ai", "n", "unknown"),
            ("use", "unknown", "full"),
            ("https://h/terms", False, True),
        ]

    @pytest.mark.parametrize(("record", "status"), [("License", 1), ("Sitemap", 0)])
    def test_changed_licences_count_and_sitemaps_do_not(
        self, tmp_path: Path, record: str, status: int
    ) -> None:
        before, after = (f"{record}: https://h/{name}" for name in ("it's", "its"))
        files = [f"{line}\nUser-agent: *\nDisallow: /x\n" for line in (before, after)]
        done = compared(tmp_path, *files)
        assert (done.status, f"- {before}\n+ {after}\n" in done.out) == (status, True)
        assert compared(tmp_path, *files, "--json").rows == [
            {"record": record, "uri": "https://h/it's", "before": True, "after": False},
            {"record": record, "uri": "https://h/its", "before": False, "after": True},
        ]

    def test_disallowed_paths_have_no_changed_preference(self, tmp_path: Path) -> None:
        old = "User-agent: *\nContent-Usage: search=y\nAllow: /\n"
        assert "search" not in compared(tmp_path, old, old.replace("Allow", "Disallow")).out

    def test_too_many_preferences_are_not_settled(self, tmp_path: Path) -> None:
        uses = "".join(f"Content-Usage: /{number}*x*y train-ai=n\n" for number in range(3000))
        new = "User-agent: *\nDisallow: /x\n"
        done = compared(tmp_path, new + uses, new)
        assert done.status == 4
        assert "not settled" in done.err

    def test_comments_do_not_differ(self, robots: Path, tmp_path: Path) -> None:
        other = tmp_path / "other.txt"
        other.write_text("# new\nUser-agent: *\nDisallow: /a\n")
        assert rep("diff", robots, other) == Done(0, "no probe URL changes its verdict\n", "")

    @pytest.mark.parametrize(
        ("old", "new", "words"),
        [
            ("/*rt%3Dnc", "/*rt=nc", "disallowed -> allowed, only like google"),
            ("/price$list", "/price%24list", "disallowed -> allowed, only like google and 1994"),
            ("/feed/\nDisallow: */feed/", "*/feed/", "disallowed -> allowed, only like 1994"),
            ("/a", "/a*", "disallowed -> allowed, only like 1994"),
        ],
    )
    def test_changes_for_some_readers_are_marked(
        self, tmp_path: Path, old: str, new: str, words: str
    ) -> None:
        files = [f"User-agent: *\nDisallow: {path}\n" for path in (old, new)]
        done = compared(tmp_path, *files)
        assert done.status == 1
        assert words in done.out
        names = [row["like"] for row in compared(tmp_path, *files, "--json").rows]
        assert words.partition("like ")[2].split(" and ") in names
        assert not any("rfc9309" in each for each in names)

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("form", "old", "new", "status"),
        [
            ("/{1}{0}/abcdef?b={0}", "*", "*x", 1),  # 360 rules with a wildcard
            *at_length([("/{0}/abcdef?b={0}", "abc", "abx", 4)]),  # all rules
        ],
    )
    def test_large_files_are_compared_in_time(
        self, tmp_path: Path, form: str, old: str, new: str, status: int
    ) -> None:
        """If too many rules differ, the command names the part that it compared."""
        rules = "".join(
            f"Disallow: {form.format(n, '*' * (n % 125 == 0))}\n" for n in range(45_000)
        )
        started = time.process_time()
        done = compared(
            tmp_path, f"User-agent: *\n{rules}", f"User-agent: *\n{rules.replace(old, new)}"
        )
        busy_seconds = 10  # 5 if nothing else runs
        assert (done.status, time.process_time() - started < busy_seconds) == (status, True)

    def test_too_large_comparison_is_not_settled(
        self, robots: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        new = b"User-agent: *\n" + b"".join(b"Disallow: /a/%d\n" % number for number in range(40))
        monkeypatch.setattr(differences, "MOST_STEPS", 10000)
        done = rep("diff", robots, "-", stdin=new)
        assert done.status == 4
        assert "not settled: the files are too much to compare as a whole" in done.err
        assert "0 of 1 agent compared, on " in done.err
        assert done.out.startswith("*\n  disallowed -> allowed")
        rows = rep("diff", robots, "-", "--json", stdin=new).out.splitlines()
        last = json.loads(rows[-1])
        assert (last["unsettled"], last["compared"]) == (["*"], [])
        assert last["probe_urls"] > 0
        assert len(rows) == 3

    def test_agents_are_spelled_as_in_the_file(self, robots: Path) -> None:
        robots.write_text("User-agent: GPTBot\nDisallow: /\n")
        done = rep("diff", robots, "-", stdin=b"User-agent: gptbot\nUser-agent: CCBot\nAllow: /\n")
        assert done.out.startswith("GPTBot\n  disallowed -> allowed")

    def test_agent_option_selects_agents(self, robots: Path) -> None:
        done = rep("diff", robots, "-", "--agent", "foo", "--json", stdin=b"")
        assert done.status == 1
        rows = done.rows
        assert {tuple(row["agents"]) for row in rows} == {("foo",)}
        assert rows[0]["before"]["line"] == 2
        assert rows[0]["after"] == {"allowed": True, "group": None, "line": 0, "rule": None}
        assert "/a" in rows[0]["paths"]
