"""Lint and rewriting over real files. All of them with REP_FULL=1; a part of them otherwise.

`benchmarks/lint_corpus.py` does the same over all files in all modes, with figures.
"""

from __future__ import annotations

import base64
import gzip
import json
import os

import pytest

from scrapy_rep.analysis.effect.differences import differences
from scrapy_rep.analysis.lint.linter import lint
from scrapy_rep.analysis.rewrite.normal import Mode, normalise
from scrapy_rep.protocol.document import parse
from tests.shared import SHARED, needs_shared

pytestmark = pytest.mark.slow

_FILES = 2_811
_EVERY = 1 if os.environ.get("REP_FULL") else 30


def _files() -> list[tuple[str, bytes]]:
    assert SHARED is not None
    with gzip.open(SHARED / "corpus" / "robots.jsonl.gz", "rb") as rows:
        return [
            (f"https://{row['host']}/robots.txt", base64.b64decode(row["body_b64"]))
            for row in map(json.loads, rows)
        ]


@needs_shared
def test_lint_never_raises() -> None:
    files = _files()
    assert len(files) == _FILES
    for uri, body in files:
        lines = body.count(b"\n") + body.count(b"\r") + 1
        assert all(0 <= finding.line <= lines for finding in lint(body, uri)), uri


@needs_shared
def test_rewritten_files_mean_the_same() -> None:
    for number, (uri, body) in enumerate(_files()[::_EVERY]):
        for mode in Mode if _EVERY == 1 else [list(Mode)[number % len(Mode)]]:
            written = normalise(body, mode, uri)
            assert normalise(written, mode, uri) == written, (uri, mode)
            old, new = parse(body, uri), parse(written, uri)
            assert next(differences(old, new), None) is None, (uri, mode)
            assert old.sitemaps == new.sitemaps, (uri, mode)
