"""A crawler uses only answers to its own name: keys of the store, alone and in whole crawls."""

from __future__ import annotations

import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.crawl import Crawl
from scrapy_rep.fetch.requesters import Requester
from scrapy_rep.protocol.access import knowledge as attempt
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.units import DAY_SECONDS
from tests.cache.samples import file_entry
from tests.crawling import crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.servers.handle import Answer, Sequence, Site

_ORIGIN = Origin("https", "example.com", 443)
_FTP = Origin("ftp", "example.com", 21)
_RULES = Answer(body="User-agent: *\nDisallow: /private\n")
_FOR_NOBODY_THEN_RULES = Sequence([Answer(status=403), _RULES])


class Asking(Spider):
    name = "asking"


def key(origin: Origin = _ORIGIN, meta: Any = None, spider: Any = None, **settings: Any) -> Key:
    crawler = Crawler(Asking, Settings(settings))
    if spider is not None:
        crawler.spider = Asking(**spider)
    requester = Requester(Crawl.of(crawler))
    return requester.key(origin, meta)


class TestProxies:
    """In clear text, a proxy may answer anything."""

    def keys(self, *fetches: tuple[bool, bool]) -> list[bool]:
        """Whether each fetch, and then the next key, is apart from those without a proxy.

        A fetch is whether it went through a proxy, and whether this was that of the page.
        """
        requester = Requester(Crawl.of(Crawler(Asking, Settings())))
        direct = requester.key(_ORIGIN)
        found = []
        for is_proxied, is_carried in fetches:
            answer = attempt.Answer(
                200, hops=(direct.uri,), user_agent=direct.user_agent, is_proxied=is_proxied
            )
            found.append(requester.key_as_sent(direct, answer, is_carried=is_carried) != direct)
        return [*found, requester.key(_ORIGIN) != direct]

    def test_only_proxies_of_all_fetches_are_expected(self) -> None:
        assert self.keys((True, False)) == [True, True]
        assert self.keys((True, True)) == [True, False], "the proxy of one page"
        assert self.keys((True, False), (False, False), (True, False)) == [True, False, True, False]


class TestKeys:
    """Facts that separate answers, and others that do not."""

    def test_usual_crawls_have_no_variant(self) -> None:
        assert key().variant == ""
        assert key(_FTP).variant == ""
        assert key(meta={"ftp_user": "u"}).variant == "", "which http takes no notice of"
        assert key(DEFAULT_REQUEST_HEADERS={"Accept": "x", "Accept-Language": "en"}).variant == ""

    @pytest.mark.parametrize(
        "different",
        [
            {"REP_FETCH_META": {"proxy": "http://p"}},
            {"REP_FETCH_META": {"zyte_api": {"geolocation": "DE"}}},
            {"REP_FETCH_META": {"zyte_api": {"geolocation": "FR"}}},
            {"REP_FETCH_META": {"a": {"b": "c"}}},
            {"REP_FETCH_META": {"a": ["b", "c"]}},
            {"DEFAULT_REQUEST_HEADERS": {"Accept-Language": "de"}},
            {"DEFAULT_REQUEST_HEADERS": {"Accept-Language": "en", "Authorization": "Basic x"}},
            {"HTTPAUTH_USER": "u", "HTTPAUTH_PASS": "p", "HTTPAUTH_DOMAIN": None},
            {"spider": {"http_user": "u", "http_pass": "p", "http_auth_domain": None}},
            {"origin": _FTP, "meta": {"ftp_user": "u", "ftp_password": "p"}},
            {"origin": _FTP, "FTP_USER": "u"},
        ],
    )
    def test_variant_depends_on_credentials_and_headers(self, different: dict[str, Any]) -> None:
        assert len(key(**different).variant) == 12
        assert key(**different) == key(**different)
        assert "p" not in key(**different).variant

    def test_each_differs_from_the_others(self) -> None:
        metas: list[Any] = [{"a": 1}, {"a": "1"}, {"a": [1]}, {"a": {"1": 1}}, {"a": None, "b": 1}]
        assert len({key(REP_FETCH_META=meta).variant for meta in metas}) == len(metas)

    def test_variant_ignores_order_and_identity(self) -> None:
        one = {"a": 1, "b": {"x", "y"}, "c": object, "d": key, "e": [{"f": 1, "g": 2}]}
        other = {"e": [{"g": 2, "f": 1}], "d": key, "c": object, "b": {"y", "x"}, "a": 1}
        assert key(REP_FETCH_META=one) == key(REP_FETCH_META=other)

    def test_credentials_count_from_when_the_spider_has_them(self) -> None:
        crawler = Crawler(Asking, Settings({"REP_FETCH_META": {"a": 1}}))
        crawler.spider = spider = Asking()
        requester = Requester(Crawl.of(crawler))
        usual, of_ftp = requester.key(_ORIGIN), requester.key(_FTP, {"ftp_user": "u"})
        assert usual.variant != of_ftp.variant
        spider.http_user = "u"  # type: ignore[attr-defined]
        own = requester.key(_ORIGIN)
        assert own.variant not in (usual.variant, of_ftp.variant)
        assert own.variant == key(spider={"http_user": "u"}, REP_FETCH_META={"a": 1}).variant
        del spider.http_user  # type: ignore[attr-defined]
        assert requester.key(_ORIGIN) == usual


