"""What following the advice of each check does to verdicts: advice that changes one says so."""

from __future__ import annotations

from enum import Enum

from .codes import Code


class Effect(Enum):
    """What a fix does; the value is said to programs."""

    KEEPS = "keeps"
    """Every verdict stays. `lint --fix` does it, and tests prove it over real files."""
    FORMATS = "formats"
    """Every verdict stays. `scrapy rep format` does it."""
    CHANGES = "changes"
    """Verdicts may change, which may be what the author wants."""
    OUTSIDE = "outside"
    """Nothing changes in the file: something is to be decided, or done elsewhere."""


_KEEPS = (
    *(Code.BOM, Code.UTF16, Code.NOT_UTF8, Code.NUL, Code.CR_ONLY),
    *(Code.MISSING_COLON, Code.NO_RECORD, Code.UNKNOWN_KEY, Code.UNSUPPORTED_KEY),
    *(Code.MISSPELT_KEY, Code.KEY_GOES_ON, Code.LINE_TOO_LONG, Code.KEY_MISSING),
    *(Code.USER_AGENT_VERSION, Code.USER_AGENT_WILDCARD, Code.USER_AGENT_REPEATED),
    *(Code.NO_STAR, Code.GROUP_WITHOUT_RULES, Code.BLANK_LINE_INSIDE, Code.RECORD_SPLITS_GROUP),
    *(Code.SPACE_IN_PATH, Code.FRAGMENT, Code.DUPLICATE_RULE, Code.EMPTY_ALLOW),
    *(Code.EMPTY_BESIDE_RULES, Code.DOLLAR_NOT_LAST, Code.NOT_ASCII),
    *(Code.TRAILING_STAR, Code.REPEATED_STAR, Code.NEEDLESS_ESCAPE, Code.LOWER_CASE_ESCAPE),
    *(Code.SITEMAP_RELATIVE, Code.SITEMAP_EMPTY, Code.SITEMAP_DUPLICATE),
    *(Code.CRAWL_DELAY_COMMA, Code.CRAWL_DELAY_DUPLICATE),
    *(Code.RULE_SHADOWED, Code.RULE_REDUNDANT, Code.ORDER_MATTERS),
)
_FORMATS = (
    *(Code.DUPLICATE_GROUP, Code.GROUP_SHADOWED, Code.MULTIPLE_STAR, Code.GROUP_LIKE_STAR),
    *(Code.SITEMAP_QUOTED, Code.SITEMAP_SEVERAL, Code.SITEMAP_NO_SCHEME),
)
_OUTSIDE = (
    *(Code.CLIENT_ERROR, Code.SERVER_ERROR, Code.TIMEOUT, Code.DNS, Code.TLS, Code.NETWORK),
    *(Code.REDIRECT, Code.REDIRECT_CROSS_HOST, Code.REDIRECT_DEAD_END, Code.ODD_STATUS),
    *(
        Code.MEDIA_TYPE,
        Code.ODD_CODING,
        Code.GZIP,
        Code.GZIP_DAMAGED,
        Code.SLOW_ANSWER,
        Code.TOO_MANY_FINDINGS,
        Code.USER_AGENT_CUT,
    ),
    *(Code.UNENFORCEABLE, Code.DISALLOW_ALL, Code.SITEMAP_MISSING, Code.SITEMAP_CROSS_HOST),
    *(Code.CRAWL_DELAY_IGNORED, Code.HOST_DEPRECATED, Code.LICENSE_INVALID),
    *(Code.SITEMAP_ENDING, Code.CLEAN_PARAM_TOO_LONG, Code.HOST_DUPLICATE, Code.HOST_FORMAT),
)

EFFECTS: dict[Code, Effect] = {
    **dict.fromkeys(Code, Effect.CHANGES),
    **dict.fromkeys(_KEEPS, Effect.KEEPS),
    **dict.fromkeys(_FORMATS, Effect.FORMATS),
    **dict.fromkeys(_OUTSIDE, Effect.OUTSIDE),
}
"""By code; a finding may say otherwise of its own place (`analysis.mending.Mend`).

What stands in no list above counts as a change, so a new code promises nothing by default.
"""
