"""A crawl that is stopped and goes on loses no request, and asks for none twice."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON
from tests.crawls.test_pace import SCRAPY_QUEUE, asks
from tests.faults.test_closing import assert_clean, log_of, started, wait_for
from tests.servers.handle import Answer, Site

RESUMED = "tests.faults.spiders:ResumedSpider"
PAGES = [f"/{number}" for number in range(8)]


_STOPS: list[tuple[Loop, dict[str, Any], signal.Signals]] = [
    *((loop, {}, signal.SIGINT) for loop in LOOPS),
    ("asyncio", {}, signal.SIGTERM),
    ("asyncio", SCRAPY_QUEUE, signal.SIGINT),
]


@pytest.mark.parametrize(("loop", "first", "stop"), _STOPS)
def test_stop_and_resume(
    loop: Loop, first: dict[str, Any], stop: signal.Signals, tmp_path: Path
) -> None:
    """By Ctrl-C, and by `kill`; also a crawl that Scrapy's own queue began."""
    job = tmp_path / "job"
    settings = {**ADDON, "JOBDIR": str(job), "REP_FETCH_TIMEOUT_SECONDS": 2}
    settings["CONCURRENT_REQUESTS"] = 2
    with (
        Site({"/robots.txt": asks(0.2)}) as paced,
        Site({"/robots.txt": [Answer(fault="hang"), Answer()]}) as hanging,
    ):
        urls = [paced.url(path, host="localhost") for path in PAGES]
        urls += [hanging.url("/a"), hanging.url("/b")] if not first else []
        with started(tmp_path, loop, {**settings, **first}, urls) as process:
            while len(paced.paths()) < 4:
                wait_for(paced, "/robots.txt")
            process.send_signal(stop)
            process.wait(timeout=60)
        log = log_of(tmp_path)
        assert "Spider closed (shutdown)" in log
        assert_clean(log)
        before = set(paced.paths())
        assert 0 < len(before - {"/robots.txt"}) < len(PAGES)
        left = json.loads((job / "requests.queue" / "active.json").read_text())
        assert left, "what waited is on disk"

        result = crawl(RESUMED, loop=loop, settings=settings)
        assert result.exit_code == 0, result.error
        pages = [path for path in paced.paths() if path != "/robots.txt"]
        assert sorted(pages) == sorted(PAGES), "none lost, none twice"
        if not first:
            assert sorted(set(hanging.paths())) == ["/a", "/b", "/robots.txt"]
            assert len(hanging.paths()) == 4
    assert_clean(result.log)
    folders = [path for path in (job / "requests.queue").iterdir() if path.is_dir()]
    assert folders == [], "nothing stays behind"
