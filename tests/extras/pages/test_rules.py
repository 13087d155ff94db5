"""docs/pages.md, parts A and B: the rules of pages and of links.

One class per clause; its docstring is the clause in short.
"""

from __future__ import annotations

from typing import Any

import pytest
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor

from scrapy_rep import page_rules
from scrapy_rep.extras.pages import PageRules
from scrapy_rep.extras.pages.page.dates import date_of
from scrapy_rep.extras.pages.page.rules import page_rules_of
from scrapy_rep.extras.pages.page_html import without_fragment
from scrapy_rep.extras.pages.readings import refused_links
from scrapy_rep.protocol.fields.remarks import Problem
from tests.tables import rows_of

from .answers import meta, page, response_of

ROWS = rows_of(__file__)


def said(line: str | bytes, *more: str, tokens: Any = "FooBot") -> dict[str, Any]:
    """The rules of lines of X-Robots-Tag."""
    return read(line, *more, tokens=tokens).to_dict()


def read(line: str | bytes, *more: str, tokens: Any = "FooBot") -> PageRules:
    fields = [("X-Robots-Tag", one) for one in (line, *more)]
    return page_rules(response_of(fields=fields), tokens)


def of_page(html: str, tokens: Any = "FooBot", **values: Any) -> dict[str, Any]:
    return page_rules(response_of(html), tokens, **values).to_dict()


def problems(rules: PageRules) -> list[Problem]:
    return [remark.problem for remark in rules.remarks]


NOINDEX = {"noindex": True}
BOTH = {"noindex": True, "nofollow": True}


class TestWho:
    """A1: robots, *, x-robots-tag or no name is everyone; all rules for everyone and us unite."""

    @pytest.mark.parametrize(
        "name", ["robots", "*", "x-robots-tag", "ROBOTS", "FooBot", "foobot/2"]
    )
    def test_speaks_to_us(self, name: str) -> None:
        assert said(f"{name}: noindex") == NOINDEX
        assert of_page(page(meta("noindex", name))) == NOINDEX

    def test_remarks_are_kept_with_their_lines(self) -> None:
        for _ in range(2):
            remarks = read("no-index", "whatever", "no-index").remarks
            assert [(one.problem.name, one.source.number) for one in remarks] == [
                ("UNUSUAL_SPELLING", 1),
                ("UNKNOWN_RULE", 2),
                ("UNUSUAL_SPELLING", 3),
            ]
            assert len(read(*[",".join(["whatever"] * 60)] * 2).remarks) == 100

    def test_name_after_a_rule_starts_a_group(self) -> None:
        assert said("noindex; foobot: nofollow") == BOTH
        assert said("noindex; otherbot: nofollow") == NOINDEX

    def test_name_alone_is_not_remarked(self) -> None:
        assert read("foobot:, noindex").remarks == ()
        assert read("otherbot:, noindex").remarks == ()

    def test_crawler_without_tokens_obeys_rules_for_everyone(self) -> None:
        assert said("a: noindex, nofollow", tokens=()) == {}
        assert said("*: noindex", tokens=()) == NOINDEX


class TestMeta:
    """A2: trimmed names in any case, or property, or http-equiv; the content alone counts."""

    @pytest.mark.parametrize(
        "element",
        [
            '<meta name=" Robots " content=noindex>',
            "<meta content='noindex' name=robots>",
            '<meta property="robots" content="noindex">',
            '<meta http-equiv="X-Robots-Tag" content="noindex">',
            '<meta http-equiv=robots content="noindex">',
            '<noscript><meta name="robots" content="noindex"></noscript>',
            '<template><meta name="robots" content="noindex"></template>',
            '<svg><meta name="robots" content="noindex"></svg>',
            '<meta name="robots" content="noindex" content="all">',
            "<META NAME=ROBOTS CONTENT=NOINDEX />",
        ],
    )
    def test_meta_element_counts_however_written(self, element: str) -> None:
        assert of_page(page(element)) == NOINDEX
        assert of_page(page(body=f"<div><div>{element}</div></div>")) == NOINDEX

    def test_unusual_attribute_is_remarked(self) -> None:
        rules = page_rules(response_of(page('<meta property="robots" content="noindex">')), ())
        assert problems(rules) == [Problem.NO_NAME]

    def test_meta_rule_says_its_line(self) -> None:
        html = "<html>\n<head>\n<meta charset=utf-8>\n<meta name=robots content=noindex>\n"
        rule = page_rules(response_of(html), ()).rule("noindex")
        assert rule is not None
        assert str(rule) == "noindex by meta 1, line 4"

    def test_truncated_page_is_remarked(self) -> None:
        response = response_of(page(meta("noindex"))[:80], flags=["dataloss"])
        assert problems(page_rules(response, ())) == [Problem.CUT_BODY]

    @pytest.mark.parametrize(
        ("content_type", "is_page"),
        [
            ("text/html, text/html", True),  # as proxies join lines
            ("text/plain, text/html", True),
            ("text/html, text/plain", False),
            ("application/vnd.wap.xhtml+xml", True),
            ("*/*", True),  # no type: Scrapy and browsers look at the body
            ("html", True),
            ("application/octet-stream", False),
            ("text/plain", False),
            ("image/png", False),
        ],
    )
    def test_content_type_decides_if_meta_counts(self, content_type: str, is_page: bool) -> None:
        response = response_of(page(meta("noindex")), [("Content-Type", content_type)])
        assert page_rules(response, ()).noindex == is_page


