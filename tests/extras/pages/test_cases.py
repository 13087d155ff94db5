"""Every shared case of page rules and of usage preferences, one by one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from scrapy.http import Response

from scrapy_rep import page_rules, parse, usage_of
from scrapy_rep.extras.pages import PageRules
from scrapy_rep.extras.pages.readings import refused_links
from tests.protocol.vectors import rows
from tests.shared import needs_shared

from .answers import response_of


def _response(row: dict[str, Any]) -> Response:
    html = row.get("html", "")
    content_type = row.get("content_type") or "text/html"
    return response_of(html, row["fields"], url=row["url"], content_type=content_type)


def _now(row: dict[str, Any]) -> float:
    return datetime.fromisoformat(
        row.get("now", "2026-11-21T00:00:00Z").replace("Z", "+00:00")
    ).timestamp()


def _rules(row: dict[str, Any]) -> PageRules:
    meta = row.get("settings", {}).get("REP_PAGE_META", "document")
    return page_rules(_response(row), row["tokens"], meta=meta)


@needs_shared
def test_there_are_cases() -> None:
    assert len(rows("page-rules")) == 109
    assert len(rows("usage")) == 91


@needs_shared
class TestPageRules:
    @pytest.mark.parametrize("row", rows("page-rules"), ids=lambda row: row["case"])
    def test_case_of_page_rules_is_read_as_expected(self, row: dict[str, Any]) -> None:
        expected = row["expected"]
        rules = _rules(row)
        assert rules.to_dict() == expected["rules"]
        for name, source in expected.get("by", {}).items():
            rule = rules.rule(name)
            assert rule is not None
            assert f"{rule.source.kind} {rule.source.number}" == source
        refused = refused_links(_response(row))
        for url, may_be_followed in expected.get("links", {}).items():
            assert (url not in refused and not rules.nofollow) is may_be_followed


@needs_shared
class TestUsage:
    @pytest.mark.parametrize("row", rows("usage"), ids=lambda row: row["case"])
    def test_case_of_usage_is_read_as_expected(self, row: dict[str, Any]) -> None:
        expected = row["expected"]
        result = row.get("robots_result", "successful")
        body = row.get("robots", "").encode() if result == "successful" else b""
        file = None if result == "unreachable" else parse(body, "https://example.com/robots.txt")
        tdmrep = row.get("tdmrep")
        usage = usage_of(
            _response(row),
            robots_txt=file,
            tdmrep=None if tdmrep is None else tdmrep.encode(),
            product_tokens=row["tokens"],
            usage_tokens=row.get("usage_tokens", {}),
            now=_now(row),
        )
        said = {name: value for name, value in usage.to_dict().items() if value != "unknown"}
        assert said == expected["preferences"]
        assert usage.is_complete is expected.get("is_complete", True)
        assert usage.tdm_policy == expected.get("tdm_policy", "")
        assert [licence.uri for licence in usage.licences] == expected.get("licenses", [])
