"""semantics.md, parts 2 and 3: groups and product tokens, paths and matching.

One class per clause; its docstring is the clause in short. See docs/conformance.md.
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
from scrapy_rep.protocol.paths import before_path_of, path_of, uri_without_dots, without_dots
from scrapy_rep.protocol.verdict import Reason
from scrapy_rep.robotparser import ParserRules, RepRobotParser

from . import model
from .reading import TOKEN, allows, codes, matches, normal_path, normal_pattern, obeys, read, rules


class TestGroups:
    """2: A user-agent line after a rule starts the next group; nothing else ends one."""

    @pytest.mark.parametrize(
        "between",
        ["", "\n\n", "# c\n", "Sitemap: /s\n", "Crawl-delay: 1\n", "Disallow\n", "Disallow \n"],
    )
    def test_nothing_else(self, between: str) -> None:
        body = f"User-agent: a\n{between}User-agent: b\n{between}Disallow: /1\n{between}Allow: /2\n"
        assert rules(body, "a") == rules(body, "b") == ["Disallow: /1", "Allow: /2"]


class TestPaceOfUserAgentLines:
    """2: Crawl-delay, Request-rate and Visit-time belong to the user-agent lines directly above."""

    BODY = "User-agent: a\nCrawl-delay: 5\nUser-agent: b\nCrawl-delay: 10\nDisallow: /x\n"

    def _delays(self, body: str, *tokens: str) -> list[float | None]:
        return [read(body).crawl_delay(token) for token in tokens]

    def test_each_has_its_own(self) -> None:
        assert self._delays(self.BODY, "a", "b", "c") == [5, 10, None]

    def test_and_they_share_the_rules(self) -> None:
        for token in ("a", "b"):
            assert not read(self.BODY).verdict("/x", token).allowed

    def test_the_largest_of_all_that_belong_to_us(self) -> None:
        body = f"{self.BODY}User-agent: A\nAllow: /y\nCrawl-delay: 7\nCrawl-delay: x\n"
        assert self._delays(body + "Crawl-delay: 6\n", "a", "b") == [7, 10]

    def test_records_of_a_group_are_those_of_its_own(self) -> None:
        group = read(self.BODY).group("a")
        assert group is not None
        assert [(one.value, one.line) for one in group.other_records] == [(b"5", 2)]


class TestRulesBeforeAnyGroup:
    """2: Rules before the first user-agent line are ignored, with a finding."""

    def test_finding(self) -> None:
        assert codes("Disallow: /\n\nAllow: /a\nUser-agent: *\nDisallow: /b") == [
            (Code.RULE_BEFORE_GROUP, 1),
            (Code.RULE_BEFORE_GROUP, 3),
        ]


class TestLineToken:
    """2: A line names the longest run of ``A-Za-z_-`` at the start of its value; ``*`` alone or
    before white space is everyone else; a value with neither names nobody.
    """

    @pytest.mark.parametrize(
        "value",
        ["foobot", "foobot/1.2", "foobot*", "FooBot (a)", "foobot.x", "foobot2", "foobot,b"],
    )
    def test_run_at_the_start(self, value: str) -> None:
        assert obeys(f"User-agent: {value}\nDisallow: /", "foobot")

    @pytest.mark.parametrize(
        "value", ["a foobot", "foo bot", "foobot_", "2foobot", "*foobot", "“foobot”"]
    )
    def test_nothing_else(self, value: str) -> None:
        assert not obeys(f"User-agent: {value}\nDisallow: /", "foobot")

    @pytest.mark.parametrize("value", ["*", "* ", "* x", "*\tx"])
    def test_everyone(self, value: str) -> None:
        assert obeys(f"User-agent: {value}\nDisallow: /", "foobot")
        assert codes(f"User-agent: {value}\nDisallow: /") == []

    @pytest.mark.parametrize("value", ["", "2bot", "*bot", "**", "*/1", "/"])
    def test_nobody(self, value: str) -> None:
        body = f"User-agent: {value}\nDisallow: /"
        assert rules(body) is None
        # A crawler may be called 2bot, as 360Spider is.
        assert codes(body) == ([] if value == "2bot" else [(Code.USER_AGENT_NAMES_NOBODY, 1)])

    def test_who_names_nobody_still_starts_a_group(self) -> None:
        body = "User-agent: a\nDisallow: /a\nUser-agent: 2\nDisallow: /b\n"
        assert rules(body, "a") == ["Disallow: /a"]


class TestEqualTokens:
    """2: Our token equals the line's, case aside: no prefix and no substring."""

    @pytest.mark.parametrize("line", ["googlebot-news", "google", "bot", "googlebots", "oglebot"])
    def test_not_equal(self, line: str) -> None:
        assert not obeys(f"User-agent: {line}\nDisallow: /", "googlebot")


