"""A robots.txt is fetched by the same proxy as the request that needs it."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest
from scrapy import version_info

from tests.crawling import crawl
from tests.crawls.settings import ADDON, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.servers.h2site import Http2Sites
from tests.servers.handle import Answer, Site, redirect

_RULES = Answer(body="User-agent: *\nDisallow: /private\n")
_SECRET = "Basic " + b64encode(b"user:secret").decode()


def with_secret(proxy: Site) -> str:
    return proxy.url("").replace("http://", "http://user:secret@")


@pytest.mark.parametrize("queue", [ADDON, WITH_SCRAPYS_QUEUE], ids=["ours", "Scrapy's"])
def test_robots_txt_is_fetched_through_the_proxy(queue: dict[str, Any]) -> None:
    with Site({"http://*": Answer(), "http://h.example/robots.txt": _RULES}) as proxy:
        result = crawl(
            URLS_SPIDER,
            settings=queue,
            meta={"proxy": with_secret(proxy)},
            urls=["http://h.example/a", "http://h.example/private"],
        )
        assert proxy.paths() == ["http://h.example/robots.txt", "http://h.example/a"], result.log
        secrets = {seen.headers.get("proxy-authorization") for seen in proxy.requests()}
        assert secrets == {_SECRET}


def test_the_credentials_of_a_request_that_was_redirected() -> None:
    """By then Scrapy has moved them from the proxy's URL to a header."""
    routes = {
        "http://a.example/": redirect("http://b.example/x"),
        "http://*": Answer(),
        "http://b.example/robots.txt": redirect("http://c.example/rules"),
    }
    with Site(routes) as proxy:
        result = crawl(
            URLS_SPIDER,
            settings=ADDON,
            meta={"proxy": with_secret(proxy)},
            urls=["http://a.example/"],
        )
        assert proxy.paths() == [
            "http://a.example/robots.txt",
            "http://a.example/",
            "http://b.example/robots.txt",
            "http://c.example/rules",
            "http://b.example/x",
        ], result.log
        assert {seen.headers.get("proxy-authorization") for seen in proxy.requests()} == {_SECRET}


def test_different_proxies_do_not_mean_different_fetches() -> None:
    with Site(default=_RULES) as one, Site(default=_RULES) as other:
        proxies = [one.url(""), other.url("")]
        crawl(
            "tests.crawls.carried_spider:ProxiesSpider",
            settings=ADDON,
            urls=["http://h.example/a", "http://h.example/b"],
            proxies=proxies,
        )
        paths = one.paths() + other.paths()
    assert sorted(paths) == [f"http://h.example/{path}" for path in ("a", "b", "robots.txt")]


def test_the_keys_are_the_user_s() -> None:
    with Site({"/robots.txt": _RULES}) as site, Site() as proxy:
        crawl(
            URLS_SPIDER,
            settings={**ADDON, "REP_FETCH_META_KEYS": []},
            meta={"proxy": proxy.url("")},
            urls=[site.url("/a")],
        )
        assert site.paths() == ["/robots.txt"]
        assert proxy.paths() == [site.url("/a")]


def test_the_setting_for_all_fetches_comes_first() -> None:
    with Site(default=_RULES) as one, Site() as other:
        crawl(
            URLS_SPIDER,
            settings={**ADDON, "REP_FETCH_META": {"proxy": one.url("")}},
            meta={"proxy": with_secret(other)},
            urls=["http://h.example/a"],
        )
        assert one.paths() == ["http://h.example/robots.txt"]
        assert other.paths() == ["http://h.example/a"]
        assert "proxy-authorization" not in one.requests()[0].headers


def test_proxy_that_requires_credentials_does_not_answer_for_a_site() -> None:
    """A 407 of the proxy does not mean that there is no file; a 407 of a site does."""
    asks = Answer(status=407, headers=[("Proxy-Authenticate", "Basic")])
    routes = {"http://h.example/robots.txt": asks, "http://*": Answer()}
    with Site(routes) as proxy, Site({"/robots.txt": asks}) as site:
        result = crawl(
            URLS_SPIDER, settings=ADDON, meta={"proxy": proxy.url("")}, urls=["http://h.example/a"]
        )
        assert proxy.paths() == ["http://h.example/robots.txt"], result.log
        assert result.stats["rep/event/local"] == 1
        crawl(URLS_SPIDER, settings=ADDON, urls=[site.url("/a")])
        assert site.paths() == ["/robots.txt", "/a"]


@pytest.mark.skipif(version_info < (2, 19), reason="fails with this pyOpenSSL over HTTP/2")
def test_http_2_keeps_the_port_that_a_page_writes() -> None:
    """A connection of Scrapy's that a URL without the port opened refuses such pages."""
    handler = "scrapy.core.downloader.handlers.http2.H2DownloadHandler"
    settings = {**ADDON, "DOWNLOAD_HANDLERS": {"https": handler}, "RETRY_ENABLED": False}
    urls = ["https://h.test:443/1", "https://i.test/1", "https://j.test:443"]
    with Http2Sites(["a file"]) as site:
        result = crawl(
            "tests.crawls.verified_spider:VerifiedSpider",
            settings=settings,
            urls=urls,
            ports={443: site.hello["a file"]},
        )
        seen = [(one.headers["host"], one.path) for one in site.requests()]
    assert [item.get("status") for item in result.items] == [200] * 3, result.items
    hosts = {"h.test:443": "/1", "i.test": "/1", "j.test:443": "/"}
    assert sorted(seen) == sorted([*hosts.items(), *((host, "/robots.txt") for host in hosts)])
