"""One fetch of one file of an origin, usually robots.txt, from the store or from the site.

A fetch first reads the entry in the store. If the entry is not usable, the fetch makes a claim. The
store then returns one of three things: a newer entry of another process, a lease (the exclusive
right to fetch), or the time to look again. If the fetch has the lease, it sends requests to the
site, with quick retries, and stores the outcome. So processes that share a store fetch each file
once.

Every response and every exception becomes an event of the protocol; `protocol.access` decides what
it means. Redirects are followed here, each hop with a new request. Scrapy's own redirects are not
used: they depend on settings and spiders, follow HTML, and carry meta from hop to hop.

A fetch that takes longer than `REP_UNREACHABLE_WAIT_SECONDS` ends as a failure of our own. The
time in our own queue does not count, and has a separate limit (see `sender`). When the crawl
closes, a fetch ends at once if nothing waits for it or if its request was not sent yet.
"""

from __future__ import annotations

import asyncio
import logging
import math
import random
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import ResponseDataLossError
from twisted.internet.defer import CancelledError

from scrapy_rep import stats
from scrapy_rep.cache.entry import Entry, Key
from scrapy_rep.engine.loops import Stopwatch, sleep, waiting_for_threads
from scrapy_rep.engine.state import is_closing, would_end_but_for
from scrapy_rep.engine.transfer import headers_of, is_own
from scrapy_rep.protocol.access.challenges import challenge_in
from scrapy_rep.protocol.access.endings import Extent, extent, extent_beside
from scrapy_rep.protocol.access.events import NOT_MODIFIED, Event, Failure, name_of
from scrapy_rep.protocol.access.knowledge import Answer, Copy, Knowledge, Step, steps_to
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.access.redirects import LEAST_HOPS, next_hop
from scrapy_rep.protocol.access.states import (
    Act,
    PolicyOptions,
    State,
    as_left,
    is_worth_a_retry,
    learn,
    standing,
)
from scrapy_rep.protocol.units import age_words, counted

from .faults import PROXY, Fault, FaultKind, failure_by
from .fetch_state import Carried, FetchPart, FetchState, Way
from .keeper import Claimed, Held
from .origin_files import ROBOTS_TXT, OriginFile, origin_at
from .requesters import is_apart

if TYPE_CHECKING:
    from scrapy.http import Response

    from .context import FetchContext

_POLL_SECONDS = (0.02, 0.5)  # pauses between tries for a lease: first, longest
_GRACE_SECONDS = 1.0  # more than a handler's time limit, so that the handler raises first
_NEWER_SECONDS = 1.0  # a newer copy stays fresh for at least this much longer than ours
_SLOW_SECONDS = 5.0  # slower fetches are logged
_DATED_COST = 400
_LIMIT = "REP_UNREACHABLE_WAIT_SECONDS"


class NotNeededError(Exception):
    """A fetch was stopped without a result because the crawl ends."""


class NotAwaitedError(NotNeededError):
    """The crawl could end if this fetch did not run; a spider may add requests that need it."""


class _LateError(Exception):
    """A fetch took too long; it was waiting for what `str` names."""


