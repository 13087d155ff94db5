"""The types of the fields of each kind of record, on which readers rely.

A trail comes from elsewhere, and may be damaged or forged. Records of another shape are rejected,
so readers can trust the fields.

Cost: one look-up per field.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from . import trail_records as records

_LARGEST = sys.float_info.max
_MOST = 1 << 53  # the greatest whole number that floats and all JSON readers keep exact

FieldCheck = Callable[[Any], bool]


class Shape:
    """The fields of a record."""

    def __init__(self, needed: str = "", **kinds: str) -> None:
        """Take the required fields, and the fields that are read, by type."""
        self.needed = frozenset(needed.split())
        self.checks = {
            name: _CHECKS[kind] for kind, names in kinds.items() for name in names.split()
        }

    def problem(self, record: Mapping[str, Any]) -> str:
        """The problem of a record, in words; empty without one."""
        checks = self.checks
        for name, value in record.items():
            check = checks.get(name)
            if check is not None and not check(value):
                return f"{name} cannot be {_brief(value)}"
        lacking = self.needed - record.keys()
        return f"{min(lacking)} is missing" if lacking else ""


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:40]}..."  # noqa: PLR2004


def _is_number(value: Any) -> bool:
    """Whether it is an instant or a span; a Crawl-delay may have 300 digits."""
    return type(value) in (int, float) and abs(value) <= _LARGEST


def _holds(shape: Shape) -> FieldCheck:
    return lambda value: isinstance(value, dict) and not shape.problem(value)


def _all(check: FieldCheck) -> FieldCheck:
    return lambda value: isinstance(value, list) and all(map(check, value))


_CHECKS: dict[str, FieldCheck] = {
    "text": lambda value: type(value) is str,
    "perhaps": lambda value: value is None or type(value) is str,
    "flag": lambda value: type(value) is bool,
    "count": lambda value: type(value) is int and 0 <= value <= _MOST,
    "number": _is_number,
    "map": lambda value: type(value) is dict,
    "texts": _all(lambda value: type(value) is str),
}

_HOP = Shape(
    "uri source",
    text="uri source failure location ip warc",
    count="status octets",
    number="at seconds",
)
_SEGMENT = Shape("name", count="octets records", text="name sha256")
_CHECKS |= {
    "hops": _all(_holds(_HOP)),
    "outage": _holds(Shape("event since", text="event", number="since", count="count")),
    "because": _holds(Shape("text", text="text", perhaps="name uri")),
    "segments": _all(_holds(_SEGMENT)),
}
_TOTALS = " ".join(records.OUTCOMES)

SHAPES: dict[str, Shape] = {
    records.RUN: Shape(
        text="run spider user_agent previous",
        number="at",
        count="v segment",
        map="software settings",
        texts="tokens",
    ),
    records.POLICY: Shape(
        "p origin event",
        count="p",
        text="origin source event access_result meaning body content_type cache_control etag "
        "last_modified parser",
        number="at fetched_at confirmed_at usable_until crawl_delay",
        flag="is_stale is_cut",
        hops="hops",
        outage="outage",
    ),
    records.BODY: Shape("sha256 octets", text="sha256 text base64", count="octets"),
    records.DECISION: Shape(
        "n at url allowed reason outcome",
        count="n p line",
        number="at waited_seconds",
        text="url reason rule group judged by outcome",
        flag="allowed redacted",
        texts="tokens",
    ),
    records.EXEMPT: Shape(
        "n at url why", count="n", number="at", text="url why by", flag="redacted"
    ),
    records.DROP: Shape(
        "n at url reason",
        count="n line",
        number="at",
        text="url reason robots_txt",
        flag="redacted",
    ),
    records.WITHHELD: Shape(
        "n at page what because outcome",
        count="n",
        number="at",
        text="page what url outcome",
        because="because",
        flag="redacted",
    ),
    records.FETCH: Shape("at origin hops", number="at", text="origin", hops="hops"),
    records.SENT: Shape(
        "at left_by origin kept_seconds", number="at left_by kept_seconds", text="origin"
    ),
    records.REST: Shape(
        "at origin until",
        number="at until asked_seconds",
        text="origin",
        count="status",
        flag="is_given_up",
    ),
    records.CLOCK: Shape("at step_seconds", number="at step_seconds"),
    records.PROBE: Shape("at origin", number="at", text="origin"),
    records.PAYMENT: Shape("at url", number="at", text="url price licence"),
    records.GAP: Shape(
        "from_n to_n error", count=f"from_n to_n {_TOTALS}", number="from_at to_at", text="error"
    ),
    records.MARK: Shape("lines sha256", count="n lines", number="at", text="sha256"),
    records.END: Shape(count=f"n gaps {_TOTALS}", number="at", text="reason"),
}
"""The fields of each kind. Fields that no reader uses may contain anything."""

_MANIFEST = Shape("segments", segments="segments", count="gaps")


def problem_of(record: Mapping[str, Any]) -> str:
    """The reason why a value is not a record; empty for a valid or an unknown kind."""
    shape = SHAPES.get(record["t"])
    problem = "" if shape is None else shape.problem(record)
    contradiction = _CONTRADICTIONS.get(record["t"])
    return problem if problem or contradiction is None else contradiction(record)


# By outcome and by reason, whether the request was allowed; other reasons occur with both.
_ALLOWED_BY_OUTCOME = {
    "passed": True,
    **dict.fromkeys(("dropped", "would-drop", "aborted", "slipped"), False),
}
_ALLOWED_BY_REASON = {
    **dict.fromkeys(("EMPTY_RULE", "NO_RULE_MATCHES", "NO_GROUP", "IMPLICITLY_ALLOWED"), True),
    **dict.fromkeys(("CRAWL_DELAY", "VISIT_TIME", "TOO_MUCH_WORK", "INVALID_URI"), False),
}


def _contradiction(decision: Mapping[str, Any]) -> str:
    """How the fields of a decision contradict each other; empty if they agree."""
    allowed, outcome, reason = decision["allowed"], decision["outcome"], decision["reason"]
    word, rule = "allowed" if allowed else "disallowed", decision.get("rule", "")
    if outcome not in _ALLOWED_BY_OUTCOME:
        return f"outcome cannot be {_brief(outcome)}"
    if allowed is not _ALLOWED_BY_OUTCOME[outcome]:
        return f"{word}, but {outcome}"
    if allowed is not _ALLOWED_BY_REASON.get(reason, allowed):
        return f"{word}, but because of {reason}"
    has_rule = "rule" in decision
    if has_rule is not ("line" in decision) or (reason == "RULE" and not has_rule):
        return "a rule without its line, or a line without its rule"
    if reason == "RULE" and rule.startswith("Disallow:" if allowed else "Allow:"):
        return f"{word}, but by the rule {_brief(rule)}"
    return ""


def _too_early(sent: Mapping[str, Any]) -> str:
    return "left_by is before at" if sent["left_by"] < sent["at"] else ""


_CONTRADICTIONS = {records.DECISION: _contradiction, records.SENT: _too_early}


def is_manifest(found: object) -> bool:
    """Whether a JSON value is a manifest."""
    if not isinstance(found, dict) or _MANIFEST.problem(found):
        return False
    end = found.get("end")
    return end is None or (isinstance(end, dict) and not SHAPES[records.END].problem(end))
