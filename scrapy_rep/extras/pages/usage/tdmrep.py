"""TDMRep (TDM Reservation Protocol, W3C Community Group, 2024-05-10): file, field and meta.

Each source overrides the one before it if it is present; a missing source changes nothing. A
reservation forbids mining, and training, which is a kind of mining; a value of 0 permits only
mining. Linear in the input. A file with more than `_MEMBERS` counts as cut: its content is unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from json import detect_encoding, loads
from typing import Any
from urllib.parse import urljoin

from scrapy_rep.extras.pages.page.page_elements import Meta
from scrapy_rep.extras.pages.page.rule_words import lowered
from scrapy_rep.protocol.fields.remarks import (
    TEXT_CHARACTERS,
    Problem,
    Remark,
    Remarks,
    Source,
    excerpt,
    text_of,
)
from scrapy_rep.protocol.lines import PARSE_LIMIT_OCTETS
from scrapy_rep.protocol.paths import normal_pattern

from .categories import TDM, TRAIN_AI
from .preference import Preference, Statement, UsagePreferences, statements_of
from .scoped import Scoped, matching, paths_of

RESERVATION = "tdm-reservation"
POLICY = "tdm-policy"

_FILE = "tdmrep.json"
_MEMBERS = 10_000  # of the array and its objects together
_RULE_OCTETS = 700  # the memory of a rule without its texts, roughly; a remark takes no more
_RESERVING = frozenset(["1", "true"])
_VALID = frozenset(["1", "0"])
_Object = tuple[tuple[str, Any], ...]  # a JSON object, which may have repeated names


@dataclass(frozen=True, slots=True)
class Reservation:
    """The statement of one source about mining.

    Attributes:
        is_reserved: whether the rights are reserved.
        source: the source.
        text: the text of the source.
        policy: the URL of the policy, or empty.
    """

    is_reserved: bool
    source: Source
    text: str
    policy: str = ""

    def statements(self) -> tuple[Statement, ...]:
        """The statements about the categories."""
        said = {TDM: Preference.ALLOWED}
        if self.is_reserved:
            said = dict.fromkeys((TDM, TRAIN_AI), Preference.DISALLOWED)
        return statements_of(said, self.source, self.text)


def of_field(
    reservations: Sequence[bytes], policies: Sequence[bytes], url: str, remarks: Remarks
) -> Reservation | None:
    """The reservation in the fields of a response, or None."""
    source = Source(RESERVATION)
    values = [value.strip() for line in reservations for value in text_of(line).split(",")]
    is_reserved = _decided(values, source, remarks)
    if is_reserved is None:
        return None
    policy = next((_resolved(url, text_of(one)) for one in policies if one.strip()), "")
    return Reservation(is_reserved, source, excerpt(b", ".join(reservations)), policy)


def of_metas(metas: Iterable[Meta], base_url: str, remarks: Remarks) -> Reservation | None:
    """The reservation in the elements of a page; in the body only one that reserves counts."""
    values: list[str] = []
    policy, source = "", Source("meta")
    for meta in metas:
        subject = lowered(meta.subject)
        if subject == RESERVATION:
            value = (meta.content or "").strip()
            if meta.in_head or _reserves(value):
                source = source if values else Source("meta", line=meta.line)
                values.append(value)
        elif subject == POLICY and not policy:
            policy = _resolved(base_url, meta.content or "")
    is_reserved = _decided(values, source, remarks)
    if is_reserved is None:
        return None
    return Reservation(is_reserved, source, excerpt(f"{RESERVATION}: {', '.join(values)}"), policy)


def _decided(values: Sequence[str], source: Source, remarks: Remarks) -> bool | None:
    """Whether values of one kind reserve; None if they don't tell. Only a plain 0 permits."""
    said = {*values}
    if said - _VALID:
        remarks.add(Problem.INVALID_RESERVATION, source, ", ".join(values))
    elif len(said) > 1:
        remarks.add(Problem.DIFFERING, source, ", ".join(values))
    if any(map(_reserves, said)):
        return True
    return False if said == {"0"} else None


def _reserves(value: str) -> bool:
    """Whether a text reserves: the specification has 1, and the meaning of true is as clear."""
    return lowered(value.strip()) in _RESERVING


@dataclass(frozen=True, slots=True)
class TdmFile:
    """A ``tdmrep.json`` as a value.

    Attributes:
        uri: its URI.
        rules: its valid rules, in order.
        remarks: remarks on unusual text.
        is_cut: whether it is longer than the parse limit, or has too many rules, so that its
            content is unknown.
    """

    uri: str
    rules: tuple[Scoped[Reservation], ...] = ()
    remarks: tuple[Remark, ...] = ()
    is_cut: bool = False

    @classmethod
    def of(cls, body: bytes, uri: str, limit_octets: int = PARSE_LIMIT_OCTETS) -> TdmFile:
        """Read a file. Linear in its octets."""
        remarks = Remarks()
        source = Source(_FILE, uri=uri)
        rules: list[Scoped[Reservation]] | None = None
        if len(body) <= limit_octets:
            rules = _file_rules(body, source, remarks)
        if rules is None:
            remarks.add(Problem.TOO_LONG, source)
        return cls(uri, tuple(rules or ()), tuple(remarks.kept), rules is None)

    def reservation(self, url: str, remarks: Remarks) -> Reservation | None:
        """The reservation for a URL, by the first rule with a location that matches."""
        remarks.extend(self.remarks)
        source = Source(_FILE, uri=self.uri)
        found = [_first(self.rules, path, source, remarks) for path in paths_of(url)]
        said = [one for one in found if one is not None]
        reserving = next((one for one in said if one.is_reserved), None)
        if reserving is not None:
            return reserving
        return said[0] if len(said) == len(found) else None

    @property
    def kept_octets(self) -> int:
        """The memory that it takes, roughly."""
        texts = sum(len(one.pattern) + len(one.said.text) for one in self.rules)
        shared = {id(one.said.policy): len(one.said.policy) for one in self.rules}
        texts += sum(shared.values())
        return texts + _RULE_OCTETS * len(self.rules) + _RULE_OCTETS * len(self.remarks)


