"""Hostile files and URLs get the right answer, and take little memory.

Nothing here is timed, but whatever is not about linear would make the run hang for minutes.
"""

from __future__ import annotations

import gc
import time
import tracemalloc
from collections.abc import Callable

import pytest

from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS
from scrapy_rep.protocol.verdict import Reason
from tests.counting import calls

from .reading import TOKEN, URI, allows, findings_of, read

_KEPT_TIMES_BODY = 4
_SMALL_CHANGE_OCTETS = 64 * 1024  # of which a body of a few octets may use more than its size


def _fill(make_line: Callable[[int], str], head: str = "User-agent: *\n") -> bytes:
    """As many lines as fit into the parse limit."""
    made, octets, number = [head], len(head), 0
    while octets < PARSE_LIMIT_OCTETS:
        made.append(make_line(number))
        octets += len(made[-1])
        number += 1
    return "".join(made[:-1]).encode()


def _tiny_rules() -> bytes:
    return _fill(lambda number: f"Allow:/{number:x}\n")


def _nested_rules() -> bytes:
    return _fill(lambda number: f"Disallow:/{'a' * number}\n")


def _star_rules() -> bytes:
    return _fill(lambda number: f"Disallow:/*{number:x}*a*b\n")


def _long_star_rules() -> bytes:
    return _fill(lambda number: f"Disallow: /{'*ab' * 1660}{number}\n")


def _long_odd_rules() -> bytes:
    return _fill(lambda number: f"Disallow: /*{'a{' * 8000}{number}\n")


def _no_rules_between_agents() -> bytes:
    return b"User-agent:*\n" + b"a:\n" * 160_000 + b"User-agent:*\n"


def _agents_then_rules() -> bytes:
    agents = "".join(f"User-agent: bot-{'x' * (number % 50)}\n" for number in range(4000))
    return (f"{agents}User-agent: *\n" + "Disallow: /a\n" * 4000).encode()


def _groups(count: int) -> bytes:
    return b"".join(b"User-agent:a\nAllow:/%d\n" % number for number in range(count))


def _groups_of_many() -> bytes:
    return b"".join(b"User-agent:%s\nAllow:/\n" % (b"ab"[n % 2 : n % 2 + 1]) for n in range(20_000))


