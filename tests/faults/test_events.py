"""A fault has the same event in every event loop and with every download handler."""

from __future__ import annotations

import gzip
import importlib.util
import re
import sys
from importlib.metadata import version
from typing import Any

import pytest
from scrapy import version_info

from tests.crawling import LOOPS, Crawl, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
from tests.faults.sites import Plan, Sites
from tests.servers.answers import Answer, Fault
from tests.servers.h2site import Http2Sites
from tests.servers.handle import free_port

_HANDLERS = "scrapy.core.downloader.handlers"
_ALLOW = "User-agent: *\nAllow: /\n"
_SETTINGS: dict[str, Any] = {
    **ADDON,
    "REP_FETCH_TIMEOUT_SECONDS": 2.5,
    "DOWNLOAD_VERIFY_CERTIFICATES": True,
    "RETRY_ENABLED": False,
}


def faulty(fault: Fault, body: str = _ALLOW) -> Plan:
    return Plan({"/robots.txt": Answer(body=body, fault=fault)})


PLANS: dict[str, tuple[Plan, str]] = {
    "refused": (Plan(is_open=False), "refused"),
    "no such host": (Plan(host="nobody.invalid"), "dns"),
    "reset before the answer": (faulty("reset_before_answer"), "reset"),
    "reset in the headers": (faulty("reset_in_headers"), "reset"),
    "reset at once": (Plan(hangs_up="reset"), "reset"),
    "reset in the body": (faulty("reset_in_body", _ALLOW * 20), "truncated"),
    "reset in a body without length": (faulty("reset_open"), "truncated"),
    "wrong length": (faulty("truncated_length"), "truncated"),
    "wrong length of cut gzip": (
        Plan(
            {
                "/robots.txt": Answer(
                    body=gzip.compress(_ALLOW.encode())[:-1],
                    headers=[("Content-Encoding", "gzip")],
                    fault="truncated_length",
                )
            }
        ),
        "truncated",
    ),
    "chunks without an end": (faulty("truncated_chunked"), "truncated"),
    "empty reply": (faulty("close_before_answer"), "network"),
    "no HTTP": (faulty("garbage"), "network"),
    "endless headers": (faulty("header_flood"), "network"),
    "no answer": (faulty("hang"), "timeout"),
    "no gzip": (
        Plan({"/robots.txt": Answer(body=_ALLOW, headers=[("Content-Encoding", "gzip")])}),
        "undecodable",
    ),
    "a coding that Python lacks": (
        Plan({"/robots.txt": Answer(body=_ALLOW, headers=[("Content-Encoding", "compress")])}),
        "undecodable",
    ),
    "no gzip, though it begins so": (
        Plan({"/robots.txt": Answer(body=b"\x1f\x8b" + _ALLOW.encode())}),
        "undecodable",
    ),
    "no TLS": (Plan(scheme="https", greets="HTTP/1.1 400 Bad Request\r\n\r\n"), "tls"),
    "an unknown certificate": (Plan(tls=True), "tls"),
    "TLS refused": (Plan(scheme="https", is_open=False), "refused"),
    "closed before the handshake": (Plan(scheme="https", hangs_up="close"), "reset"),
    "reset before the handshake": (Plan(scheme="https", hangs_up="reset"), "reset"),
}


def handlers(name: str) -> dict[str, Any]:
    return {"DOWNLOAD_HANDLERS": dict.fromkeys(("http", "https"), f"{_HANDLERS}.{name}")}


RUNS: list[tuple[Loop, str]] = [(loop, "") for loop in LOOPS]
RUNS += [("asyncio", "_httpx.HttpxDownloadHandler"), ("reactorless", "_httpx.HttpxDownloadHandler")]
RUNS += [("asyncio", "_aiohttp.AiohttpDownloadHandler")]


def events(result: Crawl) -> dict[str, str]:
    """The events by robots.txt URL, as the log tells them."""
    return dict(re.findall(r"(\S+/robots\.txt) is unreachable \(([a-z]+)", result.log))


def said(result: Crawl, url: str) -> list[str]:
    """The lines of the log about a URL that was not fetched."""
    return re.findall(rf"No robots.txt from {re.escape(url)} .*", result.log)


def skip_without(handler: str) -> None:
    package = re.search("httpx|aiohttp", handler)
    names = [package.group()] if package else []
    if names == ["httpx"] and version_info >= (2, 18):
        names.append("httpx2")
    if names and not any(map(importlib.util.find_spec, names)):
        pytest.skip(f"no {' or '.join(names)} is installed")
    module = f"{_HANDLERS}.{handler.partition('.')[0]}"
    if handler and importlib.util.find_spec(module) is None:
        pytest.skip(f"this Scrapy has no {module}")


