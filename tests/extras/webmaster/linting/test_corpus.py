"""Lint, its fixes and `format` over real files.

CI takes a fixed sample with every kind of finding that real files have. `bash .ci/at-length` takes
all files; `pytest -m at_length tests/extras/webmaster/linting/test_corpus.py` does so at once.
"""

from __future__ import annotations

from collections import Counter

import pytest

from scrapy_rep.extras.pages.file_usage import file_usage
from scrapy_rep.extras.pages.usage.preference import Preference
from scrapy_rep.extras.webmaster.checks.codes import Code
from scrapy_rep.extras.webmaster.linting.linter import lint
from scrapy_rep.extras.webmaster.rewrite.normal import Mode
from scrapy_rep.protocol.document import parse
from tests.extras.webmaster.linting.corpus import RECENT, files, sample
from tests.extras.webmaster.linting.proving import check_advice, check_fixes, check_format
from tests.shared import needs_shared

pytestmark = [pytest.mark.slow, needs_shared]

_PARTS = 24
_OF_LARGE_FILES = {
    *(Code.PARSE_LIMIT, Code.LINE_TOO_LONG, Code.TOO_MANY_RULES),
    *(Code.TOO_MANY_FINDINGS, Code.EFFECT_NOT_CHECKED),
}
_MODES = tuple(Mode)


def _check(uri: str, body: bytes, modes: tuple[Mode, ...]) -> None:
    lines = body.count(b"\n") + body.count(b"\r") + 1
    assert all(0 <= finding.line <= lines for finding in lint(body, uri))
    check_fixes(body, uri)
    check_advice(body, uri, most=1)
    for mode in modes:
        check_format(body, uri, mode)


def test_lint_promise_holds_for_a_sample() -> None:
    for number, (uri, body) in enumerate(sample()):
        _check(uri, body, (_MODES[number % 3],))


@pytest.mark.at_length
@pytest.mark.parametrize("part", range(_PARTS))
def test_lint_promise_holds_for_all_files(part: int) -> None:
    for uri, body in [*files(), *files(RECENT)][part::_PARTS]:
        _check(uri, body, _MODES)


@pytest.mark.at_length
def test_sample_has_every_code_of_small_files() -> None:
    some, every = (
        {finding.code for uri, body in found for finding in lint(body, uri)}
        for found in (sample(), [*files(), *files(RECENT)])
    )
    assert every - some <= _OF_LARGE_FILES


def test_preferences_of_recent_files() -> None:
    """Those that state any were read by hand."""
    read = (file_usage(parse(body, uri), "/", "FooBot") for uri, body in files(RECENT))
    said = [usage for usage in read if usage.statements or usage.licences]
    counts = Counter(usage.train_ai for usage in said)
    assert counts == {Preference.DISALLOWED: 12, Preference.ALLOWED: 6, Preference.UNKNOWN: 4}
    assert [usage.use for usage in said if usage.use] == ["reference"]
    assert sum(bool(usage.licences) for usage in said) == 9
