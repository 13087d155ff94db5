"""semantics.md, part 2, and RFC 9309, 2.1, 2.2.1, 2.2.4 and 5.1: groups and product tokens.

The docstring of a class is its clause in short. See docs/conformance.md.
"""

from __future__ import annotations

import pytest

from scrapy_rep.analysis.checks.codes import Code
from scrapy_rep.protocol.errors import InvalidProductToken
from scrapy_rep.protocol.extensions.headers import tokens_from_user_agent
from scrapy_rep.protocol.tokens import as_product_tokens, is_product_token
from scrapy_rep.protocol.verdict import Reason

from .reading import allows, codes, obeys, read, rules


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
    before white space is every other crawler; a value with neither names no crawler.
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
    def test_no_crawler(self, value: str) -> None:
        body = f"User-agent: {value}\nDisallow: /"
        assert rules(body) is None
        # A crawler may be called 2bot, as 360Spider is.
        assert codes(body) == ([] if value == "2bot" else [(Code.USER_AGENT_NAMES_NOBODY, 1)])

    def test_line_that_names_no_crawler_starts_a_group(self) -> None:
        body = "User-agent: a\nDisallow: /a\nUser-agent: 2\nDisallow: /b\n"
        assert rules(body, "a") == ["Disallow: /a"]


class TestEqualTokens:
    """2: Our token equals the line's, case aside: no prefix and no substring."""

    @pytest.mark.parametrize("line", ["googlebot-news", "google", "bot", "googlebots", "oglebot"])
    def test_not_equal(self, line: str) -> None:
        assert not obeys(f"User-agent: {line}\nDisallow: /", "googlebot")


