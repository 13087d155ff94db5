"""The pace that a site accepts, learned from its answers.

No standard says how fast a crawler may go. RFC 6585, 4 and RFC 9110, 15.6.4 name the refusals, and
`rest` says when an origin rests. A limiter of a site is a bucket of tokens, or a window with a
number of requests. Both accept `rate * seconds` requests between two moments when they refuse. So
the learned pace is a bucket of tokens that fills at the rate of the accepted requests:

===================================  ======================================================
what happens                         the learned pace
===================================  ======================================================
an origin begins to rest, or         the number of requests that were accepted, by the time
refuses two pages within 10 s        from the first of them to the end of the rest
a refusal                            5 % below the rate that was accepted since the refusal
                                     before, a fourth of the burst, and no token. Requests
                                     that were sent before it do not count
a page is refused again, while       the same: it concerns the page, perhaps
others are served
a good answer, while requests wait   up to 15 % more, a quarter of that after each refusal;
for tokens                           200 good answers make up for a refusal. If fewer than four
                                     were accepted at first, or after errors, up to 60 % more
                                     until a refusal, which halves the pace
more than ten refusals that nothing  none for ten minutes: they come at any pace, so
has made up for                      something else causes them
most of the last answers are errors  at most one request at a time, until good answers raise it.
of several pages, or many times      If nearly all of them are errors, the origin rests, too
slower than usual                    (`Learning.is_down`)
a failure of a proxy                 no change
===================================  ======================================================

A site may also say how many requests it accepts until when (`Quota`). All times are seconds of one
clock. Each step takes O(1).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf

from .rest import PageAnswer, Rest

_MEMORY_SECONDS = 60.0
_GAP_SECONDS = 5.0
_NEAR_SECONDS = 10.0
_RECENT_SECONDS, _RECENT_COUNT = 10.0, 20
_FIRST_COUNT, _FIRST_SECONDS = 5, 2.0  # requests of a new window, until an answer tells more
_WINDOW_SECONDS = 1.0  # the ends of a window that are told in seconds differ by less
_ROOM, _UNMEASURED = 0.95, 0.8
_MOST_GAIN, _GAIN_BASE = 0.15, 4.0
_AGEING = 1 / 200
_EXCESS = 10.0
_FEW = 4
_TROUBLE_WEIGHT, _MOST, _NEARLY_ALL = 1 / 8, 0.5, 0.9
_USUAL_WEIGHT, _SLOW_WEIGHT = 1 / 64, 1 / 512
_SLOW_TIMES, _SLOW_SECONDS = 10, 2.0  # an answer that takes longer than both is slow
_FORGIVEN_SECONDS = 600.0
_LEAST_SECONDS = 0.01
_MOST_SECONDS = 5.0  # for a page of a site in trouble: a time limit is not the time of a page


@dataclass(frozen=True, slots=True)
class Accepted:
    """The requests that a site accepted between two refusals, or before the first.

    Attributes:
        count: their number.
        since_at: when the first was sent, or when the refusal before them came.
        sent_at: when the last was sent.
        is_whole: whether they begin with a refusal, when the site had nothing left to give.
        has_ended: whether a refusal has come after them.
    """

    count: int
    since_at: float
    sent_at: float
    is_whole: bool = False
    has_ended: bool = False

    def and_one(self, sent_at: float) -> Accepted:
        """One more, which was sent then; after a pause, it is the first."""
        if sent_at - self.sent_at > _GAP_SECONDS:
            return Accepted(1, sent_at, sent_at)
        count, since_at = self.count, min(self.since_at, sent_at)
        if sent_at - since_at > 2 * _MEMORY_SECONDS:  # forget the first half
            count, since_at = count // 2, since_at + _MEMORY_SECONDS
        return Accepted(count + 1, since_at, max(self.sent_at, sent_at), self.is_whole)

    def per_second(self, until_at: float) -> float:
        """Their rate until then."""
        return self.count / max(_LEAST_SECONDS, until_at - self.since_at)


@dataclass(frozen=True, slots=True)
class LearnedPace:
    """How many requests a site accepts.

    Attributes:
        per_second: how fast requests may follow each other.
        burst: how many may go at once after a pause.
        tokens: how many may go at `at`.
        at: when there were as many.
        refused_at: when the last refusal came; answers to earlier requests do not count.
        gained_at: when the pace was raised last.
        refusals: the number of refusals, less what good answers have made up for; 0 while the rate
            was measured with few requests, or when the site was down.
    """

    per_second: float
    burst: float
    tokens: float
    at: float
    refused_at: float
    gained_at: float
    refusals: float = 1.0

    def ready_at(self, count: int = 0) -> float:
        """When a request may be sent after `count` others."""
        return self.at + (count + 1 - self.tokens) / self.per_second

    def changed(self, now: float, per_second: float, **changes: float) -> LearnedPace:
        """The pace with another rate from now on."""
        tokens = min(self.burst, self.tokens + max(0.0, now - self.at) * self.per_second)
        changes = {"tokens": tokens, "at": max(now, self.at), **changes}
        return replace(self, per_second=per_second, **changes)

    def taken(self, now: float) -> LearnedPace:
        """The pace after a request took the turn at `ready_at`."""
        pace = self.changed(now, self.per_second)
        return replace(pace, tokens=pace.tokens - 1)


@dataclass(frozen=True, slots=True)
class Quota:
    """How many more requests a site accepts until its window ends, as it says itself.

    `is_told` is False for the few requests of the next window before an answer tells its number.
    """

    left: int
    resets_at: float
    is_told: bool = True


@dataclass(frozen=True, slots=True)
class Learning:
    """The knowledge about an origin.

    Attributes:
        accepted: its good answers lately; None before the first.
        pace: the learned pace; None while there is no reason for one.
        quota: what the site said last; None if it says nothing.
        refused_url: the last page that was refused while there was no pace.
        refused_at: when that was.
        forgiven_until: until when refusals have no influence on the pace.
        trouble: the share of errors and slow answers among the last answers, without pages that are
            requested again.
        usual_seconds: how long an answer usually takes; 0 if it is not known.
        quick_at: when the last request was sent that was not answered slowly.
        fails_often: whether a page was answered well when nearly all others were errors: then the
            errors are those of pages, until most of the last answers are good.
    """

    accepted: Accepted | None = None
    pace: LearnedPace | None = None
    quota: Quota | None = None
    refused_url: str = ""
    refused_at: float = -inf
    forgiven_until: float = -inf
    trouble: float = 0.0
    usual_seconds: float = 0.0
    quick_at: float = -inf
    fails_often: bool = False

    @property
    def is_down(self) -> bool:
        """Whether a site that was well answers nearly nothing but errors."""
        return self.trouble > _NEARLY_ALL and not self.fails_often and self.forgiven_until < inf

    @property
    def is_sure(self) -> bool:
        """Whether the pace has held for some requests since the last refusal."""
        accepted = self.accepted
        if self.pace is None or accepted is None or accepted.has_ended:
            return False
        return accepted.is_whole and accepted.count >= _RECENT_COUNT

    def is_limited(self, now: float) -> bool:
        """Whether there is a pace, or there was one before it was forgotten."""
        return self.pace is not None or now < self.forgiven_until < inf

    @property
    def binds(self) -> bool:
        """Whether requests may have to wait."""
        return self.pace is not None or self.quota is not None

    def ready_at(self, count: int = 0) -> float:
        """When a request may be sent after `count` others."""
        at = -inf if self.pace is None else self.pace.ready_at(count)
        quota = self.quota
        return at if quota is None or quota.left > count else max(at, quota.resets_at)

    def merged(self, other: Learning) -> Learning:
        """The knowledge together with that of another process, which decides if it binds."""
        forgiven_until = max(self.forgiven_until, other.forgiven_until)
        if not other.binds:
            pace = None if other.forgiven_until > self.forgiven_until else self.pace
            return replace(self, pace=pace, forgiven_until=forgiven_until)
        own = {"refused_url": self.refused_url, "refused_at": self.refused_at}
        return replace(other, forgiven_until=forgiven_until, **own)  # type: ignore[arg-type]

    def with_quota(self, quota: Quota | None, now: float, sent_count: int = 0) -> Learning:
        """The knowledge after the site named a quota; None if it is large.

        `sent_count` requests are on their way to the site, and may not be counted there.

        Answers may come in another order than the site counted their requests, so the number of
        one window only falls. An answer that begins with 0 has no limit that concerns it.
        """
        known = self.quota
        is_new = known is None or not known.is_told or now >= known.resets_at
        if quota is None or known is None or is_new:
            if quota is not None and quota.left > 0:
                return replace(self, quota=replace(quota, left=quota.left - sent_count))
            return replace(self, quota=None)
        quota = replace(quota, left=quota.left - sent_count)
        if quota.resets_at <= known.resets_at + _WINDOW_SECONDS:
            quota = replace(known, left=min(known.left, quota.left))
        return replace(self, quota=quota)

    def taken(self, now: float) -> Learning:
        """The knowledge after a request took the turn at `ready_at`."""
        pace, quota = self.pace, self.quota
        if quota is not None:
            if now >= quota.resets_at:
                quota = Quota(_FIRST_COUNT, now + _FIRST_SECONDS, is_told=False)
            quota = replace(quota, left=quota.left - 1)
        return replace(self, pace=None if pace is None else pace.taken(now), quota=quota)


def learned(before: Learning, answer: PageAnswer, rest: Rest | None, least: float) -> Learning:
    """The knowledge about an origin after an answer.

    Args:
        before: the knowledge before it.
        answer: the answer.
        rest: the rest of the origin after it.
        least: the least rate, in requests per second.
    """
    if answer.is_of_proxy:
        return before
    if answer.is_error:
        return _after_trouble(before, answer, least)
    if not answer.is_refusal:
        return _after_good_answer(before, answer, rest, least)
    accepted = before.accepted
    if answer.at < before.forgiven_until or accepted is None:
        return before
    rest = rest if rest is not None and rest.is_resting else None
    if before.pace is None:
        return _after_first_refusals(before, accepted, answer, rest, least)
    return _after_refusal(before, accepted, before.pace, answer, rest, least)


def _after_trouble(before: Learning, answer: PageAnswer, least: float) -> Learning:
    """The knowledge after an error or a slow answer."""
    if answer.is_known or before.accepted is None:  # a page that fails alone, or a site that does
        return before
    trouble = before.trouble + _TROUBLE_WEIGHT * (1 - before.trouble)
    pace, at = before.pace, answer.at
    if trouble > _MOST and before.forgiven_until < inf:
        seconds = min(answer.seconds or at - answer.sent_at, _MOST_SECONDS)
        rate = max(least, 1 / max(_LEAST_SECONDS, seconds))
        if pace is None:
            refusals = 0.0 if answer.is_error else 1.0  # slow answers are good ones, too
            pace = LearnedPace(rate, 1.0, 0.0, at, at, at, refusals)
        elif rate < pace.per_second:
            pace = pace.changed(at, rate, burst=1.0)
    return replace(before, trouble=trouble, pace=pace)


def _with_times(before: Learning, answer: PageAnswer, rest: Rest | None, least: float) -> Learning:
    """The knowledge with the time that a good answer took, and how well the site is after it."""
    seconds, usual, weight = answer.seconds, before.usual_seconds, _USUAL_WEIGHT
    sent_at, trouble, quick_at = answer.sent_at, before.trouble, before.quick_at
    fails_often, is_late = before.fails_often, rest is not None and rest.is_resting
    if usual and seconds > max(_SLOW_TIMES * usual, _SLOW_SECONDS):
        weight = _SLOW_WEIGHT
        if sent_at > quick_at:  # otherwise the page is slow, not the site
            before = _after_trouble(before, answer, least)
            trouble = before.trouble
    elif not is_late:
        trouble, quick_at = trouble * (1 - _TROUBLE_WEIGHT), max(quick_at, sent_at)
    if not is_late:
        fails_often = before.trouble > (_MOST if fails_often else _NEARLY_ALL)
    if seconds:
        usual += (seconds - usual) * weight if usual else seconds
    return replace(
        before, trouble=trouble, usual_seconds=usual, quick_at=quick_at, fails_often=fails_often
    )


def _after_good_answer(
    before: Learning, answer: PageAnswer, rest: Rest | None, least: float
) -> Learning:
    before, sent_at = _with_times(before, answer, rest, least), answer.sent_at
    pace, accepted = before.pace, before.accepted
    if pace is None:
        accepted = Accepted(1, sent_at, sent_at) if accepted is None else accepted.and_one(sent_at)
        return replace(before, accepted=accepted)
    if sent_at < pace.refused_at:
        if accepted is None or not accepted.has_ended:
            return before
        more = accepted.count + 1  # than the rate was measured with
        pace = pace.changed(answer.at, pace.per_second * more / accepted.count)
        return replace(before, accepted=replace(accepted, count=more), pace=pace)
    if accepted is None or accepted.has_ended:
        accepted = Accepted(1, pace.refused_at, sent_at, is_whole=True)
    else:
        accepted = accepted.and_one(sent_at)
    refusals = min(pace.refusals, max(1.0, pace.refusals - _AGEING))
    rate, gained_at = pace.per_second, pace.gained_at
    if pace.ready_at() > answer.at:  # it binds
        gain = min(_MOST_GAIN, max(0.0, answer.at - gained_at))
        rate *= 1 + gain * _GAIN_BASE ** (1 - refusals)
        gained_at = answer.at
    pace = pace.changed(answer.at, rate, gained_at=gained_at, refusals=refusals)
    return replace(before, accepted=accepted, pace=pace)


def _after_first_refusals(
    before: Learning, accepted: Accepted, answer: PageAnswer, rest: Rest | None, least: float
) -> Learning:
    at, until_at = answer.at, answer.at if rest is None else rest.until_at
    is_other = bool(before.refused_url) and answer.url != before.refused_url
    is_limit = rest is not None or (is_other and at - before.refused_at < _NEAR_SECONDS)
    if not is_limit or at - accepted.sent_at > _MEMORY_SECONDS:
        return replace(before, refused_url=answer.url, refused_at=at)
    rate = max(least, accepted.per_second(until_at))
    refusals = 1.0 if accepted.count >= _FEW else 0.0
    pace = LearnedPace(rate, float(accepted.count), 0.0, at, at, until_at, refusals)
    return replace(before, accepted=replace(accepted, has_ended=True), pace=pace, refused_url="")


def _after_refusal(  # noqa: PLR0917 - one call
    before: Learning,
    accepted: Accepted,
    pace: LearnedPace,
    answer: PageAnswer,
    rest: Rest | None,
    least: float,
) -> Learning:
    at, rate = answer.at, pace.per_second
    if accepted.has_ended:  # nothing was accepted since the last refusal
        is_first = pace.refusals <= 1 and not answer.is_known
        if rest is not None and is_first and rest.began_at == at:
            rate = max(least, min(rate, accepted.per_second(rest.until_at)))
        return replace(before, pace=pace.changed(at, rate, tokens=0.0, refused_at=at))
    if answer.sent_at < pace.refused_at:
        return before
    if pace.refusals + 1 > _EXCESS:
        return replace(before, pace=None, forgiven_until=at + _FORGIVEN_SECONDS)
    if answer.is_known and rest is None:
        return replace(before, pace=replace(pace, refusals=pace.refusals + 1))
    if pace.refusals < 1:
        rate /= 2
    elif accepted.is_whole:
        measured = min(rate, accepted.per_second(at))
        if at - accepted.since_at > _RECENT_SECONDS and accepted.count > _RECENT_COUNT:
            measured = (measured * rate) ** 0.5  # the rate rose during that time
        rate = measured * _ROOM
    else:
        rate *= _UNMEASURED
    pace = pace.changed(
        at,
        max(least, rate),
        tokens=0.0,
        burst=max(1.0, pace.burst / 4),
        refused_at=at,
        gained_at=at,
        refusals=pace.refusals + 1,
    )
    return replace(before, accepted=replace(accepted, has_ended=True), pace=pace)
