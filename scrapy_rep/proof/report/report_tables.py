"""The tables of a report's page, by section."""

from __future__ import annotations

from collections.abc import Mapping

from scrapy_rep.protocol.verdict import Reason

from . import site_tables
from .cells import SHOWN_ROWS, Table, cells_of, count_words, note_of, short
from .report_values import Chain, CrawlReport, Decided, Rows, RunFacts
from .verdict_words import span, when

_VALUE_CHARACTERS = 110
_RUN_HEAD = (
    *("run", "spider", "began", "last record", "ended", "trail", "records", "last number"),
    *("User-Agent", "software", "SHA-256 of the manifest"),
)
_OUTCOMES = {
    "passed": "let through",
    "dropped": "held back",
    "aborted": "held back in a browser",
    "would-drop": "let through: a dry run",
    "slipped": "sent by a browser",
}
_OCCASIONS = {
    "request": "a request",
    "redirect": "the target of a redirect",
    "queue-filter": "a link, before it was queued",
    "browser": "a request of a page in a browser",
    "user-agent": "an allowed request once more: a middleware had set another User-Agent",
}
_SOURCES = {
    "network": "the network",
    "store": "the store: an earlier crawl, or another worker, had asked",
    "override": "the operator's settings",
    "gave-up": "nothing: no answer came in time",
}


def tables_of(report: CrawlReport) -> Mapping[str, list[Table]]:
    """The tables of each section; those without rows are left out."""
    made = {
        "runs": [_runs(report), _settings(report), _problems(report)],
        "decisions": [_decided(report), _times(report)],
        "exemptions": [site_tables.exemptions(report)],
        "origins": [site_tables.origins(report)],
        "fetches": [_fetched(report), _chains(report)],
        "rules": [site_tables.rules(report)],
        "pace": [site_tables.paces(report)],
        "withheld": [site_tables.withheld(report)],
        "gaps": [_gaps(report)],
    }
    return {name: [one for one in tables if one.rows] for name, tables in made.items()}


def _plural(number: str) -> str:
    return "" if number == "1" else "s"


def _runs(report: CrawlReport) -> Table:
    """A row for each run; of one run, a row for each fact."""
    rows = cells_of(report.runs, _run_cells)
    sentence = "A trail is whole if its digests, numbers and totals are right and it has an end."
    if len(report.runs) == 1:
        facts = tuple(zip(_RUN_HEAD, rows[0], strict=True))
        return Table("Run", sentence, ("fact", "value"), facts, long=("value",))
    whole = Rows(report.runs, len(report.runs))
    wordy = ("spider", "ended", "trail", "began", "last record")
    long = ("User-Agent", "software", "SHA-256 of the manifest")
    return Table("Runs", sentence, _RUN_HEAD, rows, wordy, long, note=note_of(whole, report))


def _run_cells(run: RunFacts) -> tuple[str, ...]:
    return (
        run.run,
        run.spider or "-",
        when(run.began_at),
        when(run.ended_at),
        run.ended or "no end",
        {"changed": "changed or damaged"}.get(run.state, run.state),
        count_words(run.records),
        count_words(run.last_n),
        run.user_agent or "-",
        ", ".join(f"{name} {of}" for name, of in run.software.items()),
        run.manifest_sha256 or "-",
    )


def _settings(report: CrawlReport) -> Table:
    """The settings that are not defaults; of several runs, those that agree once."""
    held: dict[tuple[str, str], list[str]] = {}
    for run in report.runs:
        for name, value in run.settings.items():
            if value is None:
                continue
            text = str(value)
            text = text if len(text) <= _VALUE_CHARACTERS else text[:_VALUE_CHARACTERS] + "…"
            held.setdefault((name, text), []).append(run.run)
    rows = [
        (name, text, "all" if len(runs) == len(report.runs) else f"{len(runs):,}")
        for (name, text), runs in sorted(held.items())
    ]
    return Table(
        "Settings",
        "The settings about robots.txt that are not the defaults, and Scrapy's own. Secrets and "
        "paths are left out.",
        ("setting", "value", "runs"),
        tuple(rows[:SHOWN_ROWS]),
        long=("value",),
    )


