"""What comes of a robots.txt that is no plain file, in whole crawls."""

from __future__ import annotations

import gzip
import random
from typing import Any

import pytest

from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, DISALLOW_ALL, URLS_SPIDER
from tests.servers.handle import Answer, Site, free_port, redirect

PAGES = ["/a", "/b", "/c"]
RULES = Answer(body="User-agent: *\nDisallow: /a\n")

ALLOWED: dict[str, Any] = {
    "404 without a body": Answer(status=404),
    "404 whose body disallows": Answer(status=404, body=DISALLOW_ALL),
    "403 whose body disallows": Answer(status=403, body=DISALLOW_ALL),
    "401": Answer(status=401),
    "410": Answer(status=410, body=DISALLOW_ALL),
    "an empty file": Answer(status=200),
    "a redirect to itself": redirect("/robots.txt"),
    "a redirect to nowhere": Answer(status=302),
    "a redirect to a file": redirect("file:///etc/passwd"),
    "a redirect to no URL": redirect("http://[broken"),
}


def random_text() -> str:
    """Comment lines that do not compress well, so that what is cut is the half of a file."""
    draw = random.Random(1)
    return "".join(f"# {draw.getrandbits(256):x}\n" for _ in range(60))


DISALLOWED: dict[str, Any] = {
    "503 without a body": Answer(status=503),
    "503 whose body allows": Answer(status=503, body="User-agent: *\nAllow: /\n"),
    "500": Answer(status=500),
    "429": Answer(status=429, body="User-agent: *\nAllow: /\n"),
    "a status of another world": Answer(status=604, reason="Unknown"),
    "an empty reply": Answer(fault="close_before_answer"),
    "a reset": Answer(fault="reset_before_answer"),
    "a reset in the headers": Answer(fault="reset_in_headers"),
    "a reset in the body": Answer(body="User-agent: *\nAllow: /\n" * 99, fault="reset_in_body"),
    "a body cut short": Answer(body="User-agent: *\nAllow: /\n" * 99, fault="truncated_length"),
    "chunks without an end": Answer(body="User-agent: *\nAllow: /", fault="truncated_chunked"),
    "what is no HTTP": Answer(fault="garbage"),
    "no answer in time": Answer(fault="hang"),
    "octets that do not decompress": Answer(
        body="User-agent: *\nAllow: /", headers=(("Content-Encoding", "gzip"),)
    ),
    "a compressed body cut short": Answer(
        body=gzip.compress(f"User-agent: *\nAllow: /\n{random_text()}".encode())[:-900],
        headers=(("Content-Encoding", "gzip"),),
    ),
    "an encoding that nobody knows": Answer(
        body="User-agent: *\nAllow: /", headers=(("Content-Encoding", "rot13"),)
    ),
}


def pages_fetched(answer: Any, loop: Loop, settings: dict[str, Any]) -> tuple[list[str], Any]:
    with Site({"/robots.txt": answer}) as site:
        result = crawl(
            URLS_SPIDER,
            loop=loop,
            settings={**ADDON, "REP_FETCH_TIMEOUT_SECONDS": 1, **settings},
            urls=[site.url(path) for path in PAGES],
        )
        return sorted(path for path in site.paths() if path in PAGES), result


@pytest.mark.parametrize("answer", ALLOWED.values(), ids=ALLOWED)
def test_what_means_that_there_is_no_file(answer: Any) -> None:
    fetched, result = pages_fetched(answer, "asyncio", {})
    assert fetched == PAGES, result.log


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("answer", DISALLOWED.values(), ids=DISALLOWED)
def test_what_means_complete_disallow(answer: Any, loop: Loop) -> None:
    fetched, result = pages_fetched(answer, loop, {})
    assert fetched == [], result.log
    assert {item["error"] for item in result.items} == {"RobotsTxtUnreachable"}
    assert result.stats["rep/access/unreachable"] == 1
    assert "is unreachable" in result.log


def test_nobody_listens() -> None:
    port = free_port()
    result = crawl(URLS_SPIDER, loop="asyncio", settings=ADDON, urls=[f"http://127.0.0.1:{port}/a"])
    assert [item["error"] for item in result.items] == ["RobotsTxtUnreachable"]
    assert result.stats["rep/event/refused"] == 1


