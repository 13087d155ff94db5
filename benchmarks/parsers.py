"""Ours and every other robots.txt parser that can be imported, over real files, in one process.

Run ``python benchmarks/parsers.py``; it installs nothing; with ``--readme`` it writes the README's
table. What is measured:

* *parse*: from the octets to a policy. Ours is lazy, so that this says little of it;
* *parse + first*: that, and the verdict on one URL for one crawler: what a file costs;
* *warm*: one more verdict of a policy that has given one: what a request costs early in a crawl,
  when most rules decide for the first time. Over all files, over those whose rule sets are of
  median size, and over the 50 largest rule sets;
* *hot*: the same once each of those rules has decided before, as late in a crawl;
* *kept*: bytes that stay allocated per file after parse + first, as tracemalloc counts them, the
  octets of the file included where a policy keeps them. Rust's memory is none of Python's: "-".

Ours is asked as the Scrapy side asks it: `parse(body)`, then ``verdict(token, absolute_url)``.
The others take text, which is decoded outside of the timing, in their favour (the line "decode"
says what it costs in Scrapy). fastrobots takes paths and answers wrongly when given URLs, so it is
fed through its own `url_path`. The line "floor" splits a file and partitions its lines, no more.

The parsers take turns, round after round; each figure is the median of the rounds. A ratio is
theirs over ours: above 1, ours is faster or smaller. Garbage collection is off, as in `timeit`.
"""

from __future__ import annotations

import argparse
import base64
import gc
import gzip
import importlib
import json
import os
import platform
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scrapy_rep.protocol import document  # noqa: E402

AGENT = "ZyxwvBot"  # a crawler that no file names: it obeys the group for everyone, as most do
LARGEST = 50
MEDIAN_FILES = 500

README_START, README_END = "<!-- parsers: start -->", "<!-- parsers: end -->"

OURS, PROTEGO, FASTROBOTS = "scrapy-rep", "protego", "fastrobots (Rust)"

Urls = Sequence[str]


@dataclass(frozen=True)
class RealFile:
    """One file of the corpus."""

    body: bytes
    text: str
    urls: Urls
    rules: int


@dataclass(frozen=True)
class Parser:
    """One parser, in the steps that are timed.

    Attributes:
        name: as the tables show it.
        parse: a policy from text, or from octets.
        ask: ask a policy for a verdict on each URL, in a bare loop, since it is timed.
        takes_text: whether it takes text.
        is_traced: whether tracemalloc sees its memory.
    """

    name: str
    parse: Callable[[Any], Any]
    ask: Callable[[Any, Urls], None]
    takes_text: bool = True
    is_traced: bool = True


def ours() -> Parser:
    def ask(policy: Any, urls: Urls) -> None:
        for url in urls:
            policy.verdict(AGENT, url)

    return Parser(OURS, document.parse, ask, takes_text=False)


def protego() -> Parser:
    def ask(policy: Any, urls: Urls) -> None:
        for url in urls:
            policy.can_fetch(url, AGENT)

    return Parser(PROTEGO, importlib.import_module("protego").Protego.parse, ask)


def standard_library() -> Parser:
    make = importlib.import_module("urllib.robotparser").RobotFileParser

    def parse(source: Any) -> Any:
        policy = make()
        policy.parse(source.splitlines())
        return policy

    def ask(policy: Any, urls: Urls) -> None:
        for url in urls:
            policy.can_fetch(AGENT, url)

    return Parser("urllib.robotparser", parse, ask)


def robotspy() -> Parser:
    def ask(policy: Any, urls: Urls) -> None:
        for url in urls:
            policy.can_fetch(AGENT, url)

    return Parser("robotspy", importlib.import_module("robots").RobotsParser.from_string, ask)


def rerp() -> Parser:
    make = importlib.import_module("robotexclusionrulesparser").RobotExclusionRulesParser

    def parse(source: Any) -> Any:
        policy = make()
        policy.parse(source)
        return policy

    def ask(policy: Any, urls: Urls) -> None:
        for url in urls:
            policy.is_allowed(AGENT, url)

    return Parser("robotexclusionrulesparser", parse, ask)


def fastrobots() -> Parser:
    module = importlib.import_module("fastrobots")
    url_path = module.url_path

    def ask(policy: Any, urls: Urls) -> None:
        for url in urls:
            policy.allowed(url_path(url), AGENT)

    return Parser(FASTROBOTS, module.Robots.parse, ask, is_traced=False)


def floor() -> Parser:
    def parse(source: Any) -> Any:
        for line in source.split(b"\n"):
            line.partition(b":")

    return Parser("floor: split + partition", parse, lambda *_: None, takes_text=False)


def decoding() -> Parser:
    def parse(source: Any) -> Any:
        source.decode("utf-8-sig", "ignore")

    return Parser("decode", parse, lambda *_: None, takes_text=False)


OTHERS = (protego, standard_library, robotspy, rerp, fastrobots)


@dataclass
class Figures:
    """What was measured of one parser, a figure per round; seconds, but for `kept`."""

    parse: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    warm: dict[str, list[float]] = field(default_factory=dict)
    kept: float | None = None


