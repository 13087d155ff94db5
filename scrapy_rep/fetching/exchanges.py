"""The exchanges of a crawl: what is known of an origin, from the store or from one fetch.

An exchange looks at what the store has at hand. If the entry is not usable, it claims: the store
returns what another process has learnt, or a lease, or when to look again. With the lease it
fetches, with quick retries while requests wait, and stores the outcome. Processes that share a
store fetch once.

An exchange that takes longer than `REP_UNREACHABLE_WAIT_SECONDS` ends as a failure of our own. Our
own queueing does not count there, and has a limit of its own. When the crawl closes, an exchange
ends at once if nothing waits for it or its request was not sent yet.

Entries are stored under a key: the origin, which of its files, and as whom it was fetched. Of the
files of one origin, one is fetched at a time.
"""

from __future__ import annotations

import logging
import math
import random
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from scrapy_rep import stats
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.cache.memory import Lru
from scrapy_rep.engine.journal import Journal
from scrapy_rep.engine.loops import Places, Running, Ticks, sleep
from scrapy_rep.engine.state import is_closing, wake, would_end_but_for
from scrapy_rep.protocol.access.clocks import believable
from scrapy_rep.protocol.access.events import AccessResult, Failure, name_of
from scrapy_rep.protocol.access.exchange import (
    Act,
    PolicyOptions,
    Standing,
    State,
    as_left,
    is_worth_a_retry,
    learn,
    standing,
)
from scrapy_rep.protocol.access.knowledge import Answer, Copy, Knowledge, Step, steps_to
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.units import DAY_SECONDS, age_words

from .askers import Asker
from .carried import Carried
from .course import Course, Part, Parts
from .fetcher import Fetcher
from .keeper import LEASE_SECONDS, Held, Keeper
from .resources import ROBOTS_TXT, Resource, origin_at
from .transfer import is_own

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from scrapy_rep.identity import Identity
    from scrapy_rep.settings import RepSettings

    from .archive import Archive

logger = logging.getLogger(__name__)

_POLL_SECONDS = (0.02, 0.5)  # between tries for a lease that another holds: at first, at last
_LOOK_SECONDS = 0.1  # how soon an exchange ends that is late or not needed any more
_GRACE_SECONDS = 1.0  # beyond a handler's time limit, for one that keeps it itself
_NEWER_SECONDS = 1.0  # a newer copy than ours is fresh for longer than ours, by this at least
_SLOW_SECONDS = 5.0  # after which the log says that we wait for another process
_ANSWERING_SECONDS = DAY_SECONDS  # how long a page's answer shows that its origin is up
_ANSWERING_OCTETS = 1 << 20
_DATED_OCTETS, _DATED_COST = 1 << 22, 400  # for some 10,000 files


class NotNeededError(Exception):
    """An exchange was ended because the crawl ends: nothing was learnt."""


class LateError(Exception):
    """An exchange took too long.

    Attributes:
        known: what is known of the origin after this failure.
    """

    def __init__(self, known: Knowledge) -> None:
        super().__init__("it took too long")
        self.known = known


class _TimeIsUpError(Exception):
    """The same, before what is known was looked up."""


def _archive_of(crawler: Crawler, settings: RepSettings, identity: Identity) -> Archive | None:
    """The archive that a crawl is to have; None for none.

    Raises:
        ConfigurationError: warcio is not installed.
    """
    if not settings.warc_dir:
        return None
    from .archive import Archive  # most crawls keep none, and need not load it

    return Archive(crawler, settings, identity)


