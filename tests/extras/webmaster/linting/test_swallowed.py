"""Crawlers that fall into the next group."""

from __future__ import annotations

import pytest

from scrapy_rep.extras.webmaster.checks.codes import Code, Effect
from scrapy_rep.extras.webmaster.linting.linter import lint
from scrapy_rep.extras.webmaster.linting.swallowed import swallowed
from scrapy_rep.extras.webmaster.outline import outline
from tests.protocol.reading import URI, read

BING = "User-agent: Bingbot\nCrawl-delay: 5\n\nUser-agent: BadBot\nDisallow: /\n"


def _found(body: str) -> list[tuple[int, int]]:
    return [(one.agent.number, one.rule.number) for one in swallowed(outline(body.encode()))]


class TestSwallowed:
    @pytest.mark.parametrize(
        ("body", "found"),
        [
            (BING, [(1, 5)]),
            (BING.replace("\n\n", "\n"), [(1, 4)]),
            (BING.replace("Crawl-delay: 5\n", ""), [(1, 4)]),
            (BING.replace("Crawl-delay: 5", "# all of it"), [(1, 5)]),
            (BING.replace("Crawl-delay: 5", "Noindex: /x"), [(1, 5)]),
            # All of the paragraphs above, each line of them.
            (
                "User-agent: a\nUser-agent: b\n\nUser-agent: c\n\n" + BING,
                [(1, 10), (2, 10), (4, 10), (6, 10)],
            ),
            # The rule that says most is told.
            (BING.replace("Disallow: /", "Allow: /x\nDisallow: /y\nDisallow: /*"), [(1, 7)]),
            # Another group of the same crawler follows.
            (BING.replace("BadBot", "bingbot/2.0"), []),
            # It has a rule of its own.
            (BING.replace("Crawl-delay: 5", "Disallow:"), []),
            # The next group forbids nothing.
            (BING.replace("Disallow: /", "Disallow:"), []),
            ("User-agent: a\n\nUser-agent: b\n", []),
            # A list with blank lines between its items, and above its rules.
            ("User-agent: a\n\nUser-agent: b\n\nDisallow: /\n", []),
            # A list without them.
            ("User-agent: a\nUser-agent: b\n\nDisallow: /\n", []),
            # These end no run of user-agent lines.
            ("User-agent: a\nContent-Signal: search=yes\nUser-agent: b\nDisallow: /\n", []),
            # It has no name.
            ("User-agent:\n\nUser-agent: b\nDisallow: /\n", []),
        ],
    )
    def test_swallowed_group_is_found(self, body: str, found: list[tuple[int, int]]) -> None:
        assert _found(body) == found

    def test_swallowed_crawler_obeys_these_rules(self) -> None:
        assert not read(BING).verdict("https://h/x", "bingbot").allowed


class TestLint:
    def test_finding_names_the_line_and_the_rule(self) -> None:
        (one,) = [f for f in lint(BING.encode(), URI) if f.code is Code.GROUP_SWALLOWED]
        assert (one.line, one.octets) == (1, b"Bingbot")
        assert "(line 5: Disallow: /; crawlers that take a Crawl-delay" in one.message
        assert one.effect is Effect.CHANGES

    def test_no_advice_joins_the_groups(self) -> None:
        codes = {finding.code for finding in lint(BING.encode(), URI)}
        assert codes.isdisjoint({Code.BLANK_LINE_INSIDE, Code.RECORD_SPLITS_GROUP})

    def test_layout_below_the_swallowed_line_is_checked(self) -> None:
        body = BING.replace("BadBot\n", "BadBot\n# why\n\nUser-agent: c\n\n")
        body = body.replace("\n\nUser-agent: c", "\nContent-Usage: train-ai=n\nUser-agent: c")
        found = {finding.code: finding.line for finding in lint(body.encode(), URI)}
        assert found[Code.RECORD_SPLITS_GROUP] == 6
        assert found[Code.BLANK_LINE_INSIDE] == 8
