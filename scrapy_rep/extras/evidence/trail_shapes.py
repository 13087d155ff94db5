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
    """The fields of a record.

    Attributes:
        needed: the required fields.
        checks: tells for each field that is read whether a value has its type.
    """

    def __init__(self, needed: str = "", **types: FieldCheck) -> None:
        """Take the required fields, and types that differ from those in the table."""
        self.needed = frozenset(needed.split())
        self.checks = _FIELDS | types

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


def _is_text(value: Any) -> bool:
    return type(value) is str


def _is_text_or_none(value: Any) -> bool:
    return value is None or type(value) is str


def _is_flag(value: Any) -> bool:
    return type(value) is bool


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _MOST


def _is_number(value: Any) -> bool:
    """Whether it is an instant or a span; a Crawl-delay may have 300 digits."""
    return type(value) in (int, float) and abs(value) <= _LARGEST


def _is_map(value: Any) -> bool:
    return type(value) is dict


def _all(check: FieldCheck) -> FieldCheck:
    return lambda value: isinstance(value, list) and all(map(check, value))


def _holds(needed: str, **types: FieldCheck) -> FieldCheck:
    shape = Shape(needed, **types)
    return lambda value: isinstance(value, dict) and not shape.problem(value)


def _are_keys(value: Any) -> bool:
    try:
        return _is_text(value) and bool(records.unpacked_keys(value))
    except ValueError:
        return False


_TYPES: dict[FieldCheck, str] = {
    _is_text: "run spider user_agent previous origin source event access_result meaning body "
    "content_type cache_control etag last_modified parser sha256 text base64 url reason rule group "
    "by outcome why robots_txt page what price licence error uri failure location ip warc name "
    "keyed",
    _is_flag: "is_stale is_cut allowed redacted is_given_up is_listed has_query",
    _is_count: "v segment n p line octets status count records gaps lines from_n to_n disallowed "
    "exempt drop withheld",
    _is_number: "at left_by since seconds fetched_at confirmed_at usable_until crawl_delay "
    "waited_seconds kept_seconds until asked_seconds learned_per_second step_seconds from_at to_at",
    _is_map: "software settings",
    _all(_is_text): "tokens urls",
    _are_keys: "keys",
}
# A field has the same type in all kinds; fields that no reader uses may contain anything.
_FIELDS = {name: check for check, names in _TYPES.items() for name in names.split()}
_FIELDS["outage"] = _holds("event since")
_FIELDS["because"] = _holds("text", name=_is_text_or_none, uri=_is_text_or_none)
_FIELDS["hops"] = _all(_holds("uri source"))
_FIELDS["segments"] = _all(_holds("name"))

SHAPES: dict[str, Shape] = {
    records.RUN: Shape(),
    records.POLICY: Shape("p origin event"),
    records.BODY: Shape("sha256 octets"),
    records.DECISION: Shape("n at url allowed reason outcome"),
    records.EXEMPT: Shape("n at url why"),
    records.DROP: Shape("n at url reason"),
    records.WITHHELD: Shape("n at page what because outcome"),
    records.FETCH: Shape("at origin hops"),
    records.SENT: Shape("at left_by origin kept_seconds"),
    records.REST: Shape("at origin until"),
    records.CLOCK: Shape("at step_seconds"),
    records.PROBE: Shape("at origin"),
    records.PAYMENT: Shape("at url"),
    records.COVERAGE: Shape("at what"),
    records.AGENT: Shape("at n user_agent"),
    records.GAP: Shape("from_n to_n error", allowed=_is_count),
    records.MARK: Shape("lines sha256"),
    records.END: Shape(allowed=_is_count),
}
"""The fields of each kind."""

_MANIFEST = Shape("segments")


def problem_of(record: Mapping[str, Any]) -> str:
    """The reason why a value is not a record; empty for a valid or an unknown kind."""
    shape = SHAPES.get(record["t"])
    problem = "" if shape is None else shape.problem(record)
    contradiction = _CONTRADICTIONS.get(record["t"])
    return problem if problem or contradiction is None else contradiction(record)


_ALLOWED_BY_OUTCOME = {
    "passed": True,
    **dict.fromkeys(("dropped", "would-drop", "aborted", "slipped"), False),
}


def _contradiction(decision: Mapping[str, Any]) -> str:
    """How the fields of a decision that reports count contradict each other; replay finds others.

    Empty if they agree.
    """
    allowed, outcome = decision["allowed"], decision["outcome"]
    if outcome not in _ALLOWED_BY_OUTCOME:
        return f"outcome cannot be {_brief(outcome)}"
    if allowed is not _ALLOWED_BY_OUTCOME[outcome]:
        return f"{'allowed' if allowed else 'disallowed'}, but {outcome}"
    if ("rule" in decision) is not ("line" in decision):
        return "a rule without its line, or a line without its rule"
    return ""


def _too_early(sent: Mapping[str, Any]) -> str:
    return "left_by is before at" if sent["left_by"] < sent["at"] else ""


def _covers_nothing(coverage: Mapping[str, Any]) -> str:
    """How a record lacks both digests and a count of entries that were not followed."""
    return "" if "keys" in coverage or "count" in coverage else "keys is missing"


_CONTRADICTIONS = {
    records.DECISION: _contradiction,
    records.SENT: _too_early,
    records.COVERAGE: _covers_nothing,
}


def is_manifest(found: object) -> bool:
    """Whether a JSON value is a manifest."""
    if not isinstance(found, dict) or _MANIFEST.problem(found):
        return False
    end = found.get("end")
    return end is None or (isinstance(end, dict) and not SHAPES[records.END].problem(end))
