"""``scrapy rep report``: report what crawls did, from their audit trails."""

from __future__ import annotations

from pathlib import Path

from scrapy_rep.commands.running import FOUND, OK, UNSETTLED, Call, unreadable
from scrapy_rep.commands.terminal import safe
from scrapy_rep.extras.evidence.html_page import refuse_page_without_jinja, write
from scrapy_rep.extras.evidence.reports.report_making import report_of, trails_at
from scrapy_rep.extras.evidence.reports.report_values import CHANGED, INCOMPLETE, WHOLE, CrawlReport
from scrapy_rep.extras.evidence.reports.verdict_words import BAD, NOTE, verdict

_AGAINST = 5
_STATUSES = {WHOLE: OK, INCOMPLETE: UNSETTLED}


def run(call: Call) -> int:
    """Report on some trails.

    Raises:
        CommandError: the page cannot be written.
        TrailError: there is no trail.
    """
    output = call.options.output
    refuse_page_without_jinja(output)
    trails = trails_at([Path(name) for name in call.options.runs])
    report = report_of(trails, shows_queries=call.options.queries)
    if output:
        from scrapy_rep.extras.evidence.reports.report_page import page

        try:
            write(Path(output), page(report))
        except OSError as error:
            raise unreadable(output, error) from error
    if call.is_json:
        call.row(report.as_dict())
        return _status(report, allows_dry_run=call.options.allow_dry_run)
    words = {BAD: ("wrong: ", "red"), NOTE: ("note: ", "yellow")}
    for kind, sentence in verdict(report):
        mark, colour = words.get(kind, ("", "bold"))
        call.line(call.paint(mark, colour, "bold") + safe(sentence))
    if output:
        call.line(f"{output}: written")
    return _status(report, allows_dry_run=call.options.allow_dry_run)


def _status(report: CrawlReport, *, allows_dry_run: bool) -> int:
    dry = sum(row.count for row in report.exemptions.rows if row.why == "dry-run")
    went_on = report.totals.went_on - (dry if allows_dry_run else 0)
    is_against = went_on > 0 or report.too_soon_count > 0 or report.ignored_count > 0
    if report.state == CHANGED or any(run.difference for run in report.runs):
        return FOUND
    return _AGAINST if is_against else _STATUSES[report.state]