_BODIES: dict[str, Callable[[], bytes]] = {
    "tiny rules": _tiny_rules,
    "nested rules": _nested_rules,
    "star rules": _star_rules,
    "long star rules": _long_star_rules,
    "long odd rules": _long_odd_rules,
    "no rules between agents": _no_rules_between_agents,
    "4,000 agents, 4,000 rules": _agents_then_rules,
    "15,000 groups of one token": lambda: _groups(15_000),
    "20,000 groups of two tokens": _groups_of_many,
    "one line": lambda: b"User-agent: *\nDisallow: /" + b"a" * (PARSE_LIMIT_OCTETS - 25),
    "one line of agents": lambda: b"user-agent:" * (PARSE_LIMIT_OCTETS // 11),
    "one line of stars": lambda: b"User-agent: *\nDisallow: /" + b"*" * (PARSE_LIMIT_OCTETS - 25),
    "blank lines": lambda: b"\n" * 3_000_000,
    "blank lines, CR": lambda: b"\r" * 3_000_000,
    "colons": lambda: b":\n" * 250_000,
    "comments": lambda: b"#\n" * 250_000,
    "agents alone": lambda: b"User-agent:*\n" * 39_000,
    "NUL": lambda: b"\0" * PARSE_LIMIT_OCTETS,
    "NUL lines": lambda: b"\0\n" * 250_000,
    "invalid UTF-8": lambda: b"User-agent:*\n" + b"Disallow:/\xff\xfe\n" * 38_000,
    "escapes": lambda: b"User-agent:*\n" + b"Disallow:/%%ff%zz\n" * 28_000,
    "spaces in rules": lambda: b"User-agent:*\n" + b"Disallow:/" + b" " * 500_000 + b"a\n",
    "UTF-16": lambda: ("User-agent:*\n" + "Disallow:/ツ\n" * 20_000).encode("utf-16"),
    "UTF-16, broken": lambda: b"\xff\xfe" + b"\x00\xd8" * 250_000,
    "sitemaps": lambda: b"".join(b"Sitemap:/%d\n" % number for number in range(35_000)),
    "crawl delays": lambda: b"User-agent:*\n" + b"Crawl-delay:x\n" * 36_000,
    "part of a BOM": lambda: b"\xef\xbb",
}


def _ask(robots_txt: RobotsTxt) -> None:
    """The questions of a crawl about a file."""
    for tokens in (TOKEN, ["bot-x", "a"], "MJ12bot"):
        for url in ("/", "/a", "/aaaaaaaaab", "/?x=" + "ab" * 500):
            robots_txt.verdict(url, tokens)
        robots_txt.crawl_delay(tokens)


_LINE_OCTETS = 60_000


@pytest.mark.parametrize("piece", ["|", "\t", " ", ",", ";", "a,", "a.", "-", "*", '"', "://"])
@pytest.mark.parametrize("key", ["Sitemap: ", "Sitemap: http://", "Content-Usage: ", "Allow: /"])
def test_long_lines_are_parsed_in_time(key: str, piece: str) -> None:
    """No regular expression looks at each rest of a line: that takes minutes of the processor."""
    line = f"{key}{piece * (_LINE_OCTETS // len(piece))}x\n"
    began_at = time.process_time()
    robots_txt = parse(("User-agent: *\n" + line * 2).encode(), URI)
    _ask(robots_txt)
    assert len(robots_txt.sitemaps) <= 1
    assert time.process_time() - began_at < 4


@pytest.mark.parametrize("name", _BODIES)
class TestBodies:
    """Every question about any file has an answer, and little memory is kept."""

    @pytest.mark.slow
    def test_every_question_has_an_answer(self, name: str) -> None:
        robots_txt = parse(_BODIES[name](), URI)
        _ask(robots_txt)
        group = robots_txt.group(TOKEN)
        assert (group is None) is (robots_txt.verdict("/a", TOKEN).reason is Reason.NO_GROUP)
        assert len(robots_txt.octets) <= 2 * PARSE_LIMIT_OCTETS
        assert all(uri.startswith("https://") for uri in robots_txt.sitemaps)
        assert all(record.line > 0 for record in robots_txt.other_records)
        assert all(finding.line >= 0 for finding in findings_of(robots_txt))

    @pytest.mark.slow
    def test_hostile_file_keeps_bounded_memory(self, name: str) -> None:
        """One crawler's rules and the file take at most four times its octets."""
        made = _BODIES[name]()
        gc.collect()
        tracemalloc.start()
        try:
            body = bytes(bytearray(made))  # a copy with traced octets
            robots_txt = parse(body, URI)
            robots_txt.verdict("/a", TOKEN)
            del body
            gc.collect()  # garbage is not kept
            kept, _ = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        counted = min(len(made), PARSE_LIMIT_OCTETS)
        assert kept <= max(_KEPT_TIMES_BODY * counted, _SMALL_CHANGE_OCTETS)


class TestRightAnswers:
    """The files above mean what they say."""

    def test_deepest_of_nested_rules_decides(self) -> None:
        body = _nested_rules()
        deepest = body.count(b"\n") - 2
        verdict = read(body).verdict("/" + "a" * deepest * 2, TOKEN)
        assert verdict.rule is not None
        assert verdict.rule.octets == deepest + 1
        assert verdict.line == deepest + 2

    def test_one_star_rule_of_many_matches(self) -> None:
        body = _star_rules()
        url = "/" + "-" * 2000 + "4d2ab"
        verdict = read(body).verdict(url, TOKEN)
        assert verdict.rule is not None
        assert verdict.rule.path_pattern == b"/*4d2*a*b"

    def test_many_stars_get_the_right_verdict(self) -> None:
        """A matcher that tries all ways would not come back from this."""
        bomb = "/" + "*a" * 2000
        assert allows(f"User-agent: *\nDisallow: {bomb}b\n", "/" + "a" * 5000)
        assert not allows(f"User-agent: *\nDisallow: {bomb}b\n", "/" + "a" * 5000 + "b")
        assert not allows(f"User-agent: *\nDisallow: {bomb}$\n", "/" + "a" * 5000)

    def test_rule_after_4000_agents(self) -> None:
        body = _agents_then_rules()
        assert not allows(body, "/a", "bot-xxx")
        assert read(body).verdict("/a", "bot-xxx").line == 4002
        assert allows(body, "/b")

    def test_long_url_gets_the_right_verdict(self) -> None:
        body = "User-agent: *\nDisallow: /*x*y$\nAllow: /%20\n"
        megabyte = "/" + "é%zz x" * 150_000
        assert not allows(body, megabyte + "y")
        assert allows(body, megabyte + "yz")
        assert not allows(body, "/?" + "%78" * 350_000 + "y")

    def test_many_crawlers_on_one_file(self) -> None:
        """Each crawler gets its answer, but only a few selections are kept."""
        robots_txt = read("User-agent: bot-a\nDisallow: /a\nUser-agent: *\nDisallow: /b\n")
        for number in range(1000):
            token = f"bot-{'abcdefghij'[number % 10]}{'x' * (number // 10)}"
            assert robots_txt.verdict("/a", token).allowed is (token != "bot-a")
            assert robots_txt.verdict("/b", token).allowed is (token == "bot-a")
        assert len(robots_txt._selections) < 20

    def test_many_deciding_rules(self) -> None:
        robots_txt = read(_tiny_rules())
        for number in range(3000):
            verdict = robots_txt.verdict(f"/{number:x}", TOKEN)
            assert verdict.rule is not None
            assert verdict.rule.path_pattern == f"/{number:x}".encode()
        assert len(robots_txt.selection(TOKEN)._verdicts) < 1000


class TestSitemapLines:
    """Sitemap lines are read until they have cost enough."""

    def test_odd_values_are_resolved_up_to_a_limit(self) -> None:
        def work(count: int) -> int:
            lines = "".join(f"Sitemap: {number}\n" for number in range(count))
            robots_txt = parse(lines.encode(), URI)
            assert len(robots_txt.sitemaps) == min(count, 2_000)
            return calls(lambda: robots_txt.sitemaps)

        few, limit, more = work(1_000), work(10_000), work(30_000)
        assert limit < 3 * few
        assert more < 1.1 * limit

    def test_repeated_value_is_resolved_once(self) -> None:
        once, often = (
            calls(lambda: parse(b"Sitemap: 17\n" * count, URI).sitemaps)  # noqa: B023
            for count in (1, 10_000)
        )
        assert often < once + 25 * 10_000
        assert parse(b"Sitemap: 17\n" * 10_000, URI).sitemaps == ("https://example.com/17",)

    def test_sitemap_lines_are_bounded(self) -> None:
        lines = "".join(f"Sitemap:http://a/{number}\n" for number in range(21_000))
        robots_txt = parse(lines.encode(), URI)
        assert len(robots_txt.sitemaps) == 20_000
        assert robots_txt.invalid_sitemaps == ()