@dataclass(frozen=True, slots=True)
class Tdmrep:
    """The known state of an origin's tdmrep.json.

    Attributes:
        file: the file; None if there is no file, or its content is unknown.
        fetched_at: when the file, or the answer that there is no file, arrived; POSIX seconds or 0.
        is_stale: whether it is an old copy, used because the file is unreachable.
        is_complete: whether the site answered, or there is a copy.
        due_at: when it should be fetched again, POSIX seconds.
        usable_until: when it expires, POSIX seconds.
    """

    file: TdmFile | None = None
    fetched_at: float = 0.0
    is_stale: bool = False
    is_complete: bool = False
    due_at: float = float("inf")
    usable_until: float = float("inf")

    def marked(self, usage: UsagePreferences) -> UsagePreferences:
        """The preferences, with the marks of this file added."""
        return replace(
            usage,
            is_stale=usage.is_stale or self.is_stale,
            is_complete=usage.is_complete and self.is_complete,
        )


def _first(
    rules: Iterable[Scoped[Reservation]], path: str, source: Source, remarks: Remarks
) -> Reservation | None:
    found, untried = matching(rules, path)
    if found:
        return found[0].said
    if untried:
        remarks.add(Problem.TOO_MUCH_WORK, source)
    return next((one.said for one in untried if one.said.is_reserved), None)


def _file_rules(body: bytes, source: Source, remarks: Remarks) -> list[Scoped[Reservation]] | None:
    """The rules of a file; None if it has too many."""
    text, is_sound = _decoded(body)
    try:
        entries: Any = loads(text, object_pairs_hook=tuple, parse_constant=_refused)
    except (ValueError, RecursionError):  # not JSON, numbers of 5,000 digits, 10,000 brackets
        entries = None
    if not isinstance(entries, list):
        remarks.add(Problem.NO_JSON_ARRAY, source, body)
        return []
    objects = (entry for entry in entries if isinstance(entry, tuple))
    if len(entries) + sum(map(len, objects)) > _MEMBERS:
        return None
    found: list[Scoped[Reservation]] = []
    for number, entry in enumerate(entries, start=1):
        rules = _rules_in(entry, number, source.uri) if isinstance(entry, tuple) else []
        if not is_sound:
            rules = [one for one in rules if one.said.is_reserved]
        if not rules:
            remarks.add(Problem.INVALID_TDM_RULE, source, str(number))
        found += rules
    return found


def _decoded(body: bytes) -> tuple[str, bool]:
    """A file as text, and whether it is UTF-8: if it is not, it may reserve but not permit."""
    encoding = detect_encoding(body)
    try:
        return body.decode(encoding), encoding.startswith("utf-8")
    except UnicodeDecodeError:
        return body.decode(encoding, "replace"), False


def _refused(constant: str) -> None:
    """Refuse NaN and Infinity, which Python reads but JSON does not allow."""
    raise ValueError(constant)


def _rules_in(entry: _Object, number: int, uri: str) -> list[Scoped[Reservation]]:
    """The rules of an object: one per location if it reserves; empty if it is invalid.

    A repeated name may mean either value (RFC 8259, 4): any reservation counts, and none permits.
    """
    said = [_is_reserved(value) for name, value in entry if name == RESERVATION]
    locations = [value for name, value in entry if name == "location" and _is_location(value)]
    is_reserved = True in said
    if not is_reserved and (said != [False] or sum(name == "location" for name, _ in entry) != 1):
        return []
    source = Source(_FILE, number, uri=uri)
    policies = (one for name, one in entry if name == POLICY and isinstance(one, str))
    address = _resolved(uri, _as_utf8(next(policies, "")))
    return [
        Scoped(
            normal_pattern(_as_utf8(location).encode().decode("latin-1")),
            Reservation(
                is_reserved,
                source,
                excerpt(f"{location[:TEXT_CHARACTERS]} {RESERVATION}={int(is_reserved)}"),
                address,
            ),
        )
        for location in locations
    ]


def _is_location(value: object) -> bool:
    return isinstance(value, str) and value[:1] in ("/", "*")


def _is_reserved(value: object) -> bool | None:
    """Whether a value reserves: 1 and true in any form reserve; only the number 0 permits."""
    if isinstance(value, str):
        return _reserves(value) or None
    if value == 1:  # as true and 1.0 do
        return True
    return False if type(value) is int and value == 0 else None


def _as_utf8(text: str) -> str:
    """Text without lone surrogates, which JSON escapes may contain, and which match no URL."""
    return text.encode("utf-8", "backslashreplace").decode()


def _resolved(base_url: str, reference: str) -> str:
    """A reference as an absolute URL; empty if it is invalid."""
    try:
        return urljoin(base_url, reference.strip()) if reference.strip() else ""
    except ValueError:
        return ""
