"""How long an origin rests, as values."""

from __future__ import annotations

import pytest

from scrapy_rep.protocol.extensions.rest import PageAnswer, Rest, RestLimits, rest_after

LIMITS = RestLimits(max_seconds=100, give_up_seconds=1000)


def after(*answers: tuple[int, float | None, float, float], luck: float = 0.0) -> Rest | None:
    """The rest after answers: status, Retry-After, when it was sent and when it came."""
    rest = None
    for status, asked, sent_at, at in answers:
        rest = rest_after(rest, PageAnswer(status, asked, sent_at, at), LIMITS, luck)
    return rest


def resting(*answers: tuple[int, float | None, float, float], luck: float = 0.0) -> Rest:
    rest = after(*answers, luck=luck)
    assert rest is not None
    return rest


@pytest.mark.parametrize(
    ("status", "asked", "until"),
    [
        (429, None, 12.0),
        (429, 0.0, 12.0),
        (429, 7.0, 17.0),
        (503, 7.0, 17.0),
        (429, 1e9, 110.0),
        (503, None, 10.0),
        (503, 0.0, 10.0),
    ],
)
def test_the_first_answer(status: int, asked: float | None, until: float) -> None:
    rest = resting((status, asked, 9, 10))
    assert rest.until_at == until
    assert rest.asked_seconds == (asked or None)


@pytest.mark.parametrize("status", [200, 304, 404, 500, 502])
def test_any_other_answer_ends_it(status: int) -> None:
    assert after((429, 7.0, 9, 10), (status, None, 17, 18)) is None
    assert after((503, None, 9, 10), (status, None, 9, 11)) is None
    assert after((status, 7.0, 9, 10)) is None


def test_rests_without_a_time_double() -> None:
    answers, at = [(429, None, 0.0, 0.0)], 0.0
    found = []
    for _ in range(10):
        rest = resting(*answers)
        found.append(rest.until_at - at)
        at = rest.until_at
        answers.append((429, None, at, at))
    assert found == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]


def test_they_are_spread() -> None:
    assert resting((429, None, 0, 0), luck=1.0).until_at == 2.5


def test_a_time_begins_the_doubling_again() -> None:
    answers = [(429, None, 0, 0), (429, None, 2, 2), (429, 5.0, 6, 6), (429, None, 11, 11)]
    assert resting(*answers).until_at == 13


def test_requests_under_way_count_once() -> None:
    """They can only make the rest longer."""
    first = after((429, None, 9, 10))
    assert after((429, None, 9, 10), (429, None, 9.5, 10.5), (503, None, 9, 11)) == first
    assert after((429, None, 9, 10), (200, None, 9.5, 11)) == first
    longer = resting((429, None, 9, 10), (429, 7.0, 9.5, 11))
    assert (longer.until_at, longer.doublings) == (18, 1)
    assert after((429, 7.0, 9, 10), (429, 2.0, 9.5, 11)) == after((429, 7.0, 9, 10))


def test_the_second_503_in_a_row() -> None:
    assert resting((503, None, 9, 10), (503, None, 11, 12)).until_at == 14


def test_503s_of_requests_under_way_count_once() -> None:
    """They are not the second in a row; a 429 or a time begins a rest even so."""
    first = after((503, None, 9, 10))
    assert after((503, None, 9, 10), (503, None, 9.5, 11)) == first
    for status, asked, until in ((429, None, 13), (503, 7.0, 18)):
        rest = after((503, None, 9, 10), (status, asked, 9.5, 11))
        assert rest is not None
        assert rest.until_at == until


def test_a_late_answer_without_a_time_changes_nothing() -> None:
    assert after((429, None, 9, 10), (429, None, 9, 50)) == after((429, None, 9, 10))


@pytest.mark.parametrize("status", [429, 503])
def test_two_answers_an_hour_apart_give_nothing_up(status: int) -> None:
    rest = after((status, None, 0, 0), (status, None, 1500, 1500))
    assert rest is not None
    assert not rest.given_up_until
    assert rest.since_at == 1500


def test_an_origin_is_given_up_once() -> None:
    answers = [(429, 100.0, at, at) for at in range(0, 1100, 100)]
    assert after(*answers, (429, None, 1050, 1050)) == after(*answers)


def test_giving_up() -> None:
    """After an hour, say, without any other answer; a good one begins the hour again."""
    answers = [(429, 100.0, at, at) for at in range(0, 1000, 100)]
    assert not resting(*answers).given_up_until
    assert resting(*answers, (429, 100.0, 1000, 1000)).given_up_until == 2000
    assert not resting(*answers, (200, None, 950, 950), (429, 100.0, 1000, 1000)).given_up_until
