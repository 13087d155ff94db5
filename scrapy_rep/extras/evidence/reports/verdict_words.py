"""The verdict of a report in sentences, for terminals and for the page, and its limits.

The limits are facts that no trail can show, and gaps in these trails.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime, timezone
from functools import lru_cache

from scrapy_rep.checks import Overrides
from scrapy_rep.extras.evidence.replay import CONFIRMED, DIFFERS
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.units import counted

from .counting import JUDGED_AFTERWARDS
from .report_values import (
    CHANGED,
    INCOMPLETE,
    WHOLE,
    CrawlReport,
    CrawlTotals,
    Exemption,
    Paced,
    RunFacts,
)

GOOD, NOTE, BAD = "good", "note", "bad"
_NAMES = 5
_FOR_ERRORS = ("REP_POLICY", "REP_POLICY_OVERRIDES", "REP_UNREACHABLE_AFTER_30_DAYS")
DELAY_IGNORED, DELAY_SKIPPED, REFUSED = "delay-ignored", "delay-skipped", "refused"
"""Exemptions that follow from a delay above the limit, or from an operator's order."""
_WORDS = {
    "off": "ROBOTSTXT_OBEY, which was off",
    "dont_obey": "dont_obey_robotstxt, an exemption in the code of the crawl",
    "overridden": "REP_OVERRIDES",
    "errors": "the policy for errors",
    DELAY_IGNORED: "REP_CRAWL_DELAY_EXCESS, which ignored the delay of the site",
    "dry-run": "REP_DRY_RUN",
    "slipped": "a redirect in a browser",
}
AGAINST = ("dry-run", "slipped")
"""Exemptions of requests that a robots.txt disallowed, and that were sent."""
UNDECIDED = ("off", "dont_obey", "overridden", "errors")
"""Exemptions of requests that were sent without a decision of a robots.txt."""


def verdict(report: CrawlReport) -> list[tuple[str, str]]:
    """Sentences on decisions, pace and trail, each with `GOOD`, `NOTE` or `BAD`, which come first.

    The first sentence is the worst news.
    """
    return sorted(_sentences(report), key=lambda one: one[0] != BAD)


def _sentences(report: CrawlReport) -> Iterator[tuple[str, str]]:
    if report.state != WHOLE:
        yield _standing_words(report)
    yield from _differences(report)
    yield from _undecided(report)
    yield _judged(report)
    yield from _changes(report)
    yield from _agents(report)
    if refused := report.exempted(REFUSED):
        told = f"dropped because an operator dropped {_origins(refused)}, not by a robots.txt."
        yield NOTE, f"{_requests(refused)} {told}"
    if later := report.totals.dropped_later:
        told = f"{_were(later)} allowed first, and then dropped: a browser was redirected to a URL"
        yield NOTE, f"{counted(later, 'request')} {told} that is not allowed."
    yield from _excesses(report)
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
    rows = report.exempted(*UNDECIDED)
    count = sum(row.count for row in rows)
    least = "At least " if report.exemptions.missing else ""
    if count:
        told = f"{_were(count)} sent that no robots.txt decided: {_permissions(rows, report)}."
        yield NOTE, f"{least}{counted(count, 'request')} {told}"


def _permissions(rows: Sequence[Exemption], report: CrawlReport) -> str:
    groups: dict[str, list[Exemption]] = {}
    for row in rows:
        groups.setdefault(permission_of(row, report.runs), []).append(row)
    return "; ".join(
        f"{_count(ones):,} by {words} (such as {min(one.url for one in ones)}){afterwards(ones)}"
        for words, ones in groups.items()
    )


def afterwards(rows: Sequence[Exemption]) -> str:
    """The verdicts of the robots.txt files in the trail on requests that they did not decide."""
    if rows[0].why not in JUDGED_AFTERWARDS:
        return ""
    count, known = _count(rows), sum(row.known for row in rows)
    disallowed = sum(row.disallowed for row in rows)
    if not known:
        return ": nothing is known of what their robots.txt says"
    by = next((row.by for row in rows if row.by), "")
    such = "by" if disallowed == 1 else "for instance by"
    told = f": {disallowed:,} of {known:,} would have been disallowed{by and f', {such} {by}'}"
    return f"{told}, and nothing is known of {count - known:,}" if count > known else told


