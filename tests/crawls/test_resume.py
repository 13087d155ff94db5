"""A crawl that is stopped and resumed loses no request, and sends no request twice."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from scrapy import version_info

from tests.crawling import Loop, crawl
from tests.crawls.settings import ADDON
from tests.crawls.test_pace import SCRAPY_QUEUE, asks
from tests.faults.test_closing import assert_clean, log_of, started, wait_for, wait_for_all
from tests.servers.handle import Answer, Site
from tests.servers.hosts import Hosts

LINKS = "tests.crawls.links_spider:LinksSpider"
RESUMED = "tests.faults.spiders:ResumedSpider"
PAGES = [f"/{number}" for number in range(8)]


_SLOW = pytest.mark.slow
_STOPS: list[Any] = [
    ("asyncio", SCRAPY_QUEUE, signal.SIGINT),
    ("select", {}, signal.SIGTERM),
    ("reactorless", {}, signal.SIGINT),
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


@pytest.mark.parametrize(("loop", "shut"), [("asyncio", False), ("reactorless", True)])
def test_requests_in_the_middleware_go_back_to_the_queue(
    loop: Loop, shut: bool, tmp_path: Path
) -> None:
    """Under Scrapy's queue requests wait there: for a robots.txt, and for a visit time."""
    settings = {**ADDON, **SCRAPY_QUEUE, "JOBDIR": str(tmp_path / "job")}
    answer = Answer(body=visit_time_not_now()) if shut else Answer(fault="hang")
    with Site({"/robots.txt": [answer, Answer()]}) as site:
        urls = [site.url(path) for path in PAGES]
        stopped = {**settings, "REP_FETCH_TIMEOUT_SECONDS": 1, "REP_VISIT_TIME_OBEY": shut}
        with started(tmp_path, loop, stopped, urls) as process:
            wait_for(site, "/robots.txt")
            wait_for_all(tmp_path)
            time.sleep(0.3)
            process.send_signal(signal.SIGTERM)
            process.wait(timeout=60)
        log = log_of(tmp_path)
        assert "Spider closed (shutdown)" in log
        assert_clean(log)
        assert site.paths() == ["/robots.txt"]
        result = crawl(RESUMED, loop=loop, settings=settings)
        assert sorted(site.paths()[1:]) == sorted([*PAGES, "/robots.txt"]), result.log
        assert result.finish_reason == "finished"
        assert_clean(result.log)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("loop", "queue"), [("asyncio", {}), ("select", SCRAPY_QUEUE)], ids=["ours", "Scrapy's"]
)
@pytest.mark.long
def test_stopped_again_and_again_while_files_are_fetched(
    loop: Loop, queue: dict[str, Any], tmp_path: Path
) -> None:
    """Copies hold for a second: requests wait in the middleware under our queue, too."""
    settings = {**ADDON, **queue, "JOBDIR": str(tmp_path / "job"), "REP_CACHE_MIN_SECONDS": 1}
    settings |= {"CONCURRENT_REQUESTS_PER_DOMAIN": 1, "REP_FETCH_TIMEOUT_SECONDS": 20}
    headers = (("Cache-Control", "no-store"),)
    robots_txt = Answer(delay_seconds=0.4, headers=headers, body="User-agent: *\nDisallow: /x\n")
    page = Answer(delay_seconds=0.3)
    with Site({"/robots.txt": robots_txt}, default=page, address="0.0.0.0") as site:
        hosts = [f"127.0.0.{number}" for number in range(2, 8)]
        urls = [site.url(f"/{host}{path}", host) for path in PAGES for host in hosts]
        logs = ""
        for seconds in (0.3, 1.3, 1.7):
            with started(tmp_path, loop, settings, urls) as process:
                before = len(site.paths())
                patience = time.monotonic() + 30
                while len(site.paths()) == before and time.monotonic() < patience:
                    time.sleep(0.02)
                if urls:
                    wait_for_all(tmp_path)
                time.sleep(seconds)
                process.send_signal(signal.SIGTERM)
                process.wait(timeout=60)
            urls = []
            logs += log_of(tmp_path)
            assert_clean(logs)
        result = crawl(RESUMED, loop=loop, settings=settings)
        logs += result.log
        pages = [path for path in site.paths() if path != "/robots.txt"]
        assert sorted(pages) == sorted(f"/{host}{path}" for path in PAGES for host in hosts), logs
    assert result.finish_reason == "finished"


def visit_time_not_now() -> str:
    opens, closes = (time.gmtime(time.time() + hours * 3600).tm_hour for hours in (3, 5))
    return f"User-agent: *\nVisit-time: {opens:02}00-{closes:02}00\n"


