"""Lint, rewriting and preferences over real files: all with REP_FULL=1, otherwise a part.

`benchmarks/lint_corpus.py` does the same over all files in all modes, with figures.
"""

from __future__ import annotations

from collections import Counter

import pytest

from scrapy_rep.analysis.effect.differences import differences
from scrapy_rep.analysis.effect.usage_changes import usage_differences
from scrapy_rep.analysis.lint.linter import lint
from scrapy_rep.analysis.rewrite.normal import Mode, normalise
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.usage.preference import Preference
from tests.analysis.lint.corpus import EVERY, RECENT, files
from tests.shared import needs_shared

pytestmark = pytest.mark.slow

_FILES = {"robots.jsonl.gz": 2_811, RECENT: 622}
_EVERY = (EVERY + 1) // 2


@needs_shared
@pytest.mark.parametrize("name", _FILES)
@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.at_length)])
def test_lint_never_raises(name: str, every: int) -> None:
    found = files(name)
    assert len(found) == _FILES[name]
    for uri, body in found[::every]:
        lines = body.count(b"\n") + body.count(b"\r") + 1
        assert all(0 <= finding.line <= lines for finding in lint(body, uri)), uri


@needs_shared
@pytest.mark.parametrize("name", _FILES)
def test_rewritten_files_mean_the_same(name: str) -> None:
    for number, (uri, body) in enumerate(files(name)[::_EVERY]):
        for mode in Mode if _EVERY == 1 else [list(Mode)[number % len(Mode)]]:
            written = normalise(body, mode, uri)
            assert normalise(written, mode, uri) == written, (uri, mode)
            old, new = parse(body, uri), parse(written, uri)
            assert next(differences(old, new), None) is None, (uri, mode)
            assert next(usage_differences(old, new), None) is None, (uri, mode)
            assert old.sitemaps == new.sitemaps, (uri, mode)


@needs_shared
def test_preferences_of_recent_files() -> None:
    """Those that state any were read by hand."""
    read = (parse(body, uri).usage("/", "FooBot") for uri, body in files(RECENT))
    said = [usage for usage in read if usage.statements or usage.licences]
    counts = Counter(usage.train_ai for usage in said)
    assert counts == {Preference.DISALLOWED: 12, Preference.ALLOWED: 6, Preference.UNKNOWN: 4}
    assert [usage.use for usage in said if usage.use] == ["reference"]
    assert sum(bool(usage.licences) for usage in said) == 9
