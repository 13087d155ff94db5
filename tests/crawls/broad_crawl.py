"""One broad crawl in this process, with few open files.

    python -m tests.crawls.broad_crawl JSON

Prints the number of pages, the stats and the limits of open files as the last line.
"""

from __future__ import annotations

import json
import os
import resource
import socket
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, suppress
from threading import Thread
from typing import Any

from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess, CrawlerProcess
from scrapy.http import Response

from tests.crawls.broad_web import broad_web, host_of

_LOOPS: dict[str, dict[str, Any]] = {
    "asyncio": {},
    "select": {"TWISTED_REACTOR": "twisted.internet.selectreactor.SelectReactor"},
    "reactorless": {"TWISTED_REACTOR_ENABLED": False},
}


class BroadSpider(Spider):
    """Requests pages of each host."""

    name = "broad"

    def __init__(self, task: dict[str, Any], pages: set[str]) -> None:
        super().__init__()
        self.task, self.pages = task, pages

    async def start(self) -> AsyncIterator[Any]:
        for number in range(self.task["hosts"]):
            for page in range(self.task.get("pages", 1)):
                host = f"h{number}.test" if self.task.get("names") else host_of(number)
                yield Request(f"http://{host}:{self.task['port']}/p{page}")

    def parse(self, response: Response) -> Iterator[Any]:
        if self.task.get("taken") and not self.pages:
            Thread(target=_take_files, daemon=True).start()
        self.pages.add(response.url)
        yield from ()


def _resolve_names() -> None:
    """Resolve the names of hosts, each with a file as a resolver needs it."""
    real = socket.getaddrinfo

    def look_up(host: Any, *arguments: Any, **named: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else str(host)
        if not name.endswith(".test"):
            return real(host, *arguments, **named)
        try:
            socket.socket().close()
        except OSError:
            raise socket.gaierror(-3, "Temporary failure in name resolution") from None
        return real(host_of(int(name[1:-5])), *arguments, **named)

    def one(host: Any) -> str:
        return str(look_up(host, None)[0][4][0])

    socket.getaddrinfo, socket.gethostbyname = look_up, one


def _take_files() -> None:
    """Take all files that this process may open, and each that becomes free."""
    taken = []
    while True:
        with suppress(OSError):
            while True:
                taken.append(os.open(os.devnull, os.O_RDONLY))
        time.sleep(0.001)


def main(task: dict[str, Any]) -> None:
    before, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if "files" in task or "taken" in task:
        files = task.get("files", 150)
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))
    elif "soft" in task:
        resource.setrlimit(resource.RLIMIT_NOFILE, (task["soft"], hard))
    if task.get("names"):
        _resolve_names()
    concurrent = task.get("concurrent", 100)
    settings = {
        "ADDONS": {"scrapy_rep.Addon": 500},
        "ROBOTSTXT_OBEY": True,
        "REP_STORE": "memory",
        "LOG_LEVEL": "WARNING",
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "CONCURRENT_REQUESTS": concurrent,
        "CONCURRENT_REQUESTS_PER_DOMAIN": concurrent,
        "DOWNLOAD_DELAY": 0,
        **_LOOPS[task["loop"]],
        **task.get("settings", {}),
    }
    kind: Any = CrawlerProcess if task["loop"] == "select" else AsyncCrawlerProcess
    with ExitStack() as stack:
        if task.get("serves"):
            task["port"] = stack.enter_context(broad_web(task.get("delay_seconds", 0.0)))
        process = kind(settings=settings)
        crawler = process.create_crawler(BroadSpider)
        pages: set[str] = set()
        process.crawl(crawler, task=task, pages=pages)
        process.start()
    stats = crawler.stats.get_stats()
    found = {
        "pages": len(pages),
        "reason": stats.get("finish_reason"),
        "stats": {name: value for name, value in stats.items() if isinstance(value, int)},
        "limit": resource.getrlimit(resource.RLIMIT_NOFILE)[0],
        "limit_before": before,
    }
    print(json.dumps(found), flush=True)
    os._exit(0)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
