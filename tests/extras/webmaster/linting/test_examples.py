"""Every code: its bad example has it, its good example has not; and the table is whole."""

from __future__ import annotations

import re

import pytest

from docs.lint_examples import BAD, GOOD
from scrapy_rep.extras.webmaster.checks.codes import Code, Effect, Severity
from scrapy_rep.extras.webmaster.findings import Finding
from scrapy_rep.extras.webmaster.linting.answer_checks import answer_findings, scheme_findings
from scrapy_rep.extras.webmaster.linting.linter import lint
from scrapy_rep.extras.webmaster.rewrite.normal import normalise
from scrapy_rep.protocol.access.knowledge import Answer
from tests.extras.webmaster.linting.proving import check_advice, check_format
from tests.processes import REPOSITORY
from tests.protocol.reading import URI

_TWIN = GOOD[Code.REDIRECT]

_ALLOWED = {Code.TOO_MANY_FINDINGS: {Code.RULE_MATCHES_NOTHING}}


def found(code: Code, example: bytes | Answer) -> list[Finding]:
    """The findings of an example."""
    if isinstance(example, bytes):
        return lint(example, URI)
    if code is Code.SCHEMES_DIFFER:
        assert isinstance(_TWIN, Answer)
        return list(scheme_findings(example, _TWIN))
    return list(answer_findings(example))


@pytest.mark.parametrize("code", Code, ids=lambda code: code.value)
def test_examples_of_the_documentation_are_true(code: Code) -> None:
    """The bad example has the finding; the good one has not, nor another error."""
    bad = BAD[code]
    told = [one for one in found(code, bad) if one.code is code]
    assert told != []
    assert all(one.severity is code.severity for one in told)
    assert all(one.message.startswith(code.meaning) for one in told)
    good = {one.code for one in found(code, GOOD[code])}
    assert code not in good
    errors = {one for one in good if one.severity is Severity.ERROR}
    assert errors <= _ALLOWED.get(code, set())
    if isinstance(bad, bytes) and code.effect is Effect.KEEPS and len(bad) < 10_000:
        check_advice(bad, URI)
    elif code.effect is Effect.FORMATS:
        assert isinstance(bad, bytes)
        check_format(bad, URI)
        assert code not in {one.code for one in lint(normalise(bad, uri=URI), URI)}


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

    def test_meanings_and_fixes_have_no_full_stop(self) -> None:
        for code in Code:
            for text in (code.meaning, code.fix):
                assert text.strip() == text
                assert not text.endswith(".")


def test_each_code_has_a_page() -> None:
    pages = (REPOSITORY / "docs" / "lint").glob("REP*.md")
    assert {code.value for code in Code} == {page.stem for page in pages}
