"""A crawl ends although a robots.txt hangs, and sends no more requests."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cache.samples import usual_key
from tests.crawling import LOOPS, Loop, crawl
from tests.crawls.settings import ADDON, URLS_SPIDER, WITH_SCRAPYS_QUEUE
from tests.processes import Forked, start_crawl
from tests.servers.handle import Answer, Sequence, Site
from tests.spiders import ALL_ASKED_FOR

pytestmark = pytest.mark.timed

_TIMEOUT_SECONDS = 3
_SHUTDOWN_SECONDS = _TIMEOUT_SECONDS + 2
_START_UP_SECONDS = 4  # of the process, which a loaded machine may take
_PACED = "tests.faults.spiders:PacedSpider"
_CLOSING = "tests.faults.spiders:ClosingSpider"
SETTINGS: dict[str, Any] = {**ADDON, "REP_FETCH_TIMEOUT_SECONDS": _TIMEOUT_SECONDS}
HANG = Answer(fault="hang")


@contextmanager
def started(
    folder: Path,
    loop: Loop,
    settings: Mapping[str, Any],
    urls: list[str],
    spider: str = URLS_SPIDER,
) -> Iterator[Forked]:
    """A crawl in a process that the test can send signals to."""
    arguments = {"urls": urls}
    job = {"spider": spider, "loop": loop, "settings": dict(settings), "arguments": arguments}
    (folder / "job.json").write_text(json.dumps(job))
    process = start_crawl(folder)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for(site: Site, path: str) -> None:
    patience = time.monotonic() + 30
    while path not in site.paths():
        assert time.monotonic() < patience
        time.sleep(0.02)


def wait_for_all(folder: Path) -> None:
    """Return once the spider has yielded all of its requests."""
    patience = time.monotonic() + 30
    while ALL_ASKED_FOR not in log_of(folder):
        assert time.monotonic() < patience
        time.sleep(0.02)


def log_of(folder: Path) -> str:
    return "".join(
        (folder / name).read_text(errors="replace")
        for name in ("log", "streams")
        if (folder / name).exists()
    )


def assert_clean(log: str) -> None:
    for word in (
        "Traceback",
        "never awaited",
        "Unhandled",
        "was destroyed",
        "Reading the robots.txt",
    ):
        assert word not in log, log


@pytest.mark.parametrize("loop", LOOPS)
def test_sigterm_ends_a_crawl_while_a_robots_txt_hangs(loop: Loop, tmp_path: Path) -> None:
    settings = {**SETTINGS, "REP_STORE": "sqlite", "REP_STORE_PATH": str(tmp_path / "a.sqlite")}
    settings["REP_QUICK_RETRY_SECONDS"] = [1, 4]
    with (
        Site({"/robots.txt": HANG}) as site,
        started(tmp_path, loop, settings, [site.url("/a"), site.url("/b")]) as process,
    ):
        wait_for(site, "/robots.txt")
        began = time.monotonic()
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
        assert time.monotonic() - began < _SHUTDOWN_SECONDS
        assert site.paths() == ["/robots.txt"], "nothing is asked for while closing"
    log = log_of(tmp_path)
    assert "Spider closed (shutdown)" in log
    assert_clean(log)
    assert process.returncode == 0, log


@pytest.mark.parametrize("queue", [ADDON, WITH_SCRAPYS_QUEUE], ids=["ours", "Scrapy's"])
@pytest.mark.parametrize("answer", [HANG, Answer(status=503)], ids=["hangs", "quick retry"])
def test_close_spider_ends_a_crawl_before_there_is_a_robots_txt(
    answer: Answer, queue: dict[str, Any]
) -> None:
    with Site({"/robots.txt": answer}) as bad, Site() as good:
        result = crawl(
            _CLOSING,
            settings={**SETTINGS, **queue, "REP_QUICK_RETRY_SECONDS": [50]},
            urls=[bad.url("/a"), good.url("/a")],
            timeout_seconds=45,
        )
        assert bad.paths() == ["/robots.txt"]
    assert result.finish_reason == "enough"
    assert result.stats["elapsed_time_seconds"] < _SHUTDOWN_SECONDS
    assert_clean(result.log)
    if queue is ADDON:
        left = result.stats["scheduler/enqueued"] - result.stats["scheduler/dequeued"]
        assert left == 1, "the request that waited is in the queue; nothing permitted it"


@pytest.mark.parametrize("queue", [ADDON, WITH_SCRAPYS_QUEUE], ids=["ours", "Scrapy's"])
def test_close_spider_ends_a_crawl_that_waits_for_another_process(
    queue: dict[str, Any], tmp_path: Path
) -> None:
    """In Scrapy's own queue, a request is under way while the file waits."""
    from scrapy_rep.cache.sqlite import SqliteStore
    from scrapy_rep.protocol.access.origin import Origin

    path = tmp_path / "robots.sqlite"
    with Site() as waited_for, Site() as good:
        origin = Origin.of(waited_for.url())
        assert origin is not None
        store = SqliteStore(path, 1 << 30)
        store.claim(usual_key(origin), seconds=15, fresh_seconds=0).result()
        began = time.monotonic()
        result = crawl(
            _CLOSING,
            settings={**SETTINGS, **queue, "REP_STORE": "sqlite", "REP_STORE_PATH": str(path)},
            urls=[waited_for.url("/a"), good.url("/a")],
            timeout_seconds=55,
        )
        assert time.monotonic() - began < _SHUTDOWN_SECONDS + _START_UP_SECONDS
        assert waited_for.paths() == []
        assert store.peek(usual_key(origin)) is None, "a failure of our own is nobody else's"
        store.close()
    assert result.finish_reason == "enough"
    assert_clean(result.log)


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS)
def test_crawl_ends_during_a_refresh(loop: Loop, tmp_path: Path) -> None:
    """All pages are done while a robots.txt is fetched in the background."""
    path = tmp_path / "robots.sqlite"
    first = Answer(headers=[("Cache-Control", "max-age=1")])
    with Site({"/robots.txt": Sequence([first, HANG])}) as site:
        result = crawl(
            _PACED,
            loop=loop,
            settings={
                **SETTINGS,
                "REP_CACHE_MIN_SECONDS": 0.2,
                "REP_STORE": "sqlite",
                "REP_STORE_PATH": str(path),
            },
            urls=[site.url(f"/{number}") for number in range(15)],
        )
        assert site.paths().count("/robots.txt") == 2
    assert result.finish_reason == "finished"
    assert result.exit_code == 0, result.error
    assert_clean(result.log)
    assert "rep/store/failed" not in result.stats
    assert path.exists()
    assert list(tmp_path.glob("*.damaged-*")) == [], "a store that is closed is no damaged one"


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals as on POSIX")
def test_second_sigterm_ends_a_crawl_at_once(tmp_path: Path) -> None:
    settings = {**SETTINGS, "REP_FETCH_TIMEOUT_SECONDS": 50}
    with (
        Site({"/robots.txt": HANG}) as site,
        started(tmp_path, "asyncio", settings, [site.url("/a")]) as process,
    ):
        wait_for(site, "/robots.txt")
        process.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=20)


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["CloseSpider", "SIGTERM"])
def test_crawl_ends_while_start_waits_for_a_policy(ending: str, tmp_path: Path) -> None:
    spider = "tests.faults.spiders:PolicyFirstSpider"
    slow = Answer(delay_seconds=0.7)
    with Site({"/robots.txt": HANG}) as site, Site({"/a": slow}) as good:
        pages = [good.url("/a")] if ending == "CloseSpider" else []
        urls = [*pages, site.url("/b")]
        with started(tmp_path, "asyncio", SETTINGS, urls, spider) as process:
            wait_for(site, "/robots.txt")
            began = time.monotonic()
            if ending == "SIGTERM":
                process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)
            assert time.monotonic() - began < _SHUTDOWN_SECONDS + _START_UP_SECONDS
        assert site.paths() == ["/robots.txt"]
    log = log_of(tmp_path)
    assert_clean(log)
    for level in ("ERROR", "CRITICAL"):
        assert level not in log, log
    assert process.returncode == 0, log
