"""Several workers of one crawl, each in its own process, and their results."""

from __future__ import annotations

import itertools
import json
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from typing_extensions import Self

from tests.crawling import LOOPS, Loop
from tests.crawls.settings import ADDON
from tests.processes import Forked, start_crawl
from tests.redis_server import RedisServer
from tests.servers.handle import Site

__all__ = ["LOOPS", "SETTINGS", "Crew", "Loop"]

TREE = "tests.extras.fleet.spiders:TreeSpider"
SLOW_TREE = "tests.extras.fleet.spiders:SlowTreeSpider"
FLAT = "tests.extras.fleet.spiders:FlatSpider"
STORES = {"REP_STORE": "redis", "REP_STORE_PATH": ":memory:"}

SETTINGS: dict[str, Any] = {
    **ADDON,
    "SCHEDULER": "scrapy_rep.RepRedisScheduler",
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
}


class Crew:
    """Workers that have been started; they are killed at the end, if they still run.

    Args:
        url: where Redis is.
        spider: ``module:Class``.
        count: how many workers are started at once.
        loop: what they run in.
        settings: in addition to `SETTINGS`.
        arguments: the spider's.
    """

    def __init__(
        self,
        url: str,
        spider: str,
        count: int = 2,
        *,
        loop: Loop = "asyncio",
        settings: Mapping[str, Any] | None = None,
        **arguments: Any,
    ) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="crew-")
        self._job: dict[str, Any] = {
            "spider": spider,
            "loop": loop,
            "settings": {**SETTINGS, "REP_REDIS_URL": url, **(settings or {})},
            "arguments": arguments,
        }
        self._processes: list[Forked] = []
        self.ended_at: dict[int, float] = {}
        for _ in range(count):
            self.add()

    def add(self, spider: str = "", **arguments: Any) -> int:
        """Start one more, perhaps with another spider; return its number."""
        number = len(self._processes)
        folder = Path(self._folder.name, str(number))
        folder.mkdir()
        job = {**self._job, "arguments": {**self._job["arguments"], **arguments}}
        job["spider"] = spider or job["spider"]
        (folder / "job.json").write_text(json.dumps(job))
        self._processes.append(start_crawl(folder))
        return number

    def signal(self, number: int, what: signal.Signals) -> None:
        """Send a signal to one of them."""
        self._processes[number].send_signal(what)

    def has_ended(self, number: int) -> bool:
        """Whether one of them has ended."""
        return self._processes[number].poll() is not None

    def number_of(self, pid: int) -> int:
        """The number of the worker with this process id."""
        return [process.pid for process in self._processes].index(pid)

    def wait(
        self, seconds: float = 60.0, *, without: tuple[int, ...] = (), error: str = ""
    ) -> None:
        """Come back when all have ended.

        Raises:
            AssertionError: some did not end in time, or with another error than this.
        """
        patience = time.monotonic() + seconds
        left = {n for n in range(len(self._processes)) if n not in without}
        while left:
            for number in list(left):
                if self._processes[number].poll() is not None:
                    self.ended_at[number] = time.monotonic()
                    left.discard(number)
            if time.monotonic() > patience:
                logs = "\n\n".join(f"--- {n}\n{self.log(n)[-6000:]}" for n in sorted(left))
                raise AssertionError(f"workers {left} did not end in {seconds:g} s\n{logs}")
            time.sleep(0.02)
        assert self.errors == ""

    @property
    def logs(self) -> str:
        """The logs of all workers."""
        return "".join(map(self.log, range(len(self._processes))))

    def reason(self, number: int = 0) -> str:
        """The reason with which a worker ended."""
        return str(self.result(number).get("finish_reason", ""))

    def log(self, number: int) -> str:
        """The log of a worker."""
        folder = Path(self._folder.name, str(number))
        names = [folder / "log", folder / "streams"]
        return "".join(name.read_text(errors="replace") for name in names if name.exists())

    def result(self, number: int) -> dict[str, Any]:
        """The result of a worker."""
        file = Path(self._folder.name, str(number), "result.json")
        found: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
        return found

    def stat(self, name: str) -> int:
        """The sum of a stat over all workers that ended in order."""
        results = map(self.result, range(len(self._processes)))
        return sum(result.get("stats", {}).get(name, 0) for result in results)

    @property
    def scraped(self) -> list[str]:
        """The URLs of all items."""
        results = map(self.result, range(len(self._processes)))
        return [item["url"] for result in results for item in result.get("items", [])]

    @property
    def errors(self) -> str:
        """Tracebacks of all."""
        results = map(self.result, range(len(self._processes)))
        return "\n".join(result.get("error", "") for result in results).strip()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
            process.wait(20)
        self._folder.cleanup()


def roots(site: Site, count: int) -> list[str]:
    """So many hosts of a site."""
    return [site.url("/", host=f"127.0.2.{number}") for number in range(1, count + 1)]


def until(site: Site, count: int, seconds: float = 40.0) -> None:
    """Return when so many requests were sent."""
    patience = time.monotonic() + seconds
    while len(site.requests()) < count:
        assert time.monotonic() < patience, f"{len(site.requests())} of {count}"
        time.sleep(0.02)


def requests_by_path(site: Site) -> Counter[tuple[str, str]]:
    """The number of requests by host and path."""
    return Counter((seen.headers["host"], seen.path) for seen in site.requests())


def pages_of_tree(pages: int) -> set[str]:
    """Those that can be come to without page 7."""
    found, left = set(), [0]
    while left:
        number = left.pop()
        if number < pages and number != 7:
            found.add(f"/{number}")
            left += [2 * number + 1, 2 * number + 2]
    return found


def assert_tree(site: Site, hosts: int, pages: int, most_twice: int = 0) -> None:
    """All allowed pages were requested, and no other; so many of them again at most."""
    seen = requests_by_path(site)
    paths = {"/robots.txt", *pages_of_tree(pages)}
    found = {(root[7:-1], path) for root in roots(site, hosts) for path in paths}
    assert set(seen) == found
    again = [key for key in seen.elements() if key[1] != "/robots.txt"]
    assert len(again) - len(found) + hosts <= most_twice, again
    assert max(Counter(again).values()) <= 2


def assert_nothing_left(server: RedisServer) -> None:
    """The last worker has cleared the crawl; `over` stays for a day if a worker was lost."""
    with server.client() as client:
        keys = [key for key in client.keys("*") if b"requests}" in key]
        assert [key for key in keys if not key.endswith(b":over")] == []


def assert_paced(times: list[float], seconds: float) -> None:
    """As the site sees it, which takes note of a request late where the machine is busy.

    Workers that did not share a pace would leave next to nothing between some of them.
    """
    gaps = [after - before for before, after in itertools.pairwise(sorted(times))]
    assert min(gaps) >= 0.7 * seconds, gaps  # in their order: a short one after a long one?
    assert sorted(gaps)[len(gaps) // 2] >= 0.98 * seconds, gaps


Begin = Callable[..., Crew]
SiteOf = Callable[..., Site]
