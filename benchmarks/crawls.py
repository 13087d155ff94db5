"""Whole crawls on loopback: CPU time per page with scrapy-rep, with Scrapy's own, and with neither.

    python benchmarks/crawls.py [--runs 7] [--minutes N] [--small] [--shapes a b c] [--sides ...]
    python benchmarks/crawls.py --sides 'ours, memory' 'ours, audited'
    python benchmarks/crawls.py --abreast --sides 'obey off' 'obey off again' 'ours, memory'
    python benchmarks/crawls.py --profile 'ours, memory' --shapes c

The site runs in its own process, and its CPU is not counted. CPU before the engine starts has its
own column. Every crawl is a new process, and the sides alternate, in another order in each run.
SQLite begins with an empty file. The tables contain

* *CPU for a page*: user and system time of the crawl from `engine_started` to `engine_stopped`,
  divided by its pages: the least of the runs;
* *pages/s*: by the wall clock, the best of the runs;
* the ratios to the crawls of the same round without robots.txt and with Scrapy's own middleware, or
  if `--sides` names neither, to the first side: the median, and in brackets the quartiles. Use
  these ratios: other work on the machine makes all figures worse. If the quartiles are far apart,
  the run was too noisy for a ranking;
* *CPU before the first request*: before the engine starts, the least.

Pages are small and callbacks extract nothing, so the figures show the framework alone. A real crawl
has more costs, which make every ratio smaller. All pages are allowed. Every origin is an address of
127.0.0.0/8 with a robots.txt of 30 rules. `CONCURRENT_REQUESTS` is Scrapy's default.

`--abreast` runs all sides of a round at the same time on one core, and the site on the others, so
other work affects all sides equally. If alternating rounds differ by 10 %, these ratios differ by
one or two. But the crawls compete for the caches of the processor, which makes rarely called code
slower. Ignore pages/s there. The difference between `obey off again` and `obey off` is noise.

`--profile` runs one side once, and samples its stack about 250 times a second of CPU time. It
prints shares of the CPU time, and microseconds per page, for functions alone and with the functions
that they call.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

OFF, OWN, MEMORY, SQLITE = "obey off", "Scrapy's own", "ours, memory", "ours, sqlite"
AUDITED, AGAIN = "ours, audited", "obey off again"
_OURS = {"ADDONS": {"scrapy_rep.Addon": 500}, "ROBOTSTXT_OBEY": True}
SIDES: dict[str, dict[str, Any]] = {
    OFF: {"ROBOTSTXT_OBEY": False},
    OWN: {"ROBOTSTXT_OBEY": True},
    MEMORY: {**_OURS, "REP_STORE": "memory"},
    SQLITE: {**_OURS, "REP_STORE": "sqlite"},
    AUDITED: {**_OURS, "REP_STORE": "memory"},  # and a trail in the folder of the run
    AGAIN: {"ROBOTSTXT_OBEY": False},
}
_USUAL = [side for side in SIDES if side != AGAIN]
LIMIT_SECONDS = 600
SMALL = 10  # how many times fewer pages or origins with --small
SAMPLE_SECONDS = 0.001
SHOWN = 60


Found = dict[str, list[dict[str, Any]]]
"""The costs of the crawls of a shape, by side."""


@dataclass(frozen=True)
class Shape:
    """A number of origins, and of pages for each."""

    origins: int
    pages: int

    @property
    def urls(self) -> int:
        """How many pages in all."""
        return self.origins * self.pages


SHAPES = {"a": Shape(1, 3000), "b": Shape(300, 20), "c": Shape(3000, 1)}

_RULES = "".join(
    f"Disallow: /{name}\n"
    for name in (
        *(
            "admin/",
            "cart",
            "checkout/",
            "login",
            "logout",
            "account/",
            "search",
            "tmp/",
            "cgi-bin/",
        ),
        *("private/", "api/", "feed/", "print/", "*?sort=", "*?session=", "*.pdf$", "*/edit$"),
        *(f"section/{number}/hidden/" for number in range(12)),
    )
)
ROBOTS_TXT = f"User-agent: *\n{_RULES}Allow: /api/public/\n\nUser-agent: BadBot\nDisallow: /\n"
PAGE = "<html><body>" + "<p>A page of a site.</p>" * 40 + "</body></html>"


def _answer(body: str, kind: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


class SiteProtocol(asyncio.Protocol):
    """Answers requests on one connection, and keeps it open."""

    _FILE = _answer(ROBOTS_TXT, "text/plain")
    _PAGE = _answer(PAGE, "text/html; charset=utf-8")

    def __init__(self) -> None:
        self._octets = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer each complete request."""
        self._octets += data
        while (stop := self._octets.find(b"\r\n\r\n")) >= 0:
            is_file = self._octets.startswith(b"GET /robots.txt ")
            self._octets = self._octets[stop + 4 :]
            self._transport.write(self._FILE if is_file else self._PAGE)  # type: ignore[attr-defined]


