"""Spiders that start from the sitemaps in robots.txt files.

They fetch no robots.txt: the Sitemap lines come from the policy of the middleware, which fetches
the file once for all. Requests for sitemaps and pages are ordinary requests, and each is judged by
the robots.txt of its own origin.
"""

from __future__ import annotations

import logging
import re
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from html import escape
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlparse
from weakref import WeakSet

from scrapy import Request, Spider
from scrapy.http import HtmlResponse
from scrapy.link import Link
from scrapy.signals import request_dropped, request_scheduled, spider_closed
from scrapy.spiders import CrawlSpider, SitemapSpider
from scrapy.utils.job import job_dir
from scrapy.utils.url import url_has_any_extension
from w3lib.url import canonicalize_url, safe_url_string

from scrapy_rep import stats
from scrapy_rep.crawl import Crawl
from scrapy_rep.engine.loops import as_they_come, sleep
from scrapy_rep.engine.refusals import refusals_in_one_line
from scrapy_rep.policies import policies_of
from scrapy_rep.protocol.access.origin import Origin, origin_or_none
from scrapy_rep.protocol.access.redirects import REDIRECT_STATUSES
from scrapy_rep.protocol.document import RobotsTxt, parse
from scrapy_rep.protocol.errors import ConfigurationError
from scrapy_rep.protocol.units import counted
from scrapy_rep.protocol.verdict import Reason
from scrapy_rep.settings import RepSettings
from scrapy_rep.signals import (
    QUEUE,
    SITEMAP_ORIGIN,
    RobotsTxtDisallowed,
    RobotsTxtUnreachable,
)

from .coverage import Coverage
from .entry_dates import seconds_of, values_of
from .last_runs import LAST_RUN, LastRuns
from .reader import SITEMAP_OCTETS, Sitemap, SitemapEntry, SitemapKind
from .seeding import (
    LeftOut,
    Seeding,
    is_robots_txt,
    join,
    origin_of_site,
    urls_of,
    web_request,
)

if TYPE_CHECKING:
    from datetime import date, datetime

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure
    from typing_extensions import Self

    from scrapy_rep.policy import Policy

logger = logging.getLogger(__name__)

WELL_KNOWN = (
    "/sitemap.xml",
    "/sitemap_index.xml",
    "/sitemap-index.xml",
    "/sitemap.xml.gz",
    "/sitemap.txt",
)
"""The places where `sitemap_probe` looks for sitemaps, in this order, until one is found."""


_ENTRY = "rep_sitemap"  # meta of a page request
_LOST_FLAGS = ("dataloss", "partial")  # Scrapy's flags of incomplete answers
_POLICIES_AT_A_TIME = 16
_BREATH_SECONDS = 0.02  # between turns of the event loop
_OLD_NAME = "start_requests"


class _Starts(SitemapSpider):
    """Finds the start requests of the class after `SitemapSpider` in the bases.

    Up to Scrapy 2.15, `start` calls `start_requests`, and spiders may override either.
    `SitemapSpider.start_requests` would hide that of a class after it.
    """

    def start_of_the_other(self) -> AsyncIterator[Any]:
        """The other class's `start`; `SitemapSpider.start` would yield only sitemaps."""
        start = super().start
        if _is_function(start, SitemapSpider.start):
            start = super(SitemapSpider, self).start
        return start()

    if hasattr(Spider, _OLD_NAME):

        def start_requests(self) -> Any:  # overriding methods have different types
            """The method that the other class's `start` calls up to Scrapy 2.15."""
            found: Any = getattr(super(), _OLD_NAME)
            if _is_function(found, getattr(SitemapSpider, _OLD_NAME)):
                found = getattr(super(SitemapSpider, self), _OLD_NAME)
            if _is_function(found, getattr(Spider, _OLD_NAME)):  # calling it logs a warning
                return (Request(url, dont_filter=True) for url in self.start_urls)
            return found()


