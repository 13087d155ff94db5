"""After any history of a file, only the meaning that the preset names is allowed.

`permitted` says by itself, from the history alone, what semantics.md, 5 and 6, makes of it. It
shares no code and no table with the package.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scrapy_rep.protocol.access.events import AccessPolicy, Event, Failure, Meaning
from scrapy_rep.protocol.access.knowledge import Answer, Knowledge
from scrapy_rep.protocol.access.states import PolicyOptions, learn, standing

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
PRESETS = ("rfc9309", "google", "strict", "lenient", "scrapy")
START = 0.0

_FAILURES: list[Event] = [
    *[429, 500, 503, 599, 304, 100, 604],
    *[Failure.DNS, Failure.REFUSED, Failure.RESET, Failure.TLS, Failure.TIMEOUT],
    *[Failure.TRUNCATED, Failure.UNDECODABLE, Failure.GUARD, Failure.LOCAL, Failure.NETWORK],
]
_GUARDED: list[Event] = [
    *[401, 403, 302],
    *[Failure.REDIRECT_LIMIT, Failure.REDIRECT_LOOP, Failure.REDIRECT_TARGET],
]
_GONE: list[Event] = [404, 410, 451]


class Happened(NamedTuple):
    """One event and the time before it; `confirms` marks a 304 to a conditional request."""

    pause: float
    event: Event
    confirms: bool = False


class Choice(NamedTuple):
    preset: str
    overrides: dict[str, str]
    allows_after_30_days: bool
    is_answering: bool


def _good(event: Event, choice: Choice) -> str:
    """The meaning of an answer that is not a failure."""
    if event == 200:
        return "rules"
    named = choice.overrides.get(event.value if isinstance(event, Failure) else str(event))
    if named is not None:
        return named
    return "disallow" if choice.preset == "strict" and event in _GUARDED else "allow"


def permitted(history: list[Happened], rest: float, choice: Choice) -> str | None:
    """The meaning this long after the last event; None if the file must be fetched first."""
    now = 0.0
    good: tuple[str, float] | None = None  # its meaning, and when it was last confirmed
    is_file = False  # that there is no file is no copy to go by while there is no answer
    outage: tuple[Event, float] | None = None  # the last failure, and when the first came
    for happened in history:
        now += happened.pause
        if happened.event == 304 and happened.confirms and good is not None:
            good, outage = (good[0], now), None
        elif happened.event in _FAILURES:
            outage = (happened.event, outage[1] if outage else now)
        else:
            good, outage = (_good(happened.event, choice), now), None
            is_file = happened.event in range(200, 300)
    now += rest
    if outage is None:
        return good[0] if good and now < good[1] + DAY else None
    event, since = outage
    named = choice.overrides.get(event.value if isinstance(event, Failure) else str(event))
    if named is not None:
        return named
    copy = good[0] if good and is_file and now < good[1] + 30 * DAY else None
    lasted = now - since
    if choice.preset == "strict" or (choice.preset == "google" and lasted < 12 * HOUR):
        return "disallow"
    if choice.preset in ("lenient", "scrapy"):
        return copy or "allow"
    if lasted < 30 * DAY:
        return copy or ("allow" if choice.preset == "google" else "disallow")
    allows = choice.is_answering if choice.preset == "google" else choice.allows_after_30_days
    return "allow" if allows else "disallow"


def came_to(history: list[Happened], rest: float, choice: Choice) -> Meaning | None:
    """The meaning by the package."""
    rules = PolicyOptions(
        access=AccessPolicy(choice.preset, choice.overrides),
        allow_after_30_days=choice.allows_after_30_days,
    )
    now, known = START, Knowledge()
    for happened in history:
        now += happened.pause
        confirms = happened.confirms and known.copy is not None
        answer = Answer(happened.event, b"User-agent: *\nAllow: /\n", confirms=confirms)
        known = learn(known, answer, now, rules.limits)
    return standing(known, now + rest, rules, is_answering=choice.is_answering).meaning


_pauses = st.one_of(
    st.sampled_from([1.0, MINUTE, HOUR, 13 * HOUR, DAY, 29 * DAY, 30 * DAY, 31 * DAY]),
    st.floats(0, 40 * DAY),
)
_choices = st.builds(
    Choice,
    st.sampled_from(PRESETS),
    st.dictionaries(
        st.sampled_from(["503", "dns", "timeout", "403", "429"]),
        st.sampled_from(["allow", "disallow"]),
        max_size=2,
    ),
    st.booleans(),
    st.booleans(),
)
_events = st.one_of(
    st.sampled_from(_FAILURES),
    st.sampled_from(_GUARDED),
    st.sampled_from(_GONE),
    st.just(200),
    st.just(304),
)
_histories = st.lists(st.builds(Happened, _pauses, _events, st.booleans()), max_size=8)


@pytest.mark.slow
@settings(max_examples=2000)
@example([Happened(0, 200), Happened(29 * DAY, 503)], 0.5 * DAY, Choice(PRESETS[0], {}, True, True))
@given(_histories, _pauses, _choices)
def test_nothing_is_allowed_that_the_preset_does_not_name(
    history: list[Happened], rest: float, choice: Choice
) -> None:
    meaning = came_to(history, rest, choice)
    assert (meaning.value if meaning is not None else None) == permitted(history, rest, choice)


@settings(max_examples=500)
@given(
    st.lists(st.builds(Happened, _pauses, st.sampled_from(_FAILURES)), max_size=8),
    _pauses,
    st.sampled_from(["rfc9309", "strict"]),
    st.booleans(),
)
def test_failures_alone_allow_nothing(
    history: list[Happened], rest: float, preset: str, is_answering: bool
) -> None:
    meaning = came_to(history, rest, Choice(preset, {}, False, is_answering))
    assert meaning is (Meaning.DISALLOW if history else None)
