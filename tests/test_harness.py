"""The harness does what it says: a fault that is never sent would let every test of it pass."""

from __future__ import annotations

import gzip
import importlib
import json
import socket
import ssl
import time
import warnings
import zlib
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scrapy.exceptions import ScrapyDeprecationWarning
from scrapy.http import Response

from tests.crawling import LOOPS, Loop, crawl
from tests.servers.answers import ContentEncoding, Fault, Scripted, from_json, to_json
from tests.servers.handle import Answer, Sequence, Site, free_port, redirect
from tests.servers.replay import Replay
from tests.shared import SHARED, needs_shared
from tests.spiders import UrlsSpider

URLS_SPIDER = "tests.spiders:UrlsSpider"
BODY = b"0123456789" * 10


def ask(
    site: Site, path: str = "/", *headers: str, octets: int = 2**20, method: str = "GET"
) -> tuple[bytes, str]:
    """All that comes back up to a number of octets, and how it ends."""
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost", "Connection: close", *headers, "", ""]
    with socket.create_connection(("127.0.0.1", site.port)) as client:
        client.settimeout(1)
        client.sendall("\r\n".join(lines).encode())
        received = b""
        try:
            while len(received) < octets:
                more = client.recv(65_536)
                if not more:
                    return received, "closed"
                received += more
        except ConnectionResetError:
            return received, "reset"
        except TimeoutError:
            return received, "silent"
        return received, "still coming"


def body_of(response: bytes) -> bytes:
    return response.partition(b"\r\n\r\n")[2]


def unchunked(body: bytes) -> bytes:
    whole = b""
    while body:
        size, _, rest = body.partition(b"\r\n")
        whole, body = whole + rest[: int(size, 16)], rest[int(size, 16) + 2 :]
    return whole


@pytest.mark.parametrize(
    ("fault", "starts", "ends", "ending"),
    [
        ("none", b"HTTP/1.1 200 OK\r\n", b"\r\n\r\n" + BODY, "closed"),
        ("close_before_answer", b"", b"", "closed"),
        ("reset_before_answer", b"", b"", "reset"),
        ("reset_in_headers", b"HTTP/1.1 200 OK\r\n", b"Content", "reset"),
        ("reset_in_body", b"HTTP/1.1 200 OK\r\n", b"\r\n\r\n" + BODY[:50], "reset"),
        ("truncated_length", b"HTTP/1.1 200 OK\r\n", b": 200\r\n\r\n" + BODY, "closed"),
        ("truncated_chunked", b"HTTP/1.1 200 OK\r\n", b"\r\n64\r\n" + BODY + b"\r\n", "closed"),
        (
            "wrong_chunk",
            b"HTTP/1.1 200 OK\r\n",
            b"\r\nno hexadecimal number\r\nwhatever\r\n",
            "closed",
        ),
        ("garbage", b"\x15\x03\x01", BODY, "closed"),
        ("hang", b"", b"", "silent"),
        ("endless", b"HTTP/1.1 200 OK\r\n", b"", "still coming"),
    ],
)
def test_every_fault_reaches_the_client(
    fault: Fault, starts: bytes, ends: bytes, ending: str
) -> None:
    with Site({"/": Answer(body=BODY, fault=fault)}) as site:
        received, ended = ask(site)
        assert ended == ending
        assert received.startswith(starts)
        assert received.endswith(ends)
        assert [seen.path for seen in site.requests()] == ["/"]
        assert ask(site, "/next")[0].endswith(b"page"), "the site outlives a fault"


