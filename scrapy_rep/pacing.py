"""How fast and when this crawl visits an origin: what its policy asks for, within the settings."""

from __future__ import annotations

import logging
import math
import time
from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy_rep import stats
from scrapy_rep.cache.memory import Lru
from scrapy_rep.engine.floors import Ask
from scrapy_rep.engine.journal import Journal
from scrapy_rep.engine.loops import sleep
from scrapy_rep.engine.slot_keys import slot_key_at
from scrapy_rep.engine.slots import Slots
from scrapy_rep.engine.state import is_closing
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.extensions.pace import Asked, Excess, Pace, opens_at, pace

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.settings import RepSettings

logger = logging.getLogger(__name__)

_SAID_OCTETS = 1 << 20  # memory of the origins that the log has named
_LASTING_COUNT = 256  # Crawl-delays whose pace is kept
_LOOK_SECONDS = 0.2  # how soon a request that waits notices that the crawl is closing
_NO_PACE = Pace()
_COUNTS = {Excess.CAP: stats.CAPPED, Excess.IGNORE: stats.IGNORED}
_WORDS = {
    Excess.CAP: "it is visited at that pace instead",
    Excess.SKIP: "its requests are dropped",
    Excess.IGNORE: "its delay is ignored",
}


class Pacing:
    """The paces of one crawl's origins."""

    def __init__(self, crawler: Crawler, settings: RepSettings, slots: Slots) -> None:
        self._crawler = crawler
        self._journal = Journal(crawler)
        self._settings = settings
        self._slots = slots
        self._floors = slots.floors  # none: nothing stands that may have to go
        self._said: Lru[Origin, float] = Lru(_SAID_OCTETS)
        # A delay means the same at all times, and to each request of an origin.
        self._lasting = lru_cache(_LASTING_COUNT)(lambda delay: self._found(Asked(delay), 0.0))

    def apply(self, policy: Policy, key: str) -> Pace:
        """The pace of an origin now; it becomes the floor of the slot of the origin's requests.

        An origin that is skipped sets no floor: its requests are dropped, and need not wait first.
        """
        asked = policy.asked_of()
        if not self._floors and not asked.crawl_delay and asked.request_rate is None:
            return _NO_PACE
        found, ask = self._own_pace(policy)
        self._slots.set_floor(key, ask)
        return found

    def visitable_at(self, policy: Policy) -> float:
        """When a request of our own may visit an origin, POSIX seconds; infinite if it is skipped.

        Its slot keeps the pace of the origin from now on.
        """
        opens_at = self.opens_at(policy)
        if opens_at > time.time():
            return opens_at
        is_skipped = self.apply(policy, policy.origin.host).is_skipped
        return math.inf if is_skipped and not self._settings.dry_run else 0.0

    def _own_pace(self, policy: Policy) -> tuple[Pace, Ask]:
        """The pace of an origin now, and what it asks of a slot.

        As a rule it is the same for as long as the policy is in memory, and is kept with it.
        """
        kept = policy._paced  # noqa: SLF001 - users need not see it
        if kept is not None and kept[0] is self:
            lasting: tuple[Pace, Ask] = kept[1]
            return lasting
        found = self._pace(policy, None)
        if policy.asked_of().request_rate is None and self._slots.gate is None:
            policy._paced = self, found  # noqa: SLF001
        return found

    def ask_of(self, policy: Policy) -> Ask:
        """What the policy of an origin asks of this crawl now."""
        return self._own_pace(policy)[1]

    def admit(self, policy: Policy, request: Request, tokens: tuple[str, ...]) -> Pace:
        """The pace of a request judged by these tokens, which it asks of whatever slot it takes."""
        asked = policy.asked_of(tokens)
        if not self._floors and not asked.crawl_delay and asked.request_rate is None:
            return _NO_PACE
        as_whom = None if tokens == policy.tokens else tokens
        found, ask = self._own_pace(policy) if as_whom is None else self._pace(policy, as_whom)
        if as_whom is None:
            self._slots.set_floor(slot_key_at(request, policy.origin), ask)
        self._slots.ask(request, ask)
        return found

    def _pace(self, policy: Policy, tokens: tuple[str, ...] | None) -> tuple[Pace, Ask]:
        """The pace for some tokens, None for the crawl's own, and what it asks of a slot."""
        now = time.time()
        asked = policy.asked_of(tokens)
        if asked.request_rate is None:
            found = self._lasting(asked.crawl_delay)
        else:
            found = self._found(asked, now)
        if found.asked_seconds:
            self._tell(policy, found)
        is_free = found.is_skipped and not self._settings.dry_run
        factor = 1 if self._slots.gate is None else self._slots.gate.factor
        return found, Ask(
            policy.origin,
            0.0 if is_free else found.delay_seconds * factor,
            found.holds_until,
            tokens,
            # The fetch of the file was a visit too.
            last_at=time.monotonic() - max(0.0, now - policy.fetched_at),
        )

    def _found(self, asked: Asked, now: float) -> Pace:
        settings = self._settings
        return pace(asked, now, settings.crawl_delay_max_seconds, settings.crawl_delay_excess)

    def opens_at(self, policy: Policy) -> float:
        """When an origin may be visited, POSIX seconds; in the past while its window is open."""
        visit_time = policy.asked_of().visit_time if self._settings.visit_time_obey else None
        return 0.0 if visit_time is None else opens_at(visit_time, time.time())

    async def wait(self, policy: Policy, tokens: tuple[str, ...]) -> bool:
        """Wait for an origin's visit time; whether it came before the crawl began to close."""
        if not self._settings.visit_time_obey:
            return True
        visit_time = policy.asked_of(tokens).visit_time  # once: a large file may have to be read
        while visit_time is not None and (opens := opens_at(visit_time, time.time())) > time.time():
            if is_closing(self._crawler):
                return False
            await sleep(min(opens - time.time(), _LOOK_SECONDS))
        return True

    async def wait_for_others(
        self, origin: Origin, request: Request, asked_seconds: float = 0.0
    ) -> None:
        """Wait for the turn of a request among those of other workers; nothing without a gate."""
        gate = self._slots.gate
        if gate is None:
            return
        told_seconds = self._slots.told_delay(origin, slot_key_at(request, origin))
        seconds = max(asked_seconds, told_seconds)
        if not gate.is_open(origin, seconds, request):
            with self._slots.place_for_others(origin):
                await gate.wait(origin, seconds, request)

    def give_up_turn(self, request: Request) -> None:
        """Let others have the turn that a request waited for; nothing without a gate."""
        if self._slots.gate is not None:
            self._slots.gate.end(request)

    def _tell(self, policy: Policy, found: Pace) -> None:
        """Log once what an origin asks for."""
        if self._said.get(policy.origin) == found.asked_seconds:
            return
        is_new = self._said.get(policy.origin) is None
        self._said.put(policy.origin, found.asked_seconds, 200)
        if is_new:
            self._journal.count(stats.DELAYED_ORIGINS)
        if found.excess is None:
            logger.debug(
                "%s asks for %g seconds between requests", policy.origin, found.asked_seconds
            )
            return
        if is_new and found.excess in _COUNTS:
            self._journal.count(_COUNTS[found.excess])
        logger.warning(
            "%s asks for %g seconds between requests, which is more than the %g of "
            "REP_CRAWL_DELAY_MAX_SECONDS: %s (REP_CRAWL_DELAY_EXCESS = %r)",
            policy.origin,
            found.asked_seconds,
            self._settings.crawl_delay_max_seconds,
            _WORDS[found.excess],
            found.excess.value,
            extra=self._journal.extra,
        )
