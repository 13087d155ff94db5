"""The HTML page of a report; the template has its sections, tables and sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scrapy_rep.commands.terminal import shortened
from scrapy_rep.extras.evidence.html_page import Table, environment, write
from scrapy_rep.protocol.units import counted
from scrapy_rep.protocol.verdict import Reason
from scrapy_rep.settings import SETTINGS

from .report_making import report_of, trails_at
from .report_values import WHOLE, CrawlReport, Exemption, FileRead, OriginFacts, Rows
from .verdict_words import (
    AGAINST,
    DELAY_IGNORED,
    UNDECIDED,
    afterwards,
    pace_permission,
    permission_of,
    span,
    verdict,
    when,
)

_OCTETS = 290_000  # small enough for a mail; longer pages show fewer rows
_ROWS = (200, 150, 100, 50, 20)
_NAMED = 3
_HOST_CHARACTERS = 60
_DAY_CHARACTERS = 10
_URL_CHARACTERS = (68, 28)  # of its beginning and its end
_VALUE_CHARACTERS = 110
_SOURCES = {
    "network": "the network",
    "store": "the store: fetched by an earlier crawl or another worker",
    "override": "the operator's settings",
    "gave-up": "nothing: no answer came in time",
}
_MEANINGS = {
    "rules": "its rules applied",
    "allow": "everything was allowed",
    "disallow": "everything was disallowed",
}
_SCRAPYS = {
    "ROBOTSTXT_OBEY": "Whether the crawl obeys robots.txt.",
    "ROBOTSTXT_USER_AGENT": "The name by which the crawl obeys robots.txt.",
    "ROBOTSTXT_PARSER": "The parser that reads the robots.txt files.",
}
_BY_SETTINGS = (("unreachable", "allow"), ("unavailable", "disallow"))
"""Results of fetches, with meanings that RFC 9309 does not give them."""
_ALLOWING = "Here: 429, 5xx and failures allow everything, unless there is an older copy."
_PRESETS = {
    "lenient": _ALLOWING,
    "scrapy": _ALLOWING,
    "strict": "Here: 401, 403, 429, 5xx and failures disallow everything.",
    "google": "Here: 429, 5xx and failures disallow everything for twelve hours.",
}
_REASONS = {name: reason.value for name, reason in Reason.__members__.items()}


def write_report(folder: Path, path: Path) -> str:
    """Write the report of a trail; returns an error message, or an empty text. Never raises."""
    try:
        write(path, page(report_of(trails_at([folder]))))
    except Exception as error:  # noqa: BLE001 - no error may change the end of the crawl
        return f"{path}: {type(error).__name__}: {error}"
    return ""


def page(report: CrawlReport) -> str:
    """The page.

    Raises:
        ImportError: Jinja is not installed.
    """
    made = environment()
    made.filters["span"] = span
    template = made.get_template("report.html")
    text = ""
    for rows in _ROWS:
        text = template.render(
            title=_title(report),
            subtitle=_subtitle(report),
            verdict=verdict(report),
            report=report,
            sites=[*_sites(report, rows)],
            is_whole=report.state == WHOLE,
            grid=_Grids(report, rows),
            reasons=_REASONS,
            settings=_settings(report),
            flaws=[
                (run.run, what, text)
                for run in report.runs
                for what, texts in (("wrong", run.problems), ("missing", run.missing))
                for text in texts
            ],
            shares=[(one.count / _decided(report),) for one in report.decided[:rows]],
            checks=_checks(report),
            decided=_decided(report),
            unknown_delays=_unknown_delays(report),
            fetched=[row for row in _fetched(report) if row[1] not in ("0", "0 ms")],
        )
        if len(text.encode("utf-8", "surrogatepass")) <= _OCTETS:
            break
    return text


def _title(report: CrawlReport) -> str:
    """The sites, the dates and the spiders."""
    began, ended = _times(report)
    days = dict.fromkeys(when(at)[:_DAY_CHARACTERS] for at in (began, ended) if at is not None)
    hosts = [row.origin.partition("://")[2] or row.origin for row in report.origins.rows]
    sites = _listed([host[:_HOST_CHARACTERS] for host in hosts], report.origins.of) or "no site"
    spiders = sorted({run.spider for run in report.runs if run.spider})
    of_spiders = f" ({_listed(spiders, len(spiders))})" if spiders else ""
    return f"Robots.txt report: {sites}, {' to '.join(days)}{of_spiders}"


def _listed(names: Sequence[str], count: int) -> str:
    """The first names, and how many more there are."""
    shown = [*names[:_NAMED], *([f"{count - _NAMED:,} more"] if count > _NAMED else [])]
    return " and ".join(filter(None, (", ".join(shown[:-1]), *shown[-1:])))


def _times(report: CrawlReport) -> tuple[float | None, float | None]:
    began = min((run.began_at for run in report.runs if run.began_at is not None), default=None)
    ended = max((run.ended_at for run in report.runs if run.ended_at is not None), default=None)
    return began, ended


def _subtitle(report: CrawlReport) -> str:
    began, ended = _times(report)
    obeyed, agents = (_listed([*one], len(one)) for one in (report.obeyed_as, report.agents))
    told = _obeyed(report, obeyed) if obeyed else "No robots.txt was obeyed"
    asked = f" {told}; requests were sent as {agents}." if agents else f" {told}."
    contacts = sorted({run.contact for run in report.runs if run.contact})
    contact = f" Operator and contact: {'; '.join(contacts[:_NAMED])}." if contacts else ""
    return f"{when(began)} to {when(ended)} UTC.{asked}{contact}"


def _obeyed(report: CrawlReport, names: str) -> str:
    """Whether robots.txt was obeyed, and by which names."""
    star = " (* is the group for all: a User-Agent had no name)" if "*" in report.obeyed_as else ""
    rows = report.exempted(*UNDECIDED, *AGAINST)
    count = sum(row.count for row in rows)
    if any(row.why == "dry-run" for row in rows):
        return f"A dry run: requests were judged as {names}{star}, and all were sent"
    but = f", but {counted(count, 'request')} went out without it or against it" if count else ""
    return f"Robots.txt was obeyed as {names}{star}{but}"


def _checks(report: CrawlReport) -> str:
    """Whether requests were checked before they were sent, in a sentence."""
    totals = report.totals
    unchecked = sum(totals.exempt.values())
    if not totals.judged:
        return "No request was checked before it was sent."
    told = "was checked before it was sent: by the robots.txt of its origin, or by what holds if"
    if not unchecked:
        return f"Each request {told} there are no rules."
    are = counted(unchecked, "request was", "requests were")
    return f"{are} not checked. Each other one {told} there are no rules."


def _unknown_delays(report: CrawlReport) -> str:
    """A sentence on the origins with an unknown delay; empty without any."""
    count = sum(not one.knows_delay for one in report.origins.rows)
    if not count:
        return ""
    was = f"Of {counted(count, 'origin')}, no robots.txt was read"
    return f"{was}: it is unknown whether {'it sets' if count == 1 else 'they set'} a delay."


@dataclass(frozen=True)
class _Grids:
    """Makes the tables of the template, with a limited number of rows."""

    report: CrawlReport
    most: int

    def __call__(
        self,
        title: str,
        sentence: str,
        rows: Rows[Any] | Sequence[Any],
        columns: Sequence[tuple[Any, ...]],
        *,
        is_turned: bool = False,
        **more: Any,
    ) -> Table:
        """Make a table; with `is_turned`, one row becomes a row for each column."""
        shown = (rows.rows if isinstance(rows, Rows) else rows)[: self.most]
        cells: Sequence[Sequence[str]] = [
            [self._cell(row, *column[1:]) for column in columns] for row in shown
        ]
        head: Sequence[str] = [name for name, *_ in columns]
        wordy, long = (
            [name for name, _, *kind in columns if " ".join(map(str, kind)).startswith(look)]
            for look in ("word", "long")
        )
        if is_turned:
            cells, head, long = [*zip(head, cells[0], strict=True)], ("fact", "value"), ["value"]
        note = self._note(rows) if isinstance(rows, Rows) else ""
        return Table(title, sentence, head, cells, wordy=wordy, long=long, note=note, **more)

    def _cell(
        self, row: Any, field: str | int, kind: str = "", words: Mapping[Any, str] | None = None
    ) -> str:
        """The text of a cell; `kind` has the look of its column, then the type of content."""
        value = row[field] if isinstance(field, int) else getattr(row, field) if field else row
        if words and value in words:
            return words[value]
        what = kind.rpartition(" ")[2]
        if what == "share":
            return f"{value / _decided(self.report):.1%}"
        return _CELLS.get(what, lambda text: str(text) or "-")(value)

    def _note(self, rows: Rows[Any]) -> str:
        """The number of rows, if some are not shown, and the command that shows the others."""
        shown = min(self.most, len(rows.rows))
        if not rows.missing and rows.of <= shown:
            return ""
        runs = self.report.runs
        names = " ".join(run.run for run in runs[:_NAMED]) + (" ..." if len(runs) > _NAMED else "")
        if not rows.missing:
            whole = counted(rows.of, "row")
            return f"{shown:,} of {whole}. To see all: scrapy rep report {names} --json"
        return (
            f"{shown:,} of at least {counted(rows.of, 'row')}. To bound memory, the rarest rows, "
            f"with {counted(rows.missing, 'record')}, were dropped. To see each decision: "
            f"scrapy rep audit export {names}"
        )


def _decided(report: CrawlReport) -> int:
    """The number of decisions, with second ones on the same request."""
    return max(1, sum(one.count for one in report.decided))


def _short(url: str) -> str:
    return shortened(url, *_URL_CHARACTERS) or "-"


_CELLS: dict[str, Callable[[Any], str]] = {
    "count": "{:,}".format,
    "seconds": lambda number: "-" if number is None else f"{number:,.10g} s",
    "span": span,
    "when": when,
    "url": _short,
    "allowed": lambda allowed: "allowed" if allowed else "disallowed",
    "list": lambda held: ", ".join(held) or "-",
    "ended": lambda reason: reason or "no end",
    "software": lambda held: ", ".join(f"{name} {of}" for name, of in held.items()),
}


def _sites(report: CrawlReport, most: int) -> Iterator[tuple[str, list[tuple[str, list[str]]]]]:
    """Yield for each site its facts: the files that were read, and the requests that were sent."""
    opposed = _told(report, report.exempted(*AGAINST, DELAY_IGNORED))
    for pace in report.paces.rows:
        if pace.too_soon:
            told = f"{counted(pace.too_soon, 'request')} before the delay of the site was over"
            by = pace_permission(pace)
            opposed.setdefault(pace.origin, []).append(f"{told}. Allowed by: {by}")
    for row in report.exempted(*UNDECIDED):
        if row.disallowed:
            told = f"{counted(row.disallowed, 'request')} that it would have disallowed"
            by = permission_of(row, report.runs)
            opposed.setdefault(row.origin, []).append(f"{told}. Allowed by: {by}")
    without = _told(report, report.exempted(*UNDECIDED))
    for one in report.origins.rows[:most]:
        files = [_file_words(file, report, one.origin) for file in one.files]
        if one.file_count > len(files):
            more = one.file_count - len(files)
            are = counted(more, "version before these is", "versions before these are")
            files.insert(0, f"{are} not shown")
        if one.changed_at is not None:
            files.append(f"It changed: other octets came at {when(one.changed_at)} UTC")
        facts = [
            ("read", files or ["none"]),
            ("checked", [_checked_words(one)]),
            ("sent", [_sent_words(one, len(report.runs))]),
            ("sent against it", opposed.get(one.origin) or [_unopposed_words(one)]),
            ("sent without its decision", without.get(one.origin) or [_unruled_words(one)]),
        ]
        yield one.origin, facts


def _told(report: CrawlReport, rows: Iterable[Exemption]) -> dict[str, list[str]]:
    """Words on requests and what allowed them, by origin."""
    found: dict[str, list[str]] = {}
    for row in rows:
        told = f"{counted(row.count, 'request')}, such as {_short(row.url)}"
        by = permission_of(row, report.runs)
        found.setdefault(row.origin, []).append(f"{told}. Allowed by: {by}{afterwards([row])}")
    return found


def _checked_words(one: OriginFacts) -> str:
    names = "".join(f"; {count:,} as {name}" for name, count in one.obeyed_as.items())
    others = one.judged - sum(one.obeyed_as.values())
    rest = f"; {others:,} by the name of the crawl" if names and others > 0 else ""
    return f"{counted(one.judged, 'request')}; {one.held_back:,} dropped{names}{rest}"


def _sent_words(one: OriginFacts, run_count: int) -> str:
    runs = ", ".join(f"{count:,} in {run}" for run, count in one.sent.items())
    return f"{counted(one.sent_count, 'request')}{f' ({runs})' if runs and run_count > 1 else ''}"


def _unopposed_words(one: OriginFacts) -> str:
    unknown = f"unknown, because its rules are not known for {counted(one.unknown, 'request')}"
    return unknown if one.unknown else "no request"


def _unruled_words(one: OriginFacts) -> str:
    """Requests that were sent because an answer such as 404 means that there are no rules."""
    if not one.unruled:
        return "no request"
    return f"{counted(one.unruled, 'request')}: its answer means that there are no rules"


def _file_words(file: FileRead, report: CrawlReport, origin: str) -> str:
    """The file or the answer, when it came, and what it means, and by which setting."""
    result = f" ({file.access_result})" if file.access_result else ""
    status = file.status if file.status is not None and file.event != str(file.status) else ""
    told = f"{_short(file.uri)}: {file.event}{status and f', status {status}'}{result}"
    told = told if file.uri else "not fetched: REP_OVERRIDES"
    at = f", at {when(file.fetched_at)} UTC" if file.uri and file.fetched_at is not None else ""
    source = f", from {_SOURCES.get(file.source, file.source)}" if file.source == "store" else ""
    means = _MEANINGS.get(file.meaning, file.meaning)
    is_set = (file.access_result, file.meaning) in _BY_SETTINGS
    by = f" by {permission_of(Exemption('errors', origin), report.runs)}" if is_set else ""
    has_octets = file.sha256 and (file.uri or file.meaning == "rules")
    digest = f". SHA-256 {file.sha256}" if has_octets else ""
    return f"{told}{at}{source}; {means}{by}{digest}"


def _settings(report: CrawlReport) -> Iterable[tuple[str, str, str, str]]:
    """Yield the settings that are not defaults; settings equal in several runs come once."""
    held: dict[tuple[str, str], int] = {}
    for run in report.runs:
        for name, value in run.settings.items():
            if value is not None:
                text = str(value)
                cut = "…" if len(text) > _VALUE_CHARACTERS else ""
                key = name, text[:_VALUE_CHARACTERS] + cut
                held[key] = held.get(key, 0) + 1
    return [
        (name, text, _meaning_of(name, text), "all" if count == len(report.runs) else f"{count:,}")
        for (name, text), count in sorted(held.items())
    ]


def _meaning_of(name: str, value: str) -> str:
    """The effect of a setting, in plain words."""
    preset = f" {_PRESETS[value]}" if name == "REP_POLICY" and value in _PRESETS else ""
    return f"{SETTINGS[name].meaning}{preset}" if name in SETTINGS else _SCRAPYS.get(name, "")


def _fetched(report: CrawlReport) -> Iterator[tuple[str, str]]:
    found = report.fetches
    yield "requests sent for robots.txt files", f"{found.requests:,}"
    for name, of in found.statuses.items():
        yield f"answered with {name}", f"{of:,}"
    for name, of in found.failures.items():
        yield f"failed: {name}", f"{of:,}"
    for name, of in found.redirects.items():
        if name != "0":
            yield f"files behind {name} redirect{'' if name == '1' else 's'}", f"{of:,}"
    yield "total size of the answers in octets", f"{found.octets:,}"
    for name, of in found.milliseconds.items():
        yield f"time to an answer: {name}", f"{of:,} ms"
    yield "requests without a result, because the crawl closed", f"{found.in_vain:,}"
    for name, of in found.policies.items():
        yield f"policies from {_SOURCES.get(name, name)}", f"{of:,}"
    yield "decisions by a stale copy", f"{report.totals.stale:,}"