def test_a_fault_over_tls() -> None:
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname = False
    trusting.verify_mode = ssl.CERT_NONE
    with (
        Site({"/reset": Answer(fault="reset_in_body", body=BODY)}, tls=True) as site,
        socket.create_connection(("127.0.0.1", site.port)) as plain,
        trusting.wrap_socket(plain, suppress_ragged_eofs=False) as client,
    ):
        assert site.url("/").startswith("https://")
        client.sendall(b"GET / HTTP/1.1\r\n\r\n")
        received = b""
        while not received.endswith(b"\r\n\r\npage"):
            received += client.recv(65_536)
        client.sendall(b"GET /reset HTTP/1.1\r\n\r\n")
        # Some versions of ssl see the RST, and report the end of a stream that was not closed.
        with pytest.raises(OSError, match=r"reset|EOF occurred in violation"):
            b"".join(iter(lambda: client.recv(65_536), b""))


def unbrotli(body: bytes) -> Any:
    return importlib.import_module("brotli").decompress(body)


def unzstd(body: bytes) -> Any:
    try:
        return importlib.import_module("compression.zstd").decompress(body)
    except ImportError:
        return importlib.import_module("backports.zstd").decompress(body)


@pytest.mark.parametrize(
    ("encoding", "decompress"),
    [("gzip", gzip.decompress), ("deflate", zlib.decompress), ("br", unbrotli), ("zstd", unzstd)],
)
def test_bodies_are_really_compressed(
    encoding: ContentEncoding, decompress: Callable[[bytes], bytes]
) -> None:
    small = Answer(body=BODY, content_encoding=encoding)
    bomb = Answer(body=BODY, content_encoding=encoding, bomb_octets=20_000_000)
    with Site({"/small": small, "/bomb": bomb}) as site:
        received, _ = ask(site, "/small")
        assert f"Content-Encoding: {encoding}\r\n".encode() in received
        assert decompress(body_of(received)) == BODY
        compressed = unchunked(body_of(ask(site, "/bomb")[0]))
    assert len(compressed) < 200_000
    inflated = decompress(compressed)
    assert len(inflated) == 20_000_000
    assert inflated.startswith(BODY + b"# a comment")


def test_answers_wait_and_drip() -> None:
    with Site({"/": Answer(body=BODY, delay_seconds=0.2, drip=(25, 0.1))}) as site:
        start = time.monotonic()
        received, _ = ask(site)
        assert 0.5 <= time.monotonic() - start < 2
    assert body_of(received) == BODY


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ('If-None-Match: "v1"', b"304"),
        ('If-None-Match: "v0", "v1"', b"304"),
        ('If-None-Match: "v2"', b"200"),
        ("If-Modified-Since: Sat, 01 Jan 2022 00:00:00 GMT", b"304"),
        ("If-Modified-Since: Sun, 02 Jan 2022 00:00:00 GMT", b"200"),
        ("Accept: */*", b"200"),
    ],
)
def test_what_the_client_has_is_not_sent_again(header: str, status: bytes) -> None:
    answer = Answer(body=BODY, etag='"v1"', last_modified="Sat, 01 Jan 2022 00:00:00 GMT")
    with Site({"/": answer}) as site:
        received, ended = ask(site, "/", header)
    assert received.split()[1] == status
    assert b'ETag: "v1"\r\n' in received
    assert received.endswith(BODY if status == b"200" else b"GMT\r\n\r\n")
    assert ended == "closed"


def test_routes() -> None:
    ok, gone = Answer(body="ok"), Answer(status=410)
    routes: dict[str, Scripted] = {
        "/once": [gone, ok],
        "/flapping": Sequence([gone, ok], cycle=True),
        "/page?id=1": ok,
        "/deep*": gone,
        "/deep/er*": redirect("/page?id=1", 308),
    }

    def statuses(path: str) -> list[int]:
        return [int(ask(site, path)[0].split()[1]) for _ in range(4)]

    with Site(routes, default=Answer(status=204)) as site:
        assert statuses("/once") == [410, 200, 200, 200]
        assert statuses("/flapping") == [410, 200, 410, 200]
        assert statuses("/page?id=1") == [200] * 4
        assert statuses("/page") == [204] * 4
        assert statuses("/deep/x") == [410] * 4
        assert statuses("/deep/er/x") == [308] * 4
        assert b"Location: /page?id=1\r\n" in ask(site, "/deep/er")[0]
        site.change({"/once": [ok, gone]})
        assert statuses("/once") == [200, 410, 410, 410]


