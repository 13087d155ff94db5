"""Tests for the fields with which a site tells how many requests it accepts."""

from __future__ import annotations

import pytest

from scrapy_rep.protocol.extensions.learned_pace import Quota
from scrapy_rep.protocol.extensions.quota_fields import quota_in

_NOW, _POSIX_NOW = 1000.0, 1.8e9


@pytest.mark.parametrize(
    ("fields", "left", "seconds"),
    [
        ({"ratelimit": '"default";r=50;t=30'}, 50, 30),
        ({"ratelimit": '"default"; r=0; t=5'}, 0, 5),
        ({"ratelimit": '"day";r=900;t=4000, "second";r=3;t=1'}, 3, 1),
        ({"ratelimit": '"a";r=2;t=9,"b";r=2;t=60'}, 2, 60),
        (
            {
                "ratelimit": '"octets";r=1;t=9, "default";r=5;t=7',
                "ratelimit-policy": '"octets";q=9;qu="content-bytes", "default";q=10;w=60',
            },
            5,
            7,
        ),
        ({"ratelimit-remaining": "4", "ratelimit-reset": "10"}, 4, 10),
        ({"x-ratelimit-remaining": "4", "x-ratelimit-reset": "1800000060"}, 4, 60),
        ({"x-ratelimit-remaining": " 4 ", "x-ratelimit-reset": "60"}, 4, 60),
    ],
)
def test_the_least_quota_of_an_answer_counts(
    fields: dict[str, str], left: int, seconds: float
) -> None:
    assert quota_in(fields, _NOW, _POSIX_NOW) == Quota(left, _NOW + seconds)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"ratelimit": '"default";r=50'},
        {"ratelimit": '"default";t=5'},
        {"ratelimit": "limit=100, remaining=50, reset=5"},
        {"ratelimit": '"default";r=-1;t=5'},
        {"ratelimit": '"default";r=1.5;t=5'},
        {"ratelimit": '"' * 10_000},
        {"ratelimit": '"a;r=1;t=2'},
        {"ratelimit": '"one";r=0;t=5', "ratelimit-policy": '"one";q=1;pk=:c2Vzc2lvbg==:'},
        {"x-ratelimit-remaining": "0"},
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "soon"},
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1000000000"},  # long ago
        {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1800000000000"},  # milliseconds
        {"x-ratelimit-remaining": "9" * 5000, "x-ratelimit-reset": "60"},
    ],
)
def test_a_field_without_a_certain_meaning_says_nothing(fields: dict[str, str]) -> None:
    assert quota_in(fields, _NOW, _POSIX_NOW) is None
