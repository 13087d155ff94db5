"""``scrapy rep collect``: asks many sites for their robots.txt, and stores the answers."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .running import OK, CommandError
from .sources import STDIN
from .ticking import Ticker

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from .collecting import Progress
    from .lists import Wanted
    from .terminal import Terminal

SUMMARY = "ask many sites for their files, and store them"
DESCRIPTION = """\
Ask the sites of a list for their robots.txt, and store the answers: as a crawl of this project
would, with its settings, its store and its policies. No page is asked for. A list has a host, a
domain or a URL on each line; in CSV, such as a top list, the first column that is no number
counts. A run that is stopped goes on where it was when it is called again."""
EXAMPLES = """\
examples:
  scrapy rep collect domains.txt
  scrapy rep collect top-1m.csv --www both --scheme both
  zcat top.csv.gz | scrapy rep collect - --at-once 200
  scrapy rep collect domains.txt --warc warc
  scrapy rep survey .scrapy/rep/robots.sqlite

exit status: 0 all were asked; 2 wrong usage; 130 stopped, and the next call goes on"""

_STOPPED = 130
_SCHEMES = {"https": ("https",), "http": ("http",), "both": ("https", "http")}
_SHOWN_EVENTS = 15


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    parser.add_argument("list", metavar="LIST", help="a file, or - for standard input")
    parser.add_argument(
        "--scheme", choices=_SCHEMES, default="https", help="of hosts (default: https)"
    )
    parser.add_argument(
        "--www",
        choices=("no", "yes", "both"),
        default="no",
        help="whether to put www. before hosts (default: no)",
    )
    parser.add_argument(
        "--column", type=int, default=0, metavar="N", help="of CSV, the column of the host, from 1"
    )
    parser.add_argument(
        "--at-once", type=int, default=64, metavar="N", help="origins at a time (default: 64)"
    )
    parser.add_argument(
        "--per-address",
        type=int,
        default=2,
        metavar="N",
        help="origins of one address at a time (default: 2); 0: any number, and names are not "
        "resolved for that",
    )
    parser.add_argument(
        "--resume",
        metavar="FILE",
        help="where to note what is done (default: LIST.collect; none for standard input)",
    )
    parser.add_argument(
        "--warc",
        metavar="FOLDER",
        help="write every exchange as WARC too, each run into a folder of its own in this one "
        "(default: REP_WARC_DIR)",
    )


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    """Ask all sites of the list."""
    from .collecting import Collection, Progress
    from .lists import Wanted, origins_of

    wanted = Wanted(
        _SCHEMES[options.scheme], options.www != "yes", options.www != "no", options.column
    )
    _check(options, settings)
    path = _resume_path(options)
    asked = f"{options.list} --scheme {options.scheme} --www {options.www} --column {wanted.column}"
    progress = Progress(asked) if path is None else Progress.load(path, asked)
    total, begun = _total(options.list, wanted), progress.count
    ticker = Ticker(sys.stderr)
    ours = settings.copy()
    ours.set("REP_CONCURRENT_FETCHES", options.at_once, priority="cmdline")
    if options.warc:
        ours.set("REP_WARC_DIR", options.warc, priority="cmdline")
    ours.set("CONCURRENT_REQUESTS", max(options.at_once, 16), priority="cmdline")

    def tell(progress: Progress) -> None:
        if ticker.is_due:
            ticker.show(_words(progress, begun, total, ticker.seconds))

    targets = origins_of(_lines(options.list), wanted)
    work = Collection(targets, progress, path, options.at_once, options.per_address, tell)
    try:
        work.run(ours)
    finally:
        ticker.clear()
    _write(progress, terminal)
    if progress.is_complete:
        if path is not None:
            path.unlink(missing_ok=True)
        return OK
    terminal.complain(
        f"scrapy rep collect: stopped after {progress.count:,}: the next call goes on"
    )
    return _STOPPED


def _check(options: argparse.Namespace, settings: Settings) -> None:
    from scrapy_rep.fetching.chosen_store import kind_of
    from scrapy_rep.settings import RepSettings

    if options.at_once < 1 or options.per_address < 0 or options.column < 0:
        raise CommandError("--at-once has to be 1 or more, --per-address and --column 0 or more")
    if kind_of(RepSettings.of(settings)) == "memory":
        raise CommandError(
            "the answers would be lost at the end: set REP_STORE_PATH, such as with "
            "-s REP_STORE_PATH=robots.sqlite"
        )


def _resume_path(options: argparse.Namespace) -> Path | None:
    if options.resume:
        return Path(options.resume)
    return None if options.list == STDIN else Path(f"{options.list}.collect")


def _lines(name: str) -> Iterator[str]:
    """The lines of the list.

    Raises:
        CommandError: it cannot be read.
    """
    if name == STDIN:
        yield from (line.decode("utf-8", "replace") for line in sys.stdin.buffer)
        return
    try:
        with Path(name).open(encoding="utf-8", errors="replace") as file:
            yield from file
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror or error}") from error


def _total(name: str, wanted: Wanted) -> int:
    """How many targets the list has; 0 if that is not known."""
    from .lists import origins_of

    if name == STDIN:
        return 0
    return sum(1 for _ in origins_of(_lines(name), wanted))


def _words(progress: Progress, begun: int, total: int, seconds: float) -> str:
    rate = (progress.count - begun) / seconds
    results = ", ".join(
        f"{progress.counts[name]:,} {name}" for name in ("successful", "unavailable", "unreachable")
    )
    left = f", {_span((total - progress.count) / rate)} left" if total and rate else ""
    of = f" of {total:,}" if total else ""
    return f"{progress.count:,}{of}, {rate:,.0f} a second{left}: {results}"


def _span(seconds: float) -> str:
    days, rest = divmod(seconds, 86_400)
    clock = time.strftime("%H:%M:%S", time.gmtime(rest))
    return f"{days:.0f} d {clock}" if days else clock


def _write(progress: Progress, terminal: Terminal) -> None:
    """How many there were by access result, and by event."""
    counts = progress.counts
    results = [(name, n) for name, n in counts.most_common() if not name.startswith("event:")]
    events = [
        (f"  {name.removeprefix('event:')}", n)
        for name, n in counts.most_common()
        if name.startswith("event:")
    ][:_SHOWN_EVENTS]
    rows = [("answers", "origins"), *((name, f"{n:,}") for name, n in [*results, *events])]
    terminal.table(rows)
