"""How bodies end: the part of a file that comes over a broken connection is no file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from scrapy import version_info

from tests.crawling import Crawl, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.faults.sites import Plan, Sites
from tests.faults.table import BROKEN, FAULTS
from tests.faults.test_events import events, skip_without
from tests.servers.handle import Answer, Sequence, Site

pytestmark = pytest.mark.every_loop

_FILE = "User-agent: *\nAllow: /\nDisallow: /a\n"
_PAGES = ("/a", "/b")
_BLIND = {"DOWNLOAD_HANDLERS": dict.fromkeys(["http", "https"], "tests.faults.blind.Blind")}
_BROKEN = {name: FAULTS[name].plan("") for name in BROKEN}


def run(
    plans: dict[str, Plan], loop: Loop, **settings: Any
) -> tuple[Crawl, dict[str, list[str]], dict[str, str | None]]:
    """A crawl of the pages of all sites, the paths requested of each, and its event."""
    settings = {**ADDON, "REP_FETCH_TIMEOUT_SECONDS": 5, "RETRY_ENABLED": False, **settings}
    with Sites(plans) as sites:
        urls = [sites.url(name, page) for name in plans for page in _PAGES]
        result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=urls)
        found = events(result)
        called = {name: found.get(sites.url(name, "/robots.txt")) for name in plans}
        return result, {name: sorted(paths) for name, paths in sites.paths().items()}, called


def whole(*, tls: bool = False, **answer: Any) -> Plan:
    return Plan({"/robots.txt": Answer(body=_FILE, fault="close_open", **answer)}, tls=tls)


WHOLE = {
    "closed": whole(),
    "closed in HTTP/1.0": whole(version="1.0"),
    "TLS closed": whole(tls=True),
}


def is_httpx(loop: Loop) -> bool:
    """Whether the loop uses httpx, which reports no ends of connections."""
    return loop == "reactorless" and version_info < (2, 19)


_REUSED: list[tuple[Loop, str]] = [
    ("asyncio", "reset amid the file"),
    ("reactorless", "TLS cut amid the file"),
]


@pytest.mark.parametrize(("loop", "name"), [one for one in _REUSED if not is_httpx(one[0])])
def test_broken_ending_of_a_reused_connection_is_noticed(loop: Loop, name: str) -> None:
    """It was not watched before."""
    settings = {**ADDON, "RETRY_ENABLED": False, "DOWNLOAD_VERIFY_CERTIFICATES": False}
    with Sites({name: _BROKEN[name]}) as sites:
        urls = [sites.url(name, page) for page in ("/first", *_PAGES)]
        spider = "tests.faults.spiders:ExemptFirstSpider"
        result = crawl(spider, loop=loop, settings=settings, urls=urls)
        assert events(result) == {sites.url(name, "/robots.txt"): "truncated"}
        assert sites.paths() == {name: ["/first", "/robots.txt"]}


def test_second_answer_confirms_the_first_with_httpx() -> None:
    """With a handler that Scrapy has in each release, and up to 2.18 in the reactorless loop."""
    skip_without("_httpx.HttpxDownloadHandler")
    handler = "scrapy.core.downloader.handlers._httpx.HttpxDownloadHandler"
    chosen = {"DOWNLOAD_HANDLERS": dict.fromkeys(["http", "https"], handler)}
    _, paths, called = run({**_BROKEN, **WHOLE}, "reactorless", **chosen)
    silent = {name for name in BROKEN if name.startswith("TLS cut") and called[name] is None}
    for name in {*BROKEN} - silent:
        assert paths[name] == ["/robots.txt"], name
        assert called[name] in ("truncated", "network"), name
    assert "TLS cut after nothing" not in silent
    for name in silent:
        assert paths[name].count("/robots.txt") == 2, f"{name}: nothing is obeyed by one answer"
    for name in WHOLE:
        assert "/a" not in paths[name], name


_OPEN = Answer(body="User-agent: *\nDisallow: /a\n", fault="close_open")
_PART = replace(_OPEN, body="User-agent: *\n")
_NOTHING = replace(_OPEN, body="")
CONFIRMED: dict[str, tuple[list[Answer], list[str]]] = {
    "the same twice": ([_OPEN, _OPEN], ["/b", "/robots.txt", "/robots.txt"]),
    "more the second time": ([_PART, _OPEN], ["/robots.txt", "/robots.txt"]),
    "less the second time": ([_OPEN, _PART], ["/robots.txt", "/robots.txt"]),
    "nothing": ([_NOTHING], ["/robots.txt"]),
    "nothing the second time": ([_OPEN, _NOTHING], ["/robots.txt", "/robots.txt"]),
    "with its length the second time": (
        [_PART, replace(_OPEN, fault="none")],
        ["/b", "/robots.txt", "/robots.txt"],
    ),
    "down the second time": ([_OPEN, Answer(status=503)], ["/robots.txt", "/robots.txt"]),
    "gone the second time": (
        [_OPEN, Answer(status=404)],
        ["/a", "/b", "/robots.txt", "/robots.txt"],
    ),
    "with its length": ([replace(_OPEN, fault="none")], ["/b", "/robots.txt"]),
}


def test_second_answer_confirms_the_first_with_an_unknown_handler() -> None:
    plans = {
        name: Plan({"/robots.txt": Sequence(answers)}) for name, (answers, _) in CONFIRMED.items()
    }
    result, paths, _ = run(plans, "asyncio", **_BLIND)
    assert paths == {name: expected for name, (_, expected) in CONFIRMED.items()}
    assert result.stats["rep/asked_twice"] == len(CONFIRMED) - 2


def test_second_request_keeps_the_pace_of_the_slot() -> None:
    pace = {"DOWNLOAD_DELAY": 1.0, "RANDOMIZE_DOWNLOAD_DELAY": False, "DOWNLOAD_DELAY_JITTER": 0}
    with Site({"/robots.txt": _OPEN}) as site:
        crawl(URLS_SPIDER, settings={**ADDON, **_BLIND, **pace}, urls=[site.url("/b")])
        first, second, page = site.requests()
    assert (first.path, second.path, page.path) == ("/robots.txt", "/robots.txt", "/b")
    assert second.at - first.at > 0.9


def test_slow_headers_end_at_the_timeout_with_httpx() -> None:
    """With httpx, the timeout begins again with each read."""
    skip_without("_httpx.HttpxDownloadHandler")
    handler = "scrapy.core.downloader.handlers._httpx.HttpxDownloadHandler"
    result, _, called = run(
        {"slow": Plan({"/robots.txt": Answer(fault="slow_headers")})},
        "reactorless",
        REP_FETCH_TIMEOUT_SECONDS=1.5,
        DOWNLOAD_HANDLERS=dict.fromkeys(["http", "https"], handler),
        CLOSESPIDER_TIMEOUT=20,
    )
    assert called == {"slow": "timeout"}
    assert result.stats["elapsed_time_seconds"] < 8


def test_pages_may_have_heads_of_any_size() -> None:
    """We limit robots.txt files only. For pages, the limits of Scrapy and its libraries hold."""
    fields = [(f"X-Field-{number}", "x" * 8000) for number in range(60)]
    with Site({"/robots.txt": Answer(), "/a": Answer(headers=fields)}) as site:
        result = crawl(URLS_SPIDER, settings=ADDON, urls=[site.url("/a")])
    assert [item.get("status") for item in result.items] == [200], result.log
