"""The tdmrep.json of origins (TDMRep), fetched as robots.txt files are, if `REP_TDMREP` says so.

robots.txt governs the file, as it governs every URL but its own: where it is disallowed, it is not
fetched. No failure permits anything: what nobody could read is unknown, and is said to be so.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scrapy.utils.asyncio import run_in_thread
from twisted.internet.defer import CancelledError

from scrapy_rep import stats
from scrapy_rep.engine.journal import Journal
from scrapy_rep.fetching.exchanges import Exchanges, LateError, NotNeededError
from scrapy_rep.fetching.resources import TDMREP
from scrapy_rep.protocol.access.events import AccessPolicy, AccessResult, access_result
from scrapy_rep.protocol.access.exchange import PolicyOptions

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.protocol.access.knowledge import Copy
    from scrapy_rep.protocol.access.origin import Origin
    from scrapy_rep.protocol.usage.preference import UsagePreferences
    from scrapy_rep.protocol.usage.tdmrep import TdmFile
    from scrapy_rep.settings import RepSettings

logger = logging.getLogger(__name__)

SCHEMES = frozenset(["http", "https"])
"""Those of origins that can have such a file."""

_LARGE_OCTETS = 1 << 16  # read in a thread, as such a robots.txt is: 500 KiB of it take long


@dataclass(frozen=True, slots=True)
class Tdmrep:
    """What is known of the tdmrep.json of an origin, for a while.

    Attributes:
        file: what it says; None if there is none, or nobody knows.
        fetched_at: when it came, or the answer that there is none; POSIX seconds, 0 if neither did.
        is_stale: whether it is an old copy, used because the file is unreachable.
        is_complete: whether the site answered, or there is a copy.
        due_at: when it should be fetched again, POSIX seconds.
        usable_until: when that expires, POSIX seconds.
    """

    file: TdmFile | None = None
    fetched_at: float = 0.0
    is_stale: bool = False
    is_complete: bool = False
    due_at: float = float("inf")
    usable_until: float = float("inf")

    def marked(self, usage: UsagePreferences) -> UsagePreferences:
        """Preferences that rest on this file too."""
        return replace(
            usage,
            is_stale=usage.is_stale or self.is_stale,
            is_complete=usage.is_complete and self.is_complete,
        )

    @property
    def octets(self) -> int:
        """The memory that it takes, roughly."""
        return 0 if self.file is None else self.file.kept_octets


UNASKED = Tdmrep(due_at=0.0, usable_until=0.0)
"""Of an origin whose robots.txt alone was fetched, to judge what another one's file leads to."""


def rules_of(settings: RepSettings) -> PolicyOptions:
    """What decides how long a file counts.

    A copy counts in any outage for as long as RFC 9309 lets one of robots.txt count, whatever
    `REP_POLICY` is: it may forbid what no file at all leaves open.
    """
    return PolicyOptions(AccessPolicy("rfc9309"), settings.rules.limits)


class Reservations:
    """Fetches the tdmrep.json of origins, by the exchanges of a crawl."""

    def __init__(self, crawler: Crawler, settings: RepSettings, exchanges: Exchanges) -> None:
        self._settings = settings
        self._exchanges = exchanges
        self._journal = Journal(crawler)
        self._rules = rules_of(settings)

    async def of(
        self,
        origin: Origin,
        request: Request | None,
        before: Tdmrep | None,
        permits: Callable[[str], Awaitable[bool]],
        *,
        is_refresh: bool,
        is_awaited: Callable[[], bool],
    ) -> Tdmrep:
        """What is known of an origin's file, after a fetch where one is needed.

        Args:
            origin: the origin.
            request: the request on whose behalf it is fetched, if there is one.
            before: what was known before, which need not be read again.
            permits: tells whether robots.txt lets a URL be fetched.
            is_refresh: as `Exchanges.settle` takes it.
            is_awaited: as `Exchanges.settle` takes it.
        """

        async def is_permitted(url: str) -> bool:
            is_allowed = await permits(url)
            self._journal.count(stats.TDMREP_DISALLOWED, int(not is_allowed))
            return is_allowed

        try:
            found = await self._found(
                origin, request, before, is_permitted, is_refresh=is_refresh, is_awaited=is_awaited
            )
        except CancelledError:  # Twisted's, which is an Exception
            raise
        except NotNeededError as error:
            logger.debug("The tdmrep.json of %s is not fetched: %s", origin, error)
            found = self._unlearnt(before)
        except Exception:
            logger.exception(
                "Reading the tdmrep.json of %s failed, so nobody knows what it says",
                origin,
                extra=self._journal.extra,
            )
            found = self._unlearnt(before)
        self._journal.count(stats.TDMREP_FAILED, int(not found.is_complete))
        return found

    def _unlearnt(self, before: Tdmrep | None) -> Tdmrep:
        """What is known where nothing was learnt: as before while that holds, and due again."""
        now = time.time()
        due_at = now + self._settings.rules.limits.retry_first_seconds
        if before is None or not before.is_complete or now >= before.usable_until:
            return Tdmrep(due_at=due_at)
        return replace(before, due_at=due_at)

    async def _found(
        self,
        origin: Origin,
        request: Request | None,
        before: Tdmrep | None,
        permits: Callable[[str], Awaitable[bool]],
        *,
        is_refresh: bool,
        is_awaited: Callable[[], bool],
    ) -> Tdmrep:
        if not await permits(f"{origin}{TDMREP.path}"):
            return Tdmrep()
        try:
            known = await self._exchanges.settle(
                origin,
                self._rules,
                request,
                is_refresh=is_refresh,
                is_awaited=is_awaited,
                resource=TDMREP,
                permits=permits,
            )
        except LateError as late:
            known = late.known
        stands = self._exchanges.standing(origin, known, self._rules)
        copy, is_down = known.copy, known.outage is not None
        if copy is None or (is_down and not stands.is_stale):
            # Nobody waits for a file again that is down: it is fetched in the background.
            return Tdmrep(due_at=stands.due_at)
        is_file = access_result(copy.event) is AccessResult.SUCCESSFUL
        file = await self._read(origin, copy, before) if is_file else None
        return Tdmrep(
            file,
            fetched_at=copy.fetched_at,
            is_stale=stands.is_stale,
            is_complete=file is None or not file.is_cut,
            due_at=stands.due_at,
            usable_until=float("inf") if is_down else stands.usable_until,
        )

    async def _read(self, origin: Origin, copy: Copy, before: Tdmrep | None) -> TdmFile:
        """The file as a value; read again only if it was fetched again."""
        if before is not None and before.file is not None and before.fetched_at == copy.fetched_at:
            return before.file
        from scrapy_rep.protocol.usage.tdmrep import TdmFile  # most crawls ask for no such file

        arguments = copy.body, f"{origin}{TDMREP.path}", self._settings.parse_limit_octets
        if len(copy.body) < _LARGE_OCTETS:
            return TdmFile.of(*arguments)
        return await run_in_thread(TdmFile.of, *arguments)
