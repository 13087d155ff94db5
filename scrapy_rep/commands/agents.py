"""``scrapy rep agents``: what known crawlers may fetch, by whom they are sent and what for."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from .answers import add_refresh_option
from .running import FOUND, OK, CommandError
from .sources import Source, is_url, origin_of, read, tell_origin

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.analysis.agents.crawlers import Crawler

    from .terminal import Terminal

SUMMARY = "tell what known crawlers may fetch"
DESCRIPTION = """\
Tell what a robots.txt allows to each known crawler, by operator and purpose: who can train on a
page, who can search it, and who seems to be banned by accident. Crawlers take the groups that their
operators document: Applebot that of Googlebot, if none names it. The crawlers are those of a dated
list; what is not certain of one is marked with '?', and --json says why. Shown are those whose
group the file names; --all, --purpose and --operator show the others too."""
EXAMPLES = """\
examples:
  scrapy rep agents https://example.com/articles/1
  scrapy rep agents robots.txt / /images/ --purpose ai-training --purpose search
  scrapy rep agents robots.txt --csv > crawlers.csv

exit status: 0 nobody seems to be banned by accident; 1 somebody does; 2 wrong usage; 3 the file is
unreachable"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    parser.add_argument("file", metavar="URL|FILE|-", help="a URL, a file, or - for standard input")
    parser.add_argument(
        "urls",
        nargs="*",
        metavar="PATH",
        help="what to judge: URLs of that site or paths; by default the URL itself, and / of a "
        "file",
    )
    parser.add_argument(
        "--purpose",
        action="append",
        default=[],
        metavar="NAME",
        help="only crawlers for this, such as ai-training, ai-search, search, preview; may be "
        "repeated",
    )
    parser.add_argument(
        "--operator",
        action="append",
        default=[],
        metavar="TEXT",
        help="only crawlers of operators whose names hold this; may be repeated",
    )
    parser.add_argument("--all", action="store_true", help="show all crawlers, not only some")
    what = parser.add_mutually_exclusive_group()
    what.add_argument(
        "--json", action="store_true", help="one JSON object a line, for each crawler and URL"
    )
    what.add_argument("--csv", action="store_true", help="the same as a table for programs")
    add_refresh_option(parser)


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    """Judge for all crawlers."""
    from scrapy_rep.analysis.audience.accidents import Accidents
    from scrapy_rep.analysis.audience.bindings import bindings
    from scrapy_rep.analysis.outline import outline
    from scrapy_rep.protocol.document import parse
    from scrapy_rep.settings import RepSettings

    from . import audience

    crawlers = _crawlers(options)
    urls = _urls(options)
    source = read(options.file, settings, is_refresh=options.refresh)
    tell_origin(source, terminal, "agents")
    body = _body(source, terminal)
    limit_octets = RepSettings.of(settings).parse_limit_octets
    robots_txt = parse(body, source.uri, limit_octets=limit_octets)
    outlined = outline(body, source.uri, limit_octets=limit_octets)
    found = list(bindings(robots_txt, crawlers, urls))
    accidents = list(Accidents(robots_txt, outlined).among(found))
    if options.json:
        audience.write_json(found, accidents, terminal)
    elif options.csv:
        audience.write_csv(found, accidents, terminal)
    else:
        is_whole = bool(options.all or options.purpose or options.operator)
        audience.write_text(found, accidents, outlined, terminal, is_whole=is_whole)
    return FOUND if accidents else OK


def _crawlers(options: argparse.Namespace) -> list[Crawler]:
    """The crawlers that the options leave.

    Raises:
        CommandError: they leave none.
    """
    from scrapy_rep.analysis.agents.crawlers import CRAWLERS

    purposes = sorted({crawler.purpose for crawler in CRAWLERS})
    for name in options.purpose:
        if name not in purposes:
            raise CommandError(f"--purpose {name!r}: give one of {', '.join(purposes)}")
    wanted = [text.lower() for text in options.operator]
    found = [
        crawler
        for crawler in CRAWLERS
        if (not options.purpose or crawler.purpose in options.purpose)
        and (not wanted or any(text in crawler.operator.lower() for text in wanted))
    ]
    if not found:
        raise CommandError("no known crawler is left by --purpose and --operator")
    return found


def _urls(options: argparse.Namespace) -> list[str]:
    """What to judge.

    Raises:
        CommandError: one is no URL of the site, and no path.
    """
    home = origin_of(options.file) if is_url(options.file) else None
    for url in options.urls:
        if not is_url(url):
            if not url.startswith("/"):
                raise CommandError(f"{url!r}: give a URL, or a path that begins with /")
        elif home is not None and origin_of(url) != home:
            raise CommandError(f"{url} is not of {home}, and has a robots.txt of its own")
        else:
            origin_of(url)
    if options.urls:
        return list(dict.fromkeys(options.urls))
    return [options.file if home is not None and not _is_of_file(options.file) else "/"]


def _is_of_file(url: str) -> bool:
    """Whether a URL is that of a robots.txt, which everybody may fetch: its site is meant."""
    from scrapy_rep.protocol.paths import path_of

    return path_of(url) == "/robots.txt"


def _body(source: Source, terminal: Terminal) -> bytes:
    """The octets to read; none, if the site has no file.

    Raises:
        CommandError: the site is unreachable.
    """
    from scrapy_rep.protocol.access.events import AccessResult, name_of

    answer = source.answer
    if answer is None or answer.access_result is AccessResult.SUCCESSFUL:
        return source.body
    if answer.access_result is AccessResult.UNREACHABLE:
        from .comparing import refuse_without_file

        refuse_without_file(source)
    terminal.complain(
        f"scrapy rep agents: {source.name} is not there ({name_of(answer.event)}): by RFC 9309, "
        "all may fetch everything"
    )
    return b""
