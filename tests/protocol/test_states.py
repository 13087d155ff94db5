"""The life of a policy: semantics.md, 5 and 6, each state, and each way from one to another.

Expected values are written out here, not read from the tables under test.
"""

from __future__ import annotations

import dataclasses
import re
from email.utils import formatdate
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scrapy_rep.protocol.access.events import AccessPolicy, Event, Failure, Meaning
from scrapy_rep.protocol.access.knowledge import Answer, Knowledge
from scrapy_rep.protocol.access.lifetime import Limits
from scrapy_rep.protocol.access.states import (
    Act,
    PolicyOptions,
    Standing,
    State,
    as_left,
    is_worth_a_retry,
    learn,
    standing,
)

START = 1_800_000_000.0
MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
PRESETS = ("rfc9309", "google", "strict", "lenient", "scrapy")
FILE = Answer(200, b"User-agent: *\nDisallow: /\n", ("https://h/robots.txt",), {"etag": '"1"'})
GONE = Answer(404, b"<p>gone", ("https://h/robots.txt",))
DOWN = Answer(503, b"User-agent: *\nAllow: /\n", ("https://h/robots.txt",))
SAME = Answer(304, confirms=True)
ALLOW, DISALLOW, RULES = Meaning.ALLOW, Meaning.DISALLOW, Meaning.RULES


def rules(preset: str = "rfc9309", **overrides: str) -> PolicyOptions:
    return PolicyOptions(access=AccessPolicy(preset, overrides))


def after(*history: tuple[float, Answer]) -> Knowledge:
    """The knowledge after answers at instants, counted from START."""
    known = Knowledge()
    for at, answer in history:
        known = learn(known, answer, START + at, Limits())
    return known


def at(known: Knowledge, seconds: float, by: PolicyOptions | None = None) -> Standing:
    return standing(known, START + seconds, by or rules())


class TestStates:
    """Each state, what leads there, and what a request does."""

    @pytest.mark.parametrize(
        ("known", "seconds", "stands"),
        [
            (Knowledge(), 0, (State.UNKNOWN, Act.FETCH, None, False)),
            (after((0, FILE)), 0, (State.FRESH, Act.USE, RULES, False)),
            (after((0, FILE)), 0.899 * DAY, (State.FRESH, Act.USE, RULES, False)),
            (after((0, FILE)), 0.901 * DAY, (State.DUE, Act.REFRESH, RULES, False)),
            (after((0, FILE)), DAY - 1, (State.DUE, Act.REFRESH, RULES, False)),
            (after((0, FILE)), DAY, (State.EXPIRED, Act.FETCH, None, False)),
            (after((0, FILE)), 999 * DAY, (State.EXPIRED, Act.FETCH, None, False)),
            (after((0, GONE)), 1, (State.FRESH, Act.USE, ALLOW, False)),
            (after((0, GONE)), DAY, (State.EXPIRED, Act.FETCH, None, False)),
            (after((0, FILE), (DAY, DOWN)), DAY + 29, (State.STALE, Act.USE, RULES, True)),
            (after((0, FILE), (DAY, DOWN)), DAY + 31, (State.STALE_DUE, Act.REFRESH, RULES, True)),
            (after((0, FILE), (DAY, DOWN)), DAY + 89, (State.STALE_DUE, Act.REFRESH, RULES, True)),
            (after((0, FILE), (DAY, DOWN)), DAY + 91, (State.STALE_RESTED, Act.FETCH, RULES, True)),
            (after((0, FILE), (DAY, DOWN)), 9 * DAY, (State.STALE_RESTED, Act.FETCH, RULES, True)),
            (after((0, DOWN)), 29, (State.UNREACHABLE, Act.USE, DISALLOW, False)),
            (after((0, DOWN)), 31, (State.UNREACHABLE_DUE, Act.FETCH, DISALLOW, False)),
        ],
    )
    def test_each_state_has_its_act_and_meaning(
        self,
        known: Knowledge,
        seconds: float,
        stands: tuple[State, Act, Meaning | None, bool],
    ) -> None:
        came = at(known, seconds)
        assert (came.state, came.act, came.meaning, came.is_stale) == stands

    @pytest.mark.parametrize(
        ("lifetime", "due_at"), [(60, 45), (100, 85), (150, 135), (HOUR, 0.9 * HOUR), (20, 10)]
    )
    def test_freshness_ends_when_it_says(self, lifetime: float, due_at: float) -> None:
        """And a host that is being visited is refreshed ahead of that."""
        limits = Limits(min_seconds=1)
        answer = Answer(200, headers={"cache-control": f"max-age={lifetime:.0f}"})
        known = learn(Knowledge(), answer, START, limits)
        assert at(known, due_at - 0.1).state is State.FRESH
        assert at(known, due_at + 0.1).state is State.DUE
        assert at(known, lifetime - 0.1).state is State.DUE
        assert at(known, lifetime).state is State.EXPIRED
        assert at(known, 0).usable_until == START + lifetime
        assert at(known, 0).due_at == pytest.approx(START + due_at)