class FileFetch(FetchState):
    """One fetch; its result may be awaited once.

    Attributes:
        page: the page request that needs the file; None without one.
        is_late: whether it took too long.
    """

    def __init__(
        self,
        context: FetchContext,
        origin: Origin,
        options: PolicyOptions,
        request: Request | None = None,
        *,
        is_refresh: bool = False,
        is_awaited: Callable[[], bool] = lambda: True,
        resource: OriginFile = ROBOTS_TXT,
        permits: Callable[[str], Awaitable[bool]] | None = None,
        uses_store: bool = True,
        interrupt: Callable[[], None] = lambda: None,
    ) -> None:
        """Prepare the fetch of a file.

        Args:
            context: the objects that all fetches share.
            origin: the origin of the file.
            options: they decide whether the stored copy is usable without fetching.
            request: the page request that needs the file, if any.
            is_refresh: fetch even if the copy is still usable, to confirm it.
            is_awaited: tells whether a request in the downloader waits for the result.
            resource: the kind of file, such as robots.txt.
            permits: tells whether a redirect may be followed to a URL; None if robots.txt does not
                govern the file.
            uses_store: whether it uses other origins' copies, and its requests are recorded.
            interrupt: cancels the task that awaits the result.
        """
        carried = Carried.of(request, context.settings.fetch_meta_keys)
        super().__init__(context.crawler, origin, resource, carried, is_awaited, uses_store)
        self._context = context
        self.page = request
        self._first_fault: Fault | None = None
        self._faults = 0  # tries that failed on our side
        self._journal = context.journal
        self._count = self._journal.count
        self._recorder = context.recorder
        self._options = options
        self._is_refresh = is_refresh
        self._permits = permits
        self._key = context.requester.key(origin, carried.meta, resource.path)
        self._interrupt = interrupt
        self._ended_by: Exception | None = None
        self._closing = Stopwatch()
        self.is_late = False

    # Under way

    async def result(self) -> Knowledge:
        """The knowledge about the file, after a fetch if one is needed.

        Raises:
            NotNeededError: the crawl is closing, or could end if this fetch did not run.
        """
        context = self._context
        context.under_way[self.origin, self.resource.path] = self
        context.looks.add(self._look)
        try:
            known = await self._run()
        except (asyncio.CancelledError, CancelledError):
            if self._ended_by is None:
                raise
            if not isinstance(self._ended_by, _LateError):
                raise self._ended_by from None
            return self._learn_that_it_is_late(str(self._ended_by))
        else:
            self._recorder.knows(self, known)
            return known
        finally:
            context.looks.drop(self._look)
            del context.under_way[self.origin, self.resource.path]
            self.enter(None)
            self._recorder.end(self)

    def _look(self) -> None:
        """End the fetch if it is late or not needed any more."""
        crawler, settings = self._context.crawler, self._context.settings
        if self.busy.seconds > settings.unreachable_wait_seconds:
            # Noted now: on its way out, the fetch enters other parts.
            self._end(_LateError(self.part.value if self.part else "nothing"))
        elif is_closing(crawler):
            self._closing.start()
            patience = settings.fetch_timeout_seconds + _GRACE_SECONDS
            is_worth_it = self.part in (FetchPart.HANDLER, FetchPart.ANSWER) and self.is_awaited()
            is_worth_it = is_worth_it or self.part is FetchPart.STORE
            if self._closing.seconds > patience or not is_worth_it:
                self._end(NotNeededError("the crawl is closing"))
        elif self._delays_the_end():
            self._end(NotAwaitedError("only this fetch keeps the crawl from its end"))

    def _end(self, error: Exception) -> None:
        if self._ended_by is None:
            self._ended_by = error
            self._interrupt()

    def _delays_the_end(self) -> bool:
        """Whether the engine waits only for fetches that wait for their turn."""
        is_useless = self.part is FetchPart.SLOT and not self.is_awaited()
        return is_useless and would_end_but_for(self._context.crawler, is_own)

    def _learn_that_it_is_late(self, awaited: str) -> Knowledge:
        self.is_late = True
        details = f"it was waiting for {awaited}"
        self.fault = Fault(FaultKind.LATE, _LIMIT, details, f"({details})", may_pass=True)
        self._count(stats.LATE)
        answer = Answer(Failure.LOCAL, hops=(self._key.uri,), steps=tuple(self.steps))
        self._count_outcome(answer)
        self._journal.warning(
            "The %s of %s did not come in the %g s of REP_UNREACHABLE_WAIT_SECONDS; it was "
            "waiting for %s",
            self._key.file_name,
            self.origin,
            self._context.settings.unreachable_wait_seconds,
            awaited,
        )
        return self._learnt(self._context.keeper.peek(self._key), answer)

    async def _run(self) -> Knowledge:
        """Read the store; with a lease, fetch from the site and store the outcome."""
        context = self._context
        claimed = await self._claimed()
        known, held = claimed.known, claimed.held
        if held is None:
            return known
        keep_alive = partial(context.keeper.keep_alive, held)
        context.heartbeat.add(keep_alive)
        is_kept = False
        try:
            for number in count(1):
                self.enter(FetchPart.PLACE)
                async with context.places.one() as place:
                    self.place = place
                    try:
                        answer = await self.attempt(known.copy)
                    finally:
                        self.enter(FetchPart.STORE)
                        self.place = None
                pause = self._pause_before_retry(answer, number)
                if pause is None:
                    break
                self._count(stats.QUICK_RETRIES)
                self.enter(FetchPart.PAUSE)
                await sleep(pause)
            if answer.event is Failure.LOCAL and is_closing(context.crawler):
                raise NotNeededError("the crawl is closing")
            if self._first_fault is not None:
                context.sender.tell_of_fault(self, self.fault or self._first_fault)
            self._count_outcome(answer)
            # A failure of our own says nothing about the site, so it is not shared.
            is_kept = answer.event not in (Failure.LOCAL, Failure.GUARD)
            if not is_kept:
                return self._learnt(known, answer)
            known = await self._keep(known, answer, held)
            self._recorder.end(self, answer, known)
            return known
        finally:
            context.heartbeat.drop(keep_alive)
            if not is_kept:
                is_late = isinstance(self._ended_by, _LateError)
                await context.keeper.release(held, is_awaited=not is_late)

    def _pause_before_retry(self, answer: Answer, number: int) -> float | None:
        """The pause before a quick retry; None to end the fetch.

        After a failure of our own side, a copy of the meta of the page request goes along.
        """
        fault, context = self.fault, self._context
        settings = context.settings
        pauses = settings.quick_retry_seconds
        if answer.event is Failure.DNS:  # each look-up may hold a thread for seconds
            pauses = pauses[-1:]
        if fault is None:
            pause = dict(enumerate(pauses, 1)).get(number - self._faults)
            is_worth_it = pause is not None and is_worth_a_retry(answer, time.time(), pause)
            return pause if is_worth_it else None
        self._first_fault = self._first_fault or fault
        self._faults += 1
        count = self._faults
        tries = {FaultKind.BROKE: int(self.page is not None), FaultKind.PROXY: context.retry_times}
        if is_closing(context.crawler):
            return None
        if count <= tries.get(fault.kind, 0):
            if self.page is not None:
                self.carried = Carried.whole(self.page, settings.fetch_meta_keys, count)
            return 0.0
        is_transient = fault.kind is FaultKind.BROKE and fault.may_pass
        return dict(enumerate(pauses, 2)).get(count) if is_transient else None

    # The store

    async def _claimed(self) -> Claimed:
        """The stored knowledge if it is usable; otherwise the lease to fetch with."""
        keeper, requester = self._context.keeper, self._context.requester
        key = self._key = await self._key_in_store()
        pause, longest = _POLL_SECONDS
        is_said, is_refused = False, False
        while True:
            self.enter(FetchPart.STORE)
            known = self._of_this_run(keeper.peek(key))
            if self._is_enough(known):
                self._tell_of_hit(known)
                return Claimed(known)
            # The store may call an entry fresh that is too old by this crawl's settings.
            wanted = math.inf if is_refused else self._wanted_seconds(known)
            claimed = await keeper.claim(key, wanted)
            if is_apart(claimed.known) and requester.signed(key) != key:
                if claimed.held is not None:
                    await keeper.release(claimed.held)
                key = self._key = requester.signed(key)
                continue
            known = self._of_this_run(claimed.known)
            if self._is_enough(known):
                self._tell_of_hit(known)
                if claimed.held is not None:
                    await keeper.release(claimed.held)
                return Claimed(known)
            if claimed.held is not None:
                return replace(claimed, known=known)
            if claimed.wait_seconds is None:
                is_refused = True
                continue
            self.enter(FetchPart.LEASE)
            self._count(stats.LEASE_WAITED)
            if self.busy.seconds > _SLOW_SECONDS and not is_said:
                is_said = True
                self._journal.info(
                    "Waiting for another process that fetches the %s of %s",
                    key.file_name,
                    self.origin,
                )
            patience = max(_POLL_SECONDS[0], min(pause, claimed.wait_seconds))
            await sleep(patience * random.uniform(0.5, 1.5))  # noqa: S311 - no secret
            pause = min(2 * pause, longest)

    async def _key_in_store(self) -> Key:
        """The key to begin with; `peek` may not have what other machines stored."""
        keeper, requester = self._context.keeper, self._context.requester
        key = requester.key_by(keeper.peek, self._key)
        signed = requester.signed(key)
        if signed == key or keeper.peek(key) != Knowledge():
            return key
        claimed = await keeper.claim(signed, -math.inf)
        if claimed.held is not None:
            await keeper.release(claimed.held)
        return key if claimed.known == Knowledge() else signed

    def _wanted_seconds(self, known: Knowledge) -> float:
        """How long another's entry must stay fresh: for a refresh, longer than our entry does."""
        if not self._is_refresh or known.copy is None:
            return 0.0
        return max(known.copy.fresh_until - time.time(), 0.0) + _NEWER_SECONDS

    def _of_this_run(self, known: Knowledge) -> Knowledge:
        """The stored knowledge; a file that was unreachable in an earlier run is due at once."""
        return as_left(known, time.time() - (time.monotonic() - self._context.began_at))

    def _is_enough(self, known: Knowledge, *, is_refresh: bool | None = None) -> bool:
        """Whether the stored entry is usable without fetching; for a refresh, it must be fresh."""
        if known.copy is None and known.outage is None:
            return False
        is_old = known.changed_at < self._context.renewed_from
        if is_old and known.outage is None:
            return False
        is_refresh = is_old or (self._is_refresh if is_refresh is None else is_refresh)
        act = self._context.weigh(self.origin, known, self._options).act
        return act is Act.USE or (act is Act.REFRESH and not is_refresh)

    def _tell_of_hit(self, known: Knowledge) -> None:
        """Count a hit in the store; log the age of each file once."""
        self._count(self.resource.stat(stats.STORE_HIT))
        dated = self._context.dated
        if dated.get(self._key) is None:
            dated.put(self._key, value=True, octets=_DATED_COST)
            age = age_words(time.time() - known.changed_at)
            self._journal.debug("The rules of %s are from the store, %s old", self._key.uri, age)

    def _count_outcome(self, answer: Answer) -> None:
        self._count(self.resource.stat(stats.ACCESS).format(answer.access_result.value))
        self._count(self.resource.stat(stats.EVENT).format(name_of(answer.event)))
        if answer.event is Failure.CHALLENGE and "accept-signature" in answer.headers:
            self._count(stats.SIGNATURE_WANTED)

    def _learnt(self, known: Knowledge, answer: Answer) -> Knowledge:
        chance = random.random()  # noqa: S311 - no secret
        return learn(known, answer, time.time(), self._options.limits, chance=chance)

    async def _keep(self, known: Knowledge, answer: Answer, held: Held) -> Knowledge:
        """Store the knowledge after an answer, unless another process has taken over."""
        keeper, key = self._context.keeper, self._key
        is_carried = bool(self.carried.meta.get(PROXY))  # that of the page, and not of all requests
        sent_key = self._context.requester.key_as_sent(key, answer, is_carried=is_carried)
        if sent_key != key:
            # The lease and the copy are for another User-Agent, or for unsigned requests.
            await keeper.release(held)
            if not answer.is_confirmation:
                known = keeper.peek(sent_key)
        known = self._learnt(known, answer)
        if await keeper.commit(Entry(sent_key, known), held if sent_key == key else None):
            await self._keep_for_targets(sent_key, answer)
            return known
        self._count(stats.LEASE_LOST)
        theirs = await keeper.claim(key, 0.0)  # `peek` may not have it
        if theirs.held is not None:
            await keeper.release(theirs.held)
        return theirs.known if self._is_enough(theirs.known, is_refresh=True) else known

    async def _keep_for_targets(self, key: Key, answer: Answer) -> None:
        """Store an answer also for each redirect target whose own file it is.

        Only a hop to exactly the path `/robots.txt` counts: a file at another path is not the
        robots.txt of the origin that serves it.
        """
        is_answer = isinstance(answer.event, int) or answer.event is Failure.HTML
        if not is_answer or answer.confirms or answer.repeats is not None:
            return
        keeper = self._context.keeper
        for number, uri in enumerate(answer.hops[1:], start=1):
            target = origin_at(uri, key.path)
            is_first = uri not in answer.hops[:number]  # cookie walls repeat a URI
            if target is None or target == key.origin or not is_first:
                continue
            theirs = Answer(
                answer.event,
                answer.body,
                answer.hops[number:],
                answer.headers,
                steps=steps_to(answer.steps, answer.hops[number - 1]),
                is_proxied=answer.is_proxied,
            )
            target_key = Key.under(target, key.user_agent, key.variant, key.path)
            target_key = self._context.requester.key_as_sent(target_key, theirs)
            known = learn(keeper.peek(target_key), theirs, time.time(), self._options.limits)
            await keeper.commit(Entry(target_key, known))

    # The site

    async def attempt(self, copy: Copy | None) -> Answer:
        """Fetch once, follow redirects, and log a slow fetch. Does not raise.

        The request to the URI from which the stored copy came is conditional.
        """
        file, began = self.resource, self.busy.seconds
        self.enter(FetchPart.MIDDLEWARES)
        self.user_agent, self.is_for_signed, self.is_proxied = None, False, False
        self.way = way = Way(self.origin, [], copy)
        hops, cookies_at = way.hops, 0
        uri = f"{self.origin}{file.path}"
        self._count(file.stat(stats.REQUESTS))
        while True:
            hops.append(uri)
            try:
                response, body, is_conditional = await self._hop(uri, way)
            except CancelledError:  # Twisted's class is an Exception
                raise
            except Exception as error:  # noqa: BLE001 - every failure is an event: see `failures`
                answer = self._answer(self._failure(uri, error))
                break
            if self._is_led_astray(uri, response):
                answer = self._answer(Failure.GUARD)
                break
            if way.cookies.keep(response, response.request or Request(uri)):
                cookies_at = len(hops)
            headers = headers_of(response)
            step = _step_after(response, headers, hops, cookies_at)
            if not isinstance(step, str):
                self._count(file.stat(stats.RESPONSES))
                self._count(file.stat(stats.RESPONSE_STATUS).format(response.status))
                event = file.event_of(step, headers, body)
                answer = self._answer(event, body=body, headers=headers, confirms=is_conditional)
                break
            self._count(stats.REDIRECT_HOPS)
            uri = _as_requested(step)
            refusal = await self._refusal(uri)
            if refusal is not None:
                self.steps.append(Step(uri or step, refusal))
                answer = self._answer(refusal, (uri or step,))
                break
            found = self._fresh_copy(uri) if uri not in hops else None
            if found is not None:
                self.steps.extend(_copied(found))
                self._recorder.repeats(self, found)
                answer = self._answer(found.event, found.hops, repeats=found)
                break
        self._tell_if_slow(answer, self.busy.seconds - began)
        return answer

    async def _hop(self, uri: str, way: Way) -> tuple[Response, bytes, bool]:
        """The answer of one hop, its body, and whether the request was conditional.

        If a 304 is for another version than our copy, the request is sent again without conditions.
        If the body may be cut short, the request is sent again too.

        Raises:
            ResponseDataLossError: the body is cut short, or it is not certain that it is whole.
        """
        copy = way.copy
        conditions = copy.validators if copy is not None and copy.hops[-1:] == (uri,) else {}
        first: bytes | None = None
        while True:
            response, body, ending = await self._context.sender.send(self, uri, conditions)
            if conditions and copy is not None and _is_of_another_version(response, copy):
                conditions = {}
                continue
            if response.status // 100 != 2:  # noqa: PLR2004 - other bodies are not read
                break
            found = extent(body, ending) if first is None else extent_beside(first, body, ending)
            if found is Extent.PART:
                raise ResponseDataLossError(
                    f"{uri}: {ending.value} after {counted(len(body), 'octet')}"
                )
            if found is Extent.WHOLE:
                break
            self._count(stats.CONFIRMED)
            first = body
        return response, body, bool(conditions)

    def _answer(self, event: Event, further: tuple[str, ...] = (), **facts: Any) -> Answer:
        """The answer after the requests that were sent so far."""
        assert self.way is not None  # noqa: S101 - for mypy
        hops, steps = (*self.way.hops, *further), tuple(self.steps)
        facts |= {"user_agent": self.user_agent, "is_for_signed": self.is_for_signed}
        facts["is_proxied"] = self.is_proxied
        return Answer(event, hops=hops, steps=steps, **facts)

    def _failure(self, uri: str, error: Exception) -> Failure:
        """The failure for an exception, counted and logged."""
        self._count(self.resource.stat(stats.EXCEPTIONS).format(type(error)))
        failure = failure_by(self.fault, error)
        self._journal.debug("No file from %s (%s): %r", uri, failure.value, error)
        return failure

    async def _refusal(self, uri: str) -> Failure | None:
        """The reason not to follow a redirect to a URI; None if it may be followed."""
        refusal = await self._context.guard.refusal(self.origin, uri)
        if refusal is not None or self._permits is None:
            return refusal
        before = self.part
        self.enter(FetchPart.JUDGE)
        try:
            return None if await self._permits(uri) else Failure.GUARD
        finally:
            self.enter(before)

    def _is_led_astray(self, uri: str, response: Response) -> bool:
        """Whether an answer came from an address that the guard refuses.

        A site may have named the page, and so the origin of the file.
        """
        guard = self._context.guard
        why = guard.why_unread(self.origin, uri, response)
        if not why and self.page is not None:
            why = guard.why_answer_unread(self.page, response)
        if why:
            guard.tell(self.origin, uri, why)
        return bool(why)

    def _fresh_copy(self, uri: str) -> Copy | None:
        """The fresh stored copy of another origin, if a redirect leads to exactly its file."""
        origin = origin_at(uri, self.resource.path)
        if origin is None or not self.uses_store:
            return None
        context = self._context
        key = context.requester.key(origin, path=self.resource.path)
        known = context.keeper.peek(context.requester.key_by(context.keeper.peek, key))
        stands = standing(known, time.time(), context.settings.options)
        return known.copy if stands.state is State.FRESH else None

    def _tell_if_slow(self, answer: Answer, seconds: float) -> None:
        if seconds > _SLOW_SECONDS:
            self._journal.warning(
                "%s took %.1f seconds (%s)",
                f"{self.origin}{self.resource.path}",
                seconds,
                name_of(answer.event),
            )
            if waiting := waiting_for_threads():
                self._journal.once(
                    "threads",
                    "%s for a thread: raise REACTOR_THREADPOOL_MAXSIZE",
                    counted(waiting, "look-up of a name waits", "look-ups of names wait"),
                    level=logging.WARNING,
                )


def _step_after(
    response: Response, headers: Mapping[str, str], hops: Sequence[str], cookies_at: int
) -> Event | str:
    """The URI that an answer leads to, or the event that ends the fetch."""
    if challenge_in(response.status, headers):
        return response.status  # an edge may redirect to its challenge
    location = response.headers.get(b"Location")
    return next_hop(hops, response.status, location, limit=LEAST_HOPS, cookies_at=cookies_at)


def _is_of_another_version(response: Response, copy: Copy) -> bool:
    """Whether an answer is a 304 for another version than our copy."""
    return response.status == NOT_MODIFIED and not copy.is_same_as(headers_of(response))


def _copied(copy: Copy) -> list[Step]:
    """The steps of another origin's copy, marked as not fetched by us."""
    steps = copy.steps or [Step(hop) for hop in copy.hops]
    return [replace(step, is_copied=True) for step in steps]


def _as_requested(uri: str) -> str:
    """A URI in the form in which Scrapy requests it; guards must judge this form.

    Empty if Scrapy would send it to another origin than the URI names, or could not send it.
    """
    try:
        requested = Request(uri).url
        return requested if Origin.of(requested) == Origin.of(uri) else ""
    except ValueError:  # `InvalidUri` is a subclass
        return ""