class Exchanges:
    """The exchanges of one crawl, and its store."""

    def __init__(self, crawler: Crawler, settings: RepSettings, identity: Identity) -> None:
        self._crawler = crawler
        self._journal = Journal(crawler)
        self._count = self._journal.count
        self._settings = settings
        self._archive = _archive_of(crawler, settings, identity)
        self._fetcher = Fetcher(crawler, settings, identity, self._archive)
        self._asker = Asker(crawler, settings, identity)
        self._keeper = Keeper(crawler, settings)
        self._places = Places(settings.concurrent_fetches)
        self._parts = Parts(partial(wake, crawler))  # the queue may start another fetch meanwhile
        self._courses: dict[Origin, Course] = {}
        self._ticks = Ticks(_LOOK_SECONDS)
        self._heartbeat = Ticks(LEASE_SECONDS / 3)  # so each lease is renewed in time
        self._answering: Lru[Origin, float] = Lru(_ANSWERING_OCTETS)
        self._dated: Lru[Key, bool] = Lru(_DATED_OCTETS)  # whose age was told
        self._began = time.monotonic()  # which nobody sets

    async def close(self) -> None:
        """Close the store; what is still under way goes on without it."""
        self._heartbeat.stop()
        await self._keeper.close()
        if self._archive is not None:
            await self._archive.close()

    def is_queued(self, origin: Origin) -> bool:
        """Whether an exchange only waits, in the queue of a slot above all."""
        course = self._courses.get(origin)
        return course is not None and course.is_idle

    def overridden(self, origin: Origin, body: bytes | None) -> None:
        """Note that the user sets the robots.txt of an origin, so that nothing is fetched."""
        if self._archive is not None:
            self._archive.overridden(origin, ROBOTS_TXT.path, body)

    def saw_answer(self, origin: Origin, status: int) -> None:
        """Note the answer of a page: a status below 500 shows that its origin is up."""
        if status < 500:  # noqa: PLR2004
            self._answering.put(origin, time.time(), 200)

    def standing(self, origin: Origin, known: Knowledge, rules: PolicyOptions) -> Standing:
        """What follows now from what is known."""
        now = time.time()
        seen_at = self._answering.get(origin)
        is_answering = seen_at is not None and now - seen_at < _ANSWERING_SECONDS
        return standing(known, now, rules, is_answering=is_answering)

    async def settle(
        self,
        origin: Origin,
        rules: PolicyOptions,
        request: Request | None,
        *,
        is_refresh: bool,
        is_awaited: Callable[[], bool] = lambda: True,
        steps: list[Step] | None = None,
        resource: Resource = ROBOTS_TXT,
        permits: Callable[[str], Awaitable[bool]] | None = None,
    ) -> Knowledge:
        """What is known of a file of an origin, after a fetch where one is needed.

        Args:
            origin: the origin.
            rules: decide whether the stored copy is usable without fetching.
            request: the request on whose behalf the file is fetched, if there is one.
            is_refresh: fetch also if the copy is still usable, but is to be confirmed.
            is_awaited: tells whether a request in the downloader waits for the result.
            steps: takes what is sent, step by step; it stays empty if nothing is.
            resource: which file.
            permits: as `Course` has it.

        Raises:
            LateError: it took too long; holds what is known then.
            NotNeededError: the crawl is closing, or only this exchange keeps it from its end.
        """
        carried = Carried.of(request, self._settings.fetch_meta_keys)
        course = Course(
            self._parts, carried, is_awaited, steps=steps, resource=resource, permits=permits
        )
        key = self._asker.key(origin, carried.meta, resource.path)
        running = Running(self._exchange(key, rules, course, is_refresh=is_refresh))
        look = partial(self._look, course, running)
        self._courses[origin] = course
        self._ticks.add(look)
        try:
            known = await running.result()
        except _TimeIsUpError:
            raise LateError(self._learn_that_it_is_late(key, rules, course)) from None
        else:
            if self._archive is not None:
                self._archive.knows(origin, resource.path, known, is_fetched=bool(course.steps))
            return known
        finally:
            self._ticks.drop(look)
            del self._courses[origin]
            course.enter(None)
            if self._archive is not None:
                self._archive.end(course)

    def _look(self, course: Course, running: Running[Knowledge]) -> None:
        """End an exchange that is late or not needed any more."""
        if course.asked.seconds > self._settings.unreachable_wait_seconds:
            running.end(_TimeIsUpError())
        elif is_closing(self._crawler):
            course.closing.start()
            patience = self._settings.fetch_timeout_seconds + _GRACE_SECONDS
            is_worth_it = course.is_sent and course.is_awaited()
            if course.closing.seconds > patience or not (is_worth_it or course.part is Part.STORE):
                running.end(NotNeededError("the crawl is closing"))
        elif self._delays_the_end(course):
            running.end(NotNeededError("only this fetch keeps the crawl from its end"))

    def _delays_the_end(self, course: Course) -> bool:
        """Whether the engine waits for nothing but exchanges that are queued in slots."""
        is_useless = course.part is Part.SLOT and not course.is_awaited()
        return is_useless and would_end_but_for(self._crawler, is_own)

    def _learn_that_it_is_late(self, key: Key, rules: PolicyOptions, course: Course) -> Knowledge:
        self._count(stats.LATE)
        self._count(course.resource.access.format(AccessResult.UNREACHABLE.value))
        self._count(course.resource.event.format(name_of(Failure.LOCAL)))
        logger.warning(
            "The %s of %s did not come in the %g seconds of REP_UNREACHABLE_WAIT_SECONDS; at last "
            "it waited for %s",
            key.file_name,
            key.origin,
            self._settings.unreachable_wait_seconds,
            course.part.value if course.part else "nothing",
            extra=self._journal.extra,
        )
        answer = Answer(Failure.LOCAL, hops=(key.uri,), steps=tuple(course.steps))
        return self._learnt(self._keeper.peek(key), answer, rules)

    async def _exchange(
        self, key: Key, rules: PolicyOptions, course: Course, *, is_refresh: bool
    ) -> Knowledge:
        """What `settle` returns, without a time limit."""
        origin = key.origin
        pause, longest = _POLL_SECONDS
        is_said, is_refused = False, False
        while True:
            course.enter(Part.STORE)
            known = self._of_this_run(self._keeper.peek(key))
            if self._is_enough(origin, known, rules, is_refresh=is_refresh):
                self._hit(key, known, course)
                return known
            # What the store takes as fresh may not be so by this crawl's settings.
            wanted = math.inf if is_refused else _wanted_seconds(known, is_refresh=is_refresh)
            claimed = await self._keeper.claim(key, wanted)
            known = self._of_this_run(claimed.known)
            if self._is_enough(origin, known, rules, is_refresh=is_refresh):
                self._hit(key, known, course)
                if claimed.held is not None:
                    await self._keeper.release(claimed.held)
                return known
            if claimed.held is not None:
                return await self._ask(key, known, rules, claimed.held, course)
            if claimed.wait_seconds is None:
                is_refused = True
                continue
            course.enter(Part.LEASE)
            self._count(stats.LEASE_WAITED)
            if course.asked.seconds > _SLOW_SECONDS and not is_said:
                is_said = True
                logger.info(
                    "Waiting for another process, which fetches the %s of %s", key.file_name, origin
                )
            patience = max(_POLL_SECONDS[0], min(pause, claimed.wait_seconds))
            await sleep(patience * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
            pause = min(2 * pause, longest)

    def _hit(self, key: Key, known: Knowledge, course: Course) -> None:
        """Count what the store had; log once for each file how old it is."""
        self._count(course.resource.store_hit)
        if self._dated.get(key) is None:
            self._dated.put(key, value=True, octets=_DATED_COST)
            age = age_words(time.time() - Entry(key, known).changed_at)
            logger.debug(
                "rules of %s from the store, %s old", key.uri, age, extra=self._journal.extra
            )

    def _of_this_run(self, known: Knowledge) -> Knowledge:
        """What is known, with what an earlier run found unreachable due at once."""
        return as_left(known, time.time() - (time.monotonic() - self._began))

    def _is_enough(
        self, origin: Origin, known: Knowledge, rules: PolicyOptions, *, is_refresh: bool
    ) -> bool:
        """Whether the stored copy is usable without fetching; for a refresh, it must be fresh."""
        if known.copy is None and known.outage is None:
            return False
        known = believable(known, time.time(), rules.limits)
        act = self.standing(origin, known, rules).act
        return act is Act.USE or (act is Act.REFRESH and not is_refresh)

    async def _ask(
        self, key: Key, known: Knowledge, rules: PolicyOptions, held: Held, course: Course
    ) -> Knowledge:
        keep_alive = partial(self._keeper.keep_alive, held)
        self._heartbeat.add(keep_alive)
        is_kept = False
        try:
            answer = await self._attempts(key.origin, known.copy, course)
            if answer.event is Failure.LOCAL and is_closing(self._crawler):
                raise NotNeededError("the crawl is closing")
            self._count(course.resource.access.format(answer.access_result.value))
            self._count(course.resource.event.format(name_of(answer.event)))
            # A failure of our own says nothing about the site, so others must not see it.
            is_kept = answer.event not in (Failure.LOCAL, Failure.GUARD)
            if not is_kept:
                return self._learnt(known, answer, rules)
            known = await self._keep(key, known, answer, rules, held)
            if self._archive is not None:
                self._archive.end(course, answer, known)
            return known
        finally:
            self._heartbeat.drop(keep_alive)
            if not is_kept:
                await self._keeper.release(held)

    async def _keep(
        self, key: Key, known: Knowledge, answer: Answer, rules: PolicyOptions, held: Held
    ) -> Knowledge:
        """Store what is known after an answer, unless another process has taken over."""
        sent_key = self._asker.key_as_sent(key, answer.user_agent)
        if sent_key != key:
            # Sent with another User-Agent than that of the lease and of the copy.
            await self._keeper.release(held)
            if not answer.is_confirmation:
                known = self._keeper.peek(sent_key)
        known = self._learnt(known, answer, rules)
        is_kept = await self._keeper.commit(
            Entry(sent_key, known), held if sent_key == key else None
        )
        if not is_kept:
            self._count(stats.LEASE_LOST)
            successors = await self._successors(key)
            if self._is_enough(key.origin, successors, rules, is_refresh=True):
                return successors
        else:
            await self._keep_for_targets(sent_key, answer, rules)
        return known

    async def _successors(self, key: Key) -> Knowledge:
        """What the process has stored that has taken over; it may not be at hand here."""
        claimed = await self._keeper.claim(key, 0.0)
        if claimed.held is not None:
            await self._keeper.release(claimed.held)
        return claimed.known

    def _learnt(self, known: Knowledge, answer: Answer, rules: PolicyOptions) -> Knowledge:
        chance = random.random()  # noqa: S311 - no secret
        return learn(known, answer, time.time(), rules.limits, chance=chance)

    async def _attempts(self, origin: Origin, copy: Copy | None, course: Course) -> Answer:
        """The answer, after quick retries if it is a failure."""
        for pause in self._settings.quick_retry_seconds:
            answer = await self._fetch(origin, copy, course)
            if not is_worth_a_retry(answer, time.time(), pause):
                return answer
            self._count(stats.QUICK_RETRIES)
            course.enter(Part.PAUSE)
            await sleep(pause)
        return await self._fetch(origin, copy, course)

    async def _fetch(self, origin: Origin, copy: Copy | None, course: Course) -> Answer:
        """One fetch, in one of the places of `REP_CONCURRENT_FETCHES`."""
        course.enter(Part.PLACE)
        async with self._places.one() as place:
            course.place = place
            course.enter(Part.MIDDLEWARES)
            try:
                known = partial(self._fresh_copy, course.resource.path)
                return await self._fetcher.fetch(origin, copy, known=known, course=course)
            finally:
                course.enter(Part.STORE)
                course.place = None

    def _fresh_copy(self, path: str, uri: str) -> Copy | None:
        """The fresh copy of another origin, if a redirect leads to exactly its file at a path."""
        origin = origin_at(uri, path)
        if origin is None:
            return None
        known = self._keeper.peek(self._asker.key(origin, path=path))
        stands = standing(known, time.time(), self._settings.rules)
        return known.copy if stands.state is State.FRESH else None

    async def _keep_for_targets(self, key: Key, answer: Answer, rules: PolicyOptions) -> None:
        """Store an answer for the targets of redirects too, where it is their own file.

        Only a hop to exactly its path, `/robots.txt`, counts: a file at another path does not speak
        for the origin that serves it.
        """
        is_answer = isinstance(answer.event, int) or answer.event is Failure.HTML
        if not is_answer or answer.confirms or answer.repeats is not None:
            return
        for number, uri in enumerate(answer.hops[1:], start=1):
            target = origin_at(uri, key.path)
            is_first = uri not in answer.hops[:number]  # of several for a wall of cookies
            if target is None or target == key.origin or not is_first:
                continue
            target_key = Key.under(target, key.user_agent, key.variant, key.path)
            theirs = Answer(
                answer.event,
                answer.body,
                answer.hops[number:],
                answer.headers,
                steps=steps_to(answer.steps, answer.hops[number - 1]),
            )
            known = learn(self._keeper.peek(target_key), theirs, time.time(), rules.limits)
            await self._keeper.commit(Entry(target_key, known))


def _wanted_seconds(known: Knowledge, *, is_refresh: bool) -> float:
    """How long what another process has learnt must hold: to refresh, longer than what we have."""
    if not is_refresh or known.copy is None:
        return 0.0
    return max(known.copy.fresh_until - time.time(), 0.0) + _NEWER_SECONDS
