"""The harness does what it says: a fault that is never sent would let every test of it pass.

And each test says what it promises: its name is a short sentence that no other test has. None of
them sets what is private in the package.
"""

from __future__ import annotations

import ast
import os
import re
import socket
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from scrapy.http import Response

from tests.crawling import REPOSITORY, Loop, crawl
from tests.servers.answers import Fault
from tests.servers.handle import Answer, Site, free_port, redirect
from tests.spiders import UrlsSpider

URLS_SPIDER = "tests.spiders:UrlsSpider"
BODY = b"0123456789" * 10
_HERE = Path(__file__).parent


def ask(site: Site, path: str = "/") -> tuple[bytes, str]:
    """All that comes back, up to a MiB, and how it ends."""
    lines = [f"GET {path} HTTP/1.1", "Host: localhost", "Connection: close", "", ""]
    with socket.create_connection(("127.0.0.1", site.port)) as client:
        client.settimeout(1)
        client.sendall("\r\n".join(lines).encode())
        received = b""
        try:
            while len(received) < 1 << 20:
                more = client.recv(65_536)
                if not more:
                    return received, "closed"
                received += more
        except ConnectionResetError:
            return received, "reset"
        except TimeoutError:
            return received, "silent"
        return received, "still coming"


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
def test_faults_reach_the_client(fault: Fault, starts: bytes, ends: bytes, ending: str) -> None:
    with Site({"/": Answer(body=BODY, fault=fault)}) as site:
        received, ended = ask(site)
        assert ended == ending
        assert received.startswith(starts)
        assert received.endswith(ends)
        assert [seen.path for seen in site.requests()] == ["/"]
        assert ask(site, "/next")[0].endswith(b"page"), "the site outlives a fault"


@pytest.mark.parametrize(
    ("loop", "really"),
    [
        ("asyncio", ("AsyncioSelectorReactor", True)),
        ("select", ("SelectReactor", False)),
        ("reactorless", ("none", True)),
    ],
)
def test_crawls_run_in_their_loop(loop: Loop, really: tuple[str, bool]) -> None:
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


class FailingSpider(UrlsSpider):
    """A spider with a callback that raises."""

    def parse(self, response: Response, asked: str) -> dict[str, Any]:
        raise LookupError("in a callback")


def test_error_at_start_is_seen() -> None:
    middlewares = {"DOWNLOADER_MIDDLEWARES": {"tests.test_harness.BrokenAtStart": 50}}
    result = crawl(URLS_SPIDER, settings=middlewares, urls=[])
    assert result.exit_code == 1
    assert "ValueError: broken at start" in result.error


def test_error_in_a_callback_is_seen() -> None:
    with Site() as site:
        result = crawl("tests.test_harness:FailingSpider", urls=[site.url()])
    assert result.exit_code == 1
    assert result.finish_reason == "finished"
    assert "LookupError: in a callback" in result.error


@cache
def _nodes() -> list[ast.AST]:
    """The functions, calls and attributes in the tests' sources."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in _HERE.rglob("*.py"))
    kinds = ast.FunctionDef, ast.AsyncFunctionDef, ast.Call, ast.Attribute
    return [node for tree in trees for node in ast.walk(tree) if isinstance(node, kinds)]


def test_names_of_tests_are_unique_and_say_a_promise() -> None:
    functions = (one for one in _nodes() if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
    names = Counter(one.name for one in functions if one.name.startswith("test_"))
    assert [name for name, count in names.items() if count > 1] == []
    assert [name for name in names if len(name.removeprefix("test_").split("_")) < 3] == []


def _set_from_outside(node: ast.AST) -> str:
    """The name that a node sets in another object, with its dots; empty if it sets none."""
    if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        name = ast.unparse(node)
        return "" if re.fullmatch(r"(self|cls)\.\w+", name) else name
    if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] == "setattr":
        texts = [str(one.value) for one in node.args[:2] if isinstance(one, ast.Constant)]
        return f".{texts[0]}" if texts else ""
    return ""


def test_no_test_sets_a_private_name() -> None:
    """A setting, a fake that is passed in, or a server does it too, and outlives a change."""
    names = {_set_from_outside(node) for node in _nodes()}
    assert {"crawl.keeper.commit", ".monotonic"} <= names, "they are found"
    assert [name for name in names if re.search(r"\._(?!_)", name)] == []


def test_parser_is_tested_without_redis() -> None:
    """Neither its package nor its server is there, and none of the modules that need them."""
    code = (
        "import sys, pytest; sys.modules['redis'] = None; "
        "sys.exit(pytest.main(['-q', '-k', 'test_product_token', 'tests/protocol']))"
    )
    environment = {**os.environ, "PATH": ""}
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=REPOSITORY, env=environment, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stdout.decode()
