"""The parser of scrapy-rep and each other robots.txt parser that can be imported, on real files.

Run ``python benchmarks/parsers.py``; it installs nothing. If ``$REP_ROBOTPARSER`` names the
robotparser.py of a newer CPython, which reads RFC 9309, it is compared too. The last table is the
README's. The columns of the others are:

* *parse*: from the octets to a policy. Our parser is lazy, so this column says little about it;
* *parse + first*: the same and the verdict on one URL for one crawler;
* *everything*: the same and the pace of the site, which is the work for the first request of a
  crawl. Our parser reads Crawl-delay, Request-rate and Visit-time. The others read Crawl-delay, if
  they know it;
* *with sitemaps*: the same and the Sitemap lines, if the parser knows them;
* *warm*: one more verdict of a policy after its first one: the work for a request early in a crawl,
  when most rules decide for the first time. It is measured on all files, on files with rule sets of
  median size, and on the 50 largest rule sets, with URLs close to rules; and on all files with URLs
  as in a crawl: few escapes, and at most one in ten disallowed;
* *hot*: the same after each of those rules has decided before, as late in a crawl;
* *kept*: bytes that stay allocated per file after parse + first, as tracemalloc counts them,
  including the octets of the file if a policy keeps them. "-" for Rust, because Python does not see
  its memory.

Our parser is called as the middleware calls it: `parse(body)`, then
``verdict(token, absolute_url)``. The other parsers take text, so decoding counts, as in Scrapy (the
line "decode" shows its part). fastrobots takes paths and gives wrong answers for URLs, so it gets
its input through its own `url_path`. The line "floor" only splits a file and partitions its lines.

The parsers alternate, round after round. The time for a file is CPU time, and the least of the
rounds for each file. The tables show mean and median of the files, because a tenth of them takes
nearly half of the time. Verdicts are the median of the rounds. A ratio is the other parser divided
by ours: above 1, ours is faster or smaller. Garbage collection is off, as in `timeit`.
"""

from __future__ import annotations

import argparse
import base64
import gc
import gzip
import importlib
import importlib.util
import json
import os
import platform
import random
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from statistics import mean, median
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scrapy_rep.protocol import document  # noqa: E402
from scrapy_rep.protocol.paths import before_path_of  # noqa: E402

AGENT = "ZyxwvBot"  # a crawler that no file names: it obeys the group for `*`, as most crawlers do
WORDS = ["about", "blog", "en", "news", "products", "shoes", "item", "2024", "images", "article"]
LARGEST = 50
MEDIAN_FILES = 500


OURS, PROTEGO, FASTROBOTS = "scrapy-rep", "protego", "fastrobots (Rust)"

Urls = Sequence[str]


@dataclass(frozen=True)
class RealFile:
    """One file of the corpus."""

    body: bytes
    urls: Urls
    crawl_urls: Urls
    rules: int


@dataclass(frozen=True)
class Parser:
    """One parser, in the steps that are timed.

    Attributes:
        name: as the tables show it.
        parse: makes a policy from octets.
        ask: gets the verdict on each URL from a policy, in a bare loop, because it is timed.
        pace: gets the delay of the site from a policy.
        sitemaps: gets the Sitemap lines from a policy.
        is_traced: whether tracemalloc sees its memory.
    """

    name: str
    parse: Callable[[Any], Any]
    ask: Callable[[Any, Urls], None]
    pace: Callable[[Any], object] = id
    sitemaps: Callable[[Any], object] = id
    is_traced: bool = True


def text_of(body: bytes) -> str:
    """Decode a robots.txt as Scrapy does."""
    return body.decode("utf-8-sig", "ignore")


def ours() -> Parser:
    def ask(policy: Any, urls: Urls) -> None:
        for url in urls:
            policy.verdict(url, AGENT)

    return Parser(
        OURS,
        document.parse,
        ask,
        lambda policy: policy.site_pace(AGENT),
        lambda policy: policy.sitemaps,
    )


def protego() -> Parser:
    def ask(policy: Any, urls: Urls) -> None:
        for url in urls:
            policy.can_fetch(url, AGENT)

    parse = importlib.import_module("protego").Protego.parse
    return Parser(
        PROTEGO,
        lambda body: parse(text_of(body)),
        ask,
        lambda policy: policy.crawl_delay(AGENT),
        lambda policy: list(policy.sitemaps),
    )