class TestLearning:
    """6: what an answer changes."""

    def test_status_304_renews_the_copy(self) -> None:
        headers = {"cache-control": "max-age=100", "etag": '"1"', "x": "old"}
        first = dataclasses.replace(FILE, headers=headers)
        newer = Answer(304, headers={"cache-control": "max-age=1000"}, confirms=True)
        copy = after((0, first), (50, newer)).copy
        assert copy is not None
        assert (copy.event, copy.body, copy.hops) == (200, FILE.body, FILE.hops)
        assert copy.fetched_at - START == 0
        assert copy.confirmed_at - START == 50
        assert copy.fresh_until - START == 1050
        assert dict(copy.headers) == {**headers, "cache-control": "max-age=1000"}

    def test_a_304_has_an_age_of_its_own(self) -> None:
        """RFC 9111, 3.2: the newer fields win; but Age and Date are those of one answer."""
        headers = {"cache-control": "max-age=7200", "age": "3600", "date": "soon"}
        first = dataclasses.replace(FILE, headers=headers)
        copy = after((0, first), (50, SAME)).copy
        assert copy is not None
        assert copy.fresh_until - START == 50 + 7200
        assert dict(copy.headers) == {"cache-control": "max-age=7200"}
        aged = Answer(304, headers={"age": "100"}, confirms=True)
        copy = after((0, first), (50, aged)).copy
        assert copy is not None
        assert copy.fresh_until - START == 50 + 7100

    def test_a_304_without_a_date_is_of_now(self) -> None:
        """RFC 9110, 6.6.1. Otherwise each 304 would move an Expires that has passed."""
        headers = {"date": formatdate(START), "expires": formatdate(START + HOUR, usegmt=True)}
        first = dataclasses.replace(FILE, headers=headers)
        copy = after((0, first), (HOUR, SAME)).copy
        assert copy is not None
        assert copy.fresh_until - copy.confirmed_at == Limits().min_seconds

    def test_a_304_does_not_tell_the_length_of_the_file(self) -> None:
        first = dataclasses.replace(FILE, headers={"content-length": "26", "x": "old"})
        newer = Answer(304, headers={"content-length": "0", "x": "new"}, confirms=True)
        copy = after((0, first), (50, newer)).copy
        assert copy is not None
        assert dict(copy.headers) == {"content-length": "26", "x": "new"}

    @pytest.mark.parametrize(
        ("ours", "theirs", "is_same"),
        [
            ({"etag": '"1"'}, {"etag": '"1"'}, True),
            ({"etag": '"1"'}, {"etag": 'W/"1"'}, True),
            ({"etag": 'W/"1"'}, {"etag": '"1"'}, True),
            ({"etag": '"1"'}, {"etag": '"2"'}, False),
            ({"etag": '"1"'}, {"etag": 'W/"2"'}, False),
            ({"etag": '"1"'}, {"etag": '"W/1"'}, False),
            ({"etag": '"1"'}, {}, True),
            ({"etag": '"1"'}, {"last-modified": "x"}, True),
            ({"last-modified": "x"}, {"etag": '"1"'}, True),
            ({"last-modified": "x"}, {"last-modified": "x"}, True),
            ({"last-modified": "x"}, {"last-modified": "y"}, False),
            ({"etag": '"1"', "last-modified": "x"}, {"etag": '"1"', "last-modified": "y"}, True),
            ({"etag": '"1"', "last-modified": "x"}, {"etag": '"2"', "last-modified": "x"}, False),
        ],
    )
    def test_a_304_of_another_version_confirms_nothing(
        self, ours: dict[str, str], theirs: dict[str, str], is_same: bool
    ) -> None:
        """RFC 9111, 4.3.4, by weak comparison; else a file that is gone would be obeyed."""
        answer = Answer(304, headers=theirs, confirms=True)
        known = after((0, Answer(200, headers=ours)), (50, answer))
        assert known.copy is not None
        assert (known.copy.confirmed_at - START == 50) is is_same
        assert (known.outage is None) is is_same
        assert known.outage is None or known.outage.event == 304

    @pytest.mark.parametrize(
        "known",
        [
            *[after((0, Answer(304))), after((0, SAME)), after((0, FILE), (DAY, Answer(304)))],
            after((0, FILE), (DAY, Answer(304, headers={"etag": '"1"'}))),
        ],
    )
    def test_304_to_an_unconditional_request_is_a_failure(self, known: Knowledge) -> None:
        assert known.outage is not None
        assert known.outage.event == 304

    def test_only_a_304_confirms(self) -> None:
        """A request with validators may be answered by another file."""
        newer = Answer(200, b"# new", headers={"etag": '"1"'}, confirms=True)
        copy = after((0, FILE), (DAY, newer)).copy
        assert copy is not None
        assert (copy.body, copy.fetched_at - START) == (b"# new", DAY)

    def test_redirect_takes_over_the_copy_of_another_origin(self) -> None:
        """With its times, but with our own hops."""
        theirs = after((0, FILE)).copy
        assert theirs is not None
        hops = ("https://a/robots.txt", "https://h/robots.txt")
        known = after((HOUR, DOWN), (2 * HOUR, Answer(200, hops=hops, repeats=theirs)))
        assert known == Knowledge(dataclasses.replace(theirs, hops=hops))

    @pytest.mark.parametrize(
        "event", [404, 410, 403, Failure.REDIRECT_LOOP, Failure.REDIRECT_LIMIT]
    )
    def test_unavailable_replaces_a_file(self, event: Event) -> None:
        known = after((0, FILE), (DAY, Answer(event, b"junk")), (2 * DAY, DOWN))
        assert known.copy is not None
        assert (known.copy.event, known.copy.body, known.copy.validators) == (event, b"", {})

    def test_an_answer_ends_an_outage_and_its_count(self) -> None:
        known = after((0, DOWN), (HOUR, DOWN), (2 * HOUR, FILE), (3 * HOUR, DOWN))
        assert known.outage is not None
        assert (known.outage.since - START, known.outage.count) == (3 * HOUR, 1)

    @pytest.mark.parametrize(
        ("retry_after", "due_at"), [(None, 0.0), ("0", 0.0), ("20", 20.0), ("999999", HOUR)]
    )
    @pytest.mark.parametrize("chance", [0.0, 0.9])
    def test_outage_of_an_earlier_run_is_due_at_once(
        self, retry_after: str | None, due_at: float, chance: float
    ) -> None:
        """But for a Retry-After. Of this run, nothing changes."""
        answer = Answer(503, headers={} if retry_after is None else {"retry-after": retry_after})
        known = learn(after((-DAY, FILE)), answer, START, Limits(), chance=chance)
        assert known.outage is not None
        found = as_left(known, START + 1)
        assert found.outage is not None
        assert found.outage.retry_at == START + due_at
        assert found == dataclasses.replace(
            known, outage=dataclasses.replace(known.outage, retry_at=START + due_at)
        )
        assert as_left(known, START) == known
        assert as_left(after((0, FILE)), START + 1) == after((0, FILE))

    def test_only_files_have_validators(self) -> None:
        headers = {"etag": '"1"', "last-modified": "yesterday", "date": "today"}
        file = after((0, Answer(200, headers=headers))).copy
        gone = after((0, Answer(404, headers=headers))).copy
        assert file is not None
        assert gone is not None
        assert file.validators == {"If-None-Match": '"1"', "If-Modified-Since": "yesterday"}
        assert gone.validators == {}

    @given(st.floats(0, 1, exclude_max=True), st.integers(1, 50))
    def test_chance_adds_up_to_a_quarter(self, chance: float, failures: int) -> None:
        known = Knowledge()
        for _ in range(failures):
            known = learn(known, DOWN, START, Limits(), chance=chance)
        assert known.outage is not None
        wait = min(30 * 2.0 ** (failures - 1), HOUR)
        assert known.outage.retry_at - START == pytest.approx(wait * (1 + chance / 4))

    @pytest.mark.parametrize(
        ("answer", "pause", "expected"),
        [
            (DOWN, 1, True),
            (Answer(429), 1, True),
            (Answer(429, headers={"retry-after": "1"}), 1, True),
            (Answer(429, headers={"retry-after": "2"}), 1, False),
            (Answer(Failure.TIMEOUT), 1, True),
            (Answer(Failure.LOCAL), 1, False),
            (Answer(Failure.GUARD), 1, False),
            (Answer(Failure.REDIRECT_LOOP), 1, False),
            (FILE, 1, False),
            (GONE, 1, False),
            (SAME, 1, False),
        ],
    )
    def test_only_passing_failures_are_retried_at_once(
        self, answer: Answer, pause: float, expected: bool
    ) -> None:
        assert is_worth_a_retry(answer, START, pause) is expected


