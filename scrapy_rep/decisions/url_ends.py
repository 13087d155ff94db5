"""The ends of URLs, each known by a digest, in bounded memory.

A crawl follows its own URLs with this, and a report those in all of its trails. So the order of
sitemaps, links, workers and runs does not matter.
"""

from __future__ import annotations

from collections import Counter

MOST_URLS = 500_000

WAITING, DISALLOWED, WOULD_DROP, SENT, REDIRECTED, FETCHED = range(6)
"""The ends of a URL: not requested so far, disallowed, sent against a rule in a dry run, requested
without success so far, redirected to a URL that was not requested for it, and fetched."""

END_WORDS = ("waiting", "disallowed", "would-drop", "sent", "redirected", "fetched")
"""The ends in audit trails."""

LISTED, HAS_QUERY = 8, 16  # added to the end: a sitemap lists it; trails may hide a part of it
END_BITS = 7


class UrlEnds:
    """The ends of URLs by their digests, up to `MOST_URLS`; then, no further URL is followed.

    Attributes:
        held: for each digest, the end with `LISTED` and `HAS_QUERY` added.
    """

    def __init__(self, held: dict[int, int]) -> None:
        self.held = held

    @property
    def is_full(self) -> bool:
        """Whether further URLs are ignored."""
        return len(self.held) >= MOST_URLS

    def note(self, key: int, state: int) -> bool:
        """Note an end, or only that a URL is listed; return whether this is new.

        A URL that was fetched stays so.
        """
        before = self.held.get(key)
        if before is None and self.is_full:
            return False
        known, end = (before or 0) & END_BITS, state & END_BITS
        now = known if known == FETCHED or end == WAITING else end
        after = now | ((before or 0) | state) & ~END_BITS
        self.held[key] = after
        return after != before

    def counts(self, *, knows_queries: bool = True) -> dict[str, int]:
        """The numbers of listed URLs by their ends.

        Without `knows_queries`, it is unknown whether another run requested those with a query.
        """
        found = Counter(state & ~LISTED for state in self.held.values() if state & LISTED)
        ends = Counter[int]()
        for state, count in found.items():
            ends[state & END_BITS] += count
        unknown = 0 if knows_queries else found[HAS_QUERY | WAITING]
        return {
            "listed": found.total(),
            "requested": sum(ends[end] for end in (WOULD_DROP, SENT, REDIRECTED, FETCHED)),
            "fetched": ends[FETCHED],
            "redirected": ends[REDIRECTED],
            "failed": ends[SENT],
            "would_be_disallowed": ends[WOULD_DROP],
            "disallowed": ends[DISALLOWED],
            "never_reached": ends[WAITING] - unknown,
            "unknown": unknown,
        }


ENDS_BY_NAME = {
    "fetched": FETCHED,
    "redirected": REDIRECTED,
    "failed": SENT,
    "would_be_disallowed": WOULD_DROP,
    "disallowed": DISALLOWED,
    "never_reached": WAITING,
}
"""The ends of the names in `counts` that stand for one."""
