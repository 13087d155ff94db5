"""``scrapy rep check``: test whether URLs are allowed, and by which line."""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from scrapy_rep.cache.base import StoreError
from scrapy_rep.extras import part
from scrapy_rep.fetch.chosen_store import is_in_project
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.origin import Origin, origin_or_none
from scrapy_rep.protocol.units import counted

from .inputs import (
    STDIN,
    Freshness,
    origin_of,
    read,
    refuse_odd_path,
    refuse_two_stdins,
    stdin_lines,
)
from .judging import Judge, JudgedStream, Judgement
from .named_agents import Agent, agents_of, verdict_word
from .project_store import fresh_copies, project_store, refreshed
from .running import Call, CommandError
from .sitemap_check import show_sitemaps
from .terminal import safe


def run(call: Call) -> None:
    """Judge all URLs."""
    options = call.options
    _refuse_contradictions(options)
    agents = agents_of(call)
    if options.usage or options.page or options.sitemap:
        _look(call, agents)
    else:
        _judge_urls(call, agents)


def _look(call: Call, agents: Sequence[Agent]) -> None:
    """Judge pages and sitemaps."""
    options = call.options
    if options.refresh:
        call.set(REP_STORE="memory")  # which is empty
    if options.usage:
        part("--usage")(call, agents)
    elif options.page:
        part("--page")(call, agents)
    else:
        show_sitemaps(call, agents)


def _judge_urls(call: Call, agents: Sequence[Agent]) -> None:
    options = call.options
    if is_in_project() and not call.settings.getbool("ROBOTSTXT_OBEY") and not options.robots:
        call.terminal.complain(
            "note: ROBOTSTXT_OBEY is off here, so a crawl would ignore all of this"
        )
    options.explain |= STDIN not in options.urls and not options.no_explain
    table = part("--expect")(options.expect, agents) if options.expect else {}
    options.urls = [*options.urls, *table]
    differing_count = 0
    show = _form(options)
    if options.csv:
        call.csv_row((*_CSV_COLUMNS, "expected") if table else _CSV_COLUMNS)
    shown: set[tuple[int, str]] = set()
    opinions = part("--like")(options.like) if options.like is not None else None
    write_group = part("--rules") if options.rules else None
    ages: dict[Origin, Freshness | None] = {}

    def tell(url: str | None, judge: Judge) -> None:
        nonlocal differing_count
        for agent, allowed in table.get(url or "") or ((agent, None) for agent in agents):
            if url is not None:
                judgement = replace(judge.judge(url, agent), expected=allowed)
                call.end_with(judgement.status)
                if table:
                    ages[judge.origin] = judge.freshness
                if judgement.is_as_expected:
                    continue
                differing_count += 1
                said = judge.opinions(opinions, url, agent) if opinions else ()
                show(judgement, said, call)
            if write_group and (id(judge), agent.name) not in shown:
                shown.add((id(judge), agent.name))
                write_group(judge.policy, agent, call)

    _judge_all(call, tell)
    if table:
        _tell_ages(ages, call)
        rows = counted(sum(map(len, table.values())), "row")
        call.complain(f"{rows}, {differing_count} not as expected")


def _tell_ages(ages: Mapping[Origin, Freshness | None], call: Call) -> None:
    """Report the age of each file that judged: no row has it if none differs."""
    for origin, freshness in ages.items():
        if freshness is not None:
            call.complain(f"{origin.robots_txt_uri}: {freshness.words}")


def _judge_all(call: Call, tell: Callable[[str | None, Judge], None]) -> None:
    """Judge all URLs: by one given file, by the store alone, or as a crawl would."""
    options = call.options
    urls: Iterator[str] = chain.from_iterable(
        stdin_lines() if one == STDIN else [one] for one in options.urls
    )
    if options.robots:
        only = Judge.of_input(read(options.robots, call), call)
        if not options.urls:
            tell(None, only)
        _judge_one_by_one(urls, lambda _: only, tell, call)
        return
    since = math.inf if options.cached else time.time()
    if options.refresh and _has_store(call):
        wanted = list(urls)
        # URLs without an origin are reported below.
        origins = list(dict.fromkeys(filter(None, map(origin_or_none, wanted))))
        list(refreshed(origins, call) if origins else ())
        urls = iter(wanted)
    elif not options.cached:
        governed = _governed(urls, call)
        first = next(governed, None)
        if first is not None:
            JudgedStream(first, governed, call, since, tell).run()
        return
    judges: dict[Origin, Judge] = {}
    with project_store(call.settings) as stored:

        def judge_of(url: str) -> Judge:
            origin = origin_of(url)
            if origin not in judges:
                judges[origin] = _judge(call, since, origin, stored.policy(origin))
            return judges[origin]

        _judge_one_by_one(urls, judge_of, tell, call)


def _judge_one_by_one(
    urls: Iterator[str],
    judge_of: Callable[[str], Judge],
    tell: Callable[[str | None, Judge], None],
    call: Call,
) -> None:
    comes_later = STDIN in call.options.urls and not call.options.refresh
    for url in call.terminal.progress(urls if comes_later else list(urls), "URLs"):
        with call.going_on():
            if call.options.robots:
                refuse_odd_path(url)
            tell(url, judge_of(url))
        if comes_later:
            call.terminal.flush()


def _judge(call: Call, since: float, origin: Origin, policy: Policy | None) -> Judge:
    """The judge of an origin, with the file as the site sent it for other parsers."""
    copies = fresh_copies(call.settings, [origin]) if call.options.like else {}
    body = copies[origin].body if origin in copies else None
    return Judge.of_policy(origin, policy, call, since, body)


