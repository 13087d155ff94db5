"""``scrapy rep watch``: has a file changed since the last look? For cron."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .running import FOUND, OK, UNREACHABLE, UNSETTLED
from .sources import origin_of

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from .terminal import Terminal
    from .watching import Seen

SUMMARY = "tell whether files have changed since the last look"
DESCRIPTION = """\
Fetch the robots.txt of some URLs now, and compare each with what this command saw last: print
nothing if it is the same, otherwise what changes by effect, as 'diff' does. The first look
remembers the file, finds no change, and says on standard error that it is the first: also where the
store was lost. What was seen is in the store of this project's crawls (REP_STORE), which get the
new answer too."""
EXAMPLES = """\
examples:
  scrapy rep watch https://example.com https://example.org
  17 * * * *  cd /path/of/project && scrapy rep watch https://example.com

exit status: 0 nothing has changed; 1 a file has; 2 wrong usage; 3 a site is unreachable, or the
store in Redis is; 4 one has changed too much to compare it as a whole"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    parser.add_argument("urls", nargs="+", metavar="URL", help="a URL of each site")
    parser.add_argument(
        "--agent",
        action="append",
        default=[],
        help="compare for this product token, User-Agent header, or '*'; may be repeated; by "
        "default for all that either file names, and '*'",
    )
    parser.add_argument(
        "--effect",
        action="store_true",
        help="a change without effect on verdicts, sitemaps and what else 'diff' tells is none",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument("--verbose", action="store_true", help="say also what has not changed")


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    """Look at all sites; the worst status of all."""
    from .judging import agents_of
    from .watching import look

    agents = None
    if options.agent:
        agents = [agent.name for agent in agents_of(settings, options.agent)]
    origins = list(dict.fromkeys(map(origin_of, options.urls)))
    status = OK
    for seen in look(origins, settings):
        status = max(status, _told(seen, agents, terminal, options))
    return status


def _told(
    seen: Seen, agents: list[str] | None, terminal: Terminal, options: argparse.Namespace
) -> int:
    """Tell of one site; its status."""
    from .entries import date
    from .refreshing import answer_words

    uri = seen.origin.robots_txt_uri
    if seen.now is None:
        terminal.complain(f"scrapy rep watch: {uri}: {answer_words(seen.answer)}")
        return UNREACHABLE
    if not seen.is_changed:
        if options.verbose or seen.before is None:
            word = "seen for the first time" if seen.before is None else "unchanged"
            terminal.complain(f"scrapy rep watch: {uri}: {word}, {answer_words(seen.answer)}")
        return OK
    assert seen.before is not None  # noqa: S101 - it has changed
    if not options.json:
        since = date(seen.before.confirmed_at)
        events = f"{_event(seen.before.event)} -> {_event(seen.now.event)}"
        terminal.line(f"{terminal.paint(uri, 'bold')}: changed since {since} UTC ({events})")
    return _differences(seen, agents, terminal, options)


def _event(event: object) -> str:
    from scrapy_rep.protocol.access.events import name_of

    return name_of(event)  # type: ignore[arg-type]


def _differences(
    seen: Seen, agents: list[str] | None, terminal: Terminal, options: argparse.Namespace
) -> int:
    """What changes by effect; a row of its own tells programs which file it is."""
    import json

    from .diff import show_differences
    from .watching import source_of

    assert seen.before is not None  # noqa: S101 - the caller has looked
    assert seen.now is not None  # noqa: S101 - likewise
    if options.json:
        row = {
            "changed": seen.origin.robots_txt_uri,
            "before": {"answer": _event(seen.before.event), "seen_at": seen.before.confirmed_at},
            "now": {"answer": _event(seen.now.event), "seen_at": seen.now.confirmed_at},
        }
        terminal.line(json.dumps(row))
    both = (
        source_of(seen.origin, seen.before, is_stored=True),
        source_of(seen.origin, seen.now, is_stored=False),
    )
    status = show_differences(both, agents, terminal, options)
    if status == UNSETTLED:
        return UNSETTLED
    return OK if options.effect and status == OK and not _has_new_sitemaps(seen) else FOUND


def _has_new_sitemaps(seen: Seen) -> bool:
    """Whether the Sitemap lines differ, which `diff` shows, but which change no verdict."""
    from scrapy_rep.protocol.document import parse

    uri = seen.origin.robots_txt_uri
    before, now = (parse(copy.body, uri).sitemaps for copy in (seen.before, seen.now) if copy)
    return set(before) != set(now)
