"""The downloader middleware: every request is judged by the robots.txt of its origin."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NoReturn

from scrapy import Request, Spider, signals
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.exceptions import NotConfigured

from . import stats
from .components import middleware_orders
from .exceptions import RobotsTxtDisallowed, RobotsTxtUnreachable
from .fetcher import is_own
from .identity import Identity
from .notices import Notices
from .pacing import Pacing
from .policies import Policies
from .policy import Policy
from .protocol.errors import ConfigurationError, InvalidUri
from .protocol.origin import Origin
from .protocol.verdict import Reason, Verdict
from .readiness import Readiness
from .settings import RepSettings
from .signals import request_disallowed
from .slots import Slots, leave_inherited_slot, slot_key

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from typing_extensions import Self

logger = logging.getLogger(__name__)

VERDICT = "rep_verdict"
"""The meta key under which a request carries the verdict that let it through."""

QUEUE = "rep_queue"
"""The meta key of requests that are queued whatever is known: their errbacks hear the verdict."""


class RepMiddleware:
    """Judges requests; drops those that are not allowed with `RobotsTxtDisallowed`.

    Attributes:
        policies: the policies of this crawl, by origin.
        readiness: whose requests may be handed out, for the queue.
    """

    def __init__(self, crawler: Crawler) -> None:
        """Read and check the settings.

        Raises:
            NotConfigured: `ROBOTSTXT_OBEY` is off, and for no other reason: Scrapy takes this for
                "go on without me".
            ConfigurationError: a setting is wrong.
        """
        if not crawler.settings.getbool("ROBOTSTXT_OBEY"):
            raise NotConfigured("ROBOTSTXT_OBEY is off")
        _refuse_a_second_judge(crawler)
        self.crawler = crawler
        self._identity = Identity(crawler)
        settings = RepSettings.of(crawler.settings)
        self._dry_run = settings.dry_run
        slots = Slots(crawler)
        self._notices = Notices(crawler)
        self.policies = Policies(crawler, settings, self._identity, slots, self._notices)
        self._pacing = Pacing(crawler, settings, slots)
        self.readiness = Readiness(crawler, slots, settings, self.policies, self._pacing)
        crawler.signals.connect(self._spider_opened, signal=signals.spider_opened)
        crawler.signals.connect(self._spider_closed, signal=signals.spider_closed)
        if settings.filter_links and not settings.dry_run:
            crawler.signals.connect(self._request_scheduled, signal=signals.request_scheduled)
        if settings.asks_whether_pages_answer:
            crawler.signals.connect(self._response_received, signal=signals.response_received)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Build from a crawler."""
        return cls(crawler)

    def _spider_opened(self) -> None:
        self._identity.open()

    async def _spider_closed(self) -> None:
        await self._notices.finish()
        self.policies.close()

    def _response_received(self, response: Response, request: Request) -> None:
        origin = Origin.of(request.url)
        if origin is not None and request.url != origin.robots_txt_uri:
            self.policies.saw_answer(origin, response.status)

    def _request_scheduled(self, request: Request) -> None:
        """Drop what is known to be disallowed before it is queued (`REP_FILTER_LINKS`).

        Nothing is asked for here. What waits for an origin that is unreachable is queued: by the
        time that it is due, the file may be there.
        """
        if is_own(request) or is_exempt(request) or request.meta.get(QUEUE):
            return
        verdict = self._known_verdict(request)
        if verdict is None or verdict.allowed or verdict.reason is Reason.UNREACHABLE:
            return
        self._count(stats.VERDICT_DISALLOWED)
        self._count(stats.FILTERED)
        self._drop(request, verdict)

    def _known_verdict(self, request: Request) -> Verdict | None:
        """The verdict by a policy that is in memory; None without one."""
        try:
            origin = Origin.of(request.url)
        except InvalidUri:
            return None
        if origin is None or request.url == origin.robots_txt_uri:
            return None
        policy = self.policies.peek(origin, renew=False)
        if policy is None:
            return None
        return policy.verdict(request.url, self._identity.tokens_for(request))

    async def process_request(self, request: Request, spider: Spider | None = None) -> None:  # noqa: ARG002
        """Let a request through with its verdict in meta, or drop it.

        Raises:
            RobotsTxtDisallowed: the policy of its origin does not allow it.
        """
        if is_own(request):
            return
        request.meta.pop(VERDICT, None)
        leave_inherited_slot(request)
        if is_exempt(request):
            self._count(stats.EXEMPT)
            return
        verdict = await self._judge(request)
        if verdict is None:
            self._count(stats.NOT_JUDGED)
            return
        self._count(stats.VERDICT_ALLOWED if verdict.allowed else stats.VERDICT_DISALLOWED)
        if not verdict.allowed:
            if not self._dry_run:
                self._drop(request, verdict)
            self._count(stats.WOULD_DROP)
        request.meta[VERDICT] = verdict

    async def _judge(self, request: Request) -> Verdict | None:
        """The verdict on a request; None if robots.txt does not govern it."""
        try:
            origin = Origin.of(request.url)
        except InvalidUri:
            return Verdict(allowed=False, reason=Reason.INVALID_URI)
        if origin is None:
            return None
        if request.url == origin.robots_txt_uri:
            return Verdict(allowed=True, reason=Reason.IMPLICITLY_ALLOWED, robots_txt=request.url)
        policy = self.policies.peek(origin)
        if policy is None:
            policy = await self.policies.get(origin, request)
        else:
            self._count(stats.CACHE_HIT)
        return await self._admit(policy, request)

    async def _admit(self, policy: Policy, request: Request) -> Verdict:
        """The verdict of a policy; an allowed request waits for its site's visit time."""
        verdict = policy.verdict(request.url, self._identity.tokens_for(request))
        pace = self._pacing.apply(policy, slot_key(request))
        if not verdict.allowed:
            return verdict
        if pace.is_skipped:
            self._count(stats.SKIPPED)
            return Verdict(allowed=False, reason=Reason.CRAWL_DELAY, robots_txt=verdict.robots_txt)
        if not await self._pacing.wait(policy):
            return Verdict(allowed=False, reason=Reason.VISIT_TIME, robots_txt=verdict.robots_txt)
        return verdict

    def _drop(self, request: Request, verdict: Verdict) -> NoReturn:
        self._count(stats.FORBIDDEN)
        logger.debug(
            "Forbidden by robots.txt: %(request)s (%(verdict)s)",
            {"request": request, "verdict": verdict},
            extra={"spider": self.crawler.spider},
        )
        self._notices.send(request_disallowed, request=request, verdict=verdict)
        if verdict.reason is Reason.UNREACHABLE:
            raise RobotsTxtUnreachable(verdict)
        raise RobotsTxtDisallowed(verdict)

    def _count(self, name: str) -> None:
        self.crawler.stats.inc_value(name)


def is_exempt(request: Request) -> bool:
    """Whether a request carries `dont_obey_robotstxt` of its own.

    Scrapy copies meta to the request for a redirect's target, which may be any page of any host:
    that the user exempted the page that redirects says nothing of it.
    """
    return bool(request.meta.get("dont_obey_robotstxt")) and not request.meta.get("redirect_urls")


def _refuse_a_second_judge(crawler: Crawler) -> None:
    for loaded, order in middleware_orders(crawler.settings).items():
        if order is None or not isinstance(loaded, type):
            continue
        if issubclass(loaded, RobotsTxtMiddleware):
            raise ConfigurationError(
                f"DOWNLOADER_MIDDLEWARES: {loaded.__name__} is enabled besides RepMiddleware, and "
                "would ask for every robots.txt again. Switch it off with "
                f'{{"{loaded.__module__}.{loaded.__qualname__}": None}}, or use '
                'ADDONS = {"scrapy_rep.Addon": 500}, which does it'
            )
