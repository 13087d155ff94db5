"""What verdicts, rules, findings and origins look like to people: one line that says everything."""

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
    assert str(read(_BODY).verdict(TOKEN, url)) == text


def test_verdict_without_a_rule() -> None:
    """It names the reason, and the file if there is one."""
    text = str(read("").verdict(TOKEN, "/"))
    assert text.startswith("allowed: no group of the file is for this crawler")
    assert "https://example.com/robots.txt" in text
    assert str(Verdict(allowed=False, reason=Reason.UNREACHABLE)) == (
        "disallowed: the file is unreachable"
    )


def test_rule_that_is_no_text() -> None:
    verdict = read(b"User-agent: *\nDisallow: /\xe9\n").verdict(TOKEN, "/%E9")
    assert str(verdict.rule) == r"Disallow: /\xe9"


def test_findings() -> None:
    texts = [
        str(finding) for finding in read(b"\xff\xfeA\x00l\x00l\x00o\x00w\x00:\x00a\x00").findings
    ]
    assert texts == [
        "the file is in UTF-16 instead of UTF-8",
        "line 1: a rule before the first user-agent line is ignored: a",
        "line 1: a path pattern begins with neither '/' nor '*' and matches nothing: a",
    ]
