"""The downloader middleware: every request is judged by the robots.txt of its origin."""

from __future__ import annotations

import codecs
import time
from collections.abc import Awaitable
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.utils.python import global_object_name

from scrapy_rep import stats
from scrapy_rep.crawl import Crawl
from scrapy_rep.decisions.decisions import Decisions
from scrapy_rep.decisions.request_records import RequestRecord, RequestRecords
from scrapy_rep.engine.components import (
    call_first,
    call_last,
    leave_out,
    middleware_orders,
)
from scrapy_rep.engine.downloader import SLOT, Downloader, leave_inherited_slot, put_back
from scrapy_rep.engine.handlers import SentUrls
from scrapy_rep.engine.loops import sleep
from scrapy_rep.engine.open_files import IdleConnections, raise_limit
from scrapy_rep.engine.refusals import refusals_in_one_line
from scrapy_rep.engine.state import is_by_hand, is_closing, is_queued_for
from scrapy_rep.engine.transfer import MARK, Transfer, is_own
from scrapy_rep.extras import nothing, part
from scrapy_rep.fetch.requesters import signing_of
from scrapy_rep.identity import Identity
from scrapy_rep.pace.drops import Drops
from scrapy_rep.pace.pacing import Pacing, keeps_pace_over_fleet, shares_pace, waits_in_queue
from scrapy_rep.pace.standstill import Standstill
from scrapy_rep.pace.visits import OriginDelay
from scrapy_rep.policies import Policies
from scrapy_rep.policy import OVERRIDE, Policy
from scrapy_rep.protocol.access.origin import Origin, origin_of, origin_or_none
from scrapy_rep.protocol.errors import ConfigurationError, InvalidUri
from scrapy_rep.protocol.extensions.pace import NO_PACE
from scrapy_rep.protocol.paths import is_robots_txt
from scrapy_rep.protocol.verdict import Reason, Verdict, implicit_verdict
from scrapy_rep.signals import (
    EXEMPT,
    JUDGED_IN,
    NAMED_BY,
    PUT_BACK,
    QUEUE,
    REFUSED_AT,
    REFUSED_UNTIL,
    VERDICT,
    is_exempt,
)
from scrapy_rep.stats import Journal

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self


_PAYMENT_REQUIRED = 402
# When the crawl closes, answers are not awaited, and verdicts may have these reasons instead.
_UNDECIDED = (Reason.UNREACHABLE, Reason.VISIT_TIME)
# Meta keys that few requests have. A request that has one needs more checks.
_SAYS_MORE = frozenset({MARK, VERDICT, SLOT, PUT_BACK, EXEMPT, NAMED_BY})
# After the wait for its turn, a request may use its policy for up to 30 s past expiry. Otherwise, a
# short-lived policy would be fetched for each page, because a robots.txt request takes a turn too.
_WAITED_SECONDS = 30.0
_SHORTAGE_LOOK_SECONDS = 0.5
# The encodings of most pages, except UTF-8.
_ENCODINGS = (
    *("cp1250", "cp1251", "cp1252", "cp1254", "cp1256", "iso8859-1", "iso8859-2", "iso8859-15"),
    *("koi8-r", "gb18030", "gbk", "gb2312", "big5", "shift_jis", "euc_jp", "euc_kr", "cp949"),
    *("utf-16", "utf-16-le", "utf-16-be", "utf-8-sig", "idna", "punycode"),
)


