"""Lint and rewriting over real files. All of them with REP_FULL=1; a part of them otherwise.

`benchmarks/lint_corpus.py` does the same over all files in all modes, with figures.
"""

from __future__ import annotations

import pytest

from scrapy_rep.analysis.effect.differences import differences
from scrapy_rep.analysis.lint.linter import lint
from scrapy_rep.analysis.rewrite.normal import Mode, normalise
from scrapy_rep.protocol.document import parse
from tests.protocol.lint.corpus import EVERY, files
from tests.shared import needs_shared

pytestmark = pytest.mark.slow

_FILES = 2_811
_EVERY = (EVERY + 1) // 2


@needs_shared
@pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.at_length)])
def test_lint_never_raises(every: int) -> None:
    found = files()
    assert len(found) == _FILES
    for uri, body in found[::every]:
        lines = body.count(b"\n") + body.count(b"\r") + 1
        assert all(0 <= finding.line <= lines for finding in lint(body, uri)), uri


@needs_shared
def test_rewritten_files_mean_the_same() -> None:
    for number, (uri, body) in enumerate(files()[::_EVERY]):
        for mode in Mode if _EVERY == 1 else [list(Mode)[number % len(Mode)]]:
            written = normalise(body, mode, uri)
            assert normalise(written, mode, uri) == written, (uri, mode)
            old, new = parse(body, uri), parse(written, uri)
            assert next(differences(old, new), None) is None, (uri, mode)
            assert old.sitemaps == new.sitemaps, (uri, mode)
