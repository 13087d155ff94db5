"""The source of a statement, and remarks on unusual ones.

Nothing that a site sends raises. Unreadable or unusual text becomes a remark.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from scrapy_rep.protocol.verdict import shown

REMARKS_KEPT = 100
"""The most remarks that are kept for one response or file."""

TEXT_CHARACTERS = 200
"""The most characters of text that a rule, a statement or a remark keeps."""

FIELD_OCTETS = 32 * 1024
"""The most octets of a header field that are read, all its lines together."""

_OCTETS_A_CHARACTER = 4  # in UTF-8, at most


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a rule or a statement.

    Attributes:
        kind: the name of the field, record, element or file.
        number: its number, from 1, if there are several of the same kind; 0 if they are read as
            one.
        line: its line in the file or page, from 1; 0 if unknown.
        uri: the URI of the file; empty if it is the page itself.
    """

    kind: str
    number: int = 0
    line: int = 0
    uri: str = ""

    def __str__(self) -> str:
        """The source in words: ``meta 1, line 14`` or ``Content-Usage, line 3 of https://...``."""
        number = f" {self.number}" if self.number else ""
        line = f", line {self.line}" if self.line else ""
        uri = f" of {self.uri}" if self.uri else ""
        return f"{self.kind}{number}{line}{uri}"


class Problem(Enum):
    """A kind of remark; the value is for people."""

    UNKNOWN_RULE = "an unknown rule"
    UNUSUAL_SPELLING = "an unusual spelling of a rule"
    UNUSUAL_SEPARATOR = "rules that are not separated by commas"
    INVALID_VALUE = "a value that cannot be read"
    INVALID_DATE = "a date that cannot be read, or can be read in several ways"
    NO_NAME = "an element that names its rules by another attribute than name"
    NO_LIST = "not a List (RFC 9651): read like X-Robots-Tag"
    NO_DICTIONARY = "not a Dictionary (RFC 9651): ignored"
    UNKNOWN_LABEL = "an unknown category: ignored"
    UNKNOWN_PREFERENCE = "neither y nor n: ignored"
    UNREADABLE_SIGNAL = "a signal that cannot be read"
    BEFORE_GROUPS = "before the first group"
    UNHEARD_PERMISSION = "a permission that does not count here"
    INVALID_RESERVATION = "a reservation that is neither 0 nor 1"
    DIFFERING = "statements that differ: the most restrictive counts"
    NO_JSON_ARRAY = "not a JSON array: ignored"
    INVALID_TDM_RULE = "a rule without a location and a reservation: it is skipped"
    RELATIVE_LICENCE = "a licence without scheme and host"
    NO_LICENCE = "not the URL of a licence"
    TOO_MUCH_WORK = "too many patterns may match: every restriction counts"
    TOO_LONG = "too long to be read to its end: every restriction counts"
    CUT_BODY = "the body is truncated: its end is unknown"


@dataclass(frozen=True, slots=True)
class Remark:
    """An unusual field, element or record.

    Attributes:
        problem: the kind of remark.
        source: the field, element or record.
        text: its text; at most 200 characters, none of which controls a terminal.
    """

    problem: Problem
    source: Source
    text: str = ""

    def __str__(self) -> str:
        """The remark in one line."""
        return f"{self.source}: {self.problem.value}" + (f": {self.text}" if self.text else "")


@dataclass(slots=True)
class Remarks:
    """The remarks on one response or file; only the first ones are kept."""

    kept: list[Remark] = field(default_factory=list)

    def add(self, problem: Problem, source: Source, text: str | bytes = "") -> None:
        """Keep a remark, if there is room."""
        if len(self.kept) < REMARKS_KEPT:
            self.kept.append(Remark(problem, source, excerpt(text)))

    def extend(self, remarks: Iterable[Remark]) -> None:
        """Keep more remarks, while there is room."""
        for remark in remarks:
            if len(self.kept) >= REMARKS_KEPT:
                return
            self.kept.append(remark)


def excerpt(text: str | bytes) -> str:
    """The beginning of a site's text, without characters that control a terminal."""
    if isinstance(text, str):
        text = text[:TEXT_CHARACTERS]
        if text.isascii() and text.isprintable():
            return text
        text = octets_of(text)
    return shown(text[: TEXT_CHARACTERS * _OCTETS_A_CHARACTER])[:TEXT_CHARACTERS]


def octets_of(text: str) -> bytes:
    """The octets of a text from `text_of`; other lone surrogates, as in JSON, stay visible."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def text_of(octets: bytes) -> str:
    """The value of a field as text; octets that are not UTF-8 differ from every character."""
    return octets.decode("utf-8", "surrogateescape")
