"""Whole crawls of sites with an unusual robots.txt."""

from __future__ import annotations

import gzip
import random
from typing import Any

import pytest

from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, DISALLOW_ALL, URLS_SPIDER
from tests.servers.handle import Answer, Site, free_port, redirect

_BREADTH_FIRST = {"SCHEDULER_MEMORY_QUEUE": "scrapy.squeues.FifoMemoryQueue"}
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
    """Comment lines that do not compress well, so that a cut loses half of the file."""
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
    "gzip cut short, as no header says": Answer(
        body=gzip.compress(f"User-agent: *\nAllow: /\n{random_text()}".encode())[:-900]
    ),
    "an encoding that Python lacks": Answer(
        body="User-agent: *\nAllow: /", headers=(("Content-Encoding", "compress"),)
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
def test_no_file_means_allow(answer: Any) -> None:
    fetched, result = pages_fetched(answer, "asyncio", {})
    assert fetched == PAGES, result.log


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("answer", DISALLOWED.values(), ids=DISALLOWED)
def test_unreachable_means_complete_disallow(answer: Any, loop: Loop) -> None:
    fetched, result = pages_fetched(answer, loop, {})
    assert fetched == [], result.log
    assert {item["error"] for item in result.items} == {"RobotsTxtUnreachable"}
    assert result.stats["rep/access/unreachable"] == 1
    assert "is unreachable" in result.log


CODED: dict[str, bytes] = {
    "gzip": gzip.compress(b"User-agent: *\nDisallow: /a\n"),
    "gzip twice": gzip.compress(gzip.compress(b"User-agent: *\nDisallow: /a\n")),
    "UTF-32": "User-agent: *\nDisallow: /a\n".encode("utf-32"),
    "UTF-32, big-endian": "\ufeffUser-agent: *\nDisallow: /a\n".encode("utf-32-be"),
    "UTF-32, and LF": "User-agent: *\nDisallow: /a".encode("utf-32") + b"\n",
    "UTF-16, and LF": "User-agent: *\nDisallow: /a".encode("utf-16") + b"\n",
}


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("body", CODED.values(), ids=CODED)
def test_body_with_a_wrong_header_is_read_as_rules(body: bytes, loop: Loop) -> None:
    """Read as octets, each would be an empty file, which permits everything."""
    fetched, result = pages_fetched(Answer(body=body), loop, {})
    assert fetched == ["/b", "/c"], result.log
    assert result.stats["rep/access/successful"] == 1


def test_refused_connection_means_disallow() -> None:
    port = free_port()
    result = crawl(URLS_SPIDER, loop="asyncio", settings=ADDON, urls=[f"http://127.0.0.1:{port}/a"])
    assert [item["error"] for item in result.items] == ["RobotsTxtUnreachable"]
    assert result.stats["rep/event/refused"] == 1


@pytest.mark.parametrize("loop", LOOPS)
def test_unknown_host_means_disallow(loop: Loop) -> None:
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
def test_rules_after_five_redirects_hold_for_the_first_origin(loop: Loop) -> None:
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


def test_sixth_redirect_is_not_followed() -> None:
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
def test_endless_body_is_read_up_to_the_limit(loop: Loop) -> None:
    endless = Answer(body="User-agent: *\nDisallow: /a\n", fault="endless")
    fetched, result = pages_fetched(endless, loop, {"REP_FETCH_TIMEOUT_SECONDS": 10})
    assert fetched == ["/b", "/c"], result.log
    assert result.stats["rep/parse_limit"] == 1


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_compressed_files_are_read(encoding: Any) -> None:
    answer = Answer(body="User-agent: *\nDisallow: /a\n", content_encoding=encoding)
    assert pages_fetched(answer, "asyncio", {})[0] == ["/b", "/c"]


@pytest.mark.parametrize("loop", LOOPS)
def test_credentials_in_a_redirect_are_not_sent(loop: Loop) -> None:
    """The redirect is followed, and nothing tells other sites the secrets in it."""
    with Site({"/policy": RULES}) as elsewhere:
        to = elsewhere.url("/policy").replace("://", "://user:secret@")
        routes = {"/robots.txt": redirect("/own"), "/own": redirect(to)}
        with Site(routes) as site:
            settings = {**ADDON, "REP_FETCH_TIMEOUT_SECONDS": 3}
            urls = [site.url(path) for path in PAGES]
            result = crawl(URLS_SPIDER, loop=loop, settings=settings, urls=urls)
            fetched = sorted(path for path in site.paths() if path in PAGES)
        asked = elsewhere.requests()
    assert [seen.path for seen in asked] == ["/policy"], result.log
    assert "authorization" not in asked[0].headers
    assert fetched == ["/b", "/c"]


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(
    ("body", "encoding", "finding"),
    [
        (RULES.body, "utf-8", "Content-Encoding: utf-8"),
        (gzip.compress(RULES.octets) + b"\n\n", "gzip", "2 octets after the end of the gzip file"),
    ],
    ids=["a charset", "octets after gzip"],
)
def test_body_with_a_wrong_coding_permits_nothing(
    body: Any, encoding: str, finding: str, loop: Loop
) -> None:
    headers = [("Content-Encoding", encoding), ("Scrapy-Rep-Remark", "made up by the site")]
    with Site({"/robots.txt": Answer(body=body, headers=headers)}) as site:
        spider = "tests.crawls.policy_spider:PolicySpider"
        urls = [site.url(path) for path in ("/a", "/b")]
        result = crawl(spider, loop=loop, settings=ADDON, urls=urls)
        assert site.paths() == ["/robots.txt", "/b"], result.log
    said = [text for text in result.items[0]["findings"] if "not encoded as the answer" in text]
    assert [text.partition(": ")[2] for text in said] == [finding]


def padded(rules: str, octets: int) -> Answer:
    return Answer(body=rules + f"#{'x' * 99}\n" * (octets // 100))


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS)
def test_large_files_of_many_sites_are_read_once(loop: Loop) -> None:
    """And leave the policies of small ones in memory: 50 of them were evicted 195 times once."""
    rules = "".join(f"Disallow: /{number:06}/private/pages/of/mine\n" for number in range(13_000))
    large = Answer(body=f"User-agent: *\nDisallow: /x\n{rules}")
    with (
        Site({"/robots.txt": large}, address="0.0.0.0") as site,
        Site({"/robots.txt": RULES}, address="0.0.0.0") as small,
    ):
        hosts = [f"127.0.2.{number}" for number in range(1, 51)]
        homes = [one.url("", host) for host in hosts for one in (site, small)]
        result = crawl(
            "tests.crawls.fair_spider:FairSpider",
            loop=loop,
            settings={**ADDON, **_BREADTH_FIRST, "LOG_LEVEL": "INFO"},
            homes=homes,
            pages=4,
        )
        for one in (site, small):
            assert one.paths().count("/robots.txt") == 50
            # Twisted sends a request again if its connection ended: twice is no loss.
            assert len({(seen.headers["host"], seen.path) for seen in one.requests()}) == 5 * 50
    assert result.finish_reason == "finished"
    assert "rep/cache/evicted" not in result.stats
