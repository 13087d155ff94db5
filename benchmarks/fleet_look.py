"""The cost of `scrapy rep fleet` for Redis: the time of each script, and of one look.

    python benchmarks/fleet_look.py [ORIGINS]

A real Redis server on loopback has a crawl with this number of origins (100,000), 100 workers and
1,600 requests in flight. Times come from the EVALSHA statistics of Redis: the least of five looks.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import msgpack

from scrapy_rep.extras.fleet.link import Link
from scrapy_rep.extras.fleet.looking import lane, letters, totals, workers
from tests.redis_server import RedisServer

PREFIX = "rep:{look}:"
LOOKS = 5
WORKERS = 100
AT_A_TIME = 16


def fill(client: Any, origins: int) -> None:
    """Write a running crawl: most origins wait for their delay, the others for a policy."""
    now = client.time()[0] * 1000
    with client.pipeline(transaction=False) as pipe:
        for number in range(origins):
            name = f"http://host-{number}.example"
            place, score = ("n", now + 60_000) if number % 3 == 0 else ("d", now + number)
            record = [place, 2, 1000, 8, now + 3_600_000, 0, "", "17", now, 0, "held"]
            pipe.hset(PREFIX + "lines", name, msgpack.packb(record))
            pipe.zadd(PREFIX + ("new" if place == "n" else "due"), {name: score})
            pipe.rpush(f"{PREFIX}q:{name}", b"x" * 120, b"y" * 120)
            if number % 1000 == 0:
                pipe.execute()
        for number in range(WORKERS):
            pipe.zadd(PREFIX + "w", {f"host:{number}:abcdef01": now + 60_000})
            pipe.hset(f"{PREFIX}m:host:{number}:abcdef01", mapping={"since": now, "done": 9})
            flying = {f"{number}.{one}": b"F" + b"z" * 150 for one in range(AT_A_TIME)}
            pipe.hset(f"{PREFIX}f:host:{number}:abcdef01", mapping=flying)
        pipe.rpush(PREFIX + "dead", *[msgpack.packb(["a", "b", b"c" * 500, now])] * 1000)
        pipe.set(PREFIX + "epoch", f"{now // 1000}.0")
        pipe.execute()


async def measure(url: str, client: Any) -> None:
    """Each part, in turn."""
    link = Link(url)
    link.open()
    parts: dict[str, Any] = {
        "counts": lambda: totals(link, PREFIX),
        f"{WORKERS} workers": lambda: workers(link, PREFIX),
        "one origin": lambda: lane(link, PREFIX, "http://host-1.example"),
        "100 dead letters": lambda: letters(link, PREFIX, 100),
    }
    for name, look in parts.items():
        await look()  # loads the script
        found = []
        for _ in range(LOOKS):
            client.config_resetstat()
            await look()
            stat = client.info("commandstats")["cmdstat_evalsha"]
            found.append((stat["usec"], stat["calls"]))
        usec, calls = min(found)
        print(f"{name:<32} {calls:>5} runs  {usec / 1000:>8.2f} ms  {usec / calls:>6.0f} us a run")
    await link.close()


def main() -> None:
    origins = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with RedisServer() as server, server.client() as client:
        fill(client, origins)
        asyncio.run(measure(server.url, client))


if __name__ == "__main__":
    main()
