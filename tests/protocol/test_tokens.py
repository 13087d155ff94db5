"""semantics.md, part 2: the product token in a User-Agent header, if there is one."""

from __future__ import annotations

import pytest

from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.extensions.headers import tokens_from_user_agent
from scrapy_rep.protocol.tokens import as_product_tokens

_WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko)"
_NEXUS = "Mozilla/5.0 (Linux; Android 6.0.1; Nexus 5X Build/MMB29P) AppleWebKit/537.36 (KHTML)"
_MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 14_5) AppleWebKit/605.1.15 (KHTML, like Gecko)"
_IPHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML)"
_GOOGLEBOT = "(compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
_GPTBOT = "(KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)"


class TestBrowsers:
    """2: A browser's header names no crawler, so ``*`` applies."""

    @pytest.mark.parametrize(
        "header",
        [
            f"{_WINDOWS} Chrome/126.0.0.0 Safari/537.36",
            f"{_WINDOWS} Chrome/126.0.0.0 Safari/537.36 Edg/126.0.2592.87",
            f"{_WINDOWS} Chrome/126.0.0.0 Safari/537.36 OPR/111.0.0.0",
            f"{_WINDOWS} HeadlessChrome/126.0.0.0 Safari/537.36",
            "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0",
            f"{_MAC} Version/17.5 Safari/605.1.15",
            f"{_IPHONE} CriOS/126.0 Mobile/15E148 Safari/604.1",
            f"{_NEXUS} SamsungBrowser/25.0 Chrome/121.0.0.0 Mobile Safari/537.36",
            "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)",
            "Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.2; Trident/6.0)",
            "Opera/9.80 (Windows NT 6.1; WOW64) Presto/2.12.388 Version/12.18",
            "Mozilla/5.0",
            "Mozilla",
            "chrome",
        ],
    )
    def test_none(self, header: str) -> None:
        assert tokens_from_user_agent(header) == ()


class TestCrawlers:
    """2: The first ``Name/version`` outside of comments, or the product after ``compatible;``."""

    @pytest.mark.parametrize(
        ("header", "token"),
        [
            ("Mozilla/5.0 (compatible; FooBot/2.1; +http://foo)", "FooBot"),
            ("Scrapy/2.19.0 (+https://scrapy.org)", "Scrapy"),
            (
                "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
                "Googlebot",
            ),
            ("Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)", "bingbot"),
            ("Mozilla/5.0 (compatible; MJ12bot/v1.4.8; http://mj12bot.com/)", "MJ12bot"),
            ("Mozilla/5.0 (compatible; archive.org_bot +http://archive.org/b)", "archive.org_bot"),
            (f"{_NEXUS} Chrome/126.0 Mobile Safari/537.36 {_GOOGLEBOT}", "Googlebot"),
            (f"Mozilla/5.0 AppleWebKit/537.36 {_GPTBOT}", "GPTBot"),
            ("Mozilla/5.0 (COMPATIBLE;FooBot/1)", "FooBot"),
            (
                "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit.php)",
                "facebookexternalhit",
            ),
            ("Googlebot-Image/1.0", "Googlebot-Image"),
            ("FooBot/v1.0 (+http://foo)", "FooBot"),
            ("FooBot/beta", "FooBot"),
            ("ia_archiver (+http://www.alexa.com/site; crawler@alexa.com)", "ia_archiver"),
            ("ExampleBot", "ExampleBot"),
            ("  ExampleBot  ", "ExampleBot"),
            ("archive.org_bot", "archive.org_bot"),
            ("Львів-bot/1.0", "Львів-bot"),
            ("Mozilla/5.0 (compatible; FooBot/2.1", "FooBot"),
            ("FooBot/1.0 (a (nested; BarBot/2) one)", "FooBot"),
        ],
    )
    def test_token(self, header: str, token: str) -> None:
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

    @pytest.mark.parametrize(
        ("header", "tokens"),
        [
            ("ExampleArchiver (compatible; heritrix/3.4.0; +URL)", "ExampleArchiver heritrix"),
            ("ExampleArchiver/1 (compatible; heritrix/3.4.0)", "ExampleArchiver heritrix"),
            ("MyBot (compatible; Scrapy/2.19; +URL)", "MyBot Scrapy"),
            ("MyBot(+http://x.example)", "MyBot"),
            ("MyBot 1.0 (+http://x.example)", "MyBot"),
            ("MyBot; (+http://x.example/bot.html)", "MyBot"),
            ("MyBot python-requests/2.32.3", "MyBot python-requests"),
            ("MyBot Scrapy/2.19 (compatible; heritrix/3.4.0)", "MyBot Scrapy heritrix"),
            ("My Bot (+http://x.example)", "My"),
            ("Sogou web spider/4.0(+http://x.example)", "Sogou spider"),
            ("MyBot (compatible; Mozilla/5.0; Apache-HttpClient)", "MyBot"),
            ("MyBot/1 BarBot/2", "MyBot"),
            ("Mozilla/5.0 (compatible; archive_bot +http://x.example) Zeno/2", "archive_bot"),
            ("Mozilla (compatible; MyBot/1)", "MyBot"),
            ("Mozilla/5.0 TV Safari/538.1", ""),
            ("(compatible; BarBot/1) MyBot", "BarBot"),
            ("(Linux) MyBot", "MyBot"),
            ("http://x.example (compatible; MyBot/1)", "MyBot"),
        ],
    )
    def test_tokens(self, header: str, tokens: str) -> None:
        assert tokens_from_user_agent(header) == tuple(tokens.split())


class TestNoNames:
    """2: Never a URL's parts, a comment's other words, or what can't stand on a user-agent line."""

    @pytest.mark.parametrize(
        "header",
        [
            "",
            " ",
            "*",
            "/",
            "/1.0",
            "()",
            "my bot",
            "foo*bot",
            "http://example.com/bot",
            "+https://example.com/bot.html",
            "Mozilla/5.0 http://example.com/bot",
            "Mozilla/5.0 www.example.com/bot.html",
            "Mozilla/5.0 (+http://foobot.example/FooBot/1.0)",
            "Mozilla/5.0 (FooBot/1.0; +http://foo)",
            "Mozilla/5.0 (compatible; http://foo/bot)",
            "someone@example.com",
            "(compatible;)",
            "FooBot,BarBot/1",
        ],
    )
    def test_none(self, header: str) -> None:
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
    def test_returns(self, header: str) -> None:
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
    def test_tokens(self, given: str | list[str], tokens: tuple[str, ...]) -> None:
        assert as_product_tokens(given) == tokens

    @pytest.mark.parametrize(
        ("given", "proposed"),
        [("FooBot/1.0 (+http://foo)", "FooBot"), ("1 2", "ExampleBot"), ("", "ExampleBot")],
    )
    def test_wrong_token_gets_a_proposal(self, given: str, proposed: str) -> None:
        with pytest.raises(ConfigurationError, match=f"such as '{proposed}'"):
            as_product_tokens(["FooBot", given])
