"""The spider middleware without a crawl, and the crawl of a response."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import attrs
import pytest
from scrapy import Request, Spider, signals
from scrapy.crawler import Crawler
from scrapy.http import HtmlResponse, Response, TextResponse
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.defer import deferred_from_coro
from twisted.internet.defer import Deferred

from scrapy_rep import (
    ConfigurationError,
    RepPageMiddleware,
    page_rules,
)
from scrapy_rep.extras.pages.page_html import ANCHORS, HEAD_ELEMENTS

from .answers import URL, meta, page, response_of

_PAGE = page(meta("none"), body='<a href="/a">x</a>')


def middleware(**settings: Any) -> RepPageMiddleware:
    replaced = {"scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None}
    values = {"USER_AGENT": "FooBot/1.0", "DOWNLOADER_MIDDLEWARES": replaced, **settings}
    crawler = Crawler(Spider, Settings(values))
    crawler.stats = MemoryStatsCollector(crawler)
    return RepPageMiddleware.from_crawler(crawler)


def test_wrong_setting_of_page_rules_is_an_error() -> None:
    with pytest.raises(ConfigurationError, match="REP_PAGE_OBEY"):
        middleware(REP_PAGE_OBEY=["index"])


def test_subclass_sees_every_result_of_callbacks() -> None:
    class Doubling(RepPageMiddleware):
        def get_processed_item(self, item: Any, response: Response | None) -> Any:
            return super().get_processed_item(item, response) * 2

    made = Doubling.from_crawler(middleware().crawler)
    assert [*made.process_spider_output(response_of(_PAGE), [1, "a"])] == [2, "aa"]


def test_links_do_not_inherit_the_verdict_of_their_page() -> None:
    request = Request(URL, meta={"rep_verdict": "allowed", "mine": 2})
    copy = Request(f"{URL}/2", meta=request.meta)
    response = response_of(_PAGE, request=request)
    assert [*middleware().process_spider_output(response, [copy])] == [copy]
    assert copy.meta == {"mine": 2}


class Unreadable(HtmlResponse):
    """A page that no parser takes."""

    @property
    def selector(self) -> Any:
        raise LookupError("no such encoding")


@pytest.mark.parametrize(
    "settings",
    [
        {"REP_PAGE_OBEY": ["nofollow", "noindex"]},
        {"REP_PAGE_OBEY": ["rel-nofollow", "noindex"]},
        {"REP_PAGE_OBEY": ["nofollow"], "REP_USES": ["train-ai"]},
    ],
)
def test_unreadable_page_permits_nothing(settings: dict[str, Any]) -> None:
    """Nobody knows what they say. A failure is no permission."""
    made, obeying_none = middleware(**settings), middleware(REP_ITEM_FIELD="robots")
    result = [Request(f"{URL}/2"), {"a": 1}]
    assert [*made.process_spider_output(response_of(page()), result)] == result
    unparsed = Unreadable(URL, body=page().encode(), headers={"Content-Type": "text/html"})
    for response in (unparsed, response_of(page(body="<div>" * 2_100))):
        assert [*made.process_spider_output(response, result)] == []
        assert [*obeying_none.process_spider_output(response, result)] == result


def test_items_of_a_page_with_very_many_links_are_kept() -> None:
    """Only the links that were not read may have `nofollow`; licences forbid nothing."""
    request, item = Request(f"{URL}/2"), {"a": 1}
    response = response_of(page(body="<a href=/3></a>" * (ANCHORS + 1)))
    made = middleware(REP_PAGE_OBEY=["rel-nofollow", "noindex"], REP_USES=["train-ai"])
    assert [*made.process_spider_output(response, [request, item])] == [item]
    response = response_of(page(body="<link itemprop=url href=/3>" * (HEAD_ELEMENTS + 1)))
    made = middleware(REP_PAGE_OBEY=["nofollow", "noindex"], REP_USES=["train-ai"])
    assert [*made.process_spider_output(response, [item, request])] == [item, request]


def test_compressed_page_permits_nothing() -> None:
    """Scrapy leaves encodings alone for which a package is missing, such as br."""
    fields = [("Content-Type", "text/html"), ("Content-Encoding", "br")]
    made = middleware(REP_PAGE_OBEY=["nofollow", "noindex"])
    result = [Request(f"{URL}/2"), {"a": 1}]
    response = response_of(bytes(range(256)), fields)
    assert not isinstance(response, TextResponse)
    assert [*made.process_spider_output(response, result)] == []
    response = response_of(b"", fields)  # to HEAD, say
    assert [*made.process_spider_output(response, result)] == result
    image = response_of(bytes(range(256)), [("Content-Type", "image/png")])
    assert [*made.process_spider_output(image, result)] == result


def test_no_page_judges_start_requests() -> None:
    made = middleware(REP_PAGE_OBEY=["nofollow", "noindex"], REP_USES="train-ai")
    request, item = Request(URL), {"a": 1}
    assert made.get_processed_request(request, None) is request
    assert made.get_processed_item(item, None) is item


@attrs.define
class CheckedItem:
    """An item that checks what it is given."""

    robots: str = attrs.field(default="", validator=attrs.validators.instance_of(str))


def test_item_that_refuses_the_value_is_kept(caplog: pytest.LogCaptureFixture) -> None:
    """It is not lost, nor is what the callback yields behind it."""
    made = middleware(REP_ITEM_FIELD="robots")
    items: list[Any] = [CheckedItem(), CheckedItem(), {"a": 1}]
    assert [*made.process_spider_output(response_of(_PAGE), items)] == items
    assert items[0].robots == ""
    assert "robots" in items[2]
    assert caplog.text.count("CheckedItem do not have this field") == 1


def test_names_of_the_crawl() -> Deferred[None]:
    return deferred_from_coro(_names_of_the_crawl())


async def _names_of_the_crawl() -> None:
    response = response_of(fields=[("X-Robots-Tag", "foobot: noindex, barbot: nofollow")])
    assert page_rules(response).to_dict() == {}
    opened = [middleware(USER_AGENT=f"{name}/1.0") for name in ("FooBot", "BarBot")]
    for one in opened:
        one.crawler.signals.send_catch_log(signals.spider_opened)
    assert page_rules(response).to_dict() == {"noindex": True, "nofollow": True}, "either may be"
    opened[0].process_spider_input(response)
    assert page_rules(response).to_dict() == {"noindex": True}
    request = Request(URL, headers={"User-Agent": "BarBot/2.0"})
    response = response_of(fields=[("X-Robots-Tag", "barbot: noai")], request=request)
    opened[0].process_spider_input(response)
    assert page_rules(response).to_dict() == {"noai": True}, "the page was requested by BarBot"
    for one in opened:
        await one.crawler.signals.send_catch_log_async(signals.spider_closed)


def test_responses_are_freed() -> None:
    response: Response | None = response_of(_PAGE)
    assert response is not None
    middleware().process_spider_input(response)
    assert page_rules(response, "FooBot").noindex
    seen = weakref.ref(response)
    response = None
    gc.collect()
    assert seen() is None


def test_unparsable_page_does_not_raise() -> None:
    fields = {"Content-Type": "text/html", "X-Robots-Tag": "noai"}
    response = Unreadable(URL, body=_PAGE.encode(), headers=fields)
    assert page_rules(response, ()).to_dict() == {"noai": True}


def test_item_tells_silence_from_a_failed_fetch() -> None:
    made = middleware(REP_ITEM_FIELD="robots")
    unread = Unreadable(URL, body=page().encode(), headers={"Content-Type": "text/html"})
    for response in (response_of(page()), unread):  # no robots.txt is known here
        (item,) = made.process_spider_output(response, [{"a": 1}])
        assert item["robots"]["is_complete"] is False