async def serve() -> None:
    """Answer until standard input ends."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(SiteProtocol, "0.0.0.0", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.readline)


def host(number: int) -> str:
    """The address of an origin."""
    return f"127.{1 + number // 62500}.{1 + number // 250 % 250}.{1 + number % 250}"


@contextmanager
def site() -> Iterator[int]:
    """Run the site, and give its port."""
    command = [sys.executable, __file__, "--serve"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.kill()
        process.wait()


def crawl(side: str, shape: Shape, port: int, *, is_profiled: bool = False) -> dict[str, Any]:
    """Run one crawl in this process, and return its cost."""
    import scrapy
    from scrapy import signals
    from scrapy.crawler import AsyncCrawlerProcess

    came: Counter[str] = Counter()

    class PagesSpider(scrapy.Spider):
        name = "pages"

        async def start(self) -> Any:
            for page in range(shape.pages):
                for number in range(shape.origins):
                    url = f"http://{host(number)}:{port}/section/{page}/a-page-{page}.html"
                    yield scrapy.Request(url, errback=self.failed)

        def parse(self, response: Any) -> None:
            came["pages"] += response.status == 200

        def failed(self, _: Any) -> None:
            came["failed"] += 1

    figures: dict[str, Any] = {}
    samples = Samples()

    def started() -> None:
        gc.collect()
        figures["set_up_cpu"] = time.process_time()
        figures["began"] = time.monotonic()
        if is_profiled:
            samples.start()

    def stopped() -> None:
        samples.stop()
        figures["cpu"] = time.process_time() - figures["set_up_cpu"]
        figures["seconds"] = time.monotonic() - figures["began"]

    with tempfile.TemporaryDirectory() as folder:
        common = {
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
            "REP_STORE_PATH": str(Path(folder, "robots.sqlite")),
            "REP_AUDIT_DIR": str(Path(folder, "audit")) if side == AUDITED else "",
        }
        process = AsyncCrawlerProcess({**common, **SIDES[side]})
        crawler = process.create_crawler(PagesSpider)
        crawler.signals.connect(started, signals.engine_started, weak=False)
        crawler.signals.connect(stopped, signals.engine_stopped, weak=False)
        process.crawl(crawler)
        process.start()
    if is_profiled:
        samples.show(figures["cpu"] * 1e6 / shape.urls)
    return {**figures, **came}


class Samples:
    """Samples of the stack of a process, taken at intervals of its CPU time."""

    def __init__(self) -> None:
        self._stacks: Counter[tuple[str, ...]] = Counter()

    def start(self) -> None:
        """Start to sample."""
        signal.signal(signal.SIGPROF, self._look)
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)

    def stop(self) -> None:
        """Stop to sample."""
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _look(self, _: int, frame: FrameType | None) -> None:
        stack = []
        while frame is not None:
            stack.append(_place(frame))
            frame = frame.f_back
        self._stacks[tuple(stack)] += 1

    def show(self, cpu_microseconds: float) -> None:
        """Print the functions with the most CPU time."""
        alone: Counter[str] = Counter()
        whole: Counter[str] = Counter()
        for stack, count in self._stacks.items():
            alone[stack[0]] += count
            whole.update(dict.fromkeys(stack, count))
        total = sum(alone.values())
        each = cpu_microseconds / total
        for title, counts in (("by themselves", alone), ("with what they call", whole)):
            print(f"\n{total:,} samples, functions {title}: share, us per page")
            often = [(place, count) for place, count in counts.most_common() if count < total * 0.9]
            for place, count in often[:SHOWN]:
                print(f"{100 * count / total:6.1f} % {count * each:9.1f}  {place}")


def _place(frame: FrameType) -> str:
    path = frame.f_code.co_filename
    for package in ("site-packages/", "scrapy_rep/", "lib/python"):
        _, found, rest = path.rpartition(package)
        if found:
            path = rest if package != "scrapy_rep/" else found + rest
            break
    return f"{path}:{getattr(frame.f_code, 'co_qualname', frame.f_code.co_name)}"


class Crawl:
    """One crawl in its own process, and on its own core if `core` is given."""

    def __init__(self, side: str, shape: Shape, port: int, core: int | None = None) -> None:
        self._side, self._shape = side, shape
        job = json.dumps([side, shape.origins, shape.pages, port, core])
        command = [sys.executable, __file__, "--crawl", job]
        self._process = subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE)

    def figures(self) -> dict[str, Any]:
        """Wait for the end of the crawl, and return its cost.

        Raises:
            RuntimeError: some pages are missing, so the figures are useless.
        """
        out, _ = self._process.communicate(timeout=LIMIT_SECONDS)
        found: dict[str, Any] = json.loads(out.splitlines()[-1]) if out else {}
        if found.get("pages") != self._shape.urls:
            raise RuntimeError(f"{self._side}: {found}")
        return found


def environment() -> dict[str, str]:
    """The environment of a crawl, with fixed hashes and a cache for bytecode.

    Without the cache, only our modules would be compiled each time, because installed packages have
    their bytecode. That would add time and fragment the memory of a crawl.
    """
    found = {**os.environ, "PYTHONHASHSEED": "0"}
    found.pop("PYTHONDONTWRITEBYTECODE", None)
    return found


def one_core() -> int:
    """Choose a core for parallel crawls; this process and the site use the others.

    Raises:
        SystemExit: this system does not have two cores.
    """
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) < 2:
        raise SystemExit("--abreast needs two cores, and a system that lets a process choose one")
    os.sched_setaffinity(0, cores[1:])
    return cores[0]


def compare(
    shapes: dict[str, Shape],
    sides: list[str],
    runs: int,
    minutes: float,
    *,
    is_abreast: bool = False,
) -> None:
    """Measure this number of rounds, or as many as fit into the time; print a table per shape.

    Each round measures all shapes, so all have the same number of runs.
    """
    core = one_core() if is_abreast else None
    found: dict[str, Found] = {name: {side: [] for side in sides} for name in shapes}
    began, longest = time.monotonic(), 0.0
    with site() as port:
        for run in range(runs):
            round_began = time.monotonic()
            if run and round_began + longest - began > minutes * 60:
                break
            turn = run % len(sides)
            for name, shape in shapes.items():
                order = sides[turn:] + sides[:turn]
                crawls = ((side, Crawl(side, shape, port, core)) for side in order)
                for side, one in list(crawls) if is_abreast else crawls:
                    found[name][side].append(one.figures())
            longest = max(longest, time.monotonic() - round_began)
            print(f"round {run + 1}: {time.monotonic() - round_began:.0f} s", file=sys.stderr)
    for name, shape in shapes.items():
        _show(name, shape, found[name])


def _show(name: str, shape: Shape, found: Found) -> None:
    """Print the table of a shape."""
    ratios = [f"/ {side}" for side in _bases(found)]
    columns = ("CPU for a page", *ratios, "pages/s", *ratios, "CPU before the first request")
    print(f"\n| ({name}) {shape.origins:,} x {shape.pages:,} | " + " | ".join(columns) + " |")
    print("| --- |" + " ---: |" * len(columns))
    for side, measured in found.items():
        cells = [
            *_cells(found, side, "cpu", 1e6 / shape.urls),
            *_cells(found, side, "seconds", shape.urls, is_rate=True),
            f"{min(one['set_up_cpu'] for one in measured) * 1e3:.0f} ms",
        ]
        print(f"| {side} | " + " | ".join(cells) + " |", flush=True)


def _bases(found: Found) -> list[str]:
    """The sides that the others are compared with."""
    return [side for side in (OFF, OWN) if side in found] or [next(iter(found))]


def _cells(
    found: Found, side: str, name: str, factor: float, *, is_rate: bool = False
) -> Iterator[str]:
    """The best of a figure, and median and quartiles of its ratios to the bases within a round."""

    def shown(seconds: float) -> float:
        return factor / seconds if is_rate else factor * seconds

    figures = {each: [shown(one[name]) for one in runs] for each, runs in found.items()}
    best = max if is_rate else min
    least = best(figures[side])
    yield f"{least:.0f}" if is_rate else f"{least / 1000:.2f} ms"
    for base in _bases(found):
        if base == side:
            yield "-"
            continue
        pairs = zip(figures[side], figures[base], strict=True)
        ratios = [one / other for one, other in pairs]
        low, median, high = statistics.quantiles(ratios * 2, n=4)  # one value has no quartiles
        yield f"{median:.2f} ({low:.2f} to {high:.2f})"


def main() -> None:
    """Serve, crawl, profile, or measure and print the tables."""
    parser = argparse.ArgumentParser(description="CPU time per page of whole crawls.")
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--minutes", type=float, default=120.0, help="start no round beyond these")
    parser.add_argument("--small", action="store_true", help=f"a {SMALL}th of each shape")
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=_USUAL)
    parser.add_argument("--abreast", action="store_true", help="all sides at once, on one core")
    parser.add_argument("--profile", metavar="SIDE", choices=SIDES)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--crawl", metavar="JOB", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
        return
    if options.crawl:
        side, origins, pages, port, core = json.loads(options.crawl)
        if core is not None:
            os.sched_setaffinity(0, [core])
        print(json.dumps(crawl(side, Shape(origins, pages), port)))
        return
    shapes = {name: _size(SHAPES[name], is_small=options.small) for name in options.shapes}
    if options.profile is None:
        compare(shapes, options.sides, options.runs, options.minutes, is_abreast=options.abreast)
        return
    with site() as port:  # a process can start one crawl
        crawl(options.profile, shapes[options.shapes[0]], port, is_profiled=True)


def _size(shape: Shape, *, is_small: bool) -> Shape:
    if not is_small:
        return shape
    many = max(1, shape.origins // SMALL)
    return Shape(many, shape.urls // SMALL // many)


if __name__ == "__main__":
    main()
