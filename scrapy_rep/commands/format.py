"""``scrapy rep format``: rewrites a file, and proves first that its meaning stays the same."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from .answers import add_refresh_option
from .running import FOUND, OK, CommandError, Onward
from .sources import STDIN, read_all, refuse_bad_uri, refuse_two_stdins, tell_origin
from .writing import proof, show_diff, write

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from .sources import Source
    from .terminal import Terminal

SUMMARY = "rewrite a file in normalised form"
DESCRIPTION = """\
Rewrite a robots.txt: LF, UTF-8, one record a line in canonical spelling, a group for each set of
crawlers with equal rules, the one for * last, Sitemap lines at the end. 'compact' also drops
duplicates and rules without effect. 'compatible' is for weak parsers: a group for each crawler,
without wildcards where plain rules say the same. Before anything is written, it is proved that the
new file means the same: for every agent named and for unnamed ones, over probe URLs built from all
rules of both files."""
EXAMPLES = """\
examples:
  scrapy rep format robots.txt
  scrapy rep format robots.txt --mode compact --write
  scrapy rep format robots.txt --check
  scrapy rep format */robots.txt --write

exit status: 0 written, or nothing to do; 1 with --check or --diff: it would change; 2 wrong usage,
or a file cannot be read; 3 there is no file at a URL; 4 not settled: the proof would be too much
work, and nothing is written; 70 the new file would not mean the same and was not written: please
report that"""

_TOLD = 5
_MODES = ("normal", "compact", "compatible")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    parser.add_argument(
        "sources",
        nargs="+",
        metavar="FILE|URL|-",
        help="a file, a URL, or - for standard input; several with --write, --check or --diff",
    )
    parser.add_argument("--mode", choices=_MODES, default="normal", help="default: normal")
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", action="store_true", help="write nothing; tell if it would change")
    what.add_argument("--diff", action="store_true", help="write the differences only")
    what.add_argument("--write", action="store_true", help="write the new file over the old one")
    parser.add_argument(
        "--uri", default="", metavar="URL", help="where FILE is served, to make sitemaps absolute"
    )
    add_refresh_option(parser)


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    """Rewrite all files."""
    refuse_two_stdins(options.sources)
    refuse_bad_uri(options.uri)
    if len(options.sources) > 1 and not (options.check or options.diff or options.write):
        raise CommandError("several files: say --write, --check or --diff")
    onward = Onward("format", terminal)
    status = OK
    sources = read_all(
        options.sources, settings, onward, uri=options.uri, is_refresh=options.refresh
    )
    for argument, source in terminal.progress(sources, "files"):
        with onward:
            status = max(status, _format(options, argument, source, terminal))
    return max(status, onward.status)


def _format(options: argparse.Namespace, argument: str, source: Source, terminal: Terminal) -> int:
    """Rewrite one file."""
    from scrapy_rep.analysis.rewrite.normal import normalise

    tell_origin(source, terminal, "format")
    if options.write and (argument == STDIN or source.answer is not None):
        raise CommandError(f"--write needs a FILE, and {source.name} is none")
    if source.answer is not None:
        from .comparing import refuse_without_file

        refuse_without_file(source)
    new = normalise(source.body, options.mode, source.uri)
    status = proof(source, new, terminal, "format", keeps_usage=True)
    if status != OK:
        return status
    if new != source.body:
        _tell_swallowed(source, terminal)
    if options.check:
        return _check(source, new, terminal)
    if options.diff:
        return show_diff(source, new, terminal)
    if options.write:
        terminal.line(write(Path(argument), source, new))
    else:
        terminal.octets(new)
    return OK


def _tell_swallowed(source: Source, terminal: Terminal) -> None:
    """Say which crawlers get the rules of the next group: what is written makes that plain."""
    from scrapy_rep.analysis.lint.swallowed import swallowed
    from scrapy_rep.analysis.outline import outline
    from scrapy_rep.protocol.verdict import shown

    found = list(swallowed(outline(source.body, source.uri)))
    for one in found[:_TOLD]:
        terminal.complain(
            f"scrapy rep format: note: {source.name}:{one.agent.number}: "
            f"{shown(one.agent.value)} gets the rules of the next group (line {one.rule.number}: "
            f"{shown(one.rule.octets.strip())}), and is written so; write an empty Disallow below "
            "it if that is not meant"
        )
    if len(found) > _TOLD:
        terminal.complain(
            f"scrapy rep format: note: {len(found) - _TOLD} more user-agent lines are like that: "
            "see lint, REP320"
        )


def _check(source: Source, new: bytes, terminal: Terminal) -> int:
    if new == source.body:
        terminal.line(f"{source.name}: already in this form")
        return OK
    terminal.line(f"{source.name}: would be rewritten")
    return FOUND
