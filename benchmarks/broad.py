"""A broad crawl as the web is, with Scrapy's own robots.txt middleware and with scrapy-rep.

    python benchmarks/broad.py [--hosts 800] [--seconds 45] [--runs 1] [--picture FILE.svg]
        [--without-retries]

The hosts are addresses on loopback, and `KINDS` says what their robots.txt files are like. Each
host has twenty pages, and each of them links to two others and to a page that the file disallows.
Four URLs of each host are queued at the start, and the file disallows two of them. Both sides crawl
in turns, each in its own process, with 100 requests at a time. All counts except the memory are
from the servers. The picture shows the pages over time of the last run.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import socket
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

# How many of a hundred hosts are of a kind.
KINDS = {
    "plain": 45,  # a file
    "404": 15,  # no file
    "403": 4,  # no file for crawlers
    "503": 4,  # unreachable, as are the next two
    "hang": 4,  # no answer for a minute
    "refuse": 5,  # no connection
    "slow": 5,  # the file, after four seconds
    "delay": 12,  # a file with Crawl-delay: 2
    "redirect": 4,  # a redirect to the file
    "reset": 2,  # unreachable, too
}
SIDES: dict[str, dict[str, Any]] = {
    "Scrapy's own": {},
    "scrapy-rep": {"ADDONS": {"scrapy_rep.Addon": 500}, "REP_STORE": "memory"},
}
_PAGES = 20
_START = ("/p0", "/private0", "/p1", "/private1")
_DELAY_SECONDS = 2.0
_SLACK_SECONDS = 0.1  # a request may take that long to arrive
_RULES = b"User-agent: *\nDisallow: /private\n"
_WITHOUT_FILE = ("404", "403")
_UNREACHABLE = ("503", "hang", "reset")
_TEXT = "<p>" + "lorem ipsum " * 1500


def address(number: int) -> str:
    """The address of a host."""
    return f"127.{2 + number // 250}.7.{1 + number % 250}"


def kind_of(number: int) -> str:
    """The kind of a host, always the same for a number."""
    return random.Random(number * 7919).choices(list(KINDS), list(KINDS.values()))[0]


@dataclass
class Web:
    """All hosts, at one port; what they saw, with the time in seconds since `begin`."""

    port: int = 0
    dead_port: int = 0
    began_at: float = 0.0
    seen: list[tuple[float, int, str]] = field(default_factory=list)

    def begin(self) -> None:
        """Forget what was seen."""
        self.seen.clear()
        self.began_at = time.monotonic()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        with suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                path = head.split(" ")[1]
                _, second, _, last = head.lower().split("host:")[1].split(":")[0].strip().split(".")
                number = (int(second) - 2) * 250 + int(last) - 1
                await asyncio.sleep(random.Random(number).uniform(0.05, 0.4))
                self.seen.append((time.monotonic() - self.began_at, number, path))
                status, location, body = await _answer(kind_of(number), path)
                if status == 0:
                    writer.transport.abort()
                    return
                content = "text/html" if body.startswith(b"<") else "text/plain"
                writer.write(
                    f"HTTP/1.1 {status} X\r\nContent-Type: {content}\r\n{location}"
                    f"Content-Length: {len(body)}\r\n\r\n".encode()
                    + body
                )
                await writer.drain()
        writer.close()

    def start(self) -> None:
        """Serve in a thread until the process ends."""
        ready = threading.Event()

        async def main() -> None:
            server = await asyncio.start_server(self.serve, "0.0.0.0", 0, backlog=2048)
            self.port = server.sockets[0].getsockname()[1]
            ready.set()
            await server.serve_forever()

        threading.Thread(target=lambda: asyncio.run(main()), daemon=True).start()
        ready.wait()
        with socket.socket() as unused:
            unused.bind(("0.0.0.0", 0))
            self.dead_port = unused.getsockname()[1]


async def _answer(kind: str, path: str) -> tuple[int, str, bytes]:
    """The status, the Location line and the body of an answer; status 0 resets the connection."""
    if path == "/robots.txt":
        if kind in ("404", "403", "503"):
            return int(kind), "", b"no"
        if kind == "redirect":
            return 301, "Location: /rules.txt\r\n", b""
        await asyncio.sleep({"slow": 4, "hang": 60}.get(kind, 0))
        delay = b"Crawl-delay: %d\n" % _DELAY_SECONDS if kind == "delay" else b""
        return 0 if kind == "reset" else 200, "", _RULES + delay
    if path == "/rules.txt":
        return 200, "", _RULES
    number = int("".join(filter(str.isdigit, path)) or 0)
    links = [f"/p{one}" for one in (2 * number + 1, 2 * number + 2) if one < _PAGES]
    links.append(f"/private{number}")
    text = "".join(f"<a href='{link}'>x</a>" for link in links)
    return 200, "", f"<html>{text}{_TEXT}</html>".encode()


@dataclass(frozen=True)
class Found:
    """What one crawl did: rows of the table, and the times of its first visits to pages."""

    rows: dict[str, int]
    times: list[float]

    @classmethod
    def of(cls, seen: list[tuple[float, int, str]], megabytes: int) -> Found:
        """Count what the servers saw."""
        first: dict[tuple[int, str], float] = {}
        visits: dict[int, list[float]] = defaultdict(list)
        disallowed = unreachable = 0
        for at, number, path in sorted(seen):
            kind = kind_of(number)
            if kind == "delay":
                visits[number].append(at)
            if not path.startswith("/p"):
                continue
            if kind in _UNREACHABLE:
                unreachable += 1
            elif path.startswith("/private") and kind not in _WITHOUT_FILE:
                disallowed += 1
            else:
                first.setdefault((number, path), at)
        least = _DELAY_SECONDS - _SLACK_SECONDS
        gaps = [after - before for times in visits.values() for before, after in pairwise(times)]
        rows = {
            "allowed pages downloaded": len(first),
            "pages downloaded that a rule disallows": disallowed,
            "pages downloaded of sites with an unreachable robots.txt": unreachable,
            "requests sooner than the Crawl-delay": sum(gap < least for gap in gaps),
            "memory at its peak (MB)": megabytes,
        }
        return cls(rows, sorted(first.values()))


def crawl(side: str, hosts: int, seconds: int, ports: list[int], more: dict[str, Any]) -> None:
    """Crawl in this process, and print the memory at its peak."""
    import resource

    import scrapy
    from scrapy.crawler import AsyncCrawlerProcess

    port, dead_port = ports
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))  # for both sides

    class BroadSpider(scrapy.Spider):
        name = "broad"

        async def start(self) -> AsyncIterator[Any]:
            for number in range(hosts):
                at = dead_port if kind_of(number) == "refuse" else port
                for path in _START:
                    yield scrapy.Request(f"http://{address(number)}:{at}{path}")

        def parse(self, response: Any) -> Iterator[Any]:
            yield from response.follow_all(css="a")

    process = AsyncCrawlerProcess(
        settings={
            "ROBOTSTXT_OBEY": True,
            "USER_AGENT": "BroadBot/1.0 (+https://example.com/bot)",
            "CONCURRENT_REQUESTS": 100,
            "DOWNLOAD_DELAY": 0,
            "DOWNLOAD_TIMEOUT": 15,
            "CLOSESPIDER_TIMEOUT": seconds,
            "LOG_LEVEL": "CRITICAL",
            "TELNETCONSOLE_ENABLED": False,
            **SIDES[side],
            **more,
        }
    )
    process.crawl(BroadSpider)
    process.start()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)


def measured(web: Web, side: str, hosts: int, seconds: int, more: dict[str, Any]) -> Found:
    """One crawl in a process of its own."""
    web.begin()
    given = json.dumps([side, hosts, seconds, [web.port, web.dead_port], more])
    command = [sys.executable, __file__, "--crawl", given]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    seen = [one for one in web.seen if one[0] < seconds + 1]
    return Found.of(seen, int(done.stdout.split()[-1]))


# The picture

_WIDTH, _HEIGHT = 640, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 140, 44, 44
_STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #333 }
  .ground { fill: #fff }
  .title { font-weight: 600; font-size: 16px }
  .grid { stroke: #ddd } .axis { stroke: #888 }
  polyline { fill: none; stroke-width: 3 } .ours { stroke: #0a6 } .own { stroke: #b50 }
  .ours-text { fill: #075; font-weight: 600 } .own-text { fill: #930; font-weight: 600 }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #181a1b } text { fill: #ddd } .grid { stroke: #444 }
    .ours { stroke: #3d9 } .own { stroke: #f95 }
    .ours-text { fill: #3d9 } .own-text { fill: #f95 }
  }"""


