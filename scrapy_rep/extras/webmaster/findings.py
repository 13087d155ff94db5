"""Findings about unusual parts of a file: for a reader, nothing in a robots.txt is an error.

`findings` finds in one pass what a crawl should know about files that it obeys; `lint` runs all
checks. Both return `Finding` values, with texts from the table of checks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from scrapy_rep.extras.webmaster.checks.codes import Code, Effect, Severity
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.events import name_of as event_name
from scrapy_rep.protocol.document import RobotsTxt
from scrapy_rep.protocol.extensions import records as other
from scrapy_rep.protocol.extensions.sitemaps import Slip, sitemap_line
from scrapy_rep.protocol.lines import RULES, Coding, Kind, line_number, records
from scrapy_rep.protocol.verdict import shown

from .mending import Edit, Mend
from .outline import Line, is_markup, name_of


@dataclass(frozen=True, slots=True)
class Finding:
    """One unusual thing and its place.

    Attributes:
        code: the check that found it.
        line: the number of its line, from 1; 0 for the file as a whole.
        octets: the unusual text; octets as written.
        column: where the text begins on the line, in characters from 1; 0 for the whole line.
        detail: details beyond the meaning of the code, such as another line's number; may be empty.
        other_line: the number of a second line that is involved, or 0.
        proposal: the fix at this place; None if only the table has one.
    """

    code: Code
    line: int = 0
    octets: bytes = b""
    column: int = 0
    detail: str = ""
    other_line: int = 0
    proposal: Mend | None = None

    @property
    def severity(self) -> Severity:
        """How serious it is."""
        return self.code.severity

    @property
    def message(self) -> str:
        """Its meaning, in one sentence without its full stop."""
        meaning = self.code.meaning
        return f"{meaning} ({self.detail})" if self.detail else meaning

    @property
    def mend(self) -> str:
        """The fix, in one sentence without its full stop."""
        return self.code.fix if self.proposal is None else self.proposal.text

    @property
    def effect(self) -> Effect:
        """The effect of the fix on verdicts."""
        if self.proposal is not None:
            return self.proposal.effect
        usual = self.code.effect
        return Effect.CHANGES if usual is Effect.KEEPS else usual  # this place was not checked

    @property
    def is_safe(self) -> bool:
        """Whether it has a fix that keeps every verdict."""
        return self.effect is Effect.KEEPS

    @property
    def is_unsafe(self) -> bool:
        """Whether it has a fix that may change verdicts."""
        return self.effect is Effect.CHANGES and bool(self.proposal and self.proposal.edits)

    def __str__(self) -> str:
        """The finding in one line."""
        where = f"line {self.line}: " if self.line else ""
        shown_octets = f": {shown(self.octets)}" if self.octets else ""
        return f"{where}{self.message}{shown_octets}"


def with_fix(finding: Finding, text: str, *edits: Edit) -> Finding:
    """A finding with a fix that may change verdicts; without a text, the same finding."""
    return replace(finding, proposal=Mend(text, edits=edits)) if text else finding


def value_finding(code: Code, line: Line, detail: str = "", other_line: int = 0) -> Finding:
    """A finding about the value of a line."""
    return Finding(code, line.number, line.value[:200], line.value_column, detail, other_line)


def answer_findings(odd_event: str, odd_coding: str) -> Iterator[Finding]:
    """The findings about an answer with a file; both texts are empty for a usual answer."""
    if odd_event:
        code = Code.HTML if odd_event == event_name(Failure.HTML) else Code.ODD_STATUS
        yield Finding(code, octets=odd_event.encode())
    if odd_coding:
        yield Finding(Code.ODD_CODING, octets=odd_coding.encode())


MOST_WILDCARDS = 2000
"""The most rules with wildcards in a file without a finding; real files have 1,200 at most."""

YANDEX_RULES = 2048
"""The most rules of a file that Yandex reads."""

CODE_OF_CODING = {
    Coding.GZIP: Code.GZIP,
    Coding.DAMAGED_GZIP: Code.GZIP_DAMAGED,
    Coding.UTF16: Code.UTF16,
    Coding.UTF32: Code.UTF32,
    Coding.PAGE_SOURCE: Code.PAGE_SOURCE,
}
"""The code for a file in each coding."""

CODE_OF_SLIP = {
    Slip.QUOTED: Code.SITEMAP_QUOTED,
    Slip.SEVERAL: Code.SITEMAP_SEVERAL,
    Slip.NO_SCHEME: Code.SITEMAP_NO_SCHEME,
    Slip.BROKEN_SCHEME: Code.SITEMAP_BAD_SCHEME,
    Slip.RELATIVE: Code.SITEMAP_RELATIVE,
}
"""The code for each difference between a Sitemap value and an absolute URI."""

READERS: dict[bytes, Callable[[bytes], object | None]] = {
    b"crawl-delay": other.crawl_delay,
    b"request-rate": other.request_rate,
    b"visit-time": other.visit_time,
}
"""The readers of records with a fixed form; they return None for other forms."""


def findings(robots_txt: RobotsTxt) -> tuple[Finding, ...]:
    """The findings that a crawl should know about a file that it obeys, in file order.

    Linear in its octets.
    """
    return tuple(_findings(robots_txt, robots_txt.octets))


def _findings(robots_txt: RobotsTxt, octets: bytes) -> Iterator[Finding]:
    uri = robots_txt.uri
    if robots_txt.is_cut:
        yield Finding(Code.PARSE_LIMIT, line_number(octets, len(octets)))
    for coding in robots_txt.codings:
        yield Finding(CODE_OF_CODING[coding])
    if is_markup(octets):
        yield Finding(Code.MARKUP)
    has_group = False
    wildcards = 0
    sitemaps: set[str] = set()
    line, counted = 1, 0
    for offset, kind, key, value in records(octets):
        has_group = has_group or kind is Kind.USER_AGENT
        wildcards += kind in RULES and b"*" in value
        codes: Iterable[Code]
        if kind is Kind.USER_AGENT:
            codes = () if name_of(value) else (Code.USER_AGENT_NAMES_NOBODY,)
        else:
            codes = _codes(kind, key, value, uri, sitemaps, has_group=has_group)
        for code in codes:
            line += octets.count(b"\n", counted, offset)
            counted = offset
            yield Finding(code, line, value)
    if wildcards > MOST_WILDCARDS:
        yield Finding(Code.MANY_WILDCARDS, detail=f"{wildcards:,}")


def _codes(
    kind: Kind, key: bytes, value: bytes, uri: str, sitemaps: set[str], *, has_group: bool
) -> Iterator[Code]:
    if kind in RULES:
        if not has_group:
            yield Code.RULE_BEFORE_GROUP
        if value and not value.startswith((b"/", b"*")):
            yield Code.RULE_MATCHES_NOTHING
    elif kind is Kind.SITEMAP:
        found = sitemap_line(value, uri)
        if not found.uris:
            yield Code.SITEMAP_LEFT_OUT
            return
        yield from (CODE_OF_SLIP[slip] for slip in found.slips)
        if sitemaps.issuperset(found.uris):
            yield Code.SITEMAP_DUPLICATE
        sitemaps.update(found.uris)
    elif key.lower() in READERS and (code := slip_of_pace(key.lower(), value)):
        yield code


def slip_of_pace(name: bytes, value: bytes) -> Code | None:
    """The code for an unusual value with one of `READERS`, or None."""
    if READERS[name](value) is None:
        return Code.VALUE_UNREADABLE
    return Code.CRAWL_DELAY_COMMA if name == b"crawl-delay" and b"," in value else None
