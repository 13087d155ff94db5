"""A fleet: fetches, gaps, speed, memory, and what happens when workers and Redis fail.

    python benchmarks/fleet.py [PART...], such as kill; without one, all parts

`outages` and `scripts` print tables of their own; all others print rows of one table.

The script uses a real Redis server, sites on loopback, and one process for each worker. All run on
one machine, so its load affects pages per second and gaps. `speed` alternates the sides, and takes
the best of each.
"""

from __future__ import annotations

import itertools
import random
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy import Request, Spider

from scrapy_rep.extras.fleet.batch import Push, PushKind
from scrapy_rep.extras.fleet.ledger import PUSHES, REPORTS
from scrapy_rep.extras.fleet.request_codec import Entries
from tests.extras.fleet.crews import Crew
from tests.extras.fleet.workers import Fleet
from tests.redis_server import RedisServer, SlowLine
from tests.servers.handle import Answer, Seen, Site

TREE, FLAT, HUB = (f"tests.extras.fleet.spiders:{kind}Spider" for kind in ("Tree", "Flat", "Hub"))
OURS: dict[str, Any] = {"REP_STORE": "redis", "REP_STORE_PATH": ":memory:", "LOG_LEVEL": "WARNING"}
THEIRS: dict[str, Any] = {
    "ADDONS": {},
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    "SCHEDULER_PRIORITY_QUEUE": "scrapy.pqueues.DownloaderAwarePriorityQueue",
    "LOG_LEVEL": "WARNING",
}


def host(number: int) -> str:
    return f"127.0.{10 + number // 250}.{1 + number % 250}"


def by_host(requests: list[Seen]) -> dict[str, list[Seen]]:
    found: dict[str, list[Seen]] = {}
    for seen in requests:
        found.setdefault(seen.headers["host"], []).append(seen)
    return found


def gaps_of(requests: list[Seen]) -> list[float]:
    """The gaps between requests at each host, robots.txt included, sorted."""
    lanes = ([seen.at for seen in some] for some in by_host(requests).values())
    return sorted(
        after - before for at in lanes for before, after in itertools.pairwise(sorted(at))
    )


def report(what: str, found: str) -> None:
    print(f"| {what} | {found} |", flush=True)


def fetches() -> None:
    """Four workers, 200 origins, six pages each."""
    robots = Answer(body="User-agent: *\nDisallow: /3$\n", delay_seconds=0.05)
    with RedisServer() as redis, Site({"/robots.txt": robots}, address="0.0.0.0") as site:
        roots = [site.url("/", host=host(number)) for number in range(200)]
        with Crew(redis.url, FLAT, 4, settings=OURS, roots=roots, pages=6) as crew:
            crew.wait(200)
            shares = [crew.result(n)["stats"].get("item_scraped_count", 0) for n in range(4)]
        paths = Counter(seen.path for seen in site.requests())
    report(
        "4 workers, 200 origins with 6 pages, of these 1 disallowed: fetches of robots.txt; pages; "
        "disallowed pages",
        f"{paths['/robots.txt']}; {sum(shares)}; {paths['/3']}",
    )


def gaps() -> None:
    """Four workers, 20 origins, Crawl-delay 1, pages at once and after 0.3 s."""
    for page_seconds in (0.0, 0.3):
        robots = Answer(body="User-agent: *\nCrawl-delay: 1\n")
        page = Answer(body="page", delay_seconds=page_seconds)
        with (
            RedisServer() as redis,
            Site({"/robots.txt": robots}, default=page, address="0.0.0.0") as site,
        ):
            roots = [site.url("/", host=host(number)) for number in range(20)]
            with Crew(redis.url, FLAT, 4, settings=OURS, roots=roots, pages=30) as crew:
                crew.wait(300)
                batches = crew.stat("rep/fleet/batches")
            requests = site.requests()
        found = gaps_of(requests)
        pages = [seen.at for seen in requests if seen.path != "/robots.txt"]
        span = max(pages) - min(pages)
        report(
            f"4 workers, 20 origins, `Crawl-delay: 1`, pages that take {page_seconds:g} s: gaps "
            "as the sites see them (least, 1 %, median); pages, of those that the delay allows; "
            "batches for a page",
            f"{found[0]:.3f}, {found[len(found) // 100]:.3f}, {found[len(found) // 2]:.3f} s; "
            f"{29 / span:.0%}; {batches / len(pages):.1f}",
        )


