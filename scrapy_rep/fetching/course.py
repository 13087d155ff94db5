"""The course of one exchange: the part that it is in, and the time that it has taken.

In two parts an exchange waits for us and not for the site: for a place of `REP_CONCURRENT_FETCHES`,
and for its turn in a slot. Our own queueing does not count as the site being slow, so that time is
measured apart. `REP_FETCH_LINE_SECONDS` limits the time in slots, and
`REP_UNREACHABLE_WAIT_SECONDS` all time outside of both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING

from scrapy_rep.engine.loops import Place, Stopwatch
from scrapy_rep.protocol.access.knowledge import Copy, Step
from scrapy_rep.protocol.access.origin import Origin

from .carried import NOTHING, Carried
from .cookies import Cookies
from .resources import ROBOTS_TXT, Resource

if TYPE_CHECKING:
    from scrapy_rep.proof.warc_exchanges import Archived


class Part(Enum):
    """The part that an exchange is in; the value is for people, after "it waits for"."""

    STORE = "the store"
    LEASE = "another process, which fetches it"
    PLACE = "a place of REP_CONCURRENT_FETCHES"
    MIDDLEWARES = "the downloader middlewares, or a look-up of a redirect's target"
    SLOT = "its turn in the slot of the host"
    HANDLER = "the download handler"
    JUDGE = "the robots.txt of what it is redirected to"
    ANSWER = "the downloader middlewares, which have its answer"
    PAUSE = "the pause before a retry"

    __hash__ = object.__hash__  # each is one object, and Enum's own is Python code


_QUEUES = {Part.PLACE, Part.SLOT}  # our own queues; in all other parts the exchange makes progress
_IDLE = {Part.LEASE, Part.SLOT, Part.PAUSE}  # these take nothing but a little memory
_LENDING = {Part.SLOT, Part.JUDGE}  # others can use the place meanwhile, and in the latter have to


class Parts:
    """How many exchanges there are in each part; calls a function when one becomes idle."""

    def __init__(self, idled: Callable[[], None]) -> None:
        self._counts: Counter[Part] = Counter()
        self._idled = idled

    def move(self, before: Part | None, after: Part | None) -> None:
        """Count an exchange in another part; None stands for before its start and after its end."""
        if before is after:
            return
        if before is not None:
            self._counts[before] -= 1
        if after is not None:
            self._counts[after] += 1
        if after in _IDLE:
            self._idled()

    def __getitem__(self, part: Part) -> int:
        return self._counts[part]


@dataclass(frozen=True, slots=True)
class Way:
    """The way of a fetch to a file.

    Attributes:
        origin: whose file.
        hops: the URIs so far, in order.
        copy: the stored copy, if there is one.
        cookies: those that its hops have set.
    """

    origin: Origin
    hops: list[str]
    copy: Copy | None
    cookies: Cookies = field(default_factory=Cookies)


class Course:
    """One exchange under way.

    Attributes:
        part: the part that it is in.
        carried: what its requests copy from the one on whose behalf they are sent.
        resource: the file that is fetched.
        permits: tells whether a redirect may be followed to a URL; None if that is not asked.
        is_awaited: tells whether anything waits for its result.
        place: its place of `REP_CONCURRENT_FETCHES`, if it has one.
        asked: runs in all parts but our own queues.
        queued: runs while it is queued in a slot.
        closing: runs once the crawl is closing.
        user_agent: the User-Agent of its last request; None where nothing was sent.
        steps: its requests so far, those of attempts that failed too.
        way: of its last fetch.
        held: its last request, until it is archived.
        is_over: whether nothing waits for its archiving any more.
    """

    __slots__ = (
        "_parts",
        "asked",
        "carried",
        "closing",
        "held",
        "is_awaited",
        "is_over",
        "part",
        "permits",
        "place",
        "queued",
        "resource",
        "steps",
        "user_agent",
        "way",
    )

    def __init__(
        self,
        parts: Parts | None = None,
        carried: Carried = NOTHING,
        is_awaited: Callable[[], bool] = lambda: True,
        *,
        steps: list[Step] | None = None,
        resource: Resource = ROBOTS_TXT,
        permits: Callable[[str], Awaitable[bool]] | None = None,
    ) -> None:
        self._parts = parts or Parts(lambda: None)
        self.carried = carried
        self.is_awaited = is_awaited
        self.resource = resource
        self.permits = permits
        self.asked = Stopwatch()
        self.queued = Stopwatch()
        self.closing = Stopwatch()
        self.place: Place | None = None
        self.user_agent: str | None = None
        self.steps: list[Step] = [] if steps is None else steps
        self.way: Way | None = None
        self.held: Archived | None = None
        self.is_over = False
        self.part: Part | None = None

    @property
    def is_idle(self) -> bool:
        """Whether it only waits, and takes no place that others could use."""
        return self.part in _IDLE

    @property
    def is_sent(self) -> bool:
        """Whether its request was sent, and perhaps answered."""
        return self.part in (Part.HANDLER, Part.ANSWER)

    @property
    def queued_count(self) -> int:
        """How many exchanges of the crawl are queued in slots, this one included."""
        return self._parts[Part.SLOT]

    def enter(self, part: Part | None) -> None:
        """Go on to another part; None at the end.

        While it is queued in a slot, or waits for another exchange, it lends its place to others.
        It takes the place back once the slot sends its request, even if there is one too many then:
        nothing can stop the request.
        """
        before, self.part = self.part, part
        if before is part:
            return
        self._parts.move(before, part)
        if part is None or part in _QUEUES:
            self.asked.stop()
        else:
            self.asked.start()
        if part is Part.SLOT:
            self.queued.start()
        elif before is Part.SLOT:
            self.queued.stop()
        if self.place is not None:
            if part in _LENDING:
                self.place.lend()
            elif before in _LENDING:
                self.place.take_back()
