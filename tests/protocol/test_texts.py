"""Verdicts, rules, findings and origins as text for people: one line each."""

from __future__ import annotations

import pytest

from scrapy_rep.protocol.verdict import Reason, Verdict

from .reading import TOKEN, read

_BODY = "User-agent: *\nDisallow: /é\nDisallow: /a # b\nAllow:\n"


@pytest.mark.parametrize(
    ("url", "text"),
    [
        ("/a", "disallowed by line 3 of https://example.com/robots.txt (group *): Disallow: /a"),
        ("/é", "disallowed by line 2 of https://example.com/robots.txt (group *): Disallow: /é"),
        ("/", "allowed by line 4 of https://example.com/robots.txt (group *): Allow: "),
    ],
)
def test_verdict_of_a_rule(url: str, text: str) -> None:
    assert str(read(_BODY).verdict(url, TOKEN)) == text


def test_verdict_without_a_rule() -> None:
    """It names the reason, and the file if there is one."""
    text = str(read("").verdict("/", TOKEN))
    assert text == (
        "allowed: no group of the file is for this crawler, https://example.com/robots.txt"
    )
    assert str(Verdict(allowed=False, reason=Reason.UNREACHABLE)) == (
        "disallowed: the file is unreachable"
    )


def test_rule_that_is_no_text() -> None:
    verdict = read(b"User-agent: *\nDisallow: /\xe9\n").verdict("/%E9", TOKEN)
    assert str(verdict.rule) == r"Disallow: /\xe9"
    assert repr(verdict.rule) == r"Rule(allow=False, path_pattern=b'/\xe9', line=2, octets=4)"


@pytest.mark.parametrize("url", ["/x", "https://example.com/x", "ftp://h/"])
def test_swapped_arguments_of_a_file_raise(url: str) -> None:
    with pytest.raises(TypeError, match="is a URL: it comes first"):
        read(_BODY).verdict(TOKEN, url)
