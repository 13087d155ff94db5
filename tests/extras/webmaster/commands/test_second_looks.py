"""``scrapy rep check --rules`` and ``--like``."""

from __future__ import annotations

import re
import signal
from pathlib import Path
from typing import ClassVar

import pytest

from scrapy_rep.extras.webmaster.commands.check_additions import Opinions, ranked
from scrapy_rep.protocol.document import parse
from tests.commands.calling import rep, rep_process
from tests.extras.webmaster.linting.corpus import EVERY, files
from tests.servers.handle import Answer, Site
from tests.shared import needs_shared

FILE = b"""User-agent: *
Disallow: /a*b
Allow: /
Disallow: /private/
Disallow:
Allow: /d/index.html
Disallow: x

User-agent: Foo
Crawl-delay: 3
Disallow: /x

User-agent: foo/2
Disallow: /x
Allow: /x
"""

_BAD = "tests.extras.webmaster.commands.test_second_looks.Bad"
_OTHER = "scrapy.robotstxt.PythonRobotParser"


class TestRules:
    def test_rules_are_in_order_of_decision(self, robots: Path) -> None:
        done = rep("check", "--rules", "--robots", robots, "--agent", "bar")
        assert (done.status, done.err) == (0, "")
        assert done.out == (
            "  rules for bar: group * (line 1); the first that matches decides\n"
            "    6 | Allow: /d/index.html  (13 octets)\n"
            "    4 | Disallow: /private/  (9 octets)\n"
            "    6 | Allow: /d/index.html  (4 octets; also read as Allow: /d/$)\n"
            "    2 | Disallow: /a*b  (4 octets)\n"
            "    3 | Allow: /  (1 octet)\n"
            "    7 | Disallow: x  (1 octet; matches nothing)\n"
            "    5 | Disallow:   (0 octets; forbids nothing)\n"
            "      | line 3 is for all other URLs; /robots.txt itself is always allowed\n"
        )

    @pytest.mark.parametrize(
        ("rule", "words"),
        [
            (b"Disallow: /", "line 2 is for all other URLs"),
            (b"Disallow: *", "line 2 is for all other URLs"),
            (b"Disallow: /*", "line 2 is for all other URLs"),
            (b"Disallow: /a", "all other URLs are allowed"),
            (b"Disallow:", "all other URLs are allowed"),
        ],
    )
    def test_last_line_tells_what_is_left(self, rule: bytes, words: str) -> None:
        file = b"User-agent: *\n" + rule
        done = rep("check", "--rules", "--robots", "-", "--agent", "bar", stdin=file)
        assert done.out.splitlines()[-1].startswith(f"      | {words}")

    def test_groups_are_merged(self, robots: Path) -> None:
        call = ["check", "/x", "/private/", "--rules", "--robots", robots, "--agent", "foo"]
        (_, row, _) = rep(*call, "--json").rows  # shown once
        assert (row["group"], row["group_lines"]) == ("foo", [9, 13])
        assert [(rule["line"], rule["note"]) for rule in row["rules"]] == [
            (15, None),
            (11, "loses to line 15"),
            (14, "loses to line 15"),
        ]
        assert row["other_records"] == [{"line": 10, "key": "Crawl-delay", "value": "3"}]

    def test_missing_group_is_explained(self) -> None:
        file = b"User-agent: foo\nDisallow: /\n"
        done = rep("check", "--rules", "--robots", "-", "--agent", "bar", stdin=file)
        assert done.out == (
            "  rules for bar: none, no group applies to it, so everything is allowed\n"
        )

    @needs_shared
    def test_first_matching_rule_decides(self) -> None:
        """The order agrees with verdicts over real files."""
        from scrapy_rep.extras.webmaster.effect.rule_patterns import matches
        from scrapy_rep.protocol.paths import normal_path

        count = 0
        for _, body in files()[::EVERY]:
            robots_txt = parse(body)
            group = robots_txt.group("bar")
            if group is None or len(group.rules) > 200:
                continue
            rows = ranked(group)
            paths = {"/" + one.pattern.strip("/*$").replace("*", "a/b") for one in rows}
            for path in sorted(paths):
                verdict = robots_txt.verdict(path, "bar")
                if verdict.rule is None or "/." in path or path == "/robots.txt":
                    continue
                normal = normal_path(path)
                live = (one for one in rows if one.note != "forbids nothing")
                own = (one.rule for one in live if matches(one.pattern, normal))
                first = next(own, None)
                if first is not None:
                    count += 1
                    assert (first.line, first.allow) == (verdict.line, verdict.allowed), path
        assert count > 100


