"""Spiders that begin with the sitemaps that robots.txt files name.

No robots.txt is asked for here: what the middleware knows of an origin, or fetches once for
whoever asks, brings its Sitemap lines too, redirected or not. Sitemaps and pages are requests like
any other, and so each is judged by the robots.txt of its own origin.
"""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urljoin

from scrapy import Request
from scrapy.spiders import SitemapSpider

from . import stats
from .loops import as_they_come, sleep
from .middleware import QUEUE
from .policies import policies_of
from .protocol.errors import ConfigurationError, InvalidUri
from .protocol.origin import Origin
from .protocol.paths import path_of
from .seeding import LeftOut, Seeding
from .settings import RepSettings
from .sitemaps import SITEMAP_OCTETS, Entry, Kind, Sitemap

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.python.failure import Failure
    from typing_extensions import Self

    from .policy import Policy

logger = logging.getLogger(__name__)

Value = TypeVar("Value")

WELL_KNOWN = (
    "/sitemap.xml",
    "/sitemap_index.xml",
    "/sitemap-index.xml",
    "/sitemap.xml.gz",
    "/sitemap.txt",
)
"""Where `REP_SITEMAP_PROBE` looks for sitemaps, in this order, until one is found."""

_META = "rep_sitemap"  # of a sitemap request: for which origin; which of WELL_KNOWN, or None
_WEB = ("http", "https")
_REDIRECTS = (301, 302, 303, 307, 308)
_POLICIES_AT_A_TIME = 16
_A_BREATH = 100  # after so many values, others have a turn of the event loop