def mixed() -> None:
    """Four workers, 150 origins, two thirds with a delay of 10 s, the others with 0.5 s; 30 s.

    Pages link to pages, because 12,000 start requests of four spiders would take most of the time.
    """
    with ExitStack() as stack:
        redis = stack.enter_context(RedisServer())
        sites = [
            stack.enter_context(
                Site(
                    {"/robots.txt": Answer(body=f"User-agent: *\nCrawl-delay: {delay}\n")},
                    address="0.0.0.0",
                )
            )
            for delay in (10, 0.5)
        ]
        roots = [sites[0].url("/", host=host(n)) for n in range(100)]
        roots += [sites[1].url("/", host=host(n)) for n in range(100, 150)]
        settings = {**OURS, "CLOSESPIDER_TIMEOUT": 45}
        with Crew(redis.url, TREE, 4, settings=settings, roots=roots, pages=120) as crew:
            crew.wait(300)
        for site, delay in zip(sites, (10, 0.5), strict=True):
            requests = site.requests()
            begin = min(seen.at for seen in requests) + 5
            window = [seen.at for seen in requests if begin <= seen.at < begin + 30]
            ceiling = len(by_host(requests)) * 30 / delay
            found = gaps_of(requests)
            report(
                f"150 origins with delays of 10 s and 0.5 s, those of {delay:g} s: requests, of "
                "those that the delay allows; the least gap",
                f"{len(window) / ceiling:.0%}; {found[0]:.3f} s",
            )


def kill(rounds: int = 4) -> None:
    """Kill one of four workers at a random moment; every page yields links."""
    chance = random.Random(7)
    settings = {
        **OURS,
        "REP_FLEET_LEASE_SECONDS": 3,
        "SCHEDULER_IDLE_BEFORE_CLOSE": 2,
        "CONCURRENT_REQUESTS": 16,
    }
    robots, page = Answer(body=""), Answer(body="page", delay_seconds=0.1)
    lost, again = [], []
    for number in range(rounds):
        with (
            RedisServer() as redis,
            Site({"/robots.txt": robots}, default=page, address="0.0.0.0") as site,
        ):
            roots = [site.url("/", host=host(n)) for n in range(4)]
            with Crew(redis.url, TREE, 4, settings=settings, roots=roots, pages=100) as crew:
                after = chance.randrange(1, 330)
                while len(site.requests()) < after:
                    time.sleep(0.01)
                # In every third round, kill the first worker, which seeds the crawl.
                crew.signal(0 if number % 3 == 0 else chance.randrange(4), signal.SIGKILL)
                crew.wait(90)
            seen = Counter((one.headers["host"], one.path) for one in site.requests())
        expected = {(name, f"/{n}") for name in {h for h, _ in seen} for n in range(100)}
        lost.append(len(expected - set(seen)) + 400 - len(expected))
        again.append(sum(c - 1 for (_, path), c in seen.items() if path != "/robots.txt"))
    report(
        f"`kill -9` of one of 4 workers at a random moment of 400 pages, {rounds} times, with "
        "`CONCURRENT_REQUESTS = 16`: pages that are lost; fetched twice",
        f"{sum(lost)}; {min(again)} to {max(again)}",
    )