class TestLike:
    def test_other_parsers_answer(self, robots: Path) -> None:
        """A different answer is marked, and a parser that fails has none."""
        call = ["check", "/aXb", "--agent", "*", "--robots", robots, "--like"]
        out = rep(*call, f"google,urllib, protego,{_OTHER},{_BAD}").out
        assert [line for line in out.splitlines() if line.startswith("  like ")] == [
            "  like google: disallowed",
            "  like urllib: allowed, which differs",
            "  like protego: disallowed",
            f"  like {_OTHER}: allowed, which differs",
            f"  like {_BAD}: it failed: ValueError: no \\x1b",
        ]
        (row,) = rep(*call, f"1994,{_BAD}", "--json").rows
        assert row["like"] == {"1994": True, _BAD: None}
        assert "it failed: ValueError: no \x1b" in row["like_failures"][_BAD]

    def test_parsers_of_text_read_other_octets(self, robots: Path) -> None:
        robots.write_bytes("# Café\nUser-agent: *\nDisallow: /aXb\n".encode("latin-1"))
        done = rep("check", "/aXb", "--robots", robots, "--like", "urllib,protego", "--json")
        assert done.rows[0]["like"] == {"urllib": False, "protego": False}

    @pytest.mark.parametrize(
        ("names", "words"),
        [
            (" , ", "--like ' , ' does not name a parser"),
            ("nobody", "give google, 1994, urllib, protego, or the import path"),
            ("no.such.Parser", "or the import path of a class"),
        ],
    )
    def test_missing_parser_is_an_error(self, robots: Path, names: str, words: str) -> None:
        done = rep("check", "/x", "--robots", robots, "--like", names)
        assert (done.status, done.out) == (2, "")
        assert words in done.err

    def test_slow_parser_has_no_answer(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """It is stopped once for a file, and gets no other question about it."""
        several = Opinions(_BAD)
        Bad.asked.clear()
        timer = signal.setitimer
        monkeypatch.setattr(signal, "setitimer", lambda which, seconds: timer(which, seconds / 20))
        for _ in range(9):
            (one,) = several.of(b"slow", "bar", "/")
            assert (one.allowed, one.failure) == (None, "no answer in 10 s")
        monkeypatch.undo()
        (one,) = several.of(b"", "bar", "/")
        assert (one.allowed, one.failure) == (None, "it failed: ValueError: no \x1b")
        assert Bad.asked == [b"slow", b""]

    @pytest.mark.slow
    def test_parsers_get_the_octets_of_the_site(self, tmp_path: Path) -> None:
        """Python's parser does not know byte order marks."""
        body = b"\xef\xbb\xbfUser-agent: *\nDisallow: /\n"
        store = ["-s", f"REP_STORE_PATH={tmp_path / 'store.sqlite'}"]
        with Site({"/robots.txt": Answer(body=body)}) as site:
            options = ["--agent", "bar", "--like", "urllib", "--rules", "--json", *store]
            done = rep_process("rep", "check", site.url("/x"), *options)
        assert done.status == 1, done.err
        verdict, group = done.rows
        assert (verdict["allowed"], verdict["like"]) == (False, {"urllib": True})
        assert [rule["rule"] for rule in group["rules"]] == ["Disallow: /"]


class Bad:
    """A parser of Scrapy's interface."""

    asked: ClassVar[list[bytes]] = []

    def __init__(self, body: bytes) -> None:
        self._body = body

    @classmethod
    def from_crawler(cls, crawler: object, body: bytes) -> Bad:
        return cls(body)

    def allowed(self, url: str, user_agent: str) -> bool:
        self.asked.append(self._body)
        if self._body == b"slow":
            re.match("(a*)*b", "a" * 60)
        raise ValueError("no \x1b")