def _count(rows: Iterable[Exemption]) -> int:
    return sum(row.count for row in rows)


def _requests(rows: Sequence[Exemption]) -> str:
    count = _count(rows)
    return f"{counted(count, 'request')} (such as {rows[0].url}) {_were(count)}"


def _origins(rows: Sequence[Exemption]) -> str:
    return counted(len({row.origin for row in rows}), "origin")


def _agents(report: CrawlReport) -> Iterator[tuple[str, str]]:
    """The names that were obeyed and sent, unless there is one name, which was sent."""
    names = {name.lower() for told in report.obeyed_as for name in told.split(", ")}
    agents = report.agents
    is_usual = len(report.obeyed_as) <= 1 and len(agents) <= 1
    if is_usual and all(any(name in agent.lower() for name in names) for agent in agents):
        return
    if agents.keys() <= {"unknown"} or not report.obeyed_as:
        return
    yield NOTE, f"Requests were judged {_as(report.obeyed_as)}, and sent {_as(agents)}."


def _as(counts: Mapping[str, int]) -> str:
    parts = [f"{count:,} as {name}" for name, count in [*counts.items()][:_NAMES]]
    if others := sum(counts.values()) - sum([*counts.values()][:_NAMES]):
        parts.append(f"{others:,} under other names")
    return ", ".join(parts)


def _judged(report: CrawlReport) -> tuple[str, str]:
    totals = report.totals
    if not totals.judged:
        return NOTE, "No request was judged by robots.txt."
    rows = report.exempted(*UNDECIDED)
    is_replaced = any(row.why in ("errors", "overridden") for row in rows)
    others = totals.judged - totals.ruled
    by = "judged by robots.txt"
    if others > 0:
        rules = f"{totals.ruled:,} by the rules of a robots.txt"
        by = f"checked ({rules}, {others:,} by a policy or setting, because there were no rules)"
    judged = f"{counted(totals.judged, 'request')} {_were(totals.judged)} {by}"
    # Missing records may be bad ones.
    is_doubtful = report.state != WHOLE or any(run.difference for run in report.runs)
    is_against = any(row.disallowed for row in rows)
    good = NOTE if is_replaced or is_doubtful or is_against else GOOD
    if not totals.disallowed:
        return good, f"{judged} and allowed{_so_far(report)}."
    told = f"{judged}; {totals.disallowed:,} {_were(totals.disallowed)} disallowed"
    if totals.went_on:
        told = f"{told}, and {totals.went_on:,} of these {_were(totals.went_on)} sent all the same"
        return BAD, f"{told}: {_permissions(report.exempted(*AGAINST), report)}."
    more = ": no request was sent against a robots.txt" if _is_clean(report) else ""
    return good, f"{told}. None of these was sent{_so_far(report)}{more}."


def _so_far(report: CrawlReport) -> str:
    """Up to where the trails tell something; empty if they tell all."""
    runs = [run for run in report.runs if run.state != WHOLE]
    if not runs:
        return ""
    named = "".join(f" in {run.run}" for run in runs[:1] if len(report.runs) > 1)
    more = f" and {counted(len(runs) - 1, 'other run')}" if len(runs) > 1 else ""
    return f", as far as is recorded (until {when(runs[0].ended_at)} UTC{named}{more})"


def _changes(report: CrawlReport) -> Iterator[tuple[str, str]]:
    """The robots.txt files that changed."""
    rows = [row for row in report.origins.rows if row.changed_at is not None]
    if rows:
        such = f"such as that of {rows[0].origin}, read at {when(rows[0].changed_at)} UTC"
        yield NOTE, f"{counted(len(rows), 'robots.txt file')} changed during the crawls ({such})."