class RepMiddleware:
    """Judges requests, and drops those that are not allowed with `RobotsTxtDisallowed`.

    Spiders get policies with `scrapy_rep.policy_for`.
    """

    @refusals_in_one_line()
    def __init__(self, crawler: Crawler) -> None:
        """Read and check the settings.

        Raises:
            NotConfigured: `ROBOTSTXT_OBEY` is off. Scrapy then goes on without this middleware, so
                no other mistake may raise this exception.
            ConfigurationError: a setting is wrong.
        """
        if not crawler.settings.getbool("ROBOTSTXT_OBEY"):
            _pages_of(crawler, None)
            signs = ", so nothing is signed" if crawler.settings.get("REP_SIGN_KEY") else ""
            raise NotConfigured(f"ROBOTSTXT_OBEY is off{signs}")
        _refuse_a_second_judge(crawler)
        self.crawler = crawler
        self._journal = Journal(crawler, __name__)
        crawl = Crawl.of(crawler)
        self.settings = settings = crawl.settings
        self._identity = crawl.part(Identity)
        is_fleet = keeps_pace_over_fleet(crawler.settings)
        self._keeps_queue = is_fleet or bool(crawler.settings["JOBDIR"])
        self._run = crawl.run
        self._records = crawl.part(RequestRecords)
        self._decisions = crawl.part(Decisions)
        self._decisions.enter()
        self._sent_urls = SentUrls(crawler)
        self._looks_last = False  # whether `_last_look` sees each request after all middlewares
        self._has_warned = False
        self._waits_in_queue = waits_in_queue(crawler.settings)
        self.policies = crawl.part(Policies)
        self.drops = crawl.part(Drops)
        self._guard = self.policies.fetching.guard
        self._downloader = Downloader(crawler)
        self.pacing = crawl.part(Pacing)
        crawl.part(Standstill)
        self._idle: IdleConnections | None = None
        self._reservations: Any = None
        if settings.tdmrep:
            self._reservations = crawl.part(part("REP_TDMREP"))
        self._signing = signing_of(crawl)
        self._pages = _pages_of(crawler, self)
        crawler.signals.connect(self._spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)
        if settings.filter_links and not settings.dry_run:
            crawler.signals.connect(self._request_scheduled, signal=signals.request_scheduled)
        if settings.needs_page_answers:
            # Not `response_received`: caches and middlewares cause it too, also if a site is down.
            crawler.signals.connect(self._downloaded, signal=signals.response_downloaded)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build from a crawler."""
        return cls(crawler)

    def _spider_opened(self) -> None:
        self._identity.open()
        self._decisions.listener.open()
        if self.settings.fetch_middlewares == "builtin":
            leave_out(self.crawler, is_own)
        self._looks_last = call_last(self.crawler, self._last_look)
        call_first(self.crawler, "process_response", self._answered)
        call_first(self.crawler, "process_exception", self._failed)
        if self.settings.open_files:
            self._open_files()
        for ending in self.settings.overrides.endings(time.time()):
            self._journal.warning("REP_OVERRIDES: %s", ending)
        if not self._looks_last and not self._identity.is_chosen:
            self._journal.warning(
                "This DOWNLOADER hides its middlewares, so a User-Agent that a middleware sets "
                "after RepMiddleware is not judged. Set ROBOTSTXT_USER_AGENT"
            )
        is_alone = shares_pace(self.settings) and not keeps_pace_over_fleet(self.crawler.settings)
        if is_alone and not is_by_hand(self.crawler):
            self._journal.warning(
                "Workers with the same REP_REDIS_URL share robots.txt files and learned paces "
                "only: each keeps a Crawl-delay for itself. To share that too, set SCHEDULER = "
                '"scrapy_rep.RepRedisScheduler". If each site has only one worker, set '
                'REP_PACE_SCOPE = "process"'
            )

    def _open_files(self) -> None:
        """Raise the limit of open files, and close connections that are not needed any more."""
        if (limits := raise_limit()) is not None:
            self._journal.debug("The limit of open files is raised from %d to %d", *limits)
        self._idle = IdleConnections(self.crawler, partial(is_queued_for, self.crawler))
        for name in _ENCODINGS:  # later, there may be no file left to read them
            codecs.lookup(name)
        close_all = partial(self._idle.look, is_short=True)
        self.policies.fetching.shortage.files_are_short = close_all

    async def _spider_closed(self, reason: str = "") -> None:
        if self._idle is not None:
            self._idle.stop()
        await self._decisions.notices.finish()
        if self._reservations is not None:
            await self._reservations.close()
        await self.policies.close()
        self._decisions.log.finish(reason)
        await self._decisions.leave(reason)

    # The way of one request

    async def process_request(
        self,
        request: Request,
        spider: Spider | None = None,  # noqa: ARG002
    ) -> Request | None:
        """Let a request pass with its verdict in meta, or drop it.

        If the crawl began to close while the request waited, it is returned for the queue.

        Raises:
            RobotsTxtDisallowed: the policy of its origin does not allow it.
        """
        if self._signing.keyid:
            self._signing.install(self.pacing.known_seconds)
        self.drops.refuse(request)
        record = self._records.of(request)
        if not _SAYS_MORE.isdisjoint(request.meta):
            self._refuse_if(await self._guard.why_refused(request), request)
            is_judged = not self._is_free_of_rules(request, record)
        else:
            is_judged = True
        if is_judged and (back := await self._judge(request, record)) is not None:
            return back
        looking = None if self._looks_last else self._last_look(request)
        return None if looking is None else await looking

    def _refuse_if(self, why: str, request: Request) -> None:
        """Drop a request that the guard refuses, whatever robots.txt says, and in a dry run too.

        Raises:
            RobotsTxtDisallowed: `why` is not empty.
        """
        if why:
            self._guard.tell(request.meta[NAMED_BY], request.url, why)
            self._decisions.refused(request, Verdict(False, Reason.GUARDED, why=why))

    def _is_free_of_rules(self, request: Request, record: RequestRecord) -> bool:
        """Whether a request with some meta keys is our own or exempt; others lose old marks."""
        meta = request.meta
        if MARK in meta:
            if self._serves_fetch(request):
                return True
            del meta[MARK]
        meta.pop(VERDICT, None)
        if SLOT in meta:
            leave_inherited_slot(request)
        if PUT_BACK in meta:
            request.dont_filter = bool(meta.pop(PUT_BACK))
            record.came_back, record.came_at_close = True, is_closing(self.crawler)
            record.is_retold = meta.get(JUDGED_IN) == self._run
        if EXEMPT in meta and is_exempt(request):
            self._decisions.exempt(request)
            return True
        return False

    def _serves_fetch(self, request: Request) -> bool:
        """Whether a request with our mark is the one of its fetch, not another with its meta.

        A middleware may replace our request. The replacement comes here when the first request has
        left the downloader. While the first request is there, the second is another request.
        """
        transfer = Transfer.of(request)
        if transfer is None or transfer.is_over:
            return False
        if transfer.holder not in (None, request) and transfer.holder in self._downloader.active:
            return False
        transfer.holder = request
        return True

    async def _judge(
        self,
        request: Request,
        record: RequestRecord,
        tokens: tuple[str, ...] | None = None,
        *,
        is_again: bool = False,
    ) -> Request | None:
        """Let a request pass with its verdict, or drop it; return it for the queue if undecided."""
        first = record.verdict
        verdict = await self._verdict_on(request, tokens, record)
        if verdict is not None and not verdict.allowed and self._is_undecided(record, verdict):
            return self._put_back(request)
        is_told = is_again and self._decisions.is_dry_run and first and not first.allowed
        if not is_told:
            self._decisions.judged(request, verdict, is_again=is_again)
        if self._reservations is not None and record.policy is not None:
            await self._reservations.add_to(record.policy, request)
        return None

    async def verdict_on(
        self, request: Request, tokens: tuple[str, ...] | None = None
    ) -> Verdict | None:
        """The verdict on a request; None if robots.txt does not govern it.

        `tokens` are those of the User-Agent that is sent; None before that is known.
        """
        return await self._verdict_on(request, tokens, self._records.of(request))

    async def _verdict_on(
        self, request: Request, tokens: tuple[str, ...] | None, record: RequestRecord
    ) -> Verdict | None:
        record.policy = None  # no policy has judged it so far
        if self.drops and (verdict := self.drops.verdict(request.url)) is not None:
            return verdict
        try:
            origin = origin_of(request.url)
        except InvalidUri:
            return Verdict(allowed=False, reason=Reason.INVALID_URI)
        if origin is None:
            return None
        if is_robots_txt(request.url):
            return implicit_verdict(origin.robots_txt_uri)
        policy = self.policies.peek(origin, request)
        if policy is None:
            began_at = time.monotonic()
            policy = await self.policies.get(origin, request)
            while (seconds := _shortage_seconds(policy)) and not is_closing(self.crawler):
                await sleep(min(seconds, _SHORTAGE_LOOK_SECONDS))
                policy = await self.policies.get(origin, request)
            record.waited_seconds += time.monotonic() - began_at
        else:
            self._journal.count(stats.CACHE_HIT)
        record.policy = policy
        record.tokens = tokens = self._identity.tokens_for(request) if tokens is None else tokens
        verdict = policy.verdict(self._sent_urls.of(request), tokens)
        is_paced = verdict.allowed and (  # few origins have a pace
            self.pacing.of(policy, tokens) is not NO_PACE or origin.host in self.pacing.visits
        )
        return await self._verdict_by_pace(policy, tokens, verdict) if is_paced else verdict

    async def _verdict_by_pace(
        self, policy: Policy, tokens: tuple[str, ...], verdict: Verdict
    ) -> Verdict:
        """The verdict on an allowed request, which waits for the visit time of its origin."""
        self.pacing.note(policy, tokens)
        if self.pacing.of(policy, tokens).is_skipped:
            self._journal.count(stats.SKIPPED)
            return Verdict(False, Reason.CRAWL_DELAY, robots_txt=verdict.robots_txt)
        if not await self.pacing.wait_for_visit_time(policy, tokens):
            return Verdict(False, Reason.VISIT_TIME, robots_txt=verdict.robots_txt)
        return verdict

    def _last_look(self, request: Request) -> Awaitable[Request | None] | None:
        """Let a request go after all middlewares; None if it may be sent at once, as most may."""
        self.drops.refuse(request)
        if MARK in request.meta and is_own(request):
            return self._take_own_turn(request)
        record = self._records.of(request)
        policy, tokens = record.policy, record.tokens
        if policy is None:
            is_free = self.pacing.is_idle
        else:
            if self._looks_last:
                tokens = self._identity.tokens_sent(request)
            is_free = tokens == record.tokens == policy.tokens and self.pacing.is_free(policy)
        if is_free and REFUSED_UNTIL not in request.meta:
            self.pacing.backoff.note_sent(record)
            return None
        return self._until_it_may_go(request, record, tokens)

    async def _until_it_may_go(  # noqa: C901 - it reads from top to bottom
        self, request: Request, record: RequestRecord, tokens: tuple[str, ...]
    ) -> Request | None:
        """Have a request wait for its turn; return it for the queue if its origin rests.

        It is judged again if other tokens judged it than `tokens`, those of the User-Agent that is
        sent, and once more if its policy expired or changed while it waited. That happens only
        once, otherwise a request could wait forever.

        Raises:
            RobotsTxtDisallowed: it is not allowed any more.
            RateLimited: its origin was given up, or rests while the crawl closes.
        """
        pacing, backoff = self.pacing, self.pacing.backoff
        is_judged = record.policy is None or tokens == record.tokens
        if not is_judged:
            self._warn_of_header(request)
        has_waited = False
        while True:
            if not is_judged:
                back = await self._judge(request, record, tokens, is_again=True)
                if back is not None:
                    return back
            delay = self._delay_of(request, record)
            if delay is None:
                backoff.note_sent(record)
                return None
            origin = delay.origin
            self._drop_if_given_up(request, origin)
            # Requests of `download_async` do not go to the queue: they come back here at once.
            goes_back = self._waits_in_queue and not record.came_back
            if goes_back and not backoff.appoint(origin, request):
                return self._put_back(request, stats.BACKOFF_PUT_BACK)
            if not await pacing.turn(request, delay):
                if self._may_return(record):
                    return self._put_back(request)
                raise self._decisions.rate_limited(request, origin, backoff.service_of(origin))
            policy = record.policy
            is_judged = has_waited or policy is None or not self._is_old(policy)
            has_waited = True
            try:
                self._drop_if_given_up(request, origin)  # while the request waited
            except IgnoreRequest:
                pacing.give_up(request, origin)
                raise
            if is_judged:
                backoff.note_sent(record)
                if backoff.is_unsure(origin):
                    self._decisions.listener.probed(origin)
                return None
            pacing.give_up(request, origin)  # its robots.txt must not wait for it

    def _delay_of(self, request: Request, record: RequestRecord) -> OriginDelay | None:
        """The delay before a request; the delay for the crawl's own tokens always applies."""
        if record.policy is not None:
            return self.pacing.note(record.policy, record.tokens)
        origin = origin_or_none(request.url)  # an exempt request, or one for robots.txt itself
        return None if origin is None else OriginDelay(origin, 0.0)

    def _is_old(self, policy: Policy) -> bool:
        """Whether a request that waited for its turn is to be judged by a newer policy."""
        newest = self.policies.known(policy.origin)
        has_changed = newest is not None and not newest.says_the_same_as(policy)
        more_seconds = 0.0 if policy.source == OVERRIDE else _WAITED_SECONDS
        return has_changed or time.time() >= policy.usable_until + more_seconds

    def _drop_if_given_up(self, request: Request, origin: Origin) -> None:
        self.drops.refuse(request)
        if self.pacing.backoff.drops(origin):
            self._journal.count(stats.BACKOFF_DROPPED)
            service = self.pacing.backoff.service_of(origin)
            raise self._decisions.rate_limited(request, origin, service)

    # The requests for robots.txt files

    async def _take_own_turn(self, request: Request) -> None:
        """Have a robots.txt request wait for its turn; it goes before pages that wait."""
        origin = origin_of(request.url)
        policy = None if origin is None else self.policies.known(origin)
        if origin is None or (policy is None and self.pacing.is_idle):
            return
        delay = OriginDelay(origin, 0.0) if policy is None else self.pacing.delay_of(policy)
        is_awaited = partial(self._is_awaited, origin)
        transfer = Transfer.of(request)
        with nullcontext() if transfer is None else transfer.in_line(delay.seconds):
            await self.pacing.turn(request, delay, is_urgent=True, is_awaited=is_awaited)
        try:
            self.drops.refuse(request)  # while it waited
        except IgnoreRequest:
            self.pacing.give_up(request, origin)
            raise

    def _is_awaited(self, origin: Origin) -> bool:
        """Whether a request waits for a file of an origin."""
        reservations = self._reservations
        is_reserving = reservations is not None and reservations.is_awaited(origin)
        return is_reserving or self.policies.is_awaited(origin)

    # Requests for the queue

    def _is_undecided(self, record: RequestRecord, verdict: Verdict) -> bool:
        """Whether a request was refused only because the crawl closes; a resume may allow it."""
        is_kept = verdict.reason not in _UNDECIDED or self._decisions.is_dry_run
        return not is_kept and self._may_return(record) and is_closing(self.crawler)

    def _may_return(self, record: RequestRecord) -> bool:
        """Whether a request may be put back when the crawl closes: a next run gets the queue.

        It may be put back only once: a request of the engine's `download_async` does not go to the
        queue, but comes here again.
        """
        return self._keeps_queue and not record.came_at_close

    def _put_back(self, request: Request, stat: str = stats.PUT_BACK) -> Request:
        """The request for the queue, marked so that the duplicate filter does not drop it."""
        self._journal.count(stat)
        return put_back(request)

    # Answers

    def _downloaded(self, response: Response, request: Request) -> None:
        origin = origin_or_none(request.url)
        if origin is not None and not is_robots_txt(request.url):
            self.policies.fetching.saw_answer(origin, response.status)

    def _answered(self, request: Request, response: Response) -> Request | None:
        """The request to queue again because its answer was a refusal, or None.

        Raises:
            Challenged: an edge answered with a challenge, and the request is not sent again.
            RobotsTxtDisallowed: the guard refuses the address from which it came.
        """
        self.pacing.answered(request, response)
        self._refuse_if(self._guard.why_answer_unread(request, response), request)
        if response.status == _PAYMENT_REQUIRED and "cached" not in response.flags:
            self._priced(request, response)
        marks = self.pacing.backoff.marks_to_resend(request, response)
        service = self.pacing.backoff.challenge_of(request)
        if marks is None and not service:
            return None
        # Scrapy's stats do not count this answer, because no middleware sees it.
        self._journal.count("downloader/response_count")
        self._journal.count(f"downloader/response_status_count/{response.status}")
        if marks is None:
            origin = Origin.of(response.url)
            assert origin is not None  # noqa: S101 - it has answered with a challenge
            raise self._decisions.rate_limited(request, origin, service)
        self._journal.count(stats.BACKOFF_PUT_BACK)
        return put_back(request, meta=marks, priority=request.priority - 1)

    def _failed(self, request: Request, exception: Exception) -> Request | None:
        """The request to queue again because this machine was short of something, or None.

        It waits like a page that was refused, and no retry middleware counts a try.
        """
        if is_own(request):
            return None
        _, seconds = self.policies.fetching.shortage.of(exception) or ("", 0.0)
        if not seconds:
            self.pacing.backoff.failed(request, exception)
            self._decisions.log.no_page.failed(request, exception)
            return None
        now = time.time()
        self._journal.count(stats.PUT_BACK)
        return put_back(request, meta={REFUSED_AT: now, REFUSED_UNTIL: now + seconds})

    def _priced(self, request: Request, response: Response) -> None:
        """Record that a page requires a payment; no middleware sends its request again."""
        if is_own(request) or is_robots_txt(response.url):
            return
        try:
            payment_of = part("prices of pages", nothing)
        except OSError:  # no file is left to load it
            return
        request.meta["dont_retry"] = True
        prices, links = map(response.headers.getlist, ("crawler-price", "link"))
        terms = payment_of(prices, links, response.url)
        if terms is not None:
            self._decisions.priced(response, terms)

    def process_exception(
        self,
        request: Request,
        exception: Exception,  # noqa: ARG002
    ) -> None:
        """Drop a request if its browser was redirected to a disallowed page.

        Raises:
            RobotsTxtDisallowed: the policy of the redirect's target does not allow it.
        """
        refusal = self._pages.refusal_of(request) if self._pages is not None else None
        if refusal is not None:
            self._decisions.redirected_in_browser(request, refusal)

    def _warn_of_header(self, request: Request) -> None:
        if self._has_warned:
            return
        self._has_warned = True
        orders = middleware_orders(self.crawler.settings)
        own = orders.get(type(self)) or 0
        behind = [
            f"{global_object_name(one)} (order {order})"
            for one, order in orders.items()
            if order is not None and order > own and not one.__module__.startswith("scrapy.")
        ]
        self._journal.warning(
            "A middleware after RepMiddleware (order %s) sets or removes the User-Agent: it is now "
            "%r, so requests are judged a second time before they are sent. Give RepMiddleware a "
            "greater order than that middleware, or set ROBOTSTXT_USER_AGENT if all User-Agents "
            "are one crawler. Middlewares after it: %s",
            own,
            (request.headers.get(b"User-Agent") or b"").decode("utf-8", "replace"),
            ", ".join(behind) or "Scrapy's own",
        )

    # Links, before they are queued

    def _request_scheduled(self, request: Request) -> None:
        """Drop a request that is known to be disallowed before it is queued (`REP_FILTER_LINKS`).

        This fetches nothing. A request of an unreachable origin is queued: by the time its turn
        comes, the file may be there.
        """
        if is_own(request) or is_exempt(request) or request.meta.get(QUEUE):
            return
        origin = origin_or_none(request.url)
        if origin is None or is_robots_txt(request.url):
            return
        policy = self.policies.peek(origin, renew=False)
        if policy is None:
            return
        tokens = self._identity.tokens_for(request)
        record = self._records.of(request)
        record.policy, record.tokens = policy, tokens  # also if a middleware answers it unjudged
        verdict = policy.verdict(self._sent_urls.of(request), tokens)
        if verdict.allowed or verdict.reason is Reason.UNREACHABLE:
            return
        self._decisions.filtered(request, verdict)


