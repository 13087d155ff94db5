"""Sitemap lines and other records: what readers of them document."""

from __future__ import annotations

import pytest

from scrapy_rep.analysis.checks.codes import Code
from scrapy_rep.analysis.lint.answer_checks import answer_findings
from scrapy_rep.analysis.lint.linter import lint
from scrapy_rep.protocol.access.knowledge import Answer
from tests.protocol.reading import URI


def _has(line: str, code: Code) -> bool:
    body = f"User-agent: *\nDisallow: /x\n{line}\n".encode()
    return code in {finding.code for finding in lint(body, URI)}


@pytest.mark.parametrize(
    ("value", "is_odd"),
    [
        ("https://h/sitemap.xml", False),
        ("https://h/sitemap.XML.gz", False),
        ("https://h/feed.rss", False),
        ("https://h/list.txt", False),
        ("https://h/index.php?a=sitemap", False),
        ("https://h/make?kind=sitemap", False),
        ("https://h/", True),
        ("https://h/sitemaps/", True),
        ("https://h/sitemap", True),
        ("https://h/sitemap.html", True),
        ("ftp://h/", False),
    ],
)
def test_sitemap_ending(value: str, is_odd: bool) -> None:
    assert _has(f"Sitemap: {value}", Code.SITEMAP_ENDING) is is_odd


@pytest.mark.parametrize(("count", "is_odd"), [(500, False), (501, True)])
def test_clean_param(count: int, is_odd: bool) -> None:
    assert _has(f"Clean-param: {'p' * count}", Code.CLEAN_PARAM_TOO_LONG) is is_odd


@pytest.mark.parametrize(("seconds", "is_slow"), [(None, False), (5.0, False), (5.1, True)])
def test_slow_answers(seconds: float | None, is_slow: bool) -> None:
    answer = Answer(200, b"", (URI,), {"content-type": "text/plain"}, took_seconds=seconds)
    codes = [finding.code for finding in answer_findings(answer)]
    assert codes == ([Code.SLOW_ANSWER] if is_slow else [])
