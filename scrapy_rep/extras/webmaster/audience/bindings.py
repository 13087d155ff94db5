"""The group that each known crawler obeys, its access to URLs, and how certain that is.

A crawler takes its own group. Otherwise it takes the group of its fallback, as its operator
documents (Applebot takes that of Googlebot), and otherwise the group for ``*``, unless it ignores
this group.

Access is not use: a file may let a crawler fetch a page, and say that the page may not be used for
the crawler's purpose (Content-Signal, Content-Usage).

There are four signs that a file bans a crawler by accident: its user-agent line gets the rules of
the next group; the group that bans it is for another operator's crawler; a name that differs from
its own by one typing mistake is allowed; its groups are merged, but one of them alone would allow
it.

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
from scrapy_rep.extras.webmaster.linting.crawler_names import nearly
from scrapy_rep.extras.webmaster.linting.swallowed import swallowed
from scrapy_rep.extras.webmaster.outline import Block, Outline, name_of
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.tokens import EVERYONE, is_name, is_product_token, token_of
from scrapy_rep.protocol.verdict import Reason, Verdict, shown

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


@dataclass(frozen=True, slots=True)
class Accident:
    """A crawler that seems to be banned by accident.

    Attributes:
        binding: its access according to the file.
        sign: ``swallowed``, ``fallback``, ``misspelt`` or ``merged``.
        words: an explanation for people.
    """

    binding: Binding
    sign: str
    words: str


class Accidents:
    """The accidents of one file."""

    def __init__(self, robots_txt: RobotsTxt, outlined: Outline) -> None:
        self._robots_txt = robots_txt
        self._outline = outlined
        self._swallowed = {name_of(one.agent.value): one for one in swallowed(outlined)}
        self._slips: dict[str, str] = {}  # misspelt names in the file, by the crawler's name
        for name in outlined.by_name:
            meant = nearly(name) if name != EVERYONE else None
            if meant is not None:
                self._slips.setdefault(meant, name)

    def among(self, found: Iterable[Binding]) -> Iterator[Accident]:
        """The accidents among some bindings, each with its first sign."""
        for binding in found:
            if binding.access is not Access.DISALLOWED or binding.crawler.is_obsolete:
                continue
            signs = (
                ("swallowed", self._swallowed_words(binding)),
                ("fallback", self._fallback_words(binding)),
                ("misspelt", self._slip_words(binding)),
                ("merged", self._merged_words(binding)),
            )
            told = next(((sign, words) for sign, words in signs if words), None)
            if told is not None:
                yield Accident(binding, *told)

    def _swallowed_words(self, binding: Binding) -> str:
        one = self._swallowed.get(binding.group)
        if one is None or not any(
            binding.verdict.line in (rule.number for rule in block.rules)
            for block in self._blocks_of(binding.group)
            if one.agent in block.agents
        ):
            return ""
        return (
            f"line {one.agent.number} ({shown(one.agent.value)}) has no rules of its own, so it "
            f"gets those of the next group (line {one.rule.number}: "
            f"{shown(one.rule.octets.strip())})"
        )

    def _fallback_words(self, binding: Binding) -> str:
        """The ban of a fallback counts if the file would otherwise allow the crawler."""
        other = fallback_crawler(binding.crawler)
        if not binding.is_fallback or other is None:
            return ""
        is_others = other.operator != binding.crawler.operator or other.is_obsolete
        if not is_others or not self._robots_txt.verdict(binding.url, EVERYONE).allowed:
            return ""
        return (
            f"no group names it, so it obeys the group of {other.token} "
            f"(line {binding.verdict.line}: {binding.verdict.rule})"
        )

    def _slip_words(self, binding: Binding) -> str:
        slip = self._slips.get(binding.crawler.name)
        if slip is None or binding.is_own_group or not is_name(slip):
            return ""
        if not self._robots_txt.verdict(binding.url, slip).allowed:
            return ""
        lines = (line for block in self._blocks_of(slip) for line in block.agents)
        line = next(line for line in lines if name_of(line.value) == slip)
        return f"line {line.number} allows {shown(line.value)}, which is one slip from its name"

    def _merged_words(self, binding: Binding) -> str:
        blocks = self._blocks_of(binding.group)
        if not binding.is_own_group or len(blocks) < 2:  # noqa: PLR2004 - several
            return ""
        for block in blocks:
            if self._allows_alone(block, binding):
                number = block.agents[0].number
                return f"its groups are merged: the one of line {number} alone allows it"
        return ""

    def _allows_alone(self, block: Block, binding: Binding) -> bool:
        """Whether a rule of this group, and not a missing rule, allows the crawler to fetch."""
        name = name_in_file(binding.crawler)
        lines = [f"User-agent: {name}".encode(), *(line.octets for line in block.rules)]
        verdict = parse(b"\n".join(lines)).verdict(binding.url, name)
        return verdict.allowed and verdict.reason in (Reason.RULE, Reason.EMPTY_RULE)

    def _blocks_of(self, name: str) -> list[Block]:
        return [self._outline.blocks[place] for place in self._outline.by_name.get(name, ())]
