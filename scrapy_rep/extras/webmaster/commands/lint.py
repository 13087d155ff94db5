"""``scrapy rep lint``: find errors in a file."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from scrapy_rep.commands.inputs import Input, read_all
from scrapy_rep.commands.running import FOUND, OK, UNREACHABLE, UNSETTLED, Call, CommandError
from scrapy_rep.commands.terminal import cut, safe, width_of
from scrapy_rep.extras.webmaster.checks.codes import Code, Effect, Severity
from scrapy_rep.extras.webmaster.findings import Finding, with_fix
from scrapy_rep.extras.webmaster.linting import linter
from scrapy_rep.extras.webmaster.linting.answer_checks import answer_findings, scheme_findings
from scrapy_rep.extras.webmaster.linting.linter import lint
from scrapy_rep.extras.webmaster.linting.suppressions import Suppressions
from scrapy_rep.protocol.access.events import AccessResult
from scrapy_rep.protocol.units import counted

from .diff import show_differences
from .format import is_refused, proof, refuse_unread, show_diff, write
from .lint_choice import Choice
from .lint_codes import explain
from .lint_formats import FORMATS, NOUNS, FileReport, advice, line_of

_TOLD = 5


def run(call: Call) -> int:
    """Lint all files, with --fix or --diff after the fixes; or explain codes."""
    options, form = call.options, _form(call.options)
    if bool(options.explain) is bool(options.sources):
        raise CommandError("give files, or codes to --explain")
    if options.explain:
        if form in FORMATS:
            raise CommandError(f"--explain cannot be written as {form}")
        explain(call, is_json=form == "json")
        return OK
    choice = Choice.of(options)
    files = read_all(options.sources, call, uri=options.uri, has_twins=options.both_schemes)
    is_fixing = options.fix or options.diff
    reports: list[FileReport] = []
    for file in files if is_fixing else call.terminal.progress(files, "files"):
        with call.going_on():
            left = _fix(file, choice, form, call) if is_fixing else file
            if left is not None:
                reports.append(_report_of(left, choice, call))
    found = {finding.severity.value for report in reports for finding in report.findings}
    is_good = found.isdisjoint(choice.fatal)
    if options.diff and not is_good:  # errors that no fix would change
        _write_summary(reports, 0, call)
    elif not options.diff and (reports or form in FORMATS or not (call.status or is_fixing)):
        _write_report(reports, form, call)
    return OK if is_good else FOUND


def _report_of(file: Input, choice: Choice, call: Call) -> FileReport:
    """Lint a file."""
    if not call.options.fix:
        file.tell_freshness(call)
        if file.access_result is AccessResult.UNREACHABLE:
            call.end_with(UNREACHABLE)
    findings, suppressed = choice.kept(file.body, _findings(file))
    formatted = [one for one in findings if one.effect is Effect.FORMATS]
    if formatted and is_refused(file):
        once = {one: f"{one.mend}, once the errors of the file are corrected" for one in formatted}
        findings = [with_fix(one, once.get(one, "")) for one in findings]
    if choice.has_suppressions:
        for line, word in Suppressions.of(file.body).unknown[:_TOLD]:
            call.complain(f"note: {file.name}:{line}: 'rep: ignore' does not name a code: {word!a}")
    return FileReport(file, findings, suppressed)


def _findings(file: Input) -> list[Finding]:
    found: list[Finding] = []
    if file.answer is not None:
        found += answer_findings(file.answer)
        if file.twin is not None:
            found += scheme_findings(file.answer, file.twin)
    if file.access_result is AccessResult.SUCCESSFUL:
        found += lint(file.body, file.uri)
    return found


def _fix(file: Input, choice: Choice, form: str, call: Call) -> Input | None:
    """Fix, or show the fix of, one file; return the new file if it is written."""
    options = call.options
    if options.fix and not file.is_local:
        raise CommandError(f"--fix needs a FILE, and {file.name} is not a file; use --diff")
    file.refuse_absent()
    try:
        refuse_unread(file, lint(file.body, file.uri))
    except CommandError as error:
        call.fail(error)
        return None if options.diff else file
    new, done = linter.fixed(
        file.body,
        file.uri,
        choice.codes,
        has_suppressions=choice.has_suppressions,
        is_unsafe=options.unsafe_fixes,
    )
    status = OK if options.unsafe_fixes else proof(file, new, call)
    if options.diff and not options.unsafe_fixes:
        left = sum(one.is_unsafe for one in choice.kept(new, lint(new, file.uri))[0])
        if left:
            call.complain(
                f"note: {file.name}: --unsafe-fixes also fixes {counted(left, 'finding')}"
            )
    if status == OK and options.diff:
        status = show_diff(file, new, call)
    if any(finding.is_unsafe for finding in done) and form == "text":
        call.line(call.paint(f"{file.name}: the effect of the unsafe fixes:", "bold"))
        if show_differences(file, replace(file, body=new), None, call) == UNSETTLED:
            status = UNSETTLED
    if options.diff or status != OK:
        call.end_with(status)
        return file if options.diff and status == OK else None
    # In other formats, standard output is only for the report.
    tell = call.line if form == "text" else call.terminal.complain
    tell(write(file, new))
    tell(f"{file.name}: {counted(len(done), 'finding')} fixed")
    return replace(file, body=new)


def _form(options: argparse.Namespace) -> str:
    given = options.output_format
    if options.json and given not in (None, "json"):
        raise CommandError(f"--json and --output-format {given}: give one of them")
    form = "json" if options.json else given or "text"
    if form in FORMATS and options.statistics:
        raise CommandError(f"--statistics cannot be written as {form}: give one of them")
    if options.unsafe_fixes and not (options.fix or options.diff):
        raise CommandError("--unsafe-fixes needs --fix or --diff")
    if options.diff and (form != "text" or options.statistics):
        raise CommandError("--diff shows no findings: give it without options for these")
    return form


_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "cyan"}
_MENDED_BY = {Effect.KEEPS: "fix", Effect.FORMATS: "format"}
_UNSAFE = "unsafe fix"
_FOUND_CELLS = 40
_WINDOW = 100  # characters of a source line that are shown


def _write_report(reports: Sequence[FileReport], form: str, call: Call) -> None:
    """Write the findings of all files, or their numbers."""
    if form in FORMATS:
        call.lines(FORMATS[form](reports, call.failures))
    elif call.options.statistics:
        _write_statistics(reports, form, call)
    elif form == "json":
        for report in reports:
            for finding in report.findings:
                call.row(_as_dict(report.file, finding))
    else:
        _write_text(reports, call)


def _mended_by(finding: Finding) -> str:
    """The kind of fix of a finding: "fix", "unsafe fix", "format", or "" without one."""
    return _UNSAFE if finding.is_unsafe else _MENDED_BY.get(finding.effect, "")


def _write_text(reports: Sequence[FileReport], call: Call) -> None:
    """Write each finding in full, or a line for each code and file."""
    hidden = 0
    for report in reports:
        if call.options.all:
            for finding in report.findings:
                _write_finding(report.file, finding, call)
            continue
        for first, *more in report.by_code().values():
            hidden += len(more)
            octets = cut(safe(first.octets), _FOUND_CELLS)
            found = f": {octets}" if octets.strip() else ""
            tail = f"and {len(more):,} more{_places(more)}" if more else ""
            _write_headline(report.file, first, call, found, tail)
    _write_summary(reports, hidden, call)


def _places(findings: Sequence[Finding]) -> str:
    """The first lines of findings, in brackets; empty if they are about the whole file."""
    numbers = list(dict.fromkeys(str(finding.line) for finding in findings if finding.line))
    some = [*numbers[:_TOLD], *(["..."] if len(numbers) > _TOLD else [])]
    return f" (line{'s' * (len(numbers) > 1)} {', '.join(some)})" if numbers else ""


def _write_headline(
    file: Input, finding: Finding, call: Call, found: str = "", tail: str = ""
) -> None:
    """Write the place of a finding, its meaning, and the command that fixes it."""
    paint = call.paint
    where = ":".join(
        (safe(file.name), *(str(part) for part in (finding.line, finding.column) if part))
    )
    code, severity = finding.code.value, finding.severity
    mark = _mended_by(finding)
    marked = f"[{mark}]".replace(" ", "\u00a0") if mark else ""  # it stays on one line
    text = "  ".join(filter(None, (finding.message + found, marked, tail)))
    text = call.terminal.wrapped(text, first_cells=width_of(f"{where}: {code} {severity.value}: "))
    if marked:
        before, _, after = text.rpartition(marked)
        text = f"{before}{paint(f'[{mark}]', 'green')}{after}"
    painted = f"{paint(where, 'bold')}: {paint(code, 'bold')}"
    call.line(f"{painted} {paint(severity.value, _COLOURS[severity], 'bold')}: {text}")


def _write_finding(file: Input, finding: Finding, call: Call) -> None:
    """Write a finding with its line and advice, as modern linters do."""
    _write_headline(file, finding, call)
    line = line_of(file, finding)
    if line is not None:
        _write_source(finding, line, call)
    elif finding.octets:
        call.line(f"  {call.paint('|', 'blue')} {safe(finding.octets)}")
    mend = call.terminal.wrapped(advice(finding), first_cells=len("  = help: "), indent="    ")
    call.line(f"  {call.paint('=', 'blue')} {call.paint('help:', 'bold')} {mend}")
    call.line()


def _write_source(finding: Finding, raw: bytes, call: Call) -> None:
    """Write the line of a finding, cut to fit, and carets below it."""
    text = raw.decode("utf-8", "replace")
    start = max(finding.column - 1 - _WINDOW // 2, 0) if len(text) > _WINDOW else 0
    before = safe(text[start : max(finding.column - 1, start)])
    line = safe(text[start : start + _WINDOW])
    number = f"{finding.line} | "
    lead = "..." if start else ""
    tail = "..." if len(text) > start + _WINDOW else ""
    call.line(f"  {call.paint(number.rstrip(), 'blue')} {lead}{line}{tail}")
    if not finding.column:
        return
    found = finding.octets.decode("utf-8", "replace")
    is_there = text.startswith(found, finding.column - 1)
    marked = safe(found) if is_there else line[len(before) :][:1]
    room = width_of(lead + line) - width_of(lead + before)
    carets = "^" * max(1, min(width_of(marked), room))
    margin = " " * (len(number) - 2)
    gap = " " * width_of(lead + before)
    colour = _COLOURS[finding.severity]
    call.line(f"  {margin}{call.paint('|', 'blue')} {gap}{call.paint(carets, colour, 'bold')}")


def _write_summary(reports: Sequence[FileReport], hidden: int, call: Call) -> None:
    """Write the number of findings by severity, and the commands that fix them."""
    findings = [finding for report in reports for finding in report.findings]
    counts = Counter(finding.severity for finding in findings)
    parts = [
        call.paint(counted(counts[severity], noun), _COLOURS[severity])
        for severity, noun in NOUNS.items()
    ]
    suppressed = sum(report.suppressed for report in reports)
    if suppressed:
        parts.append(f"{suppressed:,} suppressed by comments")
    words = ", ".join(parts) if findings or suppressed else "nothing found"
    call.line(f"{counted(len(reports), 'file')}: {words}")
    mended = Counter(map(_mended_by, findings))
    fixes, unsafe, formats = (mended[name] for name in ("fix", _UNSAFE, "format"))
    # --fix can only write local files.
    is_local = any(report.file.is_local for report in reports)
    option, verb = ("--fix", "fixes") if is_local else ("--diff", "shows how to fix")
    of = "more" if fixes else "of them"
    told = {
        f"{option} {verb} {fixes:,} of them": fixes,
        f"{option} --unsafe-fixes {verb} {unsafe:,} {of}": unsafe,
        f"'{call.program} format' fixes {formats:,}": formats,
    }
    ways = [words for words, count in told.items() if count]
    if findings and not (call.options.all or call.options.statistics):
        whole = f"the other {hidden:,} too" if hidden else "each finding"
        ways.append(f"--all shows {whole}, with line and advice")
    if ways and not call.options.diff:
        call.line(call.terminal.wrapped("; ".join(ways)))


def _write_statistics(reports: Sequence[FileReport], form: str, call: Call) -> None:
    """Write the numbers of findings and files for each code, the most frequent first."""
    findings: dict[Code, list[list[Finding]]] = {}
    for report in reports:
        for code, some in report.by_code().items():
            findings.setdefault(code, []).append(some)
    rows = [_statistics_row(code, found) for code, found in findings.items()]
    rows.sort(key=lambda row: (-row["findings"], row["code"]))
    if form == "json":
        for row in rows:
            call.row(row)
        return
    table = [("findings", "files", "code", "severity", "fixed by", "name")]
    for row in rows:
        by = ", ".join(f"{count:,} {name}" for name, count in row["mended_by"].items())
        counts = f"{row['findings']:,}".rjust(8), f"{row['files']:,}".rjust(5)
        table.append((*counts, row["code"], row["severity"], by or "-", row["name"]))
    if rows:
        call.table(table)
    _write_summary(reports, 0, call)


def _statistics_row(code: Code, by_file: Sequence[list[Finding]]) -> dict[str, Any]:
    mended = Counter(_mended_by(finding) for findings in by_file for finding in findings)
    return {
        "code": code.value,
        "name": code.slug,
        "severity": code.severity.value,
        "findings": mended.total(),
        "files": len(by_file),
        "mended_by": {name: mended[name] for name in ("fix", _UNSAFE, "format") if mended[name]},
    }


def _as_dict(file: Input, finding: Finding) -> dict[str, Any]:
    """A finding as JSON; line and column are null for a whole file."""
    return {
        "file": file.name,
        "line": finding.line or None,
        "column": finding.column or None,
        "code": finding.code.value,
        "name": finding.code.slug,
        "group": finding.code.group,
        "severity": finding.severity.value,
        "message": finding.message,
        "found": finding.octets.decode("utf-8", "backslashreplace"),
        "mend": finding.mend,
        "mend_effect": finding.effect.value,
        "mended_by": _mended_by(finding) or None,
    }
