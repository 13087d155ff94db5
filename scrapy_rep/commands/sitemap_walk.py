"""The pages that the sitemaps of a site list, as a stream, fetched as a crawl would.

The bounds are those of crawls: `REP_SITEMAP_MAX` sitemaps for a site, index files and redirects
counted, on the hosts of `REP_SITEMAP_CROSS_HOST`; the limits of `sitemaps.reader` in each. One
sitemap is in memory at a time, and the URLs of those that are still to be fetched.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from scrapy_rep.crawl import policies_of
from scrapy_rep.engine.loops import sleep
from scrapy_rep.exceptions import RobotsTxtDisallowed, RobotsTxtUnreachable
from scrapy_rep.meta import QUEUE
from scrapy_rep.protocol.access.redirects import REDIRECT_STATUSES
from scrapy_rep.settings import RepSettings
from scrapy_rep.sitemaps.reader import SITEMAP_OCTETS, Sitemap, SitemapKind
from scrapy_rep.sitemaps.seeding import LeftOut, Seeding
from scrapy_rep.sitemaps.spiders import WELL_KNOWN
from scrapy_rep.sitemaps.web_addresses import is_robots_txt, join, origin_of, web_request

from .running import CommandError
from .sources import STDIN, is_url
from .sources import origin_of as site_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_rep.protocol.access.origin import Origin

_A_BREATH = 100  # after so many pages, the event loop gets a turn
_LOST_FLAGS = ("dataloss", "partial")
_TOLD = 20  # problems; of others only the number
_OK = range(200, 300)


class SitemapWalk:
    """The sitemaps of one site, or one sitemap and those that it lists.

    Attributes:
        name: what is walked, as the user named it.
        read: how many sitemaps were read, by kind.
        problems: sitemaps that were not read, or not to their end, and why; the first ones.
        problem_count: how many there are in all.
        is_unreachable: whether a robots.txt or sitemap did not come at all.
    """

    def __init__(self, crawler: Crawler, name: str) -> None:
        settings = RepSettings.of(crawler.settings)
        self.name = name
        self.read: Counter[SitemapKind] = Counter()
        self.problems: list[tuple[str, str]] = []
        self.problem_count = 0
        self.is_unreachable = False
        self._crawler = crawler
        self._seeding = Seeding(settings.sitemap_max, settings.sitemap_cross_host)
        self._queue: deque[str] = deque()

    async def pages(self) -> AsyncIterator[tuple[str, str]]:
        """Each page with the sitemap that lists it, in the order of the sitemaps.

        Raises:
            CommandError: the file that the user names cannot be read.
        """
        if not is_url(self.name):
            async for page in self._pages_in(_file(self.name), self.name, None):
                yield page
            origin = None
        else:
            origin = site_of(self.name)
            async for page in self._begin(origin):
                yield page
        while self._queue:
            url = self._queue.popleft()
            async for page in self._pages_of(url, origin or site_of(url)):
                yield page

    async def _begin(self, origin: Origin) -> AsyncIterator[tuple[str, str]]:
        """Queue the sitemaps of the site; look in the usual places if it names none."""
        if not _is_site(self.name):
            self._admit(self.name, origin)
            return
        policy = await policies_of(self._crawler, "check").get(origin)
        for url in policy.sitemaps:
            self._admit(url, origin)
        if policy.sitemaps:
            return
        if policy.is_unreachable:
            self.is_unreachable = True
            self._note(origin.robots_txt_uri, f"it is unreachable ({policy.event})")
            return
        for place in WELL_KNOWN:
            before = self.read.total()
            async for page in self._pages_of(f"{origin}{place}", origin, is_probe=True):
                yield page
            if self.read.total() > before:
                return
        self._note(str(origin), "its robots.txt names no sitemap, and none is in the usual places")

    async def _pages_of(
        self, url: str, origin: Origin, *, is_probe: bool = False
    ) -> AsyncIterator[tuple[str, str]]:
        """The pages that one sitemap lists."""
        try:
            response = await self._fetched(url, origin)
        except _UnreadError as error:
            if not is_probe:
                self._note(url, str(error))
            return
        is_cut = not set(_LOST_FLAGS).isdisjoint(response.flags)
        found = self._pages_in(response.body, response.url, origin, is_cut, is_probe=is_probe)
        async for page in found:
            yield page

    async def _pages_in(
        self,
        body: bytes,
        url: str,
        origin: Origin | None,
        is_cut: bool = False,
        *,
        is_probe: bool = False,
    ) -> AsyncIterator[tuple[str, str]]:
        sitemap = Sitemap(body, is_cut=is_cut)
        if sitemap.kind is None:
            if not is_probe:
                self._note(url, "it is no sitemap")
            return
        self.read[sitemap.kind] += 1
        for number, entry in enumerate(sitemap, start=1):
            target = join(url, entry["loc"])
            if sitemap.kind is SitemapKind.INDEX:
                self._admit(target, origin or origin_of(target))
            else:
                yield url, target
            if number % _A_BREATH == 0:
                await sleep(0)
        if sitemap.damage:
            self._note(url, f"it is damaged ({sitemap.damage}); as much as possible was read")
        elif sitemap.is_cut:
            self._note(url, "only its beginning was read")

    def _admit(self, url: str, origin: Origin | None) -> None:
        """Queue a sitemap, unless a crawl would leave it out."""
        request = None if is_robots_txt(url) else web_request(url)
        reason = LeftOut.INVALID
        if request is not None and origin is not None:
            reason_or_none = self._seeding.admit(origin, request.url)
            if reason_or_none is None:
                self._queue.append(request.url)
                return
            reason = reason_or_none
        if reason is not LeftOut.REPEATED:
            self._note(url, f"it is left out ({reason.value})")

    async def _fetched(self, url: str, origin: Origin) -> Response:
        """The answer at a URL, or where it redirects to.

        Raises:
            _UnreadError: there is none, or it must not be fetched.
        """
        while True:
            response = await self._answer(url)
            if response.status not in REDIRECT_STATUSES:
                break
            location = response.headers.get(b"Location") or b""
            target = web_request(join(response.url, location.decode("utf-8", "replace")))
            if target is None or is_robots_txt(target.url):
                raise _UnreadError("it redirects to no URL of the web")
            reason = self._seeding.admit(origin, target.url)
            if reason is not None:
                raise _UnreadError(
                    f"it redirects to {target.url}, which is left out ({reason.value})"
                )
            url = target.url
        if response.status not in _OK:
            raise _UnreadError(f"it answers {response.status}")
        return response

    async def _answer(self, url: str) -> Response:
        engine, request = self._crawler.engine, web_request(url)
        assert engine is not None  # noqa: S101 - this runs in it
        if request is None:
            raise _UnreadError("it is no URL of the web")
        request.meta.update(
            {
                "dont_redirect": True,
                "handle_httpstatus_all": True,
                "download_maxsize": SITEMAP_OCTETS,
                QUEUE: True,
            }
        )
        try:
            return await engine.download_async(request)
        except RobotsTxtUnreachable as error:
            self.is_unreachable = True
            raise _UnreadError(str(error)) from error
        except RobotsTxtDisallowed as error:
            raise _UnreadError(f"a crawl may not fetch it: {error.verdict}") from error
        except IgnoreRequest as error:
            raise _UnreadError(f"a middleware of this project drops it: {error}") from error
        except Exception as error:
            self.is_unreachable = True
            raise _UnreadError(f"it cannot be fetched: {type(error).__name__}: {error}") from error

    def _note(self, url: str, words: str) -> None:
        self.problem_count += 1
        if len(self.problems) < _TOLD:
            self.problems.append((url, words))


class _UnreadError(Exception):
    """A sitemap that is not read, and why."""


def _is_site(url: str) -> bool:
    """Whether a URL stands for all sitemaps of its site."""
    from scrapy_rep.protocol.paths import path_of

    return path_of(url) in ("", "/", "/robots.txt")


def _file(name: str) -> bytes:
    """The octets of a local file, or of standard input.

    Raises:
        CommandError: it cannot be read.
    """
    import sys

    if name == STDIN:
        return sys.stdin.buffer.read()
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise CommandError(f"{name}: {error.strerror or error}") from error
