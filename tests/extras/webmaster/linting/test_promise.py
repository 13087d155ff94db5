"""The promises of safe fixes and of `format`, over generated files and damaged ones.

`test_corpus` tests them over real files.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.extras.webmaster.linting.linter import fixed, lint
from scrapy_rep.extras.webmaster.rewrite.normal import Mode, normalise
from tests.extras.webmaster.linting.damaged import FILES, USUAL
from tests.extras.webmaster.linting.proving import (
    check_advice,
    check_fixes,
    check_format,
    has_names_and_comments,
)
from tests.protocol import strategies
from tests.protocol.reading import URI

_lines = st.sampled_from(
    [
        *{line for text, _, _ in FILES for line in text.splitlines()},
        *USUAL,
        *["User-agent: a", "User-agent: b", "User-agent: *", "User-agent: a/1.2"],
        *["User-agent: a b", "User-agent: a* b", "User-agent: a/b"],
        *["Disallow: /a", "Disallow: /a # why", "Allow: /a", "Disallow:", "Allow:"],
        *["Disallow: /a*", "Crawl-delay: 5", "Crawl-delay: 1,5", "Foo: bar", "", "# c"],
        *["Sitemap: /s", "Sitemap:", "Dissallow: /x", "Disallow /y", "Disallow: private"],
    ]
)
_written = st.lists(_lines, max_size=14).map(lambda lines: "\n".join(lines).encode())


@pytest.mark.parametrize("text", [row[0] for row in FILES])
def test_fixes_of_damaged_files_keep_the_promise(text: str) -> None:
    check_fixes(text.encode(), URI)


@pytest.mark.parametrize(
    "name", ["Yahoo! Slurp", "ltx71 - (http://ltx71.com/)", "ChatGPT’s agent Operator."]
)
def test_format_keeps_names_of_several_words(name: str) -> None:
    body = f"User-agent: {name}\nDisallow: /x\n".encode()
    check_format(body, URI)
    assert name.encode() in normalise(body, uri=URI)


@given(st.one_of(_written, strategies.files))
def test_fixes_of_any_file_keep_the_promise(body: bytes) -> None:
    check_fixes(body, URI)
    check_advice(body, URI)


@given(_written, st.sampled_from(Mode))
def test_formatted_files_have_all_names_and_comments(body: bytes, mode: Mode) -> None:
    new = normalise(body, mode, URI)
    has_names_and_comments(body, new)
    assert normalise(new, mode, URI) == new


@given(_written)
def test_unsafe_fixes_leave_no_fix(body: bytes) -> None:
    new, _ = fixed(body, URI, is_unsafe=True)
    assert not any(one.is_safe or one.is_unsafe for one in lint(new, URI))