class TestGrammar:
    """A3: segments between commas; a name governs up to the next; unreadable text hides nothing."""

    @pytest.mark.parametrize(("line", "rules"), ROWS["Grammar.reads"])
    def test_line_of_page_rules_is_read(self, line: str, rules: dict[str, Any]) -> None:
        assert said(line) == rules

    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            ("no-index", Problem.UNUSUAL_SPELLING),
            ("noindex; nofollow", Problem.UNUSUAL_SEPARATOR),
            ("noindexed", Problem.UNKNOWN_RULE),
            ("max-snippet: many", Problem.INVALID_VALUE),
            ("unavailable_after: 07/08/2024", Problem.INVALID_DATE),
        ],
    )
    def test_odd_line_gets_a_remark(self, line: str, problem: Problem) -> None:
        (remark,) = read(line).remarks
        assert remark.problem is problem
        assert str(remark.source) == "X-Robots-Tag 1"
        assert remark.text == line

    def test_plain_words_are_unremarkable(self) -> None:
        assert read("noindex, FOLLOW, max-snippet:-1, otherbot: none").remarks == ()


class TestWords:
    """A4: the words; `none` means two of them; permissions cancel nothing."""

    @pytest.mark.parametrize(
        "word",
        [
            *["noindex", "nofollow", "nosnippet", "noarchive", "nocache", "noimageindex"],
            *["notranslate", "indexifembedded", "noai", "noimageai", "noml", "notrain"],
            "disallowaitraining",
        ],
    )
    def test_each_word_is_its_rule(self, word: str) -> None:
        assert said(word) == said(word.upper()) == {word: True}
        assert getattr(read(word), word) is True
        assert getattr(read(""), word) is False

    @pytest.mark.parametrize(
        "word",
        [
            *["all", "index", "follow", "archive", "snippet", "imageindex", "translate", "cache"],
            *["noodp", "noydir", "noyaca", "nositelinkssearchbox", "noimageclick", "nopreview"],
            "nopagereadaloud",
        ],
    )
    def test_words_that_permit_have_no_effect(self, word: str) -> None:
        assert said(word) == {}
        assert said(f"noindex, {word}") == said(f"{word}, noindex") == NOINDEX
        assert read(word).remarks == ()


class TestValues:
    """A5: the most restrictive wins; invalid values are ignored; max-snippet:0 is nosnippet."""

    @pytest.mark.parametrize(("line", "rules"), ROWS["Values.merges"])
    def test_strictest_of_several_values_counts(self, line: str, rules: dict[str, Any]) -> None:
        assert said(line) == rules

    @pytest.mark.parametrize(
        ("seconds", "expected"),
        [("9" * 15, "9999-12-31T23:59:59Z"), ("-" + "9" * 15, "0001-01-01T00:00:00Z")],
    )
    def test_date_beyond_the_calendar_is_its_end(self, seconds: str, expected: str) -> None:
        line = f"*;unavailable-after=@{seconds}".encode()
        assert page_rules_of({"robots-tag": [line]}).to_dict() == {"unavailable_after": expected}

    def test_names_the_place_of_what_wins(self) -> None:
        rule = read("max-snippet:50", "max-snippet:20", "max-snippet:20").rule("max-snippet")
        assert rule is not None
        assert str(rule) == "max-snippet: 20 by X-Robots-Tag 2"

    def test_unknown_name_of_a_rule_is_an_error(self) -> None:
        with pytest.raises(ValueError, match="'noodp' is not a rule of pages"):
            read("noodp").rule("noodp")


