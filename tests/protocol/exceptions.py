"""Where we read a file differently from a suite, each with the clause of semantics.md that says so.

The one list of them. A test demands that each case listed really differs, so none can go stale,
and that nothing else does.
"""

from __future__ import annotations

from enum import Enum


class Clause(Enum):
    """A reading that a suite does not share; the value is the clause of semantics.md."""

    COLON_FIRST = "1: the first colon of a line divides key and value"
    TWO_WORDS = "1: without a colon, exactly two words are key and value"
    KEY_PREFIX = "1: a key that starts with `user-agent` or `sitemap` is that key"
    TYPOS = "1: only the misspellings that Google's code accepts are accepted"
    OCTETS = "1: the input is octets; markup is not stripped"
    GROUP_ENDS_AT_RULE = "2: only a user-agent line after a rule starts the next group"
    LINE_TOKEN = "2: a user-agent line names one product token, the run at its start"
    EQUAL_TOKENS = "2: our token equals the line's: no prefix, no substring"
    OTHER_CHARACTERS = "2: a name that is no product token is compared with the first word"
    NO_NAME = "2: a crawler whose name is none has the `*` group"
    FIRST_TOKEN_DECIDES = "2: of several tokens the first that has a group decides, alone"
    NORMAL_FORM = "3: rules and URLs alike are compared in normal form"
    ROBOTS_TXT = "3: /robots.txt itself is always allowed"
    DOLLAR = "3: a final `$` is the end, and nothing else"
    NO_SLASH = "3: a rule that begins with neither `/` nor `*` matches nothing"
    CRAWL_DELAY_CEILING = "4: a crawl-delay is seconds >= 0, and forbids nothing however long"
    SPELLINGS = "4: the values of Request-rate and Visit-time have one spelling"


def _cases(suite: str, prefix: str, names: str) -> list[tuple[str, str]]:
    return [(suite, f"{prefix}{name}") for name in names.split()]


_PROTEGO = "TestProtego::"
_COMMONS = "SimpleRobotRulesParserTest."
_PRECEDENCE = "test_user_agent_precedence[/group"
_BOUNDARY = "test_user_agent_boundary_matching[google"

_BY_CLAUSE = {
    Clause.COLON_FIRST: _cases("protego-extras", _PROTEGO, "test_generosity_sitemap#1"),
    Clause.TWO_WORDS: [
        *_cases("protego", _PROTEGO, "test_empty_user_agent_line#10 test_generosity#3"),
        *_cases("protego-extras", _PROTEGO, "test_generosity_visit_time#1 test_generosity#5"),
        *_cases("crawler-commons-extras", _COMMONS, "testSitemap#1 testSitemap#2"),
    ],
    Clause.KEY_PREFIX: _cases(
        "protego", _PROTEGO, "test_generosity_not_for_unknown_colon_directives#2"
    ),
    Clause.TYPOS: _cases("crawler-commons", _COMMONS, "testDirectiveTypos#1 testDirectiveTypos#4"),
    Clause.OCTETS: [
        *_cases("crawler-commons", _COMMONS, "testHtmlMarkupInRobotsTxt#3"),
        *_cases(
            "crawler-commons-extras",
            _COMMONS,
            "testHtmlMarkupInRobotsTxt#2 testHtmlMarkupInRobotsTxt#4",
        ),
    ],
    Clause.GROUP_ENDS_AT_RULE: [
        *_cases("protego", f"{_PROTEGO}test_grouping_unknown_keys", "#1 #2 #3"),
    ],
    Clause.LINE_TOKEN: [
        *_cases("crawler-commons", f"{_COMMONS}testNutchCases2", "#35 #38 #47 #56"),
        *_cases("crawler-commons", _COMMONS, "testMultiAgentNames#1"),
        *_cases("crawler-commons", f"{_COMMONS}testMatchingUserAgentNamesHttpHeader", "#3 #4"),
        *_cases("crawler-commons", f"{_COMMONS}testSpacesInMultipleUserAgentNames", "#2 #3"),
        *_cases("protego", _PROTEGO, "test_generosity#7"),
    ],
    Clause.EQUAL_TOKENS: [
        *_cases("protego", f"{_PRECEDENCE}3-hedwig-", "new]#2 new]#3 images]#2 images]#3"),
        *_cases("protego", _PRECEDENCE, "1-hedwig-news2]#1"),
        *_cases("protego", _BOUNDARY, "bot-googlebot-news-True]#1 -googlebot-mobile-True]#1"),
    ],
    Clause.OTHER_CHARACTERS: _cases("google-spec-test", "stress/369883.textproto", "#1.7 #1.8"),
    Clause.NO_NAME: [
        *_cases("crawler-commons", "GoogleRobotsTxtTest.", "isUserAgentAllowed#28"),
        *_cases("protego", _PROTEGO, "test_generosity#6"),
    ],
    Clause.FIRST_TOKEN_DECIDES: _cases(
        "crawler-commons", f"{_COMMONS}testNutchCases", "#2 #4 #6 #10 #12 #38"
    ),
    Clause.NORMAL_FORM: [
        *_cases("google-cpp", "ID_Encoding", "#3 #5 #6"),
        *_cases("google-spec-test", "correctness/non-ascii-paths.textproto", "#2.2 #3.2 #4.1"),
    ],
    Clause.ROBOTS_TXT: _cases(
        "google-spec-test",
        "stress/",
        "327748.textproto#1.6 369883.textproto#1.6 369883.textproto#1.10 860237.textproto#1.10",
    ),
    Clause.DOLLAR: _cases("protego", f"{_PROTEGO}test_special_symbols_dual_behaviour", "#2 #3"),
    Clause.NO_SLASH: _cases("protego", _PROTEGO, "test_with_absolute_urls#2"),
    Clause.CRAWL_DELAY_CEILING: _cases("crawler-commons", _COMMONS, "testBigCrawlDelay#1"),
    Clause.SPELLINGS: _cases("protego-extras", _PROTEGO, "test_visit_time#3"),
}

EXCEPTIONS: dict[tuple[str, str], Clause] = {
    key: clause for clause, keys in _BY_CLAUSE.items() for key in keys
}
"""Suite and case, and the clause of semantics.md that argues for our reading."""