def _shortage_seconds(policy: Policy) -> float:
    """How long to wait for another try; 0 unless the machine was short of something."""
    return 0.0 if policy.fault is None else policy.fault.retry_seconds


def _refuse_a_second_judge(crawler: Crawler) -> None:
    for loaded, order in middleware_orders(crawler.settings).items():
        if order is None or not isinstance(loaded, type):
            continue
        if issubclass(loaded, RobotsTxtMiddleware):
            raise ConfigurationError(
                f"DOWNLOADER_MIDDLEWARES: {loaded.__name__} is enabled next to RepMiddleware, and "
                "would fetch every robots.txt again. Disable it with "
                f'{{"{loaded.__module__}.{loaded.__qualname__}": None}}. '
                'ADDONS = {"scrapy_rep.Addon": 500} disables Scrapy\'s own class, but no subclass'
            )


def _pages_of(crawler: Crawler, middleware: RepMiddleware | None) -> Any:
    """The registry of a browser's pages; None if the crawl does not use scrapy-playwright's hook.

    Without a middleware, everything is allowed.
    """
    if not crawler.settings.get("PLAYWRIGHT_ABORT_REQUEST"):
        return None
    crawl_pages = part("PLAYWRIGHT_ABORT_REQUEST")
    return crawl_pages(crawler, None if middleware is None else middleware.verdict_on)
