"""How bodies end: the part of a file that comes over a broken connection is no file."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import Any

import pytest
from scrapy import version_info

from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.faults.sites import Plan, Sites
from tests.faults.test_events import events, skip_without
from tests.servers.answers import Fault
from tests.servers.handle import Answer, Sequence, Site

pytestmark = pytest.mark.every_loop

_BEGINNING = "User-agent: *\nAllow: /\n"
_FILE = f"{_BEGINNING}Disallow: /a\n"
_LONG = _FILE + "#" * 600_000
_PAGES = ("/a", "/b")
_BLIND = {"DOWNLOAD_HANDLERS": dict.fromkeys(["http", "https"], "tests.faults.blind.Blind")}


def ends(fault: Fault, body: str = "", *, tls: bool = False, **answer: Any) -> Plan:
    return Plan({"/robots.txt": Answer(body=body, fault=fault, **answer)}, tls=tls)


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


BROKEN = {
    "reset after nothing": ends("reset_open"),
    "reset amid the file": ends("reset_open", _BEGINNING),
    "reset after the file": ends("reset_open", _FILE),
    "reset in HTTP/1.0": ends("reset_open", _BEGINNING, version="1.0"),
    "closed after nothing": ends("close_open"),
    "TLS cut after nothing": ends("cut_open", tls=True),
    "TLS cut amid the file": ends("cut_open", _BEGINNING, tls=True),
    "TLS cut after the file": ends("cut_open", _FILE, tls=True),
    "TLS cut in HTTP/1.0": ends("cut_open", _BEGINNING, tls=True, version="1.0"),
    "TLS reset amid the file": ends("reset_open", _BEGINNING, tls=True),
    "TLS closed after nothing": ends("close_open", tls=True),
}
_RANGE = "Content-Range"
RANGES = {
    "a part": Answer(status=206, headers=[(_RANGE, "bytes 0-21/40")], body=_BEGINNING),
    "a part of who knows": Answer(status=206, headers=[(_RANGE, "bytes 0-21/*")], body=_BEGINNING),
    "the end": Answer(status=206, headers=[(_RANGE, "bytes 22-39/40")], body="low: /\n"),
    "an odd range": Answer(status=206, headers=[(_RANGE, "lines 1-2/3")], body=_BEGINNING),
    "parts": Answer(
        status=206, headers=[("Content-Type", "Multipart/ByteRanges; boundary=x")], body=_BEGINNING
    ),
}
_WHOLE_RANGE = f"bytes 0-{len(_FILE) - 1}/{len(_FILE)}"
# Of these, some clients know how they end, and others do not read them at all.
ODD = {
    "reset in a coding like chunks": ends(
        "reset_open", _BEGINNING, headers=[("Transfer-Encoding", "xchunked")]
    ),
    "reset in a coding behind an odd blank": ends(
        "reset_open", _BEGINNING, headers=[("Transfer-Encoding", "\x0bchunked")]
    ),
    "nothing in a coding like chunks": ends(
        "close_open", headers=[("Transfer-Encoding", "xchunked")]
    ),
    "reset in HTTP/2.0 that is HTTP/1": ends("reset_open", _BEGINNING, version="2.0"),
    "TLS cut in HTTP/2.0 that is HTTP/1": ends("cut_open", _BEGINNING, tls=True, version="2.0"),
}
WHOLE = {
    "closed": ends("close_open", _FILE),
    "closed in HTTP/1.0": ends("close_open", _FILE, version="1.0"),
    "TLS closed": ends("close_open", _FILE, tls=True),
    "all as a part": ends("none", _FILE, status=206, headers=[(_RANGE, _WHOLE_RANGE)]),
    "more than the limit": ends("close_open", _LONG),
}
UNREAD = {
    "404, reset": ends("reset_open", "no", status=404),
    "503, reset": ends("reset_open", "no", status=503),
}


def is_httpx(loop: Loop) -> bool:
    """Whether the loop uses httpx, which reports no ends of connections."""
    return loop == "reactorless" and version_info < (2, 19)


TOLD_LOOPS = [loop for loop in LOOPS if not is_httpx(loop)]


@pytest.mark.parametrize("loop", TOLD_LOOPS)
def test_every_broken_ending_is_noticed(loop: Loop) -> None:
    whole = dict(WHOLE)
    if loop == "reactorless" and sys.version_info < (3, 11):
        del whole["TLS closed"]  # of which asyncio does not tell there: it takes a second answer
    result, paths, called = run({**BROKEN, **ODD, **whole, **UNREAD}, loop)
    expected = {
        **{name: ["/robots.txt"] for name in (*BROKEN, *ODD)},
        **{name: ["/b", "/robots.txt"] for name in whole},
        "404, reset": ["/a", "/b", "/robots.txt"],
        "503, reset": ["/robots.txt"],
    }
    assert paths == expected
    assert {name: called[name] for name in BROKEN} == dict.fromkeys(BROKEN, "truncated")
    assert "rep/asked_twice" not in result.stats


@pytest.mark.parametrize("loop", TOLD_LOOPS)
@pytest.mark.parametrize("name", ["reset amid the file", "TLS cut amid the file"])
def test_broken_ending_of_a_reused_connection_is_noticed(name: str, loop: Loop) -> None:
    """It was not watched before."""
    settings = {**ADDON, "RETRY_ENABLED": False, "DOWNLOAD_VERIFY_CERTIFICATES": False}
    with Sites({name: BROKEN[name]}) as sites:
        urls = [sites.url(name, page) for page in ("/first", *_PAGES)]
        result = crawl(
            "tests.faults.spiders:ExemptFirstSpider", loop=loop, settings=settings, urls=urls
        )
        assert events(result) == {sites.url(name, "/robots.txt"): "truncated"}
        assert sites.paths() == {name: ["/first", "/robots.txt"]}


def test_second_answer_confirms_the_first_with_httpx() -> None:
    """With a handler that Scrapy has in each release, and up to 2.18 in the reactorless loop."""
    skip_without("_httpx.HttpxDownloadHandler")
    handler = "scrapy.core.downloader.handlers._httpx.HttpxDownloadHandler"
    chosen = {"DOWNLOAD_HANDLERS": dict.fromkeys(["http", "https"], handler)}
    _, paths, called = run({**BROKEN, **ODD, **WHOLE}, "reactorless", **chosen)
    silent = {
        name for name in (*BROKEN, *ODD) if name.startswith("TLS cut") and called[name] is None
    }
    for name in {*BROKEN, *ODD} - silent:
        assert paths[name] == ["/robots.txt"], name
        assert called[name] in ("truncated", "network"), name
    assert "TLS cut after nothing" not in silent
    for name in silent:
        assert paths[name].count("/robots.txt") == 2, f"{name}: nothing is obeyed by one answer"
    for name in WHOLE:
        assert "/a" not in paths[name], name


@pytest.mark.parametrize("loop", LOOPS)
def test_partial_content_is_no_file(loop: Loop) -> None:
    plans = {name: Plan({"/robots.txt": answer}) for name, answer in RANGES.items()}
    _, paths, called = run(plans, loop)
    assert paths == {name: ["/robots.txt"] for name in RANGES}
    assert called == dict.fromkeys(RANGES, "truncated")


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


@pytest.mark.parametrize("loop", LOOPS)
def test_second_answer_confirms_the_first_with_an_unknown_handler(loop: Loop) -> None:
    plans = {
        name: Plan({"/robots.txt": Sequence(answers)}) for name, (answers, _) in CONFIRMED.items()
    }
    result, paths, _ = run(plans, loop, **_BLIND)
    assert paths == {name: expected for name, (_, expected) in CONFIRMED.items()}
    assert result.stats["rep/asked_twice"] == len(CONFIRMED) - 2


def test_second_request_keeps_the_pace_of_the_slot() -> None:
    pace = {"DOWNLOAD_DELAY": 1.0, "RANDOMIZE_DOWNLOAD_DELAY": False, "DOWNLOAD_DELAY_JITTER": 0}
    with Site({"/robots.txt": _OPEN}) as site:
        crawl(URLS_SPIDER, settings={**ADDON, **_BLIND, **pace}, urls=[site.url("/b")])
        first, second, page = site.requests()
    assert (first.path, second.path, page.path) == ("/robots.txt", "/robots.txt", "/b")
    assert second.at - first.at > 0.9


FLOODS: tuple[Fault, ...] = ("header_flood", "informational_flood", "extension_flood")


@pytest.mark.parametrize("loop", LOOPS)
def test_floods_are_cut_off(loop: Loop) -> None:
    """Long before the timeout, and in little memory: 138 MB came in 3 seconds once."""
    plans: dict[str, Plan] = {fault: ends(fault, _BEGINNING) for fault in FLOODS}
    slow = {"timeout"} if is_httpx(loop) else set()
    result, paths, called = run(plans, loop, REP_FETCH_TIMEOUT_SECONDS=10 if slow else 20)
    assert paths == {fault: ["/robots.txt"] for fault in FLOODS}
    assert set(called.values()) <= {"network", "truncated", *slow}
    assert result.stats["test/peak_octets"] < 130 << 20
    assert result.stats["elapsed_time_seconds"] < (25 if slow else 15)
    assert result.exit_code == 0, result.error


def test_slow_headers_end_at_the_timeout_with_httpx() -> None:
    """With httpx, the timeout begins again with each read."""
    skip_without("_httpx.HttpxDownloadHandler")
    handler = "scrapy.core.downloader.handlers._httpx.HttpxDownloadHandler"
    result, _, called = run(
        {"slow": ends("slow_headers")},
        "reactorless",
        REP_FETCH_TIMEOUT_SECONDS=1.5,
        DOWNLOAD_HANDLERS=dict.fromkeys(["http", "https"], handler),
        CLOSESPIDER_TIMEOUT=20,
    )
    assert called == {"slow": "timeout"}
    assert result.stats["elapsed_time_seconds"] < 8


@pytest.mark.parametrize("loop", TOLD_LOOPS)  # httpx refuses such heads itself
def test_pages_may_have_heads_of_any_size(loop: Loop) -> None:
    """We limit robots.txt files only. For pages, the limits of Scrapy and its libraries hold."""
    fields = [(f"X-Field-{number}", "x" * 8000) for number in range(60)]
    with Site({"/robots.txt": Answer(), "/a": Answer(headers=fields)}) as site:
        result = crawl(URLS_SPIDER, loop=loop, settings=ADDON, urls=[site.url("/a")])
    assert [item.get("status") for item in result.items] == [200], result.log
