"""``scrapy rep check --sitemap``: the pages in a site's sitemaps that are disallowed.

The sitemaps are fetched as in a crawl, with the same limits: `REP_SITEMAP_MAX` sitemaps per site,
including index files and redirects, on the hosts of `REP_SITEMAP_CROSS_HOST`, and the limits of
`sitemaps.reader` in each. Memory: one sitemap, the URLs of the sitemaps in the queue, and the
hashes of at most `_PAGES_KNOWN` pages.
"""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.http import Response

from scrapy_rep.policies import policies_of
from scrapy_rep.protocol.access.origin import Origin, origin_or_none
from scrapy_rep.protocol.access.redirects import REDIRECT_STATUSES
from scrapy_rep.protocol.paths import path_of
from scrapy_rep.protocol.units import counted
from scrapy_rep.signals import QUEUE
from scrapy_rep.sitemaps.reader import SITEMAP_OCTETS, Sitemap, SitemapEntry, SitemapKind
from scrapy_rep.sitemaps.seeding import (
    LeftOut,
    Seeding,
    is_robots_txt,
    join,
    urls_of,
    web_request,
)

from .engine_work import answer_to, in_engine
from .inputs import is_url, octets_of
from .inputs import origin_of as site_of
from .judging import Judgement, Judges
from .named_agents import Agent, verdict_word
from .running import UNREACHABLE, Call, CommandError
from .terminal import safe

_ORIGINS = 8  # of the pages in a site's sitemaps; fetched one after the other
_PAGES_KNOWN = 2_000_000  # to count each once, in 150 MB; beyond them, a page may count twice
_SHOWN_LINES = 20  # of the summary, for each agent; a file may have thousands
_LOST_FLAGS = ("dataloss", "partial")
_TOLD = 20  # problems; the others are only counted
_OK = range(200, 300)


def show_sitemaps(call: Call, agents: Sequence[Agent]) -> None:
    """Judge all pages in some sitemaps."""

    async def work(crawler: Crawler) -> None:
        judges = Judges(call, _ORIGINS)
        for name in call.options.sitemap:
            judges.left_count = 0
            walk = SitemapWalk(crawler, name, call)
            await _SitemapResults(walk, judges, agents, crawler, call).judge()
        judges.tell_files()

    in_engine(call, work)