def _is_clean(report: CrawlReport) -> bool:
    """Whether every request was sent as a robots.txt wanted, as far as a trail can show."""
    is_obeying = all(run.is_obeying for run in report.runs)
    is_obeying &= not any(run.difference for run in report.runs)
    is_all = report.state == WHOLE and not report.exemptions.missing and is_obeying
    more = report.exempted(*UNDECIDED) or report.exempted(DELAY_IGNORED)
    return is_all and not more and not report.too_soon_count


def _excesses(report: CrawlReport) -> Iterator[tuple[str, str]]:
    """Delays above the limit: what REP_CRAWL_DELAY_EXCESS made of them."""
    above = "above REP_CRAWL_DELAY_MAX_SECONDS"
    if rows := report.exempted(DELAY_IGNORED):
        told = f"sent to {_origins(rows)} without the delay that the site set, because it is"
        kind = BAD if report.ignored_count else NOTE
        yield kind, f"{_requests(rows)} {told} {above} (REP_CRAWL_DELAY_EXCESS is 'ignore')."
    if rows := report.exempted(DELAY_SKIPPED):
        told = f"dropped, because {_origins(rows)} set a delay {above}"
        yield NOTE, f"{_requests(rows)} {told} (REP_CRAWL_DELAY_EXCESS is 'skip')."
    # Those that were not kept have a sentence of their own.
    if capped := [row for row in report.paces.rows if row.is_capped and row.word != "not-kept"]:
        such = f"such as {capped[0].origin}: {span(capped[0].asked_seconds)}"
        kept = f"the crawl meant to keep {span(capped[0].kept_seconds)}"
        yield NOTE, f"{counted(len(capped), 'origin')} set a delay {above} ({such}; {kept})."


def _paces(report: CrawlReport) -> Iterator[tuple[str, str]]:
    rows = report.paces.rows
    words = [row.word for row in rows]
    setting = sum(row.asked_seconds is not None for row in rows)
    too_fast = words.count("not-kept")
    some, of_them = counted(len(rows), "origin"), ""
    if setting < len(rows):
        of_them = f", which {setting:,} of them set" if setting else " by settings"
    had = "had" if of_them else "set"
    if too_fast:
        row = next(row for row in rows if row.word == "not-kept")
        such = f"such as {row.origin}, by {pace_permission(row)}"
        told = f"{too_fast:,} of them got requests before it was over ({such})."
        yield BAD, f"{some} {had} a delay{of_them}; {told}"
    if crossed := words.count("crossed"):
        told = "got requests of different crawls before its delay was over, if their clocks agree."
        yield NOTE, f"{counted(crossed, 'origin')} {told}"
    if too_fast or crossed:
        return
    if words.count("kept") and report.paces.missing:
        told = "No request is known to have come too soon, but there were more origins than this"
        yield NOTE, f"{some} or more {had} a delay{of_them}. {told} report could hold."
    elif words.count("kept"):
        kind = GOOD if report.state == WHOLE else NOTE
        told = f"and no request came too soon{_so_far(report)}."
        yield kind, f"{some} {had} a delay between requests{of_them}, {told}"


def _rests(report: CrawlReport) -> Iterator[tuple[str, str]]:
    rows, totals = report.rests.rows, report.totals
    too_soon, crossed = sum(row.too_soon for row in rows), sum(row.crossed for row in rows)
    if rested := [row for row in rows if row.count]:
        causes = _causes(" and ".join(row.causes) for row in rested)
        told = f"{counted(len(rested), 'origin')} rested ({causes})"
        if too_soon:
            yield BAD, f"{told}; {counted(too_soon, 'request')} {_were(too_soon)} sent too soon."
        elif crossed:
            them = f"{counted(crossed, 'request')} of one crawl {_were(crossed)}"
            yield NOTE, f"{told}; {them} sent in the rest of another, if their clocks agree."
        else:
            kind = GOOD if report.state == WHOLE else NOTE
            told = f"{told}. No crawl sent a request during a rest that it knew of"
            yield kind, f"{told}{_so_far(report)}."
    if given_up := [row for row in rows if row.is_given_up]:
        causes = _causes(" and ".join(row.given_up_causes) for row in given_up)
        told = f"{_were(len(given_up))} given up ({causes})"
        yield NOTE, f"{counted(len(given_up), 'origin')} {told}."
    if services := sorted({row.challenge for row in rows} - {""}):
        count = sum(bool(row.challenge) for row in rows)
        told = f"with challenges to automated clients ({', '.join(services)}), not as the site"
        yield NOTE, f"{counted(count, 'origin')} answered {told}."
    if limited := totals.rate_limited:
        told = f"{_were(limited)} dropped: the origin answered so for REP_BACKOFF_GIVE_UP_SECONDS"
        yield NOTE, f"{counted(limited, 'request')} {told}, or rested as the crawl ended."
    if challenged := totals.challenged:
        told = f"{_were(challenged)} dropped, because an edge answered with challenges."
        yield NOTE, f"{counted(challenged, 'request')} {told}"


