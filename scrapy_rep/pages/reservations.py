"""The tdmrep.json of origins (TDMRep), fetched before their first page, if `REP_TDMREP` says so.

robots.txt governs the file, as it governs every URL but its own: where it is disallowed, it is not
fetched. No failure permits anything: what nobody could read is unknown, and is said to be so.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread
from twisted.internet.defer import CancelledError

from scrapy_rep import stats
from scrapy_rep.cache.memory import Lru
from scrapy_rep.engine.state import is_closing
from scrapy_rep.engine.waiting import SharedWork
from scrapy_rep.fetch.file_fetch import FileFetch, NotNeededError
from scrapy_rep.fetch.origin_files import TDMREP
from scrapy_rep.policy import OVERRIDE, Policy
from scrapy_rep.protocol.access.events import AccessPolicy, AccessResult, Meaning, access_result
from scrapy_rep.protocol.access.exchange import PolicyOptions
from scrapy_rep.protocol.access.lifetime import LEAST_SECONDS
from scrapy_rep.protocol.access.origin import origin_of
from scrapy_rep.protocol.errors import InvalidUri
from scrapy_rep.protocol.usage.tdmrep import TdmFile, Tdmrep
from scrapy_rep.stats import Journal

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.pace.pacing import Pacing
    from scrapy_rep.policies import Policies
    from scrapy_rep.protocol.access.knowledge import Copy, Knowledge
    from scrapy_rep.protocol.access.origin import Origin
    from scrapy_rep.settings import RepSettings

logger = logging.getLogger(__name__)

_SCHEMES = frozenset(["http", "https"])  # of origins that can have such a file
_LARGE_OCTETS = 1 << 16  # read in a thread, as such a robots.txt is: 500 KiB of it take long
_KEPT_OCTETS = 500  # what is kept of an origin besides its file, roughly
_FINISH_SECONDS = 2.0  # time to release leases when the crawl ends


def rules_of(settings: RepSettings) -> PolicyOptions:
    """What decides how long a file counts.

    A copy counts in any outage for as long as RFC 9309 lets one of robots.txt count, whatever
    `REP_POLICY` is: it may forbid what no file at all leaves open.
    """
    return PolicyOptions(AccessPolicy("rfc9309"), settings.rules.limits)


class Reservations:
    """What a crawl knows of the tdmrep.json of origins."""

    def __init__(
        self, crawler: Crawler, settings: RepSettings, policies: Policies, pacing: Pacing
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._policies = policies
        self._pacing = pacing
        self._journal = Journal(crawler)
        self._rules = rules_of(settings)
        self._kept: Lru[Origin, Tdmrep] = Lru(settings.memory_octets)
        self._work: SharedWork[Origin, Tdmrep] = SharedWork()

    async def close(self) -> None:
        """End the fetches that are under way."""
        for origin in await self._work.cancel(_FINISH_SECONDS):
            self._work.end(origin, Tdmrep())

    def is_awaited(self, origin: Origin) -> bool:
        """Whether any request in the middlewares waits for the file of an origin."""
        return self._work.count_of(origin) > 0

    async def add_to(self, policy: Policy, request: Request | None = None) -> None:
        """Have a policy know the file of its origin, which is fetched where that is needed.

        One that is due is fetched again in the background. `request` is the one on whose behalf
        that is, if there is one.
        """
        origin = policy.origin
        is_ignored = policy.source == OVERRIDE and policy.meaning is Meaning.ALLOW
        if origin.scheme not in _SCHEMES or is_ignored:
            return
        found, now = self._kept.get(origin), time.time()
        is_busy = self._work.is_under_way(origin) or is_closing(self._crawler)
        work = partial(self._settle, policy, request)
        if found is None or now >= found.usable_until:
            found = await self._work.result(origin, partial(work, is_refresh=False))
        elif now >= found.due_at and not is_busy:
            self._work.start(origin, work(is_refresh=True))
        policy.tdmrep = found

    async def _settle(self, policy: Policy, request: Request | None, *, is_refresh: bool) -> None:
        """Learn what the file says, keep it, and give it to all who wait. Does not raise."""
        origin = policy.origin
        found: Tdmrep | None = None
        try:
            found = await self._learnt(policy, request, is_refresh=is_refresh)
        except (NotNeededError, CancelledError) as error:  # Twisted's, which is an Exception
            logger.debug("The tdmrep.json of %s is not fetched: %s", origin, error)
        except Exception:
            logger.exception(
                "Reading the tdmrep.json of %s failed, so nobody knows what it says",
                origin,
                extra=self._journal.extra,
            )
        finally:
            found = found or self._still_usable(origin)
            self._journal.count(stats.TDMREP_FAILED, int(not found.is_complete))
            octets = 0 if found.file is None else found.file.kept_octets
            self._kept.put(origin, found, _KEPT_OCTETS + octets)
            self._work.end(origin, found)

    def _still_usable(self, origin: Origin) -> Tdmrep:
        """What is known where nothing was learnt: as before while that holds, and due again."""
        before, now = self._kept.get(origin), time.time()
        due_at = now + self._settings.rules.limits.retry_first_seconds
        if before is None or not before.is_complete or now >= before.usable_until:
            return Tdmrep(due_at=due_at)
        return replace(before, due_at=due_at)

    async def _learnt(self, policy: Policy, request: Request | None, *, is_refresh: bool) -> Tdmrep:
        origin = policy.origin
        if not await self._permits(f"{origin}{TDMREP.path}", request):
            now, opens_at = time.time(), self._pacing.visitable_at(policy)
            until = max(policy.due_at, now + self._settings.rules.limits.retry_first_seconds)
            until = min(until, opens_at) if opens_at > now else until
            return Tdmrep(due_at=until, usable_until=until)
        fetch = FileFetch(
            self._policies.fetching,
            origin,
            self._rules,
            request,
            is_refresh=is_refresh,
            is_awaited=lambda: False,  # no page waits for it once the crawl is closing
            resource=TDMREP,
            permits=partial(self._permits, request=request),
        )
        return await self._read(origin, await fetch.result())

    async def _permits(self, url: str, request: Request | None) -> bool:
        """Whether robots.txt lets a URL be fetched now; redirects may leave the origin."""
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
        stands = self._policies.fetching.standing(origin, known, self._rules)
        copy, is_down = known.copy, known.outage is not None
        if copy is None or (is_down and not stands.is_stale):
            # Nobody waits for a file again that is down: it is fetched in the background.
            return Tdmrep(due_at=stands.due_at)
        is_file = access_result(copy.event) is AccessResult.SUCCESSFUL
        file = await self._file(origin, copy) if is_file else None
        least = (
            time.time() + LEAST_SECONDS
        )  # or each page would fetch a file that holds for no time
        return Tdmrep(
            file,
            fetched_at=copy.fetched_at,
            is_stale=stands.is_stale,
            is_complete=file is None or not file.is_cut,
            due_at=stands.due_at,
            usable_until=float("inf") if is_down else max(stands.usable_until, least),
        )

    async def _file(self, origin: Origin, copy: Copy) -> TdmFile:
        """The file as a value; read again only if it was fetched again."""
        before = self._kept.get(origin)
        if before is not None and before.file is not None and before.fetched_at == copy.fetched_at:
            return before.file
        arguments = copy.body, f"{origin}{TDMREP.path}", self._settings.parse_limit_octets
        if len(copy.body) < _LARGE_OCTETS:
            return TdmFile.of(*arguments)
        return await run_in_thread(TdmFile.of, *arguments)
