"""The group that each known crawler obeys, its access to URLs, and how certain that is.

A crawler takes its own group. Otherwise it takes the group of its fallback, as its operator
documents (Applebot takes that of Googlebot), and otherwise the group for ``*``, unless it ignores
this group.

Access is not use: a file may let a crawler fetch a page, and say that the page may not be used for
the crawler's purpose (Content-Signal, Content-Usage).

Cost for each crawler: one reading of the file, linear in its octets, and a verdict for each URL;
for each group, another reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

from scrapy_rep.extras.pages.usage.categories import AI_INPUT, NO_TOKENS, SEARCH, TRAIN_AI
from scrapy_rep.extras.pages.usage.preference import Preference, Statement, UsagePreferences
from scrapy_rep.extras.pages.usage.robots import FileUsage
from scrapy_rep.extras.webmaster.agents.crawlers import (
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

_CATEGORIES = {
    "ai-training": TRAIN_AI,
    "ai-search": AI_INPUT,
    "ai-user-fetch": AI_INPUT,
    "search": SEARCH,
}
"""The use of content that crawlers are for, by their purpose."""
_FOLLOWS_OTHERS = frozenset({"amzn-searchbot"})  # unnamed, it obeys other search bots' rules
_WORDS_OF_DOUBT = {PARTLY: "it obeys only in part", UNKNOWN: "whether it obeys is unknown"}


class Access(Enum):
    """A crawler's access; the value is for people."""

    ALLOWED = "allowed"
    DISALLOWED = "disallowed"
    NOT_BOUND = "not bound"


@dataclass(frozen=True, slots=True)
class Binding:
    """The access of one crawler to one URL according to a file.

    Attributes:
        crawler: the crawler.
        url: the URL, or a path.
        verdict: the verdict of the group that it takes, whether it obeys it or not.
        access: its access.
        group: the name of the group that it takes, in lower case: its own, its fallback's, ``*``;
            empty if the file has no group for it.
        doubts: why this is uncertain, in words; may be empty.
        use: the preference for the use that the crawler is for; unknown without such a use.
        use_by: the statement that decides about this use; None without one.
    """

    crawler: Crawler
    url: str
    verdict: Verdict
    access: Access
    group: str
    doubts: tuple[str, ...]
    use: Preference
    use_by: Statement | None

    @property
    def is_own_group(self) -> bool:
        """Whether the file names the crawler itself."""
        return self.group == name_in_file(self.crawler)

    @property
    def is_permitted(self) -> bool:
        """Whether the file allows the URL to the crawler, which may not obey it."""
        if self.crawler.obeys == NO:
            return self.verdict.allowed
        return self.access is not Access.DISALLOWED

    @property
    def is_fallback(self) -> bool:
        """Whether the crawler takes the group of another name."""
        return self.group not in ("", EVERYONE) and not self.is_own_group


def bindings(
    robots_txt: RobotsTxt, crawlers: Iterable[Crawler], urls: Iterable[str]
) -> Iterator[Binding]:
    """The access of each crawler to each URL; all URLs of one crawler follow each other."""
    wanted = list(urls)
    usages: dict[str, FileUsage] = {}
    for crawler in crawlers:
        names = names_of_groups(crawler)
        selection = robots_txt.selection(names)
        group = selection.product_token
        if group not in usages:
            file = robots_txt.octets, robots_txt.uri
            usages[group] = FileUsage.of(*file, selection, NO_TOKENS)
        for url in wanted:
            verdict = robots_txt.verdict(url, names)
            access = _access(crawler, group, verdict)
            doubts = tuple(_doubts(crawler, group, verdict, access))
            use, use_by = _use(usages[group].preferences(url), crawler)
            yield Binding(crawler, url, verdict, access, group, doubts, use, use_by)


def name_in_file(crawler: Crawler) -> str:
    """The name that finds its group: the first word, since lines name only that."""
    return crawler.name.split()[0]


def name_by_rfc(crawler: Crawler) -> str | None:
    """The part of the name that RFC 9309 reads; None if that is the whole name.

    Empty if it reads no name, as for ``360Spider``.
    """
    return None if is_product_token(crawler.token) else token_of(crawler.token)


def names_of_groups(crawler: Crawler) -> tuple[str, ...]:
    """The names of the groups that a crawler takes, in order; a fallback has no fallback itself."""
    names = (name_in_file(crawler), crawler.fallback.lower())
    return tuple(filter(None, names))


def _use(said: UsagePreferences, crawler: Crawler) -> tuple[Preference, Statement | None]:
    category = _CATEGORIES.get(crawler.purpose)
    if category is None:
        return Preference.UNKNOWN, None
    return said.preference(category), next(iter(said.decided_by(category)), None)


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
        yield "if no group names it, it obeys the rules for other search crawlers"
    if _has_wildcard(verdict) and crawler.wildcards != YES:
        yield "whether it reads wildcards is unknown"
    if name_by_rfc(crawler) is not None and " " in crawler.token:
        yield f"user-agent lines can name it only as {name_in_file(crawler)}"


def _obeys_words(crawler: Crawler) -> str:
    if crawler.obeys == NO:
        return "does not obey"
    return "ignores the group for *" if crawler.obeys == OWN_GROUP_ONLY else "obeys"


def _has_wildcard(verdict: Verdict) -> bool:
    """Whether the deciding rule means something else to crawlers without wildcard support."""
    if verdict.rule is None:
        return False
    pattern = verdict.rule.path_pattern
    return b"*" in pattern.rstrip(b"*") or pattern.endswith(b"$")


def fallback_crawler(crawler: Crawler) -> Crawler | None:
    """The fallback of a crawler, or None."""
    return crawler_of(crawler.fallback) if crawler.fallback else None
