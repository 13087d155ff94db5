"""`scrapy shell` and `scrapy fetch`: a person waits for the answer."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from tests.crawling import Loop
from tests.processes import Scrapy
from tests.servers.handle import Answer, Site

_LOOP_SETTINGS = {
    "asyncio": [],
    "select": ["-s", "TWISTED_REACTOR=twisted.internet.selectreactor.SelectReactor"],
    "reactorless": ["-s", "TWISTED_REACTOR_ENABLED=False"],
}
_SETTINGS = {
    "ADDONS": '{"scrapy_rep.Addon": 500}',
    "ROBOTSTXT_OBEY": "True",
    "REP_STORE": "memory",
    "REP_QUICK_RETRY_SECONDS": "0.1",
    "TELNETCONSOLE_ENABLED": "False",
}
_COMMANDS = {"shell": ["shell", "-c", "('response', response)"], "fetch": ["fetch", "--headers"]}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "loop"),
    [("shell", "asyncio"), ("shell", "reactorless"), ("fetch", "select")],
)
def test_unreachable_robots_txt_is_reported_at_once(
    command: str, loop: Loop, tmp_path: Path
) -> None:
    """A crawl would keep the request for half a minute, to ask again."""
    arguments = [*_COMMANDS[command], *_LOOP_SETTINGS[loop]]
    for name, value in _SETTINGS.items():
        arguments += ["-s", f"{name}={value}"]
    with Site({"/robots.txt": Answer(status=503)}) as site:
        began = time.monotonic()
        environment = {**os.environ, "HOME": str(tmp_path)}
        call = Scrapy(*arguments, site.url("/a"), environment=environment, folder=tmp_path)
        result = call.end(60)
        assert time.monotonic() - began < 20
        assert set(site.paths()) == {"/robots.txt"}
    assert b"robots.txt is unreachable (503, failures in a row: 1)" in result.stderr
    assert b"Traceback" not in result.stderr, result.stderr
    if command == "shell":
        assert b"('response', None)" in result.stdout