# Per preset, with a copy and without: from which second of the outage on, what holds.
_LIVES: dict[str, tuple[list[tuple[float, Meaning]], list[tuple[float, Meaning]]]] = {
    "rfc9309": ([(0, RULES), (29 * DAY, DISALLOW)], [(0, DISALLOW)]),
    "google": (
        [(0, DISALLOW), (HOUR * 12, RULES), (29 * DAY, ALLOW), (30 * DAY, DISALLOW)],
        [(0, DISALLOW), (HOUR * 12, ALLOW), (30 * DAY, DISALLOW)],
    ),
    "strict": ([(0, DISALLOW)], [(0, DISALLOW)]),
    "lenient": ([(0, RULES), (29 * DAY, ALLOW)], [(0, ALLOW)]),
    "scrapy": ([(0, RULES), (29 * DAY, ALLOW)], [(0, ALLOW)]),
}


class TestPhases:
    """5: what an outage means, in each of its phases; the copy was confirmed a day before."""

    @pytest.mark.parametrize("has_copy", [True, False])
    @pytest.mark.parametrize("preset", PRESETS)
    def test_at_the_boundaries(self, preset: str, has_copy: bool) -> None:
        known = after((-DAY, FILE), (0, DOWN)) if has_copy else after((0, DOWN))
        life = _LIVES[preset][0 if has_copy else 1]
        ends = [start for start, _ in life[1:]] + [400 * DAY]
        for (start, meaning), end in zip(life, ends, strict=True):
            for seconds in (start, start + 1, end - 1):
                assert at(known, seconds, rules(preset)).meaning is meaning, seconds

    @pytest.mark.parametrize("stale_seconds", [0.0, HOUR, 60 * DAY])
    def test_the_stale_limit(self, stale_seconds: float) -> None:
        by = PolicyOptions(limits=Limits(stale_seconds=stale_seconds))
        known = after((0, FILE), (1, DOWN))
        if stale_seconds > 1:
            end = min(stale_seconds, 30 * DAY + 1)
            assert at(known, end - 1, by).meaning is RULES
            assert at(known, end, by).meaning is DISALLOW
        else:
            assert at(known, 1, by).meaning is DISALLOW

    @pytest.mark.parametrize("has_copy", [True, False])
    @pytest.mark.parametrize(
        ("preset", "end"), [("google", 12 * HOUR), ("google", 30 * DAY), ("rfc9309", 30 * DAY)]
    )
    def test_a_phase_ends_though_the_next_attempt_is_later(
        self, preset: str, end: float, has_copy: bool
    ) -> None:
        began = after((0, Answer(200)), (1, DOWN)) if has_copy else after((1, DOWN))
        known = learn(began, DOWN, START + end - 9, Limits())
        assert at(known, end - 8, rules(preset)).due_at > START + end + 1
        by = PolicyOptions(AccessPolicy(preset), Limits(stale_seconds=90 * DAY))
        assert at(known, end - 8, by).usable_until == START + end + 1

    @pytest.mark.parametrize("preset", PRESETS)
    def test_standing_holds_until_it_says(self, preset: str) -> None:
        """Nothing changes before `usable_until` and `due_at`, whichever comes first."""
        for known in (after((0, DOWN)), after((-DAY, FILE), (0, DOWN)), after((0, FILE))):
            for seconds in (1, 11.999 * HOUR, 13 * HOUR, 28.999 * DAY, 31 * DAY):
                now = at(known, seconds, rules(preset))
                until = min(max(now.due_at, START + seconds), now.usable_until) - START
                assert at(known, max(until - 1, seconds), rules(preset)) == now