def hub(pages: int = 5000, pages_before: int = 400) -> None:
    """Kill the only worker while one page leads to 5,000 others; another goes on."""
    settings = {
        **OURS,
        "REP_FLEET_LEASE_SECONDS": 3,
        "SCHEDULER_IDLE_BEFORE_CLOSE": 4,
        "CONCURRENT_REQUESTS": 16,
        "CONCURRENT_REQUESTS_PER_DOMAIN": 16,
    }
    robots, page = Answer(body=""), Answer(body="page", delay_seconds=0.05)
    with (
        RedisServer() as redis,
        Site({"/robots.txt": robots}, default=page, address="0.0.0.0") as site,
    ):
        roots = [site.url("/", host=host(0))]
        with Crew(redis.url, HUB, 1, settings=settings, roots=roots, pages=pages) as crew:
            while len(site.requests()) < pages_before:
                time.sleep(0.01)
            crew.signal(0, signal.SIGKILL)
            crew.add()
            crew.wait(300, without=(0,))
            requests = [one for one in site.requests() if one.path != "/robots.txt"]
    killed_at = requests[pages_before].at
    rates = Counter(int(one.at - killed_at) if one.at > killed_at else -1 for one in requests)
    span = killed_at - requests[0].at
    again = len(requests) - len({one.path for one in requests})
    before = rates.pop(-1) / span
    later = [rates[second] for second in range(5, max(rates))]
    report(
        "a worker is killed while one page leads to 5,000 others: pages a second before, and of "
        "its successor after 5 s; pages that are lost; fetched twice",
        f"{before:.0f}, {sum(later) / len(later):.0f}; {pages - len(requests) + again}; {again}",
    )


def soak(seconds: int = 1200) -> None:
    """Four workers for 20 minutes; workers are killed, and Redis fails in four ways."""
    settings = {**OURS, "REP_FLEET_LEASE_SECONDS": 5, "SCHEDULER_IDLE_BEFORE_CLOSE": 8}
    quick = Answer(body="User-agent: *\nDisallow: /7$\n")
    slow = Answer(body="User-agent: *\nCrawl-delay: 1\n")
    # 48 places at 6 quick hosts, and half a second a page: 96 pages/s at most
    page = Answer(body="page", delay_seconds=0.5)
    pages, slow_pages = 18 * seconds, 6 * seconds // 10
    with (
        RedisServer(appendonly="yes", appendfsync="always") as redis,
        Site({"/robots.txt": quick}, default=page, address="0.0.0.0") as site,
        Site({"/robots.txt": slow}, default=page, address="0.0.0.0") as slow_site,
    ):
        roots = [site.url("/", host=host(n)) for n in range(6)]
        slow_roots = [slow_site.url("/", host=host(n)) for n in range(20, 24)]
        arguments: dict[str, Any] = {"slow_roots": slow_roots, "slow_pages": slow_pages}
        with Crew(
            redis.url, TREE, 4, settings=settings, roots=roots, pages=pages, **arguments
        ) as crew:
            began_at = time.monotonic()
            dead = _disturb(crew, redis, seconds)
            crew.wait(2 * seconds, without=dead)
            print(f"ended by itself after {time.monotonic() - began_at:.0f} s; {len(dead)} kills")
            for name in ("full", "again", "failed", "mended", "dead_letters", "refused"):
                print(name, crew.stat(f"rep/fleet/{name}"), end="; ")
            print("errors:", crew.errors or "none")
        expected = {n for n in range(pages) if not _is_below(n, 7)}
        for one, count, reached in (
            (site, 6 * len(expected), expected),
            (slow_site, 4 * slow_pages, set(range(slow_pages))),
        ):
            seen = Counter((s.headers["host"], s.path) for s in one.requests())
            found = {key: n for key, n in seen.items() if key[1] != "/robots.txt"}
            wrong = [key for key in found if int(key[1][1:]) not in reached]
            print(
                f"lost {count - len(found) + len(wrong)} of {count}, twice "
                f"{sum(found.values()) - len(found)}, disallowed {len(wrong)}"
            )
        print(
            "least gaps with a delay of 1 s:",
            *(f"{gap:.3f}" for gap in gaps_of(slow_site.requests())[:5]),
        )


