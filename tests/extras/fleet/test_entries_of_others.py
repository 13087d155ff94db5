"""Requests of Scrapy's plugins, and values of Pydantic, in the queue of a fleet."""

from __future__ import annotations

from typing import Any

import pytest
from scrapy import Request, Spider

from scrapy_rep.extras.fleet.packed_values import EntryRefused
from scrapy_rep.extras.fleet.request_codec import Entries


class Plain(Spider):
    name = "plain"


def again(request: Request, spider: Spider | None = None) -> Any:
    entries = Entries(spider or Plain())
    return entries.read(entries.write(request))


def test_page_methods_of_playwright_are_kept() -> None:
    page = pytest.importorskip("scrapy_playwright.page")
    method = page.PageMethod("wait_for_selector", "h1", timeout=5)
    (found,) = again(Request("http://a.example/", meta={"x": [method]})).meta["x"]
    assert type(found) is type(method)
    assert vars(found) == vars(method)
    code = page.PageMethod(lambda page: page)
    with pytest.raises(EntryRefused, match="of type PageMethod"):
        again(Request("http://a.example/", meta={"x": code}))


def test_callbacks_of_poet_are_kept() -> None:
    scrapy_poet, web_poet = pytest.importorskip("scrapy_poet"), pytest.importorskip("web_poet")

    class PoetSpider(Spider):
        name = "poet"
        parse_page = scrapy_poet.callback_for(web_poet.WebPage)

    spider = PoetSpider()
    request = Request("http://a.example/", spider.parse_page)
    assert again(request, spider).callback == spider.parse_page


def test_requests_of_puppeteer_are_kept() -> None:
    puppeteer = pytest.importorskip("scrapypuppeteer")
    request = puppeteer.PuppeteerRequest("http://a.example/", close_page=False)
    found = again(request)
    assert type(found) is type(request)
    assert (found.close_page, vars(found.action)) == (False, vars(request.action))


def test_models_of_pydantic_are_kept() -> None:
    pydantic = pytest.importorskip("pydantic")
    for kind in (pydantic.BaseModel, pydantic.RootModel[int]):
        fields = {"x": (int, ...), "y": (list[str], [])} if kind is pydantic.BaseModel else {}
        model = pydantic.create_model("Model", __base__=kind, __module__=__name__, **fields)
        globals()["Model"] = model
        value = model(x=1, y=["a"]) if fields else model(5)
        found = again(Request("http://a.example/", meta={"x": value})).meta["x"]
        assert (type(found), found, found.model_dump()) == (model, value, value.model_dump())
    private = pydantic.create_model("Model", __module__=__name__, _x=(int, pydantic.PrivateAttr(1)))
    globals()["Model"] = private
    with pytest.raises(EntryRefused, match="attributes that are not fields"):
        again(Request("http://a.example/", meta={"x": private()}))