def corpus_folder() -> Path:
    folder = Path(os.environ.get("REP_SHARED", ROOT.parent / "shared")) / "corpus"
    if not folder.is_dir():
        sys.exit("the corpus is missing: ../shared/corpus beside the repository, or REP_SHARED")
    return folder


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def real_files() -> list[RealFile]:
    """The files of the corpus that have URLs, smallest rule set first."""
    folder = corpus_folder()
    urls = {found["host"]: found["urls"] for found in _objects(folder / "verdicts.jsonl.gz")}
    files = []
    for found in _objects(folder / "robots.jsonl.gz"):
        body = base64.b64decode(found["body_b64"])
        if urls.get(found["host"]):
            group = document.parse(body).group(AGENT)
            text = body.decode("utf-8-sig", "ignore")
            rules = len(group.rules) if group else 0
            files.append(RealFile(body, text, urls[found["host"]], rules))
    return sorted(files, key=lambda file: file.rules)


def parsers(names: Sequence[str]) -> list[Parser]:
    """Ours, and the named others (all, if none is named) that can be imported."""
    found = [ours()]
    for other in OTHERS:
        with suppress(ImportError):
            found.append(other())
    return [found[0], *(p for p in found[1:] if not names or any(n in p.name for n in names))]


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()
    started = time.perf_counter()
    work()
    taken = time.perf_counter() - started
    gc.enable()
    return taken


def sources(parser: Parser, files: Iterable[RealFile]) -> list[tuple[Any, Urls]]:
    return [(file.text if parser.takes_text else file.body, file.urls) for file in files]


def measure_parse(parser: Parser, files: Sequence[RealFile], figures: Figures) -> None:
    given = sources(parser, files)

    def parse_all() -> None:
        for source, _ in given:
            parser.parse(source)

    def parse_and_ask_all() -> None:
        for source, urls in given:
            parser.ask(parser.parse(source), urls[:1])

    figures.parse.append(seconds(parse_all))
    figures.first.append(seconds(parse_and_ask_all))


def measure_warm(parser: Parser, name: str, files: Sequence[RealFile], figures: Figures) -> None:
    warm = []
    for source, urls in sources(parser, files):
        policy = parser.parse(source)
        parser.ask(policy, urls[:1])
        warm.append((policy, urls))

    def ask_all() -> None:
        for policy, urls in warm:
            parser.ask(policy, urls)

    figures.warm.setdefault(f"warm, {name}", []).append(seconds(ask_all))
    figures.warm.setdefault(f"hot, {name}", []).append(seconds(ask_all))


def measure_kept(parser: Parser, files: Sequence[RealFile]) -> float:
    """Bytes per file; the source is made anew, so that keeping it counts."""
    kept = []
    first = sources(parser, files[:1])[0]
    parser.ask(parser.parse(first[0]), first[1][:1])  # what is made once is not the files'
    gc.collect()
    tracemalloc.start()
    for source, urls in sources(parser, files):
        is_text = isinstance(source, str)
        policy = parser.parse(
            source.encode("utf-32").decode("utf-32") if is_text else bytes(bytearray(source))
        )
        parser.ask(policy, urls[:1])
        kept.append(policy)
    del policy, source
    gc.collect()
    octets, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return octets / len(kept)


