"""The suites of other projects, case by case, and the list of exceptions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.extensions.records import VisitTime
from scrapy_rep.protocol.lines import Kind, clean, line_number, records
from scrapy_rep.protocol.tokens import ProductTokens, is_product_token
from tests.shared import needs_shared

from .exceptions import EXCEPTIONS, Clause
from .reading import END, normal_path, normal_pattern
from .vectors import (
    ROBOTS_TXT_URI,
    VERDICT_SUITES,
    Case,
    agents_of,
    body_of,
    cases,
    expected,
    product_tokens,
    rows,
)

_EXTRAS = ("protego-extras", "crawler-commons-extras")


def _answer(case: Case) -> bool:
    tokens = product_tokens(case.agents)
    return parse(case.body, ROBOTS_TXT_URI).verdict(case.url, tokens).allowed


@needs_shared
class TestVerdicts:
    """Every case of every suite has the suite's answer, or ours where the list argues for it."""

    @pytest.mark.parametrize("suite", VERDICT_SUITES)
    def test_verdicts_of_a_suite_agree(self, suite: str) -> None:
        asked = list(cases(suite))
        wrong = [str(case) for case in asked if _answer(case) is not expected(case)]
        assert wrong == []
        assert len(asked) >= 80

    def test_no_case_stands_twice(self) -> None:
        """So that naming one in the list of exceptions excepts one."""
        keys = [case.key for case in cases()]
        keys += [(suite, row["case"]) for suite in _EXTRAS for row in rows(suite)]
        assert [key for key, count in Counter(keys).items() if count > 1] == []

    def test_exceptions_name_cases(self) -> None:
        keys = {case.key for case in cases()}
        keys |= {(suite, row["case"]) for suite in _EXTRAS for row in rows(suite)}
        assert set(EXCEPTIONS) - keys == set()

    def test_every_clause_has_a_case(self) -> None:
        assert set(EXCEPTIONS.values()) == set(Clause)

    def test_rfc9309_has_no_exceptions(self) -> None:
        assert [key for key in EXCEPTIONS if key[0] == "rfc9309"] == []

    def test_difference_from_google_has_a_clause(self) -> None:
        """Where we and Google's matcher differ, one of five clauses says so."""
        differs = {case.key for case in cases() if expected(case) is not case.google_cpp}
        unargued = [
            key
            for key in differs
            if key in EXCEPTIONS
            and EXCEPTIONS[key]
            not in {
                Clause.NORMAL_FORM,
                Clause.ROBOTS_TXT,
                Clause.OTHER_CHARACTERS,
                Clause.FIRST_TOKEN_DECIDES,
                Clause.NO_NAME,
            }
        ]
        assert unargued == []


def _host(robots_txt: RobotsTxt, _: ProductTokens) -> str | None:
    hosts = (
        found.value.decode() for found in robots_txt.other_records if found.key.lower() == b"host"
    )
    return next(hosts, None)


def _milliseconds(robots_txt: RobotsTxt, tokens: ProductTokens) -> int | None:
    seconds = robots_txt.crawl_delay(tokens)
    return None if seconds is None else round(seconds * 1000)


def _clocks(window: VisitTime | None) -> list[str] | list[None]:
    if window is None:
        return [None, None]
    minutes = (window.start_minute, window.stop_minute)
    return [f"{minute // 60:02}:{minute % 60:02}:00" for minute in minutes]


def _visit_time(robots_txt: RobotsTxt, tokens: ProductTokens) -> list[str] | list[None] | None:
    window = robots_txt.visit_time(tokens)
    return None if window is None else _clocks(window)


def _request_rate(robots_txt: RobotsTxt, tokens: ProductTokens) -> list[int | str | None] | None:
    rate = robots_txt.request_rate(tokens)
    return None if rate is None else [rate.requests, rate.seconds, *_clocks(rate.window)]


# Our answers to properties of the suites, in the suites' spelling.
_PROPERTIES: dict[str, Callable[[RobotsTxt, ProductTokens], object]] = {
    "sitemaps": lambda robots_txt, _: list(robots_txt.sitemaps),
    "preferred_host": _host,
    "crawl_delay": RobotsTxt.crawl_delay,
    "crawl_delay_ms": _milliseconds,
    "visit_time": _visit_time,
    "request_rate": _request_rate,
}


def _agrees(row: dict[str, Any]) -> bool:
    robots_txt = parse(body_of(row), ROBOTS_TXT_URI)
    answer = _PROPERTIES[row["property"]](robots_txt, product_tokens(agents_of(row)))
    return bool(answer == row["value"])


@needs_shared
class TestOtherRecords:
    """Crawl delays, rates, times, hosts and sitemaps as two projects read them."""

    @pytest.mark.parametrize("suite", _EXTRAS)
    def test_other_records_of_a_suite_agree(self, suite: str) -> None:
        wrong = [
            row["case"]
            for row in rows(suite)
            if _agrees(row) is ((suite, row["case"]) in EXCEPTIONS)
        ]
        assert wrong == []


@needs_shared
class TestGoogleSuitesOfOtherShapes:
    """Google's tests of single functions: paths, escapes, lines, reports, product tokens."""

    def test_normal_paths_of_google_agree(self) -> None:
        found = {row["url"]: normal_path(row["url"]) for row in rows("google-cpp-path")}
        assert found == {row["url"]: row["path"].encode() + END for row in rows("google-cpp-path")}

    def test_escapes_of_google_agree(self) -> None:
        """Our normal form agrees on Google's own examples; `TestNormalForm` shows where not."""
        found = {row["pattern"]: _normal(row["pattern"]) for row in rows("google-cpp-escape")}
        assert found == {row["pattern"]: row["escaped"] for row in rows("google-cpp-escape")}

    def test_product_tokens_of_google_agree(self) -> None:
        found = {row["agent"]: is_product_token(row["agent"]) for row in rows(_VALID_AGENT)}
        assert found == {row["agent"]: row["valid"] for row in rows(_VALID_AGENT)}

    @pytest.mark.parametrize("index", range(12))
    def test_line_counts_of_google_agree(self, index: int) -> None:
        row = rows("google-cpp-lines")[index]
        octets, _, _ = clean(body_of(row))
        found = list(records(octets))
        sitemaps = [value.decode() for _, kind, _, value in found if kind is Kind.SITEMAP]
        others = sum(kind is Kind.OTHER for _, kind, _, _ in found)
        assert line_number(octets, found[-1][0]) == row["lines"]
        assert (len(found) - others, others) == (
            row["valid_directives"],
            row["unknown_directives"],
        )
        assert sitemaps == ([row["sitemap"]] if row["sitemap"] else [])

    @pytest.mark.parametrize("index", range(4))
    def test_each_line_is_what_google_reports(self, index: int) -> None:
        """Each line is the record that Google's reporter says it is, and no other line is one."""
        row = rows("google-cpp-reporting")[index]
        octets, _, _ = clean(body_of(row))
        found = {line_number(octets, offset): kind.value for offset, kind, _, _ in records(octets)}
        reported = {
            line["line"]: "other" if line["tag"] in ("unknown", "unused") else line["tag"]
            for line in row["lines"]
            if line["has_directive"] and line["line"] <= row["last_line"]
        }
        assert found == reported


_VALID_AGENT = "google-cpp-valid-agent"


def _normal(pattern: str) -> str:
    return normal_pattern(pattern.encode()).decode()
