"""The life of a policy as a state machine without side effects (RFC 9309, 2.3.1 and 2.4).

A `Knowledge` holds the last answer that settled the policy, the `Copy`, and the `Outage` if the
file has been unreachable since. `standing` gives the state of an origin at an instant, its meaning
for requests, and when that ends. `learn` gives the knowledge after another answer or failure.
Neither waits, fetches or reads a clock: `now` and random numbers are arguments.

The table `STATES` lists the states and what a request does in each. docs/states.md lists the ways
from one state to another.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum

from scrapy_rep.protocol.units import DAY_SECONDS

from .events import (
    FOREVER,
    PHASES,
    AccessPolicy,
    AccessResult,
    Event,
    Failure,
    Meaning,
    Remedy,
    access_result,
)
from .knowledge import Answer, Copy, Knowledge, Outage, status_of
from .lifetime import (
    LEAST_SECONDS,
    Limits,
    lifetime_seconds,
    retry_after_seconds,
    retry_seconds,
)

# A copy in use is fetched again a tenth of its lifetime before it expires, or earlier if a slow
# answer needs more time, but never in the first half of its lifetime.
_AHEAD_PART = 0.1
_AHEAD_SECONDS = 15.0
# How long a copy is still used in an outage after the file is due. A crawl that is visiting the
# site fetches then, and uses the copy until the answer arrives. A longer gap is a pause in visits.
_ANSWER_SECONDS = 60.0
# A store survives changes of the clock, and machines with different clocks share it.
_SKEW_SECONDS = 300.0  # a plausible difference between the clocks of machines that share a store
_SPREAD = 1.25  # retries are delayed by up to a quarter, at random
# Fields about the age of one answer: a later answer that lacks them has other values.
_OF_ONE_ANSWER = frozenset({"age", "date"})


class Act(Enum):
    """The reaction of a request to a state; the value is for people."""

    USE = "requests are judged at once"
    REFRESH = "requests are judged at once, and the file is fetched in the background"
    FETCH = "the file is fetched, and requests wait for it"


class State(Enum):
    """The state of an origin's robots.txt; the value is for people."""

    UNKNOWN = "nothing is known"
    FRESH = "the copy holds"
    DUE = "the copy holds, and is about to expire"
    EXPIRED = "the copy is too old to be used without a fetch"
    STALE = "unreachable; the copy is used, as stale"
    STALE_DUE = "unreachable, and to be retried; the copy is used, as stale"
    STALE_RESTED = "unreachable at the last try; the copy is used again if the next one fails too"
    UNREACHABLE = "unreachable, without a usable copy"
    UNREACHABLE_DUE = "unreachable, without a copy, and to be retried"


