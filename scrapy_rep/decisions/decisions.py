"""Records every decision of a crawl: in stats, signals, the log, `rep_verdict` and the audit trail.

Rules for the next author:

1. All code that lets a request go on, drops it or exempts it does so here.
2. The audit trail gets a decision before anything else happens, so that a crash cannot interrupt
   an unrecorded decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

from scrapy import Request

from scrapy_rep import stats
from scrapy_rep.cache.memory import Lru
from scrapy_rep.extras import part
from scrapy_rep.protocol.access.knowledge import Outage
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.extensions.rest import Rest
from scrapy_rep.protocol.verdict import Reason, Verdict
from scrapy_rep.signals import (
    JUDGED_IN,
    VERDICT,
    Challenged,
    RateLimited,
    RobotsTxtDisallowed,
    RobotsTxtUnreachable,
    challenged,
    payment_required,
    request_disallowed,
    sitemaps_discovered,
    withheld,
)
from scrapy_rep.stats import Journal

from .crawl_log import CrawlLog
from .listening import Listener
from .notices import Notices
from .occasions import (
    ABORTED,
    AGAIN,
    BROWSER,
    CAME_BACK,
    DONT_OBEY,
    DROPPED,
    FILTER,
    ITSELF,
    PASSED,
    REDIRECT,
    REQUEST,
    SCHEME,
    SLIPPED,
    WOULD_DROP,
)
from .request_records import RequestRecords

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_rep.crawl import Crawl
    from scrapy_rep.policy import Policy

_DRY_RUN_LINES = 20
_KEPT_OCTETS = 1 << 24  # for about 80,000 origins; forgotten origins are announced again
_ORIGIN_OCTETS = 200


_VERDICT_WORDS = {
    allowed: {reason: f"{word}: {reason.value}" for reason in Reason}
    for allowed, word in ((True, "allowed"), (False, "disallowed"))
}


class Decisions:
    """Records the decisions of one crawl, and drops the requests that are not allowed.

    Attributes:
        listener: hears of all decisions, such as the audit trail.
        is_dry_run: whether nothing is dropped.
        log: writes the lines of the crawl in the log.
        notices: sends the signals.
    """

    def __init__(self, crawl: Crawl) -> None:
        listener: type[Listener] = part("REP_AUDIT_DIR") if crawl.settings.audit_dir else Listener
        self.listener = crawl.part(listener)
        self.is_dry_run = crawl.settings.dry_run
        self.log = CrawlLog(crawl)
        self.notices = Notices(crawl.crawler)
        self._run = crawl.run
        self._records = crawl.part(RequestRecords)
        self._user_count = 0
        self._would_counts: Counter[str] = Counter()
        self._announced: Lru[Origin, int] = Lru(_KEPT_OCTETS)
        self._journal = Journal(crawl.crawler, __name__)

    # Each component that decides calls `enter` first, and `leave` when it stops deciding.

    def enter(self) -> None:
        """Register a component that decides."""
        self._user_count += 1

    async def leave(self, reason: str) -> None:
        """Unregister a component; the last one closes the listener."""
        self._user_count -= 1
        if self._user_count == 0:
            await self.listener.close(reason)

    def rested(self, origin: Origin, status: int, rest: Rest, per_second: float | None) -> None:
        """Note that an origin rests, or was given up, and the learned pace."""
        self.log.rested(origin, status, rest)
        self.listener.rested(origin, status, rest, per_second)

    def priced(self, response: Response, terms: Any) -> None:
        """Record that a page answered 402 (Payment Required), with a `PaymentRequired`."""
        self.listener.priced(response.url, terms)
        self._journal.count(stats.PAYMENT_REQUIRED)
        self._journal.debug("Payment required: %s (%s)", response, terms.price or "no price")
        self.notices.send(payment_required, response=response, terms=terms)

    # Requests of the crawl

    def exempt(self, request: Request) -> None:
        """Record a request that carries `dont_obey_robotstxt`."""
        if self.listener.hears:
            self.listener.exempted(request.url, DONT_OBEY, self._occasion(request), request)
            request.meta[JUDGED_IN] = self._run
        self._records.of(request).policy = None
        self._journal.count(stats.EXEMPT)

    def judged(
        self,
        request: Request,
        verdict: Verdict | None,
        *,
        is_again: bool = False,
    ) -> None:
        """Let a request pass with its verdict in its meta, or drop it; None means not judged.

        If a request that was allowed is judged again, only the last verdict counts.

        Raises:
            RobotsTxtDisallowed: it is dropped.
        """
        if self.listener.hears:
            by = AGAIN if is_again else self._occasion(request)
            self._tell(request.url, request, verdict, by)
        if verdict is None:
            self._journal.count(stats.NOT_JUDGED)
            return
        if is_again:
            self._journal.count(stats.VERDICT_ALLOWED, -1)
        self._journal.count(stats.VERDICT_ALLOWED if verdict.allowed else stats.VERDICT_DISALLOWED)
        if not verdict.allowed:
            if not self.is_dry_run:
                self._drop(request, verdict)
            self._note_drop(request, verdict)
            self._would_drop(stats.WOULD_DROP, request, verdict)
        request.meta[VERDICT] = _VERDICT_WORDS[verdict.allowed][verdict.reason]
        self._records.passed(request, verdict)

    def filtered(self, request: Request, verdict: Verdict) -> NoReturn:
        """Drop a request before it is queued.

        Raises:
            RobotsTxtDisallowed: always.
        """
        self._decided(request.url, request, verdict, FILTER, DROPPED)
        self._journal.count(stats.VERDICT_DISALLOWED)
        self._journal.count(stats.FILTERED)
        self._drop(request, verdict)

    def refused(self, request: Request, verdict: Verdict) -> NoReturn:
        """Drop a request to an origin that an operator dropped, also in a dry run.

        Raises:
            RobotsTxtDisallowed: always.
        """
        record = self._records.of(request)
        first = record.verdict if record.policy is not None else None
        record.policy = None  # listeners must not hear of a policy
        by = self._occasion(request) if first is None else AGAIN
        self._decided(request.url, request, verdict, by, DROPPED)
        if first is not None and first.allowed:
            self._journal.count(stats.VERDICT_ALLOWED, -1)
        self._journal.count(stats.VERDICT_DISALLOWED)
        self._drop(request, verdict)

    def rate_limited(
        self, request: Request, origin: Origin, service: str = ""
    ) -> RateLimited | Challenged:
        """The exception that drops a request: its origin was given up, or rests at the end.

        `service` is the service that answers with challenges, if that is the reason.
        """
        self.listener.dropped_later(request.url, None, service)
        error = Challenged(origin, service) if service else RateLimited(origin)
        self.log.limited(request, error)
        return error

    def challenged(self, response: Response, origins: Iterable[Origin], service: str) -> None:
        """Record that an edge answered a page with a challenge."""
        for origin in origins:
            self.log.challenged(origin, service)
        self._journal.count(stats.CHALLENGED)
        self.notices.send(challenged, response=response, service=service)

    def redirected_in_browser(self, request: Request, verdict: Verdict) -> NoReturn:
        """Drop a request whose browser was redirected to a URL that is not allowed.

        Raises:
            RobotsTxtDisallowed: always.
        """
        self.listener.dropped_later(request.url, verdict)
        self._drop(request, verdict)

    # Requests of pages in browsers

    def judged_in_browser(
        self, url: str, request: Request | None, verdict: Verdict | None, stat: str
    ) -> bool:
        """Whether to abort a request of a page; `stat` counts the aborted requests.

        `request` is the same request as a `scrapy.Request`; None if it cannot be converted.
        """
        is_refused = verdict is not None and not verdict.allowed
        self._tell(url, request, verdict, BROWSER)
        if verdict is None:
            self._journal.count(stats.NOT_JUDGED)
        elif not is_refused:
            self._journal.count(stats.BROWSER_ALLOWED)
        elif self.is_dry_run:
            self._would_drop(stats.WOULD_DROP, url, verdict)
        else:
            self._journal.count(stat)
        return is_refused and not self.is_dry_run

    def slipped(self, url: str, request: Request | None, verdict: Verdict) -> None:
        """Record that a browser has sent a request that is not allowed."""
        self._decided(url, request, verdict, BROWSER, SLIPPED)
        self._journal.count(stats.BROWSER_SLIPPED)

    # Policies

    def discovered(self, policy: Policy) -> None:
        """Send the signal for sitemaps, unless the same sitemaps were announced before."""
        if not self.notices.has_listeners(sitemaps_discovered):
            return
        origin, sitemaps = policy.origin, policy.sitemaps
        content = hash(sitemaps)
        if sitemaps and self._announced.get(origin) != content:
            self._announced.put(origin, content, _ORIGIN_OCTETS)
            self.notices.send(sitemaps_discovered, origin=origin, sitemaps=sitemaps, policy=policy)

    def file_read(self, body: bytes, sha256: str) -> None:
        """Record the octets of a file that was read."""
        self.listener.read(body, sha256)

    def learnt(self, policy: Policy) -> None:
        """Record that a policy came into memory, possibly again."""
        self.listener.learnt(policy)
        self.log.learnt(policy)

    def outage(self, policy: Policy, outage: Outage) -> None:
        """Record that a file is unreachable, after each fetch that failed."""
        if policy.is_stale:
            self._journal.count(stats.STALE)
        self.log.outage(policy, outage)

    # What callbacks yield

    def withheld(self, response: Response, what: Any, because: Any, stat: str) -> bool:
        """Record that a rule of the page drops a request or an item; False in a dry run."""
        is_request = isinstance(what, Request)
        name = f"{what if is_request else 'an item'} of {response}"
        url = what.url if isinstance(what, Request) else ""
        self.listener.withheld(response.url, url, because, is_dry_run=self.is_dry_run)
        if self.is_dry_run:
            would = stats.WOULD_WITHHOLD_REQUESTS if is_request else stats.WOULD_WITHHOLD_ITEMS
            self._would_drop(would, name, because)
            return False
        self._journal.count(stat)
        self._journal.debug("Withheld: %(what)s (%(because)s)", {"what": name, "because": because})
        self.notices.send(withheld, response=response, what=what, because=because)
        return True

    def _tell(self, url: str, request: Request | None, verdict: Verdict | None, by: str) -> None:
        if not self.listener.hears:
            return
        if request is not None and (verdict is None or verdict.allowed):
            request.meta[JUDGED_IN] = self._run
        if verdict is None:
            self.listener.exempted(url, SCHEME, by, request)
        elif verdict.reason is Reason.IMPLICITLY_ALLOWED:
            self.listener.exempted(url, ITSELF, by, request)
        else:
            dropped = ABORTED if by == BROWSER else DROPPED
            refused = WOULD_DROP if self.is_dry_run else dropped
            outcome = PASSED if verdict.allowed else refused
            self._decided(url, request, verdict, by, outcome)

    def _decided(
        self, url: str, request: Request | None, verdict: Verdict, by: str, outcome: str
    ) -> None:
        if request is None:
            self.listener.decided(url, verdict, by, outcome)
            return
        record = self._records.of(request)
        waited, record.waited_seconds = record.waited_seconds, 0.0
        self.listener.decided(
            *(request.url, verdict, by, outcome),
            *(record.policy, record.tokens if record.policy is not None else None),
            *(waited, request),
        )

    def _occasion(self, request: Request) -> str:
        if self._records.of(request).is_retold:
            return CAME_BACK
        return REDIRECT if request.meta.get("redirect_urls") else REQUEST

    def _would_drop(self, stat: str, what: Any, because: Any) -> None:
        """Count requests and items that pass only in a dry run, and log the first 20 of a kind."""
        self._journal.count(stat)
        self._would_counts[stat] += 1
        if self._would_counts[stat] > _DRY_RUN_LINES:
            return
        self._journal.info(
            "Would be dropped without REP_DRY_RUN: %(what)s (%(because)s)",
            {"what": what, "because": because},
        )
        if self._would_counts[stat] == _DRY_RUN_LINES:
            self._journal.info("No more are logged, see the stat %s", stat)

    def _note_drop(self, request: Request, verdict: Verdict) -> Policy | None:
        """Note a drop for the summary; return the policy that judged the request."""
        policy = self._records.of(request).policy
        self.log.dropped(request, verdict, policy)
        return policy

    def _drop(self, request: Request, verdict: Verdict) -> NoReturn:
        self._journal.count(stats.FORBIDDEN)
        policy = self._note_drop(request, verdict)
        self._journal.debug(
            "Forbidden by robots.txt: %(request)s (%(verdict)s)",
            {"request": request, "verdict": _DropWords(verdict, policy)},
        )
        self.notices.send(request_disallowed, request=request, verdict=verdict)
        if verdict.reason is Reason.UNREACHABLE:
            raise RobotsTxtUnreachable(verdict)
        raise RobotsTxtDisallowed(verdict)


class _DropWords(NamedTuple):
    """The reason of a drop, which is put into words only if it is logged."""

    verdict: Verdict
    policy: Policy | None

    def __str__(self) -> str:
        note = "" if self.policy is None else self.policy.note_on(self.verdict)
        return f"{self.verdict}; {note}" if note else str(self.verdict)
