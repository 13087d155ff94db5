"""The cost of Redis as a store, with its own Redis server on loopback.

    python benchmarks/redis_store.py [--origins 5000] [--rounds 3]

For each number of calls at a time, one process claims, commits and claims every origin again,
without a copy in front of Redis. The columns are the CPU time of this process per call, and the
time in Redis per script. At the end, the script prints the memory of an entry with a file of 800
random octets, and of a 404. Rounds alternate, and figures are minima.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.extras.fleet.link import Link
from scrapy_rep.extras.fleet.redis_store import RedisStore, _names
from scrapy_rep.protocol.access.knowledge import Copy, Knowledge
from scrapy_rep.protocol.access.origin import Origin
from tests.redis_server import RedisServer

AT_A_TIME = (1, 16, 64)
_WANTED = {"seconds": 15.0, "fresh_seconds": 0.0}


def entry_of(number: int, octets: int) -> Entry:
    """An entry with this file, or of a 404 without one."""
    now, origin = time.time(), Origin("https", f"host-{number}.example", 443)
    copy = Copy(
        200 if octets else 404,
        random.Random(number).randbytes(octets),
        (origin.robots_txt_uri,),
        (("cache-control", "max-age=86400"), ("etag", '"5f3-61"')),
        now,
        now,
        now + 86_400,
    )
    return Entry(Key.under(origin, "ExampleBot/1.0 (+https://bot.example)"), Knowledge(copy))


async def each(
    work: Callable[[Entry], Awaitable[Any]], entries: list[Entry], at_a_time: int
) -> float:
    """CPU microseconds per call, with this number of calls at a time."""
    began = time.process_time()
    left = iter(entries)

    async def lane() -> None:
        for entry in left:
            await work(entry)

    await asyncio.gather(*(lane() for _ in range(at_a_time)))
    return 1e6 * (time.process_time() - began) / len(entries)


async def one_round(server: RedisServer, count: int, at_a_time: int) -> tuple[float, float]:
    """CPU per call in this process, and time per script in Redis."""
    server.flush()
    store = RedisStore(Link(server.url), None, 1 << 30, 30 * 86_400.0)
    entries = [entry_of(number, 800) for number in range(count)]

    async def cycle(entry: Entry) -> None:
        claim: Any = await asyncio.wrap_future(store.claim(entry.origin, **_WANTED))
        assert await asyncio.wrap_future(store.commit(entry, claim.lease))
        found = await asyncio.wrap_future(store.claim(entry.origin, **_WANTED))
        assert found.entry is not None

    with server.client() as client:
        client.config_resetstat()
        cpu = await each(cycle, entries, at_a_time)
        scripts = client.info("commandstats")["cmdstat_evalsha"]
    await asyncio.wrap_future(store.close())
    return cpu / 3, float(scripts["usec_per_call"])


async def memory(server: RedisServer, octets: int) -> int:
    """The memory of Redis for one entry."""
    store = RedisStore(Link(server.url), None, 1 << 30, 30 * 86_400.0)
    entry = entry_of(1, octets)
    await asyncio.wrap_future(store.commit(entry, None))
    await asyncio.wrap_future(store.close())
    with server.client() as client:
        return int(client.memory_usage(_names(entry.origin)[0]))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--origins", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    best: dict[int, tuple[float, float]] = {}
    with RedisServer() as server:
        for _ in range(options.rounds):
            for at_a_time in AT_A_TIME:
                found = asyncio.run(one_round(server, options.origins, at_a_time))
                before = best.get(at_a_time, found)
                best[at_a_time] = (min(before[0], found[0]), min(before[1], found[1]))
        print("| measured | |")
        print("| --- | ---: |")
        for at_a_time, (cpu, there) in best.items():
            print(f"| {at_a_time} calls at a time: CPU of the crawl for each | {cpu:.0f} us |")
            print(f"| {at_a_time} calls at a time: time of Redis for each | {there:.0f} us |")
        for octets, what in ((800, "a file of 800 octets"), (0, "a 404")):
            kept = asyncio.run(memory(server, octets))
            print(f"| memory of Redis for {what} | {kept:,} octets |")


if __name__ == "__main__":
    main()
