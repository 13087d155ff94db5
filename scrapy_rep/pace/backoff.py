"""Back off: let an origin rest when its pages answer 429 or 503, and give it up in the end."""

from __future__ import annotations

import random
import time
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

from scrapy import Request, signals
from scrapy.http import Headers

from scrapy_rep import stats
from scrapy_rep.decisions import Decisions
from scrapy_rep.fetch.transfer import headers_of
from scrapy_rep.protocol.access.challenges import MARKING_FIELDS, challenge_in
from scrapy_rep.protocol.access.lifetime import retry_after_seconds
from scrapy_rep.protocol.access.origin import Origin, origin_of
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.extensions.rest import PageAnswer, Rest, RestLimits, rest_after
from scrapy_rep.protocol.paths import is_robots_txt
from scrapy_rep.signals import REFUSALS, REFUSED_UNTIL, origin_rests
from scrapy_rep.stats import Journal

from .downloader import Downloader
from .rests import RESTS, Rests

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_rep.settings import RepSettings

_MARKING_FIELDS = frozenset(Headers(dict.fromkeys(MARKING_FIELDS, "")))
_LAST_SECONDS = 0.3  # after a rest, until pages that were refused are requested again
_TOLD_ORIGINS = 10  # the log names their rests; those of others are counted


class Again(NamedTuple):
    """A refused request is to be sent again: how often it was refused, and when it may be sent."""

    refusals: int
    refused_until: float


