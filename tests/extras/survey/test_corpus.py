"""Real files: the figures that others counted, and the verdicts of Google's matcher."""

from __future__ import annotations

import pytest

from scrapy_rep.extras.survey.aggregate import Aggregate
from scrapy_rep.extras.survey.captures import Capture
from scrapy_rep.extras.survey.statistics import report
from tests.extras.survey.files import corpus
from tests.shared import needs_shared

pytestmark = [needs_shared, pytest.mark.slow, pytest.mark.at_length]


def test_the_figures_of_the_corpus() -> None:
    said = report(Aggregate.of(Capture(host, body=body) for host, body in corpus()))["statistics"]
    files_with = {name: one.get("files_with") for name, one in said.items()}
    assert files_with["files"] == 2811
    assert said["sha256"]["distinct"] == 2566
    assert said["octets"]["p50"] == 551
    assert said["octets"]["p90"] == pytest.approx(3708, rel=0.01)
    assert said["octets"]["p99"] == pytest.approx(89_403, rel=0.01)
    assert said["octets"]["max"] == 1_372_557
    assert 2811 - files_with["octets"] == 23
    assert files_with["is_cut"] == 2
    assert files_with["bom"] == 46
    assert files_with["is_utf16"] == 2
    assert 2811 - files_with["utf8"] == 7
    assert files_with["markup"] == 91
    eol = {name: one["files_with"] for name, one in said["eol"].items()}
    assert eol == {"lf": 1847, "crlf": 811, "mixed": 93, "cr": 3, "none": 57}
    assert 2811 - files_with["groups"] == 170
    assert files_with["has_star"] == 2594
    assert files_with["multi_agent_groups"] == 175
    assert files_with["names_in_several_groups"] == 146
    assert (said["rules"]["p50"], said["rules"]["max"]) == (12, 19_125)
    assert files_with["wildcard_rules"] == 1296
    assert files_with["dollar_rules"] == 402
    assert files_with["empty_rules"] == 364
    assert files_with["dead_rules"] == 73
    classes = {name: one["files_with"] for name, one in said["star_class"].items()}
    assert classes == {"full": 39, "part": 2333, "none": 439}
    assert said["other_keys"]["crawl-delay"]["files_with"] == 512
    assert files_with["crawl_delay_star"] == 359
    assert said["crawl_delay_star"]["p50"] == 10.0
    assert files_with["sitemaps"] == 1450
    assert files_with["sitemaps_cross_host"] == 114
    agents = {name: one["files_with"] for name, one in said["agents"].items()}
    found = [agents[name] for name in ("googlebot", "bingbot", "ccbot", "gptbot")]
    assert found == [185, 147, 24, 0]
