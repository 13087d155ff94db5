"""A survey as an HTML page, with the changes since another survey if one is given."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from scrapy_rep.extras.evidence.html_page import Table, environment
from scrapy_rep.protocol.units import counted

from .changes import ShareChange, changes_between
from .saved import Survey
from .statistics import interval
from .survey_tables import distributed, percent, tables

_ROWS = 50
_CHANGES = 100
_INPUTS = 20
_BOXED = ("p10", "p25", "p50", "p75", "p90")


def page(survey: Survey, agents: Sequence[str] | None = None, before: Survey | None = None) -> str:
    """Render the page of a survey; with `before`, it begins with the changes since then.

    Raises:
        ImportError: Jinja is not installed.
    """
    found = survey.report(agents)
    said = found["statistics"]
    shown = [*tables(said, _ROWS)]
    if before is not None:
        shown.insert(0, _changes(changes_between(before, survey, agents)))
    made = environment()
    files = said["files"]["files_with"]
    page: str = made.get_template("survey.html").render(
        title=f"Survey of {counted(files, 'robots.txt file')}",
        lead=_lead(said),
        is_partial=survey.is_partial,
        dates=" to ".join(filter(None, (said["date"]["first"], said["date"]["last"]))),
        inputs=_inputs(survey.inputs),
        tables=[_drawn(table, said) for table in shown],
        definitions=[*found["definitions"].items()],
        software="Made by scrapy rep survey. Surveys can be added: the order does not matter.",
    )
    return page


def _lead(said: Mapping[str, Any]) -> str:
    captures, hosts, distinct = said["captures"]["sum"], said["host"], said["sha256"]
    classes = said["star_class"]
    full = percent(classes["full"]["share"]) if "full" in classes else "None"
    return (
        f"{counted(captures, 'capture')} of {counted(hosts['distinct'], 'host')} held "
        f"{counted(said['files']['files_with'], 'robots.txt file')}, {distinct['distinct']:,} of "
        f"them different. {full} of the files shut out all crawlers without a group of their own."
    )


def _inputs(inputs: Sequence[str]) -> str:
    more = f", and {len(inputs) - _INPUTS:,} more" if len(inputs) > _INPUTS else ""
    return ", ".join(inputs[:_INPUTS]) + more


def _drawn(table: Table, said: Mapping[str, Any]) -> Table:
    """Add the charts of a table."""
    is_boxed = table.title == "Distributions"
    boxes = [_box(said[name]) for name in distributed(said)] if is_boxed else []
    chart = "p10 to p90, logarithmic" if boxes else "of these files" if table.stacks else "share"
    return replace(table, boxes=boxes, chart=chart, wordy=("purpose",), long=("operator",))


def _box(one: Mapping[str, Any]) -> tuple[float, ...]:
    """Place some quantiles on a logarithmic scale from 0 to the greatest number."""
    whole = math.log1p(one["max"]) or 1.0
    return tuple(math.log1p(one[name]) / whole for name in _BOXED)


def _changes(found: Sequence[ShareChange]) -> Table:
    clear = [change for change in found if change.is_clear]
    rows = tuple(
        (
            change.name,
            *(_counted(counts) for counts in (change.before, change.after)),
            f"{change.points * 100:+.2f}",
        )
        for change in clear[:_CHANGES]
    )
    sentence = (
        f"{counted(len(clear), 'share')} changed by more than chance explains (one in a thousand "
        f"is reported wrongly); {counted(len(found) - len(clear), 'other')} changed a little. The "
        "bar is the share now."
    )
    bars = tuple(_share(change.after) for change in clear[:_CHANGES])
    table = Table("Changes", sentence, ("", "before", "after", "points"), rows, bars)
    return table if rows else replace(table, rows=(("nothing", "", "", ""),), bars=((0, 0, 0),))


def _counted(counts: tuple[int, int]) -> str:
    count, of = counts
    return f"{percent(count / of if of else None)} ({count:,} of {of:,})"


def _share(counts: tuple[int, int]) -> tuple[float, float, float]:
    share = counts[0] / counts[1] if counts[1] else 0.0
    return share, *interval(*counts)
