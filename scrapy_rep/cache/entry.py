"""What is kept of an origin's robots.txt: all that is known of it, under its origin."""

from __future__ import annotations

from dataclasses import dataclass

from scrapy_rep.protocol.knowledge import Knowledge
from scrapy_rep.protocol.origin import Origin


@dataclass(frozen=True, slots=True)
class Entry:
    """The last answer and the outage since, if any, of one origin."""

    origin: Origin
    known: Knowledge

    @property
    def changed_at(self) -> float:
        """When the newest of it was learnt, POSIX seconds; 0 if nothing is known."""
        copy, outage = self.known.copy, self.known.outage
        return max(copy.confirmed_at if copy else 0.0, outage.failed_at if outage else 0.0)
