"""The parsed contents of one file: its rules for some crawlers, and its views."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from scrapy_rep.extras import part
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.extensions.pace import SitePace
from scrapy_rep.robotparser import Decider

if TYPE_CHECKING:
    from scrapy_rep.protocol.extensions.clean_params import CleanParams

_PARSER_SHARE = 3  # what another parser keeps of a file, as a multiple of its octets, roughly
_VIEWED_OCTETS = 150  # the memory of each value of a view without its text, roughly
_NAME_OCTETS = 120  # a name in a set of names
_SITE_PACE_COUNT = 16  # the number of token sets for which the pace is kept


def digest_of(body: bytes) -> str:
    """The SHA-256 of a body, in hex."""
    return sha256(body).hexdigest()


@dataclass(frozen=True, slots=True)
class Reading:
    """A file as a value, its decider (the value itself, or another parser), and its digest.

    *Views*, such as the sitemaps, are read from the file once and kept, because reading may be
    slow. A view may take many times the octets of the file, so its memory is counted.
    """

    robots_txt: RobotsTxt
    rules: Decider
    sha256: str = ""
    _views: dict[str, tuple[Any, int]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _site_pace: dict[tuple[str, ...], SitePace] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @classmethod
    def of_nothing(cls, origin: Origin) -> Reading:
        """The reading of an empty file."""
        empty = parse(b"", origin.robots_txt_uri)
        return cls(empty, empty)

    def view(self, name: str, grown: Callable[[], None]) -> Any:
        """The result of one of `_VIEWS`; `grown` is called when it is read for the first time."""
        if name not in self._views:
            read, text_octets = _VIEWS[name]
            view = read(self)
            self._views[name] = view, _VIEWED_OCTETS * len(view) + text_octets(view)
            grown()
        return self._views[name][0]

    @property
    def octets(self) -> int:
        """The memory that it takes, roughly: the file, its prepared rules, and its views."""
        views = sum(octets for _, octets in self._views.values())
        file = self.robots_txt
        parsers = 0 if self.rules is file else _PARSER_SHARE * len(file.octets)
        return file.kept_octets + parsers + views

    def settle(self, tokens: tuple[str, ...]) -> None:
        """Make the rules for some tokens ready now, so that their memory is counted."""
        if self.rules is self.robots_txt:
            self.robots_txt.verdict("/", tokens)

    def site_pace(self, tokens: tuple[str, ...]) -> SitePace:
        """The pace and the visit time that the site sets for these tokens.

        If `ROBOTSTXT_PARSER` does not know Crawl-delay, the delay that our parser reads applies.
        """
        found = self._site_pace.get(tokens)
        if found is None:
            found = self.robots_txt.site_pace(tokens)
            if self.rules is not self.robots_txt:
                delay = self.rules.crawl_delay(tokens)
                found = found if delay is None else replace(found, crawl_delay=delay)
            if len(self._site_pace) >= _SITE_PACE_COUNT:
                self._site_pace.clear()
            self._site_pace[tokens] = found
        return found


def _clean_params(reading: Reading) -> CleanParams:
    # Few crawls use it.
    from scrapy_rep.protocol.extensions.clean_params import CleanParams

    return CleanParams.of(reading.robots_txt.other_records)


def _octets_of_names(clean: CleanParams) -> int:
    return sum(_NAME_OCTETS * len(one.parameters) + len(one.prefix) for one in clean.records)


# By view: a function that reads it, and the octets of text that it keeps from the file.
_VIEWS: dict[str, tuple[Callable[[Reading], Any], Callable[[Any], int]]] = {
    "sitemaps": (
        lambda reading: reading.robots_txt.sitemaps,
        lambda urls: sum(map(len, urls)),
    ),
    "findings": (
        lambda reading: part("findings of files")(reading.robots_txt),
        lambda found: sum(len(one.octets) + len(one.detail) for one in found),
    ),
    "other_records": (
        lambda reading: reading.robots_txt.other_records,
        lambda records: sum(len(one.key) + len(one.value) for one in records),
    ),
    "clean_params": (
        _clean_params,
        _octets_of_names,
    ),
}
