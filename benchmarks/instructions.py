"""Whole crawls on loopback: instructions per page, which other work on the machine does not change.

    python benchmarks/instructions.py [--shapes a b c] [--sides 'ours, memory' 'ours, audited']

Each crawl of `crawls.py` runs in two sizes under valgrind (cachegrind), which must be installed.
The difference in instructions, divided by the difference in pages, is the cost of a page. So the
cost of the start and the end of a process is not included. Ratios are to the first side.

Instructions of the kernel, such as sends and writes, are not counted, and an instruction is not a
unit of time. A crawl takes about 40 times as long, so the intervals of scrapy-rep are made 40 times
longer. One side of one shape takes 4 to 8 minutes.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys

import crawls
from crawls import AUDITED, MEMORY, SIDES, Shape

from scrapy_rep.engine.loops import Ticks

SIZES = {
    "a": (Shape(1, 400), Shape(1, 1200)),
    "b": (Shape(20, 20), Shape(60, 20)),
    "c": (Shape(100, 1), Shape(300, 1)),
}
_SLOWER = 40
_VALGRIND = ("valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null")
_COUNTED = re.compile(r"I\s+refs:\s+([0-9,]+)")


def count(side: str, shape: Shape, port: int) -> int:
    """The instructions of one crawl in a process of its own.

    Raises:
        RuntimeError: some pages are missing, or nothing was counted.
    """
    job = json.dumps([side, shape.origins, shape.pages, port])
    command = [*_VALGRIND, sys.executable, __file__, "--crawl", job]
    done = subprocess.run(
        command, check=True, env=crawls.environment(), capture_output=True, text=True
    )
    figures = json.loads(done.stdout.splitlines()[-1])
    counted = _COUNTED.search(done.stderr)
    if figures.get("pages") != shape.urls or counted is None:
        raise RuntimeError(f"{side}: {figures} {done.stderr[-1000:]}")
    return int(counted[1].replace(",", ""))


def compare(names: list[str], sides: list[str]) -> None:
    """Count, and print a row for each shape and side."""
    print("| shape | side | instructions a page | ratio |")
    print("| --- | --- | ---: | ---: |", flush=True)
    with crawls.site() as port:
        for name in names:
            small, large = SIZES[name]
            first = 0.0
            for side in sides:
                more = count(side, large, port) - count(side, small, port)
                each = more / (large.urls - small.urls)
                first = first or each
                print(f"| {name} | {side} | {each:,.0f} | {each / first:.4f} |", flush=True)


def slow_down() -> None:
    """Make the intervals of scrapy-rep longer, because time passes slowly under valgrind."""
    begin = Ticks.__init__

    def begin_slowed(self: Ticks, seconds: float) -> None:
        begin(self, seconds * _SLOWER)

    Ticks.__init__ = begin_slowed  # type: ignore[method-assign]


def main() -> None:
    """Crawl, or count and print the table."""
    parser = argparse.ArgumentParser(description="Instructions per page of whole crawls.")
    parser.add_argument("--shapes", nargs="+", choices=SIZES, default=list(SIZES))
    parser.add_argument("--sides", nargs="+", choices=SIDES, default=[MEMORY, AUDITED])
    parser.add_argument("--crawl", metavar="JOB", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.crawl:
        slow_down()
        side, origins, pages, port = json.loads(options.crawl)
        print(json.dumps(crawls.crawl(side, Shape(origins, pages), port)))
    elif shutil.which("valgrind") is None:
        parser.error("valgrind is not installed")
    else:
        compare(options.shapes, options.sides)


if __name__ == "__main__":
    main()
