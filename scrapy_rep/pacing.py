"""How fast, and when, this crawl visits an origin: what its policy asks for, by the settings."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from . import stats
from .cache.memory import Lru
from .engine import is_closing
from .loops import sleep
from .policy import Policy
from .protocol.origin import Origin
from .protocol.pace import Excess, Pace, opens_at, pace
from .slots import Slots

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from .settings import RepSettings

logger = logging.getLogger(__name__)

_SAID_OCTETS = 1 << 20  # of origins of which the log has been told
_LOOK_SECONDS = 0.2  # how soon a request that waits notices that the crawl is closing
_COUNTS = {Excess.CAP: stats.CAPPED, Excess.IGNORE: stats.IGNORED}
_WORDS = {
    Excess.CAP: "it is visited at this pace instead",
    Excess.SKIP: "its requests are dropped",
    Excess.IGNORE: "that is ignored",
}


class Pacing:
    """The paces of one crawl's origins."""

    def __init__(self, crawler: Crawler, settings: RepSettings, slots: Slots) -> None:
        self._crawler = crawler
        self._settings = settings
        self._slots = slots
        self._said: Lru[Origin, float] = Lru(_SAID_OCTETS)

    def apply(self, policy: Policy, key: str) -> Pace:
        """The pace of an origin now, put under the delay of the slot that its requests go through.

        That of an origin that is skipped is not: its requests go nowhere, and need not wait for it.
        """
        found = pace(
            policy.asked,
            time.time(),
            self._settings.crawl_delay_max_seconds,
            self._settings.crawl_delay_excess,
        )
        is_free = found.is_skipped and not self._settings.dry_run
        seconds = 0.0 if is_free else found.delay_seconds
        self._slots.set_floor(key, policy.origin, seconds, found.holds_until)
        if found.asked_seconds:
            self._tell(policy, found)
        return found

    def opens_at(self, policy: Policy) -> float:
        """When an origin may be visited; now or earlier, POSIX seconds, unless its window is shut.

        Only where visit times are obeyed.
        """
        if not self._settings.visit_time_obey:
            return 0.0
        return opens_at(policy.asked.visit_time, time.time())

    async def wait(self, policy: Policy) -> bool:
        """Wait for an origin's visit time; whether it has come before the crawl began to close."""
        while (opens := self.opens_at(policy)) > time.time():
            if is_closing(self._crawler):
                return False
            await sleep(min(opens - time.time(), _LOOK_SECONDS))
        return True

    def _tell(self, policy: Policy, found: Pace) -> None:
        """Say once what an origin asks for."""
        if self._said.get(policy.origin) == found.asked_seconds:
            return
        is_new = self._said.get(policy.origin) is None
        self._said.put(policy.origin, found.asked_seconds, 200)
        if is_new:
            self._crawler.stats.inc_value(stats.DELAYED_ORIGINS)
        if found.excess is None:
            logger.debug(
                "%s asks for %g seconds between requests", policy.origin, found.asked_seconds
            )
            return
        if is_new and found.excess in _COUNTS:
            self._crawler.stats.inc_value(_COUNTS[found.excess])
        logger.warning(
            "%s asks for %g seconds between requests, more than the %g of "
            "REP_CRAWL_DELAY_MAX_SECONDS: %s (REP_CRAWL_DELAY_EXCESS = %r)",
            policy.origin,
            found.asked_seconds,
            self._settings.crawl_delay_max_seconds,
            _WORDS[found.excess],
            found.excess.value,
            extra={"spider": self._crawler.spider},
        )
