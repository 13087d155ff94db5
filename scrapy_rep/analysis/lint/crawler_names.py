"""What lint asks the table of known crawlers. Names are in lower case."""

from __future__ import annotations

from collections.abc import Collection

from scrapy_rep.analysis.agents import crawlers
from scrapy_rep.analysis.agents.crawlers import CRAWLERS, Crawler, crawler_of


def is_one_slip(one: str, other: str) -> bool:
    """Whether one letter is missing, added, changed, or swapped with the next."""
    if abs(len(one) - len(other)) > 1:
        return False
    start = 0
    while start < min(len(one), len(other)) and one[start] == other[start]:
        start += 1
    rest, other_rest = one[start:], other[start:]
    return (
        rest[1:] == other_rest[1:]
        or rest[1:] == other_rest
        or rest == other_rest[1:]
        or (rest[:2] == other_rest[1::-1] and rest[2:] == other_rest[2:])
    )


KNOWN = crawlers.known_names()
"""Names of crawlers, in all their spellings."""

_SHORTEST = 5  # short names are near to each other
# Lists name hundreds of small crawlers, and others that they miss are one slip from those (spbot,
# psbot): only names that operators document are taken for what is meant.
_MEANT = sorted(
    crawler.name
    for crawler in CRAWLERS
    if crawler.by == crawlers.OPERATOR and not crawler.is_obsolete
)


def nearly(name: str) -> str | None:
    """The known crawler whose name is one slip from this one; None if there is none."""
    if name in KNOWN or len(name) < _SHORTEST:
        return None
    return next((known for known in _MEANT if is_one_slip(name, known)), None)


def ignores_crawl_delay(name: str) -> str:
    """Who says that a crawler ignores Crawl-delay, in words; empty if nobody does."""
    crawler = crawler_of(name)
    if crawler is None or crawler.crawl_delay != crawlers.NO:
        return ""
    return crawler.whose_word("crawl_delay")


def may_not_obey(name: str) -> str:
    """Who says that a crawler does not obey, or not always, in words; empty if nobody does."""
    crawler = crawler_of(name)
    if crawler is None or crawler.obeys not in (crawlers.NO, crawlers.PARTLY):
        return ""
    return crawler.whose_word("obeys")


def own_group_only(names: Collection[str]) -> list[Crawler]:
    """The crawlers that ignore the group for ``*``, but for those that a file names."""
    return [
        crawler
        for crawler in CRAWLERS
        if crawler.obeys == crawlers.OWN_GROUP_ONLY
        and not crawler.is_obsolete
        and crawler.name not in names
        and crawler.fallback.lower() not in names
    ]


def fallback_of(name: str) -> str:
    """The name whose group a crawler takes before ``*``; empty if it has none."""
    crawler = crawler_of(name)
    return crawler.fallback.lower() if crawler is not None else ""