@dataclass
class _SitemapResults:
    """The results for the sitemaps of one site."""

    _walk: SitemapWalk
    _judges: Judges
    _agents: Sequence[Agent]
    _crawler: Crawler
    _call: Call
    _page_count: int = 0
    _other_count: int = 0
    _repeated_count: int = 0

    def __post_init__(self) -> None:
        self._known: set[int] = set()
        self._by_agent = {agent.name: Counter[tuple[str, str]]() for agent in self._agents}

    async def judge(self) -> None:
        """Judge page by page; disallowed pages are written at once, and a summary at the end."""
        guard = policies_of(self._crawler, "check").fetching.guard
        async for sitemap, url, _ in self._walk.pages():
            request = web_request(url, self._walk.origin)
            if self._is_repeated(url if request is None else request.url):
                continue
            self._page_count += 1
            if request is not None and (why := await guard.why_refused(request)):
                self._walk.note(url, f"not judged: {why} (REP_REDIRECT_GUARD)")
                continue
            judge = None if request is None else await self._judges.of(request.url, self._crawler)
            if judge is None or request is None:
                self._other_count += 1
                continue
            for agent in self._agents:
                judgement = judge.judge(request.url, agent)
                if judgement.is_refused:
                    self._note(judgement, sitemap)
        if self._walk.is_unreachable or not self._walk.read:
            self._call.end_with(UNREACHABLE)
        if self._call.is_json:
            self._call.row(self._as_dict())
        else:
            self._write()

    def _is_repeated(self, url: str) -> bool:
        """Whether a sitemap has listed this URL before."""
        key = hash(url.partition("#")[0])
        is_known = key in self._known
        self._repeated_count += is_known
        if len(self._known) < _PAGES_KNOWN:
            self._known.add(key)
        return is_known

    def _note(self, judgement: Judgement, sitemap: str) -> None:
        """Count and show a page that is disallowed for an agent."""
        call, judge, agent = self._call, judgement.judge, judgement.agent.name
        call.end_with(judgement.status)
        self._by_agent[agent][str(judge.origin), judgement.why] += 1
        if call.is_json:
            call.row({**judgement.as_dict(), "sitemap": sitemap})
            return
        word, line = verdict_word(judgement.verdict, call), str(judgement.line or "-")
        call.line("\t".join((word, agent, line, judgement.why, safe(judgement.url))))

    def _write(self) -> None:
        call, walk, left = self._call, self._walk, self._judges.left_count
        if any(self._by_agent.values()):
            call.line()
        index_count = walk.read[SitemapKind.INDEX]
        of_index = f" ({index_count} of them index files)" if index_count else ""
        sitemaps, urls = counted(walk.read.total(), "sitemap"), counted(self._page_count, "URL")
        call.line(f"{call.paint(safe(walk.name), 'bold')}: {sitemaps}{of_index}, {urls}")
        origins = {origin for counter in self._by_agent.values() for origin, _ in counter}
        for agent, counter in self._by_agent.items():
            total = counter.total()
            word = counted(total, "URL") if total else "none"
            call.line(f"  disallowed for {agent}: {word}")
            for (origin, why), count in counter.most_common(_SHOWN_LINES):
                of = f" ({origin})" if len(origins) > 1 else ""
                call.line(f"    {count:>9,}  {why}{of}")
            if len(counter) > _SHOWN_LINES:
                call.line(f"    and by {counted(len(counter) - _SHOWN_LINES, 'other line')}")
        if self._repeated_count:
            entries = counted(self._repeated_count, "entry", "entries")
            call.line(f"  listed before: {entries}, not counted")
        if self._other_count > left:
            entries = counted(self._other_count - left, "entry", "entries")
            call.line(f"  not judged: {entries} without an http or https URL")
        if left:
            most = f"beyond the first {self._judges.limit}"
            call.line(f"  not judged: {counted(left, 'URL')} of other sites, {most}")
        for url, words in walk.problems:
            call.remark(f"{safe(url)}: {safe(words)}", "  ")
        more = walk.problem_count - len(walk.problems)
        if more:
            call.remark(f"and {more:,} more", "  ")

    def _as_dict(self) -> dict[str, object]:
        walk = self._walk
        return {
            "summary": walk.name,
            "sitemaps": {kind.value: walk.read[kind] for kind in SitemapKind},
            "urls": self._page_count,
            "repeated": self._repeated_count,
            "not_judged": self._other_count,
            "of_too_many_origins": self._judges.left_count,
            "disallowed": {
                agent: {
                    "urls": counter.total(),
                    "by": [
                        {"origin": origin, "why": why, "urls": count}
                        for (origin, why), count in counter.most_common()
                    ],
                }
                for agent, counter in self._by_agent.items()
            },
            "problems": [{"sitemap": url, "problem": words} for url, words in walk.problems],
            "problem_count": walk.problem_count,
        }


