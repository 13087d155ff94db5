"""Every code: its bad example has it, its good example has not; and the table is whole."""

from __future__ import annotations

import re

import pytest

from docs.lint_examples import BAD, GOOD
from scrapy_rep.analysis.checks.codes import Code, Severity
from scrapy_rep.analysis.findings import Finding
from scrapy_rep.analysis.lint.answer_checks import answer_findings, scheme_findings
from scrapy_rep.analysis.lint.linter import lint
from scrapy_rep.protocol.access.knowledge import Answer
from tests.protocol.reading import URI

_TWIN = GOOD[Code.REDIRECT]

# The checks of crawlers.md, section 4, by their names there.


def found(code: Code, example: bytes | Answer) -> list[Finding]:
    """The findings of an example."""
    if isinstance(example, bytes):
        return lint(example, URI)
    if code is Code.SCHEMES_DIFFER:
        assert isinstance(_TWIN, Answer)
        return list(scheme_findings(example, _TWIN))
    return list(answer_findings(example))


@pytest.mark.parametrize("code", Code, ids=lambda code: code.value)
class TestExamples:
    """The examples that the documentation shows are true."""

    def test_bad_example_has_the_finding(self, code: Code) -> None:
        findings = [f for f in found(code, BAD[code]) if f.code is code]
        assert findings != []
        assert all(finding.severity is code.severity for finding in findings)
        assert all(finding.message.startswith(code.meaning) for finding in findings)

    def test_good_example_has_not_the_finding(self, code: Code) -> None:
        assert code not in {finding.code for finding in found(code, GOOD[code])}

    def test_good_example_has_no_other_error(self, code: Code) -> None:
        """The fix does not cause another error."""
        worst = {finding.code for finding in found(code, GOOD[code])} - {code}
        errors = {code for code in worst if code.severity is Severity.ERROR}
        allowed = {Code.TOO_MANY_FINDINGS: {Code.RULE_MATCHES_NOTHING}}
        assert errors <= allowed.get(code, set())


class TestTable:
    """One row for each code, well spelt."""

    def test_codes_are_unique_and_stable_in_form(self) -> None:
        assert len(Code.__members__) == len(Code)
        assert all(re.fullmatch(r"REP\d{3}", code.value) for code in Code)
        assert [code.value for code in Code] == sorted(code.value for code in Code)

    def test_each_section_is_one_hundred_of_codes(self) -> None:
        sections = [code.section for code in Code]
        assert len(set(sections)) == 9
        hundreds = {(code.section, code.value[3]) for code in Code}
        assert len(hundreds) == 9

    def test_sentences(self) -> None:
        for code in Code:
            for text in (code.meaning, code.fix):
                assert text.strip() == text
                assert not text.endswith(".")