class TestDates:
    """A6: RFC 822, 1123, 850, asctime, ISO 8601, a day; no zone is UTC; ambiguous is ignored."""

    @pytest.mark.parametrize(("text", "seconds"), ROWS["Dates.reads"])
    def test_dates_of_many_forms_are_read(self, text: str, seconds: int) -> None:
        assert date_of(text) == seconds

    @pytest.mark.parametrize(
        "text",
        [
            *["", "07/08/2024", "29 Feb 2023", "31 Apr 2024", "2020-13-40", "2020-00-10", "soon"],
            *["0000-01-01", "6 Nov 1994 25:00", "6 Nov 1994 08:60:00", "6 Nov 1994 08:49:37 XYZ"],
            *["6 Foo 1994", "32 Jan 2024", "1994", "1 Jan", "6 Nov 1994 08:49:37 +2500"],
            *["6 Nov 1994" + " x" * 100, "\u0661 Jan 2024"],
        ],
    )
    def test_what_is_no_date_is_ignored(self, text: str) -> None:
        assert date_of(text) is None

    @pytest.mark.parametrize(
        "zone", ["EST5", "EDT4", "CST6", "CDT5", "MST7", "MDT6", "PST8", "PDT7"]
    )
    def test_american_time_zones_are_read(self, zone: str) -> None:
        expected = 784111777 + int(zone[3]) * 3600
        assert date_of(f"Sun, 6 Nov 1994 08:49:37 {zone[:3]}") == expected

    def test_past_is_noindex(self) -> None:
        response = response_of(fields=[("X-Robots-Tag", "unavailable_after: 1970-01-02")])
        assert page_rules(response, (), now=86401).noindex
        assert not page_rules(response, (), now=86400).noindex
        assert page_rules(response, ()).is_unavailable()
        assert not page_rules(response, ()).is_unavailable(now=5)
        assert page_rules(response, (), now=86401).to_dict() == {
            "unavailable_after": "1970-01-02T00:00:00Z"
        }


class TestRobotsTag:
    """A7: a List of names with parameters; if it is not a List, it is read like X-Robots-Tag."""

    def of(self, *lines: str, tokens: Any = "FooBot") -> PageRules:
        fields = [("Robots-Tag", line) for line in lines]
        return page_rules(response_of(fields=fields), tokens)

    @pytest.mark.parametrize(("line", "rules"), ROWS["RobotsTag.list_is_read"])
    def test_list_is_read(self, line: str, rules: dict[str, Any]) -> None:
        assert self.of(line).to_dict() == rules

    @pytest.mark.parametrize(
        ("line", "rules"),
        [
            ("*;NOINDEX", NOINDEX),
            ("noindex", NOINDEX),
            ("noindex, nofollow", BOTH),
            ("foobot:, noindex", NOINDEX),
            ("otherbot: noindex", {}),
            ("foobot: noindex", NOINDEX),
            ("1;noindex", NOINDEX),
        ],
    )
    def test_other_text_is_read_like_x_robots_tag(self, line: str, rules: dict[str, Any]) -> None:
        found = self.of(line)
        assert found.to_dict() == rules
        assert Problem.NO_LIST in problems(found)

    def test_lines_are_one_list(self) -> None:
        assert self.of('"a', 'b";noindex').to_dict() == {}
        assert self.of("(a", "foobot);noindex").to_dict() == NOINDEX, (
            "no List, so read like X-Robots-Tag"
        )

    def test_one_invalid_line_spoils_the_list(self) -> None:
        assert self.of("otherbot;noai", "noindex; nofollow").to_dict() == {"noai": True, **BOTH}


class TestLimits:
    """A8: at most 100 findings, of 200 characters, which no terminal obeys."""

    def test_remarks_are_few_short_and_printable(self) -> None:
        rules = read(",".join(["\x1b[31m" * 50] * 120))
        assert len(rules.remarks) == 100
        assert all(len(one.text) == 200 and one.text.isprintable() for one in rules.remarks)

    def test_octets_that_are_no_text_change_no_rule(self) -> None:
        assert said(b"no\xffindex, \x00, \xff\xfe, nofollow") == {"nofollow": True}
        assert said(b"\xa0noindex\xa0") == NOINDEX, "the no-break space of Latin-1"

    def test_each_rule_once(self) -> None:
        rules = page_rules_of({"x-robots-tag": [b"noindex, none"] * 1000})
        assert [rule.name for rule in rules.rules] == ["noindex", "nofollow"]


