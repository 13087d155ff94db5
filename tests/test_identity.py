"""The tokens and the User-Agent with which a crawl fetches robots.txt files."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import Request
from scrapy.utils.test import get_crawler

from scrapy_rep.crawl import Crawl
from scrapy_rep.identity import Identity
from scrapy_rep.protocol.errors import ConfigurationError


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"USER_AGENT": "FooBot/1.0"}, None),
        ({"USER_AGENT": "foobot/1.0", "ROBOTSTXT_USER_AGENT": "FooBot"}, None),
        ({"USER_AGENT": "FOOBOT", "ROBOTSTXT_USER_AGENT": ["fooBot", "Bar"]}, None),
        ({"USER_AGENT": "Mozilla/5.0 (X11)"}, None),
        ({"USER_AGENT": "Bar/1.0", "ROBOTSTXT_USER_AGENT": "FooBot"}, "Bar/1.0 FooBot"),
        ({"USER_AGENT": "Bar/1.0", "ROBOTSTXT_USER_AGENT": ["FooBot", "Bar"]}, "Bar/1.0 FooBot"),
    ],
)
def test_matched_token_is_sent(settings: dict[str, Any], expected: str | None) -> None:
    """RFC 9309, 2.2.1, without regard to letter case."""
    assert Identity(Crawl.of(get_crawler(settings_dict=settings))).fetch_header == expected


@pytest.mark.parametrize(
    ("chosen", "tokens"),
    [
        ("FooBot", ("FooBot",)),
        ("FooBot/2.1 (+http://foo.example)", ("FooBot",)),
        ("Mozilla/5.0 (compatible; FooBot/2.1; +http://foo.example)", ("FooBot",)),
        (["FooBot-News/1.0", "FooBot"], ("FooBot-News", "FooBot")),
        ('["FooBot-News/1.0", "FooBot"]', ("FooBot-News", "FooBot")),
        ("Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0", ()),
        ("*", ()),
        (["*"], ()),
    ],
)
def test_header_may_be_chosen(chosen: Any, tokens: tuple[str, ...]) -> None:
    """It is read like a User-Agent that is sent."""
    settings = {"ROBOTSTXT_USER_AGENT": chosen, "USER_AGENT": "BarBot/1.0"}
    identity = Identity(Crawl.of(get_crawler(settings_dict=settings)))
    identity.settle()
    assert identity.tokens == tokens
    request = Request("http://a.example/", headers={"User-Agent": "BazBot/1.0"})
    assert identity.tokens_for(request) == tokens


def test_log_warns_of_a_header_without_a_token(caplog: pytest.LogCaptureFixture) -> None:
    header = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"
    settings = {"ROBOTSTXT_USER_AGENT": header, "USER_AGENT": "BarBot/1.0"}
    Identity(Crawl.of(get_crawler(settings_dict=settings))).open()
    (warning,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert f"{header!r} names no crawler" in warning.getMessage()


def test_star_is_only_the_group_of_everyone_else(caplog: pytest.LogCaptureFixture) -> None:
    """It names no crawler on purpose, so no header is changed and the log does not warn."""
    caplog.set_level("INFO", "scrapy_rep")
    settings = {"ROBOTSTXT_USER_AGENT": "*", "USER_AGENT": "BarBot/1.0"}
    identity = Identity(Crawl.of(get_crawler(settings_dict=settings)))
    identity.open()
    identity.saw_sent("BarBot/1.0")
    assert identity.fetch_header is None
    assert caplog.messages[-1] == "robots.txt files are obeyed as '*' (ROBOTSTXT_USER_AGENT)"


@pytest.mark.parametrize("setting", ["USER_AGENT", "ROBOTSTXT_USER_AGENT"])
def test_log_warns_if_a_middleware_sends_another_name(
    setting: str, caplog: pytest.LogCaptureFixture
) -> None:
    settings = {"USER_AGENT": "FooBot/1.0", setting: "FooBot/1.0"}
    identity = Identity(Crawl.of(get_crawler(settings_dict=settings)))
    identity.settle()
    identity.saw_sent("FooBot/1.0")
    assert not caplog.messages
    for _ in range(2):
        identity.saw_sent("Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0")
    (warning,) = caplog.messages
    assert "which does not contain the product token 'FooBot'" in warning


def test_tokens_are_known_as_soon_as_the_spider() -> None:
    """Handlers of `spider_opened` that run before ours may request pages."""
    crawler = get_crawler(settings_dict={"USER_AGENT": "FooBot/1.0"})
    crawler.spider = crawler._create_spider("test")
    identity = Identity(Crawl.of(crawler))
    assert identity.tokens == ("FooBot",)
    crawler.spider.user_agent = "BarBot/1.0"  # type: ignore[attr-defined]
    identity.open()
    assert identity.tokens == ("BarBot",)


def test_policy_token_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="stands for a use, not for a crawler"):
        Identity(
            Crawl.of(get_crawler(settings_dict={"ROBOTSTXT_USER_AGENT": "__Usage_AI-training"}))
        )
