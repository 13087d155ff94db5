"""The table of checks, which the code, the documentation and the command line read.

A code never changes its meaning and is never reused. The hundreds are groups: the answer (0),
octets and the file (1), lines (2), groups and agents (3), rules (4), wildcards and escapes (5),
sitemaps (6), other records (7), effect (8). A row has two parts, in one line or more each:

    I509 [weak] the meaning; E is an error, W a warning, I an info; the group is optional
     changes: the fix, after its effect on verdicts

Fixes that are not known to keep verdicts are marked as changing them. Examples of each code are in
`docs/lint_examples.py`.
"""

from __future__ import annotations

import re
from enum import Enum

DEFAULT = "default"
ALL = "all"
PEDANTIC = {
    "needless": "things that could be left out or written shorter without any difference",
    "weak": "things that crawlers read differently if they do not follow RFC 9309",
    "context": "facts about crawlers, pages and sitemaps that are good to know; nothing is wrong",
}
"""Groups of codes that are reported only if users select them, with their descriptions."""

_SECTIONS = (
    *("The answer", "Octets and the file", "Lines", "Groups and user-agent lines", "Rules"),
    *("Wildcards and escapes", "Sitemaps", "Other records", "Effect"),
)
_ROW = re.compile(
    r"(?P<severity>[EWI])(?P<number>\d{3}) (?:\[(?P<group>\w+)\] )?(?P<meaning>.+?)"
    r" (?P<effect>keeps|formats|changes|outside): (?P<fix>.+)"
)


