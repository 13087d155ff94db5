"""``scrapy rep check``: may this URL be fetched, by whom, and which line says so?"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from .answers import add_refresh_option
from .running import FOUND, OK, UNREACHABLE, CommandError, Onward
from .sources import STDIN, is_url, origin_of, read, refuse_two_stdins, stdin_lines

if TYPE_CHECKING:
    from scrapy.settings import Settings

    from scrapy_rep.policy import Policy
    from scrapy_rep.protocol.access.origin import Origin

    from .judging import Agent, Judge, Judgement
    from .opinions import Opinions
    from .terminal import Terminal

SUMMARY = "test URLs: allowed or not, by which line"
DESCRIPTION = """\
Tell for each URL and agent whether robots.txt allows it, and by which group, rule and line. The
file is fetched as a crawl of this project would, with its settings: what the store holds is used
while it is fresh, and every answer says how old it is. --refresh fetches it now, --cached reads the
store and fetches nothing, and --robots takes another file. --rules shows the whole group that
decides, and --like what weaker parsers read. --sitemap judges the pages that a site's sitemaps
list, and --page what a page is drawn with; both write what is disallowed only. --page also shows
what a page asks of crawlers, and --usage what its content may be used for."""
EXAMPLES = """\
examples:
  scrapy rep check https://example.com/private/ --agent FooBot
  scrapy rep check /private/ /public/ --robots robots.txt --agent FooBot --agent '*'
  scrapy rep check --json - < urls.txt
  scrapy rep check --rules --robots robots.txt --agent FooBot
  scrapy rep check https://example.com/a --agent FooBot --like urllib,protego
  scrapy rep check --sitemap https://example.com --agent Googlebot --robots new.txt
  scrapy rep check --page https://example.com/articles/1 --agent Googlebot
  scrapy rep check --usage https://example.com/articles/1