def picture(found: dict[str, Found], seconds: int) -> str:
    """The pages over time of both sides, as SVG."""
    most = max(len(one.times) for one in found.values())
    step = next(size for size in (10, 50, 100, 500, 1000, 2000, 5000) if most / size <= 6)
    top = -(-most // step) * step
    width, height = _WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM

    def x(at: float) -> float:
        return round(_LEFT + width * min(at, seconds) / seconds, 1)

    def y(count: float) -> float:
        return round(_TOP + height * (1 - count / top), 1)

    own, ours = (found[side].times for side in SIDES)
    told = f"After {seconds} seconds: scrapy-rep {len(ours):,}, Scrapy's own {len(own):,}."
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img">',
        "<title>Allowed pages of a broad crawl over time</title>",
        f"<desc>{told}</desc>",
        f"<style>{_STYLE}\n</style>",
        f'<rect class="ground" width="{_WIDTH}" height="{_HEIGHT}"/>',
        f'<text class="title" x="{_LEFT}" y="22">Allowed pages downloaded, by seconds</text>',
    ]
    for count in range(0, top + 1, step):
        kind, at = "grid" if count else "axis", y(count)
        lines.append(f'<path class="{kind}" d="M{_LEFT} {at}H{_LEFT + width}"/>')
        lines.append(f'<text x="{_LEFT - 8}" y="{at + 5}" text-anchor="end">{count:,}</text>')
    bottom = f'y="{_TOP + height + 22}" text-anchor="middle"'
    seconds_told = range(0, seconds + 1, max(1, seconds // 3))
    lines += [f'<text x="{x(at)}" {bottom}>{at} s</text>' for at in seconds_told]
    for side, name, times in zip(SIDES, ("own", "ours"), (own, ours), strict=True):
        counts = [(second, sum(at <= second for at in times)) for second in range(seconds + 1)]
        points = " ".join(f"{x(second)},{y(count)}" for second, count in counts)
        lines.append(f'<polyline class="{name}" points="{points}"/>')
        where = f'x="{_LEFT + width + 8}" y="{y(counts[-1][1]) + 5}"'
        lines.append(f'<text class="{name}-text" {where}>{side}</text>')
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    """Measure both sides, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=800)
    parser.add_argument("--seconds", type=int, default=45)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--picture", type=Path)
    parser.add_argument("--without-retries", action="store_true")
    parser.add_argument("--crawl", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.crawl:
        crawl(*json.loads(options.crawl))
        return
    more = {"RETRY_ENABLED": False} if options.without_retries else {}
    web = Web()
    web.start()
    found: dict[str, list[Found]] = {side: [] for side in SIDES}
    for _ in range(options.runs):
        for side, results in found.items():
            results.append(measured(web, side, options.hosts, options.seconds, more))
    print(f"| {options.hosts:,} hosts, {options.seconds} seconds | {' | '.join(SIDES)} |")
    print("| --- | ---: | ---: |")
    for row in found["scrapy-rep"][0].rows:
        cells = (f"{median(one.rows[row] for one in results):,g}" for results in found.values())
        print(f"| {row} | {' | '.join(cells)} |")
    if options.picture:
        last = {side: results[-1] for side, results in found.items()}
        options.picture.write_text(picture(last, options.seconds), encoding="utf-8")


if __name__ == "__main__":
    main()
