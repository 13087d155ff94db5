"""``scrapy rep check`` by a file and by the store."""

from __future__ import annotations

import csv
import io
import time
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from scrapy.robotstxt import RobotParser

from scrapy_rep.cache.entry import Key
from tests.cache.samples import ORIGIN, OTHER, file_entry, outage_entry, usual_key
from tests.commands.calling import Done, rep, stored
from tests.extras import needs

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

FILE = b"User-agent: *\nDisallow: /a # no\nAllow: /a/b$\nUser-agent: Foo\nDisallow: /\n"


class TestByFile:
    @needs("webmaster")
    def test_text_has_rule_group_and_lost_rules(self, robots: Path) -> None:
        done = rep("check", "https://h/a/b", "--agent", "bar", "--robots", robots)
        assert done == Done(
            0,
            "https://h/a/b\n  allowed for bar: line 3, Allow: /a/b$\n  group: *\n"
            "  3 | Allow: /a/b$\n  lost: 2 | Disallow: /a (2 octets)\n",
            "",
        )

    def test_json_has_a_row_for_each_agent(self, robots: Path) -> None:
        done = rep(
            *["check", "https://h/a", "--agent", "bar", "--agent", "foo", "--agent", "*"],
            *["--robots", robots, "--json"],
        )
        assert done.status == 1
        assert [(r["agent"], r["allowed"], r["group"], r["line"]) for r in done.rows] == [
            ("bar", False, "*", 2),
            ("foo", False, "foo", 5),
            ("*", False, "*", 2),
        ]
        assert done.rows[0]["text"] == "Disallow: /a # no"
        assert done.rows[0]["lost"] == []

    def test_many_urls_are_read_from_standard_input(self, robots: Path) -> None:
        urls = b"".join(b"https://h/%s/%d\n" % (b"ab"[n % 2 : n % 2 + 1], n) for n in range(5000))
        done = rep("check", "-", "--agent", "bar", "--robots", robots, stdin=urls)
        lines = done.out.splitlines()
        assert done.status == 1
        assert len(lines) == 5000
        assert lines[0] == "disallowed\tbar\t2\tline 2, Disallow: /a\thttps://h/a/0"
        assert lines[1] == "allowed\tbar\t-\tno rule of the group matches\thttps://h/b/1"
        assert done.err == ""

    @pytest.mark.parametrize(
        ("options", "settings"),
        [
            (["--agent", "Mozilla/5.0 (compatible; Foo/2.1; +http://foo.example)"], {}),
            ([], {"USER_AGENT": "Foo/1 (+https://foo.example)"}),
        ],
    )
    def test_agent_may_be_a_header_or_that_of_the_project(
        self, robots: Path, options: list[str], settings: dict[str, str]
    ) -> None:
        call = ["check", "/x", *options, "--robots", robots, "--json"]
        (row,) = rep(*call, settings=settings).rows
        assert (row["agent"], row["group"]) == ("Foo", "foo")

    def test_dot_segments_are_judged_as_in_a_crawl(self, robots: Path) -> None:
        url = "https://h/x/../a"
        done = rep("check", url, "--agent", "bar", "--robots", robots)
        assert done.status == 1
        assert "disallowed for bar: line 2" in done.out
        assert "note: judged as written, and as https://h/a" in done.out

    @needs("webmaster")
    def test_markup_is_noted(self) -> None:
        """A page instead of a file allows everything."""
        page = b"<!doctype html>\n<html><body>Not found</body></html>\n"
        done = rep("check", "/x", "--agent", "bar", "--robots", "-", stdin=page)
        assert done.status == 0
        assert "  note: the file is markup; only lines that read as records count\n" in done.out


KEY = usual_key(ORIGIN)
_LONG = b"#" * 600_000 + b"\nUser-agent: *\nDisallow: /private/\n"
_WILD = b"User-agent: *\nDisallow: /*private\n"
_OTHER_PARSER = {"ROBOTSTXT_PARSER": f"{__name__}.NothingParser"}
_SLOW = b"User-agent: *\nCrawl-delay: 9999\nDisallow: /a\n"


