"""``scrapy rep report``: what crawls did, from their audit trails, as a page or as numbers."""

from __future__ import annotations

import argparse
import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from .running import FOUND, OK, UNSETTLED, CommandError

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.proof.report.report_values import CrawlReport

    from .terminal import Terminal

SUMMARY = "say what crawls did, from their audit trails"
DESCRIPTION = """\
Tell what one or several crawls did: decisions, exemptions, origins, fetches, the rules that
decided, the pace, what pages withheld, and what the trails cannot show. A RUN is the folder of a
run, such as audit/latest, or a folder of runs, such as that of a fleet's workers: all of them go
into one report. With -o, it is one HTML file that loads nothing and runs nothing."""
EXAMPLES = """\
examples:
  scrapy rep report audit/latest
  scrapy rep report audit/latest -o report.html
  scrapy rep report audit -o fleet.html
  scrapy rep report audit/latest --json > report.json

exit status: 0 done, and each trail is whole; 1 a trail was changed or damaged; 2 wrong usage; 4 a
part of a trail is missing, or it has no end; the report is written in each of these cases but 2"""

_STATUSES = {"whole": OK, "changed": FOUND, "incomplete": UNSETTLED}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="the folder of a run, or of several runs"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write a page, such as report.html")
    parser.add_argument("--json", action="store_true", help="write the numbers as JSON")


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:  # noqa: ARG001
    """CrawlReport on some trails.

    Raises:
        CommandError: there is no trail, or the page cannot be written.
    """
    from scrapy_rep.proof.report.report_making import report_of, trails_at
    from scrapy_rep.proof.trail_reading import TrailError

    if options.output and find_spec("jinja2") is None:
        raise CommandError("a page needs Jinja: pip install 'scrapy-rep[report]'")
    try:
        report = report_of(trails_at([Path(name) for name in options.runs]))
    except TrailError as error:
        raise CommandError(str(error)) from error
    if options.output:
        _write(options.output, report)
    if options.json:
        terminal.line(json.dumps(report.as_dict()))
    else:
        _tell(report, terminal)
        if options.output:
            terminal.line(f"{options.output}: written")
    return _STATUSES[report.state]


def _write(name: str, report: CrawlReport) -> None:
    from scrapy_rep.proof.html_page import write
    from scrapy_rep.proof.report.report_page import page

    try:
        write(Path(name), page(report))
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror or error}") from error


def _tell(report: CrawlReport, terminal: Terminal) -> None:
    from scrapy_rep.proof.report.verdict_words import BAD, NOTE, verdict

    from .trails import safe

    words = {BAD: ("wrong: ", "red"), NOTE: ("note: ", "yellow")}
    for kind, sentence in verdict(report):
        mark, colour = words.get(kind, ("", ""))
        lead = terminal.paint(mark, colour, "bold") if mark else ""
        terminal.line(lead + safe(sentence))
