"""Every check: its bad example has it, its good example has not; and the table is whole."""

from __future__ import annotations

import re

import pytest

from docs.lint_examples import BAD, GOOD
from scrapy_rep.analysis.checks.check_table import CHECKS
from scrapy_rep.analysis.checks.codes import Check, Code, Severity
from scrapy_rep.analysis.findings import Finding
from scrapy_rep.analysis.lint.answer_checks import answer_findings, scheme_findings
from scrapy_rep.analysis.lint.linter import lint
from scrapy_rep.protocol.access.knowledge import Answer
from tests.protocol.reading import URI

_TWIN = GOOD[Code.REDIRECT]

# The checks of crawlers.md, section 4, by their names there.
COLLECTED = {
    "fetch.status-4xx": Code.CLIENT_ERROR,
    "fetch.status-5xx": Code.SERVER_ERROR,
    "fetch.timeout": Code.TIMEOUT,
    "fetch.dns": Code.DNS,
    "fetch.tls": Code.TLS,
    "fetch.redirect": Code.REDIRECT,
    "fetch.redirect-cross-host": Code.REDIRECT_CROSS_HOST,
    "fetch.redirect-too-many": Code.REDIRECT_DEAD_END,
    "fetch.scheme-differs": Code.SCHEMES_DIFFER,
    "body.html": Code.MARKUP,
    "body.xml": Code.MARKUP,
    "body.json": Code.JSON,
    "body.mime": Code.MEDIA_TYPE,
    "body.empty": Code.EMPTY_FILE,
    "body.no-groups": Code.NO_GROUPS,
    "body.too-large": Code.PARSE_LIMIT,
    "body.too-many-rules": Code.TOO_MANY_RULES,
    "body.rule-too-long": Code.RULE_TOO_LONG,
    "body.bom": Code.BOM,
    "body.not-utf8": Code.NOT_UTF8,
    "body.nul": Code.NUL,
    "body.cr-only": Code.CR_ONLY,
    "body.utf16": Code.UTF16,
    "line.no-colon": Code.MISSING_COLON,
    "line.syntax": Code.NO_RECORD,
    "line.unknown-directive": Code.UNKNOWN_KEY,
    "line.unsupported": Code.UNSUPPORTED_KEY,
    "line.typo": Code.MISSPELT_KEY,
    "group.rule-before-agent": Code.RULE_BEFORE_GROUP,
    "group.empty-agent": Code.USER_AGENT_EMPTY,
    "group.agent-invalid-chars": Code.USER_AGENT_CUT,
    "group.agent-is-ua-string": Code.USER_AGENT_HEADER,
    "group.agent-wildcard-inside": Code.USER_AGENT_WILDCARD,
    "group.agent-unknown": Code.USER_AGENT_NEAR,
    "group.agent-version": Code.USER_AGENT_VERSION,
    "group.duplicate": Code.GROUP_SHADOWED,
    "group.multiple-star": Code.MULTIPLE_STAR,
    "group.no-star": Code.NO_STAR,
    "group.no-rules": Code.GROUP_WITHOUT_RULES,
    "group.blank-line-inside": Code.BLANK_LINE_INSIDE,
    "group.ai-unenforceable": Code.UNENFORCEABLE,
    "group.own-token-only": Code.OWN_TOKEN_ONLY,
    "rule.no-leading-slash": Code.RULE_MATCHES_NOTHING,
    "rule.dollar-not-last": Code.DOLLAR_NOT_LAST,
    "rule.space-in-path": Code.SPACE_IN_PATH,
    "rule.fragment": Code.FRAGMENT,
    "rule.full-url-as-path": Code.FULL_URL,
    "rule.non-ascii-unencoded": Code.NOT_ASCII,
    "rule.bad-percent": Code.BAD_ESCAPE,
    "rule.duplicate": Code.DUPLICATE_RULE,
    "rule.shadowed": Code.RULE_SHADOWED,
    "rule.redundant": Code.RULE_REDUNDANT,
    "rule.allow-deny-tie": Code.TIE,
    "rule.trailing-star": Code.TRAILING_STAR,
    "rule.disallow-all-star": Code.DISALLOW_ALL,
    "rule.blocks-css-js": Code.BLOCKS_RESOURCES,
    "rule.blocks-sitemap": Code.BLOCKS_SITEMAP,
    "rule.blocks-robots": Code.BLOCKS_ROBOTS,
    "sitemap.relative": Code.SITEMAP_RELATIVE,
    "sitemap.invalid": Code.SITEMAP_LEFT_OUT,
    "sitemap.scheme": Code.SITEMAP_SCHEME,
    "sitemap.empty": Code.SITEMAP_EMPTY,
    "sitemap.missing": Code.SITEMAP_MISSING,
    "sitemap.cross-host": Code.SITEMAP_CROSS_HOST,
    "sitemap.disallowed": Code.SITEMAP_DISALLOWED,
    "crawl-delay.format": Code.VALUE_UNREADABLE,
    "crawl-delay.duplicate": Code.CRAWL_DELAY_DUPLICATE,
    "crawl-delay.huge": Code.CRAWL_DELAY_HUGE,
    "crawl-delay.ignored-by": Code.CRAWL_DELAY_IGNORED,
    "clean-param.format": Code.CLEAN_PARAM_FORMAT,
    "host.deprecated": Code.HOST_DEPRECATED,
    "noindex.unsupported": Code.NOINDEX_UNSUPPORTED,
    "signal.syntax": Code.SIGNAL_SYNTAX,
    "signal.contradicts-rules": Code.SIGNAL_CONTRADICTS,
    "license.invalid-url": Code.LICENSE_INVALID,
    "license.unfetchable": Code.LICENSE_DISALLOWED,
    "usage.conflict": Code.USAGE_CONFLICT,
}


