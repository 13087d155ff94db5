"""The cost of surveys: facts compared with parsing, two processes compared with one, and memory.

::

    python benchmarks/survey.py            # CPU, against parse + first verdict
    python benchmarks/survey.py --many 20  # 20 times, on 1 and 2 processes
    python benchmarks/survey.py --profile

The corpus is `$REP_SHARED/corpus/robots.jsonl.gz`, or `--corpus FILE`. Each line of it is an object
with `host` and `body_b64`. CPU time is the least of three interleaved runs, so that other work on
the machine has little effect.
"""

from __future__ import annotations

import argparse
import base64
import cProfile
import gzip
import json
import os
import pstats
import resource
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from scrapy_rep.extras.survey.aggregate import Aggregate, SurveyPart, SurveyReader
from scrapy_rep.extras.survey.captures import Capture
from scrapy_rep.extras.survey.facts import facts
from scrapy_rep.extras.survey.inputs.json_lines import captures_in
from scrapy_rep.extras.survey.inputs.tasks import Task
from scrapy_rep.extras.survey.jobs import parts_of
from scrapy_rep.protocol.document import parse

_AT_ONCE = 500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--corpus", type=Path, default=os.environ.get("REP_SHARED", "") + "/corpus/robots.jsonl.gz"
    )
    parser.add_argument("--many", type=int, default=0)
    parser.add_argument("--lint", action="store_true")
    parser.add_argument("--profile", action="store_true")
    options = parser.parse_args()
    lines = gzip.decompress(options.corpus.read_bytes()).splitlines()
    bodies = [base64.b64decode(json.loads(line)["body_b64"]) for line in lines]
    if options.profile:
        profile = cProfile.Profile()
        profile.runcall(lambda: [facts(body) for body in bodies])
        pstats.Stats(profile).sort_stats("tottime").print_stats(15)
    elif options.many:
        print("| processes | files | files a second | CPU | memory of the first process |")
        print("| ---: | ---: | ---: | ---: | --- |")
        for jobs in (1, 2):
            _repeated(lines, options.many, jobs, is_lint=options.lint)
    else:
        _single(bodies, is_lint=options.lint)


def _single(bodies: list[bytes], *, is_lint: bool) -> None:
    runs: dict[str, Callable[[], object]] = {
        "parse and a first verdict": lambda: [parse(b).verdict("/a/b", "ZyxwvBot") for b in bodies],
        "facts": lambda: [facts(b) for b in bodies],
        "facts, added up": lambda: Aggregate.of(Capture("h", body=b) for b in bodies),
    }
    if is_lint:
        runs["facts with `--lint`"] = lambda: [facts(b, with_lint=True) for b in bodies]
    least = dict.fromkeys(runs, float("inf"))
    for _ in range(3):
        for name, run in runs.items():
            began_at = time.process_time()
            run()
            least[name] = min(least[name], time.process_time() - began_at)
    unit = least["parse and a first verdict"]
    print("| | CPU for a file | ratio |")
    print("| --- | ---: | ---: |")
    for name, seconds in least.items():
        print(f"| {name} | {seconds / len(bodies) * 1000:.2f} ms | {seconds / unit:.1f} |")


def _repeated(lines: list[bytes], many: int, jobs: int, *, is_lint: bool) -> None:
    """Repeat the corpus, each time with other hosts and another line in each body."""

    def tasks() -> Iterator[Task]:
        for number in range(many):
            some = [_another(line, number) for line in lines]
            for start in range(0, len(some), _AT_ONCE):
                yield partial(captures_in, some[start : start + _AT_ONCE])

    whole, began_at, cpu = SurveyPart(), time.monotonic(), _cpu_seconds()
    peaks = []
    for part in parts_of(tasks(), SurveyReader(with_lint=is_lint), jobs):
        whole.aggregate.update(part.aggregate)
        if whole.aggregate.counts["captures"] % (len(lines) * max(1, many // 4)) < _AT_ONCE:
            peaks.append(_peak_mb())
    seconds, cpu = time.monotonic() - began_at, _cpu_seconds() - cpu
    count = whole.aggregate.counts["captures"]
    print(
        f"| {jobs} | {count:,} | {count / seconds:,.0f} | {cpu:.0f} s "
        f"| {peaks[0]:.0f} MB after a quarter, {peaks[-1]:.0f} MB at the end |"
    )


def _another(line: bytes, number: int) -> bytes:
    found = json.loads(line)
    body = base64.b64decode(found["body_b64"]) + b"\n# %d" % number
    host = f"{number}.{found['host']}"
    return json.dumps({"host": host, "body_b64": base64.b64encode(body).decode()}).encode()


def _cpu_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
