"""Pace and the queue, compared with Scrapy's own queue.

    python benchmarks/pace.py [slow] [delays] [equal] [fair] [cost]

A site of many hosts (127.0.0.1 and its neighbours, one port) runs in its own process and records
its requests with their times. Each crawl is another process. All crawls have
CONCURRENT_REQUESTS = 16.
"""

from __future__ import annotations

import asyncio
import gc
import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from types import SimpleNamespace
from typing import Any

from scrapy import Request
from scrapy.utils.httpobj import urlparse_cached

ROBOTS_TXT = "/robots.txt"
SCRAPY_QUEUE = "scrapy.pqueues.DownloaderAwarePriorityQueue"
OURS = "scrapy-rep"
SIDES: dict[str, dict[str, Any]] = {
    OURS: {"ADDONS": {"scrapy_rep.Addon": 500}},
    "with Scrapy's queue": {
        "ADDONS": {"scrapy_rep.Addon": 500},
        "SCHEDULER_PRIORITY_QUEUE": SCRAPY_QUEUE,
    },
}
LOOPS: dict[str, dict[str, Any]] = {
    "asyncio": {},
    "select": {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
    "reactorless": {"TWISTED_REACTOR_ENABLED": False},
}
RUN_SECONDS = 25
OTHERS_SECONDS = 5.0
HANG_SECONDS = 1000.0
ROUNDS = 3
COST_ROUNDS = 5


@dataclass(frozen=True)
class Web:
    """Hosts by number: the time for each robots.txt, and its Crawl-delay."""

    hosts: int
    pages: int
    slow: dict[int, float] = field(default_factory=dict)
    delays: dict[int, float] = field(default_factory=dict)
    page_seconds: float = 0.0

    def host(self, number: int) -> str:
        """The address of a host."""
        return f"127.0.{1 + number // 250}.{1 + number % 250}"


# The site


async def serve(web: Web) -> None:
    """Answer until standard input ends; then write all requests with their times."""
    seen: list[tuple[str, str, float]] = []
    numbers = {web.host(number): number for number in range(web.hosts)}

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                now = time.monotonic()
                path = head.split(" ", 2)[1]
                host = head.lower().split("\r\nhost: ", 1)[1].split("\r\n", 1)[0].split(":")[0]
                seen.append((host, path, now))
                body = "a page"
                if path != ROBOTS_TXT:
                    await asyncio.sleep(web.page_seconds)
                else:
                    number = numbers[host]
                    await asyncio.sleep(web.slow.get(number, 0))
                    delay = web.delays.get(number)
                    body = "User-agent: *\n" + (f"Crawl-delay: {delay:g}\n" if delay else "")
                lines = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"
                writer.write(f"{lines}Content-Length: {len(body)}\r\n\r\n{body}".encode())
        except (asyncio.IncompleteReadError, OSError):
            writer.close()

    server = await asyncio.start_server(connected, "0.0.0.0", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    print(json.dumps(seen), flush=True)


# The crawl


def crawl(side: str, web: Web, port: int, settings: dict[str, Any]) -> None:
    import scrapy
    from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess

    class Spider(scrapy.Spider):
        name = "pace"

        async def start(self) -> Any:
            for page in range(web.pages):
                for number in range(web.hosts):
                    url = f"http://{web.host(number)}:{port}/{page}"
                    yield scrapy.Request(url, dont_filter=True, errback=lambda _: None)

        def parse(self, response: Any) -> None:
            """Nothing."""

    common = {
        "ROBOTSTXT_OBEY": True,
        "LOG_LEVEL": "ERROR",
        "TELNETCONSOLE_ENABLED": False,
        "REP_STORE": "memory",
        "CONCURRENT_REQUESTS": 16,
    }
    kind = CrawlerProcess if "TWISTED_REACTOR" in settings else AsyncCrawlerProcess
    process = kind({**common, **SIDES[side], **settings})
    process.crawl(Spider)
    process.start()


@dataclass(frozen=True)
class Seen:
    """The requests to the site, with times since the first, and the duration of the crawl."""

    requests: list[tuple[str, str, float]]
    seconds: float

    def pages(self, hosts: set[str] | None = None, until: float = float("inf")) -> list[float]:
        """Times of requests for pages of some hosts, up to a time."""
        return [
            at
            for host, path, at in self.requests
            if path != ROBOTS_TXT and at <= until and (hosts is None or host in hosts)
        ]

    def asked(self, web: Web) -> Iterator[tuple[int, float]]:
        """Time of the first request for the robots.txt of each host; 0 without a request."""
        at = {host: at for host, path, at in reversed(self.requests) if path == ROBOTS_TXT}
        for number in range(web.hosts):
            yield number, at.get(web.host(number), 0.0)

    def gaps(self) -> Iterator[tuple[str, float]]:
        """All times between two requests to a host."""
        last: dict[str, float] = {}
        for host, _, at in self.requests:
            if host in last:
                yield host, at - last[host]
            last[host] = at

    def longest_wait(self) -> int:
        """The largest number of pages between two pages of a host."""
        last: dict[str, int] = {}
        longest = 0
        pages = [host for host, path, _ in self.requests if path != ROBOTS_TXT]
        for number, host in enumerate(pages):
            longest = max(longest, number - last.get(host, number))
            last[host] = number
        return longest


def measure(side: str, web: Web, **settings: Any) -> Seen:
    """Run one crawl."""
    job = json.dumps(
        {
            "hosts": web.hosts,
            "pages": web.pages,
            "slow": web.slow,
            "delays": web.delays,
            "page_seconds": web.page_seconds,
        }
    )
    site = subprocess.Popen(
        [sys.executable, __file__, "--serve", job],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert site.stdin is not None
    assert site.stdout is not None
    try:
        port = site.stdout.readline().strip()
        began = time.monotonic()
        command = [sys.executable, __file__, "--crawl", side, job, port, json.dumps(settings)]
        subprocess.run(command, check=True, timeout=300)
        seconds = time.monotonic() - began
        site.stdin.write("\n")
        site.stdin.flush()
        seen = json.loads(site.stdout.readline())
    finally:
        site.kill()
        site.wait()
    first = min(at for _, _, at in seen)
    return Seen(sorted(((h, p, at - first) for h, p, at in seen), key=lambda s: s[2]), seconds)


# What is measured


def report(what: str, ours: str, theirs: str = "not measured") -> None:
    print(f"| {what} | {ours} | {theirs} |", flush=True)


def slow() -> None:
    """200 origins, 20 with a slow robots.txt: measure when the others are done.

    Takes the best of several rounds, because other work on the machine comes and goes.
    """
    slow_ones = range(0, 200, 10)
    webs = {
        "no": Web(200, 10),
        "takes 5 s": Web(200, 10, slow=dict.fromkeys(slow_ones, OTHERS_SECONDS)),
        "hangs until its timeout": Web(200, 10, slow=dict.fromkeys(slow_ones, HANG_SECONDS)),
    }
    others = {webs["no"].host(n) for n in range(200)} - {webs["no"].host(n) for n in slow_ones}
    settings = {"REP_QUICK_RETRY_SECONDS": [], "REP_UNREACHABLE_HOLD_SECONDS": 0}
    ratios: dict[str, list[str]] = defaultdict(list)
    for side in SIDES:
        done: dict[str, float] = {}
        for _ in range(ROUNDS if side == OURS else 2):
            for name, web in webs.items():
                if name.startswith("hangs") and side != OURS:
                    continue  # some would wait for three times three minutes
                took = max(measure(side, web, **settings).pages(others))
                done[name] = min(took, done.get(name, took))
        for name, seconds in done.items():
            ratios[name].append(f"{seconds / done['no']:.2f}x")
    del ratios["no"]
    for name, found in ratios.items():
        report(
            f"200 origins, the robots.txt of 20 {name}: time for the other 180, compared with a "
            "crawl without the 20",
            *found,
        )


def delays() -> None:
    """150 origins, two thirds with 10 s and one third with 0.5 s: pages in 25 s."""
    mixed = Web(150, 60, delays={n: 0.5 if n % 3 == 0 else 10.0 for n in range(150)})
    pages, gaps = [], []
    for side in SIDES:
        seen = measure(side, mixed, CLOSESPIDER_TIMEOUT=RUN_SECONDS + 1)
        got = len(seen.pages(until=RUN_SECONDS))
        # The pages that the delays allow: the robots.txt is a request, and comes first.
        ceiling = sum(int((RUN_SECONDS - at) / mixed.delays[n]) for n, at in seen.asked(mixed))
        shortest = {0.5: 99.0, 10.0: 99.0}
        numbers = {mixed.host(number): number for number in range(150)}
        for host, gap in seen.gaps():
            delay = mixed.delays[numbers[host]]
            shortest[delay] = min(shortest[delay], gap)
        pages.append(f"{got} of {ceiling}")
        gaps.append(", ".join(f"{gap:.3f} s" for gap in shortest.values()))
    report(
        f"150 origins, delays of 0.5 s and 10 s: pages in {RUN_SECONDS} s, of those that the "
        "delays allow",
        *pages,
    )
    report("the shortest gaps in that crawl", *gaps)


def equal() -> None:
    """The same delay for all, or no delay: compare our queue with Scrapy's."""
    same = Web(150, 20, delays=dict.fromkeys(range(150), 0.5))
    plain = Web(150, 20)
    one = Web(1, 1500)
    for web, words in ((same, "0.5 s each"), (plain, "no delay"), (one, "no delay")):
        ends: dict[str, list[float]] = defaultdict(list)
        for _ in range(ROUNDS):
            for side in SIDES:
                ends[side].append(max(measure(side, web).pages()))
        report(
            f"{web.hosts} origins, {web.pages} pages each, {words}: time",
            *(f"{min(ends[side]):.1f} s" for side in SIDES),
        )


def fair() -> None:
    """100 hosts with all pages queued at once: count the pages between two pages of a host."""
    for page_seconds in (0.0, 0.1):
        for name, loop in LOOPS.items():
            web = Web(100, 20, page_seconds=page_seconds)
            report(
                f"{name}: 100 hosts, 20 pages of {page_seconds:g} s each: the most pages between "
                "two of a host",
                *(str(measure(side, web, **loop).longest_wait()) for side in SIDES),
            )


def made(kind: Any) -> Any:
    """A queue without an engine."""
    from scrapy.squeues import LifoMemoryQueue
    from scrapy.utils.test import get_crawler

    crawler = get_crawler(settings_dict={"CONCURRENT_REQUESTS_PER_DOMAIN": 10**9})
    downloader = SimpleNamespace(
        slots={},
        active=(),
        get_slot_key=lambda request: urlparse_cached(request).hostname,
        middleware=SimpleNamespace(middlewares=[]),
    )
    crawler.engine = SimpleNamespace(downloader=downloader, spider=None)  # type: ignore[assignment]
    return kind.from_crawler(crawler, LifoMemoryQueue, "")


def timed(work: Callable[[], None], count: int) -> float:
    """Microseconds of CPU time for each operation."""
    gc.collect()
    gc.disable()  # as timeit does
    began = time.process_time()
    work()
    seconds = time.process_time() - began
    gc.enable()
    return seconds / count * 1e6


def steady(kind: Any, origins: int, count: int = 20_000) -> float:
    """Push and pop one request, with this number of origins in the queue."""
    queue = made(kind)
    for number in range(2 * origins):
        queue.push(Request(f"http://h{number % origins}.example/{number}"))
    requests = [Request(f"http://h{n * 7919 % origins}.example/n{n}") for n in range(count)]

    def work() -> None:
        for request in requests:
            queue.push(request)
            queue.pop()

    return timed(work, count)


def through(kind: Any, origins: int, count: int) -> float:
    """Push this number of requests, then pop them."""
    queue = made(kind)
    requests = [Request(f"http://h{n % origins}.example/{n}") for n in range(count)]

    def work() -> None:
        for request in requests:
            queue.push(request)
        while queue.pop() is not None:
            pass

    return timed(work, count)


def cost() -> None:
    """Measure push and pop without downloads: minima of rounds that alternate."""
    from scrapy.pqueues import DownloaderAwarePriorityQueue as Scrapys

    from scrapy_rep import RepPriorityQueue as Ours

    steadily = "CPU of push + pop, {:,} origins in the queue"
    filling = "CPU for each of 100,000 requests of {:,} origins that are pushed, then popped"
    fill = partial(through, count=100_000)
    slowly = partial(steady, count=500)
    rows: list[tuple[str, Callable[..., float], Callable[..., float] | None, int]] = [
        (steadily, steady, steady, 1),
        (steadily, steady, slowly, 1000),
        (steadily, steady, None, 100_000),
        (filling, fill, fill, 1),
        (filling, fill, None, 1000),
        (filling, fill, None, 100_000),
    ]
    best = [[float("inf")] * 2 for _ in rows]
    for _ in range(COST_ROUNDS):
        for least, (_, ours, theirs, origins) in zip(best, rows, strict=True):
            least[0] = min(least[0], ours(Ours, origins))
            if theirs:
                least[1] = min(least[1], theirs(Scrapys, origins))
    for least, (words, _, theirs, origins) in zip(best, rows, strict=True):
        cells = [f"{each:.1f} us" for each in least]
        report(words.format(origins), *(cells if theirs else cells[:1]))


PARTS: dict[str, Callable[[], None]] = {
    "slow": slow,
    "delays": delays,
    "equal": equal,
    "fair": fair,
    "cost": cost,
}


def main() -> None:
    """Serve, crawl, or measure and print the table."""
    if sys.argv[1:2] == ["--serve"]:
        asyncio.run(serve(_web(sys.argv[2])))
        return
    if sys.argv[1:2] == ["--crawl"]:
        side, job, port, settings = sys.argv[2:]
        crawl(side, _web(job), int(port), json.loads(settings))
        return
    print("| measured | " + " | ".join(SIDES) + " |")
    print("| --- | ---: | ---: |")
    for part in sys.argv[1:] or PARTS:
        PARTS[part]()


def _web(text: str) -> Web:
    job = json.loads(text)
    slow, delays = ({int(n): s for n, s in job[name].items()} for name in ("slow", "delays"))
    return Web(job["hosts"], job["pages"], slow, delays, job["page_seconds"])


if __name__ == "__main__":
    main()
