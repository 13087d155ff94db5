"""What let a request be sent that its robots.txt did not allow, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from scrapy_rep.checks import Overrides
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.errors import InvalidUri

from .report_values import CrawlReport, Exemption, RunFacts

_FOR_ERRORS = ("REP_POLICY", "REP_POLICY_OVERRIDES", "REP_UNREACHABLE_AFTER_30_DAYS")
_WORDS = {
    "off": "ROBOTSTXT_OBEY, which was off",
    "dont_obey": "dont_obey_robotstxt in the code of the crawl",
    "overridden": "REP_OVERRIDES",
    "errors": "the policy for errors",
    "delay-ignored": "REP_CRAWL_DELAY_EXCESS, which ignored the delay of the site",
    "dry-run": "REP_DRY_RUN",
    "slipped": "a redirect in a browser",
}
_AGAINST = ("dry-run", "slipped")


def against(report: CrawlReport) -> list[Exemption]:
    """The requests that a robots.txt disallowed, and that were sent."""
    return [row for row in report.exemptions.rows if row.why in _AGAINST]


def undecided(report: CrawlReport) -> list[Exemption]:
    """The requests that were sent without a decision of a robots.txt."""
    return [row for row in report.exemptions.rows if row.why in _WORDS and row.why not in _AGAINST]


def permission_of(row: Exemption, runs: Sequence[RunFacts]) -> str:
    """The setting or the code that let requests be sent, to be read after "by"."""
    words = _WORDS.get(row.why, row.why)
    if row.why == "errors":
        named = [name for name in _FOR_ERRORS if any(name in run.settings for run in runs)]
        return f"{words} ({', '.join(named)})" if named else words
    if row.why == "overridden":
        grants = {_grant_words(one) for run in runs for one in _overrides_of(run, row.origin)}
        return "; ".join(sorted(grants - {""})) or words
    return words


def _overrides_of(run: RunFacts, origin: str) -> Iterator[Mapping[str, Any]]:
    """The first override of a run that matches an origin, if there is one."""
    overrides = run.settings.get("REP_OVERRIDES")
    try:
        found = Origin.of(origin)
    except InvalidUri:
        return
    if found is None or not isinstance(overrides, dict):
        return
    for pattern, value in overrides.items():
        if Overrides.of({pattern: "ignore"}).match(found, 0.0) is not None:
            if isinstance(value, dict):
                yield value
            return


def _grant_words(override: Mapping[str, Any]) -> str:
    """The reason and the last day of a grant; empty for an override without them."""
    until = f"until {override['until']}" if "until" in override else ""
    told = "; ".join(filter(None, (str(override.get("why", "")), until)))
    return f"a grant in REP_OVERRIDES ({told})" if told else ""