class TestLinks:
    """B: a link with the relation is not followed, unless another without it names the URL."""

    def refused(self, body: str, head: str = "") -> set[str]:
        return {*refused_links(response_of(page(head, body=body)))}

    @pytest.mark.parametrize(
        "rel", ["nofollow", "NOFOLLOW", "a nofollow", "a,nofollow", "a, nofollow"]
    )
    def test_link_with_nofollow_is_refused(self, rel: str) -> None:
        assert self.refused(f'<a href="/a" rel="{rel}">x</a>') == {"https://example.com/a"}

    @pytest.mark.parametrize(("target", "url"), ROWS["Links.resolved"])
    def test_refused_link_is_resolved_with_its_base(self, target: str, url: str) -> None:
        body = f'<a href="{target}" rel="nofollow">x</a>'
        assert self.refused(body, head='<base href="/base/">') == {url}

    @pytest.mark.parametrize("other", ["/x/../a", "../a", "HTTPS://EXAMPLE.com/a", "/a#b", " /a "])
    def test_another_link_written_otherwise(self, other: str) -> None:
        body = f'<a href="/a" rel="nofollow">x</a><a href="{other}">x</a><a href="/b">x</a>'
        assert self.refused(body) == set()

    @pytest.mark.parametrize(
        "target",
        [
            *["/a", "b?c=d", "/x?", "/\u00e9", "/a b", "?q", "/a;b?c", "a.html", "a/", "../a"],
            *["/%7e", "/%", "/a!(b)", "b?c=%20", "/a//b", "./a", "/", "/a?b=(c)!", "a?b?c"],
            *["https://other.example/", "https://other.example/a(b)?c=%C3"],
            "https://other.example/A%20b",
        ],
    )
    def test_request_for_the_link_is_found(self, target: str) -> None:
        """As `response.follow` and link extractors make the request."""
        response = response_of(page(body=f'<a href="{target}" rel="nofollow">x</a>'))
        (url,) = refused_links(response)
        assert without_fragment(response.follow(target).url) == url
        assert isinstance(response, HtmlResponse)
        (link,) = LinkExtractor().extract_links(response)
        assert without_fragment(link.url) == url

    @pytest.mark.parametrize(
        ("refused", "other"),
        [
            *[
                ("/a/?q", "/a/b/..?q"),
                ("/a/?q", "b/../../a/.?q"),
                ("/a/", "/a/b/.."),
                ("a/", "./a/"),
            ],
            *[("/", "https://example.com"), ("/", "/."), ("/?q", "https://example.com?q")],
            *[("/c:d", "https://example.com/c:d"), ("/dir/page", ""), ("/a/b", "/a//../b")],
        ],
    )
    def test_other_spelling_of_the_last_segment_is_found(self, refused: str, other: str) -> None:
        """The last segment of a reference and of its URL may differ."""
        body = f'<a href="{refused}" rel="nofollow">x</a><a href="{other}">x</a>'
        assert self.refused(body) == set()

    @pytest.mark.parametrize("base", ["data:,x", "javascript:x", "mailto:a@b"])
    def test_base_without_a_hierarchy_is_skipped(self, base: str) -> None:
        """Browsers and link extractors skip it."""
        head = f'<base href="{base}">'
        for target, url in (
            ("a", "https://example.com/dir/a"),
            ("/a b", "https://example.com/a%20b"),
        ):
            body = f'<a href="{target}" rel="nofollow">x</a>'
            assert self.refused(body, head=head) == {url}
            response = response_of(page(head, body=body))
            assert isinstance(response, HtmlResponse)
            (link,) = LinkExtractor().extract_links(response)
            assert without_fragment(link.url) == url

    def test_refused_link_without_a_url_is_ignored(self) -> None:
        assert self.refused('<a href="http://[" rel="nofollow">x</a>') == set()

    def test_answer_that_is_no_page_refuses_no_link(self) -> None:
        response = response_of('<a href="/a" rel="nofollow">', content_type="text/plain")
        assert refused_links(response) == set()


@pytest.mark.parametrize(("year", "full"), [("68", "2068"), ("69", "1969"), ("99", "1999")])
def test_years_of_two_digits(year: str, full: str) -> None:
    line = f"unavailable_after: 1 Jan {year}"
    rules = page_rules(response_of(fields=[("X-Robots-Tag", line)]), ())
    assert rules.to_dict() == {"unavailable_after": f"{full}-01-01T00:00:00Z"}
