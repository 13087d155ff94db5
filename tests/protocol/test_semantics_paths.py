"""semantics.md, part 3, and RFC 9309, 2.2.2, 2.2.3 and 5.2: paths, and the rule that decides.

The docstring of a class is its clause in short. See docs/conformance.md.
"""

from __future__ import annotations

import pytest

from scrapy_rep.analysis.checks.codes import Code, Effect
from scrapy_rep.analysis.effect.differences import differences
from scrapy_rep.analysis.effect.rule_patterns import matches as effect_matches
from scrapy_rep.analysis.lint.linter import fixed, lint
from scrapy_rep.analysis.rewrite.normal import Mode, normalise
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.other_readers import OURS
from scrapy_rep.protocol.paths import (
    before_path_of,
    is_robots_txt,
    path_of,
    uri_without_dots,
    without_dots,
)
from scrapy_rep.protocol.verdict import Reason
from scrapy_rep.robotparser import ParserRules, RepRobotParser

from . import model
from .reading import (
    END,
    TOKEN,
    allows,
    codes,
    matches,
    normal_path,
    normal_pattern,
    read,
)


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


class TestLongestMatchExample:
    """5.2: Of two rules that match, the longer one decides."""

    body = "User-Agent: apple\nAllow: /shop/list/\nDisallow: /shop/list/forbidden.png\n"

    def test_longer(self) -> None:
        assert not allows(self.body, "/shop/list/forbidden.png", "apple")
        assert allows(self.body, "/shop/list/other.png", "apple")


class TestMatchedPart:
    """3: Path, parameters and query; no fragment; an empty path is ``/``."""

    @pytest.mark.parametrize(
        ("url", "path"),
        [
            ("http://h", b"/$"),
            ("http://h/", b"/$"),
            ("http://h?x", b"/?x$"),
            ("http://h#x", b"/$"),
            ("http://h;p", b"/;p$"),
            ("http://u:p@h:80/a;p?q#f", b"/a;p?q$"),
            ("http://u;v:p;q@h:80/a;p", b"/a;p$"),
            ("http://u;@v;@h;a/b@c", b"/;a/b@c$"),
            ("//u;@h?a@;b", b"/?a@;b$"),
            ("u;@h/a", b"/;@h/a$"),
            ("http://h#@i/p", b"/$"),
            ("http://h?@i/p", b"/?@i/p$"),
            ("http://h/a#f?q", b"/a$"),
            ("http://h//a//b", b"//a//b$"),
            ("http://h/a?b?c", b"/a?b?c$"),
            ("http://h/a?u=http://i/j", b"/a?u=http://i/j$"),
            ("/a:b//c", b"/a:b//c$"),
            ("http://h/a/../b/./c", b"/a/../b/./c$"),
            ("", b"/$"),
        ],
    )
    def test_path(self, url: str, path: bytes) -> None:
        assert normal_path(url) == path

    @pytest.mark.parametrize(
        "url", ["", "#", "#f", "?", "?q", ";p", "http://h", "http://h#f", "//h"]
    )
    def test_url_without_path_is_under_the_root(self, url: str) -> None:
        """As the first URL, and after a URL of the usual form."""
        robots_txt = parse(b"User-agent: *\nDisallow: /\n")
        for asked in (url, "http://h/x", url):
            assert not robots_txt.verdict(asked, "ExampleBot").allowed


