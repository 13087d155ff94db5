"""What a report cannot show: what no trail can, and what these trails lack."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from .report_values import CHANGED, WHOLE, CrawlTotals, RunFacts

_NAMED = 5
_ALWAYS = """
A trail is what the crawler wrote down. No trail can show that the crawler told the truth.

Whoever can write the files can write other ones. That nobody did, the SHA-256 of a manifest shows
to those who have it from elsewhere: from the log of the crawl, a timestamp, a signature.

What was let through may not have been sent all the same: another part of the crawl may have dropped
it.

Requests that do not pass through Scrapy's downloader, such as those that a spider or a pipeline
sends by itself, are in no trail.

Times are those of the crawler's clock. A site may see other gaps between requests than the crawler:
the network is in between.
"""
_OF_RUNS: dict[str, Callable[[RunFacts], bool]] = {
    "What contradicts itself proves nothing: {}.": lambda run: run.state == CHANGED,
    "Nothing is known of what came after the last record: {}.": lambda run: run.ended is None,
    "The crawl was not told to obey robots.txt (ROBOTSTXT_OBEY was off), so its requests were "
    "neither judged nor written down: {}.": lambda run: run.settings.get("ROBOTSTXT_OBEY") is False,
    "The queries of URLs are left out, so what they decided cannot be judged again: {}.": (
        lambda run: (
            run.redacted_from is not None or run.settings.get("REP_AUDIT_QUERY") in ("hash", "drop")
        )
    ),
    "The lines after the last mark are covered by no digest: {}.": lambda run: (
        run.unmarked > 0 and run.state != WHOLE
    ),
}


def limits_of(runs: Sequence[RunFacts], totals: CrawlTotals) -> Iterator[str]:
    """Sentences, those of these trails first."""
    for words, is_so in _OF_RUNS.items():
        names = [run.run for run in runs if is_so(run)]
        if names:
            yield words.format(_these(names, runs))
    known = {run.run for run in runs}
    for run in runs:
        if run.previous and run.previous not in known:
            went_on = f"{run.run} went on with the queue of {run.previous}"
            yield f"{went_on}, which is not in this report."
    if totals.lost:
        yield (
            f"{totals.lost:,} records could not be written. What they would have told is unknown, "
            "but for the counts in the table of gaps."
        )
    if len(runs) > 1:
        yield (
            "The trails were written by several crawls. Their clocks are taken as they are; if "
            "these differ, so do gaps between requests of different crawls."
        )
    yield from (" ".join(sentence.split()) for sentence in _ALWAYS.split("\n\n"))


def _these(names: Sequence[str], runs: Sequence[RunFacts]) -> str:
    if len(runs) == 1:
        return "this trail"
    some = ", ".join(names[:_NAMED])
    return f"{some} and {len(names) - _NAMED:,} more" if len(names) > _NAMED else some
