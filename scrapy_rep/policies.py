"""The policies of a crawl's origins: from memory, from the store, or from one shared fetch.

`protocol.access.states` decides, without I/O, whether to fetch and what an answer means. This
module does the part that takes time: it fetches, waits and keeps policies.

Rules for the next author:

1. `Policies.get` always returns a policy. A fetch that fails, takes too long or raises an exception
   counts as a failure, and the access policy says what a failure means.
2. A file that we fail to read permits nothing, whatever the access policy says. A file that is not
   fetched because the crawl ends permits nothing either, because the site did not cause that.
3. The work on a policy does not belong to any request that waits for it. Cancelling a request
   stops neither the work nor the other requests.
4. Every waiting request gets a result: `_settle` hands out its policy in a `finally`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar
from weakref import WeakSet

from scrapy import Request, signals
from twisted.internet.defer import CancelledError

from scrapy_rep import stats
from scrapy_rep.cache.memory import Lru
from scrapy_rep.checks import Override
from scrapy_rep.crawl import Crawl
from scrapy_rep.decisions.decisions import Decisions
from scrapy_rep.decisions.request_records import RequestRecords
from scrapy_rep.engine.downloader import Downloader
from scrapy_rep.engine.state import direct_requests, is_closing, is_running
from scrapy_rep.engine.waiting import SharedWork
from scrapy_rep.extras import part
from scrapy_rep.fetch.context import FetchContext
from scrapy_rep.fetch.file_fetch import FileFetch, NotAwaitedError, NotNeededError
from scrapy_rep.fetch.reading import Reading, digest_of
from scrapy_rep.identity import Identity
from scrapy_rep.policy import (
    GAVE_UP,
    NETWORK,
    OVERRIDE,
    STORE,
    Policy,
    reading_if_of,
)
from scrapy_rep.protocol.access.events import Failure, Meaning
from scrapy_rep.protocol.access.knowledge import Answer, Copy, Knowledge
from scrapy_rep.protocol.access.lifetime import LEAST_SECONDS
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.access.states import PolicyOptions, learn, standing
from scrapy_rep.protocol.document import parse
from scrapy_rep.protocol.errors import ConfigurationError, InvalidUri
from scrapy_rep.robotparser import ParserChoice
from scrapy_rep.stats import Journal

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Dated(Protocol):
    """The content of a file of an origin, with the times when it is due and when it expires."""

    @property
    def due_at(self) -> float:
        """When it should be fetched again, POSIX seconds."""

    @property
    def usable_until(self) -> float:
        """When it expires, POSIX seconds."""


Known = TypeVar("Known", bound=Dated)

_SKEW_SECONDS = 300.0  # setting the clock back by up to this much has no effect
_FINISH_SECONDS = 2.0  # time to release leases when the crawl ends


class OriginFiles(Generic[Known]):
    """The content of one file of each origin: from memory, or from a fetch that requests share."""

    def __init__(self, crawl: Crawl, name: str) -> None:
        """Know no file; `name` is that of the module in the log."""
        self._crawler, self._settings = crawl.crawler, crawl.settings
        self._journal = Journal(crawl.crawler, name)
        self._kept: Lru[Origin, Known] = Lru(crawl.settings.memory_octets)
        self._kept_at = 0.0
        self._work: SharedWork[Origin, Known] = SharedWork()

    def peek(
        self, origin: Origin, request: Request | None = None, *, renew: bool = True
    ) -> Known | None:
        """The content if it is in memory and usable; never waits.

        With `renew`, a file that is due is fetched again in the background, on behalf of
        `request`.
        """
        last = self._kept.last
        known = last[1] if last is not None and last[0] is origin else self._kept.get(origin)
        if known is None:
            return None
        now = time.time()
        if now < self._kept_at - _SKEW_SECONDS:
            self._forget_all()
            return None
        if now >= known.due_at:
            if now >= known.usable_until:
                return None
            if renew:
                self._refresh(origin, request)
        return known

    def is_awaited(self, origin: Origin) -> bool:
        """Whether any request in the middlewares waits for the file of an origin."""
        return self._work.count_of(origin) > 0

    def _refresh(self, origin: Origin, request: Request | None) -> None:
        if not self._work.is_under_way(origin) and not is_closing(self._crawler):
            self._work.start(origin, self._settle(origin, request, is_refresh=True))

    async def _fetched(self, origin: Origin, request: Request | None) -> Known:
        """The content after the fetch that is under way, or a new one."""
        work = partial(self._settle, origin, request, is_refresh=False)
        return await self._work.result(origin, work)

    def _put(self, origin: Origin, content: Known, octets: int) -> None:
        self._kept_at = time.time()
        self._kept.put(origin, content, octets)

    def _forget_all(self) -> None:
        """Drop all files: the clock was set back, and they would expire too late."""
        self._kept = Lru(self._settings.memory_octets)
        self._kept_at = 0.0

    async def _settle(self, origin: Origin, request: Request | None, *, is_refresh: bool) -> None:
        """Get a file, keep it, and give it to all waiting requests. Does not raise."""
        raise NotImplementedError


class Policies(OriginFiles[Policy]):
    """The policies of one crawl.

    Attributes:
        fetching: the objects that the fetches share, such as the store.
    """

    def __init__(self, crawl: Crawl) -> None:
        super().__init__(crawl, __name__)
        crawler = self._crawler
        self._identity = crawl.part(Identity)
        self._parser = ParserChoice(crawler)
        self.fetching = FetchContext(crawl)
        self._listeners: list[Callable[[Origin], None]] = []
        if self._parser.name:
            self._journal.info(
                "robots.txt files are parsed by %s (ROBOTSTXT_PARSER)", self._parser.name
            )
        self._decisions = decisions = crawl.part(Decisions)
        self._records = crawl.part(RequestRecords)
        self._downloader = Downloader(crawler)
        self._notices = decisions.notices
        self._direct: WeakSet[Request] = WeakSet()
        crawler.signals.connect(self._spider_opened, signal=signals.spider_opened)

    def _spider_opened(self) -> None:
        self._direct = direct_requests(self._crawler)

    async def close(self) -> None:
        """End the fetches that are under way, and close the store."""
        for origin in await self._work.cancel(_FINISH_SECONDS):
            self._hand_out(self._refused(origin))
        await self.fetching.close()

    def known(self, origin: Origin) -> Policy | None:
        """The newest policy in memory, which may have expired."""
        return self._kept.get(origin)

    async def get(self, origin: Origin, request: Request | None = None) -> Policy:
        """The policy, from memory or from one fetch that all waiting requests share.

        `request` is the page request that needs the policy, if any.
        """
        policy = self.peek(origin, request) or self._set_by_user(origin)
        if policy is not None:
            return policy
        if request in self._direct and self._is_needed_by_fetch(origin):
            self._journal.once(
                f"{origin} for itself",
                "%s is sent by a middleware of this project while it handles the request for the "
                "robots.txt of %s, and waits for the same file, so it is dropped. If this request "
                "is meant to be sent first, such as a login, set dont_obey_robotstxt in its meta",
                *(request, origin),
                level=logging.WARNING,
            )
            return self._refused(origin)
        is_under_way = self._work.is_under_way(origin)
        self._journal.count(stats.CACHE_WAITED if is_under_way else stats.CACHE_MISS)
        try:
            return await self._fetched(origin, request)
        except CancelledError:
            # Scrapy takes Twisted's CancelledError for an error. Without a policy here, a spider's
            # `start` would be interrupted when the crawl closes, instead of running to its end.
            if is_running(self._crawler):
                raise
            return self._refused(origin)

    def _is_needed_by_fetch(self, origin: Origin) -> bool:
        """Whether a middleware waits for the caller, and so the fetch of this origin does, too."""
        return self._work.is_within(origin) and self.fetching.sender.is_in_middlewares(origin)

    def forget(self, origin: Origin) -> None:
        """Remove the policy of an origin from memory; the store still has its answer."""
        self._kept.drop(origin)

    def listen(self, listener: Callable[[Origin], None]) -> None:
        """Call a function with each origin that has just got a policy in memory."""
        self._listeners.append(listener)

    def is_fetching(self, origin: Origin) -> bool:
        """Whether a fetch for the origin is under way; listeners are called when it ends."""
        return self._work.is_under_way(origin)

    def is_queued(self, origin: Origin) -> bool:
        """Whether the fetch of an origin's robots.txt waits to be sent."""
        return self.fetching.is_queued(origin)

    def prefetch(self, origin: Origin, request: Request | None) -> None:
        """Fetch a policy into memory for queued requests; listeners are called when it ends.

        `request` is one of those requests.
        """
        if self._work.is_under_way(origin) or is_closing(self._crawler):
            return
        if self._set_by_user(origin) is not None:
            self._tell_listeners(origin)
            return
        self._work.start(origin, self._prefetched(origin, request))

    async def _prefetched(self, origin: Origin, request: Request | None) -> None:
        """Get a policy, unless a site named the request and the guard refuses it.

        The queue then hands out the request without a policy, and the middleware drops it.
        """
        why = "" if request is None else await self.fetching.guard.why_refused(request)
        if not why or self.is_awaited(origin):  # by a request of the spider's choice
            self._journal.count(stats.PREFETCHED)
            await self._settle(origin, request, is_refresh=False)
        else:
            self._work.drop(origin)
            self._tell_listeners(origin)

    def _set_by_user(self, origin: Origin) -> Policy | None:
        """The policy that the user sets for an origin, instead of a fetch; None without one."""
        override = self._override(origin)
        if override is None or override.preset is not None:
            return None
        policy = self._overridden(origin, override)
        self._keep(policy)
        self._decisions.learnt(policy)
        self._decisions.discovered(policy)
        return policy

    def _refused(self, origin: Origin) -> Policy:
        """The policy if we did not read a file: disallow, whatever `REP_POLICY` says.

        It is usable for as long as the policy after a failure of our own.
        """
        self._journal.count(stats.CACHE_GAVE_UP)
        options = self._options_under(self._override(origin))
        known = learn(Knowledge(), Answer(Failure.LOCAL), time.time(), options.limits)
        stands = self.fetching.weigh(origin, known, options)
        return Policy(
            origin,
            Failure.LOCAL,
            Meaning.DISALLOW,
            Reading.of_nothing(origin),
            self._identity.tokens,
            source=GAVE_UP,
            due_at=stands.due_at,
            usable_until=stands.usable_until,
            grown=self._recount,
        )

    async def _settle(self, origin: Origin, request: Request | None, *, is_refresh: bool) -> None:
        """Get a policy, keep it, and give it to all waiting requests. Does not raise."""
        self._journal.count(stats.CACHE_REFRESHED, int(is_refresh))
        policy: Policy | None = None
        fetch: FileFetch | None = None
        is_put_off = False
        try:
            override = self._override(origin)
            options = self._options_under(override)
            fetch = FileFetch(
                self.fetching,
                origin,
                options,
                request,
                is_refresh=is_refresh,
                is_awaited=partial(self.is_awaited, origin),
                interrupt=partial(self._work.interrupt, origin),
            )
            known = await fetch.result()
            if fetch.is_late:
                self._journal.count(stats.CACHE_GAVE_UP, self._work.count_of(origin))
            policy = await self._policy(fetch, known, options)
            if fetch.fault is not None and fetch.fault.retry_seconds:
                policy.due_at = policy.usable_until = time.time() + fetch.fault.retry_seconds
            if override is not None:
                policy.due_at = min(policy.due_at, override.until_at)
                policy.usable_until = min(policy.usable_until, override.until_at)
        except (NotNeededError, CancelledError) as error:  # Twisted's, which is an Exception
            self._journal.debug("%s is not fetched: %s", origin, error)
            is_put_off = isinstance(error, NotAwaitedError) and not is_closing(self._crawler)
        except Exception:  # noqa: BLE001 - it is logged, and nothing is allowed
            self._journal.exception(
                "Reading the robots.txt of %s failed, so all its URLs are disallowed", origin
            )
        finally:
            # This also runs when the work is cancelled at the end of the loop, so that no request
            # is left waiting.
            if policy is None and fetch is not None and fetch.steps:
                self._decisions.listener.sent_in_vain(origin, fetch.steps)
            policy = policy or self._still_usable(origin)
            if policy is not None or not is_put_off:
                self._hand_out(policy or self._refused(origin))
            elif self.is_awaited(origin):  # since the fetch was stopped
                self._work.start(origin, self._settle(origin, request, is_refresh=is_refresh))
            else:
                self._work.drop(origin)
                self._tell_listeners(origin)
        if policy is not None:
            self._decisions.discovered(policy)

    def _hand_out(self, policy: Policy) -> None:
        """Keep a policy, and give it to all waiting requests even if keeping it fails."""
        before = self._kept.get(policy.origin)
        # Otherwise a queue would fetch a file with a lifetime of 0 again and again, and never hand
        # out a request.
        policy.usable_until = max(policy.usable_until, time.time() + LEAST_SECONDS)
        try:
            self._keep(policy)
            self._decisions.learnt(policy)
        finally:
            self._work.end(policy.origin, policy)
            self._tell_listeners(policy.origin)
        if before is not None and not before.says_the_same_as(policy):
            count = self._downloader.recall(partial(self._was_judged_before, policy))
            self._journal.count(stats.PUT_BACK, count)

    def _was_judged_before(self, policy: Policy, request: Request) -> bool:
        """Whether an older policy of the same origin allowed a request."""
        record = self._records.find(request)
        judged_by = None if record is None else record.policy
        return judged_by is not None and judged_by.origin == policy.origin

    def _tell_listeners(self, origin: Origin) -> None:
        for listener in self._listeners:
            listener(origin)

    def _still_usable(self, origin: Origin) -> Policy | None:
        """The previous policy while it is usable; due again after the first retry time."""
        policy = self._kept.get(origin)
        now = time.time()
        if policy is None or now >= policy.usable_until:
            return None
        policy.due_at = now + self._settings.options.limits.retry_first_seconds
        return policy

    async def _policy(self, fetch: FileFetch, known: Knowledge, options: PolicyOptions) -> Policy:
        """Build the policy from the knowledge after a fetch, and read its file."""
        origin = fetch.origin
        stands = self.fetching.weigh(origin, known, options)
        if stands.meaning is None and known.copy is not None:
            # It expired while it was being stored. The requests that waited for it still use it.
            stands = standing(known, known.copy.confirmed_at, options)
        if known.copy is None or stands.meaning is not Meaning.RULES:
            reading = Reading.of_nothing(origin)
        else:
            reading = await self._read(origin, known.copy, fetch.page)
        policy = Policy.learnt(
            origin,
            known,
            stands,
            reading,
            self._identity.tokens,
            source=NETWORK if fetch.steps else STORE,
            fault=fetch.fault if known.outage is not None else None,
            grown=self._recount,
        )
        if known.outage is not None:
            self._decisions.outage(policy, known.outage)
        return policy

    def _override(self, origin: Origin) -> Override | None:
        return self._settings.overrides.match(origin, time.time())

    def _options_under(self, override: Override | None) -> PolicyOptions:
        if override is None or override.preset is None:
            return self._settings.options
        return self._settings.options_under(override.preset)

    async def _read(self, origin: Origin, copy: Copy, request: Request | None) -> Reading:
        """The file as a value, and its decider; parsed again only if it was fetched again."""
        before = self._kept.get(origin)
        known = None if before is None else reading_if_of(before, copy)
        if known is not None:
            return known
        robots_txt = parse(
            copy.body, origin.robots_txt_uri, limit_octets=self._settings.parse_limit_octets
        )
        if robots_txt.is_cut:
            self._journal.count(stats.PARSE_LIMIT)
        rules, parser = self._parser.read(robots_txt, copy.body)
        # New in Scrapy 2.18. Handlers see the file before any request is judged by it.
        robots_parsed = getattr(signals, "robots_parsed", None)
        if robots_parsed is not None and self._notices.has_listeners(robots_parsed):
            await self._notices.deliver(
                robots_parsed,
                self._settings.unreachable_wait_seconds,
                robotparser=parser,
                request=request or Request(origin.robots_txt_uri),
            )
        reading = Reading(robots_txt, rules, digest_of(copy.body))
        self._decisions.file_read(copy.body, reading.sha256)
        reading.settle(self._identity.tokens)
        return reading

    def _overridden(self, origin: Origin, override: Override) -> Policy:
        body = override.text or b""
        robots_txt = parse(body, origin.robots_txt_uri)
        meaning = Meaning.ALLOW if override.ignore else Meaning.RULES
        self.fetching.overridden(origin, override.text)
        reading = Reading(robots_txt, robots_txt, digest_of(body))
        self._decisions.file_read(body, reading.sha256)
        return Policy(
            origin,
            None,
            meaning,
            reading,
            self._identity.tokens,
            source=OVERRIDE,
            due_at=override.until_at,
            usable_until=override.until_at,
            grown=self._recount,
        )

    def _keep(self, policy: Policy) -> None:
        evicted_before = self._kept.evicted_count
        self._put(policy.origin, policy, policy.octets)
        self._journal.count(stats.CACHE_EVICTED, self._kept.evicted_count - evicted_before)

    def _recount(self, policy: Policy) -> None:
        """Count the memory of a policy that has grown; others are evicted for it."""
        if self._kept.get(policy.origin) is policy:
            self._keep(policy)