def standard_library() -> Parser:
    return robotparser("urllib.robotparser", importlib.import_module("urllib.robotparser"))


def newer_library(path: str) -> Parser:
    spec = importlib.util.spec_from_file_location("newer_robotparser", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} is no Python module")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return robotparser("urllib.robotparser of RFC 9309", module)


def robotparser(name: str, module: Any) -> Parser:
    make = module.RobotFileParser

    def parse(source: Any) -> Any:
        policy = make()
        policy.parse(text_of(source).splitlines())
        return policy

    def ask(policy: Any, urls: Urls) -> None:
        for url in urls:
            policy.can_fetch(AGENT, url)

    return Parser(
        name,
        parse,
        ask,
        lambda policy: policy.crawl_delay(AGENT),
        lambda policy: policy.site_maps(),
    )


def robotspy() -> Parser:
    def ask(policy: Any, urls: Urls) -> None:
        for url in urls:
            policy.can_fetch(AGENT, url)

    parse = importlib.import_module("robots").RobotsParser.from_string
    return Parser("robotspy", lambda body: parse(text_of(body)), ask)


def rerp() -> Parser:
    make = importlib.import_module("robotexclusionrulesparser").RobotExclusionRulesParser

    def parse(source: Any) -> Any:
        policy = make()
        policy.parse(text_of(source))
        return policy

    def ask(policy: Any, urls: Urls) -> None:
        for url in urls:
            policy.is_allowed(AGENT, url)

    return Parser(
        "robotexclusionrulesparser",
        parse,
        ask,
        lambda policy: policy.get_crawl_delay(AGENT),
        lambda policy: policy.sitemaps,
    )


def fastrobots() -> Parser:
    module = importlib.import_module("fastrobots")
    url_path = module.url_path

    def ask(policy: Any, urls: Urls) -> None:
        for url in urls:
            policy.allowed(url_path(url), AGENT)

    return Parser(FASTROBOTS, lambda body: module.Robots.parse(text_of(body)), ask, is_traced=False)


def floor() -> Parser:
    def parse(source: Any) -> Any:
        for line in source.split(b"\n"):
            line.partition(b":")

    return Parser("floor: split + partition", parse, lambda *_: None)


def decoding() -> Parser:
    def parse(source: Any) -> Any:
        source.decode("utf-8-sig", "ignore")

    return Parser("decode", parse, lambda *_: None)


OTHERS = (protego, standard_library, robotspy, rerp, fastrobots)


@dataclass
class Figures:
    """The measurements of one parser, in seconds except `kept`.

    Attributes:
        files: by column, the least of all rounds for each file.
        warm: by column, a figure for each round.
        kept: octets for each file.
    """

    files: dict[str, list[float]] = field(default_factory=dict)
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


def crawl_like(body: bytes, near_rules: Urls) -> Urls:
    """URLs as in a crawl: 27 pages, and up to 3 that rules forbid."""
    robots_txt = document.parse(body)
    draw = random.Random(len(body))
    base = before_path_of(near_rules[0]) or "https://example.com/"
    pages = [
        base
        + "/".join(draw.choices(WORDS, k=draw.randint(1, 3)))
        + draw.choice([f"-{draw.randrange(10_000)}.html", "/", "", f"?page={draw.randrange(50)}"])
        for _ in range(27)
    ]
    pages[0] += "?q=caf%C3%A9"
    forbidden = [url for url in near_rules if not robots_txt.verdict(url, AGENT).allowed]
    mixed = [*pages, *forbidden[:3]]
    draw.shuffle(mixed)
    return mixed


def real_files() -> list[RealFile]:
    """The files of the corpus that have URLs, smallest rule set first."""
    folder = corpus_folder()
    urls = {found["host"]: found["urls"] for found in _objects(folder / "verdicts.jsonl.gz")}
    files = []
    for found in _objects(folder / "robots.jsonl.gz"):
        body = base64.b64decode(found["body_b64"])
        if urls.get(found["host"]):
            group = document.parse(body).group(AGENT)
            rules = len(group.rules) if group else 0
            asked = urls[found["host"]]
            files.append(RealFile(body, asked, crawl_like(body, asked), rules))
    return sorted(files, key=lambda file: file.rules)


