"""semantics.md, part 2: the product token in a User-Agent header, if there is one."""

from __future__ import annotations

import pytest

from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.extensions.headers import tokens_from_user_agent
from scrapy_rep.protocol.tokens import as_product_tokens
from tests.tables import rows_of

ROWS = rows_of(__file__)

_WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
_NEXUS = "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML)"
_MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 (KHTML, like Gecko)"
_IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML)"
_GOOGLEBOT = "(compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
_GPTBOT = "(KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)"


class TestBrowsers:
    """2: A browser's header names no crawler, so ``*`` applies."""

    @pytest.mark.parametrize("header", ROWS["Browsers.none"])
    def test_browsers_have_no_product_token(self, header: str) -> None:
        assert tokens_from_user_agent(header) == ()


class TestCrawlers:
    """2: The first ``Name/version`` outside of comments, or the product after ``compatible;``."""

    @pytest.mark.parametrize(("header", "token"), ROWS["Crawlers.token"])
    def test_crawlers_have_one_product_token(self, header: str, token: str) -> None:
        assert tokens_from_user_agent(header) == (token,)

    @pytest.mark.parametrize(
        ("header", "token"),
        [
            ("python-requests/2.32.3", "python-requests"),
            ("curl/8.8.0", "curl"),
            ("FooBot/1.0 libwww-perl/6.77", "FooBot"),
            ("Nutch/1.20 (FooBot; http://foo; bot at foo)", "Nutch"),
            ("FooBot/1 BarBot/2", "FooBot"),
            ("Mozilla/5.0 FooBot/1 (compatible; BarBot/2)", "FooBot"),
            ("Mozilla/5.0 (compatible; BarBot/2) FooBot/1", "BarBot"),
        ],
    )
    def test_libraries_and_the_first_of_several(self, header: str, token: str) -> None:
        assert tokens_from_user_agent(header)[0] == token


class TestHead:
    """2: The first product, with a version or without, comes before those in comments."""

    @pytest.mark.parametrize(("header", "tokens"), ROWS["Head.tokens"])
    def test_head_of_a_header_has_the_tokens(self, header: str, tokens: str) -> None:
        assert tokens_from_user_agent(header) == tuple(tokens.split())


class TestNoNames:
    """2: Never a URL's parts, a comment's other words, or what can't stand on a user-agent line."""

    @pytest.mark.parametrize("header", ROWS["NoNames.none"])
    def test_header_without_a_name_has_no_token(self, header: str) -> None:
        assert tokens_from_user_agent(header) == ()


class TestHostileHeaders:
    """A header of any length and shape takes linear time, and gives a usable name or none."""

    @pytest.mark.parametrize(
        "header",
        [
            "(" * 1_000_000,
            "()" * 500_000,
            "(()" * 300_000,
            "(" + "()" * 500_000,
            "compatible;" * 100_000,
            "(compatible;" + " " * 1_000_000 + ")",
            "a" * 1_000_000,
            "a/" * 500_000,
            "a " * 500_000,
            " " * 1_000_000 + "/",
            "é" * 1_000_000 + "/1",
            "Mozilla/5.0 " * 100_000 + "FooBot/1.0",
            "\x00\x01\ud800/1" * 100_000,
        ],
        ids=lambda header: header[:14].encode("ascii", "backslashreplace").decode(),
    )
    def test_hostile_headers_are_read_in_time(self, header: str) -> None:
        tokens = tokens_from_user_agent(header)
        assert not tokens or as_product_tokens(tokens)


class TestAsProductTokens:
    """2: One token or several, in order, case aside; ``*`` needs no mention."""

    @pytest.mark.parametrize(
        ("given", "tokens"),
        [
            ("FooBot", ("foobot",)),
            (["B", "a"], ("b", "a")),
            (("a", "A", "b", "a"), ("a", "b")),
            ("*", ()),
            (["*", "a"], ("a",)),
            ([], ()),
        ],
    )
    def test_given_tokens_are_lower_case_and_unique(
        self, given: str | list[str], tokens: tuple[str, ...]
    ) -> None:
        assert as_product_tokens(given) == tokens

    @pytest.mark.parametrize(
        ("given", "proposed"),
        [("FooBot/1.0 (+http://foo)", "FooBot"), ("1 2", "ExampleBot"), ("", "ExampleBot")],
    )
    def test_wrong_token_gets_a_proposal(self, given: str, proposed: str) -> None:
        with pytest.raises(ConfigurationError, match=f"such as '{proposed}'"):
            as_product_tokens(["FooBot", given])