_ANSWERED, _FAILED, _TIME = "successful or unavailable", "unreachable", "time passes"
_CHOICES = [
    PolicyOptions(access=AccessPolicy(preset, overrides), limits=limits, allow_after_30_days=allows)
    for preset in PRESETS
    for overrides in ({}, {"dns": "disallow"})
    for limits in (Limits(retry_first_seconds=37, retry_max_seconds=3607),)
    for allows in (False, True)
]
_ANSWERS = [
    (_ANSWERED, FILE),
    (_ANSWERED, Answer(200, headers={"cache-control": "max-age=1000"})),
    (_ANSWERED, GONE),
    (_ANSWERED, SAME),
    (_FAILED, DOWN),
    (_FAILED, Answer(Failure.DNS)),
]


def _edges(known: Knowledge, now: float, by: PolicyOptions) -> list[float]:
    """The later instants at which the state may change, by the knowledge."""
    copy, outage = known.copy, known.outage
    edges = []
    if copy is not None:
        lifetime = copy.fresh_until - copy.confirmed_at
        edges += [copy.fresh_until - max(0.1 * lifetime, min(15, lifetime / 2)), copy.fresh_until]
        edges += [copy.confirmed_at + by.limits.stale_seconds]
    if outage is not None:
        edges += [outage.retry_at, outage.retry_at + MINUTE]
        edges += [outage.since + HOUR * 12, outage.since + 30 * DAY]
    return sorted(edge for edge in edges if edge > now)