def _causes(causes: Iterable[str]) -> str:
    return ", ".join(f"{count:,} after {cause}" for cause, count in Counter(causes).items())


def _differences(report: CrawlReport) -> Iterator[tuple[str, str]]:
    """The first runs with decisions that differ when they are made again."""
    runs = [run for run in report.runs if run.difference]
    for run in runs[:_NAMES]:
        where = f"{run.run}: " if len(report.runs) > 1 else ""
        yield BAD, f"{where}{run.difference}. To see them: scrapy rep audit replay"
    if len(runs) > _NAMES:
        yield BAD, f"In {counted(len(runs) - _NAMES, 'more trail')}, decisions differ."


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
    trails = counted(len(states), "trail")
    if not changed and not incomplete:
        told = "complete: every digest, number and total in it is right."
        return GOOD, f"Each of the {trails} is {told}"
    broken = "changed or damaged and"
    flaws = {
        counted(changed, f"was {broken} proves nothing", f"were {broken} prove nothing"): changed,
        counted(incomplete, "is not complete", "are not complete"): incomplete,
    }
    told = " and ".join(words for words, count in flaws.items() if count)
    return BAD if changed else NOTE, f"Of {trails}, {told}."


def _replayed(report: CrawlReport) -> Iterator[tuple[str, str]]:
    """Whether the decisions of all trails could be made again; `_differences` tells more."""
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


def permission_of(row: Exemption, runs: Sequence[RunFacts]) -> str:
    """The setting or the code that let requests be sent, to be read after "by"."""
    words = _WORDS.get(row.why, row.why)
    if row.why not in ("errors", "overridden"):
        return words
    named = "; ".join(sorted({one for run in runs for one in _named(run, row)}))
    return f"{words} ({named})" if named and row.why == "errors" else named or words


def pace_permission(row: Paced) -> str:
    """The setting that let requests be sent too soon, to be read after "by"."""
    return "REP_CRAWL_DELAY_MAX_SECONDS, which limits the delay" if row.is_capped else "no setting"


def _named(run: RunFacts, row: Exemption) -> Iterator[str]:
    """The settings of a run that can have allowed requests to an origin, in words.

    Several overrides, if one ended during the run.
    """
    overrides, began_at = run.settings.get("REP_OVERRIDES"), run.began_at or 0.0
    for pattern, value in overrides.items() if isinstance(overrides, dict) else ():
        with suppress(ValueError):  # a trail may be damaged
            origin, one = Origin.of(row.origin), _override(pattern, json.dumps(value))
            found = None if origin is None else one.match(origin, began_at)
            if found is None:
                continue
            told = found.grant_words
            yield f"a grant in REP_OVERRIDES ({told})" if told else "REP_OVERRIDES"
            if found.until_at > (run.ended_at or 0.0):
                return
    if row.why == "errors":
        yield from (name for name in _FOR_ERRORS if name in run.settings)


@lru_cache(maxsize=1000)
def _override(pattern: str, value: str) -> Overrides:
    """One override by its value in JSON; kept, because each origin is compared with it."""
    return Overrides.of({pattern: json.loads(value)})


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
    some = ", ".join(names[:_NAMES])
    return f"{some} and {len(names) - _NAMES:,} more" if len(names) > _NAMES else some