class TestNormalForm:
    """3: Reserved and unreserved characters are written as they are, all others percent-encoded in
    upper case; ``%2F`` and ``%3F`` stay different before the first ``?``; wildcards only bare.
    """

    @pytest.mark.parametrize(
        ("url", "path"),
        [
            ("/%41%7a%30%2D%2e%5F%7e", b"/Az0-._~$"),
            ("/%3A%23%5B%5D%40%21%26%27%28%29%2B%2C%3B%3D", b"/:#[]@!&'()+,;=$"),
            ('/ {}|\\^`<>"', b"/%20%7B%7D%7C%5C%5E%60%3C%3E%22$"),
            ("/%20%7b%c3%A9", b"/%20%7B%C3%A9$"),
            ("/\x00\x7f\x80", b"/%00%7F%C2%80$"),
            ("/%", b"/%25$"),
            ("/%4", b"/%254$"),
            ("/%zz%41", b"/%25zzA$"),
            ("/%%41", b"/%25A$"),
            ("/%25%2541", b"/%25%2541$"),
            ("/%2f%3F", b"/%2F%3F$"),
            ("/?%2f%3F", b"/?/?$"),
            ("/*$%2a%24", b"/%2A%24%2A%24$"),
            ("/?*$", b"/?%2A%24$"),
            ("/\ud800", b"/%ED%A0%80$"),
        ],
    )
    def test_of_urls(self, url: str, path: bytes) -> None:
        assert normal_path(url) == path

    @pytest.mark.parametrize(
        ("written", "pattern"),
        [
            (b"/%41", b"/A"),
            (b"/a b", b"/a%20b"),
            (b"/\xe9", b"/%E9"),
            (b"/%2f%3f?%2f%3f", b"/%2F%3F?/?"),
            (b"/*", b"/*"),
            (b"/%2a", b"/%2A"),
            (b"/a$", b"/a$"),
            (b"/a$b", b"/a%24b"),
            (b"/a$$", b"/a%24$"),
            (b"/a%24", b"/a%24"),
            (b"$", b"$"),
            (b"/?*$", b"/?*$"),
            (b"", b""),
        ],
    )
    def test_of_rules(self, written: bytes, pattern: bytes) -> None:
        assert normal_pattern(written) == pattern

    def test_slash_is_no_escape_in_the_path(self) -> None:
        assert not matches("/a%2Fb", "/a/b")
        assert not matches("/a/b", "/a%2fb")
        assert matches("/a?b/c", "/a?b%2Fc")
        assert not matches("/a%3Fb", "/a?b")


class TestOctets:
    """3: ``*`` is any octets of the normal form, so it may end within an escape."""

    def test_within_an_escape(self) -> None:
        """As in Google's matcher, which compares the URL as written."""
        assert matches("/*9", "/é")
        assert matches("/*A", "/%2A")
        assert not matches("/*é", "/%C3")


class TestUnmatchable:
    """3: A rule that begins with neither ``/`` nor ``*`` matches nothing, with a finding; an
    absolute URL as a rule likewise.
    """

    @pytest.mark.parametrize(
        "pattern", ["a", "https://example.com/a", "?a", "$", "%2Fa", ".", "\\a"]
    )
    def test_nothing(self, pattern: str) -> None:
        body = f"User-agent: *\nDisallow: {pattern}\n"
        urls = ("/", "/a", "/?a", "/https://example.com/a")
        assert [url for url in urls if not allows(body, url)] == []
        assert codes(body) == [(Code.RULE_MATCHES_NOTHING, 2)]

    @pytest.mark.parametrize("pattern", ["/", "*", "*a", "/a", ""])
    def test_no_finding(self, pattern: str) -> None:
        assert codes(f"User-agent: *\nDisallow: {pattern}\n") == []


class TestMostOctets:
    """3: Most octets in normal form decide, ``*`` and ``$`` counted; equal length: allow; of equal
    rules the first line is named; an empty rule is no rule.
    """

    def test_wildcards_count(self) -> None:
        assert not allows("User-agent: *\nAllow: /ab\nDisallow: /a**\n", "/ab")
        assert not allows("User-agent: *\nAllow: /ab\nDisallow: /ab$\n", "/ab")

    def test_escapes_count_as_in_normal_form(self) -> None:
        """``/%61%62`` has two octets after the slash, not six."""
        assert not allows("User-agent: *\nAllow: /%61%62\nDisallow: /abc\n", "/abc")
        assert not allows("User-agent: *\nAllow: /*b\nDisallow: / b\n", "/%20b")

    def test_first_of_equal_rules(self) -> None:
        body = "User-agent: *\nDisallow: /a\nDisallow: /%61\nAllow: /b\nDisallow: /b\nAllow: /b\n"
        assert read(body).verdict("/a", TOKEN).line == 2
        assert read(body).verdict("/b", TOKEN).line == 4

    @pytest.mark.parametrize("key", ["Allow", "Disallow"])
    def test_empty_rule(self, key: str) -> None:
        verdict = read(f"User-agent: *\n{key}:\n").verdict("/a", TOKEN)
        assert (verdict.allowed, verdict.reason) == (True, Reason.EMPTY_RULE)
        assert not allows(f"User-agent: *\n{key}:\nDisallow: *\n", "/a")