def found(check: Check, example: bytes | Answer) -> list[Finding]:
    """What is found in an example."""
    if isinstance(example, bytes):
        return lint(example, URI)
    if check.code is Code.SCHEMES_DIFFER:
        assert isinstance(_TWIN, Answer)
        return list(scheme_findings(example, _TWIN))
    return list(answer_findings(example))


@pytest.mark.parametrize("check", CHECKS.values(), ids=lambda check: check.code.value)
class TestExamples:
    """The examples that the documentation shows are true."""

    def test_bad(self, check: Check) -> None:
        findings = [f for f in found(check, BAD[check.code]) if f.code is check.code]
        assert findings != []
        assert all(finding.severity is check.severity for finding in findings)
        assert all(finding.message.startswith(check.meaning) for finding in findings)

    def test_good(self, check: Check) -> None:
        assert check.code not in {finding.code for finding in found(check, GOOD[check.code])}

    def test_good_has_nothing_worse(self, check: Check) -> None:
        """The mend does not break something else."""
        worst = {finding.code for finding in found(check, GOOD[check.code])} - {check.code}
        errors = {code for code in worst if CHECKS[code].severity is Severity.ERROR}
        allowed = {Code.TOO_MANY_FINDINGS: {Code.RULE_MATCHES_NOTHING}}
        assert errors <= allowed.get(check.code, set())


class TestTable:
    """One row for each code, well spelt."""

    def test_whole(self) -> None:
        assert list(CHECKS) == list(Code)

    def test_codes_are_unique_and_stable_in_form(self) -> None:
        assert len({code.value for code in Code}) == len(Code)
        assert all(re.fullmatch(r"REP\d{3}", code.value) for code in Code)
        assert [code.value for code in Code] == sorted(code.value for code in Code)

    def test_each_section_is_a_hundred(self) -> None:
        sections = [check.section for check in CHECKS.values()]
        assert len(set(sections)) == 9
        hundreds = {(check.section, check.code.value[3]) for check in CHECKS.values()}
        assert len(hundreds) == 9

    def test_sentences(self) -> None:
        for check in CHECKS.values():
            for text in (check.meaning, check.mend):
                assert text.strip() == text
                assert not text.endswith(".")

    def test_the_collected_checks_are_there(self) -> None:
        assert len(COLLECTED) >= 60
        assert set(COLLECTED.values()) <= set(CHECKS)
