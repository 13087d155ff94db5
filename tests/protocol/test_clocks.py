"""Records of a wrong clock are due; records of a right clock stay as they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.protocol.access.events import AccessPolicy
from scrapy_rep.protocol.access.knowledge import Answer, Copy, Knowledge, Outage
from scrapy_rep.protocol.access.lifetime import Limits
from scrapy_rep.protocol.access.states import (
    Act,
    PolicyOptions,
    State,
    believable,
    learn,
    standing,
)

NOW = 1_800_000_000.0
MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
PRESETS = ("rfc9309", "google", "strict", "lenient", "scrapy")
HOPS = ("https://h/robots.txt",)


def outage(failed_at: float, retry_at: float, since: float | None = None) -> Outage:
    begun = failed_at if since is None else since
    return Outage(503, HOPS, NOW + begun, NOW + failed_at, 1, NOW + retry_at)


def copy(confirmed_at: float, fresh_until: float) -> Copy:
    return Copy(200, b"", HOPS, (), NOW + confirmed_at, NOW + confirmed_at, NOW + fresh_until)


def rules(preset: str = "rfc9309", limits: Limits | None = None) -> PolicyOptions:
    return PolicyOptions(AccessPolicy(preset), limits or Limits())


class TestOutages:
    """A retry that is later than our longest wait."""

    def test_outage_of_the_future_begins_now(self) -> None:
        found = believable(Knowledge(outage=outage(0, 30, since=HOUR)), NOW, Limits()).outage
        assert found is not None
        assert found.since == NOW

    @pytest.mark.parametrize("preset", PRESETS)
    @pytest.mark.parametrize("ahead", [DAY, 20 * HOUR, HOUR, 10 * MINUTE])
    def test_outage_from_a_clock_ahead_is_due(self, preset: str, ahead: float) -> None:
        known = Knowledge(outage=outage(ahead, ahead + 30))
        stands = standing(known, NOW, rules(preset))
        assert stands.act is Act.FETCH
        assert stands.due_at <= NOW
        known = Knowledge(copy(-HOUR, 23 * HOUR), outage(ahead, ahead + 30))
        assert standing(known, NOW, rules(preset)).act is not Act.USE

    @pytest.mark.parametrize("retry_at", [2 * HOUR, DAY, 30 * DAY, 1e12])
    def test_a_wait_that_is_too_long_is_due(self, retry_at: float) -> None:
        assert standing(Knowledge(outage=outage(-1, retry_at)), NOW, rules()).act is Act.FETCH

    @pytest.mark.parametrize("retry_at", [29, 3599, 1.25 * HOUR])
    def test_plausible_times_of_outages_are_believed(self, retry_at: float) -> None:
        assert standing(Knowledge(outage=outage(-1, retry_at)), NOW, rules()).act is Act.USE

    def test_longer_waits_that_the_user_chose_are_believed(self) -> None:
        limits = Limits(retry_after_max_seconds=DAY)
        known = Knowledge(outage=outage(-1, DAY))
        assert standing(known, NOW, rules(limits=limits)).act is Act.USE

    def test_clocks_differ_a_little(self) -> None:
        assert standing(Knowledge(outage=outage(MINUTE, 90)), NOW, rules()).act is Act.USE
        known = Knowledge(outage=outage(5 * MINUTE, 5 * MINUTE + 30))
        assert standing(known, NOW, rules()).act is Act.USE
        known = Knowledge(outage=outage(5 * MINUTE + 1, 5 * MINUTE + 31))
        assert standing(known, NOW, rules()).act is Act.FETCH

    def test_its_phases_begin_no_later_than_now(self) -> None:
        known = Knowledge(copy(-HOUR, DAY), outage(12 * HOUR, 12 * HOUR + 30))
        stands = standing(known, NOW, rules("google"))
        assert stands.usable_until <= NOW + 12 * HOUR
        learnt = learn(known, Answer(503, hops=HOPS), NOW, Limits()).outage
        assert learnt is not None
        assert learnt.since == NOW


class TestCopies:
    """A copy that is fresh for longer than headers can set."""

    @pytest.mark.parametrize(
        "found",
        [
            *[copy(HOUR, 25 * HOUR), copy(DAY, 2 * DAY), copy(10 * MINUTE, 11 * MINUTE)],
            *[copy(-1, 2 * DAY), copy(-HOUR, 1e12), copy(-29 * DAY, 2 * DAY)],
            *[copy(5 * MINUTE + 1, HOUR), copy(0, DAY + 5 * MINUTE + 1)],
        ],
    )
    def test_it_is_due(self, found: Copy) -> None:
        stands = standing(Knowledge(found), NOW, rules())
        assert stands.act is not Act.USE
        assert stands.state in (State.DUE, State.EXPIRED)

    @pytest.mark.parametrize(
        "found",
        [
            *[copy(0, DAY), copy(-HOUR, 23 * HOUR), copy(MINUTE, DAY + MINUTE), copy(0, 60)],
            *[copy(5 * MINUTE, HOUR), copy(5 * MINUTE, DAY + 5 * MINUTE)],
        ],
    )
    def test_plausible_times_of_copies_are_believed(self, found: Copy) -> None:
        assert standing(Knowledge(found), NOW, rules()).act is Act.USE

    def test_google_lets_headers_set_longer_lifetimes(self) -> None:
        limits = Limits(headers_max_seconds=30 * DAY)
        known = Knowledge(copy(-1, 29 * DAY))
        assert standing(known, NOW, rules("google", limits)).act is Act.USE

    def test_records_of_a_future_day_are_ignored(self) -> None:
        known = Knowledge(copy(2 * DAY, 3 * DAY), outage(2 * DAY, 2 * DAY + 30))
        assert believable(known, NOW, Limits()) == known
        assert standing(known, NOW, rules()).state is State.UNKNOWN


_seconds = st.floats(0, 40 * DAY)
_events = st.sampled_from([200, 404, 503, 429])


@given(st.lists(st.tuples(_seconds, _events), max_size=5), _seconds, st.floats(0, 0.999))
def test_records_of_a_right_clock_are_believed(
    history: list[tuple[float, int]], rest: float, chance: float
) -> None:
    known, now, limits = Knowledge(), NOW, Limits()
    for pause, event in history:
        now += pause
        answer = Answer(event, b"", HOPS, {"retry-after": "999999", "cache-control": "max-age=1"})
        known = learn(known, answer, now, limits, chance=chance)
    assert believable(known, now + rest, limits) == known


@given(st.floats(-3 * DAY, 3 * DAY), st.floats(-3 * DAY, 60 * DAY), st.floats(-3 * DAY, 60 * DAY))
def test_no_record_delays_a_fetch_beyond_the_limits(
    made_at: float, fresh_until: float, retry_at: float
) -> None:
    """A copy that is used without a fetch is fetched again within these limits."""
    limits = Limits()
    known = Knowledge(copy(made_at, fresh_until), outage(made_at, retry_at))
    stands = standing(known, NOW, rules())
    if stands.act is Act.USE:
        assert stands.due_at <= NOW + 1.25 * max(limits.retry_max_seconds, HOUR) + 5 * MINUTE or (
            known.outage is not None and known.outage.failed_at > NOW + DAY
        )
    stands = standing(Knowledge(known.copy), NOW, rules())
    if stands.act is Act.USE:
        assert stands.due_at <= NOW + DAY + 5 * MINUTE
