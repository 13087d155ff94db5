"""The origin with the rules for a request."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crawling import crawl
from tests.crawls.settings import ADDON, DISALLOW_ALL, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.servers.handle import Answer, Site, redirect

pytestmark = pytest.mark.every_loop


def rules(path: str) -> Answer:
    return Answer(body=f"User-agent: *\nDisallow: {path}\n")


def test_http_and_https_are_two_origins() -> None:
    with (
        Site({"/robots.txt": rules("/a")}) as plain,
        Site({"/robots.txt": rules("/b")}, tls=True) as secure,
    ):
        urls = [site.url(path) for site in (plain, secure) for path in ("/a", "/b")]
        result = crawl(URLS_SPIDER, settings=ADDON, urls=urls)
        assert sorted(plain.paths()) == ["/b", "/robots.txt"], result.log
        assert sorted(secure.paths()) == ["/a", "/robots.txt"], result.log


def test_a_start_url_outside_of_allowed_domains_is_judged() -> None:
    with Site({"/robots.txt": rules("/a")}) as site:
        result = crawl(
            URLS_SPIDER,
            settings=ADDON,
            urls=[site.url("/a"), site.url("/b")],
            allowed_domains=["example.com"],
        )
        assert sorted(site.paths()) == ["/b", "/robots.txt"], result.log


def test_an_exemption_is_for_the_request_that_carries_it() -> None:
    routes: dict[str, Any] = {
        "/robots.txt": Answer(body=DISALLOW_ALL),
        "/exempt": redirect("/not-exempt"),
        "/page": [Answer(status=503), Answer()],
    }
    with Site(routes) as site:
        result = crawl(
            URLS_SPIDER,
            loop="asyncio",
            settings=ADDON,
            urls=[site.url("/exempt"), site.url("/page")],
            meta={"dont_obey_robotstxt": True},
        )
        paths = site.paths()
    assert "/exempt" in paths
    assert paths.count("/page") == 2, "a retry is the same request"
    assert "/not-exempt" not in paths
    assert result.stats["rep/exempt"] == 3


def test_userinfo_and_letter_case_do_not_change_the_origin() -> None:
    with Site({"/robots.txt": rules("/a")}) as site:
        urls = [
            f"http://LOCALHOST:{site.port}/a",
            f"http://localhost:{site.port}/b",
            f"http://user:password@localhost:{site.port}/a",
        ]
        crawl(URLS_SPIDER, loop="asyncio", settings=ADDON, urls=urls)
        assert sorted(site.paths()) == ["/b", "/robots.txt"]


def test_robots_txt_itself_and_other_schemes_pass() -> None:
    with Site({"/robots.txt": Answer(body=DISALLOW_ALL)}) as site:
        urls = [site.url("/robots.txt"), "data:,hello", site.url("/robots.txt?x")]
        result = crawl(URLS_SPIDER, loop="asyncio", settings=ADDON, urls=urls)
        paths = site.paths()
    assert sorted(paths) == ["/robots.txt", "/robots.txt"], "one for the spider, one for us"
    statuses = {item["url"]: item.get("status") for item in result.items}
    assert statuses["data:,hello"] == 200
    assert result.stats["rep/not_judged"] == 1


@pytest.mark.parametrize("queue", [ADDON, WITH_SCRAPYS_QUEUE], ids=["our queue", "Scrapy's"])
def test_robots_txt_itself_passes_however_it_is_written(queue: dict[str, Any]) -> None:
    """Also while it is unreachable; with a query it is another page."""
    with Site({"/robots.txt": Answer(status=503)}) as site:
        with_user = site.url("/robots.txt").replace("http://", "http://user:password@")
        mine = [site.url("/robots.txt#a"), site.url("/robots.tx%74"), with_user]
        others = [site.url("/robots.txt?x"), site.url("/page")]
        settings = {**queue, "RETRY_ENABLED": False, "HTTPERROR_ALLOW_ALL": True}
        result = crawl(URLS_SPIDER, settings=settings, urls=[*mine, *others])
        assert not {"/page", "/robots.txt?x"} & {*site.paths()}
    dropped = [item["url"] for item in result.items if "RobotsTxt" in item.get("error", "")]
    assert sorted(dropped) == sorted(others), result.log
    assert result.stats["robotstxt/forbidden"] == 2


def test_token_that_is_sent_is_matched() -> None:
    body = "User-agent: FooBot\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n"
    with Site({"/robots.txt": Answer(body=body)}) as site:
        urls = [site.url("/a"), site.url("/b")]
        for settings in (
            {"USER_AGENT": "Mozilla/5.0 (compatible; FooBot/2.1; +http://foo.example)"},
            {"DEFAULT_REQUEST_HEADERS": {"user-agent": "FooBot/1"}},
            {"ROBOTSTXT_USER_AGENT": "foobot"},
            {"ROBOTSTXT_USER_AGENT": ["nobody", "FooBot"], "USER_AGENT": "nobody FooBot"},
        ):
            before = len(site.requests())
            result = crawl(URLS_SPIDER, loop="asyncio", settings={**ADDON, **settings}, urls=urls)
            seen = site.requests()[before:]
            assert sorted(one.path for one in seen) == ["/b", "/robots.txt"], settings
            asked = next(one for one in seen if one.path == "/robots.txt")
            assert "foobot" in asked.headers["user-agent"].lower()
            assert "obeyed as 'FooBot'" in result.log or "'foobot'" in result.log.lower()
