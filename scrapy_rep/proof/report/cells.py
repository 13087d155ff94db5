"""Tables as the template of a page takes them: cells as text, at most 200 rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from .report_values import CrawlReport, Rows

Row = TypeVar("Row")

SHOWN_ROWS = 200
_RUNS_NAMED = 3
_URL_CHARACTERS = 96


@dataclass(frozen=True)
class Table:
    """A table, as the template takes it; `wordy` and `long` name columns with words."""

    title: str
    sentence: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    wordy: tuple[str, ...] = ()
    long: tuple[str, ...] = ()
    stacks: tuple[tuple[int, ...], ...] = ()
    chart: str = ""
    classes: tuple[str, ...] = ()
    note: str = ""
    is_folded: bool = False
    bars: tuple[tuple[float], ...] = ()
    boxes: tuple[tuple[float, ...], ...] = ()


def cells_of(
    rows: Iterable[Row], cells: Callable[[Row], tuple[str, ...]]
) -> tuple[tuple[str, ...], ...]:
    """The cells of the first rows."""
    return tuple(cells(row) for row, _ in zip(rows, range(SHOWN_ROWS), strict=False))


def note_of(rows: Rows[Row], report: CrawlReport) -> str:
    """How many rows there are, if not all are shown, and where the others are."""
    if not rows.missing and rows.of <= min(SHOWN_ROWS, len(rows.rows)):
        return ""
    names = " ".join(run.run for run in report.runs[:_RUNS_NAMED])
    more = " ..." if len(report.runs) > _RUNS_NAMED else ""
    shown = min(SHOWN_ROWS, len(rows.rows))
    if not rows.missing:
        return f"{shown:,} of {rows.of:,} rows. For all: scrapy rep report {names}{more} --json"
    return (
        f"{shown:,} of at least {rows.of:,} rows. Those of {rows.missing:,} records were dropped "
        "to bound memory, the rarest first. For each decision: "
        f"scrapy rep audit export {names}{more}"
    )


def short(text: str) -> str:
    """A URL that is not too long, with its beginning and its end."""
    if len(text) <= _URL_CHARACTERS:
        return text
    half = _URL_CHARACTERS // 2
    return f"{text[: half + 20]}…{text[-(half - 20) :]}"


def count_words(number: int) -> str:
    """A count for people."""
    return f"{number:,}"


def second_words(number: float | None) -> str:
    """Seconds for people; a dash if they are not known."""
    return "-" if number is None else f"{number:,.10g} s"