def _observed(
    by: PolicyOptions, *, is_answering: bool, depth: int
) -> set[tuple[State, str, State]]:
    """Every step that a breadth-first walk sees; the file is fetched if a request would fetch it.

    Time goes to the next instant at which something may change; or, unobserved, to a little before
    any of them, so that a failure comes shortly before each, and so that one's retry does.
    """
    seen: set[tuple[State, str, State]] = set()
    been: set[tuple[Knowledge, float]] = set()
    beginnings = Knowledge(), after((0, FILE)), after((0, FILE), (1, DOWN))
    outermost = [(known, START + 1) for known in beginnings]
    for _ in range(depth):
        following = []
        for known, now in outermost:
            before = standing(known, now, by, is_answering=is_answering)
            edges = _edges(known, now, by)
            earlier = [edge - ahead for edge in edges for ahead in (11, 100)]
            following += [(known, instant) for instant in earlier if instant > now]
            steps = [(_TIME, known, edge) for edge in edges[:1]]
            if before.act is not Act.USE:
                steps += [
                    (label, learn(known, answer, now, by.limits), now)
                    for label, answer in _ANSWERS
                    if answer is not SAME or (known.copy is not None and known.copy.validators)
                ]
            for label, then, instant in steps:
                state = standing(then, instant, by, is_answering=is_answering).state
                if label != _TIME or state is not before.state:
                    seen.add((before.state, label, state))
                following.append((then, instant))
        outermost = [step for step in dict.fromkeys(following) if step not in been]
        been.update(outermost)
    return seen


@pytest.mark.slow
def test_page_of_states_lists_each_way_once() -> None:
    page = (Path(__file__).parents[2] / "docs" / "states.md").read_text(encoding="utf-8")
    listed = re.findall(r"\| `(\w+)` \| ([a-z ]+) \| `(\w+)` \|", page)
    observed = {
        (before.name, label, after.name)
        for by in _CHOICES
        for is_answering in (False, True)
        for before, label, after in _observed(by, is_answering=is_answering, depth=4)
    }
    assert sorted(observed) == sorted(listed)
