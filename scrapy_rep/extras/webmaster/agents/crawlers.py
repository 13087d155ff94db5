"""Known crawlers as values, by name: the table `crawlers.txt`, for lint and `rep agents`.

Statements of a crawler's operator are kept apart from those of lists: see `Crawler.by`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from pkgutil import get_data

from scrapy_rep.extras.pages.usage.categories import AI_INPUT, POLICY_TOKENS, SEARCH, TRAIN_AI

_LINES = (get_data(__name__, "crawlers.txt") or b"").decode().splitlines()

DATED = re.findall(r"\d{4}-\d\d-\d\d", _LINES[0])[0]
"""The date of the list."""

YES, NO, UNKNOWN = "yes", "no", "unknown"
PARTLY, OWN_GROUP_ONLY = "partly", "own-group-only"
OPERATOR = "operator"
_PURPOSES = {TRAIN_AI: "ai-training", SEARCH: "search", AI_INPUT: "ai-search"}


@dataclass(frozen=True, slots=True)
class Crawler:
    """One crawler.

    Attributes:
        token: the product token in the operator's spelling.
        operator: the company or project that runs it.
        purpose: its purpose, such as ``search`` or ``ai-training``.
        obeys: ``yes``; ``own-group-only`` (it ignores ``*``); ``partly``; ``no``; ``unknown``.
        crawl_delay: whether it obeys Crawl-delay: ``yes``, ``no``, ``unknown``.
        wildcards: whether it supports ``*`` and ``$`` in paths: ``yes``, ``no``, ``unknown``.
        by: the origin of these statements: ``operator``, ``list``, ``memory``.
        seen: the date on which they were read; ``undated``, or empty.
        is_user_triggered: whether it fetches on behalf of a user.
        is_obsolete: whether it is retired or renamed.
        fallback: the token of the group that it takes before ``*``, or empty.
        remembered: the fields that could not be checked.
        other_spellings: headers, old names, variants.
        is_policy: whether the token stands for a use of the content, by any crawler.
    """

    token: str
    operator: str
    purpose: str
    obeys: str
    crawl_delay: str
    wildcards: str
    by: str
    seen: str
    _: KW_ONLY
    is_user_triggered: bool = False
    is_obsolete: bool = False
    fallback: str = ""
    remembered: frozenset[str] = frozenset()
    other_spellings: tuple[str, ...] = ()
    is_policy: bool = False

    @property
    def name(self) -> str:
        """The token in lower case."""
        return self.token.lower()

    def is_said(self, field: str) -> bool:
        """Whether its operator documents a field, in a text that was checked."""
        return self.by == OPERATOR and field not in self.remembered

    def whose_word(self, field: str) -> str:
        """The origin of a field, in words for people."""
        if self.is_said(field):
            return "as its operator documents"
        return "by a list of crawlers" if self.by == "list" else "as far as is known"


def _crawlers() -> Iterator[Crawler]:
    for row in (line for line in _LINES if not line.startswith("#")):
        cells = ["" if cell == "-" else cell for cell in row.split(" | ")]
        *facts, source, flags, fallback, remembered, spellings = cells
        facts += source.partition(" ")[::2]  # by, seen
        yield Crawler(
            *facts,
            is_user_triggered="user-triggered" in flags.split(),
            is_obsolete="obsolete" in flags.split(),
            fallback=fallback,
            remembered=frozenset(remembered.split()),
            other_spellings=tuple(filter(None, spellings.split(", "))),
        )


def _policy_tokens() -> Iterator[Crawler]:
    """Yield the policy tokens, which stand where crawlers' names do."""
    for one in POLICY_TOKENS:
        yield Crawler(
            one.token,
            operator="anyone (policy token)",
            purpose=_PURPOSES[one.category],
            obeys=OWN_GROUP_ONLY,
            crawl_delay=UNKNOWN,
            wildcards=YES,
            by=OPERATOR if one.is_checked else "list",
            seen=one.seen,
            is_policy=True,
        )


CRAWLERS: tuple[Crawler, ...] = (*_crawlers(), *_policy_tokens())

_BY_NAME: dict[str, Crawler] = {
    **{name.lower(): crawler for crawler in CRAWLERS for name in crawler.other_spellings},
    **{crawler.name: crawler for crawler in CRAWLERS},
}


def crawler_of(name: str) -> Crawler | None:
    """The crawler with a name, in any letter case, or None."""
    return _BY_NAME.get(name.lower())


def known_names() -> frozenset[str]:
    """The names of all known crawlers, in lower case, with their other spellings."""
    return frozenset(_BY_NAME)


_AFTER_NAME = re.compile(
    r"\+?https?://\S*|\([^()]*(?:\)|$)|\[[^\[\]]*\]|/\S*|(?<!\S)(?:- )?v?\.?\d[\w.]*(?!\S)",
    re.IGNORECASE,
)
_BETWEEN_NAMES = re.compile(r"[\s,;|&+]+|(?<!\S)-+(?!\S)")
_BOT = re.compile(r"(?!robot)[\w-]{2,}(?:bot|spider|crawler)", re.IGNORECASE)
_SEPARATOR = re.compile(r"[,|]|(?<!&amp);")


def bare_name(text: str) -> str:
    """The value of a user-agent line without versions, addresses and remarks."""
    return " ".join(_AFTER_NAME.sub("", text).split()).strip(",; ")


def other_names(bare: str) -> list[str]:
    """The names after the first one, if the words are names of several crawlers."""
    if crawler_of(bare) is not None:  # Yahoo! Slurp
        return []
    words = [word for word in _BETWEEN_NAMES.split(bare) if word and word.lower() != "and"]
    first, *others = words or [""]
    is_list = _SEPARATOR.search(bare) is not None
    is_bot = first.lower() in _BY_NAME or _BOT.fullmatch(first) is not None
    known = filter(None, map(crawler_of, others))
    has_known = any(not crawler.operator.startswith("anyone") for crawler in known)
    if is_list or has_known or (is_bot and any(map(_BOT.fullmatch, others))):
        return others
    return []