class TestIndex:
    """3: ``Allow: /x/index.htm…`` that does not match is also tried as ``Allow: /x/$``."""

    body = "User-agent: *\nDisallow: /\nAllow: /x/index.html\n"

    def test_allows_the_folder(self) -> None:
        assert allows(self.body, "/x/")
        assert allows(self.body, "/x/index.html")

    @pytest.mark.parametrize("url", ["/x", "/x/a", "/x/?a", "/", "/x/index.htm"])
    def test_and_nothing_else(self, url: str) -> None:
        assert not allows(self.body, url)

    @pytest.mark.parametrize("name", ["index.htm", "index.html5", "index.htm?a", "index.htm$"])
    def test_any_ending(self, name: str) -> None:
        assert allows(f"User-agent: *\nDisallow: /\nAllow: /x/{name}\n", "/x/")

    @pytest.mark.parametrize("path", ["/x/index.php", "/x/aindex.html", "/index.html/x", "/x/"])
    def test_no_index(self, path: str) -> None:
        assert not allows(f"User-agent: *\nDisallow: /\nAllow: {path}y\n", "/x/")

    def test_weighs_as_it_is_tried(self) -> None:
        """``/x/$`` has four octets, so five of a disallow outweigh it."""
        assert not allows("User-agent: *\nDisallow: /x/**\nAllow: /x/index.html\n", "/x/")
        verdict = read(self.body).verdict("/x/", TOKEN)
        assert verdict.rule is not None
        assert (verdict.rule.octets, verdict.line) == (4, 3)


class KnowsNoDots:
    """A parser that sees the private folder where it is named right behind the host."""

    def allowed(self, url: str, user_agent: str) -> bool:
        return not url.startswith("http://u:p@h:8/private/")


class TestLonePercent:
    """3: A rule with a % that begins no escape is also compared as it is written."""

    @pytest.mark.parametrize(
        ("pattern", "path", "is_match"),
        [
            ("/itm/*/%", "/itm/x/%5Bfoo", True),
            ("/itm/*/%", "/itm/x/[foo", False),
            ("/%E", "/%E9t%C3%A9", True),
            ("/%E", "/été", False),
            ("/%E", "/%25E", True),
            ("/%4", "/A", False),
            ("/%4", "/%41", True),
            ("/%$", "/%", True),
            ("/%*b$", "/%41$b", True),
            ("/a$%", "/a$%41", True),
            ("*%", "/?q=%20", True),
            ("/é%", "/é%41", True),
            ("/%41%", "/%41%42", True),
            ("/*%", "/a#%41", False),
            ("/%25", "/%41", False),
            ("/a/%", "/b/../a/%41", True),
            ("/a/%", "/a/%2e/%41", True),
        ],
    )
    def test_matches(self, pattern: str, path: str, is_match: bool) -> None:
        for body in (f"User-agent: *\nDisallow: {pattern}\n", f"User-agent: *\ndisallow {pattern}"):
            assert read(body).verdict(f"https://example.com{path}", TOKEN).allowed is not is_match
        many = "".join(f"Disallow: /{number}\n" for number in range(2000))
        body = f"User-agent: *\n{many}Disallow:\t{pattern} \nAllow: /1*x\n"
        assert read(body).verdict(path, TOKEN).allowed is not is_match

    def test_its_length_is_that_of_its_normal_form(self) -> None:
        for other, allowed in (("/**0", False), ("/***0", True)):
            body = f"User-agent: *\nDisallow: /*%\nAllow: {other}\n"
            assert read(body).verdict("/%20", TOKEN).allowed is allowed, other
        verdict = read("User-agent: *\nDisallow: /*%\n").verdict("/%5B", TOKEN)
        assert verdict.rule is not None
        assert (verdict.rule.octets, verdict.line) == (5, 2)

    def test_the_line_that_matches_is_named(self) -> None:
        body = (
            "User-agent: *\nDisallow: /%25\nDisallow: /%\nDisallow: /%\nAllow: /%C\nDisallow: /%C"
        )
        robots_txt = read(body)
        assert [robots_txt.verdict(p, TOKEN).line for p in ("/%25", "/%41", "/%C3")] == [2, 3, 5]

    def test_a_finding(self) -> None:
        (found,) = (
            one
            for one in lint(b"User-agent: *\nDisallow: /%7Ea/%\n")
            if one.line == 2 and one.code is Code.BAD_ESCAPE
        )
        assert found.effect is Effect.CHANGES

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
            *["/a/%", "/a/%20", "/a/%C3%A9%20b/%20", "/a/é b/%20", "/x/a", "/x/%61", "/abc", "/é"],
            *["/x1x/%24x", "/x1x/%$x", "/x/%24x/%$x", "/é%20"],
        ]
        for new in (*results, fixed(body)[0]):
            for path in paths:
                for token in ("a", "b"):
                    one, other = (parse(f).verdict(path, token).allowed for f in (body, new))
                    assert one is other, (path, token, new)

    def test_differences_are_found(self) -> None:
        for pattern in ("/%", "/a/*/%", "/%E", "/%E$x", "/a%*b"):
            old = parse(f"User-agent: *\nDisallow: {pattern}\n".encode())
            new = parse(f"User-agent: *\nDisallow: {pattern.replace('%', '%25')}\n".encode())
            found = list(differences(old, new, readers=[OURS]))
            assert bool(found) is (pattern != "/%E$x"), pattern
            assert list(differences(old, new))


