"""RFC 9309, 2.1, 2.2, 2.2.1, 2.2.4, 2.3.1.5 and 2.5: lines, groups, product tokens, limits.

One class per clause; its docstring is the clause in our words. See docs/conformance.md.
"""

from __future__ import annotations

import pytest

from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.errors import InvalidProductToken
from scrapy_rep.protocol.extensions.headers import tokens_from_user_agent
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS, Kind
from scrapy_rep.protocol.tokens import (
    as_product_tokens,
    is_product_token,
)
from scrapy_rep.protocol.verdict import Reason

from .reading import allows, matches, obeys, read, record, rules

_UA, _ALLOW, _DISALLOW = Kind.USER_AGENT, Kind.ALLOW, Kind.DISALLOW


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


class TestAbnfRecords:
    """2.2: ``*WS key *WS ":" *WS value EOL``, keys in any case (RFC 5234, 2.3)."""

    @pytest.mark.parametrize("space", ["", " ", "\t", " \t  \t"])
    def test_white_space(self, space: str) -> None:
        line = f"{space}allow{space}:{space}/x{space}"
        assert record(line) == (_ALLOW, b"allow", b"/x")

    @pytest.mark.parametrize("empty", ["", " ", "\t \t"])
    def test_empty_pattern(self, empty: str) -> None:
        """``empty-pattern = *WS``: a rule that forbids nothing, and still ends the group."""
        assert record(f"Disallow:{empty}") == (_DISALLOW, b"Disallow", b"")
        assert allows(f"User-agent: *\nDisallow:{empty}\n", "/x")
        body = f"User-agent: a\nDisallow:{empty}\nUser-agent: b\nDisallow: /x\n"
        assert allows(body, "/x", "a")

    def test_second_colon_is_of_the_value(self) -> None:
        assert record("Disallow: /a:b") == (_DISALLOW, b"Disallow", b"/a:b")


class TestAbnfComment:
    """2.2: ``comment = "#" *(...)``, at the end of any line or alone on it."""

    @pytest.mark.parametrize("line", ["#", "# x", "#Disallow: /x", " \t# x # y"])
    def test_alone(self, line: str) -> None:
        assert record(line) is None

    @pytest.mark.parametrize("comment", ["#", " #", "# Allow: /", "\t# a # b"])
    def test_after_a_value(self, comment: str) -> None:
        assert record(f"Disallow: /x{comment}") == (_DISALLOW, b"Disallow", b"/x")

    def test_in_place_of_a_value(self) -> None:
        assert record("Disallow: # nothing") == (_DISALLOW, b"Disallow", b"")

    def test_in_place_of_the_colon(self) -> None:
        assert record("Disallow # : /x") is None


class TestAbnfNewline:
    """2.2: ``NL = %x0D / %x0A / %x0D.0A``."""

    @pytest.mark.parametrize("end", ["\n", "\r", "\r\n"])
    def test_each_ends_a_line(self, end: str) -> None:
        body = end.join(["User-agent: a", "Disallow: /1", "", "Allow: /2"])
        assert rules(body, "a") == ["Disallow: /1", "Allow: /2"]


class TestAbnfCharacters:
    """2.2: ``path-pattern = "/" *UTF8-char-noctl``: any UTF-8, without controls, space and "#"."""

    @pytest.mark.parametrize("character", ["!", '"', "$x", "~", "é", "ツ", "😀"])
    def test_in_a_pattern(self, character: str) -> None:
        assert matches(f"/{character}", f"/{character}")
        assert not matches(f"/{character}", "/other")


class TestProductToken:
    """2.2.1: A product token MUST contain only ``a-z``, ``A-Z``, ``_`` and ``-``."""

    @pytest.mark.parametrize("token", ["ExampleBot", "example-bot", "Example_Bot", "-", "_"])
    def test_is_one(self, token: str) -> None:
        assert is_product_token(token)

    @pytest.mark.parametrize(
        "token", ["", "2bot", "bot2", "a b", "a/1", "a.b", "*", "a*", "é", " a", "a\n"]
    )
    def test_is_none(self, token: str) -> None:
        assert not is_product_token(token)

    @pytest.mark.parametrize(
        "token",
        ["", "a b", "a/1", "a*", "ExampleBot/1.0 (+http://a/)", "a,b", "a:", "a\n", "a#b", "(a"],
    )
    def test_ours_is_refused_at_once(self, token: str) -> None:
        """What no user-agent line can name would be obeyed by nobody: the caller is told."""
        with pytest.raises(InvalidProductToken, match="give the crawler's name alone"):
            as_product_tokens(token)

    @pytest.mark.parametrize("ask", ["verdict", "group", "crawl_delay"])
    def test_whatever_is_asked(self, ask: str) -> None:
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

    def test_others_are_left_alone(self) -> None:
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

    def test_with_own_group_it_says_nothing(self) -> None:
        assert rules(self.body, "apple") == ["Disallow: /apple"]
        assert allows(self.body, "/all", "apple")

    def test_no_such_group_no_rules(self) -> None:
        """2.2.1: And if there is none either, no rules apply."""
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


class TestParsingErrors:
    """2.3.1.5: Each line MUST be tried, and the rules that can be read MUST be used."""

    @pytest.mark.parametrize(
        "garbage",
        [
            b"<html>",
            b"\xff\xfe\xfd",
            b"Disallow",
            b"User-agent",
            b": /",
            b"Disallow /a /b",
            b"\0\1\2",
            b"x" * 20_000,
        ],
    )
    def test_unreadable_line_spoils_no_other(self, garbage: bytes) -> None:
        body = b"\n".join([b"User-agent: a", b"User-agent: b", b"Disallow: /1", b"Disallow: /2"])
        spoilt = body.replace(b"\n", b"\n" + garbage + b"\n")
        for token in ("a", "b"):
            assert rules(spoilt, token) == rules(body, token)


class TestParsingLimit:
    """2.5: A parsing limit SHOULD be there, and MUST be at least 500 kibibytes."""

    rule = b"User-agent: *\nDisallow: /x\n"

    def test_is_500_kibibytes(self) -> None:
        assert PARSE_LIMIT_OCTETS == 500 * 1024

    def test_what_begins_after_it_does_not(self) -> None:
        body = b"#" * (PARSE_LIMIT_OCTETS - 1) + b"\n" + self.rule
        assert allows(body, "/x")
        assert parse(body).is_cut

    def test_can_be_more_and_never_less(self) -> None:
        body = b"#" * (PARSE_LIMIT_OCTETS - 1) + b"\n" + self.rule
        more = parse(body, limit_octets=len(body))
        assert not more.verdict("/x", "a").allowed
        with pytest.raises(ValueError, match="below the 512000 octets"):
            parse(body, limit_octets=PARSE_LIMIT_OCTETS - 1)
