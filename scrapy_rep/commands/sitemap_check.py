"""``scrapy rep check --sitemap``: which pages of a site's sitemaps are disallowed, and for whom."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrapy_rep.protocol.verdict import shown
from scrapy_rep.sitemaps.reader import SitemapKind
from scrapy_rep.sitemaps.web_addresses import web_request

from .asking import in_engine
from .judges import Judges, as_row, is_refused
from .running import FOUND, OK, UNREACHABLE
from .sitemap_walk import SitemapWalk
from .terminal import count_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import Settings

    from .judging import Agent, Judgement
    from .terminal import Terminal

_ORIGINS = 8  # whose pages the sitemaps of a site may list; asked one after the other
_SHOWN_LINES = 20  # of the summary, for each agent; a file may have thousands


class _Tally:
    """What is found in the sitemaps of one site.

    Its size is bounded by the agents and the rules of the files that judge.
    """

    def __init__(self, agents: Sequence[Agent]) -> None:
        self.page_count = 0
        self.other_count = 0
        self.is_unreachable = False
        self.by_agent: dict[str, Counter[tuple[str, str]]] = {
            agent.name: Counter() for agent in agents
        }

    def note(self, judgement: Judgement) -> None:
        """Count a page that is disallowed for an agent."""
        self.is_unreachable |= judgement.is_unreachable
        self.by_agent[judgement.agent.name][str(judgement.origin), judgement.why] += 1

    def words_of(self, origin: str, why: str) -> str:
        """A line; and whose, if several files decide."""
        origins = {origin for counter in self.by_agent.values() for origin, _ in counter}
        return why if len(origins) == 1 else f"{why} ({origin})"

    @property
    def refused_count(self) -> int:
        """How many verdicts disallow."""
        return sum(counter.total() for counter in self.by_agent.values())


def run(
    names: Sequence[str],
    robots: str,
    agents: Sequence[Agent],
    settings: Settings,
    terminal: Terminal,
    *,
    is_json: bool,
) -> int:
    """Judge all pages of some sitemaps; the worst status of all."""

    async def work(crawler: Crawler) -> int:
        judges = Judges(settings, robots, _ORIGINS)
        status = OK
        for name in names:
            walk = SitemapWalk(crawler, name)
            tally = await _judged(walk, judges, agents, crawler, terminal, is_json=is_json)
            (_show_json if is_json else _show_text)(walk, tally, judges, terminal)
            judges.left_count = 0
            status = max(status, _status(walk, tally))
        judges.tell_files(terminal, is_json=is_json)
        return status

    return in_engine(settings, work)


async def _judged(
    walk: SitemapWalk,
    judges: Judges,
    agents: Sequence[Agent],
    crawler: Crawler,
    terminal: Terminal,
    *,
    is_json: bool,
) -> _Tally:
    """Judge page by page; what is disallowed is written at once."""
    tally = _Tally(agents)
    async for sitemap, url in walk.pages():
        tally.page_count += 1
        request = web_request(url)
        judge = None if request is None else await judges.of(request.url, crawler)
        if judge is None or request is None:
            tally.other_count += 1
            continue
        for agent in agents:
            judgement = judge.judge(request.url, agent, explains=False)
            if is_refused(judgement):
                tally.note(judgement)
                _show(judgement, sitemap, terminal, is_json=is_json)
    return tally


def _show(judgement: Judgement, sitemap: str, terminal: Terminal, *, is_json: bool) -> None:
    if is_json:
        terminal.line(json.dumps({**as_row(judgement), "sitemap": sitemap}))
        return
    verdict = judgement.verdict
    line = str(verdict.line) if verdict is not None and verdict.line else "-"
    word = terminal.paint("disallowed", "red")
    cells = (word, judgement.agent.name, line, judgement.why, _text(judgement.url))
    terminal.line("\t".join(cells))


def _status(walk: SitemapWalk, tally: _Tally) -> int:
    if tally.is_unreachable or walk.is_unreachable or not walk.read:
        return UNREACHABLE
    return FOUND if tally.refused_count else OK


def _show_text(walk: SitemapWalk, tally: _Tally, judges: Judges, terminal: Terminal) -> None:
    if tally.refused_count:
        terminal.line()
    index_count = walk.read[SitemapKind.INDEX]
    of_index = f" ({index_count} of them index files)" if index_count else ""
    terminal.line(
        f"{terminal.paint(_text(walk.name), 'bold')}: "
        f"{count_of(walk.read.total(), 'sitemap')}{of_index}, {count_of(tally.page_count, 'URL')}"
    )
    for agent, counter in tally.by_agent.items():
        total = counter.total()
        word = count_of(total, "URL") if total else "none"
        terminal.line(f"  disallowed for {agent}: {word}")
        for key, count in counter.most_common(_SHOWN_LINES):
            terminal.line(f"    {count:>9,}  {tally.words_of(*key)}")
        if len(counter) > _SHOWN_LINES:
            terminal.line(f"    and by {len(counter) - _SHOWN_LINES:,} other lines")
    invalid_count = tally.other_count - judges.left_count
    if invalid_count:
        terminal.line(
            f"  not judged: {count_of(invalid_count, 'entry', 'entries')} without a URL of the web"
        )
    if judges.left_count:
        terminal.line(
            f"  not judged: {count_of(judges.left_count, 'URL')} of other sites, beyond the "
            f"first {judges.limit}"
        )
    for url, words in walk.problems:
        terminal.line(f"  {terminal.paint('note:', 'yellow')} {_text(url)}: {_text(words)}")
    more = walk.problem_count - len(walk.problems)
    if more:
        terminal.line(f"  {terminal.paint('note:', 'yellow')} and {more:,} more")


def _show_json(walk: SitemapWalk, tally: _Tally, judges: Judges, terminal: Terminal) -> None:
    row = {
        "summary": walk.name,
        "sitemaps": {kind.value: walk.read[kind] for kind in SitemapKind},
        "urls": tally.page_count,
        "not_judged": tally.other_count,
        "of_too_many_origins": judges.left_count,
        "disallowed": {
            agent: {
                "urls": counter.total(),
                "by": [
                    {"origin": origin, "why": why, "urls": count}
                    for (origin, why), count in counter.most_common()
                ],
            }
            for agent, counter in tally.by_agent.items()
        },
        "problems": [{"sitemap": url, "problem": words} for url, words in walk.problems],
        "problem_count": walk.problem_count,
    }
    terminal.line(json.dumps(row))


def _text(text: str) -> str:
    return shown(text.encode("utf-8", "backslashreplace"))
