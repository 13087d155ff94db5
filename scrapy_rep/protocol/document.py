"""A robots.txt as a value: its groups, merged per product token, and its other records.

Takes octets, gives a `RobotsTxt`. Nothing in a file raises: what can't be read is no record.

Reading is lazy, since a crawler asks for its own group and nothing else: `parse` keeps the octets,
and the first verdict for some product tokens looks for the groups that name them and reads those.
The octets are kept for whoever asks for more: another crawler, Sitemap lines, other records.

Cost: `parse` copies the octets at most; the first verdict for some tokens reads them once or
twice; each other property reads them once for each time that it is asked for. What is kept is the
octets and, for each of at most `_SELECTIONS_KEPT` crawlers, the rules of one group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar

from . import records as other
from .findings import Finding, findings
from .lines import PARSE_LIMIT_OCTETS, RULES, Kind, Record, clean, records
from .paths import normal_pattern
from .records import OtherRecord, RequestRate, VisitTime
from .selection import Selection
from .sitemaps import sitemap_uris
from .tokens import ProductTokens, names_of
from .verdict import Rule, Verdict

_SELECTIONS_KEPT = 8  # a crawler has one name; whoever changes it all the time pays with time

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Group:
    """The merged group that decides for some product tokens (RFC 9309, 2.2.1).

    Attributes:
        product_token: the token by which it was found, in lower case; ``*`` for everyone else.
        rules: its rules in file order, those without effect included.
        records: its other records, in file order.
    """

    product_token: str
    rules: tuple[Rule, ...]
    records: tuple[OtherRecord, ...]


@dataclass(frozen=True, slots=True)
class RobotsTxt:
    """The parseable part of a robots.txt.

    Attributes:
        octets: what counts of the file, with LF as its only line end.
        uri: where it was asked for; the base of relative Sitemap lines. May be empty.
        is_cut: whether octets past the parse limit were ignored.
        is_utf16: whether the file came as UTF-16.
    """

    octets: bytes = field(repr=False)
    uri: str = ""
    is_cut: bool = False
    is_utf16: bool = False
    _selections: dict[ProductTokens, Selection] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def verdict(self, product_tokens: ProductTokens, url: str) -> Verdict:
        """Whether the crawler with these product tokens may ask for a URL of this origin.

        Args:
            product_tokens: one name, or several of which the first that has a group decides.
            url: an absolute URL, or a reference that begins with ``/``. Scheme, host and port play
                no part: that this is the file of the URL's origin is for the caller to see to.

        Raises:
            InvalidProductToken: a token holds what no user-agent line could name.
        """
        try:
            selection = self._selections[product_tokens]
        except (KeyError, TypeError):  # not asked before, or a list
            selection = self._selection(product_tokens)
        return selection.verdict(url)

    def group(self, product_tokens: ProductTokens) -> Group | None:
        """The merged group that decides for these tokens; None if the file has none for them."""
        selection = self._selection(product_tokens)
        if not selection.product_token:
            return None
        own = tuple(self._numbered(selection.records()))
        return Group(
            product_token=selection.product_token,
            rules=tuple(
                Rule(kind is Kind.ALLOW, value, line, len(normal_pattern(value.decode("latin-1"))))
                for line, kind, _, value in own
                if kind in RULES
            ),
            records=tuple(
                OtherRecord(key, value, line)
                for line, kind, key, value in own
                if kind is Kind.OTHER
            ),
        )

    def crawl_delay(self, product_tokens: ProductTokens) -> float | None:
        """Seconds between requests that the crawler's group asks for: its first valid value."""
        return self._first(product_tokens, b"crawl-delay", other.crawl_delay)

    def request_rate(self, product_tokens: ProductTokens) -> RequestRate | None:
        """The first valid Request-rate of the crawler's group."""
        return self._first(product_tokens, b"request-rate", other.request_rate)

    def visit_time(self, product_tokens: ProductTokens) -> VisitTime | None:
        """The first valid Visit-time of the crawler's group."""
        return self._first(product_tokens, b"visit-time", other.visit_time)

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The absolute http(s) URIs of the Sitemap lines, wherever they stand, each once."""
        values = (value for _, kind, _, value in records(self.octets) if kind is Kind.SITEMAP)
        return sitemap_uris(values, self.uri)

    @property
    def records(self) -> tuple[OtherRecord, ...]:
        """Every record that is no user-agent line, rule or Sitemap, in file order."""
        return tuple(
            OtherRecord(key, value, line)
            for line, kind, key, value in self._numbered(records(self.octets))
            if kind is Kind.OTHER
        )

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is odd in the file, in the order of its lines."""
        found = findings(self.octets, self.uri, is_cut=self.is_cut, is_utf16=self.is_utf16)
        return tuple(found)

    def _selection(self, product_tokens: ProductTokens) -> Selection:
        key = product_tokens if isinstance(product_tokens, str) else tuple(product_tokens)
        selection = self._selections.get(key)
        if selection is None:
            selection = Selection(self.octets, self.uri, names_of(key))
            if len(self._selections) >= _SELECTIONS_KEPT:
                self._selections.clear()
            self._selections[key] = selection
        return selection

    def _first(
        self, product_tokens: ProductTokens, name: bytes, read: Callable[[bytes], Value | None]
    ) -> Value | None:
        for _, kind, key, written in self._selection(product_tokens).records():
            if kind is Kind.OTHER and key.lower() == name:
                value = read(written)
                if value is not None:
                    return value
        return None

    def _numbered(self, found: Iterable[Record]) -> Iterator[Record]:
        """The records with the numbers of their lines instead of their offsets."""
        line, counted = 1, 0
        for offset, kind, key, value in found:
            line += self.octets.count(b"\n", counted, offset)
            counted = offset
            yield line, kind, key, value


def parse(body: bytes, uri: str = "", *, limit_octets: int = PARSE_LIMIT_OCTETS) -> RobotsTxt:
    """Read the octets of a robots.txt.

    Args:
        body: the file as the site sent it, decompressed; any octets.
        uri: where it was asked for, to resolve relative Sitemap lines and to name it in verdicts.
        limit_octets: the parse limit (RFC 9309, 2.5), at least 512,000.

    Raises:
        ValueError: the limit is below the one that the RFC demands.
    """
    if limit_octets < PARSE_LIMIT_OCTETS:
        raise ValueError(
            f"a parse limit of {limit_octets} octets is below the {PARSE_LIMIT_OCTETS} octets that "
            "RFC 9309, 2.5 demands: give that many or more"
        )
    octets, is_cut, is_utf16 = clean(body, limit_octets)
    return RobotsTxt(octets, uri, is_cut=is_cut, is_utf16=is_utf16)
