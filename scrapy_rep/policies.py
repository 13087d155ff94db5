"""The policies of a crawl's origins: from memory, or from one fetch that all who ask share.

A `Policy` is what an entry means for this crawl. There is one way to get one, `Policies.get`, and
it always ends in a policy: a fetch that fails, or that fails in a way nobody thought of, is an
entry with a failure, and means what the access policy says of failures.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from . import stats
from .cache.entry import Entry
from .cache.memory import Lru
from .fetcher import Fetcher
from .protocol.access import AccessResult, Failure, Meaning, name_of
from .protocol.document import RobotsTxt, parse
from .protocol.errors import ConfigurationError, InvalidUri
from .protocol.origin import Origin
from .protocol.verdict import Reason, Verdict
from .robotparser import ParserChoice, Rules

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from .identity import Identity
    from .settings import RepSettings

logger = logging.getLogger(__name__)

_POLICY_OCTETS = 2000  # what a policy costs besides its file, roughly


class Policy:
    """What the robots.txt of one origin means for this crawl.

    Attributes:
        origin: whose policy it is.
        robots_txt: the file as a value, with sitemaps, groups, other records and findings; an
            empty file unless the access result is a success.
        meaning: whether the rules decide, or everything is allowed or disallowed.
    """

    __slots__ = ("_entry", "_rules", "_tokens", "_verdict", "meaning", "origin", "robots_txt")

    def __init__(
        self,
        entry: Entry,
        meaning: Meaning,
        robots_txt: RobotsTxt,
        rules: Rules,
        tokens: tuple[str, ...],
    ) -> None:
        self.origin = entry.origin
        self.meaning = meaning
        self.robots_txt = robots_txt
        self._entry = entry
        self._rules = rules
        self._tokens = tokens
        reason = Reason[entry.access_result.name] if meaning is not Meaning.RULES else Reason.RULE
        self._verdict = Verdict(
            allowed=meaning is Meaning.ALLOW,
            reason=reason,
            robots_txt=entry.origin.robots_txt_uri,
        )

    def verdict(self, url: str, product_tokens: tuple[str, ...] | None = None) -> Verdict:
        """Whether a URL of this origin may be asked for, by this crawl or by other tokens."""
        if self.meaning is Meaning.RULES:
            tokens = self._tokens if product_tokens is None else product_tokens
            return self._rules.verdict(tokens, url)
        return self._verdict

    @property
    def access_result(self) -> AccessResult:
        """What RFC 9309, 2.3.1 calls the outcome of the fetch."""
        return self._entry.access_result

    @property
    def event(self) -> str:
        """What happened: the status of the last answer, or the failure's name."""
        return name_of(self._entry.event)

    @property
    def status(self) -> int | None:
        """The status of the last answer; None if there was none that counts."""
        event = self._entry.event
        return None if isinstance(event, Failure) else event

    @property
    def hops(self) -> tuple[str, ...]:
        """The URLs that were asked, in order."""
        return self._entry.hops

    @property
    def final_url(self) -> str:
        """The URL that was asked last."""
        return self._entry.hops[-1] if self._entry.hops else self.origin.robots_txt_uri

    @property
    def fetched_at(self) -> float:
        """When the answer or the failure came, POSIX seconds."""
        return self._entry.fetched_at

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The absolute http(s) URLs of the file's Sitemap lines, in order, each once."""
        return self.robots_txt.sitemaps

    @property
    def crawl_delay(self) -> float | None:
        """Seconds between requests that the site asks this crawl for."""
        return self._rules.crawl_delay(self._tokens)

    @property
    def octets(self) -> int:
        """Roughly what keeping this policy costs: the file, and its rules ready for use."""
        return _POLICY_OCTETS + 3 * len(self.robots_txt.octets)

    def __repr__(self) -> str:
        """The origin and what came of its robots.txt."""
        return f"<Policy {self.origin} {self.event} {self.meaning.value}>"


