"""What a crawl says of its policies: the signal for sitemaps, the log for outages."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from scrapy_rep import stats
from scrapy_rep.cache.memory import Lru
from scrapy_rep.engine.journal import Journal
from scrapy_rep.engine.notices import Notices
from scrapy_rep.policy import Policy
from scrapy_rep.protocol.access.events import Meaning, name_of
from scrapy_rep.protocol.access.knowledge import Knowledge
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.signals import sitemaps_discovered

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

_WORDS = {
    Meaning.RULES: "a copy from before is obeyed",
    Meaning.ALLOW: "every URL of this origin is allowed",
    Meaning.DISALLOW: "every URL of this origin is disallowed",
}
_KEPT_OCTETS = 1 << 24  # for some 80,000 origins; those that are forgotten are announced again
_ORIGIN_OCTETS = 200


class Announcements:
    """Announces the policies of one crawl."""

    def __init__(self, crawler: Crawler, notices: Notices) -> None:
        self._journal = Journal(crawler)
        self._notices = notices
        self._announced: Lru[Origin, int] = Lru(_KEPT_OCTETS)

    def sitemaps(self, policy: Policy) -> None:
        """Send the signal, if the sitemaps differ from those that were announced last."""
        if not self._notices.has_listeners(sitemaps_discovered):
            return
        sitemaps = policy.sitemaps
        content = hash(sitemaps)
        if not sitemaps or self._announced.get(policy.origin) == content:
            return
        self._announced.put(policy.origin, content, _ORIGIN_OCTETS)
        self._notices.send(
            sitemaps_discovered, origin=policy.origin, sitemaps=sitemaps, policy=policy
        )

    def outage(self, policy: Policy, known: Knowledge) -> None:
        """Log that a file is unreachable, each time that a fetch has found it so."""
        outage = known.outage
        if outage is None:
            return
        if policy.is_stale:
            self._journal.count(stats.STALE)
        logger.warning(
            "%s is unreachable (%s, %d in a row): %s",
            policy.origin.robots_txt_uri,
            name_of(outage.event),
            outage.count,
            "a stale copy is obeyed" if policy.is_stale else _WORDS[policy.meaning],
            extra=self._journal.extra,
        )