class Severity(Enum):
    """How serious a finding is; the value is for people."""

    ERROR = "error"
    """The text is not used as written."""
    WARNING = "warning"
    """The text is used, but crawlers differ."""
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
    """Every check, by name; the value is its stable code.

    Attributes:
        severity: how serious a finding is.
        meaning: one sentence without its full stop.
        fix: the fix, in one sentence without its full stop.
        effect: the effect of the fix on verdicts; a finding may have a different one at its place
            (`analysis.mending.Mend`).
        group: the group of codes that must be selected to report it.
        section: its topic, in words.
    """

    _value_: str
    severity: Severity
    meaning: str
    fix: str
    effect: Effect
    group: str
    section: str

    def __new__(cls, row: str) -> Code:  # noqa: PYI034 - Self needs Python 3.11
        """Read a row."""
        found = _ROW.fullmatch(" ".join(row.split()))
        if found is None:
            raise ValueError(f"not a row of the table of checks: {row}")
        code = object.__new__(cls)
        code._value_ = f"REP{found['number']}"
        code.severity = _SEVERITIES[found["severity"]]
        code.meaning, code.fix = found["meaning"], found["fix"]
        code.effect = Effect(found["effect"])
        code.group = found["group"] or DEFAULT
        code.section = _SECTIONS[int(found["number"][0])]
        return code

    # The answer.
    CLIENT_ERROR = """I001 the site answers that there is no file, so everything is allowed
     outside: put a file there that everyone can read, if something should not be crawled"""
    SERVER_ERROR = """E002 the site answers with an error, so nothing may be crawled while it lasts
     outside: answer 200 with the file, or 404 if there is no file"""
    TIMEOUT = """E003 the site does not answer in time, so nothing may be crawled while it lasts
     outside: serve the file as a static one, from the nearest cache"""
    DNS = """E004 the host has no address, so nothing may be crawled while it lasts
     outside: look at the host's name, and at its records in the DNS"""
    TLS = """E005 no secure connection can be made, so nothing may be crawled while it lasts
     outside: look at the certificate: its names, its end, and the chain that is sent with it"""
    NETWORK = """E006 the connection fails or the answer is broken, so nothing may be crawled while
     it lasts
     outside: look at the server's log and its firewall, and at the encoding and length it
     declares"""
    REDIRECT = """I007 the file is reached by a redirect; its rules apply to the host that was
     requested first
     outside: answer with the file itself where that is possible"""
    REDIRECT_CROSS_HOST = """W008 the redirect leads to another host, which some crawlers do not
     follow
     outside: serve the file from the host that its rules are for"""
    REDIRECT_DEAD_END = """E009 the redirects loop, are too many or lead nowhere, which counts as if
     there were no file
     outside: redirect at most five times, and to the file"""
    ODD_STATUS = """W010 the answer is a success, but not a 200; its body is read as the file
     outside: answer 200"""
    MEDIA_TYPE = """W011 the media type is not text/plain, so some crawlers do not read the file
     outside: send Content-Type: text/plain; charset=utf-8"""
    SCHEMES_DIFFER = """W012 the files of http and https differ in effect; each applies only to its
     own scheme
     changes: serve one file for both, or redirect http to https"""
    ODD_CODING = """W013 the body is not encoded as the answer says; as much of it as possible is
     read
     outside: set Content-Encoding to the compression of the file, or omit it, and send the whole
     body"""
    SLOW_ANSWER = """W014 the answer took longer than 5 seconds; some crawlers give up by then, and
     crawl nothing
     outside: serve the file as a static one, from the nearest cache"""
    HTML = """W015 the answer is an HTML page, so there are no rules; some crawlers stay away then
     changes: answer with the file, or 404 if there is no file, but not with a wall or an error
     page"""

    # Octets and the file.
    BOM = """I101 the file begins with a byte order mark, which some crawlers read as part of the
     first key
     keeps: save the file as UTF-8 without a byte order mark"""
    UTF16 = """W102 the file is in UTF-16 instead of UTF-8
     keeps: save the file as UTF-8; to most crawlers it is empty, which permits everything"""
    NOT_UTF8 = """W103 these octets are not UTF-8, so crawlers read other characters
     keeps: save the file as UTF-8"""
    NUL = """E104 a NUL ends the content of its line
     changes: remove the NUL and the rest of its line, which is not read"""
    CR_ONLY = """W105 lines end with CR alone, which some crawlers do not read as a line end
     keeps: end lines with LF or CRLF"""
    PARSE_LIMIT = """E106 the file is larger than the parse limit; the rest of it is ignored
     changes: keep the file below 500 KiB: merge rules with wildcards, or move pages under one
     path"""
    MARKUP = """E107 the file is markup; only lines that read as records count
     changes: serve a plain text file, or answer 404 if there is no file"""
    JSON = """E108 the file is JSON; only lines that read as records count
     changes: serve a plain text file, or answer 404 if there is no file"""
    EMPTY_FILE = """I109 the file is empty, so everything is allowed
     changes: write that explicitly: a group for * with an empty Disallow"""
    NO_GROUPS = """W110 the file has no user-agent line, so it forbids nothing
     changes: begin each group with User-agent"""
    TOO_MANY_RULES = """W111 the file has more than 2,048 rules; Yandex reads no more
     changes: merge rules with wildcards, or move pages under one path"""
    TOO_MANY_FINDINGS = """I112 more lines have this finding; they are not listed
     outside: fix the lines above, and run the checks again"""
    EFFECT_NOT_CHECKED = """I113 the file is too large for all checks of effect (REP8xx); some are
     left out
     changes: make the file smaller"""
    UTF32 = """E114 the file is in UTF-32 instead of UTF-8
     changes: save the file as UTF-8; to most crawlers it is empty, which permits everything"""
    GZIP = """E115 the file is gzip, but no header says so; it is decompressed, which few crawlers
     do
     outside: serve the file as text, or with Content-Encoding: gzip; to most crawlers it is empty,
     which permits everything"""
    GZIP_DAMAGED = """E116 the file begins like gzip, but can't be decompressed; nothing is allowed
     outside: serve the file as text"""
    NOT_TEXT = """E117 much of the file is NUL or other control characters, so most of it is not
     read
     outside: save the file as UTF-8; it may be UTF-16 or UTF-32 without a byte order mark, or no
     text"""

    # Lines.
    MISSING_COLON = """W201 the colon is missing; exactly two words are read as key and value, by
     some crawlers
     keeps: put a colon after the key"""
    NO_RECORD = """E202 the line is not a record and is ignored
     changes: put # in front of it, or write it as 'key: value' if crawlers should read it"""
    UNKNOWN_KEY = """W203 no crawler is known that reads this key; the record is ignored
     keeps: remove the line, or put # in front of it"""
    UNSUPPORTED_KEY = """I204 the key is known, but no crawler of today reads it
     keeps: remove the line, or put # in front of it"""
    MISSPELT_KEY = """W205 the key is misspelt in a way that some crawlers read, and others do not
     keeps: write the key in its usual spelling"""
    NEAR_KEY = """E206 the key is unknown, but similar to a known one; the record is ignored
     changes: write the intended key"""
    KEY_GOES_ON = """W207 the key continues after a known word; Google reads it as that word, others
     do not
     keeps: write only the known word, if it is meant; otherwise remove the line"""
    LINE_TOO_LONG = """E208 the line is longer than 16,663 octets; the rest of it is ignored
     changes: remove the rest, which is not read"""
    INVISIBLE_CHARACTER = """E209 an invisible character is in the key or the value, so crawlers
     read another one
     changes: remove the character, or type the line again"""
    KEY_MISSING = """E210 the line has no key and is ignored
     changes: put # in front of it; if it should be a record, write its key and a colon in front of
     it"""
    SEVERAL_RECORDS = """E211 the line has several records, but crawlers read it as one
     changes: write each record on its own line"""
    LOOK_ALIKE = """E212 a character only looks like the right one, so crawlers don't know the key
     or the value
     changes: type the line again"""
    QUOTED_VALUE = """E213 quotes or angle brackets are around the value; crawlers read them as a
     part of it
     changes: write the value without them"""
    LIST_MARK = """E214 a mark, a number or another colon is in front of the key or the value, so
     crawlers read another one
     changes: remove it"""
    BLANK_BEFORE_END = """E215 a blank is in front of the final $, so the rule is only for paths
     that end with a blank
     changes: remove the blank"""
    FOREIGN_COMMENT = """E216 crawlers don't know this form of a comment; a comment begins with #
     changes: begin the comment with #"""
    WRONG_SEPARATOR = """E217 the colon after the key is missing, or another character is in its
     place
     changes: write a colon after the key"""
    AI_TRAINING_KEY = """E218 Google reads this key as Disallow or Allow, for all purposes; other
     crawlers ignore the line
     changes: remove the line; to keep AI crawlers out, name them in a group with Disallow"""

    # Groups and user-agent lines.
    RULE_BEFORE_GROUP = """E301 a rule before the first user-agent line is ignored
     changes: put a user-agent line in front of it"""
    USER_AGENT_EMPTY = """E302 the user-agent line is empty and names no crawler
     changes: write * for all other crawlers, or the crawler's product token"""
    USER_AGENT_NAMES_NOBODY = """E303 no crawler can have the name in this line
     changes: write the name that the crawler's operator documents, such as Googlebot"""
    USER_AGENT_CUT = """I304 [weak] the name contains a character that product tokens can't contain;
     crawlers that follow RFC 9309 to the letter read only the part before it
     outside: leave it if the crawler's operator documents this name"""
    USER_AGENT_VERSION = """I305 [needless] a version or a comment after the name is ignored
     keeps: write only the product token"""
    USER_AGENT_HEADER = """E306 this is a User-Agent header; only its first word is read, which
     names a browser
     changes: write only the crawler's product token"""
    USER_AGENT_WILDCARD = """W307 * within a name is not a wildcard; the part before it, if any, is
     the name
     keeps: write only the product token, one line for each crawler"""
    USER_AGENT_LIST = """E308 a user-agent line names one crawler; the text after the first name is
     ignored
     changes: write one user-agent line for each crawler, one below the other, and each other record
     on a line of its own"""
    USER_AGENT_NEAR = """W309 no crawler with this name is known, but one with a similar name
     changes: write the name as the crawler's operator spells it, if that crawler is meant"""
    DUPLICATE_GROUP = """I310 [needless] another group of this crawler has the same rules
     formats: put all rules of a crawler into one group, as `scrapy rep format` does"""
    GROUP_SHADOWED = """W311 another group of this crawler is above; they are merged, but some
     crawlers read only one of them
     formats: put all rules of a crawler into one group, as `scrapy rep format` does"""
    MULTIPLE_STAR = """W312 another group for * is above; they are merged, but some crawlers treat
     it as an error
     formats: put all rules for * into one group, as `scrapy rep format` does"""
    USER_AGENT_REPEATED = """I313 [needless] the group names this crawler already
     keeps: remove the line"""
    NO_STAR = """I314 [context] there is no group for *, so crawlers that are not named may fetch
     everything
     keeps: add a group for *, with an empty Disallow if all others may fetch everything"""
    GROUP_WITHOUT_RULES = """W315 the last group has no rule, so the crawlers that it names may
     fetch everything
     keeps: write an empty Disallow below it, or the intended rules"""
    BLANK_LINE_INSIDE = """W316 a blank line within a group ends it for some crawlers
     keeps: remove the blank line"""
    RECORD_SPLITS_GROUP = """W317 a record that is not a rule is between user-agent lines; for many
     crawlers it ends the group, so that the crawlers above it get no rules
     keeps: put it below the user-agent lines"""
    OWN_TOKEN_ONLY = """I318 [context] some crawlers obey only groups that name them, not the one
     for *, and the file does not name these crawlers
     changes: name each of them in the group that it should obey"""  # noqa: S105 - no password
    UNENFORCEABLE = """I319 [context] this crawler may ignore robots.txt, or obey it only sometimes
     outside: block it at the server if it has to stay out"""
    GROUP_SWALLOWED = """E320 this crawler gets the rules of the next group, since there is no rule
     below its own user-agent line
     changes: write an empty Disallow below it, or its own rules; leave it if the next group is for
     it"""
    USER_AGENT_NO_CRAWLER = """W321 no crawler has this name, which is that of an operator or a
     product, or an everyday word
     changes: write the names of the crawlers that are meant, one line for each, or * for all
     others"""
    USER_AGENT_WORDS = """I322 crawlers read only the first word of a user-agent line
     outside: leave it if the first word is the name that the crawler looks for; otherwise write
     that name"""
    POLICY_TOKEN_UNKNOWN = """I323 the name begins as policy tokens do, but no such token is known,
     so it has no effect
     changes: write a known policy token"""  # noqa: S105 - no password

    # Rules.
    RULE_MATCHES_NOTHING = """E401 a path pattern begins with neither '/' nor '*' and matches
     nothing
     changes: put a / in front of it"""
    FULL_URL = """E402 a path pattern is a path, not a URL; this one matches nothing
     changes: write only the path; other hosts have files of their own"""
    SPACE_IN_PATH = """W403 the path contains white space, which some crawlers read as its end
     keeps: write %20"""
    SEVERAL_PATHS = """E404 a rule has one path; this is read as one path with a blank or a comma
     changes: write one rule for each path"""
    FRAGMENT = """W405 # begins a comment, also within a path; the rest of the line is ignored
     keeps: put a blank in front of a comment; clients never send the # of a URL and what follows
     it"""
    DUPLICATE_RULE = """I406 [needless] the group has the same rule above
     keeps: remove the line"""
    TIE = """W407 the group allows and disallows the same path; allow decides, but not for all
     crawlers
     changes: remove the wrong one; without the Allow, the path is disallowed"""
    EMPTY_ALLOW = """W408 an empty Allow has no effect; it neither allows nor forbids
     keeps: remove the line"""
    EMPTY_BESIDE_RULES = """W409 an empty Disallow next to other rules has no effect, but some
     crawlers read it as 'everything is allowed'
     keeps: remove the line"""
    RULE_TOO_LONG = """W410 the path is longer than 1,024 octets; Yandex does not read it
     changes: shorten the path, with * instead of its end"""
    BACKSLASH = """W411 a backslash does not separate parts of a path; clients send / or %5C instead
     changes: write /"""
    DOT_SEGMENTS = """W412 clients resolve '.' and '..' before they send a request, so no request
     contains them
     changes: write the path as clients request it"""
    DISALLOW_ALL = """I413 crawlers that no group names may fetch nothing, or only what an Allow
     permits, and that includes search engines
     outside: make sure that this is intended"""
    BLOCKS_ROBOTS = """I414 /robots.txt itself is always allowed, whatever a rule says
     changes: remove the line; paths that only begin like that, if there are any, are allowed
     then"""
    INVISIBLE_IN_PATH = """W415 the path contains an invisible character
     changes: remove it, or write it as a percent-escape if it is intended"""
    SEARCH_ENGINE_DISALLOWED = """W416 this group bans a big search engine from the whole site
     outside: make sure that this is intended; the site disappears from its results"""
    NOT_UTF8_PATH = """E417 the path is not in UTF-8, but clients send UTF-8, so the rule does not
     match their requests
     changes: save the file as UTF-8, or write the characters as percent-escapes of UTF-8"""
    HTML_ENTITY = """W418 &amp; is the form of & in HTML; the URLs that clients send contain & alone
     changes: write & alone"""

    # Wildcards and escapes.
    DOLLAR_NOT_LAST = """W501 $ means the end of the path only as the last character; here it is an
     ordinary character
     keeps: write %24 if the character is meant"""
    BAD_ESCAPE = """W502 % without two hexadecimal digits is not an escape; it is read as %25, and
     as the beginning of any escape
     changes: write %25 for the character itself, or complete escapes"""
    NOT_ASCII = """W503 crawlers differ in how they compare characters that are not ASCII
     keeps: write them as percent-escapes of UTF-8"""
    TRAILING_STAR = """I504 [needless] a rule matches any rest of a path, so * at its end only makes
     it one octet longer
     keeps: remove the *"""
    REPEATED_STAR = """I505 [needless] several * in a row match no more than a single one
     keeps: write one *"""
    NEEDLESS_ESCAPE = """W506 this escape equals its character, but not for crawlers that compare
     octets
     keeps: write the character itself"""
    LOWER_CASE_ESCAPE = """I507 [weak] escapes in lower case equal those in upper case, but not for
     all crawlers
     keeps: write the digits in upper case"""
    REGULAR_EXPRESSION = """W508 a path pattern is no regular expression: it supports * and a final
     $, and nothing else
     changes: write it with * and $, or as several rules"""
    LEADING_STAR = """I509 [weak] crawlers that do not support wildcards ignore a rule that begins
     with *
     changes: put / in front of the * if the rule is not for the top of the site"""
    ESCAPED_SLASH = """I510 an escaped / or ? in a path is not a separator, and does not equal the
     character
     changes: write the character if it should be a separator"""
    MANY_WILDCARDS = """W511 the file has more than 2,000 rules with wildcards; a URL that nearly
     matches too many of them is disallowed, since a decision would take too long
     changes: merge rules with wildcards, or write paths without them"""

    # Sitemaps.
    SITEMAP_RELATIVE = """W601 the sitemap's address is relative; it is resolved against this file's
     keeps: write the whole URL"""
    SITEMAP_LEFT_OUT = """E602 the sitemap's address is not an http(s) URL
     changes: write a whole URL, with its host"""
    SITEMAP_SCHEME = """E603 sitemaps are read over http and https only
     changes: write an http or https URL"""
    SITEMAP_EMPTY = """E604 the Sitemap line is empty
     changes: write the whole URL, or remove the line"""
    SITEMAP_MISSING = """I605 [context] the file names no sitemap
     outside: add a Sitemap line if there is one"""
    SITEMAP_CROSS_HOST = """I606 [context] the sitemap is on another host; crawlers accept that only
     if this file names it
     outside: make sure that the host is the right one"""
    SITEMAP_DISALLOWED = """W607 the group for * disallows this sitemap, so crawlers that are not
     named can't read it
     changes: allow the sitemap's path"""
    SITEMAP_DUPLICATE = """I608 [needless] the file names this sitemap already
     keeps: remove the line"""
    SITEMAP_ENDING = """I609 [context] the sitemap's address is a folder, or has an unusual ending
     outside: make sure that a sitemap is there"""
    SITEMAP_QUOTED = """W610 the sitemap's address is in quotes or angle brackets
     keeps: write the URL without them"""
    SITEMAP_SEVERAL = """W611 the line names several sitemaps, which many crawlers read as one
     keeps: write a line for each"""
    SITEMAP_NO_SCHEME = """W612 the sitemap's address has no scheme; it gets the scheme of this file
     keeps: write the whole URL"""
    SITEMAP_BAD_SCHEME = """E613 the scheme of the sitemap's address is misspelt
     changes: begin it with https://"""
    SITEMAP_BLANK = """W614 the sitemap's address contains a blank, which some crawlers read as its
     end
     outside: write %20 if the blank belongs to the address; otherwise remove it"""
    SITEMAP_NOT_PUBLIC = """W615 crawlers can't reach the sitemap: its host is private, reserved, or
     a placeholder
     outside: write the URL of the public site"""

    # Other records.
    VALUE_UNREADABLE = """E701 the value can't be read; the record is ignored
     changes: write a number of seconds for Crawl-delay, n/m for Request-rate, hhmm-hhmm for
     Visit-time"""
    CRAWL_DELAY_COMMA = """W702 a comma is read as the decimal point
     keeps: write a point"""
    CRAWL_DELAY_DUPLICATE = """W703 the user-agent lines have another Crawl-delay; the largest one
     counts, but not for all crawlers
     keeps: keep one"""
    CRAWL_DELAY_HUGE = """W704 the delay is more than 30 seconds; many crawlers shorten it, or skip
     the site
     changes: write 30 or less, and disallow what should not be crawled"""
    CRAWL_DELAY_IGNORED = """I705 [context] a crawler that this group names ignores Crawl-delay
     outside: set its rate in the operator's tools, or answer 429 or 503 to excess requests"""
    RECORD_BEFORE_GROUP = """E706 the record belongs to a group, but is before the first one, so it
     is ignored
     changes: put it into a group, below the rules"""
    CLEAN_PARAM_FORMAT = """E707 a Clean-param has names of parameters with & between them, and
     optionally a path
     changes: write 'Clean-param: sid&ref /path'"""
    HOST_DEPRECATED = """I708 [context] no crawler reads Host any more; Yandex requires redirects
     instead
     outside: redirect (301) to the main host, and remove the line"""
    NOINDEX_UNSUPPORTED = """E709 robots.txt can't keep pages out of an index; Google ended its
     support in 2019
     changes: send X-Robots-Tag: noindex, or put it into the page, and do not disallow the page"""
    SIGNAL_SYNTAX = """E710 a part of the Content-Signal is ignored: its form is an optional path,
     then a list of search, ai-input or ai-train = yes or no, or use = immediate, reference or full
     changes: write it in this form, for example 'Content-Signal: search=yes, ai-train=no'"""
    SIGNAL_CONTRADICTS = """W711 the signal permits a use of pages that the same group disallows
     changes: allow the pages, or say no"""
    LICENSE_INVALID = """E712 a License must be the whole URL of a licence
     outside: write the whole URL"""
    LICENSE_DISALLOWED = """W713 the group for * disallows the licence, so crawlers that are not
     named can't read it
     changes: allow its path"""
    USAGE_SYNTAX = """E714 a part of the Content-Usage is ignored: its form is an optional path,
     then train-ai or search = y or n, in lower case
     changes: write it in this form, for example 'Content-Usage: train-ai=n' or 'Content-Usage:
     /path train-ai=n'"""
    USAGE_CONFLICT = """W715 another Content-Usage of the group differs for the same path; the most
     restrictive one counts
     changes: keep one"""
    CLEAN_PARAM_TOO_LONG = """W716 the Clean-param is longer than 500 characters, which is more than
     Yandex reads
     outside: write several, with some of the parameters each"""
    SIGNAL_BEFORE_GROUP = """W719 the Content-Signal is before the first group, so it belongs to no
     group: at most its no counts
     changes: put it into a group, below the rules"""
    SIGNAL_SPELLING = """W720 the Content-Signal is spelled unusually: some crawlers understand it,
     and others do not
     changes: write it with = and commas, for example 'search=yes, ai-train=no'"""
    USAGE_LETTER_CASE = """E721 a Content-Usage is case-sensitive, so this has no effect, or less
     than it seems to
     changes: write train-ai, search, y and n in lower case"""
    USAGE_FOREIGN_WORDS = """E722 the words belong to Content-Signal; in a Content-Usage they are
     ignored
     changes: write train-ai for ai-train, y for yes and n for no"""
    USAGE_UNKNOWN_LABEL = """I723 crawlers ignore labels of a Content-Usage that they do not know;
     they know train-ai and search
     outside: write one of these if it is meant; otherwise leave it"""
    SIGNAL_CONFLICT = """W724 another Content-Signal for the same crawlers and path differs; a CDN
     may have added it above the file; for each use, the more restrictive signal counts
     changes: keep one"""

    # Effect.
    RULE_SHADOWED = """W801 the rule can never decide: wherever it matches, a more specific rule
     matches too
     keeps: remove the rule"""
    RULE_REDUNDANT = """I802 [needless] the rule has no effect: without it, every path gets the same
     verdict
     keeps: remove the rule"""
    BLOCKS_RESOURCES = """I803 [context] the rule seems to be for style sheets or scripts, without
     which crawlers can't see pages as people do
     changes: allow style sheets and scripts that pages need"""
    BLOCKS_SITEMAP = """W804 the rule stops its crawler from fetching a sitemap of this file
     changes: allow the sitemap's path"""
    GROUP_LIKE_STAR = """I805 [needless] the group has the same rules as the one for *, so the
     crawlers that it names need no group of their own
     formats: name the crawler in the group for *, as `scrapy rep format` does"""
    ORDER_MATTERS = """I806 [weak] a shorter rule above matches the same paths; the longer one
     decides, but not for crawlers that take the first match
     keeps: put the longer rule first"""

    @property
    def slug(self) -> str:
        """The name as people write it: ``rule-before-group``."""
        return self.name.lower().replace("_", "-")


GROUPS: dict[str, frozenset[Code]] = {
    ALL: frozenset(Code),
    **{
        name: frozenset(code for code in Code if code.group == name)
        for name in (DEFAULT, *PEDANTIC)
    },
}
"""The codes of each group, by the group's name."""