@pytest.mark.parametrize("loop", LOOPS)
def test_a_host_without_a_name(loop: Loop) -> None:
    result = crawl(URLS_SPIDER, loop=loop, settings=ADDON, urls=["http://nobody.invalid/a"])
    assert [item["error"] for item in result.items] == ["RobotsTxtUnreachable"]
    assert result.stats["rep/event/dns"] == 1


@pytest.mark.parametrize(
    ("answer", "settings", "expected"),
    [
        (redirect("/robots.txt"), {"REP_POLICY": "strict"}, []),
        (Answer(status=403), {"REP_POLICY": "strict"}, []),
        (Answer(status=503), {"REP_POLICY": "lenient"}, PAGES),
        (Answer(status=503), {"REP_POLICY": "scrapy"}, PAGES),
        (Answer(fault="close_before_answer"), {"REP_POLICY": "lenient"}, PAGES),
        (Answer(status=403), {"REP_POLICY_OVERRIDES": {"403": "disallow"}}, []),
        (Answer(status=404), {"REP_POLICY_OVERRIDES": {"403": "disallow"}}, PAGES),
        (Answer(status=503), {"REP_POLICY_OVERRIDES": {"5xx": "allow"}}, PAGES),
        (Answer(status=503), {"REP_POLICY_OVERRIDES": {"5xx": "allow", "503": "disallow"}}, []),
        (Answer(fault="hang"), {"REP_POLICY_OVERRIDES": {"timeout": "allow"}}, PAGES),
    ],
)
def test_policies(answer: Any, settings: dict[str, Any], expected: list[str]) -> None:
    assert pages_fetched(answer, "asyncio", settings)[0] == expected


@pytest.mark.parametrize("loop", LOOPS)
def test_five_redirects_are_followed_and_the_rules_hold_here(loop: Loop) -> None:
    with Site({"/policy": RULES}, default=Answer(body="elsewhere")) as elsewhere:
        chain: dict[str, Any] = {"/robots.txt": redirect("/1")}
        chain |= {f"/{n}": redirect(f"/{n + 1}", 302 + n % 2 * 5) for n in range(1, 4)}
        chain["/4"] = redirect(elsewhere.url("/policy"))
        with Site(chain) as site:
            urls = [site.url(path) for path in PAGES]
            result = crawl(URLS_SPIDER, loop=loop, settings=ADDON, urls=urls)
            fetched = sorted(path for path in site.paths() if path in PAGES)
        assert elsewhere.paths() == ["/policy"]
    assert fetched == ["/b", "/c"]
    assert result.stats["rep/redirect_hops"] == 5
    dropped = [item for item in result.items if "error" in item]
    assert [item["verdict"]["line"] for item in dropped] == [2]


def test_a_sixth_redirect_is_not_followed() -> None:
    chain: dict[str, Any] = {"/robots.txt": redirect("/1")}
    chain |= {f"/{n}": redirect(f"/{n + 1}") for n in range(1, 6)}
    chain["/6"] = Answer(body=DISALLOW_ALL)
    with Site(chain) as site:
        result = crawl(URLS_SPIDER, loop="asyncio", settings=ADDON, urls=[site.url("/a")])
        paths = site.paths()
    assert "/6" not in paths
    assert "/a" in paths
    assert result.stats["rep/event/redirect-limit"] == 1


@pytest.mark.parametrize("loop", LOOPS)
def test_an_endless_body_is_read_up_to_the_limit(loop: Loop) -> None:
    endless = Answer(body="User-agent: *\nDisallow: /a\n", fault="endless")
    fetched, result = pages_fetched(endless, loop, {"REP_FETCH_TIMEOUT_SECONDS": 10})
    assert fetched == ["/b", "/c"], result.log
    assert result.stats["rep/parse_limit"] == 1


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_compressed_files_are_read(encoding: Any) -> None:
    answer = Answer(body="User-agent: *\nDisallow: /a\n", content_encoding=encoding)
    assert pages_fetched(answer, "asyncio", {})[0] == ["/b", "/c"]
