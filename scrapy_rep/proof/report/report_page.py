"""A report as one page of HTML."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from scrapy_rep.proof.html_page import environment

from .cells import Table
from .charts import columns, plot
from .report_tables import tables_of
from .report_values import WHOLE, CrawlReport, Rows
from .verdict_words import BAD, GOOD, NOTE, verdict, when

_WORDS = {GOOD: "OK:", NOTE: "Note:", BAD: "Wrong:"}
_DOTS = 200
_OCTETS = 290_000  # that a mail takes without a thought; if it has to be, with fewer rows
_ROWS = (200, 150, 100, 50, 20)
_NAMED = 3


def page(report: CrawlReport) -> str:
    """The page.

    Raises:
        ImportError: Jinja is not installed.
    """
    template = environment().get_template("report.html")
    text = ""
    for rows in _ROWS:
        text = _rendered(template, report, rows)
        if len(text.encode("utf-8", "surrogatepass")) <= _OCTETS:
            break
    return text


def _rendered(template: Any, report: CrawlReport, rows: int) -> str:
    text: str = template.render(
        title=_title(report),
        subtitle=_subtitle(report),
        tiles=[*_tiles(report)],
        verdict=[(kind, _WORDS[kind], sentence) for kind, sentence in verdict(report)],
        sections=[*_sections(_first_rows(report, rows))],
    )
    return text


def _first_rows(report: CrawlReport, count: int) -> CrawlReport:
    """A report with so many rows in each table; of how many, it still tells."""

    def first(rows: Rows[Any]) -> Rows[Any]:
        return replace(rows, rows=rows.rows[:count])

    return replace(
        report,
        exemptions=first(report.exemptions),
        origins=first(report.origins),
        rules=first(report.rules),
        paces=first(report.paces),
        withheld=first(report.withheld),
        gaps=first(report.gaps),
        fetches=replace(report.fetches, chains=first(report.fetches.chains)),
    )


def write(path: Path, text: str) -> None:
    """Write a page, all of it or nothing.

    Raises:
        OSError: it cannot be written.
    """
    # Of this crawl alone: several may end at once, and write the same page.
    made = path.with_name(f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
    try:
        made.write_text(text, encoding="utf-8")
        made.replace(path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise


def _title(report: CrawlReport) -> str:
    spiders = sorted({run.spider for run in report.runs if run.spider})
    named = f" of {', '.join(spiders[:_NAMED])}" if spiders else ""
    crawls = "a crawl" if len(report.runs) == 1 else f"{len(report.runs):,} crawls"
    return f"Robots.txt report: {crawls}{named}"


def _tiles(report: CrawlReport) -> Iterator[tuple[str, str]]:
    totals = report.totals
    for name, number in (
        ("requests judged", totals.judged),
        ("held back", totals.held_back),
        ("sent though disallowed", totals.went_on),
        ("not judged", sum(totals.exempt.values())),
        ("withheld by pages", totals.withheld),
        ("requests for robots.txt", report.fetches.requests),
        ("origins", report.origins.of),
    ):
        is_least = name == "origins" and report.origins.missing
        yield name, f"at least {number:,}" if is_least else f"{number:,}"


def _subtitle(report: CrawlReport) -> str:
    began = min((run.began_at for run in report.runs if run.began_at is not None), default=None)
    ended = max((run.ended_at for run in report.runs if run.ended_at is not None), default=None)
    tokens = sorted({token for run in report.runs for token in run.tokens})
    who = "They asked" if len(report.runs) > 1 else "It asked"
    asked = f" {who} as {', '.join(tokens)}." if tokens else ""
    return f"{when(began)} to {when(ended)} UTC.{asked}"


def _sections(report: CrawlReport) -> list[dict[str, Any]]:
    tables = tables_of(report)
    nothing = _NOTHING if report.state == WHOLE else _NOTHING_KNOWN
    found = [_section(*about, tables.get(about[0], []), nothing) for about in _ABOUT]
    for section in found:
        if section["name"] == "decisions":
            section["times"] = columns(report.times)
            against = ["sent though disallowed"] if report.totals.went_on else []
            key = ["allowed", "held back", "not judged", *against]
            section["key"] = key if section["times"] else []
        elif section["name"] == "pace":
            section["plot"] = plot(report.paces.rows[:_DOTS])
        elif section["name"] == "limits":
            section["points"] = report.limits
    return [one for one in found if one["tables"] or one["name"] in _ALWAYS]


def _section(
    name: str, title: str, sentence: str, tables: list[Table], nothing: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "name": name,
        "title": title,
        "sentence": sentence if tables else nothing.get(name, sentence),
        "tables": tables,
        "times": None,
        "plot": None,
        "key": [],
        "points": [],
    }


_ABOUT = (
    ("runs", "Who, and when", "Of whom this report is, and how they crawled."),
    (
        "decisions",
        "Decisions",
        (
            "Each request is judged by the robots.txt of its origin before it goes on. This is "
            "what came out, over time and by what decided."
        ),
    ),
    (
        "exemptions",
        "Exemptions",
        (
            "Where robots.txt had no say, or not the last word. Each is a choice of those who run "
            "the crawl, except for what no robots.txt governs."
        ),
    ),
    (
        "origins",
        "Origins",
        (
            "The sites, by what was held back there. The age is that of the copy of robots.txt "
            "when it decided, at most; by RFC 9309, 2.4, it should not be more than 24 hours."
        ),
    ),
    (
        "fetches",
        "Fetches of robots.txt",
        (
            "The requests that were sent for the files themselves, each redirect and each retry "
            "counted, and what came of them."
        ),
    ),
    (
        "rules",
        "Rules that decided",
        (
            "The lines of robots.txt files that decided, those that forbid first, each with one of "
            "the URLs."
        ),
    ),
    (
        "pace",
        "Pace",
        (
            "Origins that ask for a delay between requests, and the least time that lay between "
            "two. A dot is an origin; below the line, requests came sooner than the site asked."
        ),
    ),
    (
        "withheld",
        "Withheld",
        (
            "Requests and items that the pages or the preferences of a site withheld, and the "
            "statement that decided."
        ),
    ),
    (
        "gaps",
        "Gaps",
        "Records that could not be written, because a disk was full, for one.",
    ),
    ("limits", "What this cannot show", "What is not in the trails, or not provable by them."),
)
_NOTHING = {
    "exemptions": "There are none: robots.txt had the last word on every request.",
    "pace": "No origin asked for a delay between requests.",
    "withheld": "Nothing was withheld.",
    "gaps": "There are none: everything was written.",
}
_NOTHING_KNOWN = {
    "exemptions": "The trail tells of none. It is not whole, so there may have been some.",
    "pace": "The trail tells of no origin that asked for a delay between requests.",
    "withheld": "The trail tells of nothing that was withheld.",
    "gaps": "The trail tells of none. It is not whole: see its flaws.",
}
_ALWAYS = frozenset({"exemptions", "pace", "withheld", "gaps", "limits"})
