"""``scrapy rep check``: may this URL be asked for, by whom, and which line says so?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from .running import FOUND, OK, UNREACHABLE, USAGE, CommandError
from .sources import STDIN, is_url, origin_of, read, refuse_two_stdins

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.protocol.origin import Origin

    from .judging import Judge, Judgement
    from .terminal import Terminal

SUMMARY = "test URLs: allowed or not, by which line"
DESCRIPTION = """\
Tell for each URL and agent whether robots.txt allows it, and by which group, rule and line. The
file is asked for as a crawl of this project would, with its settings; --robots takes another one,
and --cached asks the store of answers only."""
EXAMPLES = """\
examples:
  scrapy rep check https://example.com/private/ --agent FooBot
  scrapy rep check /private/ /public/ --robots robots.txt --agent FooBot --agent '*'
  scrapy rep check --json - < urls.txt

exit status: 0 everything is allowed; 1 something is not; 2 wrong usage; 3 a robots.txt is
unreachable, or with --cached not known"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    parser.add_argument(
        "urls", nargs="+", metavar="URL", help="a URL, or - for one a line from standard input"
    )
    parser.add_argument(
        "--agent",
        action="append",
        default=[],
        help="a product token or a User-Agent header, or '*' for everybody else; may be repeated; "
        "by default what this project's crawls go by",
    )
    parser.add_argument(
        "--robots", metavar="FILE|URL|-", help="obey this file, whatever the URLs' origins answer"
    )
    parser.add_argument(
        "--cached", action="store_true", help="ask the store of answers only, no site"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument(
        "--explain",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="tell the rules that matched and lost, and how the file was had; by default for URLs "
        "that are given as arguments",
    )


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    """Judge all URLs."""
    from .judging import agents_of

    if options.cached and options.robots:
        raise CommandError("--robots names the file and --cached the store: give one of them")
    refuse_two_stdins([*options.urls, options.robots or ""])
    urls = list(_urls(options.urls))
    agents = agents_of(settings, options.agent)
    explains = options.explain
    if explains is None:
        explains = STDIN not in options.urls
    from scrapy.utils.project import inside_project

    if inside_project() and not settings.getbool("ROBOTSTXT_OBEY") and not options.robots:
        terminal.complain("note: ROBOTSTXT_OBEY is off here, so a crawl would not look at all this")
    judges = _Judges(options, settings, urls)
    shows = _show_json if options.json else _show_text if explains else _show_line
    status = OK
    for url in terminal.progress(urls, "URLs"):
        try:
            judge = judges.of(url)
        except CommandError as error:
            terminal.complain(f"scrapy rep check: {error}")
            status = max(status, USAGE)
            continue
        for agent in agents:
            judgement = judge.judge(url, agent, explains=explains)
            shows(terminal, judgement)
            status = max(status, _status(judgement))
    return status


def _urls(arguments: Iterable[str]) -> Iterator[str]:
    for argument in arguments:
        if argument == STDIN:
            lines = sys.stdin.buffer.read().decode("utf-8", "surrogateescape").splitlines()
            yield from filter(None, map(str.strip, lines))
        else:
            yield argument


def _status(judgement: Judgement) -> int:
    if judgement.is_unreachable:
        return UNREACHABLE
    return OK if judgement.verdict is not None and judgement.verdict.allowed else FOUND


class _Judges:
    """Who judges which URL: one file for all, or the policy of each origin."""

    def __init__(
        self, options: argparse.Namespace, settings: Settings, urls: Sequence[str]
    ) -> None:
        from .judging import Judge

        self._only: Judge | None = None
        self._by_origin: dict[Origin, Judge] = {}
        self._before = ("", None)
        if options.robots:
            self._only = Judge.of_source(read(options.robots, settings), settings)
            return
        origins = [origin for url in urls if (origin := _origin(url)) is not None]
        if options.cached:
            from .kept import policies_of
        else:
            from .asking import policies_of
        found = policies_of(settings, list(dict.fromkeys(origins))) if origins else {}
        self._by_origin = {
            origin: Judge.of_policy(origin, policy, settings) for origin, policy in found.items()
        }

    def of(self, url: str) -> Judge:
        """The judge of a URL.

        Raises:
            CommandError: robots.txt does not govern it.
        """
        if self._only is not None:
            if not is_url(url) and not url.startswith("/"):
                raise CommandError(f"{url!r}: give a URL, or a path that begins with /")
            return self._only
        return self._by_origin[origin_of(url)]


def _origin(url: str) -> Origin | None:
    try:
        return origin_of(url)
    except CommandError:
        return None


def _show_json(terminal: Terminal, judgement: Judgement) -> None:
    import json

    terminal.line(json.dumps(judgement.as_dict()))


def _show_line(terminal: Terminal, judgement: Judgement) -> None:
    """One line, for thousands of URLs."""
    verdict = judgement.verdict
    word = _word(terminal, judgement)
    line = str(verdict.line) if verdict is not None and verdict.line else "-"
    terminal.line(
        f"{word}\t{judgement.agent.name}\t{line}\t{judgement.why}\t{_clean(judgement.url)}"
    )


def _show_text(terminal: Terminal, judgement: Judgement) -> None:
    """Everything that is known, for people."""
    paint = terminal.paint
    terminal.line(f"{paint(_clean(judgement.url), 'bold')}")
    terminal.line(f"  {_word(terminal, judgement)} for {judgement.agent.name}: {judgement.why}")
    verdict = judgement.verdict
    if verdict is not None and verdict.product_token:
        terminal.line(f"  group: {verdict.product_token}")
    if verdict is not None and verdict.line:
        terminal.line(f"  {_source_line(terminal, verdict.line, judgement.text)}")
    for rule in judgement.lost:
        octets = f"{rule.octets} octets"
        terminal.line(paint(f"  lost: {rule.line} | {rule} ({octets})", "dim"))
    if judgement.in_crawl is not None:
        terminal.line(f"  note: a crawl resolves its dot segments first: {judgement.in_crawl}")
    for text in judgement.access_lines():
        terminal.line(f"  {text}")


def _source_line(terminal: Terminal, number: int, text: str) -> str:
    return f"{terminal.paint(f'{number} |', 'blue')} {text}"


def _word(terminal: Terminal, judgement: Judgement) -> str:
    if judgement.verdict is None:
        return terminal.paint("unknown", "yellow")
    if judgement.verdict.allowed:
        return terminal.paint("allowed", "green")
    return terminal.paint("disallowed", "red")


def _clean(url: str) -> str:
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in url)