def _problems(report: CrawlReport) -> Table:
    rows = [
        (run.run, what, text)
        for run in report.runs
        for what, texts in (("wrong", run.problems), ("missing", run.missing))
        for text in texts
    ]
    return Table(
        "Flaws of the trails",
        "What is wrong contradicts itself: damage, or somebody's hand. What is missing, the trail "
        "tells itself. For all: scrapy rep audit verify",
        ("run", "kind", "what"),
        tuple(rows[:SHOWN_ROWS]),
        ("kind",),
        long=("what",),
    )


def _decided(report: CrawlReport) -> Table:
    def cells(one: Decided) -> tuple[str, ...]:
        reason = one.reason
        told = Reason[reason].value if reason in Reason.__members__ else reason
        return (
            "allowed" if one.allowed else "disallowed",
            told,
            _OUTCOMES.get(one.outcome, one.outcome),
            _OCCASIONS.get(one.by, one.by),
            count_words(one.count),
            f"{one.count / max(1, report.totals.judged):.1%}",
        )

    return Table(
        "Decisions by what decided",
        "Decisions, by verdict, reason, what came of them, and what was judged.",
        ("verdict", "because", "what came of it", "judged was", "decisions", "share"),
        cells_of(report.decided, cells),
        ("what came of it", "judged was"),
        long=("because",),
        bars=tuple(
            (one.count / max(1, report.totals.judged),) for one in report.decided[:SHOWN_ROWS]
        ),
        chart="share of all",
    )


def _times(report: CrawlReport) -> Table:
    times = report.times
    rows = tuple(
        (
            when(one.at),
            *map(count_words, (one.allowed, one.held_back, one.went_on, one.exempt, one.stale)),
        )
        for one in times.moments
    )
    return Table(
        "Decisions over time, as numbers",
        f"Each row is {span(times.seconds)}, from its time on. Stale are those decisions that an "
        "outdated copy made while its site could not be asked.",
        ("from", "allowed", "held back", "sent though disallowed", "not judged", "stale"),
        rows if len(rows) > 1 else (),
        is_folded=True,
    )


def _fetched(report: CrawlReport) -> Table:
    found = report.fetches
    rows = [
        ("requests sent for robots.txt files", count_words(found.requests)),
        *((f"answered with {name}", count_words(of)) for name, of in found.statuses.items()),
        *((f"failed: {name}", count_words(of)) for name, of in found.failures.items()),
        *(
            (f"files behind {n} redirect{_plural(n)}", count_words(of))
            for n, of in found.redirects.items()
            if n != "0"
        ),
        ("octets of the answers", count_words(found.octets)),
        *((f"time to an answer: {name}", f"{of:,} ms") for name, of in found.milliseconds.items()),
        ("requests of which nothing was learnt: the crawl closed", count_words(found.in_vain)),
        *(
            (f"policies from {_SOURCES.get(name, name)}", count_words(of))
            for name, of in found.policies.items()
        ),
        ("decisions by a stale copy", count_words(report.totals.stale)),
    ]
    return Table(
        "Requests and policies",
        "A policy is what the robots.txt of an origin meant for a while. Only those from the "
        "network took a request of these crawls.",
        ("", "count"),
        tuple(row for row in rows if row[1] not in ("0", "0 ms")),
    )


def _chains(report: CrawlReport) -> Table:
    def cells(one: Chain) -> tuple[str, ...]:
        hops = (
            f"{short(uri)} ({came or 'not known'}{'' if asked else '; known, not asked again'})"
            for uri, came, asked in zip(one.uris, one.came, one.asked, strict=True)
        )
        return one.origin, " → ".join(hops), count_words(one.count)

    chains = report.fetches.chains
    return Table(
        "Redirects",
        "The way to the file of an origin, hop by hop. What another origin's file had brought "
        "already was not asked for again.",
        ("origin", "way", "times"),
        cells_of(chains.rows, cells),
        long=("way",),
        note=note_of(chains, report),
    )


def _gaps(report: CrawlReport) -> Table:
    return Table(
        "Gaps by run",
        "The numbers of the records that are missing, how many, when, and why.",
        ("run", "from", "to", "records", "since", "until", "error"),
        cells_of(
            report.gaps.rows,
            lambda one: (
                one.run,
                *map(count_words, (one.from_n, one.to_n, one.count)),
                when(one.from_at),
                when(one.to_at),
                one.error,
            ),
        ),
        long=("error",),
        note=note_of(report.gaps, report),
    )