class TestOtherNames:
    """2: A name that is not a product token is also compared, case aside, with the line's first
    word as written, up to white space or ``/``.
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
        """A line names two by its first word and its token; the preferred one counts."""
        body = f"User-agent: {tokens[1]}\nAllow: /\nUser-agent: {tokens[0]}\nDisallow: /\n"
        assert rules(body, tokens) == ["Disallow: /"]
        assert rules(body, tokens[::-1]) == ["Allow: /", "Disallow: /"]


class TestGroupDefinition:
    """2.1: One or more user-agent lines and the rules that follow form a group, ended by another
    user-agent line or the end of the file. A last group without rules allows everything.
    """

    def test_several_lines_share_the_rules(self) -> None:
        body = "User-agent: a\nUser-agent: b\nDisallow: /1\nDisallow: /2\n"
        assert rules(body, "a") == rules(body, "b") == ["Disallow: /1", "Disallow: /2"]

    def test_line_after_a_rule_starts_another(self) -> None:
        body = "User-agent: a\nDisallow: /1\nUser-agent: b\nDisallow: /2\n"
        assert rules(body, "a") == ["Disallow: /1"]
        assert rules(body, "b") == ["Disallow: /2"]

    def test_last_group_without_rules_allows_everything(self) -> None:
        body = "User-agent: *\nDisallow: /\nUser-agent: a\n"
        assert rules(body, "a") == []
        assert allows(body, "/x", "a")
        assert not allows(body, "/x", "b")


class TestAbnfGroup:
    """2.2: ``group = startgroupline *(startgroupline / emptyline) *(rule / emptyline)``."""

    def test_empty_lines_between_user_agent_lines(self) -> None:
        body = "User-agent: a\n\n \n# and\nUser-agent: b\nDisallow: /1\n"
        assert rules(body, "a") == rules(body, "b") == ["Disallow: /1"]

    def test_empty_lines_between_rules(self) -> None:
        body = "User-agent: a\n\nDisallow: /1\n\n\n#\n\nDisallow: /2\n"
        assert rules(body, "a") == ["Disallow: /1", "Disallow: /2"]

    def test_file_of_nothing(self) -> None:
        verdict = read("").verdict("/x", "a")
        assert (verdict.allowed, verdict.reason) == (True, Reason.NO_GROUP)


class TestProductToken:
    """2.2.1: A product token MUST contain only ``a-z``, ``A-Z``, ``_`` and ``-``."""

    @pytest.mark.parametrize("token", ["ExampleBot", "example-bot", "Example_Bot", "-", "_"])
    def test_is_one(self, token: str) -> None:
        assert is_product_token(token)

    @pytest.mark.parametrize(
        "token", ["", "2bot", "bot2", "a b", "a/1", "a.b", "*", "a*", "é", " a", "a\n"]
    )
    def test_is_no_product_token(self, token: str) -> None:
        assert not is_product_token(token)

    @pytest.mark.parametrize(
        "token",
        ["", "a b", "a/1", "a*", "ExampleBot/1.0 (+http://a/)", "a,b", "a:", "a\n", "a#b", "(a"],
    )
    def test_wrong_own_token_is_refused_at_once(self, token: str) -> None:
        """No user-agent line can name it, so the caller is told."""
        with pytest.raises(InvalidProductToken, match="give the crawler's name alone"):
            as_product_tokens(token)

    @pytest.mark.parametrize("ask", ["verdict", "group", "crawl_delay"])
    def test_every_question_refuses_it(self, ask: str) -> None:
        arguments = ("/x", "a b") if ask == "verdict" else ("a b",)
        with pytest.raises(InvalidProductToken):
            getattr(read("User-agent: *\n"), ask)(*arguments)


class TestTokenIsInTheHeader:
    """2.2.1: The product token SHOULD be a substring of the identification string we send."""

    @pytest.mark.parametrize(
        "header",
        [
            "Mozilla/5.0 (compatible; ExampleBot/0.1; https://www.example.com/bot.html)",
            "ExampleBot/0.1",
            "ExampleBot",
        ],
    )
    def test_derived_from_it(self, header: str) -> None:
        (token,) = tokens_from_user_agent(header)
        assert token == "ExampleBot"
        assert token in header


class TestCaseInsensitive:
    """2.2.1: Crawlers MUST use case-insensitive matching to find the group of their token."""

    @pytest.mark.parametrize("written", ["ExampleBot", "examplebot", "EXAMPLEBOT"])
    @pytest.mark.parametrize("token", ["ExampleBot", "examplebot", "eXAMPLEbOT"])
    def test_any_case(self, written: str, token: str) -> None:
        assert obeys(f"User-agent: {written}\nDisallow: /", token)


class TestCombine:
    """2.2.1: If several groups match our token, their rules MUST be combined into one group."""

    body = (
        "user-agent: apple\ndisallow: /1\n\n"
        "user-agent: pear\ndisallow: /2\n\n"
        "user-agent: Apple\nuser-agent: plum\nallow: /1/a\ndisallow: /3\n"
    )

    def test_in_file_order(self) -> None:
        assert rules(self.body, "apple") == ["Disallow: /1", "Allow: /1/a", "Disallow: /3"]

    def test_other_groups_stay_apart(self) -> None:
        assert rules(self.body, "pear") == ["Disallow: /2"]
        assert rules(self.body, "plum") == ["Allow: /1/a", "Disallow: /3"]

    def test_groups_of_everyone(self) -> None:
        body = "user-agent: *\ndisallow: /1\nuser-agent: a\ndisallow: /\nuser-agent: *\nallow: /1/x"
        assert rules(body, "b") == ["Disallow: /1", "Allow: /1/x"]


class TestEveryoneElse:
    """2.2.1: Without a group of our own we MUST obey the group for ``*``, if there is one."""

    body = "user-agent: *\ndisallow: /all\nuser-agent: apple\ndisallow: /apple\n"

    def test_without_own_group(self) -> None:
        assert rules(self.body, "pear") == ["Disallow: /all"]

    def test_own_group_replaces_it(self) -> None:
        assert rules(self.body, "apple") == ["Disallow: /apple"]
        assert allows(self.body, "/all", "apple")

    def test_no_such_group_no_rules(self) -> None:
        """2.2.1: Without a group for ``*``, no rules apply."""
        body = "user-agent: apple\ndisallow: /\n"
        assert rules(body, "pear") is None
        verdict = read(body).verdict("/x", "pear")
        assert (verdict.allowed, verdict.reason) == (True, Reason.NO_GROUP)


class TestOtherRecords:
    """2.2.4: Other records MAY be read, leniently; they MUST NOT interfere with the records that
    the RFC defines: a Sitemap, for one, does not end a group.
    """

    other = pytest.mark.parametrize(
        "line",
        ["Sitemap: https://example.com/s.xml", "Crawl-delay: 2", "Host: a", "Foo: bar", "Foo:"],
    )

    @other
    def test_between_user_agent_lines(self, line: str) -> None:
        body = f"User-agent: a\n{line}\nUser-agent: b\nDisallow: /1\n"
        assert rules(body, "a") == rules(body, "b") == ["Disallow: /1"]

    def test_they_can_be_had(self) -> None:
        robots_txt = read("Foo: 1\nUser-agent: a\nBar:2\nSitemap: /s.xml\nAllow: /\n")
        assert [(r.key, r.value, r.line) for r in robots_txt.other_records] == [
            (b"Foo", b"1", 1),
            (b"Bar", b"2", 3),
        ]
        assert robots_txt.sitemaps == ("https://example.com/s.xml",)


class TestRulesOutsideGroups:
    """2.2.2: Rules that are in no group SHOULD be ignored."""

    def test_before_the_first_user_agent_line(self) -> None:
        body = "Disallow: /\nAllow: /a\nUser-agent: *\nDisallow: /b\n"
        assert rules(body) == ["Disallow: /b"]
        assert allows(body, "/a")


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
