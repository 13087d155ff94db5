"""The lines of a crawl in the log: its first origins, unreachable ones, and at the end the drops.

Their number is limited: after the first few origins, the log has counts only.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from scrapy import Request

from scrapy_rep import stats
from scrapy_rep.policy import OVERRIDE, STORE, Policy
from scrapy_rep.protocol.access.events import Failure, Meaning, name_of
from scrapy_rep.protocol.access.knowledge import Outage
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.extensions.rest import Rest, status_words
from scrapy_rep.protocol.secrecy import bare, masked
from scrapy_rep.protocol.units import age_words, counted
from scrapy_rep.protocol.verdict import Reason, Verdict
from scrapy_rep.signals import Challenged, RateLimited
from scrapy_rep.stats import Journal

from .no_page import NoPage

if TYPE_CHECKING:
    from scrapy_rep.crawl import Crawl

Named = TypeVar("Named")

_FIRST_ORIGINS = 10
_FIRST_OUTAGES = 5
_OUTAGES_EVERY_SECONDS = 60.0
_MOST_ORIGINS = 10_000  # of a count; beyond, it says "at least"
_MOST_REASONS = 3
_MEANINGS = {
    Meaning.RULES: "its rules decide",
    Meaning.ALLOW: "every URL of this origin is allowed",
    Meaning.DISALLOW: "every URL of this origin is disallowed",
}
_NO_GROUP = "no group of it is for this crawler, so every URL of this origin is allowed"
_OF_ANSWERS = (Reason.UNREACHABLE, Reason.UNAVAILABLE, Reason.HTML)


@dataclass(slots=True)
class _DropGroup:
    """The requests that were dropped for one reason, with the first of them."""

    example: str = ""
    count: int = 0
    files: set[str] = field(default_factory=set)


class CrawlLog:
    """Writes the lines of one crawl.

    Attributes:
        no_page: says why the crawl got no page.
        more_lines: functions that yield more lines for its end.
    """

    def __init__(self, crawl: Crawl) -> None:
        self.no_page = NoPage(crawl)
        self.more_lines: list[Callable[[], Iterator[str]]] = []
        self._run = crawl.run
        self._crawler = crawl.crawler
        self._settings = crawl.settings
        self._journal = Journal(crawl.crawler, __name__)
        self._told: dict[bool, set[Origin]] = {False: set(), True: set()}  # by a Crawl-delay
        self._drops: dict[Reason, _DropGroup] = {}
        self._limited_count = self._challenged_count = 0
        self._unreachable: set[Origin] = set()
        # The failures in a row and the first of them; a store may know less, since a middleware
        # may send another User-Agent each time.
        self._failures: dict[Origin, tuple[int, float]] = {}
        # By the answer after which they rested, and by that after which they were given up.
        self._rested: dict[str, set[Origin]] = {}
        self._given_up: dict[str, set[Origin]] = {}
        self._challenged: dict[Origin, str] = {}
        self._outages = 0
        self._outages_told = 0
        self._outages_told_at = 0.0

    # During the crawl

    def learnt(self, policy: Policy) -> None:
        """Log the robots.txt of an origin.

        The first origins, and the first with a Crawl-delay, are logged at INFO, others at DEBUG.
        """
        if policy.outage is not None:
            return
        self._failures.pop(policy.origin, None)
        delay_seconds = policy.site_pace().crawl_delay
        told = self._told[bool(delay_seconds)]
        is_first = len(told) < _FIRST_ORIGINS and policy.origin not in told
        if is_first:
            told.add(policy.origin)
        elif not self._journal.tells_details:
            return
        words = f", Crawl-delay {delay_seconds:g} s" if delay_seconds else ""
        tell = self._journal.info if is_first else self._journal.debug
        tell(
            "%s (%s): %s%s",
            policy.origin.robots_txt_uri,
            _source(policy),
            _meaning_words(policy),
            words,
        )

    def outage(self, policy: Policy, outage: Outage) -> None:
        """Log that a file is unreachable; after the first failures, only a number once a minute.

        Every failure is logged at DEBUG. A shortage of this machine has a line of its own.
        """
        if policy.fault is not None and policy.fault.retry_seconds:
            return
        _add(self._unreachable, policy.origin)
        self.no_page.outage(policy)
        self._outages += 1
        count, first_at = self._failures.get(policy.origin, (0, time.time()))
        if count or len(self._failures) < _MOST_ORIGINS:
            self._failures[policy.origin] = count + 1, first_at
        is_first, now = self._outages <= _FIRST_OUTAGES, time.monotonic()
        tell = self._journal.warning if is_first else self._journal.debug
        is_ours = outage.event is Failure.LOCAL
        tell(
            "%s %s (%s, failures in a row: %d): %s",
            policy.origin.robots_txt_uri,
            "was not fetched, for a reason on our side" if is_ours else "is unreachable",
            name_of(outage.event),
            max(outage.count, count + 1),
            self._outage_words(policy, first_at),
        )
        if not is_first:
            if now - self._outages_told_at < _OUTAGES_EVERY_SECONDS:
                return
            self._journal.warning(
                "%s of robots.txt files failed. Unreachable so far: %s",
                counted(self._outages - self._outages_told, "more fetch", "more fetches"),
                _origins(len(self._unreachable)),
            )
        self._outages_told, self._outages_told_at = self._outages, now

    def _outage_words(self, policy: Policy, first_at: float) -> str:
        if policy.is_stale:
            return "a stale copy is obeyed"
        if policy.meaning is Meaning.RULES:
            return "an earlier copy is obeyed"
        words = f"{_MEANINGS[policy.meaning]} ({self._deciding(policy.origin)})"
        retry_at = min(policy.due_at, policy.usable_until)
        is_soon = retry_at <= first_at + self._settings.unreachable_hold_seconds
        is_held = is_soon and policy.may_change_soon
        if policy.meaning is not Meaning.DISALLOW or not is_held:
            return words
        return (
            f"{words}. Its requests in RepPriorityQueue or RepRedisScheduler wait for the next "
            f"attempt, in {age_words(retry_at - time.time())} (REP_UNREACHABLE_HOLD_SECONDS)"
        )

    def _deciding(self, origin: Origin) -> str:
        """The settings that say what an unreachable file means."""
        settings = self._settings
        override = settings.overrides.match(origin, time.time())
        if override is not None and override.preset is not None:
            return f"REP_OVERRIDES: {override.preset!r}"
        more = " and REP_POLICY_OVERRIDES" if settings.policy_overrides else ""
        return f"REP_POLICY = {settings.policy!r}{more}"

    def rested(self, origin: Origin, status: int, rest: Rest) -> None:
        """Note that an origin rests, or was given up, after an answer."""
        cause = "a challenge" if rest.service else status_words(status)
        origins = self._given_up if rest.given_up_until else self._rested
        _add(origins.setdefault(cause, set()), origin)
        self.no_page.rested(origin)

    def challenged(self, origin: Origin, service: str) -> None:
        """Note that an edge answers for an origin with challenges; log the first origins."""
        is_first = len(self._challenged) < _FIRST_ORIGINS and origin not in self._challenged
        if len(self._challenged) < _MOST_ORIGINS:
            self._challenged[origin] = service
        tell = self._journal.info if is_first else self._journal.debug
        tell("%s answers automated clients with a challenge (%s)", origin, service)

    def dropped(self, request: Request, verdict: Verdict, policy: Policy | None) -> None:
        """Note a request that is dropped by a policy, or would be without REP_DRY_RUN."""
        if not self._settings.dry_run:
            self.no_page.dropped(request, verdict, policy, lambda: _because(verdict, policy))
        found = self._drops.get(verdict.reason)
        if found is None:
            example = f"{masked(bare(request.url))} ({_because(verdict, policy)})"
            found = self._drops[verdict.reason] = _DropGroup(example)
        found.count += 1
        _add(found.files, verdict.robots_txt)

    def limited(self, request: Request, error: RateLimited | Challenged) -> None:
        """Note a request that is dropped because of the answers of its origin."""
        is_challenge = isinstance(error, Challenged)
        self._challenged_count += is_challenge
        self._limited_count += not is_challenge
        self.no_page.limited(request, error)

    # At its end

    def finish(self, reason: str) -> None:
        """Log the dropped requests and the origins that caused waits, if there are any.

        `reason` is that for which the crawl ends. Without a page, the log ends with a warning.
        """
        name = getattr(self._crawler.spider, "name", None)  # a process may have several crawls
        lines = [*self._dropped(), *self._origins(), *self._challenges()]
        lines += [line for more in self.more_lines for line in more()]
        if lines:
            told = "\n".join([*lines, self._where_to_look()])
            self._journal.info("[%s] %s", name, told)
        if warning := self.no_page.warning(reason):
            self._journal.warning("[%s] %s", name, warning)

    def _dropped(self) -> Iterator[str]:
        limited, challenged = self._limited_count, self._challenged_count
        count = limited + challenged + sum(drops.count for drops in self._drops.values())
        if not count:
            return
        judged = self._stat(stats.VERDICT_ALLOWED) + self._stat(stats.VERDICT_DISALLOWED)
        # Requests that were put back were judged again.
        judged -= self._stat(stats.BACKOFF_PUT_BACK) + self._stat(stats.PUT_BACK)
        were = "was dropped" if count == 1 else "were dropped"
        verb = "would be dropped without REP_DRY_RUN" if self._settings.dry_run else were
        yield f"{count:,} of {counted(max(count, judged), 'request')} {verb}:"
        ordered = sorted(self._drops.items(), key=lambda one: -one[1].count)
        for reason, drops in ordered[:_MOST_REASONS]:
            where = _origins(len(drops.files))
            yield f"  {drops.count:,} ({where}): {reason.value}. For example {drops.example}"
        others = sum(drops.count for _, drops in ordered[_MOST_REASONS:])
        if others:
            yield f"  {others:,} for other reasons"
        if limited:
            yield f"  {limited:,}: their origins answered 429 or 503 to the end (RateLimited)"
        if challenged:
            yield f"  {challenged:,}: an edge answered with challenges (Challenged)"

    def _origins(self) -> Iterator[str]:
        counts = {
            "unreachable": len(self._unreachable),
            **{f"rested after {cause}": len(ones) for cause, ones in self._rested.items()},
            **{f"given up after {cause}": len(ones) for cause, ones in self._given_up.items()},
            "set a delay between requests": self._stat(stats.DELAYED_ORIGINS),
        }
        words = [f"{count:,} {what}" for what, count in counts.items() if count]
        if words:
            yield f"Origins: {', '.join(words)}"

    def _challenges(self) -> Iterator[str]:
        wanted = self._stat(stats.SIGNATURE_WANTED)
        if wanted and not self._settings.sign_key:
            answers = counted(wanted, "answer wants", "answers want")
            yield f"{answers} signed requests: see REP_SIGN_KEY"
        if not self._challenged:
            return
        count, services = len(self._challenged), sorted(set(self._challenged.values()))
        yield (
            f"{_origins(count)} answer{'s' if count == 1 else ''} automated clients with a "
            f"challenge ({', '.join(services)}): ask the owners to let your crawler in"
        )

    def _where_to_look(self) -> str:
        if self._settings.report:
            path = self._settings.report.replace("%(run)s", self._run)
            return f"For more, see the report: {path}"
        if self._settings.audit_dir:
            return (
                f"For each decision, see scrapy rep audit export {self._settings.audit_dir}/latest"
            )
        return "For one URL, see scrapy rep check URL; for each decision, set REP_AUDIT_DIR"

    def _stat(self, name: str) -> int:
        return int(self._crawler.stats.get_value(name, 0) or 0)  # some collectors keep nothing


def _add(found: set[Named], one: Named) -> None:
    """Add to a set that has a limit."""
    if len(found) < _MOST_ORIGINS:
        found.add(one)


def _because(verdict: Verdict, policy: Policy | None) -> str:
    if verdict.reason in _OF_ANSWERS and policy is not None:
        fault = policy.fault
        ours = "" if fault is None else f", {fault.culprit} {fault.details}"
        words = f"{verdict.robots_txt}: {policy.event}{ours}"
    elif verdict.rule is None:
        words = verdict.why or verdict.robots_txt or verdict.reason.value
    else:
        words = f"line {verdict.line} of {verdict.robots_txt}: {verdict.rule}"
    note = "" if policy is None else policy.note_on(verdict)
    return f"{words}; {note}" if note else words


def _meaning_words(policy: Policy) -> str:
    is_ours = policy.meaning is Meaning.RULES and policy.is_read_by_us
    if is_ours and not policy.robots_txt.selection(policy.tokens).product_token:
        return _NO_GROUP
    return _MEANINGS[policy.meaning]


def _source(policy: Policy) -> str:
    if policy.source == OVERRIDE:
        return "REP_OVERRIDES"
    if policy.source == STORE:
        return f"{policy.event}, from the store, {age_words(time.time() - policy.fetched_at)} old"
    return str(policy.event)


def _origins(count: int) -> str:
    """A number of origins in words."""
    least = "at least " if count >= _MOST_ORIGINS else ""
    return f"{least}{counted(count, 'origin')}"
