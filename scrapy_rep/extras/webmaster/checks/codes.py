"""The codes of lint, which the checks, the documentation and the command line read.

A code never changes its meaning and is never reused. The hundreds are groups: the answer (0),
octets and the file (1), lines (2), groups and agents (3), rules (4), wildcards and escapes (5),
sitemaps (6), other records (7), effect (8). `codes.txt` has two lines for each code:

    REP509 I [style] the meaning; E is an error, W a warning, I an info; the group is left out if
    it is syntax
     changes: the fix, after its effect on verdicts

Fixes that are not known to keep verdicts are marked as changing them. Examples of each code are in
`docs/lint_examples.py`.
"""

from __future__ import annotations

import re
from enum import Enum
from pkgutil import get_data

DEFAULT = "default"
ALL = "all"
SYNTAX, STYLE = "syntax", "style"
MEANINGS = {
    "search": "what keeps search engines from pages, or from what they need to read them",
    "ai": "what takes away control of the use of pages for AI",
    SYNTAX: "what crawlers read in another way than it was meant, or do not read",
    STYLE: "what could be left out or written for weaker crawlers too, and facts that are good to "
    "know; nothing is wrong",
}
"""The groups of codes, with their descriptions; the last one is off by default."""

_SECTIONS = (
    *("The answer", "Octets and the file", "Lines", "Groups and user-agent lines", "Rules"),
    *("Wildcards and escapes", "Sitemaps", "Other records", "Effect"),
)
_ROW = re.compile(
    r"^(?P<code>REP\d{3}) (?P<severity>[EWI]) (?:\[(?P<group>\w+)\] )?(?P<meaning>.+)\n"
    r" (?P<effect>\w+): (?P<fix>.+)$",
    re.MULTILINE,
)
_ROWS = {
    row["code"]: row for row in _ROW.finditer((get_data(__name__, "codes.txt") or b"").decode())
}


class Severity(Enum):
    """How serious a finding is; the value is for people."""

    ERROR = "error"
    """The text is not used as written."""
    WARNING = "warning"
    """The text is used, but crawlers differ, or it may harm the site."""
    INFO = "info"
    """Good to know."""


class Effect(Enum):
    """The effect of a fix; the value is for programs."""

    KEEPS = "keeps"
    """A safe fix: every verdict stays the same. `lint --fix` applies it."""
    FORMATS = "formats"
    """Every verdict stays the same. `scrapy rep format` applies it."""
    CHANGES = "changes"
    """Verdicts may change, perhaps as the author wants. If a program can make it, it is an unsafe
    fix, which `lint --fix --unsafe-fixes` applies."""
    OUTSIDE = "outside"
    """Nothing changes in the file: it takes a decision, or a change elsewhere."""


_SEVERITIES = {severity.name[0]: severity for severity in Severity}