@pytest.mark.parametrize(("loop", "handler"), RUNS)
def test_events_of_http(loop: Loop, handler: str) -> None:
    skip_without(handler)
    chosen = handlers(handler) if handler else {}
    with Sites({name: plan for name, (plan, _) in PLANS.items()}) as sites:
        urls = {name: sites.url(name, "/robots.txt") for name in PLANS}
        result = crawl(
            URLS_SPIDER,
            loop=loop,
            settings={**_SETTINGS, **chosen},
            urls=[sites.url(name, "/a") for name in PLANS],
        )
    found = events(result)
    odd = set()
    if "httpx" in handler or (loop == "reactorless" and version_info < (2, 19)):
        # Scrapy's handler raises a TypeError if the connection is gone by the time it looks at it.
        odd = {name for name in PLANS if found.get(urls[name]) == "network" and "reset" in name}
    wrong = {
        name: (found.get(urls[name]), event, said(result, urls[name]))
        for name, (_, event) in PLANS.items()
        if found.get(urls[name]) != event and name not in odd
    }
    assert wrong == {}
    assert {item["error"] for item in result.items} == {"RobotsTxtUnreachable"}


# Twisted up to 25.5 sets up connections in a way that pyOpenSSL 26 refuses.
_TWISTED, _OPENSSL = (int(version(name).partition(".")[0]) for name in ("Twisted", "pyOpenSSL"))
_IS_REFUSED = _TWISTED < 26 <= _OPENSSL
HTTP2 = {
    "an announced body that is not there": "truncated",
    "a reset stream": "reset",
    "a reset stream amid the body": "reset",
    "goaway": "reset",
    "reset": "reset",
    "a reset amid the body": "truncated",
    "no end": "timeout",
    "endless headers": "network",
}
if version_info < (2, 18):  # its HTTP/2 handlers do not report that a body begins
    HTTP2["a reset amid the body"] = "reset"
if sys.version_info < (3, 11):  # it reports the loss of the connection, too
    HTTP2["endless headers"] = "reset"


def needs_http2() -> None:
    pytest.importorskip("h2", reason="h2 is not installed, without which Scrapy has no HTTP/2")
    if _IS_REFUSED:
        pytest.skip("this Twisted speaks no HTTP/2 with this pyOpenSSL")


def test_retry_after_counts_over_http2() -> None:
    """Retry-After of a page counts as over HTTP/1.1."""
    needs_http2()
    with Http2Sites(["busy at first"]) as sites:
        urls = [sites.url("busy at first", f"/{number}") for number in range(6)]
        settings = {**ADDON, "DOWNLOAD_HANDLERS": {"https": f"{_HANDLERS}.http2.H2DownloadHandler"}}
        result = crawl(URLS_SPIDER, settings=settings, urls=urls)
    assert sorted(item["url"] for item in result.items) == urls
    assert {item["status"] for item in result.items} == {200}
    assert result.stats["rep/backoff/rests"] == 1
    assert result.stats["elapsed_time_seconds"] >= 1
    assert "retry/count" not in result.stats


def test_events_of_http2() -> None:
    needs_http2()
    with Http2Sites([*HTTP2, "a file"]) as sites:
        urls = {kind: sites.url(kind, "/robots.txt") for kind in HTTP2}
        result = crawl(
            URLS_SPIDER,
            settings={
                **_SETTINGS,
                "DOWNLOAD_VERIFY_CERTIFICATES": False,
                "DOWNLOAD_HANDLERS": {"https": f"{_HANDLERS}.http2.H2DownloadHandler"},
            },
            urls=[sites.url(kind, page) for kind in [*HTTP2, "a file"] for page in ("/a", "/b")],
        )
        page = sites.url("a file", "/b")
    found = events(result)
    wrong = {
        kind: (found.get(urls[kind]), event, said(result, urls[kind]))
        for kind, event in HTTP2.items()
        if found.get(urls[kind]) != event
    }
    assert wrong == {}
    assert [item["url"] for item in result.items if "status" in item] == [page]
    assert "rep/asked_twice" not in result.stats


def test_events_of_ftp() -> None:
    url = f"ftp://127.0.0.1:{free_port()}/a"
    result = crawl(URLS_SPIDER, settings=_SETTINGS, urls=[url])
    assert result.stats["rep/event/refused"] == 1, result.log