def _has_store(call: Call) -> bool:
    try:
        with project_store(call.settings, must_exist=False):
            return True
    except (CommandError, StoreError):  # a crawl would fetch all files
        return False


def _refuse_contradictions(options: argparse.Namespace) -> None:
    """Check that the options can be combined.

    Raises:
        CommandError: they cannot.
    """
    if options.cached and options.robots:
        raise CommandError("--robots and --cached name different sources: give one of them")
    if options.cached and options.refresh:
        raise CommandError("--cached fetches nothing, but --refresh does: give one of them")
    if options.csv and (options.rules or not (options.urls or options.expect)):
        raise CommandError("--csv writes verdicts on URLs only: give URLs, and not --rules")
    kinds = ("urls", "sitemap", "page", "usage", "expect")
    lists = [name for name in kinds if getattr(options, name)]
    if not lists and not (options.rules and options.robots):
        raise CommandError(
            "give a URL, --sitemap, --page, --usage, --expect, or --rules with --robots"
        )
    if len(lists) > 1:
        raise CommandError("give only one of URLs, --sitemap, --page, --usage and --expect")
    if lists == ["usage"] and (options.rules or options.like):
        raise CommandError("--rules and --like need URLs, and cannot be combined with --usage")
    if lists in (["sitemap"], ["page"]) and (options.cached or options.rules or options.like):
        raise CommandError(
            "--cached, --rules and --like cannot be combined with --sitemap or --page"
        )
    refuse_two_stdins([*options.urls, *options.sitemap, options.robots or "", options.expect or ""])


def _governed(urls: Iterable[str], call: Call) -> Iterator[str]:
    """Yield the URLs that robots.txt governs, and report the others."""
    for url in urls:
        with call.going_on():
            origin_of(url)
            yield url


def _form(options: argparse.Namespace) -> Callable[[Judgement, tuple[Any, ...], Call], None]:
    """The function that shows a verdict."""
    if options.json or options.csv:
        return _show_row
    return _show_text if options.explain else _show_line


_CSV_COLUMNS = (
    *("url", "agent", "allowed", "reason", "group", "rule", "line", "text"),
    *("robots_txt", "event", "source", "like"),
)


_WORDS = {True: "allowed", False: "disallowed"}


def _show_row(judgement: Judgement, said: tuple[Any, ...], call: Call) -> None:
    """Write an object, or a row for spreadsheets."""
    judge = judgement.judge
    found: dict[str, Any] = {**judgement.as_dict(), "text": judgement.text or None}
    access = judge.access_dict() if judge.has_answer else None
    if call.options.csv:
        found = {**(access or {}), **found, "like": [f"{one.parser}: {one}" for one in said]}
        columns = _CSV_COLUMNS if judgement.expected is None else (*_CSV_COLUMNS, "expected")
        call.csv_row(map(found.get, columns))
        return
    if call.options.explain:
        found["lost"] = [
            {"rule": str(lost), "line": lost.line, "octets": lost.octets} for lost in judgement.lost
        ]
    if judgement.bare:
        found["without_dot_segments"] = judgement.bare
    if judge.remarks:
        found["remarks"] = judge.remarks
    if said:
        found["like"] = {one.parser: one.allowed for one in said}
        failures = {one.parser: one.failure for one in said if one.failure}
        found.update({"like_failures": failures} if failures else {})
    if judge.has_answer:
        found["access"] = access
    call.row(found)


def _show_line(judgement: Judgement, said: tuple[Any, ...], call: Call) -> None:
    """Write one line, for runs with thousands of URLs."""
    freshness, line = judgement.judge.freshness, str(judgement.line or "-")
    word = verdict_word(judgement.verdict, call)
    word += "" if judgement.expected is None else f", expected {_WORDS[judgement.expected]}"
    cells = [word, judgement.agent.name, line, judgement.why, safe(judgement.url)]
    cells += [str(freshness)] if freshness else []
    cells += [f"{opinion.parser}: {safe(opinion)}" for opinion in said]
    call.line("\t".join(cells))


def _show_text(judgement: Judgement, said: tuple[Any, ...], call: Call) -> None:
    """Write the verdict with its whole explanation."""
    paint, verdict = call.paint, judgement.verdict
    call.line(paint(safe(judgement.url), "bold"))
    call.line(f"  {verdict_word(verdict, call)} for {judgement.agent.name}: {judgement.why}")
    if judgement.expected is not None:
        call.line(f"  expected: {_WORDS[judgement.expected]}")
    if verdict is not None and verdict.product_token:
        call.line(f"  group: {verdict.product_token}")
    if judgement.note:
        call.remark(judgement.note, "  ")
    if judgement.line:
        call.line(f"  {paint(f'{judgement.line} |', 'blue')} {judgement.text}")
    for rule in judgement.lost:
        octets = counted(rule.octets, "octet")
        call.line(paint(f"  lost: {rule.line} | {rule} ({octets})", "dim"))
    if judgement.bare:
        call.line(f"  note: judged as written, and as {safe(judgement.bare)}")
    for text in judgement.judge.remarks:
        call.remark(text, "  ")
    for opinion in said:
        differs = verdict is not None and opinion.allowed not in (None, verdict.allowed)
        mark = f", {paint('which differs', 'yellow')}" if differs else ""
        call.line(f"  like {opinion.parser}: {safe(opinion)}{mark}")
    call.lines(judgement.judge.access_lines(), "  ")
