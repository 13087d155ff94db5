"""Redirects of a robots.txt to machines that only we can reach."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.servers.handle import Answer, Site, redirect

_GUARDS = ("any", "same-site", "public")
_ALLOW = Answer(body="User-agent: *\nAllow: /\n")
_REBIND: dict[str, Any] = {
    "DOWNLOADER_MIDDLEWARES": {"tests.faults.middlewares.Rebind": 900},
    "REP_FETCH_TIMEOUT_SECONDS": 5,
}


def _led_to(
    location: str, guard: str, loop: Loop = "asyncio", **settings: Any
) -> tuple[list[str], Crawl]:
    """The paths requested of a site whose robots.txt redirects to a location, and the crawl."""
    with Site({"/elsewhere": _ALLOW}) as site:
        target = location.format(port=site.port)
        site.change({"/robots.txt": redirect(target), "/*": _ALLOW})
        settings = {**ADDON, "REP_REDIRECT_GUARD": guard, **settings}
        urls = [site.url("/page", "localhost")]
        result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=urls)
        return [path for path in site.paths() if path != "/robots.txt"], result


@pytest.mark.parametrize("guard", _GUARDS)
@pytest.mark.parametrize(
    "location",
    [
        # The text before it is the host for Scrapy, the text behind it for Python.
        "http://127.0.0.1:{port}\\@93.184.216.34/",
        "http://127.0.0.1:{port}\\@localhost/",
        "http://127.0.0.1:{port}\\.localhost/",
        "//127.0.0.1:{port}\\@localhost/",
        "http://127.0.0.1:{port} @localhost/",
        "http://127.0.0.1:{port}\xa0@localhost/",
        "http://127.0.0.1\t:{port}/elsewhere",
        "http://localhost\u200b:{port}/elsewhere",
    ],
)
def test_ambiguous_authority_is_refused(location: str, guard: str) -> None:
    asked, result = _led_to(location, guard)
    assert asked == [], result.log
    assert result.stats["rep/event/guard"] == 1


@pytest.mark.parametrize("loop", LOOPS)
def test_name_that_changes_its_address_after_the_check_is_refused(loop: Loop) -> None:
    """Its answer is not read: the address of the connection counts."""
    target = "http://rebound.test:{port}/elsewhere"
    asked, result = _led_to(target, "public", loop, **_REBIND)
    assert "/page" not in asked, result.log
    assert result.stats["rep/event/guard"] == 1
    asked, result = _led_to(target, "any", loop, **_REBIND)
    assert asked == ["/elsewhere", "/page"], result.log


def test_a_proxy_may_be_anywhere() -> None:
    """The connection leads to the proxy, which is ours."""
    with Site({"http://h.test/robots.txt": redirect("http://93.184.216.34/robots.txt")}) as proxy:
        proxy.change(
            {"http://93.184.216.34/robots.txt": Answer(body="User-agent: *\nDisallow: /x")}
        )
        settings = {
            **ADDON,
            "REP_REDIRECT_GUARD": "public",
            "REP_FETCH_META": {"proxy": proxy.url("")},
        }
        urls = ["http://h.test/x"]
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
        assert "http://93.184.216.34/robots.txt" in proxy.paths()
    assert result.stats["rep/event/200"] == 1, result.log