OURS: dict[str, Any] = {}
QUEUES = {
    kind: {
        "SCHEDULER_DISK_QUEUE": f"scrapy.squeues.{kind}DiskQueue",
        "SCHEDULER_START_DISK_QUEUE": f"scrapy.squeues.{kind}DiskQueue",
    }
    for kind in ("PickleLifo", "PickleFifo", "MarshalLifo", "MarshalFifo")
}
INT, TERM, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL


class LinksCrawl:
    """A crawl of one page's links, in as many processes as it is stopped and goes on."""

    def __init__(self, folder: Path, loop: Loop, hosts: Hosts, **settings: Any) -> None:
        self._folder, self._loop, self._hosts = folder, loop, hosts
        # A loopback connection of a starved machine may hang: its requests wait for another one.
        waits = {"REP_UNREACHABLE_HOLD_SECONDS": 60, "REP_RETRY_FIRST_SECONDS": 1}
        self._settings = {**ADDON, **waits, "JOBDIR": str(folder / "job"), **settings}
        self._urls = [hosts.url(0, "/links")]

    def run(self, stop: signal.Signals, page_count: int, settings: dict[str, Any]) -> None:
        """Stop it after this number of pages."""
        settings = {**self._settings, **settings}
        with started(self._folder, self._loop, settings, self._urls, LINKS) as process:
            patience = time.monotonic() + 60
            while len(self._hosts.pages()) < page_count:
                assert process.poll() is None, log_of(self._folder)
                assert time.monotonic() < patience
                time.sleep(0.01)
            process.send_signal(stop)
            process.wait(timeout=60)
        self._urls = []

    def finish(self, settings: dict[str, Any]) -> Any:
        settings = {**self._settings, **settings}
        result = crawl(LINKS, loop=self._loop, settings=settings, urls=self._urls)
        assert result.exit_code == 0, result.error
        assert result.finish_reason == "finished"
        return result


def links_crawled(
    folder: Path,
    loop: Loop,
    hosts: Hosts,
    stops: Sequence[tuple[signal.Signals, int, dict[str, Any]]],
    last: dict[str, Any],
    **settings: Any,
) -> Any:
    """Every link is requested once, and the queue is empty."""
    links = LinksCrawl(folder, loop, hosts, **settings)
    for stop, page_count, queue in stops:
        links.run(stop, page_count, queue)
        assert_clean(log_of(folder))
    result = links.finish(last)
    assert_clean(result.log)
    pages = hosts.pages()
    assert len(pages) == len(set(pages)), "none twice"
    assert len(pages) == hosts.link_count, f"none lost: {result.log}"
    assert not any("damaged" in name or "rep/queue/lost" in name for name in result.stats)
    if last != SCRAPY_QUEUE or version_info >= (2, 18):  # Scrapy's left them, up to 2.17
        left = [path for path in (folder / "job" / "requests.queue").iterdir() if path.is_dir()]
        assert left == []
    return result


_LINKS = [
    ("asyncio", "PickleLifo", [(INT, OURS), (TERM, OURS)], OURS),
    ("select", "PickleFifo", [(TERM, OURS), (INT, SCRAPY_QUEUE)], OURS),
    ("reactorless", "MarshalLifo", [(INT, OURS)], OURS),
    ("asyncio", "MarshalFifo", [(TERM, SCRAPY_QUEUE)], OURS),
    ("asyncio", "PickleLifo", [(TERM, OURS)], SCRAPY_QUEUE),
]


@pytest.mark.parametrize(("loop", "kind", "stops", "last"), _LINKS)
def test_links_stopped_and_resumed(
    loop: Loop,
    kind: str,
    stops: list[tuple[signal.Signals, dict[str, Any]]],
    last: dict[str, Any],
    tmp_path: Path,
) -> None:
    """The links of one page are pushed while robots.txt files are fetched."""
    with Hosts(12, links=60, page_seconds=0.02) as hosts:
        runs = [(stop, 15 * number, queue) for number, (stop, queue) in enumerate(stops, 1)]
        settings = {**QUEUES[kind], "CONCURRENT_REQUESTS": 4}
        links_crawled(tmp_path, loop, hosts, runs, last, **settings)


def test_links_of_one_page(tmp_path: Path) -> None:
    """So many that the queue on disk is read and written while robots.txt files are fetched."""
    with Hosts(100, links=600) as hosts:
        links_crawled(tmp_path, "asyncio", hosts, [], OURS)


@pytest.mark.slow
def test_links_after_a_kill(tmp_path: Path) -> None:
    """Scrapy's files say at the next start what they held at the last; nothing hangs on that."""
    with Hosts(12, links=60, page_seconds=0.02) as hosts:
        links = LinksCrawl(tmp_path, "asyncio", hosts, CONCURRENT_REQUESTS=4)
        links.run(INT, 10, OURS)
        links.run(KILL, 25, OURS)
        links.finish(OURS)
        pages = set(hosts.pages())
    assert len(pages) >= 60 - 12 - 4, "what was under way, and not much more"