def _disturb(crew: Crew, redis: RedisServer, seconds: int) -> tuple[int, ...]:
    """Kill a worker every 30 s, and let Redis fail; the numbers of killed workers."""
    dead: list[int] = []
    most = 0
    failures = iter((_freeze, _fill, _restart, _set_back))
    began_at, failed_count = time.monotonic(), 0
    while (at := time.monotonic() - began_at) < seconds:
        if at > 30 * (len(dead) + 1):
            if crew.result(len(dead)):
                break  # it has ended: after the end of a crawl, one more worker would begin it anew
            crew.signal(len(dead), signal.SIGKILL)
            dead.append(len(dead))
            crew.add()
        if at > seconds * (failed_count + 1) / 5 + 10:
            failed_count += 1
            next(failures, lambda _: None)(redis)
        with redis.client() as client:
            most = max(most, int(client.hget("rep:{tree:requests}:t", "n") or 0))
        time.sleep(0.5)
    print(
        f"{most} requests in the queue at most; Redis has failed {min(failed_count, 4)} of 4 times"
    )
    return tuple(dead)


def _freeze(redis: RedisServer) -> None:
    redis.freeze()
    time.sleep(8)
    redis.thaw()


def _fill(redis: RedisServer) -> None:
    with redis.client() as client:
        client.config_set("maxmemory", 1)
        time.sleep(20)
        client.config_set("maxmemory", 0)


def _restart(redis: RedisServer, **environment: str) -> None:
    redis.kill()
    time.sleep(5)
    redis.start(**environment)


# Preloaded into Redis, which reads its clock with this function.
LATE = """
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>
int gettimeofday(struct timeval *now, void *zone) {
  long failed = syscall(SYS_gettimeofday, now, zone);
  now->tv_sec -= 600;
  return failed;
}
"""


def _set_back(redis: RedisServer) -> None:
    """Start Redis again with a clock that is 600 s late, as after a fail-over."""
    with TemporaryDirectory() as folder:
        library = f"{folder}/late.so"
        command = ["cc", "-shared", "-fPIC", "-x", "c", "-", "-o", library]
        subprocess.run(command, input=LATE, text=True, check=True)
        _restart(redis, LD_PRELOAD=library)
    with redis.client() as client:
        print(f"Redis is {time.time() - client.time()[0]:.0f} s late")


def outages() -> None:
    """Two workers, 3 hosts of 150 linked pages; Redis fails during the crawl."""
    kept = {"appendonly": "yes", "appendfsync": "always"}
    print("| Redis is | the event loop stops for | pages lost | fetched twice | disallowed |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, happens, options in (
        ("as usual", lambda *_: None, {}),
        ("stopped for 8 s", lambda redis, _: _freeze(redis), {}),
        ("killed, kept on disk", lambda redis, _: _restart(redis), kept),
        ("killed, not kept", lambda redis, _: _restart(redis), {}),
        ("FLUSHALL", lambda redis, _: redis.flush(), {}),
        ("100 ms a reply", lambda _, lane: setattr(lane, "delay_seconds", 0.1), {}),
        ("refused for 30 s", _refuse, {}),
        ("replies swallowed", _swallow, {}),
    ):
        _outage(name, happens, options)


def _refuse(_: RedisServer, lane: SlowLine) -> None:
    lane.refuses = True
    lane.cut()
    time.sleep(30)
    lane.refuses = False


def _swallow(_: RedisServer, lane: SlowLine) -> None:
    for _number in range(3):
        lane.swallows = True
        time.sleep(0.4)
        lane.swallows = False
        lane.cut()
        time.sleep(1)


