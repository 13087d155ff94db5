"""Why a crawl got no page: one warning at its end names the cause and the setting that decides."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from scrapy import Request, signals
from scrapy.spidermiddlewares.httperror import HttpError, HttpErrorMiddleware

from scrapy_rep.engine.state import has_own_queue
from scrapy_rep.engine.transfer import is_own
from scrapy_rep.fetch.faults import REMEDIES, FaultKind, fault_of_page, shown_error
from scrapy_rep.protocol.access.events import Failure
from scrapy_rep.protocol.paths import is_robots_txt
from scrapy_rep.protocol.secrecy import bare, masked
from scrapy_rep.protocol.verdict import Reason, Verdict
from scrapy_rep.signals import SITEMAP_ORIGIN, Challenged, RateLimited, RobotsTxtDisallowed

if TYPE_CHECKING:
    from scrapy.http import Response

    from scrapy_rep.crawl import Crawl
    from scrapy_rep.policy import Policy
    from scrapy_rep.protocol.access.origin import Origin

_DECIDE = "REP_POLICY, REP_POLICY_OVERRIDES and REP_OVERRIDES decide what"
_AGAIN = "REP_BACKOFF decides whether such a page is requested again"
_BY_MIDDLEWARES = "DOWNLOADER_MIDDLEWARES decides which middlewares handle the requests"
_OURS = (RobotsTxtDisallowed, RateLimited, Challenged)  # noted where they are made
_BY_PROJECT = {FaultKind.BROKE, FaultKind.DROPPED}


class Cause(NamedTuple):
    """A cause in words, and what decides."""

    words: str
    setting: str


class _Causes(Enum):
    """The causes, by the names of reasons and failures where they have one."""

    # Of robots.txt: see `Reason`
    RULE = Cause(
        "robots.txt disallows the requests",
        "If you may crawl these pages all the same, set REP_OVERRIDES for their host",
    )
    UNREACHABLE = Cause("robots.txt is unreachable", f"{_DECIDE} that means")
    UNAVAILABLE = Cause("robots.txt is unavailable", f"{_DECIDE} such an answer means")
    HTML = Cause(
        "the site answers with an HTML page in place of a robots.txt",
        f"{_DECIDE} such a page means",
    )
    CRAWL_DELAY = Cause(
        "robots.txt sets too long a delay between requests",
        "REP_CRAWL_DELAY_EXCESS decides on delays above REP_CRAWL_DELAY_MAX_SECONDS",
    )
    VISIT_TIME = Cause(
        "the crawl ended before the visit time of the site",
        "REP_VISIT_TIME_OBEY decides whether Visit-time is obeyed",
    )
    OVERRIDDEN = Cause(
        "a setting disallows the requests", "REP_OVERRIDES or REP_POLICY_OVERRIDES says so"
    )
    OTHER_PARSER = Cause(
        "your parser says that robots.txt disallows the requests",
        "ROBOTSTXT_PARSER decides which parser reads it",
    )
    PARSER_FAILED = Cause(
        "your parser of robots.txt failed", "ROBOTSTXT_PARSER decides which parser reads it"
    )
    GUARDED = Cause(
        "sites named addresses that are not allowed",
        "REP_REDIRECT_GUARD and REP_GUARD_NETWORKS decide where sites may lead",
    )
    INVALID_URI = Cause("the URLs name no valid host", "Correct the URLs of the spider")
    DROPPED = Cause(
        "an operator dropped the origin",
        "'scrapy rep fleet allow' takes back what an operator dropped",
    )
    # An unreachable robots.txt: see `Failure`
    CHALLENGE = Cause(
        "an edge answers the request for robots.txt with a challenge",
        f"{_DECIDE} that means. Ask the owner to let your crawler in",
    )
    GUARD = Cause(
        "robots.txt redirects to a host that is not allowed",
        "REP_REDIRECT_GUARD decides which hosts it may redirect to",
    )
    LOCAL = Cause(
        "robots.txt was not fetched, for a reason on our side",
        f"An earlier line of the log names it. {_DECIDE} it means",
    )
    # Of answers to pages
    LIMITED = Cause(
        "the site answers only 429 or 503",
        "REP_BACKOFF_GIVE_UP_SECONDS decides when to give up. Crawl later, and more slowly",
    )
    CHALLENGED = Cause(
        "an edge answers the pages with challenges",
        "REP_CHALLENGES decides what happens then. Ask the owner to let your crawler in",
    )
    HTTP_429 = Cause("the site answers that too many requests come", _AGAIN)
    HTTP_503 = Cause("the site answers that it is overloaded", _AGAIN)
    HTTP = Cause(
        "the site answers with errors",
        "HTTPERROR_ALLOWED_CODES and handle_httpstatus_list decide which of them a spider gets",
    )
    DOWNLOAD = Cause(
        "the pages cannot be downloaded",
        "RETRY_TIMES and DOWNLOAD_TIMEOUT decide how often and how long this is tried",
    )
    # Of Scrapy
    OFFSITE = Cause(
        "the spider may not crawl the hosts of its requests",
        "Its allowed_domains decides which hosts it may crawl",
    )
    REPEATED = Cause(
        "the requests were made before",
        "DUPEFILTER_CLASS decides, and JOBDIR keeps the requests of earlier runs",
    )
    ENDED = Cause(
        "the crawl was ended first",
        "A CLOSESPIDER setting, a signal of the system or a component of the project ended it",
    )
    UNSEEN = Cause(
        "a component dropped the requests or their answers",
        "DOWNLOADER_MIDDLEWARES and SPIDER_MIDDLEWARES decide which components there are",
    )


_CAUSES: dict[str, Cause] = {name: one.value for name, one in _Causes.__members__.items()}


@dataclass(slots=True)
class _Prevented:
    """The requests that a cause prevented: the first, and their number."""

    example: str = ""
    count: int = 0


class NoPage:
    """Notes what prevented the pages of one crawl, until the spider gets one."""

    def __init__(self, crawl: Crawl) -> None:
        self._crawler = crawl.crawler
        self._found: dict[Cause, _Prevented] = {}
        self._awaited: dict[Cause, _Prevented] = {}
        self._has_page = self._has_list = False  # a list: of the URLs of pages
        crawl.crawler.signals.connect(self._received, signal=signals.response_received)

    def _received(self, response: Response, request: Request) -> None:
        """Note the answer to a page; the first that the spider gets is enough."""
        if self._has_page or is_own(request):
            return
        if not self._is_for_spider(response):
            cause = _CAUSES.get(f"HTTP_{response.status}", _CAUSES["HTTP"])
            self._note(cause, request, lambda: str(response.status))
        elif SITEMAP_ORIGIN in request.meta or is_robots_txt(request.url):
            self._has_list = True
        else:
            self._has_page = True

    def _is_for_spider(self, response: Response) -> bool:
        """Whether Scrapy gives an answer to the spider, and not its status to an errback.

        It is unknown what a middleware of the project lets pass.
        """
        filters = self._crawler.get_spider_middleware(HttpErrorMiddleware)
        method = HttpErrorMiddleware.process_spider_input
        try:
            if filters is not None and type(filters).process_spider_input is method:
                filters.process_spider_input(response)
        except HttpError:
            return False
        return True

    def dropped(
        self,
        request: Request,
        verdict: Verdict,
        policy: Policy | None,
        because: Callable[[], str],
    ) -> None:
        """Note a request that a verdict drops."""
        if not self._has_page:
            cause = _CAUSES.get(verdict.reason.name, _CAUSES["RULE"])
            if verdict.reason is Reason.UNREACHABLE and policy is not None:
                cause = _cause_of(policy)
            self._note(cause, request, because)

    def rested(self, origin: Origin) -> None:
        """Note that requests wait for an origin that rests."""
        self._awaited[_CAUSES["LIMITED"]] = _Prevented(str(origin))

    def outage(self, policy: Policy) -> None:
        """Note that requests may wait for a robots.txt that is unreachable."""
        self._awaited[_cause_of(policy)] = _Prevented(
            f"{policy.origin.robots_txt_uri} ({policy.event})"
        )

    def limited(self, request: Request, error: RateLimited | Challenged) -> None:
        """Note a request that is dropped because of the answers of its site."""
        name = "LIMITED" if isinstance(error, RateLimited) else "CHALLENGED"
        self._note(_CAUSES[name], request, lambda: str(error))

    def failed(self, request: Request, error: Exception) -> None:
        """Note a request for a page that a middleware or the downloader ends with an error."""
        if self._has_page or isinstance(error, _OURS):
            return
        fault = fault_of_page(request, error)
        if fault is None:
            cause, words = _CAUSES["DOWNLOAD"], shown_error(error)
        else:
            setting = _BY_MIDDLEWARES if fault.kind in _BY_PROJECT else REMEDIES[fault.kind]
            cause, words = Cause(fault.kind.value, setting), f"{fault.culprit} {fault.details}"
        self._note(cause, request, lambda: words)

    def _note(self, cause: Cause, request: Request, because: Callable[[], str]) -> None:
        if self._has_page:
            return
        found = self._found.setdefault(cause, _Prevented())
        found.count += not request.meta.get("retry_times")  # each request counts once
        found.example = found.example or f"{masked(bare(request.url))} ({because()})"

    def warning(self, reason: str) -> str:
        """The warning for a crawl that ends for a reason; empty if none is due.

        None is due if the spider got a page, or wanted none.
        """
        if self._has_page:
            return ""
        if count := self._stat("offsite/filtered"):
            self._found[_CAUSES["OFFSITE"]] = _Prevented(count=count)
        causes = self._found or self._unnoted(reason)
        if not causes:
            return ""
        cause, found = max(causes.items(), key=lambda one: one[1].count)
        example = f" For example: {found.example}." if found.example else ""
        ended = "" if reason in ("", "finished") else f" The crawl was ended early ({reason})."
        return f"No page was crawled, because {cause.words}.{example} {cause.setting}.{ended}"

    def _unnoted(self, reason: str) -> dict[Cause, _Prevented]:
        """The causes of a crawl in which no request is known to have failed.

        Duplicates say nothing while their first request has failed, and if it may be with another
        worker.
        """
        is_alone = has_own_queue(self._crawler.settings)
        repeated = self._stat("dupefilter/filtered") if is_alone else 0
        if self._has_list:
            return {_CAUSES["REPEATED"]: _Prevented(count=repeated)} if repeated else {}
        had_requests = any(map(self._stat, ("scheduler/enqueued", "scheduler/dequeued")))
        if reason != "finished":
            is_cut = repeated or had_requests
            return self._awaited or ({_CAUSES["ENDED"]: _Prevented()} if is_cut else {})
        if had_requests:
            return {_CAUSES["UNSEEN"]: _Prevented()}
        return {_CAUSES["REPEATED"]: _Prevented(count=repeated)} if repeated else self._awaited

    def _stat(self, name: str) -> int:
        return int(self._crawler.stats.get_value(name, 0) or 0)  # some collectors keep nothing


def _cause_of(policy: Policy) -> Cause:
    """The cause of an unreachable file."""
    if policy.fault is not None:
        return Cause(policy.fault.kind.value, REMEDIES[policy.fault.kind])
    by_event = {one.value: one.name for one in Failure}
    return _CAUSES.get(by_event.get(policy.event, ""), _CAUSES["UNREACHABLE"])
