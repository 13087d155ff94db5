"""Surveys and their changes in words for a terminal, and changes as JSON."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scrapy_rep.protocol.verdict import shown
from scrapy_rep.survey.survey_tables import percent, tables

from .terminal import cut

if TYPE_CHECKING:
    from scrapy_rep.survey.changes import ShareChange
    from scrapy_rep.survey.saved import Survey

    from .terminal import Terminal

_CELLS = 40
_WIDTH = 100


def write_survey(survey: Survey, agents: Sequence[str] | None, terminal: Terminal) -> None:
    """All tables of a survey, with what they are of."""
    said = survey.report(agents)["statistics"]
    width = min(_WIDTH, max(terminal.columns or _WIDTH, 20))
    files, captures = said["files"]["files_with"], said["captures"]["sum"]
    distinct, hosts = said["sha256"], said["host"]
    partial = " (interrupted: a part of the inputs)" if survey.is_partial else ""
    terminal.line(
        f"{captures:,} captures of {_about(hosts)} hosts; {files:,} robots.txt files, "
        f"{_about(distinct)} different ones{partial}"
    )
    if said["date"]["first"]:
        terminal.line(f"captured from {said['date']['first']} to {said['date']['last']}")
    for table in tables(said):
        terminal.line()
        terminal.line(terminal.paint(table.title, "bold"))
        for line in textwrap.wrap(table.sentence, width):
            terminal.line(terminal.paint(line, "dim"))
        terminal.table(
            [[cut(_safe(cell), _CELLS) for cell in row] for row in (table.head, *table.rows)]
        )
    error = survey.aggregate.names.error
    if error:
        terminal.line(f"There were too many names: counts may be too low by up to {error:,}.")


def _safe(text: str) -> str:
    return shown(text.encode("utf-8", "backslashreplace"))


def _about(distinct: dict[str, object]) -> str:
    about = "" if distinct["is_exact"] else "about "
    return f"{about}{distinct['distinct']:,}"


def write_changes(
    found: Sequence[ShareChange], names: Sequence[str], most: int, terminal: Terminal
) -> None:
    """The clear changes of shares, largest first."""
    clear = [change for change in found if change.is_clear]
    terminal.line(
        f"{len(clear):,} shares changed by more than chance from {names[0]} to {names[1]}; "
        f"{len(found) - len(clear):,} others changed a little"
    )
    if clear:
        rows = [("", "before", "after", "points")]
        rows += [
            (
                _safe(change.name),
                _words(change.before),
                _words(change.after),
                f"{change.points * 100:+.2f}",
            )
            for change in clear[:most]
        ]
        terminal.table(rows)
    if len(clear) > most:
        terminal.line(f"and {len(clear) - most:,} more: --json tells all")


def _words(counts: tuple[int, int]) -> str:
    count, of = counts
    return f"{percent(count / of if of else None)} ({count:,} of {of:,})"


def as_json(found: Sequence[ShareChange]) -> str:
    """All changes, the largest first."""
    return json.dumps(
        {
            change.name: {
                "before": change.before,
                "after": change.after,
                "points": round(change.points * 100, 4),
                "is_clear": change.is_clear,
            }
            for change in found
        },
        indent=1,
    )