def _outage(
    name: str, happens: Callable[[RedisServer, SlowLine], None], options: dict[str, str]
) -> None:
    robots = Answer(body="User-agent: *\nDisallow: /7$\n")
    page = Answer(body="page", delay_seconds=0.1)
    settings = {
        **OURS,
        "SCHEDULER_IDLE_BEFORE_CLOSE": 2,
        "EXTENSIONS": {"tests.extras.fleet.spiders.LoopWatch": 500},
    }
    with (
        RedisServer(**options) as redis,
        SlowLine(redis.port) as lane,
        Site({"/robots.txt": robots}, default=page, address="0.0.0.0") as site,
    ):
        roots = [site.url("/", host=host(number)) for number in range(3)]
        with Crew(lane.url, TREE, 2, settings=settings, roots=roots, pages=150) as crew:
            while len(site.requests()) < 60:
                time.sleep(0.01)
            happens(redis, lane)
            crew.wait(200)
            found = [crew.result(n)["stats"].get("test/stall_seconds", 0.0) for n in range(2)]
        seen = Counter((one.headers["host"], one.path) for one in site.requests())
    pages = {key: count for key, count in seen.items() if key[1] != "/robots.txt"}
    reached = [n for n in range(150) if not _is_below(n, 7)]
    print(
        f"| {name} | {max(found):.2f} s | {3 * len(reached) - len(pages)} "
        f"| {sum(pages.values()) - len(pages)} | {sum(key[1] == '/7' for key in pages)} |",
        flush=True,
    )


def _is_below(number: int, root: int) -> bool:
    while number > root:
        number = (number - 1) // 2
    return number == root


def speed() -> None:
    """Four workers, 3,000 pages of 1 kB on 20 hosts; scrapy-redis and scrapy-rep in turn."""
    best: dict[str, dict[str, float]] = {}
    for _ in range(3):
        for name, settings in (("scrapy-redis", THEIRS), ("scrapy-rep", OURS)):
            for key, value in _speed(settings).items():
                kept = best.setdefault(name, {}).get(key, value)
                best[name][key] = max(kept, value) if key == "pages/s" else min(kept, value)
    ours, theirs = best["scrapy-rep"], best["scrapy-redis"]
    other = f"scrapy-redis {version('scrapy-redis')}, which fetches no robots.txt here"
    for name, key, digits in (("pages a second", "pages/s", 0), ("CPU for a page, ms", "CPU", 1)):
        report(
            f"4 workers, 3,000 pages of 1 kB, no delay: {name}",
            f"{ours[key]:.{digits}f}; {other}: {theirs[key]:.{digits}f}",
        )
    report("the same: batches for a page", f"{ours['batches']:.1f}")


def _speed(settings: dict[str, Any]) -> dict[str, float]:
    page = Answer(body="p" * 1000)
    with (
        RedisServer() as redis,
        Site({"/robots.txt": Answer(body="")}, default=page, address="0.0.0.0") as site,
    ):
        roots = [site.url("/", host=host(number)) for number in range(20)]
        every = {**settings, "REDIS_URL": redis.url, "ROBOTSTXT_OBEY": "ADDONS" not in settings}
        with Crew(redis.url, TREE, 4, settings=every, roots=roots, pages=150) as crew:
            crew.wait(300)
            batches = crew.stat("rep/fleet/batches")
            cpu = crew.stat("test/cpu_seconds")
        pages = [seen.at for seen in site.requests() if seen.path != "/robots.txt"]
    return {
        "pages/s": len(pages) / (max(pages) - min(pages)),
        "CPU": 1000 * cpu / len(pages),
        "batches": batches / len(pages),
    }


def size() -> None:
    """A million requests of 100,000 origins in one Redis: memory, and times of the server."""
    spider = Spider(name="size")
    entries = Entries(spider)
    with RedisServer() as redis, redis.client() as client:
        fleet = Fleet(redis)
        worker = fleet.worker()
        fleet.now = time.time()
        before = client.info("memory")["used_memory"]
        for number in range(1_000_000):
            lane = f"http://host{number % 100_000}.example"
            url = f"{lane}/some/path/of/a/page-{number}.html"
            request = Request(url, meta={"depth": 3}, headers={"Referer": f"{lane}/"})
            payload = entries.write(request)
            fingerprint = number.to_bytes(20, "big")
            worker.ledger.push(Push(lane, 0, PushKind.FILTERED, fingerprint, payload))
            if worker.ledger.unsent_count == 50:
                worker.talk()
        octets = client.info("memory")["used_memory"] - before
        filtered = client.memory_usage(fleet.key("df"), samples=100)
        report(
            "1,000,000 requests of 100,000 origins: octets of Redis for a request; for its entry; "
            "for the filter",
            f"{octets / 1e6:.0f}; {len(payload)}; {filtered / 1e6:.0f}",
        )
        for number in range(0, 100_000, 2):
            worker.settle(f"http://host{number}.example", valid_until=fleet.now + 1e6)
            if number % (2 * REPORTS) == 0:
                worker.talk()
        while worker.ledger.has_news:  # the pops would remove these
            worker.talk()
        client.config_set("slowlog-log-slower-than", 20)  # not the commands of scripts
        client.config_set("slowlog-max-len", 1000)
        _time_of_pops(client, worker)


