"""RFC 9309, 2.2.2, 2.2.3 and section 5: which rule decides.

One class per clause; its docstring is the clause in our words. See docs/conformance.md.
"""

from __future__ import annotations

import pytest

from scrapy_rep.protocol.paths import is_robots_txt
from scrapy_rep.protocol.verdict import Reason

from .reading import END, TOKEN, allows, matches, normal_path, normal_pattern, read, rules


class TestMatch:
    """2.2.2: Access MUST be evaluated by matching the rules' paths against the URI."""

    def test_verdict_names_the_rule(self) -> None:
        verdict = read("# 1\nUser-agent: *\nDisallow: /a\n").verdict("/a", TOKEN)
        assert verdict.reason is Reason.RULE
        assert verdict.rule is not None
        assert (str(verdict.rule), verdict.line, verdict.rule.line) == ("Disallow: /a", 3, 3)


class TestCaseSensitive:
    """2.2.2: Paths SHOULD be matched with regard to case."""

    def test_path(self) -> None:
        assert matches("/Abc", "/Abc")
        assert not matches("/Abc", "/abc")

    def test_query(self) -> None:
        assert not matches("/a?B=c", "/a?b=c")


class TestFirstOctet:
    """2.2.2: The match MUST start with the first octet of the path."""

    def test_not_later(self) -> None:
        assert matches("/a", "/a/b")
        assert not matches("/b", "/a/b")

    def test_not_in_authority_or_scheme(self) -> None:
        assert not matches("/example.com", "https://example.com/a")
        assert not matches("/https", "https://example.com/a")


class TestEndOfPath:
    """2.2.2: A match is one if the rule's path ends before any octet differs."""

    @pytest.mark.parametrize("url", ["/fish", "/fish.html", "/fish/", "/fishheads", "/fish?a=b"])
    def test_rule_is_the_beginning(self, url: str) -> None:
        assert matches("/fish", url)

    @pytest.mark.parametrize("url", ["/fis", "/Fish", "/catfish", "/?id=fish", "/"])
    def test_an_octet_differs_or_is_missing(self, url: str) -> None:
        assert not matches("/fish", url)


class TestMostSpecific:
    """2.2.2: The most specific match MUST be used: the one with the most octets."""

    @pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0)])
    def test_order_plays_no_part(self, order: tuple[int, ...]) -> None:
        three = ["Disallow: /", "Allow: /a", "Disallow: /a/b"]
        body = "\n".join(["User-agent: *", *(three[index] for index in order)])
        assert [allows(body, url) for url in ("/", "/a", "/a/b")] == [False, True, False]

    def test_octets_not_characters(self) -> None:
        """``/é`` is ``/%C3%A9``: seven octets, more than the six of ``/*aaaa``."""
        body = "User-agent: *\nDisallow: /é\nAllow: /*aaaa\n"
        assert not allows(body, "/éaaaa")
        assert allows("User-agent: *\nDisallow: /é\nAllow: /*aaaaaa\n", "/éaaaaaa")


class TestDuplicates:
    """2.2.2: Equal rules MAY be kept once: more of them change nothing."""

    def test_same_verdict(self) -> None:
        once = "User-agent: *\nDisallow: /a\nAllow: /a/b\n"
        twice = once + "Disallow: /a\nAllow: /a/b\n"
        for url in ("/a", "/a/b", "/c"):
            assert read(once).verdict(url, TOKEN) == read(twice).verdict(url, TOKEN)


class TestTie:
    """2.2.2: If an allow and a disallow rule are equivalent, allow SHOULD be used."""

    @pytest.mark.parametrize("pattern", ["/a", "/", "/a*b", "/a$", "/*"])
    def test_same_path(self, pattern: str) -> None:
        url = pattern.replace("*", "x").replace("$", "")
        lines = [f"Allow: {pattern}", f"Disallow: {pattern}"]
        for order in (lines, lines[::-1]):
            assert allows("\n".join(["User-agent: *", *order]), url)

    def test_written_differently(self) -> None:
        assert allows("User-agent: *\nDisallow: /%61b\nAllow: /ab\n", "/ab")


