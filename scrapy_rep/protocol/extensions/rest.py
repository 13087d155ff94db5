"""How long an origin or a URL rests after pages answer 429 or 503.

RFC 6585, 4 defines 429 (Too Many Requests), RFC 9110, 15.6.4 and 10.2.3 define 503 and Retry-After.
These are not part of RFC 9309. Answers for a robots.txt do not count here.

A refusal belongs to its URL: one page may be broken, or have a limit of its own. The origin rests
once a second URL is refused, with no good answer in between. A good answer to a request that was
sent after the refusals ends the rest.

=======  ===================  ==================================================
status   Retry-After          the rest lasts
=======  ===================  ==================================================
429      in the future        until then, at most `RestLimits.max_seconds`
429      missing or passed    2 s, doubled each time, at most 5 minutes
503      in the future        until then, at most `RestLimits.max_seconds`
503      missing or passed    as for 429; requests that were sent before the
                              first such answer do not count as a second URL
any, with a challenge         as for 429; the third in a row gives the origin up
any, of a proxy that has      nothing: other proxies show that the origin is well
failed
any, of a page that was       1.5 s: the origin has answered well since the page
refused before                was refused first, so it may be the page
500,     any                  nothing; for an origin that is down, as for 503,
502,                          but at most six times in a row, and the origin is
504, no                       not given up
answer
=======  ===================  ==================================================
"""

from __future__ import annotations

from dataclasses import dataclass, replace

NO_ANSWER = 0
"""The status for a request without an answer in time."""

_FIRST_SECONDS = 2.0
_KNOWN_SECONDS = 1.5
_LONGEST_SECONDS = 300.0
_MOST_DOUBLINGS = 32
_SPREAD = 0.25  # rests without a given time are up to this part longer, to spread crawlers out
_TOO_MANY, _UNAVAILABLE = 429, 503
_ERRORS = frozenset({500, 502, 504, NO_ANSWER})
_MOST_CHALLENGES = 3
_MOST_OUTAGES = 6  # together two minutes: all pages that are left may be broken


