"""Which group of a file each known crawler obeys, what follows for a URL, and how sure that is.

A crawler takes its own group, otherwise that of its fallback, as its operator documents (Applebot
that of Googlebot), otherwise that for ``*``, unless it ignores this one.

Cost of a crawler: a reading of the file, which is linear in its octets, and a verdict for each URL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from scrapy_rep.analysis.agents.crawlers import (
    NO,
    OWN_GROUP_ONLY,
    PARTLY,
    UNKNOWN,
    YES,
    Crawler,
    crawler_of,
)
from scrapy_rep.protocol.document import RobotsTxt
from scrapy_rep.protocol.tokens import EVERYONE, is_product_token, token_of
from scrapy_rep.protocol.verdict import Verdict

_FOLLOWS_OTHERS = frozenset({"amzn-searchbot"})  # unnamed, it takes what other search bots get
_WORDS_OF_DOUBT = {PARTLY: "it obeys in part only", UNKNOWN: "whether it obeys is unknown"}


class Access(Enum):
    """What a crawler may fetch; the value is for people."""

    ALLOWED = "allowed"
    DISALLOWED = "disallowed"
    NOT_BOUND = "not bound"


@dataclass(frozen=True, slots=True)
class Binding:
    """What a file says to one crawler of one URL.

    Attributes:
        crawler: the crawler.
        url: the URL, or a path.
        verdict: of the group that it takes, whether it obeys it or not.
        access: what follows.
        group: the name whose group it takes, in lower case: its own, that of its fallback, ``*``;
            empty if the file has none for it.
        doubts: why that is not certain, in words; empty if nothing is known against it.
    """

    crawler: Crawler
    url: str
    verdict: Verdict
    access: Access
    group: str
    doubts: tuple[str, ...]

    @property
    def is_own_group(self) -> bool:
        """Whether the file names the crawler itself."""
        return self.group == name_in_file(self.crawler)

    @property
    def is_fallback(self) -> bool:
        """Whether the crawler takes the group of another name."""
        return self.group not in ("", EVERYONE) and not self.is_own_group


def bindings(
    robots_txt: RobotsTxt, crawlers: Iterable[Crawler], urls: Iterable[str]
) -> Iterator[Binding]:
    """What a file says to each crawler of each URL; all URLs of a crawler follow each other."""
    wanted = list(urls)
    for crawler in crawlers:
        names = _names_of(crawler)
        group = robots_txt.selection(names).product_token
        for url in wanted:
            verdict = robots_txt.verdict(url, names)
            access = _access(crawler, group, verdict)
            doubts = tuple(_doubts(crawler, group, verdict, access))
            yield Binding(crawler, url, verdict, access, group, doubts)


def name_in_file(crawler: Crawler) -> str:
    """The name by which a group is found: the first word, since lines name no more of it."""
    return crawler.name.split()[0]


def name_by_rfc(crawler: Crawler) -> str | None:
    """What RFC 9309 reads of the name, where that is not all of it; None if it is.

    Empty if it reads no name at all, as of ``360Spider``.
    """
    return None if is_product_token(crawler.token) else token_of(crawler.token)


def _names_of(crawler: Crawler) -> tuple[str, ...]:
    """The names whose groups a crawler takes, in their order; no fallback has one itself."""
    names = (name_in_file(crawler), crawler.fallback.lower())
    return tuple(filter(None, names))


def _access(crawler: Crawler, group: str, verdict: Verdict) -> Access:
    ignores_group = crawler.obeys == OWN_GROUP_ONLY and group in ("", EVERYONE)
    if crawler.obeys == NO or ignores_group:
        return Access.NOT_BOUND
    return Access.ALLOWED if verdict.allowed else Access.DISALLOWED


def _doubts(crawler: Crawler, group: str, verdict: Verdict, access: Access) -> Iterator[str]:
    words = _WORDS_OF_DOUBT.get(crawler.obeys)
    if words is not None:
        yield words
    elif not crawler.is_said("obeys"):
        yield f"that it {_obeys_words(crawler)} is said {crawler.whose_word('obeys')}"
    if access is Access.NOT_BOUND:
        return
    if group == crawler.fallback.lower() != "" and not crawler.is_said("fallback"):
        yield f"that it takes the group of {crawler.fallback} is not documented"
    if crawler.name in _FOLLOWS_OTHERS and group in ("", EVERYONE):
        yield "unnamed, it takes what other search crawlers are given"
    if _has_wildcard(verdict) and crawler.wildcards != YES:
        yield "whether it reads wildcards is unknown"
    if name_by_rfc(crawler) is not None and " " in crawler.token:
        yield f"lines name no more of it than {name_in_file(crawler)}"


def _obeys_words(crawler: Crawler) -> str:
    if crawler.obeys == NO:
        return "does not obey"
    return "ignores the group for *" if crawler.obeys == OWN_GROUP_ONLY else "obeys"


def _has_wildcard(verdict: Verdict) -> bool:
    """Whether the deciding rule means another thing to a crawler that knows no wildcards."""
    if verdict.rule is None:
        return False
    pattern = verdict.rule.path_pattern
    return b"*" in pattern.rstrip(b"*") or pattern.endswith(b"$")


def fallback_crawler(crawler: Crawler) -> Crawler | None:
    """The crawler whose group this one takes, if that is known; None without one."""
    return crawler_of(crawler.fallback) if crawler.fallback else None
