"""A robots.txt as a value: its groups, merged per product token, and its other records.

`parse` takes octets and returns a `RobotsTxt`. No content of a file raises: unreadable lines are
skipped.

Reading is lazy, since a crawler needs only its own group: `parse` keeps the octets, and the first
verdict for some product tokens finds and reads the groups that name them. The octets are kept for
later questions: other crawlers, Sitemap lines, other records.

Cost: `parse` copies the octets at most once; the first verdict for some tokens reads them once or
twice; each other property reads them once per access. Memory: the octets, and the rules of one
group for each of at most `_SELECTIONS_KEPT` crawlers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from scrapy_rep.protocol.extensions.pace import PACE_KEYS, SitePace, pace_records, read_site_pace
from scrapy_rep.protocol.extensions.records import OtherRecord, RequestRate, VisitTime
from scrapy_rep.protocol.extensions.sitemaps import invalid_sitemaps, sitemap_uris, sitemap_values

from .errors import ConfigurationError
from .lines import PARSE_LIMIT_OCTETS, RULES, Codings, Kind, Record, clean, records
from .paths import normal_pattern
from .selection import Selection
from .tokens import ProductTokens, names_of, refuse_url
from .verdict import Rule, Verdict

_SELECTIONS_KEPT = 8  # a crawler has one name; if it changes its name often, it becomes slow


@dataclass(frozen=True, slots=True)
class Group:
    """The merged group that decides for some product tokens (RFC 9309, 2.2.1).

    Attributes:
        product_token: the token that found the group, in lower case; ``*`` for other crawlers.
        rules: its rules in file order, including those without effect.
        other_records: its other records, in file order; records about pace (`extensions.pace`)
            only if they belong to the user-agent lines of this token.
    """

    product_token: str
    rules: tuple[Rule, ...]
    other_records: tuple[OtherRecord, ...]


@dataclass(frozen=True, slots=True)
class RobotsTxt:
    """The parseable part of a robots.txt.

    Attributes:
        octets: the parseable part of the file, with LF as its only line end.
        uri: where it was fetched; the base of relative Sitemap lines. May be empty.
        is_cut: whether octets past the parse limit were ignored.
        codings: encodings of the body, such as gzip or UTF-16; usually empty.
    """

    octets: bytes = field(repr=False)
    uri: str = ""
    is_cut: bool = False
    codings: Codings = ()
    _selections: dict[ProductTokens, Selection] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @property
    def kept_octets(self) -> int:
        """Roughly the memory that the file and the rules of each known crawler take, in octets."""
        selections = set(self._selections.values())
        return len(self.octets) + sum(selection.kept_octets for selection in selections)

    def verdict(self, url: str, product_tokens: ProductTokens) -> Verdict:
        """Whether the crawler with these product tokens may fetch a URL of this origin.

        Args:
            url: an absolute URL, or a reference that begins with ``/``. Scheme, host and port are
                ignored: the caller ensures that this is the file of the URL's origin.
            product_tokens: one name, or several; the first that has a group decides.

        Raises:
            InvalidProductToken: no user-agent line could name one of the tokens.
            TypeError: `product_tokens` is a URL.
        """
        try:
            selection = self._selections[product_tokens]
        except (KeyError, TypeError):  # a first use, or a list
            selection = self.selection(product_tokens)
        return selection.verdict(url)

    def group(self, product_tokens: ProductTokens) -> Group | None:
        """The merged group that decides for these tokens, or None."""
        selection = self.selection(product_tokens)
        if not selection.product_token:
            return None
        paces = {offset for offset, *_ in pace_records(self.octets, selection.is_named_by)}
        own = tuple(
            self._numbered(
                record
                for record in selection.records()
                if record[0] in paces or record[2].lower() not in PACE_KEYS
            )
        )
        return Group(
            product_token=selection.product_token,
            rules=tuple(
                Rule(kind is Kind.ALLOW, value, line, len(normal_pattern(value.decode("latin-1"))))
                for line, kind, _, value in own
                if kind in RULES
            ),
            other_records=tuple(
                OtherRecord(key, value, line)
                for line, kind, key, value in own
                if kind is Kind.OTHER
            ),
        )

    def site_pace(self, product_tokens: ProductTokens) -> SitePace:
        """The pace and visit times that the file requests of the crawler."""
        return read_site_pace(self.octets, self.selection(product_tokens).is_named_by)

    def crawl_delay(self, product_tokens: ProductTokens) -> float | None:
        """The requested seconds between requests: the largest valid Crawl-delay."""
        return self.site_pace(product_tokens).crawl_delay

    def request_rate(self, product_tokens: ProductTokens) -> RequestRate | None:
        """The first valid Request-rate for the crawler."""
        return self.site_pace(product_tokens).request_rate

    def visit_time(self, product_tokens: ProductTokens) -> VisitTime | None:
        """The first valid Visit-time for the crawler."""
        return self.site_pace(product_tokens).visit_time

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The absolute http(s) URIs of all Sitemap lines, each once."""
        return sitemap_uris(sitemap_values(self.octets), self.uri)

    @property
    def invalid_sitemaps(self) -> tuple[str, ...]:
        """The values of Sitemap lines that name no http(s) URI for certain, each once."""
        return invalid_sitemaps(sitemap_values(self.octets), self.uri)

    @property
    def other_records(self) -> tuple[OtherRecord, ...]:
        """Every record except user-agent lines, rules and Sitemap lines, in file order."""
        return tuple(
            OtherRecord(key, value, line)
            for line, kind, key, value in self._numbered(records(self.octets))
            if kind is Kind.OTHER
        )

    def selection(self, product_tokens: ProductTokens) -> Selection:
        """The part of the file that applies to the crawler with these tokens; cached."""
        key = product_tokens if isinstance(product_tokens, str) else tuple(product_tokens)
        selection = self._selections.get(key)
        if selection is None:
            refuse_url(key)
            known = self._selections.values()
            selection = Selection.of(self.octets, self.uri, names_of(key), known)
            if len(self._selections) >= _SELECTIONS_KEPT:
                self._selections.pop(next(iter(self._selections)), None)  # others share its rules
            self._selections[key] = selection
        return selection

    def _numbered(self, found: Iterable[Record]) -> Iterator[Record]:
        """The records with their line numbers instead of their offsets."""
        octets, line, counted = self.octets, 1, 0
        for offset, kind, key, value in found:
            line += octets.count(b"\n", counted, offset)
            counted = offset
            yield line, kind, key, value


def parse(body: bytes, uri: str = "", *, limit_octets: int = PARSE_LIMIT_OCTETS) -> RobotsTxt:
    """Read the octets of a robots.txt.

    Args:
        body: the file as the site sent it; any octets. gzip is decompressed.
        uri: where it was fetched, to resolve relative Sitemap lines and to name it in verdicts.
        limit_octets: the parse limit (RFC 9309, 2.5), at least 512,000.

    Raises:
        ConfigurationError: the limit is below the minimum of the RFC.
    """
    if limit_octets < PARSE_LIMIT_OCTETS:
        raise ConfigurationError(
            f"a parse limit of {limit_octets} octets is below the {PARSE_LIMIT_OCTETS} octets that "
            "RFC 9309, 2.5 requires: set it to that number or more"
        )
    octets, is_cut, codings = clean(body, limit_octets)
    return RobotsTxt(octets, uri, is_cut=is_cut, codings=codings)
