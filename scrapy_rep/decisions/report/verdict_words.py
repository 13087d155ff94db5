"""The verdict of a report in sentences, for terminals and for the page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timezone

from scrapy_rep.decisions.replay import CONFIRMED, DIFFERS

from .permissions import against, pace_permission, permission_of, undecided
from .report_values import CHANGED, INCOMPLETE, WHOLE, CrawlReport, Exemption, RunFacts

GOOD, NOTE, BAD = "good", "note", "bad"


def verdict(report: CrawlReport) -> list[tuple[str, str]]:
    """Sentences on decisions, pace and trail, each with `GOOD`, `NOTE` or `BAD`, which come first.

    The first sentence is the worst news.
    """
    return sorted(_sentences(report), key=lambda one: one[0] != BAD)


def _sentences(report: CrawlReport) -> Iterator[tuple[str, str]]:
    if report.state != WHOLE:
        yield _standing_words(report)
    yield from _undecided(report)
    yield _judged(report)
    if later := report.totals.dropped_later:
        told = f"{_were(later)} allowed first, and then dropped: a browser was redirected to a URL"
        yield NOTE, f"{counted(later, 'request')} {told} that is not allowed."
    yield from _paces(report)
    yield from _rests(report)
    if pages := sum(row.count for row in report.payments.rows):
        told = "answered 402 (Payment Required). Nothing was paid."
        yield NOTE, f"{counted(pages, 'page')} {told}"
    if report.state == WHOLE:
        yield _standing_words(report)
    yield from _replayed(report)


def _undecided(report: CrawlReport) -> Iterator[tuple[str, str]]:
    """The requests that no robots.txt decided, and what did, with an example each."""
    rows = undecided(report)
    count = sum(row.count for row in rows)
    least = "At least " if report.exemptions.missing else ""
    if count:
        told = f"{_were(count)} sent that no robots.txt decided: {_permissions(rows, report)}."
        yield NOTE, f"{least}{counted(count, 'request')} {told}"


def _permissions(rows: Sequence[Exemption], report: CrawlReport) -> str:
    counts: Counter[str] = Counter()
    samples: dict[str, str] = {}
    for row in rows:
        words = permission_of(row, report.runs)
        counts[words] += row.count
        samples[words] = min(samples.get(words, row.url), row.url)
    parts = [f"{count:,} by {words} (such as {samples[words]})" for words, count in counts.items()]
    return "; ".join(parts)


def _judged(report: CrawlReport) -> tuple[str, str]:
    totals = report.totals
    if not totals.judged:
        return NOTE, "No request was judged by robots.txt."
    is_replaced = any(row.why in ("errors", "overridden") for row in undecided(report))
    by = "robots.txt, or by a setting in its place," if is_replaced else "robots.txt"
    judged = f"{counted(totals.judged, 'request')} {_were(totals.judged)} judged by {by}"
    # Missing records may be bad ones.
    good = NOTE if is_replaced or report.state != WHOLE else GOOD
    if not totals.disallowed:
        return good, f"{judged} and allowed."
    told = f"{judged.rstrip(',')}; {totals.disallowed:,} {_were(totals.disallowed)} disallowed"
    if totals.went_on:
        told = f"{told}, and {totals.went_on:,} of these {_were(totals.went_on)} sent all the same"
        return BAD, f"{told}: {_permissions(against(report), report)}."
    more = ": no request was sent against a robots.txt" if _is_clean(report) else ""
    return good, f"{told}. None of these was sent{more}."


def _is_clean(report: CrawlReport) -> bool:
    """Whether every request was sent as a robots.txt wanted, as far as a trail can show."""
    is_obeying = all(run.is_obeying for run in report.runs)
    is_all = report.state == WHOLE and not report.exemptions.missing and is_obeying
    return is_all and not undecided(report) and not report.too_soon_count


def _paces(report: CrawlReport) -> Iterator[tuple[str, str]]:
    words = [row.word for row in report.paces.rows]
    asking = sum(row.asked_seconds is not None for row in report.paces.rows) or len(words)
    too_fast, origins = words.count("not-kept"), counted(asking, "origin")
    if too_fast:
        row = next(row for row in report.paces.rows if row.word == "not-kept")
        such = f"such as {row.origin}, by {pace_permission(row)}"
        told = f"set a delay; {too_fast:,} of them got requests before it was over ({such})."
        yield BAD, f"{origins} {told}"
    if crossed := words.count("crossed"):
        told = "got requests of different crawls before its delay was over, if their clocks agree."
        yield NOTE, f"{counted(crossed, 'origin')} {told}"
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
        told = f"{counted(len(rows), 'origin')} answered 429 or 503 and rested"
        if too_soon:
            yield BAD, f"{told}; {counted(too_soon, 'request')} {_were(too_soon)} sent too soon."
        elif crossed:
            them = f"{counted(crossed, 'request')} of one crawl {_were(crossed)}"
            yield NOTE, f"{told}; {them} sent in the rest of another, if their clocks agree."
        else:
            yield GOOD, f"{told}. No crawl sent a request during a rest that it knew of."
    if services := sorted({row.challenge for row in rows} - {""}):
        count = sum(bool(row.challenge) for row in rows)
        told = f"with challenges to automated clients ({', '.join(services)}), not as the site"
        yield NOTE, f"{counted(count, 'origin')} answered {told}."
    if limited:
        told = f"{_were(limited)} dropped: the origin answered so for REP_BACKOFF_GIVE_UP_SECONDS"
        yield NOTE, f"{counted(limited, 'request')} {told}, or rested as the crawl ended."


def _standing_words(report: CrawlReport) -> tuple[str, str]:
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


def _replayed(report: CrawlReport) -> Iterator[tuple[str, str]]:
    """Whether the decisions of all trails could be made again; differences are flaws of a trail."""
    counts: Counter[str] = Counter()
    for run in report.runs:
        counts.update(run.replayed)
    count, confirmed = counts.total(), counts.pop(CONFIRMED, 0)
    again = "made again from the octets in the trail, with the same result"
    if counts.pop(DIFFERS, 0) or not count:
        return
    if not counts:
        yield GOOD, f"Each of {counted(count, 'decision')} was {again}."
        return
    why = ", ".join(word for word, _ in counts.most_common())
    others = f" The others were {again}." if confirmed else ""
    told = f"{counts.total():,} of {counted(count, 'decision')} cannot be made again"
    yield NOTE, f"{told}: {why}.{others}"


def _first(run: RunFacts) -> str:
    told = run.problems or run.missing
    more = f" (and {len(told) - 1:,} more)" if len(told) > 1 else ""
    return f"{told[0]}{more}." if told else ""


def counted(count: int, name: str) -> str:
    """A number of things, in words."""
    return f"{count:,} {name}{'' if count == 1 else 's'}"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def when(instant: float | None) -> str:
    """An instant in UTC; a dash if unknown."""
    if instant is None:
        return "-"
    try:
        found = datetime.fromtimestamp(instant, timezone.utc)
    except (OverflowError, OSError, ValueError):
        return f"{instant:g}"
    return f"{found:%Y-%m-%d %H:%M:%S}"


def span(seconds: float | None) -> str:
    """A length of time; a dash if unknown."""
    if seconds is None:
        return "-"
    for unit, name in ((86_400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * unit:
            return f"{seconds / unit:,.1f} {name}"
    return f"{seconds:,.3g} s"
