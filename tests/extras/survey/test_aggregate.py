"""An aggregate is a monoid: the same bits in any order and any split."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scrapy_rep.extras.survey.aggregate import Aggregate
from scrapy_rep.extras.survey.captures import Bad, Capture
from scrapy_rep.extras.survey.facts import facts
from scrapy_rep.extras.survey.statistics import interval, report
from tests.extras.survey.files import CAPTURES, SMALL, captures

SOME = st.lists(CAPTURES | st.sampled_from([Bad("no-json"), Bad("no-body")]), max_size=12)


@settings(max_examples=40)
@given(SOME, SOME, SOME)
def test_aggregates_add_in_any_order(a: list[Any], b: list[Any], c: list[Any]) -> None:
    one, two, three = Aggregate.of(a), Aggregate.of(b), Aggregate.of(c)
    assert (one + two) + three == one + (two + three)
    assert one + two == two + one
    assert one + Aggregate() == one == Aggregate() + one
    assert one + two + three == Aggregate.of([*c, *a, *b])


@settings(max_examples=40)
@given(SOME, st.randoms(use_true_random=False), st.integers(1, 5))
def test_any_order_and_any_split(some: list[Any], chance: Any, parts: int) -> None:
    whole = Aggregate.of(some).to_json()
    chance.shuffle(some)
    total = Aggregate()
    for part in range(parts):
        total.update(Aggregate.of(some[part::parts]))
    assert total.to_json() == whole


@settings(max_examples=25)
@given(SOME)
def test_json_loses_nothing(some: list[Any]) -> None:
    found = Aggregate.of(some)
    again = Aggregate.from_dict(json.loads(found.to_json()))
    assert again == found
    assert again.to_json() == found.to_json()
    assert report(again) == report(found)


@pytest.mark.parametrize(
    "text",
    [
        *["[]", "{}", '{"format": "x"}', '{"format": "scrapy-rep survey", "version": 2}'],
        *['{"format": "scrapy-rep survey", "version": 1}', "nothing"],
        '{"format": "scrapy-rep survey", "version": 1, "counts": 3}',
    ],
)
def test_invalid_aggregate_raises(text: str) -> None:
    with pytest.raises(ValueError, match=r"survey|version|damaged|Expecting"):
        Aggregate.from_dict(json.loads(text))


class TestStatistics:
    """The statistics of an aggregate."""

    def test_statistics_of_a_small_survey_are_right(self) -> None:
        said = report(Aggregate.of(captures()))["statistics"]
        assert said["files"]["files_with"] == len(SMALL)
        assert said["sha256"] == {"distinct": len(SMALL) - 1, "is_exact": True}
        assert said["star_class"]["full"]["files_with"] == 2
        assert said["star_class"]["part"]["files_with"] == 2
        gptbot = said["agents"]["gptbot"]
        assert gptbot["operator"] == "OpenAI"
        assert gptbot["named"] == {"full": 1, "part": 0, "none": 0}
        assert gptbot["effective"] == {"full": 3, "part": 2, "none": 4}
        assert said["purposes"]["ai"]["full"]["files_with"] == 1
        assert said["content_signal"]["says"]["train-ai=n"]["files_with"] == 1
        assert said["content_usage"]["says"]["train-ai=n"]["files_with"] == 1
        assert said["licence"]["files_with"] == 1
        assert said["crawl_delay_star"]["p50"] == 10.0
        assert said["sitemaps_cross_host"]["files_with"] == 1

    def test_statistics_of_nothing_have_no_share(self) -> None:
        said = report(Aggregate())["statistics"]
        assert said["files"]["share"] is None
        assert said["rules"]["max"] == 0

    def test_crawler_that_ignores_star_is_not_restricted_by_it(self) -> None:
        said = report(Aggregate.of([Capture("a", body=b"User-agent: *\nDisallow: /")]))
        agents = said["statistics"]["agents"]
        assert agents["adsbot-google"]["effective"] == {"full": 0, "part": 0, "none": 1}
        assert agents["googlebot"]["effective"] == {"full": 1, "part": 0, "none": 0}

    def test_crawler_takes_the_class_of_its_fallback(self) -> None:
        body = b"User-agent: Googlebot\nDisallow: /\nUser-agent: *\nDisallow:\n"
        agents = report(Aggregate.of([Capture("a", body=body)]))["statistics"]["agents"]
        assert agents["googlebot-image"]["files_with"] == 0
        assert agents["googlebot-image"]["effective"] == {"full": 1, "part": 0, "none": 0}
        assert agents["bingbot"]["effective"] == {"full": 0, "part": 0, "none": 1}

    def test_crawler_with_two_names_counts_once(self) -> None:
        body = b"User-agent: libwww\nUser-agent: libwww-perl\nDisallow: /\n"
        agents = report(Aggregate.of([Capture("a", body=body)]))["statistics"]["agents"]
        assert agents["libwww-perl"]["files_with"] == 1

    def test_survey_counts_policy_tokens(self) -> None:
        body = b"User-agent: __usage_ai-training\nDisallow: /\n"
        said = report(Aggregate.of([Capture("a", body=body), Capture("b", body=b"User-agent: *")]))
        token = said["statistics"]["agents"]["__usage_ai-training"]
        assert (token["purpose"], token["effective"]) == (
            "ai-training",
            {"full": 1, "part": 0, "none": 1},
        )
        assert said["statistics"]["purposes"]["ai-training"]["full"]["files_with"] == 1

    def test_survey_counts_answers_and_failures(self) -> None:
        some = [
            Capture("a", "https", 443, "2026-01-02T00:00:00Z", 404, media_type="text/html"),
            Capture("b", "https", 444, "2026-01-01T00:00:00Z", 200, hops=2, cross_host=True),
            Capture("c", "http", 80, failure="dns"),
            Capture("d", status=200, max_age=60, media_type="x/y", body=b""),
            Capture("e", status=500, body=b"User-agent: *\nDisallow: /"),
        ]
        said = report(Aggregate.of([*some, Bad("no-json")]))["statistics"]
        assert said["captures"]["sum"] == 5
        assert said["files"]["files_with"] == 1
        assert said["status"]["404"]["share"] == 0.2
        assert said["failure"]["dns"]["files_with"] == 1
        assert said["port"]["other"]["files_with"] == 1
        assert said["date"] == {"first": "2026-01-01T00:00:00Z", "last": "2026-01-02T00:00:00Z"}
        assert (said["hops"]["of"], said["hops"]["max"]) == (1, 2)
        assert said["media_type"].keys() == {"text/html", "other"}
        assert said["bad_records"] == {"no-json": 1}
        assert said["error_bound"] == {"names": 0, "other_keys": 0}

    def test_survey_counts_lint_codes(self) -> None:
        found = Aggregate.of(captures(), with_lint=True)
        said = report(found)["statistics"]["lint"]
        code = next(iter(facts(SMALL["page.example"], with_lint=True).lint or ()))
        assert said[code]["of"] == len(SMALL)

    @pytest.mark.parametrize(
        ("count", "of", "low", "high"),
        [(0, 0, 0, 1), (0, 10, 0, 0.2775), (5, 10, 0.2366, 0.7634), (10, 10, 0.7225, 1)],
    )
    def test_interval_of_a_share_is_that_of_wilson(
        self, count: int, of: int, low: float, high: float
    ) -> None:
        assert interval(count, of) == pytest.approx((low, high), abs=1e-4)


def test_memory_is_bounded_on_hostile_names() -> None:
    """The names and keys that are kept of one file are limited."""
    letters = bytes.maketrans(b"0123456789", b"abcdefghij")
    body = b"".join(
        b"User-agent: x%s\nDisallow: /\n" % str(n).encode().translate(letters) for n in range(2500)
    )
    keys = b"".join(b"k%d: v\n" % n for n in range(900)) + b"y" * 41 + b": v\n<a href: b\n"
    found = Aggregate.of([Capture("a", body=body), Capture("b", body=keys)])
    assert len(found.names) == 2000
    assert len(found.other_keys) == 100
    assert len(found.to_json()) < 200_000


@pytest.mark.parametrize("is_first", [True, False])
def test_crawler_with_two_names_obeys_its_own(is_first: bool) -> None:
    """Once a file, whatever the order: the name that it goes by, not an older one."""
    groups = ["User-agent: coccocbot\nDisallow: /\n", "User-agent: coccoc\nDisallow:\n"]
    body = "\n".join(groups if is_first else groups[::-1]).encode()
    said = report(Aggregate.of([Capture("a.example", body=body)]))["statistics"]["agents"]
    assert said["coccocbot"]["named"] == {"full": 1, "part": 0, "none": 0}