exit status: 0 all URLs are allowed, and pages restrict nothing; 1 some URL is disallowed, or some
page restricts something; 2 wrong usage; 3 a robots.txt is unreachable, or with --cached not stored,
or the store in Redis is unreachable, or a page or all sitemaps cannot be read"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Options of this subcommand."""
    parser.add_argument(
        "urls",
        nargs="*",
        metavar="URL",
        help="a URL, or - for one a line from standard input; --rules with --robots needs none",
    )
    parser.add_argument(
        "--agent",
        action="append",
        default=[],
        help="a product token, a User-Agent header, or '*' for all other crawlers; may be "
        "repeated; by default that of this project's crawls",
    )
    parser.add_argument(
        "--robots", metavar="FILE|URL|-", help="judge by this file, not by that of a URL's origin"
    )
    parser.add_argument("--cached", action="store_true", help="read the store, and fetch nothing")
    add_refresh_option(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object a line")
    parser.add_argument(
        "--sitemap",
        action="append",
        default=[],
        metavar="URL|FILE|-",
        help="judge all pages of a sitemap, and of those that it lists; a site stands for all "
        "that its robots.txt names; may be repeated",
    )
    parser.add_argument(
        "--page",
        action="append",
        default=[],
        metavar="URL",
        help="fetch a page, show its rules (fields, elements, links), and judge its style sheets, "
        "scripts and images; may be repeated",
    )
    parser.add_argument(
        "--usage",
        action="append",
        default=[],
        metavar="URL",
        help="show what the content of a page may be used for, by which statements of site and "
        "page; may be repeated; with --robots or --cached by robots.txt alone",
    )
    parser.add_argument(
        "--rules",
        action="store_true",
        help="show also the merged group that each agent gets, in the order of decision",
    )
    parser.add_argument(
        "--like",
        metavar="NAMES",
        help="show also what other parsers say, if they are installed: urllib, protego, rerp, "
        "robotspy, reppy, or the import path of a class with Scrapy's RobotParser interface; "
        "with commas",
    )
    parser.add_argument(
        "--explain",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="show the rules that matched and lost, and how the file was fetched; the default for "
        "URLs that are given as arguments",
    )


def run(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    """Judge all URLs."""
    from .judging import agents_of

    _refuse_contradictions(options)
    if options.sitemap or options.page or options.usage:
        return _run_in_engine(options, settings, terminal)
    agents = agents_of(settings, options.agent)
    explains = options.explain
    if explains is None:
        explains = STDIN not in options.urls
    from scrapy.utils.project import inside_project

    if inside_project() and not settings.getbool("ROBOTSTXT_OBEY") and not options.robots:
        terminal.complain("note: ROBOTSTXT_OBEY is off here, so a crawl would obey none of this")
    shows = _show_json if options.json else _show_text if explains else _show_line
    groups = _Groups(terminal, is_wanted=options.rules, is_json=options.json)
    onward = Onward("check", terminal)
    status = OK
    with closing(_opinions(options.like)) as opinions:

        def tell(url: str, judge: Judge) -> None:
            nonlocal status
            for agent in agents:
                judgement = judge.judge(url, agent, explains=bool(explains))
                if options.like:
                    judgement = replace(judgement, opinions=judge.opinions(opinions, url, agent))
                shows(terminal, judgement)
                groups.show(judge, agent)
                status = max(status, _status(judgement))

        only = _judge_all(options, settings, terminal, onward, tell)
    if not options.urls and only is not None:
        for agent in agents:
            groups.show(only, agent)
    return max(status, onward.status)


def _run_in_engine(options: argparse.Namespace, settings: Settings, terminal: Terminal) -> int:
    """Judge what sitemaps and pages list, and look at pages."""
    from . import page_check, sitemap_check, usage_check
    from .judging import agents_of

    agents = agents_of(settings, options.agent)
    own = settings.copy()
    if options.refresh:
        own.set("REP_STORE", "memory", priority="cmdline")  # which is empty
    robots = options.robots or ""
    if options.usage:
        return usage_check.run(options, agents, own, terminal)
    if options.page:
        return page_check.run(options.page, robots, agents, own, terminal, is_json=options.json)
    return sitemap_check.run(options.sitemap, robots, agents, own, terminal, is_json=options.json)


def _judge_all(
    options: argparse.Namespace,
    settings: Settings,
    terminal: Terminal,
    onward: Onward,
    tell: Callable[[str, Judge], None],
) -> Judge | None:
    """Judge all URLs; those of standard input one by one, as they are read.

    Returns the judge by the one file, if that is named.
    """
    urls = _urls(options.urls)
    comes_later = STDIN in options.urls and not options.refresh
    if comes_later and not (options.robots or options.cached):
        from .streaming import judge_as_they_come

        since = time.time()

        def judge_of(origin: Origin, policy: Policy) -> Judge:
            return _judges_of(options, settings, {origin: policy}, since)[origin]

        judge_as_they_come(
            urls, settings, terminal, judge_of=judge_of, tell=tell, complain=onward.complain
        )
        return None
    some: Iterable[str] = urls if comes_later else list(urls)
    judges = _Judges(options, settings, () if comes_later else list(some))
    for url in terminal.progress(some, "URLs"):
        with onward:
            tell(url, judges.of(url))
        if comes_later:
            terminal.flush()
    return judges.only


def _refuse_contradictions(options: argparse.Namespace) -> None:
    """See that the options go together.

    Raises:
        CommandError: they do not.
    """
    if options.cached and options.robots:
        raise CommandError("--robots names the file and --cached the store: give one of them")
    if options.cached and options.refresh:
        raise CommandError("--cached fetches nothing and --refresh everything: give one of them")
    lists = [name for name in ("urls", "sitemap", "page", "usage") if getattr(options, name)]
    if not lists and not (options.rules and options.robots):
        raise CommandError("give a URL, --sitemap, --page, --usage, or --rules with --robots")
    if len(lists) > 1:
        raise CommandError("give URLs, --sitemap, --page or --usage, and not several of them")
    takes_store = lists in (["urls"], ["usage"])
    if lists == ["usage"] and (options.rules or options.like):
        raise CommandError("--rules and --like go with URLs, not with --usage")
    if lists and not takes_store and (options.cached or options.rules or options.like):
        raise CommandError(
            "--cached, --rules and --like go with URLs, not with --sitemap or --page"
        )
    refuse_two_stdins([*options.urls, *options.sitemap, options.robots or ""])


def _opinions(names: str | None) -> Opinions:
    from .opinions import Opinions

    if names is not None and not names.strip(", "):
        raise CommandError(f"--like {names!r} names no parser")
    return Opinions((names or "").split(","))


class _Groups:
    """Shows the group of each agent in each file, once."""

    def __init__(self, terminal: Terminal, *, is_wanted: bool, is_json: bool) -> None:
        self._terminal = terminal
        self._is_wanted = is_wanted
        self._is_json = is_json
        self._shown: set[tuple[int, str]] = set()

    def show(self, judge: Judge, agent: Agent) -> None:
        """Show the group of an agent, if that is wanted and was not done before."""
        key = (id(judge), agent.name)
        if not self._is_wanted or key in self._shown:
            return
        self._shown.add(key)
        from . import group_rules

        if self._is_json:
            import json

            self._terminal.line(json.dumps(group_rules.as_dict(judge.policy, agent)))
        else:
            group_rules.write_text(judge.policy, agent, self._terminal)


def _urls(arguments: Iterable[str]) -> Iterator[str]:
    for argument in arguments:
        if argument == STDIN:
            yield from stdin_lines()
        else:
            yield argument


def _status(judgement: Judgement) -> int:
    if judgement.is_unreachable:
        return UNREACHABLE
    return OK if judgement.verdict is not None and judgement.verdict.allowed else FOUND


class _Judges:
    """The judges of URLs: one file for all, or the policy of each origin.

    Attributes:
        only: the judge by the one file; None if there is a policy for each origin.
    """

    def __init__(
        self, options: argparse.Namespace, settings: Settings, urls: Sequence[str]
    ) -> None:
        from .judging import Judge

        self._options = options
        self._settings = settings
        self.only: Judge | None = None
        self._by_origin: dict[Origin, Judge] = {}
        if options.robots:
            source = read(options.robots, settings, is_refresh=options.refresh)
            self.only = Judge.of_source(source, settings)
            return
        origins = [origin for url in urls if (origin := _origin(url)) is not None]
        self._add(list(dict.fromkeys(origins)))

    def _add(self, origins: list[Origin]) -> None:
        since = math.inf if self._options.cached else time.time()
        found = _policies_of(self._options, self._settings, origins) if origins else {}
        self._by_origin.update(_judges_of(self._options, self._settings, found, since))

    def of(self, url: str) -> Judge:
        """The judge of a URL.

        Raises:
            CommandError: robots.txt does not govern it.
        """
        if self.only is not None:
            if is_url(url):
                origin_of(url)  # which refuses one that nobody can fetch
            elif not url.startswith("/"):
                raise CommandError(f"{url!r}: give a URL, or a path that begins with /")
            return self.only
        origin = origin_of(url)
        if origin not in self._by_origin:  # of a URL that was not known from the beginning
            self._add([origin])
        return self._by_origin[origin]


def _judges_of(
    options: argparse.Namespace,
    settings: Settings,
    policies: Mapping[Origin, Policy | None],
    since: float,
) -> dict[Origin, Judge]:
    """The judges by some policies; what was asked before `since` is from the store."""
    from .judging import Judge

    bodies = _bodies(settings, list(policies)) if options.like else {}
    return {
        origin: Judge.of_policy(
            origin, policy, settings, asked_since=since, body=bodies.get(origin)
        )
        for origin, policy in policies.items()
    }


def _policies_of(
    options: argparse.Namespace, settings: Settings, origins: list[Origin]
) -> dict[Origin, Policy | None]:
    """The policies of some origins: from the store alone, fetched now, or as a crawl has them."""
    from scrapy_rep.cache.base import StoreError

    from . import asking, kept

    if options.cached:
        return kept.policies_of(settings, origins)
    if not options.refresh:
        return asking.policies_of(settings, origins)
    try:
        with kept.kept_store(settings, must_exist=False):
            pass
    except (CommandError, StoreError):  # there is no store; a crawl would fetch everything
        return asking.policies_of(settings, origins)
    from .refreshing import refresh

    list(refresh(origins, settings))
    return kept.policies_of(settings, origins)


def _bodies(settings: Settings, origins: list[Origin]) -> dict[Origin, bytes]:
    """The files as sites sent them, from the store, where other parsers may stumble."""
    from .answers import stored

    return {origin: told.answer.body for origin, told in stored(settings, origins).items()}


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
    cells = [word, judgement.agent.name, line, judgement.why, _shown(judgement.url)]
    more = [str(judgement.freshness)] if judgement.freshness else []
    more += [f"{opinion.parser}: {_shown(str(opinion))}" for opinion in judgement.opinions]
    terminal.line("\t".join([*cells, *more]))


def _show_text(terminal: Terminal, judgement: Judgement) -> None:
    """Everything we know, for people."""
    from .terminal import count_of

    paint = terminal.paint
    terminal.line(f"{paint(_shown(judgement.url), 'bold')}")
    terminal.line(f"  {_word(terminal, judgement)} for {judgement.agent.name}: {judgement.why}")
    verdict = judgement.verdict
    if verdict is not None and verdict.product_token:
        terminal.line(f"  group: {verdict.product_token}")
    if verdict is not None and verdict.line:
        terminal.line(f"  {_source_line(terminal, verdict.line, judgement.text)}")
    for rule in judgement.lost:
        octets = count_of(rule.octets, "octet")
        terminal.line(paint(f"  lost: {rule.line} | {rule} ({octets})", "dim"))
    if judgement.bare:
        terminal.line(f"  note: judged as written and as {_shown(judgement.bare)}")
    for text in judgement.remarks:
        terminal.line(f"  {paint('note:', 'yellow')} {text}")
    for opinion in judgement.opinions:
        differs = verdict is not None and opinion.allowed not in (None, verdict.allowed)
        mark = f", {paint('which differs', 'yellow')}" if differs else ""
        terminal.line(f"  like {opinion.parser}: {_shown(str(opinion))}{mark}")
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


def _shown(url: str) -> str:
    from scrapy_rep.protocol.verdict import shown

    return shown(url.encode("utf-8", "backslashreplace"))
