"""Makes the report of the trails of crawls."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from scrapy_rep.extras.evidence.replay import DIFFERS, Replayer, difference_words
from scrapy_rep.extras.evidence.trail_check import Checking, TrailCheck
from scrapy_rep.extras.evidence.trail_reading import Run as Trail
from scrapy_rep.extras.evidence.trail_reading import TrailError, run_at, runs_in
from scrapy_rep.protocol.units import counted

from .counting import Counting, Record, RunCounts
from .report_values import (
    CHANGED,
    INCOMPLETE,
    WHOLE,
    CrawlReport,
    Decided,
    OriginFacts,
    Paced,
    Rows,
    RunFacts,
    rows_of,
)
from .tallies import Counts
from .verdict_words import limits_of

_SCRAPYS_PARSER = "scrapy.robotstxt.ProtegoRobotParser"  # the default, which ours replaces
_CONTACT = "REP_REPORT_CONTACT"
_PATHS = ("_DIR", "_PATH")  # reports go to other people, so they leave out paths
_TOLD = 20  # problems shown per run
_ORDER = {"robots-txt-itself": 2, "scheme": 1}  # harmless exemptions come last


def trails_at(paths: Sequence[Path]) -> list[Trail]:
    """The trails in some folders, each once; a folder may be a run, or contain runs.

    Raises:
        TrailError: a folder has no trail, or two folders have the same run.
    """
    found: dict[Path, Trail] = {}
    places: dict[str, Path] = {}
    for path in paths:
        try:
            trails = [run_at(path)]
        except TrailError:
            trails = runs_in(path)
            if not trails:
                raise
        for trail in trails:
            found.setdefault(trail.path.resolve(), trail)
    for trail in found.values():
        place = places.setdefault(trail.name, trail.path)
        if place != trail.path:
            raise TrailError(
                f"{place} and {trail.path} have the same run, which would count twice: give only "
                "one of them, or move the other one out of the folder"
            )
    return list(found.values())


def report_of(trails: Sequence[Trail], *, shows_queries: bool = False) -> CrawlReport:
    """Make the report of some trails, reading each once, all of them side by side.

    With `shows_queries`, the values in the queries of URLs are not masked.

    Memory is bounded: the most important origins, rules and exemptions, and for each trail the
    needs of its check. The files of trails that were written at the same time are open at the same
    time.

    Raises:
        TrailError: too many files would be open.
    """
    whole = Counting(shows_queries=shows_queries)
    checks = [Checking(trail) for trail in trails]
    runs = [RunCounts() for _ in trails]
    streams = [
        _timed(number, float(trail.head.get("at", 0.0)), check, runs)
        for number, (trail, check) in enumerate(zip(trails, checks, strict=True))
    ]
    for _, number, record in heapq.merge(*streams, key=lambda one: one[:2]):
        if record is not None:
            whole.hear(runs[number], record)
    facts = tuple(
        _run_facts(*one) for one in zip(trails, runs, (c.outcome for c in checks), strict=True)
    )
    if whole.has_exemptions:
        for trail, one in zip(trails, facts, strict=True):
            for judged in () if one.state == CHANGED else Replayer(trail).afterwards():
                whole.judged_afterwards(*judged)
    in_order = tuple(sorted(facts, key=lambda one: (one.began_at or 0.0, one.run)))
    return _made(whole, in_order, _agents(runs), shows_queries=shows_queries)


def _timed(
    number: int, began_at: float, checking: Checking, runs: list[RunCounts]
) -> Iterator[tuple[float, int, Record | None]]:
    """Yield the records of a run with times in ascending order; opens no file before the first."""
    latest = began_at
    yield latest, number, None
    for record in checking.records():
        at = record.get("at")
        if isinstance(at, (int, float)) and at > latest:
            latest = float(at)
        yield latest, number, record
    runs[number].ended_at = latest or None


def _run_facts(trail: Trail, run: RunCounts, check: TrailCheck) -> RunFacts:
    head = trail.head
    settings = head.get("settings", {})
    before = (trail.manifest or {}).get("redacted_from")
    problems = [*_uncounted(run), *check.problems]
    replayed: dict[str, int] = {} if problems else _replayed(trail)
    differing = replayed.get(DIFFERS)
    state = CHANGED if problems else INCOMPLETE if check.missing else WHOLE
    return RunFacts(
        run=trail.name,
        spider=head.get("spider", ""),
        user_agent=head.get("user_agent", ""),
        tokens=tuple(head.get("tokens", ())),
        software={str(name): str(of) for name, of in head.get("software", {}).items()},
        settings={
            name: of
            for name, of in settings.items()
            if name not in ("REP_REPORT", _CONTACT)
            and not str(name).endswith(_PATHS)
            and of != _SCRAPYS_PARSER
        },
        is_obeying=str(settings.get("ROBOTSTXT_OBEY")).lower() in ("true", "1"),
        contact=str(settings.get(_CONTACT, "")),
        began_at=head.get("at"),
        ended_at=run.ended_at,
        ended=None if run.end is None else str(run.end.get("reason")),
        state=state,
        difference=difference_words(trail, differing, check.unmarked) if differing else "",
        last_n=check.last_n,
        records=check.record_count,
        replayed=replayed,
        problems=tuple(problems[:_TOLD]),
        missing=tuple(check.missing[:_TOLD]),
        unmarked=check.unmarked,
        manifest_sha256=trail.manifest_sha256,
        previous=head.get("previous"),
        redacted_from=None if not isinstance(before, dict) else str(before.get("manifest_sha256")),
        clock_steps=tuple(run.steps),
    )


def _replayed(trail: Trail) -> dict[str, int]:
    """Make each decision of a trail again, and count the results."""
    counts: Counter[str] = Counter()
    for _, outcome, count in Replayer(trail).outcomes():
        counts[outcome.word] += count
    return dict(counts)


def _uncounted(run: RunCounts) -> Iterator[str]:
    """Describe records that are in no number of the report, so that its sums are not misread."""
    for kind, count in sorted(run.uncounted.items()):
        are = counted(count, f"record of kind {kind} is", f"records of kind {kind} are")
        yield f"{are} unreadable, and not counted here"


def _agents(runs: Sequence[RunCounts]) -> dict[str, int]:
    """The User-Agents with which the requests of some runs were sent."""
    found: Counter[str] = Counter()
    for run in runs:
        usual = str(run.head.get("user_agent", "unknown") or "no User-Agent")
        found.update(run.agents)
        found[usual] += max(0, run.passed - sum(run.agents.values()))
    return {name: count for name, count in found.most_common() if count}


def _made(
    whole: Counting, runs: tuple[RunFacts, ...], agents: Mapping[str, int], *, shows_queries: bool
) -> CrawlReport:
    totals = whole.totals
    totals.exempt = Counts(sorted(totals.exempt.items()))
    paces = _paces(whole, runs)
    sent = Counter({row.origin: row.too_soon for row in paces.rows})
    for row in whole.exemptions.held.values():
        sent[row.origin] += row.count
    decided = sorted(whole.decided.items(), key=lambda one: (-one[1], one[0]))
    return CrawlReport(
        runs=runs,
        totals=totals,
        obeyed_as=dict(sorted(whole.obeyed_as.items(), key=lambda one: -one[1])),
        agents=agents,
        decided=tuple(Decided(*key, count) for key, count in decided),
        times=whole.timeline.times(),
        exemptions=rows_of(
            whole.exemptions, lambda row: (_ORDER.get(row.why, 0), -row.count, row.origin)
        ),
        origins=rows_of(
            whole.origins,
            lambda row: (-row.went_on, -sent[row.origin], -row.held_back, -row.judged, row.origin),
        ),
        fetches=whole.fetches.finished(),
        rules=rows_of(whole.rules, lambda row: (row.allowed, -row.count, row.origin, row.line)),
        paces=paces,
        rests=rows_of(whole.rests, lambda row: (-row.too_soon, -row.longest_seconds, row.origin)),
        payments=rows_of(whole.payments, lambda row: (-row.count, row.origin, row.price)),
        coverage=whole.coverage.rows(),
        withheld=rows_of(whole.withheld, lambda row: (-row.count, row.because, row.what)),
        gaps=Rows(tuple(whole.gaps), whole.gap_count),
        limits=(
            *whole.coverage.limits(),
            *limits_of(runs, totals, shows_queries=shows_queries),
        ),
    )


def _paces(whole: Counting, runs: Sequence[RunFacts]) -> Rows[Paced]:
    is_ignored = any(run.settings.get("REP_CRAWL_DELAY_EXCESS") == "ignore" for run in runs)
    rows = [
        _paced(one, is_ignored=is_ignored)
        for one in whole.origins.held.values()
        if one.crawl_delay or one.gaps.visits
    ]
    rows.sort(key=lambda row: (-row.too_soon, -row.crossed, row.least_seconds is None, row.origin))
    setters = {_host(row.origin): row for row in rows if row.asked_seconds}
    told = tuple(replace(row, source=_source(row, setters.get(_host(row.origin)))) for row in rows)
    return Rows(told, len(rows), whole.origins.dropped_records)


def _host(origin: str) -> str:
    """The host of an origin: Scrapy has one slot for it, so its origins share a delay."""
    return origin.partition("://")[2].rpartition(":")[0] or origin.partition("://")[2]


def _source(row: Paced, setter: Paced | None) -> str:
    """The source of a delay, in words; `setter` is an origin of the same host that set one."""
    if row.asked_seconds and (row.kept_seconds or 0.0) <= row.asked_seconds:
        return "its Crawl-delay, capped" if row.is_capped else "its Crawl-delay"
    if setter is not None and setter.origin != row.origin:
        return f"the Crawl-delay of {setter.origin}, which has the same host"
    return "the settings of the crawl, or another pace of the site"


def _paced(one: OriginFacts, *, is_ignored: bool) -> Paced:
    gaps = one.gaps
    gaps.finish()
    if gaps.too_soon:
        word = "not-kept"
    elif gaps.crossed:
        word = "crossed"
    elif gaps.least is not None:
        word = "kept"
    elif gaps.visits:
        word = "one-visit"
    else:
        word = "ignored" if is_ignored else "no-visit"
    asked = min((d.seconds for d in one.delays.values() if d.seconds is not None), default=None)
    delays = asked, gaps.kept_seconds
    counts = gaps.too_soon, gaps.crossed
    return Paced(one.origin, *delays, gaps.visits, gaps.least, *counts, word, source="")
