"""The facts of one file."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.extras.survey.captures import ANSWER_FACTS, BODY_FACTS, Capture, row_of
from scrapy_rep.extras.survey.effect import CLASSES
from scrapy_rep.extras.survey.facts import Facts, facts, host_of
from scrapy_rep.extras.survey.statistics import DEFINITIONS
from scrapy_rep.extras.webmaster.linting.linter import lint
from scrapy_rep.protocol.document import parse
from tests.extras.survey.files import BODIES, SMALL


def test_row_has_all_facts() -> None:
    row = row_of(Capture("a.example", body=b""), facts(b""))
    assert len(row) == 49
    assert [*row] == [*ANSWER_FACTS, *BODY_FACTS]
    assert {*row} <= {*DEFINITIONS}


def test_capture_without_a_file_has_the_same_columns() -> None:
    row = row_of(Capture("a.example", status=404), None)
    assert len(row) == 49
    assert row["status"] == 404
    assert row["octets"] is None


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", {"octets": 0, "lines": 0, "groups": 0, "eol": "none", "star_class": "none"}),
        (b"a\nb\r\n", {"eol": "mixed", "lines": 2, "lines_no_record": 2}),
        (b"a: b\r", {"eol": "cr", "other_lines": 1, "other_keys": {"a": 1}}),
        (b"# x\n \n\nnothing here said # y", {"lines": 4, "lines_blank": 2, "comments": 2}),
        (b"# x\nnothing # y", {"lines_no_record": 1}),
        (b"\xef\xbb\xbfUser-agent: *\nDisallow: /", {"bom": True, "star_class": "full"}),
        ("\ufeffDisallow: /".encode("utf-16-le"), {"is_utf16": True, "utf8": False}),
        (b" \n<HTML>", {"markup": True}),
        (b"<pre>", {"markup": False}),
        (b"\xff", {"utf8": False}),
        (b"Disallow: /\nUser-agent: a", {"rules": 0, "rules_before_agent": 1, "disallow_lines": 1}),
        (b"Disallow: /", {"rules_before_agent": 1, "groups": 0}),
        (
            (
                b"User-agent: a\nUser-agent: *\nAllow: /a*\nDisallow: /b$\nDisallow: /%41\nAllow:\n"
                b"Disallow: x"
            ),
            {
                "groups": 1,
                "multi_agent_groups": 1,
                "names": 1,
                "has_star": True,
                "rules": 5,
                "wildcard_rules": 1,
                "dollar_rules": 1,
                "percent_rules": 1,
                "empty_rules": 1,
                "dead_rules": 1,
                "longest_rule": 4,
                "user_agent_lines": 2,
                "allow_lines": 2,
                "disallow_lines": 3,
            },
        ),
        (
            b"User-agent: a\nDisallow: /\nUser-agent: *\nDisallow:\nUser-agent: A/1\nAllow: /",
            {"names_in_several_groups": 1, "names": 1, "groups": 3, "agents": {"a": "none"}},
        ),
        (b"User-agent: *\nCrawl-delay: x\nCrawl-delay: 2,5", {"crawl_delay_star": 2.5}),
        (b"User-agent: *\nCrawl-delay: 1" + b"0" * 300, {"crawl_delay_star": 1e9}),
        (b"User-agent: a\nCrawl-delay: 1", {"crawl_delay_star": None}),
        (b"Sitemap: /a\nSitemap: /a\nSitemap: https://b.example/a", {"sitemaps": 2}),
        (SMALL["ai.example"], {"content_signal": "search=y train-ai=n", "content_usage": None}),
        (b"Content-Signal: ai-train=no", {"content_signal": "train-ai=n"}),
        (b"User-agent: a\nContent-Signal: ai-train=no", {"content_signal": ""}),
        (SMALL["usage.example"], {"content_usage": "train-ai=n", "content_signal": None}),
        (b'<a href="https://x">', {"other_keys": {}}),
        (b"User-agent: " + b"a" * 41 + b"\nDisallow: /", {"names": 1, "agents": {}}),
    ],
)
def test_facts_of_a_file_are_right(body: bytes, expected: dict[str, object]) -> None:
    found = facts(body)
    assert {name: getattr(found, name) for name in expected} == expected


def test_lint_is_counted_on_request() -> None:
    body = b"Disallow: /\nDisallow: /b\n"
    assert facts(body).lint is None
    found = facts(body, with_lint=True).lint
    assert found == Counter(finding.code.value for finding in lint(body))
    assert found


def test_octets_beyond_the_parse_limit_have_no_facts() -> None:
    body = b"User-agent: *\nDisallow:\n" + b"#" * 600_000 + b"\n" + b"Disallow: /\n"
    found = facts(body)
    assert (found.is_cut, found.star_class, found.octets) == (True, "none", len(body))


def test_character_that_the_limit_cuts_is_valid() -> None:
    assert facts("ä".encode() * 300_000).utf8
    assert facts(b"x" + "ä".encode() * 300_000).utf8
    assert not facts(b"\xff" + "ä".encode() * 300_000).utf8


@pytest.mark.parametrize(
    ("uri", "host"),
    [
        ("https://A.example:8080/x", "a.example"),
        ("https://u:p@a.example", "a.example"),
        ("http://[::1]:80/x", "[::1]"),
        ("http://a.example?x", "a.example"),
        ("nothing", ""),
    ],
)
def test_host_of_a_uri_is_found(uri: str, host: str) -> None:
    assert host_of(uri) == host


@given(st.binary(max_size=300) | BODIES)
def test_never_raises_and_counts_add_up(body: bytes) -> None:
    found = facts(body)
    assert isinstance(found, Facts)
    assert found.rules + found.rules_before_agent == found.allow_lines + found.disallow_lines
    assert found.star_class in CLASSES
    keyed = [found.user_agent_lines, found.allow_lines, found.disallow_lines]
    assert sum(keyed) + found.sitemap_lines + found.other_lines <= found.lines
    assert found.lines_no_record >= 0


@given(BODIES)
def test_names_are_classed_as_verdicts_say(body: bytes) -> None:
    robots = parse(body)
    found = facts(body)
    for name, effect in [*found.agents.items(), ("nobodysbot", found.star_class)]:
        allowed = {robots.verdict(url, name).allowed for url in ("/", "/zz", "/a", "/axb", "/ab")}
        if effect != "part":
            assert allowed == {effect == "none"}
