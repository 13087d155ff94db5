"""Odd parts of files, which the core reads in a documented way: found, rewritten, and compared."""

from __future__ import annotations

import gzip
import re

import pytest

from scrapy_rep.extras.webmaster.checks.codes import Code, Effect
from scrapy_rep.extras.webmaster.effect.differences import differences
from scrapy_rep.extras.webmaster.effect.other_readers import OURS
from scrapy_rep.extras.webmaster.effect.rule_patterns import matches, pattern_of
from scrapy_rep.extras.webmaster.findings import MOST_WILDCARDS, findings
from scrapy_rep.extras.webmaster.linting.linter import fixed, lint
from scrapy_rep.extras.webmaster.linting.suppressions import without_suppressed
from scrapy_rep.extras.webmaster.rewrite.normal import Mode, normalise
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.paths import normal_path
from tests.protocol.reading import URI, codes, read
from tests.protocol.test_semantics import PAGES, clauses


class TestLonePercent:
    """A rule with a "%" that begins no escape is also compared as it is written."""

    def test_lone_percent_is_a_finding(self) -> None:
        found = [one for one in lint(b"User-agent: *\nDisallow: /%7Ea/%\n") if one.line == 2]
        assert [one.effect for one in found if one.code is Code.BAD_ESCAPE] == [Effect.CHANGES]

    @pytest.mark.parametrize(
        "rules",
        [
            "Disallow: /%7Ea/%\nDisallow: /%25\nDisallow: /%\n",
            "Disallow: /a/%**$\nDisallow: /a/é b/%*\nAllow: /a/%\n",
            "Allow: /abc*\nAllow: /abc\nDisallow: /%\nAllow: /x/%61\nDisallow: /x*x/%$x",
            "Disallow: /*%\nAllow: /%E\nAllow: /\nDisallow: /%25\nAllow: /é\nAllow: /*é*\n",
        ],
    )
    def test_rewritten_and_fixed_it_means_the_same(self, rules: str) -> None:
        body = f"User-agent: a\n{rules}\nUser-agent: b\n{rules.replace('%25', '%')}".encode()
        results = [normalise(body, mode) for mode in Mode]
        assert [normalise(one, mode) for one, mode in zip(results, Mode, strict=True)] == results
        paths = [
            *["/%61bc", "/%7Ea/%5B", "/~a/%5B", "/~a/%25", "/%", "/%25", "/%41", "/%E9", "/a/%5B"],
            *["/a/%", "/a/%20", "/a/é b/%20", "/x/a", "/x/%61", "/abc", "/x1x/%24x", "/x/%$x"],
        ]
        for new in (*results, fixed(body)[0]):
            for path in paths:
                for token in ("a", "b"):
                    one, other = (parse(f).verdict(path, token).allowed for f in (body, new))
                    assert one is other, (path, token, new)

    def test_differences_are_found(self) -> None:
        for pattern in ("/%", "/a/*/%", "/%E$x"):
            old = parse(f"User-agent: *\nDisallow: {pattern}\n".encode())
            new = parse(f"User-agent: *\nDisallow: {pattern.replace('%', '%25')}\n".encode())
            found = list(differences(old, new, readers=[OURS]))
            assert bool(found) is (pattern != "/%E$x"), pattern


class TestRewriting:
    """A file that is no text in UTF-8 stays as it is."""

    @pytest.mark.parametrize("page", PAGES)
    def test_page_of_a_browser(self, page: bytes) -> None:
        body = page % b"User-agent: *\nDisallow: /\xc3\xa9?a=&lt;b&gt;&amp;c\n"
        assert normalise(body) == body

    def test_file_in_utf_32_is_read(self) -> None:
        rewritten = "\ufeffUser-agent: *\nDisallow: /\u00e9\n\rdisallow /b".encode("utf-32-le")
        assert normalise(rewritten) == fixed(rewritten)[0] == rewritten

    def test_commands_read_gzip_and_leave_it_as_it_is(self) -> None:
        body = gzip.compress(b"User-agent: *\nDisallow: x # rep: ignore\nDisallow: y\n")
        found = [one for one in lint(body) if one.code is Code.RULE_MATCHES_NOTHING]
        assert {one.line for one in found} == {2, 3}
        assert {one.line for one in without_suppressed(body, found)} == {3}
        for damaged in (body, body[:-1]):
            assert fixed(damaged, "https://h/robots.txt")[0] == damaged
            for mode in Mode:
                assert normalise(damaged, mode, "https://h/robots.txt") == damaged

    def test_sitemaps_stay_the_same(self) -> None:
        """There are as many lines as sitemaps."""
        for value in ('"/a.xml"', "http://a/1,http://a/2", "www.example.com/s", "s.xml,https://b/"):
            body = f"User-agent: *\nDisallow: /x\n\nSitemap: {value}\n".encode()
            for mode in Mode:
                new = normalise(body, mode, URI)
                assert parse(new, URI).sitemaps == parse(body, URI).sitemaps
                assert normalise(new, mode, URI) == new


def test_escape_behind_a_star_is_compared_in_the_path_and_in_the_query() -> None:
    for row in clauses()["Twofold"][:-4]:
        for url in row.urls:
            patterns = re.findall(rb"Disallow: (.*)\n", row.robots_txt)
            path = normal_path(url)
            assert any(matches(pattern_of(one), path) for one in patterns) is not row.allowed


def test_texts_of_findings() -> None:
    texts = [
        str(finding) for finding in findings(read(b"\xff\xfeA\x00l\x00l\x00o\x00w\x00:\x00a\x00"))
    ]
    assert texts == [
        "the file is in UTF-16 instead of UTF-8",
        "line 1: a rule before the first user-agent line is ignored: a",
        "line 1: a path pattern begins with neither '/' nor '*' and matches nothing: a",
    ]


def test_many_wildcards_are_a_finding() -> None:
    enough = "".join(f"Disallow: /*{number}\n" for number in range(MOST_WILDCARDS))
    assert codes(f"User-agent: *\n{enough}") == []
    assert codes(f"User-agent: *\n{enough}Disallow: /*a\n") == [("many-wildcards", 0)]