class RobotsSitemapMixin(_Starts):
    """Starts with the requests of the other spider's `start`, and then requests sitemaps.

    Name it before the other spider: ``class MySpider(RobotsSitemapMixin, CrawlSpider)``. All
    attributes of `SitemapSpider` work: `sitemap_rules`, `sitemap_follow`, `sitemap_filter`,
    `sitemap_alternate_links`, `sitemap_urls`. Without `sitemap_rules`, every page goes to the
    spider's own callback; in a `CrawlSpider`, its rules decide as for a link.

    Attributes:
        sites: the URLs of the sites, as a list, or as a string with commas (``-a sites=...``); by
            default those of `start_urls`.
        since: a date; entries that have not changed since then are skipped. ``"last run"`` is the
            time at which the last run with this `JOBDIR` began that read the sitemap.
    """

    sites: Sequence[str] | str = ()
    since: datetime | date | str | None = None
    sitemap_probe = False

    @classmethod
    @refusals_in_one_line()
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Create the spider from a crawler.

        Raises:
            ConfigurationError: one of `sites` is not the URL of a site, one of `sitemap_urls` is
                not an http or https URL, `since` is not a date, or a setting is wrong.
        """
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider._prepare()  # noqa: SLF001 - defined here
        return spider

    def _prepare(self) -> None:
        settings = RepSettings.of(self.settings)
        self._seeding = Seeding(settings.sitemap_max, settings.sitemap_cross_host)
        self._told: set[tuple[Origin, LeftOut]] = set()
        self._parse_limit_octets = settings.parse_limit_octets
        # Scrapy's own method supports only XML and gzip.
        self._has_own_body = not _is_function(
            self._get_sitemap_body,
            SitemapSpider._get_sitemap_body,  # noqa: SLF001
        )
        self._pages = PageRequests(self)
        self._last_runs: LastRuns | None = None
        if self.since == LAST_RUN:
            folder = job_dir(self.settings)
            if not folder:
                needs = "since = 'last run' needs a JOBDIR; set one, or give a date"
                raise ConfigurationError(needs)
            self._last_runs = LastRuns(Path(folder))
        self._since = None if self._last_runs else seconds_of(self.since)
        self._origins()
        for url in self.sitemap_urls:
            if web_request(url, None) is None:
                wrong = f"sitemap_urls: {url!r} is not an http or https URL"
                raise ConfigurationError(f"{wrong}; give URLs that begin with 'https://'")

    async def start(self) -> AsyncIterator[Any]:
        """Yield the requests of the other spider, then requests for sitemaps as policies arrive.

        Raises:
            ConfigurationError: this crawl does not obey robots.txt through `RepMiddleware`.
        """
        policies = policies_of(self.crawler, type(self).__name__)
        coverage = Crawl.of(self.crawler).part(Coverage)
        if self._last_runs:
            if self._last_runs.is_new:
                coverage.forget_earlier_runs()
            self._last_runs.begin()
            self.crawler.signals.connect(self._ended, spider_closed)
        # Scrapy sends these without its duplicate filter, so the filter does not know them later.
        requests = (web_request(url, None) for url in self.start_urls)
        start_urls = {request.url for request in requests if request}
        async for one in self._requests_of_the_other():
            if isinstance(one, Request) and one.url in start_urls:
                self._pages.note_begun(one)
            yield one
        for url in self.sitemap_urls:
            origin = None if is_robots_txt(url) else origin_or_none(url)
            for request in self._sitemap_request(url, origin) if origin else ():
                yield request
        found = map(policies.get, self._origins())
        async for policy in as_they_come(found, _POLICIES_AT_A_TIME):
            async for request in _breathing(self._seeds(policy)):
                yield request

    def _ended(self, reason: str) -> None:
        assert self._last_runs is not None  # noqa: S101 - connected only then
        self._last_runs.end(reason)

    async def _requests_of_the_other(self) -> AsyncIterator[Any]:
        """Yield the requests of its `start`, without robots.txt, which the middleware fetches."""
        named = {Request(url).url for url in filter(is_robots_txt, self.sitemap_urls)}
        async for one in self.start_of_the_other():
            if isinstance(one, Request) and one.callback == self._parse_sitemap:
                if one.url in named:
                    continue
                self._adopt(one)
            yield one

    def _adopt(self, request: Request) -> None:
        """Treat the other spider's request for a sitemap as one of ours, if its meta allows it.

        The request is sent regardless of our limits, because the user made it. The same sitemap is
        not fetched again.
        """
        origin = origin_or_none(request.url)
        if origin is None or is_robots_txt(request.url):
            return
        self._seeding.admit(origin, request.url)
        ours = self._meta(origin, None)
        if request.meta or request.headers or request.cookies:
            del ours["dont_redirect"], ours["handle_httpstatus_list"]  # redirects copy them
        request.meta.update({**ours, **request.meta})
        request.errback = request.errback or self._sitemap_failed
        self._count(stats.SITEMAP_REQUESTS)

    def _origins(self) -> list[Origin]:
        """The origins of `sites`, or of the start URLs, each once."""
        sites = self.sites.split(",") if isinstance(self.sites, str) else self.sites
        named = [origin_of_site(site.strip()) for site in sites if site.strip()]
        if not named:
            named = list(filter(None, map(origin_or_none, self.start_urls)))
        listed = filter(None, map(origin_or_none, filter(is_robots_txt, self.sitemap_urls)))
        return list(dict.fromkeys([*named, *listed]))

    def _seeds(self, policy: Policy) -> Iterator[Iterator[Request]]:
        self._leave_out_invalid(policy.robots_txt, policy.origin)
        yield iter(())
        for url in policy.sitemaps:
            yield self._sitemap_request(url, policy.origin)
        if policy.sitemaps:
            return
        if policy.is_unreachable:
            told = "The sitemaps of %s are unknown, because its robots.txt is unreachable (%s)"
            self._tell(told, policy.origin, policy.event)
        elif self.sitemap_probe:
            yield self._probe_after(policy.origin, -1)

    def _probe_after(self, origin: Origin, probe: int | None) -> Iterator[Request]:
        """The request for the next well-known place; empty if the last request was not a probe."""
        if probe is not None and probe + 1 < len(WELL_KNOWN):
            yield from self._sitemap_request(f"{origin}{WELL_KNOWN[probe + 1]}", origin, probe + 1)

    def _sitemap_request(
        self, url: str, origin: Origin, probe: int | None = None
    ) -> Iterator[Request]:
        """The request for a sitemap of an origin, if the sitemap may be fetched.

        If a probed sitemap may not be fetched, the next well-known place is probed. Redirects are
        handled here, so that each counts as a sitemap, and leads only to hosts where a sitemap of
        the origin may be.
        """
        request = None
        if not is_robots_txt(url):
            request = web_request(url, origin, callback=self._parse_sitemap)
        left_out = LeftOut.INVALID if request is None else self._seeding.admit(origin, request.url)
        if left_out is not None:
            self._leave_out(url, origin, left_out)
        if request is None or left_out is not None:
            yield from self._probe_after(origin, probe)
            return
        request.meta.update(self._meta(origin, probe))
        request.errback = self._sitemap_failed
        self._count(stats.SITEMAP_REQUESTS)
        yield request

    def _meta(self, origin: Origin, probe: int | None) -> dict[str, Any]:
        return {
            SITEMAP_ORIGIN: [str(origin), probe],
            "allow_offsite": True,  # REP_SITEMAP_CROSS_HOST decides about hosts
            "dont_redirect": True,
            "download_maxsize": min(filter(None, (self._max_size, SITEMAP_OCTETS))),
            "handle_httpstatus_list": REDIRECT_STATUSES,
            QUEUE: True,  # the errback gets the verdict
        }

    def _leave_out_invalid(self, robots_txt: RobotsTxt, origin: Origin) -> None:
        for value in robots_txt.invalid_sitemaps:
            self._leave_out(value, origin, LeftOut.INVALID)

    def _leave_out(self, url: str, origin: Origin, reason: LeftOut) -> None:
        if reason is LeftOut.REPEATED:
            return
        self._count(stats.SITEMAP_LEFT_OUT.format(reason.value))
        if (origin, reason) not in self._told:
            self._told.add((origin, reason))
            has_line = reason in (LeftOut.DISALLOWED, LeftOut.GUARDED)
            level = logging.INFO if has_line else logging.WARNING
            told = "Sitemap %s of %s is not fetched (%s); others with this reason are only counted"
            self._tell(told, url[:200], origin, reason.value, level=level)

    def _tell(self, message: str, *values: Any, level: int = logging.WARNING) -> None:
        logger.log(level, message, *values, extra={"spider": self})

    # Scrapy's callback of this name returns all requests at once, which may be too many.
    async def _parse_sitemap(  # type: ignore[override]
        self, response: Response
    ) -> AsyncIterator[Request]:
        """Yield the requests for the pages and sitemaps in a sitemap."""
        async for request in _breathing(self._listed_in(response)):
            yield request

    def _listed_in(self, response: Response) -> Iterator[Iterator[Request]]:
        """Yield the requests for each entry; after other answers, a redirect or the next probe."""
        origin, probe = _sitemap_origin(response.meta, response.url)
        if response.status in REDIRECT_STATUSES:
            location = response.headers.get(b"Location") or b""
            target = join(response.url, location.decode("utf-8", "replace"))
            yield self._sitemap_request(target, origin, probe)
            return
        if SITEMAP_ORIGIN not in response.meta and response.url.endswith("/robots.txt"):
            yield self._sitemaps_in(response, origin)
            return
        body = self._get_sitemap_body(response) if self._has_own_body else response.body
        is_cut = not set(_LOST_FLAGS).isdisjoint(response.flags)
        sitemap = Sitemap(body or b"", is_cut=is_cut)
        if sitemap.kind is None:
            self._count(stats.SITEMAP_INVALID)
            self._tell("%s is not a sitemap", response)
            yield self._probe_after(origin, probe)
            return
        self._count(stats.SITEMAP_READ.format(sitemap.kind.value))
        since = self._last_runs.since(response.url) if self._last_runs else self._since
        for entry in self._entries(sitemap):
            if entry is None:
                yield iter(())
            elif sitemap.kind is SitemapKind.INDEX:
                yield self._sitemaps_of(entry, response, origin)
            else:
                yield self._pages_of(entry, response, since)
        if self._last_runs and not sitemap.is_cut:
            self._last_runs.note(response.url)
        if sitemap.is_cut:
            self._count(stats.SITEMAP_CUT)
            self._tell(
                "Read only the beginning of %s (%s)", response, counted(sitemap.octets, "octet")
            )
        if sitemap.damage:
            self._count(stats.SITEMAP_DAMAGED)
            told = "%s is damaged (%s); read as much of it as possible"
            self._tell(told, response, sitemap.damage)

    def _entries(self, sitemap: Sitemap) -> Iterator[SitemapEntry | None]:
        """The entries, as the filter of the spider leaves them, and None after each step."""
        while sitemap.step():
            yield None
        for entry in self.sitemap_filter(sitemap):
            yield entry
            while sitemap.step():
                yield None

    def _sitemaps_in(self, response: Response, origin: Origin) -> Iterator[Request]:
        """The requests for sitemaps in a robots.txt that the user requested as a sitemap."""
        robots_txt = parse(response.body, response.url, limit_octets=self._parse_limit_octets)
        self._leave_out_invalid(robots_txt, origin)
        for url in robots_txt.sitemaps:
            yield from self._sitemap_request(url, origin)

    def _sitemaps_of(
        self, entry: SitemapEntry, response: Response, origin: Origin
    ) -> Iterator[Request]:
        """The requests for a sitemap in an index.

        Its date does not matter here: entries in it may have no dates.
        """
        for url in self._urls_of(entry, response):
            if any(pattern.search(url) for pattern in self._follow):
                yield from self._sitemap_request(url, origin)

    def _pages_of(
        self, entry: SitemapEntry, response: Response, since: float | None
    ) -> Iterator[Request]:
        """The requests for the pages of an entry, unless it certainly has not changed."""
        values, period = values_of(entry, response.url)
        if since is not None and period is not None and period.is_before(since):
            self._count(stats.SITEMAP_UNCHANGED)
            return
        for url in self._urls_of(entry, response):
            yield from self._pages.requests(url, response, values)

    def _urls_of(self, entry: SitemapEntry, response: Response) -> Iterator[str]:
        alternates = entry.get("alternate", ()) if self.sitemap_alternate_links else ()
        for address in filter(None, (entry.get("loc"), *alternates)):
            yield from urls_of(response.url, address)

    def _sitemap_failed(self, failure: Failure) -> Iterator[Request] | Failure:
        """Log a sitemap that is not allowed; after any failure of a probe, probe the next place."""
        request: Request = failure.request  # type: ignore[attr-defined]
        origin, probe = _sitemap_origin(request.meta, request.url)
        if isinstance(failure.value, RobotsTxtUnreachable):
            self._leave_out(request.url, origin, LeftOut.UNREACHABLE)
        elif isinstance(failure.value, RobotsTxtDisallowed):
            is_guarded = failure.value.verdict.reason is Reason.GUARDED
            reason = LeftOut.GUARDED if is_guarded else LeftOut.DISALLOWED
            self._leave_out(request.url, origin, reason)
        return failure if probe is None else self._probe_after(origin, probe)

    def _count(self, name: str) -> None:
        self.crawler.stats.inc_value(name)


def _is_function(method: Any, function: Any) -> bool:
    """Whether a method is this function, not an override."""
    return getattr(method, "__func__", None) is function


class RobotsSitemapSpider(RobotsSitemapMixin):
    """Fetches the pages in the sitemaps of some `sites`.

    ``scrapy crawl my_spider -a sites=https://example.com,https://example.org``
    """


def _sitemap_origin(meta: dict[str, Any], url: str) -> tuple[Origin, int | None]:
    """The origin of a sitemap request, and its place in `WELL_KNOWN`."""
    name, probe = meta.get(SITEMAP_ORIGIN, (url, None))
    origin = Origin.of(name)
    assert origin is not None  # noqa: S101 - the request was created here
    return origin, probe


async def _breathing(some: Iterable[Iterable[Request]]) -> AsyncIterator[Request]:
    """Yield all requests; other work of the event loop gets turns."""
    breath_at = time.monotonic() + _BREATH_SECONDS
    for requests in some:
        for request in chain(requests, [None]):
            if request is not None:
                yield request
            if time.monotonic() >= breath_at:
                await sleep(0)
                breath_at = time.monotonic() + _BREATH_SECONDS


class PageRequests:
    """Makes the page requests of one spider.

    `sitemap_rules` decide. A CrawlSpider without them uses its own `rules`, as for a link.
    """

    def __init__(self, spider: SitemapSpider) -> None:
        self._spider = spider
        self._begun: set[bytes] = set()
        self._made: WeakSet[Request] = WeakSet()
        spider.crawler.signals.connect(self._scheduled, signal=request_scheduled)
        spider.crawler.signals.connect(self._refused, signal=request_dropped)
        self._callbacks: list[Any] = spider._cbs  # noqa: SLF001 - Scrapy's compiled rules
        self._goes_by_rules = False
        # Scrapy's default names `parse`, which a CrawlSpider lacks.
        if spider.sitemap_rules is SitemapSpider.sitemap_rules:
            self._callbacks = [(re.compile(""), None)]
            self._goes_by_rules = isinstance(spider, CrawlSpider) and bool(spider.rules)

    def note_begun(self, request: Request) -> None:
        """Note a page that the spider's `start` has requested; it is not requested again."""
        self._begun.add(self._fingerprint(request))

    def requests(self, url: str, response: Response, values: dict[str, Any]) -> Iterator[Request]:
        """The requests for a page in a sitemap, with the values of its entry in their meta.

        `response` is the sitemap.
        """
        for request in self._of(url, response, values):
            Crawl.of(self._spider.crawler).part(Coverage).listed(request)
            if not self._is_begun(request):
                self._made.add(request)
                yield request

    def _scheduled(self, request: Request) -> None:
        """Count a page; spider middlewares such as that of DEPTH_LIMIT may have dropped others."""
        if request in self._made:
            self._spider.crawler.stats.inc_value(stats.SITEMAP_PAGES)

    def _refused(self, request: Request) -> None:
        """Do not count a page that the scheduler refused, as a duplicate."""
        if request in self._made:
            self._spider.crawler.stats.inc_value(stats.SITEMAP_PAGES, -1)

    def _of(self, url: str, response: Response, values: dict[str, Any]) -> Iterator[Request]:
        for pattern, callback in self._callbacks:
            if pattern.search(url):
                namer, _ = response.meta.get(SITEMAP_ORIGIN, (response.url, None))
                request = web_request(url, namer, callback=callback, meta={_ENTRY: values})
                if request is not None and self._goes_by_rules:
                    yield from _requests_by_rules(self._spider, request, response)  # type: ignore[arg-type]
                elif request is not None:
                    yield request
                return

    def _is_begun(self, request: Request) -> bool:
        """Whether `start` requested the same page, for the same callback."""
        if not self._begun:
            return False
        spider: Any = self._spider
        callback: Any = request.callback
        if self._goes_by_rules:
            rule = request.meta.get("rule")
            callback = callback if rule is None else spider._rules[rule].callback  # noqa: SLF001
        is_same = callback in (None, getattr(spider, "parse", None))
        return is_same and self._fingerprint(request) in self._begun

    def _fingerprint(self, request: Request) -> bytes:
        """The fingerprint by which Scrapy's duplicate filter compares requests."""
        fingerprinter = self._spider.crawler.request_fingerprinter
        assert fingerprinter is not None  # noqa: S101 - set when the crawl starts
        return fingerprinter.fingerprint(request)


