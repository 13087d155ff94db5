"""The tdmrep.json of origins (TDMRep), fetched before their first page if `REP_TDMREP` is on.

robots.txt governs this file like every other URL: if the file is disallowed, it is not fetched. No
failure permits anything: the preferences then count as unknown, and are reported so.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread
from twisted.internet.defer import CancelledError

from scrapy_rep.crawl import Crawl
from scrapy_rep.extras.pages import page_stats as stats
from scrapy_rep.extras.pages.usage.categories import TDMREP_PATH
from scrapy_rep.extras.pages.usage.tdmrep import TdmFile, Tdmrep
from scrapy_rep.fetch.file_fetch import FileFetch, NotNeededError
from scrapy_rep.fetch.origin_files import OriginFile
from scrapy_rep.pace.pacing import Pacing
from scrapy_rep.policies import OriginFiles, Policies
from scrapy_rep.policy import OVERRIDE, Policy
from scrapy_rep.protocol.access.events import (
    AccessPolicy,
    AccessResult,
    Meaning,
    access_result,
    seen_with_fields,
)
from scrapy_rep.protocol.access.lifetime import LEAST_SECONDS
from scrapy_rep.protocol.access.origin import Origin, origin_of
from scrapy_rep.protocol.access.states import PolicyOptions
from scrapy_rep.protocol.errors import InvalidUri

if TYPE_CHECKING:
    from scrapy import Request

    from scrapy_rep.protocol.access.knowledge import Copy, Knowledge
    from scrapy_rep.settings import RepSettings

TDMREP = OriginFile(
    TDMREP_PATH,
    "application/json,*/*;q=0.1",
    lambda event, headers, _: seen_with_fields(event, headers),
    stats.of_tdmrep,
)
_SCHEMES = frozenset(["http", "https"])  # the schemes of origins with such a file
_LARGE_OCTETS = 1 << 16  # larger files are read in a thread: 500 KiB take long
_KEPT_OCTETS = 500  # memory of an origin in addition to its file, roughly
_FINISH_SECONDS = 2.0  # time to release leases when the crawl ends


def options_of(settings: RepSettings) -> PolicyOptions:
    """The options that decide how long a file counts.

    In an outage, a copy counts as long as RFC 9309 permits for robots.txt, whatever `REP_POLICY`
    says: the file may forbid uses that would be open without it.
    """
    return PolicyOptions(AccessPolicy("rfc9309"), settings.options.limits)


class Reservations(OriginFiles[Tdmrep]):
    """The tdmrep.json files that a crawl knows, by origin."""

    def __init__(self, crawl: Crawl) -> None:
        super().__init__(crawl, __name__)
        self._policies = crawl.part(Policies)
        self._pacing = crawl.part(Pacing)
        self._options = options_of(crawl.settings)

    async def close(self) -> None:
        """Cancel running fetches."""
        for origin in await self._work.cancel(_FINISH_SECONDS):
            self._work.end(origin, Tdmrep())

    async def add_to(self, policy: Policy, request: Request | None = None) -> None:
        """Add the file of its origin to a policy, and fetch it if needed.

        A file that is due is fetched again in the background. `request` is the request that needs
        it, if there is one.
        """
        origin = policy.origin
        is_ignored = policy.source == OVERRIDE and policy.meaning is Meaning.ALLOW
        if origin.scheme not in _SCHEMES or is_ignored:
            return
        policy.tdmrep = self.peek(origin, request) or await self._fetched(origin, request)

    async def _settle(self, origin: Origin, request: Request | None, *, is_refresh: bool) -> None:
        """Learn the content of the file, keep it, and give it to all that wait. Does not raise."""
        found: Tdmrep | None = None
        try:
            found = await self._learnt(origin, request, is_refresh=is_refresh)
        except (NotNeededError, CancelledError) as error:  # Twisted's is an Exception
            self._journal.debug("The tdmrep.json of %s is not fetched: %s", origin, error)
        except Exception:  # noqa: BLE001 - it is logged
            self._journal.exception(
                "Reading the tdmrep.json of %s failed, so its content is unknown", origin
            )
        finally:
            found = found or self._still_usable(origin)
            self._journal.count(stats.TDMREP_FAILED, int(not found.is_complete))
            octets = 0 if found.file is None else found.file.kept_octets
            self._put(origin, found, _KEPT_OCTETS + octets)
            self._work.end(origin, found)

    def _still_usable(self, origin: Origin) -> Tdmrep:
        """The knowledge after a failure: the old one while it is usable, and due again."""
        before, now = self._kept.get(origin), time.time()
        due_at = now + self._settings.options.limits.retry_first_seconds
        if before is None or not before.is_complete or now >= before.usable_until:
            return Tdmrep(due_at=due_at)
        return replace(before, due_at=due_at)

    async def _learnt(self, origin: Origin, request: Request | None, *, is_refresh: bool) -> Tdmrep:
        if not await self._permits(f"{origin}{TDMREP.path}", request):
            policy = await self._policies.get(origin, request)
            now, opens_at = time.time(), self._pacing.visitable_at(policy)
            until = max(policy.due_at, now + self._settings.options.limits.retry_first_seconds)
            until = min(until, opens_at) if opens_at > now else until
            return Tdmrep(due_at=until, usable_until=until)
        fetch = FileFetch(
            self._policies.fetching,
            origin,
            self._options,
            request,
            is_refresh=is_refresh,
            is_awaited=lambda: False,  # at the end of the crawl, no page waits for it
            resource=TDMREP,
            permits=partial(self._permits, request=request),
            interrupt=partial(self._work.interrupt, origin),
        )
        return await self._read(origin, await fetch.result())

    async def _permits(self, url: str, request: Request | None) -> bool:
        """Whether robots.txt allows a URL now; a redirect may lead to another origin."""
        try:
            origin = origin_of(url)
        except InvalidUri:
            return False
        if origin is None:
            return False
        policy = await self._policies.get(origin, request)
        if not policy.verdict(url).allowed:
            self._journal.count(stats.TDMREP_DISALLOWED)
            return False
        return self._pacing.visitable_at(policy) <= time.time()

    async def _read(self, origin: Origin, known: Knowledge) -> Tdmrep:
        stands = self._policies.fetching.weigh(origin, known, self._options)
        copy, is_down = known.copy, known.outage is not None
        if copy is None or (is_down and not stands.is_stale):
            # No request waits again for a file that is down: it is fetched in the background.
            return Tdmrep(due_at=stands.due_at)
        is_file = access_result(copy.event) is AccessResult.SUCCESSFUL
        file = await self._file(origin, copy) if is_file else None
        # Otherwise each page would fetch a file without lifetime.
        least = time.time() + LEAST_SECONDS
        return Tdmrep(
            file,
            fetched_at=copy.fetched_at,
            is_stale=stands.is_stale,
            is_complete=file is None or not file.is_cut,
            due_at=stands.due_at,
            usable_until=float("inf") if is_down else max(stands.usable_until, least),
        )

    async def _file(self, origin: Origin, copy: Copy) -> TdmFile:
        """The parsed file; it is parsed again only after another fetch."""
        before = self._kept.get(origin)
        if before is not None and before.file is not None and before.fetched_at == copy.fetched_at:
            return before.file
        arguments = copy.body, f"{origin}{TDMREP.path}", self._settings.parse_limit_octets
        if len(copy.body) < _LARGE_OCTETS:
            return TdmFile.of(*arguments)
        return await run_in_thread(TdmFile.of, *arguments)