class Backoff:
    """How one crawl heeds the answers of pages.

    Attributes:
        rests: those of all crawls of this thread; always empty if `REP_BACKOFF` is off.
    """

    def __init__(
        self,
        crawler: Crawler,
        settings: RepSettings,
        decisions: Decisions,
        downloader: Downloader,
    ) -> None:
        self.rests = RESTS if settings.backoff else Rests()
        self._limits = RestLimits(settings.backoff_max_seconds, settings.backoff_give_up_seconds)
        self._decisions = decisions
        self._journal = Journal(crawler, __name__)
        self._downloader = downloader
        self._retry_times = crawler.settings.getint("RETRY_TIMES")
        self._sent_at: WeakKeyDictionary[Request, float] = WeakKeyDictionary()
        self._again: WeakKeyDictionary[Request, Again] = WeakKeyDictionary()
        self._challenged: WeakKeyDictionary[Request, str] = WeakKeyDictionary()
        self._passes_challenges = settings.challenges == "pass"
        self._told: set[Origin | None] = set()
        self._is_on = settings.backoff
        if self._is_on:
            crawler.signals.connect(self._downloaded, signal=signals.response_downloaded)

    def go(self, origin: Origin, request: Request) -> bool:
        """Whether a request may be sent now; the first after a rest goes alone."""
        return self.rests.go(origin, request, self._has_ended)

    async def may_probe(self, origin: Origin, request: Request) -> bool:  # noqa: ARG002
        """Whether no other process sends a request first, where that is known."""
        return True

    def is_unsure(self, origin: Origin) -> bool:
        """Whether an origin rests, or rested and has not answered well since."""
        rest = self.rests.of(origin)
        return rest is not None and rest.seconds > 0 and not rest.given_up_until

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
        return f", number {rest.count} in a row, the last after {rest.status} for {rest.url}"

    def sends(self, request: Request) -> None:
        """A request goes to the downloader: its response comes from the site."""
        if self._is_on:
            self._sent_at[request] = time.monotonic()

    def again(self, request: Request, response: Response) -> Again | None:
        """How to send a request again because its answer was a refusal; None to pass that on."""
        self._downloaded(response, request)  # a DOWNLOADER of the user's may send no signal
        again = self._again.pop(request, None)
        return None if request.meta.get("dont_retry") else again

    def challenge_of(self, request: Request) -> str:
        """The service that answered a request with a challenge, once; empty for other answers."""
        service = self._challenged.pop(request, "") if self._challenged else ""
        return "" if self._decisions.is_dry_run else service

    def service_of(self, origin: Origin) -> str:
        """The service that answers for an origin with challenges; empty without one."""
        rest = self.rests.of(origin)
        return "" if rest is None else rest.service

    def _downloaded(self, response: Response, request: Request) -> None:
        """Heed an answer, before the downloader sends the next request.

        An answer of a cache, or of a middleware, says nothing of the site.
        """
        sent_at = self._sent_at.pop(request, None)
        if sent_at is None or is_robots_txt(response.url):
            return
        now, service = time.monotonic(), _service_of(response)
        if service and self._passes_challenges:
            return
        asked_seconds = _asked_seconds(response)
        answer = PageAnswer(response.status, asked_seconds, sent_at, now, request.url, service)
        if service:
            self._challenged[request] = service
            self._decisions.challenged(response, _origins(response.url), service)
        if not answer.is_refusal:
            forget_refusals(request)
            if not self.rests:
                return
        changes = [
            (origin, rest_after(self.rests.of(origin), answer, self._limits, _luck()))
            # Browsers, and other handlers, follow redirects.
            for origin in {*_origins(request.url), *_origins(response.url)}
        ]
        if answer.is_refusal and changes and not self._is_tried_again(request, answer, changes):
            return
        for origin, rest in changes:
            self._change(origin, rest, answer, response)

    def _is_tried_again(
        self, request: Request, answer: PageAnswer, changes: list[tuple[Origin, Rest | None]]
    ) -> bool:
        """Decide on a refused request: it is sent again, or its answer is passed on.

        Returns False if the answer is passed on and says nothing new of its origin. That is so if
        it is the last of `RETRY_TIMES`. While an origin rests, only the requests that go first
        count as tries, and answers that may come from a broken page.
        """
        is_origin = any(rest is not None and rest.seconds for _, rest in changes)
        is_given_up = any(rest is not None and rest.given_up_until for _, rest in changes)
        is_first = any(self.rests.is_probe(origin, request) for origin, _ in changes)
        is_try = answer.is_plain or is_first or not is_origin
        refusals = _count(request.meta.get(REFUSALS))
        tries = refusals + _count(request.meta.get("retry_times"))
        most = request.meta.get("max_retry_times", self._retry_times)
        if is_try and tries >= most:
            forget_refusals(request)
            request.meta["retry_times"] = max(tries, most)  # no retries beyond those
            return False
        if answer.asked_seconds and answer.asked_seconds > self._limits.max_seconds:
            self._log(
                changes[0][0],
                "%s asks for a rest of %.0f s. It is requested once more after %g s "
                "(REP_BACKOFF_MAX_SECONDS)",
                *(request.url, answer.asked_seconds, self._limits.max_seconds),
            )
        if is_given_up and self._decisions.is_dry_run:
            return True  # the request was sent to an origin that was given up
        if is_origin or not answer.is_plain:  # otherwise Scrapy retries it
            own_seconds = answer.rest_seconds(self._limits, refusals, _luck())
            rests_until = max((rest.until_at for _, rest in changes if rest), default=0.0)
            if is_origin:  # then another page goes first, if there is one
                own_seconds = rests_until - time.monotonic() + _LAST_SECONDS
            self._again[request] = Again(refusals + is_try, time.time() + own_seconds)
            if not is_origin:
                words = "%s answers %d: it is requested again in %.1f s, behind the other pages"
                self._journal.debug(words, request.url, answer.status, own_seconds)
        return True

    def _change(
        self, origin: Origin, rest: Rest | None, answer: PageAnswer, response: Response
    ) -> None:
        before = self.rests.of(origin)
        if rest != before:
            self._put(origin, rest, answer.sent_at)
            self._tell(origin, before, rest, response)
        is_resting = rest is not None and rest.seconds and not rest.given_up_until
        if answer.is_refusal and (is_resting or self.drops(origin)):
            count = self._downloader.recall(partial(self._is_page_of, origin))
            self._journal.count(stats.BACKOFF_PUT_BACK, count)

    def _put(self, origin: Origin, rest: Rest | None, sent_at: float) -> None:  # noqa: ARG002
        """Note the rest of an origin after the answer to a request that was sent then."""
        self.rests.put(origin, rest)

    def _is_page_of(self, origin: Origin, request: Request) -> bool:
        return request in self._sent_at and origin_of(request.url) == origin

    def _tell(
        self, origin: Origin, before: Rest | None, rest: Rest | None, response: Response
    ) -> None:
        """Count, log and signal what an answer changed."""
        was_resting = before is not None and before.seconds > 0
        if rest is None:
            if was_resting:
                self._log(origin, "%s answers well again: its rest is over", origin)
            return
        if rest.seconds or rest.given_up_until:
            self._decisions.rested(origin, response.status, rest)
        if rest.given_up_until and rest.service:
            self._journal.count(stats.BACKOFF_GIVEN_UP)
            self._log(
                origin,
                "%s answered %d requests in a row with a challenge (%s): its requests %s for %g s",
                *(origin, rest.challenges, rest.service, self._drop_words()),
                self._limits.give_up_seconds,
            )
            return
        if rest.given_up_until:
            self._journal.count(stats.BACKOFF_GIVEN_UP)
            self._journal.warning(
                "%s has answered %d for %.0f s (REP_BACKOFF_GIVE_UP_SECONDS): its requests %s for "
                "as long",
                *(origin, response.status, time.monotonic() - rest.since_at),
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
                "%s answers %d: no request goes to it for %.1f s",
                *(origin, response.status, rest.seconds),
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


def _asked_seconds(response: Response) -> float | None:
    """The longest time that a Retry-After field names; None if none names one."""
    now, headers = time.time(), response.headers
    dated = {name: (headers.get(name) or b"").decode("latin-1") for name in ("date", "age")}
    found = (
        retry_after_seconds({**dated, "retry-after": value.decode("latin-1")}, now)
        for value in headers.getlist("Retry-After")
    )
    return max((seconds for seconds in found if seconds is not None), default=None)


def forget_refusals(request: Request) -> None:
    """Remove the marks of refusals; otherwise links that copy meta would have them."""
    request.meta.pop(REFUSALS, None)
    request.meta.pop(REFUSED_UNTIL, None)


def refused_until(request: Request) -> float:
    """When a request that was refused may be sent again, POSIX seconds; 0 if it was not refused."""
    until = request.meta.get(REFUSED_UNTIL)
    return until if isinstance(until, float) else 0.0


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


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
