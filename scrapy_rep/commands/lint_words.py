"""Findings as text, in short or with a source line and a caret; as JSON; and their counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from scrapy_rep.analysis.checks.codes import Code, Severity
from scrapy_rep.analysis.checks.effects import Effect
from scrapy_rep.analysis.checks.table import CHECKS
from scrapy_rep.analysis.findings import Finding
from scrapy_rep.protocol.lines import clean
from scrapy_rep.protocol.verdict import shown

from .sources import STDIN_NAME, Source
from .terminal import Terminal, count_of, cut, printable, width_of

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
EFFECT_WORDS = {Effect.CHANGES: " (this may change verdicts)"}
_MENDED_BY = {Effect.KEEPS: "fix", Effect.FORMATS: "format"}
_FOUND_CELLS = 40
_WINDOW = 100  # characters of a source line that are shown


@dataclass(frozen=True)
class Report:
    """What is reported about one file.

    Attributes:
        source: the file.
        findings: in the order of its lines.
        suppressed: how many more its own comments suppress.
    """

    source: Source
    findings: Sequence[Finding]
    suppressed: int = 0


def mended_by(finding: Finding) -> str:
    """The command that does what a finding advises: "fix", "format", or "" if none does."""
    return _MENDED_BY.get(finding.effect, "")


def write_text(reports: Sequence[Report], terminal: Terminal, *, is_full: bool) -> None:
    """The findings of all files: each in full, or a line for each code and file."""
    hidden = 0
    for report in reports:
        if is_full:
            for finding in report.findings:
                _write_finding(report.source, finding, terminal)
            continue
        by_code: dict[Code, list[Finding]] = {}
        for finding in report.findings:
            by_code.setdefault(finding.code, []).append(finding)
        for first, *more in by_code.values():
            hidden += len(more)
            _write_first(report.source, first, len(more), terminal)
    _write_summary(reports, hidden, terminal, is_full=is_full)


def _write_headline(
    source: Source, finding: Finding, terminal: Terminal, found: str = "", tail: str = ""
) -> None:
    """Where a finding is, what it means, and who mends it."""
    paint = terminal.paint
    where = ":".join(
        (printable(source.name), *(str(part) for part in (finding.line, finding.column) if part))
    )
    code, severity = finding.code.value, finding.severity
    mark = mended_by(finding)
    marked = f"[{mark}]" if mark else ""
    text = "  ".join(filter(None, (finding.message + found, marked, tail)))
    text = terminal.wrapped(text, first_cells=width_of(f"{where}: {code} {severity.value}: "))
    if marked:
        before, _, after = text.rpartition(marked)
        text = f"{before}{paint(marked, 'green')}{after}"
    painted = f"{paint(where, 'bold')}: {paint(code, 'bold')}"
    terminal.line(f"{painted} {paint(severity.value, _COLOURS[severity], 'bold')}: {text}")


def _write_first(source: Source, finding: Finding, more: int, terminal: Terminal) -> None:
    """One line for a code: where it is first, what was found there, and how often it is."""
    octets = cut(shown(finding.octets), _FOUND_CELLS)
    found = f": {octets}" if octets.strip() else ""
    _write_headline(source, finding, terminal, found, f"and {more:,} more" if more else "")


def _write_finding(source: Source, finding: Finding, terminal: Terminal) -> None:
    """A finding with its line and what to do, as modern linters write them."""
    paint = terminal.paint
    _write_headline(source, finding, terminal)
    line = line_of(source, finding)
    if line is not None:
        _write_source(finding, line, terminal)
    elif finding.octets:
        terminal.line(f"  {paint('|', 'blue')} {shown(finding.octets)}")
    mend = f"{finding.mend}{EFFECT_WORDS.get(finding.effect, '')}"
    mend = terminal.wrapped(mend, first_cells=len("  = help: "), indent="    ")
    terminal.line(f"  {paint('=', 'blue')} {paint('help:', 'bold')} {mend}")
    terminal.line()


@lru_cache(maxsize=2)
def _lines_of(body: bytes) -> list[bytes]:
    return clean(body)[0].split(b"\n")


def line_of(source: Source, finding: Finding) -> bytes | None:
    """The line of a finding; None if it is about the file as a whole."""
    lines = _lines_of(source.body) if finding.line else []
    return lines[finding.line - 1] if 0 < finding.line <= len(lines) else None


def _write_source(finding: Finding, raw: bytes, terminal: Terminal) -> None:
    """The line of a finding, cut to fit, and carets below it."""
    text = raw.decode("utf-8", "replace")
    start = max(finding.column - 1 - _WINDOW // 2, 0) if len(text) > _WINDOW else 0
    before = shown(text[start : max(finding.column - 1, start)].encode())
    line = shown(text[start : start + _WINDOW].encode())
    number = f"{finding.line} | "
    lead = "..." if start else ""
    tail = "..." if len(text) > start + _WINDOW else ""
    terminal.line(f"  {terminal.paint(number.rstrip(), 'blue')} {lead}{line}{tail}")
    if not finding.column:
        return
    found = finding.octets.decode("utf-8", "replace")
    is_there = text.startswith(found, finding.column - 1)
    marked = shown(found.encode()) if is_there else line[len(before) :][:1]
    room = width_of(lead + line) - width_of(lead + before)
    carets = "^" * max(1, min(width_of(marked), room))
    margin = " " * (len(number) - 2)
    gap = " " * width_of(lead + before)
    colour = _COLOURS[finding.severity]
    terminal.line(
        f"  {margin}{terminal.paint('|', 'blue')} {gap}{terminal.paint(carets, colour, 'bold')}"
    )


def _write_summary(
    reports: Sequence[Report], hidden: int, terminal: Terminal, *, is_full: bool
) -> None:
    """How many of each severity, and what can be done about them."""
    findings = [finding for report in reports for finding in report.findings]
    counts = Counter(finding.severity for finding in findings)
    parts = [
        terminal.paint(count_of(counts[severity], noun), _COLOURS[severity])
        for severity, noun in (
            (Severity.ERROR, "error"),
            (Severity.WARNING, "warning"),
            (Severity.INFO, "note"),
        )
    ]
    suppressed = sum(report.suppressed for report in reports)
    if suppressed:
        parts.append(f"{suppressed:,} suppressed by comments")
    words = ", ".join(parts) if findings or suppressed else "nothing found"
    terminal.line(f"{count_of(len(reports), 'file')}: {words}")
    mended = Counter(map(mended_by, findings))
    advice = [
        *([f"{_fix_words(reports)} {mended['fix']:,} of them"] if mended["fix"] else []),
        *([f"'scrapy rep format' mends {mended['format']:,}"] if mended["format"] else []),
    ]
    if findings and not is_full:
        whole = f"the other {hidden:,} too, " if hidden else "each "
        advice.append(f"--all shows {whole}with its line and what to do")
    if advice:
        terminal.line("; ".join(advice))


def _fix_words(reports: Sequence[Report]) -> str:
    """What to do about findings that `--fix` mends: it can write no other file than a local one."""
    is_local = any(
        report.source.answer is None and report.source.name != STDIN_NAME for report in reports
    )
    return "--fix mends" if is_local else "--diff shows how to mend"


def write_statistics(reports: Sequence[Report], terminal: Terminal, *, is_json: bool) -> None:
    """How many findings of each code there are, in how many files, the most frequent first."""
    findings: dict[Code, list[Finding]] = {}
    files: Counter[Code] = Counter()
    for report in reports:
        files.update({finding.code for finding in report.findings})
        for finding in report.findings:
            findings.setdefault(finding.code, []).append(finding)
    order = sorted(findings, key=lambda code: (-len(findings[code]), code.value))
    if is_json:
        for code in order:
            row = _statistics_row(code, findings[code], files[code])
            terminal.line(json.dumps(row))
        return
    rows = [("findings", "files", "code", "severity", "mended by", "name")]
    for code in order:
        row = _statistics_row(code, findings[code], files[code])
        by = ", ".join(f"{count:,} {name}" for name, count in row["mended_by"].items())
        counts = f"{row['findings']:,}".rjust(8), f"{row['files']:,}".rjust(5)
        rows.append((*counts, row["code"], row["severity"], by or "-", row["name"]))
    if len(rows) > 1:
        terminal.table(rows)
    _write_summary(reports, 0, terminal, is_full=True)


def _statistics_row(code: Code, findings: Sequence[Finding], files: int) -> dict[str, Any]:
    mended = Counter(map(mended_by, findings))
    return {
        "code": code.value,
        "name": code.slug,
        "severity": CHECKS[code].severity.value,
        "findings": len(findings),
        "files": files,
        "mended_by": {name: mended[name] for name in ("fix", "format") if mended[name]},
    }


def as_json(source: Source, finding: Finding) -> str:
    """A finding as one JSON object; line and column are null where it has none."""
    return json.dumps(
        {
            "file": source.name,
            "line": finding.line or None,
            "column": finding.column or None,
            "code": finding.code.value,
            "name": finding.code.slug,
            "severity": finding.severity.value,
            "message": finding.message,
            "found": finding.octets.decode("utf-8", "backslashreplace"),
            "mend": finding.mend,
            "mend_effect": finding.effect.value,
            "mended_by": mended_by(finding) or None,
        }
    )