class TestDotSegments:
    """3: Judged as written and with dot segments removed; allowed only if both are."""

    @pytest.mark.parametrize(
        "path",
        [
            *["/private/x", "/public/../private/x", "/./private/x", "/a/b/../../private/x"],
            *["/public/%2e%2E/private/x", "/%2E/private/x", "/.%2e/private/x", "/../../private/x"],
            *["/public/..//../private/", "/public/../private/x?y#z", "//../private/x"],
            *["/x;a/../private/x", "/private/../public", "/private/.."],
        ],
    )
    def test_either_reading_forbids(self, path: str) -> None:
        body = "User-agent: *\nDisallow: /private/\nAllow: /public"
        url = f"http://u:p@h:8{path}"
        assert not allows(body, url)
        assert not RepRobotParser(read(body)).allowed(url, TOKEN)
        other = ParserRules(KnowsNoDots(), "", None)  # type: ignore[arg-type]
        assert not other.verdict(url, (TOKEN,)).allowed

    @pytest.mark.parametrize(
        "path",
        [
            *["/public?x=/../private/", "/public#/../private/", "/public/.../private/"],
            *["/public/..private/", "/public/%2e%2e%2e/private/", "/public/..%2Fprivate/"],
            *["/.private/", "/public/%252e%252e/private/", "/%2", "/."],
        ],
    )
    def test_other_segments_stay(self, path: str) -> None:
        assert allows("User-agent: *\nDisallow: /private/", path)

    @pytest.mark.parametrize(
        "path", ["/a%23/../private/", "/%23/%2e%2e/private/", "/x%23/a/../../private/x"]
    )
    def test_an_escaped_number_sign_begins_no_fragment(self, path: str) -> None:
        assert not allows("User-agent: *\nDisallow: /private/", path)
        assert uri_without_dots(f"http://h{path}").startswith("http://h/private/")

    @pytest.mark.parametrize(
        ("written", "bare"),
        [
            ("/a/b/c/./../../g", "/a/g"),  # RFC 3986, 5.2.4
            ("/a/./", "/a/"),
            ("/a/.", "/a/"),
            ("/a/..", "/"),
            ("/..", "/"),
            ("/.", "/"),
            ("/", "/"),
            ("/a//../b", "/a/b"),
            ("/a/%2e%2e/%2fb?c/../d", "/%2fb?c/../d"),
            ("/mid/content=5/../6", "/mid/6"),
        ],
    )
    def test_removed(self, written: str, bare: str) -> None:
        assert without_dots(written) == bare
        assert uri_without_dots(f"http://h{written}") == f"http://h{bare}"

    @pytest.mark.parametrize(
        ("written", "bare"),
        [
            ("http://u;p@h/a/../b", "http://u;p@h/b"),
            ("/.//a/b", "////a/b"),  # "//a/b" would be the path "/b" of a host
            ("/a/..//b/./c", "////b/c"),
            ("h//./a", "h//a"),
            ("//h/.//a", "//h//a"),
            ("//h", "//h"),
            ("/./a", "/a"),
            ("http:/.//./a", "http:////a"),
            ("a:b/.//c", "a:b//c"),
        ],
    )
    def test_part_before_the_path_stays(self, written: str, bare: str) -> None:
        assert uri_without_dots(written) == bare
        assert uri_without_dots(bare) == bare
        forbids_path = f"User-agent: *\nDisallow: {path_of(bare)}$"
        assert not allows(forbids_path, bare)
        assert not allows(forbids_path, written)

    def test_robots_txt_itself_is_not_hidden_behind_dots(self) -> None:
        assert not allows("User-agent: *\nDisallow: /", "/a/../robots.txt")
        assert not allows("User-agent: *\nDisallow: /x", "/robots.txt/../x")
        assert allows("User-agent: *\nDisallow: /robots.txt", "/a/../robots.txt")

    def test_in_linear_time(self) -> None:
        path = "/a/.." * 200_000
        assert uri_without_dots(f"http://h{path}/b") == "http://h/b"
        userinfo = ";@" * 100_000
        assert uri_without_dots(f"http://{userinfo}h/./b") == f"http://{userinfo}h/b"
        assert before_path_of("http://" + "@" * 200_000 + ";/b") == ""


