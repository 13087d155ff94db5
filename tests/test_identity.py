"""Who a crawl says that it is, where it fetches robots.txt files."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from scrapy_rep.identity import Identity


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
def test_the_token_that_is_matched_is_sent(settings: dict[str, Any], expected: str | None) -> None:
    """RFC 9309, 2.2.1, without regard to letter case."""
    assert Identity(get_crawler(settings_dict=settings)).fetch_header == expected


def test_the_tokens_are_known_as_soon_as_the_spider_is() -> None:
    """Handlers of `spider_opened` that are called before ours may ask for pages."""
    crawler = get_crawler(settings_dict={"USER_AGENT": "FooBot/1.0"})
    crawler.spider = crawler._create_spider("test")
    identity = Identity(crawler)
    assert identity.tokens == ("FooBot",)
    crawler.spider.user_agent = "BarBot/1.0"  # type: ignore[attr-defined]
    identity.open()
    assert identity.tokens == ("BarBot",)
