"""The fetch of one robots.txt, or other file of an origin, through Scrapy's engine, hop by hop.

It takes an origin and returns an `Answer`. Every response and every exception becomes an event of
the protocol; what the event means is decided elsewhere.

Redirects are followed here, each hop with a fresh request. Scrapy's own redirects depend on
settings and spiders, follow HTML, and carry meta from hop to hop.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.exceptions import NotSupported
from scrapy.utils.asyncio import run_in_thread
from twisted.internet.defer import CancelledError

from scrapy_rep import stats
from scrapy_rep.engine.journal import Journal
from scrapy_rep.engine.loops import within
from scrapy_rep.hosts import site_of
from scrapy_rep.protocol.access.events import NOT_MODIFIED, Event, Failure, name_of
from scrapy_rep.protocol.access.guard import Guard, is_public_address
from scrapy_rep.protocol.access.knowledge import Answer, Copy, Step
from scrapy_rep.protocol.access.origin import Origin
from scrapy_rep.protocol.access.redirects import next_hop

from .course import Course, Part, Way
from .failures import failure_of
from .requests import Requests, headers_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from scrapy_rep.identity import Identity
    from scrapy_rep.settings import RepSettings

    from .archive import Archive

logger = logging.getLogger(__name__)

_SLOW_SECONDS = 5.0


class Fetcher:
    """Fetches robots.txt files."""

    def __init__(
        self,
        crawler: Crawler,
        settings: RepSettings,
        identity: Identity,
        archive: Archive | None = None,
    ) -> None:
        self._archive = archive
        self._crawler = crawler
        self._journal = Journal(crawler)
        self._settings = settings
        self._requests = Requests(crawler, settings, identity, archive)
        self._schemes_without_handler: set[str] = set()

    async def fetch(
        self,
        origin: Origin,
        copy: Copy | None = None,
        *,
        known: Callable[[str], Copy | None] = lambda _: None,
        course: Course | None = None,
    ) -> Answer:
        """Fetch a file of an origin, its robots.txt by default, and log it if that takes long.

        Takes and returns what `_follow` does. Does not raise.
        """
        course = course or Course()
        course.user_agent = None
        before = course.asked.seconds
        answer = await self._follow(origin, copy, known, course)
        seconds = course.asked.seconds - before
        if seconds > _SLOW_SECONDS:
            logger.warning(
                "%s took %.1f seconds (%s)",
                f"{origin}{course.resource.path}",
                seconds,
                name_of(answer.event),
                extra=self._journal.extra,
            )
        return answer

    async def _follow(
        self,
        origin: Origin,
        copy: Copy | None,
        known: Callable[[str], Copy | None],
        course: Course,
    ) -> Answer:
        """Fetch a file of an origin, and follow its redirects.

        Args:
            origin: the origin.
            copy: the stored copy; the request to the URI that it came from is conditional.
            known: returns the fresh copy of another origin by the URI of its file, if any.
            course: the course of the exchange, with what its requests carry.
        """
        hops: list[str] = []
        course.way = way = Way(origin, hops, copy)
        cookies_at = 0
        file = course.resource
        uri = f"{origin}{file.path}"
        self._journal.count(file.requests)
        while True:
            hops.append(uri)
            try:
                response, body, is_conditional = await self._hop(uri, copy, course)
            except CancelledError:  # Twisted's, which is an Exception
                raise
            except Exception as error:  # noqa: BLE001 - every failure is an event: see `failures`
                return _answer(course, self._failure(uri, error, file.exceptions), hops)
            if self._is_led_astray(origin, uri, response):
                return _answer(course, Failure.GUARD, hops)
            if way.cookies.keep(response, response.request or Request(uri)):
                cookies_at = len(hops)
            step = next_hop(
                hops,
                response.status,
                response.headers.get(b"Location"),
                limit=self._settings.redirect_hops,
                cookies_at=cookies_at,
            )
            if isinstance(step, str):
                self._journal.count(stats.REDIRECT_HOPS)
                uri = _as_asked(step)
                refusal = await self._refusal(origin, uri) or await _unjudged(uri, course)
                if refusal is not None:
                    course.steps.append(Step(uri or step, refusal))
                    return _answer(course, refusal, (*hops, uri or step))
                found = known(uri) if uri not in hops else None
                if found is not None:
                    course.steps.extend(_copied(found))
                    if self._archive is not None:
                        self._archive.repeats(course, found)
                    return _answer(course, found.event, (*hops, *found.hops), repeats=found)
                continue
            self._journal.count(file.responses)
            self._journal.count(file.status.format(response.status))
            headers = headers_of(response)
            event = file.event_of(step, headers.get("content-type", ""), body)
            return _answer(course, event, hops, body=body, headers=headers, confirms=is_conditional)

    async def _hop(
        self, uri: str, copy: Copy | None, course: Course
    ) -> tuple[Response, bytes, bool]:
        """The answer of one hop, its body, and whether it was asked for with conditions."""
        validators = copy.validators if copy is not None and copy.hops[-1:] == (uri,) else {}
        response, body = await self._requests.whole_answer(uri, validators, course)
        if copy is not None and validators and _is_of_another_version(response, copy):
            validators = {}
            response, body = await self._requests.whole_answer(uri, validators, course)
        return response, body, bool(validators)

    def _failure(self, uri: str, error: Exception, stat: str) -> Failure:
        """The event that an exception stands for, counted and logged."""
        self._journal.count(stat.format(type(error)))
        failure = failure_of(error)
        logger.debug(
            "No file from %s (%s): %r", uri, failure.value, error, extra=self._journal.extra
        )
        if isinstance(error, NotSupported):
            self._warn_of_scheme(uri.partition(":")[0])
        return failure

    def _warn_of_scheme(self, scheme: str) -> None:
        """Log once that the files of a scheme cannot be fetched."""
        if scheme in self._schemes_without_handler:
            return
        self._schemes_without_handler.add(scheme)
        has_reactor = self._crawler.settings.getbool("TWISTED_REACTOR_ENABLED", True)
        logger.warning(
            "Scrapy has no %s here%s, so the robots.txt of %s:// origins cannot be fetched: each "
            "counts as a failure of our own (event 'local')",
            scheme.upper(),
            "" if has_reactor else " (TWISTED_REACTOR_ENABLED = False)",
            scheme,
            extra=self._journal.extra,
        )

    async def _refusal(self, origin: Origin, uri: str) -> Failure | None:
        """Why the guard refuses a redirect to a URI; None if it lets it pass."""
        target = Origin.of(uri)  # None for an empty one
        guard = self._settings.redirect_guard
        if target is None:
            return Failure.GUARD
        if guard is Guard.ANY or target.host == origin.host:
            return None
        if guard is Guard.SAME_SITE:
            return None if site_of(target.host) == site_of(origin.host) else Failure.GUARD
        try:
            looking = run_in_thread(socket.getaddrinfo, target.host, target.port)
            found = await within(self._settings.fetch_timeout_seconds, looking)
        except (OSError, UnicodeError):  # the time limit too
            return Failure.DNS
        addresses = {str(address[4][0]) for address in found}
        is_public = bool(addresses) and all(map(is_public_address, addresses))
        return None if is_public else Failure.GUARD

    def _is_led_astray(self, origin: Origin, uri: str, response: Response) -> bool:
        """Whether an answer came from an address that the guard refuses.

        A name may resolve to another address by the time of the request. Through a proxy, the
        address is the proxy's, which may be any.
        """
        if self._settings.redirect_guard is not Guard.PUBLIC or response.ip_address is None:
            return False
        target = Origin.of(uri)
        if target is None or target.host == origin.host:
            return False
        if response.request is not None and response.request.meta.get("proxy"):
            return False
        return not is_public_address(str(response.ip_address))


async def _unjudged(uri: str, course: Course) -> Failure | None:
    """Why a redirect of a file that robots.txt governs is not followed; None if it may be."""
    if course.permits is None:
        return None
    before = course.part
    course.enter(Part.JUDGE)
    try:
        return None if await course.permits(uri) else Failure.GUARD
    finally:
        course.enter(before)


def _is_of_another_version(response: Response, copy: Copy) -> bool:
    """Whether a 304 confirms another version than our copy."""
    return response.status == NOT_MODIFIED and not copy.is_same_as(headers_of(response))


def _as_asked(uri: str) -> str:
    """A URI as Scrapy requests it, which is what guards have to judge.

    Empty if Scrapy would send it to another origin than the URI names, or to none.
    """
    try:
        asked = Request(uri).url
        return asked if Origin.of(asked) == Origin.of(uri) else ""
    except ValueError:  # InvalidUri is one
        return ""


def _copied(copy: Copy) -> list[Step]:
    """The steps of another origin's copy: nothing is fetched for them."""
    steps = copy.steps or [Step(hop) for hop in copy.hops]
    return [replace(step, is_copied=True) for step in steps]


def _answer(course: Course, event: Event, hops: Sequence[str], **facts: Any) -> Answer:
    """An answer to what was sent in a course so far, made at once: replacing its facts costs."""
    sent = tuple(course.steps)
    return Answer(event, hops=tuple(hops), user_agent=course.user_agent, steps=sent, **facts)