class TestTwofold:
    """3: In a rule without "?", an escape behind a "*" may stand in the path or in the query."""

    @pytest.mark.parametrize(
        ("pattern", "path", "expected"),
        [
            ("/*u=%2F", "/a?u=%2F", True),
            ("/*u=%2F", "/a?u=/", True),
            ("/*u=%2F", "/a/u=%2F", True),
            ("/*u=%2F", "/a/u=/", False),
            ("/*u=%3F", "/a?u=?", True),
            ("/*u=%3F", "/a/u=?", False),  # that one divides
            ("/*u=%2F$", "/a?u=/", True),
            ("/*u=%2F$", "/a?u=/b", False),
            ("/*u=%2F*v=%2F", "/u=%2F?v=/", True),
            ("/*u=%2F*v=%2F", "/u=/?v=/", False),
            ("/x%2F*u=%2F", "/x/?u=/", False),
            ("/*?u=%2F", "/a?u=/", True),
            ("/*%2F?u=", "/a/?u=", False),
            ("/*%252F", "/?/", False),
        ],
    )
    def test_matches(self, pattern: str, path: str, expected: bool) -> None:
        assert matches(pattern, path) is expected
        assert model.matches(pattern.encode(), path.encode()) is expected
        normal = normal_pattern(pattern.encode()), normal_path(path)
        assert effect_matches(*(octets.decode() for octets in normal)) is expected

    @pytest.mark.parametrize("count", [1, 2000])
    def test_most_octets(self, count: int) -> None:
        """An escape counts three, wherever it matches; thousands of rules do not change that."""
        more = "".join(f"Disallow: /z{number}\n" for number in range(count))
        body = f"User-agent: *\n{more}Disallow: /*u=%2F\nAllow: /a?u=/\nAllow: /b?u=/x\n"
        line = count + 2
        assert read(body).verdict("/c?u=/", TOKEN).line == line
        assert read(body).verdict("/a?u=/", TOKEN).line == line, "7 octets against 6"
        assert read(body).verdict("/b?u=/x", TOKEN).line == line + 2, "of 7 both: allow"
        assert read(body).verdict("/c?u=", TOKEN).line == 0

    def test_in_linear_time(self) -> None:
        body = b"User-agent: *\n" + b"Disallow: /*a%2F*%2F*%2F*b\n" * 100
        path = "/" + "a%2F" * 20_000 + "?" + "a/" * 20_000
        assert allows(body, path)