class Policies:
    """The policies of one crawl."""

    def __init__(self, crawler: Crawler, settings: RepSettings, identity: Identity) -> None:
        self._crawler = crawler
        self._settings = settings
        self._identity = identity
        self._parser = ParserChoice(crawler)
        self._fetcher = Fetcher(crawler, settings, identity)
        self._kept: Lru[Origin, Policy] = Lru(settings.memory_octets)
        self._waiting: dict[Origin, list[Deferred[Policy]]] = {}
        self._fetches: set[Deferred[None]] = set()

    def peek(self, origin: Origin) -> Policy | None:
        """The policy if it is in memory; never waits."""
        return self._kept.get(origin)

    def is_fetching(self, origin: Origin) -> bool:
        """Whether the origin's robots.txt has been asked for and the answer is not there yet."""
        return origin in self._waiting

    async def get(self, origin: Origin, request: Request | None = None) -> Policy:
        """The policy, from memory or from a fetch that everyone who asks meanwhile shares.

        The fetch belongs to nobody who waits for it: cancelling any of them does not end it.
        `request` is the one on whose behalf it is asked for, if any.
        """
        policy = self._kept.get(origin)
        if policy is not None:
            return policy
        waiter: Deferred[Policy] = Deferred()
        waiters = self._waiting.get(origin)
        if waiters is not None:
            self._count(stats.CACHE_WAITED)
            waiters.append(waiter)
        else:
            self._count(stats.CACHE_MISS)
            self._waiting[origin] = [waiter]
            # Each waiter has a Deferred of its own: one that many coroutines await gives its
            # result to the first of them only. The set keeps the task from being collected.
            fetch = deferred_from_coro(self._fetch(origin, request))
            self._fetches.add(fetch)
            fetch.addBoth(lambda _: self._fetches.discard(fetch))
        # A request that serves the fetch itself, a log-in of some middleware's, would wait for
        # ever; it can't be told from others, so every wait ends.
        alarm = call_later(self._settings.unreachable_wait_seconds, self._give_up, waiter, origin)
        try:
            return await maybe_deferred_to_future(waiter)
        finally:
            alarm.cancel()

    def _give_up(self, waiter: Deferred[Policy], origin: Origin) -> None:
        if not waiter.called:
            self._count(stats.CACHE_GAVE_UP)
            waiter.callback(self._unreachable(origin))

    async def _fetch(self, origin: Origin, request: Request | None) -> None:
        policy = self._unreachable(origin)
        try:
            policy = await self._policy_of(await self._fetcher.fetch(origin), request)
        except Exception:
            logger.exception(
                "The robots.txt of %s could not be read, which is taken as unreachable",
                origin,
                extra=self._extra,
            )
        finally:
            self._keep(policy)
            for waiter in self._waiting.pop(origin):
                if not waiter.called:
                    waiter.callback(policy)

    async def _policy_of(self, entry: Entry, request: Request | None) -> Policy:
        meaning = self._settings.access.meaning(entry.event)
        if meaning is not Meaning.RULES:
            return self._without_rules(entry, meaning)
        robots_txt = parse(
            entry.body,
            entry.origin.robots_txt_uri,
            limit_octets=self._settings.parse_limit_octets,
        )
        rules, parser = self._parser.read(robots_txt, entry.body)
        # A name of Scrapy 2.18; the signal tells of the file before anyone is judged by it.
        robots_parsed = getattr(signals, "robots_parsed", None)
        if robots_parsed is not None:
            await self._crawler.signals.send_catch_log_async(
                signal=robots_parsed,
                robotparser=parser,
                request=request or Request(entry.origin.robots_txt_uri),
            )
        return Policy(entry, meaning, robots_txt, rules, self._identity.tokens)

    def _without_rules(self, entry: Entry, meaning: Meaning) -> Policy:
        empty = parse(b"", entry.origin.robots_txt_uri)
        return Policy(entry, meaning, empty, empty, self._identity.tokens)

    def _unreachable(self, origin: Origin) -> Policy:
        entry = Entry(origin, Failure.LOCAL, 0.0)
        return self._without_rules(entry, self._settings.access.meaning(entry.event))

    def _keep(self, policy: Policy) -> None:
        evicted_before = self._kept.evicted_count
        self._kept.put(policy.origin, policy, policy.octets)
        self._count(stats.CACHE_EVICTED, self._kept.evicted_count - evicted_before)
        self._count(stats.ACCESS.format(policy.access_result.value))
        self._count(stats.EVENT.format(policy.event))
        if policy.robots_txt.is_cut:
            self._count(stats.PARSE_LIMIT)
        if policy.access_result is AccessResult.UNREACHABLE:
            logger.warning(
                "%s is unreachable (%s): every URL of this origin is %sed",
                policy.origin.robots_txt_uri,
                policy.event,
                policy.meaning.value,
                extra=self._extra,
            )

    def _count(self, name: str, count: int = 1) -> None:
        if count:
            self._crawler.stats.inc_value(name, count)

    @property
    def _extra(self) -> dict[str, Any]:
        return {"spider": self._crawler.spider}


async def policy_for(crawler: Crawler, url: str) -> Policy:
    """The policy of a URL's origin, from the crawl's cache or from one fetch.

    To be awaited in callbacks and `start` of spiders, in pipelines and in middlewares.

    Raises:
        ConfigurationError: this crawl does not obey robots.txt through `RepMiddleware`.
        InvalidUri: the URL's scheme is not governed by robots.txt, or it has no host.
    """
    from .middleware import RepMiddleware

    middleware = crawler.get_downloader_middleware(RepMiddleware)
    if middleware is None:
        raise ConfigurationError(
            "policy_for needs RepMiddleware: set ROBOTSTXT_OBEY = True and "
            'ADDONS = {"scrapy_rep.Addon": 500}'
        )
    origin = Origin.of(url)
    if origin is None:
        raise InvalidUri(f"{url!r}: robots.txt governs http, https and ftp URLs only")
    return await middleware.policies.get(origin)
