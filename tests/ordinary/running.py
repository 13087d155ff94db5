"""The command: runs the projects of many seeds, and sums up the findings."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from tests.ordinary.comparing import KINDS, Examination, Finding, examine
from tests.ordinary.projects import describe, draw_project


def main(arguments: Sequence[str]) -> int:
    """Run the command; 1 if there is a finding."""
    parser = ArgumentParser(prog="python -m tests.ordinary", description=__doc__)
    parser.add_argument("--seeds", default="0-39", help="such as 7, 0-99 or 3,8,20-29")
    parser.add_argument("--jobs", type=int, default=2, help="how many projects run at a time")
    parser.add_argument("--log", action="store_true", help="print the log of our crawl, too")
    options = parser.parse_args(arguments)
    begun_at = time.monotonic()
    found: Counter[str] = Counter()
    count = 0
    # Not threads: if one reads the exit code of a crawl that another waits for, that one gets 255.
    with ProcessPoolExecutor(options.jobs, get_context("spawn")) as pool:
        seeds = _seeds(options.seeds)
        for seed, examination in zip(seeds, pool.map(_examine, seeds), strict=True):
            count += 1
            found.update({finding.kind for finding in examination.findings})
            _show(seed, examination, with_log=options.log)
    summary = ", ".join(f"{found[kind]} {kind}" for kind in KINDS)
    print(f"{count} projects: {summary} ({time.monotonic() - begun_at:.0f} s)")
    return 1 if found else 0


def explain(seed: int, findings: Iterable[Finding]) -> str:
    """The findings of a project in a line, and how to see them again."""
    words = "; ".join(f"{finding.kind}: {finding.words}" for finding in findings)
    again = f"python -m tests.ordinary --seeds {seed}"
    return f"{words} | {describe(draw_project(seed))} | {again}"


def _examine(seed: int) -> Examination:
    return examine(draw_project(seed))


def _show(seed: int, examination: Examination, *, with_log: bool) -> None:
    if examination.findings:
        print(explain(seed, examination.findings), flush=True)
    if with_log:
        ours = examination.ours or examination.stock
        print(ours.log, flush=True)


def _seeds(text: str) -> list[int]:
    seeds: list[int] = []
    for part in text.split(","):
        first, _, last = part.partition("-")
        seeds += range(int(first), int(last or first) + 1)
    return seeds
