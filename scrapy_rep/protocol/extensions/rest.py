"""How long an origin rests whose pages answer 429 or 503, from one answer to the next.

RFC 6585, 4 defines 429 (Too Many Requests), RFC 9110, 15.6.4 and 10.2.3 define 503 and Retry-After.
Neither belongs to RFC 9309. Answers for a robots.txt are not counted here.

=======  ===================  ==================================================
status   Retry-After          the origin rests
=======  ===================  ==================================================
429      a time to come       until then, at most `RestLimits.max_seconds`
429      none, or one passed  2 s, doubled each time, at most 5 minutes
503      a time to come       until then, at most `RestLimits.max_seconds`
503      none, or one passed  as for 429, from the second answer in a row
another                       no more
=======  ===================  ==================================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_FIRST_SECONDS = 2.0
_LONGEST_SECONDS = 300.0
_MOST_DOUBLINGS = 32
_SPREAD = 0.25  # a rest without a time is longer by up to this part, so that crawlers spread out
_AT_ONCE = {429: True, 503: False}  # whether the first answer without a time is enough


@dataclass(frozen=True, slots=True)
class RestLimits:
    """The limits that a crawl sets.

    Attributes:
        max_seconds: how far a Retry-After is obeyed; then one request is sent.
        give_up_seconds: how long an origin may answer so, without another answer, before its
            requests are given up; and for how long they are.
    """

    max_seconds: float = 600.0
    give_up_seconds: float = 3600.0


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """What counts of an answer of a page. All times are seconds of one clock.

    Attributes:
        status: the status code.
        asked_seconds: what Retry-After asks for; None if it names no time.
        sent_at: when the request was sent.
        at: when the answer came.
    """

    status: int
    asked_seconds: float | None
    sent_at: float
    at: float

    @property
    def asks_for_rest(self) -> bool:
        """Whether it is an answer for which an origin may rest."""
        return self.status in _AT_ONCE


@dataclass(frozen=True, slots=True)
class Rest:
    """The rest of an origin. All times are seconds of one clock.

    Attributes:
        since_at: when the first such answer came, after which no other came.
        began_at: when the last of these rests began.
        until_at: when one request may be sent.
        seconds: how long the rest was to be when it began; 0 if it has not come to a rest.
        asked_seconds: what the longest Retry-After of this rest asks for; None for none.
        doublings: how many rests without a time there were in a row.
        given_up_until: until when the requests of the origin are dropped; 0 if they are not.
    """

    since_at: float
    began_at: float
    until_at: float
    seconds: float = 0.0
    asked_seconds: float | None = None
    doublings: int = 0
    given_up_until: float = 0.0


def rest_after(
    before: Rest | None, answer: PageAnswer, limits: RestLimits, luck: float
) -> Rest | None:
    """The rest of an origin after an answer; None if it rests no more.

    Requests that were sent before a rest began say nothing of how the site is after it: their
    answers can only make this rest longer. `luck`, from 0 to 1, spreads rests without a time.
    """
    is_late = before is not None and answer.sent_at < before.began_at
    if not answer.asks_for_rest:
        return before if before is not None and before.seconds and is_late else None
    asked = answer.asked_seconds or None  # 0 is a time that has passed
    if before is not None and is_late:
        return _longer(before, asked, answer.at, limits)
    rest = before or Rest(answer.at, answer.at, answer.at)
    if answer.at - rest.since_at >= limits.give_up_seconds:
        return replace(rest, given_up_until=answer.at + limits.give_up_seconds)
    if asked is not None:
        seconds = min(asked, limits.max_seconds)
        return _began(rest, answer.at, seconds, asked_seconds=asked, doublings=0)
    if before is None and not _AT_ONCE[answer.status]:
        return rest
    doubled = min(_FIRST_SECONDS * 2.0**rest.doublings, _LONGEST_SECONDS)
    doublings = min(rest.doublings + 1, _MOST_DOUBLINGS)
    return _began(rest, answer.at, doubled * (1 + _SPREAD * luck), doublings=doublings)


def _longer(rest: Rest, asked: float | None, at: float, limits: RestLimits) -> Rest:
    until = at + min(asked or 0.0, limits.max_seconds)
    if until <= rest.until_at:
        return rest
    return replace(rest, until_at=until, seconds=until - rest.began_at, asked_seconds=asked)


def _began(
    rest: Rest, at: float, seconds: float, *, doublings: int, asked_seconds: float | None = None
) -> Rest:
    return replace(
        rest,
        began_at=at,
        until_at=at + seconds,
        seconds=seconds,
        asked_seconds=asked_seconds,
        doublings=doublings,
    )