def test_scripts_survive_json() -> None:
    answers = [Answer(body=b"\xff\x00", drip=(1, 0.5), etag="e"), redirect("/é")]
    script = {"/": Sequence(answers, cycle=True)}
    there = json.dumps(to_json(script))
    back = from_json(json.loads(there))
    assert json.dumps(to_json(back)) == there
    assert (back["/"].cycle, back["/"][2].octets) == (True, b"\xff\x00")


def test_the_site_tells_what_it_was_asked() -> None:
    with Site() as site:
        ask(site, "/a?b=%20", "X-Custom: Value")
        ask(site, "/head", method="HEAD")
        first, second = site.requests()
        assert (first.method, first.path, first.headers["x-custom"]) == ("GET", "/a?b=%20", "Value")
        assert (second.method, second.path) == ("HEAD", "/head")
        assert first.at < second.at
        assert site.requests() == [first, second]


def test_the_order_of_requests_holds_however_the_kernel_rounds() -> None:
    with Site() as site:
        for _ in range(300):
            ask(site, "/")
        times = [request.at for request in site.requests()]
    assert times == sorted(times)


def test_a_long_script_and_a_long_log_do_not_deadlock() -> None:
    with (
        Site({"/": Answer(body=b"x" * 3_000_000)}) as site,
        socket.create_connection(("127.0.0.1", site.port)) as client,
    ):
        request = b"HEAD /%b HTTP/1.1\r\n\r\n" % (b"long" * 250)
        for _ in range(40):
            client.sendall(request * 25)
            assert client.recv(65_536)
        client.shutdown(socket.SHUT_WR)
        while client.recv(65_536):
            pass
        assert len(site.requests()) == 1000


def test_a_site_ends_with_its_block() -> None:
    with Site() as site:
        pass
    for port in (site.port, free_port()):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port))


