"""The normalised file (semantics, 8): what it looks like, and that it means the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.extras.pages.file_usage import file_usage
from scrapy_rep.extras.webmaster.effect.usage_changes import usage_differences
from scrapy_rep.extras.webmaster.rewrite.normal import Mode, normalise
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.errors import ConfigurationError
from tests.extras.webmaster.linting.proving import check_format
from tests.protocol import strategies
from tests.protocol.reading import URI

_rules = st.builds(
    "{}: /{}".format,
    st.sampled_from(["Allow", "Disallow"]),
    st.lists(
        st.sampled_from(["a", "b", "/", "*", "$", "?", "index.htm", "%2F", "é", "%41"]), max_size=5
    ).map("".join),
)
_others = st.sampled_from(
    [
        *["User-agent: a", "User-agent: b", "User-agent: *", "User-agent: MJ12bot"],
        *["User-agent: MJ13bot", "User-agent: mj", "User-agent: 2bot", "User-agent: a/1.2"],
        *["Content-Usage: train-ai=n", "Content-Usage: /a search=y, train-ai=y"],
        *["Content-Signal: ai-train=no, search=yes", "content-signals: /b ai-input=no use=full"],
        *["Content-Usage: /\u00e9* search=n", "License: /terms"],
        *["Crawl-delay: 3", "Sitemap: /s", "# c", "", "no record at all", "Foo: bar", "Host: h"],
    ]
)
_structured = st.lists(st.one_of(_rules, _rules, _others), max_size=18).map(
    lambda lines: "\n".join(lines).encode()
)
_modes = st.sampled_from(Mode)


def _as(mode: Mode | str, body: str) -> str:
    return normalise(body.encode(), mode, URI).decode()


def _star(*lines: str) -> str:
    return "\n".join(("User-agent: *", *lines, ""))


_FEEDS = _star("Disallow: */feed/", "Disallow: /feed/")


def test_usage_records_have_their_usual_spelling() -> None:
    body = _star("Disallow: /a", "content-signal: search=yes", "CONTENT-USAGE: train-ai=n")
    assert "\nContent-Signal: search=yes\nContent-Usage: train-ai=n\n" in _as("normal", body)


class TestMeaning:
    """The same verdicts; and nothing changes when it is done again."""

    @given(st.one_of(strategies.files, _structured), _modes)
    def test_format_of_any_file_keeps_its_meaning(self, body: bytes, mode: Mode) -> None:
        check_format(body, URI, mode)

    @pytest.mark.parametrize("mode", Mode)
    def test_use_of_content_on_paths_that_are_not_utf_8(self, mode: Mode) -> None:
        body = b"User-agent: *\nDisallow: /x\nContent-Usage: /\xff\xc3\xa9 train-ai=n\n"
        old, new = parse(body, URI), parse(normalise(body, mode, URI), URI)
        assert next(usage_differences(old, new), None) is None
        assert file_usage(new, "/%FF%C3%A9").train_ai is file_usage(old, "/%FF%C3%A9").train_ai
        assert file_usage(new, "/%FF%C3%A9").to_dict()["train-ai"] == "n"

    @pytest.mark.parametrize("mode", Mode)
    def test_file_with_too_many_merged_rules_stays(self, mode: Mode) -> None:
        """As many crawlers as rules, each with another group of its own."""
        names = [f"User-agent: bot{number}x\r\n" for number in range(400)]
        rules = [f"Disallow: /{number}\r\n" for number in range(400)]
        body = "".join([*names, *rules, *(f"{name}{rules[0]}" for name in names)]).encode()
        assert normalise(body, mode) == body.replace(b"\r", b"")


class TestForm:
    """The form that all modes share."""

    @pytest.mark.parametrize("mode", Mode)
    @pytest.mark.parametrize(
        ("body", "expected"),
        [
            ("", ""),
            ("useragent:*\r\nDISALLOW:/a", _star("Disallow: /a")),
            (_star("Disallow: /a  # why"), _star("# why", "Disallow: /a")),
            (
                _star("Disallow: /bcd", "Crawl-delay: 5", "Allow: /bcde"),
                _star("Allow: /bcde", "Disallow: /bcd", "Crawl-delay: 5"),
            ),
            ("User-agent: foo/1.2\nDisallow: /", "User-agent: foo\nDisallow: /\n"),
            ("user-agent:foo, bar\nDisallow: /", "User-agent: foo, bar\nDisallow: /\n"),
            (
                "User-agent: foo # a\nUser-agent: foo, bar # b\nUser-agent: foo b\nDisallow: /",
                "# a\nUser-agent: foo\n# b\nUser-agent: foo, bar\nUser-agent: foo b\nDisallow: /\n",
            ),
            ("User-agent: MJ12bot/1.4\nDisallow: /", "User-agent: MJ12bot\nDisallow: /\n"),
            ("User-agent: *", _star("Disallow:")),
            (_star("Disallow: /a#b"), _star("# b", "Disallow: /a")),
            (_star("Disallow: /a%23b"), _star("Disallow: /a%23b")),
            (_star("Disallow: /a b%7e%2f"), _star("Disallow: /a b%7E%2F")),
            (_star("Disallow: /a$b"), _star("Disallow: /a$b")),
            (_star("Disallow: /*r%3Dn"), _star("Disallow: /*r%3Dn")),
            (
                _star("Disallow: /x%3D", "Disallow: /x%3d", "Disallow: /x="),
                _star("Disallow: /x%3D", "Disallow: /x="),
            ),
            (_FEEDS, _FEEDS),
            (
                "Sitemap: /s\n" + _star("Disallow: /a"),
                _star("Disallow: /a") + "\nSitemap: https://example.com/s\n",
            ),
            ("# a\n\n" + _star("Disallow: /a"), "# a\n\n" + _star("Disallow: /a")),
            (_star("junk line here", "Disallow: /a"), _star("# junk line here", "Disallow: /a")),
            (_star("Disallow: /a", "Colour: blue"), _star("Disallow: /a") + "\n# Colour: blue\n"),
            ("Disallow: /x\n" + _star("Disallow: /a"), "# Disallow: /x\n" + _star("Disallow: /a")),
            (
                _star("Disallow: /a") + "\nUser-agent: b\nDisallow: /",
                "User-agent: b\nDisallow: /\n\n" + _star("Disallow: /a"),
            ),
            (
                "User-agent:\nDisallow: /a\n" + _star("Disallow: /b"),
                "# User-agent:\n# Disallow: /a\n" + _star("Disallow: /b"),
            ),
        ],
    )
    def test_all_modes_write_the_same_form(self, mode: Mode, body: str, expected: str) -> None:
        if mode is Mode.NORMAL and "Crawl-delay" in body:  # which keeps the order of the rules
            expected = _star("Disallow: /bcd", "Allow: /bcde", "Crawl-delay: 5")
        assert _as(mode, body) == expected

    def test_unknown_mode_raises(self) -> None:
        with pytest.raises(ConfigurationError, match="must be one of normal, compact, compatible"):
            normalise(b"", "terse")

    @pytest.mark.parametrize("mode", Mode)
    def test_path_with_wrong_characters_stays(self, mode: Mode) -> None:
        """As escapes, they would look right: not UTF-8, encoded twice, or invisible."""
        rules = b"Disallow: /c\xc3\x83\xc2\xa9\nDisallow: /c\xc2\xa0d\nDisallow: /d\xc2\xa0\n"
        rules += b"Disallow: /e\xe9\n"
        body = b"# caf\xe9\nUser-agent: *\n" + rules
        assert normalise(body, mode) == body.replace(b"caf\xe9", b"caf\\xe9")


class TestGroups:
    BODY = (
        "User-agent: a\nDisallow: /x\nDisallow: /y\n\nUser-agent: b\nDisallow: /y\nDisallow: /x\n"
    )

    def test_equal_groups_become_one(self) -> None:
        expected = "User-agent: a\nUser-agent: b\nDisallow: /x\nDisallow: /y\n"
        assert _as("normal", self.BODY) == expected
        assert _as("compact", self.BODY) == expected

    def test_compatible_has_a_group_for_each_crawler(self) -> None:
        rules = "Disallow: /x\nDisallow: /y\n"
        assert _as("compatible", self.BODY) == f"User-agent: a\n{rules}\nUser-agent: b\n{rules}"

    def test_groups_of_one_crawler_become_one(self) -> None:
        body = (
            "User-agent: a\nDisallow: /x\nUser-agent: b\nDisallow: /\nUser-agent: A\nDisallow: /y\n"
        )
        expected = "User-agent: a\nDisallow: /x\nDisallow: /y\n\nUser-agent: b\nDisallow: /\n"
        assert _as("normal", body) == expected

    def test_names_that_share_a_token_keep_their_rules(self) -> None:
        """``mj`` obeys both groups; a rule that one of them does not need, it may."""
        body = (
            "User-agent: mj12bot\nDisallow: /a\nDisallow: /a/b\n\n"
            "User-agent: mj13bot\nAllow: /a/\nDisallow: /c\n"
        )
        assert "Disallow: /a/b" in _as("compact", body)


class TestRules:
    def test_normal_keeps_order_except_for_ties(self) -> None:
        rules = ("Disallow: /a", "Disallow: /bb", "Disallow: /a", "Allow: /a")
        expected = ("Disallow: /bb", "Allow: /a", "Disallow: /a")
        assert _as("normal", _star(*rules)) == _star(*expected)

    def test_compact_drops_rules_without_effect(self) -> None:
        rules = "Disallow: /a|Disallow: x|Disallow: /a|Disallow: /a/b|Allow: /c|Disallow:"
        assert _as("compact", _star(*rules.split("|"))) == _star("Disallow: /a")

    def test_compact_keeps_exceptions(self) -> None:
        rules = ("Disallow: /a/b/c", "Allow: /a/b", "Disallow: /a")
        assert _as("compact", _star(*rules)) == _star(*rules)

    def test_compatible_replaces_wildcard_rules(self) -> None:
        rules = ("Disallow: /a/*", "Disallow: /*.pdf$", "Disallow: /b", "Disallow: /b*x")
        expected = ("Disallow: /*.pdf$", "Disallow: /a/*", "Disallow: /b")
        assert _as("compatible", _star(*rules)) == _star(*expected)

    def test_compatible_keeps_a_deciding_star(self) -> None:
        rules = ("Disallow: /a*", "Allow: /a")
        assert _as("compatible", _star(*rules)) == _star(*rules)

    def test_characters_or_escapes(self) -> None:
        escaped = _star("Disallow: /caf%C3%A9")
        assert _as("normal", escaped.replace("C3%A9", "c3%a9")) == escaped
        assert _as("compatible", _star("Disallow: /café")) == escaped
        assert _as("normal", _star("Disallow: /café")) == _star("Disallow: /café")

    def test_rule_near_the_line_limit_stays_as_written(self) -> None:
        body = _star("Disallow: /" + "{" * 16_000)
        assert _as("normal", body) == body


@pytest.mark.parametrize(
    "rules",
    ["", "Crawl-delay: 5", "Disallow: x", "Allow:", "Disallow:", "Content-Usage: train-ai=n"],
)
def test_compatible_writes_a_rule_in_each_group(rules: str) -> None:
    """Weak parsers forget a group without one, or read the next one's rules as its own."""
    body = f"User-agent: *\nDisallow: /y\n\nUser-agent: a\n{rules}"
    written = normalise(body.encode(), Mode.COMPATIBLE)
    for paragraph in written.split(b"\n\n"):
        assert b"\nAllow:" in paragraph or b"\nDisallow:" in paragraph