def table(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if index == 0 else cell.rjust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def main() -> None:
    options = argparse.ArgumentParser(description="Compare robots.txt parsers over real files.")
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--parsers", nargs="*", default=[], help="parts of names; default: all")
    options.add_argument("--readme", action="store_true", help="write the README's table")
    given = options.parse_args()

    files = real_files()
    middle = (len(files) - MEDIAN_FILES) // 2
    warm_files = {
        "all": files,
        "median": files[middle : middle + MEDIAN_FILES],
        "largest": files[-LARGEST:],
    }
    compared = parsers(given.parsers)
    measured = {parser.name: Figures() for parser in compared}
    bare = [floor(), decoding()]
    bare_seconds: dict[str, list[float]] = {parser.name: [] for parser in bare}

    for turn in range(given.rounds):
        first = turn % len(compared)
        for parser in compared[first:] + compared[:first]:
            measure_parse(parser, files, measured[parser.name])
            for name, chosen in warm_files.items():
                measure_warm(parser, name, chosen, measured[parser.name])
        for parser in bare:
            figures = Figures()
            measure_parse(parser, files, figures)
            bare_seconds[parser.name].extend(figures.parse)
        print(f"round {turn + 1} of {given.rounds}", file=sys.stderr)
    for parser in compared:
        if parser.is_traced:
            measured[parser.name].kept = measure_kept(parser, files)

    describe(files, warm_files)
    report(measured, {name: median(taken) for name, taken in bare_seconds.items()}, warm_files)
    if {OURS, PROTEGO} <= measured.keys():
        targets(measured)
    if given.readme:
        write_readme(measured, files, warm_files)


def write_readme(
    measured: dict[str, Figures],
    files: Sequence[RealFile],
    warm_files: dict[str, list[RealFile]],
) -> None:
    """Put the figures where the README shows them."""
    own = measured[OURS]
    named = ["all", "largest"]
    head = [
        "",
        "a file and its first verdict",
        "a later verdict",
        f"over the {LARGEST} largest",
        "kept",
    ]
    rows = [head, ["---"] * len(head)]
    for name, figures in measured.items():
        first = median(figures.first) / len(files) * 1e6
        row = [name, f"{first:.1f} µs ({median(figures.first) / median(own.first):.1f}x)"]
        for chosen in named:
            count = sum(len(file.urls) for file in warm_files[chosen])
            taken, ours_taken = (median(each.warm[f"hot, {chosen}"]) for each in (figures, own))
            row.append(f"{taken / count * 1e6:.2f} µs ({taken / ours_taken:.1f}x)")
        row.append(f"{figures.kept / 1000:.1f} kB" if figures.kept is not None else "")
        rows.append(row)
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    lines.append(
        f"\nCPython {platform.python_version()}, {len(files)} files of real sites, medians of "
        f"{len(own.first)} rounds; in brackets, how many times as long as ours it takes."
    )
    readme = ROOT / "README.md"
    before, start, rest = readme.read_text(encoding="utf-8").partition(README_START)
    _, end, after = rest.partition(README_END)
    readme.write_text(
        "".join([before, start, "\n\n", "\n".join(lines), "\n\n", end, after]), encoding="utf-8"
    )


def describe(files: Sequence[RealFile], warm_files: dict[str, list[RealFile]]) -> None:
    print(f"CPython {platform.python_version()}, {len(files)} files, ", end="")
    print(f"{sum(len(file.body) for file in files) / len(files):.0f} octets on average")
    for name, chosen in warm_files.items():
        rules = [file.rules for file in chosen]
        count = sum(len(file.urls) for file in chosen)
        print(f"  {name}: {len(chosen)} files, {count} URLs, {rules[0]} to {rules[-1]} rules")


def report(
    measured: dict[str, Figures], bare: dict[str, float], warm_files: dict[str, list[RealFile]]
) -> None:
    count = len(warm_files["all"])
    urls = {
        f"{heat}, {name}": sum(len(file.urls) for file in chosen)
        for heat in ("warm", "hot")
        for name, chosen in warm_files.items()
    }
    own = measured[OURS]
    head = ["", "parse", "ratio", "parse + first", "ratio"]
    for name in urls:
        head += [name, "ratio"]
    rows = [[*head, "kept", "ratio"]]
    for name, figures in measured.items():
        row = [name, *_cells(figures.parse, own.parse, count)]
        row += _cells(figures.first, own.first, count)
        for chosen, asked in urls.items():
            row += _cells(figures.warm[chosen], own.warm[chosen], asked)
        if figures.kept is None or own.kept is None:
            row += ["-", "-"]
        else:
            row += [f"{figures.kept:,.0f} B", f"{figures.kept / own.kept:.2f}"]
        rows.append(row)
    for name, taken in bare.items():
        ratio = f"{taken / median(own.parse):.2f}"
        rows.append([name, f"{taken / count * 1e6:.2f} us", ratio] + ["-"] * (len(head) - 1))
    print(f"\nper file, per verdict, per file:\n{table(rows)}")
    per_second = [
        ["verdicts per second", *urls],
        *(
            [name, *(f"{urls[chosen] / median(figures.warm[chosen]):,.0f}" for chosen in urls)]
            for name, figures in measured.items()
        ),
    ]
    print(f"\n{table(per_second)}")


def _cells(taken: Sequence[float], own: Sequence[float], count: int) -> list[str]:
    return [f"{median(taken) / count * 1e6:.2f} us", f"{median(taken) / median(own):.2f}"]


def targets(measured: dict[str, Figures]) -> None:
    """What we set out to reach, as ratios in this run."""
    own, theirs = measured[OURS], measured[PROTEGO]
    rows = [["target", "at least", "measured", ""]]

    def target(name: str, least: float, others: float, ours: float) -> None:
        ratio = others / ours
        rows.append([name, f"{least:g}", f"{ratio:.2f}", "met" if ratio >= least else "MISSED"])

    target("parse + first: protego / ours", 6, median(theirs.first), median(own.first))
    for heat in ("warm", "hot"):
        for chosen, least in ((f"{heat}, all", 5), (f"{heat}, largest", 20)):
            name = f"{chosen}: protego / ours"
            target(name, least, median(theirs.warm[chosen]), median(own.warm[chosen]))
    fast = measured.get(FASTROBOTS)
    if fast is not None:
        for chosen in ("warm, all", "hot, all"):
            name = f"{chosen}: fastrobots / ours"
            target(name, 1, median(fast.warm[chosen]), median(own.warm[chosen]))
    if theirs.kept is not None and own.kept is not None:
        target("kept: protego / ours", 5, theirs.kept, own.kept)
    print(f"\n{table(rows)}")


if __name__ == "__main__":
    main()
