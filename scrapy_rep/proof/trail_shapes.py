"""What the fields of each kind of record may hold: the one place that readers rely on.

A trail comes from somebody else: an auditor reads what may be damaged, or made up. A record of
another shape is none. So whoever reads one may take its fields for what they are.

Cost: one look-up for each field.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from . import trail_records as records

_LARGEST = sys.float_info.max
_MOST = 1 << 53  # of numbers: as far as a float counts, and JSON readers agree


def _is_text(value: object) -> bool:
    return type(value) is str


def _is_text_or_none(value: object) -> bool:
    return value is None or type(value) is str


def _is_flag(value: object) -> bool:
    return type(value) is bool


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= _MOST


def _is_number(value: object) -> bool:
    """Whether it is an instant or a span; of Crawl-delays there are some of 300 digits."""
    return isinstance(value, (int, float)) and type(value) is not bool and abs(value) <= _LARGEST


def _is_map(value: object) -> bool:
    return type(value) is dict


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


Check = Callable[[object], bool]


@dataclass(frozen=True, slots=True)
class Shape:
    """What a record holds.

    Attributes:
        needed: the fields that are always there.
        checks: of each field that somebody reads, what it may hold.
    """

    needed: frozenset[str]
    checks: Mapping[str, Check] = field(repr=False)

    def problem(self, record: Mapping[str, Any]) -> str:
        """What is wrong with a record, in words; empty if nothing is."""
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


def _shape(needed: str = "", **kinds: str) -> Shape:
    """A shape, with the names of its fields by kind; `needed` are those that are always there."""
    checks = {name: _CHECKS[kind] for kind, names in kinds.items() for name in names.split()}
    return Shape(frozenset(needed.split()), checks)


def _are_hops(value: object) -> bool:
    return isinstance(value, list) and all(
        isinstance(hop, dict) and not _HOP.problem(hop) for hop in value
    )


def _is_outage(value: object) -> bool:
    return isinstance(value, dict) and not _OUTAGE.problem(value)


def _is_because(value: object) -> bool:
    return isinstance(value, dict) and not _BECAUSE.problem(value)


_CHECKS: dict[str, Check] = {
    "text": _is_text,
    "perhaps": _is_text_or_none,
    "flag": _is_flag,
    "count": _is_count,
    "number": _is_number,
    "map": _is_map,
    "texts": _are_texts,
    "hops": _are_hops,
    "outage": _is_outage,
    "because": _is_because,
}

_HOP = _shape(
    "uri source",
    text="uri source failure location ip warc",
    count="status octets",
    number="at seconds",
)
_OUTAGE = _shape("event since", text="event", number="since", count="count")
_BECAUSE = _shape("text", text="text", perhaps="name uri")
_TOTALS = " ".join(records.OUTCOMES)

SHAPES: dict[str, Shape] = {
    records.RUN: _shape(
        text="run spider user_agent previous",
        number="at",
        count="v segment",
        map="software settings",
        texts="tokens",
    ),
    records.POLICY: _shape(
        "p origin event",
        count="p",
        text="origin source event access_result meaning body content_type cache_control etag "
        "last_modified parser",
        number="fetched_at confirmed_at usable_until crawl_delay",
        flag="is_stale is_cut",
        hops="hops",
        outage="outage",
    ),
    records.BODY: _shape("sha256 octets", text="sha256 text base64", count="octets"),
    records.DECISION: _shape(
        "n at url allowed reason outcome",
        count="n p line",
        number="at waited_seconds",
        text="url reason rule group judged by outcome",
        flag="allowed redacted",
        texts="tokens",
    ),
    records.EXEMPT: _shape(
        "n at url why", count="n", number="at", text="url why by", flag="redacted"
    ),
    records.DROP: _shape(
        "n at url reason",
        count="n line",
        number="at",
        text="url reason robots_txt",
        flag="redacted",
    ),
    records.WITHHELD: _shape(
        "n at page what because outcome",
        count="n",
        number="at",
        text="page what url outcome",
        because="because",
        flag="redacted",
    ),
    records.FETCH: _shape("at origin hops", number="at", text="origin", hops="hops"),
    records.SENT: _shape(
        "at left_by origin kept_seconds", number="at left_by kept_seconds", text="origin"
    ),
    records.COUNT: _shape(
        "allowed count first_n last_n",
        count="p line count first_n last_n",
        text="reason rule group",
        flag="allowed",
    ),
    records.GAP: _shape(
        "from_n to_n error", count=f"from_n to_n {_TOTALS}", number="from_at to_at", text="error"
    ),
    records.MARK: _shape("lines sha256", count="n lines", number="at", text="sha256"),
    records.END: _shape(count=f"n gaps {_TOTALS}", number="at", text="reason"),
}
"""What each kind holds. Fields that no reader looks at may hold anything."""

_SEGMENT = _shape("name", count="octets records", text="name sha256")


def problem_of(record: Mapping[str, Any]) -> str:
    """Why something is no record, in words; empty if it is one, or of a kind that is not known."""
    shape = SHAPES.get(record["t"])
    return "" if shape is None else shape.problem(record)


def is_manifest(found: object) -> bool:
    """Whether a value of JSON is a manifest."""
    if not isinstance(found, dict):
        return False
    segments, end = found.get("segments"), found.get("end")
    return (
        isinstance(segments, list)
        and all(isinstance(one, dict) and not _SEGMENT.problem(one) for one in segments)
        and (end is None or (isinstance(end, dict) and not SHAPES[records.END].problem(end)))
        and _is_count(found.get("gaps", 0))
    )