class RobotsSitemapMixin(SitemapSpider):
    """Begins with what `start` of the other spider yields, then with sitemaps.

    To be named before the other spider: ``class MySpider(RobotsSitemapMixin, CrawlSpider)``. All of
    `SitemapSpider` works: `sitemap_rules` (by default every page goes to the spider's own
    callback), `sitemap_follow`, `sitemap_filter`, `sitemap_alternate_links`, `sitemap_urls`.

    Attributes:
        sites: the URLs of the sites whose sitemaps are asked for, as a list, or with commas
            between them (``-a sites=...``); if there are none, those of `start_urls`.
    """

    sites: Sequence[str] | str = ()

    @classmethod
    def from_crawler(cls, crawler: Crawler, *args: Any, **kwargs: Any) -> Self:
        """Build from a crawler.

        Raises:
            ConfigurationError: one of `sites` is no URL of a site, one of `sitemap_urls` is none of
                the web, or a setting is wrong.
        """
        spider = super().from_crawler(crawler, *args, **kwargs)
        spider._prepare()  # noqa: SLF001 - it is ours
        return spider

    def _prepare(self) -> None:
        settings = RepSettings.of(self.settings)
        self._probes = settings.sitemap_probe
        self._seeding = Seeding(settings.sitemap_max, settings.sitemap_cross_host)
        self._begun: set[bytes] = set()
        self._told: set[tuple[Origin, LeftOut]] = set()
        if self.sitemap_rules is SitemapSpider.sitemap_rules:  # `parse`, which a CrawlSpider lacks
            self._cbs: list[Any] = [(re.compile(""), None)]
        self._origins()
        for url in self.sitemap_urls:
            if _request(url) is None:
                raise ConfigurationError(
                    f"sitemap_urls: {url!r} is no URL of the web; give URLs that begin with "
                    "'https://' or 'http://'"
                )

    async def start(self) -> AsyncIterator[Any]:
        """The other spider's requests, then the sitemaps of each site as its policy arrives.

        Raises:
            ConfigurationError: this crawl does not obey robots.txt through `RepMiddleware`.
        """
        policies_of(self.crawler, type(self).__name__)
        # Scrapy asks for these in any case, and its duplicate filter takes no note of them.
        begun = filter(None, map(_request, self.start_urls))
        self._begun = set(map(self._fingerprint, begun))
        async for one in self._start_of_the_other():
            yield one
        for request in self._named_sitemaps():
            yield request
        async for policy in self._policies(self._origins()):
            async for request in self._seeds(policy):
                yield request

    async def _start_of_the_other(self) -> AsyncIterator[Any]:
        """What its `start` yields, but for the requests for `sitemap_urls`, which are ours."""
        start = super().start
        if getattr(start, "__func__", None) is SitemapSpider.start:  # which asks for nothing else
            start = super(SitemapSpider, self).start
        async for one in start():
            if not (isinstance(one, Request) and one.callback == self._parse_sitemap):
                yield one

    def _fingerprint(self, request: Request) -> bytes:
        """What Scrapy's duplicate filter tells requests apart by."""
        fingerprinter = self.crawler.request_fingerprinter
        assert fingerprinter is not None  # noqa: S101 - a crawl that has begun has one
        return fingerprinter.fingerprint(request)

    def _origins(self) -> list[Origin]:
        """The origins of `sites`, or of the start URLs, each once."""
        sites = self.sites.split(",") if isinstance(self.sites, str) else self.sites
        named = [_origin_of_site(site.strip()) for site in sites if site.strip()]
        if not named:
            named = list(filter(None, map(_origin_of, self.start_urls)))
        asked = filter(None, map(_origin_of, filter(_is_robots_txt, self.sitemap_urls)))
        return list(dict.fromkeys([*named, *asked]))

    def _named_sitemaps(self) -> Iterator[Request]:
        """The requests for `sitemap_urls`; a robots.txt among them stands for its origin."""
        for url in self.sitemap_urls:
            origin = _origin_of(url)
            if origin is not None and not _is_robots_txt(url):
                yield from self._sitemap_request(url, origin)

    def _policies(self, origins: Iterable[Origin]) -> AsyncIterator[Policy]:
        """The policies in the order in which they arrive, several being asked for at a time."""
        policies = policies_of(self.crawler, type(self).__name__)
        return as_they_come(map(policies.get, origins), _POLICIES_AT_A_TIME)

    async def _seeds(self, policy: Policy) -> AsyncIterator[Request]:
        async for url in _breathing(policy.sitemaps):
            for request in self._sitemap_request(url, policy.origin):
                yield request
        if policy.sitemaps:
            return
        if policy.is_unreachable:
            logger.warning(
                "The sitemaps of %s are not known, for its robots.txt is unreachable (%s)",
                policy.origin,
                policy.event,
                extra={"spider": self},
            )
        elif self._probes:
            for request in self._probe(policy.origin, 0):
                yield request

    def _probe(self, origin: Origin, number: int) -> Iterator[Request]:
        """The request for the first well-known place from this one on that is to be asked for."""
        if number < len(WELL_KNOWN):
            yield from self._sitemap_request(f"{origin}{WELL_KNOWN[number]}", origin, number)

    def _probe_after(self, origin: Origin, probe: int | None) -> Iterator[Request]:
        """The request for the next place, if the last sitemap request was such a search."""
        if probe is not None:
            yield from self._probe(origin, probe + 1)

    def _sitemap_request(
        self, url: str, origin: Origin, probe: int | None = None
    ) -> Iterator[Request]:
        """The request for a sitemap on behalf of an origin, if it is to be made.

        If it is not, but was to search a well-known place, the next place is searched.
        Redirects are followed by us, as an index is, so that they count, and lead nowhere where
        the sitemap itself might not lie.
        """
        request = None if _is_robots_txt(url) else _request(url, callback=self._parse_sitemap)
        left_out = LeftOut.INVALID if request is None else self._seeding.admit(origin, request.url)
        if left_out is not None:
            self._leave_out(url, origin, left_out)
        if request is None or left_out is not None:
            yield from self._probe_after(origin, probe)
            return
        request.meta.update(
            {
                _META: (str(origin), probe),
                "allow_offsite": True,  # where sitemaps may lie, REP_SITEMAP_CROSS_HOST says
                "dont_redirect": True,
                "download_maxsize": min(filter(None, (self._max_size, SITEMAP_OCTETS))),
                "handle_httpstatus_list": _REDIRECTS,
            }
        )
        if probe is not None:
            request.errback = self._probe_failed
            request.meta[QUEUE] = True
        self._count(stats.SITEMAP_REQUESTS)
        yield request

    def _leave_out(self, url: str, origin: Origin, reason: LeftOut) -> None:
        if reason is LeftOut.REPEATED:
            return
        self._count(stats.SITEMAP_LEFT_OUT.format(reason.value))
        if (origin, reason) not in self._told:
            self._told.add((origin, reason))
            logger.warning(
                "The sitemap %s of %s is left out (%s); others for this reason are only counted",
                url[:200],
                origin,
                reason.value,
                extra={"spider": self},
            )

    # Scrapy's callback by this name gives all requests at once, which may be very many.
    async def _parse_sitemap(  # type: ignore[override]
        self, response: Response
    ) -> AsyncIterator[Request]:
        """The requests that a sitemap leads to."""
        name, probe = response.meta.get(_META, (response.url, None))
        origin = Origin.of(name)
        assert origin is not None  # noqa: S101 - the request was made here
        if response.status in _REDIRECTS:
            location = response.headers.get(b"Location") or b""
            target = _join(response.url, location.decode("utf-8", "replace"))
            for request in self._sitemap_request(target, origin, probe):
                yield request
            return
        sitemap = Sitemap(response.body)
        if sitemap.kind is None:
            self._warn_of(response)
            for request in self._probe_after(origin, probe):
                yield request
            return
        self._count(stats.SITEMAP_READ.format(sitemap.kind.value))
        async for entry in _breathing(self.sitemap_filter(sitemap)):
            for request in self._requests_of(entry, sitemap.kind, response.url, origin):
                yield request
        if sitemap.is_cut:
            self._count(stats.SITEMAP_CUT)
            logger.warning("Only the beginning of %s was read", response, extra={"spider": self})

    def _requests_of(
        self, entry: Entry, kind: Kind, base: str, origin: Origin
    ) -> Iterator[Request]:
        for address in self._addresses(entry):
            url = _join(base, address)
            if kind is not Kind.INDEX:
                yield from self._page_request(url)
            elif any(pattern.search(url) for pattern in self._follow):
                yield from self._sitemap_request(url, origin)

    def _addresses(self, entry: Entry) -> Iterator[str]:
        if entry.get("loc"):
            yield entry["loc"]
        if self.sitemap_alternate_links:
            yield from entry.get("alternate", ())

    def _page_request(self, url: str) -> Iterator[Request]:
        for pattern, callback in self._cbs:
            if pattern.search(url):
                request = _request(url, callback=callback)
                if request is not None and self._fingerprint(request) not in self._begun:
                    self._count(stats.SITEMAP_PAGES)
                    yield request
                return

    def _probe_failed(self, failure: Failure) -> Iterator[Request]:
        """Look in the next place, whatever went wrong in this one."""
        request: Request = failure.request  # type: ignore[attr-defined]
        name, probe = request.meta[_META]
        origin = Origin.of(name)
        if origin is not None:
            yield from self._probe_after(origin, probe)

    def _warn_of(self, response: Response) -> None:
        self._count(stats.SITEMAP_INVALID)
        logger.warning("%s is no sitemap", response, extra={"spider": self})

    def _count(self, name: str) -> None:
        self.crawler.stats.inc_value(name)