class TestNoMatch:
    """2.2.2: Without a match, or without a rule in the group, the URI is allowed."""

    def test_no_match(self) -> None:
        verdict = read("User-agent: *\nDisallow: /a\n").verdict("/b", TOKEN)
        assert (verdict.allowed, verdict.reason) == (True, Reason.NO_RULE_MATCHES)
        assert (verdict.line, verdict.rule, verdict.product_token) == (0, None, "*")

    def test_no_rule(self) -> None:
        verdict = read("User-agent: ExampleBot\n").verdict("/b", TOKEN)
        assert (verdict.allowed, verdict.reason) == (True, Reason.NO_RULE_MATCHES)
        assert verdict.product_token == "examplebot"


class TestRobotsTxt:
    """2.2.2: The /robots.txt URI is implicitly allowed."""

    body = "User-agent: *\nDisallow: /\nDisallow: /robots.txt\n"

    @pytest.mark.parametrize(
        "url",
        [
            *["/robots.txt", "https://example.com/robots.txt#a", "http://u@h:1/robots.tx%74"],
            "http://u;p@h/robots.txt",
            *["http://u:p@h/robots.txt#?x", "http://h/%72%6F%62%6F%74%73%2E%74%78%74"],
        ],
    )
    def test_allowed(self, url: str) -> None:
        assert is_robots_txt(url)
        verdict = read(self.body).verdict(url, TOKEN)
        assert (verdict.allowed, verdict.reason) == (True, Reason.IMPLICITLY_ALLOWED)

    @pytest.mark.parametrize(
        "url",
        [
            *["/robots.txt?a", "/a/robots.txt", "/robots.txt/", "/Robots.txt", "/robots.txt;a"],
            *["/robots.txt?", "/?/robots.txt", "/#/robots.txt", "/%2Frobots.txt", "/./robots.txt"],
            *["http://robots.txt/x", "http://robots.txt", "http://h//robots.txt"],
        ],
    )
    def test_only_that(self, url: str) -> None:
        assert not is_robots_txt(url)
        assert not allows(self.body, url)


class TestPercentEncoding:
    """2.2.2: Octets outside of ASCII MUST be percent-encoded before comparing, escapes of octets
    that need none MUST be decoded; reserved ones are equal however written, on both sides.

    The rows are the clause's table; the last three add what it implies.
    """

    @pytest.mark.parametrize(
        ("written", "same"),
        [
            ("/path?key=value", "/path?key=value"),
            ("/path?to=https://a.b", "/path?to=https%3A%2F%2Fa.b"),
            ("/path/ツ", "/path/%E3%83%84"),
            ("/path/%E3%83%84", "/path/%E3%83%84"),
            ("/path/%66%6F%6F", "/path/foo"),
            ("/path/%e3%83%84", "/path/%E3%83%84"),
            ("/path/%7Euser", "/path/~user"),
            ("/path/a%3Ab", "/path/a:b"),
        ],
    )
    def test_equal(self, written: str, same: str) -> None:
        for pattern in (written, same):
            for url in (written, same):
                assert matches(pattern, url)
        assert normal_path(written) == normal_path(same)
        assert normal_pattern(written.encode()) + END == normal_path(written)

    def test_octets_that_are_no_utf8(self) -> None:
        """2.2.2: Mismatched encodings MAY be bridged; we compare octets, as written."""
        assert matches(b"/caf\xe9", "/caf%E9")
        assert not matches(b"/caf\xe9", "/café")


class TestRulesOutsideGroups:
    """2.2.2: Rules that are in no group SHOULD be ignored."""

    def test_before_the_first_user_agent_line(self) -> None:
        body = "Disallow: /\nAllow: /a\nUser-agent: *\nDisallow: /b\n"
        assert rules(body) == ["Disallow: /b"]
        assert allows(body, "/a")


class TestComment:
    """2.2.3: ``#`` MUST be supported, as the beginning of a comment."""

    @pytest.mark.parametrize("body", ["/a# b", "/a #b", "/a#"])
    def test_ends_the_path(self, body: str) -> None:
        assert matches(body, "/a")
        assert matches(body, "/ax")

    def test_escaped_it_is_the_character(self) -> None:
        assert matches("/a%23b", "/a%23b")
        assert not matches("/a%23b", "/a#b")


