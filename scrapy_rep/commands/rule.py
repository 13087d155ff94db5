"""Explain the codes of lint.

Explain what a code of 'scrapy rep lint' means, and how to fix what it finds. Codes are written as
for --select: a code, its name, the beginning of several codes, or a group. Without one, all codes
are listed.

Examples:
  scrapy rep rule REP402
  scrapy rep rule space-in-path
  scrapy rep rule REP6 --json

exit status: 0 success; 2 wrong usage
"""

from __future__ import annotations

from typing import Any

from scrapy_rep.analysis.checks.check_table import CHECKS, DEFAULT
from scrapy_rep.analysis.checks.codes import Check, Effect, Severity

from .lint_choice import named_codes
from .lint_formats import page_of
from .running import JSON, Call

OPTIONS = f"""
codes [CODE...]  codes such as REP402, their names, or beginnings such as REP4; by default all
{JSON}
"""

_SEVERITIES = {
    Severity.ERROR: "error: the text is not used as written",
    Severity.WARNING: "warning: the text is used, but crawlers differ",
    Severity.INFO: "info: good to know",
}
_PROMISES = {
    Effect.KEEPS: "This keeps every verdict, and `scrapy rep lint --fix` does it.",
    Effect.FORMATS: "This keeps every verdict, and `scrapy rep format` does it.",
    Effect.CHANGES: "This may change what crawlers fetch.",
    Effect.OUTSIDE: "No command can do that.",
}


def run(call: Call) -> None:
    """Explain some codes, or list all."""
    wanted = named_codes(call.options.codes)
    chosen = [check for check in CHECKS.values() if not wanted or check.code in wanted]
    if call.is_json:
        for check in chosen:
            call.row(_as_dict(check))
    elif not wanted:
        rows = [(one.code.value, one.severity.value, one.group, one.code.slug) for one in chosen]
        call.table([("code", "severity", "group", "name"), *rows])
    else:
        for number, check in enumerate(chosen):
            _explain(check, call, is_first=number == 0)


def _explain(check: Check, call: Call, *, is_first: bool) -> None:
    if not is_first:
        call.line()
    code, option = check.code, f"--select {check.group}"
    call.line(call.paint(f"{code.value} {code.slug}", "bold"))
    told = {
        "severity": _SEVERITIES[check.severity],
        "topic": check.section,
        "meaning": f"{check.meaning}.",
        "fix": f"{check.mend}. {_PROMISES[check.effect]}",
        "reported": "by default" if check.group == DEFAULT else f"with {option} or --select all",
        "page": page_of(code),
    }
    for name, text in told.items():
        label = f"  {name}: "
        words = call.terminal.wrapped(text, first_cells=len(label))
        call.line(f"  {call.paint(f'{name}:', 'cyan')} {words}")


def _as_dict(check: Check) -> dict[str, Any]:
    return {
        "code": check.code.value,
        "name": check.code.slug,
        "severity": check.severity.value,
        "topic": check.section,
        "group": check.group,
        "meaning": check.meaning,
        "mend": check.mend,
        "mend_effect": check.effect.value,
        "page": page_of(check.code),
    }