def policies_of(crawler: Crawler, caller: str) -> Policies:
    """The policies of a crawl that has begun; the error names the `caller`.

    Raises:
        ConfigurationError: this crawl does not obey robots.txt through `RepMiddleware`.
    """
    policies = Crawl.of(crawler).find(Policies)
    if policies is None:
        raise ConfigurationError(
            f"{caller} needs RepMiddleware: set ROBOTSTXT_OBEY = True and "
            'ADDONS = {"scrapy_rep.Addon": 500}'
        )
    return policies


async def policy_for(crawler: Crawler, url: str) -> Policy:
    """The policy of a URL's origin, from the crawl's cache or from one fetch.

    With `REP_TDMREP`, it has the content of the origin's tdmrep.json.

    Await it in callbacks, in `start` and in pipelines. Do not await it in handlers of
    `robots_parsed` or in `process_request` of middlewares: the fetch would wait for your code, and
    your code for the fetch.

    Raises:
        ConfigurationError: this crawl does not obey robots.txt through `RepMiddleware`.
        InvalidUri: robots.txt does not govern the scheme of the URL, or the URL has no host.
    """
    policies, origin = policies_of(crawler, "policy_for"), Origin.of(url)
    if origin is None:
        raise InvalidUri(f"{url!r}: robots.txt governs http, https and ftp URLs only")
    policy = await policies.get(origin)
    crawl = Crawl.of(crawler)
    if crawl.settings.tdmrep:
        await crawl.part(part("REP_TDMREP")).add_to(policy)
    return policy