def parsers(names: Sequence[str]) -> list[Parser]:
    """Our parser, and the named others that can be imported (all without names)."""
    found = [ours()]
    for other in OTHERS:
        with suppress(ImportError):
            found.append(other())
    return [found[0], *(p for p in found[1:] if not names or any(n in p.name for n in names))]


def seconds(work: Callable[[], object]) -> float:
    gc.collect()
    gc.disable()
    started = time.process_time()
    work()
    taken = time.process_time() - started
    gc.enable()
    return taken


def asked(parser: Parser, body: bytes, url: str) -> Any:
    policy = parser.parse(body)
    parser.ask(policy, (url,))
    return policy


def with_sitemaps(parser: Parser, body: bytes, url: str) -> None:
    policy = asked(parser, body, url)
    parser.pace(policy)
    parser.sitemaps(policy)


COLUMNS: dict[str, Callable[[Parser, bytes, str], object]] = {
    "parse": lambda parser, body, _: parser.parse(body),
    "parse + first": asked,
    "everything": lambda parser, body, url: parser.pace(asked(parser, body, url)),
    "with sitemaps": with_sitemaps,
}
"""The work for each file."""


def measure_files(parser: Parser, files: Sequence[RealFile], figures: Figures) -> None:
    gc.collect()
    gc.disable()
    for column, work in COLUMNS.items():
        taken = []
        for file in files:
            started = time.process_time()
            work(parser, file.body, file.urls[0])
            taken.append(time.process_time() - started)
        before = figures.files.get(column, taken)
        figures.files[column] = [*map(min, before, taken)]
    gc.enable()


def measure_warm(
    parser: Parser, name: str, files: Sequence[tuple[bytes, Urls]], figures: Figures
) -> None:
    warm = []
    for body, urls in files:
        policy = parser.parse(body)
        parser.ask(policy, urls[:1])
        warm.append((policy, urls))

    def ask_all() -> None:
        for policy, urls in warm:
            parser.ask(policy, urls)

    figures.warm.setdefault(f"warm, {name}", []).append(seconds(ask_all))
    figures.warm.setdefault(f"hot, {name}", []).append(seconds(ask_all))


def measure_kept(parser: Parser, files: Sequence[RealFile]) -> float:
    """Bytes per file; the source is copied, so that a kept source counts."""
    asked(parser, files[0].body, files[0].urls[0])  # allocates once for all files
    gc.collect()
    tracemalloc.start()
    kept = [asked(parser, bytes(bytearray(file.body)), file.urls[0]) for file in files]
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
    given = options.parse_args()

    files = real_files()
    middle = (len(files) - MEDIAN_FILES) // 2
    near = [(file.body, file.urls) for file in files]
    warm_files = {
        "all": near,
        "median": near[middle : middle + MEDIAN_FILES],
        "largest": near[-LARGEST:],
        "crawl": [(file.body, file.crawl_urls) for file in files],
    }
    compared = parsers(given.parsers)
    if newer := os.environ.get("REP_ROBOTPARSER"):
        compared.append(newer_library(newer))
    measured = {parser.name: Figures() for parser in compared}
    bare = {parser.name: (parser, Figures()) for parser in (floor(), decoding())}

    for turn in range(given.rounds):
        first = turn % len(compared)
        for parser in compared[first:] + compared[:first]:
            measure_files(parser, files, measured[parser.name])
            for name, chosen in warm_files.items():
                measure_warm(parser, name, chosen, measured[parser.name])
        for parser, figures in bare.values():
            measure_files(parser, files, figures)
        print(f"round {turn + 1} of {given.rounds}", file=sys.stderr)
    for parser in compared:
        if parser.is_traced:
            measured[parser.name].kept = measure_kept(parser, files)

    describe(files, warm_files)
    report(measured, {name: figures for name, (_, figures) in bare.items()}, warm_files)
    if {OURS, PROTEGO} <= measured.keys():
        targets(measured)
    write_table(measured, warm_files)


