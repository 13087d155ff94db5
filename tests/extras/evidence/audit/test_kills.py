"""Crawls that are killed or stopped: the trail has every request that the server saw."""

from __future__ import annotations

import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from scrapy_rep.extras.evidence.replay import Replayer
from scrapy_rep.extras.evidence.trail_check import check
from scrapy_rep.extras.evidence.trail_reading import Run, run_at
from tests.crawling import LOOPS, Loop
from tests.crawls.settings import ADDON
from tests.extras.evidence.audit.crawled import fetched, passed
from tests.faults.test_closing import log_of, started
from tests.processes import Forked
from tests.servers.handle import Answer, Site

PAGES = 400
ROUTES: dict[str, Any] = {"/robots.txt": Answer(body="User-agent: *\nDisallow: /private\n")}


@contextmanager
def crawling(folder: Path, loop: Loop, urls: list[str]) -> Iterator[Forked]:
    """A crawl with a trail, in a process of its own."""
    folder.mkdir()
    settings = {
        **ADDON,
        "REP_AUDIT_DIR": str(folder / "audit"),
        "ADDONS": {**ADDON["ADDONS"], "tests.extras.evidence.segments.SmallSegments": 600},
        "SEGMENT_OCTETS": 1 << 14,  # so that some kills meet the packing of a file
        "LOG_LEVEL": "INFO",
        "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    }
    with started(folder, loop, settings, urls) as process:
        yield process


def wait_for(site: Site, count: int, folder: Path) -> None:
    give_up_at = time.monotonic() + 60
    while len(site.paths()) < count:
        assert time.monotonic() < give_up_at, log_of(folder)
        time.sleep(0.002)


def assert_accounts_for(run: Run, site: Site) -> None:
    """The trail has every request that the server saw; the last ones may not have been sent."""
    seen = {site.url(path) for path in site.paths()}
    assert seen <= {*passed(run), *fetched(run)}
    assert {outcome.word for _, outcome, _ in Replayer(run).outcomes()} == {"confirmed"}


def urls_of(site: Site) -> list[str]:
    return [site.url(f"/{'private/' if n % 5 == 0 else ''}{n}") for n in range(PAGES)]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("turns", [3, pytest.param(60, marks=pytest.mark.at_length)])
def test_trail_has_every_sent_request_after_a_kill(turns: int, tmp_path: Path) -> None:
    draw = random.Random(11)
    for turn in range(turns):
        with Site(ROUTES) as site:
            folder = tmp_path / str(turn)
            with crawling(folder, LOOPS[turn % 3], urls_of(site)) as process:
                wait_for(site, draw.randrange(2, PAGES // 2), folder)
                time.sleep(draw.random() * 0.05)
                process.send_signal(signal.SIGKILL)
                process.wait(timeout=60)
            run = run_at(folder / "audit" / "latest")
            found = check(run)
            assert found.problems == []
            assert "complete up to number" in " ".join(found.missing)
            assert_accounts_for(run, site)
