"""Known crawlers as values, by name. All that names one reads this table: lint, and `rep agents`.

What an operator says of its crawler is kept apart from what a list says: see `Crawler.by`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .crawler_table import ROWS

YES, NO, UNKNOWN = "yes", "no", "unknown"
PARTLY, OWN_GROUP_ONLY = "partly", "own-group-only"
OPERATOR = "operator"


@dataclass(frozen=True, slots=True)
class Crawler:
    """One crawler.

    Attributes:
        token: as its operator writes it in robots.txt.
        operator: who sends it.
        purpose: what for, such as ``search`` or ``ai-training``.
        obeys: ``yes``; ``own-group-only`` (it ignores ``*``); ``partly``; ``no``; ``unknown``.
        crawl_delay: whether it obeys Crawl-delay: ``yes``, ``no``, ``unknown``.
        wildcards: whether it reads ``*`` and ``$`` in paths, likewise.
        by: whose word that is: ``operator``, ``list``, ``memory``.
        seen: when that was read; ``undated``, or empty.
        is_user_triggered: whether it fetches because a person asked.
        is_obsolete: whether it is retired or renamed.
        fallback: the token whose group it takes before ``*``; empty if it has none.
        remembered: the fields of this that nobody could look up.
        other_spellings: headers, old names, variants.
    """

    token: str
    operator: str
    purpose: str
    obeys: str
    crawl_delay: str
    wildcards: str
    by: str
    seen: str
    is_user_triggered: bool
    is_obsolete: bool
    fallback: str
    remembered: frozenset[str]
    other_spellings: tuple[str, ...]

    @property
    def name(self) -> str:
        """The token in lower case."""
        return self.token.lower()

    def is_said(self, field: str) -> bool:
        """Whether its operator says a field, in words that were read."""
        return self.by == OPERATOR and field not in self.remembered

    def whose_word(self, field: str) -> str:
        """Who says a field, in words for people."""
        if self.is_said(field):
            return "as its operator documents"
        return "by a list of crawlers" if self.by == "list" else "as far as is known"


def _crawlers() -> Iterator[Crawler]:
    for row in ROWS.splitlines():
        cells = ["" if cell == "-" else cell for cell in row.split(" | ")]
        token, operator, purpose, obeys, delay, wildcards, source, flags, fallback, *more = cells
        by, _, seen = source.partition(" ")
        remembered, spellings = more
        yield Crawler(
            token,
            operator,
            purpose,
            obeys,
            delay,
            wildcards,
            by,
            seen,
            is_user_triggered="asked" in flags.split(),
            is_obsolete="obsolete" in flags.split(),
            fallback=fallback,
            remembered=frozenset(remembered.split()),
            other_spellings=tuple(filter(None, spellings.split(", "))),
        )


CRAWLERS: tuple[Crawler, ...] = tuple(_crawlers())

_BY_NAME: dict[str, Crawler] = {
    **{name.lower(): crawler for crawler in CRAWLERS for name in crawler.other_spellings},
    **{crawler.name: crawler for crawler in CRAWLERS},
}


def crawler_of(name: str) -> Crawler | None:
    """The crawler of a name, in any letter case; None if none is known."""
    return _BY_NAME.get(name.lower())


def known_names() -> frozenset[str]:
    """The names of all known crawlers, in lower case, with their other spellings."""
    return frozenset(_BY_NAME)
