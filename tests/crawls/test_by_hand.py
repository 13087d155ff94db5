"""`scrapy shell` and `scrapy fetch`: somebody sits there and waits for an answer."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER
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
@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("command", list(_COMMANDS))
def test_an_unreachable_robots_txt_is_told_at_once(
    command: str, loop: Loop, tmp_path: Path
) -> None:
    """A crawl would keep the request for half a minute, to ask again."""
    arguments = [sys.executable, "-m", "scrapy", *_COMMANDS[command], *_LOOP_SETTINGS[loop]]
    for name, value in _SETTINGS.items():
        arguments += ["-s", f"{name}={value}"]
    with Site({"/robots.txt": Answer(status=503)}) as site:
        began = time.monotonic()
        result = subprocess.run(
            [*arguments, site.url("/a")],
            cwd=tmp_path,
            env={**os.environ, "HOME": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert time.monotonic() - began < 20
        assert set(site.paths()) == {"/robots.txt"}
    assert "robots.txt is unreachable (503, 1 in a row)" in result.stderr
    assert "Traceback" not in result.stderr, result.stderr
    if command == "shell":
        assert "('response', None)" in result.stdout


def test_a_crawl_says_how_long_requests_are_kept() -> None:
    with Site({"/robots.txt": [Answer(status=503), Answer()]}) as site:
        result = crawl(
            URLS_SPIDER,
            settings={
                **ADDON,
                "REP_UNREACHABLE_HOLD_SECONDS": 60,
                "REP_RETRY_FIRST_SECONDS": 2,
            },
            urls=[site.url(f"/{number}") for number in range(5)],
        )
        assert len(site.paths()) == 7
    origin = site.url("")
    assert f"The robots.txt of {origin} is retried in 2 s; 5 requests wait" in result.log
