"""The one exit of every decision of a crawl: stats, signals, the log, `rep_verdict` and the trail.

Rules for the next author:

1. Whatever lets a request go on, drops it or exempts it does so here, and nowhere else.
2. The witness, if there is one, hears of a decision before anything else happens: what a crash
   interrupts was told already.
3. Without a witness, a decision costs what it cost before: no value is built for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol
from weakref import WeakKeyDictionary, WeakValueDictionary

from scrapy import Request

from scrapy_rep import stats
from scrapy_rep.cache.memory import Lru
from scrapy_rep.protocol.access.events import Meaning, name_of
from scrapy_rep.protocol.access.knowledge import Outage, Step
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.verdict import Reason, Verdict
from scrapy_rep.signals import (
    VERDICT,
    Notices,
    RobotsTxtDisallowed,
    RobotsTxtUnreachable,
    request_disallowed,
    sitemaps_discovered,
    withheld,
)
from scrapy_rep.stats import Journal

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_rep.policy import Policy
    from scrapy_rep.settings import RepSettings

REQUEST, REDIRECT, FILTER, BROWSER = "request", "redirect", "queue-filter", "browser"
AGAIN = "user-agent"
"""What a decision was made on: a request on its way, the target of a redirect, a request before it
was queued, or a request of a page in a browser; or once more on a request that was allowed, and has
another User-Agent since."""

PASSED, DROPPED, WOULD_DROP = "passed", "dropped", "would-drop"
ABORTED, SLIPPED = "aborted", "slipped"
"""What came of it. What is disallowed in a dry run would be dropped. A browser aborts, or was sent
on by a redirect that could not be stopped."""

DONT_OBEY, SCHEME, ITSELF = "dont_obey", "scheme", "robots-txt-itself"
"""Why robots.txt has no say: the request is exempt, its scheme is not judged, or it is for a
robots.txt itself."""

_DRY_RUN_LINES = 20
_OUTAGE_WORDS = {
    Meaning.RULES: "a copy from before is obeyed",
    Meaning.ALLOW: "every URL of this origin is allowed",
    Meaning.DISALLOW: "every URL of this origin is disallowed",
}
_KEPT_OCTETS = 1 << 24  # for some 80,000 origins; those that are forgotten are announced again
_ORIGIN_OCTETS = 200


class Decision(NamedTuple):
    """One decision, and what came of it: a tuple, for one is made for every request.

    Attributes:
        url: what it was made on.
        verdict: the verdict.
        by: on what occasion.
        outcome: what came of it.
        policy: the policy that decided; None if none was needed, or none came.
        tokens: as whom the request was judged.
        waited_seconds: how long the request waited for its policy.
    """

    url: str
    verdict: Verdict
    by: str
    outcome: str
    policy: Policy | None
    tokens: tuple[str, ...]
    waited_seconds: float = 0.0


class Witness(Protocol):
    """What sees every decision of a crawl as it is made: the audit trail."""

    def decided(self, decision: Decision) -> None:
        """A request was judged."""

    def exempted(self, url: str, why: str, by: str) -> None:
        """A request goes on without being judged."""

    def dropped_later(self, url: str, verdict: Verdict) -> None:
        """A request that had passed was dropped: its browser was redirected to another URL."""

    def withheld(self, page: str, what: str, because: Any, *, is_dry_run: bool) -> None:
        """What a page yields was withheld; `what` is the URL of a request, or empty for an item."""

    def learnt(self, policy: Policy) -> None:
        """A policy came into memory, perhaps again."""

    def read(self, body: bytes, sha256: str) -> None:
        """A file was read."""

    def open(self) -> None:
        """The spider is open."""

    async def close(self, reason: str) -> None:
        """The spider is closed, and no decision follows."""

    def sent_in_vain(self, origin: Origin, steps: Iterable[Step]) -> None:
        """Requests were sent for a robots.txt, and nothing was learnt from them."""

    def visited(self, origin: Hashable, sent_at: float, left_by: float, seconds: float) -> None:
        """An origin that is owed a delay was visited between these times; monotonic seconds."""


class Decisions:
    """The exit of one crawl.

    Attributes:
        witness: what sees the decisions; None for nobody.
        is_dry_run: whether nothing is dropped.
        notices: the signals that are sent.
        judged_by: the policy by which each request was judged, and as whom; None where robots.txt
            has no say.
    """

    def __init__(self, crawler: Crawler, *, is_dry_run: bool = False) -> None:
        self.witness: Witness | None = None
        self.is_dry_run = is_dry_run
        self.notices = Notices(crawler)
        self.judged_by: WeakKeyDictionary[Request, tuple[Policy, tuple[str, ...]] | None]
        self.judged_by = WeakKeyDictionary()
        self._waits: WeakKeyDictionary[Request, float] = WeakKeyDictionary()
        self._user_count = 0
        self._would_counts: Counter[str] = Counter()
        self._announced: Lru[Origin, int] = Lru(_KEPT_OCTETS)
        self._journal = Journal(crawler, __name__)

    @classmethod
    def of(cls, crawler: Crawler, settings: RepSettings) -> Decisions:
        """The exit of a crawl, which its components share."""
        found = _EXITS.get(id(crawler))
        if found is None:
            found = _EXITS[id(crawler)] = cls(crawler, is_dry_run=settings.dry_run)
        return found

    # The components that decide each enter, and leave when they decide no more.

    def enter(self, witness: Callable[[], Witness] | None) -> None:
        """One more component decides; `witness` makes the witness, if there is to be one."""
        self._user_count += 1
        if witness is not None and self.witness is None:
            self.witness = witness()

    def open(self) -> None:
        """The spider is open."""
        if self.witness is not None:
            self.witness.open()

    async def leave(self, reason: str) -> None:
        """A component decides no more; with the last of them the witness closes."""
        self._user_count -= 1
        if self.witness is not None and self._user_count == 0:
            await self.witness.close(reason)

    def waited(self, request: Request, seconds: float) -> None:
        """Note how long a request waited before it was judged."""
        if self.witness is not None:
            self._waits[request] = self._waits.get(request, 0.0) + seconds

    def visited(
        self, origin: Origin | None, began_at: float, ended_at: float, delay_seconds: float
    ) -> None:
        """An origin that is owed a delay was visited; monotonic seconds."""
        if self.witness is not None:
            self.witness.visited(origin, began_at, ended_at, delay_seconds)

    # Requests of the crawl

    def exempt(self, request: Request) -> None:
        """A request carries `dont_obey_robotstxt`."""
        if self.witness is not None:
            self.witness.exempted(request.url, DONT_OBEY, _occasion(request))
        self.judged_by[request] = None
        self._journal.count(stats.EXEMPT)

    def judged(
        self,
        request: Request,
        verdict: Verdict | None,
        meta: dict[str, Any],
        *,
        is_again: bool = False,
    ) -> None:
        """Let a request pass with its verdict in its meta, or drop it; None is not judged.

        Of a request that was allowed and is judged again, only the last verdict counts.

        Raises:
            RobotsTxtDisallowed: it is dropped.
        """
        self._tell(request.url, request, verdict, AGAIN if is_again else _occasion(request))
        if verdict is None:
            self._journal.count(stats.NOT_JUDGED)
            return
        if is_again:
            self._journal.count(stats.VERDICT_ALLOWED, -1)
        self._journal.count(stats.VERDICT_ALLOWED if verdict.allowed else stats.VERDICT_DISALLOWED)
        if not verdict.allowed:
            if not self.is_dry_run:
                self._drop(request, verdict)
            self._would_drop(stats.WOULD_DROP, request, verdict)
        meta[VERDICT] = verdict

    def filtered(self, request: Request, verdict: Verdict) -> NoReturn:
        """Drop a request before it is queued.

        Raises:
            RobotsTxtDisallowed: always.
        """
        if self.witness is not None:
            self.witness.decided(self._decision(request.url, request, verdict, FILTER, DROPPED))
        self._journal.count(stats.VERDICT_DISALLOWED)
        self._journal.count(stats.FILTERED)
        self._drop(request, verdict)

    def redirected_in_browser(self, request: Request, verdict: Verdict) -> NoReturn:
        """Drop a request whose browser was redirected to a URL that is not allowed.

        Raises:
            RobotsTxtDisallowed: always.
        """
        if self.witness is not None:
            self.witness.dropped_later(request.url, verdict)
        self._drop(request, verdict)

    # Requests of pages in browsers

    def judged_in_browser(
        self, url: str, request: Request | None, verdict: Verdict | None, stat: str
    ) -> bool:
        """Whether a request of a page is to be aborted; `stat` counts those that are.

        `request` is the same as one of Scrapy's; None if it cannot be one.
        """
        is_refused = verdict is not None and not verdict.allowed
        self._tell(url, request, verdict, BROWSER)
        if verdict is None:
            self._journal.count(stats.NOT_JUDGED)
        elif not is_refused:
            self._journal.count(stats.BROWSER_ALLOWED)
        elif self.is_dry_run:
            self._would_drop(stats.WOULD_DROP, url, verdict)
        else:
            self._journal.count(stat)
        return is_refused and not self.is_dry_run

    def slipped(self, url: str, request: Request | None, verdict: Verdict) -> None:
        """A browser has sent a request that is not allowed."""
        if self.witness is not None:
            self.witness.decided(self._decision(url, request, verdict, BROWSER, SLIPPED))
        self._journal.count(stats.BROWSER_SLIPPED)

    # Policies

    def discovered(self, policy: Policy) -> None:
        """Send the signal for sitemaps, if they differ from those that were announced last."""
        if not self.notices.has_listeners(sitemaps_discovered):
            return
        origin, sitemaps = policy.origin, policy.sitemaps
        content = hash(sitemaps)
        if sitemaps and self._announced.get(origin) != content:
            self._announced.put(origin, content, _ORIGIN_OCTETS)
            self.notices.send(sitemaps_discovered, origin=origin, sitemaps=sitemaps, policy=policy)

    def outage(self, policy: Policy, outage: Outage) -> None:
        """Log that a file is unreachable, each time that a fetch has found it so."""
        if policy.is_stale:
            self._journal.count(stats.STALE)
        self._journal.warning(
            "%s is unreachable (%s, %d in a row): %s",
            policy.origin.robots_txt_uri,
            name_of(outage.event),
            outage.count,
            "a stale copy is obeyed" if policy.is_stale else _OUTAGE_WORDS[policy.meaning],
        )

    # What callbacks yield

    def withheld(self, response: Response, what: Any, because: Any, stat: str) -> bool:
        """Whether something is not yielded, because of what its page says; not so in a dry run."""
        is_request = isinstance(what, Request)
        name = f"{what if is_request else 'an item'} of {response}"
        if self.witness is not None:
            url = what.url if isinstance(what, Request) else ""
            self.witness.withheld(response.url, url, because, is_dry_run=self.is_dry_run)
        if self.is_dry_run:
            would = stats.WOULD_WITHHOLD_REQUESTS if is_request else stats.WOULD_WITHHOLD_ITEMS
            self._would_drop(would, name, because)
            return False
        self._journal.count(stat)
        self._journal.debug("Withheld: %(what)s (%(because)s)", {"what": name, "because": because})
        self.notices.send(withheld, response=response, what=what, because=because)
        return True

    def _tell(self, url: str, request: Request | None, verdict: Verdict | None, by: str) -> None:
        witness = self.witness
        if witness is None:
            return
        if verdict is None:
            witness.exempted(url, SCHEME, by)
        elif verdict.reason is Reason.IMPLICITLY_ALLOWED:
            witness.exempted(url, ITSELF, by)
        else:
            dropped = ABORTED if by == BROWSER else DROPPED
            refused = WOULD_DROP if self.is_dry_run else dropped
            outcome = PASSED if verdict.allowed else refused
            witness.decided(self._decision(url, request, verdict, by, outcome))

    def _decision(
        self, url: str, request: Request | None, verdict: Verdict, by: str, outcome: str
    ) -> Decision:
        if request is None:
            return Decision(url, verdict, by, outcome, None, ())
        policy, tokens = self.judged_by.get(request) or (None, ())
        waited_seconds = self._waits.pop(request, 0.0) if self._waits else 0.0
        return Decision(request.url, verdict, by, outcome, policy, tokens, waited_seconds)

    def _would_drop(self, stat: str, what: Any, because: Any) -> None:
        """Count what passes because of a dry run, and log the first twenty of each kind."""
        self._journal.count(stat)
        self._would_counts[stat] += 1
        if self._would_counts[stat] > _DRY_RUN_LINES:
            return
        self._journal.info(
            "Would be dropped, but for REP_DRY_RUN: %(what)s (%(because)s)",
            {"what": what, "because": because},
        )
        if self._would_counts[stat] == _DRY_RUN_LINES:
            self._journal.info("More of these are only counted: %s", stat)

    def _drop(self, request: Request, verdict: Verdict) -> NoReturn:
        self._journal.count(stats.FORBIDDEN)
        self._journal.debug(
            "Forbidden by robots.txt: %(request)s (%(verdict)s)",
            {"request": request, "verdict": verdict},
        )
        self.notices.send(request_disallowed, request=request, verdict=verdict)
        if verdict.reason is Reason.UNREACHABLE:
            raise RobotsTxtUnreachable(verdict)
        raise RobotsTxtDisallowed(verdict)


# By the identity of the crawler, which each exit keeps alive: no other can have it meanwhile.
_EXITS: WeakValueDictionary[int, Decisions] = WeakValueDictionary()


def _occasion(request: Request) -> str:
    return REDIRECT if request.meta.get("redirect_urls") else REQUEST
