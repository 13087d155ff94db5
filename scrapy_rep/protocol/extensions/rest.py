"""How long an origin rests after its pages answer 429 or 503.

RFC 6585, 4 defines 429 (Too Many Requests), RFC 9110, 15.6.4 and 10.2.3 define 503 and Retry-After.
These are not part of RFC 9309. Answers for a robots.txt do not count here.

=======  ===================  ==================================================
status   Retry-After          the origin rests
=======  ===================  ==================================================
429      in the future        until then, at most `RestLimits.max_seconds`
429      missing or passed    2 s, doubled each time, at most 5 minutes
503      in the future        until then, at most `RestLimits.max_seconds`
503      missing or passed    as for 429, from the second answer in a row
other                         no longer
=======  ===================  ==================================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace

_FIRST_SECONDS = 2.0
_LONGEST_SECONDS = 300.0
_MOST_DOUBLINGS = 32
_SPREAD = 0.25  # rests without a given time are up to this part longer, to spread crawlers out
_AT_ONCE = {429: True, 503: False}  # whether a first answer without a given time causes a rest


@dataclass(frozen=True, slots=True)
class RestLimits:
    """The limits of a crawl.

    Attributes:
        max_seconds: the longest Retry-After that is obeyed; then one request is sent.
        give_up_seconds: how long an origin may answer 429 or 503 without any other answer before
            its requests are dropped, and how long they are dropped.
    """

    max_seconds: float = 600.0
    give_up_seconds: float = 3600.0


@dataclass(frozen=True, slots=True)
class PageAnswer:
    """The relevant parts of a page's answer. All times are seconds of one clock.

    Attributes:
        status: the status code.
        asked_seconds: the time in Retry-After; None without a time.
        sent_at: when the request was sent.
        at: when the answer arrived.
    """

    status: int
    asked_seconds: float | None
    sent_at: float
    at: float

    @property
    def asks_for_rest(self) -> bool:
        """Whether an origin may rest because of this answer."""
        return self.status in _AT_ONCE


@dataclass(frozen=True, slots=True)
class Rest:
    """The rest of an origin. All times are seconds of one clock.

    Attributes:
        since_at: when the first of the present 429 and 503 answers in a row arrived.
        began_at: when the latest rest began.
        until_at: when one request may be sent.
        seconds: the length of the rest when it began; 0 if it has not begun.
        asked_seconds: the longest Retry-After of this rest, or None.
        doublings: the number of rests without a given time in a row.
        given_up_until: when requests are no longer dropped; 0 if they are not dropped.
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
    """The rest of an origin after an answer; None if it no longer rests.

    A request that was sent before a rest began does not show how the site is after it: its answer
    can only make this rest longer. If no request was sent for as long as it takes to give an origin
    up, it begins again. `luck`, from 0 to 1, spreads rests without a given time.
    """
    if before is not None and answer.sent_at - before.until_at >= limits.give_up_seconds:
        before = None
    is_late = before is not None and answer.sent_at < before.began_at
    if not answer.asks_for_rest:
        return before if before is not None and before.seconds and is_late else None
    asked = answer.asked_seconds or None  # 0 is a time that has passed
    if before is not None and (before.given_up_until or (is_late and before.seconds)):
        return _longer(before, asked, answer.at, limits)
    rest = before or Rest(answer.at, answer.at, answer.at)
    if answer.at - rest.since_at >= limits.give_up_seconds:
        return replace(rest, given_up_until=answer.at + limits.give_up_seconds)
    if asked is not None:
        seconds = min(asked, limits.max_seconds)
        return _began(rest, answer.at, seconds, asked_seconds=asked, doublings=0)
    if (before is None or is_late) and not _AT_ONCE[answer.status]:
        return rest
    doubled = min(_FIRST_SECONDS * 2.0**rest.doublings, _LONGEST_SECONDS)
    doublings = min(rest.doublings + 1, _MOST_DOUBLINGS)
    return _began(rest, answer.at, doubled * (1 + _SPREAD * luck), doublings=doublings)


def _longer(rest: Rest, asked: float | None, at: float, limits: RestLimits) -> Rest:
    until = at + min(asked or 0.0, limits.max_seconds)
    if asked is None or rest.given_up_until or until <= rest.until_at:
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
