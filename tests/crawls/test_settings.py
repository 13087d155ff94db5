"""A middleware that is set up wrongly stops the crawl: no request leaves."""

from __future__ import annotations

from typing import Any

import pytest

from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.servers.handle import Site

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "a wrong value": ({"REP_FETCH_TIMEOUT_SECONDS": 0}, "REP_FETCH_TIMEOUT_SECONDS = 0: must be"),
    "an unknown preset": ({"REP_POLICY": "nice"}, "REP_POLICY = 'nice': must be one of"),
    "a wrong override": ({"REP_POLICY_OVERRIDES": {"5": "allow"}}, "REP_POLICY_OVERRIDES: '5'"),
    "an invalid product token": (
        {"ROBOTSTXT_USER_AGENT": "FooBot/2.1 (+http://foo.example)"},
        "such as 'FooBot'",
    ),
    "no product token": ({"ROBOTSTXT_USER_AGENT": []}, "give one product token"),
    "a parser that is not there": (
        {"ROBOTSTXT_PARSER": "no.such.Parser"},
        "ROBOTSTXT_PARSER = 'no.such.Parser' cannot be used",
    ),
    "two judges": (
        {
            "ADDONS": {},
            "DOWNLOADER_MIDDLEWARES": {"scrapy_rep.RepMiddleware": 99},
        },
        "RobotsTxtMiddleware is enabled besides RepMiddleware",
    ),
    "a name nearly right": ({"REP_POLICIES": "strict"}, "did you mean REP_POLICY?"),
}


@pytest.mark.parametrize(("settings", "words"), BAD.values(), ids=BAD)
def test_bad_settings_stop_the_crawl(settings: dict[str, Any], words: str) -> None:
    with Site() as site:
        result = crawl(
            URLS_SPIDER, loop="asyncio", settings={**ADDON, **settings}, urls=[site.url("/a")]
        )
        assert site.paths() == []
    assert words in f"{result.error} {result.log}"
    assert result.exit_code != 0


@pytest.mark.parametrize("loop", LOOPS)
def test_in_every_loop(loop: Loop) -> None:
    with Site() as site:
        settings = {**ADDON, "REP_POLICY": "nice"}
        result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=[site.url("/a")])
        assert site.paths() == []
    assert result.exit_code != 0


def test_switched_off_by_the_user() -> None:
    with Site() as site:
        settings = {**ADDON, "ROBOTSTXT_OBEY": False, "REP_POLICY": "nice"}
        result = crawl(URLS_SPIDER, loop="asyncio", settings=settings, urls=[site.url("/a")])
        assert site.paths() == ["/a"]
    assert result.exit_code == 0