class SitemapWalk:
    """The sitemaps of one site, or one sitemap and those that it lists.

    Attributes:
        name: the site or sitemap, as the user named it.
        origin: its origin; None for a file.
        read: the number of sitemaps that were read, by kind.
        problems: the first sitemaps that were not read completely, and the reasons.
        problem_count: the number of all of them.
        is_unreachable: whether a robots.txt or a sitemap got no answer.
        is_enough: set it, and no further sitemap is fetched.
        latencies: how long sitemaps took to answer, in seconds.
    """

    def __init__(self, crawler: Crawler, name: str, call: Call, most: int = sys.maxsize) -> None:
        """Take a site or a sitemap, and the most sitemaps to fetch."""
        self.name = name
        self.origin = site_of(name) if is_url(name) else None
        self.read: Counter[SitemapKind] = Counter()
        self.problems: list[tuple[str, str]] = []
        self.problem_count = 0
        self.is_unreachable = self.is_enough = False
        self.latencies: list[float] = []
        self._left = most
        self._crawler = crawler
        self._seeding = Seeding(call.ours.sitemap_max, call.ours.sitemap_cross_host)
        self._queue: deque[str] = deque()

    @property
    def left_count(self) -> int:
        """The number of known sitemaps that are not fetched yet."""
        return len(self._queue)

    async def pages(self) -> AsyncIterator[tuple[str, str, SitemapEntry]]:
        """Yield each page and its entry with the sitemap that lists it, in the sitemaps' order.

        Raises:
            CommandError: the file that the user names cannot be read.
        """
        origin = self.origin
        if origin is not None:
            await self._begin(origin)
        else:
            body = octets_of(self.name, SITEMAP_OCTETS)
            for page in self._pages_in(Sitemap(body), self.name, None):
                yield page
        while self._queue and self._left and not self.is_enough:
            self._left -= 1
            url = self._queue.popleft()
            try:
                sitemap, url = await self._fetched(url, origin or site_of(url))
            except CommandError as error:
                self.note(url, str(error))
                continue
            for page in self._pages_in(sitemap, url, origin):
                yield page

    async def _begin(self, origin: Origin) -> None:
        """Queue the sitemaps of the site, or the sitemap in the arguments."""
        if path_of(self.name) not in ("", "/", "/robots.txt"):
            self._admit(self.name, origin)
            return
        policy = await policies_of(self._crawler, "check").get(origin)
        for value in policy.robots_txt.invalid_sitemaps:
            self.note(value, f"not fetched ({LeftOut.INVALID.value})")
        for url in policy.sitemaps:
            self._admit(url, origin)
        if policy.is_unreachable and not policy.sitemaps:
            self.is_unreachable = True
            self.note(origin.robots_txt_uri, f"unreachable ({policy.event})")
        elif not policy.sitemaps:
            self.note(str(origin), "its robots.txt names no sitemap")

    def _pages_in(
        self, sitemap: Sitemap, url: str, origin: Origin | None
    ) -> Iterator[tuple[str, str, SitemapEntry]]:
        if sitemap.kind is None:
            self.note(url, "not a sitemap")
            return
        self.read[sitemap.kind] += 1
        for entry in sitemap:
            for target in urls_of(url, entry["loc"]):
                if sitemap.kind is SitemapKind.INDEX:
                    self._admit(target, origin or origin_or_none(target))
                else:
                    yield url, target, entry
        if sitemap.damage:
            self.note(url, f"damaged ({sitemap.damage}); as much as possible was read")
        elif sitemap.is_cut:
            self.note(url, "only its beginning was read")

    def _admit(self, url: str, origin: Origin | None) -> None:
        """Queue a sitemap, unless a crawl would leave it out."""
        request = None if is_robots_txt(url) else web_request(url, origin)
        reason: LeftOut | None = LeftOut.INVALID
        if request is not None and origin is not None:
            reason = self._seeding.admit(origin, request.url)
            if reason is None:
                self._queue.append(request.url)
        if reason not in (None, LeftOut.REPEATED):
            self.note(url, f"not fetched ({reason.value})")

    async def _fetched(self, url: str, origin: Origin) -> tuple[Sitemap, str]:
        """The sitemap at a URL, or where it redirects to; and its own URL.

        Raises:
            CommandError: no answer came, or the sitemap must not be fetched.
        """
        request = web_request(url, origin)
        if request is None:
            raise CommandError("not an http or https URL")
        response = await self._answer(request)
        while response.status in REDIRECT_STATUSES:
            location = response.headers.get(b"Location") or b""
            target = join(response.url, location.decode("utf-8", "replace"))
            request = web_request(target, origin)
            if request is None or is_robots_txt(request.url):
                raise CommandError("redirects to a URL that is not http or https")
            reason = self._seeding.admit(origin, request.url)
            if reason is not None:
                raise CommandError(
                    f"redirects to {request.url}, which is not fetched ({reason.value})"
                )
            response = await self._answer(request)
        if response.status not in _OK:
            raise CommandError(f"the answer is {response.status}")
        is_cut = not set(_LOST_FLAGS).isdisjoint(response.flags)
        return Sitemap(response.body, is_cut=is_cut), response.url

    async def _answer(self, request: Request) -> Response:
        request.meta.update(dont_redirect=True, handle_httpstatus_all=True)
        request.meta.update({"download_maxsize": SITEMAP_OCTETS, QUEUE: True})
        try:
            response = await answer_to(request, self._crawler)
        except CommandError as error:
            self.is_unreachable |= error.status == UNREACHABLE
            raise
        self.latencies += filter(None, [response.meta.get("download_latency")])
        return response

    def note(self, url: str, words: str) -> None:
        """Count a problem of a sitemap or a URL in it, and keep the first ones."""
        self.problem_count += 1
        if len(self.problems) < _TOLD:
            self.problems.append((url, words))
