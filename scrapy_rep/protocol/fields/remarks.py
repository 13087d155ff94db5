"""Where a statement stands, and what is unusual in it.

Nothing that a site sends raises. What says nothing, or says it unusually, becomes a remark.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum

from scrapy_rep.protocol.verdict import shown

REMARKS_KEPT = 100
"""So many remarks are kept of one response or file."""

TEXT_CHARACTERS = 200
"""So long is the text that a rule, a statement or a remark keeps."""

_OCTETS_A_CHARACTER = 4  # in UTF-8, at most


@dataclass(frozen=True, slots=True)
class Source:
    """Where a rule or a statement stands.

    Attributes:
        kind: the name of the field, record, element or file.
        number: which of several of the same kind, from 1; 0 where they are read as one.
        line: its line in the file or page, from 1; 0 if that is unknown.
        uri: the file, if it is another than the page.
    """

    kind: str
    number: int = 0
    line: int = 0
    uri: str = ""

    def __str__(self) -> str:
        """For people: ``meta 1, line 14``, or ``Content-Usage, line 3 of https://...``."""
        number = f" {self.number}" if self.number else ""
        line = f", line {self.line}" if self.line else ""
        uri = f" of {self.uri}" if self.uri else ""
        return f"{self.kind}{number}{line}{uri}"


class Problem(Enum):
    """What is unusual; the value is for people."""

    UNKNOWN_RULE = "no rule that is known"
    UNUSUAL_SPELLING = "an unusual spelling of a rule"
    UNUSUAL_SEPARATOR = "rules that something else than commas separates"
    INVALID_VALUE = "a value that cannot be read"
    INVALID_DATE = "a date that cannot be read, or can be read in several ways"
    NO_NAME = "an element that names its rules by another attribute than name"
    NO_LIST = "no List (RFC 9651): read like X-Robots-Tag"
    NO_DICTIONARY = "no Dictionary (RFC 9651): it says nothing"
    UNKNOWN_LABEL = "no category that is known: it says nothing"
    UNKNOWN_PREFERENCE = "neither y nor n: it says nothing"
    UNREADABLE_SIGNAL = "no signal that can be read"
    BEFORE_GROUPS = "it stands before any group"
    UNHEARD_PERMISSION = "a permission that does not count here"
    INVALID_RESERVATION = "a reservation that is neither 0 nor 1"
    DIFFERING = "statements that differ: the most restrictive counts"
    NO_JSON_ARRAY = "no JSON array: it says nothing"
    INVALID_TDM_RULE = "a rule without a location and a reservation: it is skipped"
    RELATIVE_LICENCE = "a licence without scheme and host"
    NO_LICENCE = "no URL of a licence"
    TOO_MUCH_WORK = "too many patterns may match: all that restrict count"
    CUT_BODY = "the body is truncated: what followed is unknown"


@dataclass(frozen=True, slots=True)
class Remark:
    """What is unusual in a field, an element or a record.

    Attributes:
        problem: what.
        source: where it stands.
        text: what stands there; at most 200 characters that no terminal obeys.
    """

    problem: Problem
    source: Source
    text: str = ""

    def __str__(self) -> str:
        """One line that says everything."""
        return f"{self.source}: {self.problem.value}" + (f": {self.text}" if self.text else "")


@dataclass(slots=True)
class Remarks:
    """The remarks on one response or file, of which the first are kept."""

    kept: list[Remark] = field(default_factory=list)

    def add(self, problem: Problem, source: Source, text: str | bytes = "") -> None:
        """Keep one, if there is room."""
        if len(self.kept) < REMARKS_KEPT:
            self.kept.append(Remark(problem, source, excerpt(text)))

    def extend(self, remarks: Iterable[Remark]) -> None:
        """Keep some more, as far as there is room."""
        for remark in remarks:
            if len(self.kept) >= REMARKS_KEPT:
                return
            self.kept.append(remark)


def excerpt(text: str | bytes) -> str:
    """The beginning of what a site wrote, as text that no terminal obeys."""
    if isinstance(text, str):
        text = text[:TEXT_CHARACTERS]
        if text.isascii() and text.isprintable():
            return text
        text = octets_of(text)
    return shown(text[: TEXT_CHARACTERS * _OCTETS_A_CHARACTER])[:TEXT_CHARACTERS]


def octets_of(text: str) -> bytes:
    """What `text_of` made text of; other lone surrogates, as of JSON, stay visible."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "backslashreplace")


def text_of(octets: bytes) -> str:
    """The value of a field as text; octets that are no UTF-8 stay apart from every character."""
    return octets.decode("utf-8", "surrogateescape")
