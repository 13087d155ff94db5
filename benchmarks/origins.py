"""Memory with many origins, when `REP_MEMORY_OCTETS` is full (8 MiB here, so that it fills soon).

    python benchmarks/origins.py [--origins 100000] [--stores memory sqlite]

The script runs a real crawl with the middleware, its policies and its store, in one process for
each store. Only the network is replaced: `FileFetch.attempt` returns a different file of about
1,000 octets for each origin, a 404 for one in ten, and a failure for one in fifty. A spider gets
the policy of each origin, 50 at a time, and judges one URL with it.

After each tenth, the script prints the resident memory of the process: *anonymous* memory, and
*file* memory, which is the resident part of SQLite's memory map. The latter is the system's cache
of the file, shared by all processes that use it. The target is anonymous memory that grows by at
most 20 MB after the first tenth.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy import Spider
from scrapy.crawler import AsyncCrawlerProcess

from scrapy_rep import policy_for
from scrapy_rep.fetch.file_fetch import FileFetch
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.knowledge import Answer, Copy

AT_A_TIME = 50
STEPS = 10
GROWTH_MB = 20
_LINES = "User-agent: *\nCrawl-delay: 1\n" + "".join(
    f"Disallow: /{name}/\n" for name in ("admin", "search", "cart", "private", "tmp", "login")
)


async def played(self: FileFetch, copy: Copy | None) -> Answer:  # noqa: ARG001
    """An answer without a network."""
    await asyncio.sleep(0)
    origin = self.origin
    number = int(origin.host.partition(".")[0][1:])
    hops = (origin.robots_txt_uri,)
    if number % 50 == 1:
        return Answer(Failure.TIMEOUT, hops=hops)
    if number % 10 == 0:
        return Answer(404, hops=hops)
    own = "".join(f"Disallow: /{number:x}/{line:x}/*.html$\n" for line in range(25))
    return Answer(200, (_LINES + own).encode(), hops, {"content-type": "text/plain"})


def resident_mb() -> tuple[float, float]:
    """Anonymous memory, and that of files."""
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return tuple(int(fields[name].split()[0]) / 1024 for name in ("RssAnon", "RssFile"))  # type: ignore[return-value]


class OriginsSpider(Spider):
    """Gets the policy of every origin."""

    name = "origins"
    count: str

    async def start(self) -> AsyncIterator[Any]:
        """Get all policies; there is nothing to crawl."""
        count = int(self.count)
        numbers = iter(range(count))
        step = count // STEPS
        began = time.monotonic()

        async def work() -> None:
            for number in numbers:
                url = f"http://h{number}.example/private/page.html"
                policy = await policy_for(self.crawler, url)
                policy.verdict(url)
                if (number + 1) % step == 0:
                    gc.collect()
                    anonymous, files = resident_mb()
                    self.figures.append(anonymous)
                    print(
                        f"{number + 1:>8} {anonymous + files:>10.1f} {anonymous:>10.1f} "
                        f"{files:>8.1f} {time.monotonic() - began:>8.1f}",
                        flush=True,
                    )

        await asyncio.gather(*(work() for _ in range(AT_A_TIME)))
        nothing: list[Any] = []
        for item in nothing:
            yield item

    figures: list[float] = []  # noqa: RUF012 - one spider a process


def measure(store: str, count: int) -> bool:
    """Crawl in this process; return whether memory stayed flat."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "robots.sqlite")
        FileFetch.attempt = played  # type: ignore[method-assign]
        process = AsyncCrawlerProcess(
            {
                "ADDONS": {"scrapy_rep.Addon": 500},
                "ROBOTSTXT_OBEY": True,
                "LOG_LEVEL": "ERROR",
                "TELNETCONSOLE_ENABLED": False,
                "REP_STORE": store,
                "REP_STORE_PATH": str(path),
                "REP_MEMORY_OCTETS": 8 << 20,
                "REP_QUICK_RETRY_SECONDS": [],  # pauses, which take no memory
            }
        )
        print(f"\nREP_STORE = {store!r}")
        print(f"{'origins':>8} {'MB':>10} {'anonymous':>10} {'file':>8} {'seconds':>8}")
        process.crawl(OriginsSpider, count=str(count))
        process.start()
        size = f", the file {path.stat().st_size >> 20} MB" if path.exists() else ""
    first, *later = OriginsSpider.figures
    growth = max(later) - first
    print(f"anonymous memory grew by {growth:.1f} MB after the first tenth{size}")
    return growth <= GROWTH_MB


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--origins", type=int, default=100_000)
    parser.add_argument("--stores", nargs="+", default=["memory", "sqlite"])
    parser.add_argument("--here", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.here:
        return 0 if measure(arguments.stores[0], arguments.origins) else 1
    count = str(arguments.origins)
    return max(
        subprocess.run(
            [sys.executable, __file__, "--here", "--stores", store, "--origins", count], check=False
        ).returncode
        for store in arguments.stores
    )


if __name__ == "__main__":
    sys.exit(main())