def status_words(status: object) -> str:
    """The status of an answer, or "no answer"."""
    return "no answer" if status == NO_ANSWER else str(status)


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
        status: the status code, or `NO_ANSWER`.
        retry_after_seconds: the time in Retry-After; None without a time.
        sent_at: when the request was sent.
        at: when the answer arrived.
        url: the URL of the page.
        service: the service that answers with a challenge instead of the site, or empty.
        is_known: whether the page was refused before, and its origin has answered well since; for
            an error, whether the page is requested again.
        is_down: whether the origin has answered nearly nothing but errors before.
        is_of_proxy: whether it is a failure of its proxy, as others bring good answers.
        seconds: how long it took until the answer began; 0 if that is not known.
    """

    status: int
    retry_after_seconds: float | None
    sent_at: float
    at: float
    url: str = ""
    service: str = ""
    is_known: bool = False
    is_down: bool = False
    is_of_proxy: bool = False
    seconds: float = 0.0

    @property
    def is_refusal(self) -> bool:
        """Whether the site refused the request."""
        return bool(self.service) or self.status in (_TOO_MANY, _UNAVAILABLE)

    @property
    def is_error(self) -> bool:
        """Whether the site or its gateway failed."""
        return self.status in _ERRORS

    @property
    def is_failure(self) -> bool:
        """Whether the site refused the request, or is down."""
        is_failure = self.is_refusal or (self.is_down and self.is_error)
        return is_failure and not self.is_of_proxy

    @property
    def is_plain(self) -> bool:
        """Whether it may be a broken page or proxy: it names neither a limit nor a time to wait."""
        is_vague = self.status == _UNAVAILABLE or self.is_of_proxy
        return is_vague and not (self.retry_after_seconds or self.service)

    def own_seconds(self, limits: RestLimits, doublings: int, luck: float) -> float:
        """How long the page waits; `luck`, from 0 to 1, spreads times of our own."""
        if self.retry_after_seconds:  # 0 is a time that has passed
            return min(self.retry_after_seconds, limits.max_seconds)
        doubled = min(_FIRST_SECONDS * 2.0**doublings, _LONGEST_SECONDS)
        return doubled * (1 + _SPREAD * luck)


@dataclass(frozen=True, slots=True)
class Rest:
    """The refusals of an origin in a row. All times are seconds of one clock.

    Attributes:
        since_at: when the first of them arrived.
        began_at: when the latest rest began, or the only URL was refused.
        until_at: when one request may be sent.
        seconds: the length of the rest when it began; 0 while only one URL was refused.
        retry_after_seconds: the longest Retry-After of this rest, or None.
        doublings: the number of rests without a given time in a row.
        given_up_until: when requests are no longer dropped; 0 if they are not dropped.
        url: the URL that was refused last, or first while the origin does not rest.
        status: the status of that answer.
        count: the number of rests in a row.
        service: the service that answered last with a challenge, or empty.
        challenges: the number of challenges in a row.
    """

    since_at: float
    began_at: float
    until_at: float
    seconds: float = 0.0
    retry_after_seconds: float | None = None
    doublings: int = 0
    given_up_until: float = 0.0
    url: str = ""
    status: int = 0
    count: int = 0
    service: str = ""
    challenges: int = 0

    @property
    def is_resting(self) -> bool:
        """Whether requests wait for its end: the origin refused several URLs, and may recover."""
        return self.seconds > 0 and not self.given_up_until


def rest_after(
    before: Rest | None, answer: PageAnswer, limits: RestLimits, luck: float
) -> Rest | None:
    """The rest of an origin after an answer; None if the origin is well.

    A request that was sent before a rest began does not show how the site is after it: its answer
    can only make this rest longer. If no request was sent for as long as it takes to give an origin
    up, it begins again. `luck`, from 0 to 1, spreads rests without a given time.
    """
    if before is not None and answer.sent_at - before.until_at >= limits.give_up_seconds:
        before = None
    is_late = before is not None and answer.sent_at < before.began_at
    if not answer.is_failure:
        says_nothing = is_late or answer.is_of_proxy or answer.status == NO_ANSWER
        return before if says_nothing else None
    if before is None:
        first = Rest(answer.at, answer.at, answer.at, url=answer.url, status=answer.status)
        return _challenged(first, answer)
    if before.given_up_until or (is_late and before.seconds):
        return _longer(before, answer, limits)
    before = before if is_late else _challenged(before, answer)
    if answer.is_error and before.doublings >= _MOST_OUTAGES:
        return before  # one request at a time
    is_long = answer.at - before.since_at >= limits.give_up_seconds and answer.is_refusal
    is_one = answer.url == before.url or (is_late and answer.is_plain)
    if before.challenges >= _MOST_CHALLENGES or (is_long and (before.seconds or not is_one)):
        return replace(before, given_up_until=answer.at + limits.give_up_seconds)
    return before if is_one and not before.seconds else _next_rest(before, answer, limits, luck)


def _next_rest(before: Rest, answer: PageAnswer, limits: RestLimits, luck: float) -> Rest:
    asked, doublings = answer.retry_after_seconds or None, before.doublings
    seconds = answer.own_seconds(limits, doublings, luck)
    if answer.is_known and answer.is_refusal:
        asked, seconds = None, _KNOWN_SECONDS * (1 + _SPREAD * luck)
    elif asked and answer.is_refusal:
        doublings = 0
    else:
        doublings = min(doublings + 1, _MOST_DOUBLINGS)
    return replace(
        before,
        began_at=answer.at,
        until_at=answer.at + seconds,
        seconds=seconds,
        retry_after_seconds=asked,
        doublings=doublings,
        url=answer.url,
        status=answer.status,
        count=before.count + 1,
    )


def _challenged(rest: Rest, answer: PageAnswer) -> Rest:
    """The same rest with the number of challenges in a row."""
    count = rest.challenges + 1 if answer.service else 0
    return replace(rest, service=answer.service, challenges=count)


def _longer(rest: Rest, answer: PageAnswer, limits: RestLimits) -> Rest:
    asked = answer.retry_after_seconds or 0.0
    until = answer.at + min(asked, limits.max_seconds)
    if not asked or rest.given_up_until or until <= rest.until_at:
        return rest
    return replace(rest, until_at=until, seconds=until - rest.began_at, retry_after_seconds=asked)
