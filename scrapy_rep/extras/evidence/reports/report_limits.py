"""The limits of a report: facts that no trail can show, and gaps in these trails."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from scrapy_rep.protocol.units import counted

from .report_values import CHANGED, WHOLE, CrawlTotals, RunFacts
from .verdict_words import span, when

_NAMED = 5
_ALWAYS = """
A trail contains what the crawler recorded. It cannot prove that the crawler told the truth.

Anything that can write the files can also replace them. To show that the files are unchanged, keep
the SHA-256 of a manifest in another place: the log of the crawl, a timestamp, or a signature.

A request counts as sent when it goes to Scrapy's downloader. Another part of the crawl may have
dropped it there. If its origin began to rest, it may have been put back into the queue; then it
counts again when it goes again, perhaps by another worker.

Requests that do not pass through Scrapy's downloader, such as those that a spider or a pipeline
sends by itself, are not in the trail.

Times are those of the crawler's clock. A site may see other gaps between requests than the crawler,
because of the network between them.
"""
_OF_RUNS: dict[str, Callable[[RunFacts], bool]] = {
    "A trail that was changed or damaged proves nothing: {}.": lambda run: run.state == CHANGED,
    "Events after the last record are unknown: {}.": lambda run: run.ended is None,
    "The crawl did not obey robots.txt (ROBOTSTXT_OBEY was off), so its requests were not "
    "judged: {}.": lambda run: not run.is_obeying,
    "The operator is not named, because REP_REPORT_CONTACT is not set: {}.": lambda run: (
        not run.contact
    ),
    "The queries of URLs are left out, so decisions on them cannot be repeated: {}.": (
        lambda run: (
            run.redacted_from is not None or run.settings.get("REP_AUDIT_QUERY") in ("hash", "drop")
        )
    ),
}


def limits_of(
    runs: Sequence[RunFacts], totals: CrawlTotals, *, shows_queries: bool
) -> Iterator[str]:
    """Yield the limits as sentences, first those of these trails."""
    for words, is_so in _OF_RUNS.items():
        names = [run.run for run in runs if is_so(run)]
        if names:
            yield words.format(_these(names, runs))
    yield from _uncovered(runs)
    known = {run.run for run in runs}
    for run in runs:
        if run.previous and run.previous not in known:
            went_on = f"{run.run} continued the queue of {run.previous}"
            yield f"{went_on}, which is not in this report."
        for at, seconds in run.clock_steps:
            way, shift = ("forward", "earlier") if seconds > 0 else ("back", "later")
            length = span(abs(seconds))
            yield (
                f"The clock of the crawler was set {way} by {length} at {when(at)} UTC "
                f"({run.run}). Gaps between requests are right all the same. Later times in this "
                f"report are {length} {shift} than by the new clock. Ages of robots.txt files may "
                "be wrong by this time."
            )
    if totals.lost:
        yield (
            f"{counted(totals.lost, 'record')} could not be written. Only numbers are known; see "
            "the table of gaps."
        )
    if len(runs) > 1:
        yield (
            "The trails were written by several crawls. If their clocks differ, the gaps between "
            "requests of different crawls are wrong. So such gaps are counted separately."
        )
    if not shows_queries:
        yield 'Values in queries and in path parameters are shown as "…": they may be secret.'
    yield from (" ".join(sentence.split()) for sentence in _ALWAYS.split("\n\n"))


def _uncovered(runs: Sequence[RunFacts]) -> Iterator[str]:
    for run in runs:
        if run.unmarked and run.state != WHOLE:
            yield (
                f"In {run.run}, {counted(run.unmarked, 'line')} of {run.records:,} after the last "
                "mark have no digest, so a change there would not be seen. No number up to "
                f"{run.last_n:,} is missing."
            )


def _these(names: Sequence[str], runs: Sequence[RunFacts]) -> str:
    if len(runs) == 1:
        return "this trail"
    some = ", ".join(names[:_NAMED])
    return f"{some} and {len(names) - _NAMED:,} more" if len(names) > _NAMED else some