def _requests_by_rules(spider: CrawlSpider, page: Request, response: Response) -> Iterator[Request]:
    """The requests of the first rule that accepts a link to a page; empty without such a rule.

    They equal the requests for such a link in a page, so the order of page and sitemap does not
    matter. `response` is the sitemap, for `process_request`.
    """
    for number, rule in enumerate(spider._rules):  # noqa: SLF001 - compiled, unlike `rules`
        links: Any = _links(rule.link_extractor, page.url)
        links = list(rule.process_links(links)) if links else []  # type: ignore[operator]
        for link in links:
            linked = spider._build_request(number, link)  # noqa: SLF001 - spiders override it
            linked.meta.update(page.meta)
            request = rule.process_request(linked, response)  # type: ignore[operator]
            if request is not None:
                yield request
        if links:
            return


def _links(extractor: Any, url: str) -> list[Link]:
    """The link to a URL, if an extractor accepts it in a page.

    Scrapy's own ``parse --rules`` uses `matches`, which ignores file extensions and
    `process_value`. For an extractor without that method, a page with only this link is parsed.
    """
    if not hasattr(extractor, "matches"):
        page = HtmlResponse(url, body=f'<a href="{escape(url)}">', encoding="utf-8")
        return list(extractor.extract_links(page))
    process = getattr(getattr(extractor, "link_extractor", None), "process_attr", None)
    if process is not None:
        value = process(url)
        if value is None:
            return []
        url = urljoin(url, safe_url_string(value))
    denied = getattr(extractor, "deny_extensions", ())
    if not extractor.matches(url) or (denied and url_has_any_extension(urlparse(url), denied)):
        return []
    return [Link(canonicalize_url(url) if getattr(extractor, "canonicalize", False) else url)]