def _time_of_pops(client: Any, worker: Any) -> None:
    for want in (1, 16):
        client.slowlog_reset()
        for _ in range(500):
            some = worker.talk(want)
            worker.ledger.buffer.clear()
            worker.finish(*some)
        words = f"time of Redis for a batch with {want} of these requests, and their ends"
        report(words, f"{_script_microseconds(client):.0f} us")


def scripts() -> None:
    """Measure the time of Redis for kinds of batches, with 100,000 origins."""
    print("| a batch with | time of Redis, median |")
    print("| --- | ---: |")
    lanes = [f"http://host{number}.example" for number in range(100_000)]
    with RedisServer() as redis, redis.client() as client:
        client.config_set("slowlog-log-slower-than", 20)  # not the commands of scripts
        client.config_set("slowlog-max-len", 100_000)
        fleet = Fleet(redis)
        worker = fleet.worker()
        for number in range(2 * len(lanes)):
            lane = lanes[number % len(lanes)]
            fingerprint = number.to_bytes(20, "big")
            worker.ledger.push(Push(lane, 0, PushKind.FILTERED, fingerprint, b"x" * 120))
            if worker.ledger.unsent_count == PUSHES:
                worker.talk()
        _tell_of_scripts(client, f"{PUSHES} requests that are pushed")
        _settle(worker, lanes[::2])
        _tell_of_scripts(client, f"{REPORTS} origins with a new policy")
        for _ in range(300):
            some = worker.talk(16)
            worker.ledger.buffer.clear()
            for held in some:
                worker.ledger.left(held, fleet.now)
            worker.finish(*some)
            fleet.now += 0.05
        _tell_of_scripts(client, "16 requests that are handed out, and 16 that are done")
        for number in range(40):
            fleet.worker(f"{number}").talk(64)
        for _ in range(4):  # an outage would not count against the leases
            fleet.now += 4
            worker.talk()
        client.slowlog_reset()
        for _ in range(60):
            worker.talk()
        _tell_of_scripts(client, "50 requests of a dead worker")
        for _ in range(200):
            worker.talk()
        _tell_of_scripts(client, "nothing")


def _settle(worker: Any, lanes: list[str]) -> None:
    for number, lane in enumerate(lanes, start=1):
        worker.settle(lane, valid_until=worker.fleet.now + 1e6, delay_seconds=1.0)
        if number % REPORTS == 0:
            worker.talk()


def _tell_of_scripts(client: Any, words: str) -> None:
    print(f"| {words} | {_script_microseconds(client) / 1000:.2f} ms |", flush=True)


def _script_microseconds(client: Any) -> float:
    """The median time of the scripts since the last call."""
    entries = [one for one in client.slowlog_get(100_000) if one["command"][:4] == b"EVAL"]
    client.slowlog_reset()
    return float(statistics.median(entry["duration"] for entry in entries))


PARTS = {
    part.__name__: part
    for part in (fetches, gaps, mixed, kill, hub, soak, outages, speed, size, scripts)
}

if __name__ == "__main__":
    names = sys.argv[1:] or [*PARTS]
    if {*names} - {"outages", "scripts", "soak"}:
        print("| measured | result |\n| --- | --- |")
    for name in names:
        PARTS[name]()
