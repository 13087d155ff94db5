"""``scrapy rep diff``: what changes between two files, by effect."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .running import FOUND, OK, CommandError
from .sources import Source, is_url, origin_of, read, refuse_two_stdins

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.protocol.document import RobotsTxt

    from .comparing import Change
    from .terminal import Terminal

SUMMARY = "compare two files by what they mean"
DESCRIPTION = """\
Tell which URLs change from allowed to disallowed or back between two files, for whom, and because
of which lines. It compares verdicts on probe URLs, built from the rules of both files, and not
text: files that are written in other words but mean the same do not differ."""
EXAMPLES = """\
examples:
  scrapy rep diff old.txt new.txt
  scrapy rep diff https://example.com new.txt --agent Googlebot --agent '*'

exit status: 0 they mean the same; 1 they differ; 2 wrong usage; 3 there is no file at a URL"""

_SHOWN = 3  # probe URLs of each change


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    parser.add_argument("old", metavar="OLD", help="a file, a URL, or - for standard input")
    parser.add_argument("new", metavar="NEW", help="likewise")
    parser.add_argument(
        "--agent",
        action="append",
        default=[],
        help="a product token or a User-Agent header, or '*' for everybody else; may be repeated; "
        "by default all that either file names, and '*'",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    """Compare two files."""
    from scrapy_rep.protocol.document import parse

    from .comparing import changes, refuse_without_file
    from .judging import agents_of

    refuse_two_stdins([options.old, options.new])
    agents = None
    if options.agent:
        agents = [agent.name for agent in agents_of(settings, options.agent)]
    both = _read_both(options, settings)
    for source in both:
        refuse_without_file(source)
    old, new = (parse(source.body, source.uri) for source in both)
    found = changes(old, new, agents)
    for change in found:
        if options.json:
            _show_json(terminal, change)
        else:
            _show_text(terminal, change, old, new)
    if not options.json:
        _show_rest(terminal, old, new)
        if not found:
            terminal.line("no probe URL changes its verdict")
    return FOUND if found else OK


def _read_both(options: argparse.Namespace, settings: Settings) -> list[Source]:
    """Both files; what has to be asked for in one run of the engine, for there can be no other."""
    arguments = [options.old, options.new]
    if not all(map(is_url, arguments)):
        return [read(argument, settings) for argument in arguments]
    from .asking import ask

    origins = [origin_of(argument) for argument in arguments]
    if origins[0] == origins[1]:
        raise CommandError(f"both are {origins[0].robots_txt_uri}")
    answers = ask(settings, origins)
    return [
        Source(origin.robots_txt_uri, answers[origin].body, origin.robots_txt_uri, answers[origin])
        for origin in origins
    ]


def _show_text(terminal: Terminal, change: Change, old: RobotsTxt, new: RobotsTxt) -> None:
    from .comparing import because_of
    from .terminal import count_of

    paint = terminal.paint
    terminal.line(paint(", ".join(change.agents), "bold"))
    was, now = (
        paint("allowed", "green") if verdict.allowed else paint("disallowed", "red")
        for verdict in (change.before, change.after)
    )
    shown = "  ".join(change.paths[:_SHOWN])
    more = len(change.paths) - _SHOWN
    also = f"  and {more:,} more" if more > 0 else ""
    terminal.line(f"  {was} -> {now}  {count_of(len(change.paths), 'probe URL')}: {shown}{also}")
    terminal.line(paint(f"  - {because_of(change.before, old)}", "red"))
    terminal.line(paint(f"  + {because_of(change.after, new)}", "green"))
    terminal.line()


def _show_rest(terminal: Terminal, old: RobotsTxt, new: RobotsTxt) -> None:
    """Sitemaps, which are no matter of verdicts."""
    for sign, colour, uris in (
        ("-", "red", [uri for uri in old.sitemaps if uri not in new.sitemaps]),
        ("+", "green", [uri for uri in new.sitemaps if uri not in old.sitemaps]),
    ):
        for uri in uris:
            terminal.line(terminal.paint(f"{sign} Sitemap: {uri!a}", colour).replace("'", ""))


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
