"""``scrapy rep lint``: what is wrong with a robots.txt, where, and how to fix it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .answers import add_refresh_option
from .choice import Choice, add_choice_options
from .running import FOUND, OK, UNREACHABLE, CommandError, Onward
from .sources import STDIN, Source, read_all, refuse_bad_uri, refuse_two_stdins, tell_origin
from .writing import proof, show_diff, write

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.analysis.findings import Finding

    from .lint_words import Report
    from .terminal import Terminal

SUMMARY = "find what is wrong with a file"
DESCRIPTION = """\
Report what is wrong or unusual in robots.txt files: where it is, what it means, and how to fix it.
An error is not used as written. A warning is used, but crawlers differ. Info is good to know. Each
code gets a line for each file; --all shows every finding, with its line and what to do about it.
[fix] marks what --fix mends, [format] what 'scrapy rep format' does.

What is only needless, or weak crawlers alone read otherwise, or stands in the context of a right
file, is not reported by default: --select all, or needless, weak, context. A comment '# rep: ignore
REP509' suppresses findings of its line, and '# rep: ignore-file REP6' those of the file.

A URL stands for the robots.txt of its origin, which is fetched as a crawl of this project would:
what the store holds is used while it is fresh, and --refresh fetches it now."""
EXAMPLES = """\
examples:
  scrapy rep lint robots.txt
  scrapy rep lint https://example.com --strict
  curl -s https://example.com/robots.txt | scrapy rep lint - --select all --ignore REP5,REP605
  scrapy rep lint */robots.txt --statistics
  scrapy rep lint robots.txt --format sarif > robots.sarif
  scrapy rep lint robots.txt --diff
  scrapy rep lint robots.txt --fix

