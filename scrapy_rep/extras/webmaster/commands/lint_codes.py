"""``scrapy rep lint --explain``: the meaning of codes."""

from __future__ import annotations

from typing import Any

from scrapy_rep.commands.running import Call
from scrapy_rep.extras.webmaster.checks.codes import Code, Effect, Severity

from .lint_choice import named_codes
from .lint_formats import page_of

_SEVERITIES = {
    Severity.ERROR: "error: the text is not used as written",
    Severity.WARNING: "warning: the text is used, but crawlers differ, or it may harm the site",
    Severity.INFO: "info: good to know",
}
_PROMISES = {
    Effect.KEEPS: "This keeps every verdict, and `lint --fix` does it.",
    Effect.FORMATS: "This keeps every verdict, and `format` does it.",
    Effect.CHANGES: "This may change what crawlers fetch.",
    Effect.OUTSIDE: "No command can do that.",
}


def explain(call: Call, *, is_json: bool) -> None:
    """Explain the codes of `--explain`; of ``all``, show a table."""
    wanted = named_codes(call.options.explain)
    chosen = [code for code in Code if code in wanted]
    if is_json:
        for code in chosen:
            call.row(_as_dict(code))
    elif len(chosen) == len(Code):
        rows = [(one.value, one.severity.value, one.group, one.slug) for one in chosen]
        call.table([("code", "severity", "group", "name"), *rows])
    else:
        for number, code in enumerate(chosen):
            _explain(code, call, is_first=number == 0)


def _explain(code: Code, call: Call, *, is_first: bool) -> None:
    if not is_first:
        call.line()
    how = "by default" if code.is_default else f"with --group {code.group} or --select all"
    call.line(call.paint(f"{code.value} {code.slug}", "bold"))
    told = {
        "severity": _SEVERITIES[code.severity],
        "topic": code.section,
        "meaning": f"{code.meaning}.",
        "fix": f"{code.fix}. {_PROMISES[code.effect]}",
        "group": code.group,
        "reported": how,
        "page": page_of(code),
    }
    for name, text in told.items():
        label = f"  {name}: "
        words = call.terminal.wrapped(text, first_cells=len(label))
        call.line(f"  {call.paint(f'{name}:', 'cyan')} {words}")


def _as_dict(code: Code) -> dict[str, Any]:
    return {
        "code": code.value,
        "name": code.slug,
        "severity": code.severity.value,
        "topic": code.section,
        "group": code.group,
        "meaning": code.meaning,
        "mend": code.fix,
        "mend_effect": code.effect.value,
        "page": page_of(code),
    }
