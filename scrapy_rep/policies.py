"""The policies of a crawl's origins: from memory, from the store, or from one shared exchange.

There is one way to get a policy, `Policies.get`, and it always ends in one: an exchange that fails,
or that fails in a way nobody thought of, is learnt as a failure, and means what the access policy
says of failures. What to do with what is known, and what is known after an answer, the protocol's
`exchange` tells; here is what takes time: asking, waiting, keeping.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from twisted.internet.defer import Deferred

from . import stats
from .cache.memory import Lru
from .engine import is_closing
from .exchanges import Exchanges
from .notices import Notices
from .overrides import Override
from .policy import Policy, Reading
from .protocol.access import Failure, Meaning, name_of
from .protocol.document import parse
from .protocol.errors import ConfigurationError, InvalidUri
from .protocol.exchange import Rules as ExchangeRules
from .protocol.exchange import Standing, learn
from .protocol.knowledge import Answer, Copy, Knowledge
from .protocol.origin import Origin
from .robotparser import ParserChoice
from .signals import sitemaps_discovered

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.utils.asyncio import CallLaterResult

    from .identity import Identity
    from .settings import RepSettings
    from .slots import Slots

logger = logging.getLogger(__name__)

_ANNOUNCED_OCTETS = 1 << 24  # the sitemaps of some 80,000 origins; who is forgotten is told again
_ANNOUNCEMENT_OCTETS = 200


class Policies:
    """The policies of one crawl."""

    def __init__(
        self,
        crawler: Crawler,
        settings: RepSettings,
        identity: Identity,
        slots: Slots,
        notices: Notices,
    ) -> None:
        self._crawler = crawler
        self._settings = settings
        self._identity = identity
        self._parser = ParserChoice(crawler)
        self._exchanges = Exchanges(crawler, settings, identity, slots)
        self._kept: Lru[Origin, Policy] = Lru(settings.memory_octets)
        self._waiting: dict[Origin, list[Deferred[Policy]]] = {}
        self._waiting_count = 0
        self._tasks: set[Deferred[None]] = set()
        self._listeners: list[Callable[[Origin], None]] = []
        self._notices = notices
        self._announced: Lru[Origin, int] = Lru(_ANNOUNCED_OCTETS)

    def close(self) -> None:
        """Let go of the store; to be called once nothing is asked for any more."""
        self._exchanges.close()

    def saw_answer(self, origin: Origin, status: int) -> None:
        """Take note that a page of an origin was answered, for policies that ask for that."""
        self._exchanges.saw_answer(origin, status)

    def peek(self, origin: Origin, *, renew: bool = True) -> Policy | None:
        """The policy if it is in memory and may be used; never waits.

        One that should be confirmed is asked for in the background meanwhile, if `renew` says so.
        """
        policy = self._kept.get(origin)
        if policy is None:
            return None
        now = time.time()
        if now >= policy.due_at:
            if now >= policy.usable_until:
                return None
            if renew:
                self._refresh(origin)
        return policy

    async def get(self, origin: Origin, request: Request | None = None) -> Policy:
        """The policy: from memory, or from work that everyone who asks meanwhile shares.

        That work belongs to nobody who waits for it: cancelling any of them does not end it.
        `request` is the one on whose behalf the policy is asked for, if any.
        """
        policy = self.peek(origin) or self._unasked(origin)
        if policy is not None:
            return policy
        if self._waiting_count >= self._settings.unreachable_wait_count:
            return self._given_up(origin)
        # Each waiter has a Deferred of its own: one that many coroutines await gives its result
        # to the first of them only.
        waiter: Deferred[Policy] = Deferred()
        if origin in self._waiting:
            self._count(stats.CACHE_WAITED)
            self._waiting[origin].append(waiter)
        else:
            self._count(stats.CACHE_MISS)
            self._start(origin, request, [waiter], is_refresh=False)
        # A request that serves the exchange itself, a log-in of some middleware's, would wait for
        # ever; it can't be told from others, so every wait ends.
        alarm = _Alarm()
        self._set(alarm, self._settings.unreachable_wait_seconds, waiter, origin)
        self._waiting_count += 1
        try:
            return await maybe_deferred_to_future(waiter)
        finally:
            self._waiting_count -= 1
            alarm.call.cancel()

    def listen(self, listener: Callable[[Origin], None]) -> None:
        """Have a function called with each origin whose policy has just come into memory."""
        self._listeners.append(listener)

    def is_asking(self, origin: Origin) -> bool:
        """Whether work on the origin's policy is under way; it always ends, and is told of."""
        return origin in self._waiting

    def ask(self, origin: Origin, request: Request | None) -> None:
        """Have a policy come into memory, for requests that wait elsewhere; `listen` tells when.

        `request` is one of those.
        """
        if origin in self._waiting or is_closing(self._crawler):
            return
        if self._unasked(origin) is not None:
            self._tell_listeners(origin)
            return
        self._count(stats.PREFETCHED)
        self._start(origin, request, [], is_refresh=False)

    def _unasked(self, origin: Origin) -> Policy | None:
        """The policy that the user says instead of the origin, if so."""
        override = self._settings.overrides.match(origin)
        if override is None or override.preset is not None:
            return None
        policy = self._overridden(origin, override)
        self._keep(policy)
        self._announce(policy)
        return policy

    def _refresh(self, origin: Origin) -> None:
        if origin not in self._waiting and not is_closing(self._crawler):
            self._count(stats.CACHE_REFRESHED)
            self._start(origin, None, [], is_refresh=True)

    def _start(
        self,
        origin: Origin,
        request: Request | None,
        waiters: list[Deferred[Policy]],
        *,
        is_refresh: bool,
    ) -> None:
        self._waiting[origin] = waiters
        task = deferred_from_coro(self._settle(origin, request, is_refresh=is_refresh))
        self._tasks.add(task)  # or it would be collected while it runs
        task.addBoth(lambda _: self._tasks.discard(task))

    def _set(self, alarm: _Alarm, seconds: float, waiter: Deferred[Policy], origin: Origin) -> None:
        alarm.call = call_later(seconds, self._give_up, alarm, waiter, origin)

    def _give_up(self, alarm: _Alarm, waiter: Deferred[Policy], origin: Origin) -> None:
        """Wait no longer; except where nobody has been asked for so long.

        Nobody can be said to be unreachable then. A line of ours moves on: whoever is in front
        answers, or takes too long.
        """
        asked_seconds = self._exchanges.asked_seconds(origin)
        left = self._settings.unreachable_wait_seconds - asked_seconds
        if left > 0:
            self._set(alarm, left, waiter, origin)
        elif not waiter.called:
            waiter.callback(self._given_up(origin))

    def _given_up(self, origin: Origin) -> Policy:
        """What a request gets that can't wait: a failure of our own, and what that means."""
        self._count(stats.CACHE_GAVE_UP)
        rules = self._rules_for(origin)
        known = learn(Knowledge(), Answer(Failure.LOCAL), time.time(), rules.limits)
        return self._without_file(known, self._exchanges.standing(origin, known, rules), origin)

    def _refused(self, origin: Origin) -> Policy:
        """What holds where we could not deal with a file: nothing, whatever errors mean."""
        policy = self._given_up(origin)
        return Policy(
            origin,
            Failure.LOCAL,
            Meaning.DISALLOW,
            Reading.of_nothing(origin),
            self._identity.tokens,
            due_at=policy.due_at,
            usable_until=policy.usable_until,
        )

    async def _settle(self, origin: Origin, request: Request | None, *, is_refresh: bool) -> None:
        """Come to a policy, keep it, and give it to all who wait. Does not raise."""
        policy: Policy | None = None
        otherwise = self._given_up
        try:
            policy = await self._policy(origin, request, is_refresh=is_refresh)
        except Exception:
            logger.exception(
                "The robots.txt of %s could not be dealt with, which permits nothing",
                origin,
                extra=self._extra,
            )
            otherwise = self._refused
        finally:
            # Also where this is cancelled, as it is when the loop ends: nobody is left waiting.
            policy = policy or self._still_usable(origin) or otherwise(origin)
            self._keep(policy)
            for waiter in self._waiting.pop(origin):
                if not waiter.called:
                    waiter.callback(policy)
            self._tell_listeners(origin)
        self._announce(policy)

    def _tell_listeners(self, origin: Origin) -> None:
        for listener in self._listeners:
            listener(origin)

    def _announce(self, policy: Policy) -> None:
        """Tell of the sitemaps, if they are others than the last ones that were told."""
        if not self._notices.has_listeners(sitemaps_discovered):
            return
        sitemaps = policy.sitemaps
        content = hash(sitemaps)
        if not sitemaps or self._announced.get(policy.origin) == content:
            return
        self._announced.put(policy.origin, content, _ANNOUNCEMENT_OCTETS)
        self._notices.send(
            sitemaps_discovered, origin=policy.origin, sitemaps=sitemaps, policy=policy
        )

    def _still_usable(self, origin: Origin) -> Policy | None:
        """The policy that there was, for as long as it may be used; not due for a while."""
        policy = self._kept.get(origin)
        now = time.time()
        if policy is None or now >= policy.usable_until:
            return None
        policy.due_at = now + self._settings.rules.limits.retry_first_seconds
        return policy

    async def _policy(self, origin: Origin, request: Request | None, *, is_refresh: bool) -> Policy:
        rules = self._rules_for(origin)
        known = await self._exchanges.settle(origin, rules, request, is_refresh=is_refresh)
        stands = self._exchanges.standing(origin, known, rules)
        if known.copy is None or stands.meaning is not Meaning.RULES:
            policy = self._without_file(known, stands, origin)
        else:
            reading = await self._read(origin, known.copy, request)
            policy = Policy.standing(origin, known, stands, reading, self._identity.tokens)
        self._tell(policy, known)
        return policy

    def _rules_for(self, origin: Origin) -> ExchangeRules:
        override = self._settings.overrides.match(origin)
        if override is None or override.preset is None:
            return self._settings.rules
        return self._settings.rules_under(override.preset)

    async def _read(self, origin: Origin, copy: Copy, request: Request | None) -> Reading:
        """The file as a value, and what decides by it; read again only if it was fetched again."""
        before = self._kept.get(origin)
        if (
            before is not None
            and before.meaning is Meaning.RULES
            and before.fetched_at == copy.fetched_at
        ):
            return before.reading
        robots_txt = parse(
            copy.body, origin.robots_txt_uri, limit_octets=self._settings.parse_limit_octets
        )
        if robots_txt.is_cut:
            self._count(stats.PARSE_LIMIT)
        rules, parser = self._parser.read(robots_txt, copy.body)
        # A name of Scrapy 2.18; the signal tells of the file before anyone is judged by it.
        robots_parsed = getattr(signals, "robots_parsed", None)
        if robots_parsed is not None:
            await self._crawler.signals.send_catch_log_async(
                signal=robots_parsed,
                robotparser=parser,
                request=request or Request(origin.robots_txt_uri),
            )
        return Reading(robots_txt, rules)

    def _without_file(self, known: Knowledge, stands: Standing, origin: Origin) -> Policy:
        reading = Reading.of_nothing(origin)
        return Policy.standing(origin, known, stands, reading, self._identity.tokens)

    def _overridden(self, origin: Origin, override: Override) -> Policy:
        robots_txt = parse(override.text or b"", origin.robots_txt_uri)
        meaning = Meaning.ALLOW if override.ignore else Meaning.RULES
        reading = Reading(robots_txt, robots_txt)
        return Policy(origin, None, meaning, reading, self._identity.tokens)

    def _keep(self, policy: Policy) -> None:
        policy.grown = self._recount
        evicted_before = self._kept.evicted_count
        self._kept.put(policy.origin, policy, policy.octets)
        self._count(stats.CACHE_EVICTED, self._kept.evicted_count - evicted_before)

    def _recount(self, policy: Policy) -> None:
        """Count what a policy has come to cost; others make room for it."""
        if self._kept.get(policy.origin) is policy:
            self._keep(policy)

    def _tell(self, policy: Policy, known: Knowledge) -> None:
        """Say in the log that a file is unreachable, each time that this has been found."""
        outage = known.outage
        if outage is None:
            return
        if policy.is_stale:
            self._count(stats.STALE)
        logger.warning(
            "%s is unreachable (%s, %d in a row): %s",
            policy.origin.robots_txt_uri,
            name_of(outage.event),
            outage.count,
            "a stale copy is obeyed"
            if policy.is_stale
            else f"every URL of this origin is {policy.meaning.value}ed",
            extra=self._extra,
        )

    def _count(self, name: str, count: int = 1) -> None:
        if count:
            self._crawler.stats.inc_value(name, count)

    @property
    def _extra(self) -> dict[str, Any]:
        return {"spider": self._crawler.spider}


