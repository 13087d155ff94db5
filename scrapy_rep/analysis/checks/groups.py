"""Groups of codes by what they are for: those that everybody wants, and those for the pedantic."""

from __future__ import annotations

from dataclasses import dataclass

from .codes import Code

DEFAULT = "default"
ALL = "all"


@dataclass(frozen=True, slots=True)
class Group:
    """Some codes that are reported only where users ask for them.

    Attributes:
        name: its name, as in ``--select``.
        meaning: what they tell, in one clause.
        codes: they.
    """

    name: str
    meaning: str
    codes: tuple[Code, ...]


PEDANTIC = (
    Group(
        "needless",
        "what could be left out, or written shorter, without any difference",
        (
            *(Code.USER_AGENT_VERSION, Code.DUPLICATE_GROUP, Code.USER_AGENT_REPEATED),
            *(Code.DUPLICATE_RULE, Code.TRAILING_STAR, Code.REPEATED_STAR, Code.SITEMAP_DUPLICATE),
            *(Code.RULE_REDUNDANT, Code.GROUP_LIKE_STAR),
        ),
    ),
    Group(
        "weak",
        "what crawlers read otherwise that do not follow RFC 9309",
        (Code.LOWER_CASE_ESCAPE, Code.LEADING_STAR, Code.ORDER_MATTERS),
    ),
    Group(
        "context",
        "what is right in the file, and good to know of crawlers, pages and sitemaps",
        (
            *(Code.NO_STAR, Code.OWN_TOKEN_ONLY, Code.UNENFORCEABLE, Code.SITEMAP_MISSING),
            *(Code.SITEMAP_CROSS_HOST, Code.SITEMAP_ENDING, Code.CRAWL_DELAY_IGNORED),
            *(Code.HOST_DEPRECATED, Code.BLOCKS_RESOURCES),
        ),
    ),
)

GROUPS: dict[str, frozenset[Code]] = {
    DEFAULT: frozenset(Code) - {code for group in PEDANTIC for code in group.codes},
    ALL: frozenset(Code),
    **{group.name: frozenset(group.codes) for group in PEDANTIC},
}
"""By name. A code that stands in no group above is a default one."""


def group_of(code: Code) -> str:
    """The name of the group that reports a code, `ALL` apart."""
    return next((group.name for group in PEDANTIC if code in group.codes), DEFAULT)