class RobotsSitemapSpider(RobotsSitemapMixin):
    """Asks for the pages that the sitemaps of some `sites` list.

    ``scrapy crawl my_spider -a sites=https://example.com,https://example.org``
    """


async def _breathing(values: Iterable[Value]) -> AsyncIterator[Value]:
    """The values, with turns of the event loop for others between them."""
    for number, value in enumerate(values, start=1):
        yield value
        if number % _A_BREATH == 0:
            await sleep(0)


def _origin_of_site(site: str) -> Origin:
    origin = _origin_of(site)
    if origin is None or origin.scheme not in _WEB:
        raise ConfigurationError(
            f"sites: {site!r} is no site; give URLs with a scheme, such as 'https://example.com'"
        )
    return origin


def _origin_of(url: str) -> Origin | None:
    try:
        return Origin.of(url)
    except InvalidUri:
        return None


def _is_robots_txt(url: str) -> bool:
    return path_of(url).partition("#")[0] == "/robots.txt"


def _join(base: str, address: str) -> str:
    """An absolute URL; empty where nothing can be made of the address."""
    try:
        return urljoin(base, address.strip())
    except ValueError:
        return ""


def _request(url: str, **arguments: Any) -> Request | None:
    """A request for a web page; None for anything else, local files above all."""
    try:
        request = Request(url, **arguments)
        origin = Origin.of(request.url)
    except (ValueError, InvalidUri):
        return None
    return request if origin is not None and origin.scheme in _WEB else None