def stored(path: Path) -> list[Key]:
    with closing(SqliteStore(path, 1 << 30)) as store:
        return store.keys()


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        ({"USER_AGENT": "BadBot/1.0"}, {"USER_AGENT": "GoodBot/1.0"}),
        ({"SENT_AS": "BadBot/1.0"}, {"SENT_AS": "GoodBot/1.0"}),
        ({"ROBOTSTXT_USER_AGENT": "badbot"}, {"ROBOTSTXT_USER_AGENT": "goodbot"}),
    ],
)
def test_answer_to_one_crawler_lets_no_other_in(
    bad: dict[str, Any], good: dict[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "robots.sqlite"
    settings = {**ADDON, "REP_STORE": "sqlite", "REP_STORE_PATH": str(path)}
    if "SENT_AS" in bad:
        settings["DOWNLOADER_MIDDLEWARES"] = {"tests.cache.spiders.SentAs": 600}
    with Site({"/robots.txt": _FOR_NOBODY_THEN_RULES}) as site:
        url = site.url("/private")
        crawl(URLS_SPIDER, settings={**settings, **bad}, urls=[url])
        assert site.paths() == ["/robots.txt", "/private"]
        result = crawl(URLS_SPIDER, settings={**settings, **good}, urls=[url])
        assert site.paths() == ["/robots.txt", "/private", "/robots.txt"], result.log
        asked = [seen for seen in site.requests() if seen.path == "/robots.txt"]
        agents = {seen.headers["user-agent"] for seen in asked}
    keys = stored(path)
    assert {key.user_agent for key in keys} == agents
    assert len(keys) == 2
    assert len(set(keys)) == 2


@pytest.mark.parametrize(
    ("answer", "is_allowed"), [(Answer(status=304), True), (Answer(status=503), False)]
)
def test_confirmation_counts_for_the_user_agent_that_was_sent(
    answer: Answer, is_allowed: bool, tmp_path: Path
) -> None:
    """A user's middleware sends the request for a newer version as somebody else.

    A 304 says that our copy holds for them, too. A failure says nothing, and lets nobody go by what
    the others were told.
    """
    path = tmp_path / "robots.sqlite"
    settings = {
        **ADDON,
        "REP_STORE": "sqlite",
        "REP_STORE_PATH": str(path),
        "REP_QUICK_RETRY_SECONDS": [],
        "USER_AGENT": "OneBot/1.0",
        "SENT_AS": "TwoBot/1.0",
        "DOWNLOADER_MIDDLEWARES": {"tests.cache.spiders.SentAs": 600},
    }
    with Site({"/robots.txt": answer}) as site:
        origin = Origin.of(site.url("/"))
        assert origin is not None
        ours, theirs = Key.under(origin, "OneBot/1.0"), Key.under(origin, "TwoBot/1.0")
        old = file_entry(origin, at=time.time() - 2 * DAY_SECONDS)
        with closing(SqliteStore(path, 1 << 30)) as store:
            store.commit(Entry(ours, old.known), None).result()
        crawl(URLS_SPIDER, settings=settings, urls=[site.url("/a"), site.url("/private")])
        assert site.paths() == ["/robots.txt", *["/a"] * is_allowed]
        assert site.requests()[0].headers["if-none-match"] == '"1"'
    with closing(SqliteStore(path, 1 << 30)) as store:
        known = {key: entry.known for key in (ours, theirs) if (entry := store.peek(key))}
    assert known[ours] == old.known
    assert (known[theirs].copy is not None) is is_allowed
    assert (known[theirs].outage is None) is is_allowed


def test_redirects_fill_and_read_the_entries_of_their_requester(tmp_path: Path) -> None:
    path = tmp_path / "robots.sqlite"
    settings = {**ADDON, "REP_STORE": "sqlite", "REP_STORE_PATH": str(path)}
    with Site({"/robots.txt": _FOR_NOBODY_THEN_RULES}) as target:
        there = target.url("/robots.txt")
        moved = Answer(status=301, headers=(("Location", there),))
        with Site({"/robots.txt": moved}) as site:
            for agent in ("BadBot/1.0", "GoodBot/1.0"):
                for one in (site, target):
                    crawl(
                        URLS_SPIDER,
                        settings={**settings, "USER_AGENT": agent},
                        urls=[one.url("/private")],
                    )
            assert site.paths().count("/private") == 1
        assert target.paths().count("/private") == 1
        assert target.paths().count("/robots.txt") == 2
    assert len(stored(path)) == 4
