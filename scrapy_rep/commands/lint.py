"""``scrapy rep lint``: what is wrong with a robots.txt, where, and how to mend it."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from .running import FOUND, OK, UNREACHABLE, CommandError
from .sources import Source, is_url, origin_of, read, refuse_two_stdins

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.protocol.findings import Finding

    from .terminal import Terminal

SUMMARY = "find what is wrong with a file"
DESCRIPTION = """\
Report what is wrong or odd in robots.txt files: where it is, what it means, and how to mend it. An
error is not used as written; a warning is used, but crawlers differ; info is good to know. A URL
stands for the robots.txt of its origin, and is asked as a crawl of this project would."""
EXAMPLES = """\
examples:
  scrapy rep lint robots.txt
  scrapy rep lint https://example.com --strict
  curl -s https://example.com/robots.txt | scrapy rep lint - --ignore REP5,REP605
  scrapy rep lint robots.txt --format sarif > robots.sarif

exit status: 0 no errors; 1 errors, or with --strict warnings; 2 wrong usage; 3 the robots.txt of
a URL is unreachable"""

_FORMATS = ("text", "json", "sarif")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    parser.add_argument(
        "sources", nargs="+", metavar="FILE|URL|-", help="a file, a URL, or - for standard input"
    )
    parser.add_argument("--format", choices=_FORMATS, help="how to write (default: text)")
    parser.add_argument("--json", action="store_true", help="the same as --format json")
    for name, what in (("select", "report these only"), ("ignore", "do not report these")):
        parser.add_argument(
            f"--{name}",
            action="append",
            default=[],
            metavar="CODES",
            help=f"{what}: codes or their beginnings, with commas between them; may be repeated",
        )
    parser.add_argument("--strict", action="store_true", help="let warnings fail, too")
    parser.add_argument(
        "--uri", default="", metavar="URL", help="where a FILE is served, to look at its sitemaps"
    )
    parser.add_argument(
        "--both-schemes",
        action="store_true",
        help="for a URL, compare with what its host answers over the other of http and https",
    )


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    """Lint all sources."""
    refuse_two_stdins(options.sources)
    form = _form(options)
    select, ignore = _prefixes(options.select), _prefixes(options.ignore)
    found: list[tuple[Source, list[Finding]]] = []
    is_unreachable = False
    sources = _read_all(options, settings)
    for source in terminal.progress(sources, "files"):
        findings = [
            finding
            for finding in _findings(source)
            if (not select or finding.code.value.startswith(select))
            and not (ignore and finding.code.value.startswith(ignore))
        ]
        found.append((source, findings))
        is_unreachable = is_unreachable or _is_unreachable(source)
    _write(form, found, terminal)
    if is_unreachable:
        return UNREACHABLE
    fatal = {"error", "warning"} if options.strict else {"error"}
    counts = _counts(findings for _, findings in found)
    return FOUND if any(counts[severity] for severity in fatal) else OK


def _form(options: argparse.Namespace) -> str:
    if options.json and options.format not in (None, "json"):
        raise CommandError(f"--json and --format {options.format}: give one of them")
    return "json" if options.json else options.format or "text"


def _prefixes(arguments: Iterable[str]) -> tuple[str, ...]:
    """Beginnings of codes, each of which has to begin one.

    Raises:
        CommandError: one of them begins none.
    """
    from scrapy_rep.protocol.lint.codes import Code

    words = [word.strip() for argument in arguments for word in argument.split(",")]
    slugs = {code.slug: code.value for code in Code}
    prefixes = tuple(slugs.get(word, word.upper()) for word in words if word)
    for prefix in prefixes:
        if not any(code.value.startswith(prefix) for code in Code):
            raise CommandError(
                f"{prefix!r} begins no code; codes are like REP401, and REP4 is a group"
            )
    return prefixes


def _read_all(options: argparse.Namespace, settings: Settings) -> list[Source]:
    """The sources; those that are URLs by one run of the engine, for there can be no other."""
    urls = [argument for argument in options.sources if is_url(argument)]
    if not urls:
        return [read(argument, settings, uri=options.uri) for argument in options.sources]
    from .asking import ask

    origins = {url: origin_of(url) for url in urls}
    others = {url: origin.other_scheme for url, origin in origins.items()}
    wanted = [*origins.values()]
    if options.both_schemes:
        wanted += [origin for origin in others.values() if origin is not None]
    answers = ask(settings, wanted)
    sources: list[Source] = []
    for argument in options.sources:
        if argument not in origins:
            sources.append(read(argument, settings, uri=options.uri))
            continue
        uri = origins[argument].robots_txt_uri
        answer = answers[origins[argument]]
        other = others[argument]
        twin = answers[other] if options.both_schemes and other is not None else None
        sources.append(Source(uri, answer.body, uri, answer, twin))
    return sources


def _findings(source: Source) -> list[Finding]:
    from scrapy_rep.protocol.access import AccessResult
    from scrapy_rep.protocol.lint.answer_checks import answer_findings, scheme_findings
    from scrapy_rep.protocol.lint.linter import lint

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
    from scrapy_rep.protocol.access import AccessResult

    return source.answer is not None and source.answer.access_result is AccessResult.UNREACHABLE


def _counts(found: Iterable[Sequence[Finding]]) -> Counter[str]:
    return Counter(finding.severity.value for findings in found for finding in findings)


def _write(form: str, found: list[tuple[Source, list[Finding]]], terminal: Terminal) -> None:
    from . import reports

    if form == "sarif":
        terminal.line(reports.sarif(found))
    elif form == "json":
        for source, findings in found:
            for finding in findings:
                terminal.line(reports.as_json(source, finding))
    else:
        for source, findings in found:
            reports.write_text(source, findings, terminal)
        counts = _counts(findings for _, findings in found)
        reports.write_summary(counts, len(found), terminal)