class NothingParser(RobotParser):
    """Reads nothing in any file."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        return cls()

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        return True


class FailingParser(NothingParser):
    """Reads the empty file only."""

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        if robotstxt_body:
            raise ValueError("no file")
        return super().from_crawler(crawler, robotstxt_body)


class TestByStore:
    def test_cached_judges_by_the_store(self, tmp_path: Path) -> None:
        now = time.time()
        outage = outage_entry(usual_key(OTHER), at=now)
        settings = stored(tmp_path, file_entry(KEY, at=now), outage)
        urls = ("https://example.com/private/x", "http://example.com/x", "https://unknown.example/")
        done = rep("check", "--cached", "--json", *urls, settings=settings)
        assert done.status == 3
        known, down, unknown = done.rows
        assert (known["allowed"], known["line"]) == (False, 2)
        assert (down["allowed"], down["reason"]) == (False, "unreachable")
        assert (unknown["allowed"], unknown["reason"]) == (None, "unknown")
        later = rep("check", "--cached", urls[0], settings=settings, at=now + 1e9)
        assert later.status == 3
        assert "the store has nothing usable for https://example.com" in later.out

    def test_file_of_another_identity_is_not_used(self, tmp_path: Path) -> None:
        settings = stored(tmp_path, file_entry(Key.under(ORIGIN, "BadBot/1.0"), at=time.time()))
        call = ("check", "--cached", "https://example.com/x")
        assert rep(*call, settings=settings).status == 3
        assert rep(*call, settings={**settings, "USER_AGENT": "BadBot/1.0"}).status == 0

    @pytest.mark.parametrize(
        "case",
        [
            (_LONG, "/private/x", {}, True, "no_group"),
            (_LONG, "/private/x", {"REP_PARSE_LIMIT_OCTETS": 1_000_000}, False, "rule"),
            (_WILD, "/private/x", {}, False, "rule"),
            (_WILD, "/private/x", _OTHER_PARSER, True, "other_parser"),
            (_SLOW, "/x", {}, False, "crawl_delay"),
            (_SLOW, "/robots.txt", {}, True, "implicitly_allowed"),
            (_SLOW, "/x", {"REP_CRAWL_DELAY_EXCESS": "cap"}, True, "no_rule_matches"),
        ],
    )
    def test_stored_file_is_judged_as_in_a_crawl(
        self, tmp_path: Path, case: tuple[bytes, str, dict[str, Any], bool, str]
    ) -> None:
        body, path, more, is_allowed, reason = case
        settings = stored(tmp_path, file_entry(KEY, body=body, at=time.time()), **more)
        url = f"https://example.com{path}"
        (row,) = rep("check", "--cached", "--json", url, settings=settings).rows
        assert (row["allowed"], row["reason"]) == (is_allowed, reason)

    def test_grant_is_shown_until_it_ends(self, tmp_path: Path) -> None:
        grant = {"policy": "ignore", "until": "2030-01-31", "why": "contract 12"}
        end = datetime(2030, 2, 1, tzinfo=timezone.utc).timestamp()
        entry = file_entry(KEY, body=_WILD, at=end)
        settings = stored(tmp_path, entry, REP_OVERRIDES={"example.com": grant})
        call = ("check", "--cached", "https://example.com/private/x")
        during = rep(*call, settings=settings, at=end - 1)
        assert "  REP_OVERRIDES: contract 12, until 2030-01-31\n" in during.out
        (row,) = rep(*call, "--json", settings=settings, at=end - 1).rows
        assert (row["access"]["until"], row["access"]["why"]) == ("2030-01-31", "contract 12")
        after = rep(*call, settings=settings, at=end + 1)
        assert (during.status, after.status) == (0, 1)
        assert "REP_OVERRIDES" not in after.out

    def test_failing_parser_allows_nothing(self, tmp_path: Path) -> None:
        parser = f"{__name__}.FailingParser"
        settings = stored(tmp_path, file_entry(KEY, at=time.time()), ROBOTSTXT_PARSER=parser)
        done = rep("check", "--cached", "https://example.com/x", settings=settings)
        assert (done.status, done.out) == (2, "")
        assert f"{parser} cannot read the file of https://example.com" in done.err


def test_byte_order_mark_is_dropped(robots: Path) -> None:
    """Editors of Windows write it."""
    done = rep("check", "-", "--robots", robots, "--json", stdin=b"\xef\xbb\xbf/a\r\n/b\r\n")
    assert (done.err, [row["url"] for row in done.rows]) == ("", ["/a", "/b"])


class TestCsv:
    def test_csv_of_check_says_the_same_as_its_json(self, robots: Path) -> None:
        agents = ["--agent", "foo", "--agent", "x"]
        arguments = ["check", "-", *agents, "--robots", robots]
        urls = b"/a,b\n/=1+1\n"
        done = rep(*arguments, "--csv", stdin=urls)
        table = list(csv.DictReader(io.StringIO(done.out)))
        by_json = rep(*arguments, "--json", stdin=urls)
        assert done.status == by_json.status
        assert len(table) == len(by_json.rows) == 4
        for row, told in zip(table, by_json.rows, strict=True):
            assert row["allowed"] == str(told["allowed"]).lower()
            for name in ("url", "agent", "reason", "group", "rule", "line", "text"):
                assert row[name] == ("" if told[name] is None else str(told[name]))

    def test_cell_is_never_a_formula(self, robots: Path) -> None:
        robots.write_bytes(b"User-agent: *\n=Disallow: /\nDisallow: /=1\n")
        done = rep("check", "/=1", "--agent", "x", "--robots", robots, "--csv", "--like", "google")
        (row,) = csv.DictReader(io.StringIO(done.out))
        assert row["like"] == "google: disallowed"
        assert not any((cell or "").startswith(("=", "+", "@")) for cell in row.values())


class TestExpected:
    TABLE = b"url,agent,allowed\n/a,bar,false\n/b,bar,TRUE\n/b,foo,false\n/robots.txt,,true\n"

    def test_status_is_0_if_all_rows_are_as_expected(self, robots: Path) -> None:
        done = rep("check", "--expect", "-", "--robots", robots, stdin=self.TABLE)
        assert done == Done(0, "", "scrapy rep check: 4 rows, 0 not as expected\n")

    def test_different_rows_are_shown(self, robots: Path, tmp_path: Path) -> None:
        table = tmp_path / "table.csv"
        table.write_bytes(self.TABLE.replace(b"bar,false", b"bar,true"))
        done = rep("check", "--expect", table, "--robots", robots)
        assert (done.status, done.out.splitlines()[:3]) == (
            1,
            ["/a", "  disallowed for bar: line 2, Disallow: /a", "  expected: allowed"],
        )
        assert done.err == "scrapy rep check: 4 rows, 1 not as expected\n"
        line = rep("check", "--expect", table, "--robots", robots, "--no-explain").out
        assert line.startswith("disallowed, expected allowed\tbar\t2\t")
        (row,) = rep("check", "--expect", table, "--robots", robots, "--json").rows
        assert (row["url"], row["agent"], row["allowed"], row["expected"]) == (
            *("/a", "bar", False, True),
        )
        rows = csv.DictReader(
            io.StringIO(rep("check", "--expect", table, "--robots", robots, "--csv").out)
        )
        assert [(row["allowed"], row["expected"]) for row in rows] == [("false", "true")]

    @pytest.mark.parametrize("form", ["--csv", "--json"])
    def test_table_may_come_from_check(self, robots: Path, form: str) -> None:
        agents = ["--agent", "bar", "--agent", "foo", "--agent", "*"]
        table = rep("check", "/a", "/a/b", "/c", *agents, "--robots", robots, form).out.encode()
        done = rep("check", "--expect", "-", "--robots", robots, stdin=table)
        assert done == Done(0, "", "scrapy rep check: 9 rows, 0 not as expected\n")
        robots.write_bytes(FILE + b"Allow: /a\n")  # for foo
        done = rep("check", "--expect", "-", "--robots", robots, "--json", stdin=table)
        assert (done.status, [row["url"] for row in done.rows]) == (1, ["/a", "/a/b"])

    def test_check_tells_the_age_of_the_expected_file(self, tmp_path: Path) -> None:
        """Also if no row differs, so that none is shown."""
        settings = stored(tmp_path, file_entry(usual_key(ORIGIN), at=4e9))
        table = b"url,agent,allowed\nhttps://example.com/,bar,true\n"
        call = ["check", "--expect", "-", "--cached"]
        done = rep(*call, stdin=table, settings=settings, at=4e9 + 600)
        assert (done.status, done.out) == (0, "")
        assert "https://example.com/robots.txt: from the store, 10 min old" in done.err

    def test_unknown_verdict_is_not_as_expected(self, tmp_path: Path) -> None:
        settings = stored(tmp_path)
        table = b'{"url": "https://h/a", "agent": "bar", "allowed": false}\n'
        done = rep("check", "--expect", "-", "--cached", "--json", stdin=table, settings=settings)
        assert (done.status, [row["allowed"] for row in done.rows]) == (3, [None])

    @pytest.mark.parametrize(
        ("table", "words"),
        [
            (b"", "has no rows"),
            (b"url,agent,allowed\n", "has no rows"),
            (b"url,agent\n/a,bar\n", "line 2: each row needs a url"),
            (b"url,allowed\n/a,maybe\n", "line 2: each row needs a url"),
            (b'{"url": "/a", "allowed": true}\n{"url"\n', "line 2 is not JSON"),
            (b'{"url": "/a", "allowed": true}\n[1]\n', "line 2: each row needs a url"),
            (b"url,agent,allowed\n/a,a b,true\n", "does not name a crawler"),
            (b"url,allowed\n-,true\n", "give a URL, or a path"),
        ],
    )
    def test_unreadable_table_is_an_error(self, robots: Path, table: bytes, words: str) -> None:
        done = rep("check", "--expect", "-", "--robots", robots, stdin=table)
        assert (done.status, done.out) == (2, "")
        assert words in done.err