STATES: dict[State, Act] = {
    State.UNKNOWN: Act.FETCH,
    State.FRESH: Act.USE,
    State.DUE: Act.REFRESH,
    State.EXPIRED: Act.FETCH,
    State.STALE: Act.USE,
    State.STALE_DUE: Act.REFRESH,
    State.STALE_RESTED: Act.FETCH,
    State.UNREACHABLE: Act.USE,
    State.UNREACHABLE_DUE: Act.FETCH,
}


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of an origin's robots.txt at one instant.

    Attributes:
        state: the state.
        meaning: whether the copy's rules decide, or everything is allowed or disallowed; None if
            the file must be fetched first.
        event: the event behind the meaning, from the copy or the outage.
        is_stale: whether the copy in use should be newer.
        due_at: when the file should be fetched again.
        usable_until: when this standing expires.
    """

    state: State
    meaning: Meaning | None
    event: Event | None
    is_stale: bool
    due_at: float
    usable_until: float

    @property
    def act(self) -> Act:
        """The reaction of a request to this state."""
        return STATES[self.state]


@dataclass(frozen=True, slots=True)
class PolicyOptions:
    """The user's choices about access.

    Attributes:
        access: the meaning of each event.
        limits: how long answers and copies hold.
        allow_after_30_days: whether `rfc9309` treats a file as unavailable after 30 days of outage.
    """

    access: AccessPolicy = field(default_factory=AccessPolicy)
    limits: Limits = field(default_factory=Limits)
    allow_after_30_days: bool = False


_NOTHING = Standing(State.UNKNOWN, None, None, is_stale=False, due_at=0.0, usable_until=0.0)


def standing(
    known: Knowledge, now: float, options: PolicyOptions, *, is_answering: bool = False
) -> Standing:
    """The state of an origin at `now`.

    `is_answering` tells whether other pages of the origin have answered lately, which matters to
    Google's reading after 30 days of outage.
    """
    known = believable(known, now, options.limits)
    if known.outage is not None and now >= known.outage.failed_at - DAY_SECONDS:
        return _standing_in_outage(
            known.outage, known.copy, now, options, is_answering=is_answering
        )
    if known.copy is None:
        return _NOTHING
    copy = known.copy
    due_at = copy.fresh_until - _ahead_seconds(copy.fresh_until - copy.confirmed_at)
    usable_until = max(copy.fresh_until, copy.confirmed_at + LEAST_SECONDS)
    if now < copy.confirmed_at - DAY_SECONDS:
        return _NOTHING  # from the future, as an outage may be: a clock was wrong then, or is now
    state = State.FRESH if now < due_at else State.DUE if now < usable_until else State.EXPIRED
    return Standing(
        state,
        options.access.meaning(copy.event, status_of(copy.steps))
        if state is not State.EXPIRED
        else None,
        copy.event,
        is_stale=False,
        due_at=due_at,
        usable_until=usable_until,
    )


def believable(known: Knowledge, now: float, limits: Limits) -> Knowledge:
    """The knowledge without implausible instants: a file with an instant too far ahead is due now.

    A copy or an outage that is more than a day in the future is kept, but `standing` ignores it.
    """
    copy, outage = known.copy, known.outage
    if copy is not None and _is_wrong(copy, now, limits):
        confirmed_at = min(copy.confirmed_at, now - LEAST_SECONDS)
        copy = replace(copy, confirmed_at=confirmed_at, fresh_until=now)
    if outage is not None and outage.failed_at <= now + DAY_SECONDS:
        retry_at = now if _is_far(outage, now, limits) else outage.retry_at
        outage = replace(outage, since=min(outage.since, now), retry_at=retry_at)
    return Knowledge(copy, outage)


def _is_wrong(copy: Copy, now: float, limits: Limits) -> bool:
    if copy.confirmed_at > now + DAY_SECONDS:
        return False
    longest = max(limits.max_seconds, limits.headers_max_seconds)
    return (
        copy.confirmed_at > now + _SKEW_SECONDS or copy.fresh_until > now + longest + _SKEW_SECONDS
    )


def _is_far(outage: Outage, now: float, limits: Limits) -> bool:
    longest = _SPREAD * max(
        limits.retry_first_seconds, limits.retry_max_seconds, limits.retry_after_max_seconds
    )
    recorded = outage.retry_at - outage.failed_at
    return outage.retry_at > now + min(recorded, longest) + _SKEW_SECONDS


def _ahead_seconds(lifetime_seconds: float) -> float:
    """How long before the end of its lifetime a copy in use is fetched again."""
    return max(_AHEAD_PART * lifetime_seconds, min(_AHEAD_SECONDS, lifetime_seconds / 2))


def _standing_in_outage(
    outage: Outage, copy: Copy | None, now: float, options: PolicyOptions, *, is_answering: bool
) -> Standing:
    # Only a file is a usable copy: that there was no file says nothing while there is no answer.
    is_file = (
        copy is not None
        and access_result(copy.event) is AccessResult.SUCCESSFUL
        and now >= copy.confirmed_at - DAY_SECONDS
    )
    stale_until = copy.confirmed_at + options.limits.stale_seconds if copy and is_file else -FOREVER
    has_copy = now < stale_until
    until, remedy = remedy_at(now, outage, options.access, has_copy=has_copy)
    is_due = now >= outage.retry_at
    if remedy is Remedy.COPY and copy is not None:
        answer_until = outage.retry_at + _ANSWER_SECONDS
        is_rested = now >= answer_until
        state = State.STALE_DUE if is_due else State.STALE
        return Standing(
            State.STALE_RESTED if is_rested else state,
            options.access.meaning(copy.event, status_of(copy.steps)),
            copy.event,
            is_stale=True,
            due_at=outage.retry_at,
            usable_until=min(stale_until, until, answer_until),
        )
    is_allowed = (
        remedy is Remedy.ALLOW
        or (remedy is Remedy.IF_ANSWERING and is_answering)
        or (remedy is Remedy.AFTER_30_DAYS and options.allow_after_30_days)
    )
    return Standing(
        State.UNREACHABLE_DUE if is_due else State.UNREACHABLE,
        Meaning.ALLOW if is_allowed else Meaning.DISALLOW,
        outage.event,
        is_stale=False,
        due_at=outage.retry_at,
        usable_until=min(outage.retry_at, until),
    )


def remedy_at(
    now: float, outage: Outage, access: AccessPolicy, *, has_copy: bool
) -> tuple[float, Remedy]:
    """The remedy at `now`, and when it ends. A user's override has no phases."""
    status = status_of(outage.steps)
    if access.reads_status(outage.event, status):
        return FOREVER, Remedy(access.meaning(outage.event, status).value)
    overridden = access.override(outage.event)
    is_success = status is not None and access_result(status) is AccessResult.SUCCESSFUL
    if outage.event is Failure.CHALLENGE and is_success and access.preset == "google":
        overridden = overridden or Meaning.DISALLOW  # no phase of an outage ends it
    if overridden is not None:
        return FOREVER, Remedy(overridden.value)
    lasted = now - outage.since
    for seconds, with_copy, without_copy in PHASES[access.preset]:
        if lasted < seconds:
            return outage.since + seconds, with_copy if has_copy else without_copy
    raise AssertionError("every preset's last phase is endless")  # pragma: no cover


