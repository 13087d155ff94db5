"""``scrapy rep diff``: what changes between two files, by effect."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .answers import add_refresh_option, answers_of
from .running import FOUND, OK, UNSETTLED, CommandError
from .sources import Source, is_url, origin_of, read, refuse_two_stdins, tell_origin

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.analysis.effect.differences import TooMuchToCompare
    from scrapy_rep.protocol.document import RobotsTxt

    from .comparing import Change, UsageChange
    from .terminal import Terminal

SUMMARY = "compare two files by what they mean"
DESCRIPTION = """\
Tell which URLs change from allowed to disallowed or back between two files, for whom, and by which
lines; and what changes in what the files say about the use of content (Content-Usage,
Content-Signal). It compares answers on probe URLs, which are built from the rules and records of
both files. It does not compare text: files that differ in their words but not in their meaning do
not differ."""
EXAMPLES = """\
examples:
  scrapy rep diff old.txt new.txt
  scrapy rep diff https://example.com new.txt --agent Googlebot --agent '*'
  scrapy rep diff https://example.com@2026-11-01 https://example.com

exit status: 0 they mean the same, perhaps but for Sitemap lines; 1 they differ; 2 wrong usage; 3
there is no file at a URL; 4 not settled: they are too much to compare as a whole, and what was
compared is told"""

_SHOWN = 3  # probe URLs of each change


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    parser.add_argument(
        "old",
        metavar="OLD",
        help="a file, a URL, - for standard input, or ORIGIN@DATE for what the store keeps of "
        "that date (REP_STORE_VERSIONS)",
    )
    parser.add_argument("new", metavar="NEW", help="likewise")
    parser.add_argument(
        "--agent",
        action="append",
        default=[],
        help="a product token, a User-Agent header, or '*' for all other crawlers; may be "
        "repeated; by default all that either file names, and '*'",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    add_refresh_option(parser)


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    """Compare two files."""
    from .judging import agents_of

    refuse_two_stdins([options.old, options.new])
    agents = None
    if options.agent:
        agents = [agent.name for agent in agents_of(settings, options.agent)]
    both = _read_both(options, settings)
    for source in both:
        tell_origin(source, terminal, "diff")
    return show_differences(both, agents, terminal, options)


def show_differences(
    both: Sequence[Source],
    agents: list[str] | None,
    terminal: Terminal,
    options: argparse.Namespace,
) -> int:
    """Show what changes between two files for some agents, or for all; with ``--json`` as rows.

    Raises:
        CommandError: one of them is not there.
    """
    from scrapy_rep.protocol.document import parse

    from .comparing import compared, refuse_without_file

    for source in both:
        refuse_without_file(source)
    old, new = (parse(source.body, source.uri) for source in both)
    comparison = compared(old, new, agents)
    found, unsettled = comparison.changes, comparison.unsettled
    for change in found:
        if options.json:
            _show_json(terminal, change)
        else:
            _show_text(terminal, change, old, new)
    for usage_change in comparison.usage:
        _show_usage(terminal, usage_change, is_json=options.json)
    has_new_licences = _show_rest(terminal, old, new, is_json=options.json)
    if not (options.json or found):
        terminal.line("no probe URL changes its verdict")
    if unsettled is not None:
        _show_unsettled(terminal, unsettled, is_json=options.json)
        return UNSETTLED
    return FOUND if found or comparison.usage or has_new_licences else OK


def _read_both(options: argparse.Namespace, settings: Settings) -> list[Source]:
    """Both files. URLs are fetched in one run of the engine: a process cannot run it twice."""
    arguments = [options.old, options.new]
    if not all(map(is_url, arguments)):
        return [read(argument, settings, is_refresh=options.refresh) for argument in arguments]
    origins = [origin_of(argument) for argument in arguments]
    if origins[0] == origins[1]:
        raise CommandError(f"both are {origins[0].robots_txt_uri}")
    told = answers_of(settings, origins, is_refresh=options.refresh)
    return [Source.of_answer(origin, told[origin]) for origin in origins]


def _show_text(terminal: Terminal, change: Change, old: RobotsTxt, new: RobotsTxt) -> None:
    from .comparing import because_of

    paint = terminal.paint
    terminal.line(paint(", ".join(change.agents), "bold"))
    was, now = (
        paint("allowed", "green") if verdict.allowed else paint("disallowed", "red")
        for verdict in (change.before, change.after)
    )
    terminal.line(f"  {was} -> {now}  {_paths_words(change.paths)}")
    terminal.line(paint(f"  - {because_of(change.before, old)}", "red"))
    terminal.line(paint(f"  + {because_of(change.after, new)}", "green"))
    terminal.line()


def _paths_words(paths: tuple[str, ...]) -> str:
    from .terminal import count_of

    more = len(paths) - _SHOWN
    also = f"  and {more:,} more" if more > 0 else ""
    return f"{count_of(len(paths), 'probe URL')}: {'  '.join(paths[:_SHOWN])}{also}"


_USAGE_COLOURS = {"y": "green", "n": "red"}


def _show_usage(terminal: Terminal, change: UsageChange, *, is_json: bool) -> None:
    """What the files say of a use, which no verdict shows."""
    import json

    if is_json:
        row = {
            "agents": change.agents,
            "usage": change.category,
            "before": change.before,
            "after": change.after,
            "paths": change.paths,
        }
        terminal.line(json.dumps(row))
        return
    paint = terminal.paint
    was, now = (
        paint(one, _USAGE_COLOURS.get(one, "yellow")) for one in (change.before, change.after)
    )
    terminal.line(paint(", ".join(change.agents), "bold"))
    terminal.line(f"  {change.category}: {was} -> {now}  {_paths_words(change.paths)}")
    signs: tuple[tuple[str, str], ...] = ("-", "red"), ("+", "green")
    for (sign, colour), because in zip(signs, change.because, strict=True):
        if because:
            terminal.line(paint(f"  {sign} {because}", colour))
    terminal.line()


_LICENSE = "License"
_NAMES = "Sitemap", _LICENSE


def _show_rest(terminal: Terminal, old: RobotsTxt, new: RobotsTxt, *, is_json: bool) -> bool:
    """The sitemaps and licences that differ, which no verdict shows; whether licences do."""
    import json

    before, after = _named(old), _named(new)
    differ = (
        [one for one in before if one not in after],
        [one for one in after if one not in before],
    )
    for is_new, found in enumerate(differ):
        for name, uri in found:
            if is_json:
                row = {"record": name, "uri": uri, "before": not is_new, "after": bool(is_new)}
                terminal.line(json.dumps(row))
                continue
            text = f"{'-+'[is_new]} {name}: {_shown_uri(uri)}"
            terminal.line(terminal.paint(text, "green" if is_new else "red"))
    return any(name == _LICENSE for found in differ for name, _ in found)


def _named(file: RobotsTxt) -> dict[tuple[str, str], None]:
    """The names of records, and the URIs that a file gives there, each once."""
    uris = file.sitemaps, [licence.uri for licence in file.usage("/").licences]
    return {(name, uri): None for name, group in zip(_NAMES, uris, strict=True) for uri in group}


def _shown_uri(uri: str) -> str:
    from scrapy_rep.protocol.verdict import shown

    return shown(uri.encode("utf-8", "surrogateescape"))


def _show_unsettled(terminal: Terminal, unsettled: TooMuchToCompare, *, is_json: bool) -> None:
    """What was compared, on standard error; programs get a last row of their own too."""
    import json

    if is_json:
        row = {
            "unsettled": unsettled.left,
            "compared": unsettled.compared,
            "probe_urls": unsettled.probe_count,
        }
        terminal.line(json.dumps(row))
    terminal.complain(f"scrapy rep diff: not settled: {unsettled}")


def _show_json(terminal: Terminal, change: Change) -> None:
    import json

    terminal.line(
        json.dumps(
            {
                "agents": change.agents,
                "before": _as_dict(change, "before"),
                "after": _as_dict(change, "after"),
                "paths": change.paths,
            }
        )
    )


def _as_dict(change: Change, which: str) -> dict[str, object]:
    verdict = change.before if which == "before" else change.after
    return {
        "allowed": verdict.allowed,
        "group": verdict.product_token or None,
        "line": verdict.line,
        "rule": str(verdict.rule) if verdict.rule else None,
    }
