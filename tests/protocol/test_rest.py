"""How long an origin rests, as values."""

from __future__ import annotations

import pytest

from scrapy_rep.protocol.extensions.rest import (
    NO_ANSWER,
    PageAnswer,
    Rest,
    RestLimits,
    rest_after,
)

LIMITS = RestLimits(max_seconds=100, give_up_seconds=1000)
Told = tuple[int, float | None, float, float]
"""An answer: status, Retry-After, when its request was sent and when it came."""


def after(*answers: Told, luck: float = 0.0, url: str = "") -> Rest | None:
    """The rest after answers, each for another URL unless all are for one."""
    rest = None
    for number, (status, asked, sent_at, at) in enumerate(answers):
        answer = PageAnswer(status, asked, sent_at, at, url or str(number))
        rest = rest_after(rest, answer, LIMITS, luck)
    return rest


def resting(*answers: Told, luck: float = 0.0) -> Rest:
    """The rest after a first refusal at 8, which alone begins none, and these answers."""
    rest = after((429, None, 7, 8), *answers, luck=luck)
    assert rest is not None
    return rest


@pytest.mark.parametrize(("status", "asked"), [(429, None), (429, 7.0), (503, 7.0), (503, None)])
def test_one_refused_url_does_not_make_its_origin_rest(status: int, asked: float | None) -> None:
    refusals = [(status, asked, at, at) for at in (10.0, 20.0, 30.0)]
    for count in (1, 2, 3):
        rest = after(*refusals[:count], url="/search")
        assert rest is not None
        assert (rest.seconds, rest.until_at, rest.given_up_until) == (0, 10, 0)


@pytest.mark.parametrize(
    ("status", "asked", "until"),
    [
        (429, None, 12.0),
        (429, 0.0, 12.0),
        (429, 7.0, 17.0),
        (503, 7.0, 17.0),
        (429, 1e9, 110.0),
        (503, None, 12.0),
        (503, 0.0, 12.0),
    ],
)
def test_a_second_refused_url_makes_it_rest(status: int, asked: float | None, until: float) -> None:
    rest = resting((status, asked, 9, 10))
    assert rest.until_at == until
    assert rest.retry_after_seconds == (asked or None)
    assert (rest.url, rest.status, rest.count) == ("1", status, 1)


@pytest.mark.parametrize("status", [200, 304, 404, 500, 502])
def test_any_other_answer_ends_it(status: int) -> None:
    refused = (429, 7.0, 9.0, 10.0)
    assert after(refused, (429, 7.0, 11, 12), (status, None, 19, 20)) is None
    assert after(refused, (status, None, 11, 12)) is None
    assert after((status, 7.0, 9, 10)) is None


def test_an_answer_to_an_earlier_request_does_not_end_it() -> None:
    refused = (429, 7.0, 9.0, 10.0)
    assert after(refused, (200, None, 9, 11)) == after(refused)
    rest = after(refused, (200, None, 9, 11), (429, 7.0, 9, 12))
    assert rest is not None
    assert rest.until_at == 19


def test_rests_without_a_time_double() -> None:
    answers, at = [(429, None, 10.0, 10.0)], 10.0
    found = []
    for _ in range(10):
        rest = resting(*answers)
        found.append(rest.until_at - at)
        at = rest.until_at
        answers.append((429, None, at, at))
    assert found == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


def test_they_are_spread() -> None:
    assert resting((429, None, 10, 10), luck=1.0).until_at == 12.5


def test_a_time_begins_the_doubling_again() -> None:
    answers = [(429, None, 10, 10), (429, None, 12, 12), (429, 5.0, 16, 16), (429, None, 21, 21)]
    assert resting(*answers).until_at == 23


def test_requests_under_way_count_once() -> None:
    """They can only make the rest longer."""
    refused = (429, None, 9.0, 10.0)
    first = resting(refused)
    assert resting(refused, (429, None, 9.5, 10.5), (503, None, 9, 11)) == first
    assert resting(refused, (200, None, 9.5, 11)) == first
    longer = resting(refused, (429, 7.0, 9.5, 11))
    assert (longer.until_at, longer.doublings) == (18, 1)
    asked = (429, 7.0, 9.0, 10.0)
    assert resting(asked, (429, 2.0, 9.5, 11)) == resting(asked)


def test_plain_503s_of_requests_under_way_count_once() -> None:
    """They may be one overload; a 429 or a time begins a rest even so."""
    refused = (503, None, 9.0, 10.0)
    assert after(refused, (503, None, 9.5, 11)) == after(refused)
    for status, asked, until in ((429, None, 13), (503, 7.0, 18)):
        rest = after(refused, (status, asked, 9.5, 11))
        assert rest is not None
        assert rest.until_at == until


def test_a_late_answer_without_a_time_changes_nothing() -> None:
    assert resting((429, None, 9, 10), (429, None, 9, 50)) == resting((429, None, 9, 10))


@pytest.mark.parametrize("status", [429, 503])
def test_two_answers_an_hour_apart_give_nothing_up(status: int) -> None:
    rest = after((status, None, 0, 0), (status, None, 1500, 1500))
    assert rest is not None
    assert not rest.given_up_until
    assert rest.since_at == 1500


def test_an_origin_is_given_up_once() -> None:
    answers = [(429, 100.0, at, at) for at in range(10, 1110, 100)]
    assert resting(*answers, (429, None, 1050, 1060)) == resting(*answers)


def test_resting_site_is_given_up_after_a_while() -> None:
    """After an hour, say, without any other answer; a good one begins the hour again."""
    answers = [(429, 100.0, at, at) for at in range(10, 1000, 100)]
    assert not resting(*answers).given_up_until
    assert resting(*answers, (429, 100.0, 1010, 1010)).given_up_until == 2010
    assert not resting(*answers, (200, None, 950, 950), (429, 100.0, 1010, 1010)).given_up_until


@pytest.mark.parametrize("status", [429, 502, 503, NO_ANSWER])
def test_a_failure_of_a_proxy_neither_begins_nor_ends_a_rest(status: int) -> None:
    failure = PageAnswer(status, None, 20, 21, "/other", is_down=True, is_of_proxy=True)
    assert rest_after(None, failure, LIMITS, 0) is None
    refused = after((429, None, 7, 8))
    assert rest_after(refused, failure, LIMITS, 0) == refused
    rest = resting((429, None, 9, 10))
    assert rest_after(rest, failure, LIMITS, 0) == rest


def test_a_request_without_an_answer_ends_no_rest() -> None:
    refused = (503, None, 9.0, 10.0)
    assert resting(refused, (NO_ANSWER, None, 12.0, 192.0)) == resting(refused)
