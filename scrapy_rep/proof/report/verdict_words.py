"""The verdict of a report in sentences, for terminals and for the page."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

from .report_values import CHANGED, INCOMPLETE, WHOLE, CrawlReport, RunFacts

GOOD, NOTE, BAD = "good", "note", "bad"


def verdict(report: CrawlReport) -> Iterator[tuple[str, str]]:
    """Yield sentences on decisions, pace and trail, each with `GOOD`, `NOTE` or `BAD`."""
    yield _judged(report)
    later, exempt = report.totals.dropped_later, report.totals.exempt.get("dont_obey", 0)
    if later:
        told = f"{_were(later)} allowed first, and then dropped: a browser was redirected to a URL"
        yield NOTE, f"{_counted(later, 'request')} {told} that is not allowed."
    if exempt:
        them = "it" if exempt == 1 else "them"
        told = f"sent without being judged: the crawl exempted {them} (dont_obey_robotstxt)."
        yield NOTE, f"{_counted(exempt, 'request')} {_were(exempt)} {told}"
    overridden = sum(row.count for row in report.exemptions.rows if row.why == "overridden")
    least = "At least " if report.exemptions.missing else ""
    if overridden:
        told = (
            f"{_were(overridden)} sent because of the operator's settings, not by the site's rules"
        )
        settings = "(REP_OVERRIDES or REP_POLICY_OVERRIDES)"
        yield NOTE, f"{least}{_counted(overridden, 'request')} {told} {settings}."
    yield from _paces(report)
    yield from _rests(report)
    if pages := sum(row.count for row in report.payments.rows):
        told = "answered 402 (Payment Required). Nothing was paid."
        yield NOTE, f"{_counted(pages, 'page')} {told}"
    yield _standing(report)


def _judged(report: CrawlReport) -> tuple[str, str]:
    totals = report.totals
    if not totals.judged:
        why = ": the crawl did not obey it" if _is_off(report) else ""
        return NOTE, f"No request was judged by robots.txt{why}."
    judged = f"{_counted(totals.judged, 'request')} {_were(totals.judged)} judged by robots.txt"
    good = GOOD if report.state == WHOLE else NOTE  # missing records may be bad ones
    if not totals.disallowed:
        return good, f"{judged} and allowed."
    told = f"{judged}; {totals.disallowed:,} {_were(totals.disallowed)} disallowed"
    if not totals.went_on:
        is_all = good == GOOD and not totals.exempt.get("dont_obey") and not _is_off(report)
        more = ": no request was sent against a robots.txt" if is_all else ""
        return good, f"{told}. None of these was sent{more}."
    is_dry = any(row.why == "dry-run" for row in report.exemptions.rows)
    dry = " The crawl was a dry run (REP_DRY_RUN)." if is_dry else ""
    return BAD, f"{told}, and {totals.went_on:,} of these were sent all the same.{dry}"


def _is_off(report: CrawlReport) -> bool:
    """Whether a crawl judged nothing."""
    return any(run.settings.get("ROBOTSTXT_OBEY") is False for run in report.runs)


def _paces(report: CrawlReport) -> Iterator[tuple[str, str]]:
    words = [row.word for row in report.paces.rows]
    asking = sum(row.asked_seconds is not None for row in report.paces.rows) or len(words)
    too_fast, origins = words.count("not-kept"), _counted(asking, "origin")
    if too_fast:
        told = f"set a delay; {too_fast:,} of them got requests before it was over."
        yield BAD, f"{origins} {told}"
    if crossed := words.count("crossed"):
        told = "got requests of different crawls before its delay was over, if their clocks agree."
        yield NOTE, f"{_counted(crossed, 'origin')} {told}"
    if too_fast or crossed:
        return
    if words.count("kept") and report.paces.missing:
        told = "No request is known to have come too soon, but there were more origins than this"
        yield NOTE, f"{origins} or more set a delay. {told} report could hold."
    elif words.count("kept"):
        yield GOOD, f"{origins} set a delay between requests, and no request came too soon."


def _rests(report: CrawlReport) -> Iterator[tuple[str, str]]:
    rows, limited = report.rests.rows, report.totals.rate_limited
    too_soon, crossed = sum(row.too_soon for row in rows), sum(row.crossed for row in rows)
    if rows:
        told = f"{_counted(len(rows), 'origin')} answered 429 or 503 and rested"
        if too_soon:
            yield BAD, f"{told}; {_counted(too_soon, 'request')} {_were(too_soon)} sent too soon."
        elif crossed:
            them = f"{_counted(crossed, 'request')} of one crawl {_were(crossed)}"
            yield NOTE, f"{told}; {them} sent in the rest of another, if their clocks agree."
        else:
            yield GOOD, f"{told}. No crawl sent a request during a rest that it knew of."
    if services := sorted({row.challenge for row in rows} - {""}):
        count = sum(bool(row.challenge) for row in rows)
        told = f"with challenges to automated clients ({', '.join(services)}), not as the site"
        yield NOTE, f"{_counted(count, 'origin')} answered {told}."
    if limited:
        told = f"{_were(limited)} dropped: the origin answered so for REP_BACKOFF_GIVE_UP_SECONDS"
        yield NOTE, f"{_counted(limited, 'request')} {told}, or rested as the crawl ended."


def _standing(report: CrawlReport) -> tuple[str, str]:
    states = [run.state for run in report.runs]
    if len(states) == 1:
        (run,) = report.runs
        if run.state == WHOLE:
            return GOOD, "The trail is complete: every digest, number and total in it is right."
        if run.state == CHANGED:
            return BAD, f"The trail was changed or damaged, so it proves nothing: {_first(run)}"
        return NOTE, f"The trail is not complete: {_first(run)}"
    changed, incomplete = states.count(CHANGED), states.count(INCOMPLETE)
    if not changed and not incomplete:
        return GOOD, f"Each of the {len(states):,} trails is complete: every digest in it is right."
    parts = [f"{changed:,} were changed or damaged and prove nothing"] if changed else []
    parts += [f"{incomplete:,} are not complete"] if incomplete else []
    return BAD if changed else NOTE, f"Of {len(states):,} trails, {' and '.join(parts)}."


def _first(run: RunFacts) -> str:
    told = run.problems or run.missing
    more = f" (and {len(told) - 1:,} more)" if len(told) > 1 else ""
    return f"{told[0]}{more}." if told else ""


def _counted(count: int, name: str) -> str:
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def when(instant: float | None, *, is_short: bool = False) -> str:
    """An instant in UTC; a dash if unknown."""
    if instant is None:
        return "-"
    try:
        found = datetime.fromtimestamp(instant, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return f"{instant:g}"
    return f"{found:%H:%M:%S}" if is_short else f"{found:%Y-%m-%d %H:%M:%S}"


def span(seconds: float | None) -> str:
    """A length of time; a dash if unknown."""
    if seconds is None:
        return "-"
    for unit, name in ((86_400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:,.3g} s"
