"""The promises of safe fixes and of `format`, over real files, generated ones, and damaged ones.

A safe fix changes no verdict, loses no name, no Sitemap line and no comment, and removes no error.
`format` writes a file with the same verdicts, and without a finding that the old one had not.
"""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.analysis.checks.codes import Code, Severity
from scrapy_rep.analysis.effect.differences import TooMuchToCompare
from scrapy_rep.analysis.lint.linter import fixed, lint
from scrapy_rep.analysis.outline import outline
from scrapy_rep.analysis.rewrite.normal import Mode, normalise
from scrapy_rep.protocol.lines import Kind
from tests.analysis.lint.corpus import EVERY, RECENT, files
from tests.analysis.lint.damaged import FILES, USUAL
from tests.analysis.lint.proving import prove
from tests.protocol import strategies
from tests.protocol.reading import URI
from tests.shared import SHARED, needs_shared

_lines = st.sampled_from(
    [
        *{line for text, _, _ in FILES for line in text.splitlines()},
        *USUAL,
        *[
            "User-agent: a",
            "User-agent: b",
            "User-agent: *",
            "User-agent: a/1.2",
            "User-agent: a b",
        ],
        *["User-agent: a* b", "User-agent: a/b", "Disallow: /a", "Disallow: /a # why", "Allow: /a"],
        *["Disallow:", "Allow:", "Disallow: /a*", "Crawl-delay: 5", "Crawl-delay: 1,5", "Foo: bar"],
        *[
            "",
            "# c",
            "Sitemap: /s",
            "Sitemap:",
            "Dissallow: /x",
            "Disallow /y",
            "Disallow: private",
        ],
    ]
)
_written = st.lists(_lines, max_size=14).map(lambda lines: "\n".join(lines).encode())


def _names(body: bytes) -> set[bytes]:
    """The words of user-agent lines, without versions; in comments they count, too."""
    lines = outline(body).lines
    texts = [line.value for line in lines if line.kind is Kind.USER_AGENT]
    texts += [line.comment for line in lines if line.comment is not None]
    return {word.lower() for text in texts for word in re.findall(rb"[A-Za-z_-]{2,}", text)}


def _comments(body: bytes) -> list[bytes]:
    return [line.comment.strip() for line in outline(body).lines if line.comment]


def _errors(body: bytes, uri: str) -> Counter[Code]:
    return Counter(one.code for one in lint(body, uri) if one.severity is Severity.ERROR)


def _has_names_and_comments(body: bytes, new: bytes) -> None:
    assert not _names(body) - _names(new)
    if body.isascii():  # other comments may change their encoding
        text = b"\n".join(_comments(new))
        assert all(comment in text for comment in _comments(body))


def _is_kept(body: bytes, uri: str) -> None:
    """Safe fixes keep their promise."""
    new, _ = fixed(body, uri)
    with suppress(TooMuchToCompare):  # then nothing is written
        prove(body, new, uri)
    _has_names_and_comments(body, new)
    assert _errors(body, uri) <= _errors(new, uri)


def _is_formatted(body: bytes, uri: str) -> None:
    """No finding is new in the formatted file, unless it hides an error, and is not written."""
    new = normalise(body, uri=uri)
    with suppress(TooMuchToCompare):
        prove(body, new, uri)
    before, after = ({one.code for one in lint(one, uri)} for one in (body, new))
    is_refused = any(code not in after for code in _errors(body, uri))
    assert is_refused or not after - before


@pytest.mark.parametrize("text", [row[0] for row in FILES])
def test_damaged_files(text: str) -> None:
    _is_kept(text.encode(), URI)


@pytest.mark.parametrize(
    "name", ["Yahoo! Slurp", "ltx71 - (http://ltx71.com/)", "ChatGPT’s agent Operator."]
)
def test_format_keeps_names_of_several_words(name: str) -> None:
    body = f"User-agent: {name}\nDisallow: /x\n".encode()
    _is_formatted(body, URI)
    assert name.encode() in normalise(body, uri=URI)


@given(st.one_of(_written, strategies.files))
def test_any_file(body: bytes) -> None:
    _is_kept(body, URI)


@needs_shared
@pytest.mark.parametrize("name", ["robots.jsonl.gz", RECENT])
def test_a_sample_of_real_files(name: str) -> None:
    assert SHARED is not None
    for uri, body in files(name)[::120]:
        _is_kept(body, uri)
        _is_formatted(body, uri)


@pytest.mark.slow
@needs_shared
@pytest.mark.parametrize("name", ["robots.jsonl.gz", RECENT])
@pytest.mark.parametrize("part", range(4))
def test_real_files(name: str, part: int) -> None:
    assert SHARED is not None
    for uri, body in files(name)[part * EVERY :: 4 * EVERY]:
        _is_kept(body, uri)
        _is_formatted(body, uri)


@given(_written, st.sampled_from(Mode))
def test_formatted_files_have_all_names_and_comments(body: bytes, mode: Mode) -> None:
    new = normalise(body, mode, URI)
    _has_names_and_comments(body, new)
    assert normalise(new, mode, URI) == new


@given(_written)
def test_unsafe_fixes_leave_no_fix(body: bytes) -> None:
    new, _ = fixed(body, URI, is_unsafe=True)
    assert not any(one.is_safe or one.is_unsafe for one in lint(new, URI))
