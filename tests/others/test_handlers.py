"""Download handlers that ask by other means: what docs/others.md says of them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import pytest

from tests.crawling import Crawl, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.others.zyte import ZyteApi
from tests.servers.handle import Answer, Site, redirect

RULES = Answer(body="User-agent: *\nDisallow: /private\n\nUser-agent: mine\nDisallow: /mine\n")


_HANDLER = "scrapy_impersonate.ImpersonateDownloadHandler"
_CHROME = {"impersonate": "chrome"}
_IMPERSONATE: dict[str, Any] = {
    "DOWNLOAD_HANDLERS": {"http": _HANDLER, "https": _HANDLER},
    "USER_AGENT": None,
    "ROBOTSTXT_USER_AGENT": "mine",
}
_ZYTE: dict[str, Any] = {
    "ADDONS": {**ADDON["ADDONS"], "scrapy_zyte_api.Addon": 600},
    "ZYTE_API_KEY": "none",
}


def run(site: Site, *paths: str, meta: dict[str, Any] | None = None, **settings: Any) -> Crawl:
    result = crawl(
        URLS_SPIDER,
        settings={**ADDON, **settings},
        urls=[site.url(path) for path in paths],
        meta=meta or {},
    )
    assert result.exit_code == 0, result.error
    return result


@pytest.mark.skipif(
    find_spec("scrapy_impersonate") is None, reason="scrapy-impersonate is not installed"
)
class TestImpersonate:
    def test_pages_and_their_redirects_are_judged(self) -> None:
        with Site({"/robots.txt": RULES, "/go": redirect("/mine", 302)}) as site:
            result = run(site, "/a", "/go", "/mine", meta=_CHROME, **_IMPERSONATE)
            assert sorted(site.paths()) == ["/a", "/go", "/robots.txt"]
            agents = {seen.path: seen.headers.get("user-agent", "") for seen in site.requests()}
        assert "Chrome/" in agents["/a"]
        assert agents["/robots.txt"] == "mine", "asked by Scrapy itself, and by name"
        assert result.stats["robotstxt/forbidden"] == 2

    def test_robots_txt_may_be_fetched_by_the_same_handler(self) -> None:
        with Site({"/robots.txt": RULES}) as site:
            run(site, "/a", "/mine", meta=_CHROME, REP_FETCH_META=_CHROME, **_IMPERSONATE)
            assert site.paths() == ["/robots.txt", "/a"]
            robots = site.requests()[0].headers
        assert robots["user-agent"] == "mine"
        assert "sec-ch-ua" in robots

    def test_redirects_that_curl_follows_are_not_judged(self) -> None:
        meta = {**_CHROME, "impersonate_args": {"allow_redirects": True}}
        with Site({"/robots.txt": RULES, "/go": redirect("/mine", 302)}) as site:
            run(site, "/go", meta=meta, **_IMPERSONATE)
            assert site.paths() == ["/robots.txt", "/go", "/mine"]


@pytest.mark.skipif(
    find_spec("scrapy_zyte_api") is None or find_spec("zyte_common_items") is None,
    reason="scrapy-zyte-api[provider] is not installed",
)
class TestZyteApi:
    def test_every_request_of_the_api_is_judged(self) -> None:
        with ZyteApi() as api, Site({"/robots.txt": RULES}) as site:
            run(site, "/a", "/private", ZYTE_API_URL=api.url, **_ZYTE)
            assert site.paths() == ["/robots.txt", "/a"]
            assert api.urls() == [site.url("/robots.txt"), site.url("/a")]
        assert api.asked[0]["httpResponseBody"] is True

    def test_robots_txt_may_be_fetched_without_the_api(self) -> None:
        direct = {"zyte_api_automap": False}
        with ZyteApi() as api, Site({"/robots.txt": RULES}) as site:
            run(site, "/a", "/private", ZYTE_API_URL=api.url, REP_FETCH_META=direct, **_ZYTE)
            assert api.urls() == [site.url("/a")]
            assert site.paths() == ["/robots.txt", "/a"]

    def test_browser_html_is_not_used_for_robots_txt(self) -> None:
        """Options of a spider's pages do not apply to robots.txt."""
        meta = {"zyte_api_automap": {"browserHtml": True}}
        with ZyteApi() as api, Site({"/robots.txt": RULES}) as site:
            run(site, "/a", "/private", ZYTE_API_URL=api.url, meta=meta, **_ZYTE)
            assert site.paths() == ["/robots.txt", "/a"]
        assert "browserHtml" not in api.asked[0]
        assert api.asked[1]["browserHtml"] is True

    def test_redirects_that_the_api_follows_are_not_judged(self) -> None:
        routes = {"/robots.txt": RULES, "/go": redirect("/private", 302)}
        with ZyteApi() as api, Site(routes) as site:
            result = run(site, "/go", ZYTE_API_URL=api.url, **_ZYTE)
            assert "/private" in site.paths()
        assert api.asked[1].get("followRedirect", True)
        assert result.items[0]["final_url"].endswith("/private")
