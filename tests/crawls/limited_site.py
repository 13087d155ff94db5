"""A site on loopback that limits the rate of its pages."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from tests.protocol.limiters import Site as Limiter

SILENCE, SILENT_SECONDS = 0, 2.0
"""The status of a page that is not answered, and how long its connection stays open."""

Fields = Callable[[float], Mapping[str, str]]


@dataclass
class LimitedSite:
    """The site, and what it has seen.

    Attributes:
        limiter: answers for its pages, by the time and the path.
        fields: more header fields of its pages; for the time of an answer.
        delay: how long the site takes to answer a path, in seconds.
        times: when each page was served, by its path.
        refused: when each refusal was sent.
    """

    limiter: Limiter
    fields: Fields = lambda _now: {}
    delay: Callable[[str], float] = lambda _path: 0.0
    port: int = 0
    times: dict[str, float] = field(default_factory=dict)
    refused: list[float] = field(default_factory=list)

    def urls(self, count: int) -> list[str]:
        """The URLs of some of its pages."""
        return [f"http://127.0.0.1:{self.port}/{number}" for number in range(count)]

    @property
    def seconds(self) -> float:
        """The time from the first page to the last."""
        return max(self.times.values()) - min(self.times.values())


@contextmanager
def limited(
    limiter: Limiter,
    fields: Fields = lambda _now: {},
    delay: Callable[[str], float] = lambda _path: 0.0,
) -> Iterator[LimitedSite]:
    """Serve such a site."""
    lock = threading.Lock()
    site = LimitedSite(limiter, fields, delay)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body, status, named = b"User-agent: *\nDisallow: /private\n", 200, {}
            if self.path != "/robots.txt":
                with lock:
                    now = time.monotonic()
                    status, retry_after = site.limiter(now, self.path)
                    named = dict(site.fields(now))
                    if status == 200:
                        site.times[self.path] = now
                    else:
                        site.refused.append(now)
                if retry_after is not None:
                    named["Retry-After"] = f"{retry_after:.0f}"
                body = b"<html>page</html>"
                time.sleep(site.delay(self.path))
            if status == SILENCE:
                time.sleep(SILENT_SECONDS)
                return
            self.send_response(status)
            for name, value in {**named, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Write nothing."""

    server = ThreadingHTTPServer(("", 0), Handler)  # proxies of one host
    server.daemon_threads = True
    site.port = server.server_port
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