class TestEndOfMatch:
    """2.2.3: ``$`` MUST be supported, as the end of the path at the end of a rule."""

    def test_end(self) -> None:
        assert matches("/a.php$", "/a.php")
        assert not matches("/a.php$", "/a.php?b")
        assert not matches("/a.php$", "/a.php/")
        assert not matches("/a.php$", "/a.php5")

    def test_of_the_root(self) -> None:
        assert matches("/$", "https://example.com")
        assert not matches("/$", "/a")

    def test_elsewhere_it_is_the_character(self) -> None:
        assert matches("/a$b", "/a$b")
        assert not matches("/a$b", "/a")


class TestWildcard:
    """2.2.3: ``*`` MUST be supported, as any characters, or none."""

    @pytest.mark.parametrize(
        ("pattern", "url", "expected"),
        [
            ("/*", "/", True),
            ("*", "/", True),
            ("/a*b", "/ab", True),
            ("/a*b", "/a/x/b?c", True),
            ("/a*b", "/a", False),
            ("/a*b", "/ba", False),
            ("/a*", "/a", True),
            ("/a**b", "/ab", True),
            ("/*/b", "/b", False),
            ("/ab*ba", "/aba", False),
            ("*.gif$", "/a/b.gif", True),
            ("*.gif$", "/a.gif?b", False),
            ("/*a$", "/ba/a", True),
            ("/a*a$", "/a", False),
        ],
    )
    def test_matches(self, pattern: str, url: str, *, expected: bool) -> None:
        assert matches(pattern, url) is expected


class TestVerbatim:
    """2.2.3: Special characters that mean themselves SHOULD be written percent-encoded."""

    def test_star(self) -> None:
        assert matches("/file-with-a-%2A.html", "/file-with-a-*.html")
        assert matches("/file-with-a-%2a.html", "/file-with-a-%2A.html")
        assert not matches("/file-with-a-%2A.html", "/file-with-a-x.html")

    def test_dollar(self) -> None:
        assert matches("/foo-%24", "/foo-$")
        assert matches("/foo-%24", "/foo-$bar")
        assert not matches("/foo-%24", "/foo-")


class TestSimpleExample:
    """5.1: Groups of several kinds in one file, among them one for two tokens and an empty one."""

    body = (
        "User-Agent: *\nDisallow: *.png$\nDisallow: /shop/\nAllow: /news/\n\n"
        "User-Agent: apple\nDisallow:/\nAllow:/shop/list.html\nAllow:/shop/one.png\n\n"
        "User-Agent: pear\nUser-Agent: plum\nDisallow: /shop/list.html\n\n"
        "User-Agent: quince\n\n"
    )

    @pytest.mark.parametrize(
        ("token", "allowed"),
        [
            ("cherry", ["/", "/news/", "/news/a.pngx", "/shop"]),
            ("apple", ["/shop/list.html", "/shop/one.png"]),
            ("pear", ["/", "/news/", "/news/a.pngx", "/shop", "/shop/one.png", "/a.png"]),
            ("plum", ["/", "/news/", "/news/a.pngx", "/shop", "/shop/one.png", "/a.png"]),
        ],
    )
    def test_group(self, token: str, allowed: list[str]) -> None:
        urls = ["/", "/news/", "/news/a.pngx", "/shop", "/shop/list.html", "/shop/one.png"]
        urls.append("/a.png")
        assert [url for url in urls if allows(self.body, url, token)] == allowed

    def test_group_without_rules(self) -> None:
        assert rules(self.body, "quince") == []
        assert allows(self.body, "/shop/", "quince")


class TestLongestMatchExample:
    """5.2: Of two rules that match, the longer one decides."""

    body = "User-Agent: apple\nAllow: /shop/list/\nDisallow: /shop/list/forbidden.png\n"

    def test_longer(self) -> None:
        assert not allows(self.body, "/shop/list/forbidden.png", "apple")
        assert allows(self.body, "/shop/list/other.png", "apple")
