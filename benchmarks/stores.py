"""The cost of a store for a crawl: look, claim and commit of each new origin.

    python benchmarks/stores.py [--origins 3000] [--rounds 5]

One origin comes after another, in an event loop without other work. In a busy event loop, the
thread of the SQLite store also waits for the interpreter. The table contains the medians of rounds:
CPU time of the process for an origin, the time until its answers are available, and the time for
which the longest call blocked the event loop.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, TypeVar

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy_rep.cache.base import Leased, Store
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.cache.memory import MemoryStore
from scrapy_rep.cache.sqlite import SqliteStore
from scrapy_rep.protocol.access.knowledge import Copy, Knowledge
from scrapy_rep.protocol.access.origin import Origin

Value = TypeVar("Value")

BODY = b"User-agent: *\n" + b"Disallow: /section/hidden/\n" * 30
SIDES = ("memory", "SQLite")


def entry(origin: Key) -> Entry:
    """The entry of an origin."""
    now = time.time()
    copy = Copy(
        event=200,
        body=BODY,
        hops=(origin.uri,),
        headers=(("Content-Type", "text/plain"),),
        fetched_at=now,
        confirmed_at=now,
        fresh_until=now + 86400,
    )
    return Entry(origin, Knowledge(copy))


async def result_of(future: Future[Value]) -> Value:
    """The result of a future, at once if it is done."""
    return future.result() if future.done() else await asyncio.wrap_future(future)


class Longest:
    """The duration of the longest call, in seconds."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def of(self, work: Callable[..., Value], *arguments: Any, **options: Any) -> Value:
        """Call, and return the result."""
        began = time.perf_counter()
        try:
            return work(*arguments, **options)
        finally:
            self.seconds = max(self.seconds, time.perf_counter() - began)


async def serve(store: Store, count: int) -> tuple[float, float, float]:
    """CPU time and wall time per origin, and the longest call, in seconds."""
    longest = Longest()
    cpu, began = time.process_time(), time.perf_counter()
    for number in range(count):
        key = Key.under(Origin("http", f"h{number}.example", 80), "Bot/1.0")
        longest.of(store.peek, key)
        claimed = longest.of(store.claim, key, seconds=15.0, fresh_seconds=0.0)
        claim = await result_of(claimed)
        assert isinstance(claim, Leased)
        await result_of(longest.of(store.commit, entry(key), claim.lease))
    figures = time.process_time() - cpu, time.perf_counter() - began
    return figures[0] / count, figures[1] / count, longest.seconds


def measure(side: str, count: int) -> tuple[float, float, float]:
    """Run one round of one side."""
    with tempfile.TemporaryDirectory() as folder:
        store: Store
        if side == "memory":
            store = MemoryStore(1 << 30)
        else:
            store = SqliteStore(Path(folder, "robots.sqlite"), 1 << 30)
        figures = asyncio.run(serve(store, count))
        store.close()
    return figures


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--origins", type=int, default=3000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found: dict[str, list[tuple[float, float, float]]] = {side: [] for side in SIDES}
    for _ in range(options.rounds):
        for side, rounds in found.items():
            rounds.append(measure(side, options.origins))
    print("| store | CPU us/origin | until it is there, us | longest call, ms |")
    print("| --- | ---: | ---: | ---: |")
    for side, rounds in found.items():
        cpu, seconds, longest = (statistics.median(figure) for figure in zip(*rounds, strict=True))
        print(f"| {side} | {cpu * 1e6:.0f} | {seconds * 1e6:.0f} | {longest * 1e3:.1f} |")


if __name__ == "__main__":
    main()