def write_table(
    measured: dict[str, Figures], warm_files: dict[str, list[tuple[bytes, Urls]]]
) -> None:
    """Print the README's table."""
    own = measured[OURS]
    head = ["", "a file, its first verdict and delay", "(median file)", "with sitemaps"]
    named = {"crawl": "a later verdict", "all": "near a rule", "largest": f"the {LARGEST} largest"}
    head += [*named.values(), "kept"]
    rows = [head, ["---"] * len(head)]
    for name, figures in measured.items():
        row = [_with_version(name)]
        for column, middle in (
            ("everything", mean),
            ("everything", median),
            ("with sitemaps", mean),
        ):
            taken, ours_taken = (middle(each.files[column]) for each in (figures, own))
            row.append(f"{taken * 1e6:.1f} µs ({taken / ours_taken:.1f}x)")
        for chosen in named:
            count = sum(len(urls) for _, urls in warm_files[chosen])
            taken, ours_taken = (median(each.warm[f"hot, {chosen}"]) for each in (figures, own))
            row.append(f"{taken / count * 1e6:.2f} µs ({taken / ours_taken:.1f}x)")
        row.append(f"{figures.kept / 1000:.1f} kB" if figures.kept is not None else "")
        rows.append(row)
    print("\n".join("| " + " | ".join(row) + " |" for row in rows))


def _with_version(name: str) -> str:
    """The name of a parser, with the version of the package that contains it."""
    if name == OURS or "urllib" in name:
        return name
    package, _, words = name.partition(" ")
    return f"{package} {version(package)} {words}".rstrip()


def describe(files: Sequence[RealFile], warm_files: dict[str, list[tuple[bytes, Urls]]]) -> None:
    print(f"CPython {platform.python_version()}, {len(files)} files, ", end="")
    print(f"{mean(len(file.body) for file in files):.0f} octets on average")
    for name, chosen in warm_files.items():
        print(f"  {name}: {len(chosen)} files, {sum(len(urls) for _, urls in chosen)} URLs")


def report(
    measured: dict[str, Figures],
    bare: dict[str, Figures],
    warm_files: dict[str, list[tuple[bytes, Urls]]],
) -> None:
    own = measured[OURS]
    head = [""]
    for column in COLUMNS:
        head += [column, "ratio", "median", "ratio"]
    rows = [[*head, "kept", "ratio"]]
    for name, figures in [*measured.items(), *bare.items()]:
        row = [name]
        for column in COLUMNS:
            for middle in (mean, median):
                taken = middle(figures.files[column])
                row += [f"{taken * 1e6:.2f} us", f"{taken / middle(own.files[column]):.2f}"]
        if figures.kept is None or own.kept is None:
            row += ["-", "-"]
        else:
            row += [f"{figures.kept:,.0f} B", f"{figures.kept / own.kept:.2f}"]
        rows.append(row)
    print(f"\nper file, mean and median:\n{table(rows)}")
    counts = {name: sum(len(urls) for _, urls in chosen) for name, chosen in warm_files.items()}
    head = [""]
    for name in counts:
        head += [f"warm, {name}", "ratio", f"hot, {name}", "ratio"]
    rows = [head]
    for name, figures in measured.items():
        row = [name]
        for chosen, count in counts.items():
            for heat in ("warm", "hot"):
                taken, ours_taken = (
                    median(each.warm[f"{heat}, {chosen}"]) for each in (figures, own)
                )
                row += [f"{taken / count * 1e6:.2f} us", f"{taken / ours_taken:.2f}"]
        rows.append(row)
    print(f"\nper verdict:\n{table(rows)}")


def targets(measured: dict[str, Figures]) -> None:
    """Print our targets and their ratios in this run.

    The main target is the work for a first request. Before the first measurement, we hoped that
    parse and first verdict would take a sixth of Protego's time. No run has shown more than 3.7.
    """
    own, theirs = measured[OURS], measured[PROTEGO]
    rows = [["target", "at least", "measured", ""]]

    def target(name: str, least: float, others: float, ours: float) -> None:
        ratio = others / ours
        rows.append([name, f"{least:g}", f"{ratio:.2f}", "met" if ratio >= least else "MISSED"])

    for column, least in (("everything", 2.7), ("with sitemaps", 2.3)):
        name = f"{column}: protego / ours"
        target(name, least, mean(theirs.files[column]), mean(own.files[column]))
    first = "parse + first"
    target(
        f"{first}: protego / ours (a hope)", 6, mean(theirs.files[first]), mean(own.files[first])
    )
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
