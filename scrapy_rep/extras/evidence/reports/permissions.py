"""Words for the settings and code that let a request pass against its robots.txt."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache

from scrapy_rep.checks import Overrides
from scrapy_rep.protocol.access.origin import Origin

from .report_values import CrawlReport, Exemption, Paced, RunFacts

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
_AGAINST = ("dry-run", "slipped")
_DECIDED = (*_AGAINST, DELAY_IGNORED)


def against(report: CrawlReport) -> list[Exemption]:
    """The requests that a robots.txt disallowed, and that were sent."""
    return [row for row in report.exemptions.rows if row.why in _AGAINST]


def undecided(report: CrawlReport) -> list[Exemption]:
    """The requests that were sent without a decision of a robots.txt."""
    return [row for row in report.exemptions.rows if row.why in _WORDS and row.why not in _DECIDED]


def exempted(report: CrawlReport, why: str) -> list[Exemption]:
    """The exemptions of one kind."""
    return [row for row in report.exemptions.rows if row.why == why]


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
        with suppress(ValueError):  # trails of older versions have other patterns
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