def get_through(proxy: Replay, *urls: str) -> bytes:
    port = int(proxy.proxy_url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as client:
        for url in urls:
            client.sendall(f"GET {url} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        client.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: client.recv(65_536), b""))


def test_replay_answers_for_the_hosts_of_its_corpus(tmp_path: Path) -> None:
    corpus = tmp_path / "robots.jsonl.gz"
    file = {"host": "one.example", "body_b64": b64encode(b"User-agent: *").decode("ascii")}
    corpus.write_bytes(gzip.compress(json.dumps(file).encode() + b"\n"))
    urls = [
        "http://one.example/robots.txt",
        "http://two.example/robots.txt",
        "http://one.example/page",
    ]
    with Replay(corpus) as replay:
        received = get_through(replay, *urls)
        assert received.count(b"HTTP/1.1") == 3
        robots, missing, page = received.split(b"HTTP/1.1 ")[1:]
        assert robots.startswith(b"200 OK\r\nContent-Type: text/plain\r\n")
        assert robots.endswith(b"\r\n\r\nUser-agent: *")
        assert missing.startswith(b"404 ")
        assert page.startswith(b"200 ")
        assert replay.requested() == urls
        meta = {"proxy": replay.proxy_url}
        result = crawl(URLS_SPIDER, urls=urls, meta=meta)
        assert {item["url"] for item in result.items} == {urls[0], urls[1], urls[2]}
        assert sorted(replay.requested()) == sorted(urls * 2)


@needs_shared
def test_replay_holds_the_shared_corpus() -> None:
    assert SHARED is not None
    with Replay(SHARED / "corpus" / "robots.jsonl.gz") as replay:
        received = get_through(replay, "http://9gag.com/robots.txt")
    assert b"\n# All robots will spider the domain\n" in received


@pytest.mark.parametrize(
    ("loop", "really"),
    [
        ("asyncio", ("AsyncioSelectorReactor", True)),
        ("select", ("SelectReactor", False)),
        ("reactorless", ("none", True)),
    ],
)
def test_crawls_run_in_the_loop_they_are_told(loop: Loop, really: tuple[str, bool]) -> None:
    slow = Answer(body="slow", delay_seconds=1)
    with Site({"/slow": slow, "/old": redirect("/new")}) as site:
        urls = [site.url(path) for path in ("/slow", "/a", "/old")]
        refused = f"http://127.0.0.1:{free_port()}/"
        result = crawl(
            URLS_SPIDER,
            loop=loop,
            urls=[*urls, refused],
            cancel_first=True,
            settings={"RETRY_ENABLED": False},
        )
        assert sorted(site.paths()) == ["/a", "/new", "/old", "/slow"]
    reactor, _, running = result.loop.partition("/")
    assert (reactor, running != "none") == really
    assert (result.exit_code, result.error, result.deprecations) == (0, "", []), result.log
    assert result.finish_reason == result.stats["finish_reason"] == "finished"
    assert result.stats["item_scraped_count"] == len(result.items) == 4
    items = {item["url"]: item for item in result.items}
    assert items[urls[0]]["error"] == "CancelledError"
    assert (items[urls[1]]["status"], items[urls[1]]["verdict"]) == (200, "None")
    assert items[urls[2]]["final_url"] == site.url("/new")
    assert items[refused]["error"] == "DownloadConnectionRefusedError"
    assert "Spider opened" in result.log
    assert "Spider closed" in result.log


class BrokenAtStart:
    """A downloader middleware that cannot be made."""

    def __init__(self) -> None:
        raise ValueError("broken at start")


class Deprecated:
    """A downloader middleware that does something deprecated, and something of no interest."""

    def process_request(self, request: object) -> None:
        warnings.warn("scrapy_rep ought not to do this", ScrapyDeprecationWarning, stacklevel=1)
        warnings.warn("another package does this", ScrapyDeprecationWarning, stacklevel=1)


class FailingSpider(UrlsSpider):
    """A spider whose callback raises."""

    def parse(self, response: Response, asked: str) -> dict[str, Any]:
        raise LookupError("in a callback")


@pytest.mark.parametrize("loop", LOOPS)
def test_what_raises_at_start_is_seen(loop: Loop) -> None:
    middlewares = {"DOWNLOADER_MIDDLEWARES": {"tests.test_harness.BrokenAtStart": 50}}
    result = crawl(URLS_SPIDER, loop=loop, settings=middlewares, urls=[])
    assert result.exit_code == 1
    assert "ValueError: broken at start" in result.error


def test_what_raises_before_the_start_is_seen() -> None:
    result = crawl("tests.spiders:NoSuchSpider", urls=[])
    assert result.exit_code == 1
    assert "NoSuchSpider" in result.error


def test_what_raises_in_a_callback_is_seen() -> None:
    with Site() as site:
        result = crawl("tests.test_harness:FailingSpider", urls=[site.url()])
    assert result.exit_code == 1
    assert result.finish_reason == "finished"
    assert "LookupError: in a callback" in result.error


def test_deprecations_are_seen() -> None:
    middlewares = {"DOWNLOADER_MIDDLEWARES": {"tests.test_harness.Deprecated": 50}}
    with Site() as site:
        urls = [site.url("/a"), site.url("/b")]
        result = crawl(URLS_SPIDER, settings=middlewares, urls=urls)
    assert result.exit_code == 0, result.log
    assert len(result.deprecations) == 2
    assert "ScrapyDeprecationWarning: scrapy_rep ought not" in result.deprecations[0]


def test_a_crawl_that_takes_too_long_is_ended() -> None:
    with (
        Site({"/": Answer(fault="hang")}) as site,
        pytest.raises(AssertionError, match="more than 2 seconds"),
    ):
        crawl(URLS_SPIDER, urls=[site.url()], timeout_seconds=2)
