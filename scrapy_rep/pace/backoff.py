"""Back off: let an origin rest when its pages answer 429 or 503, and give it up in the end.

The way of a request that was answered with 429:

1. `Backoff._downloaded` gets the answer, before the downloader sends another request.
2. `rest_after` (`protocol/extensions/rest`) decides whether its origin rests, and how long. After
   the first refusal, only this page waits. The origin rests when another page is refused, too.
3. `_marks_of_refusal` decides what happens to the request. Usually, it is sent again after that
   time. If it has used up its tries, its answer goes on to the other middlewares.
4. `_change` keeps the rest in `Rests`, writes the log, and takes the other requests of the origin
   out of their slots. The downloader returns them to the queue.
5. `RepMiddleware` returns the request itself to the queue, with the meta keys of `marks_to_resend`.
6. Until the end of the rest, `Waits.of` says that the requests of the origin wait. Then one of them
   goes first (`Rests.appoint`), and the others after its answer.
7. After REP_BACKOFF_GIVE_UP_SECONDS, or several challenges in a row, the origin is given
   up: its requests are dropped for as long.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.http import Headers
from scrapy.utils.asyncio import call_later

from scrapy_rep import stats
from scrapy_rep.crawl import Crawl, shared
from scrapy_rep.decisions.decisions import Decisions
from scrapy_rep.decisions.request_records import RequestRecord, RequestRecords
from scrapy_rep.engine.clock import Monotonic, monotonic_at, posix_at
from scrapy_rep.engine.downloader import NEVER, Downloader
from scrapy_rep.engine.transfer import headers_of
from scrapy_rep.fetch.chosen_store import paces_place
from scrapy_rep.fetch.failures import failure_of
from scrapy_rep.protocol.access.challenges import MARKING_FIELDS, SIGNATURE, challenge_in
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.access.lifetime import retry_after_seconds
from scrapy_rep.protocol.access.origin import Origin, origin_of
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.extensions.learned_pace import Quota
from scrapy_rep.protocol.extensions.quota_fields import QUOTA_FIELDS, quota_in
from scrapy_rep.protocol.extensions.rest import (
    NO_ANSWER,
    PageAnswer,
    Rest,
    RestLimits,
    rest_after,
    status_words,
)
from scrapy_rep.protocol.paths import is_robots_txt
from scrapy_rep.protocol.units import counted, rate_words
from scrapy_rep.signals import REFUSALS, REFUSED_AT, REFUSED_UNTIL, origin_rests
from scrapy_rep.stats import Journal

from .paces import Paces
from .rests import Rests
from .routes import Routes

if TYPE_CHECKING:
    from scrapy.http import Response
    from scrapy.utils.asyncio import CallLaterResult


_MARKING_FIELDS = frozenset(Headers(dict.fromkeys(MARKING_FIELDS, "")))
_QUOTA_FIELDS = frozenset(Headers(dict.fromkeys(QUOTA_FIELDS, "")))
_LOOK_SECONDS = 0.25  # how soon a process notices what another has learned
_MUCH = 100  # requests that are left: each answer tells the number again
_TOO_MANY = 429
_HTTP_2 = "h2"
_MARKS = (REFUSALS, REFUSED_AT, REFUSED_UNTIL)
_FEW_DOUBLINGS = 2
# Where a limit was seen, it may be the reason, not the page. Many windows last a minute, and so do
# the tries. There are fewer if the answer may be that of a broken page.
_MORE_TRIES = {False: 8, True: 5}
_SHORTLY_SECONDS = 10.0
_LAST_SECONDS = 0.3  # after a rest, until pages that were refused are requested again
_TOLD_PACES = 3
_TOLD_ORIGINS = 10  # the log names their rests; those of others are counted


class Backoff:
    """How one crawl heeds the answers of pages.

    Attributes:
        rests: those of all crawls of this thread; always empty if `REP_BACKOFF` is off.
        paces: the learned paces of all crawls of this thread; no origin has one if
            `REP_LEARN_PACE` is off.
    """

    def __init__(self, crawl: Crawl, downloader: Downloader) -> None:
        crawler, settings = crawl.crawler, crawl.settings
        self.rests = shared(Rests) if settings.backoff else Rests()
        learns = settings.backoff and settings.learn_pace
        self.paces = shared(Paces) if learns else Paces(learns=False)
        self._learns = learns
        self._routes = Routes()
        self._least_per_second = 1 / settings.learned_delay_max_seconds
        self._limits = RestLimits(settings.backoff_max_seconds, settings.backoff_give_up_seconds)
        self._decisions = crawl.part(Decisions)
        self._journal = Journal(crawler, __name__)
        self._downloader = downloader
        self._retry_times = crawler.settings.getint("RETRY_TIMES")
        self._records = crawl.part(RequestRecords)
        self._passes_challenges = settings.challenges == "pass"
        self._told: set[Origin | None] = set()
        self._told_paces: set[Origin] = set()
        self._listeners: list[Callable[[Origin, Rest | None, float], None]] = []
        self._is_on = settings.backoff
        self._settings = settings
        self._looks: CallLaterResult | None = None
        self._looked_at: float = NEVER
        self._late_at: float = NEVER  # when the event loop was busy last
        if self._is_on:
            crawler.signals.connect(self._downloaded, signal=signals.response_downloaded)
        if learns:
            self._decisions.log.more_lines.append(self._lines)
            crawler.signals.connect(self._spider_opened, signal=signals.spider_opened)
            crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)

    def _spider_opened(self) -> None:
        self.paces.enter(paces_place(self._settings))
        self._look()

    def _spider_closed(self) -> None:
        if self._looks is not None:
            self._looks.cancel()
            self.paces.leave()

    def _lines(self) -> Iterator[str]:
        """The learned paces, for the end of the log."""
        found = {one: pace for one in self._told_paces if (pace := self.paces.of(one)) is not None}
        if found:
            told = [
                f"{one} {rate_words(found[one].per_second)}" for one in list(found)[:_TOLD_PACES]
            ]
            more = f"; and {len(found) - len(told):,} more" if len(found) > len(told) else ""
            yield f"Learned paces: {'; '.join(told)}{more}"

    def _look(self) -> None:
        """Take over what other processes have learned, and see how busy this process is."""
        self._looks = call_later(_LOOK_SECONDS, self._look)
        if self._is_late(time.monotonic()):
            self._late_at = time.monotonic()
        self._looked_at = time.monotonic()
        for origin, status, until in self.paces.news():
            rest, now = self.rests.of(origin), time.monotonic()
            until_at = min(monotonic_at(until), now + self._limits.max_seconds)
            if rest is None or (rest.until_at < until_at and not rest.given_up_until):
                own, seconds = rest or Rest(now, now, now), until_at - now
                longer = replace(own, until_at=until_at, seconds=seconds, status=status)
                self.take_over(origin, replace(longer, count=max(1, own.count)))

    def appoint(self, origin: Origin, request: Request) -> bool:
        """Whether a request may be sent now; after a rest, appoint this request to go first."""
        return self.rests.appoint(origin, request, self._has_ended)

    def hand_out(self, origin: Origin, request: Request) -> None:
        """Note that the queue hands out a request; after a rest, it goes first."""
        self.appoint(origin, request)
        self.paces.hand_out(origin, request, self._has_ended)

    def turn_at(self, origin: Origin, request: Request) -> Monotonic:
        """Take the turn of a request at a learned pace if it has come, or tell when it may."""
        return self.paces.turn_at(origin, request, self._has_ended)

    def goes_first(self, origin: Origin, request: Request) -> bool:
        """Whether a request goes first after a rest, and has not ended."""
        return self.rests.is_probe(origin, request) and not self._has_ended(request)

    def listen(self, rested: Callable[[Origin, Rest | None, float], None]) -> None:
        """Call a function with each rest that an answer changed, and when its request was sent."""
        self._listeners.append(rested)

    def take_over(self, origin: Origin, rest: Rest | None) -> None:
        """Take over a rest of another process, or its end."""
        before, now = self.rests.of(origin), time.monotonic()
        was_resting = before is not None and before.seconds > 0
        if rest is None:
            self.rests.put(origin, None)
            if was_resting:
                self._log(origin, "%s answers another worker well: its rest is over", origin)
            return
        # An answer to a request that was sent before now must not end this rest.
        self.rests.put(origin, replace(rest, began_at=now))
        if self.paces.of(origin) is None:
            answer = PageAnswer(rest.status, None, now, now, rest.url)
            self.paces.heed(origin, answer, rest, self._least_per_second)
        self._downloader.recall(partial(self._is_page_of, origin))
        if not was_resting:
            words = "%s %s to another worker: no request goes to it for %.1f s"
            left_seconds = max(0.0, rest.until_at - now)
            self._log(origin, words, origin, _answers(rest.status), left_seconds)

    def is_unsure(self, origin: Origin) -> bool:
        """Whether an origin rests, or rested and has not answered well since."""
        rest = self.rests.of(origin)
        return rest is not None and rest.is_resting

    def _has_ended(self, request: Request) -> bool:
        return request not in self._downloader.active

    def drops(self, origin: Origin) -> bool:
        """Whether the requests of an origin are to be dropped: it was given up."""
        rest = self.rests.of(origin)
        return rest is not None and rest.given_up_until > 0 and not self._decisions.is_dry_run

    def words_of(self, origin: Origin) -> str:
        """How an origin was refused last; empty if it was not."""
        rest = self.rests.of(origin)
        if rest is None:
            return ""
        cause = status_words(rest.status)
        return f", number {rest.count} in a row, the last after {cause} for {rest.url}"

    def note_sent(self, record: RequestRecord) -> None:
        """Note that a request goes to the downloader: its response comes from the site."""
        if self._is_on:
            record.sent_at = time.monotonic()

    def marks_to_resend(self, request: Request, response: Response) -> dict[str, Any] | None:
        """Meta keys for a request that is sent again after a refusal; None to pass the answer on.

        `signals` documents them.
        """
        self._downloaded(response, request)  # a DOWNLOADER of the user's may send no signal
        record = self._records.of(request)
        marks, record.marks = record.marks, None
        return None if request.meta.get("dont_retry") else marks

    def challenge_of(self, request: Request) -> str:
        """The service that answered a request with a challenge, once; empty for other answers."""
        record = self._records.of(request)
        service, record.service = record.service, ""
        return "" if self._decisions.is_dry_run else service

    def service_of(self, origin: Origin) -> str:
        """The service that answers for an origin with challenges; empty without one."""
        rest = self.rests.of(origin)
        return "" if rest is None else rest.service

    def _downloaded(self, response: Response, request: Request) -> None:
        """Heed an answer, before the downloader sends the next request.

        Answers of a cache or a middleware are ignored, because the site did not send them.
        """
        record = self._records.find(request)
        if record is None or record.sent_at is None:
            return
        sent_at, record.sent_at = record.sent_at, None
        if is_robots_txt(response.url):
            return
        now, retry_after_seconds = time.monotonic(), _retry_after_seconds(response)
        service = "" if self._passes_challenges else _service_of(response)
        if service == SIGNATURE and response.status == _TOO_MANY and retry_after_seconds:
            service = ""  # a limit; the site may want signatures always
        answer = PageAnswer(
            response.status,
            retry_after_seconds,
            sent_at,
            now,
            request.url,
            service,
            is_known=_is_again(request),
            seconds=self._seconds_of(request, response, sent_at, now),
        )
        if service:
            record.service = service
            self._journal.count(stats.SIGNATURE_WANTED, service == SIGNATURE)
            self._decisions.challenged(response, _origins(response.url), service)
        answer = self._by_route(request, answer)
        if answer.is_refusal:
            answer = replace(answer, is_known=self._is_known(request, answer))
        else:
            forget_refusals(request)
            if not self.rests and not answer.is_error:  # as usual
                known = [record.policy.origin] if record.policy else _origins(request.url)
                self._learn(dict.fromkeys(known), answer, response)
                return
        self._heed(record, request, answer, response)

    def failed(self, request: Request, error: Exception) -> None:
        """Learn from a request that has no answer in time."""
        record = self._records.find(request)
        if record is None or record.sent_at is None or failure_of(error) is not Failure.TIMEOUT:
            return
        sent_at, record.sent_at = record.sent_at, None
        now, is_known = time.monotonic(), _is_again(request)
        answer = PageAnswer(NO_ANSWER, None, sent_at, now, request.url, is_known=is_known)
        self._heed(record, request, self._by_route(request, answer), None)

    def _by_route(self, request: Request, answer: PageAnswer) -> PageAnswer:
        has_failed = self._routes.has_failed(_origins(request.url), request, answer)
        return replace(answer, is_of_proxy=True) if has_failed else answer

    def _heed(
        self, record: RequestRecord, request: Request, answer: PageAnswer, response: Response | None
    ) -> None:
        """Note the rests and the paces of origins after an answer."""
        # Two origins, if a download handler follows redirects, as browsers do.
        origins = {*_origins(request.url), *_origins(response.url if response else request.url)}
        if answer.is_error:
            answer = replace(answer, is_down=any(map(self.paces.is_down, origins)))
        changes = {
            origin: rest_after(self.rests.of(origin), answer, self._limits, _luck())
            for origin in origins
        }
        self._learn(changes, answer, response)
        if answer.is_refusal:
            record.marks = self._marks_of_refusal(request, answer, changes)
        for origin, rest in changes.items():
            self._change(origin, rest, answer, response)

    def _seconds_of(
        self, request: Request, response: Response, sent_at: float, now: float
    ) -> float:
        """How long it took until an answer began; 0 if it is not known.

        It is not known if the event loop was busy, for example with a long callback.
        """
        seconds = request.meta.get("download_latency")
        is_whole = response.protocol == _HTTP_2  # Scrapy measures until the end of the answer then
        is_busy = self._late_at > sent_at or self._is_late(now)
        if not isinstance(seconds, float) or is_whole or is_busy:
            return 0.0
        return seconds

    def _is_late(self, now: float) -> bool:
        return now - self._looked_at > 2 * _LOOK_SECONDS

    def _learn(
        self, rests: dict[Origin, Rest | None], answer: PageAnswer, response: Response | None
    ) -> None:
        """Learn the pace of origins from an answer; these are their rests after it."""
        for origin, rest in rests.items():
            before = self.paces.of(origin)
            self.paces.heed(origin, answer, rest, self._least_per_second)
            pace = self.paces.of(origin)
            if pace is not None and before is None:
                self._journal.count(stats.BACKOFF_LEARNED)
            if pace is not None and origin not in self._told_paces and self.paces.is_sure(origin):
                self._told_paces.add(origin)
                words = "%s accepts about %s, by its answers: that is its pace now"
                self._log(origin, words, origin, rate_words(pace.per_second))
            if response is None or not self._learns:
                continue
            if not _QUOTA_FIELDS.isdisjoint(response.headers):
                self._heed_quota(origin, response)

    def _heed_quota(self, origin: Origin, response: Response) -> None:
        """Note the number of requests that an origin accepts, by the fields of an answer."""
        now = time.monotonic()
        quota = quota_in(headers_of(response), now, time.time())
        if quota is None:
            return
        sent_count = sum(self._is_page_of(origin, one) for one in self._downloader.active)
        resets_at = min(quota.resets_at, now + self._limits.max_seconds)
        if quota.left - sent_count < _MUCH:
            self.paces.heed_quota(origin, Quota(quota.left, resets_at), sent_count)
        else:
            self.paces.heed_quota(origin, None, 0)

    def _is_known(self, request: Request, answer: PageAnswer) -> bool:
        """Whether an answer concerns its page alone, not its origin.

        So it is if the page was refused before, and the origin has since answered another request
        well. A 503 without Retry-After may be a broken page: then a good answer shortly before the
        first refusal counts, too.
        """
        refused_at = request.meta.get(REFUSED_AT)
        if not isinstance(refused_at, float):
            return False
        since_at = time.monotonic() - (time.time() - refused_at)
        if answer.is_plain:
            since_at -= _SHORTLY_SECONDS
        return any(self.paces.well_at(one) > since_at for one in _origins(request.url))

    def _marks_of_refusal(
        self, request: Request, answer: PageAnswer, changes: dict[Origin, Rest | None]
    ) -> dict[str, Any] | None:
        """The marks to send a refused request again; None if it has used up its tries.

        A refusal counts as a try if only this page was refused, or if the page went first after a
        rest and other pages of its origin are answered. Otherwise the origin refuses all pages, and
        the request must not pay for that.
        """
        meta, rests = request.meta, [rest for rest in changes.values() if rest is not None]
        is_alone = answer.is_of_proxy or not any(rest.seconds for rest in rests)
        is_first = any(self.rests.is_probe(origin, request) for origin in changes)
        is_try = is_alone or (is_first and answer.is_known)
        refusals = _count(meta.get(REFUSALS))
        tries = refusals + _count(meta.get("retry_times"))
        most = max(1, _count(meta.get("max_retry_times"), self._retry_times))
        is_limited = any(self.paces.is_limited(origin) for origin in changes)
        most += _MORE_TRIES[answer.is_plain] if is_limited else 0
        if is_try and tries >= most:
            forget_refusals(request)
            meta["retry_times"] = max(tries, most)  # no retries beyond those
            return None
        refused_at = meta.setdefault(REFUSED_AT, time.time())
        is_given_up = any(rest.given_up_until for rest in rests)
        # In a dry run, the request was sent to an origin that was given up.
        is_usual = is_alone and answer.is_plain and (answer.is_of_proxy or not is_limited)
        if (is_given_up and self._decisions.is_dry_run) or is_usual:
            return None  # Scrapy retries it
        self._tell_of_limit(request, answer)
        doublings = min(refusals, _FEW_DOUBLINGS) if is_limited else refusals
        own_seconds = answer.own_seconds(self._limits, doublings, _luck())
        if not is_alone:  # after the rest, another page goes first, if there is one
            rested = max(rest.until_at for rest in rests) - time.monotonic() + _LAST_SECONDS
            has_own = is_try or answer.retry_after_seconds
            own_seconds = max(own_seconds, rested) if has_own else rested
        if is_alone:
            words = "%s answers %d: it is requested again in %.1f s, behind the other pages"
            self._journal.debug(words, request.url, answer.status, own_seconds)
        return {
            REFUSALS: refusals + is_try,
            REFUSED_AT: refused_at,
            REFUSED_UNTIL: time.time() + own_seconds,
        }

    def _tell_of_limit(self, request: Request, answer: PageAnswer) -> None:
        if answer.retry_after_seconds and answer.retry_after_seconds > self._limits.max_seconds:
            self._log(
                origin_of(request.url),
                "%s sets a rest of %.0f s (Retry-After). It is requested once more after %g s "
                "(REP_BACKOFF_MAX_SECONDS)",
                *(request.url, answer.retry_after_seconds, self._limits.max_seconds),
            )

    def _change(
        self, origin: Origin, rest: Rest | None, answer: PageAnswer, response: Response | None
    ) -> None:
        before = self.rests.of(origin)
        if rest != before:
            self._put(origin, rest, answer.sent_at)
            self._tell(origin, before, rest, answer, response)
        is_resting = rest is not None and rest.is_resting
        if answer.is_failure and (is_resting or self.drops(origin)):
            count = self._downloader.recall(partial(self._is_page_of, origin))
            self._journal.count(stats.BACKOFF_PUT_BACK, count)

    def _put(self, origin: Origin, rest: Rest | None, sent_at: float) -> None:
        """Note the rest of an origin after the answer to a request that was sent then."""
        known = [one for one in (self.rests.of(origin), rest) if one is not None]
        self.rests.put(origin, rest)
        if self._learns and rest is not None and rest.is_resting:
            self.paces.note_rest(origin, rest.status, posix_at(rest.until_at))
        if any(one.seconds or one.given_up_until for one in known):
            for tell in self._listeners:
                tell(origin, rest, sent_at)

    def _is_page_of(self, origin: Origin, request: Request) -> bool:
        record = self._records.find(request)
        is_sent = record is not None and record.sent_at is not None
        return is_sent and origin_of(request.url) == origin

    def _tell(
        self,
        origin: Origin,
        before: Rest | None,
        rest: Rest | None,
        answer: PageAnswer,
        response: Response | None,
    ) -> None:
        """Count, log and signal what an answer changed."""
        was_resting = before is not None and before.seconds > 0
        if rest is None:
            if was_resting:
                self._log(origin, "%s answers well again: its rest is over", origin)
            return
        if rest.seconds or rest.given_up_until:
            pace = self.paces.of(origin)
            per_second = None if pace is None else pace.per_second
            self._decisions.rested(origin, answer.status, rest, per_second)
        if rest.given_up_until and rest.service:
            self._journal.count(stats.BACKOFF_GIVEN_UP)
            self._log(
                origin,
                "%s answered %s in a row with a challenge (%s): its requests %s for %g s",
                *(origin, counted(rest.challenges, "request"), rest.service, self._drop_words()),
                self._limits.give_up_seconds,
            )
            return
        if rest.given_up_until:
            self._journal.count(stats.BACKOFF_GIVEN_UP)
            self._journal.warning(
                "%s has answered %d for %.0f s (REP_BACKOFF_GIVE_UP_SECONDS): its requests %s for "
                "as long",
                *(origin, answer.status, time.monotonic() - rest.since_at),
                self._drop_words(),
            )
            return
        if not rest.seconds or (before is not None and rest.began_at == before.began_at):
            return
        self._journal.count(stats.BACKOFF_RESTS)
        if not was_resting:
            self._journal.count(stats.BACKOFF_ORIGINS)
            self._log(
                origin,
                "%s %s: no request goes to it for %.1f s",
                *(origin, _answers(answer.status), rest.seconds),
            )
        self._decisions.notices.send(
            origin_rests, origin=origin, seconds=rest.seconds, response=response
        )

    def _drop_words(self) -> str:
        return "would be dropped" if self._decisions.is_dry_run else "are dropped"

    def _log(self, origin: Origin | None, words: str, *values: object) -> None:
        is_new = origin not in self._told
        if is_new and len(self._told) >= _TOLD_ORIGINS:
            return
        self._told.add(origin)
        self._journal.info(words, *values)
        if is_new and len(self._told) == _TOLD_ORIGINS:
            self._journal.info("The rests of more origins are only counted")


def _retry_after_seconds(response: Response) -> float | None:
    """The longest time that a Retry-After field names; None if none names one."""
    now, headers = time.time(), response.headers
    named = headers.getlist("Retry-After")
    if not named:  # as usual
        return None
    dated = {name: (headers.get(name) or b"").decode("latin-1") for name in ("date", "age")}
    found = (
        retry_after_seconds({**dated, "retry-after": value.decode("latin-1")}, now)
        for value in named
    )
    return max((seconds for seconds in found if seconds is not None), default=None)


def forget_refusals(request: Request) -> None:
    """Remove the marks of refusals; otherwise links that copy meta would have them."""
    for key in _MARKS:
        request.meta.pop(key, None)


def refused_until(request: Request) -> float:
    """When a request that was refused may be sent again, POSIX seconds; 0 if it was not refused.

    It is 0, too, if the clock was set back to before the refusal.
    """
    until, refused_at = request.meta.get(REFUSED_UNTIL), request.meta.get(REFUSED_AT)
    if not isinstance(until, float) or not isinstance(refused_at, float):
        return 0.0
    return until if refused_at <= time.time() else 0.0


def _count(value: Any, usual: int = 0) -> int:
    return value if isinstance(value, int) else usual


def _is_again(request: Request) -> bool:
    return _count(request.meta.get("retry_times")) > 0


def _answers(status: int) -> str:
    return f"answers {status}" if status else "does not answer in time"


def _luck() -> float:
    return random.random()  # noqa: S311 - no secret


def _origins(url: str) -> list[Origin]:
    """The origin of a URL; none if it has none."""
    with suppress(InvalidUri):
        origin = origin_of(url)
        return [] if origin is None else [origin]
    return []


def _service_of(response: Response) -> str:
    """The service that answers with a challenge instead of the site; empty for most answers."""
    if _MARKING_FIELDS.isdisjoint(response.headers):
        return ""
    return challenge_in(response.status, headers_of(response))