class Code(Enum):
    """Every check, by name; the value is its stable code, and the rest is in `codes.txt`.

    Attributes:
        severity: how serious a finding is.
        meaning: one sentence without its full stop.
        fix: the fix, in one sentence without its full stop.
        effect: the effect of the fix on verdicts; a finding may have a different one at its place
            (`analysis.mending.Mend`).
        group: its group, one of `MEANINGS`.
        section: its topic, in words.
    """

    _value_: str
    severity: Severity
    meaning: str
    fix: str
    effect: Effect
    group: str
    section: str

    def __new__(cls, value: str) -> Code:  # noqa: PYI034 - Self needs Python 3.11
        """Take the row of a code."""
        row = _ROWS[value]
        code = object.__new__(cls)
        code._value_ = value
        code.severity = _SEVERITIES[row["severity"]]
        code.meaning, code.fix = row["meaning"], row["fix"]
        code.effect = Effect(row["effect"])
        code.group = row["group"] or SYNTAX
        code.section = _SECTIONS[int(value[3])]
        return code

    # The answer.
    CLIENT_ERROR = "REP001"
    SERVER_ERROR = "REP002"
    TIMEOUT = "REP003"
    DNS = "REP004"
    TLS = "REP005"
    NETWORK = "REP006"
    REDIRECT = "REP007"
    REDIRECT_CROSS_HOST = "REP008"
    REDIRECT_DEAD_END = "REP009"
    ODD_STATUS = "REP010"
    MEDIA_TYPE = "REP011"
    SCHEMES_DIFFER = "REP012"
    ODD_CODING = "REP013"
    SLOW_ANSWER = "REP014"
    HTML = "REP015"

    # Octets and the file.
    BOM = "REP101"
    UTF16 = "REP102"
    NOT_UTF8 = "REP103"
    NUL = "REP104"
    CR_ONLY = "REP105"
    PARSE_LIMIT = "REP106"
    MARKUP = "REP107"
    JSON = "REP108"
    EMPTY_FILE = "REP109"
    NO_GROUPS = "REP110"
    TOO_MANY_RULES = "REP111"
    TOO_MANY_FINDINGS = "REP112"
    EFFECT_NOT_CHECKED = "REP113"
    UTF32 = "REP114"
    GZIP = "REP115"
    GZIP_DAMAGED = "REP116"
    NOT_TEXT = "REP117"
    PAGE_SOURCE = "REP118"

    # Lines.
    MISSING_COLON = "REP201"
    NO_RECORD = "REP202"
    UNKNOWN_KEY = "REP203"
    UNSUPPORTED_KEY = "REP204"
    MISSPELT_KEY = "REP205"
    NEAR_KEY = "REP206"
    KEY_GOES_ON = "REP207"
    LINE_TOO_LONG = "REP208"
    INVISIBLE_CHARACTER = "REP209"
    KEY_MISSING = "REP210"
    SEVERAL_RECORDS = "REP211"
    LOOK_ALIKE = "REP212"
    QUOTED_VALUE = "REP213"
    LIST_MARK = "REP214"
    FOREIGN_COMMENT = "REP216"
    WRONG_SEPARATOR = "REP217"
    AI_TRAINING_KEY = "REP218"

    # Groups and user-agent lines.
    RULE_BEFORE_GROUP = "REP301"
    USER_AGENT_EMPTY = "REP302"
    USER_AGENT_NAMES_NOBODY = "REP303"
    USER_AGENT_CUT = "REP304"
    USER_AGENT_VERSION = "REP305"
    USER_AGENT_HEADER = "REP306"
    USER_AGENT_WILDCARD = "REP307"
    USER_AGENT_LIST = "REP308"
    USER_AGENT_NEAR = "REP309"
    DUPLICATE_GROUP = "REP310"
    GROUP_SHADOWED = "REP311"
    MULTIPLE_STAR = "REP312"
    USER_AGENT_REPEATED = "REP313"
    NO_STAR = "REP314"
    GROUP_WITHOUT_RULES = "REP315"
    BLANK_LINE_INSIDE = "REP316"
    RECORD_SPLITS_GROUP = "REP317"
    OWN_TOKEN_ONLY = "REP318"  # noqa: S105 - no password
    UNENFORCEABLE = "REP319"
    GROUP_SWALLOWED = "REP320"
    USER_AGENT_NO_CRAWLER = "REP321"
    USER_AGENT_WORDS = "REP322"
    POLICY_TOKEN_UNKNOWN = "REP323"  # noqa: S105 - no password
    GROUP_JOINS_STAR = "REP324"

    # Rules.
    RULE_MATCHES_NOTHING = "REP401"
    FULL_URL = "REP402"
    SPACE_IN_PATH = "REP403"
    SEVERAL_PATHS = "REP404"
    FRAGMENT = "REP405"
    DUPLICATE_RULE = "REP406"
    TIE = "REP407"
    EMPTY_ALLOW = "REP408"
    EMPTY_BESIDE_RULES = "REP409"
    BACKSLASH = "REP411"
    DOT_SEGMENTS = "REP412"
    DISALLOW_ALL = "REP413"
    BLOCKS_ROBOTS = "REP414"
    INVISIBLE_IN_PATH = "REP415"
    SEARCH_ENGINE_DISALLOWED = "REP416"
    NOT_UTF8_PATH = "REP417"
    HTML_ENTITY = "REP418"
    ENCODED_TWICE = "REP419"
    HOST_IN_PATH = "REP420"
    DOUBLE_SLASH = "REP421"

    # Wildcards and escapes.
    DOLLAR_NOT_LAST = "REP501"
    BAD_ESCAPE = "REP502"
    NOT_ASCII = "REP503"
    TRAILING_STAR = "REP504"
    REPEATED_STAR = "REP505"
    NEEDLESS_ESCAPE = "REP506"
    LOWER_CASE_ESCAPE = "REP507"
    REGULAR_EXPRESSION = "REP508"
    LEADING_STAR = "REP509"
    MANY_WILDCARDS = "REP511"

    # Sitemaps.
    SITEMAP_RELATIVE = "REP601"
    SITEMAP_LEFT_OUT = "REP602"
    SITEMAP_SCHEME = "REP603"
    SITEMAP_EMPTY = "REP604"
    SITEMAP_MISSING = "REP605"
    SITEMAP_CROSS_HOST = "REP606"
    SITEMAP_DISALLOWED = "REP607"
    SITEMAP_DUPLICATE = "REP608"
    SITEMAP_ENDING = "REP609"
    SITEMAP_QUOTED = "REP610"
    SITEMAP_SEVERAL = "REP611"
    SITEMAP_NO_SCHEME = "REP612"
    SITEMAP_BAD_SCHEME = "REP613"
    SITEMAP_BLANK = "REP614"
    SITEMAP_NOT_PUBLIC = "REP615"

    # Other records.
    VALUE_UNREADABLE = "REP701"
    CRAWL_DELAY_COMMA = "REP702"
    CRAWL_DELAY_DUPLICATE = "REP703"
    CRAWL_DELAY_HUGE = "REP704"
    CRAWL_DELAY_IGNORED = "REP705"
    RECORD_BEFORE_GROUP = "REP706"
    CLEAN_PARAM_FORMAT = "REP707"
    HOST_DEPRECATED = "REP708"
    NOINDEX_UNSUPPORTED = "REP709"
    SIGNAL_SYNTAX = "REP710"
    LICENSE_INVALID = "REP712"
    USAGE_SYNTAX = "REP714"
    USAGE_CONFLICT = "REP715"
    SIGNAL_BEFORE_GROUP = "REP719"
    SIGNAL_SPELLING = "REP720"
    USAGE_LETTER_CASE = "REP721"
    USAGE_FOREIGN_WORDS = "REP722"
    USAGE_UNKNOWN_LABEL = "REP723"
    SIGNAL_CONFLICT = "REP724"

    # Effect.
    RULE_SHADOWED = "REP801"
    RULE_REDUNDANT = "REP802"
    BLOCKS_RESOURCES = "REP803"
    BLOCKS_SITEMAP = "REP804"
    GROUP_LIKE_STAR = "REP805"
    ORDER_MATTERS = "REP806"
    GROUP_IGNORES_STAR = "REP807"
    ALLOW_OUTRANKED = "REP808"

    @property
    def is_default(self) -> bool:
        """Whether it is reported if users select nothing."""
        return self.group != STYLE

    @property
    def slug(self) -> str:
        """The name as people write it: ``rule-before-group``."""
        return self.name.lower().replace("_", "-")


GROUPS: dict[str, frozenset[Code]] = {
    ALL: frozenset(Code),
    DEFAULT: frozenset(code for code in Code if code.is_default),
    **{name: frozenset(code for code in Code if code.group == name) for name in MEANINGS},
}
"""The codes of each group, by the group's name; and of all groups, and those on by default."""