exit status: 0 no errors; 1 errors, or with --strict warnings, or with --diff something to write; 2
wrong usage, or a file cannot be read; 3 the robots.txt of a URL is unreachable; 4 not settled: with
--fix or --diff, that the new file means the same could not be proved, and it is not written; 70 it
would not: please report that"""

_FORMATS = ("text", "json", "sarif")
_TOLD = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    parser.add_argument(
        "sources", nargs="+", metavar="FILE|URL|-", help="a file, a URL, or - for standard input"
    )
    parser.add_argument("--format", choices=_FORMATS, help="how to write (default: text)")
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument(
        "--all", action="store_true", help="show every finding, with its line and what to do"
    )
    shown.add_argument(
        "--statistics", action="store_true", help="show how many findings each code has"
    )
    add_choice_options(parser)
    parser.add_argument(
        "--uri", default="", metavar="URL", help="where a FILE is served, to look at its sitemaps"
    )
    parser.add_argument(
        "--both-schemes",
        action="store_true",
        help="for a URL, compare with the answer of its host over the other of http and https",
    )
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--fix",
        action="store_true",
        help="follow all advice that keeps every verdict, and report what is left; what is written "
        "is proved to mean the same",
    )
    way.add_argument("--diff", action="store_true", help="show what --fix would write, and no more")
    add_refresh_option(parser)


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    """Lint all sources."""
    refuse_two_stdins(options.sources)
    refuse_bad_uri(options.uri)
    form = _form(options)
    choice = Choice.of(options)
    onward = Onward("lint", terminal)
    sources = read_all(
        options.sources,
        settings,
        onward,
        uri=options.uri,
        is_refresh=options.refresh,
        has_twins=options.both_schemes,
    )
    if options.fix or options.diff:
        return _fix(options, choice, sources, terminal, onward)
    status = onward.status
    reports: list[Report] = []
    for source in terminal.progress([source for _, source in sources], "files"):
        tell_origin(source, terminal, "lint")
        reports.append(_report_of(source, choice, terminal))
        if _is_unreachable(source):
            status = UNREACHABLE
    if reports or not status:
        _write(form, options, reports, terminal)
    return max(status, _status_of(reports, choice))


def _report_of(source: Source, choice: Choice, terminal: Terminal) -> Report:
    """What is reported about a file."""
    from .lint_words import Report

    findings, suppressed = choice.kept(source.body, _findings(source))
    if choice.has_suppressions:
        _tell_odd_comments(source, terminal)
    return Report(source, findings, suppressed)


def _tell_odd_comments(source: Source, terminal: Terminal) -> None:
    from scrapy_rep.analysis.lint.suppressions import Suppressions

    for line, word in Suppressions.of(source.body).unknown[:_TOLD]:
        terminal.complain(
            f"scrapy rep lint: note: {source.name}:{line}: 'rep: ignore' names no code: {word!a}"
        )


def _fix(
    options: argparse.Namespace,
    choice: Choice,
    sources: list[tuple[str, Source]],
    terminal: Terminal,
    onward: Onward,
) -> int:
    """Write, or show, files with the advice followed that keeps all verdicts.

    Each is written only if that is proved; what is left of all is reported once, so that it is one
    document for programs. The status is the worst of all.
    """
    status = OK
    reports: list[Report] = []
    for argument, source in sources:
        with onward:
            one = _fix_one(options, choice, argument, source, terminal)
            if isinstance(one, int):
                status = max(status, one)
            else:
                reports.append(one)
    if reports:
        _write(_form(options), options, reports, terminal)
    return max(status, onward.status, _status_of(reports, choice))


def _fix_one(
    options: argparse.Namespace,
    choice: Choice,
    argument: str,
    source: Source,
    terminal: Terminal,
) -> Report | int:
    """Write, or show, one file: what is left of it, or the status if it is not written."""
    from scrapy_rep.analysis.lint.fixing import fixed

    from .comparing import refuse_without_file
    from .terminal import count_of

    if options.fix and (argument == STDIN or source.answer is not None):
        raise CommandError(f"--fix needs a FILE, and {source.name} is none; --diff shows it")
    refuse_without_file(source)

    has_suppressions = choice.has_suppressions
    new, done = fixed(source.body, source.uri, choice.codes, has_suppressions=has_suppressions)
    settled = proof(source, new, terminal, "lint")
    if settled != OK:
        return settled
    if options.diff:
        return show_diff(source, new, terminal)
    # Standard output is the report's alone, where programs read it.
    tell = terminal.line if _form(options) == "text" else terminal.complain
    tell(write(Path(argument), source, new))
    tell(f"{source.name}: {count_of(len(done), 'finding')} settled")
    return _report_of(replace(source, body=new), choice, terminal)


def _status_of(reports: Iterable[Report], choice: Choice) -> int:
    found = {finding.severity.value for report in reports for finding in report.findings}
    return OK if found.isdisjoint(choice.fatal) else FOUND


def _form(options: argparse.Namespace) -> str:
    if options.json and options.format not in (None, "json"):
        raise CommandError(f"--json and --format {options.format}: give one of them")
    form = "json" if options.json else options.format or "text"
    if form == "sarif" and options.statistics:
        raise CommandError("--statistics has no SARIF: give one of them")
    if options.diff and (form != "text" or options.statistics):
        raise CommandError("--diff shows lines of files and reports no findings: give it alone")
    return form


def _findings(source: Source) -> list[Finding]:
    from scrapy_rep.analysis.lint.answer_checks import answer_findings, scheme_findings
    from scrapy_rep.analysis.lint.linter import lint
    from scrapy_rep.protocol.access.events import AccessResult

    answer = source.answer
    if answer is None:
        return lint(source.body, source.uri)
    found = list(answer_findings(answer))
    if source.twin is not None:
        found += scheme_findings(answer, source.twin)
    if answer.access_result is AccessResult.SUCCESSFUL:
        found += lint(source.body, source.uri)
    return found


def _is_unreachable(source: Source) -> bool:
    from scrapy_rep.protocol.access.events import AccessResult

    return source.answer is not None and source.answer.access_result is AccessResult.UNREACHABLE


def _write(
    form: str, options: argparse.Namespace, reports: list[Report], terminal: Terminal
) -> None:
    from . import lint_words as forms

    if form == "sarif":
        from .sarif import sarif

        terminal.line(sarif(reports))
    elif options.statistics:
        forms.write_statistics(reports, terminal, is_json=form == "json")
    elif form == "json":
        for report in reports:
            for finding in report.findings:
                terminal.line(forms.as_json(report.source, finding))
    else:
        forms.write_text(reports, terminal, is_full=options.all)
