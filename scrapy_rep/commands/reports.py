"""Findings as text with the source line and a caret, as JSON, and as SARIF 2.1.0."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from scrapy_rep.protocol.findings import Finding, shown
from scrapy_rep.protocol.lines import clean
from scrapy_rep.protocol.lint.codes import Check, Severity
from scrapy_rep.protocol.lint.table import CHECKS

from .sources import Source
from .terminal import Terminal, count_of, width_of

_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_WINDOW = 100  # characters of a source line that are shown
_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def write_text(source: Source, findings: Sequence[Finding], terminal: Terminal) -> None:
    """The findings of one file, as modern linters write them."""
    lines = clean(source.body)[0].split(b"\n")
    for finding in findings:
        paint = terminal.paint
        where = ":".join(
            (source.name, *(str(part) for part in (finding.line, finding.column) if part))
        )
        severity = paint(finding.severity.value, _COLOURS[finding.severity], "bold")
        terminal.line(
            f"{paint(where, 'bold')}: {paint(finding.code.value, 'bold')} {severity}: "
            f"{finding.message}"
        )
        if finding.line and finding.line <= len(lines):
            _write_source(finding, lines[finding.line - 1], terminal)
        elif finding.octets:
            terminal.line(f"  {paint('|', 'blue')} {shown(finding.octets)}")
        terminal.line(f"  {paint('=', 'blue')} {paint('help:', 'bold')} {finding.mend}")
        terminal.line()


def _write_source(finding: Finding, raw: bytes, terminal: Terminal) -> None:
    """The line of a finding, cut to what fits, and a caret below."""
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


def write_summary(counts: Counter[str], file_count: int, terminal: Terminal) -> None:
    """How many of each, in one line."""
    if not sum(counts.values()):
        terminal.line(f"{count_of(file_count, 'file')}: nothing found")
        return
    parts = [
        terminal.paint(count_of(counts[severity.value], noun), _COLOURS[severity])
        for severity, noun in (
            (Severity.ERROR, "error"),
            (Severity.WARNING, "warning"),
            (Severity.INFO, "note"),
        )
    ]
    terminal.line(f"{count_of(file_count, 'file')}: {', '.join(parts)}")


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
        }
    )


def sarif(found: Sequence[tuple[Source, Sequence[Finding]]]) -> str:
    """The findings of all files as a SARIF 2.1.0 log, which code hosts read."""
    rules = [_sarif_rule(check) for check in CHECKS.values()]
    places = {code: place for place, code in enumerate(CHECKS)}
    results = [
        _sarif_result(source, finding, places[finding.code])
        for source, findings in found
        for finding in findings
    ]
    driver = {"name": "scrapy-rep", "version": version("scrapy-rep"), "rules": rules}
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return json.dumps({"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _sarif_rule(check: Check) -> dict[str, Any]:
    return {
        "id": check.code.value,
        "name": check.code.slug,
        "shortDescription": {"text": f"{check.meaning}."},
        "help": {"text": f"{check.mend}."},
        "defaultConfiguration": {"level": _LEVELS[check.severity]},
    }


def _sarif_result(source: Source, finding: Finding, place: int) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": max(finding.line, 1)}
    if finding.column:
        region["startColumn"] = finding.column
    if finding.octets and finding.line:
        region["snippet"] = {"text": finding.octets.decode("utf-8", "replace")}
    return {
        "ruleId": finding.code.value,
        "ruleIndex": place,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{finding.message}: {finding.mend}."},
        "locations": [
            {
                "physicalLocation": {
                    "artifactLocation": {"uri": _sarif_uri(source.name)},
                    "region": region,
                }
            }
        ],
    }


def _sarif_uri(name: str) -> str:
    from pathlib import PurePath
    from urllib.parse import quote

    if name == "<stdin>":
        return "robots.txt"
    return name if "://" in name else quote(PurePath(name).as_posix())
