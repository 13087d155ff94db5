"""Look-ups in the table of known crawlers, for lint. Names are in lower case."""

from __future__ import annotations

from collections.abc import Collection

from scrapy_rep.analysis.agents import crawlers
from scrapy_rep.analysis.agents.crawlers import CRAWLERS, Crawler, crawler_of


def is_one_slip(one: str, other: str) -> bool:
    """Whether two names differ by a letter that is missing, added, changed or swapped."""
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

_SHORTEST = 5  # short names are similar to each other
# Lists name hundreds of small crawlers, and miss others that are one letter away from these (spbot,
# psbot): so only names that operators document are proposed.
_MEANT = sorted(
    crawler.name
    for crawler in CRAWLERS
    if crawler.by == crawlers.OPERATOR and not crawler.is_obsolete
)


def nearly(name: str) -> str | None:
    """The known crawler with a name that differs by one typing mistake, or None."""
    if name in KNOWN or len(name) < _SHORTEST:
        return None
    return next((known for known in _MEANT if is_one_slip(name, known)), None)


def ignores_crawl_delay(name: str) -> str:
    """The source of the statement that a crawler ignores Crawl-delay, in words, or empty."""
    crawler = crawler_of(name)
    if crawler is None or crawler.crawl_delay != crawlers.NO:
        return ""
    return crawler.whose_word("crawl_delay")


def may_not_obey(name: str) -> str:
    """The source of the statement that a crawler does not always obey, in words, or empty."""
    crawler = crawler_of(name)
    if crawler is None or crawler.obeys not in (crawlers.NO, crawlers.PARTLY):
        return ""
    return crawler.whose_word("obeys")


def own_group_only(names: Collection[str]) -> list[Crawler]:
    """The crawlers that ignore the group for ``*``, except those in `names`."""
    return [
        crawler
        for crawler in CRAWLERS
        if crawler.obeys == crawlers.OWN_GROUP_ONLY
        and not crawler.is_obsolete
        and crawler.name not in names
        and crawler.fallback.lower() not in names
    ]


def fallback_of(name: str) -> str:
    """The name of the group that a crawler takes before ``*``, or empty."""
    crawler = crawler_of(name)
    return crawler.fallback.lower() if crawler is not None else ""
