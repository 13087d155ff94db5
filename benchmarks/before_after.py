"""The README's table of facts: the same crawls with Scrapy's own middleware and with scrapy-rep.

    python benchmarks/before_after.py

Each case is a small site on loopback and a few URLs that are queued at once. Each middleware runs
it in its own process. The table shows the requests that the site received.
"""

from __future__ import annotations

import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

ROBOTS_TXT = "/robots.txt"
DISALLOW_ALL = b"User-agent: *\nDisallow: /\n"

SIDES: dict[str, dict[str, Any]] = {
    "Scrapy's own": {},
    "scrapy-rep": {"ADDONS": {"scrapy_rep.Addon": 500}},
}


class Site(BaseHTTPRequestHandler):
    """A site that records its requests, and answers its robots.txt as the case says."""

    protocol_version = "HTTP/1.1"
    case: Case
    asked: list[str]
    octets: list[int]

    def do_GET(self) -> None:
        """Record the path and answer."""
        self.asked.append(self.path)
        if self.path == ROBOTS_TXT:
            self.case.robots_txt(self)
        else:
            self.answer(200, b"a page")

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        """Send a whole answer, and record how much of it the client read."""
        self.send_response(status)
        for name, value in {"Content-Type": "text/plain", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        for start in range(0, len(body), 1 << 16):
            time.sleep(0.002)  # 33 MB/s: without a pause, what the kernel buffers would count
            try:
                self.wfile.write(body[start : start + (1 << 16)])
            except OSError:
                self.close_connection = True
                return
            self.octets.append(len(body[start : start + (1 << 16)]))

    def reset(self) -> None:
        """Break the connection without an answer."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def finish(self) -> None:
        """Tolerate a connection that is gone."""
        try:
            super().finish()
        except (OSError, ValueError):
            return

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@dataclass(frozen=True)
class Case:
    """One fact: the robots.txt of the site, the requested paths, and the counted value."""

    fact: str
    robots_txt: Callable[[Site], object]
    paths: tuple[str, ...] = ("/page",)
    counted: str = "pages"
    settings: tuple[tuple[str, Any], ...] = ()


def slow(site: Site) -> None:
    """Disallow everything, after 0.3 s."""
    time.sleep(0.3)
    site.answer(200, DISALLOW_ALL)


_AT_ONCE = (("REP_UNREACHABLE_HOLD_SECONDS", 0),)  # otherwise the request is kept for a minute
CASES = (
    Case(
        "12 disallowed URLs queued at once, robots.txt takes 0.3 s: pages downloaded",
        slow,
        tuple(f"/private/{number}" for number in range(12)),
    ),
    Case(
        "robots.txt answers 503 (RFC 9309: complete disallow): pages downloaded",
        lambda site: site.answer(503, b""),
        settings=_AT_ONCE,
    ),
    Case(
        "robots.txt resets the connection (RFC 9309: complete disallow): pages downloaded",
        Site.reset,
        settings=_AT_ONCE,
    ),
    Case(
        "robots.txt answers 404, and its body says 'Disallow: /' (no file: all allowed): "
        "pages downloaded",
        lambda site: site.answer(404, DISALLOW_ALL),
    ),
    Case(
        "robots.txt redirects to itself: times it is fetched",
        lambda site: site.answer(301, b"", Location=ROBOTS_TXT),
        counted="robots.txt",
    ),
    Case(
        "a robots.txt of 40 MB: MB that the site sent",
        lambda site: site.answer(200, DISALLOW_ALL + b"#" * 40_000_000),
        counted="megabytes",
    ),
    Case(
        "a start URL outside of allowed_domains, disallowed by its robots.txt: pages downloaded",
        lambda site: site.answer(200, DISALLOW_ALL),
        settings=(("allowed_domains", ["example.com"]),),
    ),
    Case(
        "'User-agent: https / Disallow: /' (the default User-Agent contains a URL; no crawler is "
        "called https): pages downloaded",
        lambda site: site.answer(200, b"User-agent: https\nDisallow: /\n"),
    ),
)


def crawl(side: str, case: Case, base: str) -> None:
    """Queue all URLs of a case at once."""
    import scrapy
    from scrapy.crawler import AsyncCrawlerProcess

    class Spider(scrapy.Spider):
        name = "facts"
        start_urls = [base + path for path in case.paths]  # noqa: RUF012
        allowed_domains = dict(case.settings).get("allowed_domains", [])

    common = {"ROBOTSTXT_OBEY": True, "LOG_ENABLED": False, "TELNETCONSOLE_ENABLED": False}
    process = AsyncCrawlerProcess(common | SIDES[side] | dict(case.settings))
    process.crawl(Spider)
    process.start()


def measure(side: str, number: int) -> int:
    """The value that the site of a case counted for one middleware."""
    handler: Any = type("Handler", (Site,), {"case": CASES[number], "asked": [], "octets": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{server.server_port}"
        subprocess.run([sys.executable, __file__, side, str(number), base], check=True, timeout=120)
        server.shutdown()
    asked: list[str] = handler.asked
    octets: list[int] = handler.octets
    counts = {
        "robots.txt": asked.count(ROBOTS_TXT),
        "pages": len(asked) - asked.count(ROBOTS_TXT),
        "megabytes": round(sum(octets) / 1e6),
    }
    return counts[CASES[number].counted]


def main() -> None:
    """Run one side of one case, print the row of a case, or run all cases and print the table."""
    if sys.argv[1:2] == ["--row"]:
        number = int(sys.argv[2])
        print(f"| {CASES[number].fact} | {measure('scrapy-rep', number)} |")
        return
    if len(sys.argv) > 1:
        crawl(sys.argv[1], CASES[int(sys.argv[2])], sys.argv[3])
        return
    print("| case |", " | ".join(SIDES), "|")
    print("| --- |", " | ".join("---:" for _ in SIDES), "|")
    for number, case in enumerate(CASES):
        print(f"| {case.fact} |", " | ".join(str(measure(side, number)) for side in SIDES), "|")


if __name__ == "__main__":
    main()