class _Alarm:
    """The call that ends a wait; another takes its place while nobody has been asked."""

    call: CallLaterResult


async def policy_for(crawler: Crawler, url: str) -> Policy:
    """The policy of a URL's origin, from the crawl's cache or from one fetch.

    To be awaited in callbacks and `start` of spiders, and in pipelines. Not where the fetch itself
    waits for the answer: in handlers of `robots_parsed`, or in `process_request` of middlewares.

    Raises:
        ConfigurationError: this crawl does not obey robots.txt through `RepMiddleware`.
        InvalidUri: the URL's scheme is not governed by robots.txt, or it has no host.
    """
    policies = policies_of(crawler, "policy_for")
    origin = Origin.of(url)
    if origin is None:
        raise InvalidUri(f"{url!r}: robots.txt governs http, https and ftp URLs only")
    return await policies.get(origin)


def policies_of(crawler: Crawler, asker: str) -> Policies:
    """The policies of a crawl that has begun.

    Raises:
        ConfigurationError: this crawl does not obey robots.txt through `RepMiddleware`, which is
            what `asker` needs.
    """
    from .middleware import RepMiddleware

    middleware = crawler.get_downloader_middleware(RepMiddleware)
    if middleware is None:
        raise ConfigurationError(
            f"{asker} needs RepMiddleware: set ROBOTSTXT_OBEY = True and "
            'ADDONS = {"scrapy_rep.Addon": 500}'
        )
    return middleware.policies
