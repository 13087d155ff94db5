"""The cost of an audit trail: CPU per decision, its size, and the time to verify and replay it.

    python benchmarks/audit.py [cost] [size] [--large]
    python benchmarks/audit.py size --decisions 1000000

*cost* is the CPU time of a warm request in the middleware without a trail, with a trail, and with
allowed decisions only counted, and the time to write a policy. The variants alternate, and figures
are minima. *size* writes decisions on URLs of many origins, a third of them dropped, as in a broad
crawl. It prints octets (packed, for a decision, and unpacked), CPU seconds to write, verify, replay
and report, and the peak memory of the process. `--large` adds 10 million decisions.
"""

from __future__ import annotations

import gc
import resource
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy import Request
from scrapy.exceptions import IgnoreRequest
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from scrapy_rep import Origin, RepMiddleware, parse
from scrapy_rep.extras.evidence.replay import Replayer
from scrapy_rep.extras.evidence.reports.report_page import write_report
from scrapy_rep.extras.evidence.trail_check import check
from scrapy_rep.extras.evidence.trail_reading import Run
from scrapy_rep.fetch.reading import Reading, digest_of
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Meaning
from scrapy_rep.protocol.access.knowledge import Step

_BODY = b"User-agent: *\n" + b"".join(b"Disallow: /private/%d\n" % n for n in range(14))
_ROUNDS = 10
_REQUESTS = 4000
_ORIGINS = 1000


class Crawl:
    """A crawl that only makes decisions."""

    def __init__(self, folder: str, origins: int, **settings: Any) -> None:
        given = {
            "ROBOTSTXT_OBEY": True,
            "USER_AGENT": "ExampleBot/1.0",
            "REP_STORE": "memory",
            "REP_AUDIT_DIR": folder,
            "DOWNLOADER_MIDDLEWARES": {
                "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None
            },
            **settings,
        }
        crawler: Any = get_crawler(settings_dict=given)
        crawler.stats = MemoryStatsCollector(crawler)
        crawler.spider = SimpleNamespace(name="benchmark")
        crawler.engine = SimpleNamespace(
            spider=crawler.spider, downloader=SimpleNamespace(slots={}, active=set())
        )
        self.middleware = RepMiddleware.from_crawler(crawler)
        self.middleware._spider_opened()  # noqa: SLF001 - here and below: as a crawl does it
        self.learn(range(origins))

    def learn(self, numbers: range) -> float:
        """CPU seconds to write the policies of some origins to the trail."""
        policies, seconds = self.middleware.policies, 0.0
        tokens = self.middleware._identity.tokens  # noqa: SLF001
        for number in numbers:
            origin = Origin("https", f"www{number}.example", 443)
            file, sha256 = parse(_BODY, origin.robots_txt_uri), digest_of(_BODY)
            step = Step(origin.robots_txt_uri, 200, 1.8e9, 0.1, len(_BODY), "192.0.2.1")
            reading = Reading(file, file, sha256)
            policy = Policy(origin, 200, Meaning.RULES, reading, tokens, steps=(step,))
            policies._keep(policy)  # noqa: SLF001
            began = time.process_time()
            self.middleware._decisions.file_read(_BODY, sha256)  # noqa: SLF001
            self.middleware._decisions.learnt(policy)  # noqa: SLF001
            seconds += time.process_time() - began
        return seconds

    def judge(self, made: Sequence[Request]) -> float:
        """CPU seconds for some requests."""
        process = self.middleware.process_request
        gc.collect()
        gc.disable()
        began = time.process_time()
        for request in made:
            with suppress(StopIteration, IgnoreRequest):
                process(request).send(None)
        seconds = time.process_time() - began
        gc.enable()
        return seconds

    def end(self) -> Run:
        """Close the trail and return it."""
        trail: Any = self.middleware._decisions.listener  # noqa: SLF001
        trail._writer.close("finished").result()  # noqa: SLF001
        return Run(trail._folder)  # noqa: SLF001


def requests(count: int, origins: int, *, first: int = 0) -> list[Request]:
    """Requests to origins in turn; a third of them is disallowed."""
    return [
        Request(
            f"https://www{n % origins}.example/"
            f"{'private/3' if n % 3 == 0 else 'articles'}/{n}/a-title-of-some-words?page=2",
            headers={"User-Agent": "ExampleBot/1.0"},
        )
        for n in range(first, first + count)
    ]


def cost() -> None:
    """Measure the CPU of a decision per warm request, and of a policy per origin."""
    with tempfile.TemporaryDirectory() as folder:
        sides = {
            "without a trail": Crawl("", 1),
            "with a trail": Crawl(folder, 1),
        }
        best = dict.fromkeys(sides, float("inf"))
        for _ in range(_ROUNDS):
            for side, crawl in sides.items():
                made = [one for one in requests(2 * _REQUESTS, 1) if "private" not in one.url]
                best[side] = min(best[side], crawl.judge(made) / len(made) * 1e6)
        told = dict.fromkeys(sides, float("inf"))
        for turn in range(_ROUNDS):
            for side in told:
                numbers = range(1 + 200 * turn, 201 + 200 * turn)
                told[side] = min(told[side], sides[side].learn(numbers) / len(numbers) * 1e6)
    print("| CPU | for a request | for a policy |")
    print("| --- | ---: | ---: |")
    for side in sides:
        print(f"| {side} | {best[side]:.1f} us | {told[side]:.1f} us |")


def size(counts: Sequence[int]) -> None:
    """Measure octets, and seconds to write, verify, replay and report."""
    print(
        "| decisions | packed | a decision | plain "
        "| CPU to judge and write | to verify | to replay | to report | memory |"
    )
    print("|" + " ---: |" * 9, flush=True)
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            crawl = Crawl(folder, min(count, _ORIGINS))
            written = sum(
                crawl.judge(requests(min(count, 10_000), min(count, _ORIGINS), first=first))
                for first in range(0, count, 10_000)
            )
            run = crawl.end()
            octets = sum(one.path.stat().st_size for one in run.segments)
            plain = sum(one["octets"] for one in (run.manifest or {})["segments"])
            began = time.process_time()
            assert not check(run).problems
            verified_at = time.process_time()
            words = {outcome.word for _, outcome, _ in Replayer(run).outcomes()}
            assert words == {"confirmed"}, words
            replayed_at = time.process_time()
            assert write_report(run.path, Path(folder, "report.html")) == ""
            reported_at = time.process_time()
            instants = (began, verified_at, replayed_at, reported_at)
            seconds = [written, *(after - before for before, after in pairwise(instants))]
            print(
                f"| {count:,} | {octets / 1e6:.2f} MB | {octets / count:.0f} octets "
                f"| {plain / 1e6:.1f} MB | "
                + " | ".join(f"{each:.1f} s" for each in seconds)
                + f" | {_most_memory():.0f} MB |",
                flush=True,
            )


def _most_memory() -> float:
    """The peak memory (RSS) of this process in megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def main() -> None:
    """Measure and print."""
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", nargs="*", default=["cost", "size"])
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--decisions", type=int, nargs="*", default=[1_000, 100_000])
    options = parser.parse_args()
    if "cost" in options.what:
        cost()
    if "size" in options.what:
        size([*options.decisions, *([10_000_000] if options.large else [])])


if __name__ == "__main__":
    main()