class TestOtherNames:
    """2: A name that is no product token is also compared, case aside, with the line's first word
    as written, up to white space or ``/``.
    """

    @pytest.mark.parametrize(
        ("line", "name"),
        [
            ("MJ12bot", "mj12bot"),
            ("MJ12bot/1.4", "MJ12bot"),
            ("mj12bot v1", "MJ12BOT"),
            ("archive.org_bot", "archive.org_bot"),
            ("360Spider", "360spider"),
            ("Львів-bot", "Львів-bot"),
            ("Äbot", "äBOT"),
        ],
    )
    def test_equal(self, line: str, name: str) -> None:
        group = f"User-agent: {line}\nDisallow: /"
        assert obeys(group, name)
        assert obeys(f"User-agent: other\nAllow: /\n{group}", name), "behind another group"

    @pytest.mark.parametrize(
        ("line", "name"),
        [("MJ12bots", "mj12bot"), ("MJ", "mj12bot"), ("MJ12", "mj12bot"), ("x MJ12bot", "mj12bot")],
    )
    def test_not_equal(self, line: str, name: str) -> None:
        assert not obeys(f"User-agent: {line}\nDisallow: /", name)

    def test_tokens_are_not_compared_so(self) -> None:
        """``foobot.x`` is `foobot` to the token `foobot`, and itself to the name `foobot.x`."""
        body = "User-agent: foobot.x\nDisallow: /"
        assert obeys(body, "foobot")
        assert obeys(body, "foobot.x")
        assert not obeys(body, "foobot.y")


class TestSeveralTokens:
    """2: The first of our tokens that has a group decides, alone; none: ``*``; none: allowed."""

    body = "User-agent: *\nDisallow: /a\nUser-agent: b\nDisallow: /b\nUser-agent: c\nDisallow: /c\n"

    @pytest.mark.parametrize(
        ("tokens", "found"),
        [
            (["b", "c"], ["Disallow: /b"]),
            (["c", "b"], ["Disallow: /c"]),
            (["x", "c"], ["Disallow: /c"]),
            (["x", "y"], ["Disallow: /a"]),
            (("x",), ["Disallow: /a"]),
            ([], ["Disallow: /a"]),
            ("*", ["Disallow: /a"]),
            (["*", "b"], ["Disallow: /b"]),
        ],
    )
    def test_order(self, tokens: list[str], found: list[str]) -> None:
        assert rules(self.body, tokens) == found

    def test_verdict_says_which(self) -> None:
        assert read(self.body).verdict("/c", ["x", "C"]).product_token == "c"
        assert read(self.body).verdict("/a", ["x"]).product_token == "*"

    def test_group_for_us_and_everyone_is_ours(self) -> None:
        body = "User-agent: *\nUser-agent: b\nDisallow: /1\nUser-agent: *\nDisallow: /2\n"
        assert rules(body, "b") == ["Disallow: /1"]
        assert rules(body, "c") == ["Disallow: /1", "Disallow: /2"]

    @pytest.mark.parametrize("tokens", [["mj12bot", "mj"], ["archive.org_bot", "archive"]])
    def test_one_line_can_name_two_of_ours(self, tokens: list[str]) -> None:
        """By its first word and by its token: the one that we prefer counts."""
        body = f"User-agent: {tokens[1]}\nAllow: /\nUser-agent: {tokens[0]}\nDisallow: /\n"
        assert rules(body, tokens) == ["Disallow: /"]
        assert rules(body, tokens[::-1]) == ["Allow: /", "Disallow: /"]


class TestWhatIsMatched:
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
    def test_what_has_no_path_is_under_the_root(self, url: str) -> None:
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
        """As in Google's matcher, which compares what stands in the URL."""
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
    def test_what_is_no_dot_segment(self, path: str) -> None:
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
    def test_what_is_before_the_path_stays_before_it(self, written: str, bare: str) -> None:
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