def learn(
    known: Knowledge, answer: Answer, now: float, limits: Limits, *, chance: float = 0.0
) -> Knowledge:
    """The knowledge after an answer or a failure at `now`.

    `chance` in [0, 1) spreads the next attempts of many crawlers over a quarter of the wait.
    """
    copy = known.copy
    if copy is not None and answer.is_confirmation and copy.is_same_as(answer.headers):
        return Knowledge(copy=_confirmed(copy, answer, now, limits))
    if access_result(answer.event) is AccessResult.UNREACHABLE:
        return replace(known, outage=_outage(known.outage, answer, now, limits, chance=chance))
    if answer.repeats is not None:
        return Knowledge(copy=replace(answer.repeats, hops=answer.hops, steps=answer.steps))
    is_file = access_result(answer.event) is AccessResult.SUCCESSFUL
    return Knowledge(
        copy=Copy(
            event=answer.event,
            body=answer.body if is_file else b"",
            hops=answer.hops,
            headers=tuple(sorted(answer.headers.items())),
            fetched_at=now,
            confirmed_at=now,
            fresh_until=now + lifetime_seconds(answer.headers, now, limits),
            steps=answer.steps,
        )
    )


def as_left(known: Knowledge, began_at: float) -> Knowledge:
    """The knowledge that an earlier run left, for a run that began at `began_at`.

    A file that was unreachable then is due at once, or when its Retry-After ends: the site may be
    up again, and a new run should not wait for the pauses of an old one.
    """
    outage = known.outage
    if outage is None or outage.failed_at >= began_at:
        return known
    retry_at = min(outage.retry_at, outage.failed_at + outage.retry_after_seconds)
    return replace(known, outage=replace(outage, retry_at=retry_at))


def is_worth_a_retry(answer: Answer, now: float, pause_seconds: float) -> bool:
    """Whether to try again after a short pause while requests wait.

    Not if the failure is our own, since it would be the same, and not if the site requests a
    longer pause.
    """
    if answer.access_result is not AccessResult.UNREACHABLE:
        return False
    retry_after = retry_after_seconds(answer.headers, now)
    is_own = answer.event in (Failure.LOCAL, Failure.GUARD)
    return not is_own and (retry_after is None or retry_after <= pause_seconds)


def _confirmed(copy: Copy, answer: Answer, now: float, limits: Limits) -> Copy:
    kept = {name: value for name, value in copy.headers if name not in _OF_ONE_ANSWER}
    newer = {name: value for name, value in answer.headers.items() if name != "content-length"}
    headers = {**kept, **newer}  # RFC 9111, 3.2
    return replace(
        copy,
        headers=tuple(sorted(headers.items())),
        confirmed_at=now,
        fresh_until=now + lifetime_seconds(headers, now, limits),
        confirmed_by=answer.steps,
    )


def _outage(
    before: Outage | None, answer: Answer, now: float, limits: Limits, *, chance: float
) -> Outage:
    count = before.count + 1 if before is not None else 1
    wait = retry_seconds(answer.headers, now, limits, count=count)
    retry_after = retry_after_seconds(answer.headers, now) or 0.0
    return Outage(
        event=answer.event,
        hops=answer.hops,
        since=min(before.since, now) if before is not None else now,
        failed_at=now,
        count=count,
        retry_at=now + wait * (1 + chance / 4),
        steps=answer.steps,
        retry_after_seconds=min(retry_after, limits.retry_after_max_seconds),
    )
