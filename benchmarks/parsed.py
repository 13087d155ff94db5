"""CPU time per page of a crawl that parses its pages: Scrapy's own, scrapy-rep, and signing.

    python benchmarks/parsed.py [--runs 7]

60 hosts on loopback have 15 pages each, of 60 kB with 150 links. The spider runs a LinkExtractor on
every page. The site runs in its own process, and its CPU is not counted. Each crawl is a new
process, and the sides alternate. The ratio of a round is scrapy-rep to Scrapy's own, or signed
requests to others.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import resource
import statistics
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scrapy import Request, Spider, signals
from scrapy.crawler import CrawlerProcess
from scrapy.http import TextResponse
from scrapy.linkextractors import LinkExtractor

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy_rep.extras.identity.keys import KeyPair

HOSTS, PAGES, LINKS, PAGE_OCTETS = 60, 15, 150, 60_000
OWN, OURS, SIGNED = "Scrapy's own", "ours", "ours, signed"
SIDES: dict[str, dict[str, Any]] = {
    OWN: {},
    OURS: {"ADDONS": {"scrapy_rep.Addon": 500}, "REP_STORE": "memory"},
    SIGNED: {
        "ADDONS": {"scrapy_rep.Addon": 500},
        "REP_STORE": "memory",
        "REP_SIGN_AGENT": "https://bot.example",
        "REP_SIGN_HTTP": True,
    },
}
ROBOTS_TXT = "User-agent: *\n" + "".join(f"Disallow: /private/{n}/\n" for n in range(30))
_ITEM = '<li class="entry"><a href="/section/{n}/page.html?from=list">Entry {n}</a><p>{text}</p>'


def _page() -> str:
    text = "x" * (PAGE_OCTETS // LINKS - len(_ITEM))
    items = "".join(_ITEM.format(n=number, text=text) for number in range(LINKS))
    return f"<html><head><title>A page</title></head><body><ul>{items}</ul></body></html>"


def _answer(body: str, kind: str) -> bytes:
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


def serve(told: Any) -> None:
    """Serve all hosts on one port until the process is ended; print the port."""
    page, file = _answer(_page(), "text/html; charset=utf-8"), _answer(ROBOTS_TXT, "text/plain")

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            try:
                head = await reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, ConnectionError):
                return
            writer.write(file if head.startswith(b"GET /robots.txt ") else page)

    async def run() -> None:
        server = await asyncio.start_server(client, "0.0.0.0", 0)
        told.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


class ParsedSpider(Spider):
    """Extracts the links of every page."""

    name = "parsed"

    def __init__(self, port: int) -> None:
        super().__init__()
        self.homes = [f"http://127.0.2.{1 + host}:{port}" for host in range(HOSTS)]
        self.extractor = LinkExtractor()

    async def start(self) -> AsyncIterator[Any]:
        """The pages of all hosts, in turn."""
        for number in range(PAGES):
            for home in self.homes:
                yield Request(f"{home}/{number}")

    def parse(self, response: TextResponse) -> Iterator[Any]:  # type: ignore[override]
        """Count the links of a page."""
        yield {"links": len(self.extractor.extract_links(response))}


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def crawl(side: str, port: int, key: str) -> None:
    """Run one crawl, and print its cost as JSON."""
    if side == SIGNED:
        SIDES[side]["REP_SIGN_KEY"] = key
    process = CrawlerProcess(
        {
            "ROBOTSTXT_OBEY": True,
            "LOG_ENABLED": False,
            "TELNETCONSOLE_ENABLED": False,
            **SIDES[side],
        }
    )
    crawler = process.create_crawler(ParsedSpider)
    at: dict[str, float] = {}
    crawler.signals.connect(
        lambda: at.update(began=_cpu_seconds()), signals.engine_started, weak=False
    )
    crawler.signals.connect(
        lambda: at.update(ended=_cpu_seconds()), signals.engine_stopped, weak=False
    )
    process.crawl(crawler, port=port)
    process.start()
    pages = crawler.stats.get_value("item_scraped_count")
    assert pages == HOSTS * PAGES, pages
    print(json.dumps({"us": 1e6 * (at["ended"] - at["began"]) / pages}))


def main() -> None:
    """Run the sides in turn, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--crawl", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.crawl:
        side, port, key = arguments.crawl
        crawl(side, int(port), key)
        return
    here, there = multiprocessing.Pipe()
    site = multiprocessing.Process(target=serve, args=(there,), daemon=True)
    site.start()
    port, folder = here.recv(), TemporaryDirectory()
    key = str(Path(folder.name) / "bot.pem")
    KeyPair.create(key)
    found: dict[str, list[float]] = {side: [] for side in SIDES}
    for run in range(arguments.runs):
        for side in sorted(SIDES, reverse=bool(run % 2)):
            command = [sys.executable, __file__, "--crawl", side, str(port), key]
            done = subprocess.run(command, check=True, capture_output=True, text=True)
            found[side].append(json.loads(done.stdout)["us"])
    site.terminate()
    print("| | CPU for a page, least | median | ratio of the least | median ratio of a round |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for side, base in ((OWN, OWN), (OURS, OWN), (SIGNED, OURS)):
        us = found[side]
        ratios = [one / other for one, other in zip(us, found[base], strict=True)]
        print(
            f"| {side} | {min(us) / 1000:.2f} ms | {statistics.median(us) / 1000:.2f} ms "
            f"| {min(us) / min(found[base]):.3f} | {statistics.median(ratios):.3f} |"
        )


if __name__ == "__main__":
    main()
