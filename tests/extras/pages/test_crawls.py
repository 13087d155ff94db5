"""Whole crawls: the pages that are fetched and the items that are kept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.pages.page_html import HEAD_ELEMENTS
from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON
from tests.servers.handle import Answer, Site, redirect

from .answers import meta, page

_loops = pytest.mark.parametrize("loop", LOOPS)
_SPIDER = "tests.extras.pages.spiders:PagesSpider"
_NAME = {"USER_AGENT": "FooBot/1.0 (+https://example.com)"}
_SETTINGS = {**ADDON, **_NAME}

_ROBOTS = """\
User-agent: *
Content-Usage: /books/ train-ai=n
Content-Usage: /open/ train-ai=y
Content-Signal: /books/ ai-input=no
Allow: /
"""


def html(body: str = "", *head: str, **fields: str) -> Answer:
    headers = [("Content-Type", "text/html; charset=utf-8")]
    headers += [(name.replace("_", "-"), value) for name, value in fields.items()]
    return Answer(body=page(*head, body=body), headers=headers)


def links(*paths: str) -> str:
    return "".join(f'<a href="{path}">x</a>' for path in paths)


_ROUTES = {
    "/robots.txt": Answer(body=_ROBOTS),
    "/": html(
        links("/nofollow", "/noindex", "/other", "/field", "/books/a", "/open/a", "/plain")
        + '<a rel="external NoFollow" href="/by-rel">x</a>'
        + '<a rel="nofollow" href="/twice">x</a><a href="/twice#top">x</a>',
    ),
    "/nofollow": html(links("/hidden"), meta("nofollow")),
    "/noindex": html(links("/seen"), meta("all, noindex", "foobot")),
    "/other": html("", meta("noindex, nofollow", "otherbot")),
    "/field": html(links("/hidden-too"), X_Robots_Tag="foobot: none"),
    "/plain": Answer(body=meta("none"), headers=[("Content-Type", "text/html; charset=utf-8")]),
    "/books/a": html(),
    "/open/a": html(),
}
_ALL = {
    *["/", "/nofollow", "/noindex", "/other", "/field", "/books/a", "/open/a", "/plain"],
    *["/by-rel", "/twice", "/hidden", "/seen", "/hidden-too"],
}
_PLAIN_TEXT = {"/by-rel", "/twice", "/hidden", "/seen", "/hidden-too"}


@pytest.fixture
def site() -> Iterator[Site]:
    routes = {**_ROUTES, **{path: html() for path in _PLAIN_TEXT}}
    with Site(routes) as made:
        yield made


def fetched(site: Site) -> set[str]:
    return {*site.paths()} - {"/robots.txt"}


def kept(site: Site, result: Crawl) -> set[str]:
    assert not result.error, result.error
    assert not result.deprecations
    return {item["url"].removeprefix(site.url("")) for item in result.items}


def stats(result: Crawl) -> dict[str, int]:
    begin = ("rep/page/", "rep/usage/", "rep/dry_run/would_drop_")
    return {name: value for name, value in result.stats.items() if name.startswith(begin)}


def run(site: Site, loop: Loop = "asyncio", spider: str = _SPIDER, **values: Any) -> Crawl:
    settings = {**_SETTINGS, **values.pop("settings", {})}
    values.setdefault("urls", [site.url("/")])
    return crawl(spider, loop=loop, settings=settings, **values)


class TestDefault:
    """With the default settings, no request and no item is dropped, and no page is read."""

    def test_nothing_is_dropped(self, site: Site) -> None:
        result = run(site)
        assert kept(site, result) == fetched(site) == _ALL
        assert stats(result) == {}

    def test_nothing_is_parsed(self, site: Site) -> None:
        result = run(site, spider="tests.extras.pages.spiders:CountingSpider")
        assert kept(site, result) == {"/", "/end"}
        assert result.stats["test/parsed"] == 0


class TestObeying:
    """Only the rules in `REP_PAGE_OBEY` are obeyed."""

    @_loops
    def test_nofollow_drops_the_requests_of_a_page(self, site: Site, loop: Loop) -> None:
        result = run(site, loop, settings={"REP_PAGE_OBEY": ["nofollow"]})
        assert kept(site, result) == fetched(site) == _ALL - {"/hidden", "/hidden-too"}
        assert stats(result) == {
            "rep/page/read": 4,  # the pages with links
            "rep/page/dropped_requests": 2,
            "rep/page/rule/nofollow": 2,
            "rep/page/rule/noindex": 2,
        }

    def test_noindex_drops_the_items_of_a_page(self, site: Site) -> None:
        result = run(site, settings={"REP_PAGE_OBEY": ["noindex"]})
        assert fetched(site) == _ALL
        assert kept(site, result) == _ALL - {"/noindex", "/field", "/plain"}
        assert result.stats["rep/page/dropped_items"] == 3

    def test_rel_nofollow_drops_one_link(self, site: Site) -> None:
        result = run(site, settings={"REP_PAGE_OBEY": ["rel-nofollow"]})
        assert kept(site, result) == fetched(site) == _ALL - {"/by-rel"}

    def test_signal_tells_each_rule_that_withholds(self, site: Site) -> None:
        result = run(site, settings={"REP_PAGE_OBEY": "nofollow,rel-nofollow,noindex"})
        told = re.findall(r"withheld: (.*) \| (.*) \| (.*)", result.log.replace(site.url(""), ""))
        assert {*told} == {
            ("/", "/by-rel", "rel-nofollow by link"),
            ("/nofollow", "/hidden", "nofollow by meta 1, line 1"),
            ("/field", "/hidden-too", "nofollow by X-Robots-Tag 1"),
            ("/field", "dict", "noindex by X-Robots-Tag 1"),
            ("/noindex", "dict", "noindex by meta 1, line 1"),
            ("/plain", "dict", "noindex by meta 1, line 1"),
        }

    def test_request_may_be_exempt(self, site: Site) -> None:
        settings = {"REP_PAGE_OBEY": ["nofollow", "rel-nofollow"]}
        result = run(site, settings=settings, meta={"dont_obey_page_rules": True})
        assert kept(site, result) == _ALL

    def test_redirect_target_may_be_retried(self, site: Site) -> None:
        site.change({"/moved": redirect("/nofollow")})
        spider = "tests.extras.pages.spiders:AgainSpider"
        settings = {"REP_PAGE_OBEY": ["nofollow"]}
        run(site, spider=spider, settings=settings, urls=[site.url("/moved")])
        assert site.paths().count("/nofollow") == 2

    def test_fields_of_a_redirect_do_not_count(self, site: Site) -> None:
        answer = Answer(status=302, headers=[("Location", "/other"), ("X-Robots-Tag", "none")])
        site.change({"/moved": answer})
        settings = {"REP_PAGE_OBEY": ["noindex"]}
        result = run(site, settings=settings, urls=[site.url("/moved")])
        assert kept(site, result) == {"/other"}

    def test_passed_date_counts(self, site: Site) -> None:
        line = "unavailable_after: {}"
        site.change(
            {
                "/": html(links("/past", "/future")),
                "/past": html(X_Robots_Tag=line.format("2001-01-01")),
                "/future": html(X_Robots_Tag=line.format("2999-01-01")),
            }
        )
        for word in ("unavailable_after", "noindex"):
            result = run(site, settings={"REP_PAGE_OBEY": [word]})
            assert kept(site, result) == {"/", "/future"}

    def test_dry_run_of_page_rules_drops_nothing(self, site: Site) -> None:
        settings = {
            "REP_PAGE_OBEY": ["nofollow", "noindex", "rel-nofollow"],
            "REP_USES": ["ai-input"],
            "REP_DRY_RUN": True,
        }
        result = run(site, settings=settings)
        assert kept(site, result) == fetched(site) == _ALL
        assert result.stats["rep/dry_run/would_drop_links"] == 3
        assert result.stats["rep/dry_run/would_drop_items"] == 4
        assert "rep/page/dropped_items" not in result.stats

    def test_ignored_host_is_not_obeyed(self, site: Site) -> None:
        settings = {
            "REP_PAGE_OBEY": ["nofollow", "noindex", "rel-nofollow"],
            "REP_USES": ["train-ai"],
            "REP_USES_UNKNOWN": "drop",
            "REP_OVERRIDES": {"127.0.0.1": "ignore"},
        }
        assert kept(site, run(site, settings=settings)) == _ALL

    def test_page_rules_need_no_robots_txt(self, site: Site) -> None:
        settings = {"ROBOTSTXT_OBEY": False, "REP_PAGE_OBEY": ["nofollow", "noindex"]}
        run(site, settings=settings)
        assert "/robots.txt" not in site.paths()
        assert fetched(site) == _ALL - {"/hidden", "/hidden-too"}

    def test_wrong_name_of_the_crawler_is_refused_without_robots_txt(self, site: Site) -> None:
        """Page rules are addressed to names, so without one no page could be read."""
        settings = {
            "ROBOTSTXT_OBEY": False,
            "ROBOTSTXT_USER_AGENT": "Foo Bot",
            "REP_PAGE_OBEY": ["noindex"],
        }
        result = run(site, settings=settings)
        assert "'Foo Bot' is not a product token" in result.error + result.log
        assert site.paths() == []


class TestUses:
    """Items of pages that say n to a declared use are dropped."""

    @pytest.mark.parametrize(
        ("use", "dropped"),
        [
            ("train-ai", {"/books/a"}),
            ("ai-input", {"/books/a"}),
            ("search", {"/noindex", "/field", "/plain"}),
            ("tdm", set()),
        ],
    )
    def test_declared_use_drops_items_of_reserved_pages(
        self, site: Site, use: str, dropped: set[str]
    ) -> None:
        result = run(site, settings={"REP_USES": [use]})
        assert fetched(site) == _ALL
        assert kept(site, result) == _ALL - dropped
        assert result.stats.get("rep/usage/dropped_items", 0) == len(dropped)
        assert result.stats.get(f"rep/usage/{use}/n", 0) == len(dropped)

    def test_unknown_use_can_drop_items(self, site: Site) -> None:
        settings = {"REP_USES": ["train-ai"], "REP_USES_UNKNOWN": "drop"}
        result = run(site, settings=settings)
        assert kept(site, result) == {"/open/a"}

    def test_incomplete_is_unknown(self, site: Site) -> None:
        """The page alone says y; its robots.txt was not fetched, and may say n."""
        site.change({"/robots.txt": Answer(status=503), "/": html(Content_Usage="train-ai=y")})
        settings = {
            "REP_USES": ["train-ai"],
            "REP_USES_UNKNOWN": "drop",
            "REP_POLICY_OVERRIDES": {"5xx": "allow"},
        }
        assert kept(site, run(site, settings=settings)) == set()
        del settings["REP_USES_UNKNOWN"]
        assert kept(site, run(site, settings=settings)) == {"/"}

    def test_usage_tokens_count(self, site: Site) -> None:
        rules = "User-agent: GPTBot\nDisallow: /books/\n"
        site.change({"/robots.txt": Answer(body=rules)})
        settings = {"REP_USES": ["train-ai"], "REP_USAGE_TOKENS": {"train-ai": ["GPTBot"]}}
        assert kept(site, run(site, settings=settings)) == _ALL - {"/books/a"}

    @pytest.mark.parametrize(
        ("level", "unknown", "dropped"),
        [
            ("immediate", "keep", set()),
            ("reference", "keep", {"/books/a"}),
            ("full", "keep", {"/books/a", "/noindex", "/open/a"}),
            ("reference", "drop", _ALL - {"/noindex", "/open/a"}),
        ],
    )
    def test_level_of_use_counts(
        self, site: Site, level: str, unknown: str, dropped: set[str]
    ) -> None:
        robots = (
            "User-agent: *\nContent-Signal: /books/ search=yes, use=immediate\n"
            "Content-Signal: /open/ use=reference\nAllow: /\n"
        )
        indexed = html(links("/seen"), Content_Signal="use=reference")
        site.change({"/robots.txt": Answer(body=robots), "/noindex": indexed})
        settings = {"REP_USE_LEVEL": level, "REP_USES_UNKNOWN": unknown}
        result = run(site, settings=settings)
        assert kept(site, result) == _ALL - dropped
        assert fetched(site) == _ALL
        assert result.stats.get("rep/usage/dropped_items", 0) == len(dropped)


class TestItems:
    """Items of each kind are dropped or marked; feeds too."""

    @pytest.mark.parametrize(
        ("kind", "spider", "loop"),
        [
            *[(kind, "PagesSpider", "asyncio") for kind in ("dataclass", "attrs", "item")],
            *[("dict", "AsyncSpider", loop) for loop in LOOPS],
        ],
    )
    def test_items_of_every_kind_are_dropped_and_marked(
        self, site: Site, loop: Loop, kind: str, spider: str, tmp_path: Path
    ) -> None:
        feed = tmp_path / "items.jl"
        result = run(
            site,
            loop,
            spider=f"tests.extras.pages.spiders:{spider}",
            settings={
                "REP_PAGE_OBEY": ["noindex"],
                "REP_USES": ["train-ai"],
                "REP_ITEM_FIELD": "robots",
                "FEEDS": {str(feed): {"format": "jsonlines"}},
            },
            kind=kind,
        )
        assert not result.error, result.error
        rows = [json.loads(line) for line in feed.read_text(encoding="utf-8").splitlines()]
        items = {row["url"].removeprefix(site.url("")): row["robots"] for row in rows}
        assert {*items} == _ALL - {"/noindex", "/field", "/plain", "/books/a"}
        assert items["/nofollow"]["rules"] == {"nofollow": True}
        assert items["/open/a"] == {
            "rules": {},
            "usage": {
                "train-ai": "y",
                "search": "unknown",
                "ai-input": "unknown",
                "tdm": "unknown",
            },
            "is_complete": True,
        }

    def test_items_without_room_for_a_field_are_kept(self, site: Site) -> None:
        result = run(site, settings={"REP_ITEM_FIELD": "robots"}, kind="frozen")
        assert len(result.items) == len(_ALL)
        assert result.stats["rep/page/unannotated_items"] == len(_ALL)
        assert result.log.count("REP_ITEM_FIELD = 'robots': items of FrozenItem") == 1


class TestAsking:
    """`page_rules` and `usage` in a callback: with the crawl's names, and its robots.txt."""

    @_loops
    def test_spider_can_ask_for_rules_and_usage(self, site: Site, loop: Loop) -> None:
        urls = [site.url(path) for path in ("/books/a", "/field", "/other")]
        result = run(site, loop, spider="tests.extras.pages.spiders:AskingSpider", urls=urls)
        assert not result.error, result.error
        by_path = {item["url"].removeprefix(site.url("")): item for item in result.items}
        books = by_path["/books/a"]
        assert books["usage"] == {"train-ai": "n", "ai-input": "n"}
        where = f"line 2 of {site.url('/robots.txt')}"
        assert f"train-ai=n by Content-Usage, {where}: /books/ train-ai=n" in books["why"]
        assert books["robots_txt"] == site.url("/robots.txt")
        assert books["is_complete"]
        assert books["was_fetched"]
        assert len(books["digest"]) == 64
        assert books["meta"] == ["rep_verdict"], "nothing is written that no setting asks for"
        assert by_path["/field"]["rules"] == {"noindex": True, "nofollow": True}
        assert by_path["/other"]["rules"] == {}

    @pytest.mark.parametrize(
        ("answer", "settings"),
        [
            (Answer(status=503), {"REP_POLICY_OVERRIDES": {"5xx": "allow"}}),
            (Answer(body=_ROBOTS), {"REP_OVERRIDES": {"*": "ignore"}}),
            (Answer(body=_ROBOTS), {"ROBOTSTXT_OBEY": False}),
        ],
    )
    def test_unjudged_page_is_incomplete(
        self, site: Site, answer: Answer, settings: dict[str, Any]
    ) -> None:
        site.change({"/robots.txt": answer})
        spider = "tests.extras.pages.spiders:AskingSpider"
        result = run(site, spider=spider, settings=settings, urls=[site.url("/books/a")])
        (item,) = result.items
        assert item["usage"] == {}
        assert not item["is_complete"]

    @_loops
    def test_files_of_a_pipeline_know_the_crawl(
        self, site: Site, loop: Loop, tmp_path: Path
    ) -> None:
        """They pass no spider middleware, but `page_rules` knows the crawl."""
        site.change(
            {
                "/": html("<img src=/a.png><img src=/b.png><img src=/c.png>"),
                "/a.png": Answer(body="a", headers=[("Content-Type", "image/png")]),
                "/b.png": Answer(
                    body="b",
                    headers=[("Content-Type", "image/png"), ("X-Robots-Tag", "foobot: noimageai")],
                ),
                "/c.png": Answer(body="c", headers=[("X-Robots-Tag", "otherbot: noai")]),
            }
        )
        settings = {
            "ITEM_PIPELINES": {"tests.extras.pages.spiders.CarefulPipeline": 1},
            "FILES_STORE": str(tmp_path),
        }
        result = run(site, loop, spider="tests.extras.pages.spiders:FilesSpider", settings=settings)
        assert not result.error, result.error
        kept = [file["url"] for file in result.items[0]["files"]]
        assert kept == [site.url("/a.png"), site.url("/c.png")]
        assert "withheld: noimageai by X-Robots-Tag 1" in result.log


@_loops
@pytest.mark.parametrize("obeyed", [["noindex"], ["noindex", "rel-nofollow"]])
def test_large_page_is_read_in_a_thread(loop: Loop, obeyed: list[str]) -> None:
    """Its reading is seen by a warning that only the reader logs."""
    routes = {"/": html("", *["<meta name=a>"] * (HEAD_ELEMENTS + 1)), "/robots.txt": Answer()}
    settings = {"REP_PAGE_OBEY": obeyed, "LOG_FORMAT": "in %(threadName)s: %(message)s"}
    with Site(routes) as site:
        result = run(site, loop, "tests.extras.pages.spiders:AsyncSpider", settings=settings)
        assert kept(site, result) == set(), "what it says is unknown"
    told = re.findall(r"in (.*): Cannot read all of .* more than 20,000 meta", result.log)
    assert len(told) == 1
    assert told != ["MainThread"]
