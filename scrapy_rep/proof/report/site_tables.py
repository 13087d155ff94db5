"""The tables of a report that tell of sites: exemptions, origins, rules, paces."""

from __future__ import annotations

from .cells import Table, cells_of, count_words, note_of, second_words, short
from .report_values import CrawlReport, OriginFacts, Paced
from .verdict_words import span

_CHARTED = 20
_WHY = {
    "dont_obey": "exempt: its request carried dont_obey_robotstxt",
    "scheme": "no robots.txt governs its scheme",
    "robots-txt-itself": "a robots.txt itself, which is always allowed",
    "overridden": "allowed by the settings of the operator (REP_OVERRIDES, REP_POLICY_OVERRIDES)",
    "dry-run": "disallowed, and sent all the same: a dry run (REP_DRY_RUN)",
    "slipped": "disallowed, and sent all the same: a browser was redirected",
    "passed": "disallowed, and sent all the same",
    "delay-ignored": "the delay of the site was longer than the longest, and ignored "
    "(REP_CRAWL_DELAY_EXCESS)",
}
_PACES = {
    "kept": "kept",
    "not-kept": "requests came too soon",
    "one-visit": "one request: nothing to compare",
    "no-visit": "no request",
    "ignored": "no request, or ignored",
}


def exemptions(report: CrawlReport) -> Table:
    """Where robots.txt had no say, or not the last word."""
    return Table(
        "Exemptions by origin",
        "Why, where, and one of the URLs.",
        ("origin", "why", "requests", "for instance"),
        cells_of(
            report.exemptions.rows,
            lambda one: (
                one.origin,
                _WHY.get(one.why, one.why),
                count_words(one.count),
                short(one.url),
            ),
        ),
        long=("why", "for instance"),
        note=note_of(report.exemptions, report),
    )


def origins(report: CrawlReport) -> Table:
    """Each origin, and its robots.txt."""

    def cells(one: OriginFacts) -> tuple[str, ...]:
        result = f" ({one.access_result})" if one.access_result else ""
        return (
            one.origin,
            *map(count_words, (one.judged, one.held_back, one.went_on, one.exempt)),
            f"{one.event}{result}" if one.event else "not asked",
            one.meaning or "-",
            one.source or "-",
            count_words(one.requests),
            span(one.age_seconds),
            count_words(one.stale),
        )

    head = (
        *("origin", "judged", "held back", "sent though disallowed", "not judged"),
        *("robots.txt", "means", "from", "requests for it", "age", "stale"),
    )
    return Table(
        "Origins by what was held back",
        "Bars show the first 20.",
        head,
        cells_of(report.origins.rows, cells),
        ("robots.txt", "means", "from"),
        stacks=tuple(
            (one.judged - one.held_back - one.went_on, one.held_back, one.exempt, one.went_on)
            for one in report.origins.rows[:_CHARTED]
        ),
        chart="of its requests",
        classes=("allowed", "held back", "not judged", "sent though disallowed"),
        note=note_of(report.origins, report),
    )


def rules(report: CrawlReport) -> Table:
    """The lines that decided."""
    return Table(
        "Rules by origin and line",
        "The group is the name in the user-agent line that speaks to the crawler.",
        ("origin", "line", "rule", "group", "verdict", "requests", "for instance"),
        cells_of(
            report.rules.rows,
            lambda one: (
                one.origin,
                str(one.line),
                one.rule,
                one.group or "-",
                "allowed" if one.allowed else "disallowed",
                count_words(one.count),
                short(one.url) or "-",
            ),
        ),
        ("group", "verdict"),
        long=("rule", "for instance"),
        note=note_of(report.rules, report),
    )


def paces(report: CrawlReport) -> Table:
    """The delays asked for, and those that were kept."""

    def cells(one: Paced) -> tuple[str, ...]:
        return (
            one.origin,
            second_words(one.asked_seconds),
            second_words(one.kept_seconds),
            second_words(one.least_seconds),
            count_words(one.visits),
            count_words(one.too_soon),
            _PACES.get(one.word, one.word),
        )

    return Table(
        "Pace by origin",
        "The least gap is counted from the latest time at which the one request can have left to "
        "the earliest for the next: what lay between was not less. Those for robots.txt count "
        "once the delay is known.",
        (
            "origin",
            "asked (Crawl-delay)",
            "meant to keep",
            "least gap",
            "requests",
            "too soon",
            "so",
        ),
        cells_of(report.paces.rows, cells),
        ("so",),
        note=note_of(report.paces, report),
    )


def withheld(report: CrawlReport) -> Table:
    """What pages withheld."""
    return Table(
        "Withheld by statement",
        "What was withheld, by which statement, and one of the pages.",
        ("statement", "what", "what came of it", "times", "for instance on"),
        cells_of(
            report.withheld.rows,
            lambda one: (
                one.because,
                one.what,
                one.outcome,
                count_words(one.count),
                short(one.page),
            ),
        ),
        ("what", "what came of it"),
        long=("statement", "for instance on"),
        note=note_of(report.withheld, report),
    )
